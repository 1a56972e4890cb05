"""A small OpenID Connect issuer, so that the page signs in here as it does when deployed.

Whoever gives a name is believed, so it is for this machine only. Its tokens look like Cognito's, and its
key lives as long as the process.
"""

import base64
import hashlib
import html
import json
import re
import secrets
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

PATH = "/local/issuer"
CLIENT_ID = "panel"
SCOPE = "openid"
LOOPBACK = ("localhost", "127.0.0.1")
TOKEN_SECONDS = 3600
CODE_SECONDS = 300

# A name is the `sub` as it is, so that it can be typed as `user_id` in an agent's event.
_NAME = re.compile(r"[0-9A-Za-z._@-]{1,64}")
_CHALLENGE = re.compile(r"[0-9A-Za-z_-]{43}")
_OWN_PAGE = "must be a page of this machine, http://localhost… or http://127.0.0.1…"


@dataclass(frozen=True)
class _Grant:
    """What a code stands for, once, until it expires."""

    user: str
    redirect_uri: str
    challenge: str
    nonce: str | None
    expires: float


class Issuer:
    """Signs tokens under the address `url`, and answers below its path."""

    def __init__(self, origin: str) -> None:
        self.url = origin + PATH
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self._kid = secrets.token_urlsafe(8)
        self._grants: dict[str, _Grant] = {}

    @property
    def authorize_url(self) -> str:
        return f"{self.url}/authorize"

    @property
    def token_url(self) -> str:
        return f"{self.url}/token"

    @property
    def logout_url(self) -> str:
        return f"{self.url}/logout"

    def jwks(self) -> dict[str, Any]:
        """The public key as a JSON Web Key Set."""
        key = jwt.algorithms.RSAAlgorithm.to_jwk(self._key.public_key(), as_dict=True)
        return {"keys": [{**key, "kid": self._kid, "use": "sig", "alg": "RS256"}]}

    def access_token(self, user: str, **claims: object) -> str:
        """A signed access token of the user's; `claims` replace or (None) leave out the usual ones."""
        usual = {"client_id": CLIENT_ID, "token_use": "access", "scope": SCOPE, "username": user}
        return self._sign(user, {**usual, **claims})

    def _id_token(self, user: str, nonce: str | None) -> str:
        return self._sign(
            user, {"aud": CLIENT_ID, "token_use": "id", "cognito:username": user, "nonce": nonce}
        )

    def _sign(self, user: str, claims: dict[str, object]) -> str:
        now = int(time.time())
        usual: dict[str, object] = {
            "sub": user,
            "iss": self.url,
            "iat": now,
            "auth_time": now,
            "exp": now + TOKEN_SECONDS,
            "jti": secrets.token_urlsafe(16),
        }
        payload = {key: value for key, value in {**usual, **claims}.items() if value is not None}
        return jwt.encode(payload, self._key, "RS256", {"kid": self._kid})

    @property
    def routes(self) -> list[Route]:
        return [
            Route(f"{PATH}/.well-known/openid-configuration", self._configuration),
            Route(f"{PATH}/jwks.json", self._jwks),
            Route(f"{PATH}/authorize", self._authorize, methods=["GET", "POST"]),
            Route(f"{PATH}/token", self._token, methods=["POST", "OPTIONS"]),
            Route(f"{PATH}/logout", self._logout),
            Route("/local/token", self._token_for_curl),
        ]

    async def _configuration(self, _: Request) -> Response:
        return JSONResponse(
            {
                "issuer": self.url,
                "authorization_endpoint": self.authorize_url,
                "token_endpoint": self.token_url,
                "jwks_uri": f"{self.url}/jwks.json",
                "response_types_supported": ["code"],
                "grant_types_supported": ["authorization_code"],
                "code_challenge_methods_supported": ["S256"],
                "id_token_signing_alg_values_supported": ["RS256"],
                "subject_types_supported": ["public"],
                "scopes_supported": [SCOPE],
                "token_endpoint_auth_methods_supported": ["none"],
            }
        )

    async def _jwks(self, _: Request) -> Response:
        return JSONResponse(self.jwks())

    async def _token_for_curl(self, request: Request) -> Response:
        user = request.query_params.get("user", "ada")
        if not _NAME.fullmatch(user):
            return PlainTextResponse("user: 1 to 64 of 0-9 A-Z a-z . _ @ -\n", 400)
        return PlainTextResponse(self.access_token(user), headers={"Cache-Control": "no-store"})

    async def _authorize(self, request: Request) -> Response:
        """The form that asks for a name (GET), and the way back with a code (POST)."""
        asked = dict(request.query_params)
        if problem := _authorize_problem(asked):
            return PlainTextResponse(f"{problem}\n", 400)
        if request.method == "GET":
            return _page()
        user = (await _form(request)).get("user", "").strip()
        if not _NAME.fullmatch(user):
            return _page("A name has 1 to 64 of these: letters, digits, . _ @ -", 400)
        now = time.time()
        self._grants = {code: grant for code, grant in self._grants.items() if grant.expires > now}
        code = secrets.token_urlsafe(24)
        self._grants[code] = _Grant(
            user, asked["redirect_uri"], asked["code_challenge"], asked.get("nonce"), now + CODE_SECONDS
        )
        back = {"code": code, **({"state": asked["state"]} if "state" in asked else {})}
        joint = "&" if urlsplit(asked["redirect_uri"]).query else "?"
        return RedirectResponse(asked["redirect_uri"] + joint + urlencode(back), 303)

    async def _token(self, request: Request) -> Response:
        headers = {"Cache-Control": "no-store", **_for_loopback_pages(request)}
        if request.method == "OPTIONS":
            return Response(status_code=204, headers=headers)
        answer = self._redeem(await _form(request))
        return JSONResponse(answer, 400 if "error" in answer else 200, headers)

    async def _logout(self, request: Request) -> Response:
        """The way back, with Cognito's parameters: here is no session that could be ended."""
        if request.query_params.get("client_id") != CLIENT_ID:
            return PlainTextResponse(f"client_id: must be {CLIENT_ID}\n", 400)
        back = request.query_params.get("logout_uri", "")
        if not is_loopback_origin(back):
            return PlainTextResponse(f"logout_uri: {_OWN_PAGE}\n", 400)
        return RedirectResponse(back, 302)

    def _redeem(self, form: dict[str, str]) -> dict[str, Any]:
        if form.get("grant_type") != "authorization_code":
            return {"error": "unsupported_grant_type"}
        if form.get("client_id") != CLIENT_ID:
            return {"error": "invalid_client"}
        grant = self._grants.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if (
            grant is None
            or grant.expires < time.time()
            or grant.redirect_uri != form.get("redirect_uri")
            or not secrets.compare_digest(grant.challenge, challenge)
        ):
            return {"error": "invalid_grant"}
        return {
            "access_token": self.access_token(grant.user),
            "id_token": self._id_token(grant.user, grant.nonce),
            "token_type": "Bearer",
            "expires_in": TOKEN_SECONDS,
        }


def _authorize_problem(asked: dict[str, str]) -> str | None:
    """What is wrong with a request to sign in. Shown to the person, never sent to an address not trusted."""
    if asked.get("client_id") != CLIENT_ID:
        return f"client_id: must be {CLIENT_ID}"
    if not is_loopback_origin(asked.get("redirect_uri", "")):
        return f"redirect_uri: {_OWN_PAGE}"
    if asked.get("response_type") != "code":
        return "response_type: must be code"
    if asked.get("code_challenge_method") != "S256" or not _CHALLENGE.fullmatch(
        asked.get("code_challenge", "")
    ):
        return "code_challenge: PKCE with S256 is required"
    return None


def is_loopback_origin(url: str) -> bool:
    """Whether an address (or an Origin header) is a page of this machine."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # is read on demand: `localhost:8080.evil.example` has none
    except ValueError:
        return False
    return parts.scheme == "http" and parts.hostname in LOOPBACK and "@" not in parts.netloc


def _for_loopback_pages(request: Request) -> dict[str, str]:
    """Lets a page at localhost fetch from 127.0.0.1, which is another origin to a browser."""
    origin = request.headers.get("origin", "")
    return {"Access-Control-Allow-Origin": origin, "Vary": "Origin"} if is_loopback_origin(origin) else {}


async def _form(request: Request) -> dict[str, str]:
    return dict(parse_qsl((await request.body()).decode("utf-8", "replace"), keep_blank_values=True))


def _page(problem: str = "", status: int = 200) -> Response:
    """The form posts to its own address, which still holds what the page asked for."""
    note = f'<p role="alert">{html.escape(problem)}</p>' if problem else ""
    return HTMLResponse(
        f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Sign in on this machine</title>
<style>
  :root {{ color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }}
  body {{ display: grid; place-content: center; min-height: 90vh; margin: 1rem }}
  form {{ display: grid; gap: .75rem; width: min(20rem, 90vw) }}
  h1 {{ font-size: 1.25rem; margin: 0 }}
  input, button {{ font: inherit; padding: .5rem .75rem }}
</style>
<form method="post">
  <h1>Sign in on this machine</h1>
  {note}
  <label for="user">Your name: any will do</label>
  <input id="user" name="user" value="ada" required pattern="[0-9A-Za-z._@\\-]+" maxlength="64" autofocus
    autocomplete="off" autocapitalize="none" spellcheck="false">
  <button>Sign in</button>
</form>
</html>
""",
        status,
        headers={
            "Cache-Control": "no-store",
            # No form-action: it would stop the way back to the page that asked.
            "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "
            "frame-ancestors 'none'",
            "Referrer-Policy": "no-referrer",
        },
    )


class Authorizer:
    """API Gateway's JWT authorizer: who may call, from an issuer's key set alone."""

    def __init__(self, issuer: str, audience: list[str], jwks: dict[str, Any]) -> None:
        self._issuer = issuer
        self._audience = audience
        self._keys = {key["kid"]: jwt.PyJWK(key) for key in jwks["keys"]}

    def claims(self, token: str) -> dict[str, str]:
        """The verified claims, each as a string, as the event carries them. Raises jwt.InvalidTokenError.

        `client_id` stands in for a missing `aud`, as in Cognito's access tokens.
        """
        key = self._keys.get(jwt.get_unverified_header(token).get("kid", ""))
        if key is None:
            raise jwt.InvalidTokenError("the token is signed with an unknown key")
        claims: dict[str, Any] = jwt.decode(
            token,
            key,
            algorithms=["RS256"],
            issuer=self._issuer,
            options={"require": ["exp", "iss"], "verify_aud": False},
        )
        meant_for = claims.get("aud", claims.get("client_id"))
        if not set(meant_for if isinstance(meant_for, list) else [meant_for]) & set(self._audience):
            raise jwt.InvalidAudienceError("the token does not have a valid audience")
        return {name: _as_text(value) for name, value in claims.items()}


def _as_text(value: object) -> str:
    if isinstance(value, list):
        return f"[{' '.join(_as_text(item) for item in value)}]"
    return value if isinstance(value, str) else json.dumps(value)

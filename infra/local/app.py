"""API Gateway and Lambda on this machine: real requests in, the real handlers' answers out."""

import base64
import binascii
import json
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

import jwt
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as LocalRoute
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from infra.local.aws import LocalAws
from infra.local.gateway import ToolGateway, read_target
from infra.local.invocation import Handler, invoke, report
from infra.local.issuer import LOOPBACK, Authorizer, is_loopback_origin
from infra.template import Function, Route, Template

AGENT_PATH = "/local/agent"
MAX_REQUEST = 10 * 1024 * 1024  # bytes that API Gateway takes

_ACCOUNT = "123456789012"
_TEXT = ("text/", "application/json", "application/javascript", "application/xml")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def _agent_console(_: Request) -> Response:
    """The console in which a person plays the agent, for the page. It is in no deployment."""
    text = Path(__file__).with_name("agent-console.js").read_text("utf-8")
    return Response(text, headers={"Cache-Control": "no-store"}, media_type="text/javascript")


def make_app(
    template: Template,
    handlers: Mapping[str, Handler],
    authorizer: Authorizer,
    *,
    agent: str | None = None,
    more: Sequence[LocalRoute] = (),
) -> ASGIApp:
    """The template's HTTP API over `handlers` (by logical id of their function), and what is local only.

    `agent` is the logical id of the agents' function: /local/agent takes a classic agent's events for it,
    /local/mcp is a Gateway's endpoint, /local/aws stands in for the AWS APIs that the examples call.

    Requests for a host that is not this machine are refused: a page elsewhere could have its own name point
    here.
    """
    functions = template.functions
    api = HttpApi(template, handlers, authorizer)
    routes = list(more)
    if agent is not None:
        function, handler = functions[agent], handlers[agent]
        routes.append(LocalRoute(AGENT_PATH, _agent_endpoint(function, handler), methods=["POST"]))
        routes.append(LocalRoute("/local/agent-console.js", _agent_console))
        routes.append(ToolGateway(read_target(), function, handler).route)
        routes += LocalAws(function, handler).routes
    router = Router(routes, redirect_slashes=False, default=api)
    return TrustedHostMiddleware(router, allowed_hosts=list(LOOPBACK), www_redirect=False)


class HttpApi:
    """One HTTP API as an ASGI application: routes, authorizer, CORS, payload 2.0."""

    def __init__(self, template: Template, handlers: Mapping[str, Handler], authorizer: Authorizer) -> None:
        self._functions = template.functions
        self._handlers = handlers
        self._authorizer = authorizer
        self._cors = template.cors
        # A name matches before a parameter does, from left to right.
        self._routes = sorted(
            template.routes, key=lambda route: [_is_parameter(p) for p in _parts(route.path)]
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        response = await self._respond(request)
        response.headers["apigw-requestid"] = uuid.uuid4().hex[:16]
        self._add_cors(request, response)
        await response(scope, receive, send)

    async def _respond(self, request: Request) -> Response:
        if request.method == "OPTIONS" and self._cors:
            return Response(status_code=204)
        raw_path = request.scope["raw_path"].decode("latin-1")
        for route in self._routes:
            parameters = _match(route, request.method, raw_path)
            if parameters is not None:
                break
        else:
            return _message(404, "Not Found")
        claims = None
        if route.authorized:
            try:
                claims = self._authorizer.claims(_token(request))
            except jwt.InvalidTokenError as refusal:
                response = _message(401, "Unauthorized")
                response.headers["www-authenticate"] = _challenge(request, refusal)
                return response
        body = await _body(request)
        if body is None:
            return _message(413, "Request Entity Too Large")
        function = self._functions[route.function]
        try:
            event = make_event(request, route, raw_path, parameters, claims, body)
            return make_response(await invoke(function, self._handlers[function.name], event))
        except Exception:
            report(function)
            return _message(500, "Internal Server Error")

    def _add_cors(self, request: Request, response: Response) -> None:
        """Where the API gives browsers' permission, what a handler says of it is dropped."""
        if not self._cors:
            return
        for name in [name for name in response.headers if name.startswith("access-control-")]:
            del response.headers[name]
        allowed = self._cors["AllowOrigins"]
        origin = request.headers.get("origin")
        if origin is None or not (origin in allowed or "*" in allowed):
            return
        headers = response.headers
        headers["access-control-allow-origin"] = "*" if "*" in allowed else origin
        headers.add_vary_header("origin")
        if request.method == "OPTIONS":
            headers["access-control-allow-methods"] = ",".join(self._cors["AllowMethods"])
            headers["access-control-allow-headers"] = ",".join(self._cors["AllowHeaders"])
            headers["access-control-max-age"] = str(self._cors["MaxAge"])
        else:
            headers["access-control-expose-headers"] = ",".join(self._cors["ExposeHeaders"])


def make_event(
    request: Request,
    route: Route,
    raw_path: str,
    parameters: Mapping[str, str],
    claims: Mapping[str, str] | None,
    body: bytes,
) -> dict[str, Any]:
    """The event of payload 2.0. What a request doesn't have, the event doesn't either."""
    headers: dict[str, str] = {}
    cookies: list[str] = []
    for name_, value_ in request.scope["headers"]:
        name, value = name_.decode("latin-1").lower(), value_.decode("latin-1")
        if name == "cookie":
            cookies += [cookie.strip() for cookie in value.split(";")]
        else:
            headers[name] = f"{headers[name]},{value}" if name in headers else value
    source = request.client.host if request.client else "127.0.0.1"
    host = headers.get("host", "localhost")
    headers |= {
        "x-amzn-trace-id": f"Root=1-{int(time.time()):08x}-{uuid.uuid4().hex[:24]}",
        "x-forwarded-for": source,
        "x-forwarded-port": host.rpartition(":")[2] if ":" in host else "80",
        "x-forwarded-proto": "http",
    }
    query: dict[str, str] = {}
    raw_query = request.scope["query_string"].decode("latin-1")
    for key, value in parse_qsl(raw_query, keep_blank_values=True):
        query[key] = f"{query[key]},{value}" if key in query else value
    now = time.time()
    path = unquote(raw_path)  # API Gateway's HTTP APIs decode it, in spite of the name
    context: dict[str, Any] = {
        "accountId": _ACCOUNT,
        "apiId": "local",
        "domainName": host,
        "domainPrefix": "local",
        "http": {
            "method": request.method,
            "path": path,
            "protocol": f"HTTP/{request.scope['http_version']}",
            "sourceIp": source,
            "userAgent": headers.get("user-agent", ""),
        },
        "requestId": uuid.uuid4().hex[:16],
        "routeKey": route.key,
        "stage": "$default",
        "time": _access_log_time(now),
        "timeEpoch": int(now * 1000),
    }
    if claims is not None:
        context["authorizer"] = {"jwt": {"claims": dict(claims), "scopes": None}}
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": route.key,
        "rawPath": path,
        "rawQueryString": raw_query,
        "headers": headers,
        "requestContext": context,
        "isBase64Encoded": False,
    }
    if cookies:
        event["cookies"] = cookies
    if query:
        event["queryStringParameters"] = query
    if parameters:
        event["pathParameters"] = dict(parameters)
    if body:
        try:
            if not headers.get("content-type", "").lower().startswith(_TEXT):
                raise ValueError("not text")
            event["body"] = body.decode()
        except ValueError:
            event["body"] = base64.b64encode(body).decode()
            event["isBase64Encoded"] = True
    return event


def make_response(answer: Any) -> Response:
    """The handler's answer as HTTP. Raises ValueError for one that API Gateway can't read."""
    if not isinstance(answer, dict) or "statusCode" not in answer:
        return Response(json.dumps(answer), media_type="application/json")
    status = int(answer["statusCode"])
    content = answer.get("body", "")
    if not 100 <= status <= 599 or not isinstance(content, str):
        raise ValueError("statusCode is no status, or body is no text")
    body = content.encode()
    if answer.get("isBase64Encoded"):
        body = binascii.a2b_base64(content, strict_mode=True)
    response = Response(body, status)
    for name, value in (answer.get("headers") or {}).items():
        if name.lower() != "content-length":  # the server counts for itself
            response.headers[name] = _as_header(value)
    for cookie in answer.get("cookies") or []:
        response.headers.append("set-cookie", cookie)
    if body and "content-type" not in response.headers:
        response.headers["content-type"] = "text/plain;charset=UTF-8"
    return response


def _agent_endpoint(function: Function, handler: Handler) -> Callable[[Request], Any]:
    async def call(request: Request) -> Response:
        """Calls the agent's function as an agent would; the answer is the handler's own, or Lambda's error.

        The body is the event alone, or {"event": …, "client_context": …} for what AgentCore Gateway sends.
        """
        origin = request.headers.get("origin")
        if origin is not None and not is_loopback_origin(origin):
            return _message(403, "Forbidden")  # another site's page, which could not read but would write
        body = await _body(request)
        if body is None:
            return _message(413, "Request Entity Too Large")
        try:
            event = json.loads(body)
        except (ValueError, RecursionError):
            return _message(400, "the body must be an agent's event as JSON")
        client_context = None
        if isinstance(event, dict) and "event" in event and set(event) <= {"event", "client_context"}:
            event, client_context = event["event"], event.get("client_context")
        if not isinstance(client_context, dict | None):
            return _message(400, "client_context must be an object")
        try:
            answer = await invoke(function, handler, event, client_context)
        except Exception as error:
            report(function)
            text = json.dumps({"errorType": type(error).__name__, "errorMessage": str(error)})
            return Response(text, 500, media_type="application/json")
        return Response(json.dumps(answer, ensure_ascii=False), media_type="application/json")

    return call


def _parts(path: str) -> list[str]:
    return path.split("/")[1:]


def _is_parameter(part: str) -> bool:
    return part.startswith("{") and part.endswith("}")


def _match(route: Route, method: str, raw_path: str) -> dict[str, str] | None:
    """The decoded path parameters where the route matches, else None."""
    pattern, parts = _parts(route.path), _parts(raw_path)
    if method != route.method or len(pattern) != len(parts):
        return None
    found = {}
    for name, part in zip(pattern, parts, strict=True):
        if _is_parameter(name) and part:
            found[name[1:-1]] = unquote(part)
        elif name != unquote(part):
            return None
    return found


def _token(request: Request) -> str:
    """The one token of the request. Raises jwt.InvalidTokenError."""
    given = request.headers.getlist("authorization")
    if len(given) != 1:
        raise jwt.InvalidTokenError("one token is required")
    scheme, _, token = given[0].strip().partition(" ")
    return token.strip() if scheme.lower() == "bearer" else given[0].strip()


def _challenge(request: Request, refusal: jwt.InvalidTokenError) -> str:
    if "authorization" not in request.headers:
        return "Bearer"
    reason = str(refusal).replace('"', "'")
    return f'Bearer scope="" error="invalid_token" error_description="{reason}"'


async def _body(request: Request) -> bytes | None:
    """The body, or None when it is larger than API Gateway takes."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MAX_REQUEST:
            return None
    return bytes(body)


def _message(status: int, text: str) -> Response:
    """API Gateway's own words."""
    body = json.dumps({"message": text}, separators=(",", ":"))
    return Response(body, status, media_type="application/json")


def _as_header(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _access_log_time(seconds: float) -> str:
    """`30/Nov/2026:22:08:31 +0000`, in English whatever the locale."""
    at = time.gmtime(seconds)
    return f"{at.tm_mday:02}/{_MONTHS[at.tm_mon - 1]}/{at.tm_year}:{time.strftime('%H:%M:%S', at)} +0000"

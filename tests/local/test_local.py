"""The local stack does what the deployed one would, over real HTTP."""

import base64
import hashlib
import http.client
import json
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import parse_qsl, urlencode, urlsplit

import anyio
import jwt
import pytest
import uvicorn

from infra.local.app import MAX_REQUEST, make_app
from infra.local.invocation import MAX_ANSWER, invoke
from infra.local.issuer import CLIENT_ID, Authorizer, Issuer
from infra.template import Function, Template
from preferences.api.http import Request as ApiRequest
from preferences.model import Caller
from tests.stack import ROOT, Answer, Site, start_stack, stop_stack


@pytest.fixture
def hurried_threads():
    """Threads take turns so often that what is not atomic shows."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual)


class TestEngines:
    def test_lose_no_conditional_write_among_sixteen_threads(self, engine, hurried_threads):
        client = engine.client()
        key = {"pk": {"S": "THREAD#t"}, "sk": {"S": "PREFERENCES"}}
        client.put_item(TableName=engine.table_name, Item={**key, "revision": {"N": "0"}})
        acknowledged = []

        def count_up():
            for _ in range(5):
                item = client.get_item(TableName=engine.table_name, Key=key, ConsistentRead=True)["Item"]
                seen = int(item["revision"]["N"])
                try:
                    client.update_item(
                        TableName=engine.table_name,
                        Key=key,
                        UpdateExpression="SET revision = :next",
                        ConditionExpression="revision = :seen",
                        ExpressionAttributeValues={":seen": {"N": str(seen)}, ":next": {"N": str(seen + 1)}},
                    )
                except client.exceptions.ConditionalCheckFailedException:
                    continue
                acknowledged.append(seen + 1)

        threads = [threading.Thread(target=count_up) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        item = client.get_item(TableName=engine.table_name, Key=key, ConsistentRead=True)["Item"]
        assert sorted(acknowledged) == list(range(1, int(item["revision"]["N"]) + 1))

    def test_count_their_calls_by_operation(self, engine, call_counter):
        client = engine.client()
        calls = call_counter(client)
        client.get_item(TableName=engine.table_name, Key={"pk": {"S": "a"}, "sk": {"S": "b"}})
        assert calls == {"GetItem": 1}


class Recorder:
    """A handler that keeps what it was given and answers as it is told."""

    def __init__(self) -> None:
        self.answer: object = {"statusCode": 200, "body": "{}"}
        self.event = None
        self.context = None
        self.calls = 0

    def __call__(self, event, context):
        self.event, self.context = event, context
        self.calls += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@dataclass(frozen=True)
class Bench:
    """The template's API on loopback, over a recorder as every handler."""

    site: Site
    issuer: Issuer
    handler: Recorder

    def ask(self, method, path, body=None, headers=None, token=None) -> Answer:
        given = {"Authorization": f"Bearer {token or self.issuer.access_token('ada')}"}
        return self.site.request(method, path, body, {**given, **(headers or {})})


@pytest.fixture(scope="module")
def benches():
    """Starts servers in this process: benches(AllowedOrigins=…) gives a Bench.

    Where the template is given an Issuer, tokens have to be its own, for one of the Audience.
    """
    running = []

    def start(**parameters) -> Bench:
        handler = Recorder()
        listener = socket.create_server(("127.0.0.1", 0))
        origin = f"http://127.0.0.1:{listener.getsockname()[1]}"
        template = Template(parameters=parameters, references={"Table": "preferences"})
        issuer = Issuer(origin)
        app = make_app(
            template,
            dict.fromkeys(template.functions, handler),
            Authorizer(
                template.resolve({"Ref": "Issuer"}) or issuer.url,
                template.resolve({"Ref": "Audience"}) or [CLIENT_ID],
                issuer.jwks(),
            ),
            agent="AgentFunction",
            more=issuer.routes,
        )
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off"))
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        running.append((server, thread))
        return Bench(Site(origin), issuer, handler)

    yield start
    for server, thread in running:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def shared_bench(benches):
    return benches()


@pytest.fixture
def bench(shared_bench):
    vars(shared_bench.handler).update(vars(Recorder()))
    return shared_bench


@pytest.fixture(scope="module")
def open_bench(benches):
    """A bench that two other origins may call."""
    return benches(AllowedOrigins="https://a.example,http://localhost:3000")


PREFERENCES = "/threads/t1/preferences"


class TestEvents:
    def test_are_what_api_gateway_sends(self, bench):
        bench.ask("POST", f"{PREFERENCES}?limit=2&tag=a&tag=b%20c", {"items": []}, {"Cookie": "a=1; b=2"})
        event = bench.handler.event
        assert event["version"] == "2.0"
        assert event["routeKey"] == "POST /threads/{thread_id}/preferences"
        assert event["rawPath"] == PREFERENCES
        assert event["rawQueryString"] == "limit=2&tag=a&tag=b%20c"
        assert event["queryStringParameters"] == {"limit": "2", "tag": "a,b c"}
        assert event["pathParameters"] == {"thread_id": "t1"}
        assert event["cookies"] == ["a=1", "b=2"]
        assert event["headers"]["content-type"] == "application/json"
        assert "cookie" not in event["headers"]
        assert event["body"] == '{"items": []}'
        assert event["isBase64Encoded"] is False
        context = event["requestContext"]
        assert context["routeKey"] == event["routeKey"]
        assert context["stage"] == "$default"
        assert context["http"]["method"] == "POST"
        assert context["http"]["path"] == PREFERENCES
        assert context["http"]["sourceIp"] == "127.0.0.1"
        assert re.fullmatch(r"\d\d/[A-Z][a-z][a-z]/\d{4}:\d\d:\d\d:\d\d \+0000", context["time"])
        assert abs(context["timeEpoch"] / 1000 - time.time()) < 60

    def test_leave_out_what_the_request_does_not_have(self, bench):
        bench.ask("GET", "/threads")
        assert not {"body", "cookies", "pathParameters", "queryStringParameters"} & set(bench.handler.event)
        assert bench.handler.event["rawQueryString"] == ""

    def test_join_a_repeated_header_with_commas(self, bench):
        connection = http.client.HTTPConnection(bench.site.origin.removeprefix("http://"))
        connection.putrequest("GET", "/openapi.json")
        connection.putheader("X-Thing", "one")
        connection.putheader("x-thing", "two")
        connection.endheaders()
        connection.getresponse().read()
        connection.close()
        assert bench.handler.event["headers"]["x-thing"] == "one,two"

    def test_carry_decoded_path_parameters(self, bench):
        bench.ask("GET", "/threads/a%20b%2Fc%C3%A9/preferences")
        assert bench.handler.event["pathParameters"] == {"thread_id": "a b/cé"}
        assert bench.handler.event["rawPath"] == "/threads/a b/cé/preferences"

    @pytest.mark.parametrize(
        ("content_type", "body"),
        [("application/octet-stream", b"{}"), ("application/json", b"\xff\xfe"), (None, b"{}")],
    )
    def test_carry_what_is_not_text_as_base64(self, bench, content_type, body):
        bench.ask("POST", PREFERENCES, body, {"Content-Type": content_type} if content_type else None)
        assert bench.handler.event["isBase64Encoded"] is True
        assert base64.b64decode(bench.handler.event["body"]) == body

    def test_carry_the_verified_claims_as_strings(self, bench):
        token = bench.issuer.access_token("ada", groups=["x", "y"], email_verified=True)
        bench.ask("GET", "/threads", token=token)
        jwt_part = bench.handler.event["requestContext"]["authorizer"]["jwt"]
        claims = jwt_part["claims"]
        assert jwt_part["scopes"] is None
        assert claims["sub"] == "ada"
        assert claims["iss"] == bench.issuer.url
        assert claims["token_use"] == "access"
        assert claims["exp"].isdigit()
        assert claims["groups"] == "[x y]"
        assert claims["email_verified"] == "true"

    def test_come_with_the_functions_deadline(self, bench):
        bench.ask("GET", "/threads")
        context = bench.handler.context
        assert 0 < context.get_remaining_time_in_millis() <= 15_000
        assert context.function_name == "ApiFunction"
        assert context.client_context is None


class TestTheAuthorizer:
    @pytest.mark.parametrize(
        "claims",
        [
            {"iss": "https://elsewhere.example"},
            {"client_id": "another"},
            {"client_id": None},
            {"aud": "another"},
            {"exp": 1},
            {"exp": None},
            {"iss": None},
            {"nbf": 4_000_000_000},
            {"iat": 4_000_000_000},
        ],
        ids=lambda claims: ",".join(f"{name} {value}" for name, value in claims.items()),
    )
    def test_refuses_a_token_that_is_not_for_now_and_here(self, bench, claims):
        answer = bench.ask("GET", "/threads", token=bench.issuer.access_token("ada", **claims))
        assert (answer.status, answer.body) == (401, b'{"message":"Unauthorized"}')
        assert 'error="invalid_token"' in answer.headers["www-authenticate"]
        assert bench.handler.calls == 0

    def test_refuses_a_token_that_its_issuer_did_not_sign(self, bench):
        true = bench.issuer.access_token("ada")
        header, payload, signature = true.split(".")
        claims = jwt.decode(true, options={"verify_signature": False})
        (public,) = bench.issuer.jwks()["keys"]
        kid = {"kid": public["kid"]}
        forged = [
            "nonsense",
            f"{header}.{payload}.",
            f"{header}.{payload}.{signature[::-1]}",
            Issuer(bench.site.origin).access_token("ada"),
            jwt.encode(claims, None, "none", kid),
            jwt.encode(claims, public["n"], "HS256", kid),
        ]
        for token in forged:
            assert bench.ask("GET", "/threads", token=token).status == 401, token
        assert bench.handler.calls == 0

    def test_refuses_who_brings_none_or_two(self, bench):
        assert bench.site.request("GET", "/threads").status == 401
        connection = http.client.HTTPConnection(bench.site.origin.removeprefix("http://"))
        connection.putrequest("GET", "/threads")
        for user in ("ada", "bob"):
            connection.putheader("Authorization", f"Bearer {bench.issuer.access_token(user)}")
        connection.endheaders()
        assert connection.getresponse().status == 401
        connection.close()
        assert bench.handler.calls == 0

    def test_takes_a_token_for_this_audience_and_one_without_the_word_bearer(self, bench):
        token = bench.issuer.access_token("ada", client_id=None, aud=["other", CLIENT_ID])
        assert bench.ask("GET", "/threads", token=token).status == 200
        assert bench.site.request("GET", "/threads", headers={"Authorization": token}).status == 200

    def test_is_not_asked_on_public_routes(self, bench):
        for path in ("/", "/openapi.json", "/config.json", "/assets/page.css"):
            assert bench.site.request("GET", path).status == 200
            assert "authorizer" not in bench.handler.event["requestContext"]


ISSUERS = {
    "Auth0": {
        "iss": "https://tenant.eu.auth0.com/",
        "aud": ["https://preferences.example/api", "https://tenant.eu.auth0.com/userinfo"],
        "sub": "auth0|5f7c8ec7c33c6c004bbafe82",
        "azp": "vXtwN4zWKvXW2rYCUVxKmR6iKj9OkVpX",
        "scope": "openid profile",
    },
    "Okta": {
        "iss": "https://dev-123456.okta.com/oauth2/default",
        "aud": "api://default",
        "sub": "ada@example.com",
        "cid": "0oa1gjh63g214q0Hq0g4",
        "uid": "00u1gjh63g214q0Hq0g3",
        "scp": ["openid", "profile"],
        "ver": 1,
    },
    "Entra": {
        "iss": "https://login.microsoftonline.com/9122040d-6c67-4c5b-b112-36a304b66dad/v2.0",
        "aud": "6e74172b-be56-4843-9ff4-e66a39bb12e3",
        "sub": "AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ",
        "azp": "7fee0cd7-1a62-4ea5-a7ab-6d2d4c7d8f2e",
        "scp": "access_as_user",
        "ver": "2.0",
    },
    "Entra, version 1": {
        "iss": "https://sts.windows.net/9122040d-6c67-4c5b-b112-36a304b66dad/",
        "aud": "api://6e74172b-be56-4843-9ff4-e66a39bb12e3",
        "sub": "AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ",
        "scp": "access_as_user",
        "ver": "1.0",
    },
    "Keycloak": {
        "iss": "https://id.example/realms/people",
        "aud": ["preferences", "account"],
        "sub": "0c3f9a3a-8f5b-4c1e-8f0e-3d7b6d0e9a51",
        "azp": "page",
        "typ": "Bearer",
        "scope": "openid email",
        "realm_access": {"roles": ["offline_access"]},
    },
}
"""Access tokens as issuers of these products make them: what differs from Cognito's."""


@pytest.fixture(scope="module", params=ISSUERS)
def shape(request):
    return ISSUERS[request.param]


@pytest.fixture(scope="module")
def other(benches, shape):
    """A bench that takes tokens of that shape."""
    audience = shape["aud"] if isinstance(shape["aud"], str) else shape["aud"][0]
    return benches(Issuer=shape["iss"], Audience=audience)


class TestOtherIssuers:
    COGNITOS: ClassVar = {"client_id": None, "token_use": None, "username": None, "scope": None}

    def token(self, other, shape, **claims):
        return other.issuer.access_token("ada", **{**self.COGNITOS, **shape, **claims})

    def test_say_who_it_is(self, other, shape):
        answer = other.ask("GET", "/threads", token=self.token(other, shape))
        assert answer.status == 200
        assert ApiRequest(other.handler.event, seconds_left=lambda: 1.0).caller == Caller.user(shape["sub"])

    def test_are_compared_to_the_letter(self, other, shape):
        iss = shape["iss"]
        without_or_with = iss[:-1] if iss.endswith("/") else f"{iss}/"
        calls = other.handler.calls
        for claims in (
            {"iss": without_or_with},
            {"iss": iss.upper()},
            {"aud": "another"},
            {"aud": ["another"]},
        ):
            assert other.ask("GET", "/threads", token=self.token(other, shape, **claims)).status == 401
        assert other.handler.calls == calls


class TestRoutes:
    def test_are_the_templates_each_by_its_own_key(self, bench, template):
        for route in template.routes:
            path = re.sub(r"{(\w+)}", r"a-\1", route.path)
            bench.ask(route.method, path)
            assert bench.handler.event["routeKey"] == route.key
            names = re.findall(r"{(\w+)}", route.path)
            assert bench.handler.event.get("pathParameters", {}) == {name: f"a-{name}" for name in names}

    @pytest.mark.parametrize(
        ("method", "path"),
        [
            ("GET", "/nothing"),
            ("GET", "/threads/"),
            ("GET", "/threads//preferences"),
            ("POST", "/openapi.json"),
            ("HEAD", "/threads"),
            ("GET", "//threads"),
            ("GET", "/local/nothing"),
        ],
    )
    def test_that_do_not_exist_are_not_found(self, bench, method, path):
        answer = bench.ask(method, path)
        assert answer.status == 404
        assert answer.body == (b"" if method == "HEAD" else b'{"message":"Not Found"}')
        assert bench.handler.calls == 0


class TestAnswers:
    def test_keep_status_headers_cookies_and_text(self, bench):
        bench.handler.answer = {
            "statusCode": 201,
            "headers": {"ETag": '"7"', "X-Count": 3},
            "cookies": ["a=1", "b=2"],
            "body": "é",
        }
        answer = bench.ask("GET", "/threads")
        assert (answer.status, answer.body.decode()) == (201, "é")
        assert answer.headers["etag"] == '"7"'
        assert answer.headers["x-count"] == "3"
        assert answer.headers["set-cookie"] == "b=2"
        assert answer.headers["content-type"] == "text/plain;charset=UTF-8"

    def test_may_be_bytes_or_nothing_at_all(self, bench):
        bench.handler.answer = {"statusCode": 200, "body": "AP8=", "isBase64Encoded": True}
        assert bench.ask("GET", "/threads").body == b"\x00\xff"
        bench.handler.answer = {"statusCode": 304}
        answer = bench.ask("GET", "/threads")
        assert (answer.status, answer.body) == (304, b"")

    def test_without_a_status_are_json(self, bench):
        bench.handler.answer = ["as", "is"]
        answer = bench.ask("GET", "/threads")
        assert (answer.status, answer.json) == (200, ["as", "is"])
        assert answer.headers["content-type"] == "application/json"

    @pytest.mark.parametrize(
        "fault",
        [
            RuntimeError("told to the log only"),
            {"statusCode": 200, "body": object()},
            {"statusCode": 200, "body": {"not": "text"}},
            {"statusCode": "ok"},
            {"statusCode": 200, "body": "?", "isBase64Encoded": True},
            {"statusCode": 200, "body": "x" * MAX_ANSWER},
        ],
        ids=["raised", "no JSON", "no text", "no status", "no base64", "too large"],
    )
    def test_that_no_gateway_could_pass_on_are_a_500(self, bench, fault):
        bench.handler.answer = fault
        answer = bench.ask("GET", "/threads")
        assert (answer.status, answer.body) == (500, b'{"message":"Internal Server Error"}')

    def test_to_a_body_of_more_than_ten_megabytes_are_a_413(self, bench):
        answer = bench.ask("POST", PREFERENCES, b" " * (MAX_REQUEST + 1))
        assert (answer.status, bench.handler.calls) == (413, 0)

    def test_are_not_waited_for_longer_than_lambda_would(self):
        over = threading.Event()
        try:
            function = Function("F", "f.handler", 0.05, 512, {})
            with pytest.raises(TimeoutError):
                anyio.run(invoke, function, lambda event, context: over.wait(10), {})
        finally:
            over.set()


class TestBrowsers:
    ALLOWED: ClassVar = {"Origin": "http://localhost:3000"}
    STRANGER: ClassVar = {"Origin": "http://localhost:3001"}

    def test_of_an_allowed_origin_may_ask_and_see_the_etag(self, open_bench):
        asked = {**self.ALLOWED, "Access-Control-Request-Method": "PATCH"}
        preflight = open_bench.site.request("OPTIONS", f"{PREFERENCES}/1", headers=asked)
        assert preflight.status == 204
        assert preflight.headers["access-control-allow-origin"] == "http://localhost:3000"
        assert "PATCH" in preflight.headers["access-control-allow-methods"]
        assert "if-match" in preflight.headers["access-control-allow-headers"]
        answer = open_bench.ask("GET", "/threads", headers=self.ALLOWED)
        assert answer.headers["access-control-allow-origin"] == "http://localhost:3000"
        assert answer.headers["access-control-expose-headers"] == "etag"
        refused = open_bench.site.request("GET", "/threads", headers=self.ALLOWED)
        assert refused.status == 401
        assert refused.headers["access-control-allow-origin"] == "http://localhost:3000"

    def test_of_each_allowed_origin_are_told_their_own(self, open_bench):
        for origin in ("https://a.example", "http://localhost:3000"):
            answer = open_bench.ask("GET", "/threads", headers={"Origin": origin})
            assert answer.headers["access-control-allow-origin"] == origin

    def test_of_other_origins_may_nothing_whatever_a_handler_says(self, open_bench):
        reported = {"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Credentials": "true"}
        open_bench.handler.answer = {"statusCode": 200, "headers": reported}
        for method in ("GET", "OPTIONS"):
            answer = open_bench.ask(method, "/threads", headers=self.STRANGER)
            assert not [name for name in answer.headers if name.startswith("access-control")]

    def test_are_told_nothing_where_no_origin_is_allowed(self, bench):
        assert bench.site.request("OPTIONS", "/threads", headers=self.ALLOWED).status == 404
        answer = bench.ask("GET", "/threads", headers=self.ALLOWED)
        assert not [name for name in answer.headers if name.startswith("access-control")]

    def test_that_came_by_a_strangers_name_are_refused(self, bench):
        for path in ("/openapi.json", "/threads", "/local/token", "/local/agent"):
            answer = bench.ask("GET", path, headers={"Host": "rebound.example"})
            assert answer.status == 400
        assert bench.ask("GET", "/openapi.json", headers={"Host": "localhost:1234"}).status == 200


class TestTheAgentsPlace:
    def test_gives_the_event_and_gives_back_the_raw_answer(self, bench):
        bench.handler.answer = {"any": ["answer", "é"]}
        answer = bench.site.agent({"messageVersion": "1.0"})
        assert (answer.status, answer.json) == (200, {"any": ["answer", "é"]})
        assert bench.handler.event == {"messageVersion": "1.0"}
        assert bench.handler.context.client_context is None
        assert bench.handler.context.function_name == "AgentFunction"

    def test_gives_the_client_context_of_a_gateway(self, bench):
        bench.site.agent({"items": []}, {"custom": {"bedrockAgentCoreToolName": "t___list_preferences"}})
        assert bench.handler.event == {"items": []}
        assert bench.handler.context.client_context.custom == {
            "bedrockAgentCoreToolName": "t___list_preferences"
        }

    def test_tells_of_a_fault_as_lambda_does(self, bench):
        bench.handler.answer = RuntimeError("broken")
        answer = bench.site.agent({})
        assert (answer.status, answer.json) == (500, {"errorType": "RuntimeError", "errorMessage": "broken"})

    @pytest.mark.parametrize("body", [b"{", b"", b"[" * 100_000, b'{"event": {}, "client_context": "x"}'])
    def test_refuses_what_is_no_event(self, bench, body):
        assert bench.site.request("POST", "/local/agent", body).status == 400
        assert bench.handler.calls == 0

    def test_refuses_another_sites_page(self, bench):
        for origin, status in (("https://elsewhere.example", 403), ("null", 403), (bench.site.origin, 200)):
            assert bench.site.request("POST", "/local/agent", {}, {"Origin": origin}).status == status
        assert bench.handler.calls == 1

    def test_takes_no_more_than_the_api_would(self, bench):
        assert bench.site.request("POST", "/local/agent", b" " * (MAX_REQUEST + 1)).status == 413


class TestTheIssuer:
    VERIFIER = "v" * 43
    BACK = "http://localhost:8080/"

    def asked(self, **changes) -> str:
        digest = hashlib.sha256(self.VERIFIER.encode()).digest()
        query = {
            "response_type": "code",
            "client_id": CLIENT_ID,
            "redirect_uri": self.BACK,
            "scope": "openid",
            "state": "s&1",
            "nonce": "n1",
            "code_challenge_method": "S256",
            "code_challenge": base64.urlsafe_b64encode(digest).decode().rstrip("="),
            **changes,
        }
        return "/local/issuer/authorize?" + urlencode(query)

    def code(self, bench, user="ada") -> str:
        answer = bench.site.request("POST", self.asked(), urlencode({"user": user}))
        assert answer.status == 303
        assert answer.headers["location"].startswith(self.BACK + "?")
        back = dict(parse_qsl(urlsplit(answer.headers["location"]).query))
        assert back["state"] == "s&1"
        return back["code"]

    def redeem(self, bench, **changes) -> Answer:
        form = {
            "grant_type": "authorization_code",
            "client_id": CLIENT_ID,
            "redirect_uri": self.BACK,
            "code_verifier": self.VERIFIER,
            **changes,
        }
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Origin": "http://localhost:8080"}
        return bench.site.request("POST", "/local/issuer/token", urlencode(form), headers)

    def test_is_found_by_its_configuration(self, bench):
        found = bench.site.request("GET", "/local/issuer/.well-known/openid-configuration").json
        assert found["issuer"] == bench.issuer.url
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            assert found[name].startswith(bench.issuer.url + "/")
        path = found["jwks_uri"].removeprefix(bench.site.origin)
        assert bench.site.request("GET", path).json == bench.issuer.jwks()
        assert not set(bench.issuer.jwks()["keys"][0]) & {"d", "p", "q"}

    def test_asks_for_a_name_and_gives_tokens_like_cognitos(self, bench):
        page = bench.site.request("GET", self.asked())
        assert (page.status, b'value="ada"' in page.body) == (200, True)
        answer = self.redeem(bench, code=self.code(bench, "bob"))
        assert answer.status == 200
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["access-control-allow-origin"] == "http://localhost:8080"
        tokens = answer.json
        assert (tokens["token_type"], tokens["expires_in"]) == ("Bearer", 3600)
        key = jwt.PyJWK(bench.issuer.jwks()["keys"][0])
        access = jwt.decode(tokens["access_token"], key, ["RS256"], issuer=bench.issuer.url)
        assert (access["sub"], access["client_id"], access["token_use"]) == ("bob", CLIENT_ID, "access")
        assert access["exp"] - access["iat"] == 3600
        assert {"scope", "jti", "username"} <= set(access)
        identity = jwt.decode(tokens["id_token"], key, ["RS256"], audience=CLIENT_ID)
        assert (identity["sub"], identity["token_use"], identity["nonce"]) == ("bob", "id", "n1")
        assert bench.ask("GET", "/threads", token=tokens["access_token"]).status == 200

    def test_takes_a_code_once(self, bench):
        code = self.code(bench)
        assert self.redeem(bench, code=code).status == 200
        assert self.redeem(bench, code=code).json == {"error": "invalid_grant"}

    @pytest.mark.parametrize(
        ("changes", "error"),
        [
            ({"code_verifier": "w" * 43}, "invalid_grant"),
            ({"code_verifier": ""}, "invalid_grant"),
            ({"redirect_uri": "http://localhost:8081/"}, "invalid_grant"),
            ({"code": "guess"}, "invalid_grant"),
            ({"client_id": "another"}, "invalid_client"),
            ({"grant_type": "password"}, "unsupported_grant_type"),
        ],
    )
    def test_gives_nothing_for_less_than_the_whole_proof(self, bench, changes, error):
        answer = self.redeem(bench, **{"code": self.code(bench), **changes})
        assert (answer.status, answer.json) == (400, {"error": error})

    @pytest.mark.parametrize(
        "changes",
        [
            {"redirect_uri": "https://elsewhere.example/"},
            {"redirect_uri": "http://localhost.elsewhere.example/"},
            {"redirect_uri": "http://localhost@elsewhere.example/"},
            {"redirect_uri": "http://ada@localhost/"},
            {"redirect_uri": "http://[localhost/"},
            {"redirect_uri": "javascript:alert(1)"},
            {"client_id": "another"},
            {"response_type": "token"},
            {"code_challenge_method": "plain"},
            {"code_challenge": ""},
        ],
    )
    def test_sends_nobody_to_an_address_that_is_not_this_machines(self, bench, changes):
        for method in ("GET", "POST"):
            answer = bench.site.request(
                method, self.asked(**changes), "user=ada" if method == "POST" else None
            )
            assert answer.status == 400
            assert "location" not in answer.headers

    @pytest.mark.parametrize(
        ("client_id", "logout_uri", "status"),
        [
            (CLIENT_ID, "http://localhost:8080/", 302),
            ("another", "http://localhost:8080/", 400),
            (CLIENT_ID, "https://elsewhere.example/", 400),
            (CLIENT_ID, "", 400),
        ],
    )
    def test_sends_whoever_signs_out_back_to_this_machines_page(self, bench, client_id, logout_uri, status):
        query = urlencode({"client_id": client_id, "logout_uri": logout_uri})
        answer = bench.site.request("GET", f"{urlsplit(bench.issuer.logout_url).path}?{query}")
        assert answer.status == status
        assert answer.headers.get("location") == (logout_uri if status == 302 else None)

    def test_asks_again_for_a_name_that_can_not_be_one(self, bench):
        answer = bench.site.request("POST", self.asked(), urlencode({"user": "<b>"}))
        assert (answer.status, b'role="alert"' in answer.body) == (400, True)
        assert bench.site.request("GET", "/local/token?user=%3Cb%3E").status == 400

    def test_lets_only_this_machines_pages_fetch_tokens(self, bench):
        path, origin = "/local/issuer/token", {"Origin": "http://localhost:8080"}
        assert "access-control-allow-origin" in bench.site.request("OPTIONS", path, headers=origin).headers
        elsewhere = bench.site.request("POST", path, "", {"Origin": "https://elsewhere.example"})
        assert "access-control-allow-origin" not in elsewhere.headers

    def test_gives_a_token_to_paste(self, bench):
        answer = bench.site.request("GET", "/local/token?user=cleo")
        assert answer.headers["content-type"].startswith("text/plain")
        assert bench.ask("GET", "/threads", token=answer.body.decode()).status == 200
        claims = bench.handler.event["requestContext"]["authorizer"]["jwt"]["claims"]
        assert claims["sub"] == "cleo"


def tool_event(function, thread, user="ada", **arguments):
    """A tool call of a classic agent, function details."""
    return {
        "messageVersion": "1.0",
        "agent": {},
        "actionGroup": "preferences",
        "function": function,
        "sessionAttributes": {"thread_id": thread, "user_id": user},
        "parameters": [
            {"name": name, "type": "array", "value": json.dumps(value)} for name, value in arguments.items()
        ],
    }


def said(answer) -> dict:
    """The tool's result out of a classic envelope."""
    return json.loads(answer.json["response"]["functionResponse"]["responseBody"]["TEXT"]["body"])


class TestTheStack:
    def test_holds_a_lock_against_the_agent_until_the_user_takes_it_off(self, stack):
        assert stack.user("PUT", "/threads/lock-story").status == 201
        added = stack.agent(tool_event("add_preferences", "lock-story", items=[{"title": "Formal tone"}]))
        assert said(added)["ok"]
        path = "/threads/lock-story/preferences"
        (row,) = stack.user("GET", path).json["preferences"]
        assert stack.user("PUT", f"{path}/{row['id']}/lock").json["preferences"][0]["locked"] is True

        edit = tool_event("update_preferences", "lock-story", updates=[{"index": 1, "title": "Casual tone"}])
        assert said(stack.agent(edit))["items"][0]["outcome"] == "locked"
        assert stack.user("GET", path).json["preferences"][0]["title"] == "Formal tone"

        assert stack.user("DELETE", f"{path}/{row['id']}/lock").status == 200
        assert said(stack.agent(edit))["items"][0]["outcome"] == "updated"
        assert stack.user("GET", path).json["preferences"][0]["title"] == "Casual tone"

    def test_answers_every_envelope_of_an_agent(self, stack):
        stack.user("PUT", "/threads/envelopes")
        identity = {"thread_id": "envelopes", "user_id": "ada"}
        assert said(stack.agent(tool_event("list_preferences", "envelopes")))["ok"]
        by_path = {
            "messageVersion": "1.0",
            "agent": {},
            "actionGroup": "preferences",
            "apiPath": "/list_preferences",
            "httpMethod": "GET",
            "sessionAttributes": identity,
        }
        assert stack.agent(by_path).json["response"]["httpStatusCode"] == 200
        headers = {"X-Thread-Id": "envelopes", "X-User-Id": "ada"}
        custom = {
            "bedrockAgentCoreToolName": "target___list_preferences",
            "bedrockAgentCorePropagatedHeaders": headers,
        }
        assert "preferences" in stack.agent({}, {"custom": custom}).body.decode()

    def test_keeps_users_apart(self, stack):
        assert stack.user("PUT", "/threads/adas-own").status == 201
        assert stack.user("GET", "/threads/adas-own/preferences", user="bob").status == 404

    def test_takes_no_identity_token_for_an_access_token(self, stack):
        issuer = TestTheIssuer()
        bench = Bench(stack, None, None)
        tokens = issuer.redeem(bench, code=issuer.code(bench)).json
        sent = {"Authorization": f"Bearer {tokens['id_token']}"}
        assert stack.request("GET", "/threads", headers=sent).status == 401

    def test_tells_the_page_how_to_sign_in(self, stack):
        assert stack.request("GET", "/config.json").json == {
            "authorize_url": f"{stack.origin}/local/issuer/authorize",
            "token_url": f"{stack.origin}/local/issuer/token",
            "client_id": CLIENT_ID,
            "scope": "openid",
            "audience": None,
            "sign_out_url": f"{stack.origin}/local/issuer/logout",
            "redirect_path": "/",
            "agent_console": "/local/agent",
        }

    def test_knows_every_route_of_the_template(self, stack, template):
        for route in template.routes:
            path = re.sub(r"{(\w+)}", "7", route.path)
            answer = stack.user(route.method, path)
            assert answer.status < 500, route.key
            assert answer.body != b'{"message":"Not Found"}', route.key


class TestTheProcess:
    def test_stops_at_ctrl_c_without_a_word_too_many(self):
        process, site = start_stack()
        with socket.create_connection(("127.0.0.1", int(site.origin.rpartition(":")[2]))):
            status, printed = stop_stack(process)  # an open connection does not hold it
        assert status == 0
        assert "Traceback" not in printed
        assert printed.endswith("\nstopped\n")

    def test_stops_as_cleanly_when_it_is_asked_to_terminate(self):
        process, _ = start_stack()
        status, printed = stop_stack(process, signal.SIGTERM)
        assert status == 0
        assert "Traceback" not in printed
        assert printed.endswith("\nstopped\n")

    def test_prints_commands_that_work_as_pasted(self):
        process, site = start_stack()
        lines = iter(process.stdout.readline, "")
        commands = []
        for line in lines:
            if line.startswith("  "):
                commands.append(line.strip())
            if line.startswith("Ctrl-C"):
                break
        shown = subprocess.run(
            ["bash", "-c", "\n".join(commands)], capture_output=True, text=True, timeout=60
        )
        stop_stack(process)
        assert len(commands) == 4
        assert '"title":"Formal tone"' in shown.stdout
        assert site.origin in commands[0]

    @pytest.mark.parametrize(
        ("arguments", "reason"),
        [(["--port", "{taken}"], "port {taken}"), (["--port", "0", "--parameter", "Colour=red"], "Colour")],
    )
    def test_says_in_one_line_why_it_can_not_start(self, arguments, reason):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            taken = listener.getsockname()[1]
            command = [sys.executable, "-m", "infra.local", *(part.format(taken=taken) for part in arguments)]
            ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
        assert ended.returncode == 1
        assert ended.stdout == ""
        assert reason.format(taken=taken) in ended.stderr
        assert ended.stderr.count("\n") == 1

    def test_keeps_its_data_in_the_engine_that_it_is_given(self, dynoxide):
        given = {"AWS_ENDPOINT_URL_DYNAMODB": dynoxide, "TABLE_NAME": "kept"}
        process, site = start_stack(**given)
        assert site.user("PUT", "/threads/kept").status == 201
        assert stop_stack(process)[0] == 0
        process, site = start_stack(**given)
        try:
            assert site.user("PUT", "/threads/kept").status == 200
        finally:
            stop_stack(process)

    @pytest.mark.parametrize(
        "origin",
        [
            "http://localhost:3000/",
            "https://a.example/page",
            "https://A.example",
            "a.example",
            "https://a.example,https://b.example/",
        ],
    )
    def test_starts_with_no_origin_that_no_browser_would_send(self, origin):
        command = [
            sys.executable,
            "-m",
            "infra.local",
            "--port",
            "0",
            "--parameter",
            f"AllowedOrigins={origin}",
        ]
        reported = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
        assert reported.returncode == 1
        assert "AllowedOrigins: " in reported.stderr
        assert "must be origins as browsers send them" in reported.stderr

    def test_takes_the_origins_of_pages_elsewhere_from_make(self):
        origins = ["http://localhost:3000", "http://localhost:5173"]
        make = ["make", "--dry-run", "local", f"ORIGINS={','.join(origins)}"]
        printed = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        [command] = [line for line in printed.splitlines() if "infra.local" in line]
        process, site = start_stack(*shlex.split(command.partition(" --port 8080 ")[2]))
        try:
            for origin in origins:
                answer = site.request("OPTIONS", "/threads", headers={"Origin": origin})
                assert answer.headers["access-control-allow-origin"] == origin
        finally:
            stop_stack(process)

"""Nobody reaches another's list, nor learns whether there is one; and the log holds nothing of anyone's.

Over real HTTP, through the local stack's authorizer to the real handlers. Routes and tools are taken from
their registries: one that is added is tried here too.
"""

import json
import re
import signal
import socket
import threading

import jwt
import pytest
import uvicorn

from infra.local.app import make_app
from infra.local.issuer import CLIENT_ID, Authorizer, Issuer
from preferences import agent, api
from preferences.api.routes import ROUTES
from preferences.model import is_thread_id
from preferences.tools import TOOLS
from tests.effort import PROVE, tried
from tests.stack import Site, start_stack

PRIVATE = [key for key, route in ROUTES.items() if not route.public]
OF_A_THREAD = [key for key in PRIVATE if "{thread_id}" in key]
TAKES_AN_ID = "PUT /threads/{thread_id}"
BODIES = {
    "POST /threads/{thread_id}/preferences": {"items": [{"title": "Eve's"}]},
    "PATCH /threads/{thread_id}/preferences/{id}": {"title": "Eve's"},
    "PUT /threads/{thread_id}/order": {"ids": []},
    "PATCH /threads/{thread_id}": {"title": "Eve's"},
}
ARGUMENTS = {
    "add_preferences": {"items": [{"title": "Eve's"}]},
    "list_preferences": {},
    "update_preferences": {"updates": [{"index": 1, "title": "Eve's"}]},
    "remove_preferences": {"indices": [1]},
}
ENVELOPES = ("function", "openapi", "gateway")


@pytest.fixture(scope="module")
def issuer_and_site(quick_table, template):
    """The people's and the agent's handler on loopback, in this process, so that any token can be signed."""
    listener = socket.create_server(("127.0.0.1", 0))
    origin = f"http://127.0.0.1:{listener.getsockname()[1]}"
    issuer = Issuer(origin)
    app = make_app(
        template,
        {"ApiFunction": api.handler, "AgentFunction": agent.handler},
        Authorizer(issuer.url, [CLIENT_ID], issuer.jwks()),
        agent="AgentFunction",
        more=issuer.routes,
    )
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off"))
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    yield issuer, Site(origin)
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="module")
def issuer(issuer_and_site):
    return issuer_and_site[0]


@pytest.fixture(scope="module")
def site(issuer_and_site):
    return issuer_and_site[1]


def make_adas_thread(site) -> str:
    """The id of her one row."""
    site.user("PUT", "/threads/adas-own")
    added = site.user("POST", "/threads/adas-own/preferences", {"items": [{"title": "Ada's"}]})
    return added.json["preferences"][0]["id"]


@pytest.fixture(scope="module")
def row_id(site):
    return make_adas_thread(site)


@pytest.fixture
def untouched(site, row_id):
    """Ada's list is after the test what it was before."""
    before = site.user("GET", "/threads/adas-own/preferences").json
    yield
    assert site.user("GET", "/threads/adas-own/preferences").json == before


def ask(site, key, thread_id, row_id, headers):
    method, path = key.split(" ")
    filled = path.format(thread_id=thread_id, id=row_id, revision=2)
    return site.request(method, filled, BODIES.get(key), headers)


def apart_from_numbers(answer):
    """All that a caller can see of an answer, less what numbers each request anew."""
    headers = {k: v for k, v in answer.headers.items() if k not in ("apigw-requestid", "date")}
    return answer.status, headers, answer.body


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


# -- routes -----------------------------------------------------------------------------------------------


def forged_tokens(issuer, site):
    """Name → a token of ada's that is not for here and now, or that nobody signed."""
    true = issuer.access_token("ada")
    header, payload, signature = true.split(".")
    other_payload = jwt.utils.base64url_encode(
        jwt.utils.base64url_decode(payload).replace(b'"ada"', b'"eve"')
    ).decode()
    (public,) = issuer.jwks()["keys"]
    claims = jwt.decode(true, options={"verify_signature": False})
    return {
        "another issuer": issuer.access_token("ada", iss="https://elsewhere.example"),
        "another issuer's key": Issuer(site.origin).access_token("ada"),
        "another audience": issuer.access_token("ada", client_id="another"),
        "no audience": issuer.access_token("ada", client_id=None),
        "expired": issuer.access_token("ada", exp=1),
        "not yet": issuer.access_token("ada", nbf=4_000_000_000),
        "other claims": f"{header}.{other_payload}.{signature}",
        "a bent signature": f"{header}.{payload}.{signature[::-1]}",
        "no signature": f"{header}.{payload}.",
        "signed with none": jwt.encode(claims, None, "none", {"kid": public["kid"]}),
        "an id token": issuer.access_token("ada", token_use="id", aud=CLIENT_ID),
        "no user": issuer.access_token("ada", sub=None),
        "a blank user": issuer.access_token(" "),
        "nothing": "",
    }


@pytest.mark.parametrize("key", PRIVATE)
def test_a_route_answers_nobody_without_a_token_that_is_good(site, issuer, row_id, untouched, key):
    tokens = forged_tokens(issuer, site)
    refused = {name: ask(site, key, "adas-own", row_id, bearer(token)) for name, token in tokens.items()}
    refused["none"] = ask(site, key, "adas-own", row_id, {})
    assert {name: answer.status for name, answer in refused.items()} == dict.fromkeys(refused, 401)
    assert all(b"Ada" not in answer.body for answer in refused.values())
    tried("isolation", "requests without a good token", len(refused))


STRANGE_IDS = ["unknown", "ADAS-OWN", "adas-own%23x", "adas-own%2Fx", "adas-own%00", "%20adas-own"]
STRANGE_IDS += ["THREAD%23adas-own", "x" * 101]


@pytest.mark.parametrize("key", OF_A_THREAD)
def test_a_route_tells_a_stranger_of_a_thread_what_it_tells_of_none(site, row_id, untouched, key):
    eve = bearer(site.token("eve"))
    foreign = apart_from_numbers(ask(site, key, "adas-own", row_id, eve))
    if key == TAKES_AN_ID:
        assert foreign[0] == 409  # an id is taken, and that is all that it says
        assert json.loads(foreign[2])["code"] == "thread_taken"
        return
    for thread_id in STRANGE_IDS:
        assert apart_from_numbers(ask(site, key, thread_id, row_id, eve)) == foreign, thread_id
    assert foreign[0] == 404
    tried("isolation", "requests for a thread that is another's, or none", 1 + len(STRANGE_IDS))


# An id stays taken, for whoever deleted its thread may want it back.
@pytest.mark.parametrize("key", [key for key in OF_A_THREAD if key != TAKES_AN_ID])
def test_a_deleted_thread_tells_strangers_no_more_than_one_that_never_was(site, key):
    site.user("PUT", "/threads/adas-past")
    site.user("DELETE", "/threads/adas-past")
    eve = bearer(site.token("eve"))
    past, never = (ask(site, key, thread_id, "0" * 32, eve) for thread_id in ("adas-past", "unknown"))
    assert apart_from_numbers(past) == apart_from_numbers(never)
    tried("isolation", "requests for a thread that is another's, or none", 2)


# -- tools ------------------------------------------------------------------------------------------------


def call(site, envelope, tool, session, arguments=None):
    """The raw answer of the agent's handler, and the result inside it."""
    given = ARGUMENTS[tool] if arguments is None else arguments
    parameters = [{"name": n, "type": "array", "value": json.dumps(v)} for n, v in given.items()]
    event = {
        "messageVersion": "1.0",
        "actionGroup": "preferences",
        "agent": {"id": "AGENT12345"},
        "sessionAttributes": session,
    }
    if envelope == "function":
        answer = site.agent({**event, "function": tool, "parameters": parameters})
        inside = answer.json["response"]["functionResponse"]["responseBody"]["TEXT"]["body"]
        return answer, json.loads(inside)
    if envelope == "openapi":
        body = {"content": {"application/json": {"properties": parameters}}}
        event |= {"apiPath": f"/{tool}", "httpMethod": "POST", "requestBody": body}
        answer = site.agent(event)
        return answer, json.loads(answer.json["response"]["responseBody"]["application/json"]["body"])
    names = {"thread_id": "X-Thread-Id", "user_id": "X-User-Id"}
    custom = {
        "bedrockAgentCoreToolName": f"target___{tool}",
        "bedrockAgentCorePropagatedHeaders": {names[name]: value for name, value in session.items()},
    }
    answer = site.agent(given, {"custom": custom})
    return answer, answer.json


each_tool = pytest.mark.parametrize(
    ("envelope", "tool"), [(envelope, tool) for envelope in ENVELOPES for tool in TOOLS]
)


def test_every_tool_is_tried():
    assert ARGUMENTS.keys() == TOOLS.keys()


@each_tool
def test_a_tool_tells_a_strangers_agent_what_it_tells_of_no_thread(site, untouched, envelope, tool):
    """Without a user's id a thread that is not there can't be made, and with one it would be: so the thread
    that is nobody's is one that was deleted, where an addition makes none."""
    site.user("PUT", "/threads/adas-gone")
    site.user("DELETE", "/threads/adas-gone")
    answers = []
    for user in ("eve", "Ada", "ada ", "ada#", "THREAD#ada"):
        _, result = call(site, envelope, tool, {"thread_id": "adas-own", "user_id": user})
        _, of_none = call(site, envelope, tool, {"thread_id": "adas-gone", "user_id": user})
        assert result == of_none
        assert result["error"]["code"] == "not_found"
        answers.append(result)
    assert "Ada" not in json.dumps(answers)
    tried("isolation", "tool calls for another's thread", 2 * len(answers))


@each_tool
def test_a_tool_does_nothing_without_a_thread_that_can_be_one(site, untouched, envelope, tool):
    sessions = [{}, {"user_id": "ada"}]
    odd = ["", " ", "adas-own ", " adas-own", "adas-own\n", "adas-own#x", "adas-own/x", "a", "x" * 101]
    sessions += [{"thread_id": thread_id, "user_id": "ada"} for thread_id in odd]
    for session in sessions:
        assert not is_thread_id(session.get("thread_id", ""))
        _, result = call(site, envelope, tool, session)
        assert result["error"]["code"] == "missing_identity", session
    tried("isolation", "tool calls without a thread", len(sessions))


@each_tool
def test_a_tool_takes_no_identity_from_its_arguments(site, untouched, envelope, tool):
    for name, value in (("thread_id", "adas-own"), ("user_id", "ada")):
        arguments = {**ARGUMENTS[tool], name: value}
        _, result = call(site, envelope, tool, {"thread_id": "eves-own", "user_id": "eve"}, arguments)
        assert result["error"]["code"] == "invalid_arguments"
    tried("isolation", "tool calls with an identity among the arguments", 2)


# -- the log ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["INFO", "DEBUG"] if PROVE else ["DEBUG"])
def test_the_log_holds_no_text_no_token_no_claim_and_no_id(level):
    """Everything that the whole stack writes, while every route and tool is asked well and badly."""
    process, site = start_stack(POWERTOOLS_LOG_LEVEL=level)
    lines = []
    reader = threading.Thread(target=lambda: lines.extend(process.stdout))
    reader.start()
    try:
        user, thread = "canary-user", "canary-thread"
        good, other = site.token(user), site.token("canary-other")
        private = {"items": [{"title": "canary-title", "subtitle": "canary-subtitle"}]}
        site.request("PUT", f"/threads/{thread}", None, bearer(good))
        added = site.request("POST", f"/threads/{thread}/preferences", private, bearer(good)).json
        row = added["preferences"][0]["id"]
        asked = 0
        for envelope in ENVELOPES:
            for tool in TOOLS:
                why = {"action_and_reasoning": "canary-reason"}
                for session in ({"thread_id": thread, "user_id": user}, {"thread_id": thread}, {}):
                    call(site, envelope, tool, session, {**ARGUMENTS[tool], **why})
                    call(site, envelope, tool, session, {"items": "[canary-broken", "canary-name": 1, **why})
                    asked += 2
        for key in sorted(ROUTES, key=lambda key: key.startswith("DELETE")):
            for headers in ({}, bearer(f"{good}canary"), bearer(other), bearer(good)):
                method, path = key.split(" ")
                sent = {**headers, "If-Match": '"canary-tag"', "X-Canary": "canary-header"}
                last = {"revision": 1, "version": "canary-version", "file": "canary.js"}
                filled = path.format(thread_id=thread, id=row, **last)
                for body in (BODIES.get(key), {"canary-field": "canary-value"}, b"canary-bytes"):
                    site.request(method, f"{filled}?canary=canary-query", body, sent)
                    asked += 1
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)
        reader.join(20)
        process.stdout.close()
    written = "".join(lines).partition("Ctrl-C stops it.")[2]  # above it, the stack greets with a token
    assert written.count('"request"') > len(ROUTES), written[:2000]
    for private in ("canary", row, *good.split("."), *other.split(".")[1:]):
        assert private not in written, re.findall(f".*{re.escape(private)}.*", written)[0][:500]
    tried("isolation", f"calls of which the log at {level} tells nothing private", asked)

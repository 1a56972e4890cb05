"""The agent's handler, through its real handler: the three envelopes in, answers of the caller's kind out."""

import io
import json
import subprocess
import sys
from collections import Counter
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from preferences import errors, render
from preferences.agent import envelopes, handler, lambda_handler
from preferences.api.problems import status_of
from preferences.model import Caller, Draft
from preferences.repository import client as repository_client
from preferences.repository import open_repository
from preferences.tools import TOOLS
from tests.support import overtake

THREAD, ADA = "trip-2026", "ada"
SESSION = {"thread_id": THREAD}
ITEMS = [{"title": "Academic tone", "kind": "hard"}]
WHY = "Recording what the user asked for"
KINDS = ["function", "openapi", "gateway"]
CLASSIC = ["function", "openapi"]


def named(arguments):
    kinds = {list: "array", int: "integer"}
    return [
        {
            "name": name,
            "type": kinds.get(type(value), "string"),
            "value": value if isinstance(value, str) else json.dumps(value, ensure_ascii=False),
        }
        for name, value in arguments.items()
    ]


def function(tool, arguments=None, session=SESSION, **more):
    return {
        "messageVersion": "1.0",
        "agent": {"name": "assistant", "id": "AGENT12345", "alias": "LIVE", "version": "1"},
        "inputText": "Please write it in an academic tone",
        "sessionId": "session-1",
        "actionGroup": "Preferences",
        "function": tool,
        "parameters": named(arguments or {}),
        "sessionAttributes": session,
        "promptSessionAttributes": {},
        **more,
    }


def openapi(tool, arguments=None, session=SESSION, **more):
    event = function(tool, {}, session)
    del event["function"]
    event |= {"apiPath": f"/{tool}", "httpMethod": "POST" if arguments else "GET"}
    if arguments:
        event["requestBody"] = {"content": {"application/json": {"properties": named(arguments)}}}
    return event | more


def gateway(tool, session=SESSION, **more):
    """The client context; the arguments are the event itself."""
    names = {"thread_id": "X-Thread-Id", "user_id": "X-User-Id"}
    return {
        "custom": {
            "bedrockAgentCoreMessageVersion": "1.0",
            "bedrockAgentCoreGatewayId": "preferences-gw-1",
            "bedrockAgentCoreTargetId": "TARGET0001",
            "bedrockAgentCoreToolName": f"Preferences___{tool}",
            "bedrockAgentCorePropagatedHeaders": {names.get(k, k): v for k, v in session.items()},
            **more,
        }
    }


def code(result):
    return None if result["ok"] else result["error"]["code"]


def read(event, raw):
    """The result inside an answer, after checking that the answer has the shape that its caller needs."""
    json.dumps(raw, ensure_ascii=False, allow_nan=False).encode()
    if not isinstance(event, dict) or "response" not in raw:
        return raw
    inner = raw["response"]
    assert raw["messageVersion"] == "1.0"
    assert set(raw) == {"messageVersion", "response", "sessionAttributes", "promptSessionAttributes"}
    for name in ("sessionAttributes", "promptSessionAttributes"):
        assert all(isinstance(text, str) for pair in raw[name].items() for text in pair)
    if "functionResponse" in inner:
        assert set(inner) == {"actionGroup", "function", "functionResponse"}
        bodies, echoed = inner["functionResponse"]["responseBody"], ("actionGroup", "function")
        body = bodies.pop("TEXT")["body"]
    else:
        echoed = ("actionGroup", "apiPath", "httpMethod")
        assert set(inner) == {*echoed, "httpStatusCode", "responseBody"}
        assert type(inner["httpStatusCode"]) is int
        bodies = inner["responseBody"]
        body = bodies.pop("application/json")["body"]
    assert not bodies
    assert all(isinstance(inner[name], str) for name in echoed)
    result = json.loads(body)
    state = inner.get("functionResponse", {}).get("responseState")
    assert state == (
        "REPROMPT" if "functionResponse" in inner and code(result) == "invalid_arguments" else None
    )
    return result


class Agent:
    """Sends calls to the handler. `answer` is the latest, as it came; `calls` counts DynamoDB's."""

    def __init__(self, make_context):
        self.make_context = make_context
        self.answer = None
        self.calls = Counter()
        self.errors = {}

    def break_table(self, status, error, *operations):
        """From now on DynamoDB answers these operations with this error."""
        parsed = {
            "Error": {"Code": error, "Message": "secret"},
            "ResponseMetadata": {"HTTPStatusCode": status},
        }
        self.errors |= dict.fromkeys(operations, (SimpleNamespace(status_code=status), parsed))

    def overtake(self, thread_id):
        """Lets other code write to the thread before the next UpdateItem, whose outcome then is unknown."""
        repository_client.dynamodb_client().meta.events.register("before-call.dynamodb", overtake(thread_id))

    def before_call(self, model, **_):
        self.calls[model.name] += 1
        return self.errors.get(model.name)

    def send(self, event, client_context=None):
        self.answer = handler(event, self.make_context(timeout=60, client_context=client_context))
        return read(event, json.loads(json.dumps(self.answer)))

    def call(self, kind, tool, arguments=None, session=SESSION):
        arguments = arguments or {}
        if kind == "gateway":
            return self.send(arguments, gateway(tool, session))
        return self.send({"function": function, "openapi": openapi}[kind](tool, arguments, session))

    @property
    def status(self):
        return self.answer["response"]["httpStatusCode"]


def list_of(thread_id):
    return open_repository(lambda: 30).list_preferences(thread_id, Caller.user(ADA))


@pytest.fixture(scope="module")
def first_items(quick_table):
    """The table with ada's thread of two rows, as it is before each test."""
    repository = open_repository(lambda: 30)
    repository.register_thread(THREAD, Caller.user(ADA))
    drafts = [Draft(title="Plain words"), Draft(title="Cite sources", subtitle="APA 6", kind="hard")]
    repository.add_preferences_bulk(THREAD, drafts, Caller.user(ADA))
    return quick_table.scan(TableName="preferences")["Items"]


@pytest.fixture
def stored(quick_table, first_items):
    """stored() is ada's list as it lies in the table."""
    present = quick_table.scan(TableName="preferences")["Items"]
    if present != first_items:
        for item in present:
            quick_table.delete_item(TableName="preferences", Key={name: item[name] for name in ("pk", "sk")})
        for item in first_items:
            quick_table.put_item(TableName="preferences", Item=item)
    return lambda: list_of(THREAD)


@pytest.fixture
def agent(quick_table, stored, lambda_context):
    lambda_handler.user_id_required.cache_clear()
    agent = Agent(lambda_context)
    events = repository_client.dynamodb_client().meta.events
    events.register("before-call.dynamodb", agent.before_call)
    yield agent
    events.unregister("before-call.dynamodb", agent.before_call)
    lambda_handler.user_id_required.cache_clear()


@pytest.fixture
def log():
    """What the handler logs, as text."""
    stream = io.StringIO()
    before = lambda_handler.logger.registered_handler.setStream(stream)
    yield stream
    lambda_handler.logger.registered_handler.setStream(before)


def titles(thread):
    return [row.title for row in thread.preferences]


@pytest.mark.parametrize("kind", KINDS)
class TestEveryEnvelope:
    def test_adds(self, agent, stored, kind):
        result = agent.call(kind, "add_preferences", {"items": ITEMS, "action_and_reasoning": WHY})
        assert result["ok"]
        assert result["result"] == "recorded 1 preference"
        assert titles(stored()) == ["Plain words", "Cite sources", "Academic tone"]
        assert stored().last_change.reasoning == WHY

    def test_lists(self, agent, stored, kind):
        result = agent.call(kind, "list_preferences")
        assert result["result"] == "#1 [soft] Plain words\n#2 [hard] Cite sources — APA 6"
        assert result["revision"] == stored().revision

    def test_updates(self, agent, stored, kind):
        agent.call(kind, "update_preferences", {"updates": [{"index": 2, "subtitle": "APA 7"}]})
        assert stored().preferences[1].subtitle == "APA 7"

    def test_removes(self, agent, stored, kind):
        agent.call(kind, "remove_preferences", {"indices": [1]})
        assert titles(stored()) == ["Cite sources"]

    def test_takes_the_revision_of_the_list_back(self, agent, stored, kind):
        seen = agent.call(kind, "list_preferences")["revision"]
        arguments = {"indices": [1], "list_revision": seen}
        assert agent.call(kind, "remove_preferences", arguments)["ok"]
        stale = agent.call(kind, "remove_preferences", arguments)
        assert [item["outcome"] for item in stale["items"]] == ["stale"]
        assert titles(stored()) == ["Cite sources"]

    def test_serves_a_call_that_gives_no_reason(self, agent, stored, kind):
        assert agent.call(kind, "add_preferences", {"items": ITEMS})["ok"]
        assert stored().last_change.reasoning is None

    def test_decodes_what_came_as_text(self, agent, stored, kind):
        assert agent.call(kind, "add_preferences", {"items": "[{title=Short, plain words, kind=soft}]"})["ok"]
        assert titles(stored())[-1] == "Short, plain words"

    def test_hands_out_text_of_every_script_as_it_is(self, agent, kind):
        agent.call(kind, "add_preferences", {"items": [{"title": "簡潔に"}]})
        result = agent.answer.get("response", agent.answer)
        assert "#3 [soft] 簡潔に" in json.dumps(result, ensure_ascii=False)

    @pytest.mark.parametrize("name", ["thread_id", "user_id"])
    def test_refuses_identity_as_an_argument(self, agent, kind, name):
        result = agent.call(kind, "list_preferences", {name: THREAD})
        assert code(result) == "invalid_arguments"
        assert not agent.calls

    def test_passes_over_an_argument_that_no_tool_has(self, agent, kind):
        assert agent.call(kind, "list_preferences", {"verbose": "yes"})["ok"]

    @pytest.mark.parametrize("value", ["", None, "Academic tone"])
    def test_names_the_argument_that_is_wrong_and_shows_a_right_one(self, agent, kind, value):
        result = agent.call(kind, "add_preferences", {"items": value})
        assert code(result) == "invalid_arguments"
        assert result["error"]["message"].startswith("items: ")
        assert 'for example [{"title": "Academic tone"' in result["error"]["message"]
        assert not agent.calls

    def test_refuses_a_tool_that_is_not_there_and_names_those_that_are(self, agent, kind):
        result = agent.call(kind, "wipe_everything")
        assert code(result) == "unknown_tool"
        assert all(name in result["error"]["message"] for name in TOOLS)
        assert "wipe" not in result["error"]["message"]
        assert not agent.calls

    def test_tells_of_a_lock_and_keeps_it(self, agent, stored, kind):
        row = stored().preferences[0]
        open_repository(lambda: 30).set_lock(THREAD, row.id, Caller.user(ADA), locked=True)
        result = agent.call(kind, "remove_preferences", {"indices": [1, 2]})
        assert [item["outcome"] for item in result["items"]] == ["locked", "removed"]
        assert titles(stored()) == ["Plain words"]

    @pytest.mark.parametrize(
        ("error", "expected"),
        [("ThrottlingException", "busy"), ("AccessDeniedException", "internal_error")],
    )
    def test_says_that_it_failed_without_saying_what_of(self, agent, kind, error, expected, monkeypatch):
        monkeypatch.setattr("preferences.repository.table.REQUEST_SECONDS", 0.1)
        agent.break_table(400, error, "GetItem")
        result = agent.call(kind, "list_preferences")
        assert code(result) == expected
        assert "secret" not in str(agent.answer)
        assert error not in str(agent.answer)

    def test_says_what_is_stored_when_the_outcome_of_a_write_is_unknown(self, agent, kind):
        agent.overtake(THREAD)
        result = agent.call(kind, "remove_preferences", {"indices": [1]})
        assert code(result) == "outcome_unknown"
        assert "#1 [soft] Plain words" in result["preferences"]

    def test_carries_nothing_over_to_the_next_call(self, agent, kind):
        agent.call(kind, "list_preferences")
        result = agent.call(kind, "list_preferences", session={})
        assert code(result) == "missing_identity"
        assert "Plain words" not in str(agent.answer)


@pytest.mark.parametrize("kind", CLASSIC)
class TestAClassicAnswer:
    def test_echoes_names_and_attributes(self, agent, kind):
        session = {**SESSION, "booking": "B-17", "locale": "de"}
        for tool, arguments in (
            ("list_preferences", {}),
            ("remove_preferences", {"indices": [0]}),
            ("nope", {}),
        ):
            agent.call(kind, tool, arguments, session)
            assert agent.answer["sessionAttributes"] == session
            assert agent.answer["response"]["actionGroup"] == "Preferences"
            echoed = agent.answer["response"]["function" if kind == "function" else "apiPath"]
            assert echoed.strip("/") == tool

    def test_carries_the_block_beside_the_prompt_attributes_that_came(self, agent, stored, kind):
        make = function if kind == "function" else openapi
        given = {"tone": "calm", "preferences": "the old block"}
        agent.send(make("add_preferences", {"items": ITEMS}, promptSessionAttributes=given))
        assert agent.answer["promptSessionAttributes"] == {
            "tone": "calm",
            "preferences": render.block(stored()),
        }

    def test_carries_no_block_where_the_list_is_not_known(self, agent, kind):
        agent.call(kind, "list_preferences", session={"thread_id": "nobodys-thread"})
        assert agent.answer["promptSessionAttributes"] == {}

    def test_carries_the_block_of_a_write_whose_outcome_is_unknown(self, agent, kind):
        agent.overtake(THREAD)
        agent.call(kind, "remove_preferences", {"indices": [1]})
        assert "Plain words" in agent.answer["promptSessionAttributes"]["preferences"]

    @pytest.mark.parametrize("attributes", [None, [], "x", 7])
    def test_has_attributes_whatever_came_instead_of_them(self, agent, kind, attributes):
        make = function if kind == "function" else openapi
        agent.send(make("list_preferences", session=attributes, promptSessionAttributes=attributes))
        assert agent.answer["sessionAttributes"] == agent.answer["promptSessionAttributes"] == {}

    def test_drops_attributes_that_are_no_text(self, agent, kind):
        agent.call(kind, "list_preferences", session={**SESSION, "count": 3, "none": None, "list": ["x"]})
        assert agent.answer["sessionAttributes"] == SESSION

    def test_can_be_sent_whatever_the_echoed_texts_hold(self, agent, kind):
        make = function if kind == "function" else openapi
        event = make("list_preferences", session={**SESSION, "\ud800": "\udfff"}, actionGroup="\ud800")
        agent.send(event)
        json.dumps(agent.answer, ensure_ascii=False).encode()


class TestAnOpenApiStatus:
    def test_is_200_where_all_went_well(self, agent):
        agent.call("openapi", "list_preferences")
        assert agent.status == 200

    def test_is_400_for_bad_arguments(self, agent):
        agent.call("openapi", "remove_preferences", {"indices": [0]})
        assert agent.status == 400

    def test_is_400_without_identity(self, agent):
        agent.call("openapi", "list_preferences", session={})
        assert agent.status == 400

    @pytest.mark.parametrize(("tool", "thread"), [("wipe_everything", THREAD), ("list_preferences", "other")])
    def test_is_404_for_what_is_not_there(self, agent, tool, thread):
        agent.call("openapi", tool, session={"thread_id": thread})
        assert agent.status == 404

    def test_is_409_for_a_list_that_would_be_too_long(self, agent):
        for start in (0, 49):
            drafts = [Draft(title=f"number {n}") for n in range(start, start + 49)]
            open_repository(lambda: 30).add_preferences_bulk(THREAD, drafts, Caller.user(ADA))
        agent.call("openapi", "add_preferences", {"items": ITEMS})
        assert agent.status == 409

    @pytest.mark.parametrize(
        ("status", "error", "operation", "expected"),
        [
            (400, "ThrottlingException", "GetItem", 503),
            (500, "InternalServerError", "UpdateItem", 503),
            (400, "AccessDeniedException", "GetItem", 500),
        ],
    )
    def test_is_5xx_where_the_table_fails(self, agent, monkeypatch, status, error, operation, expected):
        monkeypatch.setattr("preferences.repository.table.REQUEST_SECONDS", 0.3)
        agent.break_table(status, error, operation)
        agent.call("openapi", "remove_preferences", {"indices": [1]})
        assert agent.status == expected

    def test_is_the_peoples_for_every_refusal_that_a_tool_can_meet(self):
        def leaves(of):
            return {leaf for child in of.__subclasses__() for leaf in leaves(child)} or {of}

        no_tools = {"thread_taken", "undo_conflict", "duplicate", "precondition_failed", "not_ready"}
        met = {
            leaf.code: status_of(leaf)
            for leaf in leaves(errors.PreferencesError)
            if leaf.__module__ == errors.__name__
            and not issubclass(leaf, errors.InvalidInput)
            and leaf.code not in no_tools
        }
        met |= {"invalid_arguments": 400, "missing_identity": 400, "unknown_tool": 404}
        assert met == envelopes._STATUS


class TestAnEventAsItMayArrive:
    """Shapes that AWS's documentation does not show, each of them seen."""

    def test_of_a_function_has_no_parameters_key(self, agent):
        event = function("list_preferences")
        del event["parameters"]
        assert agent.send(event)["ok"]

    def test_from_a_shim_has_hardly_any_key(self, agent):
        event = {
            "messageVersion": "1.0",
            "actionGroup": "migrated",
            "function": "add_preferences",
            "parameters": [{"name": "items", "value": repr(ITEMS), "type": "string"}],
            "sessionAttributes": SESSION,
        }
        assert agent.send(event)["ok"]
        assert agent.answer["promptSessionAttributes"].keys() == {"preferences"}

    def test_from_a_shim_has_native_values_without_a_type(self, agent):
        assert agent.send(function("add_preferences", parameters=[{"name": "items", "value": ITEMS}]))["ok"]

    def test_has_a_parameter_without_a_value(self, agent):
        parameters = [*named({"indices": [1]}), {"name": "list_revision", "type": "integer"}]
        assert agent.send(function("remove_preferences", parameters=parameters))["ok"]

    def test_of_a_path_has_its_arguments_in_the_parameters(self, agent):
        event = openapi("remove_preferences", parameters=named({"indices": [1]}))
        assert agent.send(event)["ok"]

    def test_of_a_path_has_arguments_in_both_places(self, agent, stored):
        event = openapi("remove_preferences", {"indices": [1]}, parameters=named({"list_revision": 99}))
        assert agent.send(event)["items"][0]["outcome"] == "stale"

    @pytest.mark.parametrize("media_type", ["application/json; charset=utf-8", "APPLICATION/JSON", ""])
    def test_of_a_path_has_a_body_of_another_media_type(self, agent, media_type):
        body = {"content": {media_type: {"properties": named({"items": ITEMS})}}}
        assert agent.send(openapi("add_preferences", requestBody=body))["ok"]

    @pytest.mark.parametrize(
        "media",
        [
            named({"items": ITEMS}),
            {"body": json.dumps({"items": ITEMS})},
            {"body": {"items": ITEMS}},
            {"properties": [{"name": "items", "value": ITEMS}]},
        ],
        ids=["list", "json", "native", "native properties"],
    )
    def test_of_a_path_has_a_body_of_another_form(self, agent, media):
        body = {"content": {"application/json": media}}
        assert agent.send(openapi("add_preferences", requestBody=body))["ok"]

    def test_from_an_import_names_the_media_type_as_an_argument(self, agent):
        arguments = {"items": ITEMS, "contentType": "application/json"}
        event = openapi("add_preferences", arguments, parameters=named({"contentType": "application/xml"}))
        assert agent.send(event)["ok"]

    def test_has_an_argument_twice_with_one_value(self, agent):
        event = openapi("remove_preferences", {"indices": [1]}, parameters=named({"indices": [1]}))
        assert agent.send(event)["ok"]

    def test_has_an_argument_twice_with_two_values_and_is_refused(self, agent):
        event = openapi("remove_preferences", {"indices": [1]}, parameters=named({"indices": [2]}))
        assert "twice" in agent.send(event)["error"]["message"]
        assert not agent.calls

    def test_from_a_gateway_is_empty_for_a_tool_without_arguments(self, agent):
        assert agent.send({}, gateway("list_preferences"))["ok"]

    def test_from_a_gateway_names_its_target_with_underscores(self, agent):
        assert agent.send({}, gateway("list", bedrockAgentCoreToolName="a___b___list_preferences"))["ok"]
        assert agent.send({}, gateway("list", bedrockAgentCoreToolName="list_preferences"))["ok"]

    def test_from_a_gateway_is_told_by_the_context_whatever_the_arguments_are_called(self, agent):
        result = agent.send({"function": "x", "apiPath": "y"}, gateway("list_preferences"))
        assert result["ok"]
        assert "response" not in agent.answer

    def test_has_keys_that_we_do_not_know(self, agent):
        event = function("list_preferences", memoryId="m", invocationId="1", knowledgeBases=[])
        assert agent.send(event)["ok"]


MALFORMED_LISTS = [
    "x",
    7,
    True,
    {"name": "indices", "value": "[1]"},
    [None],
    ["x"],
    [[]],
    [{}],
    [{"name": 7}],
]


class TestAMalformedEvent:
    @pytest.mark.parametrize("parameters", MALFORMED_LISTS)
    def test_is_refused_where_the_parameters_are_no_list_of_arguments(self, agent, parameters):
        assert code(agent.send(function("list_preferences", parameters=parameters))) == "invalid_arguments"
        assert not agent.calls

    @pytest.mark.parametrize(
        "body",
        [
            "x",
            7,
            ["x"],
            {"content": "x"},
            {"content": ["x"]},
            {"content": {"application/json": "x"}},
            {"content": {"application/json": {"body": "{"}}},
            {"content": {"application/json": {"body": "[1]"}}},
            {"content": {"application/json": {"body": '{"indices": [1], "indices": [2]}'}}},
            {"content": {"application/json": {"body": ""}}},
            *({"content": {"application/json": {"properties": value}}} for value in MALFORMED_LISTS),
        ],
    )
    def test_is_refused_where_the_body_is_no_body(self, agent, body):
        assert code(agent.send(openapi("list_preferences", requestBody=body))) == "invalid_arguments"
        assert not agent.calls

    @pytest.mark.parametrize("body", [None, {}, {"content": None}, {"content": {}}, {"content": {"x": None}}])
    def test_is_a_call_without_arguments_where_the_body_is_empty(self, agent, body):
        assert agent.send(openapi("list_preferences", requestBody=body))["ok"]

    @pytest.mark.parametrize("event", [None, "", " ", "{}"])
    def test_from_a_gateway_is_a_call_without_arguments_where_it_is_empty(self, agent, event):
        assert agent.send(event, gateway("list_preferences"))["ok"]
        assert code(agent.send(event, gateway("remove_preferences"))) == "invalid_arguments"

    @pytest.mark.parametrize("event", [[], "x", 7, '{"indices": [1]}', [{"name": "indices", "value": "[1]"}]])
    def test_from_a_gateway_is_refused_where_it_is_no_object(self, agent, event):
        assert code(agent.send(event, gateway("list_preferences"))) == "invalid_arguments"
        assert not agent.calls

    @pytest.mark.parametrize("name", [None, 7, "", "_", ["add_preferences"], {"x": 1}, "\ud800"])
    def test_is_refused_where_the_tool_has_no_name(self, agent, name):
        assert code(agent.send(function(name))) == "unknown_tool"
        assert code(agent.send(openapi("x", apiPath=name, httpMethod=name))) == "unknown_tool"
        assert code(agent.send({}, gateway("x", bedrockAgentCoreToolName=name))) == "unknown_tool"
        assert not agent.calls

    @pytest.mark.parametrize(
        "event",
        [
            None,
            [],
            "",
            "list_preferences",
            7,
            {},
            {"indices": [1]},
            {"sessionAttributes": SESSION},
            {"invocationId": "1", "invocationInputs": [{"functionInvocationInput": function("x")}]},
            {"toolUse": {"name": "list_preferences", "input": {}}},
        ],
    )
    @pytest.mark.parametrize("client_context", [None, {}, {"custom": {}}, {"custom": "x"}, {"custom": ["x"]}])
    def test_of_no_kind_is_answered_with_a_plain_refusal(self, agent, event, client_context):
        result = agent.send(event, client_context)
        assert agent.answer == result
        assert code(result) == "unknown_tool"
        assert not agent.calls

    @pytest.mark.parametrize("context", [None, SimpleNamespace(), SimpleNamespace(client_context=7)])
    def test_may_come_without_a_context(self, stored, context):
        assert read({}, handler(function("list_preferences"), context))["ok"]

    def test_may_be_huge(self, agent):
        assert code(agent.call("function", "add_preferences", {"items": "x" * 5_000_000})) == (
            "invalid_arguments"
        )
        assert len(str(agent.answer)) < 2_000
        assert not agent.calls


class TestIdentity:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize(
        "session",
        [
            {},
            {"thread_id": ""},
            {"thread_id": "  "},
            {"thread_id": None},
            {"thread_id": 7},
            {"thread_id": [THREAD]},
            {"thread_id": f" {THREAD}"},
            {"thread_id": f"{THREAD}\n"},
            {"thread_id": "x"},
            {"thread_id": "x" * 101},
            {"thread_id": "a#b"},
            {"thread_id": "$session_attributes.thread_id$"},
            {"user_id": ADA},
            {"user_id": ADA, "thread_id": ""},
        ],
    )
    def test_is_missing_without_a_thread_id(self, agent, kind, session):
        result = agent.call(kind, "add_preferences", {"items": ITEMS}, session)
        assert code(result) == "missing_identity"
        assert "thread_id" in result["error"]["message"]
        assert not agent.calls

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("user_id", ["", "  ", None, 7, [ADA], "a\ud800", "a\nb", "x" * 256])
    def test_is_missing_where_the_user_id_is_none(self, agent, kind, user_id):
        result = agent.call(kind, "list_preferences", session={**SESSION, "user_id": user_id})
        assert code(result) == "missing_identity"
        assert "user_id" in result["error"]["message"]
        assert not agent.calls

    @pytest.mark.parametrize("make", [function, openapi])
    def test_is_never_the_session_id(self, agent, make):
        event = make("list_preferences", session={}, sessionId=THREAD)
        assert code(agent.send(event)) == "missing_identity"
        assert not agent.calls

    def test_is_never_looked_for_among_the_arguments(self, agent):
        arguments = {"thread_id": THREAD, "X-Thread-Id": THREAD}
        assert code(agent.send(arguments, gateway("list_preferences", {}))) == "missing_identity"
        assert not agent.calls

    @pytest.mark.parametrize("kind", KINDS)
    def test_of_the_owner_is_served(self, agent, kind):
        assert agent.call(kind, "list_preferences", session={**SESSION, "user_id": ADA})["ok"]

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("tool", TOOLS)
    def test_of_another_user_looks_like_an_unknown_thread(self, agent, stored, kind, tool):
        arguments = {
            "add_preferences": {"items": ITEMS},
            "list_preferences": {},
            "update_preferences": {"updates": [{"index": 1, "title": "x"}]},
            "remove_preferences": {"indices": [1]},
        }[tool]
        before = stored()
        refused = agent.call(kind, tool, arguments, {**SESSION, "user_id": "bob"})
        assert refused == agent.call(kind, tool, arguments, {"thread_id": "unknown"})
        assert code(refused) == "not_found"
        assert stored() == before

    @pytest.mark.parametrize("kind", KINDS)
    def test_with_a_user_registers_a_thread_that_is_not_known(self, agent, kind):
        session = {"thread_id": "new-thread", "user_id": ADA}
        assert agent.call(kind, "add_preferences", {"items": ITEMS}, session)["ok"]
        assert titles(list_of("new-thread")) == ["Academic tone"]

    @pytest.mark.parametrize("spelling", ["x-thread-id", "X-THREAD-ID", "X-Thread-Id"])
    def test_is_found_under_its_header_in_any_case(self, agent, spelling):
        headers = {spelling: THREAD, "x-user-ID": ADA, "Other": "x"}
        context = gateway("list_preferences", bedrockAgentCorePropagatedHeaders=headers)
        assert agent.send({}, context)["ok"]

    def test_is_missing_where_two_spellings_of_its_header_disagree(self, agent):
        for first, second in ((THREAD, "other"), ("other", THREAD)):
            headers = {"X-Thread-Id": first, "x-thread-id": second}
            context = gateway("list_preferences", bedrockAgentCorePropagatedHeaders=headers)
            assert code(agent.send({}, context)) == "missing_identity"
        assert not agent.calls

    @pytest.mark.parametrize("headers", [None, [], "x", {7: THREAD}, {"X-Thread-Id": {"x": 1}}])
    def test_is_missing_where_the_headers_are_none(self, agent, headers):
        context = gateway("list_preferences", bedrockAgentCorePropagatedHeaders=headers)
        assert code(agent.send({}, context)) == "missing_identity"
        assert not agent.calls

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("setting", ["true", "True", "1"])
    def test_needs_a_user_where_the_deployment_says_so(self, agent, monkeypatch, kind, setting):
        monkeypatch.setenv("REQUIRE_USER_ID", setting)
        result = agent.call(kind, "list_preferences")
        assert code(result) == "missing_identity"
        assert "user_id" in result["error"]["message"]
        assert not agent.calls
        assert agent.call(kind, "list_preferences", session={**SESSION, "user_id": ADA})["ok"]

    @pytest.mark.parametrize("setting", ["", "false", "False"])
    def test_needs_no_user_where_the_deployment_says_so(self, agent, monkeypatch, setting):
        monkeypatch.setenv("REQUIRE_USER_ID", setting)
        assert agent.call("function", "list_preferences")["ok"]

    @pytest.mark.parametrize(
        ("kind", "who"),
        [("function", "AGENT12345"), ("openapi", "AGENT12345"), ("gateway", "preferences-gw-1")],
    )
    def test_of_the_agent_is_kept_with_what_it_changed(self, agent, stored, kind, who):
        agent.call(kind, "add_preferences", {"items": ITEMS})
        assert stored().last_change.who == who

    @pytest.mark.parametrize("given", [None, "x", {"id": 7}, {"id": "a b"}, {"id": "x" * 101}])
    def test_of_the_agent_is_left_out_where_it_is_no_plain_id(self, agent, stored, given):
        agent.send(function("add_preferences", {"items": ITEMS}, agent=given))
        assert stored().last_change.who is None


class TestTheLog:
    def test_has_one_line_for_a_call_with_tool_outcomes_and_revision(
        self, agent, stored, log, lambda_context
    ):
        context = lambda_context()
        handler(function("add_preferences", {"items": [*ITEMS, *ITEMS, {"title": "New"}]}), context)
        [line] = log.getvalue().splitlines()
        line = json.loads(line)
        assert (line["level"], line["message"]) == ("INFO", "tool call")
        assert (line["envelope"], line["tool"]) == ("function", "add_preferences")
        assert "error" not in line
        assert line["outcomes"] == {"recorded": 2, "duplicate": 1}
        assert line["revision"] == stored().revision
        assert line["correlation_id"] == context.aws_request_id

    def test_holds_nothing_that_people_or_models_wrote_and_no_id_of_theirs(self, agent, log):
        secret = "SENTINEL"
        session = {"thread_id": f"{secret}-thread", "user_id": f"{secret}-user"}
        arguments = {"items": [{"title": secret, "subtitle": secret}], "action_and_reasoning": secret}
        for kind in KINDS:
            agent.call(kind, "add_preferences", arguments, session)
            agent.call(kind, "add_preferences", {"items": [{"title": secret, "kind": secret}]}, session)
            agent.call(kind, "add_preferences", {"items": f"[{secret}"}, session)
            agent.call(kind, secret, arguments, session)
            agent.call(kind, "add_preferences", {"items": ITEMS, secret: secret}, {secret: secret})
        agent.break_table(400, "AccessDeniedException", "GetItem", "UpdateItem")
        for kind in KINDS:
            agent.call(kind, "add_preferences", arguments, session)
        assert len(log.getvalue().splitlines()) == 5 * 3 + 2 * 3
        assert secret not in log.getvalue()

    def test_says_of_a_fault_what_and_where_but_not_its_text(self, agent, log, monkeypatch):
        def fail(*_):
            raise RuntimeError("what the user wrote")

        monkeypatch.setattr(lambda_handler, "decode", fail)
        result = agent.call("function", "list_preferences")
        assert code(result) == "internal_error"
        assert "wrote" not in str(agent.answer) + log.getvalue()
        fault, line = map(json.loads, log.getvalue().splitlines())
        assert (fault["level"], fault["error"]) == ("ERROR", "RuntimeError")
        assert fault["stack"][-1].endswith(" fail")
        assert line["error"] == "internal_error"

    def test_says_what_aws_called_a_fault(self, agent, log):
        agent.break_table(400, "AccessDeniedException", "GetItem")
        agent.call("function", "list_preferences")
        assert json.loads(log.getvalue().splitlines()[0])["aws_error"] == "AccessDeniedException"


class TestTheDeadline:
    def test_ends_the_tries_of_a_table_that_is_busy(self, agent, lambda_context):
        agent.break_table(400, "ThrottlingException", "GetItem")
        answer = handler(function("list_preferences"), lambda_context(timeout=0.5))
        assert code(read({}, answer)) == "busy"


def test_importing_the_handler_brings_no_event_handler_and_no_parser():
    """Each of them costs a cold start more than all of our own packages."""
    program, path = "import sys, preferences.agent; print(*sys.modules)", {"PYTHONPATH": "functions"}
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=path
    )
    loaded = ran.stdout.split()
    assert "preferences.tools" in loaded
    for name in ("event_handler", "utilities.parser", "utilities.data_classes", "utilities.validation"):
        assert f"aws_lambda_powertools.{name}" not in loaded


TEXT = st.text(max_size=8) | st.sampled_from(
    ["\ud800", "", *TOOLS, *SESSION.values(), "[1]", "[{title=x}]", "null"]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
ARGUMENT = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["items", "updates", "indices", "list_revision", "thread_id", "x"])
        | ANYTHING,
        "type": ANYTHING,
        "value": ANYTHING,
    },
)
ARGUMENTS = st.lists(ARGUMENT, max_size=4) | ANYTHING
IDENTITY = st.just(SESSION) | st.dictionaries(
    st.sampled_from(["thread_id", "user_id"]) | TEXT, ANYTHING, max_size=3
)
MEDIA = ARGUMENTS | st.fixed_dictionaries({}, optional={"properties": ARGUMENTS, "body": ANYTHING})
EVENTS = st.fixed_dictionaries(
    {},
    optional={
        "function": st.sampled_from([*TOOLS]) | ANYTHING,
        "apiPath": st.sampled_from([f"/{name}" for name in TOOLS]) | ANYTHING,
        "httpMethod": ANYTHING,
        "actionGroup": ANYTHING,
        "agent": ANYTHING,
        "parameters": ARGUMENTS,
        "requestBody": st.fixed_dictionaries({"content": st.dictionaries(TEXT, MEDIA, max_size=2)})
        | ANYTHING,
        "sessionAttributes": IDENTITY | ANYTHING,
        "promptSessionAttributes": ANYTHING,
    },
)
CONTEXTS = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "custom": ANYTHING
        | st.fixed_dictionaries(
            {"bedrockAgentCoreToolName": st.sampled_from([f"t___{name}" for name in TOOLS]) | ANYTHING},
            optional={
                "bedrockAgentCorePropagatedHeaders": st.just({"X-Thread-Id": THREAD}) | ANYTHING,
                "bedrockAgentCoreGatewayId": ANYTHING,
            },
        )
    },
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(event=EVENTS | ANYTHING, client_context=CONTEXTS)
def test_any_event_is_answered(agent, event, client_context):
    result = agent.send(event, client_context)
    assert isinstance(result["ok"], bool)
    assert code(result) != "internal_error"

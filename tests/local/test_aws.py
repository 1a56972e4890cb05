"""AWS's APIs on this machine, called by boto3, which reads the answers by AWS's own API models."""

import base64
import json

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, EventStreamError

from infra.local.aws import AWS_PATH
from infra.local.scripted import SCRIPT, reply
from tests.stack import Site

TOOLS = {
    "tools": [
        {"toolSpec": {"name": f"preferences___{name}", "inputSchema": {"json": {"type": "object"}}}}
        for name in ("add_preferences", "list_preferences")
    ]
}
LIST = 'call list_preferences {"action_and_reasoning": "Looking."}'


@pytest.fixture
def aws(served):
    """(client, Recorder): client("lambda") is boto3's, over a handler that keeps what it was given."""
    origin, recorder = served
    config = Config(retries={"total_max_attempts": 1})
    return lambda name: boto3.client(name, endpoint_url=origin + AWS_PATH, config=config), recorder


def said(text):
    return [{"role": "user", "content": [{"text": text}]}]


def function_answer(body, state=None, **attributes):
    """What a handler gives back to a classic agent."""
    response = {"responseBody": {"TEXT": {"body": body}}, **({"responseState": state} if state else {})}
    return {"response": {"functionResponse": response}, "sessionAttributes": {}, **attributes}


def completion(answer):
    return b"".join(event["chunk"]["bytes"] for event in answer["completion"]).decode()


class TestTheScriptedModel:
    def test_plays_its_script(self):
        for sentence, call in SCRIPT.items():
            assert reply("", sentence, []).call == call

    def test_calls_what_it_is_told_to(self):
        assert reply("", LIST, []).call == ("list_preferences", {"action_and_reasoning": "Looking."})

    def test_quotes_results_and_else_the_block_in_its_prompt(self):
        block = '<preferences revision="3">\n#1 [soft] Quiet\n</preferences>'
        assert reply(block, LIST, ["one", "two"]).text == "The tool answered: one\ntwo"
        assert reply(f"Be kind.\n\n{block}\nBye.", "Hello", []).text == f"In my prompt: {block}"
        assert reply("Be kind.", "Hello", []).text == "In my prompt: no preferences"


class TestLambda:
    def test_hands_the_event_and_the_client_context_on(self, aws):
        client, recorder = aws
        recorder.answer = {"ok": True, "result": "«é»"}
        custom = {"bedrockAgentCoreToolName": "list_preferences"}
        answer = client("lambda").invoke(
            FunctionName="arn:aws:lambda:eu-west-1:123456789012:function:agent:live",
            ClientContext=base64.b64encode(json.dumps({"custom": custom}).encode()).decode(),
            Payload=json.dumps({"a": 1}),
        )
        assert json.loads(answer["Payload"].read()) == recorder.answer
        assert "FunctionError" not in answer
        ((event, context),) = recorder.calls
        assert (event, context.client_context.custom) == ({"a": 1}, custom)

    def test_says_that_a_function_failed(self, aws):
        client, recorder = aws
        recorder.answer = RuntimeError("broken")
        answer = client("lambda").invoke(FunctionName="AgentFunction", Payload="{}")
        assert answer["FunctionError"] == "Unhandled"
        failure = json.loads(answer["Payload"].read())
        assert failure == {"errorType": "RuntimeError", "errorMessage": "broken"}

    @pytest.mark.parametrize("sent", [{"Payload": "{"}, {"Payload": "{}", "ClientContext": "???"}])
    def test_refuses_what_is_no_request(self, aws, sent):
        client, recorder = aws
        with pytest.raises(ClientError, match="not a request of this API") as refusal:
            client("lambda").invoke(FunctionName="AgentFunction", **sent)
        assert refusal.value.response["Error"]["Code"] == "ValidationException"
        assert recorder.calls == []


class TestConverse:
    @pytest.mark.parametrize(
        "model",
        ["amazon.nova-pro-v1:0", "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.a.b-v1:0"],
    )
    def test_calls_a_tool_by_the_name_that_it_is_offered_under(self, aws, model):
        client, _ = aws
        answer = client("bedrock-runtime").converse(modelId=model, messages=said(LIST), toolConfig=TOOLS)
        assert answer["stopReason"] == "tool_use"
        use = answer["output"]["message"]["content"][0]["toolUse"]
        assert (use["name"], use["input"]) == (
            "preferences___list_preferences",
            {"action_and_reasoning": "Looking."},
        )

    def test_answers_a_tools_result(self, aws):
        client, _ = aws
        results = [
            {"toolResult": {"toolUseId": "1", "content": [{"json": {"ok": True}}]}},
            {"toolResult": {"toolUseId": "2", "content": [{"text": "no"}], "status": "error"}},
        ]
        answer = client("bedrock-runtime").converse(
            modelId="m", messages=[{"role": "user", "content": results}]
        )
        assert answer["stopReason"] == "end_turn"
        assert answer["output"]["message"]["content"] == [{"text": 'The tool answered: {"ok": true}\nno'}]

    def test_says_the_same_as_a_stream(self, aws):
        client, _ = aws
        system = [{"text": "<preferences>é</preferences>"}]
        answer = client("bedrock-runtime").converse_stream(
            modelId="m", messages=said("Hello"), system=system, toolConfig=TOOLS
        )
        events = list(answer["stream"])
        text = "".join(
            event["contentBlockDelta"]["delta"]["text"] for event in events if "contentBlockDelta" in event
        )
        assert text == "In my prompt: <preferences>é</preferences>"
        assert {"messageStop": {"stopReason": "end_turn"}} in events

    def test_streams_a_tool_call(self, aws):
        client, _ = aws
        answer = client("bedrock-runtime").converse_stream(modelId="m", messages=said(LIST), toolConfig=TOOLS)
        events = list(answer["stream"])
        start = next(event["contentBlockStart"] for event in events if "contentBlockStart" in event)
        assert start["start"]["toolUse"]["name"] == "preferences___list_preferences"
        delta = next(event["contentBlockDelta"] for event in events if "contentBlockDelta" in event)
        assert json.loads(delta["delta"]["toolUse"]["input"]) == {"action_and_reasoning": "Looking."}
        assert {"messageStop": {"stopReason": "tool_use"}} in events

    def test_refuses_a_call_that_is_not_json(self, aws):
        client, _ = aws
        with pytest.raises(ClientError, match="not a request of this API"):
            client("bedrock-runtime").converse(modelId="m", messages=said("call add_preferences {items}"))


class TestTheClassicAgent:
    def invoke(self, aws, text, session="one", **state):
        client, _ = aws
        return client("bedrock-agent-runtime").invoke_agent(
            agentId="A", agentAliasId="B", sessionId=session, inputText=text, sessionState=state
        )

    def test_calls_the_function_as_its_action_group(self, aws):
        _, recorder = aws
        recorder.answer = function_answer("recorded", promptSessionAttributes={"preferences": "new"})
        items = [{"title": "Quiet"}]
        text = f'call add_preferences {{"items": {json.dumps(items)}, "action_and_reasoning": "Why."}}'
        given = {"thread_id": "trip", "user_id": "ada"}
        answer = self.invoke(
            aws, text, sessionAttributes=given, promptSessionAttributes={"preferences": "old"}
        )
        assert completion(answer) == "The tool answered: recorded"
        ((event, _),) = recorder.calls
        assert event["function"] == "add_preferences"
        assert event["sessionAttributes"] == given
        assert event["promptSessionAttributes"] == {"preferences": "old"}
        assert event["parameters"] == [
            {"name": "items", "type": "array", "value": json.dumps(items)},
            {"name": "action_and_reasoning", "type": "string", "value": "Why."},
        ]

    def test_keeps_session_attributes_for_the_session_and_prompt_attributes_for_the_turn(self, aws):
        _, recorder = aws
        recorder.answer = function_answer(
            "ok", sessionAttributes={"thread_id": "trip"}, promptSessionAttributes={}
        )
        block = "<preferences>1</preferences>"
        first = self.invoke(aws, "Hello", "kept", promptSessionAttributes={"preferences": block})
        assert completion(first) == f"In my prompt: {block}"
        completion(self.invoke(aws, LIST, "kept", sessionAttributes={"thread_id": "trip"}))
        assert completion(self.invoke(aws, "Hello", "kept")) == "In my prompt: no preferences"
        completion(self.invoke(aws, LIST, "kept"))
        completion(self.invoke(aws, LIST, "another"))
        attributes = [event["sessionAttributes"] for event, _ in recorder.calls]
        assert attributes == [{"thread_id": "trip"}, {"thread_id": "trip"}, {}]

    @pytest.mark.parametrize(
        "answer", [RuntimeError("a secret"), function_answer("no", "FAILURE"), {"ok": True}]
    )
    def test_breaks_off_where_the_function_fails(self, aws, answer):
        _, recorder = aws
        recorder.answer = answer
        with pytest.raises(EventStreamError, match="dependencyFailedException") as failure:
            completion(self.invoke(aws, LIST))
        assert "secret" not in str(failure.value)


def test_a_page_of_another_site_is_refused(aws, served):
    origin, recorder = served
    path = f"{AWS_PATH}/2015-03-31/functions/AgentFunction/invocations"
    sent = {"Origin": "https://elsewhere.example"}
    assert Site(origin).request("POST", path, {}, sent).status == 403
    assert Site(origin).request("GET", path).status in (404, 405)
    assert recorder.calls == []

"""The local Gateway: the SDK's client and the MCP Inspector call the tools through it."""

import json
import shutil
import subprocess

import anyio
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

from infra.local.gateway import FAULT, MCP_PATH, read_target
from tests.conftest import require
from tests.stack import ROOT, Site

INSPECTOR = ROOT / "tests/local/inspector/node_modules/.bin/mcp-inspector"
LIST = "preferences___list_preferences"
ADD = "preferences___add_preferences"
UPDATE = "preferences___update_preferences"
ONE = {"items": [{"title": "Formal tone"}], "action_and_reasoning": "Ada said so."}


def ask(origin, use, *, headers=None, mode="auto"):
    """What `use` makes of an MCP client of the Gateway there."""

    async def run():
        http = create_mcp_http_client(headers=headers)
        async with (
            http,
            Client(streamable_http_client(origin + MCP_PATH, http_client=http), mode=mode) as client,
        ):
            return await use(client)

    return anyio.run(run)


def call(origin, tool, arguments, headers=None, mode="auto"):
    """(is_error, text) of one call."""

    async def use(client):
        return await client.call_tool(tool, arguments)

    result = ask(origin, use, headers=headers, mode=mode)
    (content,) = result.content
    return result.is_error, content.text


@pytest.fixture
def gateway(served):
    """(origin, Recorder) of a Gateway over a handler that keeps what it was given."""
    return served


@pytest.fixture(params=["auto", "legacy"])
def mode(request):
    """How the client begins: with the newest protocol, or with the handshake of those before."""
    return request.param


class TestTheTarget:
    def test_is_the_templates(self):
        target = read_target()
        assert target.name == "preferences"
        assert target.headers == ["X-Thread-Id", "X-User-Id"]
        assert target.tools == json.loads((ROOT / "infra/tools/gateway.json").read_text("utf-8"))

    def test_is_read_from_the_agents_template_where_there_is_one(self, tmp_path):
        (tmp_path / "infra/tools").mkdir(parents=True)
        (tmp_path / "infra/tools/gateway.json").write_text("[]")
        (tmp_path / "template.yaml").write_text("Resources: {Topic: {Type: AWS::SNS::Topic}}")
        with pytest.raises(LookupError):
            read_target(tmp_path)
        (tmp_path / "agent.yaml").write_text(
            "Resources: {T: {Type: AWS::BedrockAgentCore::GatewayTarget, Properties: "
            "{Name: tools, MetadataConfiguration: {AllowedRequestHeaders: [X-Other]}}}}"
        )
        assert (read_target(tmp_path).name, read_target(tmp_path).headers) == ("tools", ["X-Other"])


class TestACall:
    def test_is_the_arguments_with_all_else_in_the_client_context(self, gateway, mode):
        origin, recorder = gateway
        sent = {
            "X-Thread-Id": "trip",
            "x-user-id": "ada",
            "X-Other": "kept back",
            "Authorization": "Bearer x",
        }
        assert call(origin, ADD, ONE, sent, mode) == (False, '{"ok":true}')
        ((event, context),) = recorder.calls
        assert event == ONE
        custom = dict(context.client_context.custom)
        assert custom.pop("bedrockAgentCoreAwsRequestId")
        assert custom.pop("bedrockAgentCoreMcpMessageId")
        assert custom == {
            "bedrockAgentCoreMessageVersion": "1.0",
            "bedrockAgentCoreToolName": ADD,
            "bedrockAgentCoreGatewayId": "local",
            "bedrockAgentCoreTargetId": "LOCAL",
            "bedrockAgentCorePropagatedHeaders": {"X-Thread-Id": "trip", "X-User-Id": "ada"},
        }

    def test_without_an_identity_has_no_headers_at_all(self, gateway):
        origin, recorder = gateway
        call(origin, ADD, ONE)
        ((_, context),) = recorder.calls
        assert "bedrockAgentCorePropagatedHeaders" not in context.client_context.custom

    @pytest.mark.parametrize(
        ("tool", "arguments", "lines"),
        [
            (ADD, {"action_and_reasoning": "x"}, ["Missing required field(s): 'items'"]),
            (
                ADD,
                {"items": "[]", "action_and_reasoning": 7},
                [
                    "Field 'action_and_reasoning' has invalid type: "
                    "$.action_and_reasoning: integer found, string expected",
                    "Field 'items' has invalid type: $.items: string found, array expected",
                ],
            ),
            (
                UPDATE,
                {"updates": [{"title": "x"}], "list_revision": None, "action_and_reasoning": "x"},
                [
                    "Field 'list_revision' has invalid type: $.list_revision: null found, integer expected",
                    "Missing required field(s): 'index' in $.updates[0]",
                ],
            ),
            (
                UPDATE,
                {"updates": [{"index": True}], "action_and_reasoning": "x"},
                ["Field 'updates' has invalid type: $.updates[0].index: boolean found, integer expected"],
            ),
        ],
    )
    def test_that_the_schema_refuses_never_reaches_the_function(self, gateway, tool, arguments, lines):
        origin, recorder = gateway
        is_error, text = call(origin, tool, arguments)
        first, *others = text.split("\n")
        assert is_error
        assert first == "ValidationException - Parameter validation failed: Invalid request parameters:"
        assert sorted(others) == [f"- {line}" for line in lines]
        assert recorder.calls == []

    def test_with_an_argument_that_the_schema_does_not_know_does(self, gateway):
        origin, recorder = gateway
        call(origin, ADD, {**ONE, "thread_id": "another"})
        assert recorder.calls[0][0]["thread_id"] == "another"

    @pytest.mark.parametrize("answer", [RuntimeError("a secret"), {"ok": object()}])
    def test_of_a_function_that_fails_says_nothing_of_why(self, gateway, answer):
        origin, recorder = gateway
        recorder.answer = answer
        assert call(origin, ADD, ONE) == (True, FAULT)

    def test_of_an_unknown_tool_is_a_protocol_error(self, gateway, mode):
        origin, recorder = gateway

        async def use(client):
            with pytest.raises(MCPError, match="Unknown tool: preferences___drop_table") as refusal:
                await client.call_tool("preferences___drop_table", {})
            return refusal.value.code

        assert ask(origin, use, mode=mode) == -32602
        assert recorder.calls == []

    def test_of_another_sites_page_is_refused(self, gateway):
        origin, recorder = gateway
        sent = {"Origin": "https://elsewhere.example", "Accept": "application/json, text/event-stream"}
        assert Site(origin).request("POST", MCP_PATH, {"jsonrpc": "2.0"}, sent).status == 403
        assert Site(origin).request("GET", MCP_PATH).status == 405
        assert recorder.calls == []


class TestTheStack:
    def test_lists_the_tools_as_they_are_rendered(self, stack, mode):
        async def use(client):
            return (await client.list_tools()).tools

        tools = ask(stack.origin, use, mode=mode)
        rendered = json.loads((ROOT / "infra/tools/gateway.json").read_text("utf-8"))
        assert [(tool.name, tool.description, tool.input_schema) for tool in tools] == [
            (f"preferences___{tool['name']}", tool["description"], tool["inputSchema"]) for tool in rendered
        ]

    def test_holds_a_lock_against_a_client(self, stack, mode):
        thread = f"gateway-{mode}"
        stack.user("PUT", f"/threads/{thread}")
        identity = {"X-Thread-Id": thread, "X-User-Id": "ada"}
        assert json.loads(call(stack.origin, ADD, ONE, identity, mode)[1])["ok"]
        path = f"/threads/{thread}/preferences"
        (row,) = stack.user("GET", path).json["preferences"]
        stack.user("PUT", f"{path}/{row['id']}/lock")
        edit = {"updates": [{"index": 1, "title": "Casual tone"}], "action_and_reasoning": "Trying."}
        is_error, text = call(stack.origin, UPDATE, edit, identity, mode)
        assert not is_error
        assert json.loads(text)["items"][0]["outcome"] == "locked"
        assert stack.user("GET", path).json["preferences"][0]["title"] == "Formal tone"

    def test_wants_to_know_whose_thread_it_is(self, stack):
        is_error, text = call(stack.origin, LIST, {"action_and_reasoning": "Looking."})
        assert not is_error
        assert json.loads(text)["error"]["code"] == "missing_identity"


class TestTheInspector:
    @pytest.fixture(autouse=True)
    def _installed(self):
        where = "npm ci --prefix tests/local/inspector"
        require(INSPECTOR.exists() and shutil.which("node"), "REQUIRE_INSPECTOR", f"not installed: {where}")

    def inspect(self, stack, *options):
        command = [INSPECTOR, "--cli", stack.origin + MCP_PATH, "--transport", "http"]
        headers = ["--header", "X-Thread-Id: inspected", "--header", "X-User-Id: ada"]
        ended = subprocess.run(
            [*command, *headers, *options], capture_output=True, text=True, timeout=60, check=False
        )
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)

    def test_lists_and_calls_the_tools(self, stack):
        listed = self.inspect(stack, "--method", "tools/list")["tools"]
        assert [tool["name"].removeprefix("preferences___") for tool in listed] == [
            "add_preferences",
            "list_preferences",
            "update_preferences",
            "remove_preferences",
        ]
        arguments = ["--tool-arg", 'items=[{"title": "Quiet"}]', "action_and_reasoning=Trying"]
        added = self.inspect(stack, "--method", "tools/call", "--tool-name", ADD, *arguments)
        assert json.loads(added["content"][0]["text"])["result"] == "recorded 1 preference"
        assert stack.user("GET", "/threads/inspected/preferences").json["preferences"][0]["title"] == "Quiet"
        arguments = ["--tool-arg", "items=quiet", "action_and_reasoning=Trying"]
        refused = self.inspect(stack, "--method", "tools/call", "--tool-name", ADD, *arguments)
        assert refused["isError"]
        assert "string found, array expected" in refused["content"][0]["text"]

"""The tools as Bedrock and AgentCore take them: fresh, complete, and within what each form can say."""

import json
import re

import pytest

from infra.schemas import INSTRUCTION, rendered, tools
from infra.schemas.template import cloudformation, filled, fingerprint
from infra.template import Template
from preferences.agent.envelopes import FunctionCall, OpenApiCall
from preferences.tools import TOOLS
from tests.aws_models import refusals

ARN = "arn:aws:lambda:eu-west-1:123456789012:function:preferences"


def create_action_group(**schema):
    return {
        "agentId": "ABCDEFGHIJ",
        "agentVersion": "DRAFT",
        "actionGroupName": tools.ACTION_GROUP,
        "description": tools.DESCRIPTION,
        "actionGroupExecutor": {"lambda": ARN},
        **schema,
    }


def keywords(schema):
    """Every keyword of a JSON Schema, without the names of properties."""
    for key, value in schema.items():
        yield key
        if key == "properties":
            for field in value.values():
                yield from keywords(field)
        elif key == "items":
            yield from keywords(value)


class TestTheCommittedFiles:
    @pytest.mark.parametrize("path", rendered(), ids=lambda path: path.name)
    def test_are_what_the_code_says(self, path):
        assert path.read_text("utf-8") == rendered()[path], "stale: run `make schemas`"

    @pytest.mark.parametrize("path", rendered(), ids=lambda path: path.name)
    def test_have_patterns_that_javascript_reads_as_python_does(self, path):
        """JSON Schema's patterns are ECMAScript's, which has none of these."""
        for pattern in re.findall(r'"pattern": (".*")', path.read_text("utf-8")):
            assert not re.search(r"\\[AZ]|\(\?[P<#]", json.loads(pattern))


class TestEveryForm:
    def test_has_every_tool_under_its_name_and_description(self):
        reported = [(tool.name, tool.description) for tool in TOOLS.values()]
        assert [(t["name"], t["description"]) for t in tools.gateway()] == reported
        assert [(t["name"], t["description"]) for t in tools.function_details()["functions"]] == reported
        specs = [tool["toolSpec"] for tool in tools.converse()["tools"]]
        assert [(t["name"], t["description"]) for t in specs] == reported
        operations = [next(iter(path.values())) for path in tools.openapi()["paths"].values()]
        assert [(o["operationId"], o["description"]) for o in operations] == reported

    def test_asks_for_the_reason_and_never_for_an_identity(self):
        for tool in TOOLS.values():
            schema = tools.full(tool)
            assert "action_and_reasoning" in schema["required"]
            assert not {"thread_id", "user_id"} & set(schema["properties"])

    def test_asks_for_what_the_tool_demands_and_leaves_the_rest_out_of_required(self):
        required = {tool.name: set(tools.full(tool)["required"]) for tool in TOOLS.values()}
        assert required == {
            "add_preferences": {"items", "action_and_reasoning"},
            "list_preferences": {"action_and_reasoning"},
            "update_preferences": {"updates", "action_and_reasoning"},
            "remove_preferences": {"indices", "action_and_reasoning"},
        }
        (draft, edit) = (
            tools.full(TOOLS[name])["properties"][array]["items"]
            for name, array in (("add_preferences", "items"), ("update_preferences", "updates"))
        )
        assert (draft["required"], edit["required"]) == (["title"], ["index"])


class TestFunctionDetails:
    def test_are_accepted_by_bedrocks_own_model(self):
        request = create_action_group(functionSchema=tools.function_details())
        assert refusals("bedrock-agent", "CreateAgentActionGroup", request) == []

    def test_keep_within_five_parameters_and_500_characters(self):
        for function in tools.function_details()["functions"]:
            assert len(function["parameters"]) <= 5
            for name, parameter in function["parameters"].items():
                assert re.fullmatch(r"([0-9a-zA-Z][_-]?){1,100}", name)
                assert len(parameter["description"]) <= 500
                assert parameter["type"] in ("string", "number", "integer", "boolean", "array")

    def test_say_an_elements_shape_in_words_and_ask_for_json(self):
        functions = {f["name"]: f["parameters"] for f in tools.function_details()["functions"]}
        items = functions["add_preferences"]["items"]["description"]
        assert items.startswith("The explicitly-stated preferences to record, in order.")
        assert "Send JSON: an array of objects. title (string, required): Short label" in items
        assert "kind (string): 'hard' for must-haves, 'soft' for preferences." in items
        updates = functions["update_preferences"]["updates"]["description"]
        assert "index (integer, required): 1-based position" in updates
        assert "an array of integers" in functions["remove_preferences"]["indices"]["description"]

    def test_refuse_to_be_cut_short(self, monkeypatch):
        monkeypatch.setattr(tools, "_MAX_DESCRIPTION", 400)
        with pytest.raises(ValueError, match=r"add_preferences\.items: 4\d\d characters"):
            tools.function_details()
        monkeypatch.setattr(tools, "_MAX_PARAMETERS", 1)
        with pytest.raises(ValueError, match="add_preferences has more than 1 parameters"):
            tools.function_details()

    def test_are_dispatched_by_their_name(self):
        for function in tools.function_details()["functions"]:
            assert FunctionCall({"function": function["name"]}).tool in TOOLS


class TestOpenApi:
    DOCUMENT = tools.openapi()

    def test_is_exactly_3_0_0(self):
        assert self.DOCUMENT["openapi"] == "3.0.0"

    def test_is_accepted_by_bedrocks_own_model(self):
        payload = json.dumps(self.DOCUMENT)
        request = create_action_group(apiSchema={"payload": payload})
        assert refusals("bedrock-agent", "CreateAgentActionGroup", request) == []

    def test_reads_by_get_and_changes_by_post(self):
        methods = {path: set(item) for path, item in self.DOCUMENT["paths"].items()}
        assert methods == {
            "/add_preferences": {"post"},
            "/list_preferences": {"get"},
            "/update_preferences": {"post"},
            "/remove_preferences": {"post"},
        }

    def test_names_and_describes_every_operation_and_its_answer(self):
        for path, item in self.DOCUMENT["paths"].items():
            for operation in item.values():
                assert operation["operationId"] == path.strip("/")
                assert re.fullmatch(r"[0-9A-Za-z]+([_-][0-9A-Za-z]+)*", operation["operationId"])
                assert operation["description"]
                assert operation["responses"]["200"]["description"]

    def test_holds_no_keyword_that_bedrock_refuses(self):
        for schema in self.schemas():
            assert set(keywords(schema)) <= {"type", "properties", "required", "items", "description"}

    def schemas(self):
        for item in self.DOCUMENT["paths"].values():
            for operation in item.values():
                if "requestBody" in operation:
                    yield operation["requestBody"]["content"]["application/json"]["schema"]
                yield from (parameter["schema"] for parameter in operation.get("parameters", ()))
                for answer in operation["responses"].values():
                    yield answer["content"]["application/json"]["schema"]

    def test_has_a_path_that_the_agents_handler_finds_the_tool_by(self):
        for path in self.DOCUMENT["paths"]:
            assert OpenApiCall({"apiPath": path}).tool in TOOLS


class TestTheGatewaysPayload:
    def test_is_accepted_by_agentcores_own_model(self):
        request = {
            "gatewayIdentifier": "preferences-abcdefghij",
            "targetConfiguration": {
                "mcp": {"lambda": {"lambdaArn": ARN, "toolSchema": {"inlinePayload": tools.gateway()}}}
            },
        }
        assert refusals("bedrock-agentcore-control", "CreateGatewayTarget", request) == []

    def test_holds_the_five_keywords_and_no_other(self):
        for tool in tools.gateway():
            assert set(keywords(tool["inputSchema"])) <= {
                "type",
                "properties",
                "required",
                "items",
                "description",
            }


class TestConversesToolConfiguration:
    def test_is_accepted_by_bedrocks_own_model(self):
        request = {"modelId": "amazon.nova-lite-v1:0", "toolConfig": tools.converse()}
        assert refusals("bedrock-runtime", "Converse", request) == []

    def test_is_a_full_schema_with_an_object_at_the_top(self):
        for tool in tools.converse()["tools"]:
            schema = tool["toolSpec"]["inputSchema"]["json"]
            assert schema["type"] == "object"
            assert "$ref" not in json.dumps(schema)
            assert "anyOf" not in json.dumps(schema)

    def test_says_in_the_schema_what_the_other_forms_say_in_words(self):
        (add, *_) = tools.converse()["tools"]
        items = add["toolSpec"]["inputSchema"]["json"]["properties"]["items"]
        assert (items["minItems"], items["maxItems"]) == (1, 50)
        assert items["items"]["properties"]["kind"]["enum"] == ["hard", "soft"]


class TestTheCheckItself:
    """The forms differ in what they allow, and each check must be able to fail."""

    def test_finds_a_keyword_that_a_gateway_does_not_know(self):
        tool = tools.gateway()[0]
        tool["inputSchema"]["properties"]["items"]["minItems"] = 1
        request = {
            "gatewayIdentifier": "preferences-abcdefghij",
            "targetConfiguration": {
                "mcp": {"lambda": {"lambdaArn": ARN, "toolSchema": {"inlinePayload": [tool]}}}
            },
        }
        assert "minItems" in refusals("bedrock-agentcore-control", "CreateGatewayTarget", request)[0]

    def test_finds_a_description_that_is_too_long_a_bad_name_and_an_unknown_type(self):
        details = tools.function_details()
        parameters = details["functions"][0]["parameters"]
        parameters["items"]["description"] = "x" * 501
        parameters["items"]["type"] = "object"
        parameters["two__underscores"] = {"type": "string"}
        found = refusals(
            "bedrock-agent", "CreateAgentActionGroup", create_action_group(functionSchema=details)
        )
        assert len(found) == 3


class TestTheInstruction:
    TEXT = INSTRUCTION.read_text("utf-8")

    def test_fits_and_holds_no_placeholder_that_bedrock_would_fill(self):
        assert 40 <= len(self.TEXT) <= 4000
        assert "$" not in self.TEXT

    def test_speaks_of_every_tool_the_revision_the_lock_and_the_block(self):
        for word in (*TOOLS, "list_revision", "(locked)", "<preferences>", "stale", "action_and_reasoning"):
            assert word in self.TEXT

    def test_changes_the_fingerprint(self):
        assert fingerprint(self.TEXT) != fingerprint(self.TEXT + "!")


class TestTheTemplatesParts:
    def test_are_spelled_as_cloudformation_spells_them(self):
        assert cloudformation({"inputSchema": {"properties": {"title": {"type": "string"}}}}) == {
            "InputSchema": {"Properties": {"title": {"Type": "string"}}}
        }

    def test_are_read_back_as_the_same_values(self, tmp_path):
        instruction = INSTRUCTION.read_text("utf-8")
        marked = "Resources:\n" + "".join(
            f"  {name}:\n    # made by `make schemas`: {name}\n    # end\n"
            for name in ("gateway", "functions", "openapi", "instruction")
        )
        text = filled(marked, instruction)
        assert filled(text, instruction) == text
        path = tmp_path / "template.yaml"
        path.write_text(text)
        read = Template(path).raw["Resources"]
        assert read["gateway"]["InlinePayload"] == cloudformation(tools.gateway())
        assert read["functions"]["Functions"] == cloudformation(tools.function_details()["functions"])
        assert json.loads(read["openapi"]["Payload"]) == tools.openapi()
        assert read["instruction"]["Instruction"] == instruction

    def test_are_known_by_name(self):
        with pytest.raises(KeyError):
            filled("# made by `make schemas`: nobody\n# end\n", "")

"""agent.yaml as CloudFormation would deploy it: what is made, and that each request would be taken."""

import copy
import json

import pytest

from infra.schemas import INSTRUCTION, tools
from infra.template import AGENT_TEMPLATE, Template
from tests.deployment.stacks import (
    ACCOUNT,
    AGENTS,
    FUNCTION,
    PRETENDED,
    REGION,
    check,
    deployed,
    linted,
    made,
    request,
    without,
)

pytestmark = pytest.mark.deployment

MANY = pytest.mark.parametrize("way", AGENTS)


class TestEachWayToDeploy:
    @MANY
    def test_is_clean_under_the_linter(self, way):
        assert linted(deployed(way)) == []

    def test_would_be_told_what_is_wrong(self):
        body = copy.deepcopy(deployed("an IAM Gateway"))
        del body["Resources"]["ToolGateway"]["Properties"]["RoleArn"]
        assert [text.partition(" ")[0] for text in linted(body)] == ["E3003"]


class TestEveryRequest:
    """Each is one that CloudFormation would make."""

    @MANY
    def test_for_a_gateway_fits(self, way):
        for properties in made(way, "AWS::BedrockAgentCore::Gateway").values():
            check("bedrock-agentcore-control", "CreateGateway", properties)
        for properties in made(way, "AWS::BedrockAgentCore::GatewayTarget").values():
            check("bedrock-agentcore-control", "CreateGatewayTarget", properties)
        for properties in made(way, "AWS::BedrockAgentCore::ResourcePolicy").values():
            check("bedrock-agentcore-control", "PutResourcePolicy", properties)

    @MANY
    def test_for_a_classic_agent_fits(self, way):
        for properties in made(way, "AWS::Bedrock::Agent").values():
            assert properties["AutoPrepare"] is True
            check("bedrock-agent", "CreateAgent", without(properties, "ActionGroups", "AutoPrepare"))
            for group in properties["ActionGroups"]:
                assert ("FunctionSchema" in group) != ("ApiSchema" in group)
                check(
                    "bedrock-agent",
                    "CreateAgentActionGroup",
                    group,
                    agentId="ABCDEFGHIJ",
                    agentVersion="DRAFT",
                )
        for properties in made(way, "AWS::Bedrock::AgentAlias").values():
            check("bedrock-agent", "CreateAgentAlias", properties)

    @MANY
    def test_for_permissions_fits(self, way):
        for name, properties in made(way, "AWS::Lambda::Permission").items():
            check("lambda", "AddPermission", properties, StatementId=name)


class TestTheGateway:
    def test_takes_signed_calls_unless_told_otherwise(self):
        (gateway,) = made("an IAM Gateway", "AWS::BedrockAgentCore::Gateway").values()
        assert gateway["AuthorizerType"] == "AWS_IAM"
        assert "AuthorizerConfiguration" not in gateway

    def test_takes_tokens_of_the_named_clients_alone(self):
        way = "a Gateway that takes a backend's tokens"
        (gateway,) = made(way, "AWS::BedrockAgentCore::Gateway").values()
        assert gateway["AuthorizerType"] == "CUSTOM_JWT"
        assert gateway["AuthorizerConfiguration"]["CustomJWTAuthorizer"]["AllowedClients"] == ["backend"]

    def test_passes_on_who_is_meant_and_no_other_header(self):
        (target,) = made("an IAM Gateway", "AWS::BedrockAgentCore::GatewayTarget").values()
        assert target["MetadataConfiguration"] == {"AllowedRequestHeaders": ["X-Thread-Id", "X-User-Id"]}
        assert "_" not in target["Name"]

    def test_has_the_tools_of_the_code(self):
        (target,) = made("an IAM Gateway", "AWS::BedrockAgentCore::GatewayTarget").values()
        sent = request("bedrock-agentcore-control", "CreateGatewayTarget", target)
        assert sent["targetConfiguration"]["mcp"]["lambda"]["toolSchema"]["inlinePayload"] == tools.gateway()

    @pytest.mark.parametrize("way", ["an IAM Gateway", "a Gateway with an interceptor"])
    def test_may_call_the_agents_function_the_interceptor_and_nothing_else(self, way):
        (policy,) = made(way, "AWS::IAM::RolePolicy").values()
        (statement,) = policy["PolicyDocument"]["Statement"]
        assert statement["Action"] == "lambda:InvokeFunction"
        called = [arn for name, arn in AGENTS[way].items() if name in ("FunctionArn", "InterceptorArn")]
        assert statement["Resource"] == (called if len(called) > 1 else called[0])

    def test_shows_every_request_to_the_interceptor_with_its_headers(self):
        assert not [
            gateway
            for gateway in made("an IAM Gateway", "AWS::BedrockAgentCore::Gateway").values()
            if "InterceptorConfigurations" in gateway
        ]
        (gateway,) = made("a Gateway with an interceptor", "AWS::BedrockAgentCore::Gateway").values()
        assert gateway["InterceptorConfigurations"] == [
            {
                "Interceptor": {"Lambda": {"Arn": AGENTS["a Gateway with an interceptor"]["InterceptorArn"]}},
                "InterceptionPoints": ["REQUEST"],
                "InputConfiguration": {"PassRequestHeaders": True},
            }
        ]

    def test_can_be_done_without(self):
        way = "a classic agent by function details"
        assert not made(way, "AWS::BedrockAgentCore::Gateway")
        assert not made(way, "AWS::IAM::RolePolicy")

    def test_admits_the_named_callers_and_nobody_else_of_the_account(self):
        assert not made("an IAM Gateway", "AWS::BedrockAgentCore::ResourcePolicy")
        (made_one,) = made(
            "an IAM Gateway for named callers", "AWS::BedrockAgentCore::ResourcePolicy"
        ).values()
        allow, deny = json.loads(made_one["Policy"])["Statement"]
        callers = [f"arn:aws:iam::{ACCOUNT}:role/backend", f"arn:aws:iam::{ACCOUNT}:role/other"]
        gateway = PRETENDED["ToolGateway", "GatewayArn"]
        assert made_one["ResourceArn"] == allow["Resource"] == deny["Resource"] == gateway
        assert (allow["Effect"], allow["Principal"]) == ("Allow", {"AWS": callers})
        assert (deny["Effect"], deny["Principal"]) == ("Deny", "*")
        assert deny["Condition"] == {"ArnNotEquals": {"aws:PrincipalArn": callers}}
        assert allow["Action"] == deny["Action"] == "bedrock-agentcore:InvokeGateway"


class TestTheClassicAgent:
    FUNCTIONS = "a classic agent by function details"
    OPENAPI = "a classic agent by OpenAPI, on an inference profile"

    def agent(self, way):
        (agent,) = made(way, "AWS::Bedrock::Agent").values()
        return agent

    def test_is_not_there_unless_asked_for(self):
        assert not made("an IAM Gateway", "AWS::Bedrock::Agent")
        assert not made("an IAM Gateway", "AWS::Lambda::Permission")

    def test_has_the_tools_of_the_code_in_the_form_asked_for(self):
        (group,) = self.agent(self.FUNCTIONS)["ActionGroups"]
        sent = request("bedrock-agent", "CreateAgentActionGroup", group)
        assert sent["functionSchema"] == tools.function_details()
        assert (sent["actionGroupName"], sent["description"]) == (tools.ACTION_GROUP, tools.DESCRIPTION)
        (group,) = self.agent(self.OPENAPI)["ActionGroups"]
        assert json.loads(group["ApiSchema"]["Payload"]) == tools.openapi()

    def test_has_the_committed_instruction(self):
        assert self.agent(self.FUNCTIONS)["Instruction"] == INSTRUCTION.read_text("utf-8")

    def test_has_an_alias_that_changes_with_what_it_is_made_of(self):
        (one,) = made(self.FUNCTIONS, "AWS::Bedrock::AgentAlias").values()
        (other,) = made(self.OPENAPI, "AWS::Bedrock::AgentAlias").values()
        assert one["Description"] != other["Description"]

    def test_alone_may_call_the_function_for_this_account(self):
        (permission,) = made(self.FUNCTIONS, "AWS::Lambda::Permission").values()
        assert permission["Principal"] == "bedrock.amazonaws.com"
        assert permission["FunctionName"] == FUNCTION["FunctionArn"]
        assert permission["SourceAccount"] == ACCOUNT
        assert permission["SourceArn"] == PRETENDED["Agent", "AgentArn"]

    def test_may_call_its_model_and_no_other(self):
        def allowed(way):
            (document,) = (
                p["PolicyDocument"] for p in made(way, "AWS::IAM::Role")["BedrockRole"]["Policies"]
            )
            return {statement["Resource"]: statement["Action"] for statement in document["Statement"]}

        invoke = ["bedrock:InvokeModel", "bedrock:InvokeModelWithResponseStream"]
        model = "foundation-model/amazon.nova-pro-v1:0"
        assert allowed(self.FUNCTIONS) == {f"arn:aws:bedrock:{REGION}::{model}": invoke}
        profile = f"arn:aws:bedrock:{REGION}:{ACCOUNT}:inference-profile/eu.amazon.nova-pro-v1:0"
        assert allowed(self.OPENAPI) == {
            f"arn:aws:bedrock:*::{model}": invoke,
            profile: [*invoke, "bedrock:GetInferenceProfile"],
        }
        assert self.agent(self.OPENAPI)["FoundationModel"] == profile

    @pytest.mark.parametrize("way", [FUNCTIONS, OPENAPI])
    def test_has_a_role_that_only_bedrock_takes_for_this_account(self, way):
        (statement,) = made(way, "AWS::IAM::Role")["BedrockRole"]["AssumeRolePolicyDocument"]["Statement"]
        assert statement["Principal"] == {"Service": "bedrock.amazonaws.com"}
        assert statement["Condition"]["StringEquals"] == {"aws:SourceAccount": ACCOUNT}
        assert statement["Condition"]["ArnLike"]["aws:SourceArn"].endswith(f":{ACCOUNT}:agent/*")


class TestWhatIsAskedForTogether:
    """Rules refuse a deployment before anything is made."""

    def test_tokens_come_with_their_issuer_and_clients_and_named_callers_sign(self):
        said = json.dumps(Template(AGENT_TEMPLATE).raw["Rules"])
        for parameter in ("GatewayDiscoveryUrl", "GatewayClients", "GatewayCallers"):
            assert parameter in said

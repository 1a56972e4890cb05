"""What CloudFormation would be told and what it would ask of AWS, for each way to deploy the template.

SAM's own translator expands the template; conditions are settled by the parameters; what is left has to
please the linter, and each request that its resources imply has to please AWS's own model of the API.
"""

import copy
import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

import pytest
from cfnlint.api import lint
from cfnlint.config import ManualArgs

from infra.schemas import INSTRUCTION, tools
from infra.template import Template
from tests.aws_models import input_shape, refusals
from tests.conftest import require

pytestmark = pytest.mark.deployment

ROOT = Path(__file__).parents[2]
SAM = ROOT / ".venv-sam/bin/python"

REGION, ACCOUNT = "eu-west-1", "123456789012"

OWN_ISSUER = {
    "Issuer": "https://id.example",
    "Audience": "page",
    "SignInAuthorizeUrl": "https://id.example/authorize",
    "SignInTokenUrl": "https://id.example/token",
    "SignInClientId": "page",
    "SignOutUrl": "https://id.example/logout",
}
WAYS = {
    "as it comes": {},
    "second time, with the page's address": {"PageUrl": "https://preferences.example"},
    "with an issuer of one's own": OWN_ISSUER,
    "without agents": {"Gateway": "NONE"},
    "with a Gateway that takes a backend's tokens": {
        "Gateway": "JWT",
        "GatewayDiscoveryUrl": "https://id.example/.well-known/openid-configuration",
        "GatewayClients": "backend",
    },
    "with a classic agent by function details": {"ClassicAgent": "FUNCTIONS"},
    "with a classic agent by OpenAPI, on an inference profile": {
        "Gateway": "NONE",
        "ClassicAgent": "OPENAPI",
        "AgentModelGeography": "eu",
    },
    "with everything": {
        **OWN_ISSUER,
        "AllowedOrigins": "https://a.example,https://b.example",
        "ClassicAgent": "FUNCTIONS",
        "ApiConcurrency": "50",
        "AgentConcurrency": "20",
        "AlarmTopic": f"arn:aws:sns:{REGION}:{ACCOUNT}:alarms",
        "Tracing": "yes",
        "SelfSignUp": "yes",
        "SnapStart": "yes",
    },
}
MANY = pytest.mark.parametrize("way", WAYS)


@cache
def template(way="as it comes") -> Template:
    return Template(parameters=WAYS[way])


@cache
def template_with(*parameters) -> Template:
    return Template(parameters=dict(parameters))


@cache
def expanded() -> str:
    """The template as SAM hands it to CloudFormation, as JSON."""
    raw = copy.deepcopy(template().raw)
    # `sam deploy` puts the package into a bucket first.
    raw["Globals"]["Function"]["CodeUri"] = "s3://bucket/package.zip"

    require(SAM.exists(), "CI", "the SAM CLI's environment is not there: make .venv-sam")
    return subprocess.run(
        [SAM, Path(__file__).with_name("sam_expand.py")],
        input=json.dumps(raw),
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@cache
def deployed(way) -> dict:
    """The expanded template with its conditions settled: what is really made."""
    parameters = WAYS[way]
    known = template(way)
    body = json.loads(expanded())
    holds = {name: known.resolve({"Condition": name}) for name in known.raw["Conditions"]}

    for part in ("Resources", "Outputs"):
        body[part] = {
            name: settled({key: inner for key, inner in item.items() if key != "Condition"}, holds)
            for name, item in body[part].items()
            if holds.get(item.get("Condition"), True)
        }
    del body["Conditions"]
    for name, value in parameters.items():
        body["Parameters"][name]["Default"] = value
    return body


def settled(value, holds):
    """The value with each condition decided, as `holds` has it, and without what is not there then."""
    if isinstance(value, list):
        return [made for item in value if (made := settled(item, holds)) != {"Ref": "AWS::NoValue"}]
    if not isinstance(value, dict):
        return value
    if set(value) == {"Fn::If"}:
        condition, then, otherwise = value["Fn::If"]
        return settled(then if holds[condition] else otherwise, holds)
    made = {name: settled(inner, holds) for name, inner in value.items()}
    return {name: inner for name, inner in made.items() if inner != {"Ref": "AWS::NoValue"}}


@cache
def made(way, kind) -> dict[str, dict]:
    """The properties of the resources of a kind, with pretended ids and ARNs for what AWS would fill in."""
    body = deployed(way)
    stands_for = template(way).resolve
    return {
        name: filled_in(resource.get("Properties", {}), stands_for)
        for name, resource in body["Resources"].items()
        if resource["Type"] == kind
    }


def filled_in(value, stands_for):
    if isinstance(value, list):
        return [filled_in(item, stands_for) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) != 1 or not next(iter(value)).startswith(("Ref", "Fn::")):
        return {name: filled_in(inner, stands_for) for name, inner in value.items()}
    ((function, argument),) = value.items()
    try:
        return stands_for(value)
    except LookupError:
        pass
    if function == "Fn::Sub":
        text, names = argument if isinstance(argument, list) else (argument, {})
        for name, inner in names.items():
            text = text.replace("${" + name + "}", str(filled_in(inner, stands_for)))
        for name in {part.partition("}")[0] for part in text.split("${")[1:]}:
            given = {"Fn::GetAtt": name.split(".")} if "." in name else {"Ref": name}
            text = text.replace("${" + name + "}", str(filled_in(given, stands_for)))
        return text
    if function == "Fn::Join":
        return argument[0].join(map(str, filled_in(argument[1], stands_for)))
    if function == "Fn::Select":
        return "0123456789ab"  # the end of the stack's id
    return PRETENDED.get(tuple(argument) if isinstance(argument, list) else argument) or _arn(argument)


PRETENDED = {
    "AWS::Region": REGION,
    "AWS::AccountId": ACCOUNT,
    "AWS::Partition": "aws",
    "AWS::URLSuffix": "amazonaws.com",
    "AWS::NoValue": None,
    "UserPool": f"{REGION}_abcDEF123",
    "PageClient": "1h57kf5cpq17m0eml12EXAMPLE",
    "Api": "a1b2c3d4e5",
    "AgentFunction": "preferences-AgentFunction-abc",
    "ApiFunction": "preferences-ApiFunction-abc",
    "HistoryFunction": "preferences-HistoryFunction-abc",
    "AgentFunctionAliaslive": f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:AgentFunction:live",
    "ApiFunctionAliaslive": f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:ApiFunction:live",
    "HistoryFunctionChanges": "14e0db71-5d35-4eb5-b481-8945cf9d10c2",
    ("UserPool", "ProviderURL"): f"https://cognito-idp.{REGION}.amazonaws.com/{REGION}_abcDEF123",
    ("ToolGateway", "GatewayIdentifier"): "preferences-abcdefghij",
    ("Agent", "AgentId"): "ABCDEFGHIJ",
    ("Agent", "AgentArn"): f"arn:aws:bedrock:{REGION}:{ACCOUNT}:agent/ABCDEFGHIJ",
    ("Table", "StreamArn"): f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/t/stream/2026-01-01T00:00:00.000",
    ("FailedChanges", "Arn"): "arn:aws:s3:::failed-changes",
    ("Table", "Arn"): f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/t",
}


def _arn(argument):
    if isinstance(argument, str):
        return argument
    name, attribute = argument
    if attribute == "Version":
        return "7"
    assert attribute == "Arn", argument
    kind = template().resources[name]["Type"]
    if kind == "AWS::IAM::Role":
        return f"arn:aws:iam::{ACCOUNT}:role/{name}"
    if kind == "AWS::Serverless::Function":
        return f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}"
    return f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:{name}:*"


def asked(value, shape):
    """Properties of CloudFormation as members of an API's request: the same names but for their capitals."""
    if shape.type_name == "structure":
        members = {name.lower(): name for name in shape.members}
        return {
            (member := members.get(name.lower(), name)): asked(inner, shape.members[member])
            if member in shape.members
            else inner
            for name, inner in value.items()
        }
    if shape.type_name == "list":
        return [asked(item, shape.member) for item in value]
    if shape.type_name == "map":
        return {name: asked(inner, shape.value) for name, inner in value.items()}
    if shape.type_name in ("integer", "long", "double", "float") and isinstance(value, str):
        return float(value) if shape.type_name in ("double", "float") else int(value)
    return str(value) if shape.type_name == "string" and isinstance(value, int) else value


def request(service, operation, properties, **more) -> dict:
    return {**asked(properties, input_shape(service, operation)), **more}


def check(service, operation, properties, **more) -> None:
    assert refusals(service, operation, request(service, operation, properties, **more)) == []


def without(properties, *names) -> dict:
    return {name: value for name, value in properties.items() if name not in names}


class TestEachWayToDeploy:
    @MANY
    def test_is_clean_under_the_linter(self, way):
        assert linted(deployed(way)) == []

    def test_would_be_told_what_is_wrong(self):
        body = copy.deepcopy(deployed("as it comes"))
        del body["Resources"]["ToolGateway"]["Properties"]["RoleArn"]
        assert [text.partition(" ")[0] for text in linted(body)] == ["E3003"]


def linted(body) -> list[str]:
    """What the linter says, but for parameters that have no use once conditions are settled."""
    found = lint(json.dumps(body), config=ManualArgs(regions=[REGION]))
    return [f"{match.rule.id} {match.path}: {match.message}" for match in found if match.rule.id != "W2001"]


class TestEveryRequest:
    """Each is one that CloudFormation would make."""

    @MANY
    def test_for_a_gateway_fits(self, way):
        for properties in made(way, "AWS::BedrockAgentCore::Gateway").values():
            check("bedrock-agentcore-control", "CreateGateway", properties)
        for properties in made(way, "AWS::BedrockAgentCore::GatewayTarget").values():
            check("bedrock-agentcore-control", "CreateGatewayTarget", properties)

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
    def test_for_sign_in_fits(self, way):
        for properties in made(way, "AWS::Cognito::UserPool").values():
            own = without(properties, "EnabledMfas")  # CloudFormation asks for that in a request of its own
            check("cognito-idp", "CreateUserPool", own, PoolName="preferences")
        for properties in made(way, "AWS::Cognito::UserPoolClient").values():
            check("cognito-idp", "CreateUserPoolClient", properties, ClientName="page")
        for properties in made(way, "AWS::Cognito::UserPoolDomain").values():
            check("cognito-idp", "CreateUserPoolDomain", properties)
        for properties in made(way, "AWS::Cognito::ManagedLoginBranding").values():
            check("cognito-idp", "CreateManagedLoginBranding", properties)

    @MANY
    def test_for_the_alarms_fits(self, way):
        for name, properties in made(way, "AWS::CloudWatch::Alarm").items():
            check("cloudwatch", "PutMetricAlarm", properties, AlarmName=name)

    @MANY
    def test_for_the_functions_sources_and_permissions_fits(self, way):
        for properties in made(way, "AWS::Lambda::EventSourceMapping").values():
            check("lambda", "CreateEventSourceMapping", properties)
        for name, properties in made(way, "AWS::Lambda::Permission").items():
            check("lambda", "AddPermission", properties, StatementId=name)

    @MANY
    def test_for_the_functions_and_their_versions_fits(self, way):
        for name, properties in made(way, "AWS::Lambda::Function").items():
            own = without(properties, "ReservedConcurrentExecutions", "Tags")  # requests of their own; a map
            check("lambda", "CreateFunction", own, FunctionName=name)
        for properties in made(way, "AWS::Lambda::Version").values():
            check("lambda", "PublishVersion", properties)


class TestSignIn:
    def test_is_made_unless_an_issuer_is_given(self):
        kinds = ("UserPool", "UserPoolClient", "UserPoolDomain", "ManagedLoginBranding")
        for kind in kinds:
            assert len(made("as it comes", f"AWS::Cognito::{kind}")) == 1
            assert not made("with an issuer of one's own", f"AWS::Cognito::{kind}")

    def test_takes_a_code_from_a_public_client_and_nothing_else(self):
        (client,) = made("as it comes", "AWS::Cognito::UserPoolClient").values()
        assert client["GenerateSecret"] is False
        assert client["AllowedOAuthFlows"] == ["code"]
        assert client["ExplicitAuthFlows"] == ["ALLOW_REFRESH_TOKEN_AUTH"]
        assert client["PreventUserExistenceErrors"] == "ENABLED"

    def test_leads_back_to_the_page_and_until_that_is_known_nowhere(self):
        (before,) = made("as it comes", "AWS::Cognito::UserPoolClient").values()
        assert before["CallbackURLs"] == ["https://page-url.invalid/"]
        (after,) = made("second time, with the page's address", "AWS::Cognito::UserPoolClient").values()
        assert after["CallbackURLs"] == after["LogoutURLs"] == ["https://preferences.example/"]

    def test_keeps_the_users_whatever_happens_to_the_stack(self):
        pool = deployed("as it comes")["Resources"]["UserPool"]
        assert pool["DeletionPolicy"] == pool["UpdateReplacePolicy"] == "Retain"
        assert pool["Properties"]["DeletionProtection"] == "ACTIVE"

    def test_lets_strangers_in_only_where_asked(self):
        (pool,) = made("as it comes", "AWS::Cognito::UserPool").values()
        assert pool["AdminCreateUserConfig"] == {"AllowAdminCreateUserOnly": True}

    def test_is_told_to_the_page(self):
        def told(way):
            variables = made(way, "AWS::Lambda::Function")["ApiFunction"]["Environment"]["Variables"]
            return {name: value for name, value in variables.items() if name.startswith("SIGN_")}

        host = f"https://preferences-0123456789ab.auth.{REGION}.amazoncognito.com"
        assert told("as it comes") == {
            "SIGN_IN_AUTHORIZE_URL": f"{host}/oauth2/authorize",
            "SIGN_IN_TOKEN_URL": f"{host}/oauth2/token",
            "SIGN_IN_CLIENT_ID": PRETENDED["PageClient"],
            "SIGN_IN_SCOPE": "openid",
            "SIGN_OUT_URL": f"{host}/logout",
        }
        (domain,) = made("as it comes", "AWS::Cognito::UserPoolDomain").values()
        assert host.startswith(f"https://{domain['Domain']}.auth.")
        assert told("with an issuer of one's own") == {
            "SIGN_IN_AUTHORIZE_URL": "https://id.example/authorize",
            "SIGN_IN_TOKEN_URL": "https://id.example/token",
            "SIGN_IN_CLIENT_ID": "page",
            "SIGN_IN_SCOPE": "openid",
            "SIGN_OUT_URL": "https://id.example/logout",
        }

    @MANY
    def test_is_what_the_api_takes_tokens_of(self, way):
        (api,) = made(way, "AWS::ApiGatewayV2::Api").values()
        jwt = api["Body"]["components"]["securitySchemes"]["Jwt"]["x-amazon-apigateway-authorizer"]
        ours = "Issuer" not in WAYS[way]
        assert jwt["jwtConfiguration"] == {
            "issuer": PRETENDED["UserPool", "ProviderURL"] if ours else "https://id.example",
            "audience": [PRETENDED["PageClient"] if ours else "page"],
        }


class TestTheGateway:
    def test_takes_signed_calls_unless_told_otherwise(self):
        (gateway,) = made("as it comes", "AWS::BedrockAgentCore::Gateway").values()
        assert gateway["AuthorizerType"] == "AWS_IAM"
        assert "AuthorizerConfiguration" not in gateway

    def test_takes_tokens_of_the_named_clients_alone(self):
        way = "with a Gateway that takes a backend's tokens"
        (gateway,) = made(way, "AWS::BedrockAgentCore::Gateway").values()
        assert gateway["AuthorizerType"] == "CUSTOM_JWT"
        assert gateway["AuthorizerConfiguration"]["CustomJWTAuthorizer"]["AllowedClients"] == ["backend"]

    def test_passes_on_who_is_meant_and_no_other_header(self):
        (target,) = made("as it comes", "AWS::BedrockAgentCore::GatewayTarget").values()
        assert target["MetadataConfiguration"] == {"AllowedRequestHeaders": ["X-Thread-Id", "X-User-Id"]}
        assert "_" not in target["Name"]

    def test_has_the_tools_of_the_code(self):
        (target,) = made("as it comes", "AWS::BedrockAgentCore::GatewayTarget").values()
        sent = request("bedrock-agentcore-control", "CreateGatewayTarget", target)
        assert sent["targetConfiguration"]["mcp"]["lambda"]["toolSchema"]["inlinePayload"] == tools.gateway()

    def test_may_call_the_agents_door_and_nothing_else(self):
        (policy,) = made("as it comes", "AWS::IAM::RolePolicy").values()
        (statement,) = policy["PolicyDocument"]["Statement"]
        assert statement["Action"] == "lambda:InvokeFunction"
        assert statement["Resource"] == [_arn(["AgentFunction", "Arn"]), PRETENDED["AgentFunctionAliaslive"]]

    def test_can_be_done_without(self):
        assert not made("without agents", "AWS::BedrockAgentCore::Gateway")
        assert not made("without agents", "AWS::IAM::RolePolicy")


class TestTheClassicAgent:
    FUNCTIONS = "with a classic agent by function details"
    OPENAPI = "with a classic agent by OpenAPI, on an inference profile"

    def agent(self, way):
        (agent,) = made(way, "AWS::Bedrock::Agent").values()
        return agent

    def test_is_not_there_unless_asked_for(self):
        assert not made("as it comes", "AWS::Bedrock::Agent")
        assert not [
            permission
            for permission in made("as it comes", "AWS::Lambda::Permission").values()
            if permission["Principal"] == "bedrock.amazonaws.com"
        ]

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

    def test_alone_may_call_its_door_for_this_account(self):
        permissions = [
            permission
            for permission in made(self.FUNCTIONS, "AWS::Lambda::Permission").values()
            if permission["Principal"] == "bedrock.amazonaws.com"
        ]
        called = {PRETENDED["AgentFunction"], PRETENDED["AgentFunctionAliaslive"]}
        assert {permission["FunctionName"] for permission in permissions} == called
        assert {permission["SourceAccount"] for permission in permissions} == {ACCOUNT}
        assert {permission["SourceArn"] for permission in permissions} == {PRETENDED["Agent", "AgentArn"]}

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


class TestOperations:
    def test_cost_nothing_while_tracing_is_off(self):
        functions = made("as it comes", "AWS::Lambda::Function")
        assert {f["TracingConfig"]["Mode"] for f in functions.values()} == {"PassThrough"}
        assert not made("as it comes", "AWS::IAM::Policy")
        traced = made("with everything", "AWS::Lambda::Function")
        assert {f["TracingConfig"]["Mode"] for f in traced.values()} == {"Active"}

    def test_watch_errors_throttles_slowness_age_and_loss(self):
        alarms = made("as it comes", "AWS::CloudWatch::Alarm")
        watched = {(a["MetricName"], tuple(d["Value"] for d in a["Dimensions"])) for a in alarms.values()}
        functions = [PRETENDED[f"{door}Function"] for door in ("Api", "Agent", "History")]
        assert watched == {
            *(("Errors", (function,)) for function in functions),
            *(("Throttles", (function,)) for function in functions),
            *(("Duration", (function,)) for function in functions[:2]),
            ("Faults", ("preferences", "people")),
            ("Faults", ("preferences", "agent")),
            ("IteratorAge", (functions[2],)),
            ("OnFailureDestinationDeliveredEventCount", (PRETENDED["HistoryFunctionChanges"],)),
            ("DestinationDeliveryFailures", (functions[2],)),
        }

    def test_tell_the_topic_where_there_is_one(self):
        for alarm in made("as it comes", "AWS::CloudWatch::Alarm").values():
            assert "AlarmActions" not in alarm
        for alarm in made("with everything", "AWS::CloudWatch::Alarm").values():
            assert alarm["AlarmActions"] == alarm["OKActions"] == [WAYS["with everything"]["AlarmTopic"]]

    def test_count_what_the_history_gives_up(self):
        (source,) = made("as it comes", "AWS::Lambda::EventSourceMapping").values()
        assert source["MetricsConfig"] == {"Metrics": ["EventCount"]}

    def test_limit_each_door_where_asked(self):
        unlimited = made("as it comes", "AWS::Lambda::Function")
        assert not [f for f in unlimited.values() if "ReservedConcurrentExecutions" in f]
        limited = made("with everything", "AWS::Lambda::Function")
        assert limited["ApiFunction"]["ReservedConcurrentExecutions"] == "50"
        assert limited["AgentFunction"]["ReservedConcurrentExecutions"] == "20"
        assert "ReservedConcurrentExecutions" not in limited["HistoryFunction"]


DOORS = ("ApiFunction", "AgentFunction")
CALLERS = ("AWS::ApiGatewayV2::Api", "AWS::BedrockAgentCore::GatewayTarget", "AWS::Bedrock::Agent")
CALLED_BY = {"apigateway.amazonaws.com": "ApiFunction", "bedrock.amazonaws.com": "AgentFunction"}


def mentions(value, way) -> set[str]:
    """The ARNs of the doors, with an alias or without, anywhere in what a resource is made with."""
    text = json.dumps(filled_in(value, template(way).resolve))
    return set(re.findall(rf"{REGION}:{ACCOUNT}:function:(?:{'|'.join(DOORS)})(?::\w+)?", text))


class TestSnapshots:
    WITH, WITHOUT = "with everything", "with a classic agent by function details"

    def test_are_not_made_unless_asked_for(self):
        def applied(way):
            return {f["SnapStart"]["ApplyOn"] for f in doors(way).values()}

        def doors(way):
            return {name: made(way, "AWS::Lambda::Function")[name] for name in DOORS}

        assert applied(self.WITHOUT) == {"None"}
        assert applied(self.WITH) == {"PublishedVersions"}

    def test_are_for_those_that_somebody_waits_for(self):
        assert "SnapStart" not in made(self.WITH, "AWS::Lambda::Function")["HistoryFunction"]
        assert not [name for name in made(self.WITH, "AWS::Lambda::Alias") if name.startswith("History")]

    @pytest.mark.parametrize(("way", "suffix"), [(WITH, ":live"), (WITHOUT, "")])
    def test_are_what_every_caller_calls_where_there_are_any(self, way, suffix):
        body = deployed(way)
        callers = {
            name: mentions(resource, way)
            for name, resource in body["Resources"].items()
            if resource["Type"] in CALLERS
        }
        called = {door: {f"{REGION}:{ACCOUNT}:function:{door}{suffix}"} for door in DOORS}
        assert callers == {
            "Api": called["ApiFunction"],
            "ToolTarget": called["AgentFunction"],
            "Agent": called["AgentFunction"],
        }
        assert mentions(body["Outputs"]["AgentFunctionArn"], way) == called["AgentFunction"]

    @pytest.mark.parametrize("way", [WITH, WITHOUT])
    def test_leave_no_caller_out(self, way):
        """Whoever calls a door in future has to be added to the test above."""
        naming = {
            resource["Type"]
            for resource in deployed(way)["Resources"].values()
            if mentions(resource, way) or any(f'"{door}"' in json.dumps(resource) for door in DOORS)
        }
        assert naming == {
            *CALLERS,
            "AWS::CloudWatch::Alarm",  # metrics of a function are those of all its versions
            "AWS::IAM::RolePolicy",
            "AWS::Lambda::Alias",
            "AWS::Lambda::Permission",
            "AWS::Lambda::Version",
        }

    @MANY
    def test_are_let_in_beside_the_function_so_that_nobody_is_turned_away_by_a_change(self, way):
        permissions = made(way, "AWS::Lambda::Permission").values()
        for principal in {permission["Principal"] for permission in permissions}:
            door = CALLED_BY[principal]
            called = {p["FunctionName"] for p in permissions if p["Principal"] == principal}
            assert called == {PRETENDED[door], PRETENDED[f"{door}Aliaslive"]}

    def test_are_gone_with_their_version(self):
        resources = deployed(self.WITH)["Resources"].values()
        versions = [resource for resource in resources if resource["Type"] == "AWS::Lambda::Version"]
        assert len(versions) == len(DOORS)
        for version in versions:
            assert version["DeletionPolicy"] == "Delete"
            assert "UpdateReplacePolicy" not in version


STARTED = """
import json, os, sys

connected = []
sys.addaudithook(lambda event, given: connected.append(given[1]) if event == "socket.connect" else None)

import preferences.agent, preferences.api
from preferences.model import new_id
from preferences.repository.client import dynamodb_client

at_first = list(connected)


def restored() -> str:
    key = dynamodb_client()._request_signer._credentials.get_frozen_credentials().access_key
    return f"{key} {new_id()}"


ids = []
for _ in range(2):  # a fork has all the memory of its parent, as a start from a snapshot has
    reader, writer = os.pipe()
    if not os.fork():
        os.write(writer, restored().encode())
        os._exit(0)
    ids.append(os.read(reader, 1000).decode())
print(json.dumps({"connected": at_first, "restored": ids}))
"""


@pytest.fixture(scope="module")
def issued():
    """The port where credentials are, as for a snapshot: the first are over soon, later ones are not."""
    keys = []

    class Issuer(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # which keeps a connection that its other end does not close

        def do_GET(self):
            keys.append(f"KEY{len(keys)}")
            minutes = 60 if len(keys) > 1 else 1
            body = {
                "AccessKeyId": keys[-1],
                "SecretAccessKey": "pretended",
                "Token": "pretended",
                "Expiration": (datetime.now(UTC) + timedelta(minutes=minutes)).isoformat(),
            }
            answer = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Issuer)
    Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def started(issued):
    """What a door's process holds after its start, and what two starts from its memory do."""
    variables = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT / "functions"),
        "AWS_LAMBDA_RUNTIME_API": "127.0.0.1:9",  # as on Lambda; nobody answers
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"http://127.0.0.1:{issued}/",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN": "pretended",
    }
    command = [sys.executable, "-c", STARTED]
    ran = subprocess.run(command, env=variables, stdout=subprocess.PIPE, check=True, timeout=60)
    return json.loads(ran.stdout)


class TestWhatASnapshotHolds:
    def test_is_no_connection_but_the_one_that_brought_credentials(self, started, issued):
        # To the Runtime API, which is in the same sandbox: the snapshot has both ends.
        assert started["connected"] == [["127.0.0.1", issued]]

    def test_is_no_id_that_two_starts_would_share(self, started):
        one, other = (text.split()[1] for text in started["restored"])
        assert one != other

    def test_is_no_credential_that_would_be_used_when_it_is_over(self, started):
        assert sorted(text.split()[0] for text in started["restored"]) == ["KEY1", "KEY2"]


class TestVersions:
    """A parameter's new value makes a version, where it is one of the function; and no other parameter does.

    SAM doesn't see to it, and Lambda refuses to publish the same twice.
    """

    UNSEEN: ClassVar = {"SignInAuthorizeUrl", "SignInTokenUrl", "SignInScope", "SignOutUrl"}
    """They would not fit into a description; docs/operating.md says so."""
    OTHERWISE: ClassVar = {
        "PageUrl": "https://other.example",
        "Issuer": "https://other.example",
        "Audience": "other",
        "SignInAuthorizeUrl": "https://other.example/authorize",
        "SignInTokenUrl": "https://other.example/token",
        "SignInClientId": "other",
        "SignInScope": "other",
        "SignOutUrl": "https://other.example/logout",
        "AllowedOrigins": "https://other.example",
        "GatewayDiscoveryUrl": "https://other.example/.well-known/openid-configuration",
        "GatewayClients": "other",
        "AgentModel": "amazon.nova-lite-v1:0",
        "AgentModelGeography": "eu",
        "ApiConcurrency": "7",
        "AgentConcurrency": "7",
        "AlarmTopic": f"arn:aws:sns:{REGION}:{ACCOUNT}:other",
    }

    @pytest.mark.parametrize("door", DOORS)
    @pytest.mark.parametrize("base", [{}, OWN_ISSUER], ids=["own pool", "own issuer"])
    @pytest.mark.parametrize("name", Template().raw["Parameters"])
    def test_are_made_of_what_a_parameter_changes(self, name, base, door):
        declared = template().raw["Parameters"][name]
        before = base.get(name, declared["Default"])
        others = [v for v in declared.get("AllowedValues", []) if str(v) != str(before)]
        other = others[0] if others else self.OTHERWISE.get(name) or int(before) + 1
        given = [base, {**base, name: str(other)}]
        functions, versions = zip(*(self.settled(door, parameters) for parameters in given), strict=True)
        if functions[0] == functions[1] or name in self.UNSEEN:
            assert versions[0] == versions[1]
        else:
            assert versions[0] != versions[1]

    @staticmethod
    def settled(door, parameters) -> tuple[dict, str]:
        """What of the door a version keeps, and the version's description."""
        resolve = template_with(*parameters.items()).resolve
        resources = json.loads(expanded())["Resources"]
        (version,) = (
            resource["Properties"]["Description"]
            for resource in resources.values()
            if resource["Type"] == "AWS::Lambda::Version"
            and resource["Properties"]["FunctionName"] == {"Ref": door}
        )
        kept = without(resources[door]["Properties"], "ReservedConcurrentExecutions")
        conditions = {name: resolve({"Condition": name}) for name in template().raw["Conditions"]}
        return filled_in(settled(kept, conditions), resolve), filled_in(settled(version, conditions), resolve)

    @pytest.mark.parametrize("door", DOORS)
    def test_are_made_of_everything_that_is_written_otherwise(self, door):
        assert template().resources[door]["Properties"]["AutoPublishAliasAllProperties"] is True

    @pytest.mark.parametrize("door", DOORS)
    def test_are_described_in_no_more_than_fits(self, door):
        longest = {"SignInClientId": "c" * template().raw["Parameters"]["SignInClientId"]["MaxLength"]}
        assert len(self.settled(door, OWN_ISSUER | longest)[1]) < 256


class TestWhatIsAskedForTogether:
    """Rules refuse a deployment before anything is made."""

    def test_an_issuer_comes_with_its_audience_and_tokens_with_their_clients(self):
        rules = template().raw["Rules"]
        assert json.loads(expanded())["Rules"] == rules
        said = json.dumps(rules)
        for parameter in ("Issuer", "Audience", "GatewayDiscoveryUrl", "GatewayClients"):
            assert parameter in said

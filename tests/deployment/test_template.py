"""The templates keep what the design promises: who may do what, and what is never lost."""

import base64
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import ClassVar

import cfnlint
import pytest

from infra.template import AGENT_TEMPLATE, TEMPLATE, Template
from preferences import metrics

ROOT = Path(__file__).parents[2]
OPERATING = ROOT / "docs/operating.md"

PUBLIC = {
    "GET /",
    "GET /assets/{file}",
    "GET /assets/{version}/{file}",
    "GET /config.json",
    "GET /openapi.json",
}
PROTECTED = {
    "POST /threads",
    "GET /threads",
    "PUT /threads/{thread_id}",
    "PATCH /threads/{thread_id}",
    "DELETE /threads/{thread_id}",
    "GET /threads/{thread_id}/preferences",
    "POST /threads/{thread_id}/preferences",
    "PATCH /threads/{thread_id}/preferences/{id}",
    "DELETE /threads/{thread_id}/preferences/{id}",
    "PUT /threads/{thread_id}/preferences/{id}/lock",
    "DELETE /threads/{thread_id}/preferences/{id}/lock",
    "PUT /threads/{thread_id}/lock",
    "DELETE /threads/{thread_id}/lock",
    "PUT /threads/{thread_id}/order",
    "GET /threads/{thread_id}/history",
    "POST /threads/{thread_id}/history/{revision}/undo",
    "DELETE /threads/{thread_id}/suggestions",
    "DELETE /threads/{thread_id}/suggestions/{id}",
    "POST /threads/{thread_id}/suggestions/{id}/accept",
    "GET /threads/{thread_id}/session-state",
}


def allowed(template, role) -> dict[str, set[str]]:
    """What a role allows: resource as JSON → actions. Fails on anything but plain statements."""
    found = {}
    body = template.resources[role]["Properties"]
    assert "ManagedPolicyArns" not in body
    for policy in body["Policies"]:
        for statement in policy["PolicyDocument"]["Statement"]:
            assert set(statement) == {"Effect", "Action", "Resource"}
            assert statement["Effect"] == "Allow"
            actions = statement["Action"]
            key = json.dumps(statement["Resource"])
            found.setdefault(key, set()).update([actions] if isinstance(actions, str) else actions)
    return found


def attribute(resource, name="Arn") -> str:
    return json.dumps({"Fn::GetAtt": [resource, name]})


def below(path) -> str:
    return json.dumps({"Fn::Sub": path})


LOGS = {"logs:CreateLogStream", "logs:PutLogEvents"}


class TestTheApi:
    def test_has_exactly_the_designs_routes(self, template):
        assert {route.key for route in template.routes} == PUBLIC | PROTECTED
        assert len(template.routes) == len(PUBLIC | PROTECTED)

    def test_demands_a_verified_token_on_every_route_but_the_public_ones(self, template):
        assert {route.key for route in template.routes if not route.authorized} == PUBLIC

    def test_sends_every_route_to_the_apis_function(self, template):
        assert {template.functions[route.function].handler for route in template.routes} == {
            "preferences.api.handler"
        }

    def test_has_no_catch_all(self, template):
        assert not [
            r.key for r in template.routes if "+" in r.path or "$default" in r.path or r.method == "ANY"
        ]

    def test_cannot_be_passed_by_a_function_url(self, template):
        for body in template.of_type("AWS::Serverless::Function").values():
            assert "FunctionUrlConfig" not in body["Properties"]
        assert not template.of_type("AWS::Lambda::Url")

    def test_takes_tokens_of_its_own_user_pool_unless_an_issuer_is_given(self, template):
        _, api = template.the("AWS::Serverless::HttpApi")
        schemes = api["DefinitionBody"]["components"]["securitySchemes"]
        jwt = schemes["Jwt"]["x-amazon-apigateway-authorizer"]["jwtConfiguration"]
        assert jwt == {
            "issuer": {
                "Fn::If": [
                    "MakesUserPool",
                    {"Fn::GetAtt": ["UserPool", "ProviderURL"]},
                    {"Ref": "Issuer"},
                ]
            },
            "audience": {
                "Fn::If": [
                    "MakesUserPool",
                    [{"Ref": "PageClient"}, {"Ref": "SmokeClient"}],
                    {"Ref": "Audience"},
                ]
            },
        }
        given = Template(parameters={"Issuer": "https://id.example", "Audience": "page, app"})
        assert given.resolve(jwt) == {"issuer": "https://id.example", "audience": ["page", "app"]}

    @pytest.mark.parametrize("issuer", ["https://tenant.eu.auth0.com/", "https://id.example/realms/people"])
    def test_takes_the_issuer_exactly_as_its_tokens_have_it(self, issuer):
        assert Template(parameters={"Issuer": issuer}).resolve({"Ref": "Issuer"}) == issuer

    @pytest.mark.parametrize("issuer", ["tenant.eu.auth0.com", "http://id.example", "https://id.example?a=b"])
    def test_takes_no_issuer_that_no_token_could_have(self, issuer):
        with pytest.raises(ValueError, match="exactly as the tokens' `iss` has it"):
            Template(parameters={"Issuer": issuer})

    def test_is_throttled(self, template):
        _, api = template.the("AWS::Serverless::HttpApi")
        settings = template.resolve(api["DefaultRouteSettings"])
        assert settings["ThrottlingRateLimit"] > 0
        assert settings["ThrottlingBurstLimit"] > 0

    def test_logs_no_identity_and_no_thread(self, template):
        _, api = template.the("AWS::Serverless::HttpApi")
        line = api["AccessLogSettings"]["Format"]
        assert json.loads(line)
        for private in ("identity", "authorizer", "path", "$context.protocol"):
            assert private not in line.replace("$context.routeKey", "")

    def test_logs_where_no_policy_of_the_account_has_to_grow_for_it(self, template):
        """That policy has 5,120 characters, and API Gateway adds other log groups to it, each by its name."""
        _, api = template.the("AWS::Serverless::HttpApi")
        assert api["AccessLogSettings"]["DestinationArn"] == {"Fn::GetAtt": ["ApiAccessLogs", "Arn"]}
        name = template.resources["ApiAccessLogs"]["Properties"]["LogGroupName"]
        assert name == {"Fn::Sub": "/aws/vendedlogs/${AWS::StackName}/api"}


class TestBrowsersOfOtherOrigins:
    @pytest.fixture
    def cors(self):
        return Template(parameters={"AllowedOrigins": "https://a.example, https://b.example"}).cors

    def test_are_nobody_by_default(self, template):
        assert template.cors == {}

    def test_are_those_of_the_parameter(self, cors):
        assert cors["AllowOrigins"] == ["https://a.example", "https://b.example"]

    def test_may_send_and_see_what_conditional_requests_need(self, template, cors):
        assert set(cors["AllowHeaders"]) == {"authorization", "content-type", "if-match", "if-none-match"}
        assert cors["ExposeHeaders"] == ["etag"]
        assert set(cors["AllowMethods"]) == {route.method for route in template.routes}

    @pytest.mark.parametrize("origin", ["https://a.example/", "https://a.example/page", "https://A.example"])
    def test_are_named_as_they_name_themselves(self, origin):
        with pytest.raises(ValueError, match="must be origins as browsers send them"):
            Template(parameters={"AllowedOrigins": f"https://b.example,{origin}"})

    def test_never_send_cookies(self, cors):
        assert "AllowCredentials" not in cors


class TestTheTable:
    def test_is_kept_whatever_happens_to_the_stack(self, template):
        ((_, body),) = template.of_type("AWS::DynamoDB::Table").items()
        assert (body["DeletionPolicy"], body["UpdateReplacePolicy"]) == ("RetainExceptOnCreate", "Retain")
        protected = body["Properties"]["DeletionProtectionEnabled"]
        assert Template(parameters={"Protection": "yes"}).resolve(protected) is True
        assert template.resolve(protected) is False  # until the stack is there: a failed one can be removed
        assert body["Properties"]["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
        assert "TableName" not in body["Properties"]  # a name would forbid a second stack, and a restore

    def test_is_keyed_by_thread_and_kind_of_item(self, template):
        _, table = template.the("AWS::DynamoDB::Table")
        assert table["KeySchema"] == [
            {"AttributeName": "pk", "KeyType": "HASH"},
            {"AttributeName": "sk", "KeyType": "RANGE"},
        ]
        assert table["BillingMode"] == "PAY_PER_REQUEST"

    def test_finds_a_users_threads_by_keys_alone(self, template):
        _, table = template.the("AWS::DynamoDB::Table")
        (index,) = table["GlobalSecondaryIndexes"]
        assert index["IndexName"] == "owner"
        assert index["KeySchema"] == [{"AttributeName": "owner", "KeyType": "HASH"}]
        assert index["Projection"] == {"ProjectionType": "KEYS_ONLY"}

    def test_tells_both_images_of_a_change_and_forgets_what_has_expired(self, template):
        _, table = template.the("AWS::DynamoDB::Table")
        assert table["StreamSpecification"] == {"StreamViewType": "NEW_AND_OLD_IMAGES"}
        assert table["TimeToLiveSpecification"] == {"AttributeName": "expires_at", "Enabled": True}


class TestTheFunctions:
    ROLES: ClassVar = {
        "ApiFunction": "ApiRole",
        "AgentFunction": "AgentRole",
        "HistoryFunction": "HistoryRole",
    }

    def test_are_the_three_handlers(self, template):
        assert {name: made.handler for name, made in template.functions.items()} == {
            "ApiFunction": "preferences.api.handler",
            "AgentFunction": "preferences.agent.handler",
            "HistoryFunction": "preferences.history.handler",
        }

    def test_have_each_a_role_of_their_own(self, template):
        for name, role in self.ROLES.items():
            body = template.resources[name]["Properties"]
            assert body["Role"] == {"Fn::GetAtt": [role, "Arn"]}
            assert "Policies" not in body

    def test_must_be_told_the_user(self, template):
        assert {made.environment["REQUIRE_USER_ID"] for made in template.functions.values()} == {"true"}

    def test_know_nothing_of_the_api_that_calls_them(self, template):
        body = template.raw["Globals"]["Function"]
        variables = [body["Environment"]["Variables"]]
        variables += [
            made["Properties"].get("Environment", {})
            for made in template.of_type("AWS::Serverless::Function").values()
        ]
        assert "Api" not in json.dumps(variables).replace("ApiRole", "")

    def test_never_log_whole_events(self, template):
        for made in template.functions.values():
            assert not {"POWERTOOLS_LOGGER_LOG_EVENT", "POWERTOOLS_DEV"} & set(made.environment)

    def test_end_before_the_api_gives_up_waiting(self, template):
        assert template.functions["ApiFunction"].timeout < 30

    def test_log_into_groups_that_forget(self, template):
        for name in self.ROLES:
            group = template.resources[name]["Properties"]["LoggingConfig"]["LogGroup"]["Ref"]
            assert template.resources[group]["Type"] == "AWS::Logs::LogGroup"
        for group in template.of_type("AWS::Logs::LogGroup").values():
            assert group["Properties"]["RetentionInDays"] == {"Ref": "LogDays"}


class TestPolicies:
    def test_let_the_api_read_write_and_query(self, template):
        assert allowed(template, "ApiRole") == {
            attribute("Table"): {
                "dynamodb:GetItem",
                "dynamodb:BatchGetItem",
                "dynamodb:PutItem",
                "dynamodb:UpdateItem",
                "dynamodb:Query",
            },
            below("${Table.Arn}/index/owner"): {"dynamodb:Query"},
            attribute("ApiLogs"): LOGS,
        }

    def test_let_the_tools_touch_single_items_and_nothing_else(self, template):
        assert allowed(template, "AgentRole") == {
            attribute("Table"): {"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"},
            attribute("AgentLogs"): LOGS,
        }

    def test_let_the_history_keep_purge_and_read_its_stream(self, template):
        assert allowed(template, "HistoryRole") == {
            attribute("Table"): {
                "dynamodb:GetItem",
                "dynamodb:PutItem",
                "dynamodb:DeleteItem",
                "dynamodb:BatchWriteItem",
                "dynamodb:Query",
            },
            attribute("Table", "StreamArn"): {
                "dynamodb:DescribeStream",
                "dynamodb:GetRecords",
                "dynamodb:GetShardIterator",
            },
            below("${Table.Arn}/stream/*"): {"dynamodb:ListStreams"},
            below("${FailedChanges.Arn}/*"): {"s3:PutObject"},
            attribute("FailedChanges"): {"s3:ListBucket"},
            attribute("HistoryLogs"): LOGS,
        }

    @pytest.mark.parametrize("role", ["ApiRole", "AgentRole", "HistoryRole"])
    def test_never_allow_a_whole_service_or_a_scan(self, template, role):
        for resource, actions in allowed(template, role).items():
            assert resource != '"*"'
            assert not [action for action in actions if "*" in action or action.endswith("Scan")]

    def test_belong_to_roles_that_only_lambda_may_take(self, template):
        for name in ("ApiRole", "AgentRole", "HistoryRole"):
            role = template.resources[name]
            (statement,) = role["Properties"]["AssumeRolePolicyDocument"]["Statement"]
            assert statement["Principal"] == {"Service": "lambda.amazonaws.com"}

    def test_add_nothing_but_tracing_to_them_elsewhere(self, template):
        ((name, policy),) = template.of_type("AWS::IAM::Policy").items()
        assert (name, policy["Condition"]) == ("TracingPolicy", "Traced")
        (statement,) = policy["Properties"]["PolicyDocument"]["Statement"]
        assert statement["Action"] == ["xray:PutTraceSegments", "xray:PutTelemetryRecords"]
        assert not template.of_type("AWS::IAM::RolePolicy")
        assert not template.of_type("AWS::IAM::ManagedPolicy")


class TestTheHistorysSource:
    @pytest.fixture
    def source(self, template):
        (event,) = template.resources["HistoryFunction"]["Properties"]["Events"].values()
        return event["Properties"]

    def test_gives_it_changes_of_threads_and_not_its_own_entries(self, source):
        (only,) = source["FilterCriteria"]["Filters"]
        assert json.loads(only["Pattern"]) == {"dynamodb": {"Keys": {"sk": {"S": ["PREFERENCES"]}}}}

    def test_starts_with_the_first_change(self, source):
        assert source["StartingPosition"] == "TRIM_HORIZON"

    def test_finds_the_bad_record_and_gives_it_up_in_finite_time(self, source):
        assert source["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
        assert source["BisectBatchOnFunctionError"] is True
        assert 0 < source["MaximumRetryAttempts"] <= 100
        assert 0 < source["MaximumRecordAgeInSeconds"] < 86_400  # the stream itself forgets after a day

    def test_keeps_what_was_given_up_whole_and_private(self, template, source):
        assert source["DestinationConfig"] == {
            "OnFailure": {"Type": "S3", "Destination": {"Fn::GetAtt": ["FailedChanges", "Arn"]}}
        }
        bucket = template.resources["FailedChanges"]
        assert (bucket["DeletionPolicy"], bucket["UpdateReplacePolicy"]) == ("RetainExceptOnCreate", "Retain")
        assert set(bucket["Properties"]["PublicAccessBlockConfiguration"].values()) == {True}
        assert "BucketEncryption" in bucket["Properties"]
        (rule,) = bucket["Properties"]["LifecycleConfiguration"]["Rules"]
        assert rule["ExpirationInDays"] == {"Ref": "HistoryDays"}


AWS = """#!/usr/bin/env python3
import json, shutil, sys
from pathlib import Path

here = Path(__file__).parent
match sys.argv[1:]:
    case ["s3", "sync", "s3://failed", folder]:
        shutil.copytree(here / "bucket", folder)
    case ["s3", "rm", address]:
        (here / "bucket" / address.removeprefix("s3://failed/")).unlink()
    case ["lambda", "invoke", "--function-name", "history", *_, payload, answer]:
        event = json.loads(Path(payload.removeprefix("file://")).read_text())
        with (here / "taken").open("a") as taken:
            print(json.dumps(event), file=taken)
        names = {record["eventName"] for record in event["Records"]}
        answers = {"MODIFY": {"batchItemFailures": []}, "FAULT": {"errorMessage": "timed out"}}
        failed = {"batchItemFailures": [{"itemIdentifier": "1"}]}
        Path(answer).write_text(json.dumps(answers.get(names.pop(), failed)))
    case unknown:
        sys.exit(f"no such command: {unknown}")
"""


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
class TestWhatTheHistoryGaveUp:
    """As docs/operating.md has it put back, with an AWS of one bucket and one function."""

    EVENTS: ClassVar = [
        {"Records": [{"eventName": name, "dynamodb": {"NewImage": {"title": {"S": "Größe \\n 5"}}}}]}
        for name in ("MODIFY", "REFUSED", "MODIFY", "FAULT")
    ]

    @pytest.fixture
    def put_back(self, tmp_path):
        folder = tmp_path / "bucket/aws/lambda/14e0db71/shardId-00000001/2026/11/30"
        folder.mkdir(parents=True)
        for n, event in enumerate(self.EVENTS):
            record = {
                "requestContext": {"condition": "RetryAttemptsExhausted", "approximateInvokeCount": 11},
                "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": None},
                "version": "1.0",
                "timestamp": "2026-11-30T22:08:31.123Z",
                "DDBStreamBatchInfo": {"shardId": "shardId-00000001", "batchSize": 1},
                "payload": json.dumps(event),
            }
            (folder / f"2026-11-30T22.08.31-{n}").write_text(json.dumps(record))
        aws = tmp_path / "aws"
        aws.write_text(AWS)
        aws.chmod(0o755)
        text = OPERATING.read_text("utf-8")
        [script] = [
            block
            for block in re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
            if "s3 sync" in block
        ]
        run = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            env={
                "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
                "FailedChangesBucket": "failed",
                "HistoryFunctionName": "history",
            },
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        taken = [json.loads(line) for line in (tmp_path / "taken").read_text().splitlines()]
        return run.stdout, taken, sorted(path.name for path in folder.iterdir())

    def test_is_handed_over_as_it_was(self, put_back):
        _, taken, _ = put_back
        assert taken == self.EVENTS

    def test_stays_in_the_bucket_until_it_is_taken(self, put_back):
        said, _, left = put_back
        assert left == ["2026-11-30T22.08.31-1", "2026-11-30T22.08.31-3"]
        assert [line.rpartition("-")[2] for line in said.splitlines()] == ["1", "3"]


BOTH = pytest.mark.parametrize("path", [TEMPLATE, AGENT_TEMPLATE], ids=lambda path: path.name)


class TestTheInterceptor:
    """The one that docs/agents.md shows, with an event as AWS documents it."""

    @pytest.fixture
    def handler(self):
        text = (ROOT / "docs/agents.md").read_text("utf-8")
        blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        (code,) = (block for block in blocks if "transformedGatewayRequest" in block)
        module = {}
        exec(code, module)
        return module

    def event(self, **headers):
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        request = {"path": "/mcp", "httpMethod": "POST", "headers": headers, "body": body}
        return {"interceptorInputVersion": "1.0", "mcp": {"gatewayRequest": request}}

    def handed_on(self, handler, **headers):
        answer = handler["handler"](self.event(**headers), None)
        assert answer["interceptorOutputVersion"] == "1.0"
        request = answer["mcp"]["transformedGatewayRequest"]
        assert request["body"] == {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        return request["headers"]

    def test_hands_on_who_is_meant_and_nothing_else(self, handler):
        given = {"X-Thread-Id": "t", "x-user-id": "ada", "Authorization": "Bearer a.b.c", "Accept": "*/*"}
        assert self.handed_on(handler, **given) == {"x-thread-id": "t", "x-user-id": "ada"}
        assert self.handed_on(handler, Accept="*/*") == {}

    def test_takes_the_user_from_the_token_where_users_call(self, handler):
        handler["USERS_CALL"] = True
        claims = base64.urlsafe_b64encode(b'{"sub":"eve"}').decode().rstrip("=")
        given = {"X-Thread-Id": "t", "X-User-Id": "ada", "Authorization": f"Bearer e30.{claims}.sig"}
        assert self.handed_on(handler, **given) == {"x-thread-id": "t", "x-user-id": "eve"}


class TestTheHandbook:
    @BOTH
    def test_names_every_parameter(self, path):
        text = OPERATING.read_text("utf-8")
        parameters = Template(path).raw["Parameters"]
        assert [name for name in parameters if not re.search(rf"\b{name}\b", text)] == []

    def test_has_a_first_look_for_every_alarm(self, template):
        text = OPERATING.read_text("utf-8")
        for name in template.of_type("AWS::CloudWatch::Alarm"):
            kind = re.sub(r"^(Api|Agent|History)", "…", name)
            assert re.search(rf"^\| .*({name}|{kind}).* \|", text, re.MULTILINE), name

    def test_lists_the_regions_where_a_type_is_missing(self):
        """By the resource schemas that AWS publishes, as the linter brings them."""
        providers = Path(cfnlint.__file__).parent / "data/schemas/providers"
        regions = {path.stem: json.loads(path.read_text()) for path in providers.glob("*-*-*.json")}
        assert len(regions) > 30

        def missing(*kinds) -> set[str]:
            return {name for name, known in regions.items() if not set(kinds) <= set(known)}

        _, _, text = OPERATING.read_text("utf-8").partition("\n### Regions\n")
        rows = re.findall(r"^\| (\w.+?) \| (.+) \|$", text.partition("\n### ")[0], re.MULTILINE)
        said = {what: set(re.findall(r"[a-z]+(?:-[a-z]+)+-\d", where)) for what, where in rows[1:]}
        gateway = said["AgentCore Gateway and target"]
        core = "AWS::BedrockAgentCore::"
        assert gateway == missing(f"{core}Gateway", f"{core}GatewayTarget")
        assert gateway | said["the Gateway's policy (GatewayCallers)"] == missing(f"{core}ResourcePolicy")
        assert said["classic agents"] == missing("AWS::Bedrock::Agent", "AWS::Bedrock::AgentAlias")
        kinds = {made["Type"] for made in Template().resources.values()}
        assert missing(*(kind for kind in kinds if "::Serverless::" not in kind)) == {
            "cn-north-1",
            "cn-northwest-1",
        }

    def test_counts_the_alarms_that_are_paid_for(self, template):
        alarms = len(template.of_type("AWS::CloudWatch::Alarm"))
        assert f"{alarms} alarms ${alarms / 10:.2f} a month" in OPERATING.read_text("utf-8")

    @BOTH
    def test_says_no_default_otherwise(self, path):
        parameters = Template(path).raw["Parameters"]
        _, _, text = OPERATING.read_text("utf-8").partition("\n### Parameters\n")
        rows = re.findall(r"^\| (\w+(?:, \w+)*) \| (.+?) \|", text.partition("\n## ")[0], re.MULTILINE)
        stated = {
            name: value
            for names, values in rows
            for name, value in zip(names.split(", "), values.split(", "), strict=False)
            if name in parameters
        }
        assert len(stated) > len(parameters) / 2
        for name, value in stated.items():
            assert value == str(parameters[name].get("Default") or value), name


@BOTH
class TestParameters:
    def test_say_what_they_are_for(self, path):
        for name, parameter in Template(path).raw["Parameters"].items():
            assert parameter["Description"], name

    def test_all_have_defaults_but_the_function_that_agents_call(self, path):
        parameters = Template(path).raw["Parameters"]
        without = [name for name, body in parameters.items() if "Default" not in body]
        assert without == (["FunctionArn"] if path == AGENT_TEMPLATE else [])

    def test_are_each_in_one_group_of_the_console(self, path):
        raw = Template(path).raw
        groups = raw["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
        assert sorted(name for group in groups for name in group["Parameters"]) == sorted(raw["Parameters"])


class TestWhatOperatorsSee:
    HANDLERS = ("people", "agent")

    def counted(self, handler):
        """The dimensions of the functions' own metrics, as a log line has them: names, and their values."""
        line = {"service": "preferences"} | metrics.embedded(handler, 1.0, {"Faults": 1})
        (directive,) = line["_aws"]["CloudWatchMetrics"]
        (names,) = directive["Dimensions"]
        return directive["Namespace"], {name: line[name] for name in names}

    def test_alarms_for_faults_have_the_dimensions_of_the_log_lines(self, template):
        alarms = [
            template.resolve(alarm["Properties"])
            for alarm in template.of_type("AWS::CloudWatch::Alarm").values()
            if alarm["Properties"]["MetricName"] == "Faults"
        ]
        watched = [(a["Namespace"], {d["Name"]: d["Value"] for d in a["Dimensions"]}) for a in alarms]
        assert watched == [self.counted(handler) for handler in self.HANDLERS]

    def test_the_service_is_the_stacks_name(self, template):
        """So that two stacks in one account don't ring each other's alarms."""
        variables = template.raw["Globals"]["Function"]["Environment"]["Variables"]
        assert variables["POWERTOOLS_SERVICE_NAME"] == {"Ref": "AWS::StackName"}
        other = Template(references={"AWS::StackName": "staging", "Table": "t"})
        assert other.functions["ApiFunction"].environment["POWERTOOLS_SERVICE_NAME"] == "staging"

    def test_the_dashboard_is_json_and_shows_the_metrics_that_there_are(self, template):
        body = template.resources["Dashboard"]["Properties"]["DashboardBody"]["Fn::Sub"]
        shown = [m for widget in json.loads(body)["widgets"] for m in widget["properties"]["metrics"]]
        for handler in self.HANDLERS:
            namespace, dimensions = self.counted(handler)
            of_handler = [m for m in shown if m[0] == namespace and handler in m]
            assert of_handler
            for metric in of_handler:
                named = dict(zip(metric[2::2], metric[3::2], strict=False))
                assert named == dimensions | {"service": "${AWS::StackName}"}

    def test_saved_queries_ask_for_fields_that_log_lines_have(self, template):
        sources = "".join(path.read_text("utf-8") for path in (ROOT / "functions/preferences").rglob("*.py"))
        fields = ("error", "aws_error", "milliseconds", "route", "tool")
        queries = [q["Properties"] for q in template.of_type("AWS::Logs::QueryDefinition").values()]
        asked = " ".join(query["QueryString"] for query in queries)
        for field in fields:
            assert re.search(rf"\b{field}\b", asked)
            assert re.search(rf"\b{field}=|\"{field}\": ", sources), field
        assert '"fault"' in sources
        assert all(query["LogGroupNames"] for query in queries)


class TestTheTwoTemplates:
    def test_share_no_resource_so_that_a_fault_of_an_agent_stays_away_from_the_table(self, template):
        agents = Template(AGENT_TEMPLATE)
        kinds = {body["Type"].rpartition("::")[0] for body in template.resources.values()}
        assert not [kind for kind in kinds if "Bedrock" in kind]
        of_agents = {body["Type"].rpartition("::")[0] for body in agents.resources.values()}
        assert of_agents == {"AWS::BedrockAgentCore", "AWS::Bedrock", "AWS::IAM", "AWS::Lambda"}
        assert "AWS::Lambda::Permission" in {body["Type"] for body in agents.resources.values()}
        assert "AWS::Lambda::Function" not in {body["Type"] for body in agents.resources.values()}

    def test_meet_in_the_functions_arn(self, template):
        pattern = Template(AGENT_TEMPLATE).raw["Parameters"]["FunctionArn"]["AllowedPattern"]
        assert re.fullmatch(pattern, "arn:aws:lambda:eu-west-1:123456789012:function:p-AgentFunction-x1")
        assert template.raw["Outputs"]["AgentFunctionArn"]["Value"] == {
            "Fn::GetAtt": ["AgentFunction", "Arn"]
        }

    def test_stay_readable(self):
        assert len(TEMPLATE.read_text("utf-8").splitlines()) < 700


class TestReading:
    @pytest.fixture
    def read(self, tmp_path):
        def read(text, **given):
            path = tmp_path / "template.yaml"
            path.write_text("Parameters: {Stage: {Type: String, Default: test}}\n" + text)
            return Template(path, **given)

        return read

    def test_refuses_a_parameter_that_the_template_does_not_have(self, read):
        with pytest.raises(ValueError, match="no parameter Colour"):
            read("Resources: {}", parameters={"Colour": "red"})

    def test_gives_the_parameter_before_its_default(self, read):
        assert read("Resources: {}").resolve({"Ref": "Stage"}) == "test"
        assert read("Resources: {}", parameters={"Stage": "live"}).resolve({"Ref": "Stage"}) == "live"

    def test_refuses_a_value_that_cloudformation_would_refuse(self):
        with pytest.raises(ValueError, match=r"SelfSignUp: 'maybe' must be one of no, yes"):
            Template(parameters={"SelfSignUp": "maybe"})
        with pytest.raises(ValueError, match=r"PageUrl: 'http://a' must be https:// and a host"):
            Template(parameters={"PageUrl": "http://a"})
        with pytest.raises(ValueError, match="MemorySize: 64 is out of bounds"):
            Template(parameters={"MemorySize": "64"})

    def test_says_what_only_a_cloud_could_tell(self, read):
        made = read("Resources: {A: {Type: X, Properties: {Arn: !GetAtt B.Arn}}}")
        with pytest.raises(LookupError, match="GetAtt"):
            made.resolve(made.resources["A"])
        with pytest.raises(LookupError, match="!Ref B"):
            made.resolve({"Ref": "B"})

    def test_works_out_conditions_and_leaves_no_value_out(self, read):
        made = read(
            "Conditions: {Live: !And [!Not [!Equals [!Ref Stage, test]], !Or [!Condition Live2,"
            " !Equals [a, b]]], Live2: !Equals [!Join ['', [!Ref Stage]], live]}\n"
            "Resources: {A: {Type: X, Properties: {"
            "Size: !If [Live, 2, !Ref AWS::NoValue], Parts: [1, !If [Live, 2, !Ref AWS::NoValue]]}}}",
        )
        assert made.resolve(made.resources["A"]["Properties"]) == {"Parts": [1]}
        made = Template(made.path, parameters={"Stage": "live"})
        assert made.resolve(made.resources["A"]["Properties"]) == {"Size": 2, "Parts": [1, 2]}

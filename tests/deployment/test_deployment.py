"""template.yaml as CloudFormation would deploy it: what is made, and that each request would be taken."""

import copy
import json
import subprocess

import pytest
from openapi_spec_validator import OpenAPIV30SpecValidator

from infra.template import AGENT_TEMPLATE, TEMPLATE, Template
from tests.conftest import require
from tests.deployment.stacks import (
    CORE,
    PRETENDED,
    REGION,
    SAM,
    WAYS,
    check,
    deployed,
    expanded,
    linted,
    made,
    template,
    without,
)

pytestmark = pytest.mark.deployment

MANY = pytest.mark.parametrize("way", CORE)


class TestWhatIsSent:
    """CloudFormation knows no merge keys: `sam build` writes template.yaml out; agent.yaml is sent as is."""

    def test_says_the_same_without_merge_keys(self, tmp_path):
        code = (
            "import sys; from samcli.yamlhelper import yaml_dump, yaml_parse;"
            "print(yaml_dump(yaml_parse(open(sys.argv[1], encoding='utf-8').read())))"
        )
        require(SAM.exists(), "CI", "the SAM CLI's environment is not there: make .venv-sam")
        ran = subprocess.run([SAM, "-c", code, TEMPLATE], capture_output=True, text=True, check=True)
        assert "<<" not in ran.stdout
        (tmp_path / "built.yaml").write_text(ran.stdout)
        assert Template(tmp_path / "built.yaml").raw == template().raw
        assert "<<: " in TEMPLATE.read_text("utf-8")
        assert "<<: " not in AGENT_TEMPLATE.read_text("utf-8")


class TestEachWayToDeploy:
    @MANY
    def test_is_clean_under_the_linter(self, way):
        assert linted(deployed(way)) == []

    def test_would_be_told_what_is_wrong(self):
        body = copy.deepcopy(deployed("as it comes"))
        del body["Resources"]["ApiRole"]["Properties"]["AssumeRolePolicyDocument"]
        assert [text.partition(" ")[0] for text in linted(body)] == ["E3003"]


class TestEveryRequest:
    """Each is one that CloudFormation would make."""

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
        for properties in made(way, "AWS::CloudWatch::Dashboard").values():
            check("cloudwatch", "PutDashboard", properties)
            assert "${" not in properties["DashboardBody"]
        for properties in made(way, "AWS::Logs::QueryDefinition").values():
            check("logs", "PutQueryDefinition", properties)
        for properties in made(way, "AWS::Logs::LogGroup").values():
            named = {"LogGroupName": "preferences-ApiLogs-abc"} | without(properties, "RetentionInDays")
            check("logs", "CreateLogGroup", named)

    @MANY
    def test_for_the_functions_sources_and_permissions_fits(self, way):
        for properties in made(way, "AWS::Lambda::EventSourceMapping").values():
            check("lambda", "CreateEventSourceMapping", properties)
        for name, properties in made(way, "AWS::Lambda::Permission").items():
            check("lambda", "AddPermission", properties, StatementId=name)

    @MANY
    def test_for_the_functions_fits(self, way):
        for name, properties in made(way, "AWS::Lambda::Function").items():
            own = without(properties, "ReservedConcurrentExecutions", "Tags")  # requests of their own; a map
            check("lambda", "CreateFunction", own, FunctionName=name)


class TestSignIn:
    def test_is_made_unless_an_issuer_is_given(self):
        kinds = {"UserPool": 1, "UserPoolClient": 2, "UserPoolDomain": 1, "ManagedLoginBranding": 1}
        for kind, number in kinds.items():
            assert len(made("as it comes", f"AWS::Cognito::{kind}")) == number
            assert not made("with an issuer of one's own", f"AWS::Cognito::{kind}")

    def test_takes_a_code_from_a_public_client_and_nothing_else(self):
        client = made("as it comes", "AWS::Cognito::UserPoolClient")["PageClient"]
        assert client["GenerateSecret"] is False
        assert client["AllowedOAuthFlows"] == ["code"]
        assert client["ExplicitAuthFlows"] == ["ALLOW_REFRESH_TOKEN_AUTH"]
        assert client["PreventUserExistenceErrors"] == "ENABLED"

    def test_lets_only_operators_use_a_password_and_for_minutes(self):
        client = made("as it comes", "AWS::Cognito::UserPoolClient")["SmokeClient"]
        assert client["ExplicitAuthFlows"] == ["ALLOW_ADMIN_USER_PASSWORD_AUTH"]  # asks for IAM's permission
        assert "AllowedOAuthFlows" not in client
        assert (client["AccessTokenValidity"], client["TokenValidityUnits"]["AccessToken"]) == (5, "minutes")

    def test_leads_back_to_the_page_and_until_that_is_known_nowhere(self):
        before = made("as it comes", "AWS::Cognito::UserPoolClient")["PageClient"]
        assert before["CallbackURLs"] == ["https://page-url.invalid/"]
        after = made("second time, with the page's address", "AWS::Cognito::UserPoolClient")["PageClient"]
        assert after["CallbackURLs"] == after["LogoutURLs"] == ["https://preferences.example/"]

    def test_keeps_the_users_whatever_happens_to_the_stack(self):
        pool = deployed("second time, with the page's address")["Resources"]["UserPool"]
        assert (pool["DeletionPolicy"], pool["UpdateReplacePolicy"]) == ("RetainExceptOnCreate", "Retain")
        assert pool["Properties"]["DeletionProtection"] == "ACTIVE"

    def test_leaves_nothing_behind_where_the_first_deployment_fails(self):
        resources = deployed("as it comes")["Resources"]
        assert resources["UserPool"]["Properties"]["DeletionProtection"] == "INACTIVE"
        assert resources["Table"]["Properties"]["DeletionProtectionEnabled"] is False
        kept = {name for name, made in resources.items() if made.get("DeletionPolicy", "Delete") != "Delete"}
        assert kept == {"Table", "UserPool", "FailedChanges"}
        assert {resources[name]["DeletionPolicy"] for name in kept} == {"RetainExceptOnCreate"}

    def test_lets_anybody_sign_up_only_where_asked(self):
        (pool,) = made("as it comes", "AWS::Cognito::UserPool").values()
        assert pool["AdminCreateUserConfig"] == {"AllowAdminCreateUserOnly": True}

    def test_is_told_to_the_page(self):
        def reported(way):
            variables = made(way, "AWS::Lambda::Function")["ApiFunction"]["Environment"]["Variables"]
            return {name: value for name, value in variables.items() if name.startswith("SIGN_")}

        host = f"https://preferences-0123456789ab.auth.{REGION}.amazoncognito.com"
        assert reported("as it comes") == {
            "SIGN_IN_AUTHORIZE_URL": f"{host}/oauth2/authorize",
            "SIGN_IN_TOKEN_URL": f"{host}/oauth2/token",
            "SIGN_IN_CLIENT_ID": PRETENDED["PageClient"],
            "SIGN_IN_SCOPE": "openid",
            "SIGN_IN_AUDIENCE": "",
            "SIGN_OUT_URL": f"{host}/logout",
        }
        (domain,) = made("as it comes", "AWS::Cognito::UserPoolDomain").values()
        assert host.startswith(f"https://{domain['Domain']}.auth.")
        assert reported("with an issuer of one's own") == {
            "SIGN_IN_AUTHORIZE_URL": "https://id.example/authorize",
            "SIGN_IN_TOKEN_URL": "https://id.example/token",
            "SIGN_IN_CLIENT_ID": "page",
            "SIGN_IN_SCOPE": "openid",
            "SIGN_IN_AUDIENCE": "https://preferences.example/api",
            "SIGN_OUT_URL": "https://id.example/logout",
        }

    @MANY
    def test_is_what_the_api_takes_tokens_of(self, way):
        (api,) = made(way, "AWS::ApiGatewayV2::Api").values()
        jwt = api["Body"]["components"]["securitySchemes"]["Jwt"]["x-amazon-apigateway-authorizer"]
        ours = "Issuer" not in WAYS[way]
        assert jwt["jwtConfiguration"] == {
            "issuer": PRETENDED["UserPool", "ProviderURL"] if ours else "https://id.example/",
            "audience": [PRETENDED["PageClient"], PRETENDED["SmokeClient"]] if ours else ["page"],
        }


class TestADomain:
    WITH, WITHOUT = "with a domain of one's own", "as it comes"

    @MANY
    def test_has_requests_that_fit(self, way):
        for properties in made(way, "AWS::ApiGatewayV2::DomainName").values():
            check("apigatewayv2", "CreateDomainName", properties)
        for properties in made(way, "AWS::ApiGatewayV2::ApiMapping").values():
            check("apigatewayv2", "CreateApiMapping", properties)

    def test_is_there_only_where_one_is_given(self):
        for kind in ("AWS::ApiGatewayV2::DomainName", "AWS::ApiGatewayV2::ApiMapping"):
            assert not made(self.WITHOUT, kind)
            assert len(made(self.WITH, kind)) == 1
        assert "DomainTarget" in deployed(self.WITH)["Outputs"]
        assert "DomainTarget" not in deployed(self.WITHOUT)["Outputs"]

    def test_leads_to_this_api(self):
        (mapping,) = made(self.WITH, "AWS::ApiGatewayV2::ApiMapping").values()
        assert (mapping["ApiId"], mapping["Stage"]) == (PRETENDED["Api"], "$default")

    def test_gets_its_record_where_the_zone_is_given(self):
        assert not made(self.WITH, "AWS::Route53::RecordSet")
        (record,) = made("with everything", "AWS::Route53::RecordSet").values()
        assert record["Name"] == WAYS["with everything"]["DomainName"]
        assert record["AliasTarget"]["DNSName"] == PRETENDED["ApiDomain", "RegionalDomainName"]

    def test_is_where_sign_in_leads_back_to_as_well(self):
        client = made(self.WITH, "AWS::Cognito::UserPoolClient")["PageClient"]
        assert "https://preferences.example.com/" in client["CallbackURLs"]
        assert client["CallbackURLs"] == client["LogoutURLs"]


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
        functions = [PRETENDED[f"{name}Function"] for name in ("Api", "Agent", "History")]
        assert watched == {
            *(("Errors", (function,)) for function in functions),
            *(("Throttles", (function,)) for function in functions),
            *(("Duration", (function,)) for function in functions[:2]),
            ("Faults", ("preferences", "people")),
            ("Faults", ("preferences", "agent")),
            ("IteratorAge", (functions[2],)),
            ("OnFailureDestinationDeliveredEventCount", (PRETENDED["HistoryFunctionChanges"],)),
            ("DestinationDeliveryFailures", (functions[2],)),
            ("5xx", (PRETENDED["Api"],)),
            ("ReadThrottleEvents", (PRETENDED["Table"],)),
            ("WriteThrottleEvents", (PRETENDED["Table"],)),
        }

    def test_tell_the_topic_where_there_is_one(self):
        for alarm in made("as it comes", "AWS::CloudWatch::Alarm").values():
            assert "AlarmActions" not in alarm
        for alarm in made("with everything", "AWS::CloudWatch::Alarm").values():
            assert alarm["AlarmActions"] == alarm["OKActions"] == [WAYS["with everything"]["AlarmTopic"]]

    def test_count_what_the_history_gives_up(self):
        (source,) = made("as it comes", "AWS::Lambda::EventSourceMapping").values()
        assert source["MetricsConfig"] == {"Metrics": ["EventCount"]}

    def test_limit_each_function_where_asked(self):
        unlimited = made("as it comes", "AWS::Lambda::Function")
        assert not [f for f in unlimited.values() if "ReservedConcurrentExecutions" in f]
        limited = made("with everything", "AWS::Lambda::Function")
        assert limited["ApiFunction"]["ReservedConcurrentExecutions"] == "50"
        assert limited["AgentFunction"]["ReservedConcurrentExecutions"] == "20"
        assert "ReservedConcurrentExecutions" not in limited["HistoryFunction"]


class TestTheApi:
    @MANY
    def test_is_imported_as_strict_openapi(self, way):
        """With FailOnWarnings, whatever the import finds odd stops the deployment."""
        (api,) = made(way, "AWS::ApiGatewayV2::Api").values()
        assert api["FailOnWarnings"] is True
        assert api["Body"]["openapi"].startswith("3.0.")
        faults = OpenAPIV30SpecValidator(api["Body"]).iter_errors()
        assert [f"{list(fault.absolute_path)}: {fault.message}" for fault in faults] == []

    def test_would_not_be_taken_with_anything_odd(self):
        (api,) = made("as it comes", "AWS::ApiGatewayV2::Api").values()
        body = copy.deepcopy(api["Body"])
        del body["paths"]["/threads"]["get"]["responses"]["default"]["description"]
        assert len(list(OpenAPIV30SpecValidator(body).iter_errors())) == 1

    @MANY
    def test_names_no_security_that_it_does_not_define(self, way):
        (api,) = made(way, "AWS::ApiGatewayV2::Api").values()
        named = {
            scheme
            for operations in api["Body"]["paths"].values()
            for operation in operations.values()
            for requirement in operation.get("security", [])
            for scheme in requirement
        }
        assert named == set(api["Body"]["components"]["securitySchemes"]) == {"Jwt"}
        assert "security" not in api["Body"]

    @MANY
    def test_protects_the_routes_that_the_template_says(self, way):
        (api,) = made(way, "AWS::ApiGatewayV2::Api").values()
        protected = {
            (method.upper(), path)
            for path, operations in api["Body"]["paths"].items()
            for method, operation in operations.items()
            if operation.get("security") == [{"Jwt": []}]
        }
        assert protected == {(route.method, route.path) for route in template(way).routes if route.authorized}

    def test_admits_each_of_several_origins(self):
        (api,) = made("with everything", "AWS::ApiGatewayV2::Api").values()
        cors = api["Body"]["x-amazon-apigateway-cors"]
        assert cors["allowOrigins"] == ["https://a.example", "https://b.example"]
        assert cors["maxAge"] == 600
        (api,) = made("as it comes", "AWS::ApiGatewayV2::Api").values()
        assert "x-amazon-apigateway-cors" not in api["Body"]


class TestCallers:
    def test_call_the_function_itself_and_no_version(self):
        resources = deployed("as it comes")["Resources"].values()
        assert not {"AWS::Lambda::Alias", "AWS::Lambda::Version"} & {body["Type"] for body in resources}

    @MANY
    def test_are_the_api_alone(self, way):
        (permission,) = made(way, "AWS::Lambda::Permission").values()
        assert permission["Principal"] == "apigateway.amazonaws.com"
        assert permission["FunctionName"] == PRETENDED["ApiFunction"]
        assert permission["SourceArn"].endswith(f":{PRETENDED['Api']}/*/*")


class TestWhatIsAskedForTogether:
    """Rules refuse a deployment before anything is made."""

    def test_an_issuer_comes_with_its_audience_and_a_domain_with_its_certificate(self):
        rules = template().raw["Rules"]
        assert json.loads(expanded())["Rules"] == rules
        said = json.dumps(rules)
        for parameter in ("Issuer", "Audience", "DomainName", "CertificateArn"):
            assert parameter in said

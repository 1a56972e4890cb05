"""What CloudFormation would be told and what it would ask of AWS, for each way to deploy the two templates.

SAM's own translator expands template.yaml; conditions are settled by the parameters. Ids and ARNs that AWS
would give are pretended.
"""

import copy
import json
import re
import subprocess
from functools import cache
from pathlib import Path

from cfnlint.api import lint
from cfnlint.config import ManualArgs

from infra.template import AGENT_TEMPLATE, TEMPLATE, Template
from tests.aws_models import input_shape, refusals
from tests.conftest import require

ROOT = Path(__file__).parents[2]
SAM = ROOT / ".venv-sam/bin/python"

REGION, ACCOUNT = "eu-west-1", "123456789012"

OWN_ISSUER = {
    "Issuer": "https://id.example/",
    "Audience": "page",
    "SignInAuthorizeUrl": "https://id.example/authorize",
    "SignInTokenUrl": "https://id.example/token",
    "SignInClientId": "page",
    "SignInAudience": "https://preferences.example/api",
    "SignOutUrl": "https://id.example/logout",
}
DOMAIN = {
    "DomainName": "preferences.example.com",
    "CertificateArn": f"arn:aws:acm:{REGION}:{ACCOUNT}:certificate/12345678-1234-1234-1234-123456789012",
}
CORE = {
    "as it comes": {},
    "second time, with the page's address": {"PageUrl": "https://preferences.example", "Protection": "yes"},
    "with an issuer of one's own": OWN_ISSUER,
    "with a domain of one's own": DOMAIN,
    "with everything": {
        **OWN_ISSUER,
        **DOMAIN,
        "HostedZoneId": "Z2FDTNDATAQYW2",
        "AllowedOrigins": "https://a.example,https://b.example",
        "ApiConcurrency": "50",
        "AgentConcurrency": "20",
        "AlarmTopic": f"arn:aws:sns:{REGION}:{ACCOUNT}:alarms",
        "Tracing": "yes",
        "SelfSignUp": "yes",
    },
}
"""How template.yaml can be deployed."""

FUNCTION = {"FunctionArn": f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:preferences-AgentFunction-abc"}
AGENTS = {
    "an IAM Gateway": FUNCTION,
    "an IAM Gateway for named callers": {
        **FUNCTION,
        "GatewayCallers": f"arn:aws:iam::{ACCOUNT}:role/backend,arn:aws:iam::{ACCOUNT}:role/other",
    },
    "a Gateway that takes a backend's tokens": {
        **FUNCTION,
        "Gateway": "JWT",
        "GatewayDiscoveryUrl": "https://id.example/.well-known/openid-configuration",
        "GatewayClients": "backend",
    },
    "a Gateway with an interceptor": {
        **FUNCTION,
        "InterceptorArn": f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:interceptor",
    },
    "a classic agent by function details": {**FUNCTION, "Gateway": "NONE", "ClassicAgent": "FUNCTIONS"},
    "a classic agent by OpenAPI, on an inference profile": {
        **FUNCTION,
        "Gateway": "NONE",
        "ClassicAgent": "OPENAPI",
        "AgentModelGeography": "eu",
    },
    "both": {**FUNCTION, "ClassicAgent": "FUNCTIONS"},
}
"""How agent.yaml can be deployed."""

WAYS = {**CORE, **AGENTS}


@cache
def template(way="as it comes") -> Template:
    return Template(TEMPLATE if way in CORE else AGENT_TEMPLATE, WAYS[way])


@cache
def expanded(way="as it comes") -> str:
    """template.yaml as SAM hands it to CloudFormation, as JSON. Parameters are given to SAM as well."""
    raw = copy.deepcopy(template().raw)
    # `sam deploy` puts the package into a bucket first.
    raw["Globals"]["Function"]["CodeUri"] = "s3://bucket/package.zip"

    require(SAM.exists(), "CI", "the SAM CLI's environment is not there: make .venv-sam")
    return subprocess.run(
        [SAM, Path(__file__).with_name("sam_expand.py")],
        input=json.dumps({"template": raw, "parameters": WAYS[way]}),
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@cache
def deployed(way) -> dict:
    """The template with its conditions settled: what is really made."""
    known = template(way)
    body = json.loads(expanded(way)) if way in CORE else copy.deepcopy(known.raw)
    holds = {name: known.resolve({"Condition": name}) for name in known.raw["Conditions"]}

    for part in ("Resources", "Outputs"):
        body[part] = {
            name: settled({key: inner for key, inner in item.items() if key != "Condition"}, holds)
            for name, item in body[part].items()
            if holds.get(item.get("Condition"), True)
        }
    del body["Conditions"]
    for name, value in WAYS[way].items():
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
    "SmokeClient": "7b4o41qlhhl1bgaclj8sEXAMPLE",
    "Api": "a1b2c3d4e5",
    "Table": "preferences-Table-abc",
    "SignInDomain": "preferences-0123456789ab",
    "AgentFunction": "preferences-AgentFunction-abc",
    "ApiFunction": "preferences-ApiFunction-abc",
    "HistoryFunction": "preferences-HistoryFunction-abc",
    "HistoryFunctionChanges": "14e0db71-5d35-4eb5-b481-8945cf9d10c2",
    "ApiDomain": "preferences.example.com",
    "ApiApiGatewayDefaultStage": "$default",
    ("ApiDomain", "RegionalDomainName"): f"d-abcdefghij.execute-api.{REGION}.amazonaws.com",
    ("ApiDomain", "RegionalHostedZoneId"): "ZLY8HYME6SFDD",
    ("UserPool", "ProviderURL"): f"https://cognito-idp.{REGION}.amazonaws.com/{REGION}_abcDEF123",
    ("ToolGateway", "GatewayIdentifier"): "preferences-abcdefghij",
    ("ToolGateway", "GatewayArn"): (
        f"arn:aws:bedrock-agentcore:{REGION}:{ACCOUNT}:gateway/preferences-abcdefghij"
    ),
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
    assert attribute == "Arn", argument
    if name.endswith("Role"):
        return f"arn:aws:iam::{ACCOUNT}:role/{name}"
    if name.endswith("Function"):
        return f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}"
    return f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:{name}:*"


def pruned(body, *, gone) -> dict:
    """The template without the resources in `gone`; where others refer to them, with a pretended value."""
    left = {name: resource for name, resource in body["Resources"].items() if name not in gone}
    return cut_off({**body, "Resources": left}, gone)


def cut_off(value, gone):
    if isinstance(value, list):
        return [cut_off(item, gone) for item in value]
    if not isinstance(value, dict):
        return value
    if "Ref" in value and value["Ref"] in gone:
        return PRETENDED.get(value["Ref"], value["Ref"])
    if "Fn::GetAtt" in value and value["Fn::GetAtt"][0] in gone:
        return PRETENDED.get(tuple(value["Fn::GetAtt"]), "pretended")
    if isinstance(value.get("Fn::Sub"), str):
        return {"Fn::Sub": re.sub(rf"\$\{{({'|'.join(gone)})(\.\w+)?\}}", "pretended", value["Fn::Sub"])}
    made = {name: cut_off(inner, gone) for name, inner in value.items()}
    if made.get("DependsOn") in gone:
        del made["DependsOn"]
    elif isinstance(made.get("DependsOn"), list):
        made["DependsOn"] = [name for name in made["DependsOn"] if name not in gone]
    return made


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


def linted(body) -> list[str]:
    """What the linter says, but for parameters that have no use once conditions are settled."""
    found = lint(json.dumps(body), config=ManualArgs(regions=[REGION]))
    return [f"{match.rule.id} {match.path}: {match.message}" for match in found if match.rule.id != "W2001"]

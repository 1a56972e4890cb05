"""infra/deploying-role.json allows what CloudFormation does for the templates, by AWS's resource schemas."""

import json
from fnmatch import fnmatchcase
from pathlib import Path

import cfnlint
import pytest

from infra.template import AGENT_TEMPLATE, TEMPLATE, Template
from tests.deployment.stacks import ROOT

SCHEMAS = Path(cfnlint.__file__).parent / "data/schemas"
POLICY = json.loads((ROOT / "infra/deploying-role.json").read_text("utf-8"))
BY_SAM = {
    "AWS::Serverless::Function": ["AWS::Lambda::Function", "AWS::Lambda::EventSourceMapping"],
    "AWS::Serverless::HttpApi": ["AWS::ApiGatewayV2::Api", "AWS::ApiGatewayV2::Stage"],
}
UNUSED = (
    # other services: keys of one's own, VPCs, other sources and targets
    *("kms:*", "ec2:*", "elasticfilesystem:*", "firehose:*", "kinesis:*", "s3files:*", "s3tables:*"),
    *("cloudfront:*", "secretsmanager:*", "vpc-lattice:*", "bedrock-mantle:*"),
    # the table: replicas, imports, streams to Kinesis, a policy of its own; and never its data
    *("dynamodb:*Replica", "dynamodb:ImportTable", "dynamodb:*KinesisStreamingDestination"),
    *("dynamodb:PutResourcePolicy", "dynamodb:DeleteResourcePolicy"),
    *("dynamodb:*Item", "dynamodb:Query", "dynamodb:Scan"),
    # roles: inline policies alone; no users, groups, boundaries or service-linked roles
    *("iam:*User*", "iam:*Group*", "iam:*Boundary", "iam:AttachRolePolicy", "iam:DetachRolePolicy"),
    "iam:CreateServiceLinkedRole",
    # functions: no code signing, versions, capacity providers, scaling
    *("lambda:*CodeSigningConfig", "lambda:PublishVersion", "lambda:PassCapacityProvider"),
    *("lambda:*ScalingConfig", "lambda:AssociateRuntimeAlias"),
    # buckets: what removes or sets a feature that this one does not have
    *("s3:DeleteBucket?*", "s3:*MetadataTable*", "s3:*Metadata*TableConfiguration"),
    *("s3:REST.PUT.OBJECT", "s3:getObject"),
    # log groups: no data protection, index, keys, tokens or deletion protection; nor their contents
    *("logs:*DataProtectionPolicy", "logs:*IndexPolicy", "logs:*KmsKey", "logs:DeleteResourcePolicy"),
    *("logs:PutBearerTokenAuthentication", "logs:PutLogGroupDeletionProtection"),
    *("logs:CreateLogStream", "logs:PutLogEvents"),
    # agents: no guardrail, knowledge base or collaborator; the Gateway has no other target
    *("bedrock:*Guardrail*", "bedrock:*KnowledgeBase", "bedrock:*Collaborator"),
    *("bedrock-agentcore:GetAgentRuntime", "bedrock-agentcore:GetResourceOauth2Token"),
    "bedrock-agentcore:GetWorkloadAccessToken*",
)
"""Actions that the schemas name for what the templates do not have."""


def kinds(path) -> set[str]:
    made = (body["Type"] for body in Template(path).resources.values())
    return {kind for one in made for kind in BY_SAM.get(one, [one])}


def needed(kind) -> set[str]:
    """What the handlers of the resource type call, as its schema says."""
    known = json.loads((SCHEMAS / "providers/eu-west-1.json").read_text())
    handlers = json.loads((SCHEMAS / f"resources/{known[kind]}.json").read_text()).get("handlers", {})
    steps = ("create", "read", "update", "delete")
    called = (handlers.get(step, {}).get("permissions", []) for step in steps)
    return {action for actions in called for action in actions}


def actions(statement) -> list[str]:
    found = statement["Action"]
    return [found] if isinstance(found, str) else found


GIVEN = [statement for statement in POLICY["Statement"] if statement["Effect"] == "Allow"]
ALLOWED = [action for statement in GIVEN for action in actions(statement)]


@pytest.mark.parametrize("kind", sorted(kinds(TEMPLATE) | kinds(AGENT_TEMPLATE)))
def test_every_action_of_a_resource_type_is_allowed_or_for_what_is_not_there(kind):
    wanted = needed(kind)
    assert wanted
    left = {action for action in wanted if not any(fnmatchcase(action, p) for p in ALLOWED)}
    assert {action for action in left if not any(fnmatchcase(action, p) for p in UNUSED)} == set()


def test_nothing_is_allowed_of_what_people_wrote():
    for action in (
        "dynamodb:GetItem",
        "dynamodb:Query",
        "dynamodb:Scan",
        "logs:GetLogEvents",
        "logs:StartQuery",
    ):
        assert not [pattern for pattern in ALLOWED if fnmatchcase(action, pattern)], action
    (denied,) = (statement for statement in POLICY["Statement"] if statement["Effect"] == "Deny")
    assert denied["Action"] == ["s3:GetObject*", "s3:PutObject*"]
    assert denied["Resource"] == "arn:aws:s3:::preferences*/*"


def test_roles_are_those_of_the_stacks_and_no_service_is_allowed_whole():
    for statement in GIVEN:
        assert not [action for action in actions(statement) if action.endswith(":*")]
        if any(action.startswith("iam:") for action in actions(statement)):
            assert statement["Resource"] == "arn:aws:iam::*:role/preferences*"
    assert not [pattern for pattern in ALLOWED if fnmatchcase("iam:AttachRolePolicy", pattern)]


def test_fits_into_a_role():
    """IAM takes 10,240 characters of inline policies in one, white space not counted."""
    assert len(json.dumps(POLICY, separators=(",", ":"))) < 10240

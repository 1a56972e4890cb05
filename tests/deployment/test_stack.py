"""Both templates, created, updated and deleted by moto's CloudFormation, without what that does not know."""

import io
import json
import subprocess
import zipfile

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber
from moto import mock_aws
from moto.cloudformation.parsing import resource_class_from_type

from infra import destroy, export, outputs
from tests.deployment.stacks import AGENTS, CORE, ROOT, expanded, pruned, template
from tests.support import row

pytestmark = pytest.mark.deployment

CORE_STACK, AGENT_STACK = "preferences", "preferences-agent"
CAPABILITIES = ["CAPABILITY_IAM"]


def parameters(**values):
    return [{"ParameterKey": name, "ParameterValue": value} for name, value in values.items()]


def body_of(way, *, without=()) -> str:
    """The template as it is sent, pruned to the types that moto knows."""
    body = json.loads(expanded(way)) if way in CORE else template(way).raw
    kinds = {name: resource["Type"] for name, resource in body["Resources"].items()}
    gone = {n for n, kind in kinds.items() if kind in without or resource_class_from_type(kind) is None}
    text = json.dumps(pruned(body, gone=gone))
    return text.replace("RetainExceptOnCreate", "Retain")  # moto knows no other policy


@pytest.fixture
def cloud():
    """moto, with the function's package in the bucket where `sam deploy` would have put it."""
    with mock_aws():
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("preferences/__init__.py", "")
        s3 = boto3.client("s3")
        place = {"LocationConstraint": boto3.session.Session().region_name}
        if place["LocationConstraint"] == "us-east-1":
            s3.create_bucket(Bucket="bucket")
        else:
            s3.create_bucket(Bucket="bucket", CreateBucketConfiguration=place)
        s3.put_object(Bucket="bucket", Key="package.zip", Body=packed.getvalue())
        yield boto3.client("cloudformation")


@pytest.fixture
def stack(cloud):
    """Both stacks, as `make deploy` and `make deploy-agent` leave them.

    Without the history's source: moto would run the function in Docker for every item that is written.
    """
    cloud.create_stack(
        StackName=CORE_STACK,
        TemplateBody=body_of("as it comes", without=["AWS::Lambda::EventSourceMapping"]),
        Capabilities=CAPABILITIES,
        Parameters=parameters(PageUrl="https://preferences.example", Protection="yes"),
    )
    cloud.create_stack(
        StackName=AGENT_STACK,
        TemplateBody=body_of("both"),
        Capabilities=CAPABILITIES,
        Parameters=parameters(**{**AGENTS["both"], "FunctionArn": output(cloud, "AgentFunctionArn")}),
    )
    return cloud


def status(cloud, name):
    return cloud.describe_stacks(StackName=name)["Stacks"][0]["StackStatus"]


def output(cloud, name) -> str:
    outputs = cloud.describe_stacks(StackName=CORE_STACK)["Stacks"][0]["Outputs"]
    return {made["OutputKey"]: made["OutputValue"] for made in outputs}[name]


def kinds(cloud, name) -> dict[str, str]:
    resources = cloud.list_stack_resources(StackName=name)["StackResourceSummaries"]
    return {resource["LogicalResourceId"]: resource["PhysicalResourceId"] for resource in resources}


class TestDeploying:
    @pytest.mark.parametrize("way", CORE)
    def test_creates_the_stack(self, cloud, way):
        cloud.create_stack(
            StackName=CORE_STACK,
            TemplateBody=body_of(way, without=["AWS::Route53::RecordSet"]),  # there is no zone
            Capabilities=CAPABILITIES,
            Parameters=parameters(**CORE[way]),
        )
        assert status(cloud, CORE_STACK) == "CREATE_COMPLETE"
        made = kinds(cloud, CORE_STACK)
        assert {"Table", "ApiFunction", "AgentFunction", "HistoryFunction", "FailedChanges"} <= set(made)
        table = boto3.client("dynamodb").describe_table(TableName=made["Table"])["Table"]
        assert table["DeletionProtectionEnabled"] == (CORE[way].get("Protection") == "yes")
        assert table["StreamSpecification"]["StreamViewType"] == "NEW_AND_OLD_IMAGES"

    @pytest.mark.parametrize("way", AGENTS)
    def test_creates_the_stack_of_agents_for_the_others_function(self, cloud, way):
        cloud.create_stack(
            StackName=CORE_STACK, TemplateBody=body_of("as it comes"), Capabilities=CAPABILITIES
        )
        arn = output(cloud, "AgentFunctionArn")
        cloud.create_stack(
            StackName=AGENT_STACK,
            TemplateBody=body_of(way),
            Capabilities=CAPABILITIES,
            Parameters=parameters(**{**AGENTS[way], "FunctionArn": arn}),
        )
        assert status(cloud, AGENT_STACK) == "CREATE_COMPLETE"

    def test_once_more_replaces_nothing(self, cloud):
        body = body_of("as it comes")
        cloud.create_stack(StackName=CORE_STACK, TemplateBody=body, Capabilities=CAPABILITIES)
        before = kinds(cloud, CORE_STACK)
        cloud.update_stack(
            StackName=CORE_STACK,
            TemplateBody=body,
            Capabilities=CAPABILITIES,
            Parameters=parameters(PageUrl="https://preferences.example", Protection="yes"),
        )
        assert status(cloud, CORE_STACK) == "UPDATE_COMPLETE"
        after = kinds(cloud, CORE_STACK)
        for kept in ("Table", "ApiFunction", "FailedChanges"):
            assert after[kept] == before[kept]


class TestOutputs:
    def test_are_read_from_the_stack_in_the_cloud(self, stack):
        reported = outputs.of_stack(CORE_STACK)
        assert reported["TableName"] == kinds(stack, CORE_STACK)["Table"]
        assert reported["AgentFunctionArn"] == output(stack, "AgentFunctionArn")

    def test_are_none_of_a_stack_that_is_not_there(self, cloud):
        assert outputs.of_stack("no-such-stack") == {}


class TestExport:
    @pytest.fixture
    def table(self, stack):
        name = kinds(stack, CORE_STACK)["Table"]
        client = boto3.client("dynamodb")
        for thread, owner in (("one", "ada"), ("two", "ada"), ("other", "eve")):
            of_list = {"owner": owner, "title": "Reise nach Rom", "revision": 2, "declined": {b"\x01\xff"}}
            for sk, attributes in (("PREFERENCES", of_list), ("CHANGE#0000000001", {})):
                item = {"pk": f"THREAD#{thread}", "sk": sk, "preferences": {"A": row("Größe")}} | attributes
                boto3.resource("dynamodb").Table(name).put_item(Item=item)
        return client, name

    def test_is_everything_of_one_user_and_nothing_of_others(self, table):
        reported = json.loads(export.text(export.of_user(*table, "ada")))
        assert reported["user"] == "ada"
        assert [thread["thread_id"] for thread in reported["threads"]] == ["one", "two"]
        for thread in reported["threads"]:
            assert [item["sk"] for item in thread["items"]] == ["PREFERENCES", "CHANGE#0000000001"]
            assert thread["items"][0]["preferences"]["A"]["title"] == "Größe"
            assert thread["items"][0]["title"] == "Reise nach Rom"
            assert thread["items"][0]["revision"] == 2
            assert thread["items"][0]["declined"] == ["01ff"]
        assert export.of_user(*table, "nobody") == {"user": "nobody", "threads": []}

    def test_is_the_whole_table_where_no_user_is_named(self, table):
        assert len(list(export.everything(*table))) == 6

    def test_is_asked_for_by_name_and_never_for_the_one_who_is_logged_in(self):
        refused = subprocess.run(
            ["make", "export", "SAM=false"], cwd=ROOT, env=None, capture_output=True, text=True
        )
        assert refused.returncode != 0
        assert "make export USER=" in refused.stderr


class TestDestroying:
    @pytest.fixture
    def said(self):
        return []

    def run(self, said, answer=CORE_STACK, **options):
        return destroy.destroy(AGENT_STACK, CORE_STACK, ask=lambda _: answer, say=said.append, **options)

    @pytest.fixture
    def stored(self, stack):
        made = kinds(stack, CORE_STACK)
        boto3.client("s3").put_object(Bucket=made["FailedChanges"], Key="a/b", Body=b"x")
        boto3.resource("dynamodb").Table(made["Table"]).put_item(Item={"pk": "THREAD#t", "sk": "PREFERENCES"})
        return made

    def gone(self, cloud, name) -> bool:
        try:
            return status(cloud, name) == "DELETE_COMPLETE"
        except ClientError as refusal:
            return "does not exist" in str(refusal)

    def test_touches_nothing_unless_the_name_is_typed(self, stack, stored, said):
        assert self.run(said, answer="yes") is False
        assert status(stack, CORE_STACK) == "CREATE_COMPLETE"
        assert status(stack, AGENT_STACK) == "CREATE_COMPLETE"
        assert [line.split(": ")[0] for line in said] == ["REMOVED FOR GOOD"] * 2
        assert stored["Table"] in "".join(said)

    def test_removes_the_stacks_and_all_that_outlives_them(self, stack, stored, said):
        assert self.run(said) is True
        assert self.gone(stack, CORE_STACK)
        assert self.gone(stack, AGENT_STACK)
        assert boto3.client("dynamodb").list_tables()["TableNames"] == []
        assert [b["Name"] for b in boto3.client("s3").list_buckets()["Buckets"]] == ["bucket"]

    def test_saves_the_table_first_where_asked_and_never_over_a_file(self, stack, stored, said, tmp_path):
        target = tmp_path / "table.jsonl"
        target.write_text("precious")
        with pytest.raises(FileExistsError):
            self.run(said, export_to=target)
        assert target.read_text() == "precious"
        assert status(stack, CORE_STACK) == "CREATE_COMPLETE"
        self.run(said, export_to=tmp_path / "new.jsonl")
        assert [json.loads(line) for line in (tmp_path / "new.jsonl").read_text().splitlines()] == [
            {"pk": "THREAD#t", "sk": "PREFERENCES"}
        ]

    def test_leaves_everything_that_is_stored_where_asked(self, stack, stored, said):
        self.run(said, keep=True)
        assert self.gone(stack, CORE_STACK)
        table = boto3.client("dynamodb").describe_table(TableName=stored["Table"])["Table"]
        assert table["DeletionProtectionEnabled"] is True
        assert boto3.client("s3").get_object(Bucket=stored["FailedChanges"], Key="a/b")

    def test_lifts_the_protection_of_a_user_pool(self, monkeypatch):
        """moto has no user pools without another dependency; botocore holds the requests to their model."""
        client = boto3.client("cognito-idp")
        monkeypatch.setattr(destroy.boto3, "client", lambda service: client)
        pool = "eu-west-1_abcDEF123"
        with Stubber(client) as stub:
            stub.add_response(
                "describe_user_pool", {"UserPool": {"DeletionProtection": "ACTIVE"}}, {"UserPoolId": pool}
            )
            stub.add_response("update_user_pool", {}, {"UserPoolId": pool, "DeletionProtection": "INACTIVE"})
            stub.add_response("delete_user_pool", {}, {"UserPoolId": pool})
            destroy.remove_pool(pool)
            stub.assert_no_pending_responses()

    def test_knows_the_stacks_of_every_environment(self):
        assert outputs.stack_names("default") == (AGENT_STACK, CORE_STACK)
        assert outputs.stack_names("staging") == ("preferences-staging-agent", "preferences-staging")
        with pytest.raises(KeyError):
            outputs.stack_names("no such environment")

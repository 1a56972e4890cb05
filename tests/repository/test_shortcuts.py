"""The shortcuts past botocore give what the plain way gives."""

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.exceptions import ClientError
from botocore.loaders import create_loader
from botocore.session import get_session
from botocore.validate import ParamValidator

from infra import botocore_data
from preferences.model import Caller, Draft, IndexedEdit
from preferences.repository import open_repository, shortcuts
from preferences.repository.client import dynamodb_client
from preferences.repository.items import typed

ADA = Caller.user("ada")
KEY = {"pk": {"S": "THREAD#demo"}, "sk": {"S": "PREFERENCES"}}
ITEM = KEY | {
    "owner": {"S": "ada"},
    "revision": {"N": "12345678901234567890"},
    "preferences": {
        "M": {"id": {"M": {"title": {"S": 'Größe < 30 m² & "twin" 🏴'}, "locked": {"BOOL": False}}}}
    },
    "last_change": {"M": {}},
}
OPERATIONS = {
    "get_item": {"TableName": "preferences", "Key": KEY},
    "update_item": {"TableName": "preferences", "Key": KEY},
    "put_item": {"TableName": "preferences", "Item": KEY},
    "delete_item": {"TableName": "preferences", "Key": KEY},
    "query": {"TableName": "preferences", "Limit": 2},
    "batch_get_item": {"RequestItems": {"preferences": {"Keys": [KEY], "ConsistentRead": True}}},
    "batch_write_item": {"RequestItems": {"preferences": [{"DeleteRequest": {"Key": KEY}}]}},
}


class Wire:
    """What would go over the network: keeps each request, answers it with `status` and `body`."""

    def __init__(self, client, status=200, body=b"{}"):
        self.requests = []
        self._answer = status, body
        client.meta.events.register("before-send.dynamodb", self._send)

    def _send(self, request, **_):
        self.requests.append(request)
        status, body = self._answer
        raw = io.BytesIO(body)
        raw.stream = lambda **_: iter([body])
        return AWSResponse(request.url, status, {"x-amzn-RequestId": "1"}, raw)


def outcome(client, operation, status=200, body=b"{}"):
    """What a call comes to when DynamoDB answers so: the answer, or the error with what it carries."""
    Wire(client, status, body)
    try:
        return getattr(client, operation)(**OPERATIONS[operation])
    except ClientError as error:
        return type(error).__name__, error.response
    except Exception as error:
        return type(error).__name__, str(error)


LOADER = create_loader()  # reading botocore's data is most of what a client costs


def plain(**options):
    core = get_session()
    core.register_component("data_loader", LOADER)
    return boto3.Session(botocore_session=core).client("dynamodb", **options)


def lean(**options):
    return shortcuts.lean_session().create_client("dynamodb", **options)


def shortcut():
    client = plain()
    client.meta.events.register("before-parse.dynamodb", shortcuts.read_as_json)
    return client


class TestTheDataOfOneService:
    @pytest.mark.parametrize("name", botocore_data.data())
    def test_is_what_botocore_has_of_it(self, name):
        found = (shortcuts.DATA / name).read_text("utf-8")
        made = botocore_data.as_text(botocore_data.data()[name])
        assert found == made, "botocore has changed: python -m infra.botocore_data"

    def test_holds_every_operation_that_the_repository_calls(self):
        part = Path(shortcuts.__file__).parent
        called = {
            name
            for path in part.glob("*.py")
            for name in re.findall(r"\bclient\.((?:batch_)?\w+_item|query)\b", path.read_text())
        }
        assert called == OPERATIONS.keys() == {to_snake(name) for name in botocore_data.OPERATIONS}

    @pytest.mark.parametrize("operation", OPERATIONS)
    def test_makes_the_same_request(self, operation):
        sent = []
        for client in (plain(), lean()):
            wire = Wire(client)
            getattr(client, operation)(**OPERATIONS[operation])
            [request] = wire.requests
            headers = {name.lower(): value for name, value in request.headers.items()}
            authorization = headers.pop("authorization").decode().partition(", Signature=")[0]
            for changing in ("x-amz-date", "amz-sdk-invocation-id", "user-agent"):
                headers.pop(changing, None)
            sent.append((request.method, request.url, request.body, authorization, headers))
        assert sent[0] == sent[1]

    @pytest.mark.parametrize(
        "region", ["us-east-1", "eu-west-1", "cn-north-1", "us-gov-west-1", "us-iso-east-1", "mars-north-9"]
    )
    @pytest.mark.parametrize(
        "setting",
        [{}, {"USE_FIPS_ENDPOINT": "1"}, {"USE_DUALSTACK_ENDPOINT": "1"}, {"ACCOUNT_ID": "123456789012"}],
    )
    def test_leads_to_the_same_endpoint(self, region, setting, monkeypatch):
        for name, value in setting.items():
            monkeypatch.setenv(f"AWS_{name}", value)
        places = []
        for client in (plain(region_name=region), lean(region_name=region)):
            wire = Wire(client)
            answer = outcome(client, "get_item")
            places.append((client.meta.endpoint_url, [request.url for request in wire.requests], answer))
        assert places[0] == places[1]

    def test_is_done_without_where_it_does_not_fit_the_botocore_at_hand(self, monkeypatch, caplog):
        def does_not_fit():
            raise ValueError("a model of another botocore")

        monkeypatch.setattr("preferences.repository.client.lean_session", does_not_fit)
        client = dynamodb_client.__wrapped__()
        assert client.meta.service_model.service_name == "dynamodb"
        assert client.meta.config.retries["total_max_attempts"] == 1
        assert client.meta.config.tcp_keepalive
        assert caplog.messages == ["botocore's own data is used: ValueError"]

    def test_names_its_source_and_its_version(self):
        assert (shortcuts.DATA / "NOTICE").read_text("utf-8") == botocore_data.notice()

    def test_leaves_other_services_to_botocore(self):
        assert shortcuts.lean_session().create_client("sts").meta.service_model.service_name == "sts"


class TestAnAnswerReadAsJson:
    @pytest.mark.parametrize(
        ("operation", "answer"),
        [
            ("get_item", {"Item": ITEM}),
            (
                "get_item",
                {"Item": ITEM, "ConsumedCapacity": {"TableName": "preferences", "CapacityUnits": 0.5}},
            ),
            ("get_item", {}),
            ("get_item", {"Item": None}),
            ("get_item", {"Item": {}, "Novelty": {"S": "of a later version"}}),
            ("update_item", {"Attributes": ITEM}),
            ("put_item", {}),
            ("delete_item", {}),
            ("query", {"Items": [ITEM, ITEM], "Count": 2, "ScannedCount": 2, "LastEvaluatedKey": KEY}),
            ("query", {"Items": [], "Count": 0, "ScannedCount": 0}),
            ("batch_write_item", {"UnprocessedItems": OPERATIONS["batch_write_item"]["RequestItems"]}),
        ],
    )
    def test_is_the_answer_that_botocore_makes_of_it(self, operation, answer):
        body = json.dumps(answer).encode()
        ours = outcome(shortcut(), operation, body=body)
        assert ours == outcome(plain(), operation, body=body)
        assert ours["ResponseMetadata"]["HTTPStatusCode"] == 200

    @pytest.mark.parametrize(
        "body", [b"", b"no json", b"[]", b"null", b'"text"', b'{"Item": ', b"\xff{}", b"[" * 100_000]
    )
    @pytest.mark.parametrize("operation", ["get_item", "update_item"])
    def test_that_is_garbled_is_an_error_and_no_empty_answer(self, operation, body):
        assert outcome(shortcut(), operation, body=body) == (
            "ResponseParserError",
            "the answer is not DynamoDB's",
        )

    @pytest.mark.parametrize(
        ("status", "body"),
        [
            (
                400,
                {"__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException", "Item": ITEM},
            ),
            (400, {"__type": "com.amazon.coral.service#ThrottlingException", "message": "slow down"}),
            (500, {"__type": "InternalServerError"}),
        ],
    )
    def test_that_is_a_refusal_is_left_to_botocore(self, status, body, monkeypatch):
        monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")  # its pauses before it tries again are of no interest
        body = json.dumps(body).encode()
        refused = outcome(shortcut(), "update_item", status, body)
        assert refused == outcome(plain(), "update_item", status, body)
        assert refused[1]["ResponseMetadata"]["HTTPStatusCode"] == status


class TestRequestsThatNobodyValidates:
    def test_are_all_valid(self, table):
        raw = plain()
        seen = set()

        def validate(params, model, **_):
            seen.add(model.name)
            shape = raw.meta.service_model.operation_model(model.name).input_shape
            assert not ParamValidator().validate(params, shape).generate_report()

        dynamodb_client().meta.events.register("provide-client-params.dynamodb", validate)
        repo = open_repository(lambda: 60)
        repo.register_thread("demo", ADA)
        repo.add_preferences_bulk("demo", [Draft(title=f"Row {n}") for n in range(4)], ADA)
        repo.update_preferences("demo", [IndexedEdit(index=1, subtitle="more", kind="hard")], ADA)
        repo.remove_preferences("demo", [2], ADA)
        row, *others = repo.list_preferences("demo", ADA).preferences
        repo.edit_preference(
            "demo", row.id, {"title": "Else", "subtitle": None, "locked": True}, ADA, if_match={3}
        )
        repo.set_lock("demo", row.id, ADA, locked=False)
        repo.set_all_locks("demo", ADA, locked=True)
        repo.reorder("demo", [other.id for other in others], ADA)
        repo.remove_preference("demo", row.id, ADA)
        repo.set_title("demo", "Trip to Rome", ADA)
        repo.list_threads(ADA, limit=1)
        repo.delete_thread("demo", ADA)
        repo.register_thread("demo", ADA)
        assert seen == {"GetItem", "PutItem", "UpdateItem", "Query", "BatchGetItem"}

    @pytest.mark.parametrize("value", [1.5, b"bytes", {"a", "set"}, [b"bytes"], {"inner": 2.5}])
    def test_hold_no_value_of_another_type(self, value):
        with pytest.raises(TypeError, match="no attribute is of type"):
            typed(value)


class TestStartUp:
    """Of a handler's module, in a process of its own."""

    @pytest.mark.parametrize("module", ["api", "agent", "history"])
    @pytest.mark.parametrize("in_lambda", [True, False])
    def test_makes_the_client_and_sets_its_objects_apart_in_lambda_alone(self, module, in_lambda):
        reported = (
            f"import gc, json, preferences.{module}; "
            "from preferences.repository.client import dynamodb_client;"
            "clients = dynamodb_client.cache_info().currsize;"
            "print(json.dumps([gc.isenabled(), gc.get_freeze_count() > 0, clients]))"
        )
        environment = {**os.environ, "PYTHONPATH": "functions"}
        if in_lambda:
            environment["AWS_LAMBDA_RUNTIME_API"] = "127.0.0.1:1"
        done = subprocess.run(
            [sys.executable, "-c", reported], env=environment, check=True, stdout=subprocess.PIPE
        )
        assert json.loads(done.stdout) == [True, in_lambda, int(in_lambda)]


def to_snake(name: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()

"""The table, on an engine in memory that needs no cloud account, and its stream's records."""

import base64
import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

TABLE: Mapping[str, Any] = {
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "S"},
        {"AttributeName": "owner", "AttributeType": "S"},
    ],
    "KeySchema": [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "owner",
            "KeySchema": [{"AttributeName": "owner", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
}
"""The table of template.yaml as the arguments of `CreateTable`, without its name.

An installed package has no template beside it; a test of this project holds the two together.
"""

PRETENDED = {
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
    "AWS_SESSION_TOKEN": "local",
    "AWS_REGION": "eu-west-1",
    "AWS_DEFAULT_REGION": "eu-west-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
}
"""What botocore needs before it signs a request: credentials that belong to nobody."""


@contextmanager
def embedded_engine() -> Iterator[None]:
    """Answers every AWS call of this process with moto, in memory, one call at a time.

    moto checks a condition and writes in two steps. Without a lock, threads could slip in between and lose
    each other's writes, which never happens in DynamoDB. The lock is around moto alone: a client's own hooks,
    retries and pauses run beside other threads' calls.
    """
    from moto import mock_aws
    from moto.core.models import botocore_stubber

    lock = threading.RLock()
    answer = botocore_stubber.process_request

    def answer_one_at_a_time(request: Any) -> Any:
        with lock:
            return answer(request)

    with mock_aws():
        botocore_stubber.process_request = answer_one_at_a_time  # type: ignore[method-assign]
        try:
            yield
        finally:
            botocore_stubber.process_request = answer  # type: ignore[method-assign]


def as_event(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record that boto3 read from the stream, in the form of JSON in which Lambda hands it over."""
    event: dict[str, Any] = json.loads(json.dumps(record, default=_as_json))
    return event


def _as_json(value: object) -> object:
    if isinstance(value, datetime):
        return value.timestamp()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise TypeError(f"no record of a stream holds a {type(value).__name__}")

"""The table of the local stack and of the tests: the template's, on an engine that needs no cloud."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from infra.template import Template

# What the client library wants to see before it signs a request that no cloud will read.
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


@contextmanager
def embedded_engine() -> Iterator[None]:
    """Answers every AWS call of this process with moto, in memory, one call at a time.

    moto checks a condition and writes in two steps, so threads could slip in between and lose each
    other's writes, which DynamoDB never does. The lock is around moto alone: whatever a client does
    before and after (its hooks, retries and waits) goes on beside other threads' calls.
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


def create_table(client: "DynamoDBClient", template: "Template", name: str) -> bool:
    """Creates the template's table; False when there is one of that name already."""
    try:
        client.create_table(TableName=name, **template.table)
    except client.exceptions.ResourceInUseException:
        return False
    return True

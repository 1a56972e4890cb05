"""The client for DynamoDB, and what each of its errors says of the request that it came from."""

import gc
import logging
import os
from functools import cache
from typing import TYPE_CHECKING, cast

from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
)
from botocore.session import get_session

from preferences.repository.answers import Answer
from preferences.repository.shortcuts import lean_session, read_as_json

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

CONNECT_SECONDS = 1
READ_SECONDS = 2
CALL_SECONDS = CONNECT_SECONDS + READ_SECONDS
"""The longest that one call usually takes: the bounds are for each address and each piece of an answer."""

# Throttling in its several names, and the two ways in which DynamoDB says that another write holds the item.
_NOT_EXECUTED = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "ReplicatedWriteConflictException",
        "RequestLimitExceeded",
        "ThrottlingException",
        "TransactionConflictException",
    }
)


def answer_of(error: Exception) -> Answer:
    """What an error says of the request that it came from."""
    if isinstance(error, ClientError):
        code = error.response.get("Error", {}).get("Code", "")
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        if code == "ConditionalCheckFailedException":
            return Answer.REFUSED
        if code in _NOT_EXECUTED:
            return Answer.NOT_EXECUTED
        # Where there is no code, botocore puts the status in its place: then it is not DynamoDB that speaks.
        if status >= 500 or code == "InternalServerError" or not code or code.isdigit():
            return Answer.NONE
        return Answer.FAULT
    if isinstance(error, EndpointConnectionError | ConnectTimeoutError):
        return Answer.NOT_EXECUTED
    if isinstance(error, HTTPClientError | ConnectionError):
        return Answer.NONE
    # What botocore raises of its own, it raises before it sends. Anything else comes of reading the answer.
    return Answer.FAULT if isinstance(error, BotoCoreError) else Answer.NONE


@cache
def dynamodb_client() -> "DynamoDBClient":
    """One client per process, made at the first use.

    botocore's retries are off. They would hide that a write went without an answer, and show a later error.
    """
    config = Config(
        parameter_validation=False,  # `typed` makes every value; this would look at each once more
        retries={"total_max_attempts": 1, "mode": "standard"},
        connect_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        tcp_keepalive=True,
    )
    try:
        client = lean_session().create_client("dynamodb", config=config)
    except Exception as error:  # our data doesn't fit the runtime's botocore: slower, but it serves
        logging.getLogger(__name__).warning("botocore's own data is used: %s", type(error).__name__)
        client = get_session().create_client("dynamodb", config=config)
    client.meta.events.register("before-parse.dynamodb", read_as_json)
    return cast("DynamoDBClient", client)


@cache
def table_name() -> str:
    return os.environ["TABLE_NAME"]


@cache
def history_days() -> int:
    """How long history entries are kept."""
    return int(os.environ.get("HISTORY_DAYS", "90"))


if "AWS_LAMBDA_RUNTIME_API" in os.environ:
    # Start-up has a whole processor, the first request as much of one as the memory pays for. Nothing here is
    # connected or unique, so that a snapshot of it (SnapStart) may be started many times.
    dynamodb_client()
    gc.freeze()
    gc.enable()

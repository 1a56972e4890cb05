"""The client for DynamoDB, and what each of its errors says about the write that met it."""

import gc
import logging
import os
from enum import Enum
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
from botocore.parsers import ResponseParserError
from botocore.session import get_session

from preferences.repository.shortcuts import lean_session, read_as_json

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

CONNECT_SECONDS = 1
READ_SECONDS = 2
CALL_SECONDS = CONNECT_SECONDS + READ_SECONDS
"""The longest that one call usually takes: the bounds are for each address and each piece of an answer."""

# Refused before it was looked at: nothing was applied, and it may be sent again. Throttling in its several
# names, and the two ways in which DynamoDB says that somebody else's write holds the item.
_NOT_APPLIED = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "ReplicatedWriteConflictException",
        "RequestLimitExceeded",
        "ThrottlingException",
        "TransactionConflictException",
    }
)


class Verdict(Enum):
    """What an error means for the request that it answers."""

    REFUSED = "its condition does not hold"
    NOT_APPLIED = "it was never looked at"
    UNKNOWN = "it may have been applied, or may still be"
    GARBLED = "it was answered, but not in a way that can be read"
    FAULT = "it can never succeed: a defect of ours, or of the deployment"


def verdict(error: Exception) -> Verdict:
    if isinstance(error, ClientError):
        code = error.response.get("Error", {}).get("Code", "")
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        if code == "ConditionalCheckFailedException":
            return Verdict.REFUSED
        if code in _NOT_APPLIED:
            return Verdict.NOT_APPLIED
        if status < 500 and (not code or code.isdigit()):
            return Verdict.GARBLED  # botocore puts the status where no code is: it isn't DynamoDB that speaks
        return Verdict.UNKNOWN if status >= 500 or code == "InternalServerError" else Verdict.FAULT
    if isinstance(error, EndpointConnectionError | ConnectTimeoutError):
        return Verdict.NOT_APPLIED  # no connection, so nothing was sent
    if isinstance(error, HTTPClientError | ConnectionError):
        return Verdict.UNKNOWN
    # What the client library raises of its own, it raises before it sends; anything else comes of reading.
    ours = isinstance(error, BotoCoreError) and not isinstance(error, ResponseParserError)
    return Verdict.FAULT if ours else Verdict.GARBLED


@cache
def dynamodb_client() -> "DynamoDBClient":
    """One client per process, made at the first use.

    Its own retries are off: it would send a write a second time after a time-out, and an unlock that is
    sent again can undo a lock that was acknowledged in between. What may be sent again, we send.
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

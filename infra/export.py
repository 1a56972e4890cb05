"""Prints what the table holds, as JSON: `python -m infra.export --table NAME --user SUB`.

With `--user` it is one document: the threads that this user (the `sub` of their tokens) owns, each with its
items as they are stored, the list first and then the history. A deleted thread is nobody's. Without
it, it is the whole table, one item on a line; what is written meanwhile may be in it or not.

It reads with the AWS credentials of the environment: dynamodb:Query on table and index, or dynamodb:Scan.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import boto3
from boto3.dynamodb.types import Binary, TypeDeserializer

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

Item = dict[str, Any]

_value = TypeDeserializer().deserialize


def of_user(client: "DynamoDBClient", table: str, user: str) -> dict[str, Any]:
    """`{"user": sub, "threads": [{"thread_id": …, "items": [item…]}…]}`."""
    pages = client.get_paginator("query").paginate(
        TableName=table,
        IndexName="owner",
        KeyConditionExpression="#owner = :user",
        ExpressionAttributeNames={"#owner": "owner"},
        ExpressionAttributeValues={":user": {"S": user}},
    )
    keys = sorted({str(item["pk"]["S"]) for page in pages for item in page["Items"]})
    threads = [
        {"thread_id": key.removeprefix("THREAD#"), "items": _newest_first(_under(client, table, key))}
        for key in keys
    ]
    return {"user": user, "threads": threads}


def everything(client: "DynamoDBClient", table: str) -> Iterator[Item]:
    """Every item of the table, in no order."""
    for page in client.get_paginator("scan").paginate(TableName=table, ConsistentRead=True):
        yield from (_plain(item) for item in page["Items"])


def _under(client: "DynamoDBClient", table: str, key: str) -> list[Item]:
    pages = client.get_paginator("query").paginate(
        TableName=table,
        ConsistentRead=True,
        KeyConditionExpression="#pk = :pk",
        ExpressionAttributeNames={"#pk": "pk"},
        ExpressionAttributeValues={":pk": {"S": key}},
    )
    return [_plain(item) for page in pages for item in page["Items"]]


def _newest_first(items: list[Item]) -> list[Item]:
    """PREFERENCES before every CHANGE#…, and those from the newest on."""
    return sorted(items, key=lambda item: str(item["sk"]), reverse=True)


def _plain(item: Item) -> Item:
    return {name: _value(value) for name, value in item.items()}


def text(value: object, **layout: Any) -> str:
    """The value as JSON. Binary values come in hexadecimal digits."""
    return json.dumps(value, ensure_ascii=False, default=_json, **layout)


def _json(value: object) -> object:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, Binary):
        return bytes(value.value).hex()  # type: ignore[attr-defined]  # the stubs leave it out
    if isinstance(value, set):
        return sorted((item if isinstance(item, str) else _json(item) for item in value), key=str)
    raise TypeError(f"no JSON for {type(value).__name__}")


def main() -> None:
    parser = argparse.ArgumentParser("python -m infra.export", description="Print what the table holds.")
    parser.add_argument("--table", required=True, help="its name, TableName of the stack's outputs")
    parser.add_argument("--user", help="the sub of one user; everybody's threads without it")
    given = parser.parse_args()
    client = boto3.client("dynamodb")
    if given.user:
        print(text(of_user(client, given.table, given.user), indent=2))
        return
    for item in everything(client, given.table):
        sys.stdout.write(text(item) + "\n")


if __name__ == "__main__":
    main()

"""What the tests of history and undo share: a table's stream as Lambda hands it over, and what it leaves."""

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from boto3.dynamodb.types import TypeDeserializer

from infra.local.context import LambdaContext
from infra.local.stream import Stream
from preferences import api
from preferences.history import handler
from tests.support import Store

_deserialize = TypeDeserializer().deserialize


class Feed:
    """One table's stream, recorded from its engine as the table's tests write it."""

    def __init__(self, store: Store, stream: Stream) -> None:
        self._store = store
        self._stream = stream
        self._records: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        self._handed_over: dict[str, int] = defaultdict(int)

    def records(self, thread_id: str) -> list[dict[str, Any]]:
        """All that the stream has said of a thread's item, in order."""
        more = True
        while more:
            more = False
            for batch in self._stream.read(1000):
                more = more or bool(batch)
                for record in batch:
                    keys = record["dynamodb"]["Keys"]
                    if keys["sk"]["S"] == "PREFERENCES":
                        self._records[keys["pk"]["S"]].append(record)
        return list(self._records[f"THREAD#{thread_id}"])

    def hand_over(self, *records: Any, timeout: float = 60.0) -> list[str]:
        """Gives records to the handler; the sequence numbers of those that failed."""
        answer = handler({"Records": list(records)}, LambdaContext("history", timeout))
        assert answer.keys() == {"batchItemFailures"}
        return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]

    def catch_up(self, thread_id: str) -> None:
        """Hands over what is new of a thread, and all of it is taken."""
        records = self.records(thread_id)
        new = records[self._handed_over[thread_id] :]
        self._handed_over[thread_id] = len(records)
        assert self.hand_over(*new) == []

    def entries(self, thread_id: str) -> dict[int, dict[str, Any]]:
        """revision → entry, as stored, in plain values. By no means of the repository's."""
        request = {
            "TableName": self._store.table_name,
            "KeyConditionExpression": "pk = :pk AND begins_with(sk, :change)",
            "ExpressionAttributeValues": {":pk": {"S": f"THREAD#{thread_id}"}, ":change": {"S": "CHANGE#"}},
            "ConsistentRead": True,
        }
        pages = self._store.client.get_paginator("query").paginate(**request)
        items = [_deserialize({"M": item}) for page in pages for item in page["Items"]]
        return {int(item["sk"].removeprefix("CHANGE#")): item for item in items}


class People:
    """The people's handler, for one thread."""

    def __init__(self, thread_id: str) -> None:
        self.thread_id = thread_id

    def ask(self, key: str, *, user: str = "ada", query: str = "", **parts: Any) -> "Answer":
        """One event, through the real handler; `headers` and further parts of the path may be given."""
        headers = parts.pop("headers", {})
        event = {
            "version": "2.0",
            "routeKey": key,
            "rawQueryString": query,
            "headers": headers,
            "pathParameters": {"thread_id": self.thread_id, **parts},
            "requestContext": {"authorizer": {"jwt": {"claims": {"sub": user, "token_use": "access"}}}},
            "isBase64Encoded": False,
        }
        raw = api.handler(event, LambdaContext("api", 15.0))
        return Answer(raw["statusCode"], raw["headers"], json.loads(raw["body"]) if "body" in raw else None)

    def history(self, query: str = "", **parts: Any) -> "Answer":
        return self.ask("GET /threads/{thread_id}/history", query=query, **parts)

    def undo(self, revision: object, **parts: Any) -> "Answer":
        key = "POST /threads/{thread_id}/history/{revision}/undo"
        return self.ask(key, revision=str(revision), **parts)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    json: Any

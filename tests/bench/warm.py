"""What a request costs of our own processor time, over the bare boto3 calls that it needs.

No network on either side: botocore's last hook before the socket answers with bytes made beforehand. The
bare side is a client as `boto3.client("dynamodb")` gives it, called with what our own handler called, with
the same answers, which it parses as it always does.
"""

import io
import json
import re
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import boto3
from botocore import xform_name
from botocore.awsrequest import AWSResponse

from infra.local.context import LambdaContext
from preferences.agent import handler as agent
from preferences.api import handler as api
from preferences.repository.client import dynamodb_client
from preferences.repository.items import thread_item
from tests.bench.work import EDITS, NEW, ROW, check, people, results, thread, tool

ROUNDS = 15
SECONDS = 0.12  # of processor time, for one round of one side
CONTEXT = LambdaContext(timeout=3600)


@dataclass(frozen=True)
class Operation:
    name: str
    handler: Callable
    event: dict
    size: int
    bar: float | None
    """The ratio that it is held to; None: for comparison only."""

    def run(self) -> object:
        return self.handler(self.event, CONTEXT)


def operations() -> list[Operation]:
    read = people("GET /threads/{thread_id}/preferences")
    edit = people("PATCH /threads/{thread_id}/preferences/{id}", {"title": "Formal tone"}, id=ROW)
    lock = people("PUT /threads/{thread_id}/preferences/{id}/lock", id=ROW)
    tools = {
        "agent's list": (tool("list_preferences"), None),
        "agent edits 10": (tool("update_preferences", updates=EDITS), 1.35),
        "agent adds 10": (tool("add_preferences", items=NEW), 1.35),
        "agent removes 10": (tool("remove_preferences", indices=[edit["index"] for edit in EDITS]), 1.35),
    }
    return [
        *(Operation("user's list", api, read, size, 1.35) for size in (5, 20, 50, 100)),
        *(Operation("user's edit", api, edit, size, 1.25) for size in (5, 20, 50)),
        *(Operation("user's lock", api, lock, size, None) for size in (5, 20, 50)),
        *(Operation(name, agent, event, 50, bar) for name, (event, bar) in tools.items()),
    ]


_CHANGE = re.compile(rb'"id": ?{"S": ?"([0-9A-Za-z_-]{12})"}')


class Stub:
    """Has a client answered without a network, while it is entered."""

    def __init__(self, client, item: Mapping) -> None:
        self._events = client.meta.events
        self._answers = {
            "GetItem": json.dumps({"Item": item}).encode(),
            "UpdateItem": json.dumps({"Attributes": item}).encode(),
        }

    def __enter__(self) -> None:
        self._events.register("before-send.dynamodb", self._answer)

    def __exit__(self, *_: object) -> None:
        self._events.unregister("before-send.dynamodb", self._answer)

    def _answer(self, request, event_name: str, **_: object) -> AWSResponse:
        # The repository looks for the id of its own write in the answer.
        change = _CHANGE.search(request.body)
        body = self._answers[event_name.rpartition(".")[2]]
        if change:
            body = body.replace(b"0" * 32, change[1])
        headers = {"Content-Type": "application/x-amz-json-1.0", "x-amzn-RequestId": "REQUEST"}
        return AWSResponse(request.url, 200, headers, _Raw(body))


class _Raw(io.BytesIO):
    def stream(self, **_: object) -> Iterator[bytes]:
        yield self.read()


@contextmanager
def recorded(client) -> Iterator[list[tuple[str, dict]]]:
    """What is asked of DynamoDB meanwhile: (operation, parameters)."""
    calls: list[tuple[str, dict]] = []

    def keep(model, params, **_: object) -> None:
        calls.append((model.name, params))

    client.meta.events.register("provide-client-params.dynamodb", keep)
    yield calls
    client.meta.events.unregister("provide-client-params.dynamodb", keep)


def seconds_each(run: Callable[[], object], times: int) -> float:
    """Of this process's time on a processor."""
    began = time.process_time()
    for _ in range(times):
        run()
    return (time.process_time() - began) / times


def compare(operation: Operation) -> dict:
    """One operation's row of the table; times in microseconds."""
    item = thread_item(thread(operation.size))
    ours, bare = dynamodb_client(), boto3.client("dynamodb")
    with Stub(ours, item), Stub(bare, item):
        with recorded(ours) as calls:
            check(operation.run())
        asked = [(getattr(bare, xform_name(name)), parameters) for name, parameters in calls]

        def ask() -> None:
            for method, parameters in asked:
                method(**parameters)

        sides = (operation.run, ask)
        times = [max(1, int(SECONDS / seconds_each(side, 20))) for side in sides]
        # One after the other in every round, so that what else the machine does meets both.
        rounds = [
            [seconds_each(side, n) * 1e6 for side, n in zip(sides, times, strict=True)] for _ in range(ROUNDS)
        ]
    return {
        "operation": operation.name,
        "rows": operation.size,
        "calls": [name for name, _ in calls],
        "ours": statistics.median(ours for ours, _ in rounds),
        "bare": statistics.median(bare for _, bare in rounds),
        "ratios": sorted(ours / bare for ours, bare in rounds),
        "bar": operation.bar,
    }


def main() -> None:
    with results() as answer:
        json.dump([compare(operation) for operation in operations()], answer)


if __name__ == "__main__":
    main()

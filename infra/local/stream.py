"""The event source mapping between the table's stream and the history, as Lambda would run it."""

import json
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import boto3
from botocore.config import Config

from infra.template import Function, Template
from preferences.testing.context import LambdaContext
from preferences.testing.engine import as_event

Record = Mapping[str, Any]
Handler = Callable[[Any, Any], Any]

POLL_SECONDS = 0.2
LONGEST_PAUSE = 2.0  # seconds between retries; Lambda's grow longer
LONGEST_WAIT = 5.0  # seconds, at the end, for what is being delivered


@dataclass(frozen=True)
class EventSource:
    """What the template says of the mapping; `function` is the logical id of what it calls."""

    function: str
    batch_size: int
    retries: int
    bisects: bool
    partial: bool
    """Whether the function's answer names the records that failed."""
    patterns: Sequence[Mapping[str, Any]]

    def admits(self, record: Record) -> bool:
        return not self.patterns or any(_matches(pattern, record) for pattern in self.patterns)


def event_source(template: Template) -> EventSource:
    """The template's one mapping from a stream."""
    ((function, properties),) = (
        (name, event["Properties"])
        for name, body in template.of_type("AWS::Serverless::Function").items()
        for event in body["Properties"].get("Events", {}).values()
        if event["Type"] == "DynamoDB"
    )
    filters = properties.get("FilterCriteria", {}).get("Filters", [])
    return EventSource(
        function,
        int(template.resolve(properties.get("BatchSize", 100))),
        int(template.resolve(properties["MaximumRetryAttempts"])),  # Lambda's own default never ends
        bool(template.resolve(properties.get("BisectBatchOnFunctionError", False))),
        "ReportBatchItemFailures" in properties.get("FunctionResponseTypes", []),
        [json.loads(template.resolve(one["Pattern"])) for one in filters],
    )


def _matches(pattern: Mapping[str, Any], event: Any) -> bool:
    """An event pattern: at its leaves, lists of the values that are let through."""
    for name, wanted in pattern.items():
        found = event.get(name) if isinstance(event, Mapping) else None
        if isinstance(wanted, Mapping):
            if not _matches(wanted, found):
                return False
        elif any(isinstance(value, Mapping) for value in wanted):
            raise NotImplementedError(f"a filter on {name} by more than its value")
        elif found not in wanted:
            return False
    return True


class Stream:
    """The records of a table's stream, from the oldest that is kept; each once, unless it is rewound."""

    def __init__(self, client: Any, arn: str) -> None:
        self._client = client
        self._arn = arn
        self._iterators: dict[str, str | None] = {}

    def read(self, limit: int) -> Iterator[list[Record]]:
        """What has come since the last time: for each shard, at most `limit` records in their order."""
        if not any(self._iterators.values()):  # at first, and when all shards that are known are closed
            for shard in self._client.describe_stream(StreamArn=self._arn)["StreamDescription"]["Shards"]:
                if shard["ShardId"] not in self._iterators:
                    self._iterators[shard["ShardId"]] = self._client.get_shard_iterator(
                        StreamArn=self._arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
                    )["ShardIterator"]
        for shard_id, iterator in self._iterators.items():
            if iterator:
                answer = self._client.get_records(ShardIterator=iterator, Limit=limit)
                self._iterators[shard_id] = answer.get("NextShardIterator")
                yield [as_event({**record, "eventSourceARN": self._arn}) for record in answer["Records"]]

    def rewind(self) -> None:
        """To the oldest that is kept: the history takes what it has already as well."""
        self._iterators.clear()


def open_stream(table_name: str, endpoint: str | None = None) -> Stream | None:
    """The table's stream, from the engine at `endpoint` or in this process; None where it has none."""
    table = boto3.client("dynamodb", endpoint_url=endpoint).describe_table(TableName=table_name)["Table"]
    if "LatestStreamArn" not in table:
        return None
    # No engine answers at addresses that begin with an account's number, as AWS does.
    config = Config(account_id_endpoint_mode="disabled")
    client = boto3.client("dynamodbstreams", endpoint_url=endpoint, config=config)
    return Stream(client, table["LatestStreamArn"])


@dataclass
class Pump:
    """Hands records to the handler in batches, until they are taken or given up."""

    source: EventSource
    function: Function
    handler: Handler
    stopped: threading.Event = field(default_factory=threading.Event)
    given_up: list[Record] = field(default_factory=list)
    """What a deployment puts into the on-failure destination."""

    def deliver(self, records: Sequence[Record]) -> None:
        """In order. After a failure, from the first record that failed: in halves, until it is alone.

        A record that fails alone is tried again, with pauses, and then given up.
        """
        size = self.source.batch_size
        admitted = [record for record in records if self.source.admits(record)]
        waiting = [admitted[n : n + size] for n in range(0, len(admitted), size)]
        failures = 0
        while waiting and not self.stopped.is_set():
            batch = waiting.pop(0)
            taken = self._invoke(batch)
            if taken:
                failures = 0
            batch = batch[taken:]
            if not batch:
                continue
            if taken:
                waiting.insert(0, batch)
            elif self.source.bisects and len(batch) > 1:
                middle = len(batch) // 2
                waiting[:0] = [batch[:middle], batch[middle:]]
            elif failures < self.source.retries:
                waiting.insert(0, batch)
                self.stopped.wait(min(LONGEST_PAUSE, 0.1 * 2**failures))
                failures += 1
            else:
                failures = 0
                self.given_up += batch
                numbers = ", ".join(record["dynamodb"]["SequenceNumber"] for record in batch)
                print(f"the history gave up what the stream has at {numbers}", file=sys.stderr, flush=True)

    def _invoke(self, batch: Sequence[Record]) -> int:
        """How many records, from the first, need not be handed over again."""
        context = LambdaContext(self.function.name, self.function.timeout, self.function.memory)
        try:
            answer = json.loads(json.dumps(self.handler({"Records": batch}, context)))
        except Exception:
            traceback.print_exc()
            return 0
        failed = answer.get("batchItemFailures") if self.source.partial and answer else None
        if not failed:
            return len(batch)
        numbers = [record["dynamodb"]["SequenceNumber"] for record in batch]
        try:
            return min(numbers.index(failure["itemIdentifier"]) for failure in failed)
        except (KeyError, TypeError, ValueError):  # names no record: all of them
            return 0

    def run(self, stream: Stream) -> None:
        """Until `stopped` is set. An engine that doesn't answer is asked again, from the beginning."""
        lost = False
        while not self.stopped.is_set():
            full = False
            try:
                for records in stream.read(self.source.batch_size):
                    self.deliver(records)
                    full = full or len(records) == self.source.batch_size
                lost = False
            except Exception as reason:
                if not lost:
                    print(f"the stream can't be read: {reason}", file=sys.stderr, flush=True)
                lost = True
                stream.rewind()
            if not full:
                self.stopped.wait(LONGEST_PAUSE if lost else POLL_SECONDS)


@contextmanager
def pumping(template: Template, table_name: str, handler: Handler, endpoint: str | None) -> Iterator[None]:
    """Runs the mapping beside whatever else this process does, on the engine at `endpoint` or in it."""
    stream = open_stream(table_name, endpoint)
    if stream is None:
        print("this engine has no streams, so there will be no history", file=sys.stderr, flush=True)
        yield
        return
    source = event_source(template)
    pump = Pump(source, template.functions[source.function], handler)
    # A daemon that is not waited for at any price: nothing that holds it up may keep the process from ending.
    thread = threading.Thread(target=pump.run, args=(stream,), name="stream", daemon=True)
    with nullcontext() if endpoint else _forgetful_stream():
        thread.start()
        try:
            yield
        finally:
            pump.stopped.set()
            thread.join(LONGEST_WAIT)


@contextmanager
def _forgetful_stream() -> Iterator[None]:
    """moto keeps every record of a stream for good. Here there is one reader: what it has read can go."""
    from moto.dynamodb.models.table import StreamShard

    get = StreamShard.get

    def get_and_forget(self: StreamShard, start: int, quantity: int) -> list[dict[str, Any]]:
        if (read := start - self.starting_sequence_number) > 0:
            del self.items[:read]
            self.starting_sequence_number = start
        return get(self, start, quantity)

    StreamShard.get = get_and_forget  # type: ignore[method-assign]
    try:
        yield
    finally:
        StreamShard.get = get  # type: ignore[method-assign]

"""The stream's pump: records go to the history as Lambda's event source mapping would hand them over."""

import threading
import time
from dataclasses import replace

import pytest

from infra.local.stream import EventSource, Pump, Stream, event_source, open_stream, pumping
from infra.template import Function

FUNCTION = Function("HistoryFunction", "preferences.history.handler", 60, 512, {})
SOURCE = EventSource("HistoryFunction", 4, 3, True, True, ())


def record(n):
    """A record of a thread's list, as the stream has it."""
    return {
        "eventName": "MODIFY",
        "dynamodb": {
            "SequenceNumber": str(n),
            "Keys": {"pk": {"S": "THREAD#t"}, "sk": {"S": "PREFERENCES"}},
        },
    }


class Taker:
    """A handler that fails on some records, so many times each, and notes what it was given."""

    def __init__(self, **fails):
        self.fails = {int(number.removeprefix("n")): times for number, times in fails.items()}
        self.batches = []
        self.taken = []
        self.raises = False

    def __call__(self, event, context):
        assert context.get_remaining_time_in_millis() > 59_000
        numbers = [int(record["dynamodb"]["SequenceNumber"]) for record in event["Records"]]
        self.batches.append(numbers)
        failed = [n for n in numbers if self.fails.get(n, 0) > 0]
        for n in failed:
            self.fails[n] -= 1
        if failed and self.raises:
            raise RuntimeError("a fault of the handler")
        self.taken += [n for n in numbers if n not in failed]
        return {"batchItemFailures": [{"itemIdentifier": str(n)} for n in failed]}


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr("infra.local.stream.LONGEST_PAUSE", 0)


def deliver(taker, count, source=SOURCE):
    pump = Pump(source, FUNCTION, taker)
    pump.deliver([record(n) for n in range(1, count + 1)])
    return [int(given["dynamodb"]["SequenceNumber"]) for given in pump.given_up]


class TestTheTemplatesMapping:
    def test_is_the_one_of_the_history(self, template):
        source = event_source(template)
        assert template.functions[source.function].handler == "preferences.history.handler"
        assert source.bisects
        assert source.partial
        assert 0 < source.retries < 100

    def test_admits_lists_and_nothing_else(self, template):
        source = event_source(template)
        assert source.admits(record(1))
        for keys in ({"pk": {"S": "THREAD#t"}, "sk": {"S": "CHANGE#0000000001"}}, {}, {"sk": {"N": "1"}}):
            assert not source.admits({"dynamodb": {"Keys": keys}})
        assert not source.admits({})

    def test_is_refused_where_it_filters_by_more_than_values(self):
        source = replace(SOURCE, patterns=[{"dynamodb": {"Keys": {"sk": {"S": [{"prefix": "P"}]}}}}])
        with pytest.raises(NotImplementedError):
            source.admits(record(1))


class TestRecords:
    def test_come_in_batches_in_their_order(self):
        taker = Taker()
        assert deliver(taker, 10) == []
        assert taker.batches == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10]]

    def test_are_filtered_before_they_are_counted(self):
        taker = Taker()
        source = replace(SOURCE, patterns=[{"dynamodb": {"SequenceNumber": ["2", "4", "5", "6", "9"]}}])
        deliver(taker, 10, source)
        assert taker.batches == [[2, 4, 5, 6], [9]]

    def test_come_again_from_the_first_that_failed(self):
        taker = Taker(n3=1)
        assert deliver(taker, 4) == []
        assert taker.batches == [[1, 2, 3, 4], [3, 4]]

    def test_come_alone_where_the_first_fails(self):
        taker = Taker(n1=2)
        assert deliver(taker, 4) == []
        assert taker.batches == [[1, 2, 3, 4], [1, 2], [1], [2], [3, 4]]

    def test_are_given_up_after_so_many_retries_and_the_next_are_taken(self, capsys):
        taker = Taker(n3=99)
        assert deliver(taker, 6) == [3]
        assert taker.batches.count([3]) == 1 + SOURCE.retries
        assert set(taker.taken) == {1, 2, 4, 5, 6}
        assert "gave up what the stream has at 3" in capsys.readouterr().err

    def test_fail_together_where_the_handler_raises(self, capsys):
        taker = Taker(n3=99)
        taker.raises = True
        assert deliver(taker, 6) == [3]
        assert set(taker.taken) == {1, 2, 4, 5, 6}
        assert "a fault of the handler" in capsys.readouterr().err

    def test_are_taken_whatever_the_answer_where_the_mapping_does_not_look_at_it(self):
        taker = Taker(n3=1)
        assert deliver(taker, 4, replace(SOURCE, partial=False)) == []
        assert taker.batches == [[1, 2, 3, 4]]

    def test_are_given_up_as_a_batch_where_the_mapping_does_not_bisect(self, capsys):
        taker = Taker(n1=99)
        assert deliver(taker, 4, replace(SOURCE, bisects=False)) == [1, 2, 3, 4]

    @pytest.mark.parametrize(
        "answer",
        [
            {"batchItemFailures": [{"itemIdentifier": ""}]},
            {"batchItemFailures": [{"itemIdentifier": None}]},
            {"batchItemFailures": [{"itemIdentifier": "77"}]},
            {"batchItemFailures": [{}]},
            {"batchItemFailures": ["1"]},
            {"batchItemFailures": "1"},
            object(),
        ],
    )
    def test_all_fail_where_the_answer_names_none_of_them(self, answer, capsys):
        assert deliver(lambda event, context: answer, 2) == [1, 2]

    @pytest.mark.parametrize("answer", [None, {}, {"batchItemFailures": []}, {"batchItemFailures": None}])
    def test_are_taken_where_the_answer_names_no_failure(self, answer):
        assert deliver(lambda event, context: answer, 2) == []


def put(engine, *revisions):
    client = engine.client()
    for n in revisions:
        key = {"pk": {"S": f"THREAD#{n}"}, "sk": {"S": "PREFERENCES"}}
        client.put_item(TableName=engine.table_name, Item=key | {"revision": {"N": str(n)}})


def wait_for(condition):
    until = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


class TestBesideAnEngine:
    def test_each_record_is_handed_over_once_as_it_is_written(self, engine, template):
        taker = Recorder()
        put(engine, 1)
        with pumping(template, engine.table_name, taker, engine.endpoint):
            wait_for(lambda: len(taker.records) == 1)
            put(engine, *range(2, 251))
            wait_for(lambda: len(taker.records) == 250)
        assert [given["dynamodb"]["NewImage"]["revision"]["N"] for given in taker.records] == [
            str(n) for n in range(1, 251)
        ]
        assert "stream" not in [thread.name for thread in threading.enumerate()]

    def test_a_record_is_what_lambda_would_send(self, engine):
        put(engine, 1)
        [[given]] = open_stream(engine.table_name, engine.endpoint).read(10)
        assert given["eventName"] == "INSERT"
        assert given["eventSource"] == "aws:dynamodb"
        assert given["eventSourceARN"].startswith("arn:aws:dynamodb:")
        body = given["dynamodb"]
        assert body["Keys"] == {"pk": {"S": "THREAD#1"}, "sk": {"S": "PREFERENCES"}}
        assert body["NewImage"] == body["Keys"] | {"revision": {"N": "1"}}
        assert isinstance(body["ApproximateCreationDateTime"], float)
        assert body["SequenceNumber"].isdecimal()

    def test_a_stream_that_fails_is_read_again_from_its_beginning(
        self, engine, template, monkeypatch, capsys
    ):
        taker = Recorder()
        fails = iter([False, True, True])
        read = Stream.read

        def read_badly(self, limit):
            if next(fails, False):
                raise ConnectionError("the engine is gone")
            return read(self, limit)

        monkeypatch.setattr(Stream, "read", read_badly)
        put(engine, 1)
        with pumping(template, engine.table_name, taker, engine.endpoint):
            wait_for(lambda: taker.records)
            put(engine, 2)
            wait_for(lambda: taker.records[-1]["dynamodb"]["NewImage"]["revision"]["N"] == "2")
        assert capsys.readouterr().err == "the stream can't be read: the engine is gone\n"

    def test_a_handler_that_hangs_does_not_keep_the_process_from_ending(self, engine, template, monkeypatch):
        monkeypatch.setattr("infra.local.stream.LONGEST_WAIT", 0.1)
        called, released = threading.Event(), threading.Event()

        def hang(event, context):
            called.set()
            released.wait(30)

        put(engine, 1)
        with pumping(template, engine.table_name, hang, engine.endpoint):
            assert called.wait(20)
        [thread] = [thread for thread in threading.enumerate() if thread.name == "stream"]
        assert thread.daemon
        released.set()
        thread.join(20)

    def test_an_engine_without_streams_is_served_without_a_history(self, engine, template, capsys):
        client = engine.client()
        client.create_table(
            TableName="plain",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        )
        with pumping(template, "plain", Recorder(), engine.endpoint):
            assert "no streams" in capsys.readouterr().err
        client.delete_table(TableName="plain")

    def test_what_was_read_is_not_kept_in_memory(self, table, template):
        from moto.core import DEFAULT_ACCOUNT_ID
        from moto.dynamodb.models import dynamodb_backends

        client, table_name = table
        shard = dynamodb_backends[DEFAULT_ACCOUNT_ID]["eu-west-1"].get_table(table_name).stream_shard
        taker = Recorder()
        with pumping(template, table_name, taker, None):
            for n in range(1, 200):
                client.put_item(
                    TableName=table_name,
                    Item={"pk": {"S": f"THREAD#{n}"}, "sk": {"S": "PREFERENCES"}},
                )
            wait_for(lambda: len(taker.records) == 199 and not shard.items)


class Recorder:
    def __init__(self):
        self.records = []

    def __call__(self, event, _):
        self.records += event["Records"]
        return {"batchItemFailures": []}

"""The local stack does what the deployed one would, over real HTTP."""

import sys
import threading

import pytest


@pytest.fixture
def hurried_threads():
    """Threads take turns so often that what is not atomic shows."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual)


class TestEngines:
    def test_lose_no_conditional_write_among_sixteen_threads(self, engine, hurried_threads):
        client = engine.client()
        key = {"pk": {"S": "THREAD#t"}, "sk": {"S": "PREFERENCES"}}
        client.put_item(TableName=engine.table_name, Item={**key, "revision": {"N": "0"}})
        acknowledged = []

        def count_up():
            for _ in range(5):
                item = client.get_item(TableName=engine.table_name, Key=key, ConsistentRead=True)["Item"]
                seen = int(item["revision"]["N"])
                try:
                    client.update_item(
                        TableName=engine.table_name,
                        Key=key,
                        UpdateExpression="SET revision = :next",
                        ConditionExpression="revision = :seen",
                        ExpressionAttributeValues={":seen": {"N": str(seen)}, ":next": {"N": str(seen + 1)}},
                    )
                except client.exceptions.ConditionalCheckFailedException:
                    continue
                acknowledged.append(seen + 1)

        threads = [threading.Thread(target=count_up) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        item = client.get_item(TableName=engine.table_name, Key=key, ConsistentRead=True)["Item"]
        assert sorted(acknowledged) == list(range(1, int(item["revision"]["N"]) + 1))

    def test_count_their_calls_by_operation(self, engine, call_counter):
        client = engine.client()
        calls = call_counter(client)
        client.get_item(TableName=engine.table_name, Key={"pk": {"S": "a"}, "sk": {"S": "b"}})
        assert calls == {"GetItem": 1}

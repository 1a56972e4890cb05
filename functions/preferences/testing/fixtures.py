"""pytest fixtures on moto: `pytest_plugins = ["preferences.testing.fixtures"]`.

preferences_table    an empty table as the template has it; sets the handlers' environment
preferences_user     ada, at the HTTP API
preferences_thread   the id of a thread of hers with three rows
locked_preference    the first of these rows, which she has locked, with its `position`
preferences_agent    an agent on that thread, for her; `through("function")` calls in another envelope
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from preferences import history
from preferences.testing.callers import Agent, User
from preferences.testing.context import LambdaContext
from preferences.testing.engine import PRETENDED, TABLE, as_event, embedded_engine

ROWS = (
    {"title": "Budget under 900 euros", "kind": "hard"},
    {"title": "Academic tone", "subtitle": "Formal and objective", "kind": "soft"},
    {"title": "Short answers", "kind": "soft"},
)
"""What `preferences_thread` holds."""

_ENVIRONMENT = {
    "TABLE_NAME": "preferences",
    "REQUIRE_USER_ID": "true",
    "HISTORY_DAYS": "90",
    "POWERTOOLS_SERVICE_NAME": "preferences",
    "POWERTOOLS_LOG_LEVEL": "WARNING",
}


@dataclass
class Table:
    """The table in moto. `name` is what the handlers read from TABLE_NAME."""

    name: str
    _iterator: str | None = None

    def write_history(self) -> None:
        """Hands the changes since the last time to the history handler, as Lambda does after each."""
        import boto3
        from botocore.config import Config

        # moto does not answer at addresses that begin with an account's number, as AWS does.
        client = boto3.client("dynamodbstreams", config=Config(account_id_endpoint_mode="disabled"))
        if self._iterator is None:
            (stream,) = client.list_streams(TableName=self.name)["Streams"]
            arn = stream["StreamArn"]
            (shard,) = client.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
            self._iterator = client.get_shard_iterator(
                StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
            )["ShardIterator"]
        answer = client.get_records(ShardIterator=self._iterator)
        self._iterator = answer["NextShardIterator"]
        records = [as_event(record) for record in answer["Records"]]
        context: Any = LambdaContext()
        if records and history.handler({"Records": records}, context)["batchItemFailures"]:
            raise RuntimeError("the history handler did not take the table's changes")


@pytest.fixture
def preferences_table(monkeypatch: pytest.MonkeyPatch) -> Iterator[Table]:
    """An empty table on moto, in this process; the handlers' environment names it."""
    import boto3

    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB"):
        monkeypatch.delenv(name, raising=False)
    for name, value in (PRETENDED | _ENVIRONMENT).items():
        monkeypatch.setenv(name, value)
    _forget_environment()
    with embedded_engine():
        table = Table(_ENVIRONMENT["TABLE_NAME"])
        boto3.client("dynamodb").create_table(TableName=table.name, **TABLE)
        yield table
    _forget_environment()


@pytest.fixture
def preferences_user(preferences_table: Table) -> User:
    """Ada, signed in at the HTTP API."""
    return User("ada", preferences_table.write_history)


@pytest.fixture
def preferences_thread(preferences_user: User) -> str:
    """The id of a thread of ada's that holds ROWS."""
    thread_id = "trip"
    for method, path, body in (
        ("PUT", f"/threads/{thread_id}", None),
        ("POST", f"/threads/{thread_id}/preferences", {"items": list(ROWS)}),
    ):
        answer = preferences_user.request(method, path, body)
        if answer.status != 201:
            raise RuntimeError(f"{method} {path}: {answer.status}, {answer.json}")
    return thread_id


@pytest.fixture
def locked_preference(preferences_user: User, preferences_thread: str) -> dict[str, Any]:
    """The first row of ada's thread, locked by her, as the API shows it, and its 1-based `position`."""
    path = f"/threads/{preferences_thread}/preferences"
    (row, *_) = preferences_user.list(preferences_thread)
    answer = preferences_user.request("PUT", f"{path}/{row['id']}/lock")
    if answer.status != 200:
        raise RuntimeError(f"the row can't be locked: {answer.status}, {answer.json}")
    return preferences_user.list(preferences_thread)[0] | {"position": 1}


@pytest.fixture
def preferences_agent(preferences_user: User, preferences_thread: str) -> Agent:
    """An agent on ada's thread, in her name, that calls through an AgentCore Gateway."""
    return Agent(preferences_thread, preferences_user.sub)


def _forget_environment() -> None:
    """The handlers read their environment once. This has them read it again, and make a client for it."""
    for name, module in list(sys.modules.items()):
        if name.startswith("preferences.") and not name.startswith("preferences.testing"):
            for value in list(vars(module).values()):
                if getattr(value, "__module__", None) == name and hasattr(value, "cache_clear"):
                    value.cache_clear()

"""What operations ask of DynamoDB, and whether they slow down as the table grows: on the second engine.

Its capacity figures follow DynamoDB's own arithmetic: a unit is 1 KB written or 4 KB read.
"""

import gzip
import json
import os
import random
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3

from infra.local.table import create_table
from infra.template import Template
from preferences import rules
from preferences.model import Caller, Change, Draft, IndexedEdit, Thread
from preferences.repository import PreferenceRepository
from preferences.repository.client import dynamodb_client
from preferences.repository.items import thread_item
from tests.bench.work import AT, EDITS, NEW, OWNER, ROW, thread

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

BINARY = Path(__file__).parents[1] / "engines/node_modules/@dynoxide/linux-x64/dynoxide"
TABLE = "preferences"
READS = ("GetItem", "Query")
SIZES = (5, 20, 50, 100)
THREADS = (10, 1_000, 100_000)
TIMES = 250  # each operation, at each number of threads
USER = Caller.user(OWNER)
AGENT = Caller(actor="agent", owner=OWNER, who="AGENT", reasoning="As it was said.")


def absent() -> str | None:
    """Why none of this can be measured here."""
    return None if BINARY.exists() else "the second engine is not installed: npm ci --prefix tests/engines"


@contextmanager
def serving(database: Path) -> Iterator["DynamoDBClient"]:
    """A client as the functions have it, for an engine of its own that keeps its data in this file."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(BINARY), "--host", "127.0.0.1", "--port", str(port), "--db-path", str(database)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for(port)
        os.environ["AWS_ENDPOINT_URL_DYNAMODB"] = f"http://127.0.0.1:{port}"
        dynamodb_client.cache_clear()
        create_table(boto3.client("dynamodb"), Template(references={"Table": TABLE}), TABLE)
        yield dynamodb_client()
    finally:
        dynamodb_client.cache_clear()
        os.environ.pop("AWS_ENDPOINT_URL_DYNAMODB", None)
        process.terminate()
        process.wait(10)


def _wait_for(port: int) -> None:
    for _ in range(500):
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        time.sleep(0.01)
    raise RuntimeError("the second engine does not start")


# -- calls and capacity


DRAFTS = [Draft(**fields) for fields in NEW]


def _edits(size: int) -> list[IndexedEdit]:
    return [IndexedEdit(**edit) for edit in EDITS if edit["index"] <= size]


def _keep_history(repo: PreferenceRepository, stored: Thread) -> None:
    """What the stream's handler does with a user's edit of one row."""
    before = Change(id="1" * 32, actor="user", who=OWNER, action="lock", at=AT)
    first, *others = stored.preferences
    rows = (first.model_copy(update={"title": "As it was before"}), *others)
    old = {"revision": stored.revision - 1, "preferences": rows, "last_change": before}
    entry = rules.entry_of(stored.model_copy(update=old), stored)
    repo.history.put(stored.thread_id, entry)


# name → (what is done with a list, rows that it adds: so many fewer are there before)
Operation = Callable[[PreferenceRepository, Thread], Any]
OPERATIONS: dict[str, tuple[Operation, int]] = {
    "list": (lambda repo, t: repo.list_preferences(t.thread_id, USER), 0),
    "user edits 1": (lambda repo, t: repo.edit_preference(t.thread_id, ROW, {"title": "Else"}, USER), 0),
    "user locks 1": (lambda repo, t: repo.set_lock(t.thread_id, ROW, USER, locked=True), 0),
    "user removes 1": (lambda repo, t: repo.remove_preference(t.thread_id, ROW, USER), 0),
    "user adds 1": (lambda repo, t: repo.add_preferences_bulk(t.thread_id, DRAFTS[:1], USER), 1),
    "user locks all": (lambda repo, t: repo.set_all_locks(t.thread_id, USER, locked=True), 0),
    "user reorders all": (
        lambda repo, t: repo.reorder(t.thread_id, [row.id for row in reversed(t.preferences)], USER),
        0,
    ),
    "agent adds 5": (lambda repo, t: repo.add_preferences_bulk(t.thread_id, DRAFTS[:5], AGENT), 5),
    "agent edits 5": (lambda repo, t: repo.update_preferences(t.thread_id, _edits(5), AGENT), 0),
    "agent removes 5": (lambda repo, t: repo.remove_preferences(t.thread_id, [1, 2, 3, 4, 5], AGENT), 0),
    "stream keeps an edit": (_keep_history, 0),
    "user registers a thread": (lambda repo, t: repo.register_thread(f"{t.thread_id}-new", USER), 0),
    "user deletes a thread": (lambda repo, t: repo.delete_thread(t.thread_id, USER), 0),
}


def capacity() -> list[dict]:
    """For each operation and size of the list: calls by name, units read, units written."""
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder) / "db") as client:
        return [
            {"operation": name, "rows": size, **_units(client, name, size)}
            for name in OPERATIONS
            for size in SIZES
        ]


def _units(client: "DynamoDBClient", name: str, size: int) -> dict:
    operation, adds = OPERATIONS[name]
    stored = thread(size - adds).model_copy(update={"thread_id": f"{name.replace(' ', '-')}-{size}"})
    client.put_item(TableName=TABLE, Item=thread_item(stored))
    asked: list[tuple[str, float]] = []

    def ask(params: dict, **_: object) -> dict:
        return {**params, "ReturnConsumedCapacity": "TOTAL"}

    def note(model: Any, parsed: dict, **_: object) -> None:
        asked.append((model.name, parsed["ConsumedCapacity"]["CapacityUnits"]))

    client.meta.events.register("provide-client-params.dynamodb", ask)
    client.meta.events.register("after-call.dynamodb", note)
    operation(PreferenceRepository(client, TABLE), stored)
    client.meta.events.unregister("provide-client-params.dynamodb", ask)
    client.meta.events.unregister("after-call.dynamodb", note)
    return {
        "calls": [call for call, _ in asked],
        "read": sum(units for call, units in asked if call in READS),
        "written": sum(units for call, units in asked if call not in READS),
    }


# -- growth


def growth() -> list[dict]:
    """How long a list and an edit take, in milliseconds, in tables of few and of many threads, in turn."""
    chance = random.Random(7)
    taken: dict[tuple[str, int], list[float]] = {
        (name, threads): [] for name in ("list", "edit") for threads in THREADS
    }
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        schema = _schema(folder)
        tables = {
            threads: PreferenceRepository(
                stack.enter_context(serving(_filled(folder, schema, threads))), TABLE
            )
            for threads in THREADS
        }
        for n in range(TIMES):
            for threads, repo in tables.items():
                chosen = chance.randrange(threads)
                caller = Caller.user(f"user-{chosen}")
                began = time.perf_counter()
                repo.list_preferences(f"thread-{chosen}", caller)
                listed = time.perf_counter()
                repo.edit_preference(f"thread-{chosen}", ROW, {"title": f"Title {n}"}, caller)
                taken["list", threads].append((listed - began) * 1000)
                taken["edit", threads].append((time.perf_counter() - listed) * 1000)
    return [
        {"operation": name, "threads": threads, "milliseconds": sorted(milliseconds)}
        for (name, threads), milliseconds in taken.items()
    ]


def _schema(folder: Path) -> Path:
    """The table as the engine describes it, in a file, for its import."""
    with serving(folder / "empty"):
        reported = boto3.client("dynamodb").describe_table(TableName=TABLE)
    path = folder / "schema.json"
    path.write_text(json.dumps({"Table": reported["Table"]}, default=str))
    return path


def _filled(folder: Path, schema: Path, threads: int) -> Path:
    """A database with so many threads, brought in as an export of DynamoDB's: 100,000 calls take too long."""
    source = folder / str(threads)
    data = source / TABLE / "data"
    data.mkdir(parents=True)
    some = thread(3).model_copy(update={"thread_id": "thread-@", "owner": "user-@"})
    line = json.dumps({"Item": thread_item(some)})
    with gzip.open(data / "items.json.gz", "wt", compresslevel=1) as file:
        file.writelines(line.replace("-@", f"-{n}") + "\n" for n in range(threads))
    database = source / "db"
    command = [
        str(BINARY),
        "import",
        "--source",
        str(source),
        "--schema",
        str(schema),
        "--output",
        str(database),
    ]
    subprocess.run(command, check=True, capture_output=True)
    return database

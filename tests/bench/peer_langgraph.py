"""LangGraph's SqliteStore on a file, at the same work; prints (ms, ms of CPU) of each conversation as JSON.

Run in the peer's own environment: it imports nothing of ours.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

from langgraph.store.base import PutOp
from langgraph.store.sqlite import SqliteStore


def conversation(store: SqliteStore, name: str) -> None:
    """Add 10, list, update 5, remove 5; each batch at once, as the store offers it."""
    place = ("preferences", name)
    rows = {
        f"{n:032x}": {"title": f"A new one {n}", "subtitle": "with its qualifier", "kind": "hard"}
        for n in range(10)
    }
    store.batch([PutOp(place, key, row) for key, row in rows.items()])
    keys = [item.key for item in store.search(place, limit=100)]
    if len(keys) != 10:
        raise RuntimeError("the peer did not keep the rows")
    store.batch([PutOp(place, key, {**rows[key], "title": "Another title"}) for key in keys[:5]])
    store.batch([PutOp(place, key, None) for key in keys[5:]])


def main() -> None:
    times = int(sys.argv[1])
    taken = []
    with (
        tempfile.TemporaryDirectory() as folder,
        SqliteStore.from_conn_string(str(Path(folder) / "db")) as store,
    ):
        store.setup()
        for n in range(times + 5):
            began, cpu = time.perf_counter(), time.process_time()
            conversation(store, f"conversation-{n}")
            taken.append(((time.perf_counter() - began) * 1000, (time.process_time() - cpu) * 1000))
    json.dump(taken[5:], sys.stdout)


if __name__ == "__main__":
    main()

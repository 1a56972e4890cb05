"""LangGraph's stores, by BaseStore's put, get, delete, search and batch."""

import time
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path

from langgraph.store.base import BaseStore, PutOp
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

from tests.compare.system import BY_ADAPTER, Answer, KeyedStore, Row, as_text, full


class MemoryStore(KeyedStore):
    name = "LangGraph InMemoryStore"
    packages = ("langgraph-checkpoint",)
    better = (
        "recall by meaning, with an embedding model",
        "a write without a read",
        "part of a framework that many agents run on already",
    )
    kept = "in memory"
    notes: Mapping[str, str] = {
        "lost answer": "once, where the application makes the key of the text",
        **BY_ADAPTER,
    }
    store: BaseStore

    def start(self, folder: Path) -> None:
        self.store = InMemoryStore()

    def put(self, thread: str, key: str, row: Row) -> None:
        self.calls += 1
        self.store.put(("ada", thread), key, row)

    def get(self, thread: str, key: str) -> Row | None:
        self.calls += 1
        item = self.store.get(("ada", thread), key)
        return item and item.value

    def delete(self, thread: str, key: str) -> None:
        self.calls += 1
        self.store.delete(("ada", thread), key)

    def items(self, thread: str) -> tuple[list[tuple[str, Row]], str]:
        self.calls += 1
        found = self.store.search(("ada", thread), limit=100)
        # The store has no order of its own that an application could rely on; `made` is the application's.
        found.sort(key=lambda item: item.value["made"])
        rows = [(item.key, item.value) for item in found]
        return rows, as_text(
            [{"key": key, **{k: v for k, v in row.items() if k != "made"}} for key, row in rows]
        )

    def add(self, thread: str, rows: list[Row]) -> Answer:
        """All in one batch, as the store offers it."""
        self.calls += 1
        start = time.time_ns()
        self.store.batch(
            [
                PutOp(("ada", thread), str(uuid.uuid4()), {**full(row), "made": start + n})
                for n, row in enumerate(rows)
            ]
        )
        return Answer(f"recorded {len(rows)}", set(range(1, len(rows) + 1)))

    def _each(self, thread, seen, positions: Iterable[int], write) -> Answer:
        """One read of the rows that are meant, the look at their locks, and one batch of writes."""
        wanted = {p: seen.ref(p) for p in positions}
        self.calls += 1
        found = {item.key: item.value for item in self.store.search(("ada", thread), limit=100)}
        free = {p: key for p, key in wanted.items() if key in found and not found[key]["locked"]}
        self.come_between()
        edits = {p: write(key, found[key], p) for p, key in free.items()}
        self.calls += 1
        self.store.batch([PutOp(("ada", thread), free[p], row) for p, row in edits.items()])
        return Answer(f"done {sorted(free)}, skipped {sorted(wanted.keys() - free.keys())}", set(free))

    def update(self, thread, seen, edits) -> Answer:
        return self._each(thread, seen, edits, lambda key, now, p: {**now, **edits[p]})

    def remove(self, thread, seen, positions) -> Answer:
        return self._each(thread, seen, positions, lambda *_: None)

    def search(self, text: str) -> list[str]:
        found = self.store.search(("ada",), limit=10_000)
        return [item.value["title"] for item in found if text in item.value["title"]]


class SqlStore(MemoryStore):
    name = "LangGraph SqliteStore"
    packages = ("langgraph-checkpoint-sqlite",)
    kept = "on disk"

    def start(self, folder: Path) -> None:
        self._context = SqliteStore.from_conn_string(str(folder / "db"))
        self.store = self._context.__enter__()
        self.store.setup()

    def stop(self) -> None:
        self._context.__exit__(None, None, None)

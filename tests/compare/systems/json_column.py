"""A list as JSON in a column of SQLite, with and without a version: what a team writes on an afternoon."""

import json
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.compare.system import BY_ADAPTER, Answer, Row, Seen, System, full


class JsonColumn(System):
    name = "JSON column"
    packages = ("SQLite",)
    better = ("nothing to learn, in every database, one file of code", "a write without a read")
    notes: Mapping[str, str] = {"positions": "rows with ids of their own would hold", **BY_ADAPTER}

    def start(self, folder: Path) -> None:
        self.db = sqlite3.connect(folder / "db", isolation_level=None, check_same_thread=False)
        self.db.execute("CREATE TABLE lists (thread TEXT PRIMARY KEY, version INTEGER, rows TEXT)")

    def stop(self) -> None:
        self.db.close()

    def new(self, thread: str) -> None:
        self.db.execute("INSERT INTO lists VALUES (?, 1, '[]')", [thread])

    def read(self, thread: str) -> Seen:
        self.calls += 1
        version, text = self.db.execute(
            "SELECT version, rows FROM lists WHERE thread = ?", [thread]
        ).fetchone()
        return Seen([{"ref": n, **row} for n, row in enumerate(json.loads(text), 1)], text, version)

    def write(self, thread: str, rows: list[Row], seen: Seen) -> bool:
        self.calls += 1
        text = json.dumps([{k: v for k, v in row.items() if k != "ref"} for row in rows])
        return bool(self.db.execute(*self.statement(text, thread, seen)).rowcount)

    def statement(self, text: str, thread: str, seen: Seen) -> tuple[str, list]:
        return "UPDATE lists SET rows = ? WHERE thread = ?", [text, thread]

    def current(self, thread: str, seen: Seen) -> Seen:
        """The list that a write starts from: read again, so that the lock is looked at as late as can be."""
        return self.read(thread)

    def change(self, thread: str, now: Seen, rows: list[Row], done: Iterable[int]) -> Answer:
        self.come_between()
        if self.write(thread, rows, now):
            return Answer(f"done: {sorted(done)}", set(done), now.guard + 1)
        return Answer("the list has changed since: read it again")

    def add(self, thread: str, rows: list[Row]) -> Answer:
        now = self.read(thread)
        return self.change(thread, now, now.rows + [full(row) for row in rows], range(1, len(rows) + 1))

    def seen(self, thread: str) -> Seen:
        return self.read(thread)

    def update(self, thread: str, seen: Seen, edits: Mapping[int, Row]) -> Answer:
        now = self.current(thread, seen)
        free = {p for p in edits if p <= len(now.rows) and not now.rows[p - 1]["locked"]}
        rows = [{**row, **edits[n]} if n in free else row for n, row in enumerate(now.rows, 1)]
        return self.change(thread, now, rows, free)

    def remove(self, thread: str, seen: Seen, positions: Iterable[int]) -> Answer:
        now = self.current(thread, seen)
        free = {p for p in positions if p <= len(now.rows) and not now.rows[p - 1]["locked"]}
        return self.change(thread, now, [r for n, r in enumerate(now.rows, 1) if n not in free], free)

    def user_edit(self, thread: str, title: str, fields: Row) -> None:
        now = self.read(thread)
        assert self.write(thread, [{**r, **fields} if r["title"] == title else r for r in now.rows], now)

    def user_remove(self, thread: str, title: str) -> None:
        now = self.read(thread)
        assert self.write(thread, [r for r in now.rows if r["title"] != title], now)

    def search(self, text: str) -> list[str]:
        found = self.db.execute("SELECT rows FROM lists WHERE rows LIKE ?", [f"%{text}%"]).fetchall()
        return [row["title"] for [rows] in found for row in json.loads(rows)]


class VersionedJsonColumn(JsonColumn):
    name = "JSON column with a version"
    better = ("nothing to learn, in every database, one file of code",)
    notes = BY_ADAPTER

    def statement(self, text: str, thread: str, seen: Seen) -> tuple[str, list]:
        return (
            "UPDATE lists SET rows = ?, version = version + 1 WHERE thread = ? AND version = ?",
            [text, thread, seen.guard],
        )

    def current(self, thread: str, seen: Seen) -> Seen:
        return seen

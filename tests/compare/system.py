"""What a control asks of a system, and what an adapter for a store of keys has to say.

Only the standard library: each system runs in an environment of its own.
"""

import json
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Row = dict[str, Any]
"""{title, subtitle, kind, locked}, and `ref`: how the system names the row to a model."""

UNKNOWN = str(uuid.UUID(int=7))
"""A reference that no row has."""


BY_ADAPTER = {
    "insistent agent": "the adapter looks at the lock, which means nothing to the store",
    "partial results": "in the adapter's words, as a store has none",
}
"""Notes for what keeps values, and has no tools for a model."""


@dataclass
class Seen:
    """A list as an agent read it: its rows, the text that a model gets, what guards a later write."""

    rows: list[Row]
    text: str
    guard: Any = None

    def ref(self, position: int) -> Any:
        return self.rows[position - 1]["ref"] if position <= len(self.rows) else UNKNOWN


@dataclass
class Answer:
    """What a call of the agent's is told: the text for the model, and the positions said to be done."""

    text: str
    done: set[int] = field(default_factory=set)
    guard: Any = None
    """What guards the next write in the place of the list's, where the call says so."""


class System:
    """A system under comparison. What it has no notion of stays as it is here, and `lacks` may say why."""

    name: str
    packages: tuple[str, ...] = ()
    lacks: Mapping[str, str] = {}
    """control → the sentence for its cell, where there is nothing to try."""
    kept = "on disk"
    """Where the data is after a write."""
    better: tuple[str, ...] = ()
    """What it does and ours does not, by its own documentation."""
    notes: Mapping[str, str] = {}
    """control → what else its cell has to say, whatever was found."""
    rounds = 200
    """How often the lock's interleaving is forced."""
    conversations = 20
    """How many are measured, after three that are not."""

    def __init__(self) -> None:
        self.calls = 0
        """Calls of its public API so far."""
        self.heeds_locks = True
        """Whether the model keeps off what its list shows as locked. An adapter's own look at it stays."""
        self.between: Callable[[], object] | None = None
        """Done once, after the agent's write has looked at the list and before it is sent."""

    def start(self, folder: Path) -> None: ...

    def stop(self) -> None: ...

    def processes(self) -> list[int]:
        """Servers whose processor time counts beside its own."""
        return []

    def engine_requests(self) -> int | None:
        """Requests to a database server behind it so far, where there is one that can be watched."""
        return None

    def new(self, thread: str) -> None: ...

    def come_between(self) -> None:
        other, self.between = self.between, None
        if other:
            calls = self.calls
            other()
            self.calls = calls

    # the agent
    def add(self, thread: str, rows: list[Row]) -> Answer:
        raise NotImplementedError

    def seen(self, thread: str) -> Seen:
        raise NotImplementedError

    def update(self, thread: str, seen: Seen, edits: Mapping[int, Row]) -> Answer:
        raise NotImplementedError

    def remove(self, thread: str, seen: Seen, positions: Iterable[int]) -> Answer:
        raise NotImplementedError

    # the user; rows are named by their titles
    def user_edit(self, thread: str, title: str, fields: Row) -> None:
        raise NotImplementedError

    def user_remove(self, thread: str, title: str) -> None:
        raise NotImplementedError

    def user_lock(self, thread: str, title: str) -> None:
        self.user_edit(thread, title, {"locked": True})

    # what not every system has
    history: Callable[[str], Mapping[str, Any]] | None = None
    """The latest change of a thread's only row: {who, why, before, after}, each None where unknown."""
    undo: Callable[[str], object] | None = None
    suggestions: Callable[[str], list[Mapping[str, Any]]] | None = None
    accept: Callable[[str, Mapping[str, Any]], object] | None = None
    prompt: Callable[[str], str] | None = None
    stranger: Callable[[str, Any], tuple[bool, bool]] | None = None
    """(could another user read the list, could another user change the row of this reference)."""
    search: Callable[[str], list[str]] | None = None
    """Titles found in all of a user's conversations by one call."""
    lose_answer: Callable[[], object] | None = None
    """The next write is applied, and its answer does not come back."""


class KeyedStore(System):
    """A store of values under keys, used with care: before each write the row is read and its lock looked at.

    An adapter gives put, get, delete and items; each counts its calls.
    """

    def put(self, thread: str, key: str, row: Row) -> Any:
        raise NotImplementedError

    def get(self, thread: str, key: str) -> Row | None:
        raise NotImplementedError

    def delete(self, thread: str, key: str) -> Any:
        raise NotImplementedError

    def items(self, thread: str) -> tuple[list[tuple[str, Row]], str]:
        """(key, row) in the order of their making, and the text that a model would get."""
        raise NotImplementedError

    def add(self, thread: str, rows: list[Row]) -> Answer:
        said = [self.put(thread, str(uuid.uuid4()), full(row)) for row in rows]
        return Answer(as_text(said), set(range(1, len(rows) + 1)))

    def seen(self, thread: str) -> Seen:
        found, text = self.items(thread)
        return Seen([{"ref": key, **row} for key, row in found], text)

    def update(self, thread: str, seen: Seen, edits: Mapping[int, Row]) -> Answer:
        return self._each(
            thread, seen, edits, lambda key, now, position: self.put(thread, key, {**now, **edits[position]})
        )

    def remove(self, thread: str, seen: Seen, positions: Iterable[int]) -> Answer:
        return self._each(thread, seen, positions, lambda key, *_: self.delete(thread, key))

    def _each(
        self, thread: str, seen: Seen, positions: Iterable[int], write: Callable[[str, Row, int], Any]
    ) -> Answer:
        said, done = [], set()
        for position in positions:
            key = seen.ref(position)
            now = self.get(thread, key)
            if now is None or now["locked"]:
                said.append(f"skipped {key}: {'locked' if now else 'not found'}")
                continue
            self.come_between()
            said.append(write(key, now, position))
            done.add(position)
        return Answer(as_text(said), done)

    def user_edit(self, thread: str, title: str, fields: Row) -> None:
        key, row = self._find(thread, title)
        self.put(thread, key, {**row, **fields})

    def user_remove(self, thread: str, title: str) -> None:
        self.delete(thread, self._find(thread, title)[0])

    def _find(self, thread: str, title: str) -> tuple[str, Row]:
        return next((key, row) for key, row in self.items(thread)[0] if row["title"] == title)


class ToolStore(KeyedStore):
    """A system whose own tools the model calls: nothing stands between the model and the write.

    What a tool says of a call is what the model is told.
    """

    def told_done(self, said: Any) -> bool:
        """Whether the tool's answer says that it was done."""
        raise NotImplementedError

    def _each(
        self, thread: str, seen: Seen, positions: Iterable[int], write: Callable[[str, Row, int], Any]
    ) -> Answer:
        said, done = [], set()
        for position in positions:
            now = seen.rows[position - 1] if position <= len(seen.rows) else full({"title": "Unknown"})
            if now["locked"] and self.heeds_locks:
                continue
            self.come_between()
            answer = write(seen.ref(position), {k: v for k, v in now.items() if k != "ref"}, position)
            said.append(answer)
            if self.told_done(answer):
                done.add(position)
        return Answer(as_text(said), done)


def full(row: Row) -> Row:
    return {"subtitle": None, "kind": "soft", "locked": False, **row}


def as_text(said: Any) -> str:
    """What a tool that hands on the store's own answers would say to a model."""
    return said if isinstance(said, str) else json.dumps(said, ensure_ascii=False, default=str)


def in_words(row: Row) -> str:
    """A row as one line, for systems that keep nothing but text."""
    return json.dumps({name: row[name] for name in ("title", "subtitle", "kind", "locked")})

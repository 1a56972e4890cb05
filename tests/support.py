"""What the store's tests share: the parties, a table to look into, and another writer who comes between."""

import itertools
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any

import boto3
from boto3.dynamodb.types import TypeDeserializer, TypeSerializer

from preferences.model import Caller, Draft, IndexedEdit, Preference, Thread
from preferences.repository import PreferenceRepository

ADA = Caller.user("ada")
EVE = Caller.user("eve")
AGENT = Caller(actor="agent", owner="ada", who="agent-1", reasoning="Because Ada said so.")
TRUSTED = Caller(actor="agent", owner=None, who="agent-2")
"""An agent whose session names the thread alone."""

PARTIES = {"agent": AGENT, "trusted agent": TRUSTED, "user": ADA}

_numbers = itertools.count(1)
_serialize = TypeSerializer().serialize
_deserialize = TypeDeserializer().deserialize


def overtake(thread_id: str) -> Callable[..., None]:
    """For botocore's event before-call: before the next UpdateItem, other code writes to the thread.

    It is code of an older version, which does not say so in `recent`. So what became of the UpdateItem can't
    be known. The table is the one that the environment names.
    """
    overtaken: list[str] = []

    def hook(model: Any, **_: Any) -> None:
        if model.name == "UpdateItem" and not overtaken:
            overtaken.append(thread_id)
            boto3.client("dynamodb").update_item(
                TableName=os.environ["TABLE_NAME"],
                Key={"pk": {"S": f"THREAD#{thread_id}"}, "sk": {"S": "PREFERENCES"}},
                UpdateExpression="SET #revision = #revision + :one",
                ExpressionAttributeNames={"#revision": "revision"},
                ExpressionAttributeValues={":one": {"N": "1"}},
            )

    return hook


def drafts(*titles: str, **fields: Any) -> list[Draft]:
    return [Draft(title=title, **fields) for title in titles]


def edits(*pairs: tuple[int, str], **fields: Any) -> list[IndexedEdit]:
    return [IndexedEdit(index=index, title=title, **fields) for index, title in pairs]


WRITES = {
    "edit": lambda repo, thread: repo.edit_preference(thread, "A", {"title": "New"}, ADA),
    "edit and lock": lambda repo, thread: repo.edit_preference(
        thread, "A", {"title": "New", "locked": True}, ADA
    ),
    "edit with If-Match": lambda repo, thread: repo.edit_preference(
        thread, "A", {"title": "New"}, ADA, if_match={1}
    ),
    "lock": lambda repo, thread: repo.set_lock(thread, "A", ADA, locked=True),
    "unlock": lambda repo, thread: repo.set_lock(thread, "B", ADA, locked=False),
    "lock what is locked": lambda repo, thread: repo.set_lock(thread, "B", ADA, locked=True),
    "remove by id": lambda repo, thread: repo.remove_preference(thread, "A", ADA),
    "remove what is locked": lambda repo, thread: repo.remove_preference(thread, "B", ADA),
    "delete the thread": lambda repo, thread: repo.delete_thread(thread, ADA),
    "add (agent)": lambda repo, thread: repo.add_preferences_bulk(thread, drafts("X", "Y"), AGENT),
    "add (user)": lambda repo, thread: repo.add_preferences_bulk(thread, drafts("X", "Y"), ADA),
    "update": lambda repo, thread: repo.update_preferences(thread, edits((1, "X"), (3, "Y")), AGENT),
    "remove": lambda repo, thread: repo.remove_preferences(thread, [1, 3], AGENT),
    "reorder": lambda repo, thread: repo.reorder(thread, ["B", "A"], ADA),
    "lock all": lambda repo, thread: repo.set_all_locks(thread, ADA, locked=True),
    "give a title": lambda repo, thread: repo.set_title(thread, "Trip to Rome", ADA),
    "take the title away": lambda repo, thread: repo.set_title(thread, None, ADA),
    "unlock all": lambda repo, thread: repo.set_all_locks(thread, ADA, locked=False),
}
"""Every kind of write, on a thread of A, B and C of which B is locked."""


def row(title: str = "Quiet", *, rank: int = 1, locked: bool = False, **fields: Any) -> dict[str, Any]:
    """A row as the table keeps it, by no means of the repository's."""
    return {
        "title": title,
        "kind": "soft",
        "locked": locked,
        "rank": rank,
        "added": 1,
        "changed": 1,
        "created_by": "agent",
        "created_at": "2026-11-30T22:08:31.123Z",
        "updated_by": "agent",
        "updated_at": "2026-11-30T22:08:31.123Z",
    } | fields


def a_row(title: str = "Quiet", *, id: str = "", **fields: Any) -> Preference:
    """A row as the rules see it; its id is its title where none is given."""
    return Preference(id=id or title, **row(title, **fields))


def a_thread(*rows: str | Preference, locked: Iterable[str] = (), **fields: Any) -> Thread:
    """Ada's thread at revision 7, of these rows or of rows with these titles."""
    made = tuple(
        r if isinstance(r, Preference) else a_row(r, rank=n, locked=r in locked)
        for n, r in enumerate(rows, 1)
    )
    return Thread(**{"thread_id": "t", "owner": "ada", "revision": 7, "preferences": made, **fields})


def _whole(value: Any) -> Any:
    if isinstance(value, Decimal):
        return int(value)
    if isinstance(value, dict):
        return {name: _whole(inner) for name, inner in value.items()}
    return value


class Store:
    """One table, seen by the raw client: what the repository's words are checked against."""

    def __init__(self, table_name: str, new_client: Callable[..., Any], own_client: Any) -> None:
        """`new_client` makes plain clients of boto3, to look with; `own_client` is of the product's make."""
        self.table_name = table_name
        self.new_client = new_client
        self.client = new_client()
        self.other = PreferenceRepository(self.client, table_name)
        """Another writer: a repository over the raw client, neither counted nor interrupted."""
        self.calls: Counter[str] = Counter()
        """DynamoDB operations of `repository()`, since it was last asked for."""
        self.watched = own_client
        self.watched.meta.events.register("before-call.dynamodb", self._count)
        self._before_write: Callable[[], object] = lambda: None
        self._times = 0

    # -- the repository under test

    def repository(
        self,
        *,
        seconds_left: Callable[[], float] = lambda: math.inf,
        before_write: Callable[[], object] = lambda: None,
        times: int = 1,
    ) -> PreferenceRepository:
        """The repository under test, one at a time; `before_write` runs before each of its first writes."""
        self._before_write, self._times = before_write, times
        self.calls.clear()
        return PreferenceRepository(self.watched, self.table_name, seconds_left=seconds_left)

    def _count(self, model: Any, **_: Any) -> None:
        self.calls[model.name] += 1
        if self._times and model.name in ("UpdateItem", "PutItem"):
            self._times -= 1
            self._before_write()

    # -- the table, without the repository

    def key(self, thread_id: str) -> dict[str, Any]:
        return {"pk": {"S": f"THREAD#{thread_id}"}, "sk": {"S": "PREFERENCES"}}

    def new_id(self) -> str:
        return f"thread-{next(_numbers)}"

    def item(self, thread_id: str) -> dict[str, Any] | None:
        """The item, in plain values; None where there is none."""
        answer = self.client.get_item(TableName=self.table_name, Key=self.key(thread_id), ConsistentRead=True)
        return _whole(_deserialize({"M": answer["Item"]})) if "Item" in answer else None

    def rows(self, thread_id: str) -> dict[str, dict[str, Any]]:
        """id → row, in order. The attribute is a map, which has none of its own."""
        item = self.item(thread_id)
        assert item is not None
        return dict(sorted(item["preferences"].items(), key=lambda pair: (pair[1]["rank"], pair[0])))

    def titles(self, thread_id: str) -> list[str]:
        return [stored["title"] for stored in self.rows(thread_id).values()]

    def write(
        self, rows: Mapping[str, Mapping[str, Any]], *, thread_id: str | None = None, **attributes: Any
    ) -> str:
        """Puts an item of Ada's at revision 7 with these rows into the table; its thread id."""
        thread_id = thread_id or self.new_id()
        item = {"owner": "ada", "revision": 7, "renumbered": 0, "preferences": rows} | attributes
        stored = {name: _serialize(value) for name, value in item.items() if value is not None}
        self.client.put_item(TableName=self.table_name, Item=self.key(thread_id) | stored)
        return thread_id

    def thread(self, *titles: str, locked: tuple[str, ...] = ()) -> str:
        """An item of Ada's at revision 7, with rows of these titles, each under its title as its id."""
        return self.write({t: row(t, rank=n, locked=t in locked) for n, t in enumerate(titles, 1)})

    def poke(self, thread_id: str, *path: str, value: Any) -> None:
        """Sets one attribute behind everybody's back: no condition, and the revision stays (None removes)."""
        names = {f"#n{n}": name for n, name in enumerate(path)}
        request: dict[str, Any] = {"UpdateExpression": f"REMOVE {'.'.join(names)}"}
        if value is not None:
            request = {
                "UpdateExpression": f"SET {'.'.join(names)} = :value",
                "ExpressionAttributeValues": {":value": _serialize(value)},
            }
        self.client.update_item(
            TableName=self.table_name,
            Key=self.key(thread_id),
            ExpressionAttributeNames=names,
            **request,
        )

    def flip(self, thread_id: str, preference_id: str, *, locked: bool) -> None:
        self.poke(thread_id, "preferences", preference_id, "locked", value=locked)

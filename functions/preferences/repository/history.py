"""The entries of the history: one for each committed write, beside the thread that it was made on.

pk = THREAD#<thread_id>, sk = CHANGE#<revision, 10 digits>
user          S   whose list it was; not `owner`, which is the key of an index
id, actor, who, action, reasoning, at      of the write, as in the thread's last_change
rows          L   of M: id; before and after, M of the attributes that differ (NULL: none; version 1.0.0 wrote
                  a subtitle of "" for it); title, where neither holds it
expires_at    N   epoch seconds, the table's TTL attribute

An entry belongs to one generation of its thread: the revisions from its registration or restoration to its
deletion. Entries of an earlier generation are never shown, and are removed. The order of the stream is not
enough for that: a batch may be delivered twice, and a record much later. So every put is followed by a look
at the thread:

    stream   puts entry 7
    user                    deletes the thread: revision 8
    stream                                      reads the tombstone, removes entries up to 8
    late                    puts entry 7 again  looks at the thread, removes it

A late put falls before the removal, which then removes it; or after the removal, and then the look, which
comes later still, finds the tombstone or a later generation. When the tombstone itself has expired, so have
the entries.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from preferences.errors import ChangeNotFound, HistoryNotReady
from preferences.model import Attributes, Entry, RowChange, Thread
from preferences.repository.client import history_days
from preferences.repository.items import (
    Item,
    change_fields,
    key,
    plain_map,
    read_change,
    read_thread,
    thread_id_of,
    typed,
)
from preferences.repository.table import Budget, ThreadTable
from preferences.rules import belongs

RECORD_SECONDS = 21600
"""The template has Lambda try a record of the stream for so long, or ten times. Then no entry comes of it."""
GRACE_SECONDS = 60
"""How long an entry may be missing while a later one is there: a record that failed is tried again soon."""
MAX_QUERIES = 4
"""At most so many for one page: a long row of revisions may have changed no row."""


class History:
    """The entries of one table. Every call may be made twice, so each is repeated until it succeeds.

    Every method may raise Busy, when time ends.
    """

    def __init__(self, table: ThreadTable) -> None:
        self._table = table

    def put(self, thread_id: str, entry: Entry) -> None:
        """Stores an entry: once, however often it is put, and only if it is of the present generation."""
        item = _item(thread_id, entry)
        if _is_over(item):
            return
        self._unless_refused(
            self._table.client.put_item,
            Item=item,
            ConditionExpression="attribute_not_exists(#pk)",
            ExpressionAttributeNames={"#pk": "pk"},
        )
        if not belongs(entry, self._thread(thread_id)):
            self._unless_refused(
                self._table.client.delete_item,
                Key=_key(thread_id, entry.revision),
                ConditionExpression="#id = :id",  # not the entry of a later generation
                ExpressionAttributeNames={"#id": "id"},
                ExpressionAttributeValues={":id": item["id"]},
            )

    def purge(self, thread_id: str, revision: int) -> None:
        """Removes the entries of the generation that ended with this revision.

        Where it raises Busy it may have removed some of them: call it again.
        """
        thread = self._thread(thread_id)
        last = revision if thread.owner is None else min(revision, thread.revived - 1)
        request = self._between(thread_id, 0, last)
        request |= {"ProjectionExpression": "#pk, #sk", "ConsistentRead": True}
        while last > 0:
            page = self._table.ask(lambda: self._table.client.query(**request))
            requests = [{"DeleteRequest": {"Key": entry_key}} for entry_key in page["Items"]]
            self._table.in_batches(requests, self._delete)
            if "LastEvaluatedKey" not in page:
                break
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def page(
        self, thread: Thread, *, limit: int, before: int | None = None, budget: Budget | None = None
    ) -> tuple[tuple[Entry, ...], int | None]:
        """(up to `limit` entries that changed a row, the newest first; the `before` of the next page).

        Fewer than `limit` before the end where they are large (a query answers 1 MB at most), or where many
        revisions changed no row.
        """
        first = max(thread.revived, 1)
        last = thread.revision if before is None else min(thread.revision, before - 1)
        for _ in range(MAX_QUERIES):
            if last < first:
                return (), None
            request = self._between(thread.thread_id, first, last)
            request |= {"ScanIndexForward": False, "Limit": limit + 1}
            answer = self._table.ask(partial(self._table.client.query, **request), budget)
            kept = [_entry(item) for item in answer["Items"] if not _is_over(item)]
            entries = [entry for entry in kept if entry.rows and belongs(entry, thread)]
            if len(entries) > limit:
                return tuple(entries[:limit]), entries[limit - 1].revision
            if "LastEvaluatedKey" not in answer or len(kept) < len(answer["Items"]):
                return tuple(entries), None
            last = _revision(answer["LastEvaluatedKey"]) - 1
            if entries:
                break
        return tuple(entries), last + 1 if last >= first else None

    def find(self, thread: Thread, revision: int, budget: Budget | None = None) -> Entry:
        """The entry of a revision. Raises ChangeNotFound, HistoryNotReady.

        Every revision gets an entry, mostly in order. One that isn't there is still to come, unless a later
        one is there and was made GRACE_SECONDS ago, or the last write was made RECORD_SECONDS ago.
        """
        if not max(thread.revived, 1) <= revision <= thread.revision:
            raise ChangeNotFound
        request = self._between(thread.thread_id, revision, thread.revision)
        request |= {"Limit": 1, "ConsistentRead": True}
        items = self._table.ask(lambda: self._table.client.query(**request), budget)["Items"]
        entry = _entry(items[0]) if items else None
        if entry is not None and entry.revision == revision:
            if _is_over(items[0]) or not belongs(entry, thread):
                raise ChangeNotFound
            return entry
        since, patience = (entry.change, GRACE_SECONDS) if entry else (thread.last_change, RECORD_SECONDS)
        if since is not None and time.time() < _seconds(since.at) + patience:
            raise HistoryNotReady
        raise ChangeNotFound

    def _thread(self, thread_id: str) -> Thread:
        """The thread as it is now, without its rows."""
        names = {"#revision": "revision", "#owner": "owner", "#revived": "revived"}
        answer = self._table.ask(
            lambda: self._table.client.get_item(
                TableName=self._table.name,
                Key=key(thread_id),
                ConsistentRead=True,
                ProjectionExpression=", ".join(names),
                ExpressionAttributeNames=names,
            )
        )
        return read_thread(thread_id, answer.get("Item"))

    def _between(self, thread_id: str, first: int, last: int) -> dict[str, Any]:
        """The parameters of a query for the entries from one revision to another, both included."""
        return {
            "TableName": self._table.name,
            "KeyConditionExpression": "#pk = :pk AND #sk BETWEEN :first AND :last",
            "ExpressionAttributeNames": {"#pk": "pk", "#sk": "sk"},
            "ExpressionAttributeValues": {
                ":pk": _key(thread_id, first)["pk"],
                ":first": _key(thread_id, first)["sk"],
                ":last": _key(thread_id, last)["sk"],
            },
        }

    def _delete(self, requests: Sequence[Any]) -> Sequence[Any]:
        """Sends these requests to delete, and returns those that DynamoDB left over."""
        answer = self._table.client.batch_write_item(RequestItems={self._table.name: requests})
        left_over: Sequence[Any] = answer.get("UnprocessedItems", {}).get(self._table.name, [])
        return left_over

    def _unless_refused(self, call: Callable[..., Any], **request: Any) -> None:
        """Makes a conditional call; that its condition doesn't hold is as good as done."""
        refused = self._table.client.exceptions.ConditionalCheckFailedException

        def attempt() -> None:
            with suppress(refused):
                call(TableName=self._table.name, **request)

        self._table.ask(attempt)


@dataclass(frozen=True, slots=True)
class Images:
    """A thread before and after a write; at revision 0 where there was none, or is none any more."""

    old: Thread
    new: Thread


_IMAGES = {"INSERT": (False, True), "MODIFY": (True, True), "REMOVE": (True, False)}


def read_images(record: Mapping[str, Any]) -> Images | None:
    """What a record of the table's stream says of a thread; None for a record of anything else.

    Raises whatever comes of a record that can't be read.
    """
    body = record["dynamodb"]
    thread_id = thread_id_of(body["Keys"])
    if body["Keys"] != key(thread_id):
        return None
    old, new = body.get("OldImage"), body.get("NewImage")
    # Without an image that ought to be there, an edit would look like an addition, or a removal.
    if (bool(old), bool(new)) != _IMAGES[record["eventName"]]:
        raise ValueError("the record has not the images of its event")
    return Images(read_thread(thread_id, old), read_thread(thread_id, new))


# -- the one serialiser, the one parser


def _key(thread_id: str, revision: int) -> dict[str, dict[str, str]]:
    return key(thread_id) | {"sk": {"S": f"CHANGE#{revision:010d}"}}


def _revision(key_or_item: Item) -> int:
    return int(key_or_item["sk"]["S"].removeprefix("CHANGE#"))


def _item(thread_id: str, entry: Entry) -> dict[str, dict[str, Any]]:
    attributes = {
        **change_fields(entry.change),
        "user": entry.owner,
        "rows": [_row_fields(row) for row in entry.rows],
        "expires_at": int(_seconds(entry.change.at)) + history_days() * 86400,
    }
    return _key(thread_id, entry.revision) | {name: typed(value) for name, value in attributes.items()}


def _entry(item: Item) -> Entry:
    attributes = plain_map(item)
    return Entry(
        revision=_revision(item),
        owner=attributes["user"],
        change=read_change(attributes),
        rows=tuple(_row_change(fields) for fields in attributes["rows"]),
    )


def _row_fields(row: RowChange) -> dict[str, object]:
    sides = {"before": row.before, "after": row.after}
    fields: dict[str, object] = {"id": row.id}
    fields |= {name: attributes for name, attributes in sides.items() if attributes is not None}
    if "title" not in (row.after or row.before or {}):
        fields["title"] = row.title
    return fields


def _row_change(fields: Mapping[str, Any]) -> RowChange:
    before, after = _attributes(fields.get("before")), _attributes(fields.get("after"))
    title = fields["title"] if "title" in fields else (after or before or {})["title"]
    return RowChange(id=fields["id"], title=title, before=before, after=after)


def _attributes(stored: Mapping[str, Any] | None) -> Attributes | None:
    if stored is None:
        return None
    return {name: None if value == "" and name == "subtitle" else value for name, value in stored.items()}


def _is_over(item: Item) -> bool:
    """Whether the item's time is over: the table removes it then, but not at once."""
    return int(item["expires_at"]["N"]) <= time.time()


def _seconds(at: str) -> float:
    return datetime.fromisoformat(at).timestamp()

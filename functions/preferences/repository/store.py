"""What is done to threads: one item each, and three shapes of write.

    register   PutItem, on the condition that there is no item; if a tombstone of the user's is in its place,
               one UpdateItem on the condition that its revision is still that one
    blind      one UpdateItem that reads nothing: the user's edit, lock, unlock and removal of one row, and
               the deletion of the thread
    planned    GetItem, a plan made from it (rules), one UpdateItem on the condition that the revision is
               still the one that was read (PutItem where there is no item yet): batches, the lock of all
               rows, the order, undo

`calls` has one more, which voids a write that nobody heard of again.

Time runs down; on the right, what the condition of a write holds it to.

    agent   reads revision 7, #2 is unlocked
    user                             locks #2: revision 8, acknowledged
    agent   writes #2                            refused: revision is 8, and #2 is locked
            the refusal brings the item: plans again, skips #2, writes the rest on revision 8

The lock stands in the agent's condition in its own right: it would hold without the revision.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from preferences import rules
from preferences.errors import Busy, PreconditionFailed, PreferenceNotFound, ThreadNotFound, ThreadTaken
from preferences.model import (
    Caller,
    Change,
    Draft,
    Entry,
    Fields,
    IndexedEdit,
    Preference,
    Report,
    Thread,
    new_id,
)
from preferences.repository.calls import WRITE, Calls, NotApplied, Refused
from preferences.repository.client import dynamodb_client, history_days, table_name
from preferences.repository.expressions import Expressions
from preferences.repository.history import History
from preferences.repository.items import change_fields, key, row_fields

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

Planner = Callable[[Thread, Thread, rules.Write], rules.Plan]
"""(the thread when the call came, the thread that the write will meet, the write) → plan."""


@dataclass(frozen=True, slots=True)
class Written:
    """The fresh list, and what became of each element of the request."""

    thread: Thread
    reports: tuple[Report, ...] = ()


def open_repository(seconds_left: Callable[[], float]) -> "PreferenceRepository":
    """The repository over the table that the environment names, for a caller with so many seconds left."""
    return PreferenceRepository(dynamodb_client(), table_name(), seconds_left=seconds_left)


class PreferenceRepository:
    """A write is done when its method returns, mostly with the fresh list; one that raises changed nothing.

    The exception is OutcomeUnknown. All may raise Busy, and all that take a thread ThreadNotFound, when it is
    not the caller's; only `register_thread` says ThreadTaken instead. Faults of the deployment (no table, no
    permission) are raised as they come.
    """

    def __init__(
        self,
        client: "DynamoDBClient",
        table_name: str,
        *,
        seconds_left: Callable[[], float] = lambda: math.inf,
    ) -> None:
        self._calls = Calls(client, table_name, seconds_left)

    @property
    def retries(self) -> int:
        """Tries beyond the first, of reads and writes alike."""
        return self._calls.retries

    @property
    def updates(self) -> int:
        """How many updates were applied: none by an edit to what already is."""
        return self._calls.updates

    # -- threads

    def register_thread(self, thread_id: str, caller: Caller) -> tuple[Thread, bool]:
        """(the thread, whether it is new to the caller). Raises ThreadTaken if it is somebody else's.

        A thread that the caller deleted comes back empty, and goes on from its revision.
        """
        user = _user(caller)
        change = _change(caller, "register")
        new = Thread(thread_id=thread_id, owner=user, revision=1, last_change=change)
        for _ in self._calls.tries(calls=WRITE):
            try:
                return self._calls.create(new, change, caller), True
            except NotApplied:
                continue
            except Refused as refusal:
                found = refusal.head
                if found.owner == user:
                    return refusal.thread(caller), False
            if found.owner is not None or found.deleted_by != user:
                raise ThreadTaken
            try:
                return self._revive(found, change, caller), True
            except (NotApplied, Refused):
                continue
        raise Busy

    def delete_thread(self, thread_id: str, caller: Caller) -> None:
        """Leaves a tombstone: no owner, no rows, the next revision. The history goes when it is read."""
        change = _change(caller, "delete")
        expires_at = int(time.time()) + (history_days() + 1) * 86400
        for _ in self._calls.tries(calls=WRITE):
            write = Expressions()
            write.require_owner(_user(caller))
            write.put("deleted_by", caller.owner)
            write.put("expires_at", expires_at)
            write.put("last_change", change_fields(change))
            write.next_revision()
            write.remove("owner")
            write.remove("preferences")
            write.remove("renumbered")
            try:
                self._calls.update(thread_id, write, change, caller)
            except NotApplied:
                continue
            except Refused:
                raise ThreadNotFound from None
            return
        raise Busy

    def list_threads(
        self, caller: Caller, *, limit: int, after: str | None = None
    ) -> tuple[tuple[str, ...], str | None]:
        """(thread ids in no particular order, the `after` of the next page). Eventually consistent."""
        user = _user(caller)
        request: dict[str, Any] = {
            "TableName": self._calls.table,
            "IndexName": "owner",
            "KeyConditionExpression": "#owner = :owner",
            "ExpressionAttributeNames": {"#owner": "owner"},
            "ExpressionAttributeValues": {":owner": {"S": user}},
            "Limit": limit,
        }
        if after is not None:
            request["ExclusiveStartKey"] = key(after) | {"owner": {"S": user}}
        answer = self._calls.ask(lambda: self._calls.client.query(**request))
        ids = tuple(item["pk"]["S"].removeprefix("THREAD#") for item in answer["Items"])
        return ids, ids[-1] if answer.get("LastEvaluatedKey") else None

    # -- both parties: lists and batches

    def list_preferences(self, thread_id: str, caller: Caller) -> Thread:
        return self._calls.read(thread_id, caller)

    def add_preferences_bulk(self, thread_id: str, items: Sequence[Draft], caller: Caller) -> Written:
        """New rows at the end, unlocked, in order; exact repeats are reported, not stored.

        The first addition of an agent that comes with a user's id registers the thread for that user.
        Raises ListFull, and then none is stored.
        """
        ids = [new_id() for _ in items]

        def plan(_: Thread, now: Thread, write: rules.Write) -> rules.Plan:
            return rules.plan_additions(now, items, ids, write)

        return self._planned(thread_id, caller, "add", plan)

    def update_preferences(
        self,
        thread_id: str,
        updates: Sequence[IndexedEdit],
        caller: Caller,
        *,
        list_revision: int | None = None,
        respect_lock: bool = True,
    ) -> Written:
        """Edits by position, in the list as it stands, or as it stood at `list_revision` if that still holds.

        An agent's write respects the lock, whatever is asked for.
        """
        respect_lock = respect_lock or caller.actor == "agent"

        def plan(first: Thread, now: Thread, write: rules.Write) -> rules.Plan:
            return rules.plan_updates(
                first, now, updates, write, list_revision=list_revision, respect_lock=respect_lock
            )

        return self._planned(thread_id, caller, "edit", plan, respect_lock=respect_lock)

    def remove_preferences(
        self,
        thread_id: str,
        indices: Sequence[int],
        caller: Caller,
        *,
        list_revision: int | None = None,
        respect_lock: bool = True,
    ) -> Written:
        """Removals by position, as in `update_preferences`."""
        respect_lock = respect_lock or caller.actor == "agent"

        def plan(first: Thread, now: Thread, _: rules.Write) -> rules.Plan:
            return rules.plan_removals(
                first, now, indices, list_revision=list_revision, respect_lock=respect_lock
            )

        return self._planned(thread_id, caller, "remove", plan, respect_lock=respect_lock)

    # -- the user alone: single rows by id, all locks, the order

    def edit_preference(
        self,
        thread_id: str,
        preference_id: str,
        fields: Fields,
        caller: Caller,
        *,
        if_match: int | None = None,
    ) -> Thread:
        """Sets `fields` of one row, locked or not. What already is so is not written.

        Raises PreferenceNotFound, and PreconditionFailed when the row's revision is not `if_match`.
        """
        text = cast(Fields, {name: value for name, value in fields.items() if name != "locked"})
        change = _change(caller, "edit" if text else "lock" if fields["locked"] else "unlock")
        row: Preference | None = None
        for _ in self._calls.tries(calls=WRITE):
            write = Expressions()
            write.require_owner(_user(caller))
            write.require_row(preference_id)
            if if_match is not None:
                write.require_row_revision(preference_id, if_match)
            # `changed` moves only when the text does. Where a refusal has shown that the text is what it
            # shall be, only the lock is left to write, on the condition that the text stays so.
            if not text or (row is not None and _has(row, text)):
                write.require_equality(preference_id, text)
                changes = Fields(locked=fields["locked"])
                write.require_difference(preference_id, changes)
            else:
                changes = fields
                write.require_difference(preference_id, text)
                write.stamp_row(preference_id, "changed", "user_changed")
                write.put_fields(preference_id, {"updated_by": "user", "updated_at": change.at}.items())
            write.put_fields(preference_id, changes.items())
            write.put("last_change", change_fields(change))
            write.next_revision()
            try:
                return self._calls.update(thread_id, write, change, caller)
            except NotApplied:
                continue
            except Refused as refusal:
                thread, row = _present_row(refusal.thread(caller), preference_id, if_match)
                if _has(row, fields):
                    return thread
        raise Busy

    def set_lock(self, thread_id: str, preference_id: str, caller: Caller, *, locked: bool) -> Thread:
        """Locks or unlocks one row, and touches nothing else of it. Raises PreferenceNotFound."""
        return self.edit_preference(thread_id, preference_id, {"locked": locked}, caller)

    def remove_preference(
        self, thread_id: str, preference_id: str, caller: Caller, *, if_match: int | None = None
    ) -> Thread:
        """Removes one row, locked or not. Raises PreferenceNotFound and PreconditionFailed."""
        change = _change(caller, "remove")
        for _ in self._calls.tries(calls=WRITE):
            write = Expressions()
            write.require_owner(_user(caller))
            write.require_row(preference_id)
            if if_match is not None:
                write.require_row_revision(preference_id, if_match)
            write.drop_row(preference_id)
            write.put("last_change", change_fields(change))
            write.next_revision("renumbered")
            try:
                return self._calls.update(thread_id, write, change, caller)
            except NotApplied:
                continue
            except Refused as refusal:
                _present_row(refusal.thread(caller), preference_id, if_match)
        raise Busy

    def set_all_locks(self, thread_id: str, caller: Caller, *, locked: bool) -> Thread:
        def plan(_: Thread, now: Thread, __: rules.Write) -> rules.Plan:
            return rules.plan_locks(now, locked=locked)

        _user(caller)
        action = "lock_all" if locked else "unlock_all"
        return self._planned(thread_id, caller, action, plan, respect_lock=False).thread

    def reorder(self, thread_id: str, ids: Sequence[str], caller: Caller) -> Thread:
        """The named rows first, in this order. Raises InvalidInput for an id that the thread doesn't have."""

        def plan(_: Thread, now: Thread, __: rules.Write) -> rules.Plan:
            return rules.plan_order(now, ids)

        _user(caller)
        return self._planned(thread_id, caller, "reorder", plan, respect_lock=False).thread

    # -- what was done

    @property
    def history(self) -> History:
        return History(self._calls)

    def list_history(
        self, thread_id: str, caller: Caller, *, limit: int, before: int | None = None
    ) -> tuple[tuple[Entry, ...], int | None]:
        """(entries, the newest first; the `before` of the next page). Eventually consistent."""
        return self.history.page(self.list_preferences(thread_id, caller), limit=limit, before=before)

    def undo(self, thread_id: str, revision: int, caller: Caller) -> Thread:
        """Puts the rows of that change back as they were before it, all or none, as a change of its own.

        Raises ChangeNotFound, HistoryNotReady, UndoConflict and ListFull.
        """
        entry: Entry | None = None

        def plan(_: Thread, now: Thread, write: rules.Write) -> rules.Plan:
            nonlocal entry
            if entry is None:
                entry = self.history.find(now, revision)
                if not self._calls.has_time(calls=WRITE):  # it may have taken what the write needs
                    raise Busy
            return rules.plan_undo(now, entry, write)

        _user(caller)
        return self._planned(thread_id, caller, "undo", plan, respect_lock=False).thread

    # -- the planned write

    def _planned(
        self, thread_id: str, caller: Caller, action: str, planner: Planner, *, respect_lock: bool = True
    ) -> Written:
        first = now = self._calls.read(thread_id, caller)
        change = _change(caller, action)
        for _ in self._calls.tries(calls=WRITE):
            revision = now.revision + 1
            plan = planner(first, now, rules.Write(revision=revision, actor=caller.actor, at=change.at))
            if not plan.puts and not plan.drops:
                return Written(now, plan.reports)
            try:
                if now.revision == 0:
                    new = Thread(
                        thread_id=thread_id,
                        owner=caller.owner,
                        revision=revision,
                        preferences=plan.puts,
                        last_change=change,
                    )
                    return Written(self._calls.create(new, change, caller), plan.reports)
                write = self._expressions(now, plan, change, respect_lock)
                return Written(self._calls.update(thread_id, write, change, caller), plan.reports)
            except NotApplied:
                continue
            except Refused as refusal:
                now = refusal.thread(caller)
                if now.revived != first.revived:  # deleted meanwhile, and begun anew: another list
                    raise ThreadNotFound from None
        raise Busy

    def _expressions(self, now: Thread, plan: rules.Plan, change: Change, respect_lock: bool) -> Expressions:
        """The write that a plan asks for, on the condition that it meets what the plan was made from."""
        write = Expressions()
        write.require_owner(now.owner)
        write.require_revision(now.revision)
        targets = [*(row.id for row in plan.puts if row.id in now.positions), *plan.drops]
        if respect_lock:
            for preference_id in targets:
                write.require_unlocked(preference_id)
        for row in plan.puts:
            write.put_row(row.id, row_fields(row))
        for preference_id in plan.drops:
            write.drop_row(preference_id)
        write.put("revision", now.revision + 1)
        if plan.renumbers:
            write.put("renumbered", now.revision + 1)
        write.put("last_change", change_fields(change))
        return write

    def _revive(self, tombstone: Thread, change: Change, caller: Caller) -> Thread:
        user = _user(caller)
        write = Expressions()
        write.require_deleted_by(user)
        write.require_revision(tombstone.revision)
        write.put("owner", user)
        write.put("preferences", {})
        write.put("last_change", change_fields(change))
        write.next_revision("renumbered", "revived")
        write.remove("deleted_by")
        write.remove("expires_at")
        return self._calls.update(tombstone.thread_id, write, change, caller)


def _user(caller: Caller) -> str:
    """The user's id, on the paths that are the user's alone."""
    if caller.actor != "user" or not caller.owner:
        raise ValueError("only a user may do this")
    return caller.owner


def _change(caller: Caller, action: str) -> Change:
    at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return Change(
        id=new_id(), actor=caller.actor, who=caller.who, action=action, reasoning=caller.reasoning, at=at
    )


def _has(row: Preference, fields: Fields) -> bool:
    return all(getattr(row, name) == value for name, value in fields.items())


def _present_row(thread: Thread, preference_id: str, if_match: int | None) -> tuple[Thread, Preference]:
    """Why a write to one row was refused, as an exception; or the row, if nothing of that is the reason."""
    row = thread.find(preference_id)
    if row is None:
        raise PreferenceNotFound
    if if_match is not None and row.changed != if_match:
        raise PreconditionFailed(thread, row)
    return thread, row

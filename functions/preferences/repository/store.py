"""The only room that speaks DynamoDB: one item per thread, and three shapes of write.

    register   PutItem, on the condition that there is no item
    blind      one UpdateItem that reads nothing: the user's edit, lock, unlock and removal of one row
    planned    GetItem, a plan made from it (rules), one UpdateItem on the condition that the revision
               is still the one that was read; everything else

Time runs down; on the right, what the condition of a write holds it to.

    agent   reads revision 7, #2 is unlocked
    user                             locks #2: revision 8, acknowledged
    agent   writes #2                            refused: revision is 8, and #2 is locked
            the refusal brings the item: plans again, skips #2, writes the rest on revision 8

The lock stands in the agent's condition in its own right: it would hold without the revision.

A write is sent once. What was certainly not applied is sent again; when that can't be known, one
consistent read looks for the write's id in `last_change`, and what it doesn't settle is told as unknown.
"""

import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from preferences import rules
from preferences.errors import (
    Busy,
    OutcomeUnknown,
    PreconditionFailed,
    PreferenceNotFound,
    ThreadNotFound,
    ThreadTaken,
)
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
from preferences.repository.client import (
    CALL_SECONDS,
    Verdict,
    dynamodb_client,
    history_days,
    table_name,
    verdict,
)
from preferences.repository.expressions import Expressions
from preferences.repository.history import History
from preferences.repository.items import change_fields, key, read_thread, row_fields, thread_item

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

MAX_TRIES = 10
FIRST_PAUSE = 0.02
LONGEST_PAUSE = 0.5
"""Seconds. The pauses between tries are random, up to a limit that doubles: "full jitter"."""

Planner = Callable[[Thread, Thread, rules.Write], rules.Plan]
"""(the thread when the call came, the thread that the write will meet, the write) → plan."""


@dataclass(frozen=True, slots=True)
class Written:
    """The fresh list, and what became of each element of the request."""

    thread: Thread
    reports: tuple[Report, ...] = ()


class _Refused(Exception):
    """The condition did not hold. Carries the thread that refused it."""

    def __init__(self, thread: Thread) -> None:
        self.thread = thread


class _NotApplied(Exception):
    """The write was certainly not applied, and may be sent again."""


def open_repository(seconds_left: Callable[[], float]) -> "PreferenceRepository":
    """The repository over the table that the environment names, for a caller with so many seconds left."""
    return PreferenceRepository(dynamodb_client(), table_name(), seconds_left=seconds_left)


class PreferenceRepository:
    """Every method either returns the list as it stands after the write, or raises and has changed nothing.

    The exception is OutcomeUnknown. All may raise Busy, and all that take a thread ThreadNotFound, when
    it is not the caller's. Faults of the deployment (no table, no permission) are raised as they come.
    """

    def __init__(
        self,
        client: "DynamoDBClient",
        table_name: str,
        *,
        seconds_left: Callable[[], float] = lambda: math.inf,
    ) -> None:
        self._client = client
        self._table = table_name
        self._seconds_left = seconds_left
        self.retries = 0
        """How often a write had to be planned or sent again."""

    # -- threads

    def register_thread(self, thread_id: str, caller: Caller) -> tuple[Thread, bool]:
        """(the thread, whether it is new to the caller). Raises ThreadTaken if it is somebody else's.

        A thread that the caller deleted comes back empty, and goes on from its revision.
        """
        user = _user(caller)
        change = _change(caller, "register")
        new = Thread(thread_id=thread_id, owner=user, revision=1, last_change=change)
        for _ in self._tries(calls=2):
            try:
                return self._create(new, change, caller), True
            except _NotApplied:
                continue
            except _Refused as refusal:
                found = refusal.thread
            if found.owner == user:
                return found, False
            if found.owner is not None or found.deleted_by != user:
                raise ThreadTaken
            try:
                return self._revive(found, change, caller), True
            except (_NotApplied, _Refused):
                continue
        raise Busy

    def delete_thread(self, thread_id: str, caller: Caller) -> None:
        """Leaves a tombstone: no owner, no rows, the next revision. The history goes when it is read."""
        change = _change(caller, "delete")
        expires_at = int(time.time()) + (history_days() + 1) * 86400
        for _ in self._tries(calls=2):
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
                self._update(thread_id, write, change, caller)
            except _NotApplied:
                continue
            except _Refused:
                raise ThreadNotFound from None
            return
        raise Busy

    def list_threads(
        self, caller: Caller, *, limit: int, after: str | None = None
    ) -> tuple[tuple[str, ...], str | None]:
        """(thread ids in no particular order, the `after` of the next page). Eventually consistent."""
        user = _user(caller)
        request: dict[str, Any] = {
            "TableName": self._table,
            "IndexName": "owner",
            "KeyConditionExpression": "#owner = :owner",
            "ExpressionAttributeNames": {"#owner": "owner"},
            "ExpressionAttributeValues": {":owner": {"S": user}},
            "Limit": limit,
        }
        if after is not None:
            request["ExclusiveStartKey"] = key(after) | {"owner": {"S": user}}
        answer = self._ask(lambda: self._client.query(**request))
        ids = tuple(item["pk"]["S"].removeprefix("THREAD#") for item in answer["Items"])
        return ids, ids[-1] if answer.get("LastEvaluatedKey") else None

    # -- both parties: lists and batches

    def list_preferences(self, thread_id: str, caller: Caller) -> Thread:
        return rules.admit(self._read(thread_id), caller)

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
        action: str = "edit",
    ) -> Thread:
        """Sets `fields` of one row, locked or not. What already is so is not written.

        Raises PreferenceNotFound, and PreconditionFailed when the row's revision is not `if_match`.
        """
        change = _change(caller, action)
        text = cast(Fields, {name: value for name, value in fields.items() if name != "locked"})
        row: Preference | None = None
        for _ in self._tries(calls=2):
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
                return self._update(thread_id, write, change, caller)
            except _NotApplied:
                continue
            except _Refused as refusal:
                thread, row = _present_row(refusal.thread, preference_id, caller, if_match)
                if _has(row, fields):
                    return thread
        raise Busy

    def set_lock(self, thread_id: str, preference_id: str, caller: Caller, *, locked: bool) -> Thread:
        """Locks or unlocks one row, and touches nothing else of it. Raises PreferenceNotFound."""
        action = "lock" if locked else "unlock"
        return self.edit_preference(thread_id, preference_id, {"locked": locked}, caller, action=action)

    def remove_preference(
        self, thread_id: str, preference_id: str, caller: Caller, *, if_match: int | None = None
    ) -> Thread:
        """Removes one row, locked or not. Raises PreferenceNotFound and PreconditionFailed."""
        change = _change(caller, "remove")
        for _ in self._tries(calls=2):
            write = Expressions()
            write.require_owner(_user(caller))
            write.require_row(preference_id)
            if if_match is not None:
                write.require_row_revision(preference_id, if_match)
            write.drop_row(preference_id)
            write.put("last_change", change_fields(change))
            write.next_revision("renumbered")
            try:
                return self._update(thread_id, write, change, caller)
            except _NotApplied:
                continue
            except _Refused as refusal:
                _present_row(refusal.thread, preference_id, caller, if_match)
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
        return History(self._client, self._table, self._ask)

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
                if self._seconds_left() < 2 * CALL_SECONDS:  # it may have taken what the write needs
                    raise Busy
            return rules.plan_undo(now, entry, write)

        _user(caller)
        return self._planned(thread_id, caller, "undo", plan, respect_lock=False).thread

    # -- the planned write

    def _planned(
        self, thread_id: str, caller: Caller, action: str, planner: Planner, *, respect_lock: bool = True
    ) -> Written:
        first = now = rules.admit(self._read(thread_id), caller)
        change = _change(caller, action)
        for _ in self._tries(calls=2):
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
                    return Written(self._create(new, change, caller), plan.reports)
                write = self._expressions(now, plan, change, respect_lock)
                return Written(self._update(thread_id, write, change, caller), plan.reports)
            except _NotApplied:
                continue
            except _Refused as refusal:
                now = rules.admit(refusal.thread, caller)
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
        return self._update(tombstone.thread_id, write, change, caller)

    # -- single calls

    def _read(self, thread_id: str) -> Thread:
        def read() -> Thread:
            answer = self._client.get_item(TableName=self._table, Key=key(thread_id), ConsistentRead=True)
            return read_thread(thread_id, answer.get("Item"))

        thread: Thread = self._ask(read)
        return thread

    def _ask(self, call: Callable[[], Any]) -> Any:
        """The answer to a read, which may be asked as often as it takes. Raises Busy."""
        reason: Exception = Busy()
        for _ in self._tries(calls=1):
            try:
                return call()
            except Exception as error:
                match verdict(error):
                    case Verdict.FAULT:
                        raise
                    case Verdict.GARBLED:
                        reason = error  # if that is all that ever comes, it is no matter of time
                    case _:
                        reason = Busy()
        raise reason

    def _create(self, thread: Thread, change: Change, caller: Caller) -> Thread:
        write = Expressions()
        write.require_new()
        request = write.condition() | {"Item": thread_item(thread)}
        return self._send(
            lambda: self._client.put_item(
                TableName=self._table, ReturnValuesOnConditionCheckFailure="ALL_OLD", **request
            ),
            lambda _: thread,
            thread.thread_id,
            change,
            caller,
        )

    def _update(self, thread_id: str, write: Expressions, change: Change, caller: Caller) -> Thread:
        request = write.update() | {"Key": key(thread_id)}
        return self._send(
            lambda: self._client.update_item(
                TableName=self._table,
                ReturnValues="ALL_NEW",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
                **request,
            ),
            lambda answer: read_thread(thread_id, answer["Attributes"]),
            thread_id,
            change,
            caller,
        )

    def _send(
        self,
        call: Callable[[], Any],
        read: Callable[[Any], Thread],
        thread_id: str,
        change: Change,
        caller: Caller,
    ) -> Thread:
        """Sends a write once; the thread as it stands afterwards.

        Raises _Refused, _NotApplied and OutcomeUnknown.
        """
        try:
            answer = call()
        except Exception as error:
            match verdict(error):
                case Verdict.REFUSED:
                    item = getattr(error, "response", {}).get("Item")
                    raise _Refused(read_thread(thread_id, item)) from None
                case Verdict.NOT_APPLIED:
                    raise _NotApplied from None
                case Verdict.UNKNOWN | Verdict.GARBLED:
                    return self._settle(thread_id, change, caller)
                case Verdict.FAULT:
                    raise
        with suppress(Exception):
            thread = read(answer)
            if _is_latest(change, thread):
                return thread
        return self._settle(thread_id, change, caller)  # applied, it seems, but the answer is garbled

    def _settle(self, thread_id: str, change: Change, caller: Caller) -> Thread:
        """After a write of which nobody heard again: the thread, if its latest change is that write."""
        try:
            thread = self._read(thread_id)
        except Exception:
            raise OutcomeUnknown(None) from None
        if _is_latest(change, thread):
            return thread
        try:
            raise OutcomeUnknown(rules.admit(thread, caller))
        except ThreadNotFound:
            raise OutcomeUnknown(None) from None

    def _tries(self, *, calls: int) -> Iterator[None]:
        """Turns, each with time for so many calls, with random pauses between. Ends when time is up."""
        for n in range(MAX_TRIES):
            if n:
                self.retries += 1
                pause = random.uniform(0, min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (n - 1)))
                time.sleep(max(0.0, min(pause, self._seconds_left())))
            if self._seconds_left() < calls * CALL_SECONDS:
                return
            yield


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


def _is_latest(change: Change, thread: Thread) -> bool:
    return thread.last_change is not None and thread.last_change.id == change.id


def _has(row: Preference, fields: Fields) -> bool:
    return all(getattr(row, name) == value for name, value in fields.items())


def _present_row(
    refused_by: Thread, preference_id: str, caller: Caller, if_match: int | None
) -> tuple[Thread, Preference]:
    """Why a write to one row was refused, as an exception; or the row, if nothing of that is the reason."""
    thread = rules.admit(refused_by, caller)
    row = thread.find(preference_id)
    if row is None:
        raise PreferenceNotFound
    if if_match is not None and row.changed != if_match:
        raise PreconditionFailed(thread, row)
    return thread, row

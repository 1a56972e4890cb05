"""What is done to threads, one item each. There is one way to write:

    1. GetItem, consistent.
    2. A plan, made from what was read (`rules`).
    3. One UpdateItem, on the condition that the revision is still the one that was read, and that no row that
       an agent touches is locked. Where there is no item yet, one PutItem.

The user's requests differ from the agent's by their plans, and by the condition on locks. `answers` says what
each answer means, and when a request is planned again. On the right, what the condition does:

    agent   reads revision 7, #2 is unlocked
    user    reads revision 7, locks #2: revision 8, acknowledged
    agent   writes #2                             refused: the revision is 8, and #2 is locked
            plans again on the item that came with the refusal: skips #2, writes the rest on revision 8

The agent's condition names the lock in its own right: it would hold without the revision.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from preferences import rules
from preferences.errors import OutcomeUnknown, PreferencesError, ThreadNotFound
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
    live,
    new_id,
    new_write_id,
)
from preferences.repository.answers import Step
from preferences.repository.client import dynamodb_client, history_days, table_name
from preferences.repository.expressions import Expressions
from preferences.repository.history import History
from preferences.repository.items import (
    change_fields,
    key,
    recent_fields,
    row_fields,
    suggestion_fields,
    thread_id_of,
    thread_item,
)
from preferences.repository.table import Authorize, Budget, ThreadTable, Write

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

Planner = Callable[[Thread, Thread, rules.Stamp], rules.Plan]
"""(the thread when the request came, the thread that the write will meet, the stamp of the write) → plan."""

PATIENCE = 5
"""From this conflict on an agent pauses before it plans again, so that people win."""


@dataclass(frozen=True, slots=True)
class Written:
    """The list after a request, and the outcome of each element of the request."""

    thread: Thread
    reports: tuple[Report, ...] = ()
    seen: int = 0
    """The revision that the request met."""
    committed: bool = True
    """Whether it made a revision. An agent's request that changes nothing makes none."""
    suggested: int = 0
    """How many suggestions it left that did not wait before."""


def open_repository(seconds_left: Callable[[], float]) -> "PreferenceRepository":
    """The repository over the table that the environment names, for a caller with so many seconds left."""
    return PreferenceRepository(dynamodb_client(), table_name(), seconds_left=seconds_left)


class PreferenceRepository:
    """A method that returns has stored its write; most return the fresh list.

    A method that raises has changed nothing, with two exceptions: OutcomeUnknown, and ThreadNotFound where
    the thread was deleted before the answer to the write came.

    Every method may raise Busy, and every one that takes a thread ThreadNotFound, if it is not the caller's;
    `register_thread` raises ThreadTaken instead. What a retry does not mend (no table, no permission) is
    raised as it comes.

    Every change that a user asks for makes a revision, even where nothing differs. So a request that was sent
    before, and given up, can't be applied after it.
    """

    def __init__(
        self,
        client: "DynamoDBClient",
        table_name: str,
        *,
        seconds_left: Callable[[], float] = lambda: math.inf,
    ) -> None:
        self._table = ThreadTable(client, table_name, seconds_left)

    @property
    def retries(self) -> int:
        """Calls beyond the first, and plans beyond the first."""
        return self._table.retries

    # -- threads

    def register_thread(self, thread_id: str, caller: Caller) -> tuple[Thread, bool]:
        """(the thread, whether it is new to the caller). Raises ThreadTaken if it is somebody else's.

        A thread that the caller deleted is restored: it is empty, and goes on from its revision.
        """
        _require_user(caller)
        new = True

        def plan(_: Thread, now: Thread, __: rules.Stamp) -> rules.Plan:
            nonlocal new
            new = now.owner is None
            return rules.plan_registration(now)

        written = self._write(thread_id, caller, "register", plan, authorize=rules.authorize_registration)
        return written.thread, new

    def set_title(self, thread_id: str, title: str | None, caller: Caller) -> Thread:
        """Gives the thread a title, in the form in which it is stored; None takes it away."""
        _require_user(caller)
        return self._write(thread_id, caller, "title", lambda _, __, ___: rules.plan_title(title)).thread

    def delete_thread(self, thread_id: str, caller: Caller) -> None:
        """Leaves a tombstone: no owner, no rows, the next revision. The history goes when it is read."""
        _require_user(caller)
        self._write(thread_id, caller, "delete", lambda _, now, __: rules.plan_deletion(now))

    def list_threads(
        self, caller: Caller, *, limit: int, after: str | None = None
    ) -> tuple[dict[str, str | None], str | None]:
        """(thread id → title or None, in no particular order; the `after` of the next page).

        Which threads there are is eventually consistent. Their titles are read after that, as they stand; a
        thread that is gone by then is left out, so a page may hold fewer than `limit` before the end.
        """
        user = _require_user(caller)
        budget = self._table.budget()
        request: dict[str, Any] = {
            "TableName": self._table.name,
            "IndexName": "owner",
            "KeyConditionExpression": "#owner = :owner",
            "ExpressionAttributeNames": {"#owner": "owner"},
            "ExpressionAttributeValues": {":owner": {"S": user}},
            "Limit": limit,
        }
        if after is not None:
            request["ExclusiveStartKey"] = key(after) | {"owner": {"S": user}}
        answer = self._table.ask(lambda: self._table.client.query(**request), budget)
        ids = [thread_id_of(item) for item in answer["Items"]]
        return self._table.titles(ids, user, budget), ids[-1] if answer.get("LastEvaluatedKey") else None

    # -- both parties: lists and batches

    def list_preferences(self, thread_id: str, caller: Caller) -> Thread:
        return self._table.read(thread_id, caller)

    def add_preferences_bulk(self, thread_id: str, items: Sequence[Draft], caller: Caller) -> Written:
        """New rows at the end, unlocked, in order; exact repeats are reported, not stored.

        The first addition of an agent that comes with a user's id registers the thread for that user.
        Raises ListFull, and then none is stored.
        """
        ids = [new_id() for _ in items]
        return self._write(
            thread_id, caller, "add", lambda _, now, stamp: rules.plan_additions(now, items, ids, stamp)
        )

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

        An agent always respects the lock; `respect_lock` is for a user who wants to.
        """
        plan = partial(
            rules.plan_updates,
            edits=updates,
            ids=[new_id() for _ in updates],
            list_revision=list_revision,
            respect_lock=respect_lock or caller.actor == "agent",
        )
        return self._write(thread_id, caller, "edit", lambda first, now, stamp: plan(first, now, stamp=stamp))

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
        plan = partial(
            rules.plan_removals,
            indices=indices,
            ids=[new_id() for _ in indices],
            list_revision=list_revision,
            respect_lock=respect_lock or caller.actor == "agent",
        )
        return self._write(
            thread_id, caller, "remove", lambda first, now, stamp: plan(first, now, stamp=stamp)
        )

    # -- the user alone: single rows by id, all locks, the order

    def edit_preference(
        self,
        thread_id: str,
        preference_id: str,
        fields: Fields,
        caller: Caller,
        *,
        if_match: rules.IfMatch = None,
    ) -> Written:
        """Sets `fields` of one row, locked or not; the report is `updated` or `unchanged`.

        Raises PreferenceNotFound, PreconditionFailed when its revision is none of `if_match`, and Duplicate.
        """
        _require_user(caller)
        action = "edit" if fields.keys() - {"locked"} else "lock" if fields["locked"] else "unlock"
        return self._write(
            thread_id,
            caller,
            action,
            lambda _, now, stamp: rules.plan_edit(now, preference_id, fields, stamp, if_match=if_match),
        )

    def set_lock(self, thread_id: str, preference_id: str, caller: Caller, *, locked: bool) -> Thread:
        """Locks or unlocks one row, and touches nothing else of it. Raises PreferenceNotFound."""
        return self.edit_preference(thread_id, preference_id, {"locked": locked}, caller).thread

    def remove_preference(
        self, thread_id: str, preference_id: str, caller: Caller, *, if_match: rules.IfMatch = None
    ) -> Thread:
        """Removes one row, locked or not. Raises PreferenceNotFound and PreconditionFailed."""
        _require_user(caller)
        return self._write(
            thread_id,
            caller,
            "remove",
            lambda _, now, __: rules.plan_removal(now, preference_id, if_match=if_match),
        ).thread

    def set_all_locks(self, thread_id: str, caller: Caller, *, locked: bool) -> Thread:
        _require_user(caller)
        action = "lock_all" if locked else "unlock_all"
        return self._write(
            thread_id, caller, action, lambda _, now, __: rules.plan_locks(now, locked=locked)
        ).thread

    def reorder(self, thread_id: str, ids: Sequence[str], caller: Caller) -> Thread:
        """The named rows first, in this order. Raises InvalidInput for an id that the thread doesn't have."""
        _require_user(caller)
        return self._write(thread_id, caller, "reorder", lambda _, now, __: rules.plan_order(now, ids)).thread

    # -- suggestions: the user alone

    def accept_suggestion(self, thread_id: str, suggestion_id: str, caller: Caller) -> Thread:
        """Does what the suggestion shows, as the user's own change; a lock stays.

        Raises SuggestionNotFound where it waits no longer, Duplicate and ListFull; then it goes on waiting.
        """
        _require_user(caller)
        row_id = new_id()
        return self._write(
            thread_id,
            caller,
            "accept",
            lambda _, now, stamp: rules.plan_acceptance(now, suggestion_id, row_id, stamp),
        ).thread

    def dismiss_suggestions(
        self, thread_id: str, caller: Caller, suggestion_id: str | None = None
    ) -> tuple[Thread, int]:
        """(the list, how many were dismissed): one suggestion, or all that wait. May be done again."""
        _require_user(caller)
        count = 0

        def plan(_: Thread, now: Thread, __: rules.Stamp) -> rules.Plan:
            nonlocal count
            plan = rules.plan_dismissal(now, suggestion_id)
            count = len(plan.dismissed)
            return plan

        return self._write(thread_id, caller, "dismiss", plan).thread, count

    # -- what was done

    @property
    def history(self) -> History:
        return History(self._table)

    def list_history(
        self, thread_id: str, caller: Caller, *, limit: int, before: int | None = None
    ) -> tuple[tuple[Entry, ...], int | None]:
        """(entries, the newest first; the `before` of the next page). Eventually consistent."""
        budget = self._table.budget()
        thread = self._table.read(thread_id, caller, budget=budget)
        return self.history.page(thread, limit=limit, before=before, budget=budget)

    def undo(self, thread_id: str, revision: int, caller: Caller) -> Thread:
        """Puts the rows of that change back as they were before it, all or none, as a change of its own.

        Raises ChangeNotFound, HistoryNotReady, UndoConflict and ListFull.
        """
        _require_user(caller)
        entry: Entry | None = None
        budget = self._table.budget()

        def plan(_: Thread, now: Thread, stamp: rules.Stamp) -> rules.Plan:
            nonlocal entry
            if entry is None:
                entry = self.history.find(now, revision, budget)
            return rules.plan_undo(now, entry, stamp)

        return self._write(thread_id, caller, "undo", plan, budget=budget).thread

    # -- the one way to write

    def _write(
        self,
        thread_id: str,
        caller: Caller,
        action: str,
        planner: Planner,
        *,
        authorize: Authorize = rules.authorize,
        budget: Budget | None = None,
    ) -> Written:
        budget = budget or self._table.budget()
        first = now = self._table.read(thread_id, caller, authorize, budget)
        conflicts = 0
        while True:
            change = _change(caller, action)
            stamp = rules.Stamp(now.revision + 1, caller.actor, change.at, caller.who, caller.reasoning)
            plan = planner(first, now, stamp)
            if plan.changes_nothing and caller.actor == "agent":
                return _written(now, now, plan, committed=False)
            if plan.reasoning is not None:
                change = change.model_copy(update={"reasoning": plan.reasoning})
            write = _conditional_write(now, plan, change, caller)
            step, present = self._table.write(write, budget)
            if step is Step.DONE:
                ends = plan.generation == "ends"
                return _written(now, present if ends else authorize(present, caller), plan)
            if step is Step.UNKNOWN:
                raise OutcomeUnknown(_shown(present, caller, authorize))
            conflicts += 1
            self._table.retries += 1
            if caller.actor == "agent" and conflicts >= PATIENCE:
                budget.pause(conflicts - PATIENCE + 1)
                now = self._table.read(thread_id, caller, authorize, budget)
            else:
                now = authorize(present, caller)
            registers = authorize is rules.authorize_registration
            if not registers and (now.revision == 0 or now.revived != first.revived):
                raise ThreadNotFound  # deleted meanwhile; another generation is another list


def _conditional_write(now: Thread, plan: rules.Plan, change: Change, caller: Caller) -> Write:
    """The write that a plan asks for, on the condition that it meets what the plan was made from.

    An agent's has a further condition: each row that it changes or removes is unlocked.
    """
    revision, begins = now.revision + 1, plan.generation == "begins"
    recent = now.recent_after(change.id)
    write = Expressions()
    if now.revision == 0:
        new = Thread(
            thread_id=now.thread_id,
            owner=caller.owner,
            revision=revision,
            preferences=plan.puts,
            last_change=change,
            recent=recent,
            recent_ends=revision,
        )
        write.require_new()
        parameters = write.condition() | {"Item": thread_item(new)}
        return Write(now.thread_id, change.id, now.revision, parameters)
    write.require_revision(now.revision)
    if now.owner:
        write.require_owner(now.owner)
    else:
        write.require_deleted_by(cast(str, caller.owner))
    if caller.actor == "agent":
        for preference_id in (*(row.id for row in plan.puts if now.find(row.id)), *plan.removes):
            write.require_unlocked(preference_id)
    write.put("revision", revision)
    write.put("last_change", change_fields(change))
    write.put("recent", recent_fields(recent, revision))
    rows = plan.rows_after(now)
    if begins or rules.renumbers(now, rows):
        write.put("renumbered", revision)
    match plan.generation:
        case "begins":
            write.put("owner", caller.owner)
            write.put("revived", revision)
            write.put("preferences", {row.id: row_fields(row) for row in plan.puts})
            write.remove("deleted_by", "expires_at", "title", "suggestions", "declined")
        case "ends":
            write.put("deleted_by", caller.owner)
            write.put("expires_at", int(time.time()) + (history_days() + 1) * 86400)
            write.remove("owner", "title", "preferences", "renumbered", "suggestions", "declined")
        case "goes on":
            for row in plan.puts:
                write.put_row(row.id, row_fields(row))
            for preference_id in plan.removes:
                write.remove_row(preference_id)
            if plan.title:
                write.put("title", plan.title)
            elif plan.title is not None:
                write.remove("title")
            _put_what_waits(write, now, plan, rows, change)
    return Write(now.thread_id, change.id, now.revision, write.update() | {"Key": key(now.thread_id)})


def _put_what_waits(
    write: Expressions, now: Thread, plan: rules.Plan, rows: Sequence[Preference], change: Change
) -> None:
    """Suggestions but for those that the write makes outdated, and what the user has turned down."""
    waiting = live(now.suggestions if plan.suggestions is None else plan.suggestions, rows)
    if not waiting and now.suggestions:
        write.remove("suggestions")
    elif waiting != now.suggestions:
        write.put("suggestions", {one.id: suggestion_fields(one) for one in waiting})
    if change.actor == "user" and (declined := rules.declined_after(now, plan, rows)) != now.declined:
        write.put("declined", declined)


def _written(now: Thread, present: Thread, plan: rules.Plan, *, committed: bool = True) -> Written:
    known = {one.id for one in now.suggestions}
    return Written(
        present,
        tuple(report.in_list(present) for report in plan.reports),
        now.revision,
        committed,
        sum(one.id not in known for one in plan.suggestions or ()),
    )


def _shown(present: Thread, caller: Caller, authorize: Authorize) -> Thread | None:
    try:
        return authorize(present, caller)
    except PreferencesError:
        return None


def _require_user(caller: Caller) -> str:
    """The user's id, on the paths that are the user's alone."""
    if caller.actor != "user" or not caller.owner:
        raise ValueError("only a user may do this")
    return caller.owner


def _change(caller: Caller, action: str) -> Change:
    at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return Change(
        id=new_write_id(),
        actor=caller.actor,
        who=caller.who,
        action=action,
        reasoning=caller.reasoning,
        at=at,
    )

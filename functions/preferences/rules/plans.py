"""What may be changed, and what becomes of each element of a request. Pure: no clock, no table, no chance.

A plan is made against two readings of the thread. `first` is the list as it stood when the call came:
what positions mean, for good. `now` is the list that the write will meet: the same at first, and newer
when another writer came between and the plan is made again. So a position never slips to another row,
however often the plan is remade. The repository holds each plan to what it was made for: the write is
refused by the table if `now` is no longer true, or a row that an agent touches is locked.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from preferences.errors import FieldError, InvalidInput, ListFull, ThreadNotFound
from preferences.model import (
    MAX_PREFERENCES,
    Actor,
    Caller,
    Draft,
    Fields,
    IndexedEdit,
    Outcome,
    Preference,
    Report,
    Thread,
)


@dataclass(frozen=True, slots=True)
class Write:
    """The write that a plan is for: the revision that it makes, by whom, and when (ISO 8601, UTC)."""

    revision: int
    actor: Actor
    at: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Rows as they shall stand, ids of rows to take out, and what to say of each element."""

    puts: tuple[Preference, ...] = ()
    drops: tuple[str, ...] = ()
    reports: tuple[Report, ...] = ()
    renumbers: bool = False
    """Whether a position will no longer mean what it did."""


def admit(thread: Thread, caller: Caller) -> Thread:
    """`thread`, if the caller may see it. Raises ThreadNotFound: a stranger's thread is as good as none.

    A thread that is not stored is an empty list to an agent who comes with a user's id, since its first
    addition registers it. A tombstone is never that: only its former owner brings it back.
    """
    if thread.revision == 0 and thread.owner is None and caller.actor == "agent" and caller.owner is not None:
        return thread
    trusted = caller.actor == "agent" and caller.owner is None
    if thread.owner is not None and (trusted or thread.owner == caller.owner):
        return thread
    raise ThreadNotFound


def edited(row: Preference, fields: Fields, write: Write) -> Preference:
    """`row` with new text, kind or lock; the same row if that is what it is already."""
    changes = {name: value for name, value in fields.items() if getattr(row, name) != value}
    if changes.keys() - {"locked"}:
        changes |= {"changed": write.revision, "updated_by": write.actor, "updated_at": write.at}
        if write.actor == "user":
            changes["user_changed"] = write.revision
    return row.model_copy(update=changes) if changes else row


def plan_additions(now: Thread, drafts: Sequence[Draft], ids: Sequence[str], write: Write) -> Plan:
    """New rows at the end, unlocked, under the given ids; exact repeats are reported where they stand.

    Raises ListFull when not all of them fit: then none is added.
    """
    places = {row.text: (n, row.id) for n, row in reversed(list(enumerate(now.preferences, 1)))}
    # Ranks are never used twice, so that a removed row can come back to where it was: each revision owns
    # the hundred ranks from a hundred times itself on.
    last = now.preferences[-1].rank if now.preferences else 0
    rank = max(last + 1, write.revision * MAX_PREFERENCES)
    puts: list[Preference] = []
    reports: list[Report] = []
    for draft, preference_id in zip(drafts, ids, strict=True):
        outcome: Outcome = "duplicate"
        if draft.text not in places:
            outcome = "recorded"
            puts.append(_new_row(draft, preference_id, rank + len(puts), write))
            places[draft.text] = len(now.preferences) + len(puts), preference_id
        position, known_id = places[draft.text]
        reports.append(Report(outcome=outcome, index=position, title=draft.title, id=known_id))
    room = MAX_PREFERENCES - len(now.preferences)
    if len(puts) > room:
        raise ListFull(
            f"a thread holds at most {MAX_PREFERENCES} preferences and has room for {max(room, 0)} more, "
            f"not {len(puts)}; none was recorded: remove some first, or record fewer"
        )
    return Plan(puts=tuple(puts), reports=tuple(reports))


def plan_updates(
    first: Thread,
    now: Thread,
    edits: Sequence[IndexedEdit],
    write: Write,
    *,
    list_revision: int | None,
    respect_lock: bool,
) -> Plan:
    """Each edit on the row that its position meant in `first`, or on what an edit before it made of it."""
    puts: dict[str, Preference] = {}
    reports: list[Report] = []
    for edit in edits:
        target = _target(first, now, edit.index, list_revision, respect_lock)
        if isinstance(target, Report):
            reports.append(target)
            continue
        row = puts.get(target.id, target)
        new = edited(row, edit.fields, write)
        if new != row:
            puts[new.id] = new
        reports.append(_report("unchanged" if new == row else "updated", edit.index, new))
    return Plan(puts=tuple(puts.values()), reports=tuple(reports))


def plan_removals(
    first: Thread,
    now: Thread,
    indices: Iterable[int],
    *,
    list_revision: int | None,
    respect_lock: bool,
) -> Plan:
    """The rows that the positions meant in `first`; a position that is given twice counts once."""
    drops: list[str] = []
    reports: list[Report] = []
    for index in dict.fromkeys(indices):
        target = _target(first, now, index, list_revision, respect_lock)
        if isinstance(target, Report):
            reports.append(target)
            continue
        drops.append(target.id)
        reports.append(_report("removed", index, target))
    return Plan(drops=tuple(drops), reports=tuple(reports), renumbers=bool(drops))


def plan_locks(now: Thread, *, locked: bool) -> Plan:
    """Every row locked, or every row unlocked; rows that already are so are left alone."""
    return Plan(
        puts=tuple(
            row.model_copy(update={"locked": locked}) for row in now.preferences if row.locked != locked
        )
    )


def plan_order(now: Thread, ids: Sequence[str]) -> Plan:
    """The rows that `ids` names, in that order, and then the others in theirs.

    Raises InvalidInput for an id that the thread does not have, or that is named twice.
    """
    for n, preference_id in enumerate(ids):
        if now.find(preference_id) is None:
            raise InvalidInput([FieldError(f"ids.{n}", "names no preference of this thread")])
        if preference_id in ids[:n]:
            raise InvalidInput([FieldError(f"ids.{n}", "is named twice")])
    named = [row for preference_id in ids if (row := now.find(preference_id))]
    order = named + [row for row in now.preferences if row.id not in ids]
    # The same ranks change hands, so that only rows that move are written.
    ranks: list[int] = []
    for row in now.preferences:
        ranks.append(max(row.rank, ranks[-1] + 1) if ranks else row.rank)
    puts = tuple(
        row.model_copy(update={"rank": rank})
        for row, rank in zip(order, ranks, strict=True)
        if row.rank != rank
    )
    return Plan(puts=puts, renumbers=bool(puts))


def _new_row(draft: Draft, preference_id: str, rank: int, write: Write) -> Preference:
    return Preference(
        id=preference_id,
        title=draft.title,
        subtitle=draft.subtitle,
        kind=draft.kind,
        locked=False,
        rank=rank,
        added=write.revision,
        changed=write.revision,
        user_changed=write.revision if write.actor == "user" else 0,
        created_by=write.actor,
        created_at=write.at,
        updated_by=write.actor,
        updated_at=write.at,
    )


def _target(
    first: Thread, now: Thread, index: int, list_revision: int | None, respect_lock: bool
) -> Report | Preference:
    """The row that a position means, as it stands now; or a report of why nothing may be done to it.

    `list_revision` is the revision of the list that the caller saw. Without it, the caller is taken to
    have seen `first`.
    """
    seen = first.revision if list_revision is None else list_revision
    if seen > first.revision or seen < first.renumbered:
        return Report(outcome="stale", index=index)
    meant = first.preferences[index - 1] if index <= len(first.preferences) else None
    if meant is None or meant.added > seen:  # not in the list that the caller saw
        return Report(outcome="out_of_range", index=index)
    row = now.find(meant.id)
    if row is None:  # removed since
        return _report("out_of_range", index, meant)
    if respect_lock and row.locked:
        return _report("locked", index, row)
    if row.user_changed > seen:
        return _report("changed_by_user", index, row)
    return row


def _report(outcome: Outcome, index: int, row: Preference) -> Report:
    return Report(outcome=outcome, index=index, title=row.title, id=row.id)

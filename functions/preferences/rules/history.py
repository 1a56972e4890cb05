"""What a write did, by comparing the thread before it and after it; and the plan that undoes it."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from preferences.errors import ChangeNotFound, ConflictingRow, UndoConflict
from preferences.model import (
    SHOWN,
    Attributes,
    Entry,
    Fields,
    Preference,
    RowChange,
    Thread,
    one_line,
)
from preferences.rules.plan import Plan, Stamp
from preferences.rules.plans import check_bounds, conflicting, edited


def entry_of(old: Thread, new: Thread) -> Entry | None:
    """What the write between the two did; None where that was no write of this system.

    Its rows are those of the new list in their order, then those that are gone in theirs.
    """
    change = new.last_change
    if new.owner is None or change is None or new.revision <= old.revision:
        return None
    if old.last_change is not None and old.last_change.id == change.id:
        return None  # changed by hand in the table: `change` is of an earlier write
    rows = (*_added_or_edited(old, new), *_removed(old, new))
    return Entry(revision=new.revision, owner=new.owner, change=change, rows=rows)


def belongs(entry: Entry, thread: Thread) -> bool:
    """Whether the entry is of the thread's present generation."""
    return entry.owner == thread.owner and thread.revived <= entry.revision <= thread.revision


def plan_undo(now: Thread, entry: Entry, stamp: Stamp) -> Plan:
    """Every row of the entry as it was before, if all of them still are as the entry left them.

    Raises UndoConflict, with every row that a later change has moved on or that would be repeated exactly,
    and ListFull; then none is put back. Raises ChangeNotFound if the thread was deleted since, even if it
    was restored.
    """
    if not belongs(entry, now):
        raise ChangeNotFound
    if not entry.rows:
        raise UndoConflict("this change touched no preference, so there is nothing to put back", ())
    if conflicts := tuple(_conflicts(now, entry)):
        raise UndoConflict("later changes are in the way, so nothing was put back", conflicts)
    puts = tuple(
        _as_before(now.find(change.id), change.id, change.before, stamp)
        for change in entry.rows
        if change.before is not None
    )
    removes = tuple(change.id for change in entry.rows if change.before is None)
    plan = Plan(puts=puts, removes=removes)
    rows = plan.rows_after(now)
    if twins := tuple(_twins(now, puts, rows)):
        raise UndoConflict("exact repeats would come of it, so nothing was put back", twins)
    check_bounds(now, rows, "nothing was put back: remove some first")
    return plan


def _twins(now: Thread, puts: Iterable[Preference], rows: Sequence[Preference]) -> Iterator[ConflictingRow]:
    """The rows of the list as it would be, `rows`, that say exactly what a row in `puts` says.

    A row whose text the undo leaves alone makes no new repeat.
    """
    for row in puts:
        present = now.find(row.id)
        if present is not None and present.text == row.text:
            continue
        for other in rows:
            if other.id != row.id and other.text == row.text:
                yield conflicting(other)


def _added_or_edited(old: Thread, new: Thread) -> Iterator[RowChange]:
    for row in new.preferences:
        was, after = old.find(row.id), _shown(row)
        if was is None:
            yield RowChange(id=row.id, title=row.title, before=None, after=after)
            continue
        before = _shown(was)
        if names := [name for name in SHOWN if before[name] != after[name]]:
            yield RowChange(
                id=row.id,
                title=row.title,
                before={name: before[name] for name in names},
                after={name: after[name] for name in names},
            )


def _removed(old: Thread, new: Thread) -> Iterator[RowChange]:
    for row in old.preferences:
        if new.find(row.id) is None:
            yield RowChange(id=row.id, title=row.title, before=row.model_dump(exclude={"id"}), after=None)


def _shown(row: Preference) -> dict[str, Any]:
    return {name: getattr(row, name) for name in SHOWN}


def _as_before(row: Preference | None, preference_id: str, before: Attributes, stamp: Stamp) -> Preference:
    if row is not None:
        fields = cast(Fields, {name: value for name, value in before.items() if name != "rank"})
        return edited(row, fields, stamp).model_copy(update={"rank": before.get("rank", row.rank)})
    # It counts as added by this write: a position of a list from before that can't mean it.
    stamps = {
        "added": stamp.revision,
        "changed": stamp.revision,
        "user_changed": stamp.revision if stamp.actor == "user" else 0,
        "updated_by": stamp.actor,
        "updated_at": stamp.at,
    }
    known = {name: value for name, value in before.items() if name in Preference.model_fields}
    return Preference(**{**known, **stamps, "id": preference_id})


def _conflicts(now: Thread, entry: Entry) -> Iterator[ConflictingRow]:
    for change in entry.rows:
        row = now.find(change.id)
        if reason := _conflict(row, change):
            yield ConflictingRow(change.id, row.title if row else change.title, reason)


def _conflict(row: Preference | None, change: RowChange) -> str | None:
    """How the row as it stands differs from what the change made of it, in words; None where it doesn't."""
    if change.after is None:
        return "is in the list again" if row else None
    if row is None:
        return "was removed since"
    if change.before is not None and (unknown := sorted({*change.before, *change.after}.difference(SHOWN))):
        return f"was given another {', '.join(unknown)}, which this version can't put back"
    differing = [name for name in SHOWN if name in change.after and getattr(row, name) != change.after[name]]
    if change.before is None and "rank" in differing:
        differing.remove("rank")  # wherever it was moved to, it can be taken out
    return ", ".join(_difference(row, name) for name in differing) or None


def _difference(row: Preference, name: str) -> str:
    match name:
        case "title":
            return f"was renamed since, to “{one_line(row.title)}”"
        case "subtitle":
            now = f"“{one_line(row.subtitle)}”" if row.subtitle else "none"
            return f"was given another subtitle since: {now}"
        case "kind":
            return f"was made {row.kind} since"
        case "locked":
            return "was locked since" if row.locked else "was unlocked since"
        case "rank":
            return "was moved since"
        case _:
            return f"has another {name} since"

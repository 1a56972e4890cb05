"""A change as a sentence, for people."""

from collections.abc import Iterator, Sequence
from itertools import chain, repeat

from preferences.model import Entry, RowChange
from preferences.render.listing import name

_MAX_NAMES = 5


def summary(entry: Entry) -> str:
    """What was done to rows, to the user: `The agent recorded 2 preferences: Quiet, Formal tone`."""
    who = "You" if entry.change.actor == "user" else "The agent"
    undo = entry.change.action == "undo"
    *deeds, last = _deeds(entry.rows, undo=undo)
    did = f"{', '.join(deeds)} and {last}" if deeds else last
    if entry.change.action == "accept":
        return f"{who} accepted the agent's suggestion: {did}"
    return f"{who} undid a change: {did}" if undo else f"{who} {did}"


def _deeds(rows: Sequence[RowChange], *, undo: bool) -> Iterator[str]:
    if len(rows) == 1 and rows[0].before and rows[0].after:
        yield from _edits(rows[0])
        return
    by_verb: dict[str, list[str]] = {}
    for row in rows:
        by_verb.setdefault(_verb(row, undo=undo), []).append(name(row.title))
    for verb, names in by_verb.items():
        if verb == "moved" and len(names) > 1:
            yield "reordered the list"
        else:
            yield f"{verb} {_listed(names)}"


def _verb(row: RowChange, *, undo: bool) -> str:
    if row.before is None:
        return "brought back" if undo else "recorded"
    if row.after is None:
        return "took out" if undo else "removed"
    if row.after.keys() - {"locked", "rank"}:
        return "changed"
    if "locked" in row.after:
        return "locked" if row.after["locked"] else "unlocked"
    return "moved"


def _edits(row: RowChange) -> Iterator[str]:
    """Each thing that was done to one row. The first of them names it."""
    before, after = row.before or {}, row.after or {}
    it = chain([name(row.title)], repeat("it"))
    if "title" in after:
        yield f"renamed {name(before['title'])} to {next(it)}"
    if "subtitle" in after:
        if after["subtitle"] is None:
            yield f"took the subtitle off {next(it)}"
        else:
            yield f"gave {next(it)} {'a' if before['subtitle'] is None else 'another'} subtitle"
    if "kind" in after:
        yield f"made {next(it)} {after['kind']}"
    if "locked" in after:
        yield f"{'locked' if after['locked'] else 'unlocked'} {next(it)}"
    if "rank" in after:
        yield f"moved {next(it)}"
    if after.keys() - {"title", "subtitle", "kind", "locked", "rank"}:
        yield f"changed {next(it)}"


def _listed(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return f"{len(names)} preferences: {', '.join(names[:_MAX_NAMES])}{more}"

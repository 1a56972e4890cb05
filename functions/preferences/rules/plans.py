"""What a request does to a thread: one pure function for each request, from the thread as read to a Plan.

No clock, no table, no randomness. A plan is written on the condition that the thread still is at the revision
that the plan was made from. Where it is not, the request is planned again from the thread as it is by then.

Requests by position take two readings of the thread. `first` is the list as it stood when the request came:
it says which row a position means, for good. `now` is the list that the write will meet. So a position never
slips to another row, however often the request is planned again.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from preferences.errors import (
    ConflictingRow,
    Duplicate,
    FieldError,
    InvalidInput,
    ListFull,
    PreconditionFailed,
    PreferenceNotFound,
    SuggestionNotFound,
    ThreadNotFound,
    ThreadTaken,
)
from preferences.model import (
    MAX_CHARACTERS,
    MAX_PREFERENCES,
    Caller,
    Draft,
    Fields,
    IndexedEdit,
    Outcome,
    Preference,
    Report,
    Suggestion,
    Thread,
    folded,
)
from preferences.rules.plan import Plan, Stamp
from preferences.rules.suggestions import NewSuggestions, SuggestionOutcome, dismissal

IfMatch = Collection[int] | None
"""The revisions at which the row may stand for the write to be made. None: any."""


def authorize(thread: Thread, caller: Caller) -> Thread:
    """`thread`, if the caller may see it. Raises ThreadNotFound, for another user's thread as for none.

    To an agent that names its user, a thread that is not stored is an empty list: its first addition
    registers the thread. A tombstone is not: only its former owner may restore it.
    """
    if thread.revision == 0 and thread.owner is None and caller.actor == "agent" and caller.owner is not None:
        return thread
    trusted = caller.actor == "agent" and caller.owner is None
    if thread.owner is not None and (trusted or thread.owner == caller.owner):
        return thread
    raise ThreadNotFound


def authorize_registration(thread: Thread, caller: Caller) -> Thread:
    """`thread`, if the caller owns it or may register it. Raises ThreadTaken.

    A thread that is not stored may be registered by anyone, a tombstone by its former owner.
    """
    if (thread.owner or thread.deleted_by or caller.owner) != caller.owner:
        raise ThreadTaken
    return thread


def edited(row: Preference, fields: Fields, stamp: Stamp) -> Preference:
    """`row` with these fields set; `row` itself where nothing differs."""
    changes = {name: value for name, value in fields.items() if getattr(row, name) != value}
    if changes.keys() - {"locked"}:
        changes |= {"changed": stamp.revision, "updated_by": stamp.actor, "updated_at": stamp.at}
        if stamp.actor == "user":
            changes["user_changed"] = stamp.revision
    return row.model_copy(update=changes) if changes else row


# -- the thread as a whole


def plan_registration(now: Thread) -> Plan:
    """Registers a thread, or restores it. Of a thread that is there it changes nothing."""
    return Plan(generation="goes on" if now.owner else "begins")


def plan_deletion(_: Thread) -> Plan:
    return Plan(generation="ends")


def plan_title(title: str | None) -> Plan:
    """A title for the thread; None takes it away. It is not part of the list: no row changes."""
    return Plan(title=title or "")


def plan_locks(now: Thread, *, locked: bool) -> Plan:
    """Every row locked, or every row unlocked."""
    rows = (row for row in now.preferences if row.locked != locked)
    return Plan(puts=tuple(row.model_copy(update={"locked": locked}) for row in rows))


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
    # The ranks stay and the rows change places, so that only rows that move are written.
    ranks: list[int] = []
    for row in now.preferences:
        ranks.append(max(row.rank, ranks[-1] + 1) if ranks else row.rank)
    moved = [(row, rank) for row, rank in zip(order, ranks, strict=True) if row.rank != rank]
    return Plan(puts=tuple(row.model_copy(update={"rank": rank}) for row, rank in moved))


# -- single rows by id: the user alone


def plan_edit(
    now: Thread, preference_id: str, fields: Fields, stamp: Stamp, *, if_match: IfMatch = None
) -> Plan:
    """One row with `fields` set, locked or not.

    Raises PreferenceNotFound, PreconditionFailed where the row's revision is none of `if_match`, and
    Duplicate where the text would be that of another row, and ListFull.
    """
    row = _row(now, preference_id, if_match)
    new = edited(row, fields, stamp)
    if new.text != row.text and (twin := _twin(new, now.preferences)):
        raise Duplicate("another preference of this thread says exactly this", [conflicting(twin)])
    others = (other for other in now.preferences if other.id != row.id)
    check_bounds(now, [*others, new], "nothing was changed: remove or shorten some first")
    report = _report("unchanged" if new == row else "updated", None, new)
    return Plan(puts=() if new == row else (new,), reports=(report,))


def plan_removal(now: Thread, preference_id: str, *, if_match: IfMatch = None) -> Plan:
    """One row removed, locked or not. Raises PreferenceNotFound and PreconditionFailed."""
    row = _row(now, preference_id, if_match)
    return Plan(removes=(row.id,), reports=(_report("removed", None, row),))


def conflicting(twin: Preference) -> ConflictingRow:
    """`twin` as an error names it, where a change would make an exact repeat of it."""
    return ConflictingRow(twin.id, twin.title, "has the same title, subtitle and kind")


def check_bounds(now: Thread, after: Collection[Preference], remedy: str) -> None:
    """Raises ListFull where the list as it would be is beyond a bound, and larger than it is now.

    A list that was stored before there were bounds may be beyond them. It may not grow.
    """
    count, before = len(after), len(now.preferences)
    if count > max(MAX_PREFERENCES, before):
        raise ListFull(
            f"a thread holds at most {MAX_PREFERENCES} preferences and has room for "
            f"{max(MAX_PREFERENCES - before, 0)} more, not {count - before}; {remedy}"
        )
    characters, held = (
        sum(len(row.title) + len(row.subtitle or "") for row in rows) for rows in (after, now.preferences)
    )
    if characters > max(MAX_CHARACTERS, held):
        raise ListFull(
            f"a thread holds at most {MAX_CHARACTERS:,} characters of titles and subtitles and has room for "
            f"{max(MAX_CHARACTERS - held, 0):,} more, not {characters - held:,}; {remedy}"
        )


def _row(now: Thread, preference_id: str, if_match: IfMatch) -> Preference:
    row = now.find(preference_id)
    if row is None:
        raise PreferenceNotFound
    if if_match is not None and row.changed not in if_match:
        raise PreconditionFailed(now, row)
    return row


# -- batches: agents and users


def plan_additions(now: Thread, drafts: Sequence[Draft], ids: Sequence[str], stamp: Stamp) -> Plan:
    """New rows at the end, unlocked, under the given ids. An exact repeat is a duplicate, and not stored.

    An agent's addition is only a suggestion, under the given id, where the user locked a row of that title or
    turned the title down. Raises ListFull where the others don't all fit: then none is added or suggested.
    """
    known = {row.text: row.id for row in reversed(now.preferences)}
    # Ranks are never used twice, so that a removed row can come back to where it was: each revision owns
    # the hundred ranks from a hundred times itself on.
    last = now.preferences[-1].rank if now.preferences else 0
    rank = max(last + 1, stamp.revision * MAX_PREFERENCES)
    new_suggestions = NewSuggestions(now, stamp)
    puts: list[Preference] = []
    reports: list[Report] = []
    for draft, new_id in zip(drafts, ids, strict=True):
        if draft.text in known:
            reports.append(Report(outcome="duplicate", title=draft.title, id=known[draft.text]))
        elif new_suggestions.refuses(draft.title):
            left = new_suggestions.leave(new_id, None, draft.text)
            report = Report(outcome="suggested", title=draft.title, refused_title=True)
            reports.append(_not_done(left, report))
        else:
            puts.append(_new_row(draft, new_id, rank + len(puts), stamp))
            known[draft.text] = new_id
            reports.append(Report(outcome="recorded", title=draft.title, id=new_id))
    check_bounds(now, [*now.preferences, *puts], "none was recorded: remove some first, or record fewer")
    begins = bool(puts) and now.revision == 0
    return Plan(
        puts=tuple(puts),
        reports=tuple(reports),
        generation="begins" if begins else "goes on",
        suggestions=new_suggestions.suggestions,
    )


def plan_updates(
    first: Thread,
    now: Thread,
    edits: Sequence[IndexedEdit],
    ids: Sequence[str],
    stamp: Stamp,
    *,
    list_revision: int | None,
    respect_lock: bool,
) -> Plan:
    """Each edit on the row that its position meant in `first`, or on what an edit before it made of it.

    An agent's edit of a locked row is only a suggestion, under the given id, and so is one that gives a row a
    title that the user locked or turned down. What the user dismissed is declined.
    Raises ListFull when the list would grow beyond its bound: then none is changed.
    """
    rows = {row.id: row for row in now.preferences}
    new_suggestions = NewSuggestions(now, stamp)
    puts: dict[str, Preference] = {}
    reports: list[Report] = []
    for edit, suggestion_id in zip(edits, ids, strict=False):
        target = _target(first, now, edit.index, list_revision)
        if isinstance(target, Report):
            reports.append(target)
            continue
        row, changed_by_user = rows[target.row.id], target.changed_by_user
        new = edited(row, edit.fields, stamp)
        locked = respect_lock and row.locked
        if new == row and (locked or not changed_by_user):
            reports.append(_report("unchanged", edit.index, row))
        elif changed_by_user:
            reports.append(_changed_by_user(edit.index, row, locked=locked))
        elif locked:
            left = new_suggestions.leave(suggestion_id, row, new.text)
            reports.append(_not_done(left, _report("locked", edit.index, row)))
        elif new.text != row.text and (twin := _twin(new, rows.values())):
            reports.append(_report("duplicate", edit.index, twin))
        elif new_suggestions.dismissed(row, new.text):
            reports.append(_report("declined", edit.index, row))
        elif _retitles(row, new) and new_suggestions.refuses(new.title):
            left = new_suggestions.leave(suggestion_id, row, new.text)
            report = _report("suggested", edit.index, row).model_copy(update={"refused_title": True})
            reports.append(_not_done(left, report))
        else:
            rows[new.id] = puts[new.id] = new
            reports.append(_report("updated", edit.index, new))
    check_bounds(now, rows.values(), "none was changed: remove or shorten some first")
    return Plan(puts=tuple(puts.values()), reports=tuple(reports), suggestions=new_suggestions.suggestions)


def plan_removals(
    first: Thread,
    now: Thread,
    indices: Sequence[int],
    ids: Sequence[str],
    stamp: Stamp,
    *,
    list_revision: int | None,
    respect_lock: bool,
) -> Plan:
    """The rows that the positions meant in `first`; a position that is given twice counts once.

    An agent's removal of a locked row is only a suggestion, under the given id. What the user dismissed is
    declined.
    """
    new_suggestions = NewSuggestions(now, stamp)
    removes: list[str] = []
    reports: list[Report] = []
    for index, suggestion_id in zip(dict.fromkeys(indices), ids, strict=False):
        target = _target(first, now, index, list_revision)
        if isinstance(target, Report):
            reports.append(target)
            continue
        row, locked = target.row, respect_lock and target.row.locked
        if target.changed_by_user:
            reports.append(_changed_by_user(index, row, locked=locked))
        elif locked:
            left = new_suggestions.leave(suggestion_id, row, None)
            reports.append(_not_done(left, _report("locked", index, row)))
        elif new_suggestions.dismissed(row, None):
            reports.append(_report("declined", index, row))
        else:
            removes.append(row.id)
            reports.append(_report("removed", index, row))
    return Plan(removes=tuple(removes), reports=tuple(reports), suggestions=new_suggestions.suggestions)


# -- suggestions: the user alone


def plan_acceptance(now: Thread, suggestion_id: str, new_id: str, stamp: Stamp) -> Plan:
    """What the suggestion shows, as the user's own edit, removal or addition; a lock stays.

    Raises SuggestionNotFound where it is gone or outdated, Duplicate and ListFull.
    """
    accepted = next((one for one in now.live if one.id == suggestion_id), None)
    if accepted is None:
        raise SuggestionNotFound(now)
    match accepted:
        case Suggestion(target=str(target), text=None):
            plan = plan_removal(now, target)
        case Suggestion(target=str(target), text=(title, subtitle, kind)):
            plan = plan_edit(now, target, {"title": title, "subtitle": subtitle, "kind": kind}, stamp)
        case Suggestion(text=(title, subtitle, kind)):
            draft = Draft.model_construct(title=title, subtitle=subtitle, kind=kind)
            plan = plan_additions(now, [draft], [new_id], stamp)
    waiting = tuple(other for other in now.live if other is not accepted)
    return replace(plan, suggestions=waiting, reasoning=accepted.reasoning)


def plan_dismissal(now: Thread, suggestion_id: str | None) -> Plan:
    """A suggestion turned down, or all that wait. One that is gone is dismissed already."""
    going = [one for one in now.live if suggestion_id in (None, one.id)]
    waiting = tuple(one for one in now.live if one not in going)
    dismissed = tuple(dismissal(now, one.target, one.text) for one in going)
    return Plan(suggestions=waiting, dismissed=dismissed)


def _new_row(draft: Draft, preference_id: str, rank: int, stamp: Stamp) -> Preference:
    return Preference(
        id=preference_id,
        title=draft.title,
        subtitle=draft.subtitle,
        kind=draft.kind,
        locked=False,
        rank=rank,
        added=stamp.revision,
        changed=stamp.revision,
        user_changed=stamp.revision if stamp.actor == "user" else 0,
        created_by=stamp.actor,
        created_at=stamp.at,
        updated_by=stamp.actor,
        updated_at=stamp.at,
    )


def _twin(row: Preference, rows: Iterable[Preference]) -> Preference | None:
    """Another row with the same title, subtitle and kind."""
    same_title = (other for other in rows if other.title == row.title and other.id != row.id)
    return next((other for other in same_title if other.text == row.text), None)


@dataclass(frozen=True, slots=True)
class _Target:
    """The row that a position means, as it stands now."""

    row: Preference
    changed_by_user: bool
    """Since the list that the caller saw."""


def _target(first: Thread, now: Thread, index: int, list_revision: int | None) -> Report | _Target:
    """The row that a position means; or a report of why there is none.

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
    return _Target(row, row.user_changed > seen)


def _retitles(row: Preference, new: Preference) -> bool:
    return new.title != row.title and folded(new.title) != folded(row.title)


def _changed_by_user(index: int, row: Preference, *, locked: bool) -> Report:
    """The agent meant another text than the present one, so it leaves no suggestion."""
    if locked:
        return _report("locked", index, row).model_copy(update={"suggestion": "outdated"})
    return _report("changed_by_user", index, row)


def _not_done(left: SuggestionOutcome | None, report: Report) -> Report:
    """`report` of what was refused, with whether it waits as a suggestion."""
    if left is None:
        return report
    if left == "declined":
        return report.model_copy(update={"outcome": "declined"})
    outcome = report.outcome if left == "left" else "locked"
    return report.model_copy(update={"outcome": outcome, "suggestion": left})


def _report(outcome: Outcome, index: int | None, row: Preference) -> Report:
    return Report(outcome=outcome, index=index, title=row.title, id=row.id)

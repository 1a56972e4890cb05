"""What an agent was refused waits as a suggestion; what the user turned down is remembered.

What was turned down is kept as digests: 16 bytes of SHA-256 over the thread's id, a kind and a text, as 22
URL-safe characters. So a text does not stay when the user has removed it, though a short one can be guessed.
The kinds are

    title    a title that left the list by the user's hand
    add      a suggested addition that the user dismissed, by its title
    edit     a suggested edit that the user dismissed: the first half by its row, the second by the text that
             the row would have had
    remove   a suggested removal that the user dismissed: the first half by its row
"""

import base64
import hashlib
import json
from collections.abc import Collection, Iterator
from functools import cached_property
from typing import Literal

from preferences.model import (
    MAX_SUGGESTION_REASONING,
    MAX_SUGGESTIONS,
    Preference,
    Suggestion,
    Text,
    Thread,
    folded,
    shorten,
    suggested_action,
)
from preferences.rules.plan import Plan, Stamp

MAX_DECLINED = 200
LENGTH = 22
"""Characters of a digest."""
_HALF = LENGTH // 2

SuggestionOutcome = Literal["left", "declined", "not_first", "too_many"]


class NewSuggestions:
    """The suggestions that one call of an agent leaves for the user, on top of those that wait already."""

    def __init__(self, now: Thread, stamp: Stamp) -> None:
        self._now = now
        self._stamp = stamp
        self._waiting = {_place(suggestion): suggestion for suggestion in now.live}
        self._places_of_this_call: set[str] = set()
        self._declined = frozenset(digests(now.declined))

    @property
    def suggestions(self) -> tuple[Suggestion, ...] | None:
        """All that wait after the call; None where the call leaves none that is new."""
        waiting = tuple(self._waiting.values())
        return None if {one.id for one in waiting} == {one.id for one in self._now.live} else waiting

    def refuses(self, title: str) -> bool:
        """Whether the user locked a row of that title, removed one, or dismissed its addition."""
        if self._stamp.actor == "user" or not (self._locked_titles or self._declined):
            return False
        same = folded(title)
        return same in self._locked_titles or not self._declined.isdisjoint(title_digests(self._now, same))

    def dismissed(self, row: Preference, text: Text | None) -> bool:
        """Whether the user dismissed this edit of the row, or its removal where there is no `text`.

        It holds for an unlocked row too: the lock may have gone while the suggestion waited.
        """
        if self._stamp.actor == "user" or not self._declined:
            return False
        return dismissal(self._now, row.id, text) in self._declined

    @cached_property
    def _locked_titles(self) -> frozenset[str]:
        return frozenset(folded(row.title) for row in self._now.preferences if row.locked)

    def leave(
        self, suggestion_id: str, row: Preference | None, text: Text | None
    ) -> SuggestionOutcome | None:
        """Leaves a suggestion for the user, and says whether it waits. A user's call leaves none.

        Of `row` it is an edit, or a removal where there is no `text`; without a row, an addition.

        A newer suggestion for the same row, or for an addition of the same title, takes the place of an older
        one under its own id; within a call the first stands.
        """
        if self._stamp.actor == "user":
            return None
        target = row.id if row else None
        suggestion = Suggestion(
            id=suggestion_id,
            action=suggested_action(target, text),
            target=target,
            base=row.changed if row else 0,
            text=text,
            reasoning=shorten(self._stamp.reasoning or "", MAX_SUGGESTION_REASONING) or None,
            agent=self._stamp.who,
            at=self._stamp.at,
        )
        if dismissal(self._now, target, text) in self._declined:
            return "declined"
        place = _place(suggestion)
        known = self._waiting.get(place)
        waits_already = known is not None and (known.action, known.text) == (suggestion.action, text)
        if not waits_already and place in self._places_of_this_call:
            return "not_first"
        if known is None and len(self._waiting) >= MAX_SUGGESTIONS:
            return "too_many"
        self._places_of_this_call.add(place)
        if not waits_already:
            self._waiting[place] = suggestion
        return "left"


def dismissal(thread: Thread, target: str | None, text: Text | None) -> str:
    """The digest that keeps an agent from what the user has dismissed: an addition, an edit or a removal.

    Of the row `target` it is an edit, or a removal where there is no `text`; without a row, an addition.
    """
    if target is None:
        return _digest(thread, "add", folded(text[0]) if text else "")
    what = _digest(thread, "edit", target, *_folded(text)) if text else _digest(thread, "remove", target)
    return _row(thread, target) + what[:_HALF]


def _folded(text: Text) -> tuple[str, str | None, str]:
    """As titles are compared: an edit does not become another one by a capital or an invisible character."""
    title, subtitle, kind = text
    return folded(title), folded(subtitle) if subtitle else None, kind


def declined_after(now: Thread, plan: Plan, rows: Collection[Preference]) -> str:
    """`declined` after a write of the user's, where `rows` is the list after it.

    Added are the titles that are no longer in the list, and what the write dismisses. Taken out are the
    titles that are new in the list, and what was dismissed of a row that the write unlocks.
    """
    before, after = ({row.title for row in group} for group in (now.preferences, rows))
    unlocked = [row for row in plan.puts if not row.locked and (was := now.find(row.id)) and was.locked]
    if before == after and not unlocked and not plan.dismissed:
        return now.declined
    present = {folded(title) for title in after}
    gone = {folded(title) for title in before - after} - present
    over = {digest for title in after - before for digest in title_digests(now, folded(title))}
    over |= {_digest(now, "add", folded(row.title)) for row in unlocked}
    rows_over = {_row(now, row.id) for row in unlocked}
    joining = [*plan.dismissed, *(_digest(now, "title", title) for title in sorted(gone))]
    kept = [
        known
        for known in digests(now.declined)
        if known not in over and known[:_HALF] not in rows_over and known not in joining
    ]
    return "".join([*kept, *joining][-MAX_DECLINED:])


def title_digests(thread: Thread, title: str) -> tuple[str, str]:
    """What keeps an agent from recording a title: digests of its leaving, and of its dismissed addition.

    `title` is folded already.
    """
    return _digest(thread, "title", title), _digest(thread, "add", title)


def _place(suggestion: Suggestion) -> str:
    """What at most one suggestion waits for: a row, or an addition of a title."""
    if suggestion.target is None and suggestion.text is not None:
        return f"title {folded(suggestion.text[0])}"
    return f"row {suggestion.target}"


def digests(declined: str) -> Iterator[str]:
    for start in range(0, len(declined), LENGTH):
        yield declined[start : start + LENGTH]


def _row(thread: Thread, preference_id: str) -> str:
    return _digest(thread, "row", preference_id)[:_HALF]


def _digest(thread: Thread, *parts: str | None) -> str:
    text = json.dumps([thread.thread_id, *parts])
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()[:16]).decode()[:LENGTH]

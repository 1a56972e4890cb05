"""What is stored, what is sent to change it, and what is reported of a change."""

import re
import secrets
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, TypedDict, TypeGuard, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from preferences.model.text import is_visible, normalise, shorten

MAX_PREFERENCES = 100
MAX_BATCH = 50
MAX_USER_ID = 255

# Of texts: code points, counted after normalisation.
MAX_TITLE = 120
MAX_SUBTITLE = 500
MAX_REASONING = 1000
MAX_CHARACTERS = 8000
"""Of all titles and subtitles of a thread: some 2,000 tokens, which a model reads in every turn."""
MAX_SUGGESTIONS = 20
MAX_SUGGESTION_REASONING = 300

THREAD_ID = re.compile(r"(?!\.\.$)[0-9A-Za-z._:-]{2,100}")
"""Every thread id, in every handler. No `#`, so that an id can't reach into another key; and not `..`, which
browsers take out of a path, so that its owner could not reach it."""

Kind = Literal["hard", "soft"]
Text = tuple[str, str | None, Kind]
"""Title, subtitle and kind."""
Actor = Literal["agent", "user"]


WRITE_ID = 12
"""Characters of a write's id."""
MAX_RECENT = 16
"""Of so many of its newest writes a thread keeps the ids."""


def new_id() -> str:
    """A fresh id of 128 random bits, as 32 hexadecimal digits: URL-safe, and beyond guessing."""
    return secrets.token_hex(16)


def new_write_id() -> str:
    """A fresh id of 72 random bits, as 12 URL-safe characters: enough to tell a thread's writes apart."""
    return secrets.token_urlsafe(9)


def is_thread_id(text: object) -> TypeGuard[str]:
    return isinstance(text, str) and THREAD_ID.fullmatch(text) is not None


def is_user_id(text: object) -> TypeGuard[str]:
    """Whether `text` can be a `sub`: at most 255 characters (OpenID Connect Core 1.0), all visible."""
    return (
        isinstance(text, str) and 0 < len(text) <= MAX_USER_ID and text.isprintable() and not text.isspace()
    )


class Frozen(BaseModel):
    """Values don't change, take no field that they don't know, and show nothing of a bad input."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


# -- stored ---------------------------------------------------------------------------------------------


class Preference(Frozen):
    """One row. `changed` and the like are revisions of the thread; times are ISO 8601 in UTC."""

    id: str
    title: str
    subtitle: str | None = None
    kind: Kind
    locked: bool
    rank: int
    """Orders the list, ties by id. Never shown."""
    added: int
    """The revision that brought the row: what tells a row that a model has seen from a later one."""
    changed: int
    """The revision at which title, subtitle or kind last changed; a lock or a move leaves it."""
    user_changed: int = 0
    """The same, by the user; 0: never."""
    created_by: Actor
    created_at: str
    updated_by: Actor
    updated_at: str

    @property
    def text(self) -> Text:
        """What makes two rows the same preference."""
        return self.title, self.subtitle, self.kind


Action = Literal["add", "edit", "remove"]


def suggested_action(target: str | None, text: Text | None) -> Action:
    """What accepting a suggestion does: an addition has no target, a removal no text."""
    if target is None:
        return "add"
    return "edit" if text else "remove"


class Suggestion(Frozen):
    """What an agent was refused, and the user may accept. It never changes: a newer one has another id."""

    id: str
    action: Action
    target: str | None = None
    """The id of the row that is meant; None of an addition."""
    base: int = 0
    """That row's `changed` when the agent was refused."""
    text: Text | None = None
    """As it would be; None of a removal."""
    reasoning: str | None = None
    agent: str | None = None
    at: str


def live(suggestions: Collection[Suggestion], rows: Collection[Preference]) -> tuple[Suggestion, ...]:
    """Those that can still be accepted: the row is as it was, or the list does not have the addition yet.

    So accepting one does what was shown.
    """
    if not suggestions:
        return ()
    changed = {row.id: row.changed for row in rows}
    texts = {row.text for row in rows}
    return tuple(
        suggestion
        for suggestion in suggestions
        if (
            suggestion.text not in texts
            if suggestion.target is None
            else changed.get(suggestion.target) == suggestion.base
        )
    )


class Change(Frozen):
    """What the latest committed write was, stored with it."""

    id: str
    actor: Actor
    who: str | None = None
    """The user's `sub`; the agent's or gateway's id."""
    action: str
    reasoning: str | None = None
    at: str


class Thread(Frozen):
    """A conversation's list at one revision, in order. A tombstone has no owner; revision 0: not stored."""

    thread_id: str
    owner: str | None = None
    deleted_by: str | None = None
    title: str | None = None
    """What its owner calls the conversation. No agent reads or writes it."""
    revision: int = 0
    renumbered: int = 0
    """The revision at which a row that is still there last got another position."""
    revived: int = 0
    """The revision at which its former owner restored it. Each restoration begins a new generation, in which
    nothing of the one before is left. 0: never deleted."""
    preferences: tuple[Preference, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    """The oldest first; also those that are outdated, until the next write."""
    declined: str = ""
    """Digests of what the user turned down, the oldest first, one after the other (`rules.suggestions`)."""
    last_change: Change | None = None
    recent: str = ""
    """Ids of the newest writes, at most MAX_RECENT, the oldest first, one after the other."""
    recent_ends: int = 0
    """The revision that the last of them made. Older than `revision` where other code has written since."""

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """id → 1-based position."""
        return {row.id: n for n, row in enumerate(self.preferences, 1)}

    def find(self, preference_id: str) -> Preference | None:
        position = self.positions.get(preference_id)
        return self.preferences[position - 1] if position else None

    @cached_property
    def live(self) -> tuple[Suggestion, ...]:
        """The suggestions that can be accepted."""
        return live(self.suggestions, self.preferences)

    def write_at(self, revision: int) -> str | None:
        """The id of the write that made a revision; None where `recent` does not tell."""
        first = self.recent_ends - len(self.recent) // WRITE_ID + 1
        if self.recent_ends != self.revision or not first <= revision <= self.revision:
            return None
        start = (revision - first) * WRITE_ID
        return self.recent[start : start + WRITE_ID]

    def recent_after(self, write_id: str) -> str:
        """`recent` as it stands after one more write."""
        known = self.recent if self.recent_ends == self.revision else ""
        return (known + write_id)[-MAX_RECENT * WRITE_ID :]


class Caller(Frozen):
    """Who asks, and on whose behalf."""

    actor: Actor
    owner: str | None
    """The `sub` that must own the thread. None, for an agent alone: any thread that is registered."""
    who: str | None = None
    reasoning: str | None = None

    @classmethod
    def user(cls, sub: str) -> "Caller":
        return cls(actor="user", owner=sub, who=sub)


# -- sent -----------------------------------------------------------------------------------------------


def _title(text: str) -> str:
    text = normalise(text, MAX_TITLE)
    if not is_visible(text):
        raise PydanticCustomError("title_blank", "must hold at least one visible character")
    return text


def _qualifier(text: str) -> str:
    return normalise(text, MAX_SUBTITLE)


def _subtitle(text: str) -> str | None:
    text = _qualifier(text)
    return text if is_visible(text) else None


def _kind(value: object) -> object:
    return value.strip().lower() if isinstance(value, str) else value


def whole_number(value: object) -> object:
    """A whole number in any spelling that models use for it: 2, "2", 2.0, "2.0"; else an error."""
    if isinstance(value, str) and re.fullmatch(r"\s*\+?[0-9]{1,9}(\.0{1,9})?\s*", value):
        return int(value.strip().partition(".")[0])
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e9:
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**9:
        return value
    raise PydanticCustomError("whole_number", "must be a whole number")


def _positive(value: int) -> int:
    if value < 1:
        raise PydanticCustomError("position", "must be 1 or more")
    return value


def _not_null(value: object) -> object:
    if value is None:
        raise PydanticCustomError("null", "must not be null: leave it out to keep the present value")
    return value


Title = Annotated[str, AfterValidator(_title)]
Subtitle = Annotated[str, AfterValidator(_subtitle)]
KindWord = Annotated[Kind, BeforeValidator(_kind)]
Position = Annotated[int, BeforeValidator(whole_number), AfterValidator(_positive)]


class Fields(TypedDict, total=False):
    """The new values of a row's fields; what is absent stays. A subtitle of None is cleared."""

    title: str
    subtitle: str | None
    kind: Kind
    locked: bool


class Draft(Frozen):
    """A preference to record."""

    title: Title = Field(description="Short label, e.g. 'Academic tone'.")
    subtitle: Subtitle | None = Field(
        default=None, description="Free-text qualifier, e.g. 'Formal and objective'."
    )
    kind: Annotated[KindWord, BeforeValidator(lambda value: "soft" if value is None else value)] = Field(
        default="soft", description="'hard' for must-haves, 'soft' for preferences."
    )

    @property
    def text(self) -> Text:
        return self.title, self.subtitle, self.kind


class Additions(Frozen):
    """1 to 50 preferences to record, in order."""

    items: list[Draft] = Field(
        min_length=1,
        max_length=MAX_BATCH,
        description=(
            "The explicitly-stated preferences to record, in order. "
            "Pass a single preference as a one-element list."
        ),
        examples=[[{"title": "Academic tone", "subtitle": "Formal and objective", "kind": "hard"}]],
    )


class IndexedEdit(Frozen):
    """An agent's edit. Models fill optional fields with null, so null is not given; "" clears a subtitle."""

    index: Position = Field(
        description=(
            "1-based position of the preference within this conversation (as shown by list_preferences)."
        )
    )
    title: Title | None = Field(default=None, description="New short label; omit to keep the current value.")
    subtitle: Annotated[str, AfterValidator(_qualifier)] | None = Field(
        default=None, description="New qualifier; omit to keep the current value."
    )
    kind: KindWord | None = Field(
        default=None, description="'hard' or 'soft'; omit to keep the current value."
    )

    @property
    def fields(self) -> Fields:
        given: dict[str, Any] = {
            name: value
            for name in ("title", "subtitle", "kind")
            if (value := getattr(self, name)) is not None
        }
        if "subtitle" in given and not is_visible(given["subtitle"]):
            given["subtitle"] = None
        return cast(Fields, given)


class Edit(Frozen):
    """A user's edit: what is sent is set, null clears the subtitle, what is left out stays."""

    title: Annotated[Title, BeforeValidator(_not_null)] = ""
    subtitle: Subtitle | None = None
    kind: Annotated[KindWord, BeforeValidator(_not_null)] = "soft"
    locked: Annotated[bool, Field(strict=True), BeforeValidator(_not_null)] = False

    @model_validator(mode="after")
    def _something(self) -> "Edit":
        if not self.model_fields_set:
            raise PydanticCustomError("empty_edit", "must hold at least one of title, subtitle, kind, locked")
        return self

    @property
    def fields(self) -> Fields:
        return cast(Fields, {name: getattr(self, name) for name in self.model_fields_set})


class ThreadTitle(Frozen):
    """What the user calls a conversation from now on; null takes the title away."""

    title: Title | None


def reasoning(value: object) -> str | None:
    """A model's `action_and_reasoning` in the form that is stored: one line, cut at the bound, or None."""
    return shorten(" ".join(_texts(value)), MAX_REASONING) or None


def _texts(value: object) -> Iterator[str]:
    """The texts in a value. Some models send an object with two: what they do, and why."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (text for text in value.values() if isinstance(text, str))
    elif isinstance(value, list | tuple):
        yield from (text for text in value if isinstance(text, str))


# -- said -----------------------------------------------------------------------------------------------

Outcome = Literal[
    "recorded",
    "duplicate",
    "suggested",
    "declined",
    "updated",
    "unchanged",
    "removed",
    "locked",
    "out_of_range",
    "changed_by_user",
    "stale",
]


class Report(Frozen):
    """What became of one element of a batch."""

    outcome: Outcome
    index: int | None = None
    """The position that the caller gave; None for an addition."""
    title: str | None = None
    """None where no row is meant."""
    id: str | None = None
    """The row that is meant; of a duplicate, the row that is there already."""
    position: int | None = None
    """The row's place in the list of the same answer; None where it is not there."""
    suggestion: Literal["left", "not_first", "too_many", "outdated"] | None = None
    """Whether what was refused waits as a suggestion; if not, why: one of the same call for the same row or
    title stands, MAX_SUGGESTIONS wait already, or the user has changed the row since. None: there was nothing
    to suggest."""
    refused_title: bool = False
    """The title that the agent gave was refused. The row itself is not locked."""

    def in_list(self, thread: Thread) -> "Report":
        """The same report, with the row as `thread` shows it."""
        row = thread.find(self.id) if self.id else None
        if row is None:
            return self
        return self.model_copy(update={"title": row.title, "position": thread.positions[row.id]})

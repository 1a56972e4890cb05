"""The JSON that goes out: typed dictionaries, which the OpenAPI document is rendered from."""

from typing import Literal, NotRequired, cast

from typing_extensions import TypedDict  # pydantic reads Python 3.11's own only with this one

from preferences import model, render
from preferences.model import SHOWN, Actor, Attributes, Entry, Kind, Preference, Report, RowChange, Thread


class Row(TypedDict):
    """One preference."""

    id: str
    position: int
    """Its place in the list, from 1."""
    title: str
    subtitle: str | None
    kind: Kind
    locked: bool
    revision: int
    """Of its title, subtitle and kind: what If-Match compares. A lock or a move leaves it."""
    created_by: Actor
    created_at: str
    updated_by: Actor
    updated_at: str


class Text(TypedDict):
    """What a preference says."""

    title: str
    subtitle: str | None
    kind: Kind


class Suggestion(TypedDict):
    """What an agent was refused. It never changes: accepting it does what it shows."""

    id: str
    action: Literal["add", "edit", "remove"]
    preference_id: str | None
    """The row that is meant; null of an addition."""
    before: Text | None
    """The row as it stands; null of an addition."""
    after: Text | None
    """As it would be; null of a removal."""
    reasoning: str | None
    """The agent's own words: show them as a quotation, as plain text."""
    agent: str | None
    at: str


class Listing(TypedDict):
    """The whole list of a thread, fresh from the write or the read that this answers."""

    thread_id: str
    revision: int
    """Of the thread: grows with every change, never goes back."""
    preferences: list[Row]
    suggestions: list[Suggestion]
    """What waits for the user, the oldest first."""


class Addition(TypedDict):
    """What became of one item that was sent."""

    outcome: Literal["recorded", "duplicate"]
    id: str
    position: int


class ListingWithOutcomes(Listing):
    """The whole list, and for each item that was sent, in order, what became of it."""

    outcomes: list[Addition]


class ThreadReference(TypedDict):
    """A thread, and what its owner calls it."""

    thread_id: str
    title: str | None
    """null: it has none."""


class ThreadPage(TypedDict):
    """Some of the caller's threads."""

    threads: list[ThreadReference]
    next: str | None
    """The cursor of the page after this one; null at the end."""


class SessionAttributes(TypedDict):
    thread_id: str
    user_id: str


class PromptSessionAttributes(TypedDict):
    preferences: str
    """The `<preferences>` block, for the prompt."""


class SessionState(TypedDict):
    """What to hand to InvokeAgent as `sessionState`, at the start of a turn."""

    sessionAttributes: SessionAttributes
    promptSessionAttributes: PromptSessionAttributes


class Values(TypedDict, total=False):
    """Attributes of a row that a change made different, and of an added or removed row all of them."""

    title: str
    subtitle: str | None
    """null: none."""
    kind: Kind
    locked: bool
    rank: int
    """Orders the list; says nothing but that the row was moved."""


class Difference(TypedDict):
    """What a change did to one row."""

    id: str
    title: str
    """Its title after the change, or before its removal; also where that is not what differs."""
    before: Values | None
    """null: the row was added."""
    after: Values | None
    """null: the row was removed."""


class HistoryEntry(TypedDict):
    """One change of a thread, as it was committed."""

    revision: int
    """The thread's, that the change made."""
    actor: Actor
    action: str
    """What was asked for: `add`, `edit`, `remove`, `lock`, `undo` and so on."""
    reasoning: str | None
    """What the agent said that it was doing and why."""
    at: str
    summary: str
    """The change in a sentence, to the user."""
    changes: list[Difference]


class HistoryPage(TypedDict):
    """Some of a thread's changes, the newest first."""

    entries: list[HistoryEntry]
    next: str | None
    """The cursor of the page after this one; null at the end."""


class Configuration(TypedDict):
    """What the panel's page needs to sign in; null: not configured."""

    authorize_url: str | None
    token_url: str | None
    client_id: str | None
    scope: str | None
    audience: str | None
    """What the page asks for as `audience`, where an issuer wants it, as Auth0 does."""
    sign_out_url: str | None
    """Where the issuer's own session ends; takes `client_id` and `logout_uri`, as Cognito's does."""
    redirect_path: str
    agent_console: str | None
    """Where the page can play the agent; in the local stack only."""


class Fault(TypedDict):
    """One fault of what was sent. Says the place and a remedy, never the value."""

    field: str
    message: str


class ConflictingRow(TypedDict):
    """A row that is in the way of a change."""

    id: str
    title: str
    reason: str
    """How it differs from what the change made of it, or that it says just the same."""


class Problem(TypedDict):
    """Problem details of RFC 9457. `code` is for machines, `detail` for people."""

    type: Literal["about:blank"]
    title: str
    status: int
    detail: str
    code: str
    errors: NotRequired[list[Fault]]
    """With `invalid_input`."""
    current: NotRequired[Row]
    """With `precondition_failed`: the row as it stands."""
    conflicts: NotRequired[list[ConflictingRow]]
    """With `undo_conflict` and `duplicate`: the rows that are in the way."""
    preferences: NotRequired[list[Row]]
    """The list as it is: with `outcome_unknown`, if it could be read, and for a suggestion that is gone"""
    suggestions: NotRequired[list[Suggestion]]
    """With `preferences`."""
    revision: NotRequired[int]
    """With `preferences`: the thread's."""


class GatewayMessage(TypedDict):
    """What API Gateway answers before a request reaches this service."""

    message: str


def row(thread: Thread, preference: Preference) -> Row:
    return {
        "id": preference.id,
        "position": thread.positions[preference.id],
        "title": preference.title,
        "subtitle": preference.subtitle,
        "kind": preference.kind,
        "locked": preference.locked,
        "revision": preference.changed,
        "created_by": preference.created_by,
        "created_at": preference.created_at,
        "updated_by": preference.updated_by,
        "updated_at": preference.updated_at,
    }


def rows(thread: Thread) -> list[Row]:
    return [row(thread, preference) for preference in thread.preferences]


def listing(thread: Thread) -> Listing:
    return {
        "thread_id": thread.thread_id,
        "revision": thread.revision,
        "preferences": rows(thread),
        "suggestions": suggestions(thread),
    }


def suggestions(thread: Thread) -> list[Suggestion]:
    return [_suggestion(thread, one) for one in thread.live]


def _suggestion(thread: Thread, suggestion: model.Suggestion) -> Suggestion:
    row = thread.find(suggestion.target) if suggestion.target else None
    return {
        "id": suggestion.id,
        "action": suggestion.action,
        "preference_id": suggestion.target,
        "before": _text(row.text) if row else None,
        "after": _text(suggestion.text) if suggestion.text else None,
        "reasoning": suggestion.reasoning,
        "agent": suggestion.agent,
        "at": suggestion.at,
    }


def _text(text: model.Text) -> Text:
    title, subtitle, kind = text
    return {"title": title, "subtitle": subtitle, "kind": kind}


def listing_with_outcomes(thread: Thread, reports: tuple[Report, ...]) -> ListingWithOutcomes:
    outcomes: list[Addition] = [
        {
            "outcome": "recorded" if report.outcome == "recorded" else "duplicate",
            "id": report.id or "",
            "position": report.position or 0,
        }
        for report in reports
    ]
    return {**listing(thread), "outcomes": outcomes}


def session_state(thread: Thread, user: str) -> SessionState:
    return {
        "sessionAttributes": {"thread_id": thread.thread_id, "user_id": user},
        "promptSessionAttributes": {"preferences": render.block(thread)},
    }


def history_page(entries: tuple[Entry, ...], cursor: str | None) -> HistoryPage:
    return {"entries": [_history_entry(entry) for entry in entries], "next": cursor}


def _history_entry(entry: Entry) -> HistoryEntry:
    return {
        "revision": entry.revision,
        "actor": entry.change.actor,
        "action": entry.change.action,
        "reasoning": entry.change.reasoning,
        "at": entry.change.at,
        "summary": render.summary(entry),
        "changes": [_difference(change) for change in entry.rows],
    }


def _difference(change: RowChange) -> Difference:
    return {
        "id": change.id,
        "title": change.title,
        "before": _values(change.before),
        "after": _values(change.after),
    }


def _values(attributes: Attributes | None) -> Values | None:
    if attributes is None:
        return None
    return cast(Values, {name: attributes[name] for name in SHOWN if name in attributes})

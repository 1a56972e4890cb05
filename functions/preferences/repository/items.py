"""A thread as an item of the table, and back. No other module reads or makes a thread's item.

pk = THREAD#<thread_id>, sk = PREFERENCES
owner         S   absent on a tombstone
title         S   of the conversation; absent where it has none, and on a tombstone
revision      N
renumbered    N
revived       N   of a thread that was deleted once
preferences   M   id → M of the row's fields, without its id; absent on a tombstone
suggestions   M   id → M: action; target S and base N; fields M of title, subtitle, kind; reasoning, agent, at
declined      S   digests of 22 characters, the oldest first: see rules.suggestions
last_change   M
recent        M   ids S: of the newest writes, the oldest first, 12 characters each;
                  ends N: the revision that the last of them made
deleted_by    S   on a tombstone only, with
expires_at    N   epoch seconds, the table's TTL attribute
"""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from preferences.model import Change, Preference, Suggestion, Thread, suggested_action

Item = Mapping[str, Mapping[str, Any]]
"""An item, or a map inside it, in DynamoDB's typed form: name → {"S": "…"}."""


def key(thread_id: str) -> dict[str, dict[str, str]]:
    return {"pk": {"S": f"THREAD#{thread_id}"}, "sk": {"S": "PREFERENCES"}}


def thread_id_of(item: Item) -> str:
    """The thread that an item, or its key, belongs to."""
    return str(item["pk"]["S"]).removeprefix("THREAD#")


def typed(value: object) -> dict[str, Any]:
    """A value in DynamoDB's form: of a text, a whole number, a boolean, a map, a list, or None."""
    if value is None:
        return {"NULL": True}
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, str):
        return {"S": value}
    if isinstance(value, int):
        return {"N": str(value)}
    if isinstance(value, Mapping):
        return {"M": {name: typed(inner) for name, inner in value.items()}}
    if isinstance(value, tuple | list):
        return {"L": [typed(inner) for inner in value]}
    raise TypeError(f"no attribute is of type {type(value).__name__}")


def plain(attribute: Mapping[str, Any]) -> Any:
    """The reverse of `typed`. A type that only another version stores must not hide the rest."""
    [(kind, value)] = attribute.items()
    return _READERS[kind](value) if kind in _READERS else value


def plain_map(attributes: Item) -> dict[str, Any]:
    """`plain` of each value, without a call for a text or a boolean."""
    return {
        name: _READERS[kind](value) if kind in _READERS else value
        for name, attribute in attributes.items()
        for ((kind, value),) in (attribute.items(),)  # one type each, or the answer is garbled
    }


def _number(text: str) -> int | float:
    """Whole numbers are all that this version stores; of others it keeps nothing, so a float will do."""
    return int(text) if text.isdecimal() else float(text)


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "N": _number,
    "NULL": lambda _: None,
    "M": plain_map,
    "L": lambda elements: [plain(element) for element in elements],
}


def row_fields(row: Preference) -> dict[str, object]:
    """What is stored of a row under its id: no nulls."""
    fields = {name: value for name, value in row if name != "id" and value is not None}
    if not row.user_changed:
        del fields["user_changed"]
    return fields


def suggestion_fields(suggestion: Suggestion) -> dict[str, object]:
    """What is stored of a suggestion under its id: no nulls."""
    fields = suggestion.model_dump(exclude={"id", "text"}, exclude_none=True)
    if suggestion.text:
        names = ("title", "subtitle", "kind")
        given = zip(names, suggestion.text, strict=True)
        fields["fields"] = {name: value for name, value in given if value is not None}
    return fields


def thread_item(thread: Thread) -> dict[str, dict[str, Any]]:
    """A registered thread as an item."""
    attributes = {
        "owner": thread.owner,
        "title": thread.title,
        "revision": thread.revision,
        "renumbered": thread.renumbered,
        "preferences": {row.id: row_fields(row) for row in thread.preferences},
        "last_change": change_fields(thread.last_change) if thread.last_change else None,
        "recent": recent_fields(thread.recent, thread.recent_ends) if thread.recent else None,
    }
    stored = {name: typed(value) for name, value in attributes.items() if value is not None}
    return key(thread.thread_id) | stored


def recent_fields(ids: str, ends: int) -> dict[str, object]:
    return {"ids": ids, "ends": ends}


def change_fields(change: Change) -> dict[str, object]:
    return change.model_dump(exclude_none=True)


def read_change(attributes: Mapping[str, Any]) -> Change:
    """What is known of a change: a later version may have kept more of it, and a rollback must read on."""
    return Change(**{name: attributes[name] for name in Change.model_fields if name in attributes})


def read_thread(thread_id: str, item: Item | None) -> Thread:
    """The thread that an item holds; without an item, a thread at revision 0."""
    return with_rows(read_head(thread_id, item), item)


def read_head(thread_id: str, item: Item | None) -> Thread:
    """The same without its rows, which take nearly all of the time."""
    if item is None:
        return Thread(thread_id=thread_id)
    attributes = plain_map({name: value for name, value in item.items() if name not in _ROWS})
    change, recent = attributes.get("last_change"), attributes.get("recent", {})
    return Thread(
        thread_id=thread_id,
        owner=attributes.get("owner"),
        deleted_by=attributes.get("deleted_by"),
        title=attributes.get("title"),
        revision=attributes["revision"],
        renumbered=attributes.get("renumbered", 0),
        revived=attributes.get("revived", 0),
        declined=attributes.get("declined", ""),
        last_change=read_change(change) if change else None,
        recent=recent.get("ids", ""),
        recent_ends=recent.get("ends", 0),
    )


def with_rows(head: Thread, item: Item | None) -> Thread:
    """Rows are read tolerantly: what another version left out or added must not hide the others."""
    if item is None or "preferences" not in item:
        return head
    waiting = plain(item["suggestions"]) if "suggestions" in item else {}
    suggestions = filter(None, (_suggestion(one, fields) for one, fields in waiting.items()))
    rows = [_row(preference_id, fields) for preference_id, fields in plain(item["preferences"]).items()]
    rows.sort(key=lambda row: (row.rank, row.id))
    oldest_first = sorted(suggestions, key=lambda suggestion: (suggestion.at, suggestion.id))
    return head.model_copy(update={"preferences": tuple(rows), "suggestions": tuple(oldest_first)})


_ROWS = ("preferences", "suggestions")


def _suggestion(suggestion_id: str, stored: Any) -> Suggestion | None:
    """None where it is one of a kind that this version does not know."""
    try:
        fields = stored.get("fields")
        text = (fields["title"], fields.get("subtitle"), fields["kind"]) if fields else None
        known = {name: value for name, value in stored.items() if name in Suggestion.model_fields}
        suggestion = Suggestion(**{**known, "id": suggestion_id, "text": text})
    except (AttributeError, KeyError, TypeError, ValidationError):
        return None
    # The action is what is shown: accepting has to do that, and nothing else.
    done = suggested_action(suggestion.target, text)
    return suggestion if suggestion.action == done and (text or suggestion.target) else None


# Worked out once: these are made for every row of every list.
_ROW_FIELDS = frozenset(Preference.model_fields)
_WHERE_MISSING = {
    "title": "",
    "rank": 0,
    "added": 0,
    "changed": 0,
    "created_by": "user",
    "created_at": "",
    "updated_by": "user",
    "updated_at": "",
}


def _row(preference_id: str, fields: dict[str, Any]) -> Preference:
    kind = fields.get("kind")
    return Preference(
        **{
            **_WHERE_MISSING,
            **{name: value for name, value in fields.items() if name in _ROW_FIELDS},
            "id": preference_id,
            "kind": kind if kind in ("hard", "soft") else "hard",
            # What isn't stored as false is locked: an agent's condition asks for false, so none can touch it.
            "locked": fields.get("locked") is not False,
        }
    )

"""The exceptions that callers may expect, as one tree. `api` adds those that only its requests can raise.

    PreferencesError
    ├── InvalidInput             what was sent does not fit; the text says what to send instead
    │   └── InvalidJson          not even JSON, or JSON that has more than one reading
    ├── NotFound
    │   ├── ThreadNotFound       no such thread, or not the caller's: the two look the same
    │   ├── PreferenceNotFound   the thread has no such row
    │   ├── SuggestionNotFound   it is gone: accepted, dismissed, replaced or outdated
    │   └── ChangeNotFound       the thread's history has no such change, or no longer
    ├── Conflict
    │   ├── ThreadTaken          the thread id belongs to somebody else
    │   ├── ListFull             the list would exceed the bound of a thread
    │   └── RowConflict          rows of the list as it stands are in the way
    │       ├── Duplicate        the edit would make an exact repeat of another row
    │       └── UndoConflict     a later change, or an exact repeat
    ├── PreconditionFailed       the row is newer than the one that the caller saw
    └── Unavailable
        ├── Busy                 nothing was applied; the same request may be sent again
        ├── OutcomeUnknown       a write was sent, and whether it was applied is unknown
        └── HistoryNotReady      the change is committed, its history entry is still on its way

Handlers turn them into answers by their class. `code` is for machines, and the same in both handlers. The
message is for people and models, and never holds what was sent.
"""

import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from preferences.model import Preference, Thread


@dataclass(frozen=True, slots=True)
class FieldError:
    """One fault of the input: where (`items.0.title`; empty for the whole), and what to send instead."""

    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


class PreferencesError(Exception):
    """Root of the tree. Of its groups (NotFound, Conflict, Unavailable) only what is below them is raised."""

    code: ClassVar[str]
    message: ClassVar[str] = ""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or self.message)


class InvalidInput(PreferencesError):
    code = "invalid_input"

    def __init__(self, errors: Sequence[FieldError]) -> None:
        super().__init__("; ".join(map(str, errors)))
        self.errors = tuple(errors)


class InvalidJson(InvalidInput):
    code = "invalid_json"

    def __init__(self, message: str) -> None:
        super().__init__([FieldError("", message)])


class NotFound(PreferencesError):
    code = "not_found"


class ThreadNotFound(NotFound):
    message = "no such thread"


class PreferenceNotFound(NotFound):
    message = "no such preference in this thread"


class SuggestionNotFound(NotFound):
    """Carries the thread as it stands: a client that lost an answer sees there whether it was accepted."""

    message = "this suggestion waits no longer: look at the present list"

    def __init__(self, thread: Thread) -> None:
        super().__init__()
        self.thread = thread


class ChangeNotFound(NotFound):
    message = "no such change in the history of this thread, or it is kept no longer"


class Conflict(PreferencesError):
    pass


class ThreadTaken(Conflict):
    code = "thread_taken"
    message = "this thread id is taken: choose another one"


class ListFull(Conflict):
    code = "list_full"


@dataclass(frozen=True, slots=True)
class ConflictingRow:
    """A row that stands in the way of a change, and why."""

    id: str
    title: str
    reason: str


class RowConflict(Conflict):
    """A conflict with rows of the list as it stands."""

    def __init__(self, message: str, rows: Sequence[ConflictingRow]) -> None:
        super().__init__(message)
        self.rows = tuple(rows)


class Duplicate(RowConflict):
    code = "duplicate"


class UndoConflict(RowConflict):
    code = "undo_conflict"


class PreconditionFailed(PreferencesError):
    """Carries the thread as it stands and the row in question, for the answer to show."""

    code = "precondition_failed"
    message = (
        "this preference has changed since: compare with the present one, then send its revision as If-Match"
    )

    def __init__(self, thread: Thread, current: Preference) -> None:
        super().__init__()
        self.thread = thread
        self.current = current


class Unavailable(PreferencesError):
    pass


class Busy(Unavailable):
    code = "busy"
    message = "the store is busy and nothing was changed: try again in a moment"


class OutcomeUnknown(Unavailable):
    """Carries the present thread, to which the write can't be applied any more.

    None: the thread could not be read, or is the caller's no longer, and the write may still be applied.
    """

    code = "outcome_unknown"
    message = "it is unknown whether the change was stored: look at the present list before trying again"

    def __init__(self, thread: Thread | None) -> None:
        super().__init__()
        self.thread = thread


class HistoryNotReady(Unavailable):
    code = "not_ready"
    message = "this change is not in the history yet: try again in a moment"


def describe_fault(fault: Exception) -> dict[str, Any]:
    """What a log may say of what is no refusal: type and place, and AWS's word for it.

    Never the exception's own text: it may hold what people wrote.
    """
    response = getattr(fault, "response", None)
    return {
        "error": type(fault).__name__,
        "aws_error": response.get("Error", {}).get("Code") if isinstance(response, dict) else None,
        "stack": [f"{at.filename}:{at.lineno} {at.name}" for at in traceback.extract_tb(fault.__traceback__)],
    }

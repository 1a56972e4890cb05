"""The words of the history: what one committed write did, row by row."""

from collections.abc import Mapping
from typing import Any

from preferences.model.preference import Change, Frozen

SHOWN = ("title", "subtitle", "kind", "locked", "rank")
"""The attributes of a row that are compared, kept and put back."""

Attributes = Mapping[str, Any]


class RowChange(Frozen):
    """What a write did to one row. `before` and `after` hold the attributes that differ, of SHOWN.

    A row that was added has no `before`. A row that was removed has no `after`, and its `before` is all of
    it but the id, so that it can come back as it was.
    """

    id: str
    title: str
    """What people call it, whether or not it has changed."""
    before: Attributes | None
    after: Attributes | None


class Entry(Frozen):
    """What one committed write did, and who did it."""

    revision: int
    """The one that the write made."""
    owner: str
    """Whose list it was."""
    change: Change
    rows: tuple[RowChange, ...]

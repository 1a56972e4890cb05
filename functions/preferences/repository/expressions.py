"""The text of a conditional write. Conditions are named as the rule that they hold.

Every attribute name goes through an alias (DynamoDB reserves hundreds, `owner` among them), every value
through a placeholder, and the same name or plain value is sent once.
"""

from collections.abc import Mapping
from typing import Any

from preferences.repository.items import typed


class Expressions:
    """Collects the condition and the update of one request."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._values: dict[str, dict[str, Any]] = {}
        self._placeholders: dict[tuple[type, object], str] = {}
        self._conditions: list[str] = []
        self._sets: list[str] = []
        self._removes: list[str] = []

    # -- conditions: all must hold, or the write is refused with the item as it stands

    def require_new(self) -> None:
        self._conditions.append(f"attribute_not_exists({self._path('pk')})")

    def require_revision(self, revision: int) -> None:
        self._conditions.append(f"{self._path('revision')} = {self._value(revision)}")

    def require_owner(self, owner: str) -> None:
        self._conditions.append(f"{self._path('owner')} = {self._value(owner)}")

    def require_deleted_by(self, user: str) -> None:
        """A tombstone, left by this user."""
        self._conditions.append(f"attribute_not_exists({self._path('owner')})")
        self._conditions.append(f"{self._path('deleted_by')} = {self._value(user)}")

    def require_unlocked(self, preference_id: str) -> None:
        """`= false`, never `<> true`: a row without the attribute, or no row at all, is refused as well."""
        self._conditions.append(f"{self._row(preference_id, 'locked')} = {self._value(False)}")

    # -- update

    def put(self, name: str, value: object) -> None:
        self._sets.append(f"{self._path(name)} = {self._value(value)}")

    def remove(self, *names: str) -> None:
        self._removes += [self._path(name) for name in names]

    def put_row(self, preference_id: str, row: object) -> None:
        self._sets.append(f"{self._row(preference_id)} = {self._value(row)}")

    def remove_row(self, preference_id: str) -> None:
        self._removes.append(self._row(preference_id))

    # -- the request's parameters

    def condition(self) -> dict[str, Any]:
        return self._parameters(ConditionExpression=" AND ".join(self._conditions))

    def update(self) -> dict[str, Any]:
        parts = [f"SET {', '.join(self._sets)}"]
        parts += [f"REMOVE {', '.join(self._removes)}"] if self._removes else []
        return self._parameters(
            ConditionExpression=" AND ".join(self._conditions), UpdateExpression=" ".join(parts)
        )

    def _parameters(self, **expressions: str) -> dict[str, Any]:
        parameters: dict[str, Any] = {
            **expressions,
            "ExpressionAttributeNames": {alias: name for name, alias in self._names.items()},
        }
        if self._values:
            parameters["ExpressionAttributeValues"] = self._values
        return parameters

    def _row(self, preference_id: str, *field: str) -> str:
        return self._path("preferences", preference_id, *field)

    def _path(self, *names: str) -> str:
        return ".".join(self._names.setdefault(name, f"#n{len(self._names)}") for name in names)

    def _value(self, value: object) -> str:
        fresh = f":v{len(self._values)}"
        if isinstance(value, Mapping):
            placeholder = fresh
        else:  # the type belongs to it: True == 1
            placeholder = self._placeholders.setdefault((type(value), value), fresh)
        if placeholder == fresh:
            self._values[fresh] = typed(value)
        return placeholder

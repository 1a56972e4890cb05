"""The text of a conditional write. Conditions are named as the rule that they hold.

Every attribute name goes through an alias (DynamoDB reserves hundreds, `owner` among them), every value
through a placeholder, and the same name or plain value is sent once.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from preferences.model import Fields
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

    def require_owner(self, owner: str | None) -> None:
        """Owned by this user; None: by anyone, so no tombstone."""
        path = self._path("owner")
        self._conditions.append(f"{path} = {self._value(owner)}" if owner else f"attribute_exists({path})")

    def require_stored(self) -> None:
        self._conditions.append(f"attribute_exists({self._path('pk')})")

    def require_not_voided(self, change_id: str) -> None:
        """Not given up by its sender, who could not learn what became of it."""
        self._conditions.append(f"NOT contains({self._path('voided')}, {self._value(change_id)})")

    def require_voided(self, voided: str) -> None:
        """Nothing else was voided since it was read."""
        path = self._path("voided")
        self._conditions.append(
            f"{path} = {self._value(voided)}" if voided else f"attribute_not_exists({path})"
        )

    def require_other_change(self, change_id: str) -> None:
        """The latest change is another one."""
        self._conditions.append(f"{self._path('last_change', 'id')} <> {self._value(change_id)}")

    def require_deleted_by(self, user: str) -> None:
        self._conditions.append(f"attribute_not_exists({self._path('owner')})")
        self._conditions.append(f"{self._path('deleted_by')} = {self._value(user)}")

    def require_revision(self, revision: int) -> None:
        self._conditions.append(f"{self._path('revision')} = {self._value(revision)}")

    def require_row(self, preference_id: str) -> None:
        self._conditions.append(f"attribute_exists({self._row(preference_id)})")

    def require_unlocked(self, preference_id: str) -> None:
        """`= false`, never `<> true`: a row without the attribute, or no row at all, is refused as well."""
        self._conditions.append(f"{self._row(preference_id, 'locked')} = {self._value(False)}")

    def require_row_revision(self, preference_id: str, revision: int) -> None:
        self._conditions.append(f"{self._row(preference_id, 'changed')} = {self._value(revision)}")

    def require_difference(self, preference_id: str, fields: Fields) -> None:
        """At least one field is not yet what it shall be."""
        different = []
        for name, value in fields.items():
            path = self._row(preference_id, name)
            different.append(
                f"attribute_exists({path})" if value is None else f"{path} <> {self._value(value)}"
            )
        self._conditions.append(f"({' OR '.join(different)})")

    def require_equality(self, preference_id: str, fields: Fields) -> None:
        """Every field already is what it shall be."""
        for name, value in fields.items():
            path = self._row(preference_id, name)
            self._conditions.append(
                f"attribute_not_exists({path})" if value is None else f"{path} = {self._value(value)}"
            )

    # -- update

    def put(self, name: str, value: object) -> None:
        self._sets.append(f"{self._path(name)} = {self._value(value)}")

    def remove(self, name: str) -> None:
        self._removes.append(self._path(name))

    def next_revision(self, *also: str) -> None:
        """One more than the revision that the write meets, in `revision` and in the attributes named."""
        for name in ("revision", *also):
            self._sets.append(f"{self._path(name)} = {self._path('revision')} + {self._value(1)}")

    def put_row(self, preference_id: str, row: object) -> None:
        self._sets.append(f"{self._row(preference_id)} = {self._value(row)}")

    def drop_row(self, preference_id: str) -> None:
        self._removes.append(self._row(preference_id))

    def put_fields(self, preference_id: str, fields: Iterable[tuple[str, object]]) -> None:
        for name, value in fields:
            path = self._row(preference_id, name)
            if value is None:
                self._removes.append(path)
            else:
                self._sets.append(f"{path} = {self._value(value)}")

    def stamp_row(self, preference_id: str, *names: str) -> None:
        """The revision that this write makes, in fields of a row."""
        for name in names:
            path = self._row(preference_id, name)
            self._sets.append(f"{path} = {self._path('revision')} + {self._value(1)}")

    # -- the request's parameters

    def condition(self) -> dict[str, Any]:
        return self._parameters(ConditionExpression=" AND ".join(self._conditions))

    def update(self) -> dict[str, Any]:
        parts = [f"SET {', '.join(self._sets)}"] if self._sets else []
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

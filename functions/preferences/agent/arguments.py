"""A tool's arguments, from whatever text an agent's runtime made of them.

Arrays of objects are where runtimes differ: they arrive as JSON, as JSON in JSON, fenced, as Java's or
Python's way to print a list, as name/value pairs, or native. Only an argument that the tool's own schema
wants as an array is decoded, and only with that tool's own field names; everything inside an element is
the user's text and stays as it is. Each step is linear in the length of the text.
"""

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import prod
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from preferences.errors import FieldError, InvalidInput, InvalidJson
from preferences.model import MAX_BATCH
from preferences.parsing import parse, strict_json

MAX_TEXT = 500_000
"""Characters of one argument. The largest batch fits: 50 × 620 times the 14 of `\\\\ud83c\\\\udf55`."""

_MAX_READINGS = 16
_AMBIGUOUS = "a field's name comes twice in one object"
_NOT_GIVEN = frozenset({"", "null", "None"})


def decode(schema: type[BaseModel], arguments: Mapping[str, object]) -> dict[str, object]:
    """`arguments` with every array that `schema` wants as a list, for the schema to validate.

    What counts as not given is left out: null, and where it stands alone an empty text or the word null.
    Arguments that the schema doesn't know are passed on. Raises InvalidInput where an array can't be read,
    or has more than one reading.
    """
    arrays = _arrays(schema)
    decoded: dict[str, object] = {}
    for name, value in arguments.items():
        if name not in schema.model_fields:
            decoded[name] = value
        elif not (value is None or (isinstance(value, str) and value.strip() in _NOT_GIVEN)):
            decoded[name] = arrays[name].elements(value) if name in arrays else value
    return decoded


@cache
def _arrays(schema: type[BaseModel]) -> Mapping[str, "_Array"]:
    return {
        name: _Array(name, _element(field.annotation))
        for name, field in schema.model_fields.items()
        if get_origin(field.annotation) in (tuple, list)
    }


def _element(annotation: Any) -> type[BaseModel] | None:
    element = get_args(annotation)[0]
    return element if isinstance(element, type) and issubclass(element, BaseModel) else None


class _Unreadable(Exception):
    """Why a value can't be read. The caller, which knows the place, raises InvalidInput."""


@dataclass(frozen=True)
class _Array:
    """One array argument of a tool: how a value for it is read."""

    name: str
    element: type[BaseModel] | None
    """What an element is; None: a plain number."""

    def elements(self, value: object) -> list[object]:
        place = ""
        try:
            elements = self._list(value)
            if self.element is None:
                return elements
            objects = []
            for n, element in enumerate(elements):
                place = f" (element {n})"
                objects.append(self._object(element))
        except _Unreadable as error:
            remedy = f"{error}{place}: send {self.name} as JSON"
            raise InvalidInput([FieldError(self.name, remedy)]) from None
        return objects

    def _list(self, value: object) -> list[object]:
        if isinstance(value, str):
            value = self._read(value)
        if self.element:
            value = _object_of_pairs(value)
        elements = value if isinstance(value, list) else [value]
        if len(elements) > MAX_BATCH:  # before any work on each of them
            raise _Unreadable(f"must hold at most {MAX_BATCH} elements")
        if sum(len(element) for element in elements if isinstance(element, str)) > MAX_TEXT:
            raise _Unreadable("is too long")
        return elements

    def _object(self, value: object) -> object:
        if isinstance(value, str):
            value = self._read(value, otherwise="must be an object")
            if isinstance(value, list) and len(value) == 1:
                value = value[0]
        return _object_of_pairs(value)

    def _read(self, text: str, *, quoted: bool = False, otherwise: str | None = None) -> object:
        """What `text` holds, by the first encoding that takes the whole of it."""
        if len(text) > MAX_TEXT:
            raise _Unreadable("is too long")
        text = _without_fence(text.strip())
        try:
            value = strict_json(text)
        except InvalidJson as error:
            reason = str(error)
        else:
            if not isinstance(value, str):
                return value
            if not quoted:
                return self._read(value, quoted=True, otherwise=otherwise)
            reason = "must be a list, not a text"
        for encoding in (_python_literal, self._printed_maps, _tagged, self._numbers):
            if (value := encoding(text)) is not None:
                return value
        raise _Unreadable(otherwise or reason)

    def _printed_maps(self, text: str) -> list[object] | None:
        return _printed_maps(text, self.element) if self.element else None

    def _numbers(self, text: str) -> list[object] | None:
        """`1,3`: for plain numbers alone, as texts may hold commas."""
        parts = text.split(",")
        return None if self.element or not all(map(_NUMBER.fullmatch, parts)) else [*parts]


_NUMBER = re.compile(r"\s*+[+-]?[0-9.]++\s*+")


def _object_of_pairs(value: object) -> object:
    """A list of {name, value} objects is one object; anything else is left as it is."""
    if not (isinstance(value, list) and value and all(map(_is_pair, value))):
        return value
    found = {pair["name"]: pair["value"] for pair in value}
    if len(found) < len(value):
        raise _Unreadable("a field is given twice in one object")
    return found


def _is_pair(value: object) -> bool:
    return (
        isinstance(value, dict)
        and {"name", "value"} <= value.keys() <= {"name", "value", "type"}
        and isinstance(value["name"], str)
    )


_FENCED = re.compile(r"```(?:[A-Za-z]++\s++)?+(.*)```", re.DOTALL)


def _without_fence(text: str) -> str:
    fenced = _FENCED.fullmatch(text)
    return fenced[1].strip() if fenced else text


def _tagged(text: str) -> list[object] | None:
    """`<item>1</item><item>3</item>`"""
    if not (text.startswith("<item>") and text.endswith("</item>")):
        return None
    return [*re.split(r"</item>\s*+<item>", text[len("<item>") : -len("</item>")])]


# -- Java's toString: [{title=Academic tone, kind=hard}, {title=Short, plain words}] --------------------
# Nothing is quoted, so that only the names that the schema knows tell a separator from a text.


@dataclass(frozen=True)
class _Separators:
    start: re.Pattern[str]
    between_objects: re.Pattern[str]
    field: re.Pattern[str]
    unknown_field: re.Pattern[str]
    """Models add fields of their own, an id or a reason: a text that goes on so has more than one reading."""


@cache
def _separators(element: type[BaseModel]) -> _Separators:
    names = "|".join(map(re.escape, element.model_fields))
    return _Separators(
        start=re.compile(rf"\{{(?:{names})="),
        between_objects=re.compile(rf"\}}, \{{(?=(?:{names})=)"),
        field=re.compile(rf"(?:\A|, )({names})="),
        unknown_field=re.compile(rf", (?!(?:{names})=)[A-Za-z_][A-Za-z0-9_]*="),
    )


def _printed_maps(text: str, element: type[BaseModel]) -> list[object] | None:
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1].strip()
    separators = _separators(element)
    if not (separators.start.match(text) and text.endswith("}")):
        return None
    objects = separators.between_objects.split(text[1:-1], maxsplit=MAX_BATCH)
    if len(objects) > MAX_BATCH:
        raise _Unreadable(f"must hold at most {MAX_BATCH} elements")
    return [_only_reading(text, element) for text in objects]


def _only_reading(text: str, element: type[BaseModel]) -> Mapping[str, str | None]:
    """The object that was printed as `text`.

    A map has no key twice. Where a name comes twice, all but one of them belong to a text, and nobody can
    say which: that is settled only if exactly one reading is a valid element.
    """
    found = list(_separators(element).field.finditer(text))
    places: dict[str, list[re.Match[str]]] = {}
    for match in found:
        places.setdefault(match[1], []).append(match)
    places[found[0][1]] = found[:1]  # the object starts with this one, so it's the later ones that are text
    if prod(map(len, places.values())) > _MAX_READINGS:
        raise _Unreadable(_AMBIGUOUS)
    readings = [_fields(text, chosen, element) for chosen in product(*places.values())]
    if len(found) > len(places):
        readings = [reading for reading in readings if _is_valid(reading, element)]
    if len(readings) != 1:
        raise _Unreadable(_AMBIGUOUS)
    return readings[0]


def _fields(text: str, chosen: Sequence[re.Match[str]], element: type[BaseModel]) -> Mapping[str, str | None]:
    """The values that stand between the `chosen` names; the word null is null."""
    chosen = sorted(chosen, key=re.Match.start)
    ends = [*(match.start() for match in chosen[1:]), len(text)]
    values = {match[1]: text[match.end() : end] for match, end in zip(chosen, ends, strict=True)}
    if any(map(_separators(element).unknown_field.search, values.values())):
        raise _Unreadable("a text is followed by what looks like a field that is not known here")
    return {name: None if value == "null" else value for name, value in values.items()}


def _is_valid(reading: Mapping[str, str | None], element: type[BaseModel]) -> bool:
    try:
        parse(element, reading)
    except InvalidInput:
        return False
    return True


# -- Python's repr: [{'title': 'Academic tone', 'subtitle': None}] --------------------------------------

_PYTHON_TOKEN = re.compile(
    r"""(?P<plain>[\s\[\]{},:]++|-?[0-9][0-9.eE+-]*+)
      | (?P<word>[A-Za-z]++)
      | (?P<text>'(?:[^'\\\n]|\\['"\\nrtxuU])*+'|"(?:[^"\\\n]|\\['"\\nrtxuU])*+")""",
    re.VERBOSE,
)
_PYTHON_WORDS = {"None": "null", "True": "true", "False": "false"}


def _python_literal(text: str) -> object:
    """The lists and dicts that were printed as `text`, or None.

    The text is respelled as JSON, to be read as strictly: Python's own reading of the whole would take the
    last of two equal keys, print warnings about odd escapes, and fail in five ways on hostile input.
    """
    json_text: list[str] = []
    end = 0
    while end < len(text):
        token = _PYTHON_TOKEN.match(text, end)
        respelled = _as_json(token) if token else None
        if token is None or respelled is None:
            return None
        json_text.append(respelled)
        end = token.end()
    try:
        value = strict_json("".join(json_text))
    except InvalidJson:
        return None
    return value if isinstance(value, list | dict) else None


def _as_json(token: re.Match[str]) -> str | None:
    text = token.group()
    if token.lastgroup == "plain":
        return text
    if token.lastgroup == "word":
        return _PYTHON_WORDS.get(text)
    try:
        return json.dumps(ast.literal_eval(text) if "\\" in text else text[1:-1])
    except (SyntaxError, ValueError):  # an escape that names no character, a NUL or half of a surrogate pair
        return None

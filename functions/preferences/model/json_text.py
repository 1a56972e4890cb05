"""JSON with exactly one reading."""

import json
import math
from collections.abc import Sequence
from typing import NoReturn

from preferences.errors import InvalidJson


def strict_json(text: str | bytes) -> object:
    """The value that `text` holds.

    Refuses what Python's parser lets through and other parsers read differently or not at all: NaN and
    Infinity (also as 1e999), a key given twice, nesting or numbers beyond what the interpreter takes.
    Raises InvalidJson, whose text holds nothing of the input.
    """
    try:
        return json.loads(
            text, parse_constant=_not_a_number, parse_float=_finite, object_pairs_hook=_unique_keys
        )
    except RecursionError:
        raise InvalidJson("the JSON is nested too deep") from None
    except ValueError as error:  # JSONDecodeError, UnicodeDecodeError, an integer of thousands of digits
        raise InvalidJson(_place(error)) from None


def _place(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"not valid JSON (line {error.lineno}, column {error.colno})"
    return "not valid JSON (text that is not UTF-8, or a number with too many digits)"


def _not_a_number(_: str) -> NoReturn:
    raise InvalidJson("every number must be a finite one")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise InvalidJson("every number must be a finite one")
    return number


def _unique_keys(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise InvalidJson("a key is given twice in one object")
    return found

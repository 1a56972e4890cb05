"""From what was sent to JSON, and from JSON to the model; or to a sentence that says what to send instead."""

import json
import math
from collections.abc import Sequence
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

from preferences.errors import FieldError, InvalidInput, InvalidJson

Model = TypeVar("Model", bound=BaseModel)

# pydantic's own texts speak to programmers and sometimes show the input; these speak to the sender.
_SENTENCES = {
    "missing": "is required",
    "extra_forbidden": "has a field that is not known here",
    "string_type": "must be a text",
    "string_unicode": "must not hold half of a surrogate pair: leave it out",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "too_short": "must hold at least {min_length} element",
    "too_long": "must hold at most {max_length} elements",
    "literal_error": "must be {expected}",
    "greater_than_equal": "must be {ge} or more",
}


def parse(model: type[Model], value: object) -> Model:
    """`value` as a `model`. Raises InvalidInput, with the place and a remedy for every fault."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        faults = [_field_error(fault) for fault in error.errors(include_url=False, include_input=False)]
        raise InvalidInput(faults) from None


def _field_error(fault: Any) -> FieldError:
    place = [str(step) for step in fault["loc"]]
    if fault["type"] == "extra_forbidden":
        place.pop()  # the name is the sender's own text
    known = _SENTENCES.get(fault["type"])
    return FieldError(".".join(place), known.format(**fault.get("ctx", {})) if known else fault["msg"])


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

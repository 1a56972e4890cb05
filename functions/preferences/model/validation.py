"""From what was sent to the model, or to a sentence that says what to send instead."""

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from preferences.errors import FieldError, InvalidInput

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

"""The agent's tools, in the four forms in which Bedrock and AgentCore take them.

All four are rendered from the same table, `preferences.tools.TOOLS`: its names, its descriptions and its
pydantic models. They differ in what each form can say:

    function_details   a flat list of parameters; what an element of an array is has to be said in words
    openapi            OpenAPI 3.0.0 as Bedrock reads it: no enum, no reference, nothing of 3.1
    gateway            a JSON Schema of five keywords
    converse           a full JSON Schema, for an application that calls a model itself
"""

from collections.abc import Iterator
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from infra.schemas.json_text import compact
from preferences.tools import TOOLS, Tool

Json = dict[str, Any]

ACTION_GROUP = "preferences"
DESCRIPTION = "The preferences that the user stated in this conversation, as a list that the user can lock."

_MAX_PARAMETERS = 5  # of a function, unless the account's quota was raised
_MAX_DESCRIPTION = 500  # of a parameter
_OPTIONAL = "; omit to keep the current value"  # what "required" says too, where room is scarce


class _InOrder(GenerateJsonSchema):
    """Keeps the order of the models, which is the order in which models are shown it."""

    def sort(self, value: Any, parent_key: str | None = None) -> Any:
        return value


def full(tool: Tool) -> Json:
    """The JSON Schema of what a model sends: references resolved, and optional is what `required` leaves out.

    Null, which every optional field accepts, is not offered: leaving out says the same, and not every form
    can say "or null".
    """
    schema = tool.parameters.model_json_schema(schema_generator=_InOrder)
    return _resolved(schema, schema.get("$defs", {}))


def _resolved(schema: Json, definitions: Json) -> Json:
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rsplit("/", 1)[1]]
    if "anyOf" in schema:
        (wanted,) = (option for option in schema["anyOf"] if option != {"type": "null"})
        schema = wanted | {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
    # Pydantic's title is the field's name again, and an object's description is its docstring.
    kept = {key: value for key, value in schema.items() if key not in ("$defs", "title")}
    if "properties" in kept:
        kept.pop("description", None)
        kept["properties"] = {name: _resolved(of, definitions) for name, of in kept["properties"].items()}
    if "items" in kept:
        kept["items"] = _resolved(kept["items"], definitions)
    return kept


def converse() -> Json:
    """`toolConfig` of Converse, without a choice: the application makes that."""
    return {
        "tools": [
            {
                "toolSpec": {
                    "name": tool.name,
                    "description": tool.description,
                    "inputSchema": {"json": full(tool)},
                }
            }
            for tool in TOOLS.values()
        ]
    }


_PLAIN = ("type", "description", "properties", "required", "items")


def _plain(schema: Json) -> Json:
    """The schema in the five keywords that every form knows."""
    kept = {key: schema[key] for key in _PLAIN if key in schema}
    if "properties" in kept:
        kept["properties"] = {name: _plain(field) for name, field in kept["properties"].items()}
    if "items" in kept:
        kept["items"] = _plain(kept["items"])
    return kept


def gateway() -> list[Json]:
    """`toolSchema.inlinePayload` of a Gateway's Lambda target."""
    return [
        {"name": tool.name, "description": tool.description, "inputSchema": _plain(full(tool))}
        for tool in TOOLS.values()
    ]


def openapi() -> Json:
    """The document of an action group with an OpenAPI schema.

    A tool without arguments of its own is a GET. The others are POSTs with a JSON body.
    """
    return {
        "openapi": "3.0.0",
        "info": {"title": "Preference tools", "version": "1.0.0", "description": DESCRIPTION},
        "paths": {f"/{tool.name}": dict([_operation(tool)]) for tool in TOOLS.values()},
    }


def _operation(tool: Tool) -> tuple[str, Json]:
    schema = _plain(full(tool))
    operation: Json = {"operationId": tool.name, "description": tool.description}
    if tool.args_schema.model_fields:
        method = "post"
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    else:
        method = "get"
        operation["parameters"] = [
            {
                "name": name,
                "in": "query",
                "description": field["description"],
                "required": name in schema["required"],
                "schema": {"type": field["type"]},
            }
            for name, field in schema["properties"].items()
        ]
    operation["responses"] = {"200": _ANSWER, "400": _REFUSAL}
    return method, operation


def _answer(description: str, properties: Json) -> Json:
    return {
        "description": description,
        "content": {"application/json": {"schema": {"type": "object", "properties": properties}}},
    }


_OK = {"type": "boolean", "description": "Whether the call was carried out."}
_ANSWER = _answer(
    "What was done, and the list as it is now.",
    {
        "ok": _OK,
        "result": {"type": "string", "description": "What was done and what was skipped, in one sentence."},
        "items": {
            "type": "array",
            "description": "What became of each element, in the order given.",
            "items": {
                "type": "object",
                "properties": {
                    "index": {"type": "integer", "description": "1-based position."},
                    "title": {"type": "string", "description": "The preference that is meant."},
                    "outcome": {"type": "string", "description": "One word, 'updated' or 'locked' for two."},
                },
            },
        },
        "revision": {"type": "integer", "description": "The list's revision, to send as list_revision."},
        "preferences": {"type": "string", "description": "The list, one numbered line for each preference."},
    },
)
_REFUSAL = _answer(
    "The arguments don't fit. Nothing was changed; the message says what to send instead.",
    {
        "ok": _OK,
        "error": {
            "type": "object",
            "description": "Why not.",
            "properties": {
                "code": {"type": "string", "description": "Names the kind of error."},
                "message": {"type": "string", "description": "What was wrong, and what to send instead."},
            },
        },
    },
)


def function_details() -> Json:
    """`functionSchema` of an action group: `{"functions": […]}`.

    Raises ValueError where a tool does not fit into what function details can say.
    """
    return {"functions": [_function(tool) for tool in TOOLS.values()]}


def _function(tool: Tool) -> Json:
    schema = full(tool)
    if len(schema["properties"]) > _MAX_PARAMETERS:
        raise ValueError(f"{tool.name} has more than {_MAX_PARAMETERS} parameters")
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": {
            name: _parameter(f"{tool.name}.{name}", field, name in schema["required"])
            for name, field in schema["properties"].items()
        },
        "requireConfirmation": "DISABLED",
    }


def _parameter(place: str, field: Json, required: bool) -> Json:
    description = " ".join(_in_words(field))
    if len(description) > _MAX_DESCRIPTION:
        raise ValueError(f"{place}: {len(description)} characters of description, {_MAX_DESCRIPTION} fit")
    return {"type": field["type"], "description": description, "required": required}


def _in_words(field: Json) -> Iterator[str]:
    """A parameter's description and, for an array, what an element looks like.

    Asking for JSON lowers how often a runtime's own printing of a list arrives, and does not end it.
    """
    yield field["description"]
    if field["type"] != "array":
        return
    element = field["items"]
    if element["type"] == "object":
        fields = (
            f"{name} ({inner['type']}{', required' if name in element['required'] else ''}): "
            + inner["description"].removesuffix(".").removesuffix(_OPTIONAL)
            for name, inner in element["properties"].items()
        )
        yield f"Send JSON: an array of objects. {'; '.join(fields)}."
    else:
        yield f"Send JSON: an array of {element['type']}s."
    if examples := field.get("examples"):
        yield f"Example: {compact(examples[0])}"

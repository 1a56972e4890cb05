"""The three kinds of event that carry a tool call, and the answer that each kind wants.

    FunctionCall   a classic Bedrock agent, action group with function details
    OpenApiCall    a classic Bedrock agent, action group with an OpenAPI schema
    GatewayCall    AgentCore Gateway, Lambda target

No part of an event is trusted to have its documented type. The methods that read it raise InvalidInput only,
and an answer can be made of any.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from preferences import render
from preferences.errors import FieldError, InvalidInput, InvalidJson
from preferences.model import Thread
from preferences.parsing import strict_json
from preferences.tools import Envelope

Answer = dict[str, Any]

_AGENT_ID = re.compile(r"[0-9A-Za-z_.:/-]{1,100}")
_STATUS = {
    "invalid_arguments": 400,
    "missing_identity": 400,
    "not_found": 404,
    "unknown_tool": 404,
    "list_full": 409,
    "busy": 503,
    "outcome_unknown": 503,
}
"""Error code → HTTP status, in an answer to an OpenAPI action group; every other error is 500."""


class ToolCall(ABC):
    """A tool call in one of the envelopes."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def tool(self) -> str:
        """The tool's name, as it came; empty where it is no text."""

    @property
    @abstractmethod
    def agent_id(self) -> str | None:
        """Which agent or Gateway calls, where that is a plain id."""

    @abstractmethod
    def identity(self) -> Mapping[str, object]:
        """What came as `thread_id` and `user_id`, each only where it came; of any type."""

    @abstractmethod
    def arguments(self) -> Mapping[str, object]:
        """The arguments by name, not decoded. Raises InvalidInput where they have no one reading."""

    @abstractmethod
    def answer(self, result: Envelope, thread: Thread | None) -> Answer:
        """The answer with `result` in it, and `thread` as the `<preferences>` block where it has a place."""


def recognise(event: object, context: object) -> ToolCall | None:
    """The tool call in `event`, recognised by its shape; None for everything else."""
    client_context = getattr(context, "client_context", None)
    custom = _mapping(getattr(client_context, "custom", None))
    if "bedrockAgentCoreToolName" in custom:
        return GatewayCall(event, custom)
    if isinstance(event, Mapping):
        if "function" in event:
            return FunctionCall(event)
        if "apiPath" in event:
            return OpenApiCall(event)
    return None


@dataclass(frozen=True, slots=True)
class GatewayCall(ToolCall):
    """The event is the arguments; all else is in the client context. The answer is the result itself."""

    kind = "gateway"
    event: object
    custom: Mapping[str, Any]

    @property
    def tool(self) -> str:
        return _text(self.custom["bedrockAgentCoreToolName"]).rsplit("___", 1)[-1]

    @property
    def agent_id(self) -> str | None:
        return _plain_id(self.custom.get("bedrockAgentCoreGatewayId"))

    def identity(self) -> Mapping[str, object]:
        names = {"x-thread-id": "thread_id", "x-user-id": "user_id"}
        found: dict[str, object] = {}
        for header, value in _mapping(self.custom.get("bedrockAgentCorePropagatedHeaders")).items():
            if name := names.get(header.lower() if isinstance(header, str) else ""):
                # Two spellings of one header with different values: None, which is refused.
                found[name] = value if found.get(name, value) == value else None
        return found

    def arguments(self) -> Mapping[str, object]:
        # A tool without arguments may be called with none at all: `arguments` is optional in MCP.
        if self.event is None or (isinstance(self.event, str) and self.event.strip() in ("", "{}")):
            return {}
        if not isinstance(self.event, Mapping):
            raise _bad("the arguments must be one JSON object")
        return _by_name(self.event.items())

    def answer(self, result: Envelope, thread: Thread | None) -> Answer:
        return result


@dataclass(frozen=True, slots=True)
class _ClassicCall(ToolCall):
    """What function details and OpenAPI schemas have in common."""

    event: Mapping[str, Any]

    @property
    def agent_id(self) -> str | None:
        return _plain_id(_mapping(self.event.get("agent")).get("id"))

    def identity(self) -> Mapping[str, object]:
        attributes = _mapping(self.event.get("sessionAttributes"))
        return {name: attributes[name] for name in ("thread_id", "user_id") if name in attributes}

    def arguments(self) -> Mapping[str, object]:
        return _by_name(_named_values(self.event.get("parameters")))

    def answer(self, result: Envelope, thread: Thread | None) -> Answer:
        prompt = _texts(self.event.get("promptSessionAttributes"))
        if error_code(result) == "not_found":
            prompt.pop("preferences", None)  # the block of a list that is gone
        if thread is not None:
            prompt["preferences"] = render.block(thread)
        return {
            "messageVersion": "1.0",
            "response": {
                "actionGroup": _text(self.event.get("actionGroup")),
                **self.response(result),
            },
            "sessionAttributes": _texts(self.event.get("sessionAttributes")),
            "promptSessionAttributes": prompt,
        }

    @abstractmethod
    def response(self, result: Envelope) -> Answer:
        """The part of `response` that differs."""


@dataclass(frozen=True, slots=True)
class FunctionCall(_ClassicCall):
    kind = "function"

    @property
    def tool(self) -> str:
        return _text(self.event["function"])

    def response(self, result: Envelope) -> Answer:
        answer: Answer = {"responseBody": {"TEXT": {"body": _json(result)}}}
        if error_code(result) == "invalid_arguments":
            answer["responseState"] = "REPROMPT"  # the body goes to the model, which tries again
        # FAILURE would end the turn with an exception at whoever called the agent.
        return {"function": _text(self.event["function"]), "functionResponse": answer}


@dataclass(frozen=True, slots=True)
class OpenApiCall(_ClassicCall):
    """The tool is known by the path: every tool has a path of its own."""

    kind = "openapi"

    @property
    def tool(self) -> str:
        return _text(self.event["apiPath"]).strip("/")

    def arguments(self) -> Mapping[str, object]:
        given = [*_named_values(self.event.get("parameters")), *self._body()]
        # Agents that were imported into AgentCore send the media type as if it were an argument.
        return _by_name((name, value) for name, value in given if name != "contentType")

    def _body(self) -> Iterator[tuple[str, object]]:
        """The body's arguments, whatever the media type is called."""
        body = _mapping(self.event.get("requestBody"), otherwise="requestBody must be an object")
        content = _mapping(body.get("content"), otherwise="requestBody.content must be an object")
        for media in content.values():
            if isinstance(media, Mapping) and "body" in media:
                yield from _json_object(media["body"]).items()
            if isinstance(media, Mapping):
                media = media.get("properties")
            yield from _named_values(media)

    def response(self, result: Envelope) -> Answer:
        code = error_code(result)
        return {
            "apiPath": _text(self.event["apiPath"]),
            "httpMethod": _text(self.event.get("httpMethod")),
            "httpStatusCode": _STATUS.get(code, 500) if code else 200,
            "responseBody": {"application/json": {"body": _json(result)}},
        }


# -- in -------------------------------------------------------------------------------------------------


def _mapping(value: object, *, otherwise: str | None = None) -> Mapping[Any, Any]:
    """`value` if it is a mapping, else an empty one. With `otherwise`, a refusal of anything but None."""
    if isinstance(value, Mapping):
        return value
    if value is not None and otherwise:
        raise _bad(otherwise)
    return {}


def _named_values(value: object) -> Iterator[tuple[str, object]]:
    """Of a list of {name, value}, the pairs. No value is null, which is not given."""
    if value is None:
        return
    if not isinstance(value, list):
        raise _bad("the arguments must be a list of {name, value}")
    for entry in value:
        if not (isinstance(entry, Mapping) and isinstance(entry.get("name"), str)):
            # To pass over it could leave out what the call depends on, `list_revision` for one.
            raise _bad("each argument must be {name, value}")
        yield entry["name"], entry.get("value")


def _json_object(value: object) -> Mapping[str, object]:
    try:
        body = strict_json(value) if isinstance(value, str) else value
    except InvalidJson as error:
        raise _bad(f"the body: {error}") from None
    return _mapping(body, otherwise="the body must be one JSON object")


def _by_name(given: Iterable[tuple[str, object]]) -> Mapping[str, object]:
    """The arguments by name. Raises InvalidInput where one comes twice with different values."""
    found: dict[str, object] = {}
    for name, value in given:
        if name in found and found[name] != value:
            raise _bad("an argument is given twice with different values: send each once")
        found[name] = value
    return found


def _plain_id(value: object) -> str | None:
    return value if isinstance(value, str) and _AGENT_ID.fullmatch(value) else None


def _bad(message: str) -> InvalidInput:
    return InvalidInput([FieldError("", message)])


# -- out ------------------------------------------------------------------------------------------------


def error_code(result: Envelope) -> str | None:
    """The code of its error; None where all went well."""
    return None if result["ok"] else result["error"]["code"]


def _json(result: Envelope) -> str:
    return json.dumps(result, ensure_ascii=False, separators=(",", ":"))


def _text(value: object) -> str:
    """A text that came, to be sent back. Half of a surrogate pair can't be: the runtime would fail on it."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def _texts(value: object) -> dict[str, str]:
    """Attributes as they came, but for what is no text: Bedrock fails the turn on any other type."""
    return {
        _text(name): _text(text)
        for name, text in _mapping(value).items()
        if isinstance(name, str) and isinstance(text, str)
    }

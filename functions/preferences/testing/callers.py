"""The two parties in a test: each call is an event to the real handler, and its answer, decoded."""

import base64
import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, get_args
from urllib.parse import parse_qsl, unquote, urlsplit

from preferences import agent, api
from preferences.testing.context import LambdaContext

Envelope = Literal["gateway", "function", "openapi"]
ENVELOPES: tuple[Envelope, ...] = get_args(Envelope)
"""AgentCore Gateway; a classic agent with function details; a classic agent with an OpenAPI schema."""

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Answer:
    """An answer of the HTTP API. Header names are in lower case; `json` is None where there is no body."""

    status: int
    headers: Mapping[str, str]
    json: Any


@dataclass(frozen=True)
class User:
    """A signed-in user at the HTTP API; `sub` is the claim that API Gateway would have verified."""

    sub: str
    before_history: Callable[[], None] = lambda: None
    """Is called before a request for the history, which Lambda writes a moment after each change."""

    def request(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """One request. `path` may have a query; `body` is what becomes JSON.

        A route that does not exist is API Gateway's own 404, as deployed.
        """
        parts = urlsplit(path)
        found = _route(method, parts.path)
        if found is None:
            return Answer(404, {}, {"message": "Not Found"})
        route, parameters = found
        if "/history" in route:
            self.before_history()
        sent = {name.lower(): value for name, value in (headers or {}).items()}
        event = _event(f"{method} {route}", parts.path, parts.query, parameters) | {"headers": sent}
        event["requestContext"]["authorizer"] = {
            "jwt": {"claims": {"sub": self.sub, "token_use": "access"}, "scopes": None}
        }
        if body is not None:
            sent.setdefault("content-type", "application/json")
            event["body"] = json.dumps(body)
        return _answered(event)

    def list(self, thread_id: str) -> list[dict[str, Any]]:
        """The rows of a thread, in order, as the API shows them. Raises LookupError without such a thread."""
        answer = self.request("GET", f"/threads/{thread_id}/preferences")
        if answer.status != 200:
            raise LookupError(f"{answer.status}: {answer.json}")
        rows: list[dict[str, Any]] = answer.json["preferences"]
        return rows


@dataclass(frozen=True)
class Agent:
    """An agent on one thread, in the name of one user (None: the application names no user).

    `envelope` is the form in which its calls arrive, and is no difference to what comes back.
    """

    thread_id: str
    user_id: str | None
    envelope: Envelope = "gateway"

    def through(self, envelope: Envelope) -> "Agent":
        """The same agent, calling in another form."""
        return replace(self, envelope=envelope)

    def call(self, tool: str, /, **arguments: object) -> dict[str, Any]:
        """The tool's result: `{"ok": true, "result": …, "items": …}` or `{"ok": false, "error": …}`.

        A reason that is not given is made up, since every model is asked for one.
        """
        arguments.setdefault("action_and_reasoning", "Because the test says so.")
        result: dict[str, Any] = getattr(self, f"_{self.envelope}")(tool, arguments)
        return result

    def _gateway(self, tool: str, arguments: Mapping[str, object]) -> Any:
        headers = {"X-Thread-Id": self.thread_id} | ({"X-User-Id": self.user_id} if self.user_id else {})
        custom = {
            "bedrockAgentCoreMessageVersion": "1.0",
            "bedrockAgentCoreToolName": f"preferences___{tool}",
            "bedrockAgentCoreGatewayId": "testing",
            "bedrockAgentCorePropagatedHeaders": headers,
        }
        return agent.handler(dict(arguments), LambdaContext(client_context={"custom": custom}))

    def _function(self, tool: str, arguments: Mapping[str, object]) -> Any:
        event = {"function": tool, "parameters": _named_values(arguments)}
        response = agent.handler(self._classic(event), LambdaContext())["response"]
        return json.loads(response["functionResponse"]["responseBody"]["TEXT"]["body"])

    def _openapi(self, tool: str, arguments: Mapping[str, object]) -> Any:
        event: dict[str, Any] = {"apiPath": f"/{tool}"}
        if tool == "list_preferences":
            event |= {"httpMethod": "GET", "parameters": _named_values(arguments)}
        else:
            properties = {"properties": _named_values(arguments)}
            event |= {"httpMethod": "POST", "requestBody": {"content": {"application/json": properties}}}
        response = agent.handler(self._classic(event), LambdaContext())["response"]
        return json.loads(response["responseBody"]["application/json"]["body"])

    def _classic(self, event: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "messageVersion": "1.0",
            "agent": {"name": "testing", "id": "TESTING", "alias": "TESTING", "version": "DRAFT"},
            "sessionId": "testing",
            "actionGroup": "preferences",
            "sessionAttributes": {"thread_id": self.thread_id}
            | ({"user_id": self.user_id} if self.user_id else {}),
            "promptSessionAttributes": {},
            **event,
        }


def _named_values(arguments: Mapping[str, object]) -> list[dict[str, str]]:
    """The arguments as a classic agent sends them: every value as text."""
    return [
        {"name": name, "type": _type(value), "value": value if isinstance(value, str) else json.dumps(value)}
        for name, value in arguments.items()
    ]


def _type(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "integer" if isinstance(value, int) else "number"
    return "array" if isinstance(value, list) else "string"


def _route(method: str, path: str) -> tuple[str, dict[str, str]] | None:
    """The path's template, and its decoded parameters. A fixed segment goes before a parameter."""
    segments = path.split("/")
    matches = []
    for template, operations in _document()["paths"].items():
        pattern = template.split("/")
        if method.lower() not in operations or len(pattern) != len(segments):
            continue
        pairs = list(zip(pattern, segments, strict=True))
        if all(segment if name.startswith("{") else name == segment for name, segment in pairs):
            found = {name[1:-1]: unquote(segment) for name, segment in pairs if name.startswith("{")}
            matches.append((len(found), template, found))
    if not matches:
        return None
    _, template, found = min(matches, key=lambda match: match[0])
    return template, found


@cache
def _document() -> Any:
    """The API's own description, which lists its routes."""
    return _answered(_event("GET /openapi.json", "/openapi.json", "", {}) | {"headers": {}}).json


def _event(key: str, path: str, query: str, parameters: Mapping[str, str]) -> dict[str, Any]:
    """An event of an HTTP API, payload 2.0, without headers, authorizer and body."""
    method = key.partition(" ")[0]
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": key,
        "rawPath": unquote(path),
        "rawQueryString": query,
        "requestContext": {
            "http": {"method": method, "path": unquote(path), "sourceIp": "127.0.0.1"},
            "requestId": f"testing-{next(_numbers)}",
            "routeKey": key,
            "stage": "$default",
        },
        "isBase64Encoded": False,
    }
    if query:
        pairs = parse_qsl(query, keep_blank_values=True)
        event["queryStringParameters"] = {
            name: ",".join(value for other, value in pairs if other == name) for name, _ in pairs
        }
    if parameters:
        event["pathParameters"] = dict(parameters)
    return event


def _answered(event: Mapping[str, Any]) -> Answer:
    context: Any = LambdaContext()
    answer = api.handler(event, context)
    headers = {name.lower(): str(value) for name, value in (answer.get("headers") or {}).items()}
    body = answer.get("body") or ""
    if answer.get("isBase64Encoded"):
        body = base64.b64decode(body)
    return Answer(answer["statusCode"], headers, json.loads(body) if body else None)

"""Three AWS APIs at one address, for the examples on this machine: AWS_ENDPOINT_URL=…/local/aws.

    Lambda      Invoke, of the agents' function
    Bedrock     Converse and ConverseStream, of the scripted model
    Bedrock     InvokeAgent, of a classic agent with that model, and the function as its action group

The shapes are those of AWS's API models. Signatures are not looked at.
"""

import base64
import binascii
import json
import struct
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from infra.local.invocation import Handler, invoke, report
from infra.local.issuer import is_loopback_origin
from infra.local.scripted import reply
from infra.template import Function

AWS_PATH = "/local/aws"
MAX_STEPS = 5
"""Calls of the model in one turn of the classic agent."""


@dataclass
class LocalAws:
    """The endpoint. Sessions of the classic agent are kept as long as the process runs."""

    function: Function
    handler: Handler
    sessions: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def routes(self) -> list[Route]:
        agents = "/agents/{agent}/agentAliases/{alias}/sessions/{session}/text"
        return [
            Route(AWS_PATH + path, _endpoint(answer), methods=["POST"])
            for path, answer in (
                ("/2015-03-31/functions/{name}/invocations", self._invoke),
                ("/model/{model:path}/converse", _converse),  # an inference profile's ARN has a slash
                ("/model/{model:path}/converse-stream", _converse_stream),
                (agents, self._invoke_agent),
            )
        ]

    async def _invoke(self, request: Request, event: Any) -> Response:
        """Lambda's Invoke, synchronous. Any name or ARN is the agents' function, which is the one here."""
        context = request.headers.get("x-amz-client-context")
        client_context = json.loads(base64.b64decode(context, validate=True)) if context else None
        try:
            answer = await invoke(self.function, self.handler, event, client_context)
        except Exception as fault:
            report(self.function)
            failure = {"errorType": type(fault).__name__, "errorMessage": str(fault)}
            return JSONResponse(failure, headers={"X-Amz-Function-Error": "Unhandled"})
        return JSONResponse(answer)

    async def _invoke_agent(self, request: Request, asked: Any) -> Response:
        """A turn of a classic agent: attributes last for the session, those of the prompt for the turn."""
        session_id = request.path_params["session"]
        state = asked.get("sessionState") or {}
        attributes = self.sessions.setdefault(session_id, {})
        attributes.update(state.get("sessionAttributes") or {})
        prompt = dict(state.get("promptSessionAttributes") or {})
        said, results = asked.get("inputText", ""), list[str]()
        for _ in range(MAX_STEPS):
            answer = reply("\n".join(prompt.values()), said, results)
            if answer.call is None:
                break
            tool, arguments = answer.call
            event = {
                "messageVersion": "1.0",
                "agent": {
                    "name": "local",
                    "id": unquote(request.path_params["agent"]),
                    "alias": unquote(request.path_params["alias"]),
                    "version": "DRAFT",
                },
                "inputText": said,
                "sessionId": session_id,
                "actionGroup": "preferences",
                "function": tool,
                "parameters": [_parameter(name, value) for name, value in arguments.items()],
                "sessionAttributes": dict(attributes),
                "promptSessionAttributes": prompt,
            }
            try:
                result = await invoke(self.function, self.handler, event)
                response = result["response"]["functionResponse"]
                if response.get("responseState") == "FAILURE":
                    raise ValueError("the function said FAILURE")
                results = [str(response["responseBody"]["TEXT"]["body"])]
                attributes.update(result["sessionAttributes"])
                prompt = dict(result["promptSessionAttributes"])
            except Exception:
                report(self.function)
                message = {"message": "The server encountered an error processing the Lambda response."}
                return _stream([_event("dependencyFailedException", message, kind="exception")])
        text = base64.b64encode(answer.text.encode()).decode()
        return _stream([_event("chunk", {"bytes": text})], {"x-amzn-bedrock-agent-session-id": session_id})


async def _converse(_: Request, asked: Any) -> Response:
    content, stop = _answer(asked)
    return JSONResponse(
        {
            "output": {"message": {"role": "assistant", "content": content}},
            "stopReason": stop,
            "usage": _USAGE,
            "metrics": {"latencyMs": 0},
        }
    )


async def _converse_stream(_: Request, asked: Any) -> Response:
    ((block,), stop) = _answer(asked)
    events: list[tuple[str, dict[str, Any]]] = [("messageStart", {"role": "assistant"})]
    if tool := block.get("toolUse"):
        start = {"toolUse": {"toolUseId": tool["toolUseId"], "name": tool["name"]}}
        events.append(("contentBlockStart", {"contentBlockIndex": 0, "start": start}))
        delta: dict[str, Any] = {"toolUse": {"input": json.dumps(tool["input"])}}
    else:
        delta = {"text": block["text"]}
    events += [
        ("contentBlockDelta", {"contentBlockIndex": 0, "delta": delta}),
        ("contentBlockStop", {"contentBlockIndex": 0}),
        ("messageStop", {"stopReason": stop}),
        ("metadata", {"usage": _USAGE, "metrics": {"latencyMs": 0}}),
    ]
    return _stream(_event(name, payload) for name, payload in events)


_USAGE = {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}


def _answer(asked: Mapping[str, Any]) -> tuple[list[dict[str, Any]], str]:
    """The content of the model's message, and why it stopped, for a request of Converse."""
    prompt = "\n".join(part["text"] for part in asked.get("system") or [] if "text" in part)
    last = asked["messages"][-1]["content"]
    results = [
        "".join(part.get("text") or json.dumps(part.get("json")) for part in block["toolResult"]["content"])
        for block in last
        if "toolResult" in block
    ]
    said = "\n".join(block["text"] for block in last if "text" in block)
    answer = reply(prompt, said, results)
    if answer.call is None:
        return [{"text": answer.text}], "end_turn"
    name, arguments = answer.call
    offered = [tool["toolSpec"]["name"] for tool in (asked.get("toolConfig") or {}).get("tools", ())]
    name = next((tool for tool in offered if tool.rpartition("___")[2] == name), name)
    use = {"toolUseId": f"tooluse_{uuid.uuid4().hex[:22]}", "name": name, "input": arguments}
    return [{"toolUse": use}], "tool_use"


def _parameter(name: str, value: object) -> dict[str, str]:
    kinds = {list: "array", int: "integer", bool: "boolean", float: "number"}
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return {"name": name, "type": kinds.get(type(value), "string"), "value": text}


def _endpoint(answer: Callable[[Request, Any], Awaitable[Response]]) -> Callable[[Request], Any]:
    """An endpoint that has `answer` answer the request and its body, read as JSON."""

    async def respond(request: Request) -> Response:
        origin = request.headers.get("origin")
        if origin is not None and not is_loopback_origin(origin):  # a page of another site
            return _error(403, "AccessDeniedException", "not for pages of other sites")
        try:
            return await answer(request, json.loads(await request.body() or b"{}"))
        except (ValueError, LookupError, TypeError, RecursionError) as fault:
            return _error(400, "ValidationException", f"not a request of this API: {fault!r}")

    return respond


def _error(status: int, code: str, message: str) -> Response:
    return JSONResponse({"message": message}, status, {"x-amzn-errortype": code})


def _stream(events: Iterable[bytes], headers: Mapping[str, str] | None = None) -> Response:
    return Response(b"".join(events), headers=headers, media_type="application/vnd.amazon.eventstream")


def _event(name: str, payload: Mapping[str, Any], kind: str = "event") -> bytes:
    """One message of AWS's event stream encoding: lengths, headers, payload, each part with its CRC."""
    headers = b"".join(
        struct.pack("!B", len(key)) + key.encode() + struct.pack("!BH", 7, len(value)) + value.encode()
        for key, value in (
            (f":{kind}-type", name),
            (":content-type", "application/json"),
            (":message-type", kind),
        )
    )
    body = json.dumps(payload).encode()
    lengths = struct.pack("!II", 16 + len(headers) + len(body), len(headers))
    message = lengths + struct.pack("!I", binascii.crc32(lengths)) + headers + body
    return message + struct.pack("!I", binascii.crc32(message))

"""An AgentCore Gateway with the Lambda target of the template, as an MCP endpoint on this machine.

What it does as the real one does, and how that is known:
- Tools are called `<target>___<tool>`; the event is the arguments; the name and the ids are in the client
  context; of the headers only those of the target's allow-list are passed on, and their key is absent where
  there are none. AWS's developer guide, pages "gateway-add-target-lambda" and "gateway-headers".
- Arguments are checked against the inline schema before the function is called. A failed check is a tool
  result with `isError` and a text that begins with `ValidationException - Parameter validation failed`.
  Public reports.
- The function's answer is one text content, its JSON. A function that fails is a tool result with `isError`
  and the one sentence of the guide's page "gateway-debug-messages", with debugging off.

What is not known, and chosen here:
- An unknown tool is the JSON-RPC error -32602, as the MCP specification has it.
- The wording of a failed check is the reported one; the order of several, and nested paths, are ours.
- Headers keep the spelling of the allow-list. One that comes twice is joined by a comma, as in HTTP.
- Every protocol version of the `mcp` package is served. The real Gateway has a list of its own.

What is left out: the caller's credential. The real Gateway wants SigV4 or a token; here whoever reaches this
machine may call. There are no sessions, no streaming and no search; the template doesn't ask for them.
"""

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, ValidationError
from mcp import MCPError, types
from mcp.server import Server, ServerRequestContext
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from infra.local.invocation import Handler, invoke, report
from infra.local.issuer import is_loopback_origin
from infra.template import Function, Template

MCP_PATH = "/local/mcp"
FAULT = "An internal error occurred. Please retry later."

ROOT = Path(__file__).parents[2]
_TARGET = "AWS::BedrockAgentCore::GatewayTarget"
_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}


@dataclass(frozen=True)
class Target:
    """The Lambda target: its name, the tools of its inline schema, the headers that it lets through."""

    name: str
    tools: Sequence[Mapping[str, Any]]
    headers: Sequence[str]

    @cached_property
    def schemas(self) -> Mapping[str, Mapping[str, Any]]:
        """The schema of each tool's arguments, by the name that clients call."""
        return {f"{self.name}___{tool['name']}": tool["inputSchema"] for tool in self.tools}


def read_target(root: Path = ROOT) -> Target:
    """The target of the template that has the Gateway, with the tools of infra/tools/gateway.json.

    Raises LookupError where no template has one.
    """
    for path in (root / "agent.yaml", root / "template.yaml"):
        if path.exists() and (template := Template(path)).of_type(_TARGET):
            _, target = template.the(_TARGET)
            tools = json.loads((root / "infra/tools/gateway.json").read_text("utf-8"))
            return Target(target["Name"], tools, target["MetadataConfiguration"]["AllowedRequestHeaders"])
    raise LookupError("no template has a Gateway's target")


class ToolGateway:
    """The endpoint, an ASGI application. Each request stands alone: without sessions nothing is kept."""

    def __init__(self, target: Target, function: Function, handler: Handler) -> None:
        self._target = target
        self._function = function
        self._handler = handler
        self._server: Server[Any] = Server(
            "preferences", version="1.0", on_list_tools=self._list, on_call_tool=self._call
        )

    @property
    def route(self) -> Route:
        return Route(MCP_PATH, self, methods=["POST"])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        origin = Request(scope).headers.get("origin")
        if origin is not None and not is_loopback_origin(origin):  # a page of another site
            await Response(status_code=403)(scope, receive, send)
            return
        manager = StreamableHTTPSessionManager(self._server, json_response=True, stateless=True)
        async with manager.run():
            await manager.handle_request(scope, receive, send)

    async def _list(
        self, _: ServerRequestContext[Any, Request], __: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=f"{self._target.name}___{tool['name']}",
                    description=tool["description"],
                    input_schema=tool["inputSchema"],
                )
                for tool in self._target.tools
            ]
        )

    async def _call(
        self, context: ServerRequestContext[Any, Request], call: types.CallToolRequestParams
    ) -> types.CallToolResult:
        schema = self._target.schemas.get(call.name)
        if schema is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {call.name}")
        arguments = call.arguments or {}
        if faults := list(_faults(schema, arguments)):
            lines = "\n".join(f"- {fault}" for fault in faults)
            return _result(
                "ValidationException - Parameter validation failed: Invalid request parameters:\n" + lines,
                is_error=True,
            )
        assert context.request is not None  # there is no other transport
        custom = self._custom(call.name, context.request_id, context.request)
        try:
            answer = await invoke(self._function, self._handler, arguments, {"custom": custom})
        except Exception:
            report(self._function)
            return _result(FAULT, is_error=True)
        return _result(json.dumps(answer, ensure_ascii=False, separators=(",", ":")))

    def _custom(self, tool: str, message_id: object, request: Request) -> dict[str, Any]:
        """What the function finds in `context.client_context.custom`."""
        propagated = {
            name: ",".join(request.headers.getlist(name))
            for name in self._target.headers
            if name in request.headers
        }
        return {
            "bedrockAgentCoreMessageVersion": "1.0",
            "bedrockAgentCoreAwsRequestId": str(uuid.uuid4()),
            "bedrockAgentCoreMcpMessageId": str(message_id),
            "bedrockAgentCoreGatewayId": "local",
            "bedrockAgentCoreTargetId": "LOCAL",
            "bedrockAgentCoreToolName": tool,
            **({"bedrockAgentCorePropagatedHeaders": propagated} if propagated else {}),
        }


def _faults(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> Iterator[str]:
    """What the schema has against the arguments, in the real Gateway's words."""
    for error in Draft202012Validator(schema).iter_errors(arguments):
        yield _sentence(error)


def _sentence(error: ValidationError) -> str:
    path = error.json_path  # $.updates[0].index
    if error.validator == "required":
        required: Any = error.validator_value
        (missing,) = [name for name in required if error.message.startswith(repr(name))]
        inside = "" if path == "$" else f" in {path}"
        return f"Missing required field(s): '{missing}'{inside}"
    if error.validator == "type":
        found = _TYPES.get(type(error.instance), "null")
        field = error.absolute_path[0]
        return f"Field '{field}' has invalid type: {path}: {found} found, {error.validator_value} expected"
    raise NotImplementedError(f"the inline schema says {error.validator}, which a Gateway does not take")


def _result(text: str, *, is_error: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=is_error)

"""A plain MCP client between a model and a Gateway: the tools are whatever the Gateway lists.

make .venv && .venv/bin/python examples/mcp_client.py
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import backend
import boto3
from mcp import Client, MCPError
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp.types import INVALID_PARAMS

bedrock = boto3.client("bedrock-runtime")


@asynccontextmanager
async def connect() -> AsyncIterator[Client]:
    http = create_mcp_http_client(headers=backend.headers(), auth=backend.AUTH)
    async with http, Client(streamable_http_client(backend.GATEWAY, http_client=http)) as gateway:
        yield gateway


async def call(use: dict) -> dict:
    """What the model gets for its call. Each has a connection of its own: a broken one ends its client."""
    text, status = backend.NO_ANSWER, "error"
    with suppress(Exception):
        async with connect() as gateway:
            try:
                result = await gateway.call_tool(use["name"], use["input"])
            except MCPError as error:
                if error.error.code == INVALID_PARAMS:  # an unknown tool, for instance
                    text = error.error.message
            else:
                text = "".join(part.text for part in result.content if part.type == "text")
                status = "error" if result.is_error else "success"
    return {"toolUseId": use["toolUseId"], "status": status, "content": [{"text": text}]}


async def main() -> None:
    async with connect() as gateway:
        listed = (await gateway.list_tools()).tools
    tools = [
        {"toolSpec": {"name": t.name, "description": t.description, "inputSchema": {"json": t.input_schema}}}
        for t in listed
    ]
    messages: list = []
    for says in backend.conversation():
        messages.append({"role": "user", "content": [{"text": says}]})
        while True:
            system = [{"text": backend.prompt()}]
            answer = bedrock.converse(
                modelId=backend.MODEL, system=system, messages=messages, toolConfig={"tools": tools}
            )
            messages.append(answer["output"]["message"])
            uses = [part["toolUse"] for part in messages[-1]["content"] if "toolUse" in part]
            if not uses:
                break
            results = [{"toolResult": await call(use)} for use in uses]
            messages.append({"role": "user", "content": results})
        print("Agent:", *(part["text"] for part in messages[-1]["content"] if "text" in part))


asyncio.run(main())

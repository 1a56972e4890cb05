"""A plain MCP client between a model and a Gateway: the tools are whatever the Gateway lists.

make .venv && .venv/bin/python examples/mcp_client.py
"""

import asyncio

import backend
import boto3
from mcp import Client, MCPError
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

bedrock = boto3.client("bedrock-runtime")


async def call(gateway: Client, use: dict) -> dict:
    """What the model gets for its call. An unknown tool is a protocol error, which it must see as well."""
    try:
        result = await gateway.call_tool(use["name"], use["input"])
    except MCPError as error:
        return {"toolUseId": use["toolUseId"], "status": "error", "content": [{"text": error.error.message}]}
    content = [{"text": part.text} for part in result.content if part.type == "text"]
    status = "error" if result.is_error else "success"
    return {"toolUseId": use["toolUseId"], "status": status, "content": content}


async def talk(gateway: Client) -> None:
    tools = [
        {"toolSpec": {"name": t.name, "description": t.description, "inputSchema": {"json": t.input_schema}}}
        for t in (await gateway.list_tools()).tools
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
            results = [{"toolResult": await call(gateway, use)} for use in uses]
            messages.append({"role": "user", "content": results})
        print("Agent:", *(part["text"] for part in messages[-1]["content"] if "text" in part))


async def main() -> None:
    http = create_mcp_http_client(headers=backend.headers(), auth=backend.AUTH)
    async with http, Client(streamable_http_client(backend.GATEWAY, http_client=http)) as gateway:
        await talk(gateway)


asyncio.run(main())

"""LangGraph, by LangChain's create_agent: tools through a Gateway, the list by a middleware in every prompt.

make .venv-langgraph && .venv-langgraph/bin/python examples/langgraph_agent.py
"""

import asyncio

import backend
from langchain.agents import create_agent
from langchain.agents.middleware import ModelRequest, ToolRetryMiddleware, dynamic_prompt
from langchain_aws import ChatBedrockConverse
from langchain_mcp_adapters.client import MultiServerMCPClient


@dynamic_prompt
def preferences(_: ModelRequest) -> str:
    return backend.prompt()


async def main() -> None:
    server = {"transport": "streamable_http", "url": backend.GATEWAY}
    server |= {"headers": backend.headers(), "auth": backend.AUTH}
    tools = await MultiServerMCPClient({"preferences": server}).get_tools()
    model = ChatBedrockConverse(model=backend.MODEL)
    no_answer = ToolRetryMiddleware(max_retries=0, on_failure=lambda _: backend.NO_ANSWER)
    agent = create_agent(model, tools, middleware=[preferences, no_answer])
    messages: list = []
    for says in backend.conversation():
        state = await agent.ainvoke({"messages": [*messages, {"role": "user", "content": says}]})
        messages = state["messages"]
        print(f"Agent: {messages[-1].text}")


asyncio.run(main())

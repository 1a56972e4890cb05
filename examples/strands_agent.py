"""Strands Agents: tools through a Gateway, the list by a hook in the prompt of every turn.

make .venv-strands && .venv-strands/bin/python examples/strands_agent.py
"""

import backend
from strands import Agent
from strands.hooks import BeforeInvocationEvent, HookProvider, HookRegistry
from strands.models import BedrockModel
from strands.tools.mcp import MCPClient


class Preferences(HookProvider):
    def register_hooks(self, registry: HookRegistry, **_: object) -> None:
        registry.add_callback(BeforeInvocationEvent, self.refresh)

    def refresh(self, event: BeforeInvocationEvent) -> None:
        event.agent.system_prompt = backend.prompt()


gateway = MCPClient(url=backend.GATEWAY, headers=backend.headers(), auth_provider=backend.AUTH)
model = BedrockModel(model_id=backend.MODEL)
agent = Agent(model=model, tools=[gateway], hooks=[Preferences()], callback_handler=None)
for says in backend.conversation():
    print("Agent:", str(agent(says)).strip())

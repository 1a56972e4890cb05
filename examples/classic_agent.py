"""A classic Bedrock agent: identity and list go along with every turn, as InvokeAgent's session state.

make .venv && .venv/bin/python examples/classic_agent.py
"""

import os
import uuid

import backend
import boto3
from botocore.exceptions import BotoCoreError, ClientError

bedrock = boto3.client("bedrock-agent-runtime", config=backend.ONCE)
session = str(uuid.uuid4())
for says in backend.conversation():
    try:
        answer = bedrock.invoke_agent(
            agentId=os.environ.get("AGENT_ID", "LOCAL"),
            agentAliasId=os.environ.get("AGENT_ALIAS_ID", "LOCAL"),
            sessionId=session,
            sessionState=backend.session_state(),
            inputText=says,
        )
        chunks = [event["chunk"]["bytes"] for event in answer["completion"] if "chunk" in event]
        print(f"Agent: {b''.join(chunks).decode()}")
    except (BotoCoreError, ClientError):  # Bedrock ends a turn in which the function fails
        print(f"Agent: {backend.NO_ANSWER}")

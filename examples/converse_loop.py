"""A loop of one's own on boto3: Converse for the model, Lambda's Invoke for the tools. No Gateway is needed.

make .venv && .venv/bin/python examples/converse_loop.py
"""

import base64
import json
from pathlib import Path

import backend
import boto3
from botocore.exceptions import BotoCoreError, ClientError

bedrock, functions = boto3.client("bedrock-runtime"), boto3.client("lambda", config=backend.ONCE)
TOOLS = json.loads((Path(__file__).parent.parent / "infra/tools/converse.json").read_text("utf-8"))


def call(name: str, arguments: dict) -> str:
    """The tool's answer. The call goes to the function in the form in which a Gateway sends it."""
    custom = {"bedrockAgentCoreToolName": name, "bedrockAgentCorePropagatedHeaders": backend.headers()}
    try:
        answer = functions.invoke(
            FunctionName=backend.FUNCTION,
            ClientContext=base64.b64encode(json.dumps({"custom": custom}).encode()).decode(),
            Payload=json.dumps(arguments),
        )
        text = answer["Payload"].read().decode()
    except (BotoCoreError, ClientError):
        return backend.NO_ANSWER
    return backend.NO_ANSWER if "FunctionError" in answer else text  # its payload would be a stack trace


messages: list = []
for says in backend.conversation():
    messages.append({"role": "user", "content": [{"text": says}]})
    while True:
        answer = bedrock.converse(
            modelId=backend.MODEL, system=[{"text": backend.prompt()}], messages=messages, toolConfig=TOOLS
        )
        messages.append(answer["output"]["message"])
        uses = [part["toolUse"] for part in messages[-1]["content"] if "toolUse" in part]
        if not uses:
            break
        answers = [(use["toolUseId"], [{"text": call(use["name"], use["input"])}]) for use in uses]
        results = [{"toolResult": {"toolUseId": id_, "content": content}} for id_, content in answers]
        messages.append({"role": "user", "content": results})
    print("Agent:", *(part["text"] for part in messages[-1]["content"] if "text" in part))

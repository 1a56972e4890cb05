"""A loop of one's own on boto3: Converse for the model, Lambda's Invoke for the tools. No Gateway is needed.

make .venv && .venv/bin/python examples/converse_loop.py
"""

import base64
import json
from pathlib import Path

import backend
import boto3

bedrock, functions = boto3.client("bedrock-runtime"), boto3.client("lambda")
TOOLS = json.loads((Path(__file__).parent.parent / "infra/tools/converse.json").read_text("utf-8"))


def call(name: str, arguments: dict) -> dict:
    """The tool's answer. The call goes to the function in the form in which a Gateway sends it."""
    custom = {"bedrockAgentCoreToolName": name, "bedrockAgentCorePropagatedHeaders": backend.headers()}
    answer = functions.invoke(
        FunctionName=backend.FUNCTION,
        ClientContext=base64.b64encode(json.dumps({"custom": custom}).encode()).decode(),
        Payload=json.dumps(arguments),
    )
    if "FunctionError" in answer:  # for instance out of time; its payload is for logs, not for a model
        return {"ok": False, "error": {"code": "outcome_unknown", "message": "look at the list first"}}
    return json.loads(answer["Payload"].read())


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
        results = [(use["toolUseId"], call(use["name"], use["input"])) for use in uses]
        content = [
            {"toolResult": {"toolUseId": id_, "content": [{"json": result}]}} for id_, result in results
        ]
        messages.append({"role": "user", "content": content})
    print("Agent:", *(part["text"] for part in messages[-1]["content"] if "text" in part))

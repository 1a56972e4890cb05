"""What the backend around an agent knows: who is signed in, which conversation it is, the list as of now.

The same for every example. With no variable set, the user is ada of `make local`, and its scripted model
stands in for a real one. For a deployed stack set AWS credentials, AWS_REGION, and what its outputs say:

    PREFERENCES_API       ApiUrl
    PREFERENCES_TOKEN     the access token that came with the user's request, already verified
    PREFERENCES_GATEWAY   GatewayUrl, for agents that call the tools by MCP
    PREFERENCES_FUNCTION  AgentFunctionArn, for agents that call the function
    MODEL                 the id of a model or of an inference profile
    THREAD                your id of the conversation; never one that a model or a browser chose
"""

import base64
import json
import os
import sys
import urllib.request
import uuid
from collections.abc import Iterator
from typing import Any

import boto3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config

LOCAL = os.environ.get("LOCAL_STACK", "http://127.0.0.1:8080")
API = os.environ.get("PREFERENCES_API", LOCAL).rstrip("/")
GATEWAY = os.environ.get("PREFERENCES_GATEWAY", f"{LOCAL}/local/mcp")
FUNCTION = os.environ.get("PREFERENCES_FUNCTION", "AgentFunction")
MODEL = os.environ.get("MODEL", "amazon.nova-pro-v1:0")
THREAD = os.environ.get("THREAD") or f"example-{uuid.uuid4().hex[:8]}"

INSTRUCTION = """You talk with one user. Keep what the user wants from you with the preference tools.
What is locked, only the user can change: say so, and carry on with the rest."""
"""Short, for the examples. infra/instruction.txt is the one to take."""

NO_ANSWER = "No answer came: it is unknown whether this was done. Look at the list before you try again."
"""What a model gets in place of an exception, when a Gateway or a function throttles, fails or is gone."""

ONCE = Config(retries={"total_max_attempts": 1})
"""For calls that may change the list: a copy sent by itself could remove the row that has moved up since."""

SAYS = sys.argv[1:] or [
    "My budget is 900 euros at most. And keep an academic tone, please.",
    "Raise the budget to 1200 euros, and make the tone friendly.",
    "What do you know about me?",
]


def http(method: str, url: str, headers: dict[str, str]) -> bytes:
    request = urllib.request.Request(url, method=method, headers=headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.read()


if "PREFERENCES_API" not in os.environ:
    os.environ["PREFERENCES_TOKEN"] = http("GET", f"{LOCAL}/local/token?user=ada", {}).decode()
    os.environ |= {"AWS_ENDPOINT_URL": f"{LOCAL}/local/aws", "AWS_REGION": "eu-west-1"}
    os.environ |= {"AWS_DEFAULT_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}
TOKEN = os.environ["PREFERENCES_TOKEN"]
USER = json.loads(base64.urlsafe_b64decode(TOKEN.split(".")[1] + "=="))["sub"]
AWS = boto3.Session()


def api(method: str, path: str) -> Any:
    """A request of the signed-in user's."""
    return json.loads(http(method, f"{API}/threads/{THREAD}{path}", {"Authorization": f"Bearer {TOKEN}"}))


def headers() -> dict[str, str]:
    """The identity, for the Gateway: in no argument that a model could fill."""
    return {"X-Thread-Id": THREAD, "X-User-Id": USER}


def sign(request: Any) -> Any:
    """A request of httpx's, signed with SigV4 as a Gateway with IAM demands it."""
    identity = {name: request.headers[name] for name in headers()}
    signed = AWSRequest(request.method, str(request.url), identity, request.content)
    credentials = AWS.get_credentials().get_frozen_credentials()
    SigV4Auth(credentials, "bedrock-agentcore", AWS.region_name).add_auth(signed)
    request.headers.update(dict(signed.headers.items()))
    return request


AUTH = sign if "PREFERENCES_GATEWAY" in os.environ else None  # the local Gateway wants none


def session_state() -> dict[str, Any]:
    """The identity and the `<preferences>` block as of now, as InvokeAgent's `sessionState`."""
    return api("GET", "/session-state")


def prompt() -> str:
    """The system prompt of a turn: the instruction, and the `<preferences>` block as of now."""
    return f"{INSTRUCTION}\n\n{session_state()['promptSessionAttributes']['preferences']}"


def conversation() -> Iterator[str]:
    """What the user says, turn by turn. After the first turn she locks the first row, as in the panel."""
    api("PUT", "")  # registers the conversation, once
    print(f"(the panel: {API}/#thread={THREAD})")
    for number, says in enumerate(SAYS):
        for row in api("GET", "/preferences")["preferences"][:1] if number == 1 else ():
            api("PUT", f"/preferences/{row['id']}/lock")
            print(f"(locked: {row['title']})")
        print(f"User:  {says}")
        yield says

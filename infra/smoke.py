"""Tries the README's story on a running stack.

    python -m infra.smoke --environment default               what samconfig.toml has under that name
    python -m infra.smoke --url http://127.0.0.1:8080 --token …    a local stack, or any

Deployed, the stacks' outputs say where everything is. For its own user pool it makes a user of its own, who
is gone at the end; with an issuer of yours, give the token of a signed-in user. The agent's half is tried
twice: by the function, called as a classic agent would, and through the Gateway, with the two headers that
say who is meant. It uses the AWS credentials of the environment, and deletes the threads that it makes.
"""

import argparse
import base64
import json
import os
import secrets
import string
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import boto3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.exceptions import BotoCoreError, ClientError

from infra.outputs import of_stack, stack_names

Json = dict[str, Any]
Call = Callable[[str, str, Json], Json]
"""A tool, called: (thread id, tool, arguments) → the result envelope. Raises Unexpected where none comes."""

TIMEOUT = 30.0
LOCAL_GATEWAY = "/local/mcp"
_ITEMS = [{"title": "Formal tone", "kind": "hard"}, {"title": "Short answers"}]


class Unexpected(Exception):
    """The stack did something else than the story says."""


@dataclass(frozen=True)
class People:
    """The API at `url`, for the user of `token`."""

    url: str
    token: str

    def ask(
        self, method: str, path: str, body: Json | None = None, *, if_match: str | None = None
    ) -> tuple[int, Json | None]:
        """Status and JSON of the answer; None without a body."""
        headers = {"Authorization": f"Bearer {self.token}"}
        if if_match is not None:
            headers["If-Match"] = f'"{if_match}"'
        status, answer = _send(method, self.url.rstrip("/") + path, body, headers)
        return status, _json(answer)

    @property
    def sub(self) -> str:
        """Who the token speaks of. The service verifies it; here it is only passed on."""
        payload = self.token.split(".")[1]
        return str(json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["sub"])


def _send(method: str, url: str, body: Json | None, headers: Mapping[str, str]) -> tuple[int, bytes]:
    request = urllib.request.Request(
        url,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={**headers, **({} if body is None else {"Content-Type": "application/json"})},
    )
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def _json(body: bytes) -> Json | None:
    try:
        value = json.loads(body)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


@dataclass
class Story:
    """What happens in order, each step said as it has happened."""

    people: People
    call: Call | None
    say: Callable[[str], None] = print
    thread: str = ""
    done: list[str] = field(default_factory=list)

    def run(self) -> None:
        """Raises Unexpected at the first step that goes otherwise."""
        self._public()
        self.thread = str(self._ask(201, "POST", "/threads")["thread_id"])
        self._step("a thread is registered")
        try:
            self._agent_adds() if self.call else self._user_adds()
            self._lock_holds()
        finally:
            status, _ = self.people.ask("DELETE", f"/threads/{self.thread}")
        if status != 204:
            raise Unexpected(f"the thread could not be deleted: {status}")
        self._step("the thread is deleted")

    def _public(self) -> None:
        status, document = self.people.ask("GET", "/openapi.json")
        if status != 200 or not document:
            raise Unexpected(f"GET /openapi.json: {status}")
        stranger = People(self.people.url, "")
        status, _ = stranger.ask("GET", "/threads")
        if status != 401:
            raise Unexpected(f"GET /threads without a token: {status}, not 401")
        self._step("the API answers, and asks strangers for a token")

    def _agent_adds(self) -> None:
        self._tool("add_preferences", {"items": _ITEMS}, "recorded 2")
        self._step("the agent records two preferences")

    def _user_adds(self) -> None:
        self._ask(201, "POST", f"/threads/{self.thread}/preferences", {"items": _ITEMS})
        self._step("the user records two preferences")

    def _lock_holds(self) -> None:
        path = f"/threads/{self.thread}/preferences"
        rows = self._ask(200, "GET", path)["preferences"]
        row = rows[0]
        self._ask(200, "PUT", f"{path}/{row['id']}/lock")
        self._step("the user locks the first")
        if self.call:
            self._tool("remove_preferences", {"indices": [1]}, "locked: ask the user to unlock first")
            self._step("the agent can't remove it")
        else:
            self.say("-  the agent's half is not tried: name its function with AGENT=…")
        if [kept["id"] for kept in self._ask(200, "GET", path)["preferences"]] != [r["id"] for r in rows]:
            raise Unexpected("a locked row is gone")
        self._ask(200, "DELETE", f"{path}/{row['id']}/lock")
        self._step("the user unlocks it")
        if self.call:
            self._tool("remove_preferences", {"indices": [1]}, "removed ")
            self._step("the agent removes it")
        else:
            self._ask(200, "DELETE", f"{path}/{row['id']}", if_match=row["revision"])
            self._step("the user removes it")
        if len(self._ask(200, "GET", path)["preferences"]) != 1:
            raise Unexpected("the row is still there")

    def _ask(
        self, status: int, method: str, path: str, body: Json | None = None, *, if_match: str | None = None
    ) -> Json:
        answered, answer = self.people.ask(method, path, body, if_match=if_match)
        if answered != status or answer is None:
            raise Unexpected(f"{method} {path}: {answered}, not {status}: {answer}")
        return answer

    def _tool(self, tool: str, arguments: Json, result: str) -> None:
        """Calls a tool; what it answers has to hold `result`."""
        assert self.call
        reason = {"action_and_reasoning": "Trying the stack."}
        envelope = self.call(self.thread, tool, arguments | reason)
        if not envelope.get("ok") or result not in str(envelope.get("result")):
            raise Unexpected(f"{tool}: {envelope}")

    def _step(self, what: str) -> None:
        self.done.append(what)
        self.say(f"ok {what}")


def by_function(invoke: Callable[[Json], Json], people: People) -> Call:
    """Tools called with the event of a classic agent that has function details."""

    def call(thread: str, tool: str, arguments: Json) -> Json:
        event = {
            "messageVersion": "1.0",
            "agent": {"name": "smoke", "id": "SMOKE", "alias": "SMOKE", "version": "DRAFT"},
            "actionGroup": "preferences",
            "function": tool,
            "parameters": [
                {
                    "name": name,
                    "type": "string" if isinstance(value, str) else "array",
                    "value": value if isinstance(value, str) else json.dumps(value),
                }
                for name, value in arguments.items()
            ],
            "sessionAttributes": {"thread_id": thread, "user_id": people.sub},
        }
        answer = invoke(event)
        try:
            envelope = json.loads(answer["response"]["functionResponse"]["responseBody"]["TEXT"]["body"])
        except (KeyError, TypeError, ValueError):
            envelope = None
        return _envelope(tool, envelope, answer)

    return call


def local_function(people: People) -> Callable[[Json], Json] | None:
    """The agent's function of a local stack, which says where it is; None elsewhere."""
    _, configuration = people.ask("GET", "/config.json")
    path = (configuration or {}).get("agent_console")
    return (lambda event: people.ask("POST", path, event)[1] or {}) if path else None


def deployed_function(name: str) -> Callable[[Json], Json]:
    """The function of that name or ARN, called with the AWS credentials of the environment."""
    client = boto3.client("lambda")

    def invoke(event: Json) -> Json:
        answer = client.invoke(FunctionName=name, Payload=json.dumps(event).encode())
        envelope: Json = json.loads(answer["Payload"].read())
        return envelope

    return invoke


Sign = Callable[[str, bytes, Mapping[str, str]], Mapping[str, str]]
"""(URL, body, headers) → the headers with what proves who calls."""


def by_gateway(url: str, people: People, sign: Sign) -> Call:
    """Tools called through the MCP endpoint of a Gateway, which has to hand the two headers on."""

    def call(thread: str, tool: str, arguments: Json) -> Json:
        asked = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": f"preferences___{tool}", "arguments": arguments},
        }
        headers = {
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            "X-Thread-Id": thread,
            "X-User-Id": people.sub,
        }
        status, body = _send("POST", url, asked, sign(url, json.dumps(asked).encode(), headers))
        try:
            envelope = json.loads(_message(body)["result"]["content"][0]["text"])
        except (KeyError, TypeError, ValueError, IndexError):
            envelope = None
        envelope = _envelope(f"{tool} through the Gateway", envelope, f"{status} {body[:500]!r}")
        if envelope.get("error", {}).get("code") == "missing_identity":
            raise Unexpected(
                "the Gateway did not hand X-Thread-Id and X-User-Id on to the function; docs/agents.md "
                f"has an interceptor that does. The tool said: {envelope['error']['message']}"
            )
        return envelope

    return call


def _message(body: bytes) -> Any:
    """The JSON-RPC message, from a body that is one, or that is a stream of events."""
    text = body.decode("utf-8")
    if not text.lstrip().startswith("{"):
        text = "".join(line.removeprefix("data:") for line in text.splitlines() if line.startswith("data:"))
    return json.loads(text)


def unsigned(url: str, body: bytes, headers: Mapping[str, str]) -> Mapping[str, str]:
    return headers


def signed(url: str, body: bytes, headers: Mapping[str, str]) -> Mapping[str, str]:
    """With SigV4, for the service bedrock-agentcore and the Region and credentials of the environment."""
    session = boto3.session.Session()
    credentials = session.get_credentials()
    if credentials is None:
        raise Unexpected("there are no AWS credentials to call the Gateway with")
    request = AWSRequest("POST", url, headers=dict(headers), data=body)
    SigV4Auth(credentials, "bedrock-agentcore", session.region_name).add_auth(request)
    return dict(request.headers.items())


def bearer(token: str) -> Sign:
    return lambda url, body, headers: {**headers, "Authorization": f"Bearer {token}"}


def _envelope(what: str, envelope: object, answer: object) -> Json:
    if not isinstance(envelope, dict):
        raise Unexpected(f"{what}: no answer of a tool: {answer}")
    return envelope


@contextmanager
def passing_user(pool: str, client_id: str) -> Iterator[str]:
    """An access token of a user who exists only meanwhile. Nobody is mailed, and no password is kept."""
    client = boto3.client("cognito-idp")
    name = f"smoke-{secrets.token_hex(8)}@example.com"
    kinds = (string.ascii_lowercase, string.ascii_uppercase, string.digits, "!#%")  # one of each is asked for
    password = secrets.token_urlsafe(24) + "".join(secrets.choice(kind) for kind in kinds)
    client.admin_create_user(
        UserPoolId=pool,
        Username=name,
        MessageAction="SUPPRESS",
        UserAttributes=[{"Name": "email", "Value": name}],
    )
    try:
        client.admin_set_user_password(UserPoolId=pool, Username=name, Password=password, Permanent=True)
        answer = client.admin_initiate_auth(
            UserPoolId=pool,
            ClientId=client_id,
            AuthFlow="ADMIN_USER_PASSWORD_AUTH",
            AuthParameters={"USERNAME": name, "PASSWORD": password},
        )
        yield answer["AuthenticationResult"]["AccessToken"]
    finally:
        client.admin_delete_user(UserPoolId=pool, Username=name)


def ways(people: People, agent: str, gateway: str, gateway_token: str) -> dict[str, Call]:
    """Each way to call the tools there is, by its name."""
    found: dict[str, Call] = {}
    invoke = deployed_function(agent) if agent else local_function(people)
    if invoke:
        found["as a classic agent calls the function"] = by_function(invoke, people)
    if gateway:
        found["through the Gateway"] = by_gateway(
            gateway, people, bearer(gateway_token) if gateway_token else signed
        )
    elif invoke and not agent:
        local = people.url.rstrip("/") + LOCAL_GATEWAY
        found["through the local Gateway"] = by_gateway(local, people, unsigned)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m infra.smoke", description="Try a running stack.")
    parser.add_argument("--environment", help="a deployed one: its name in samconfig.toml")
    parser.add_argument("--url", default="", help="where the API is")
    parser.add_argument("--token", default="", help="an access token of a signed-in user")
    parser.add_argument("--agent", default="", help="the agent's function")
    parser.add_argument("--gateway", default="", help="the MCP endpoint of a Gateway")
    given = parser.parse_args()
    gateway_token = os.environ.get("GATEWAY_TOKEN", "")  # of a backend, for a Gateway that takes tokens
    try:
        with ExitStack() as stack:
            if given.environment:
                agents, core = stack_names(given.environment)
                found = of_stack(core) | of_stack(agents)
                given.url = given.url or found.get("ApiUrl", "")
                given.agent = given.agent or found.get("AgentFunctionArn", "")
                given.gateway = given.gateway or found.get("GatewayUrl", "")
                if not given.token and "SmokeClientId" in found:
                    user = passing_user(found["UserPoolId"], found["SmokeClientId"])
                    given.token = stack.enter_context(user)
            if not given.url or not given.token:
                parser.error("say where and as whom: make smoke [CONFIG_ENV=…] [URL=https://…] TOKEN=…")
            people = People(given.url, given.token)
            found_ways = ways(people, given.agent, given.gateway, gateway_token)
            for how, call in found_ways.items():
                print(f"-- {how}")
                Story(people, call).run()
            if not found_ways:
                Story(people, None).run()
    except (Unexpected, OSError, ClientError, BotoCoreError) as error:
        sys.exit(f"FAILED: {error}")
    except KeyError:
        sys.exit(f"samconfig.toml has no stacks for the environment {given.environment}")
    print("The story holds.")


if __name__ == "__main__":
    main()

"""Tries the README's story on a running stack: `python -m infra.smoke --url URL --token TOKEN`.

The people's half goes over HTTP with the token of a signed-in user. The agent's half calls the agent's
function as a Bedrock agent would: through the local stack's own path where there is one, else by
lambda:Invoke with the caller's AWS credentials, when --agent names the function. The thread that it makes is
deleted at the end.
"""

import argparse
import base64
import json
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
Invoke = Callable[[Json], Json]

TIMEOUT = 30.0
_ITEMS = [{"title": "Formal tone", "kind": "hard"}, {"title": "Short answers"}]


class Unexpected(Exception):
    """The stack did something else than the story says."""


@dataclass(frozen=True)
class People:
    """The people's door at `url`, for the user of `token`."""

    url: str
    token: str

    def ask(
        self, method: str, path: str, body: Json | None = None, *, if_match: str | None = None
    ) -> tuple[int, Json | None]:
        """Status and JSON of the answer; None without a body."""
        headers = {"Authorization": f"Bearer {self.token}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if if_match is not None:
            headers["If-Match"] = f'"{if_match}"'
        request = urllib.request.Request(
            self.url.rstrip("/") + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers=headers,
        )
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
                return response.status, _json(response.read())
        except urllib.error.HTTPError as error:
            return error.code, _json(error.read())

    @property
    def sub(self) -> str:
        """Who the token speaks of. The service verifies it; here it is only passed on."""
        payload = self.token.split(".")[1]
        return str(json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["sub"])


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
    invoke: Invoke | None
    say: Callable[[str], None] = print
    thread: str = ""
    told: list[str] = field(default_factory=list)

    def run(self) -> None:
        """Raises Unexpected at the first step that goes otherwise."""
        self._public()
        self.thread = str(self._ask(201, "POST", "/threads")["thread_id"])
        self._step("a thread is registered")
        try:
            self._agent_adds() if self.invoke else self._user_adds()
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
        self._call("add_preferences", "items", _ITEMS, "recorded 2")
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
        if self.invoke:
            self._call("remove_preferences", "indices", [1], "locked: ask the user to unlock first")
            self._step("the agent can't remove it")
        else:
            self.say("-  the agent's half is not tried: name its function with AGENT=…")
        if [kept["id"] for kept in self._ask(200, "GET", path)["preferences"]] != [r["id"] for r in rows]:
            raise Unexpected("a locked row is gone")
        self._ask(200, "DELETE", f"{path}/{row['id']}/lock")
        self._step("the user unlocks it")
        if self.invoke:
            self._call("remove_preferences", "indices", [1], "removed ")
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

    def _call(self, tool: str, name: str, value: object, result: str) -> None:
        """Calls a tool with one array; what it answers has to hold `result`."""
        assert self.invoke
        answer = self.invoke(
            {
                "messageVersion": "1.0",
                "agent": {"name": "smoke", "id": "SMOKE", "alias": "SMOKE", "version": "DRAFT"},
                "actionGroup": "preferences",
                "function": tool,
                "parameters": [
                    {"name": "action_and_reasoning", "type": "string", "value": "Trying the stack."},
                    {"name": name, "type": "array", "value": json.dumps(value)},
                ],
                "sessionAttributes": {"thread_id": self.thread, "user_id": self.people.sub},
            }
        )
        try:
            body = answer["response"]["functionResponse"]["responseBody"]["TEXT"]["body"]
            told = json.loads(body)
        except (KeyError, TypeError, ValueError):
            raise Unexpected(f"{tool}: no answer of a tool: {answer}") from None
        if not told["ok"] or result not in told["result"]:
            raise Unexpected(f"{tool}: {told}")

    def _step(self, what: str) -> None:
        self.told.append(what)
        self.say(f"ok {what}")


def local_agent(people: People) -> Invoke | None:
    """The agent's door of a local stack, which says where it is; None elsewhere."""
    _, configuration = people.ask("GET", "/config.json")
    path = (configuration or {}).get("agent_console")
    if not path:
        return None

    def invoke(event: Json) -> Json:
        _, answer = people.ask("POST", path, event)
        return answer or {}

    return invoke


def deployed_agent(function: str) -> Invoke:
    """The function of that name or ARN, called with the AWS credentials of the environment."""
    import boto3

    client = boto3.client("lambda")

    def invoke(event: Json) -> Json:
        answer = client.invoke(FunctionName=function, Payload=json.dumps(event).encode())
        told: Json = json.loads(answer["Payload"].read())
        return told

    return invoke


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m infra.smoke", description="Try a running stack.")
    parser.add_argument("--url", required=True, help="where the API is")
    parser.add_argument("--token", required=True, help="an access token of a signed-in user")
    parser.add_argument("--agent", default="", help="the agent's function, for a deployed stack")
    given = parser.parse_args()
    if not given.url or not given.token:
        parser.error("say where and as whom: make smoke URL=https://… TOKEN=… [AGENT=function]")
    people = People(given.url, given.token)
    invoke = deployed_agent(given.agent) if given.agent else local_agent(people)
    try:
        Story(people, invoke).run()
    except (Unexpected, OSError) as error:
        sys.exit(f"FAILED: {error}")
    print("The story holds.")


if __name__ == "__main__":
    main()

"""This project's tools and API, over the second engine with its data on the disk: in process, and over HTTP.

For the controls a proxy stands before the engine, so that something can come between a write's read and the
write itself, and an answer of the engine's can be lost.
"""

import http.client
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.compare.system import Answer, Row, Seen, System

DONE = {"recorded", "updated", "removed"}
FIELDS = ("title", "subtitle", "kind", "locked")


class Listed(Seen):
    """A list whose ids, which an agent is not shown, are read when they are asked for."""

    def __init__(self, text: str, guard: int, read: Callable[[], list[Row]]) -> None:
        self.text, self.guard, self.read = text, guard, read

    @cached_property
    def rows(self) -> list[Row]:
        return self.read()


class InProcess(System):
    name = "this project (in process)"
    packages = ("boto3", "@dynoxide/linux-x64")
    proxied = True
    """Whether the engine is spoken to through the proxy: for the controls, not for measuring."""

    def start(self, folder: Path) -> None:
        from infra.local.table import PRETENDED
        from tests.bench import engine
        from tests.fault_proxy import fault_proxy

        for name in [name for name in os.environ if name.startswith(("AWS_", "POWERTOOLS_"))]:
            del os.environ[name]
        os.environ |= PRETENDED | {"TABLE_NAME": engine.TABLE, "POWERTOOLS_LOG_LEVEL": "CRITICAL"}
        self.stack = ExitStack()
        self.stack.enter_context(engine.serving(folder / "db"))
        self.engine = os.environ["AWS_ENDPOINT_URL_DYNAMODB"]
        self.pids = [engine_pid(self.engine)]
        if self.proxied:
            self.proxy = self.stack.enter_context(fault_proxy(self.engine))
            os.environ["AWS_ENDPOINT_URL_DYNAMODB"] = self.proxy.url
        self.open()

    def open(self) -> None:
        from infra.local.stream import pumping
        from infra.template import Template
        from preferences.history import handler
        from preferences.repository.client import dynamodb_client
        from preferences.testing.callers import Agent, User

        dynamodb_client.cache_clear()
        self.agent, self.person = Agent, User
        if self.proxied:  # deployed, the history is written by a function of its own
            template = Template(references={"Table": os.environ["TABLE_NAME"]})
            self.stack.enter_context(pumping(template, os.environ["TABLE_NAME"], handler, self.engine))

    def stop(self) -> None:
        self.stack.close()

    def processes(self) -> list[int]:
        return self.pids

    def engine_requests(self) -> int:
        """The history's own are left out: it reads parts, and writes items of its own."""
        return sum(
            b"PREFERENCES" in request.body and b"ProjectionExpression" not in request.body
            for request in self.proxy.requests
        )

    # -- transport: events to the handlers, as Bedrock and API Gateway send them

    def tool(self, thread: str, function: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return self.agent(thread, "ada").call(function, **arguments)

    def request(self, user: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        answer = self.person(user).request(method, path, body)
        return answer.status, answer.json

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        status, answer = self.request("ada", method, path, body)
        if status >= 300:
            raise RuntimeError(f"{method} {path}: {status} {answer}")
        return answer

    # -- the agent

    def new(self, thread: str) -> None:
        self.ask("PUT", f"/threads/{thread}")

    def call(self, thread: str, name: str, **arguments: Any) -> Answer:
        self.calls += 1
        if self.between and name != "list_preferences":
            from tests.fault_proxy import first, passes

            self.proxy.fail("UpdateItem", first(self.come_between, passes))
        envelope = self.tool(thread, name, arguments)
        self.revision = envelope["revision"]
        items = envelope.get("items", [])
        done = {item.get("index", n) for n, item in enumerate(items, 1) if item["outcome"] in DONE}
        return Answer(json.dumps(envelope, ensure_ascii=False, separators=(",", ":")), done)

    def add(self, thread: str, rows: list[Row]) -> Answer:
        return self.call(thread, "add_preferences", items=rows)

    def seen(self, thread: str) -> Seen:
        answer = self.call(thread, "list_preferences")
        return Listed(answer.text, self.revision, lambda: self.rows(thread))

    def rows(self, thread: str) -> list[Row]:
        found = self.ask("GET", f"/threads/{thread}/preferences")["preferences"]
        return [{"ref": row["id"], **{name: row[name] for name in FIELDS}} for row in found]

    def update(self, thread: str, seen: Seen, edits: Mapping[int, Row]) -> Answer:
        updates = [{"index": position, **fields} for position, fields in edits.items()]
        return self.call(thread, "update_preferences", updates=updates, list_revision=seen.guard)

    def remove(self, thread: str, seen: Seen, positions: Iterable[int]) -> Answer:
        return self.call(thread, "remove_preferences", indices=list(positions), list_revision=seen.guard)

    # -- the user

    def place(self, thread: str, title: str) -> str:
        [ref] = [row["ref"] for row in self.rows(thread) if row["title"] == title]
        return f"/threads/{thread}/preferences/{ref}"

    def user_edit(self, thread: str, title: str, fields: Row) -> None:
        self.ask("PATCH", self.place(thread, title), fields)

    def user_remove(self, thread: str, title: str) -> None:
        self.ask("DELETE", self.place(thread, title))

    def user_lock(self, thread: str, title: str) -> None:
        self.ask("PUT", f"{self.place(thread, title)}/lock")

    # -- what not every system has

    def changes(self, thread: str) -> list[dict[str, Any]]:
        """The history, once the stream has brought it up to the list."""
        wanted = self.ask("GET", f"/threads/{thread}/preferences")["revision"]
        until = time.monotonic() + 10
        while time.monotonic() < until:
            found = self.ask("GET", f"/threads/{thread}/history")["entries"]
            if found and found[0]["revision"] == wanted:
                return found
            time.sleep(0.05)
        raise RuntimeError("the history did not catch up")

    def history(self, thread: str) -> Mapping[str, Any]:
        entry = self.changes(thread)[0]
        [row] = entry["changes"]
        return {
            "who": entry["actor"],
            "why": entry["reasoning"],
            "before": row["before"],
            "after": row["after"],
        }

    def undo(self, thread: str) -> None:
        self.ask("POST", f"/threads/{thread}/history/{self.changes(thread)[0]['revision']}/undo")

    def suggestions(self, thread: str) -> list[Mapping[str, Any]]:
        return self.ask("GET", f"/threads/{thread}/preferences").get("suggestions", [])

    def accept(self, thread: str, suggestion: Mapping[str, Any]) -> None:
        self.ask("POST", f"/threads/{thread}/suggestions/{suggestion['id']}/accept")

    def prompt(self, thread: str) -> str:
        return self.ask("GET", f"/threads/{thread}/session-state")["promptSessionAttributes"]["preferences"]

    def stranger(self, thread: str, ref: str) -> tuple[bool, bool]:
        place = f"/threads/{thread}/preferences"
        read, _ = self.request("eve", "GET", place)
        wrote, _ = self.request("eve", "PATCH", f"{place}/{ref}", {"title": "Eve's"})
        return read == 200, wrote == 200

    def lose_answer(self) -> None:
        from tests.fault_proxy import resets

        self.proxy.fail("UpdateItem", resets(after=True))


class OverHttp(InProcess):
    """The local stack: the same handlers behind HTTP, a JWT authorizer, and the event of a classic agent."""

    name = "this project (HTTP)"
    rounds = 50

    def open(self) -> None:
        from tests.stack import start_stack, stop_stack

        process, site = start_stack()
        self.stack.callback(stop_stack, process)
        self.pids.append(process.pid)
        self.tokens = {user: site.token(user) for user in ("ada", "eve")}
        self.host = site.origin.removeprefix("http://")
        self.idle: list[http.client.HTTPConnection] = []
        self.stack.callback(lambda: [connection.close() for connection in self.idle])

    def send(self, method: str, path: str, body: Any, headers: Mapping[str, str]) -> tuple[int, Any]:
        # What comes between finds the connection busy, and takes another.
        connection = self.idle.pop() if self.idle else http.client.HTTPConnection(self.host, timeout=30)
        text = None if body is None else json.dumps(body)
        connection.request(method, path, text, {"Content-Type": "application/json", **headers})
        answer = connection.getresponse()
        content = answer.read()
        self.idle.append(connection)
        return answer.status, json.loads(content) if content else None

    def request(self, user: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        return self.send(method, path, body, {"Authorization": f"Bearer {self.tokens[user]}"})

    def tool(self, thread: str, function: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """What Bedrock sends for a classic agent: every value as text."""
        event = {
            "messageVersion": "1.0",
            "agent": {"name": "agent-1", "id": "AGENT", "alias": "LIVE", "version": "1"},
            "actionGroup": "preferences",
            "function": function,
            "sessionId": "session",
            "sessionAttributes": {"thread_id": thread, "user_id": "ada"},
            "promptSessionAttributes": {},
            "parameters": [
                {
                    "name": key,
                    "type": "array" if isinstance(value, list) else "string",
                    "value": as_sent(value),
                }
                for key, value in {**arguments, "action_and_reasoning": "Because Ada said so."}.items()
            ],
        }
        _, answer = self.send("POST", "/local/agent", event, {})
        return json.loads(answer["response"]["functionResponse"]["responseBody"]["TEXT"]["body"])


def as_sent(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def engine_pid(endpoint: str) -> int:
    """The engine's process, by the port on its command line."""
    port = endpoint.rpartition(":")[2].encode()
    for entry in Path("/proc").iterdir():
        with suppress(OSError):  # not a process, or one that has ended meanwhile
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if b"dynoxide" in words[0] and port in words:
                return int(entry.name)
    raise RuntimeError("the engine's process is not found")

"""The MCP reference memory server over its standard input and output: entities are named by their titles."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.compare.system import UNKNOWN, Answer, Row, ToolStore, full, in_words

HERE = Path(__file__).parents[1]
SERVER = HERE / "npm/node_modules/@modelcontextprotocol/server-memory/dist/index.js"


class McpMemory(ToolStore):
    name = "MCP reference memory server"
    packages = ("@modelcontextprotocol/server-memory",)
    better = (
        "relations between entities",
        "any MCP client uses it, by one line of configuration",
    )

    def start(self, folder: Path) -> None:
        environment = {**os.environ, "MEMORY_FILE_PATH": str(folder / "memory.jsonl")}
        self.process = subprocess.Popen(
            ["node", str(SERVER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            text=True,
        )
        self.number = 0
        client = {"name": "comparison", "version": "1"}
        self._send("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def stop(self) -> None:
        self.process.stdin.close()
        self.process.wait(10)

    def processes(self) -> list[int]:
        return [self.process.pid]

    def _write(self, message: Mapping[str, Any]) -> None:
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def _send(self, method: str, params: Mapping[str, Any]) -> Any:
        self.number += 1
        self._write({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self.number:
                return answer["result"]

    def _call(self, tool: str, **arguments: Any) -> str:
        self.calls += 1
        answer = self._send("tools/call", {"name": tool, "arguments": arguments})
        text = answer["content"][0]["text"]
        return f"error: {text}" if answer.get("isError") else text

    def add(self, thread, rows):
        entities = [self._entity(thread, full(row)) for row in rows]
        text = self._call("create_entities", entities=entities)
        made = {entity["name"] for entity in json.loads(text)}
        return Answer(text, {n for n, e in enumerate(entities, 1) if e["name"] in made})

    @staticmethod
    def _entity(thread: str, row: Row) -> Row:
        # The title it was recorded with names the entity for good; its observation is the row.
        return {"name": f"{thread}: {row['title']}", "entityType": thread, "observations": [in_words(row)]}

    def put(self, thread: str, key: str, row: Row) -> str:
        """A new observation first, as the tools have no replacement; then the old one is deleted."""
        old = [] if key == UNKNOWN else self._observations(key)
        added = self._call(
            "add_observations", observations=[{"entityName": key, "contents": [in_words(row)]}]
        )
        if not added.startswith("error") and old:
            self._call("delete_observations", deletions=[{"entityName": key, "observations": old}])
        return added

    def _observations(self, key: str) -> list[str]:
        [entity] = json.loads(self._call("open_nodes", names=[key]))["entities"]
        return entity["observations"]

    def delete(self, thread: str, key: str) -> str:
        return self._call("delete_entities", entityNames=[key])

    def remove(self, thread, seen, positions):
        there = {p for p in positions if p <= len(seen.rows)}
        free = {p for p in there if not (self.heeds_locks and seen.rows[p - 1]["locked"])}
        self.come_between()
        return Answer(self._call("delete_entities", entityNames=[seen.ref(p) for p in free]), free)

    def items(self, thread: str) -> tuple[list[tuple[str, Row]], str]:
        text = self._call("search_nodes", query=thread)
        found = [e for e in json.loads(text)["entities"] if e["entityType"] == thread]
        return [(e["name"], full(json.loads(e["observations"][-1]))) for e in found], text

    def told_done(self, said: Any) -> bool:
        return not said.startswith("error")

    def search(self, text: str) -> list[str]:
        found = json.loads(self._call("search_nodes", query=text))["entities"]
        return [json.loads(e["observations"][-1])["title"] for e in found]

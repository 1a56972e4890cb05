"""LangMem's two tools over LangGraph's InMemoryStore, called as a model would."""

import json
import re
from pathlib import Path
from typing import Any

from langgraph.store.memory import InMemoryStore
from langmem import create_manage_memory_tool, create_search_memory_tool

from tests.compare.system import UNKNOWN, Row, ToolStore, full, in_words


class LangMem(ToolStore):
    name = "LangMem's tools"
    packages = ("langmem",)
    better = (
        "recall by meaning, with an embedding model",
        "extracts what to remember from a conversation, with a language model",
        "a write without a read",
    )

    kept = "in memory"

    def start(self, folder: Path) -> None:
        self.store = InMemoryStore()
        self.tools: dict[str, tuple[Any, Any]] = {}
        self.made: dict[str, int] = {}

    def _tools(self, thread: str) -> tuple[Any, Any]:
        if thread not in self.tools:
            place = ("ada", thread)
            self.tools[thread] = (
                create_manage_memory_tool(place, store=self.store),
                create_search_memory_tool(place, store=self.store),
            )
        return self.tools[thread]

    def _manage(self, thread: str, **arguments: Any) -> str:
        self.calls += 1
        return self._tools(thread)[0].invoke(arguments)

    def add(self, thread, rows):
        answer = super().add(thread, rows)
        for key in re.findall(r"created memory ([0-9a-f-]+)", answer.text):
            self.made[key] = len(self.made)
        return answer

    def put(self, thread: str, key: str, row: Row) -> str:
        if key in self.made or key == UNKNOWN:
            return self._manage(thread, action="update", id=key, content=in_words(row))
        return self._manage(thread, action="create", content=in_words(row))

    def delete(self, thread: str, key: str) -> str:
        return self._manage(thread, action="delete", id=key)

    def items(self, thread: str) -> tuple[list[tuple[str, Row]], str]:
        self.calls += 1
        text = self._tools(thread)[1].invoke({"query": "", "limit": 100})
        found = sorted(json.loads(text), key=lambda item: self.made.get(item["key"], len(self.made)))
        return [(item["key"], full(json.loads(item["value"]["content"]))) for item in found], text

    def told_done(self, said: Any) -> bool:
        return said.startswith(("updated memory", "Deleted memory"))

    def search(self, text: str) -> list[str]:
        tool = create_search_memory_tool(("ada",), store=self.store)
        found = json.loads(tool.invoke({"query": text, "limit": 10_000}))
        return [title for item in found if text in (title := json.loads(item["value"]["content"])["title"])]

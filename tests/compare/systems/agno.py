"""Agno's user memories over its SqliteDb: what its MemoryManager does for a model, without the model."""

import json
from pathlib import Path
from typing import Any

from agno.db.base import UserMemory
from agno.db.sqlite import SqliteDb
from agno.memory import MemoryManager

from tests.compare.system import UNKNOWN, Row, ToolStore, as_text, full, in_words


class Agno(ToolStore):
    name = "Agno's user memories"
    packages = ("agno",)
    better = (
        "extracts what to remember from a conversation, with a language model",
        "a write without a read",
        "many databases to choose from",
    )

    def start(self, folder: Path) -> None:
        self.db = SqliteDb(db_file=str(folder / "db"))
        self.manager = MemoryManager(db=self.db)
        self.made: dict[str, int] = {}

    def put(self, thread: str, key: str, row: Row) -> Any:
        self.calls += 1
        # The tools are made for each run by MemoryManager; they write exactly this.
        topics = [thread]
        if key in self.made or key == UNKNOWN:
            self.manager.replace_user_memory(key, UserMemory(memory=in_words(row), topics=topics), "ada")
            return "Memory updated successfully"
        made = self.manager.add_user_memory(UserMemory(memory=in_words(row), topics=topics), "ada")
        self.made[str(made)] = len(self.made)
        return "Memory added successfully"

    def delete(self, thread: str, key: str) -> Any:
        self.calls += 1
        self.manager.delete_user_memory(key, "ada")
        return "Memory deleted successfully"

    def items(self, thread: str) -> tuple[list[tuple[str, Row]], str]:
        self.calls += 1
        found = self.db.get_user_memories(user_id="ada", topics=[thread])
        found.sort(key=lambda item: self.made.get(item.memory_id, len(self.made)))
        text = as_text([{"memory_id": item.memory_id, "memory": item.memory} for item in found])
        return [(item.memory_id, full(json.loads(item.memory))) for item in found], text

    def told_done(self, said: Any) -> bool:
        return "successfully" in said

    def stranger(self, thread: str, ref: str) -> tuple[bool, bool]:
        read = any(m.memory_id == ref for m in self.manager.get_user_memories("eve"))
        theirs = UserMemory(memory=in_words(full({"title": "Eve's"})), topics=[thread])
        self.manager.replace_user_memory(ref, theirs, "eve")
        now = self.db.get_user_memory(ref)
        return read, "Eve's" in now.memory

    def search(self, text: str) -> list[str]:
        found = self.db.get_user_memories(user_id="ada", search_content=text)
        return [json.loads(item.memory)["title"] for item in found]

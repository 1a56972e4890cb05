"""The memory tool of Claude's API as its Python SDK runs it: a file for each list, a line for each row."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaLocalFilesystemMemoryTool

from tests.compare.system import Answer, Row, ToolStore, full, in_words


class MemoryTool(ToolStore):
    name = "Claude's memory tool (files)"
    packages = ("anthropic",)
    better = (
        "a write without a read",
        "free text in files: nothing to model, and the model is trained to use it",
    )

    notes: Mapping[str, str] = {
        "lock": "inside its call, which reads the file and then writes it whole, nothing was forced"
    }

    def start(self, folder: Path) -> None:
        self.tool = BetaLocalFilesystemMemoryTool(str(folder))

    def ask(self, command: str, **arguments: Any) -> str:
        self.calls += 1
        try:
            return self.tool.call({"command": command, **arguments})
        except ToolError as refused:
            return f"error: {refused}"

    def new(self, thread: str) -> None:
        self.ask("create", path=place(thread), file_text="# Preferences\n")

    def add(self, thread: str, rows: list[Row]) -> Answer:
        # The first line after the title: at the end it would need a look at the file first.
        text = "\n".join(in_words(full(row)) for row in reversed(rows))
        return Answer(
            self.ask("insert", path=place(thread), insert_line=1, insert_text=text),
            set(range(1, len(rows) + 1)),
        )

    def put(self, thread: str, key: str, row: Row) -> str:
        return self.ask("str_replace", path=place(thread), old_str=key, new_str=in_words(row))

    def delete(self, thread: str, key: str) -> str:
        return self.ask("str_replace", path=place(thread), old_str=f"{key}\n", new_str="")

    def items(self, thread: str) -> tuple[list[tuple[str, Row]], str]:
        text = self.ask("view", path=place(thread))
        lines = [line.partition("\t")[2] for line in text.splitlines()]
        return [(line, full(json.loads(line))) for line in reversed(lines) if line.startswith("{")], text

    def told_done(self, said: Any) -> bool:
        return not said.startswith("error")


def place(thread: str) -> str:
    return f"/memories/{thread}.md"

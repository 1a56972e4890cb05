"""Letta's server: a block for each row, read-only when locked; the agent's memory tool, without a model."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from letta_client import Letta

from tests.compare.system import Answer, Row, ToolStore, full

MODELS = {
    "llm_config": {"model": "none", "model_endpoint_type": "openai", "context_window": 8000},
    "embedding_config": {"embedding_model": "none", "embedding_endpoint_type": "openai", "embedding_dim": 8},
}
"""Never asked."""


class LettaServer(ToolStore):
    name = "Letta's server"
    packages = ("letta", "letta-client")
    rounds, conversations = 20, 5
    better = (
        "recall by meaning, with an embedding model",
        "managed hosting",
        "runs the agent itself, whose prompt has the list without a call",
    )
    notes: Mapping[str, str] = {
        "lock": "inside the tool's call nothing was forced",
        "insistent agent": "a read-only block refuses edits; the memory tool detaches it all the same",
    }

    def start(self, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        script = Path(__file__).resolve().parents[1] / "letta_server.py"
        self.folder = folder
        with (folder / "log").open("w") as log:
            command = [sys.executable, str(script), str(folder), str(port)]
            # It writes its API's document where it starts.
            self.process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
        origin = f"http://127.0.0.1:{port}"
        until = time.monotonic() + 300
        while True:
            with suppress(OSError), urllib.request.urlopen(f"{origin}/v1/health/", timeout=2):
                break
            if time.monotonic() > until or self.process.poll() is not None:
                raise RuntimeError((folder / "log").read_text()[-2000:])
            time.sleep(0.2)
        self.client = Letta(base_url=origin)
        self.agents: dict[str, str] = {}
        self.made = 0

    def stop(self) -> None:
        postgres = self.postgres()
        self.process.terminate()
        self.process.wait(30)
        os.kill(postgres, signal.SIGINT)  # the server ends by the signal, and leaves it running
        while Path(f"/proc/{postgres}").exists():
            time.sleep(0.1)

    def postgres(self) -> int:
        return int((self.folder / "pg/postmaster.pid").read_text().split()[0])

    def processes(self) -> list[int]:
        postgres = self.postgres()
        backends = Path(f"/proc/{postgres}/task/{postgres}/children").read_text().split()
        return [self.process.pid, postgres, *map(int, backends)]

    def new(self, thread: str) -> None:
        made = self.client.agents.create(
            name=thread, include_base_tools=False, tools=["memory"], memory_blocks=[], extra_body=MODELS
        )
        self.agents[thread] = made.id

    def ask(self, thread: str, **arguments: Any) -> str:
        self.calls += 1
        answer = self.client.agents.tools.run("memory", agent_id=self.agents[thread], args=arguments)
        return answer.func_return or f"error: {answer.stderr}"

    def add(self, thread: str, rows: list[Row]) -> Answer:
        said = []
        for row in rows:
            self.made += 1
            path = f"/memories/row_{self.made}"
            said.append(
                self.ask(
                    thread, command="create", path=path, description="A preference", file_text=text(full(row))
                )
            )
        return Answer("\n".join(said), {n for n, answer in enumerate(said, 1) if self.told_done(answer)})

    def update(self, thread: str, seen: Any, edits: Mapping[int, Row]) -> Answer:
        def replace(key: str, now: Row, position: int) -> str:
            old, new = text(now), text({**now, **edits[position]})
            return self.ask(
                thread, command="str_replace", path=f"/memories/{key}", old_string=old, new_string=new
            )

        return self._each(thread, seen, edits, replace)

    def delete(self, thread: str, key: str) -> str:
        return self.ask(thread, command="delete", path=f"/memories/{key}")

    def told_done(self, said: Any) -> bool:
        return not said.lower().startswith("error")

    def blocks(self, thread: str) -> list[tuple[Any, Row]]:
        found = list(self.client.agents.blocks.list(agent_id=self.agents[thread], limit=100))
        found.sort(key=lambda block: int(block.label.removeprefix("row_")))
        return [(block, full({**json.loads(block.value), "locked": block.read_only})) for block in found]

    def items(self, thread: str) -> tuple[list[tuple[str, Row]], str]:
        self.calls += 1
        shown = self.client.get(f"/v1/agents/{self.agents[thread]}/context", cast_to=object)
        return [(block.label, row) for block, row in self.blocks(thread)], shown["core_memory"]

    def user_edit(self, thread: str, title: str, fields: Row) -> None:
        [(block, row)] = [(block, row) for block, row in self.blocks(thread) if row["title"] == title]
        row |= fields
        self.client.blocks.update(block.id, value=text(row), read_only=row["locked"])

    def user_remove(self, thread: str, title: str) -> None:
        [block] = [block for block, row in self.blocks(thread) if row["title"] == title]
        self.client.blocks.delete(block.id)

    def search(self, words: str) -> list[str]:
        found = self.client.blocks.list(value_search=words, limit=100)
        return [json.loads(block.value)["title"] for block in found]


def text(row: Row) -> str:
    return json.dumps({name: row[name] for name in ("title", "subtitle", "kind")})

"""mem0 in this process (Qdrant and SQLite in files), without a model: infer=False, its own mock embedder."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.compare.system import BY_ADAPTER, KeyedStore, Row, as_text, full, in_words


class Mem0(KeyedStore):
    name = "mem0 (without a model)"
    packages = ("mem0ai",)
    rounds = 50
    notes = BY_ADAPTER
    better = (
        "recall by meaning, with an embedding model",
        "extracts what to remember from a conversation, with a language model",
        "managed hosting",
    )

    def start(self, folder: Path) -> None:
        os.environ |= {"MEM0_DIR": str(folder / "mem0"), "OPENAI_API_KEY": "none"}
        from mem0 import Memory
        from mem0.embeddings.mock import MockEmbeddings
        from mem0.utils.factory import EmbedderFactory

        EmbedderFactory.create = staticmethod(lambda *_: MockEmbeddings())
        place = {"path": str(folder / "qdrant"), "embedding_model_dims": 10, "on_disk": True}
        self.memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": place},
                "history_db_path": str(folder / "history.db"),
            }
        )
        self.made: dict[str, int] = {}

    def stop(self) -> None:
        self.memory.close()

    def put(self, thread: str, key: str, row: Row) -> Any:
        self.calls += 1
        text = in_words(row)
        if key in self.made:
            return self.memory.update(key, text=text)
        answer = self.memory.add(text, user_id="ada", run_id=thread, agent_id="agent", infer=False)
        self.made[answer["results"][0]["id"]] = len(self.made)
        return answer

    def get(self, thread: str, key: str) -> Row | None:
        self.calls += 1
        found = self.memory.get(key)
        return found and full(json.loads(found["memory"]))

    def delete(self, thread: str, key: str) -> Any:
        self.calls += 1
        return self.memory.delete(key)

    def items(self, thread: str) -> tuple[list[tuple[str, Row]], str]:
        self.calls += 1
        answer = self.memory.get_all(filters={"user_id": "ada", "run_id": thread}, top_k=100)
        found = sorted(answer["results"], key=lambda item: self.made.get(item["id"], 0))
        return [(item["id"], full(json.loads(item["memory"]))) for item in found], as_text(answer)

    def history(self, thread: str) -> Mapping[str, Any]:
        [(key, _)] = self.items(thread)[0]
        entry = self.memory.history(key)[-1]
        return {"who": entry["actor_id"], "before": entry["old_memory"], "after": entry["new_memory"]}

    def stranger(self, thread: str, ref: str) -> tuple[bool, bool]:
        read = bool(self.memory.get_all(filters={"user_id": "eve", "run_id": thread})["results"])
        try:  # update takes an id alone; nobody is asked who they are
            self.memory.update(ref, text=in_words(full({"title": "Eve's"})))
        except Exception:
            return read, False
        return read, True

    def search(self, text: str) -> list[str]:
        answer = self.memory.get_all(filters={"user_id": "ada"}, top_k=10_000)
        return [t for item in answer["results"] if text in (t := json.loads(item["memory"])["title"])]

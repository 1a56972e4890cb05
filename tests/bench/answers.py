"""How long the tools' answers are, in bytes and in tokens: a model pays for each of them, in every turn.

Tokens are counted by gpt-tokenizer with OpenAI's o200k_base; other models' tokenizers differ by some percent.
"""

import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import boto3

from infra.local.table import create_table, embedded_engine
from infra.template import Template
from preferences.model import Caller, Draft
from preferences.repository import PreferenceRepository
from preferences.tools import PreferenceTools

TOKENIZER = Path(__file__).parent / "tokens"
TABLE = "answers"
SIZES = (5, 20, 50, 100)
WHY = "As the user just said."

Call = Callable[[PreferenceTools, int], Mapping[str, Any]]
"""(tools, the list's revision) → the answer."""

CALLS: dict[str, Call] = {
    "list": lambda tools, _: tools.list_preferences(),
    "edit 1, with the list's revision": lambda tools, revision: tools.update_preferences(
        updates=[{"index": 3, "title": "Another title"}], list_revision=revision, action_and_reasoning=WHY
    ),
    "edit 1": lambda tools, _: tools.update_preferences(
        updates=[{"index": 3, "title": "One more title"}], action_and_reasoning=WHY
    ),
    "remove 1": lambda tools, _: tools.remove_preferences(indices=[5], action_and_reasoning=WHY),
    "add 1": lambda tools, _: tools.add_preferences(
        items=[{"title": "Quiet at night", "kind": "hard"}], action_and_reasoning=WHY
    ),
}

BEFORE = {
    "list": [(780, 206), (2962, 776), (7342, 1916), (14644, 3816)],
    "edit 1, with the list's revision": [(494, 130), (1585, 415), (3775, 985), (7426, 1935)],
    "edit 1": [(497, 133), (1588, 418), (3778, 988), (7429, 1938)],
    "remove 1": [(437, 116), (1527, 401), (3717, 971), (7367, 1921)],
    "add 1": [(448, 123), (1540, 408), (3730, 978), (7382, 1928)],
}
"""(bytes, tokens) at each of the sizes, as this module counted them of version 1.0.0."""


def absent() -> str | None:
    """Why none of this can be measured here."""
    if shutil.which("node") and (TOKENIZER / "node_modules").exists():
        return None
    return "the tokenizer is not installed: npm ci --prefix tests/bench/tokens"


def measure() -> list[dict[str, Any]]:
    """For each call: the bytes and the tokens of its answer at each size, and what they were before."""
    with embedded_engine():
        client = boto3.client("dynamodb")
        create_table(client, Template(references={"Table": TABLE}), TABLE)
        repo = PreferenceRepository(client, TABLE)
        answers: dict[str, list[str]] = {name: [] for name in CALLS}
        for size in SIZES:
            tools = PreferenceTools(_thread(repo, size), repo, user_id="ada")
            for name, call in CALLS.items():
                revision = tools.list_preferences()["revision"]
                answers[name].append(
                    json.dumps(call(tools, revision), ensure_ascii=False, separators=(",", ":"))
                )
    counted = iter(tokens([text for texts in answers.values() for text in texts]))
    return [
        {
            "call": name,
            "sizes": SIZES,
            "now": [(len(text.encode()), next(counted)) for text in texts],
            "before": BEFORE[name],
        }
        for name, texts in answers.items()
    ]


def _thread(repo: PreferenceRepository, size: int) -> str:
    """A new thread with as many rows; one call removes a row, another adds one."""
    thread_id = f"answers-{size}"
    drafts = [
        Draft(title=f"Preference number {n:02}", subtitle="so that it is what people often say")
        for n in range(size)
    ]
    user = Caller.user("ada")
    repo.register_thread(thread_id, user)
    for start in range(0, size, 50):
        repo.add_preferences_bulk(thread_id, drafts[start : start + 50], user)
    return thread_id


def tokens(texts: list[str]) -> list[int]:
    script = (
        "const {encode} = require('gpt-tokenizer/encoding/o200k_base');"
        "const texts = JSON.parse(require('fs').readFileSync(0, 'utf8'));"
        "console.log(JSON.stringify(texts.map((text) => encode(text).length)));"
    )
    done = subprocess.run(
        ["node", "-e", script],
        cwd=TOKENIZER,
        input=json.dumps(texts),
        text=True,
        check=True,
        capture_output=True,
    )
    return json.loads(done.stdout)

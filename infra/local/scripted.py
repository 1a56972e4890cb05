"""A model that plays a script, in place of a real one: for the examples on this machine, and their tests.

It understands nothing. It answers a sentence of SCRIPT with the tool call beside it, `call TOOL {…}` with
that call, a tool's result by quoting it, and anything else by quoting the `<preferences>` block of its
prompt. So its text shows what a real model would have had before it.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Call = tuple[str, dict[str, Any]]

SCRIPT: Mapping[str, Call] = {
    "My budget is 900 euros at most. And keep an academic tone, please.": (
        "add_preferences",
        {
            "items": [
                {"title": "Budget under 900 euros", "kind": "hard"},
                {"title": "Academic tone", "kind": "soft"},
            ],
            "action_and_reasoning": "Recording the budget and the tone that the user just named.",
        },
    ),
    "Raise the budget to 1200 euros, and make the tone friendly.": (
        "update_preferences",
        {
            "updates": [
                {"index": 1, "title": "Budget under 1200 euros"},
                {"index": 2, "title": "Friendly tone"},
            ],
            "action_and_reasoning": "The user asked for a higher budget and a friendlier tone.",
        },
    ),
}
"""What is said to the model → the tool that it calls, and the arguments."""

_CALL = re.compile(r"call (\S+) (\{.*\})", re.DOTALL)
_BLOCK = re.compile(r"<preferences[ >].*</preferences>", re.DOTALL)


@dataclass(frozen=True)
class Reply:
    """What the model says, or the tool that it wants called."""

    text: str = ""
    call: Call | None = None


def reply(prompt: str, said: str, results: Iterable[str]) -> Reply:
    """The model's answer to the last message: `said` by the user, or the `results` of its tool calls.

    Raises ValueError when the arguments of `call TOOL {…}` are not JSON.
    """
    if answers := list(results):
        return Reply("The tool answered: " + "\n".join(answers))
    if said in SCRIPT:
        return Reply(call=SCRIPT[said])
    if found := _CALL.search(said):
        return Reply(call=(found[1], json.loads(found[2])))
    block = _BLOCK.search(prompt)
    return Reply(f"In my prompt: {block[0] if block else 'no preferences'}")

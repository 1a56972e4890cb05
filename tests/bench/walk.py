"""How long a walk it is from a request to DynamoDB and back: the calls of our own functions on the way.

They are counted, not timed: a reader has to follow them. Comprehensions count for nothing, and a generator
counts once for each element, as Python's profiler reports it.
"""

import json
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

from infra.local.context import LambdaContext
from preferences.agent import handler as agent
from preferences.api import handler as api
from preferences.repository.client import dynamodb_client
from preferences.repository.items import thread_item
from tests.bench.warm import Stub
from tests.bench.work import EDITS, ROW, check, people, results, thread, tool

PACKAGE = Path(sys.modules["preferences"].__path__[0])


def walk(handler: Callable[[object, object], Any], event: dict) -> list[str]:
    """The file of each call, in order."""
    calls: list[str] = []

    def note(frame: Any, event: str, _: object) -> None:
        place = Path(frame.f_code.co_filename)
        if event == "call" and not frame.f_code.co_name.startswith("<") and place.is_relative_to(PACKAGE):
            calls.append(str(place.relative_to(PACKAGE)))

    with Stub(dynamodb_client(), thread_item(thread(5))):
        check(handler(event, LambdaContext()))  # the first makes what is kept
        sys.setprofile(note)
        try:
            check(handler(event, LambdaContext()))
        finally:
            sys.setprofile(None)
    return calls


def measure() -> list[dict]:
    """For one edit by each party: calls, files, and moves from a package to another."""
    walks = {
        "agent edits 1": (agent, tool("update_preferences", updates=EDITS[:1])),
        "user edits 1": (
            api,
            people("PATCH /threads/{thread_id}/preferences/{id}", {"title": "Formal tone"}, id=ROW),
        ),
    }
    found = []
    for name, (handler, event) in walks.items():
        files = walk(handler, event)
        packages = [Path(file).parts[0].removesuffix(".py") for file in files]
        moves = sum(here != there for here, there in pairwise(packages))
        found.append({"request": name, "calls": len(files), "files": len({*files}), "moves": moves})
    return found


if __name__ == "__main__":
    with results() as answer:
        json.dump(measure(), answer)

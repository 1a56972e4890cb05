"""The work that is measured: lists as people have them, and events as the handlers get them."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TextIO

from preferences.model import Change, Preference, Thread

OWNER = "ada"
AT = "2026-11-30T22:08:31.123Z"


def thread(size: int) -> Thread:
    """A list as people have them: short titles, a qualifier in every second row."""
    rows = tuple(
        Preference(
            id=f"{n:032x}",
            title=f"Preference number {n}",
            subtitle=f"as it was said in turn {n}, with a few more words" if n % 2 else None,
            kind="hard" if n % 3 else "soft",
            locked=n % 10 == 0,
            rank=100 + n,
            added=1,
            changed=1,
            created_by="agent",
            created_at=AT,
            updated_by="agent",
            updated_at=AT,
        )
        for n in range(1, size + 1)
    )
    change = Change(id="0" * 32, actor="agent", who="AGENT", action="add", reasoning="As it was said.", at=AT)
    return Thread(thread_id="demo", owner=OWNER, revision=7, preferences=rows, last_change=change)


def people(route: str, body: object = None, **path: str) -> dict:
    """An event of the people's handler."""
    event = {
        "version": "2.0",
        "routeKey": route,
        "rawPath": "/",
        "rawQueryString": "",
        "headers": {
            "accept": "*/*",
            "content-type": "application/json",
            "host": "api",
            "user-agent": "bench",
        },
        "pathParameters": {"thread_id": "demo", **path},
        "requestContext": {
            "requestId": "request",
            "authorizer": {"jwt": {"claims": {"sub": OWNER, "token_use": "access"}, "scopes": None}},
        },
        "isBase64Encoded": False,
    }
    return event if body is None else {**event, "body": json.dumps(body)}


def tool(name: str, **arguments: object) -> dict:
    """An event of a classic agent with function details: arrays arrive as text."""
    parameters = [{"name": n, "type": "array", "value": json.dumps(v)} for n, v in arguments.items()]
    return {
        "messageVersion": "1.0",
        "agent": {"name": "bench", "id": "AGENT", "alias": "LIVE", "version": "1"},
        "actionGroup": "preferences",
        "function": name,
        "sessionId": "session",
        "sessionAttributes": {"thread_id": "demo", "user_id": OWNER},
        "promptSessionAttributes": {},
        "parameters": parameters,
    }


EDITS = [{"index": n, "title": f"Another title {n}", "kind": "soft"} for n in range(1, 13) if n != 10][:10]
NEW = [{"title": f"A new one {n}", "subtitle": "with its qualifier", "kind": "hard"} for n in range(10)]
ROW = f"{3:032x}"


def check(answer: Mapping) -> None:
    """Raises RuntimeError when a handler has not done what it was asked."""
    if "statusCode" in answer:
        done = answer["statusCode"] == 200
    else:
        done = json.loads(answer["response"]["functionResponse"]["responseBody"]["TEXT"]["body"])["ok"]
    if not done:
        raise RuntimeError(answer)


@contextmanager
def results() -> Iterator[TextIO]:
    """Standard output, for the results alone: what handlers log costs its write and is seen by nobody."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answer, open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        yield answer

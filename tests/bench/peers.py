"""The same work done by something that one could pick instead, and what the local stack bears."""

import http.client
import json
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import boto3
from botocore import xform_name

from infra.local.context import LambdaContext
from preferences.agent import handler
from preferences.repository.client import table_name
from tests.bench import engine
from tests.bench.warm import recorded
from tests.bench.work import NEW, OWNER, check, results, tool
from tests.stack import Site, start_stack, stop_stack

ROOT = Path(__file__).parents[2]
PEER = ROOT / ".venv-peer/bin/python"
CONVERSATIONS = 60
SECONDS = 4  # of load on the local stack, for each kind of request
CLIENTS = 4
BAR = 0.90
"""Own CPU of a conversation over that of the bare boto3 calls that it makes."""


def absent() -> str | None:
    """Why the peer can't be measured here."""
    return None if PEER.exists() else "LangGraph's SqliteStore is not installed: make .venv-peer"


def compare() -> list[dict]:
    """Add 10, list, update 5, remove 5: each side in turn, a few conversations at a time."""
    peer, bare, ours = [], [], []
    for _ in range(3):
        if absent() is None:
            peer += _peer(CONVERSATIONS // 3)
        for one, other in _bare_and_ours(CONVERSATIONS // 3):
            bare.append(one)
            ours.append(other)
    sides = {
        "LangGraph's SqliteStore, on a file": peer,
        "the same calls by boto3 alone": bare,
        "agent's handler, over the second engine, on a file": ours,
    }
    ratios = sorted(own[1] / alone[1] for own, alone in zip(ours, bare, strict=True))
    return [
        {
            "side": name,
            "milliseconds": [wall for wall, _ in taken],
            "cpu": [cpu for _, cpu in taken],
            "ratios": ratios if taken is ours else [],
            "bar": BAR if taken is ours else None,
        }
        for name, taken in sides.items()
        if taken
    ]


def _peer(times: int) -> list[tuple[float, float]]:
    script = Path(__file__).with_name("peer_langgraph.py")
    done = subprocess.run([str(PEER), str(script), str(times)], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


EDITS = [{"index": n, "title": f"Another title {n}"} for n in range(1, 6)]
CONVERSATION = [
    tool("add_preferences", items=NEW),
    tool("list_preferences"),
    tool("update_preferences", updates=EDITS),
    tool("remove_preferences", indices=[6, 7, 8, 9, 10]),
]


def _bare_and_ours(times: int) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """What boto3 takes for the calls that a conversation makes, and then what the conversation takes.

    Ours are whole answers of the agent's handler, texts for the model and log lines and all. The other side
    sends what a first conversation of ours sent, on threads of its own, to the same engine.
    """
    taken = []
    with tempfile.TemporaryDirectory() as folder, engine.serving(Path(folder) / "db") as client:
        table_name.cache_clear()
        bare = boto3.client("dynamodb")
        with recorded(client) as calls:
            _talk("conversation-0000")
        methods = [getattr(bare, xform_name(name)) for name, _ in calls]
        asked = json.dumps([parameters for _, parameters in calls])
        for n in range(1, times + 6):
            parameters = json.loads(asked.replace("conversation-0000", f"bare-{n:012}"))

            def ask(parameters: list[dict] = parameters) -> None:
                for method, given in zip(methods, parameters, strict=True):
                    method(**given)

            taken.append((_taken(ask), _taken(partial(_talk, f"conversation-{n:04}"))))
    return taken[5:]


def _talk(thread_id: str) -> None:
    identity = {"thread_id": thread_id, "user_id": OWNER}
    for call in CONVERSATION:
        check(handler({**call, "sessionAttributes": identity}, LambdaContext()))


def _taken(run: Callable[[], None]) -> tuple[float, float]:
    """Milliseconds of the clock, and of this process's time on a processor."""
    began, cpu = time.perf_counter(), time.process_time()
    run()
    return (time.perf_counter() - began) * 1000, (time.process_time() - cpu) * 1000


def throughput() -> list[dict]:
    """Answers a second of the local stack, to a few clients on this same machine, on either engine."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        found += [{"engine": "moto, in the process", **row} for row in _load({})]
        if engine.absent() is None:
            with engine.serving(Path(folder) / "db"):
                endpoint = {"AWS_ENDPOINT_URL_DYNAMODB": os.environ["AWS_ENDPOINT_URL_DYNAMODB"]}
                found += [{"engine": "the second engine, on a file", **row} for row in _load(endpoint)]
    return found


def _load(environment: dict[str, str]) -> list[dict]:
    # Nobody reads what it prints meanwhile: a line for each request would fill the pipe, and stop it.
    process, site = start_stack(**environment, POWERTOOLS_LOG_LEVEL="WARNING")
    try:
        token = {"Authorization": f"Bearer {site.token()}", "Content-Type": "application/json"}
        for n in range(CLIENTS):
            site.request("PUT", f"/threads/load-{n}", headers=token)
            site.request("POST", f"/threads/load-{n}/preferences", {"items": NEW}, token)
        return [
            {"request": "list of 10", **_measured(site, "GET", "", token, lambda n: None)},
            {
                "request": "edit",
                **_measured(site, "PATCH", "/{id}", token, lambda n: {"title": f"Title {n}"}),
            },
        ]
    finally:
        stop_stack(process)


def _measured(site: Site, method: str, place: str, headers: dict[str, str], body: Callable) -> dict:
    """Each client has a connection and a thread (a list) of its own, and asks again when it is answered."""
    taken: list[float] = []
    faults: list[int] = []
    end = time.perf_counter() + SECONDS

    def client(number: int) -> None:
        connection = http.client.HTTPConnection(site.origin.removeprefix("http://"), timeout=30)
        path = f"/threads/load-{number}/preferences"
        connection.request("GET", path, headers=headers)
        row = json.load(connection.getresponse())["preferences"][0]["id"]
        sent = 0
        while (began := time.perf_counter()) < end:
            sent += 1
            wanted = body(sent)
            connection.request(
                method, path + place.format(id=row), json.dumps(wanted) if wanted else None, headers
            )
            response = connection.getresponse()
            response.read()
            taken.append((time.perf_counter() - began) * 1000)
            if response.status != 200:
                faults.append(response.status)
        connection.close()

    clients = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    for one in clients:
        one.start()
    for one in clients:
        one.join()
    if faults:
        raise RuntimeError(f"the local stack answered {faults[0]}")
    return {"a_second": len(taken) / SECONDS, "milliseconds": sorted(taken)}


if __name__ == "__main__":
    with results() as answer:
        json.dump(compare(), answer)

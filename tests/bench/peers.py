"""The same work done by something that one could pick instead, and what the local stack bears."""

import http.client
import json
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from infra.local.context import LambdaContext
from preferences.agent import handler
from preferences.repository.client import table_name
from tests.bench import engine
from tests.bench.work import NEW, OWNER, check, results, tool
from tests.stack import Site, start_stack, stop_stack

ROOT = Path(__file__).parents[2]
PEER = ROOT / ".venv-peer/bin/python"
CONVERSATIONS = 60
SECONDS = 4  # of load on the local stack, for each kind of request
CLIENTS = 4


def absent() -> str | None:
    """Why the peer can't be measured here."""
    return None if PEER.exists() else "LangGraph's SqliteStore is not installed: make .venv-peer"


def compare() -> list[dict]:
    """Add 10, list, update 5, remove 5: each side in turn, a few conversations at a time."""
    sides = {
        "LangGraph's SqliteStore, on a file": _peer,
        "agent's handler, over the second engine, on a file": _ours,
    }
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
    for _ in range(3):
        for name, side in sides.items():
            taken[name] += side(CONVERSATIONS // 3)
    return [
        {"side": name, "milliseconds": [wall for wall, _ in found], "cpu": [cpu for _, cpu in found]}
        for name, found in taken.items()
    ]


def _peer(times: int) -> list[tuple[float, float]]:
    script = Path(__file__).with_name("peer_langgraph.py")
    done = subprocess.run([str(PEER), str(script), str(times)], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def _ours(times: int) -> list[tuple[float, float]]:
    """Whole answers of the agent's handler, texts for the model and log lines and all."""
    edits = [{"index": n, "title": f"Another title {n}"} for n in range(1, 6)]
    calls = [
        tool("add_preferences", items=NEW),
        tool("list_preferences"),
        tool("update_preferences", updates=edits),
        tool("remove_preferences", indices=[6, 7, 8, 9, 10]),
    ]
    taken = []
    with tempfile.TemporaryDirectory() as folder, engine.serving(Path(folder) / "db"):
        table_name.cache_clear()
        for n in range(times + 5):
            identity = {"thread_id": f"conversation-{n}", "user_id": OWNER}
            began, cpu = time.perf_counter(), time.process_time()
            for call in calls:
                check(handler({**call, "sessionAttributes": identity}, LambdaContext()))
            taken.append(((time.perf_counter() - began) * 1000, (time.process_time() - cpu) * 1000))
    return taken[5:]


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
    process, site = start_stack(**environment)
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

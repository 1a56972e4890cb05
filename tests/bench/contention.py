"""What a write costs while others write to the same thread without a pause: on the second engine.

Each call to the engine takes 5 ms more than it does, as one over a network would. Nobody pauses.
"""

import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from preferences.errors import Conflict, PreferencesError
from preferences.model import Draft, IndexedEdit
from preferences.repository import PreferenceRepository
from preferences.repository.client import dynamodb_client
from tests.bench.engine import AGENT, TABLE, USER, serving

CALL_SECONDS = 0.005
TIMES = 20
AGENTS = (1, 2, 4, 8)

Operation = Callable[[PreferenceRepository, str, str, int], Any]
"""(repository, thread id, a row's id, how many times it was done before) → what it answers."""

OPERATIONS: dict[str, Operation] = {
    "user locks 1": lambda repo, thread, row, n: repo.set_lock(thread, row, USER, locked=n % 2 == 0),
    "user locks all": lambda repo, thread, row, n: repo.set_all_locks(thread, USER, locked=n % 2 == 0),
    "agent updates 3": lambda repo, thread, row, n: repo.update_preferences(
        thread, [IndexedEdit(index=i, subtitle=f"{n}") for i in (1, 2, 3)], AGENT
    ),
}


def measure() -> list[dict[str, Any]]:
    """For each operation and each rival: the milliseconds of each time, and how many failed."""
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder) / "table.db"):
        rivals = [(f"{n} agents" if n > 1 else "1 agent", n, _agent) for n in AGENTS]
        return [
            {"operation": name, "against": against, **_race(operation, count, rival)}
            for name, operation in OPERATIONS.items()
            for against, count, rival in [*rivals, ("1 user", 1, _user)]
        ]


def _repository() -> PreferenceRepository:
    client = dynamodb_client.__wrapped__()
    client.meta.events.register("before-send.dynamodb", lambda **_: time.sleep(CALL_SECONDS))
    return PreferenceRepository(client, TABLE)


def _agent(repo: PreferenceRepository, thread_id: str, n: int) -> None:
    repo.update_preferences(thread_id, [IndexedEdit(index=4, subtitle=f"{n}")], AGENT)


def _user(repo: PreferenceRepository, thread_id: str, n: int) -> None:
    rows = repo.list_preferences(thread_id, USER).preferences
    repo.edit_preference(thread_id, rows[3].id, {"subtitle": f"{n}"}, USER)


def _race(operation: Operation, count: int, rival: Callable[..., None]) -> dict[str, Any]:
    repo, thread_id = _repository(), f"race-{time.monotonic_ns()}"
    repo.register_thread(thread_id, USER)
    drafts = [Draft(title=f"Row {n}") for n in range(5)]
    row = repo.add_preferences_bulk(thread_id, drafts, USER).thread.preferences[0].id
    over = threading.Event()

    def go_on() -> None:
        own, n = _repository(), 0
        while not over.is_set():
            with suppress(Conflict, PreferencesError):
                rival(own, thread_id, n)
            n += 1

    threads = [threading.Thread(target=go_on) for _ in range(count)]
    for thread in threads:
        thread.start()
    found: list[float] = []
    failed = 0
    for n in range(TIMES):
        began = time.perf_counter()
        try:
            operation(repo, thread_id, row, n)
        except PreferencesError:
            failed += 1
        found.append(1000 * (time.perf_counter() - began))
    over.set()
    for thread in threads:
        thread.join()
    return {"milliseconds": found, "failed": failed}

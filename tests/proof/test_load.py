"""The local stack under many users and agents at once, on loopback: no error, and memory that stays flat.

It is one process on one machine, so its pace says nothing of a deployment's. What it shows is that nothing
fails, mixes up two lists, or piles up while many are served at once. The table is in the second engine, for
moto would keep it, and a record of every write, in the memory that is measured. With PROVE set, half a
minute: only then memory is judged, since in a few seconds a busy machine has not even filled its caches.
"""

import http.client
import json
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.effort import PROVE, tried
from tests.stack import start_stack, stop_stack

PARTIES = 16
SECONDS = 30 if PROVE else 2
WARM = SECONDS / 3
"""Until then caches fill: memory is compared from there on."""
GROWTH = 8 * 1024
"""KiB that the process may have grown by: what its threads and its allocator hold back, nothing per call."""


def resident(pid: int) -> int:
    """KiB of memory that a process really holds."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError("no VmRSS")


class Party:
    """A user and an agent on a thread of their own, on one connection, over and over the same few rows."""

    def __init__(self, site, number: int) -> None:
        self.site, self.user = site, f"user-{number}"
        self.path = f"/threads/load-{number}/preferences"
        self.headers = {
            "Authorization": f"Bearer {site.token(self.user)}",
            "Content-Type": "application/json",
        }
        self.answers: Counter = Counter()
        self.wrong: list[str] = []

    def run(self, until: float) -> None:
        connection = http.client.HTTPConnection(self.site.origin.removeprefix("http://"), timeout=30)
        try:
            self._ask(connection, "PUT", self.path.removesuffix("/preferences"))
            while time.monotonic() < until:
                self._round(connection)
        except Exception as failure:
            self.wrong.append(repr(failure))
        finally:
            connection.close()

    def _ask(self, connection, method, path, body=None):
        connection.request(method, path, None if body is None else json.dumps(body), self.headers)
        answer = connection.getresponse()
        text = answer.read()
        self.answers[answer.status] += 1
        if answer.status >= 300:
            self.wrong.append(f"{method} {path}: {answer.status} {text[:200]!r}")
        return json.loads(text) if text else None

    def _tool(self, connection, name, **arguments):
        given = [{"name": n, "type": "array", "value": json.dumps(v)} for n, v in arguments.items()]
        event = {
            "messageVersion": "1.0",
            "actionGroup": "preferences",
            "function": name,
            "sessionAttributes": {"thread_id": self.path.split("/")[2], "user_id": self.user},
            "parameters": given,
        }
        answer = self._ask(connection, "POST", "/local/agent", event)
        return json.loads(answer["response"]["functionResponse"]["responseBody"]["TEXT"]["body"])

    def _round(self, connection) -> None:
        """Every step's outcome is known beforehand, for nobody else writes to this thread."""
        title = (
            f"Row {self.answers.total()} of {self.user}"  # what was removed before would only be suggested
        )
        added = self._tool(connection, "add_preferences", items=[{"title": title}])
        row = self._ask(connection, "GET", self.path)["preferences"][0]
        self._ask(connection, "PUT", f"{self.path}/{row['id']}/lock")
        refused = self._tool(connection, "remove_preferences", indices=[1])
        self._ask(connection, "DELETE", f"{self.path}/{row['id']}/lock")
        changed = self._tool(connection, "update_preferences", updates=[{"index": 1, "kind": "hard"}])
        listed = self._ask(connection, "GET", self.path)["preferences"]
        self._ask(connection, "DELETE", f"{self.path}/{row['id']}")
        said = [answer["items"][0]["outcome"] for answer in (added, refused, changed)]
        if said != ["recorded", "locked", "updated"] or [(r["title"], r["kind"]) for r in listed] != [
            (title, "hard")
        ]:
            self.wrong.append(f"{said} {listed}")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_many_at_once_are_all_served_and_leave_nothing_behind(dynoxide):
    process, site = start_stack(AWS_ENDPOINT_URL_DYNAMODB=dynoxide, TABLE_NAME="load")
    try:
        parties = [Party(site, n) for n in range(PARTIES)]
        until = time.monotonic() + SECONDS
        threads = [threading.Thread(target=party.run, args=(until,)) for party in parties]
        for thread in threads:
            thread.start()
        time.sleep(WARM)
        warm = resident(process.pid)
        for thread in threads:
            thread.join(SECONDS + 60)
        grown = resident(process.pid) - warm
    finally:
        stop_stack(process)
    wrong = [word for party in parties for word in party.wrong]
    answers = sum((party.answers for party in parties), Counter())
    assert not wrong, wrong[:5]
    assert answers.total() > PARTIES * 5
    tried("load", f"requests of {PARTIES} at once, of which failed 0", answers.total())
    tried("load", f"KiB grown in {SECONDS - WARM:.0f} s of load", grown)
    if PROVE:
        assert grown < GROWTH, f"{grown} KiB more after {answers.total()} requests"

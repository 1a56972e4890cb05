"""A random walk over faults: agents and users write to one thread through a network that fails at random.

Requests are lost, delayed beyond the sender's time-out, delivered twice, throttled, answered with 5xx or with
what is not DynamoDB's; the thread is deleted and restored meanwhile. What was committed is taken from the
table's stream. Each request carries a tag, which its commit has as its reasoning. With PROVE set, much more,
and in processes as well.
"""

import concurrent.futures
import multiprocessing
import random
import threading
import time
from dataclasses import dataclass, field

import pytest

from preferences import rules
from preferences.errors import OutcomeUnknown, PreferencesError
from preferences.model import SHOWN, Caller, Draft, IndexedEdit, Thread
from preferences.repository import PreferenceRepository, client, table
from preferences.repository.items import read_thread
from tests.effort import PROVE, tried
from tests.fault_proxy import (
    FaultProxy,
    arrives_twice,
    error,
    is_cut_off,
    over_http,
    passes,
    resets,
    says,
    without_item,
)
from tests.support import ADA

pytestmark = pytest.mark.parametrize("store", ["dynoxide"], indirect=True, scope="module")

TIME_OUT = 0.1
"""Seconds that a participant waits for an answer."""
PATIENCE = 1.0
"""Seconds after which it gives a request up."""
COUNT = 300 if PROVE else 12


_one_at_a_time = threading.Lock()
"""The environment is the process's."""


def late(exchange):
    """Arrives now, or after its sender has given this copy up, or the whole request."""
    time.sleep(random.uniform(0, 4 * TIME_OUT))
    exchange.forward()
    exchange.cut()


FAULTS = [
    resets(after=False),
    resets(after=True),
    error(500, "InternalServerError"),
    error(500, "InternalServerError", after=True),
    error(400, "ThrottlingException"),
    says(200, b"<html>Sign in</html>"),
    says(502, b"", after=False),
    is_cut_off,
    arrives_twice,
    without_item,
    late,
    late,
]


class Network(FaultProxy):
    """Every third request meets a fault."""

    def _fault(self, operation):
        self.seen[operation] += 1
        if random.random() > 0.33:
            return passes
        self.failed += 1
        return random.choice(FAULTS)


@dataclass
class Request:
    tag: str
    verb: str
    start: float
    end: float = 0.0
    outcome: str = ""
    """acknowledged, nothing (an agent's, which wrote nothing), unknown, or the code of a refusal"""
    shown: Thread | None = None


@dataclass
class Participant:
    name: str
    url: str
    table_name: str
    thread_id: str
    count: int
    log: list[Request] = field(default_factory=list)

    def run(self):
        self.random = random.Random(f"{self.name} {random.random()}")
        with _one_at_a_time, pytest.MonkeyPatch.context() as patch:
            patch.setenv("AWS_ENDPOINT_URL_DYNAMODB", self.url)
            patch.setattr(client, "READ_SECONDS", TIME_OUT)
            own = client.dynamodb_client.__wrapped__()
        self.repo = PreferenceRepository(own, self.table_name)
        for n in range(self.count):
            self.request(f"{self.name} {n}", "add" if n == 0 else None)
        return self.log

    def request(self, tag, verb=None):
        actor = "agent" if self.name.startswith("agent") else "user"
        caller = Caller(actor=actor, owner="ada", who=self.name, reasoning=tag)
        verb = verb or self.random.choice(self.verbs(actor))
        request = Request(tag, verb, time.monotonic())
        self.log.append(request)
        try:
            answer = getattr(self, verb)(caller, tag)
        except OutcomeUnknown as unknown:
            request.outcome, request.shown = "unknown", unknown.thread
        except PreferencesError as refusal:
            request.outcome = refusal.code
        else:
            reports = getattr(answer, "reports", ())
            done = {report.outcome for report in reports} & {"recorded", "updated", "removed"}
            wrote = actor == "user" or done or answer.suggested
            request.outcome = "acknowledged" if wrote else "nothing"
            request.shown = getattr(answer, "thread", answer)
        request.end = time.monotonic()

    def verbs(self, actor):
        if actor == "agent":
            return ["add", "update", "remove"]
        return [
            "add",
            "edit",
            "lock",
            "lock",
            "unlock",
            "unlock",
            "lock_all",
            "reorder",
            "take_out",
            "dismiss_all",
            "restart",
        ]

    def seen(self):
        with_rows = self.repo.list_preferences(self.thread_id, ADA)
        return with_rows, [row.id for row in with_rows.preferences] or ["none"]

    def add(self, caller, tag):
        return self.repo.add_preferences_bulk(self.thread_id, [Draft(title=tag)], caller)

    def update(self, caller, tag):
        index = self.random.randint(1, 4)
        edits = [IndexedEdit(index=index, title=tag), IndexedEdit(index=index + 1, kind="hard")]
        return self.repo.update_preferences(self.thread_id, edits, caller)

    def remove(self, caller, _):
        return self.repo.remove_preferences(self.thread_id, [self.random.randint(1, 6)], caller)

    def edit(self, caller, tag):
        chosen = self.random.choice(self.seen()[1])
        return self.repo.edit_preference(self.thread_id, chosen, {"title": tag}, caller)

    def lock(self, caller, _):
        return self.repo.set_lock(self.thread_id, self.random.choice(self.seen()[1]), caller, locked=True)

    def unlock(self, caller, _):
        return self.repo.set_lock(self.thread_id, self.random.choice(self.seen()[1]), caller, locked=False)

    def lock_all(self, caller, _):
        return self.repo.set_all_locks(self.thread_id, caller, locked=self.random.random() < 0.5)

    def reorder(self, caller, _):
        _, ids = self.seen()
        return self.repo.reorder(self.thread_id, self.random.sample(ids, min(2, len(ids))), caller)

    def take_out(self, caller, _):
        return self.repo.remove_preference(self.thread_id, self.random.choice(self.seen()[1]), caller)

    def dismiss_all(self, caller, _):
        return self.repo.dismiss_suggestions(self.thread_id, caller)[0]

    def restart(self, caller, _):
        """Seldom a deletion; where the thread is deleted, a restoration."""
        if self.random.random() < 0.2:
            self.repo.delete_thread(self.thread_id, caller)
            return None
        return self.repo.register_thread(self.thread_id, caller)[0]


def run(participant):
    return participant.run()


@pytest.fixture
def walk(store, feed):
    """walk(executor, count): what everybody did, and the states that the stream tells of, by revision."""

    def walk(pool, count):
        network = Network(over_http(store.client.meta.endpoint_url))
        thread_id = store.new_id()
        store.other.register_thread(thread_id, ADA)
        names = [f"{kind} {n}" for kind in ("agent", "user") for n in range(3)]
        with pool:
            logs = pool.map(
                run,
                [Participant(name, network.url, store.table_name, thread_id, count) for name in names],
            )
            requests = [request for log in logs for request in log]
        time.sleep(5 * TIME_OUT)  # what is late has arrived by then
        network.close()
        tried("faults", "requests that met a fault at random", network.failed)
        records = feed.records(thread_id)
        states = {}
        for record in records:
            state = read_thread(thread_id, record["dynamodb"]["NewImage"])
            assert state.revision not in states, "a revision was committed twice"
            states[state.revision] = state
        assert feed.hand_over(*records) == []
        return thread_id, requests, states

    return walk


def check(store, feed, thread_id, requests, states):
    assert sorted(states) == [*range(1, max(states) + 1)]
    last = states[max(states)]
    assert last.owner is None or store.other.list_preferences(thread_id, ADA) == last
    commits = {}
    for revision, state in states.items():
        commits.setdefault(state.last_change.reasoning, []).append(revision)
    for request in requests:
        made = commits.get(request.tag, [])
        assert len(made) <= 1, f"{request.verb} was applied {len(made)} times"
        if request.outcome == "acknowledged":
            assert made, f"{request.verb} was acknowledged, and is not stored"
        elif request.outcome == "not_found" and made:
            # It was applied by a copy without an answer, and by the time of the next the thread was deleted.
            assert any(state.owner is None for revision, state in states.items() if revision > made[0])
        elif request.outcome != "unknown":
            assert not made, f"{request.verb} was answered with {request.outcome}, and is stored"
        if request.shown is not None and request.shown.revision:
            assert request.shown.preferences == states[request.shown.revision].preferences
    done = [(r.start, r.end, commits[r.tag][0]) for r in requests if r.outcome == "acknowledged"]
    later = [(r.start, commits[r.tag][0]) for r in requests if r.tag in commits]
    for _, end, revision in done:
        assert not [other for start, other in later if start > end and other < revision]
    for revision in range(2, max(states) + 1):
        old, new = states[revision - 1], states[revision]
        if new.last_change.actor == "agent":
            for row in old.preferences:
                assert not row.locked or new.find(row.id) == row, "an agent touched a locked row"
    check_history(feed, thread_id, states)


def check_history(feed, thread_id, states):
    """One entry for every revision of the present generation; one after the other they make the list."""
    last = states[max(states)]
    entries = feed.entries(thread_id)
    if last.owner is None:
        assert not entries
        return
    first = max(last.revived, 1)
    assert sorted(entries) == [*range(first, last.revision + 1)]
    rows = {}
    for revision in range(first, last.revision + 1):
        for change in rules.entry_of(states.get(revision - 1, Thread(thread_id="t")), states[revision]).rows:
            if change.after is None:
                del rows[change.id]
            else:
                rows[change.id] = {**rows.get(change.id, {}), **change.after}
        stored = [row["id"] for row in entries[revision]["rows"]]
        wanted = rules.entry_of(states.get(revision - 1, Thread(thread_id="t")), states[revision])
        assert stored == [change.id for change in wanted.rows]
    shown = {row.id: {name: getattr(row, name) for name in SHOWN} for row in last.preferences}
    assert rows == shown


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch):
    monkeypatch.setattr(table, "REQUEST_SECONDS", PATIENCE)
    monkeypatch.setattr(table, "LONGEST_PAUSE", 0.05)


def test_no_fault_makes_a_write_twice_or_takes_one_back(store, feed, walk):
    thread_id, requests, states = walk(concurrent.futures.ThreadPoolExecutor(6), COUNT)
    check(store, feed, thread_id, requests, states)
    outcomes = [request.outcome for request in requests]
    assert "acknowledged" in outcomes, "nothing was tried"
    tried("faults", "requests of a random walk over faults", len(requests))
    tried("faults", "of them acknowledged, each looked at", outcomes.count("acknowledged"))


@pytest.mark.prove
def test_the_same_holds_for_processes(store, feed, walk):
    spawn = multiprocessing.get_context("spawn")
    thread_id, requests, states = walk(concurrent.futures.ProcessPoolExecutor(3, mp_context=spawn), COUNT)
    check(store, feed, thread_id, requests, states)
    tried("faults", "requests of a random walk of processes", len(requests))


def test_the_check_would_notice(store, feed, walk):
    """A commit that is left out, or made twice, is seen."""
    thread_id, requests, states = walk(concurrent.futures.ThreadPoolExecutor(6), 2)
    acknowledged = next(r for r in requests if r.outcome == "acknowledged")
    acknowledged.tag = "never stored"
    with pytest.raises(AssertionError, match="is not stored"):
        check(store, feed, thread_id, requests, states)
    assert threading.active_count() < 100

"""Agents and users who write to one thread at once: in real threads on both engines, and in processes.

With PROVE set, very many more; and sixteen on the second engine, five times over.
"""

import concurrent.futures
import multiprocessing

import pytest

from tests.effort import PROVE, tried
from tests.race_harness import Participant, Stream, check, in_threads, summary
from tests.support import ADA, AGENT, drafts

EACH = {"moto": 36, "dynoxide": 144} if PROVE else {"moto": 3, "dynoxide": 5}
"""Requests of each of sixteen: moto answers one at a time, and slowly."""
EACH_IN_PROCESSES = 96 if PROVE else 3


@pytest.fixture
def endpoint(store):
    """Where other clients find the store's engine; None: in this process."""
    url = store.client.meta.endpoint_url
    return url if "127.0.0.1" in url else None


def begin(store):
    """A registered thread with four rows, and how it stands."""
    thread_id = store.new_id()
    store.other.register_thread(thread_id, ADA)
    return store.other.add_preferences_bulk(thread_id, drafts("One", "Two", "Three", "Four"), ADA).thread


def participants(store, thread_id, endpoint, count, *, agents=8, users=8, undoes=False, of=""):
    names = [f"agent{of} {n}" for n in range(agents)] + [f"user{of} {n}" for n in range(users)]
    return [Participant(name, store.table_name, thread_id, endpoint, count, undoes) for name in names]


def end(store, thread_id):
    return store.other.list_preferences(thread_id, ADA)


def test_sixteen_threads_of_agents_and_users_break_no_lock_and_lose_no_write(store, endpoint):
    count = EACH["dynoxide" if endpoint else "moto"]
    for _ in range(5 if PROVE and endpoint else 1):
        first = begin(store)
        stream = Stream(store.other, first.thread_id, first)
        log = in_threads(participants(store, first.thread_id, endpoint, count, undoes=True), stream)
        check(log, first, end(store, first.thread_id))
        assert len(log.requests) == 16 * count
        assert {"agen", "user"} == {request.who[:4] for request in log.requests if request.commits}, summary(
            log
        )
        tried("races", "requests of 16 threads", len(log.requests))
        tried("races", "of them committed, each looked at", sum(summary(log).values()))


# moto lives in one process
@pytest.mark.parametrize("store", ["dynoxide"], indirect=True, scope="module")
def test_several_processes_break_no_lock_and_lose_no_write(store, endpoint):
    first = begin(store)
    groups = [
        participants(store, first.thread_id, endpoint, EACH_IN_PROCESSES, agents=3, users=3, of=f" of {n}")
        for n in range(3)
    ]
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(len(groups), mp_context=spawn) as processes:
        logs = list(processes.map(in_threads, groups))
    whole = logs[0]
    for log in logs[1:]:
        whole.add(log)
    check(whole, first, end(store, first.thread_id))
    assert len(whole.requests) == 18 * EACH_IN_PROCESSES
    tried("races", "requests of 3 processes", len(whole.requests))


def run_all(calls):
    with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
        return [future.result() for future in [pool.submit(call) for call in calls]]


def test_many_who_register_one_id_at_once_make_one_thread(store):
    thread_id = store.new_id()
    answers = run_all([lambda: store.other.register_thread(thread_id, ADA)] * 8)
    assert sum(new for _, new in answers) == 1
    assert sorted(thread.revision for thread, _ in answers) == [*range(1, 9)]
    assert store.item(thread_id)["revision"] == 8


def test_agents_that_all_add_first_make_one_thread_with_all_their_rows(store):
    thread_id = store.new_id()

    def add(n):
        return lambda: store.other.add_preferences_bulk(thread_id, drafts(f"Row {n}", "Shared"), AGENT)

    run_all([add(n) for n in range(4)])
    assert sorted(store.titles(thread_id)) == ["Row 0", "Row 1", "Row 2", "Row 3", "Shared"]


def test_a_row_that_many_remove_at_once_is_removed_once(store):
    thread_id = store.thread("A", "B")
    answers = run_all([lambda: store.other.remove_preferences(thread_id, [1], AGENT, list_revision=7)] * 6)
    outcomes = sorted(report.outcome for written in answers for report in written.reports)
    assert outcomes.count("removed") == 1
    assert set(outcomes) <= {"removed", "out_of_range", "stale"}
    assert store.titles(thread_id) == ["B"]
    assert store.item(thread_id)["revision"] == 8


def test_a_lock_that_many_turn_at_once_ends_as_one_of_them_said(store):
    thread_id = store.thread("A")

    def turn(locked):
        return lambda: store.other.set_lock(thread_id, "A", ADA, locked=locked)

    answers = run_all([turn(n % 2 == 0) for n in range(8)])
    latest = max(answers, key=lambda thread: thread.revision)
    assert store.rows(thread_id)["A"]["locked"] == latest.find("A").locked
    assert store.item(thread_id)["revision"] == latest.revision

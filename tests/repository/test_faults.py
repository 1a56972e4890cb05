"""What the repository makes of an engine and a network that fail: on real sockets, with the product's client.

The promise under fire: nothing is sent twice on a guess, nothing is half applied, nothing is claimed that was
not done, and every call ends in time. What can't be known is told as unknown, with the list as it is.
"""

import threading
import time

import pytest

from preferences import rules
from preferences.errors import Busy, HistoryNotReady, OutcomeUnknown, PreconditionFailed
from preferences.model import IndexedEdit
from preferences.repository import PreferenceRepository
from preferences.repository import client as wiring
from preferences.repository.calls import MAX_VOIDED
from preferences.tools import PreferenceTools
from tests.effort import tried
from tests.support import ADA, AGENT, EVE, drafts, row
from tests.wire import (
    arrives_late,
    arrives_twice,
    error,
    followed_by,
    hangs,
    is_cut_off,
    is_slow,
    passes,
    resets,
    says,
    then,
    wired,
)

TIME_OUT = 0.3
"""Seconds that the hasty client waits, in place of the product's two."""
SLACK = 3
"""Seconds that a busy machine may take beyond a deadline."""

on_moto = pytest.mark.parametrize("store", ["moto"], indirect=True, scope="module")
"""What the client makes of a fault is the same whichever engine is behind it; a few tests are run on both."""


@pytest.fixture(scope="module")
def wire(store):
    url = store.client.meta.endpoint_url
    with wired(url if "127.0.0.1" in url else None) as made:
        yield made
    tried("faults", "requests that met a fault", made.failed)


@pytest.fixture(scope="module")
def client(wire):
    """The product's own client, at the end of the wire."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL_DYNAMODB", wire.url)
        return wiring.dynamodb_client.__wrapped__()


@pytest.fixture(scope="module")
def hasty_client(wire):
    """The same with less patience. On a busy machine its reads may run out of time, and be sent again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wiring, "READ_SECONDS", TIME_OUT)
        patch.setenv("AWS_ENDPOINT_URL_DYNAMODB", wire.url)
        return wiring.dynamodb_client.__wrapped__()


@pytest.fixture(autouse=True)
def _short_pauses(wire, monkeypatch):
    monkeypatch.setattr("preferences.repository.calls.LONGEST_PAUSE", 0.01)
    wire.clear()


@pytest.fixture
def repo(store, client):
    return PreferenceRepository(client, store.table_name)


@pytest.fixture
def hasty(store, hasty_client):
    return PreferenceRepository(hasty_client, store.table_name)


@pytest.fixture
def in_time(store, hasty_client, monkeypatch):
    """in_time(seconds): a repository for a caller who has so many seconds left from now on."""
    monkeypatch.setattr("preferences.repository.calls.CALL_SECONDS", TIME_OUT)

    def make(seconds):
        until = time.monotonic() + seconds
        return PreferenceRepository(
            hasty_client, store.table_name, seconds_left=lambda: until - time.monotonic()
        )

    return make


# -- the writes that are tried ----------------------------------------------------------------------------


def _undoable(store, thread_id):
    """Makes revision 8 of a thread a removal of C that can be undone."""
    old = store.other.list_preferences(thread_id, ADA)
    new = store.other.remove_preference(thread_id, "C", ADA)
    store.other.history.put(thread_id, rules.entry_of(old, new))


class Write:
    """One kind of write: what it needs first, how it is asked for, and what tells that it was applied."""

    def __init__(self, ask, applied, *, operation="UpdateItem", prepare=None, new=False):
        self.ask, self.applied, self.operation = ask, applied, operation
        self._prepare, self._new = prepare, new

    def begin(self, store):
        thread_id = store.new_id() if self._new else store.thread("A", "B", "C")
        if self._prepare:
            self._prepare(store, thread_id)
        return thread_id


def _title(name):
    return lambda item: item["preferences"]["A"]["title"] == name


WRITES = {
    "edit": Write(lambda repo, t: repo.edit_preference(t, "A", {"title": "X"}, ADA), _title("X")),
    "lock": Write(
        lambda repo, t: repo.set_lock(t, "A", ADA, locked=True),
        lambda item: item["preferences"]["A"]["locked"],
    ),
    "remove": Write(
        lambda repo, t: repo.remove_preference(t, "A", ADA), lambda item: "A" not in item["preferences"]
    ),
    "register": Write(
        lambda repo, t: repo.register_thread(t, ADA),
        lambda item: item is not None,
        operation="PutItem",
        new=True,
    ),
    "delete the thread": Write(lambda repo, t: repo.delete_thread(t, ADA), lambda item: "owner" not in item),
    "come back": Write(
        lambda repo, t: repo.register_thread(t, ADA),
        lambda item: "owner" in item,
        prepare=lambda store, t: store.other.delete_thread(t, ADA),
    ),
    "add": Write(
        lambda repo, t: repo.add_preferences_bulk(t, drafts("X"), AGENT),
        lambda item: "X" in {r["title"] for r in item["preferences"].values()},
    ),
    "add first": Write(
        lambda repo, t: repo.add_preferences_bulk(t, drafts("X"), AGENT),
        lambda item: item is not None,
        operation="PutItem",
        new=True,
    ),
    "agent's update": Write(
        lambda repo, t: repo.update_preferences(t, [IndexedEdit(index=1, title="X")], AGENT), _title("X")
    ),
    "agent's removal": Write(
        lambda repo, t: repo.remove_preferences(t, [1], AGENT), lambda item: "A" not in item["preferences"]
    ),
    "lock all": Write(
        lambda repo, t: repo.set_all_locks(t, ADA, locked=True),
        lambda item: all(r["locked"] for r in item["preferences"].values()),
    ),
    "reorder": Write(
        lambda repo, t: repo.reorder(t, ["B", "A"], ADA),
        lambda item: item["preferences"]["B"]["rank"] < item["preferences"]["A"]["rank"],
    ),
    "undo": Write(
        lambda repo, t: repo.undo(t, 8, ADA), lambda item: "C" in item["preferences"], prepare=_undoable
    ),
}
every_write = pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())

THROTTLED = error(400, "ProvisionedThroughputExceededException")
NOT_APPLIED = {
    "throttled": THROTTLED,
    "throttled in other words": error(400, "ThrottlingException"),
    "over the request limit": error(400, "RequestLimitExceeded"),
    "in conflict with a transaction": error(400, "TransactionConflictException"),
    "in conflict with a replica": error(400, "ReplicatedWriteConflictException"),
}
LOST = {
    "reset before it arrives": resets(after=False),
    "500": error(500, "InternalServerError"),
    "503": error(503, "ServiceUnavailable"),
    "a proxy's 502": says(502, b"<html>Bad Gateway</html>", after=False),
    "a proxy's page with 200": says(200, b"<html>Sign in</html>", after=False),
    "a proxy's 204": says(204, b"", after=False),
    "a proxy's way to sign in": says(302, b"", after=False),
    "a proxy's 400": says(400, b"<html>Bad Request</html>", after=False),
    "a proxy's 408": says(408, b"", after=False),
    "a proxy's 429 in JSON": says(429, b'{"message": "slow down"}', after=False),
}
APPLIED = {
    "reset after the commit": resets(after=True),
    "500 after the commit": error(500, "InternalServerError", after=True),
    "503 after the commit": error(503, "ServiceUnavailable", after=True),
    "a proxy's 504 after the commit": says(504, b""),
    "a proxy's 408 after the commit": says(408, b""),
    "a proxy's 201 after the commit": says(201, b""),
    "an answer of something else": says(200, b'{"message": "ok"}'),
    "answer cut off": is_cut_off,
}
GARBLED = {
    "nothing": b"",
    "no JSON": b"<html></html>",
    "an empty object": b"{}",
    "null": b"null",
    "a list": b"[]",
    "a text": b'"x"',
    "a number": b"7",
    "attributes: null": b'{"Attributes": null}',
    "attributes: a list": b'{"Attributes": []}',
    "attributes: a text": b'{"Attributes": "x"}',
    "attributes: none": b'{"Attributes": {}}',
    "an attribute that is a text": b'{"Attributes": {"revision": "8"}}',
    "a number that is none": b'{"Attributes": {"revision": {"N": "eight"}}}',
    "an attribute of two types": b'{"Attributes": {"revision": {"N": "8", "S": "8"}}}',
    "rows that are a list": b'{"Attributes": {"revision": {"N": "8"}, "owner": {"S": "ada"}, '
    b'"preferences": {"L": []}}}',
    "a row that is a text": b'{"Attributes": {"revision": {"N": "8"}, "owner": {"S": "ada"}, '
    b'"preferences": {"M": {"A": {"S": ""}}}}}',
    "another write's": b'{"Attributes": {"revision": {"N": "8"}, "owner": {"S": "ada"}}}',
    "not UTF-8": b'{"Attributes": {"revision": {"S": "\xff"}}}',
    "deep nesting": b'{"Attributes": ' + b"[" * 100_000,
}
GARBLED_READ = {
    name: body.replace(b"Attributes", b"Item")
    for name, body in GARBLED.items()
    if name not in ("an empty object", "attributes: null", "another write's")  # no such item, or another one
}


@on_moto
class TestAWriteThatWasNotApplied:
    @pytest.mark.parametrize("fault", NOT_APPLIED.values(), ids=NOT_APPLIED.keys())
    def test_is_sent_again_until_it_is(self, store, wire, repo, fault):
        thread_id = store.thread("A")
        wire.fail("UpdateItem", fault, fault)
        repo.edit_preference(thread_id, "A", {"title": "X"}, ADA)
        assert wire.seen["UpdateItem"] == 3
        assert (store.titles(thread_id), store.item(thread_id)["revision"]) == (["X"], 8)

    @every_write
    def test_is_applied_once_in_the_end(self, store, wire, repo, write):
        thread_id = write.begin(store)
        before = (store.item(thread_id) or {"revision": 0})["revision"]
        wire.fail(write.operation, THROTTLED)
        write.ask(repo, thread_id)
        item = store.item(thread_id)
        assert write.applied(item)
        assert item["revision"] == before + 1
        assert wire.seen[write.operation] == 2

    @every_write
    def test_ends_as_busy_with_nothing_changed_when_it_never_is(self, store, wire, repo, write):
        thread_id = write.begin(store)
        before = store.item(thread_id)
        wire.fail(write.operation, *[THROTTLED] * 100)
        with pytest.raises(Busy):
            write.ask(repo, thread_id)
        assert store.item(thread_id) == before
        assert wire.seen[write.operation] == 10

    def test_is_never_told_as_locked_or_missing(self, store, wire, repo):
        thread_id = store.thread("A")
        wire.fail("UpdateItem", *[THROTTLED] * 100)
        envelope = PreferenceTools(thread_id, repo, user_id="ada").remove_preferences(indices=[1])
        assert envelope["error"]["code"] == "busy"

    def test_meets_on_its_way_again_what_has_been_locked_since(self, store, wire, repo):
        thread_id = store.thread("A", "B")
        wire.fail(
            "UpdateItem",
            then(lambda: store.other.set_lock(thread_id, "A", ADA, locked=True), THROTTLED),
        )
        written = repo.remove_preferences(thread_id, [1, 2], AGENT)
        assert [report.outcome for report in written.reports] == ["locked", "removed"]
        assert store.titles(thread_id) == ["A"]

    def test_is_sent_again_also_where_it_unlocks(self, store, wire, repo):
        """That is safe after throttling alone, because it was certainly not applied before."""
        thread_id = store.thread("A", locked=("A",))
        wire.fail("UpdateItem", THROTTLED)
        assert not repo.set_lock(thread_id, "A", ADA, locked=False).find("A").locked


class Arrival:
    """A write that is under way until the test lets it arrive."""

    def __init__(self):
        self._go, self._arrived = threading.Event(), threading.Event()
        self.fault = arrives_late(self._go, self._arrived)

    def now(self):
        self._go.set()
        assert self._arrived.wait(10)


@pytest.fixture
def arrival():
    return Arrival()


def unvoided(item):
    """An item without what only the repository looks at."""
    return item and {name: value for name, value in item.items() if name != "voided"}


def check_unknown(store, thread_id, refusal):
    """It carries the thread as it is now, where the caller may see one."""
    item = store.item(thread_id)
    if item is None or "owner" not in item:
        assert refusal.thread is None or refusal.thread.revision == 0
    else:
        assert refusal.thread == store.other.list_preferences(thread_id, ADA)


@on_moto
class TestAWriteThatNobodyHeardOfAgain:
    @pytest.mark.parametrize("fault", LOST.values(), ids=LOST.keys())
    def test_and_that_was_lost_is_unknown_and_not_sent_again(self, store, wire, repo, fault):
        thread_id = store.thread("A")
        before = store.item(thread_id)
        wire.fail("UpdateItem", fault)
        with pytest.raises(OutcomeUnknown) as refusal:
            repo.edit_preference(thread_id, "A", {"title": "X"}, ADA)
        assert wire.seen == {"UpdateItem": 1, "GetItem": 1, "Void": 1}
        assert unvoided(store.item(thread_id)) == before
        check_unknown(store, thread_id, refusal.value)

    @every_write
    def test_and_that_was_lost_is_unknown_whatever_it_was(self, store, wire, repo, write):
        thread_id = write.begin(store)
        before = store.item(thread_id)
        wire.fail(write.operation, resets(after=False))
        with pytest.raises(OutcomeUnknown) as refusal:
            write.ask(repo, thread_id)
        assert wire.seen[write.operation] == 1
        assert unvoided(store.item(thread_id)) == before
        check_unknown(store, thread_id, refusal.value)

    @pytest.mark.parametrize("fault", APPLIED.values(), ids=APPLIED.keys())
    def test_and_that_was_applied_is_known_by_one_read(self, store, wire, repo, fault):
        thread_id = store.thread("A")
        wire.fail("UpdateItem", fault)
        thread = repo.edit_preference(thread_id, "A", {"title": "X"}, ADA)
        assert wire.seen == {"UpdateItem": 1, "GetItem": 1}
        assert thread == store.other.list_preferences(thread_id, ADA)
        assert (store.titles(thread_id), thread.revision) == (["X"], 8)

    def test_because_it_hangs_is_unknown_and_not_sent_again(self, store, wire, hasty):
        thread_id = store.thread("A")
        before = store.item(thread_id)
        wire.fail("UpdateItem", hangs(after=False))
        with pytest.raises(OutcomeUnknown):
            hasty.edit_preference(thread_id, "A", {"title": "X"}, ADA)
        assert wire.seen["UpdateItem"] == 1
        assert unvoided(store.item(thread_id)) == before

    def test_because_it_hangs_after_the_commit_is_known_by_reading(self, store, wire, hasty):
        thread_id, committed = store.thread("A"), threading.Event()
        wire.fail("UpdateItem", followed_by(committed.set, hangs(after=False)))
        # On a busy machine the commit may take longer than the client waits.
        wire.fail("GetItem", *[then(lambda: committed.wait(10), passes)] * 10)
        assert hasty.edit_preference(thread_id, "A", {"title": "X"}, ADA).revision == 8
        assert wire.seen["UpdateItem"] == 1
        assert store.titles(thread_id) == ["X"]

    @pytest.mark.parametrize("fault", [resets(after=True), arrives_twice], ids=["reset", "sent twice"])
    @every_write
    def test_and_that_was_applied_is_known_whatever_it_was(self, store, wire, repo, write, fault):
        thread_id = write.begin(store)
        before = (store.item(thread_id) or {"revision": 0})["revision"]
        wire.fail(write.operation, fault)
        write.ask(repo, thread_id)
        item = store.item(thread_id)
        assert write.applied(item)
        assert item["revision"] == before + 1
        assert wire.seen[write.operation] == 1

    @every_write
    def test_and_that_somebody_wrote_over_is_unknown_though_it_was_applied(self, store, wire, repo, write):
        thread_id = write.begin(store)

        def somebody():
            if write is WRITES["delete the thread"]:
                store.other.register_thread(thread_id, ADA)
            else:
                store.other.add_preferences_bulk(thread_id, drafts("Theirs"), ADA)

        wire.fail(write.operation, followed_by(somebody, resets(after=False)))
        with pytest.raises(OutcomeUnknown) as refusal:
            write.ask(repo, thread_id)
        assert wire.seen[write.operation] == 1
        check_unknown(store, thread_id, refusal.value)

    @pytest.mark.parametrize("verb", [verb for verb in WRITES if WRITES[verb].operation == "UpdateItem"])
    def test_and_that_arrives_after_the_answer_is_not_applied_any_more(
        self, store, wire, hasty, arrival, verb
    ):
        write = WRITES[verb]
        thread_id = write.begin(store)
        before = store.item(thread_id)
        wire.fail("UpdateItem", arrival.fault)
        with pytest.raises(OutcomeUnknown):
            write.ask(hasty, thread_id)
        arrival.now()
        assert unvoided(store.item(thread_id)) == before
        assert wire.seen["UpdateItem"] == 1

    def test_and_that_unlocks_does_not_open_a_lock_that_was_acknowledged_after_the_answer(
        self, store, wire, hasty, arrival
    ):
        thread_id = store.thread("A", locked=("A",))
        wire.fail("UpdateItem", arrival.fault)
        with pytest.raises(OutcomeUnknown) as refusal:
            hasty.set_lock(thread_id, "A", ADA, locked=False)
        assert refusal.value.thread.find("A").locked
        assert store.other.set_lock(thread_id, "A", ADA, locked=True).revision == 7  # nothing to write
        arrival.now()
        reports = store.other.remove_preferences(thread_id, [1], AGENT).reports
        assert [report.outcome for report in reports] == ["locked"]

    @pytest.mark.parametrize("fault", LOST.values(), ids=LOST.keys())
    def test_leaves_nothing_in_a_strangers_thread(self, store, wire, repo, fault):
        """She could push out of it what its owner has voided."""
        thread_id = store.thread("A", locked=("A",))
        before = store.item(thread_id)
        wire.fail("UpdateItem", fault)
        with pytest.raises(OutcomeUnknown) as refusal:
            repo.set_lock(thread_id, "A", EVE, locked=False)
        assert refusal.value.thread is None
        assert store.item(thread_id) == before

    def test_shows_no_list_where_it_may_still_arrive(self, store, wire, repo):
        thread_id = store.thread("A", locked=("A",))
        wire.fail("UpdateItem", resets(after=False))
        wire.fail("Void", *[error(500, "InternalServerError")] * 100)
        with pytest.raises(OutcomeUnknown) as refusal:
            repo.set_lock(thread_id, "A", ADA, locked=False)
        assert refusal.value.thread is None

    def test_is_not_begun_without_the_time_to_look_for_it_and_to_void_it(self, store, wire, in_time):
        thread_id = store.thread("A", locked=("A",))
        with pytest.raises(Busy):
            in_time(2.9 * TIME_OUT).set_lock(thread_id, "A", ADA, locked=False)
        assert not wire.seen

    @pytest.mark.parametrize("fault", [*LOST.values(), error(400, "ThrottlingException")])
    def test_is_voided_even_if_voiding_fails_at_first(self, store, wire, hasty, arrival, fault):
        thread_id = store.thread("A", locked=("A",))
        before = store.item(thread_id)
        wire.fail("UpdateItem", arrival.fault)
        wire.fail("Void", fault)
        with pytest.raises(OutcomeUnknown):
            hasty.set_lock(thread_id, "A", ADA, locked=False)
        arrival.now()
        assert unvoided(store.item(thread_id)) == before

    def test_is_voided_even_if_nobody_hears_that_it_is(self, store, wire, repo):
        thread_id = store.thread("A", locked=("A",))
        wire.fail("UpdateItem", resets(after=False))
        wire.fail("Void", resets(after=True))
        with pytest.raises(OutcomeUnknown):
            repo.set_lock(thread_id, "A", ADA, locked=False)
        assert len(store.item(thread_id)["voided"]) == 32

    def test_and_that_arrives_before_it_is_voided_is_known_as_done(self, store, wire, hasty, arrival):
        thread_id = store.thread("A", locked=("A",))
        wire.fail("UpdateItem", arrival.fault)
        wire.fail("Void", then(arrival.now, passes))
        thread = hasty.set_lock(thread_id, "A", ADA, locked=False)
        assert (thread.revision, thread.find("A").locked) == (8, False)
        assert "voided" not in store.item(thread_id)

    def test_is_voided_though_another_writer_came_in_between(self, store, wire, hasty, arrival):
        thread_id = store.thread("A", locked=("A",))
        wire.fail("UpdateItem", arrival.fault)
        wire.fail(
            "Void", then(lambda: store.other.add_preferences_bulk(thread_id, drafts("X"), AGENT), passes)
        )
        with pytest.raises(OutcomeUnknown) as refusal:
            hasty.set_lock(thread_id, "A", ADA, locked=False)
        assert [r.title for r in refusal.value.thread.preferences] == ["A", "X"]
        arrival.now()
        assert store.rows(thread_id)["A"]["locked"]

    def test_is_voided_beside_one_that_is_voided_at_the_same_time(self, store, wire, repo):
        thread_id, theirs = store.thread("A"), "f" * 32
        wire.fail("UpdateItem", resets(after=False))
        wire.fail("Void", then(lambda: store.poke(thread_id, "voided", value=theirs), passes))
        with pytest.raises(OutcomeUnknown):
            repo.set_lock(thread_id, "A", ADA, locked=True)
        voided = store.item(thread_id)["voided"]
        assert (voided[:32], len(voided)) == (theirs, 64)

    def test_is_not_voided_on_an_item_that_has_expired_since(self, store, wire, repo):
        thread_id = store.thread("A")

        def expire():
            store.client.delete_item(TableName=store.table_name, Key=store.key(thread_id))

        wire.fail("UpdateItem", resets(after=False))
        wire.fail("Void", then(expire, passes))
        with pytest.raises(OutcomeUnknown):
            repo.set_lock(thread_id, "A", ADA, locked=True)
        assert store.item(thread_id) is None

    def test_is_voided_beside_those_before_it_and_the_oldest_are_forgotten(self, store, wire, repo):
        thread_id = store.thread("A")
        for _ in range(22):
            wire.fail("UpdateItem", resets(after=False))
            with pytest.raises(OutcomeUnknown):
                repo.set_lock(thread_id, "A", ADA, locked=True)
        voided = store.item(thread_id)["voided"]
        assert len(voided) == MAX_VOIDED
        assert len({voided[n : n + 32] for n in range(0, MAX_VOIDED, 32)}) == 20

    @pytest.mark.parametrize("verb", [verb for verb in WRITES if WRITES[verb].operation == "PutItem"])
    def test_and_that_is_the_first_arrives_once_where_there_is_no_item_to_void_it_on(
        self, store, wire, hasty, arrival, verb
    ):
        write = WRITES[verb]
        thread_id = write.begin(store)
        wire.fail("PutItem", arrival.fault)
        with pytest.raises(OutcomeUnknown):
            write.ask(hasty, thread_id)
        arrival.now()
        assert store.item(thread_id)["revision"] == 1
        assert wire.seen["PutItem"] == 1

    def test_and_that_is_the_first_does_not_arrive_over_what_came_after_the_answer(
        self, store, wire, hasty, arrival
    ):
        thread_id = store.new_id()
        wire.fail("PutItem", arrival.fault)
        with pytest.raises(OutcomeUnknown):
            hasty.add_preferences_bulk(thread_id, drafts("X"), AGENT)
        store.other.register_thread(thread_id, EVE)
        arrival.now()
        assert (store.item(thread_id)["owner"], store.titles(thread_id)) == ("eve", [])

    def test_and_that_arrives_late_does_not_pass_a_lock_that_was_acknowledged_meanwhile(
        self, store, wire, hasty, arrival
    ):
        thread_id = store.thread("A")
        wire.fail("UpdateItem", arrival.fault)
        with pytest.raises(OutcomeUnknown):
            hasty.remove_preferences(thread_id, [1], AGENT)
        store.other.set_lock(thread_id, "A", ADA, locked=True)
        locked = store.item(thread_id)
        arrival.now()
        assert store.item(thread_id) == locked

    @pytest.mark.parametrize("body", GARBLED.values(), ids=GARBLED.keys())
    def test_since_the_answer_was_garbled_is_known_by_one_read(self, store, wire, repo, body):
        thread_id = store.thread("A")
        wire.fail("UpdateItem", says(200, body))
        thread = repo.edit_preference(thread_id, "A", {"title": "X"}, ADA)
        assert wire.seen["UpdateItem"] == 1
        assert (thread.preferences[0].title, thread.revision) == ("X", 8)

    def test_and_cannot_be_looked_up_either_is_unknown_without_a_list(self, store, wire, in_time):
        thread_id = store.thread("A")
        wire.fail("UpdateItem", resets(after=True))
        wire.fail("GetItem", *[error(500, "InternalServerError")] * 100)
        with pytest.raises(OutcomeUnknown) as refusal:
            in_time(4 * TIME_OUT).edit_preference(thread_id, "A", {"title": "X"}, ADA)
        assert refusal.value.thread is None
        assert wire.seen["UpdateItem"] == 1
        assert store.titles(thread_id) == ["X"]

    def test_tells_an_agent_so_with_the_present_list(self, store, wire, repo):
        thread_id = store.thread("A")
        wire.fail("UpdateItem", resets(after=False))
        tools = PreferenceTools(thread_id, repo, user_id="ada")
        envelope = tools.remove_preferences(indices=[1])
        assert envelope == {
            "ok": False,
            "error": {
                "code": "outcome_unknown",
                "message": "it is unknown whether the change was stored: "
                "look at the present list before trying again",
            },
            "revision": 7,
            "preferences": "#1 [soft] A",
        }
        assert tools.thread.revision == 7

    def test_shows_a_list_to_nobody_who_has_lost_the_thread_meanwhile(self, store, wire, repo):
        thread_id = store.thread("A")
        wire.fail(
            "UpdateItem", then(lambda: store.poke(thread_id, "owner", value="eve"), resets(after=False))
        )
        with pytest.raises(OutcomeUnknown) as refusal:
            repo.add_preferences_bulk(thread_id, drafts("X"), AGENT)
        assert refusal.value.thread is None


@on_moto
class TestAReadThatFails:
    @pytest.mark.parametrize(
        "fault",
        {**NOT_APPLIED, **LOST, "answer cut off": is_cut_off}.values(),
        ids={**NOT_APPLIED, **LOST, "answer cut off": 0}.keys(),
    )
    def test_is_asked_again(self, store, wire, repo, fault):
        thread_id = store.thread("A")
        wire.fail("GetItem", fault, fault)
        assert [r.title for r in repo.list_preferences(thread_id, ADA).preferences] == ["A"]
        assert wire.seen == {"GetItem": 3}

    def test_because_it_hangs_is_asked_again(self, store, wire, hasty):
        thread_id = store.thread("A")
        wire.fail("GetItem", hangs(after=False), hangs(after=True))
        assert [r.title for r in hasty.list_preferences(thread_id, ADA).preferences] == ["A"]

    @pytest.mark.parametrize("caller", [ADA, AGENT], ids=["user", "agent"])
    @pytest.mark.parametrize("body", GARBLED_READ.values(), ids=GARBLED_READ.keys())
    def test_for_a_garbled_answer_is_asked_again_and_never_taken_for_an_empty_list(
        self, store, wire, repo, body, caller
    ):
        thread_id = store.thread("A")
        wire.fail("GetItem", says(200, body))
        assert [r.title for r in repo.list_preferences(thread_id, caller).preferences] == ["A"]

    def test_for_ever_ends_as_busy(self, store, wire, repo):
        wire.fail("GetItem", *[error(503, "ServiceUnavailable")] * 100)
        with pytest.raises(Busy):
            repo.list_preferences(store.thread("A"), ADA)
        assert wire.seen == {"GetItem": 10}

    def test_before_a_planned_write_ends_as_busy_with_nothing_sent(self, store, wire, repo):
        thread_id = store.thread("A")
        wire.fail("GetItem", *[resets(after=False)] * 100)
        with pytest.raises(Busy):
            repo.remove_preferences(thread_id, [1], AGENT)
        assert "UpdateItem" not in wire.seen

    def test_of_a_users_threads_is_asked_again(self, store, wire, repo):
        wire.fail("Query", resets(after=True), THROTTLED)
        ids, _ = repo.list_threads(ADA, limit=1)
        assert len(ids) <= 1
        assert wire.seen == {"Query": 3}

    def test_of_the_entry_to_undo_is_asked_again(self, store, wire, repo):
        thread_id = store.thread("A", "C")
        _undoable(store, thread_id)
        wire.fail("Query", error(500, "InternalServerError"), resets(after=True))
        assert repo.undo(thread_id, 8, ADA).find("C")

    def test_and_then_finds_no_entry_yet_says_so(self, store, wire, repo):
        thread_id = store.thread("A")
        store.other.remove_preference(thread_id, "A", ADA)
        wire.fail("Query", resets(after=True))
        with pytest.raises(HistoryNotReady):
            repo.undo(thread_id, 8, ADA)


@on_moto
class TestTheDeadline:
    @pytest.fixture
    def many_tries(self, monkeypatch):
        """So many that the deadline alone ends them in time, with room for a busy machine."""
        monkeypatch.setattr("preferences.repository.calls.MAX_TRIES", 100)

    @every_write
    def test_is_kept_by_not_beginning_a_write_that_might_pass_it(self, store, wire, in_time, write):
        thread_id = write.begin(store)
        before = store.item(thread_id)
        with pytest.raises(Busy):
            write.ask(in_time(1.5 * TIME_OUT), thread_id)
        assert write.operation not in wire.seen
        assert store.item(thread_id) == before

    def test_is_kept_by_not_beginning_a_read_that_might_pass_it(self, store, wire, in_time):
        with pytest.raises(Busy):
            in_time(0.5 * TIME_OUT).list_preferences(store.thread("A"), ADA)
        assert wire.seen == {}

    @pytest.mark.parametrize(
        "fault",
        [
            THROTTLED,
            error(500, "InternalServerError"),
            hangs(after=False),
            hangs(after=True),
            is_slow(TIME_OUT / 2),
        ],
        ids=["throttled", "500", "hangs", "hangs after the commit", "slow"],
    )
    @pytest.mark.parametrize(
        ("verb", "operation"),
        [
            ("edit", "UpdateItem"),
            ("agent's update", "GetItem"),
            ("agent's update", "UpdateItem"),
            ("come back", "UpdateItem"),
        ],
    )
    def test_is_kept_whatever_fails_for_ever(self, store, wire, in_time, many_tries, verb, operation, fault):
        write, seconds = WRITES[verb], 4 * TIME_OUT
        thread_id = write.begin(store)
        wire.fail(operation, *[fault] * 100)
        wire.fail("Void", *[fault] * 100)
        start = time.monotonic()
        try:
            write.ask(in_time(seconds), thread_id)
        except OutcomeUnknown:
            assert wire.seen[write.operation], "nothing that could be unknown was sent"
            assert fault is not THROTTLED, "what is refused without a look is no secret"
        except Busy:
            assert not store.item(thread_id) or not write.applied(store.item(thread_id))
        else:
            assert write.applied(store.item(thread_id))
        assert time.monotonic() - start < seconds + SLACK
        assert wire.seen[write.operation] <= 100

    def test_is_kept_in_a_race_that_is_never_won(self, store, wire, in_time, many_tries):
        thread_id = store.thread("A")
        numbers = iter(range(1000))
        race = then(
            lambda: store.other.add_preferences_bulk(thread_id, drafts(f"Row {next(numbers)}"), ADA),
            is_slow(TIME_OUT / 3),
        )
        wire.fail("UpdateItem", *[race] * 100)
        start = time.monotonic()
        # Unknown where the machine is so busy that the slow answer comes too late.
        with pytest.raises((Busy, OutcomeUnknown)):
            in_time(4 * TIME_OUT).remove_preferences(thread_id, [1], AGENT)
        assert time.monotonic() - start < 4 * TIME_OUT + SLACK
        assert "A" in store.titles(thread_id)


@on_moto
class TestAFaultOfTheDeployment:
    @pytest.mark.parametrize(
        "code",
        [
            "ValidationException",
            "AccessDeniedException",
            "ResourceNotFoundException",
            "UnrecognizedClientException",
        ],
    )
    @pytest.mark.parametrize("operation", ["GetItem", "UpdateItem"])
    def test_is_raised_as_it_comes_after_one_request(self, store, wire, repo, code, operation):
        thread_id = store.thread("A")
        wire.fail(operation, *[error(400, code)] * 10)
        with pytest.raises(Exception, match=code):
            repo.remove_preferences(thread_id, [1], AGENT)
        assert wire.seen[operation] == 1
        assert store.titles(thread_id) == ["A"]

    def test_that_nothing_listens_ends_as_busy_since_nothing_was_sent(self, store, monkeypatch):
        monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:1")
        repo = PreferenceRepository(wiring.dynamodb_client.__wrapped__(), store.table_name)
        for act in (
            lambda: repo.list_preferences("ab", ADA),
            lambda: repo.set_lock("ab", "A", ADA, locked=True),
        ):
            with pytest.raises(Busy):
                act()


class TestOnEitherEngine:
    """Refusals cross the wire as the engine words them."""

    def test_a_refusal_brings_the_item_that_refused(self, store, wire, repo):
        thread_id = store.write({"A": row("A", changed=5)})
        with pytest.raises(PreconditionFailed) as refusal:
            repo.edit_preference(thread_id, "A", {"title": "X"}, ADA, if_match=4)
        assert refusal.value.current.changed == 5
        assert wire.seen == {"UpdateItem": 1}

    def test_a_commit_whose_answer_is_lost_is_found_again(self, store, wire, repo):
        thread_id = store.thread("A", "B")
        wire.fail("UpdateItem", resets(after=True))
        written = repo.remove_preferences(thread_id, [1], AGENT)
        assert [report.outcome for report in written.reports] == ["removed"]
        assert wire.seen == {"GetItem": 2, "UpdateItem": 1}

    def test_a_race_and_a_fault_at_once_end_as_the_table_says(self, store, wire, repo):
        thread_id = store.thread("A", "B")
        wire.fail(
            "UpdateItem",
            then(lambda: store.other.set_lock(thread_id, "A", ADA, locked=True), THROTTLED),
            passes,  # the plan is of before the lock, and refused
            resets(after=True),
        )
        wire.fail("GetItem", error(500, "InternalServerError"))
        written = repo.remove_preferences(thread_id, [1, 2], AGENT)
        assert [report.outcome for report in written.reports] == ["locked", "removed"]
        assert store.titles(thread_id) == ["A"]

    def test_connections_are_kept_and_used_again(self, store, wire, repo):
        thread_id = store.thread("A")
        for locked in (True, False, True):
            repo.set_lock(thread_id, "A", ADA, locked=locked)
        assert wire.connections <= 2

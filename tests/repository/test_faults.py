"""What the repository makes of an engine and a network that fail: on real sockets, with the product's client.

The table of answers (preferences/repository/answers.py), row by row. What was promised holds in each: nothing
is applied twice or in part, nothing is claimed that was not done, a request is not planned again while it is
undecided, and every call ends in time. What can't be known is told as unknown.
"""

import json
import math
import re
import socket
import time

import pytest

from preferences import rules
from preferences.errors import Busy, HistoryNotReady, OutcomeUnknown, PreconditionFailed, ThreadNotFound
from preferences.model import Caller, IndexedEdit
from preferences.model.preference import MAX_RECENT, WRITE_ID
from preferences.repository import PreferenceRepository
from preferences.repository import client as repository_client
from preferences.repository.store import PATIENCE
from preferences.tools import PreferenceTools
from tests.effort import tried
from tests.fault_proxy import (
    LateCopies,
    arrives_twice,
    error,
    fault_proxy,
    first,
    followed_by,
    hangs,
    is_cut_off,
    is_slow,
    passes,
    resets,
    says,
    without_item,
)
from tests.support import ADA, AGENT, EVE, drafts, row

TIME_OUT = 0.3
"""Seconds that the hasty client waits, in place of the product's two."""
SLACK = 3
"""Seconds that a busy machine may take beyond a deadline."""

JSON = "application/x-amz-json-1.0"

"""What the client makes of a fault is the same whichever engine is behind it; a few tests are run on both."""


@pytest.fixture(scope="module")
def proxy(store):
    url = store.client.meta.endpoint_url
    with fault_proxy(url if "127.0.0.1" in url else None) as made:
        yield made
    tried("faults", "requests that met a fault", made.failed)


@pytest.fixture(scope="module")
def client(proxy):
    """The product's own client, before the proxy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL_DYNAMODB", proxy.url)
        return repository_client.dynamodb_client.__wrapped__()


@pytest.fixture(scope="module")
def hasty_client(proxy):
    """The same with less patience. On a busy machine any of its calls may time out, and be sent again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repository_client, "READ_SECONDS", TIME_OUT)
        patch.setenv("AWS_ENDPOINT_URL_DYNAMODB", proxy.url)
        return repository_client.dynamodb_client.__wrapped__()


@pytest.fixture(autouse=True)
def _short_pauses(proxy, monkeypatch):
    monkeypatch.setattr("preferences.repository.table.LONGEST_PAUSE", 0.01)
    proxy.clear()


@pytest.fixture
def repo(store, client):
    return PreferenceRepository(client, store.table_name)


@pytest.fixture
def hasty(store, hasty_client):
    return PreferenceRepository(hasty_client, store.table_name)


@pytest.fixture
def in_time(store, hasty_client, monkeypatch):
    """in_time(seconds): a repository for a caller who has so many seconds left from now on."""
    monkeypatch.setattr("preferences.repository.table.CALL_SECONDS", TIME_OUT)

    def make(seconds):
        until = time.monotonic() + seconds
        return PreferenceRepository(
            hasty_client, store.table_name, seconds_left=lambda: until - time.monotonic()
        )

    return make


@pytest.fixture
def until_seen(store, client, proxy):
    """until_seen(operation, n): a repository whose time ends when n requests of an operation have come.

    No clock is asked, so it is the same on a busy machine.
    """

    def make(operation, n=1):
        return PreferenceRepository(
            client, store.table_name, seconds_left=lambda: 0 if proxy.seen[operation] >= n else math.inf
        )

    return make


class Clock:
    """In place of the module `time`: it goes on by what is slept, and by what a test says."""

    def __init__(self):
        self.now = 0.0
        self.pauses = 0
        self.while_pausing = lambda: None

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds
        self.pauses += 1
        self.while_pausing()


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr("preferences.repository.table.time", made)
    return made


# -- the writes that are tried ----------------------------------------------------------------------------


def _undoable(store, thread_id):
    """Makes revision 8 of a thread a removal of C that can be undone."""
    old = store.other.list_preferences(thread_id, ADA)
    new = store.other.remove_preference(thread_id, "C", ADA)
    store.other.history.put(thread_id, rules.entry_of(old, new))


class Write:
    """One kind of write: what it needs first, how it is asked for, and what tells that it was applied."""

    def __init__(self, ask, applied=lambda item: True, *, operation="UpdateItem", prepare=None, new=False):
        self.ask, self.applied, self.operation = ask, applied, operation
        self._prepare, self._new = prepare, new

    def begin(self, store):
        """(a thread to write to, the revision that it is at)"""
        thread_id = store.new_id() if self._new else store.thread("A", "B", "C")
        if self._prepare:
            self._prepare(store, thread_id)
        return thread_id, (store.item(thread_id) or {"revision": 0})["revision"]

    def check_applied_once(self, store, proxy, thread_id, before):
        """What is stored was made by the one write that was sent, however often that was."""
        item = store.item(thread_id)
        assert self.applied(item)
        assert item["revision"] == before + 1
        assert set(proxy.write_ids) == {item["last_change"]["id"]}
        assert len({request.body for request in proxy.writes}) == 1


def _title(name):
    return lambda item: item["preferences"]["A"]["title"] == name


def _locked(item):
    return item["preferences"]["A"]["locked"]


WRITES = {
    "edit": Write(lambda repo, t: repo.edit_preference(t, "A", {"title": "X"}, ADA), _title("X")),
    "edit to what it is": Write(lambda repo, t: repo.edit_preference(t, "A", {"title": "A"}, ADA)),
    "lock": Write(lambda repo, t: repo.set_lock(t, "A", ADA, locked=True), _locked),
    "lock what is locked": Write(
        lambda repo, t: repo.set_lock(t, "A", ADA, locked=True),
        _locked,
        prepare=lambda store, t: store.flip(t, "A", locked=True),
    ),
    "remove": Write(
        lambda repo, t: repo.remove_preference(t, "A", ADA), lambda item: "A" not in item["preferences"]
    ),
    "register": Write(lambda repo, t: repo.register_thread(t, ADA), operation="PutItem", new=True),
    "register again": Write(lambda repo, t: repo.register_thread(t, ADA)),
    "delete the thread": Write(lambda repo, t: repo.delete_thread(t, ADA), lambda item: "owner" not in item),
    "restore": Write(
        lambda repo, t: repo.register_thread(t, ADA),
        lambda item: "owner" in item,
        prepare=lambda store, t: store.other.delete_thread(t, ADA),
    ),
    "add": Write(
        lambda repo, t: repo.add_preferences_bulk(t, drafts("X"), AGENT),
        lambda item: "X" in {r["title"] for r in item["preferences"].values()},
    ),
    "add what is there": Write(lambda repo, t: repo.add_preferences_bulk(t, drafts("A"), ADA)),
    "add first": Write(
        lambda repo, t: repo.add_preferences_bulk(t, drafts("X"), AGENT), operation="PutItem", new=True
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
    "give a title": Write(
        lambda repo, t: repo.set_title(t, "Trip to Rome", ADA),
        lambda item: item.get("title") == "Trip to Rome",
    ),
    "take the title away": Write(
        lambda repo, t: repo.set_title(t, None, ADA),
        lambda item: "title" not in item,
        prepare=lambda store, t: store.poke(t, "title", value="Trip to Rome"),
    ),
    "undo": Write(
        lambda repo, t: repo.undo(t, 8, ADA), lambda item: "C" in item["preferences"], prepare=_undoable
    ),
}
every_write = pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
every_update = pytest.mark.parametrize(
    "write", [pytest.param(w, id=name) for name, w in WRITES.items() if w.operation == "UpdateItem"]
)

THROTTLED = error(400, "ProvisionedThroughputExceededException")
NOT_EXECUTED = {
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


def check_unknown_without_a_list(raised):
    assert raised.value.thread is None


def older_code_writes(store, thread_id):
    """A write that does not add its id to `recent`."""
    store.poke(thread_id, "revision", value=store.item(thread_id)["revision"] + 1)


def user_writes(store, thread_id):
    """A change that no request here trips over."""
    store.other.add_preferences_bulk(thread_id, drafts(f"Theirs {store.item(thread_id)['revision']}"), ADA)


def expire(store, thread_id):
    store.client.delete_item(TableName=store.table_name, Key=store.key(thread_id))


class TestAWriteThatWasNotExecuted:
    @pytest.mark.parametrize("fault", NOT_EXECUTED.values(), ids=NOT_EXECUTED.keys())
    def test_is_sent_again_as_it_was_until_it_is(self, store, proxy, repo, fault):
        thread_id = store.thread("A")
        proxy.fail("UpdateItem", fault, fault)
        repo.edit_preference(thread_id, "A", {"title": "X"}, ADA)
        assert proxy.seen == {"GetItem": 1, "UpdateItem": 3}
        WRITES["edit"].check_applied_once(store, proxy, thread_id, 7)

    @every_write
    def test_is_applied_once_in_the_end(self, store, proxy, repo, write):
        thread_id, before = write.begin(store)
        proxy.fail(write.operation, THROTTLED)
        write.ask(repo, thread_id)
        write.check_applied_once(store, proxy, thread_id, before)
        assert proxy.seen[write.operation] == 2

    @every_write
    def test_ends_as_busy_with_nothing_changed_when_it_never_is(self, store, proxy, until_seen, write):
        thread_id, _ = write.begin(store)
        before = store.item(thread_id)
        proxy.fail_always(write.operation, THROTTLED)
        with pytest.raises(Busy):
            write.ask(until_seen(write.operation, 4), thread_id)
        assert store.item(thread_id) == before
        assert len(proxy.write_ids) == 4
        assert len(set(proxy.write_ids)) == 1

    @pytest.fixture
    def hangs_up(self, proxy, client):
        """The engine hangs up before the first UpdateItem, and listens again before the third.

        The list grows by every UpdateItem that is begun.
        """
        begun = []

        def hook(model, **_):
            if model.name == "UpdateItem":
                begun.append(model.name)
                if len(begun) == 1:
                    proxy.hang_up()
                elif len(begun) == 3:
                    proxy.listen()

        client.meta.events.register("before-call.dynamodb", hook)
        yield begun
        client.meta.events.unregister("before-call.dynamodb", hook)
        if len(begun) < 3:
            proxy.listen()

    def test_since_nothing_listens_is_sent_again_once_something_does(self, store, proxy, repo, hangs_up):
        thread_id = store.thread("A")
        repo.edit_preference(thread_id, "A", {"title": "X"}, ADA)
        assert len(hangs_up) == 3
        WRITES["edit"].check_applied_once(store, proxy, thread_id, 7)

    def test_since_nothing_listens_ends_as_busy_when_nothing_does(self, store, client, hangs_up):
        thread_id = store.thread("A")
        before = store.item(thread_id)
        repo = PreferenceRepository(
            client, store.table_name, seconds_left=lambda: 0 if len(hangs_up) == 2 else math.inf
        )
        with pytest.raises(Busy):
            repo.edit_preference(thread_id, "A", {"title": "X"}, ADA)
        assert store.item(thread_id) == before

    def test_is_never_told_as_locked_or_missing(self, store, proxy, until_seen):
        thread_id = store.thread("A")
        proxy.fail_always("UpdateItem", THROTTLED)
        tools = PreferenceTools(thread_id, until_seen("UpdateItem", 2), user_id="ada")
        assert tools.remove_preferences(indices=[1])["error"]["code"] == "busy"

    def test_meets_on_its_way_again_what_has_been_locked_since(self, store, proxy, repo):
        thread_id = store.thread("A", "B")
        proxy.fail(
            "UpdateItem", first(lambda: store.other.set_lock(thread_id, "A", ADA, locked=True), THROTTLED)
        )
        written = repo.remove_preferences(thread_id, [1, 2], AGENT)
        assert [report.outcome for report in written.reports] == ["locked", "removed"]
        assert store.titles(thread_id) == ["A"]

    def test_says_nothing_of_an_earlier_copy_without_an_answer(self, store, proxy, until_seen):
        """Taken for "not applied", it would be planned and applied once more."""
        thread_id = store.thread("A")
        proxy.fail("UpdateItem", resets(after=True))
        proxy.fail_always("UpdateItem", THROTTLED)
        with pytest.raises(OutcomeUnknown) as raised:
            until_seen("UpdateItem", 4).edit_preference(thread_id, "A", {"title": "X"}, ADA)
        check_unknown_without_a_list(raised)
        WRITES["edit"].check_applied_once(store, proxy, thread_id, 7)


class TestAWriteWithoutAnAnswer:
    @pytest.mark.parametrize("verb", ["edit", "register"])
    @pytest.mark.parametrize("fault", LOST.values(), ids=LOST.keys())
    def test_that_was_lost_is_sent_again_as_it_was(self, store, proxy, repo, fault, verb):
        write = WRITES[verb]
        thread_id, before = write.begin(store)
        proxy.fail(write.operation, fault, fault)
        write.ask(repo, thread_id)
        assert proxy.seen == {"GetItem": 1, write.operation: 3}
        write.check_applied_once(store, proxy, thread_id, before)

    @pytest.mark.parametrize("fault", APPLIED.values(), ids=APPLIED.keys())
    def test_that_was_applied_is_known_by_the_refusal_of_the_next_copy(self, store, proxy, repo, fault):
        thread_id = store.thread("A")
        proxy.fail("UpdateItem", fault)
        thread = repo.edit_preference(thread_id, "A", {"title": "X"}, ADA).thread
        assert proxy.seen == {"GetItem": 1, "UpdateItem": 2}
        assert thread == store.other.list_preferences(thread_id, ADA)
        WRITES["edit"].check_applied_once(store, proxy, thread_id, 7)

    @pytest.mark.parametrize("body", GARBLED.values(), ids=GARBLED.keys())
    def test_since_that_was_garbled_is_known_by_the_next_copy(self, store, proxy, repo, body):
        thread_id = store.thread("A")
        proxy.fail("UpdateItem", says(200, body))
        thread = repo.edit_preference(thread_id, "A", {"title": "X"}, ADA).thread
        assert proxy.seen == {"GetItem": 1, "UpdateItem": 2}
        assert (thread.preferences[0].title, thread.revision) == ("X", 8)
        WRITES["edit"].check_applied_once(store, proxy, thread_id, 7)

    @pytest.mark.parametrize(
        "fault",
        [resets(after=False), resets(after=True), arrives_twice, followed_by(lambda: None, arrives_twice)],
        ids=["lost", "applied", "sent twice", "sent three times"],
    )
    @every_write
    def test_is_applied_once_whatever_it_was(self, store, proxy, repo, write, fault):
        thread_id, before = write.begin(store)
        proxy.fail(write.operation, fault)
        write.ask(repo, thread_id)
        write.check_applied_once(store, proxy, thread_id, before)

    @pytest.mark.parametrize("after", [False, True], ids=["lost", "applied"])
    @every_write
    def test_at_the_end_of_its_time_is_unknown_without_a_list(self, store, proxy, until_seen, write, after):
        thread_id, before = write.begin(store)
        old = store.item(thread_id)
        proxy.fail_always(write.operation, resets(after=after))
        with pytest.raises(OutcomeUnknown) as raised:
            write.ask(until_seen(write.operation, 3), thread_id)
        check_unknown_without_a_list(raised)
        assert proxy.seen[write.operation] == 3
        if after:
            write.check_applied_once(store, proxy, thread_id, before)
        else:
            assert store.item(thread_id) == old
            assert len({request.body for request in proxy.writes}) == 1

    @pytest.mark.parametrize("after", [False, True], ids=["lost", "applied"])
    def test_because_it_hangs_is_sent_again(self, store, proxy, hasty, after):
        thread_id = store.thread("A")
        proxy.fail("UpdateItem", hangs(after=after))
        hasty.edit_preference(thread_id, "A", {"title": "X"}, ADA)
        WRITES["edit"].check_applied_once(store, proxy, thread_id, 7)

    def test_that_comes_between_its_copies_is_applied_once(self, store, proxy, repo):
        """The first copy arrives after the second one was applied."""
        thread_id, late = store.thread("A"), LateCopies()
        proxy.fail("UpdateItem", late.lost)
        repo.edit_preference(thread_id, "A", {"title": "X"}, ADA)
        assert late.arrive() == [400]
        WRITES["edit"].check_applied_once(store, proxy, thread_id, 7)

    @every_update
    def test_that_somebody_wrote_over_is_known_as_applied(self, store, proxy, repo, write):
        thread_id, before = write.begin(store)

        def somebody():
            if write is WRITES["delete the thread"]:
                store.other.register_thread(thread_id, ADA)
            else:
                user_writes(store, thread_id)

        proxy.fail("UpdateItem", followed_by(somebody, resets(after=False)))
        write.ask(repo, thread_id)
        assert len(set(proxy.write_ids)) == 1
        item = store.item(thread_id)
        assert item["revision"] == before + 2
        assert item["recent"]["ids"][-2 * WRITE_ID : -WRITE_ID] == proxy.write_ids[0]

    @every_update
    def test_that_somebody_else_was_faster_than_is_planned_anew_under_another_id(
        self, store, proxy, repo, write
    ):
        thread_id, before = write.begin(store)

        def somebody():
            if write is WRITES["restore"]:
                store.other.register_thread(thread_id, ADA)
            else:
                user_writes(store, thread_id)

        proxy.fail("UpdateItem", resets(after=False), first(somebody, passes))
        write.ask(repo, thread_id)
        assert proxy.write_ids[0] == proxy.write_ids[1] != proxy.write_ids[2]
        item = store.item(thread_id)
        assert write.applied(item)
        assert (item["revision"], len(proxy.write_ids)) == (before + 2, 3)

    def test_and_that_is_the_first_of_its_thread_does_not_pass_who_came_before_it(self, store, proxy, repo):
        thread_id, late = store.new_id(), LateCopies()
        proxy.fail("PutItem", late.lost, first(lambda: store.other.register_thread(thread_id, EVE), passes))
        with pytest.raises(ThreadNotFound):
            repo.add_preferences_bulk(thread_id, drafts("X"), AGENT)
        assert late.arrive() == [400]
        assert (store.item(thread_id)["owner"], store.titles(thread_id)) == ("eve", [])

    def test_and_that_is_the_first_of_its_thread_goes_on_after_the_users_registration(
        self, store, proxy, repo
    ):
        thread_id, late = store.new_id(), LateCopies()
        proxy.fail("PutItem", late.lost, first(lambda: store.other.register_thread(thread_id, ADA), passes))
        repo.add_preferences_bulk(thread_id, drafts("X"), AGENT)
        assert late.arrive() == [400]
        assert proxy.write_ids[0] == proxy.write_ids[1] != proxy.write_ids[2]
        assert (store.titles(thread_id), store.item(thread_id)["revision"]) == (["X"], 2)

    @pytest.mark.parametrize("fault", LOST.values(), ids=LOST.keys())
    def test_is_never_a_strangers(self, store, proxy, repo, fault):
        """Nothing of hers is sent, so nothing can be pushed out of `recent`."""
        thread_id = store.thread("A", locked=("A",))
        proxy.fail_always("UpdateItem", fault)
        with pytest.raises(ThreadNotFound):
            repo.set_lock(thread_id, "A", EVE, locked=False)
        assert proxy.seen == {"GetItem": 1}


class TestARefusal:
    def test_at_the_revision_that_was_read_is_planned_again(self, store, proxy, repo):
        """The lock alone refuses: somebody has set it by hand, and the revision stays."""
        thread_id = store.thread("A", "B")
        proxy.fail("UpdateItem", first(lambda: store.flip(thread_id, "A", locked=True), passes))
        written = repo.remove_preferences(thread_id, [1, 2], AGENT)
        assert [report.outcome for report in written.reports] == ["locked", "removed"]
        assert proxy.seen == {"GetItem": 1, "UpdateItem": 2}
        assert len(set(proxy.write_ids)) == 2

    def test_at_the_revision_that_was_read_decides_nothing_while_a_copy_is_unanswered(
        self, store, proxy, repo
    ):
        thread_id = store.thread("A", "B")
        proxy.fail(
            "UpdateItem",
            resets(after=False),
            first(lambda: store.flip(thread_id, "A", locked=True), passes),
            first(lambda: store.flip(thread_id, "A", locked=False), passes),
        )
        written = repo.remove_preferences(thread_id, [1, 2], AGENT)
        assert [report.outcome for report in written.reports] == ["removed", "removed"]
        assert (len(proxy.write_ids), len(set(proxy.write_ids))) == (3, 1)

    def test_at_the_revision_that_was_read_to_the_end_of_time_is_unknown_while_a_copy_is_unanswered(
        self, store, proxy, until_seen
    ):
        thread_id = store.thread("A", "B")
        proxy.fail(
            "UpdateItem", resets(after=False), first(lambda: store.flip(thread_id, "A", locked=True), passes)
        )
        with pytest.raises(OutcomeUnknown) as raised:
            until_seen("UpdateItem", 4).remove_preferences(thread_id, [1, 2], AGENT)
        check_unknown_without_a_list(raised)
        assert (len(proxy.write_ids), len(set(proxy.write_ids))) == (4, 1)
        assert store.titles(thread_id) == ["A", "B"]

    @pytest.mark.parametrize(
        "item",
        [
            "x",
            [],
            {},
            {"revision": "8"},
            {"revision": {"N": "eight"}},
            {"revision": {"N": "8"}, "preferences": {"M": {"A": {"S": ""}}}},
        ],
        ids=str,
    )
    @pytest.mark.parametrize("applied", [True, False], ids=["applied", "not applied"])
    def test_whose_item_is_garbled_is_decided_all_the_same(self, store, proxy, repo, item, applied):
        thread_id = store.thread("A", "B")
        refusal = error(400, "ConditionalCheckFailedException", Item=item)
        if applied:
            proxy.fail("UpdateItem", resets(after=True), refusal)
        else:
            proxy.fail("UpdateItem", first(lambda: user_writes(store, thread_id), refusal))
        written = repo.remove_preferences(thread_id, [1], AGENT)
        assert [report.outcome for report in written.reports] == ["removed"]
        assert len(set(proxy.write_ids)) == (1 if applied else 2)
        assert store.titles(thread_id)[0] == "B"

    @every_write
    def test_tells_of_our_own_write_as_far_on_as_recent_reaches(self, store, proxy, repo, write):
        thread_id, before = write.begin(store)

        def write_on():
            store.other.register_thread(thread_id, ADA)  # if that deleted it
            for _ in range(MAX_RECENT - 2):
                user_writes(store, thread_id)

        proxy.fail(write.operation, followed_by(write_on, resets(after=False)))
        write.ask(repo, thread_id)
        assert (proxy.seen[write.operation], len(set(proxy.write_ids))) == (2, 1)
        assert store.item(thread_id)["revision"] == before + MAX_RECENT

    @pytest.mark.parametrize("others", [1, 2, MAX_RECENT])
    def test_tells_of_anothers_write_as_far_on_as_recent_reaches(self, store, proxy, repo, others):
        thread_id = store.thread("A", "B")

        def write_on():
            for _ in range(others):
                user_writes(store, thread_id)

        proxy.fail("UpdateItem", resets(after=False), first(write_on, passes))
        written = repo.remove_preferences(thread_id, [1], AGENT)
        assert [report.outcome for report in written.reports] == ["removed"]
        assert written.thread.revision == 8 + others
        assert proxy.seen == {"GetItem": 1, "UpdateItem": 3}
        assert proxy.write_ids[0] == proxy.write_ids[1] != proxy.write_ids[2]

    @every_write
    def test_further_on_is_unknown_with_the_present_list(self, store, proxy, repo, write):
        thread_id, before = write.begin(store)

        def write_on():
            store.other.register_thread(thread_id, ADA)
            for _ in range(MAX_RECENT - 1):
                user_writes(store, thread_id)

        proxy.fail(write.operation, followed_by(write_on, resets(after=False)))
        with pytest.raises(OutcomeUnknown) as raised:
            write.ask(repo, thread_id)
        assert raised.value.thread == store.other.list_preferences(thread_id, ADA)
        assert (len(proxy.write_ids), len(set(proxy.write_ids))) == (2, 1)
        assert store.item(thread_id)["revision"] == before + MAX_RECENT + 1

    def test_further_on_is_unknown_though_it_was_lost(self, store, proxy, repo):
        thread_id = store.thread("A")

        def write_on():
            for _ in range(MAX_RECENT + 1):
                user_writes(store, thread_id)

        proxy.fail("UpdateItem", first(write_on, resets(after=False)))
        with pytest.raises(OutcomeUnknown) as raised:
            repo.remove_preferences(thread_id, [1], AGENT)
        assert raised.value.thread.find("A")
        assert (len(proxy.write_ids), len(set(proxy.write_ids))) == (2, 1)

    @pytest.mark.parametrize("copy", ["refused", "throttled", "lost", "applied"])
    @every_update
    def test_after_a_write_of_older_code_is_unknown_and_not_planned_again(
        self, store, proxy, repo, write, copy
    ):
        thread_id, before = write.begin(store)

        def older():
            older_code_writes(store, thread_id)

        fault = {
            "refused": first(older, passes),
            "throttled": first(older, THROTTLED),
            "lost": first(older, resets(after=False)),
            "applied": followed_by(older, resets(after=False)),
        }[copy]
        proxy.fail("UpdateItem", fault)
        with pytest.raises(OutcomeUnknown) as raised:
            write.ask(repo, thread_id)
        item = store.item(thread_id)
        assert (item["revision"], len(set(proxy.write_ids))) == (before + 1 + (copy == "applied"), 1)
        shown = store.other.list_preferences(thread_id, ADA) if "owner" in item else None
        assert raised.value.thread == shown or write is WRITES["restore"]

    def test_that_is_unknown_tells_an_agent_so_with_the_present_list(self, store, proxy, repo):
        thread_id = store.thread("A")
        proxy.fail("UpdateItem", first(lambda: older_code_writes(store, thread_id), passes))
        tools = PreferenceTools(thread_id, repo, user_id="ada")
        assert tools.remove_preferences(indices=[1]) == {
            "ok": False,
            "error": {
                "code": "outcome_unknown",
                "message": "it is unknown whether the change was stored: "
                "look at the present list before trying again",
            },
            "revision": 8,
            "preferences": "#1 [soft] A",
        }
        assert tools.thread.revision == 8

    def test_that_is_unknown_shows_a_list_to_nobody_who_has_lost_the_thread_meanwhile(
        self, store, proxy, repo
    ):
        thread_id = store.thread("A")

        def give_away():
            store.poke(thread_id, "owner", value="eve")
            older_code_writes(store, thread_id)

        proxy.fail("UpdateItem", first(give_away, passes))
        with pytest.raises(OutcomeUnknown) as raised:
            repo.add_preferences_bulk(thread_id, drafts("X"), AGENT)
        check_unknown_without_a_list(raised)

    @every_update
    def test_by_a_thread_that_is_gone_creates_none_unless_a_thread_is_what_was_asked_for(
        self, store, proxy, repo, write
    ):
        thread_id, _ = write.begin(store)
        proxy.fail("UpdateItem", first(lambda: expire(store, thread_id), passes))
        if write in (WRITES["register again"], WRITES["restore"]):
            thread, new = write.ask(repo, thread_id)
            assert (thread.revision, new) == (1, True)
            assert store.item(thread_id)["revision"] == 1
        else:
            with pytest.raises(ThreadNotFound):
                write.ask(repo, thread_id)
            assert store.item(thread_id) is None
            assert "PutItem" not in proxy.seen

    @pytest.mark.parametrize("after", [False, True], ids=["lost", "applied"])
    def test_by_a_thread_that_is_gone_is_no_secret_though_a_copy_is_unanswered(
        self, store, proxy, repo, after
    ):
        """No copy of it can be applied any more: there is no revision to meet."""
        thread_id, late = store.thread("A"), LateCopies()
        proxy.fail(
            "UpdateItem",
            resets(after=True) if after else late.lost,
            first(lambda: expire(store, thread_id), passes),
        )
        with pytest.raises(ThreadNotFound):
            repo.set_lock(thread_id, "A", ADA, locked=True)
        late.arrive()
        assert store.item(thread_id) is None


class TestARefusalWithoutTheItem:
    """As of an engine that does not know ReturnValuesOnConditionCheckFailure."""

    @pytest.fixture(autouse=True)
    def _no_item(self, proxy):
        proxy.fail_always("UpdateItem", without_item)
        proxy.fail_always("PutItem", without_item)

    @every_write
    def test_is_decided_by_reading_that_it_was_applied(self, store, proxy, repo, write):
        thread_id, before = write.begin(store)
        proxy.fail(write.operation, resets(after=True))
        proxy.fail_always(write.operation, without_item)
        write.ask(repo, thread_id)
        write.check_applied_once(store, proxy, thread_id, before)
        assert (proxy.seen["GetItem"], proxy.seen[write.operation]) == (2, 2)

    @every_update
    def test_is_decided_by_reading_that_it_was_not(self, store, proxy, repo, write):
        thread_id, before = write.begin(store)

        def somebody():
            if write is WRITES["restore"]:
                store.other.register_thread(thread_id, ADA)
            else:
                user_writes(store, thread_id)

        proxy.fail("UpdateItem", first(somebody, without_item))
        proxy.fail_always("UpdateItem", without_item)
        write.ask(repo, thread_id)
        assert (proxy.seen["GetItem"], proxy.seen["UpdateItem"]) == (2, 2)
        assert len(set(proxy.write_ids)) == 2
        assert store.item(thread_id)["revision"] == before + 2

    def test_at_the_revision_that_was_read_is_planned_again(self, store, proxy, repo):
        thread_id = store.thread("A", "B")
        proxy.fail("UpdateItem", first(lambda: store.flip(thread_id, "A", locked=True), without_item))
        written = repo.remove_preferences(thread_id, [1, 2], AGENT)
        assert [report.outcome for report in written.reports] == ["locked", "removed"]
        assert proxy.seen == {"GetItem": 2, "UpdateItem": 2}

    def test_is_unknown_where_reading_does_not_tell(self, store, proxy, repo):
        thread_id = store.thread("A")
        proxy.fail("UpdateItem", first(lambda: older_code_writes(store, thread_id), without_item))
        with pytest.raises(OutcomeUnknown) as raised:
            repo.set_lock(thread_id, "A", ADA, locked=True)
        assert raised.value.thread == store.other.list_preferences(thread_id, ADA)
        assert proxy.seen == {"GetItem": 2, "UpdateItem": 1}

    def test_is_read_for_until_it_can_be(self, store, proxy, repo):
        thread_id = store.thread("A")
        proxy.fail("GetItem", passes, resets(after=False), THROTTLED, error(500, "InternalServerError"))
        proxy.fail("UpdateItem", first(lambda: user_writes(store, thread_id), without_item))
        assert repo.set_lock(thread_id, "A", ADA, locked=True).find("A").locked

    def test_is_unknown_without_a_list_where_it_never_can_be(self, store, proxy, until_seen):
        thread_id = store.thread("A")
        proxy.fail("GetItem", passes)
        proxy.fail_always("GetItem", resets(after=False))
        proxy.fail("UpdateItem", first(lambda: user_writes(store, thread_id), without_item))
        with pytest.raises(OutcomeUnknown) as raised:
            until_seen("GetItem", 4).set_lock(thread_id, "A", ADA, locked=True)
        check_unknown_without_a_list(raised)

    def test_by_a_thread_that_is_gone_is_not_found(self, store, proxy, repo):
        thread_id = store.thread("A")
        proxy.fail("UpdateItem", first(lambda: expire(store, thread_id), without_item))
        with pytest.raises(ThreadNotFound):
            repo.set_lock(thread_id, "A", ADA, locked=True)
        assert store.item(thread_id) is None
        assert proxy.seen == {"GetItem": 2, "UpdateItem": 1}


class TestAConflict:
    def lose(self, store, proxy, thread_id, times):
        """The user writes before each of the next UpdateItems."""
        proxy.fail("UpdateItem", *[first(lambda: user_writes(store, thread_id), passes)] * times)

    def test_is_planned_again_at_once_by_a_user_however_often(self, store, proxy, repo, clock):
        thread_id = store.thread("A")
        self.lose(store, proxy, thread_id, 12)
        assert repo.set_all_locks(thread_id, ADA, locked=True).revision == 7 + 12 + 1
        assert proxy.seen == {"GetItem": 1, "UpdateItem": 13}
        assert all(stored["locked"] for stored in store.rows(thread_id).values())
        assert clock.pauses == 0

    def test_is_planned_again_at_once_by_an_agent_until_its_fifth(self, store, proxy, repo, clock):
        thread_id = store.thread("A")
        self.lose(store, proxy, thread_id, PATIENCE - 1)
        repo.remove_preferences(thread_id, [1], AGENT)
        assert proxy.seen == {"GetItem": 1, "UpdateItem": PATIENCE}
        assert clock.pauses == 0

    def test_makes_an_agent_pause_and_read_from_its_fifth_on(self, store, proxy, repo, clock):
        thread_id = store.thread("A")
        self.lose(store, proxy, thread_id, PATIENCE + 2)
        repo.remove_preferences(thread_id, [1], AGENT)
        operations = [request.operation for request in proxy.requests]
        assert PATIENCE == 5
        assert operations == ["GetItem", *["UpdateItem"] * 5, *["GetItem", "UpdateItem"] * 3]
        assert clock.pauses == 3

    def test_is_planned_on_what_was_read_after_the_pause(self, store, proxy, repo, clock):
        thread_id = store.thread("A", "B")
        self.lose(store, proxy, thread_id, PATIENCE)
        clock.while_pausing = lambda: store.other.set_lock(thread_id, "A", ADA, locked=True)
        written = repo.remove_preferences(thread_id, [1, 2], AGENT)
        assert [report.outcome for report in written.reports] == ["locked", "removed"]
        assert proxy.seen == {"GetItem": 2, "UpdateItem": PATIENCE + 1}

    @every_update
    def test_gives_every_plan_an_id_of_its_own_and_every_copy_its_plans(self, store, proxy, repo, write):
        thread_id, _ = write.begin(store)

        def somebody():
            if write is WRITES["restore"]:
                store.other.register_thread(thread_id, ADA)
                store.other.delete_thread(thread_id, ADA)
            else:
                user_writes(store, thread_id)

        lost = resets(after=False)
        proxy.fail("UpdateItem", *[THROTTLED, lost, first(somebody, passes)] * 3, lost)
        write.ask(repo, thread_id)
        ids = proxy.write_ids
        assert len(ids) == 3 * 3 + 2
        plans = [set(ids[0:3]), set(ids[3:6]), set(ids[6:9]), set(ids[9:11])]
        assert all(len(plan) == 1 for plan in plans)
        assert len(set.union(*plans)) == 4
        item = store.item(thread_id)
        assert write.applied(item)
        assert item["last_change"]["id"] == ids[-1]

    def test_that_is_never_won_ends_as_busy_with_nothing_changed(self, store, proxy, until_seen):
        thread_id = store.thread("A")
        proxy.fail_always("UpdateItem", first(lambda: user_writes(store, thread_id), passes))
        with pytest.raises(Busy):
            until_seen("UpdateItem", 15).remove_preferences(thread_id, [1], AGENT)
        assert len(set(proxy.write_ids)) == 15
        assert "A" in store.titles(thread_id)


class TestAReadThatFails:
    @pytest.mark.parametrize(
        "fault",
        {**NOT_EXECUTED, **LOST, "answer cut off": is_cut_off}.values(),
        ids={**NOT_EXECUTED, **LOST, "answer cut off": 0}.keys(),
    )
    def test_is_asked_again(self, store, proxy, repo, fault):
        thread_id = store.thread("A")
        proxy.fail("GetItem", fault, fault)
        assert [r.title for r in repo.list_preferences(thread_id, ADA).preferences] == ["A"]
        assert proxy.seen == {"GetItem": 3}

    def test_because_it_hangs_is_asked_again(self, store, proxy, hasty):
        thread_id = store.thread("A")
        proxy.fail("GetItem", hangs(after=False), hangs(after=True))
        assert [r.title for r in hasty.list_preferences(thread_id, ADA).preferences] == ["A"]

    @pytest.mark.parametrize("caller", [ADA, AGENT], ids=["user", "agent"])
    @pytest.mark.parametrize("body", GARBLED_READ.values(), ids=GARBLED_READ.keys())
    def test_for_a_garbled_answer_is_asked_again_and_never_taken_for_an_empty_list(
        self, store, proxy, repo, body, caller
    ):
        thread_id = store.thread("A")
        proxy.fail("GetItem", says(200, body))
        assert [r.title for r in repo.list_preferences(thread_id, caller).preferences] == ["A"]

    def test_for_ever_ends_as_busy(self, store, proxy, until_seen):
        proxy.fail_always("GetItem", error(503, "ServiceUnavailable"))
        with pytest.raises(Busy):
            until_seen("GetItem", 10).list_preferences(store.thread("A"), ADA)
        assert proxy.seen == {"GetItem": 10}

    def test_for_an_answer_that_never_can_be_read_is_no_matter_of_time(self, store, proxy, repo):
        proxy.fail_always("GetItem", says(200, b'{"Item": {"revision": {"N": "eight"}}}'))
        with pytest.raises(ValueError, match="could not convert"):
            repo.list_preferences(store.thread("A"), ADA)
        assert proxy.seen == {"GetItem": 3}

    def test_before_a_write_ends_as_busy_with_nothing_sent(self, store, proxy, until_seen):
        thread_id = store.thread("A")
        proxy.fail_always("GetItem", resets(after=False))
        with pytest.raises(Busy):
            until_seen("GetItem", 5).remove_preferences(thread_id, [1], AGENT)
        assert "UpdateItem" not in proxy.seen

    def test_of_a_users_threads_is_asked_again(self, store, proxy, repo):
        proxy.fail("Query", resets(after=True), THROTTLED)
        store.thread("A")
        titles, _ = repo.list_threads(ADA, limit=1)
        assert len(titles) == 1
        assert proxy.seen == {"Query": 3, "BatchGetItem": 1}

    def test_of_the_titles_of_threads_is_asked_again(self, store, proxy, repo):
        store.thread("A")
        proxy.fail("BatchGetItem", resets(after=True), THROTTLED, says(200, b"<html>Sign in</html>"))
        titles, _ = repo.list_threads(ADA, limit=1)
        assert len(titles) == 1
        assert proxy.seen == {"Query": 1, "BatchGetItem": 4}

    def test_of_titles_that_is_answered_in_parts_asks_for_the_rest_alone(self, store, proxy, repo):
        lou = Caller.user("lou")
        ids = {store.write({}, owner="lou", title=title) for title in ("Rome", "Oslo", "Lima")}
        asked = []

        def answer_one(exchange):
            """As DynamoDB does when it has throughput for one item only."""
            request = json.loads(exchange.body)
            [(table, batch)] = request["RequestItems"].items()
            asked.append(batch["Keys"])
            one, rest = batch["Keys"][:1], batch["Keys"][1:]
            part = json.dumps({"RequestItems": {table: batch | {"Keys": one}}}).encode()
            sent = dict(exchange.handler.headers)
            _, _, body = exchange.engine(sent | {"Content-Length": str(len(part))}, part)
            unprocessed = {table: batch | {"Keys": rest}} if rest else {}
            answer = json.loads(body) | {"UnprocessedKeys": unprocessed}
            exchange.answer(200, {"Content-Type": JSON}, json.dumps(answer).encode())

        proxy.fail_always("BatchGetItem", answer_one)
        titles, after = repo.list_threads(lou, limit=100)
        assert after is None
        assert {titles[thread_id] for thread_id in ids} == {"Rome", "Oslo", "Lima"}
        assert asked == [asked[0], asked[0][1:], asked[0][2:]]
        assert proxy.seen == {"Query": 1, "BatchGetItem": 3}
        assert repo.retries == 2

    def test_of_titles_that_is_never_answered_ends_as_busy(self, store, proxy, until_seen):
        store.thread("A")

        def answer_none(exchange):
            request = json.loads(exchange.body)
            [(table, batch)] = request["RequestItems"].items()
            nothing = {"Responses": {table: []}, "UnprocessedKeys": {table: batch}}
            exchange.answer(200, {"Content-Type": JSON}, json.dumps(nothing).encode())

        proxy.fail_always("BatchGetItem", answer_none)
        with pytest.raises(Busy):
            until_seen("BatchGetItem", 5).list_threads(ADA, limit=1)
        assert proxy.seen == {"Query": 1, "BatchGetItem": 5}

    def test_of_the_entry_to_undo_is_asked_again(self, store, proxy, repo):
        thread_id = store.thread("A", "C")
        _undoable(store, thread_id)
        proxy.fail("Query", error(500, "InternalServerError"), resets(after=True))
        assert repo.undo(thread_id, 8, ADA).find("C")

    def test_and_then_finds_no_entry_yet_says_so(self, store, proxy, repo):
        thread_id = store.thread("A")
        store.other.remove_preference(thread_id, "A", ADA)
        proxy.fail("Query", resets(after=True))
        with pytest.raises(HistoryNotReady):
            repo.undo(thread_id, 8, ADA)


FOR_EVER = {
    "throttled": THROTTLED,
    "500": error(500, "InternalServerError"),
    "reset": resets(after=False),
    "applied, and then reset": resets(after=True),
}


class TestTheDeadline:
    @pytest.fixture
    def repo_of_clock(self, store, client, clock):
        """Its caller would wait for twenty seconds of the test's clock."""
        return PreferenceRepository(
            client, store.table_name, seconds_left=lambda: math.inf if clock.now < 20 else 0
        )

    @every_write
    def test_is_kept_by_not_beginning_a_write_that_might_pass_it(self, store, proxy, until_seen, write):
        thread_id, _ = write.begin(store)
        before = store.item(thread_id)
        with pytest.raises(Busy):
            write.ask(until_seen("GetItem"), thread_id)
        assert not proxy.writes
        assert store.item(thread_id) == before

    def test_is_kept_by_not_beginning_a_read_that_might_pass_it(self, store, proxy, in_time):
        with pytest.raises(Busy):
            in_time(0.5 * TIME_OUT).list_preferences(store.thread("A"), ADA)
        assert proxy.seen == {}

    @pytest.mark.parametrize(
        ("operation", "request_"),
        [
            ("GetItem", lambda repo, t: repo.list_preferences(t, ADA)),
            ("GetItem", WRITES["edit"].ask),
            ("UpdateItem", WRITES["edit"].ask),
            ("UpdateItem", WRITES["agent's update"].ask),
            ("UpdateItem", WRITES["restore"].ask),
            ("Query", lambda repo, t: repo.list_threads(ADA, limit=1)),
            ("BatchGetItem", lambda repo, t: repo.list_threads(ADA, limit=1)),
            ("Query", lambda repo, t: repo.list_history(t, ADA, limit=1)),
            ("Query", WRITES["undo"].ask),
        ],
        ids=["list", "edit, reading", "edit", "update", "restore", "threads", "titles", "history", "undo"],
    )
    @pytest.mark.parametrize("fault", FOR_EVER.values(), ids=FOR_EVER.keys())
    def test_of_a_request_is_ten_seconds_whatever_fails_for_ever(
        self, store, proxy, repo_of_clock, clock, operation, request_, fault
    ):
        begun = []

        def takes_a_second():
            begun.append(clock.now)
            clock.now += 1

        write = next((w for w in WRITES.values() if w.ask is request_), WRITES["undo"])
        thread_id, _ = write.begin(store)
        for name in ("GetItem", "UpdateItem", "Query", "BatchGetItem"):
            proxy.fail_always(name, first(takes_a_second, fault if name == operation else passes))
        with pytest.raises((Busy, OutcomeUnknown)) as raised:
            request_(repo_of_clock, thread_id)
        assert raised.type is (
            OutcomeUnknown if operation == "UpdateItem" and fault is not THROTTLED else Busy
        )
        assert 8 <= max(begun) < 10

    @pytest.mark.parametrize("caller", [ADA, AGENT], ids=["user", "agent"])
    def test_of_a_request_is_ten_seconds_in_a_race_that_is_never_won(
        self, store, proxy, repo_of_clock, clock, caller
    ):
        thread_id, begun = store.thread("A"), []

        def somebody_else_is_faster():
            begun.append(clock.now)
            clock.now += 0.5
            user_writes(store, thread_id)

        proxy.fail_always("UpdateItem", first(somebody_else_is_faster, passes))
        with pytest.raises(Busy):
            repo_of_clock.remove_preferences(thread_id, [1], caller)
        assert 9 <= max(begun) < 10
        assert "A" in store.titles(thread_id)

    @pytest.mark.parametrize(
        "fault",
        [hangs(after=False), hangs(after=True), is_slow(TIME_OUT / 2)],
        ids=["hangs", "hangs after the commit", "slow"],
    )
    @pytest.mark.parametrize(
        ("verb", "operation"),
        [("edit", "UpdateItem"), ("agent's update", "GetItem"), ("restore", "UpdateItem")],
    )
    def test_of_the_caller_is_kept_whatever_hangs_for_ever(
        self, store, proxy, in_time, verb, operation, fault
    ):
        write, seconds = WRITES[verb], 4 * TIME_OUT
        thread_id, before = write.begin(store)
        proxy.fail_always(operation, fault)
        start = time.monotonic()
        try:
            write.ask(in_time(seconds), thread_id)
        except OutcomeUnknown:
            assert proxy.seen[write.operation], "nothing that could be unknown was sent"
        except Busy:
            assert store.item(thread_id)["revision"] == before
        else:
            write.check_applied_once(store, proxy, thread_id, before)
        assert time.monotonic() - start < seconds + SLACK


class TestAnErrorThatSendingAgainDoesNotMend:
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
    def test_is_raised_as_it_comes_after_one_request(self, store, proxy, repo, code, operation):
        thread_id = store.thread("A")
        proxy.fail_always(operation, error(400, code))
        with pytest.raises(Exception, match=code):
            repo.remove_preferences(thread_id, [1], AGENT)
        assert proxy.seen[operation] == 1
        assert store.titles(thread_id) == ["A"]

    def test_is_raised_after_a_copy_that_was_not_executed(self, store, proxy, repo):
        thread_id = store.thread("A")
        proxy.fail("UpdateItem", THROTTLED, error(400, "AccessDeniedException"))
        with pytest.raises(Exception, match="AccessDeniedException"):
            repo.remove_preferences(thread_id, [1], AGENT)
        assert proxy.seen["UpdateItem"] == 2

    @pytest.mark.parametrize("after", [False, True], ids=["lost", "applied"])
    @every_write
    def test_says_nothing_of_an_earlier_copy_without_an_answer(self, store, proxy, repo, write, after):
        thread_id, before = write.begin(store)
        forbidden = error(400, "AccessDeniedException")
        proxy.fail(write.operation, resets(after=after), forbidden, forbidden)
        write.ask(repo, thread_id)
        write.check_applied_once(store, proxy, thread_id, before)
        assert proxy.seen[write.operation] == 4

    @pytest.mark.parametrize("after", [False, True], ids=["lost", "applied"])
    def test_for_ever_is_unknown_after_a_copy_without_an_answer(self, store, proxy, until_seen, after):
        thread_id = store.thread("A")
        proxy.fail("UpdateItem", resets(after=after))
        proxy.fail_always("UpdateItem", error(400, "AccessDeniedException"))
        with pytest.raises(OutcomeUnknown) as raised:
            until_seen("UpdateItem", 4).remove_preferences(thread_id, [1], AGENT)
        check_unknown_without_a_list(raised)
        assert len(set(proxy.write_ids)) == 1
        assert store.titles(thread_id) == ([] if after else ["A"])

    def test_that_nothing_listens_ends_as_busy_since_nothing_was_sent(self, store, monkeypatch):
        monkeypatch.setattr("preferences.repository.table.REQUEST_SECONDS", 0.1)
        with socket.socket() as bound:  # it is bound, and does not listen
            bound.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{bound.getsockname()[1]}"
            monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", url)
            repo = PreferenceRepository(repository_client.dynamodb_client.__wrapped__(), store.table_name)
            for act in (
                lambda: repo.list_preferences("ab", ADA),
                lambda: repo.set_lock("ab", "A", ADA, locked=True),
            ):
                with pytest.raises(Busy):
                    act()


class TestOnEitherEngine:
    """Refusals pass the proxy as the engine words them."""

    def test_a_refusal_brings_the_item_that_refused(self, store, proxy, repo):
        thread_id = store.write({"A": row("A", changed=5)})
        edit = lambda: store.other.edit_preference(thread_id, "A", {"title": "Y"}, ADA)  # noqa: E731
        proxy.fail("UpdateItem", first(edit, passes))
        with pytest.raises(PreconditionFailed) as refusal:
            repo.edit_preference(thread_id, "A", {"title": "X"}, ADA, if_match={5})
        assert (refusal.value.current.title, refusal.value.current.changed) == ("Y", 8)
        assert proxy.seen == {"GetItem": 1, "UpdateItem": 1}

    @every_write
    def test_a_commit_whose_answer_is_lost_is_found_again(self, store, proxy, repo, write):
        thread_id, before = write.begin(store)
        proxy.fail(write.operation, resets(after=True))
        write.ask(repo, thread_id)
        write.check_applied_once(store, proxy, thread_id, before)
        assert (proxy.seen["GetItem"], proxy.seen[write.operation]) == (1, 2)

    def test_a_race_and_a_fault_at_once_end_as_the_table_says(self, store, proxy, repo):
        thread_id = store.thread("A", "B")
        proxy.fail(
            "UpdateItem",
            first(lambda: store.other.set_lock(thread_id, "A", ADA, locked=True), THROTTLED),
            passes,  # the plan is of before the lock, and refused
            resets(after=True),
        )
        proxy.fail("GetItem", error(500, "InternalServerError"))
        written = repo.remove_preferences(thread_id, [1, 2], AGENT)
        assert [report.outcome for report in written.reports] == ["locked", "removed"]
        assert store.titles(thread_id) == ["A"]
        assert [len(proxy.write_ids), len(set(proxy.write_ids))] == [4, 2]

    def test_connections_are_kept_and_used_again(self, store, proxy, repo):
        thread_id = store.thread("A")
        for locked in (True, False, True):
            repo.set_lock(thread_id, "A", ADA, locked=locked)
        assert proxy.connections <= 2


class TestWhatAnEarlierVersionGotWrong:
    """Each was found on the code that wrote without naming a revision, and fails there."""

    @pytest.fixture
    def gives_up(self, store, proxy, client):
        """gives_up(fault): a repository whose next UpdateItem meets a fault, and whose time then ends."""

        def make(fault):
            proxy.clear()
            proxy.fail("UpdateItem", fault)
            return PreferenceRepository(
                client, store.table_name, seconds_left=lambda: 0 if proxy.seen["UpdateItem"] else math.inf
            )

        return make

    def test_an_agent_that_acts_on_its_own_answer_removes_the_row_that_it_means(self, store, proxy, repo):
        thread_id = store.thread("A", "B", "C", "D")
        tools = PreferenceTools(thread_id, repo, user_id="ada")
        proxy.fail("UpdateItem", first(lambda: store.other.remove_preference(thread_id, "A", ADA), passes))
        answer = tools.update_preferences(updates=[{"index": 3, "subtitle": "Agent's"}])
        assert store.titles(thread_id) == ["B", "C", "D"]
        [position] = re.findall(r"updated #(\d+) C", answer["result"])
        tools.remove_preferences(indices=[int(position)], list_revision=answer["revision"])
        assert store.titles(thread_id) == ["B", "D"]
        assert f"#{position} [soft] C" in answer["preferences"]

    def test_an_unlock_that_arrives_after_twenty_more_such_and_a_lock_is_not_applied(
        self, store, proxy, gives_up
    ):
        thread_id, late = store.thread("A", locked=("A",)), LateCopies()
        for n in range(21):
            with pytest.raises(OutcomeUnknown):
                gives_up(late.lost if n == 0 else resets(after=False)).set_lock(
                    thread_id, "A", ADA, locked=False
                )
        store.other.set_lock(thread_id, "A", ADA, locked=True)
        assert late.arrive() == [400]
        assert store.rows(thread_id)["A"]["locked"]

    def test_an_unlock_that_arrives_after_a_lock_of_what_was_locked_is_not_applied(
        self, store, proxy, until_seen
    ):
        """The function that sent it has ended since, or could write nothing more."""
        thread_id, late = store.thread("A", locked=("A",)), LateCopies()
        proxy.fail("UpdateItem", late.lost)
        with pytest.raises(OutcomeUnknown):
            until_seen("UpdateItem").set_lock(thread_id, "A", ADA, locked=False)
        assert store.other.set_lock(thread_id, "A", ADA, locked=True).find("A").locked
        assert late.arrive() == [400]
        assert store.rows(thread_id)["A"]["locked"]
        reports = store.other.remove_preferences(thread_id, [1], AGENT).reports
        assert [report.outcome for report in reports] == ["locked"]

    def test_a_second_copy_of_an_unlock_does_not_undo_a_later_lock(self, store, proxy, repo):
        thread_id, late = store.thread("A", locked=("A",)), LateCopies()
        proxy.fail("UpdateItem", late.sent_twice)
        repo.set_lock(thread_id, "A", ADA, locked=False)
        store.other.set_lock(thread_id, "A", ADA, locked=True)
        assert late.arrive() == [400]
        assert store.rows(thread_id)["A"]["locked"]

    def test_a_second_copy_of_an_edit_does_not_overwrite_a_later_edit(self, store, proxy, repo):
        thread_id, late = store.thread("A"), LateCopies()
        proxy.fail("UpdateItem", late.sent_twice)
        repo.edit_preference(thread_id, "A", {"title": "Earlier"}, ADA)
        store.other.edit_preference(thread_id, "A", {"title": "Later"}, ADA)
        assert late.arrive() == [400]
        assert store.titles(thread_id) == ["Later"]

    def test_a_second_copy_of_a_deletion_does_not_delete_the_restored_thread(self, store, proxy, repo):
        thread_id, late = store.thread("A"), LateCopies()
        proxy.fail("UpdateItem", late.sent_twice)
        repo.delete_thread(thread_id, ADA)
        store.other.register_thread(thread_id, ADA)
        store.other.add_preferences_bulk(thread_id, drafts("X"), ADA)
        assert late.arrive() == [400]
        assert store.titles(thread_id) == ["X"]

    def test_a_removal_that_is_sent_twice_around_another_commit_is_told_as_done(self, store, proxy, repo):
        thread_id = store.thread("A", "B")
        proxy.fail("UpdateItem", followed_by(lambda: user_writes(store, thread_id), passes))
        written = repo.remove_preferences(thread_id, [1], AGENT)
        assert "A" not in store.titles(thread_id)
        assert [report.outcome for report in written.reports] == ["removed"]

    def test_an_edit_that_is_sent_twice_around_another_commit_is_told_as_done(self, store, proxy, repo):
        thread_id = store.thread("A", "B")
        proxy.fail("UpdateItem", followed_by(lambda: user_writes(store, thread_id), passes))
        written = repo.edit_preference(thread_id, "A", {"title": "X"}, ADA, if_match={1})
        assert written.thread.find("A").title == "X"
        assert store.rows(thread_id)["A"]["title"] == "X"

    def test_an_agents_batch_is_acknowledged_however_fast_the_user_writes(self, store, proxy, repo):
        thread_id = store.thread("A", "B")
        proxy.fail("UpdateItem", *[first(lambda: user_writes(store, thread_id), passes)] * 12)
        written = repo.update_preferences(
            thread_id, [IndexedEdit(index=n, subtitle="Agent's") for n in (1, 2)], AGENT
        )
        assert [report.outcome for report in written.reports] == ["updated", "updated"]
        assert [stored.get("subtitle") for stored in store.rows(thread_id).values()][:2] == ["Agent's"] * 2

    def test_a_lock_of_all_is_acknowledged_however_fast_two_agents_write(self, store, proxy, repo):
        thread_id, numbers = store.thread("A"), iter(range(100))

        def agents_write():
            for agent in ("agent-1", "agent-2"):
                caller = AGENT.model_copy(update={"who": agent})
                store.other.add_preferences_bulk(thread_id, drafts(f"Row {next(numbers)}"), caller)

        proxy.fail("UpdateItem", *[first(agents_write, passes)] * 12)
        repo.set_all_locks(thread_id, ADA, locked=True)
        assert len(store.rows(thread_id)) == 25
        assert all(stored["locked"] for stored in store.rows(thread_id).values())

    def test_a_lock_survives_the_reset_of_a_pooled_connection(self, store, proxy, repo):
        thread_id = store.thread("A")
        repo.list_preferences(thread_id, ADA)  # now there is a connection in the pool
        proxy.fail("UpdateItem", resets(after=False))
        assert repo.set_lock(thread_id, "A", ADA, locked=True).find("A").locked
        assert store.rows(thread_id)["A"]["locked"]

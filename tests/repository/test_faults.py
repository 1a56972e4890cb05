"""What the repository makes of an engine and a network that fail: on real sockets, with the product's client.

The promise under fire: nothing is applied twice or by half, nothing is claimed that was not done, and every
call ends in time. What can't be known is answered as unknown.
"""

import itertools
import threading
import time

import pytest

from preferences import rules
from preferences.errors import Busy, HistoryNotReady, OutcomeUnknown, PreconditionFailed, ThreadNotFound
from preferences.model import IndexedEdit
from preferences.repository import PreferenceRepository
from preferences.repository import client as wiring
from preferences.repository.client import CALL_SECONDS
from preferences.tools import PreferenceTools
from tests.effort import tried
from tests.fault_proxy import (
    arrives_late,
    arrives_twice,
    error,
    fault_proxy,
    followed_by,
    hangs,
    is_cut_off,
    is_slow,
    passes,
    resets,
    says,
    then,
    without_item,
)
from tests.support import ADA, AGENT, EVE, drafts, row

TIME_OUT = 0.3
"""Seconds that the hasty client waits, in place of the product's two."""
SLACK = 3
"""Seconds that a busy machine may take beyond a deadline."""

on_moto = pytest.mark.parametrize("store", ["moto"], indirect=True, scope="module")
"""What the client makes of a fault is the same whichever engine is behind it; a few tests are run on both."""


@pytest.fixture(scope="module")
def proxy(store):
    url = store.client.meta.endpoint_url
    with fault_proxy(url if "127.0.0.1" in url else None) as made:
        yield made
    tried("faults", "requests that met a fault", made.failed)


@pytest.fixture(scope="module")
def client(proxy):
    """The product's own client, at the end of the proxy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL_DYNAMODB", proxy.url)
        return wiring.dynamodb_client.__wrapped__()


@pytest.fixture(scope="module")
def hasty_client(proxy):
    """The same with less patience. On a busy machine its reads may run out of time, and be sent again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wiring, "READ_SECONDS", TIME_OUT)
        patch.setenv("AWS_ENDPOINT_URL_DYNAMODB", proxy.url)
        return wiring.dynamodb_client.__wrapped__()


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
    "restore": Write(
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


@on_moto
class TestACopyThatWasNotExecuted:
    @pytest.mark.parametrize("fault", NOT_EXECUTED.values(), ids=NOT_EXECUTED.keys())
    def test_is_sent_again_until_it_is(self, store, proxy, repo, fault):
        thread_id = store.thread("A")
        proxy.fail("UpdateItem", fault, fault)
        repo.edit_preference(thread_id, "A", {"title": "X"}, ADA)
        assert proxy.seen["UpdateItem"] == 3
        assert (store.titles(thread_id), store.item(thread_id)["revision"]) == (["X"], 8)

    @every_write
    def test_is_the_same_request_again_and_applied_once(self, store, proxy, repo, write):
        thread_id = write.begin(store)
        before = revision_of(store, thread_id)
        proxy.fail(write.operation, THROTTLED)
        write.ask(repo, thread_id)
        assert write.applied(store.item(thread_id))
        assert revision_of(store, thread_id) == before + 1
        first, second = proxy.bodies[write.operation]
        assert first == second

    @every_write
    def test_ends_as_busy_with_nothing_changed_when_it_never_is(self, store, proxy, in_time, write):
        thread_id = write.begin(store)
        before = store.item(thread_id)
        proxy.fail(write.operation, *[THROTTLED] * 10_000)
        with pytest.raises(Busy):
            write.ask(in_time(4 * TIME_OUT), thread_id)
        assert store.item(thread_id) == before

    def test_is_never_reported_as_locked_or_missing(self, store, proxy, in_time):
        thread_id = store.thread("A")
        proxy.fail("UpdateItem", *[THROTTLED] * 10_000)
        envelope = PreferenceTools(thread_id, in_time(3 * TIME_OUT), user_id="ada").remove_preferences(
            indices=[1]
        )
        assert envelope["error"]["code"] == "busy"

    def test_meets_on_its_way_again_what_has_been_locked_since(self, store, proxy, repo):
        thread_id = store.thread("A", "B")
        proxy.fail(
            "UpdateItem",
            then(lambda: store.other.set_lock(thread_id, "A", ADA, locked=True), THROTTLED),
        )
        written = repo.remove_preferences(thread_id, [1, 2], AGENT)
        assert [report.outcome for report in written.reports] == ["locked", "removed"]
        assert store.titles(thread_id) == ["A"]

    def test_does_not_tell_that_one_before_it_was_not_applied(self, store, proxy, repo):
        """A copy is applied and its answer lost, the next is throttled: another plan would apply it twice."""
        thread_id = store.thread("A")
        proxy.fail("UpdateItem", resets(after=True), THROTTLED)
        written = repo.add_preferences_bulk(thread_id, drafts("X"), AGENT)
        assert [report.outcome for report in written.reports] == ["recorded"]
        assert store.titles(thread_id) == ["A", "X"]
        assert proxy.seen["UpdateItem"] == 3


class Arrival:
    """A copy of a request that is under way until the test lets it arrive."""

    def __init__(self):
        self._go, self._arrived = threading.Event(), threading.Event()
        self.fault = arrives_late(self._go, self._arrived)

    def now(self):
        self._go.set()
        assert self._arrived.wait(10)


@pytest.fixture
def arrival():
    return Arrival()


def revision_of(store, thread_id):
    return (store.item(thread_id) or {"revision": 0})["revision"]


@on_moto
class TestACopyWithoutAnAnswer:
    @pytest.mark.parametrize("fault", LOST.values(), ids=LOST.keys())
    def test_that_was_lost_is_sent_again_as_it_was(self, store, proxy, repo, fault):
        thread_id = store.thread("A")
        proxy.fail("UpdateItem", fault)
        repo.edit_preference(thread_id, "A", {"title": "X"}, ADA)
        assert proxy.seen == {"GetItem": 1, "UpdateItem": 2}
        assert proxy.bodies["UpdateItem"][0] == proxy.bodies["UpdateItem"][1]
        assert (store.titles(thread_id), revision_of(store, thread_id)) == (["X"], 8)

    @every_write
    def test_that_was_lost_is_sent_again_whatever_it_was(self, store, proxy, repo, write):
        thread_id = write.begin(store)
        before = revision_of(store, thread_id)
        proxy.fail(write.operation, resets(after=False))
        write.ask(repo, thread_id)
        assert write.applied(store.item(thread_id))
        assert revision_of(store, thread_id) == before + 1
        assert proxy.seen[write.operation] == 2

    @pytest.mark.parametrize("fault", APPLIED.values(), ids=APPLIED.keys())
    def test_that_was_applied_is_known_by_the_refusal_of_the_next(self, store, proxy, repo, fault):
        thread_id = store.thread("A")
        proxy.fail("UpdateItem", fault)
        written = repo.edit_preference(thread_id, "A", {"title": "X"}, ADA)
        assert proxy.seen == {"GetItem": 1, "UpdateItem": 2}
        assert written.thread == store.other.list_preferences(thread_id, ADA)
        assert (store.titles(thread_id), written.thread.revision) == (["X"], 8)

    @pytest.mark.parametrize("fault", [resets(after=True), arrives_twice], ids=["reset", "sent twice"])
    @every_write
    def test_that_was_applied_is_known_whatever_it_was(self, store, proxy, repo, write, fault):
        thread_id = write.begin(store)
        before = revision_of(store, thread_id)
        proxy.fail(write.operation, fault)
        write.ask(repo, thread_id)
        assert write.applied(store.item(thread_id))
        assert revision_of(store, thread_id) == before + 1

    @pytest.mark.parametrize("commits", [1, 15])
    @every_write
    def test_that_was_applied_is_known_over_later_commits(self, store, proxy, repo, write, commits):
        thread_id = write.begin(store)

        def somebody():
            if write is WRITES["delete the thread"]:
                store.other.register_thread(thread_id, ADA)
            for _ in range(commits - (write is WRITES["delete the thread"])):
                store.other.set_all_locks(thread_id, ADA, locked=True)

        proxy.fail(write.operation, followed_by(somebody, resets(after=False)))
        before = revision_of(store, thread_id)
        write.ask(repo, thread_id)
        assert proxy.seen[write.operation] == 2
        assert revision_of(store, thread_id) == before + 1 + commits

    @every_write
    def test_that_other_writes_have_pushed_out_of_what_is_remembered_is_unknown(
        self, store, proxy, repo, write
    ):
        thread_id = write.begin(store)

        def somebody():
            store.other.register_thread(thread_id, ADA)
            for _ in range(16):
                store.other.set_all_locks(thread_id, ADA, locked=True)

        proxy.fail(write.operation, followed_by(somebody, resets(after=False)))
        with pytest.raises(OutcomeUnknown) as refusal:
            write.ask(repo, thread_id)
        assert refusal.value.thread == store.other.list_preferences(thread_id, ADA)
        assert proxy.seen[write.operation] == 2

    @pytest.mark.parametrize(
        "verb", [v for v in WRITES if WRITES[v].operation == "UpdateItem" and v != "restore"]
    )
    def test_that_never_was_applied_is_planned_again_where_another_write_took_its_place(
        self, store, proxy, repo, verb
    ):
        write = WRITES[verb]
        thread_id = write.begin(store)
        before = revision_of(store, thread_id)
        lock = then(lambda: store.other.set_lock(thread_id, "B", ADA, locked=True), resets(after=False))
        proxy.fail("UpdateItem", lock)
        write.ask(repo, thread_id)
        assert write.applied(store.item(thread_id))
        assert revision_of(store, thread_id) == before + 2
        first, again, second = (body_id(body) for body in proxy.bodies["UpdateItem"])
        assert first == again != second  # the same request twice, then another plan

    def test_and_that_was_the_threads_first_does_not_arrive_over_what_came_after_it(
        self, store, proxy, hasty, arrival
    ):
        thread_id = store.new_id()
        proxy.fail("PutItem", then(lambda: store.other.register_thread(thread_id, EVE), arrival.fault))
        with pytest.raises(ThreadNotFound):
            hasty.add_preferences_bulk(thread_id, drafts("X"), AGENT)
        arrival.now()
        assert (store.item(thread_id)["owner"], store.titles(thread_id)) == ("eve", [])

    def test_because_it_hangs_is_sent_again(self, store, proxy, hasty):
        thread_id = store.thread("A")
        proxy.fail("UpdateItem", hangs(after=False))
        assert hasty.edit_preference(thread_id, "A", {"title": "X"}, ADA).thread.revision == 8

    def test_because_it_hangs_after_the_commit_is_known_by_sending_it_again(self, store, proxy, hasty):
        thread_id = store.thread("A")
        proxy.fail("UpdateItem", hangs(after=True))
        assert hasty.edit_preference(thread_id, "A", {"title": "X"}, ADA).thread.revision == 8
        assert revision_of(store, thread_id) == 8

    @pytest.mark.parametrize("verb", WRITES)
    def test_that_arrives_after_all_is_refused(self, store, proxy, hasty, arrival, verb):
        write = WRITES[verb]
        thread_id = write.begin(store)
        proxy.fail(write.operation, arrival.fault)
        write.ask(hasty, thread_id)
        done = store.item(thread_id)
        arrival.now()
        assert store.item(thread_id) == done

    @pytest.mark.parametrize("body", GARBLED.values(), ids=GARBLED.keys())
    def test_since_the_answer_was_garbled_is_known_by_the_refusal_of_the_next(self, store, proxy, repo, body):
        thread_id = store.thread("A")
        proxy.fail("UpdateItem", says(200, body))
        thread = repo.edit_preference(thread_id, "A", {"title": "X"}, ADA).thread
        assert proxy.seen["UpdateItem"] == 2
        assert (thread.preferences[0].title, thread.revision) == ("X", 8)

    @pytest.mark.parametrize(
        "code", ["ValidationException", "AccessDeniedException", "ResourceNotFoundException"]
    )
    def test_stays_undecided_by_another_error_after_it(self, store, proxy, repo, code):
        thread_id = store.thread("A")
        proxy.fail("UpdateItem", resets(after=True), error(400, code))
        assert repo.edit_preference(thread_id, "A", {"title": "X"}, ADA).thread.revision == 8
        assert proxy.seen["UpdateItem"] == 3

    def test_for_ever_is_unknown_without_a_list(self, store, proxy, in_time):
        thread_id = store.thread("A")
        before = store.item(thread_id)
        proxy.fail("UpdateItem", *[error(500, "InternalServerError")] * 10_000)
        with pytest.raises(OutcomeUnknown) as refusal:
            in_time(4 * TIME_OUT).edit_preference(thread_id, "A", {"title": "X"}, ADA)
        assert refusal.value.thread is None
        assert store.item(thread_id) == before
        assert len({body_id(body) for body in proxy.bodies["UpdateItem"]}) == 1

    def test_before_throttling_for_ever_is_unknown_too(self, store, proxy, in_time):
        thread_id = store.thread("A")
        proxy.fail("UpdateItem", resets(after=True), *[THROTTLED] * 10_000)
        with pytest.raises(OutcomeUnknown):
            in_time(4 * TIME_OUT).edit_preference(thread_id, "A", {"title": "X"}, ADA)
        assert store.titles(thread_id) == ["X"]

    def test_tells_a_stranger_nothing(self, store, proxy, repo):
        thread_id = store.thread("A", locked=("A",))
        before = store.item(thread_id)
        with pytest.raises(ThreadNotFound):
            repo.set_lock(thread_id, "A", EVE, locked=False)
        assert (store.item(thread_id), proxy.seen) == (before, {"GetItem": 1})

    def test_shows_no_list_to_whoever_has_lost_the_thread_meanwhile(self, store, proxy, repo):
        thread_id = store.thread("A")

        def given_away():
            store.poke(thread_id, "owner", value="eve")
            store.poke(thread_id, "revision", value=40)

        proxy.fail("UpdateItem", then(given_away, resets(after=False)))
        with pytest.raises(OutcomeUnknown) as refusal:
            repo.add_preferences_bulk(thread_id, drafts("X"), AGENT)
        assert refusal.value.thread is None


def body_id(body):
    """The id of the write that a request carries."""
    if "Item" in body:
        return body["Item"]["last_change"]["M"]["id"]["S"]
    values = body["ExpressionAttributeValues"].values()
    return next(
        value["M"]["id"]["S"] for value in values if "id" in value.get("M", {}) and "at" in value["M"]
    )


@on_moto
class TestARefusal:
    def test_at_the_revision_that_was_seen_is_planned_again(self, store, proxy, repo):
        thread_id = store.thread("A", "B")
        proxy.fail("UpdateItem", then(lambda: store.flip(thread_id, "A", locked=True), passes))
        written = repo.remove_preferences(thread_id, [1, 2], AGENT)
        assert [report.outcome for report in written.reports] == ["locked", "removed"]
        first, second = proxy.bodies["UpdateItem"]
        assert body_id(first) != body_id(second)

    def test_at_the_revision_that_was_seen_is_sent_again_while_a_copy_is_unanswered(
        self, store, proxy, in_time
    ):
        thread_id = store.thread("A")
        proxy.fail("UpdateItem", then(lambda: store.flip(thread_id, "A", locked=True), resets(after=False)))
        with pytest.raises(OutcomeUnknown):
            in_time(4 * TIME_OUT).remove_preferences(thread_id, [1], AGENT)
        assert len({body_id(body) for body in proxy.bodies["UpdateItem"]}) == 1
        assert store.titles(thread_id) == ["A"]

    @every_write
    def test_without_the_item_is_decided_by_a_read(self, store, proxy, repo, write):
        """An engine may not know how to send the item along."""
        thread_id = write.begin(store)
        proxy.fail(write.operation, resets(after=True), without_item)
        before = revision_of(store, thread_id)
        write.ask(repo, thread_id)
        assert revision_of(store, thread_id) == before + 1
        assert proxy.seen["GetItem"] == 2

    def test_without_the_item_of_a_thread_that_is_gone_is_not_found_and_begins_none(self, store, proxy, repo):
        thread_id = store.thread("A")

        def expire():
            store.client.delete_item(TableName=store.table_name, Key=store.key(thread_id))

        for act in (
            lambda: repo.add_preferences_bulk(thread_id, drafts("X"), AGENT),
            lambda: repo.set_lock(thread_id, "A", ADA, locked=True),
        ):
            store.write({"A": row("A")}, thread_id=thread_id)
            proxy.fail("UpdateItem", then(expire, passes))
            with pytest.raises(ThreadNotFound):
                act()
            assert store.item(thread_id) is None

    def test_of_a_registration_of_a_thread_that_is_gone_begins_it_anew(self, store, proxy, repo):
        thread_id = store.thread("A")

        def expire():
            store.client.delete_item(TableName=store.table_name, Key=store.key(thread_id))

        proxy.fail("UpdateItem", then(expire, passes))
        thread, new = repo.register_thread(thread_id, ADA)
        assert (thread.revision, new) == (1, True)

    def test_that_can_not_be_looked_into_is_unknown(self, store, proxy, in_time):
        thread_id = store.thread("A")
        proxy.fail(
            "UpdateItem",
            then(lambda: store.other.set_lock(thread_id, "A", ADA, locked=True), without_item),
        )
        proxy.fail("GetItem", passes, *[error(500, "InternalServerError")] * 10_000)
        with pytest.raises(OutcomeUnknown) as refusal:
            in_time(4 * TIME_OUT).remove_preferences(thread_id, [1], AGENT)
        assert refusal.value.thread is None

    def test_of_what_is_too_old_to_be_remembered_is_shown_with_the_list_and_not_planned_again(
        self, store, proxy, repo
    ):
        thread_id = store.thread("A")

        def seventeen():
            for _ in range(17):
                store.other.set_lock(thread_id, "A", ADA, locked=True)

        proxy.fail("UpdateItem", then(seventeen, passes))
        tools = PreferenceTools(thread_id, repo, user_id="ada")
        assert tools.add_preferences(items=[{"title": "X"}]) == {
            "ok": False,
            "error": {
                "code": "outcome_unknown",
                "message": "it is unknown whether the change was stored: "
                "look at the present list before trying again",
            },
            "revision": 24,
            "preferences": "#1 [soft] A (locked)",
        }
        assert proxy.seen["UpdateItem"] == 1

    def test_among_the_newest_sixteen_is_planned_again(self, store, proxy, repo):
        thread_id = store.thread("A")

        def sixteen():
            for _ in range(16):
                store.other.set_lock(thread_id, "A", ADA, locked=True)

        proxy.fail("UpdateItem", then(sixteen, passes))
        written = repo.add_preferences_bulk(thread_id, drafts("X"), AGENT)
        assert written.thread.revision == 24


@on_moto
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

    def test_for_ever_ends_as_busy(self, store, proxy, in_time):
        proxy.fail("GetItem", *[error(503, "ServiceUnavailable")] * 10_000)
        with pytest.raises(Busy):
            in_time(2 * TIME_OUT).list_preferences(store.thread("A"), ADA)
        assert proxy.seen["GetItem"] > 1

    @pytest.mark.parametrize("body", [b'{"Item": {"revision": {"N": "eight"}}}'])
    def test_for_an_answer_that_never_can_be_read_is_no_matter_of_time(self, store, proxy, repo, body):
        proxy.fail("GetItem", *[says(200, body)] * 10)
        with pytest.raises(ValueError, match="invalid literal"):
            repo.list_preferences(store.thread("A"), ADA)
        assert proxy.seen == {"GetItem": 3}

    def test_before_a_write_ends_as_busy_with_nothing_sent(self, store, proxy, in_time):
        thread_id = store.thread("A")
        proxy.fail("GetItem", *[resets(after=False)] * 10_000)
        with pytest.raises(Busy):
            in_time(2 * TIME_OUT).remove_preferences(thread_id, [1], AGENT)
        assert "UpdateItem" not in proxy.seen

    def test_of_a_users_threads_is_asked_again(self, store, proxy, repo):
        proxy.fail("Query", resets(after=True), THROTTLED)
        ids, _ = repo.list_threads(ADA, limit=1)
        assert len(ids) <= 1
        assert proxy.seen == {"Query": 3}

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


@on_moto
class TestTheDeadline:
    @every_write
    def test_is_kept_by_not_beginning_a_write_that_might_pass_it(self, store, proxy, client, write):
        thread_id = write.begin(store)
        before = store.item(thread_id)
        reads = 2 if write is WRITES["undo"] else 1
        clock = itertools.chain([CALL_SECONDS] * reads, itertools.repeat(0.9 * CALL_SECONDS))
        repo = PreferenceRepository(client, store.table_name, seconds_left=lambda: next(clock))
        with pytest.raises(Busy):
            write.ask(repo, thread_id)
        assert write.operation not in proxy.seen
        assert store.item(thread_id) == before

    def test_is_kept_by_not_beginning_a_read_that_might_pass_it(self, store, proxy, in_time):
        with pytest.raises(Busy):
            in_time(0.5 * TIME_OUT).list_preferences(store.thread("A"), ADA)
        assert proxy.seen == {}

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
            ("restore", "UpdateItem"),
        ],
    )
    def test_is_kept_whatever_fails_for_ever(self, store, proxy, in_time, verb, operation, fault):
        write, seconds = WRITES[verb], 4 * TIME_OUT
        thread_id = write.begin(store)
        proxy.fail(operation, *[fault] * 10_000)
        start = time.monotonic()
        try:
            write.ask(in_time(seconds), thread_id)
        except OutcomeUnknown:
            assert proxy.seen[write.operation], "nothing that could be unknown was sent"
            assert fault is not THROTTLED, "what is refused without a look is no secret"
        except Busy:
            assert not store.item(thread_id) or not write.applied(store.item(thread_id))
        else:
            assert write.applied(store.item(thread_id))
        assert time.monotonic() - start < seconds + SLACK

    def test_of_the_invocation_is_not_the_only_one(self, store, proxy, hasty, monkeypatch):
        """A request that a person gave up must be over before the next, however long Lambda would wait."""
        monkeypatch.setattr("preferences.repository.table.REQUEST_SECONDS", TIME_OUT)
        proxy.fail("UpdateItem", *[THROTTLED] * 100_000)
        start = time.monotonic()
        with pytest.raises(Busy):
            hasty.set_lock(store.thread("A"), "A", ADA, locked=True)
        assert TIME_OUT / 2 < time.monotonic() - start < TIME_OUT + SLACK

    def test_is_kept_in_a_race_that_is_never_won(self, store, proxy, in_time):
        thread_id = store.thread("A")
        numbers = iter(range(1000))
        race = then(
            lambda: store.other.add_preferences_bulk(thread_id, drafts(f"Row {next(numbers)}"), ADA),
            is_slow(TIME_OUT / 3),
        )
        proxy.fail("UpdateItem", *[race] * 100)
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
    def test_is_raised_as_it_comes_after_one_request(self, store, proxy, repo, code, operation):
        thread_id = store.thread("A")
        proxy.fail(operation, *[error(400, code)] * 10)
        with pytest.raises(Exception, match=code):
            repo.remove_preferences(thread_id, [1], AGENT)
        assert proxy.seen[operation] == 1
        assert store.titles(thread_id) == ["A"]

    def test_that_nothing_listens_ends_as_busy_since_nothing_was_sent(self, store, monkeypatch):
        monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:1")
        repo = PreferenceRepository(wiring.dynamodb_client.__wrapped__(), store.table_name)
        monkeypatch.setattr("preferences.repository.table.REQUEST_SECONDS", 0.1)
        for act in (
            lambda: repo.list_preferences("ab", ADA),
            lambda: repo.set_lock("ab", "A", ADA, locked=True),
        ):
            with pytest.raises(Busy):
                act()

    def test_that_a_pooled_connection_is_reset_fails_no_lock(self, store, proxy, repo):
        thread_id = store.thread("A")
        repo.list_preferences(thread_id, ADA)
        proxy.fail("GetItem", resets(after=False))
        proxy.fail("UpdateItem", resets(after=False))
        assert repo.set_lock(thread_id, "A", ADA, locked=True).find("A").locked


class TestOnEitherEngine:
    """Refusals cross the wire as the engine words them."""

    def test_a_refusal_comes_with_the_item_that_refused(self, store, proxy, repo):
        thread_id = store.write({"A": row("A", changed=1)})
        proxy.fail(
            "UpdateItem",
            then(lambda: store.other.edit_preference(thread_id, "A", {"title": "Y"}, ADA), passes),
        )
        with pytest.raises(PreconditionFailed) as refusal:
            repo.edit_preference(thread_id, "A", {"title": "X"}, ADA, if_match=1)
        assert refusal.value.current.changed == 8
        assert proxy.seen == {"GetItem": 1, "UpdateItem": 1}

    def test_a_commit_whose_answer_is_lost_is_known_by_the_refusal_of_the_next(self, store, proxy, repo):
        thread_id = store.thread("A", "B")
        proxy.fail("UpdateItem", resets(after=True))
        written = repo.remove_preferences(thread_id, [1], AGENT)
        assert [report.outcome for report in written.reports] == ["removed"]
        assert proxy.seen == {"GetItem": 1, "UpdateItem": 2}

    def test_a_race_and_a_fault_at_once_end_as_the_table_says(self, store, proxy, repo):
        thread_id = store.thread("A", "B")
        proxy.fail(
            "UpdateItem",
            then(lambda: store.other.set_lock(thread_id, "A", ADA, locked=True), THROTTLED),
            passes,  # planned before the lock, and refused
            resets(after=True),
        )
        proxy.fail("GetItem", error(500, "InternalServerError"))
        written = repo.remove_preferences(thread_id, [1, 2], AGENT)
        assert [report.outcome for report in written.reports] == ["locked", "removed"]
        assert store.titles(thread_id) == ["A"]

    def test_connections_are_kept_and_used_again(self, store, proxy, repo):
        thread_id = store.thread("A")
        for locked in (True, False, True):
            repo.set_lock(thread_id, "A", ADA, locked=locked)
        assert proxy.connections <= 2

"""The second promise: nothing that was sent before an acknowledgement takes it back afterwards.

Every write is tried against every later write that is acknowledged:
- late: its sender gave it up, and it arrives after the other was acknowledged;
- twice: it was applied, and the network delivers a second copy after the other was acknowledged.

The writes are those of the registries of tools and routes: one that is added and not tried here fails a test.
"""

import json
import math
from contextlib import contextmanager

import pytest
from botocore.exceptions import ConnectionClosedError

from preferences.api import handler
from preferences.api.routes import ROUTES
from preferences.repository import PreferenceRepository
from preferences.tools import TOOLS, PreferenceTools
from tests.effort import PROVE, tried
from tests.proof.test_lock import (
    ASKS,
    CALLS,
    ELSEWHERE,
    ROW,
    STATES,
    TOOL_CALLS,
    WISH,
    Scene,
    remember_an_edit,
)
from tests.support import ADA

PUT, DELETE = "PUT /threads/{thread_id}", "DELETE /threads/{thread_id}"
LOCK, UNLOCK = (
    "PUT /threads/{thread_id}/preferences/{id}/lock",
    "DELETE /threads/{thread_id}/preferences/{id}/lock",
)
ORDER = "PUT /threads/{thread_id}/order"

READING_TOOLS = {"list_preferences"}
TOOL_WRITES = {
    call: tool
    for call, (tool, arguments) in TOOL_CALLS.items()
    if tool not in READING_TOOLS and (PROVE or arguments == CALLS[tool][0])
}
"""Each tool as it is called first in the lock's matrix; with PROVE set, in every way."""
ADDITIONS = {call for call, tool in TOOL_WRITES.items() if tool == "add_preferences"}
WRITES = [*TOOL_WRITES, *ASKS]

STARTS = {
    "unlocked": set(WRITES),
    "locked": set(ASKS) | ADDITIONS,
    "not stored": {PUT} | ADDITIONS,
    "deleted": {PUT},
}
"""How the thread is when both writes are made → the writes that are acknowledged then."""


def some(later_writes, earlier):
    """All, with PROVE set; else every third, each write after others, and the one that nothing refuses."""
    if PROVE:
        return later_writes
    chosen = later_writes[WRITES.index(earlier) % 3 :: 3]
    return [write for write in later_writes if write in chosen or write == PUT]


PAIRS_BEGIN = [(start, write) for start, writes in STARTS.items() for write in WRITES if write in writes]


def test_every_tool_and_every_route_that_writes_is_tried():
    assert set(TOOL_WRITES.values()) | READING_TOOLS == TOOLS.keys()
    assert ASKS.keys() | ELSEWHERE == {key for key in ROUTES if not key.startswith("GET ")}
    assert {write for _, write in PAIRS_BEGIN} == set(WRITES)


class Network:
    """What lies between the product's client and the engine. It keeps the writes that were sent."""

    def __init__(self, store):
        self._store = store
        self._kept = []
        self._lost = False
        self._gave_up = False

    @contextmanager
    def keeping(self, *, lose):
        """Keeps each write that is sent meanwhile; `lose`: it does not arrive, and its sender gives it up."""
        events = self._store.watched.meta.events
        self._kept.clear()
        self._lost, self._gave_up = lose, False
        events.register_first("before-send.dynamodb", self._keep)
        try:
            yield
        finally:
            events.unregister("before-send.dynamodb", self._keep)
            self._gave_up = False

    def _keep(self, request, **_):
        operation = request.headers["X-Amz-Target"].decode().rpartition(".")[2]
        if operation not in ("UpdateItem", "PutItem"):
            return
        self._kept.append((operation, json.loads(request.body)))
        if self._lost:
            self._gave_up = True
            raise ConnectionClosedError(endpoint_url=request.url)

    def seconds_left(self):
        return 0 if self._gave_up else math.inf

    def deliver(self):
        """What was kept arrives. How many of it were applied, of how many."""
        client, applied = self._store.client, 0
        send = {"UpdateItem": client.update_item, "PutItem": client.put_item}
        for operation, parameters in self._kept:
            try:
                send[operation](**parameters)
            except client.exceptions.ConditionalCheckFailedException:
                continue
            applied += 1
        return applied, len(self._kept)


@pytest.fixture
def network(store):
    return Network(store)


@pytest.fixture
def make(store, network, monkeypatch, lambda_context):
    """make(write, thread id) → (whether it was acknowledged, the answer)"""
    repository = PreferenceRepository(store.watched, store.table_name, seconds_left=network.seconds_left)
    store.repository()  # nothing comes between any more
    monkeypatch.setattr("preferences.api.http.open_repository", lambda _: repository)

    def make(write, thread_id):
        if write in TOOL_CALLS:
            tools = PreferenceTools(thread_id, repository, user_id="ada")
            envelope = tools.call(*TOOL_CALLS[write])
            outcomes = {item["outcome"] for item in envelope.get("items", ())}
            return bool(outcomes & {"recorded", "updated", "removed"} or tools.suggested), envelope
        body = ASKS[write].body if write in ASKS else None
        event = {
            "version": "2.0",
            "routeKey": write,
            "rawQueryString": "",
            "headers": {"content-type": "application/json"},
            "pathParameters": {
                "thread_id": thread_id,
                "id": WISH if "suggestions" in write else ROW,
                "revision": "7",
            },
            "requestContext": {"authorizer": {"jwt": {"claims": {"sub": "ada", "token_use": "access"}}}},
            "body": None if body is None else json.dumps(body),
            "isBase64Encoded": False,
        }
        answer = handler(event, lambda_context())
        return answer["statusCode"] < 300, json.loads(answer.get("body") or "null")

    return make


@pytest.fixture(scope="module")
def begin(store):
    """begin(start) → the id of a fresh thread. Where it has rows, its revision 7 was an edit to undo."""
    items = {"not stored": []}
    for start in STARTS.keys() - items.keys():
        scene = Scene(store, STATES["locked" if start == "locked" else "unlocked"])
        if start == "deleted":
            store.other.delete_thread(scene.thread_id, ADA)
        else:
            remember_an_edit(scene)
        key = {":pk": store.key(scene.thread_id)["pk"]}
        found = store.client.query(
            TableName=store.table_name, KeyConditionExpression="pk = :pk", ExpressionAttributeValues=key
        )
        items[start] = found["Items"]

    def begin(start):
        thread_id = store.new_id()
        for item in items[start]:
            copy = item | {"pk": store.key(thread_id)["pk"]}
            store.client.put_item(TableName=store.table_name, Item=copy)
        return thread_id

    return begin


@pytest.mark.parametrize(("start", "earlier"), PAIRS_BEGIN)
def test_a_write_that_was_given_up_is_not_applied_after_a_later_acknowledgement(
    store, network, begin, make, start, earlier
):
    later_writes = some([write for write in WRITES if write in STARTS[start]], earlier)
    for later in later_writes:
        thread_id = begin(start)
        before = store.item(thread_id)
        with network.keeping(lose=True):
            acknowledged, answer = make(earlier, thread_id)
        assert not acknowledged
        assert (answer.get("code") or answer["error"]["code"]) == "outcome_unknown"
        assert store.item(thread_id) == before
        acknowledged, answer = make(later, thread_id)
        assert acknowledged, (later, answer)
        stands = store.item(thread_id)
        assert network.deliver() == (0, 1), f"{earlier} was applied after {later}"
        assert store.item(thread_id) == stands
    tried("late writes", "writes given up that arrived after a later acknowledgement", len(later_writes))


@pytest.mark.parametrize(("start", "earlier"), PAIRS_BEGIN)
def test_a_write_that_is_delivered_twice_is_applied_once_and_before_a_later_acknowledgement(
    store, network, begin, make, start, earlier
):
    count = 0
    for later in some(WRITES, earlier):
        thread_id = begin(start)
        before = (store.item(thread_id) or {"revision": 0})["revision"]
        with network.keeping(lose=False):
            acknowledged, answer = make(earlier, thread_id)
        assert acknowledged, answer
        assert store.item(thread_id)["revision"] == before + 1
        acknowledged, _ = make(later, thread_id)  # most is refused once the row or the thread is gone
        stands = store.item(thread_id)
        assert stands["revision"] == before + 1 + acknowledged
        assert network.deliver() == (0, 1), f"{earlier} was applied twice, the second time after {later}"
        assert store.item(thread_id) == stands
        count += acknowledged
    assert count >= 1
    tried("late writes", "writes delivered once more after a later acknowledgement", count)


def test_a_registration_under_a_minted_id_that_is_delivered_twice_takes_nothing_back(store, network, make):
    [route] = ELSEWHERE
    count = 0
    for later in WRITES:
        with network.keeping(lose=False):
            acknowledged, answer = make(route, "")
        assert acknowledged
        acknowledged, _ = make(later, answer["thread_id"])
        stands = store.item(answer["thread_id"])
        assert network.deliver() == (0, 1)
        assert store.item(answer["thread_id"]) == stands
        count += acknowledged
    assert count >= len([PUT, DELETE, *ADDITIONS])


@pytest.mark.parametrize("between", [0, 1, 16, 17, 25])
def test_an_unlock_that_was_given_up_is_not_applied_after_a_lock_however_many_more_were(
    store, network, begin, make, between
):
    """The lock finds the row locked, and is a commit all the same."""
    thread_id = begin("locked")
    kept = []
    for write in (UNLOCK, *[ORDER, UNLOCK] * between):
        with network.keeping(lose=True):
            assert not make(write, thread_id)[0]
        kept += network._kept
    assert make(LOCK, thread_id)[0]
    stands = store.item(thread_id)
    network._kept = kept
    assert network.deliver() == (0, 1 + 2 * between)
    assert store.item(thread_id) == stands
    assert stands["preferences"][ROW]["locked"]

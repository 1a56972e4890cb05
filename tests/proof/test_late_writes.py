"""The second promise: nothing that was sent before an acknowledgement takes it back afterwards.

Every write, that of every tool and of every route, is tried against every later write that is acknowledged.
Late: its sender gave it up, and it arrives after the other was acknowledged. Twice: it was applied, and
something on the way delivers it once more. The writes are taken from the registries of tools and routes: one
that is added and not tried here fails a test.
"""

import json
from contextlib import contextmanager, suppress

import pytest
from botocore.exceptions import ReadTimeoutError

from preferences.api import handler
from preferences.api.routes import ROUTES
from preferences.tools import TOOLS, PreferenceTools
from tests.effort import tried
from tests.proof.test_lock import ASKS, CALLS, ELSEWHERE, PUT_BACK, ROW, STATES, Scene, remember_an_edit
from tests.support import ADA

pytestmark = pytest.mark.parametrize("store", ["dynoxide"], indirect=True, scope="module")

TOOL_WRITES = {name: calls[0] for name, calls in CALLS.items() if name != "list_preferences"}
WRITES = [*TOOL_WRITES, *ASKS]


def test_every_tool_and_every_route_that_writes_is_tried(store):
    assert TOOL_WRITES.keys() | {"list_preferences"} == TOOLS.keys()
    assert ASKS.keys() | ELSEWHERE == {key for key in ROUTES if not key.startswith("GET ")}


class Sender:
    """Makes writes through the product's client, and keeps each of them as it is sent."""

    def __init__(self, store, make_context):
        self._store, self._make_context = store, make_context
        self.sent = []

    def write(self, name, thread_id) -> bool:
        """Whether it was acknowledged."""
        if name in TOOL_WRITES:
            tools = PreferenceTools(thread_id, self._store.repository(), user_id="ada")
            envelope = tools.call(name, TOOL_WRITES[name])
            done = {item["outcome"] for item in envelope.get("items", ())}
            return bool(done & {"recorded", "updated", "removed"})
        body = ASKS[name].body
        event = {
            "version": "2.0",
            "routeKey": name,
            "rawQueryString": "",
            "headers": {"content-type": "application/json"},
            "pathParameters": {"thread_id": thread_id, "id": ROW, "revision": "7"},
            "requestContext": {"authorizer": {"jwt": {"claims": {"sub": "ada", "token_use": "access"}}}},
            "body": None if body is None else json.dumps(body),
            "isBase64Encoded": False,
        }
        return handler(event, self._make_context())["statusCode"] < 300

    @contextmanager
    def keeping(self, *, lose):
        """Keeps every write that is sent meanwhile; `lose`: and it does not arrive, and is given up."""
        given_up = []

        def hook(request, operation_name=None, **_):
            operation = request.headers["X-Amz-Target"].decode().rpartition(".")[2]
            if operation in ("UpdateItem", "PutItem"):
                self.sent.append((operation, json.loads(request.body)))
                if lose:
                    given_up.append(True)
                    raise ReadTimeoutError(endpoint_url=request.url)

        events = self._store.watched.meta.events
        events.register("before-send.dynamodb", hook)
        try:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("preferences.repository.table.Budget.allows_call", lambda _: not given_up)
                yield
        finally:
            events.unregister("before-send.dynamodb", hook)

    def deliver(self):
        """Everything that was kept arrives now; whether anything of it was applied."""
        client = self._store.client
        applied = 0
        for operation, request in self.sent:
            call = {"UpdateItem": client.update_item, "PutItem": client.put_item}[operation]
            with suppress(client.exceptions.ConditionalCheckFailedException):
                call(**request)
                applied += 1
        return bool(applied)


@pytest.fixture
def sender(store, monkeypatch, lambda_context):
    monkeypatch.setattr("preferences.repository.store.dynamodb_client", lambda: store.watched)
    monkeypatch.setattr("preferences.repository.store.table_name", lambda: store.table_name)
    return Sender(store, lambda_context)


@pytest.fixture
def thread_id(store):
    """A thread whose revision 7 was an edit that can be undone."""
    scene = Scene(store, STATES["unlocked"])
    remember_an_edit(scene)
    return scene.thread_id


@pytest.mark.parametrize("earlier", WRITES)
def test_a_write_that_was_given_up_does_not_arrive_after_a_later_acknowledgement(store, sender, earlier):
    for later in WRITES:
        scene = Scene(store, STATES["unlocked"])
        remember_an_edit(scene)
        sender.sent.clear()
        with sender.keeping(lose=True):
            assert not sender.write(earlier, scene.thread_id)
        assert sender.sent
        assert sender.write(later, scene.thread_id), later
        stands = store.item(scene.thread_id)
        assert not sender.deliver(), f"{earlier} was applied after {later}"
        assert store.item(scene.thread_id) == stands
    tried("writes", "late writes against a later acknowledgement", len(WRITES))


@pytest.mark.parametrize("earlier", WRITES)
def test_a_write_that_is_delivered_twice_does_not_arrive_after_a_later_acknowledgement(
    store, sender, earlier
):
    acknowledged = 0
    for later in WRITES:
        scene = Scene(store, STATES["unlocked"])
        remember_an_edit(scene)
        sender.sent.clear()
        with sender.keeping(lose=False):
            assert sender.write(earlier, scene.thread_id)
        acknowledged += sender.write(later, scene.thread_id)
        stands = store.item(scene.thread_id)
        assert not sender.deliver(), f"{earlier} was applied twice, after {later}"
        assert store.item(scene.thread_id) == stands
    # Of a row or a thread that is gone, most is refused; a deleted thread can be restored.
    assert acknowledged >= 1
    tried("writes", "duplicated writes against a later acknowledgement", acknowledged)


def test_an_unlock_that_was_given_up_does_not_open_a_lock_that_was_locked_already(store, sender):
    """The lock is acknowledged though it finds all as it shall be: that, too, is a commit."""
    scene = Scene(store, STATES["locked"])
    with sender.keeping(lose=True):
        assert not sender.write("DELETE /threads/{thread_id}/preferences/{id}/lock", scene.thread_id)
    for _ in range(20):  # however many are given up in between
        with sender.keeping(lose=True):
            assert not sender.write("PUT /threads/{thread_id}/order", scene.thread_id)
    assert sender.write("PUT /threads/{thread_id}/preferences/{id}/lock", scene.thread_id)
    assert not sender.deliver()
    assert store.rows(scene.thread_id)[ROW]["locked"]
    envelope = PreferenceTools(scene.thread_id, store.other, user_id="ada").remove_preferences(indices=[2])
    assert envelope["items"][0]["outcome"] == "locked"


def test_a_deletion_that_is_delivered_twice_does_not_remove_the_restored_thread(store, sender):
    scene = Scene(store, STATES["unlocked"])
    with sender.keeping(lose=False):
        assert sender.write("DELETE /threads/{thread_id}", scene.thread_id)
    assert sender.write("PUT /threads/{thread_id}", scene.thread_id)
    assert not sender.deliver()
    assert store.other.list_preferences(scene.thread_id, ADA).owner == "ada"


def test_the_entry_to_undo_is_there(store, thread_id):
    """Else the undo of this file would be refused everywhere."""
    assert PUT_BACK in ASKS
    assert store.other.undo(thread_id, 7, ADA).revision == 8

"""The promise: once a user's lock is acknowledged, nothing that an agent does changes or removes the row.

A matrix of every verb that there is, by every state in which it may find the row. The verbs are taken from
the registries of tools, methods and routes themselves: one that is added and not tried here fails a test.
With PROVE_REPORT set to a folder, the matrix is written there as it was run.
"""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from preferences import rules
from preferences.api import handler
from preferences.api.routes import ROUTES
from preferences.model import Caller, IndexedEdit
from preferences.repository import PreferenceRepository
from preferences.tools import TOOLS, PreferenceTools
from tests.effort import tried
from tests.support import ADA, AGENT, TRUSTED, drafts, row

ROW = "B"
"""The row in question: the second of three. Its neighbours are A and C."""
WISH = "wish"
"""A suggestion that waits for it."""


# -- the states -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class State:
    """How the row is stored when a verb sets out, and what the user does before the verb's first write."""

    locked: bool | None
    """None: there is no such row."""
    meanwhile: Callable[[Any, str], object] = lambda store, thread_id: None
    gone: bool = False
    """Whether the row is gone when the verb writes."""


def _edit_and_lock(store, thread_id):
    store.other.edit_preference(thread_id, ROW, {"title": "Mine", "locked": True}, ADA)


def _lock_unlock_lock(store, thread_id):
    for locked in (True, False, True):
        store.other.set_lock(thread_id, ROW, ADA, locked=locked)


STATES = {
    "unlocked": State(False),
    "locked": State(True),
    "missing": State(None, gone=True),
    "locked in between": State(
        False, lambda store, thread: store.other.set_lock(thread, ROW, ADA, locked=True)
    ),
    "locked in between at the same revision": State(
        False, lambda store, thread: store.flip(thread, ROW, locked=True)
    ),
    "edited and locked in between": State(False, _edit_and_lock),
    "locked, unlocked, locked in between": State(False, _lock_unlock_lock),
    "unlocked in between": State(
        True, lambda store, thread: store.other.set_lock(thread, ROW, ADA, locked=False)
    ),
    "removed in between": State(
        False, lambda store, thread: store.other.remove_preference(thread, ROW, ADA), gone=True
    ),
}
every_state = pytest.mark.parametrize("state", STATES)


class Scene:
    """A thread with the row in a state, and the verb's repository, before whose first write it goes on."""

    def __init__(self, store, state: State) -> None:
        self.store = store
        rows = {"A": row("A", rank=1), ROW: row(ROW, rank=2), "C": row("C", rank=3)}
        if state.locked is None:
            del rows[ROW]
        else:
            rows[ROW]["locked"] = state.locked
        wish = {"action": "edit", "target": ROW, "base": 1, "at": "2026-11-30T22:08:31.123Z"}
        fields = {"title": "Wished", "kind": "soft"}
        self.thread_id = store.write(rows, suggestions={WISH: wish | {"fields": fields}})
        self.before: dict[str, Any] | None = None
        """What is stored of the row right before the verb's first write; without one, when it sets out."""
        self.wrote = False
        self.repo = store.repository(before_write=lambda: self._meanwhile(state))
        self._look()

    def _meanwhile(self, state: State) -> None:
        self.wrote = True
        state.meanwhile(self.store, self.thread_id)
        self._look()

    def _look(self) -> None:
        self.before = self.store.rows(self.thread_id).get(ROW)

    @property
    def after(self) -> dict[str, Any] | None:
        return (self.store.item(self.thread_id) or {}).get("preferences", {}).get(ROW)

    def check_promise(self) -> None:
        """What an agent's verb may not do: touch the row that is locked, bring back the one that is gone."""
        if self.before is None:
            assert self.after is None
        elif self.before["locked"]:
            assert self.after == self.before


# -- the report -----------------------------------------------------------------------------------------

_SAW: dict[str, dict[str, str]] = {}


def _note(who: str, verb: str, state: str, scene: Scene) -> None:
    if scene.after is None:
        word = "not there" if scene.before is None else "removed"
    else:
        word = "untouched" if scene.after == scene.before else "changed"
    assert _SAW.setdefault(f"{who}: {verb}", {}).setdefault(state, word) == word, "the engines differ"
    tried("lock", "times a verb met the row in a state", 1)


@pytest.fixture(scope="module", autouse=True)
def _report():
    yield
    if folder := os.environ.get("PROVE_REPORT"):
        lines = [f"| verb | {' | '.join(STATES)} |", "| --- " * (len(STATES) + 1) + "|"]
        lines += [
            f"| {verb} | {' | '.join(saw.get(state, '–') for state in STATES)} |"
            for verb, saw in _SAW.items()
        ]
        Path(folder).mkdir(parents=True, exist_ok=True)
        (Path(folder) / "lock-matrix.md").write_text("\n".join(lines) + "\n", "utf-8")


# -- agents: tools --------------------------------------------------------------------------------------

Arguments = dict[str, Any]
CALLS: dict[str, list[Arguments]] = {
    "add_preferences": [{"items": [{"title": ROW}, {"title": "New"}]}],
    "list_preferences": [{}],
    "update_preferences": [
        {"updates": [{"index": 2, "title": "Agent's"}]},
        {"updates": [{"index": 2, "kind": "hard"}], "list_revision": 7},
        {"updates": [{"index": n, "subtitle": "Agent's"} for n in (1, 2, 3)]},
    ],
    "remove_preferences": [
        {"indices": [2]},
        {"indices": [2], "list_revision": 7},
        {"indices": [1, 2, 3]},
    ],
}
TOOL_CALLS = {
    f"{name} {json.dumps(arguments)}": (name, arguments)
    for name, calls in CALLS.items()
    for arguments in calls
}
HARMLESS = {"add_preferences", "list_preferences"}
"""Tools that name no row that is there already."""


def test_every_tool_is_tried():
    assert CALLS.keys() == TOOLS.keys()


@every_state
@pytest.mark.parametrize("call", TOOL_CALLS)
def test_no_tool_touches_a_locked_row(store, state, call):
    tool, arguments = TOOL_CALLS[call]
    scene = Scene(store, STATES[state])
    user_id = None if "list_revision" in arguments else "ada"  # the promise knows no difference
    envelope = PreferenceTools(scene.thread_id, scene.repo, user_id=user_id).call(tool, arguments)
    _note("agent", call, state, scene)
    scene.check_promise()
    if tool in HARMLESS:
        return
    said = next(item["outcome"] for item in envelope["items"] if item["index"] == 2)
    if scene.before is not None and scene.before["locked"]:
        assert said == "locked"
    elif state == "removed in between":
        assert said == "out_of_range"
    elif state == "unlocked":
        assert scene.after != scene.before, "the verb does not even reach the row that it is tried on"
    if state.endswith(("in between", "revision")) and state != "unlocked in between":
        assert scene.wrote, "nothing came between"


# -- agents and the user: the repository's methods --------------------------------------------------------

Method = Callable[[PreferenceRepository, str, Caller], object]
METHODS: dict[str, Method] = {
    "add_preferences_bulk": lambda repo, thread, caller: repo.add_preferences_bulk(
        thread, drafts("X", "Y"), caller
    ),
    "update_preferences": lambda repo, thread, caller: repo.update_preferences(
        thread, [IndexedEdit(index=2, title="Theirs")], caller, respect_lock=False
    ),
    "remove_preferences": lambda repo, thread, caller: repo.remove_preferences(
        thread, [2], caller, respect_lock=False
    ),
    "edit_preference": lambda repo, thread, caller: repo.edit_preference(
        thread, ROW, {"title": "Theirs"}, caller
    ),
    "remove_preference": lambda repo, thread, caller: repo.remove_preference(thread, ROW, caller),
    "set_lock": lambda repo, thread, caller: repo.set_lock(thread, ROW, caller, locked=False),
    "set_all_locks": lambda repo, thread, caller: repo.set_all_locks(thread, caller, locked=False),
    "reorder": lambda repo, thread, caller: repo.reorder(thread, ["C", ROW, "A"], caller),
    "set_title": lambda repo, thread, caller: repo.set_title(thread, "Theirs", caller),
    "accept_suggestion": lambda repo, thread, caller: repo.accept_suggestion(thread, WISH, caller),
    "dismiss_suggestions": lambda repo, thread, caller: repo.dismiss_suggestions(thread, caller, WISH),
    "undo": lambda repo, thread, caller: repo.undo(thread, 7, caller),
    "register_thread": lambda repo, thread, caller: repo.register_thread(thread, caller),
    "delete_thread": lambda repo, thread, caller: repo.delete_thread(thread, caller),
}
READS = {"list_preferences", "list_threads", "list_history", "history", "retries"}


def test_every_method_is_tried():
    public = {name for name in vars(PreferenceRepository) if not name.startswith("_")}
    assert public == METHODS.keys() | READS


FOR_BOTH = ("add_preferences_bulk", "update_preferences", "remove_preferences")


@every_state
@pytest.mark.parametrize("method", FOR_BOTH)
def test_no_method_touches_a_locked_row_for_an_agent_that_wants_to_pass_the_lock(store, state, method):
    scene = Scene(store, STATES[state])
    METHODS[method](scene.repo, scene.thread_id, TRUSTED)
    _note("agent", f"{method}()", state, scene)
    scene.check_promise()


@pytest.mark.parametrize("method", [method for method in METHODS if method not in FOR_BOTH])
def test_every_other_method_is_the_users_alone(store, method):
    scene = Scene(store, STATES["locked"])
    with pytest.raises(ValueError, match="only a user may do this"):
        METHODS[method](scene.repo, scene.thread_id, AGENT)
    _note("agent", f"{method}()", "locked", scene)
    scene.check_promise()


# -- the user: routes -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ask:
    """A request that changes something, and what becomes of the row when it is there."""

    body: object = None
    keeps: bool = True
    """Whether the row is still there afterwards."""
    locks: bool | None = None
    """Whether it is locked afterwards; None: as it was."""
    needs_the_row: bool = True
    """Whether it is refused when the row is gone."""
    writes_the_row: bool = True


ACCEPT = "POST /threads/{thread_id}/suggestions/{id}/accept"
PUT_BACK = "POST /threads/{thread_id}/history/{revision}/undo"
ASKS = {
    "PUT /threads/{thread_id}": Ask(needs_the_row=False, writes_the_row=False),
    "PATCH /threads/{thread_id}": Ask(body={"title": "Ada's"}, needs_the_row=False, writes_the_row=False),
    "DELETE /threads/{thread_id}": Ask(keeps=False, needs_the_row=False),
    "PUT /threads/{thread_id}/lock": Ask(locks=True, needs_the_row=False),
    "DELETE /threads/{thread_id}/lock": Ask(locks=False, needs_the_row=False),
    "PUT /threads/{thread_id}/order": Ask(body={"ids": [ROW, "C"]}),
    "POST /threads/{thread_id}/preferences": Ask(
        body={"items": [{"title": "New"}]}, needs_the_row=False, writes_the_row=False
    ),
    "PATCH /threads/{thread_id}/preferences/{id}": Ask(body={"title": "Ada's"}),
    "DELETE /threads/{thread_id}/preferences/{id}": Ask(keeps=False),
    "PUT /threads/{thread_id}/preferences/{id}/lock": Ask(locks=True),
    "DELETE /threads/{thread_id}/preferences/{id}/lock": Ask(locks=False),
    ACCEPT: Ask(),
    "DELETE /threads/{thread_id}/suggestions/{id}": Ask(needs_the_row=False, writes_the_row=False),
    "DELETE /threads/{thread_id}/suggestions": Ask(needs_the_row=False, writes_the_row=False),
    PUT_BACK: Ask(),
}
ELSEWHERE = {"POST /threads"}
"""Routes that make a thread of their own."""


def test_every_route_is_tried():
    changing = {key for key in ROUTES if not key.startswith("GET ")}
    assert changing == ASKS.keys() | ELSEWHERE


@pytest.fixture
def ask(store, monkeypatch, lambda_context):
    """ask(route, thread id, body) → (status, JSON): through the people's handler, as Ada."""
    store.repository()
    monkeypatch.setattr("preferences.repository.store.dynamodb_client", lambda: store.watched)
    monkeypatch.setattr("preferences.repository.store.table_name", lambda: store.table_name)

    def send(key, thread_id, body=None):
        event = {
            "version": "2.0",
            "routeKey": key,
            "rawQueryString": "",
            "headers": {"content-type": "application/json"},
            "pathParameters": {
                "thread_id": thread_id,
                "id": WISH if "suggestions" in key else ROW,
                "revision": "7",
            },
            "requestContext": {
                "requestId": "r",
                "authorizer": {"jwt": {"claims": {"sub": "ada", "token_use": "access"}}},
            },
            "body": None if body is None else json.dumps(body),
            "isBase64Encoded": False,
        }
        answer = handler(event, lambda_context())
        return answer["statusCode"], json.loads(answer.get("body") or "null")

    return send


def remember_an_edit(scene: Scene) -> None:
    """Makes revision 7 an edit of the row, kept in the history, that can be put back."""
    new = scene.store.other.list_preferences(scene.thread_id, ADA)
    if (edited := new.find(ROW)) is None:
        return
    old_rows = [r.model_copy(update={"title": "Before"}) if r == edited else r for r in new.preferences]
    change = {"id": "change-7", "actor": "agent", "action": "edit", "at": "2099-11-30T22:08:31.123Z"}
    scene.store.poke(scene.thread_id, "last_change", value=change)
    new = scene.store.other.list_preferences(scene.thread_id, ADA)
    old = new.model_copy(update={"revision": 6, "preferences": tuple(old_rows), "last_change": None})
    scene.store.other.history.put(scene.thread_id, rules.entry_of(old, new))


@every_state
@pytest.mark.parametrize("key", ASKS)
def test_the_user_may_do_everything_to_a_row_that_is_there_whatever_its_lock(store, ask, state, key):
    asked = ASKS[key]
    scene = Scene(store, STATES[state])
    if key == PUT_BACK:
        remember_an_edit(scene)
    status, answer = ask(key, scene.thread_id, asked.body)
    _note("user", key, state, scene)
    if STATES[state].gone:
        if scene.wrote or state == "missing":
            assert scene.after is None
        if asked.needs_the_row:
            assert status in ((422,) if key.endswith("/order") else (404, 409))
        return
    if key in (PUT_BACK, ACCEPT) and state == "edited and locked in between":
        assert status == (
            409 if key == PUT_BACK else 404
        )  # a later change is in the way, or makes it outdated
        assert scene.after == scene.before
        return
    assert status < 300, answer
    if not asked.keeps:
        assert scene.after is None
    elif asked.locks is not None:
        # At the same revision it is no acknowledged lock: for the user's own writes, the revision tells.
        if not state.endswith("revision"):
            assert scene.after == scene.before | {"locked": asked.locks}
    else:
        assert (scene.after != scene.before) == asked.writes_the_row
        if not state.endswith("revision"):
            assert scene.after["locked"] == scene.before["locked"], "only an unlock takes a lock away"


@pytest.mark.parametrize("method", ["update_preferences", "remove_preferences"])
@every_state
def test_a_user_who_writes_by_position_may_pass_the_lock(store, state, method):
    scene = Scene(store, STATES[state])
    METHODS[method](scene.repo, scene.thread_id, ADA)
    _note("user", f"{method}()", state, scene)
    if state == "edited and locked in between":
        assert scene.after == scene.before  # another window of hers has had the later word
    elif scene.before is None:
        assert scene.after is None
    else:
        assert scene.after != scene.before


def test_a_user_who_writes_by_position_respects_the_lock_unless_told_otherwise(store):
    thread_id = store.thread("A", locked=("A",))
    for reports in (
        store.other.update_preferences(thread_id, [IndexedEdit(index=1, title="Mine")], ADA).reports,
        store.other.remove_preferences(thread_id, [1], ADA).reports,
    ):
        assert [report.outcome for report in reports] == ["locked"]
    assert store.titles(thread_id) == ["A"]

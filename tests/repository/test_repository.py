"""The repository: written through it and read by the raw client, and the reverse; on both engines."""

import itertools
import threading

import pytest

from preferences.errors import (
    Busy,
    Duplicate,
    InvalidInput,
    ListFull,
    OutcomeUnknown,
    PreconditionFailed,
    PreferenceNotFound,
    ThreadNotFound,
    ThreadTaken,
)
from preferences.model import MAX_PREFERENCES, Caller, Draft, IndexedEdit
from preferences.repository import PreferenceRepository, open_repository
from preferences.repository.table import MAX_KEYS
from tests.conftest import forget_environment
from tests.support import ADA, AGENT, EVE, PARTIES, TRUSTED, WRITES, drafts, edits, row

BOTH = pytest.mark.parametrize("caller", PARTIES.values(), ids=PARTIES.keys())


@pytest.fixture
def repo(store):
    return store.repository()


def outcomes(written):
    return [(report.index, report.outcome) for report in written.reports]


# -- reading --------------------------------------------------------------------------------------------


def test_a_list_is_read_in_one_call(store, repo):
    repo.list_preferences(store.thread("A"), ADA)
    assert store.calls == {"GetItem": 1}


def test_a_list_is_read_consistently(store):
    asked = []
    client = store.new_client()
    client.meta.events.register("before-call.dynamodb.GetItem", lambda params, **_: asked.append(params))
    PreferenceRepository(client, store.table_name).list_preferences(store.thread("A"), ADA)
    assert b'"ConsistentRead": true' in asked[0]["body"]


def test_rows_are_ordered_by_rank_as_a_number_and_then_by_id(store, repo):
    thread_id = store.write({"b": row("B", rank=10), "d": row("D", rank=9), "c": row("C", rank=10)})
    assert [r.title for r in repo.list_preferences(thread_id, ADA).preferences] == ["D", "B", "C"]


def test_all_that_is_stored_of_a_row_is_read(store, repo):
    stored = row("Quiet", subtitle="No bars", kind="hard", locked=True, changed=5, user_changed=4)
    thread = repo.list_preferences(store.write({"a": stored}), ADA)
    assert thread.preferences[0].model_dump() == stored | {"id": "a"}


def test_text_is_stored_and_read_as_it_is(store, repo):
    text = '< 30 m² & "twin" — \\u0041 \' #2 [hard] ]} 👩‍👩‍👧 שלום'
    thread_id = store.thread()
    repo.add_preferences_bulk(thread_id, [Draft(title=text, subtitle=text)], AGENT)
    stored = next(iter(store.rows(thread_id).values()))
    assert (stored["title"], stored["subtitle"]) == (text, text)
    assert repo.list_preferences(thread_id, ADA).preferences[0].subtitle == text


def test_one_row_that_an_older_version_left_odd_does_not_hide_the_others(store, repo):
    odd = {"title": "Odd", "kind": "firm", "rank": 2, "mood": "unknown to us"}
    thread = repo.list_preferences(store.write({"a": row("A"), "b": odd}), ADA)
    assert [r.title for r in thread.preferences] == ["A", "Odd"]


def test_a_row_without_locked_is_shown_as_locked_since_no_agent_can_touch_it(store, repo):
    bare = row("Bare")
    del bare["locked"]
    thread_id = store.write({"a": bare})
    written = repo.remove_preferences(thread_id, [1], AGENT)
    assert outcomes(written) == [(1, "locked")]
    assert written.thread.preferences[0].locked


def test_the_record_of_the_last_change_may_hold_what_only_a_later_version_knows(store, repo):
    change = {"id": "x", "actor": "user", "action": "edit", "at": "2026-11-30T22:08:31.123Z", "mood": "later"}
    thread_id = store.write({"a": row("A")}, last_change=change)
    assert repo.list_preferences(thread_id, ADA).last_change.action == "edit"


# -- who may --------------------------------------------------------------------------------------------

EVERY_VERB = {
    "list_preferences": lambda repo, thread, caller: repo.list_preferences(thread, caller),
    "add_preferences_bulk": lambda repo, thread, caller: repo.add_preferences_bulk(
        thread, drafts("New"), caller
    ),
    "update_preferences": lambda repo, thread, caller: repo.update_preferences(
        thread, edits((1, "New")), caller
    ),
    "remove_preferences": lambda repo, thread, caller: repo.remove_preferences(thread, [1], caller),
    "delete_thread": lambda repo, thread, caller: repo.delete_thread(thread, caller),
    "edit_preference": lambda repo, thread, caller: repo.edit_preference(
        thread, "A", {"title": "New"}, caller
    ),
    "remove_preference": lambda repo, thread, caller: repo.remove_preference(thread, "A", caller),
    "set_lock": lambda repo, thread, caller: repo.set_lock(thread, "A", caller, locked=True),
    "set_all_locks": lambda repo, thread, caller: repo.set_all_locks(thread, caller, locked=True),
    "reorder": lambda repo, thread, caller: repo.reorder(thread, ["B", "A"], caller),
    "set_title": lambda repo, thread, caller: repo.set_title(thread, "Trip to Rome", caller),
    "accept_suggestion": lambda repo, thread, caller: repo.accept_suggestion(thread, "wish", caller),
    "dismiss_suggestions": lambda repo, thread, caller: repo.dismiss_suggestions(thread, caller),
    "list_history": lambda repo, thread, caller: repo.list_history(thread, caller, limit=10),
    "undo": lambda repo, thread, caller: repo.undo(thread, 7, caller),
}
FOR_BOTH = (
    "list_preferences",
    "list_history",
    "add_preferences_bulk",
    "update_preferences",
    "remove_preferences",
)
FOR_THE_USER = tuple(verb for verb in EVERY_VERB if verb not in FOR_BOTH)
every_verb = pytest.mark.parametrize("verb", EVERY_VERB)


def test_the_verbs_under_test_are_all_that_the_repository_has():
    public = {name for name in vars(PreferenceRepository) if not name.startswith("_")}
    assert public == EVERY_VERB.keys() | {"register_thread", "list_threads", "history", "retries"}


@every_verb
def test_a_strangers_thread_is_as_good_as_none(store, repo, verb):
    thread_id = store.thread("A", "B")
    before = store.item(thread_id)
    with pytest.raises(ThreadNotFound):
        EVERY_VERB[verb](repo, thread_id, EVE)
    assert store.item(thread_id) == before


@pytest.mark.parametrize("verb", FOR_BOTH)
def test_an_agent_of_another_user_finds_no_thread(store, repo, verb):
    thread_id = store.thread("A", "B")
    before = store.item(thread_id)
    with pytest.raises(ThreadNotFound):
        EVERY_VERB[verb](repo, thread_id, Caller(actor="agent", owner="eve"))
    assert store.item(thread_id) == before


@every_verb
def test_a_thread_that_is_not_stored_is_not_found_by_the_user(store, repo, verb):
    thread_id = store.new_id()
    with pytest.raises(ThreadNotFound):
        EVERY_VERB[verb](repo, thread_id, ADA)
    assert store.item(thread_id) is None


@pytest.mark.parametrize("verb", FOR_BOTH)
def test_a_thread_that_is_not_stored_is_not_found_by_an_agent_without_a_user(store, repo, verb):
    thread_id = store.new_id()
    with pytest.raises(ThreadNotFound):
        EVERY_VERB[verb](repo, thread_id, TRUSTED)
    assert store.item(thread_id) is None


@every_verb
def test_a_deleted_thread_is_not_found_by_its_former_owner(store, repo, verb):
    thread_id = store.thread("A", "B")
    repo.delete_thread(thread_id, ADA)
    tombstone = store.item(thread_id)
    with pytest.raises(ThreadNotFound):
        EVERY_VERB[verb](repo, thread_id, ADA)
    assert store.item(thread_id) == tombstone


@pytest.mark.parametrize("caller", [AGENT, TRUSTED], ids=["agent", "trusted agent"])
@pytest.mark.parametrize("verb", FOR_BOTH)
def test_a_deleted_thread_is_not_found_by_any_agent(store, repo, verb, caller):
    thread_id = store.thread("A", "B")
    repo.delete_thread(thread_id, ADA)
    tombstone = store.item(thread_id)
    with pytest.raises(ThreadNotFound):
        EVERY_VERB[verb](repo, thread_id, caller)
    assert store.item(thread_id) == tombstone


@pytest.mark.parametrize("caller", [AGENT, TRUSTED], ids=["agent", "trusted agent"])
@pytest.mark.parametrize("verb", FOR_THE_USER)
def test_what_is_the_users_alone_is_never_done_for_an_agent(store, repo, verb, caller):
    thread_id = store.thread("A", "B")
    before = store.item(thread_id)
    with pytest.raises(ValueError, match="only a user"):
        EVERY_VERB[verb](repo, thread_id, caller)
    assert store.item(thread_id) == before


# -- round trips ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", WRITES)
def test_every_write_is_a_read_and_a_write(store, repo, verb):
    WRITES[verb](repo, store.thread("A", "B", "C", locked=("B",)))
    assert store.calls == {"GetItem": 1, "UpdateItem": 1}


@pytest.mark.parametrize("conflicts", [1, 3])
@pytest.mark.parametrize("verb", [verb for verb in WRITES if verb != "edit with If-Match"])
def test_each_conflict_costs_a_write_one_more_call(store, verb, conflicts):
    thread_id = store.thread("A", "B", "C", locked=("B",))
    names = iter(["D", "E", "F"])

    def another_writer():
        store.other.add_preferences_bulk(thread_id, drafts(next(names)), ADA)

    repo = store.repository(before_write=another_writer, times=conflicts)
    WRITES[verb](repo, thread_id)
    assert store.calls == {"GetItem": 1, "UpdateItem": 1 + conflicts}
    assert store.item(thread_id)["revision"] == 7 + conflicts + 1


@pytest.mark.parametrize(("caller", "reads"), [(AGENT, 4), (ADA, 1)], ids=["agent", "user"])
def test_from_the_fifth_conflict_on_an_agent_pauses_and_reads_again_and_a_user_does_not(
    store, monkeypatch, caller, reads
):
    pauses = []
    monkeypatch.setattr("preferences.repository.table.Budget.pause", lambda _, n: pauses.append(n))
    thread_id = store.thread()
    names = iter(range(100))
    repo = store.repository(
        before_write=lambda: store.other.add_preferences_bulk(thread_id, drafts(f"Row {next(names)}"), ADA),
        times=7,
    )
    repo.add_preferences_bulk(thread_id, drafts("X"), caller)
    assert store.calls == {"GetItem": reads, "UpdateItem": 8}
    assert pauses == [1, 2, 3][: reads - 1]


def test_registering_is_a_read_and_a_write(store, repo):
    repo.register_thread(store.new_id(), ADA)
    assert store.calls == {"GetItem": 1, "PutItem": 1}


def test_an_agents_first_addition_registers_the_thread_and_stores_its_rows_at_once(store, repo):
    thread_id = store.new_id()
    repo.add_preferences_bulk(thread_id, drafts("A", "B"), AGENT)
    assert store.calls == {"GetItem": 1, "PutItem": 1}
    item = store.item(thread_id)
    assert (item["owner"], item["revision"], len(item["preferences"])) == ("ada", 1, 2)


# -- what is stored -------------------------------------------------------------------------------------


def test_every_write_path_leaves_locked_on_every_row(store):
    repo = store.repository()
    registered, first_added = store.new_id(), store.new_id()
    repo.register_thread(registered, ADA)
    repo.add_preferences_bulk(first_added, drafts("A", "B"), AGENT)
    for verb, act in WRITES.items():
        if verb == "delete the thread":
            continue
        thread_id = store.thread("A", "B", "C", locked=("B",))
        act(repo, thread_id)
        assert all(isinstance(r.get("locked"), bool) for r in store.rows(thread_id).values()), verb
    assert [r["locked"] for r in store.rows(first_added).values()] == [False, False]


@pytest.mark.parametrize("verb", WRITES)
def test_every_write_takes_one_revision(store, repo, verb):
    thread_id = store.thread("A", "B", "C", locked=("B",))
    WRITES[verb](repo, thread_id)
    assert store.item(thread_id)["revision"] == 8


@pytest.mark.parametrize("verb", WRITES)
def test_every_write_leaves_its_id_as_the_newest(store, repo, verb):
    thread_id = store.thread("A", "B", "C", locked=("B",))
    for n in (1, 2):
        store.other.set_lock(thread_id, "C", ADA, locked=n % 2 == 0)
    WRITES[verb](repo, thread_id)
    item = store.item(thread_id)
    ids = item["recent"]["ids"]
    assert (len(ids), item["recent"]["ends"], ids[-12:]) == (36, 10, item["last_change"]["id"])


def test_the_newest_sixteen_writes_are_remembered_over_deletion_and_restoration(store, repo):
    thread_id = store.thread("A")
    ids = []
    for n in range(20):
        repo.set_lock(thread_id, "A", ADA, locked=n % 2 == 0)
        ids.append(store.item(thread_id)["last_change"]["id"])
    for act in (repo.delete_thread, repo.register_thread):
        act(thread_id, ADA)
        ids.append(store.item(thread_id)["last_change"]["id"])
    assert store.item(thread_id)["recent"] == {"ids": "".join(ids[-16:]), "ends": 29}
    assert len("".join(ids[-16:])) == 192


def test_writes_of_other_code_in_between_are_not_taken_for_what_is_remembered(store, repo):
    thread_id = store.thread("A")
    repo.set_lock(thread_id, "A", ADA, locked=True)
    store.poke(thread_id, "revision", value=9)
    assert repo.list_preferences(thread_id, ADA).write_at(8) is None
    repo.set_lock(thread_id, "A", ADA, locked=False)
    item = store.item(thread_id)
    assert item["recent"] == {"ids": item["last_change"]["id"], "ends": 10}


@pytest.mark.parametrize("verb", [verb for verb in WRITES if verb != "delete the thread"])
def test_the_answer_is_the_list_as_it_is_stored(store, repo, verb):
    thread_id = store.thread("A", "B", "C", locked=("B",))
    answer = WRITES[verb](repo, thread_id)
    assert getattr(answer, "thread", answer) == repo.list_preferences(thread_id, ADA)


def test_a_write_says_who_did_what_and_why(store, repo):
    thread_id = store.thread("A")
    repo.update_preferences(thread_id, edits((1, "New")), AGENT)
    change = store.item(thread_id)["last_change"]
    assert (change["actor"], change["who"], change["action"], change["reasoning"]) == (
        "agent",
        "agent-1",
        "edit",
        "Because Ada said so.",
    )


def test_each_write_has_an_id_of_its_own(store, repo):
    thread_id = store.thread("A")
    seen = set()
    for locked in (True, False, True):
        repo.set_lock(thread_id, "A", ADA, locked=locked)
        seen.add(store.item(thread_id)["last_change"]["id"])
    assert len(seen) == 3


def test_new_rows_go_to_the_end_in_order_and_unlocked(store, repo):
    thread_id = store.thread("A", locked=("A",))
    written = repo.add_preferences_bulk(thread_id, drafts("C", "B"), AGENT)
    assert [(r.title, r.locked) for r in written.thread.preferences] == [
        ("A", True),
        ("C", False),
        ("B", False),
    ]


def test_an_edit_is_stamped_with_the_revision_that_it_makes(store, repo):
    thread_id = store.thread("A")
    repo.edit_preference(thread_id, "A", {"title": "New"}, ADA)
    stored = store.rows(thread_id)["A"]
    assert (stored["changed"], stored["user_changed"], stored["updated_by"]) == (8, 8, "user")


def test_an_agents_edit_leaves_the_mark_of_the_users(store, repo):
    thread_id = store.write({"A": row("A", changed=5, user_changed=5)})
    repo.update_preferences(thread_id, edits((1, "New")), AGENT)
    stored = store.rows(thread_id)["A"]
    assert (stored["changed"], stored["user_changed"], stored["updated_by"]) == (8, 5, "agent")


@pytest.mark.parametrize(
    "act",
    [
        lambda repo, thread: repo.set_lock(thread, "A", ADA, locked=True),
        lambda repo, thread: repo.set_all_locks(thread, ADA, locked=True),
        lambda repo, thread: repo.edit_preference(thread, "A", {"locked": True}, ADA),
        lambda repo, thread: repo.edit_preference(thread, "A", {"title": "A", "locked": True}, ADA),
    ],
    ids=["lock", "lock all", "PATCH of locked", "PATCH of locked and the same title"],
)
def test_a_lock_touches_nothing_else_of_a_row(store, repo, act):
    thread_id = store.thread("A")
    before = store.rows(thread_id)["A"]
    act(repo, thread_id)
    assert store.rows(thread_id)["A"] == before | {"locked": True}


def test_a_move_touches_nothing_but_the_rank(store, repo):
    thread_id = store.thread("A", "B")
    before = store.rows(thread_id)
    repo.reorder(thread_id, ["B"], ADA)
    after = store.rows(thread_id)
    assert {name: r | {"rank": 0} for name, r in after.items()} == {
        name: r | {"rank": 0} for name, r in before.items()
    }


def test_a_cleared_subtitle_is_not_stored_at_all(store, repo):
    thread_id = store.write({"A": row("A", subtitle="Long"), "B": row("B", rank=2, subtitle="Long")})
    repo.edit_preference(thread_id, "A", {"subtitle": None}, ADA)
    repo.update_preferences(thread_id, [IndexedEdit(index=2, subtitle="")], AGENT)
    assert not any("subtitle" in r for r in store.rows(thread_id).values())


@pytest.mark.parametrize("value", ["absent", "empty"])
def test_no_text_of_a_thread_is_stored_as_null_or_float(store, repo, value):
    thread_id = store.new_id()
    repo.add_preferences_bulk(
        thread_id, [Draft(title="A", subtitle=None if value == "absent" else "")], AGENT
    )
    repo.edit_preference(thread_id, next(iter(store.rows(thread_id))), {"title": "B"}, ADA)
    stored = store.client.get_item(TableName=store.table_name, Key=store.key(thread_id))["Item"]

    def kinds(attribute):
        for kind, inner in attribute.items():
            yield kind
            for each in inner.values() if kind == "M" else ():
                yield from kinds(each)

    assert set(kinds({"M": stored})) == {"S", "N", "BOOL", "M"}


def test_only_what_changes_positions_renumbers(store, repo):
    for verb, act in WRITES.items():
        if verb == "delete the thread":
            continue
        thread_id = store.thread("A", "B", "C", locked=("B",))
        act(repo, thread_id)
        item = store.item(thread_id)
        moved = verb.startswith(("remove", "reorder"))
        assert item["renumbered"] == (item["revision"] if moved else 0), verb


def test_twelve_rows_added_one_by_one_keep_their_order_and_their_numbers(store, repo):
    thread_id = store.new_id()
    for n in range(1, 13):
        repo.add_preferences_bulk(thread_id, drafts(f"Row {n}"), AGENT)
    written = repo.remove_preferences(thread_id, [10], AGENT)
    left = [r.title for r in written.thread.preferences]
    assert left == [f"Row {n}" for n in range(1, 13) if n != 10]


# -- nothing to do -----------------------------------------------------------------------------------------

NOTHING = {
    "the same title": lambda repo, thread: repo.edit_preference(thread, "A", {"title": "A"}, ADA),
    "no subtitle where none is": lambda repo, thread: repo.edit_preference(
        thread, "A", {"subtitle": None}, ADA
    ),
    "all that is already so": lambda repo, thread: repo.edit_preference(
        thread, "L", {"title": "L", "subtitle": None, "kind": "soft", "locked": True}, ADA
    ),
    "the same with If-Match": lambda repo, thread: repo.edit_preference(
        thread, "A", {"title": "A"}, ADA, if_match={1}
    ),
    "a lock on the locked": lambda repo, thread: repo.set_lock(thread, "L", ADA, locked=True),
    "an unlock of the unlocked": lambda repo, thread: repo.set_lock(thread, "A", ADA, locked=False),
    "the order that is": lambda repo, thread: repo.reorder(thread, ["A", "L"], ADA),
    "a repeat (user)": lambda repo, thread: repo.add_preferences_bulk(thread, drafts("A"), ADA),
    "a repeat (agent)": lambda repo, thread: repo.add_preferences_bulk(thread, drafts("A"), AGENT),
    "an agent's edit to the same": lambda repo, thread: repo.update_preferences(
        thread, edits((1, "A")), AGENT
    ),
    "an agent's edit of the locked to the same": lambda repo, thread: repo.update_preferences(
        thread, edits((2, "L")), AGENT
    ),
    "a position out of range": lambda repo, thread: repo.remove_preferences(thread, [3], AGENT),
    "registering again": lambda repo, thread: repo.register_thread(thread, ADA),
    "no title where none is": lambda repo, thread: repo.set_title(thread, None, ADA),
}


@pytest.mark.parametrize("what", NOTHING)
def test_what_changes_nothing_leaves_the_rows_as_they_are(store, repo, what):
    thread_id = store.thread("A", "L", locked=("L",))
    before = store.rows(thread_id)
    NOTHING[what](repo, thread_id)
    assert store.rows(thread_id) == before


@pytest.mark.parametrize("what", NOTHING)
def test_what_changes_nothing_is_a_commit_for_a_user_and_no_write_for_an_agent(store, repo, what):
    """A user's request that was given up before must not be applied after this acknowledgement."""
    thread_id = store.thread("A", "L", locked=("L",))
    before = store.item(thread_id)
    NOTHING[what](repo, thread_id)
    after = store.item(thread_id)
    if "agent" in what or "position" in what:
        assert after == before
    else:
        assert (after["revision"], after["renumbered"]) == (8, 0)


def test_locking_all_when_all_are_locked_is_a_commit(store, repo):
    thread_id = store.thread("A", "B", locked=("A", "B"))
    before = store.rows(thread_id)
    assert repo.set_all_locks(thread_id, ADA, locked=True).revision == 8
    assert store.rows(thread_id) == before


# -- the user's single rows -----------------------------------------------------------------------------


def test_a_user_edits_and_removes_a_locked_row(store, repo):
    thread_id = store.thread("A", "B", locked=("A", "B"))
    repo.edit_preference(thread_id, "A", {"title": "New"}, ADA)
    repo.remove_preference(thread_id, "B", ADA)
    assert [(name, r["title"], r["locked"]) for name, r in store.rows(thread_id).items()] == [
        ("A", "New", True)
    ]


@pytest.mark.parametrize(
    "act",
    [
        lambda repo, thread, **kw: repo.edit_preference(thread, "Z", {"title": "New"}, ADA, **kw),
        lambda repo, thread, **kw: repo.edit_preference(thread, "Z", {"locked": True}, ADA, **kw),
        lambda repo, thread, **kw: repo.remove_preference(thread, "Z", ADA, **kw),
    ],
    ids=["edit", "lock", "remove"],
)
@pytest.mark.parametrize("if_match", [None, {1}])
def test_a_row_that_is_not_there_is_not_found(store, repo, act, if_match):
    thread_id = store.thread("A")
    before = store.item(thread_id)
    with pytest.raises(PreferenceNotFound):
        act(repo, thread_id, if_match=if_match)
    assert store.item(thread_id) == before


@pytest.mark.parametrize("if_match", [{-1}, {0}, {1}, {1, 3}, set()])
@pytest.mark.parametrize(
    "act",
    [
        lambda repo, thread, **kw: repo.edit_preference(thread, "A", {"title": "New"}, ADA, **kw),
        lambda repo, thread, **kw: repo.edit_preference(thread, "A", {"title": "A"}, ADA, **kw),
        lambda repo, thread, **kw: repo.edit_preference(thread, "A", {"locked": True}, ADA, **kw),
        lambda repo, thread, **kw: repo.edit_preference(
            thread, "A", {"title": "A", "locked": True}, ADA, **kw
        ),
        lambda repo, thread, **kw: repo.remove_preference(thread, "A", ADA, **kw),
    ],
    ids=["edit", "edit to the same", "lock", "the same and lock", "remove"],
)
def test_a_write_that_saw_an_older_row_is_refused_with_the_present_one(store, repo, act, if_match):
    thread_id = store.write({"A": row("A", changed=2)})
    before = store.item(thread_id)
    with pytest.raises(PreconditionFailed) as refusal:
        act(repo, thread_id, if_match=if_match)
    assert refusal.value.current.changed == 2
    assert refusal.value.thread.revision == 7
    assert store.item(thread_id) == before


def test_a_precondition_that_fails_costs_one_call(store, repo):
    thread_id = store.write({"A": row("A", changed=2)})
    with pytest.raises(PreconditionFailed):
        repo.edit_preference(thread_id, "A", {"title": "New"}, ADA, if_match={1})
    assert store.calls == {"GetItem": 1}


def test_what_changes_other_rows_or_the_lock_or_the_order_does_not_block_an_edit_of_the_row_seen(store, repo):
    thread_id = store.thread("A", "B", "C")
    repo.edit_preference(thread_id, "B", {"title": "New"}, ADA)
    repo.remove_preference(thread_id, "C", ADA)
    repo.set_lock(thread_id, "A", ADA, locked=True)
    repo.reorder(thread_id, ["B"], ADA)
    repo.add_preferences_bulk(thread_id, drafts("D"), AGENT)
    written = repo.edit_preference(thread_id, "A", {"title": "Mine"}, ADA, if_match={1})
    assert written.thread.find("A").title == "Mine"


def test_the_same_precondition_does_not_hold_twice(store, repo):
    thread_id = store.thread("A")
    repo.edit_preference(thread_id, "A", {"title": "First"}, ADA, if_match={1})
    with pytest.raises(PreconditionFailed) as refusal:
        repo.edit_preference(thread_id, "A", {"title": "Second"}, ADA, if_match={1})
    assert (refusal.value.current.title, refusal.value.current.changed) == ("First", 8)


def test_text_that_is_the_same_with_a_new_lock_moves_the_lock_alone(store, repo):
    thread_id = store.thread("A")
    before = store.rows(thread_id)["A"]
    repo.edit_preference(thread_id, "A", {"title": "A", "kind": "soft", "locked": True}, ADA)
    assert store.rows(thread_id)["A"] == before | {"locked": True}


def test_a_subtitle_that_is_not_there_is_no_news_beside_a_new_lock(store, repo):
    thread_id = store.thread("A")
    repo.edit_preference(thread_id, "A", {"subtitle": None, "locked": True}, ADA)
    stored = store.rows(thread_id)["A"]
    assert (stored["locked"], stored["changed"], "subtitle" in stored) == (True, row("A")["changed"], False)


def test_new_text_with_a_lock_is_one_write_of_both(store, repo):
    thread_id = store.thread("A")
    repo.edit_preference(thread_id, "A", {"title": "New", "locked": True}, ADA)
    stored = store.rows(thread_id)["A"]
    assert (stored["title"], stored["locked"], stored["changed"]) == ("New", True, 8)
    assert store.item(thread_id)["revision"] == 8


def test_an_edit_to_the_text_of_another_row_is_refused_and_names_it(store, repo):
    thread_id = store.thread("A", "B")
    before = store.item(thread_id)
    with pytest.raises(Duplicate) as refusal:
        repo.edit_preference(thread_id, "A", {"title": "B"}, ADA)
    assert [conflict.id for conflict in refusal.value.rows] == ["B"]
    assert store.item(thread_id) == before


def test_an_edit_sets_only_the_fields_that_were_sent(store, repo):
    thread_id = store.write({"A": row("A", subtitle="Long", kind="hard", locked=True)})
    before = store.rows(thread_id)["A"]
    repo.edit_preference(thread_id, "A", {"title": "New"}, ADA)
    after = store.rows(thread_id)["A"]
    assert {name for name in before | after if before.get(name) != after.get(name)} == {
        "title",
        "changed",
        "user_changed",
        "updated_at",
        "updated_by",
    }


def test_a_row_removed_once_is_not_found_the_second_time(store, repo):
    thread_id = store.thread("A", "B")
    repo.remove_preference(thread_id, "A", ADA)
    with pytest.raises(PreferenceNotFound):
        repo.remove_preference(thread_id, "A", ADA)
    assert store.item(thread_id)["revision"] == 8


def test_a_lock_of_what_is_locked_takes_a_revision_of_its_own(store, repo):
    thread_id = store.thread("A")
    first = repo.set_lock(thread_id, "A", ADA, locked=True)
    second = repo.set_lock(thread_id, "A", ADA, locked=True)
    assert (first.revision, second.revision) == (8, 9)
    assert first.preferences == second.preferences


# -- the order and all locks ----------------------------------------------------------------------------


def test_rows_that_an_order_does_not_name_go_last_in_their_order(store, repo):
    thread_id = store.thread("A", "B", "C", "D")
    thread = repo.reorder(thread_id, ["D", "B"], ADA)
    assert [r.id for r in thread.preferences] == ["D", "B", "A", "C"]


@pytest.mark.parametrize("ids", [["Z"], ["A", "Z"], ["A", "A"]])
def test_an_order_that_names_no_row_or_one_twice_is_refused(store, repo, ids):
    thread_id = store.thread("A", "B")
    before = store.item(thread_id)
    with pytest.raises(InvalidInput):
        repo.reorder(thread_id, ids, ADA)
    assert store.item(thread_id) == before


def test_rows_of_equal_rank_can_be_put_in_order(store, repo):
    thread_id = store.write({"A": row("A"), "B": row("B"), "C": row("C")})
    thread = repo.reorder(thread_id, ["C", "A"], ADA)
    assert [r.id for r in thread.preferences] == ["C", "A", "B"]


def test_an_order_that_lost_a_row_in_between_is_refused(store):
    thread_id = store.thread("A", "B")
    repo = store.repository(before_write=lambda: store.other.remove_preference(thread_id, "B", ADA))
    with pytest.raises(InvalidInput):
        repo.reorder(thread_id, ["B", "A"], ADA)


def test_locking_all_locks_the_row_that_was_added_in_between(store):
    thread_id = store.thread("A")
    repo = store.repository(
        before_write=lambda: store.other.add_preferences_bulk(thread_id, drafts("B"), AGENT)
    )
    repo.set_all_locks(thread_id, ADA, locked=True)
    assert [r["locked"] for r in store.rows(thread_id).values()] == [True, True]


def test_unlocking_all_keeps_the_edit_that_came_between(store):
    thread_id = store.thread("A", "B", locked=("A", "B"))
    repo = store.repository(
        before_write=lambda: store.other.edit_preference(thread_id, "A", {"title": "New"}, ADA)
    )
    repo.set_all_locks(thread_id, ADA, locked=False)
    assert [(r["title"], r["locked"]) for r in store.rows(thread_id).values()] == [
        ("New", False),
        ("B", False),
    ]


# -- registering, deleting, coming back -----------------------------------------------------------------


def test_a_thread_is_registered_empty_at_revision_one(store, repo):
    thread_id = store.new_id()
    thread, new = repo.register_thread(thread_id, ADA)
    item = store.item(thread_id)
    assert (new, thread.revision, thread.owner) == (True, 1, "ada")
    assert (item["owner"], item["revision"], item["renumbered"], item["preferences"]) == ("ada", 1, 0, {})


def test_registering_again_gives_the_thread_as_it_is(store, repo):
    thread_id = store.thread("A")
    thread, new = repo.register_thread(thread_id, ADA)
    assert (new, thread) == (False, repo.list_preferences(thread_id, ADA))


def test_an_id_that_is_somebody_elses_is_taken(store, repo):
    thread_id = store.thread("A")
    before = store.item(thread_id)
    with pytest.raises(ThreadTaken):
        repo.register_thread(thread_id, EVE)
    assert store.item(thread_id) == before


def test_a_deleted_thread_leaves_a_tombstone_without_owner_and_rows(store, repo, monkeypatch):
    thread_id = store.thread("A", "B", locked=("A",))
    repo.delete_thread(thread_id, ADA)
    item = store.item(thread_id)
    assert item.keys() == {"pk", "sk", "deleted_by", "revision", "expires_at", "last_change", "recent"}
    assert (item["deleted_by"], item["revision"]) == ("ada", 8)


def test_a_tombstone_outlives_its_history_by_a_day(store, repo):
    import time

    thread_id = store.thread("A")
    repo.delete_thread(thread_id, ADA)
    assert store.item(thread_id)["expires_at"] == pytest.approx(time.time() + 91 * 86400, abs=60)


def test_a_deleted_thread_is_still_taken_for_everyone_but_its_former_owner(store, repo):
    thread_id = store.thread("A")
    repo.delete_thread(thread_id, ADA)
    tombstone = store.item(thread_id)
    with pytest.raises(ThreadTaken):
        repo.register_thread(thread_id, EVE)
    assert store.item(thread_id) == tombstone


def test_a_thread_that_its_former_owner_brings_back_is_empty_and_goes_on_from_its_revision(store, repo):
    thread_id = store.thread("A")
    repo.delete_thread(thread_id, ADA)
    thread, new = repo.register_thread(thread_id, ADA)
    item = store.item(thread_id)
    assert (new, thread.revision, thread.preferences) == (True, 9, ())
    assert (item["owner"], item["revision"], item["renumbered"], item["preferences"]) == ("ada", 9, 9, {})
    assert not item.keys() & {"deleted_by", "expires_at"}


def test_a_thread_that_came_back_works_as_before(store, repo):
    thread_id = store.thread("A")
    repo.delete_thread(thread_id, ADA)
    repo.register_thread(thread_id, ADA)
    written = repo.add_preferences_bulk(thread_id, drafts("New"), AGENT)
    assert (written.thread.revision, [r.title for r in written.thread.preferences]) == (10, ["New"])


def test_positions_from_before_a_deletion_are_stale_after_the_return(store, repo):
    thread_id = store.thread("A")
    repo.delete_thread(thread_id, ADA)
    repo.register_thread(thread_id, ADA)
    repo.add_preferences_bulk(thread_id, drafts("New"), AGENT)
    assert outcomes(repo.remove_preferences(thread_id, [1], AGENT, list_revision=7)) == [(1, "stale")]


def test_two_users_who_register_one_id_at_once_do_not_both_get_it(store):
    thread_id = store.new_id()
    repo = store.repository(before_write=lambda: store.other.register_thread(thread_id, EVE))
    with pytest.raises(ThreadTaken):
        repo.register_thread(thread_id, ADA)
    assert store.item(thread_id)["owner"] == "eve"


def test_a_restoration_that_meets_another_of_the_same_user_finds_it_done(store):
    thread_id = store.thread("A")
    store.other.delete_thread(thread_id, ADA)
    repo = store.repository(before_write=lambda: store.other.register_thread(thread_id, ADA))
    thread, new = repo.register_thread(thread_id, ADA)
    assert (new, thread.revision, thread.revived) == (False, 10, 9)


def test_a_restoration_does_not_land_on_a_newer_tombstone_unseen(store):
    thread_id = store.thread("A")
    store.other.delete_thread(thread_id, ADA)

    def restored_and_deleted():
        store.other.register_thread(thread_id, ADA)
        store.other.delete_thread(thread_id, ADA)

    repo = store.repository(before_write=restored_and_deleted)
    thread, _ = repo.register_thread(thread_id, ADA)
    assert thread.revision == store.item(thread_id)["revision"] == 11


@pytest.mark.parametrize("name", ["deleted_by", "owner"])
def test_what_a_restoration_demands_of_a_tombstone_holds_without_a_new_revision(store, name):
    thread_id = store.thread("A")
    store.other.delete_thread(thread_id, ADA)
    repo = store.repository(before_write=lambda: store.poke(thread_id, name, value="eve"))
    with pytest.raises(ThreadTaken):
        repo.register_thread(thread_id, ADA)
    assert store.item(thread_id)[name] == "eve"


def test_an_agents_first_addition_that_meets_the_users_registration_is_added_to_it(store):
    thread_id = store.new_id()
    repo = store.repository(before_write=lambda: store.other.register_thread(thread_id, ADA))
    written = repo.add_preferences_bulk(thread_id, drafts("A"), AGENT)
    assert (written.thread.revision, len(store.rows(thread_id))) == (2, 1)


def test_an_agents_first_addition_that_meets_a_strangers_registration_finds_no_thread(store):
    thread_id = store.new_id()
    repo = store.repository(before_write=lambda: store.other.register_thread(thread_id, EVE))
    with pytest.raises(ThreadNotFound):
        repo.add_preferences_bulk(thread_id, drafts("A"), AGENT)
    assert store.rows(thread_id) == {}


def test_an_unregistered_thread_is_an_empty_list_to_the_agent_of_a_user_and_stays_unregistered(store, repo):
    thread_id = store.new_id()
    thread = repo.list_preferences(thread_id, AGENT)
    assert (thread.revision, thread.preferences) == (0, ())
    assert outcomes(repo.remove_preferences(thread_id, [1], AGENT, list_revision=0)) == [(1, "out_of_range")]
    assert store.item(thread_id) is None


# -- a user's threads -----------------------------------------------------------------------------------


def test_a_users_threads_are_listed_in_pages_and_nobody_elses(store, repo):
    pat = Caller.user("pat")
    mine = {store.new_id() for _ in range(5)}
    for thread_id in mine:
        repo.register_thread(thread_id, pat)
    repo.register_thread(store.new_id(), EVE)
    found, after, pages = [], None, 0
    while True:
        titles, after = repo.list_threads(pat, limit=2, after=after)
        found += titles
        pages += 1
        if after is None:
            break
    assert (sorted(found), len(titles) <= 2, pages) == (sorted(mine), True, 3)


def test_a_deleted_thread_is_not_among_the_users_threads(store, repo):
    kim = Caller.user("kim")
    gone, kept = store.new_id(), store.new_id()
    for thread_id in (gone, kept):
        repo.register_thread(thread_id, kim)
    repo.delete_thread(gone, kim)
    assert repo.list_threads(kim, limit=10) == ({kept: None}, None)


def test_a_title_is_kept_with_the_thread_and_touches_no_row(store, repo):
    thread_id = store.thread("A", "B", locked=("B",))
    before = store.item(thread_id)
    thread = repo.set_title(thread_id, "Trip to Rome", ADA)
    item = store.item(thread_id)
    assert (thread.title, item["title"], item["revision"]) == ("Trip to Rome", "Trip to Rome", 8)
    assert item["last_change"]["action"] == "title"
    assert {n for n in item if item[n] != before.get(n)} == {"title", "revision", "last_change", "recent"}


def test_a_title_is_taken_away_and_its_attribute_with_it(store, repo):
    thread_id = store.write({"A": row("A")}, title="Trip to Rome")
    assert repo.list_preferences(thread_id, ADA).title == "Trip to Rome"
    assert repo.set_title(thread_id, None, ADA).title is None
    assert "title" not in store.item(thread_id)


def test_the_title_that_it_has_takes_a_revision_all_the_same(store, repo):
    thread_id = store.write({"A": row("A")}, title="Trip to Rome")
    thread = repo.set_title(thread_id, "Trip to Rome", ADA)
    assert (thread.revision, store.item(thread_id)["revision"]) == (8, 8)


def test_of_two_titles_at_once_the_later_one_stands_and_none_undoes_the_other_change(store):
    thread_id = store.thread("A")

    def meanwhile():
        store.other.set_title(thread_id, "First", ADA)
        store.other.set_lock(thread_id, "A", ADA, locked=True)

    repo = store.repository(before_write=meanwhile)
    assert repo.set_title(thread_id, "Second", ADA).revision == 10
    assert store.item(thread_id)["title"] == "Second"
    assert store.rows(thread_id)["A"]["locked"]
    assert store.calls == {"GetItem": 1, "UpdateItem": 2}


@pytest.mark.parametrize("verb", [verb for verb in WRITES if "title" not in verb])
def test_every_other_write_leaves_the_title_and_a_deletion_takes_it(store, repo, verb):
    thread_id = store.thread("A", "B", "C", locked=("B",))
    store.poke(thread_id, "title", value="Trip to Rome")
    WRITES[verb](repo, thread_id)
    assert store.item(thread_id).get("title") == (None if verb == "delete the thread" else "Trip to Rome")


def test_a_thread_that_comes_back_has_no_title_even_if_its_tombstone_has(store, repo):
    thread_id = store.thread("A")
    repo.set_title(thread_id, "Trip to Rome", ADA)
    repo.delete_thread(thread_id, ADA)
    store.poke(thread_id, "title", value="Trip to Rome")  # as code that knows no titles would leave it
    thread, _ = repo.register_thread(thread_id, ADA)
    assert thread.title is None
    assert "title" not in store.item(thread_id)


def test_the_list_of_threads_has_the_title_of_each_in_two_calls(store):
    jo = Caller.user("jo")
    named = {store.write({"A": row("A")}, owner="jo", title=f"Trip {n}"): f"Trip {n}" for n in range(3)}
    bare = store.write({"A": row("A")}, owner="jo")
    repo = store.repository()
    assert repo.list_threads(jo, limit=10) == (named | {bare: None}, None)
    assert store.calls == {"Query": 1, "BatchGetItem": 1}


def test_titles_are_read_in_batches_that_an_engine_can_answer_in_time(store):
    mia = Caller.user("mia")
    named = {store.write({}, owner="mia", title=f"Trip {n}"): f"Trip {n}" for n in range(2 * MAX_KEYS + 1)}
    repo = store.repository()
    assert repo.list_threads(mia, limit=100) == (named, None)
    assert store.calls == {"Query": 1, "BatchGetItem": 3}


def test_nobody_without_threads_is_asked_for_titles(store):
    repo = store.repository()
    assert repo.list_threads(Caller.user("new here"), limit=10) == ({}, None)
    assert store.calls == {"Query": 1}


@pytest.mark.parametrize("meanwhile", ["deleted", "expired", "another's"])
def test_a_thread_that_goes_while_the_list_is_read_is_left_out_and_the_next_page_begins_after_it(
    store, meanwhile
):
    owner = Caller.user(f"whose thread is {meanwhile}")
    ids = [store.write({"A": row("A")}, owner=owner.owner, title="Trip") for _ in range(3)]
    [first, last], _ = store.other.list_threads(owner, limit=2)

    def go(model, **_):
        if model.name != "BatchGetItem":
            return
        if meanwhile == "deleted":
            store.other.delete_thread(last, owner)
        elif meanwhile == "expired":
            store.client.delete_item(TableName=store.table_name, Key=store.key(last))
        else:
            store.poke(last, "owner", value="eve")

    events = store.watched.meta.events
    repo = store.repository()
    events.register("before-call.dynamodb", go)
    try:
        titles, after = repo.list_threads(owner, limit=2)
    finally:
        events.unregister("before-call.dynamodb", go)
    assert (titles, after) == ({first: "Trip"}, last)
    rest, after = repo.list_threads(owner, limit=2, after=after)
    assert (rest, after) == ({(set(ids) - {first, last}).pop(): "Trip"}, None)


# -- bounds that two writers could pass together ----------------------------------------------------------


def test_an_addition_beyond_the_cap_stores_none_and_says_the_bound(store, repo):
    thread_id = store.thread(*(f"Row {n}" for n in range(MAX_PREFERENCES - 1)))
    with pytest.raises(ListFull, match=r"at most 100 .* room for 1 more, not 2"):
        repo.add_preferences_bulk(thread_id, drafts("X", "Y"), AGENT)
    assert store.item(thread_id)["revision"] == 7


def test_two_additions_that_meet_at_the_cap_do_not_both_fit(store):
    thread_id = store.thread(*(f"Row {n}" for n in range(MAX_PREFERENCES - 1)))
    repo = store.repository(
        before_write=lambda: store.other.add_preferences_bulk(thread_id, drafts("X"), ADA)
    )
    with pytest.raises(ListFull):
        repo.add_preferences_bulk(thread_id, drafts("Y"), AGENT)
    titles = store.titles(thread_id)
    assert (len(titles), titles[-1]) == (MAX_PREFERENCES, "X")


@BOTH
def test_two_additions_of_the_same_text_that_meet_store_it_once(store, caller):
    thread_id = store.thread("A")
    repo = store.repository(
        before_write=lambda: store.other.add_preferences_bulk(thread_id, drafts("X"), ADA)
    )
    written = repo.add_preferences_bulk(thread_id, drafts("X", "Y"), caller)
    assert [(r.position, r.outcome) for r in written.reports] == [(2, "duplicate"), (3, "recorded")]
    assert sorted(r["title"] for r in store.rows(thread_id).values()) == ["A", "X", "Y"]


def test_a_full_list_still_reports_repeats(store, repo):
    thread_id = store.thread(*(f"Row {n}" for n in range(MAX_PREFERENCES)))
    (report,) = repo.add_preferences_bulk(thread_id, drafts("Row 3"), AGENT).reports
    assert (report.position, report.outcome) == (4, "duplicate")


# -- what comes between an agent's read and its write -----------------------------------------------------


def between(store, thread_id, change):
    """A repository between whose read and first write `change` is done to the thread by Ada."""
    return store.repository(before_write=lambda: change(store.other))


AGENTS = pytest.mark.parametrize("caller", [AGENT, TRUSTED], ids=["agent", "trusted agent"])


@AGENTS
def test_a_batch_with_one_row_locked_in_between_leaves_that_row_and_does_the_rest(store, caller):
    thread_id = store.thread("A", "B", "C")
    repo = between(store, thread_id, lambda other: other.set_lock(thread_id, "B", ADA, locked=True))
    written = repo.update_preferences(thread_id, edits((1, "X"), (2, "Y"), (3, "Z")), caller)
    assert outcomes(written) == [(1, "updated"), (2, "locked"), (3, "updated")]
    assert store.titles(thread_id) == ["X", "B", "Z"]
    assert store.calls == {"GetItem": 1, "UpdateItem": 2}


@AGENTS
def test_a_removal_with_one_row_locked_in_between_leaves_that_row(store, caller):
    thread_id = store.thread("A", "B", "C")
    repo = between(store, thread_id, lambda other: other.set_lock(thread_id, "B", ADA, locked=True))
    written = repo.remove_preferences(thread_id, [1, 2, 3], caller)
    assert outcomes(written) == [(1, "removed"), (2, "locked"), (3, "removed")]
    assert list(store.rows(thread_id)) == ["B"]


@AGENTS
@pytest.mark.parametrize("value", [True, None, "false"], ids=["true", "absent", "a text"])
def test_the_lock_condition_holds_without_a_new_revision_for_an_update(store, caller, value):
    thread_id = store.thread("A", "B")
    repo = store.repository(
        before_write=lambda: store.poke(thread_id, "preferences", "A", "locked", value=value)
    )
    written = repo.update_preferences(thread_id, edits((1, "X"), (2, "Y")), caller)
    assert outcomes(written) == [(1, "locked"), (2, "updated")]
    assert store.titles(thread_id) == ["A", "Y"]


@AGENTS
@pytest.mark.parametrize("value", [True, None, "false"], ids=["true", "absent", "a text"])
def test_the_lock_condition_holds_without_a_new_revision_for_a_removal(store, caller, value):
    thread_id = store.thread("A", "B")
    repo = store.repository(
        before_write=lambda: store.poke(thread_id, "preferences", "A", "locked", value=value)
    )
    written = repo.remove_preferences(thread_id, [1, 2], caller)
    assert outcomes(written) == [(1, "locked"), (2, "removed")]
    assert list(store.rows(thread_id)) == ["A"]


@AGENTS
def test_a_row_that_vanished_without_a_new_revision_is_not_written_back(store, caller):
    thread_id = store.thread("A", "B")
    repo = store.repository(before_write=lambda: store.poke(thread_id, "preferences", "A", value=None))
    written = repo.update_preferences(thread_id, edits((1, "X"), (2, "Y")), caller)
    assert outcomes(written) == [(1, "out_of_range"), (2, "updated")]
    assert {name: r["title"] for name, r in store.rows(thread_id).items()} == {"B": "Y"}


@pytest.mark.parametrize("caller", [AGENT, ADA], ids=["agent", "user"])
@pytest.mark.parametrize("verb", ["add_preferences_bulk", "update_preferences", "remove_preferences"])
def test_the_owner_condition_holds_without_a_new_revision(store, caller, verb):
    thread_id = store.thread("A", "B")
    repo = store.repository(before_write=lambda: store.poke(thread_id, "owner", value="eve"))
    with pytest.raises(ThreadNotFound):
        EVERY_VERB[verb](repo, thread_id, caller)
    assert store.titles(thread_id) == ["A", "B"]


@pytest.mark.parametrize("verb", ["reorder", "set_all_locks"])
def test_the_owner_condition_holds_without_a_new_revision_for_the_users_planned_writes(store, verb):
    thread_id = store.thread("A", "B")
    repo = store.repository(before_write=lambda: store.poke(thread_id, "owner", value="eve"))
    before = store.rows(thread_id)
    with pytest.raises(ThreadNotFound):
        EVERY_VERB[verb](repo, thread_id, ADA)
    assert store.rows(thread_id) == before


def test_a_thread_that_lost_its_owner_without_a_new_revision_is_not_written_to(store):
    thread_id = store.thread("A")
    repo = store.repository(before_write=lambda: store.poke(thread_id, "owner", value=None))
    with pytest.raises(ThreadNotFound):
        repo.add_preferences_bulk(thread_id, drafts("X"), TRUSTED)
    assert list(store.rows(thread_id)) == ["A"]


@pytest.mark.parametrize("verb", WRITES)
def test_the_revision_condition_holds_on_its_own(store, verb):
    """The revision alone moves: rows, locks and owner are as they were read. Other code has written."""
    thread_id = store.thread("A", "B", "C", locked=("B",))
    repo = store.repository(before_write=lambda: store.poke(thread_id, "revision", value=40))
    with pytest.raises(OutcomeUnknown) as refusal:
        WRITES[verb](repo, thread_id)
    assert store.calls["UpdateItem"] == 1
    assert refusal.value.thread == store.other.list_preferences(thread_id, ADA)
    assert store.item(thread_id)["revision"] == 40


@AGENTS
def test_a_row_that_the_user_removed_in_between_is_out_of_range_and_stays_away(store, caller):
    thread_id = store.thread("A", "B", "C")
    repo = between(store, thread_id, lambda other: other.remove_preference(thread_id, "B", ADA))
    written = repo.update_preferences(thread_id, edits((2, "X"), (3, "Y")), caller)
    assert outcomes(written) == [(2, "out_of_range"), (3, "updated")]
    assert {name: r["title"] for name, r in store.rows(thread_id).items()} == {"A": "A", "C": "Y"}


@AGENTS
def test_a_removal_never_slips_to_the_row_that_moved_up(store, caller):
    thread_id = store.thread("A", "B", "C")
    repo = between(store, thread_id, lambda other: other.remove_preference(thread_id, "A", ADA))
    written = repo.remove_preferences(thread_id, [1, 2], caller)
    assert outcomes(written) == [(1, "out_of_range"), (2, "removed")]
    assert list(store.rows(thread_id)) == ["C"]


@AGENTS
@pytest.mark.parametrize("index", [2, 3])
def test_an_answer_names_rows_by_their_place_in_its_own_list(store, caller, index):
    """Whatever moved up in between: acting on such an answer must not hit another row."""
    thread_id = store.thread("A", "B", "C", "D")
    repo = between(store, thread_id, lambda other: other.remove_preference(thread_id, "A", ADA))
    written = repo.update_preferences(thread_id, edits((index, "New")), caller)
    (report,) = written.reports
    assert (report.index, report.position, report.outcome) == (index, index - 1, "updated")
    assert written.thread.preferences[report.position - 1].title == report.title == "New"
    repo.remove_preferences(thread_id, [report.position], caller, list_revision=written.thread.revision)
    assert "New" not in store.titles(thread_id)


@AGENTS
def test_a_row_that_the_user_edited_in_between_is_left_and_shown_with_its_present_text(store, caller):
    thread_id = store.thread("A", "B")
    repo = between(
        store, thread_id, lambda other: other.edit_preference(thread_id, "A", {"title": "Mine"}, ADA)
    )
    written = repo.update_preferences(thread_id, edits((1, "X"), (2, "Y")), caller)
    assert [(r.index, r.outcome, r.title) for r in written.reports] == [
        (1, "changed_by_user", "Mine"),
        (2, "updated", "Y"),
    ]
    assert store.titles(thread_id) == ["Mine", "Y"]


@AGENTS
def test_a_row_that_the_user_edited_in_between_is_not_removed(store, caller):
    thread_id = store.thread("A", "B")
    repo = between(
        store, thread_id, lambda other: other.edit_preference(thread_id, "A", {"kind": "hard"}, ADA)
    )
    assert outcomes(repo.remove_preferences(thread_id, [1], caller)) == [(1, "changed_by_user")]
    assert list(store.rows(thread_id)) == ["A", "B"]


@AGENTS
def test_a_reorder_in_between_does_not_send_a_position_to_another_row(store, caller):
    thread_id = store.thread("A", "B", "C")
    repo = between(store, thread_id, lambda other: other.reorder(thread_id, ["C", "B", "A"], ADA))
    repo.remove_preferences(thread_id, [1], caller)
    assert set(store.rows(thread_id)) == {"B", "C"}


@AGENTS
def test_a_row_that_was_unlocked_in_between_may_be_written_since_the_unlock_came_first(store, caller):
    thread_id = store.thread("A", "B", locked=("A",))
    repo = between(store, thread_id, lambda other: other.set_lock(thread_id, "A", ADA, locked=False))
    written = repo.update_preferences(thread_id, edits((1, "X"), (2, "Y")), caller)
    assert outcomes(written)[1] == (2, "updated")
    assert store.rows(thread_id)["A"]["title"] in ("A", "X")


@AGENTS
def test_a_row_locked_and_unlocked_in_between_with_another_text_is_left(store, caller):
    thread_id = store.thread("A")

    def lock_edit_unlock(other):
        other.set_lock(thread_id, "A", ADA, locked=True)
        other.edit_preference(thread_id, "A", {"title": "Mine"}, ADA)
        other.set_lock(thread_id, "A", ADA, locked=False)

    repo = between(store, thread_id, lock_edit_unlock)
    assert outcomes(repo.update_preferences(thread_id, edits((1, "X")), caller)) == [(1, "changed_by_user")]
    assert store.rows(thread_id)["A"]["title"] == "Mine"


@pytest.mark.parametrize("caller", [AGENT, TRUSTED, ADA], ids=["agent", "trusted agent", "user"])
@pytest.mark.parametrize("verb", ["add_preferences_bulk", "update_preferences", "remove_preferences"])
def test_a_tombstone_met_in_between_stays_one(store, caller, verb):
    thread_id = store.thread("A", "B")
    repo = between(store, thread_id, lambda other: other.delete_thread(thread_id, ADA))
    with pytest.raises(ThreadNotFound):
        EVERY_VERB[verb](repo, thread_id, caller)
    assert "preferences" not in store.item(thread_id)


@pytest.mark.parametrize("caller", PARTIES.values(), ids=PARTIES.keys())
@pytest.mark.parametrize("verb", ["add_preferences_bulk", "update_preferences", "remove_preferences"])
def test_a_thread_deleted_and_begun_anew_in_between_is_another_list_and_stays_as_it_is(store, caller, verb):
    thread_id = store.thread("A", "B")

    def gone_and_back(other):
        other.delete_thread(thread_id, ADA)
        other.register_thread(thread_id, ADA)
        other.add_preferences_bulk(thread_id, drafts("Fresh"), ADA)

    repo = between(store, thread_id, gone_and_back)
    with pytest.raises(ThreadNotFound):
        EVERY_VERB[verb](repo, thread_id, caller)
    assert store.titles(thread_id) == ["Fresh"]


@pytest.mark.parametrize("locked", [True, False])
def test_a_user_writes_by_position_whatever_the_lock_when_the_lock_is_not_to_be_respected(
    store, repo, locked
):
    thread_id = store.thread("A", "B", locked=("A",) if locked else ())
    repo.update_preferences(thread_id, edits((1, "X")), ADA, respect_lock=False)
    repo.remove_preferences(thread_id, [2], ADA, respect_lock=False)
    assert store.titles(thread_id) == ["X"]


@AGENTS
@pytest.mark.parametrize(
    "act",
    [
        lambda repo, thread, caller: repo.update_preferences(
            thread, edits((1, "X")), caller, respect_lock=False
        ),
        lambda repo, thread, caller: repo.remove_preferences(thread, [1], caller, respect_lock=False),
    ],
    ids=["update", "remove"],
)
def test_an_agent_respects_the_lock_even_where_the_call_says_otherwise(store, caller, act):
    thread_id = store.thread("A")
    repo = store.repository(before_write=lambda: store.flip(thread_id, "A", locked=True))
    assert outcomes(act(repo, thread_id, caller)) == [(1, "locked")]
    assert store.rows(thread_id)["A"]["title"] == "A"


@pytest.mark.parametrize("caller", [AGENT, ADA], ids=["agent", "user"])
def test_two_edits_of_one_position_in_a_call_leave_the_last_one(store, repo, caller):
    thread_id = store.thread("A")
    repo.update_preferences(thread_id, [*edits((1, "X")), *edits((1, "Y"), kind="hard")], caller)
    stored = store.rows(thread_id)["A"]
    assert (stored["title"], stored["kind"]) == ("Y", "hard")


def test_a_position_that_is_given_twice_is_removed_once(store, repo):
    thread_id = store.thread("A", "B")
    assert outcomes(repo.remove_preferences(thread_id, [1, 1], AGENT)) == [(1, "removed")]
    assert list(store.rows(thread_id)) == ["B"]


def test_all_positions_of_a_call_mean_the_list_before_it(store, repo):
    thread_id = store.thread("A", "B", "C", "D")
    repo.remove_preferences(thread_id, [3, 1], AGENT)
    assert list(store.rows(thread_id)) == ["B", "D"]


# -- list_revision --------------------------------------------------------------------------------------

MOVES = {
    "a removal by the user": lambda repo, thread: repo.remove_preference(thread, "A", ADA),
    "a removal by an agent": lambda repo, thread: repo.remove_preferences(thread, [1], AGENT),
    "a reorder": lambda repo, thread: repo.reorder(thread, ["C", "A", "B"], ADA),
}
POSITIONAL = {
    "update": lambda repo, thread, **kw: repo.update_preferences(
        thread, edits((1, "X"), (2, "Y")), AGENT, **kw
    ),
    "remove": lambda repo, thread, **kw: repo.remove_preferences(thread, [1, 2], AGENT, **kw),
}
positional = pytest.mark.parametrize("act", POSITIONAL.values(), ids=POSITIONAL.keys())


@positional
@pytest.mark.parametrize("move", MOVES)
def test_positions_of_a_list_that_was_renumbered_since_touch_nothing(store, repo, act, move):
    thread_id = store.thread("A", "B", "C")
    MOVES[move](repo, thread_id)
    before = store.item(thread_id)
    written = act(repo, thread_id, list_revision=7)
    assert outcomes(written) == [(1, "stale"), (2, "stale")]
    assert written.thread.revision == before["revision"]
    assert store.item(thread_id) == before


@positional
def test_positions_of_a_list_that_the_thread_never_had_touch_nothing(store, repo, act):
    thread_id = store.thread("A", "B", "C")
    before = store.item(thread_id)
    assert outcomes(act(repo, thread_id, list_revision=8)) == [(1, "stale"), (2, "stale")]
    assert store.item(thread_id) == before


@positional
def test_positions_of_the_list_right_after_a_renumbering_hold(store, repo, act):
    thread_id = store.thread("Z", "A", "B", "C")
    revision = repo.remove_preference(thread_id, "Z", ADA).revision
    assert {outcome for _, outcome in outcomes(act(repo, thread_id, list_revision=revision))} <= {
        "updated",
        "removed",
    }


@positional
def test_additions_and_locks_since_the_list_was_seen_are_in_nobodys_way(store, repo, act):
    thread_id = store.thread("A", "B")
    repo.add_preferences_bulk(thread_id, drafts("C"), ADA)
    repo.set_lock(thread_id, "A", ADA, locked=True)
    (_, first), (_, second) = outcomes(act(repo, thread_id, list_revision=7))
    assert first == "locked"
    assert second in ("updated", "removed")


@positional
def test_a_row_that_the_user_edited_since_the_list_was_seen_is_skipped_and_the_others_apply(store, repo, act):
    thread_id = store.thread("A", "B", "C")
    repo.edit_preference(thread_id, "A", {"title": "Mine"}, ADA)
    (_, first), (_, second) = outcomes(act(repo, thread_id, list_revision=7))
    assert first == "changed_by_user"
    assert second in ("updated", "removed")
    assert store.rows(thread_id)["A"]["title"] == "Mine"


def test_a_row_that_an_agent_edited_since_the_list_was_seen_is_not_the_users_word(store, repo):
    thread_id = store.thread("A")
    repo.update_preferences(thread_id, edits((1, "X")), AGENT)
    assert outcomes(repo.update_preferences(thread_id, edits((1, "Y")), AGENT, list_revision=7)) == [
        (1, "updated")
    ]


def test_a_position_beyond_the_list_that_was_seen_is_out_of_range_though_a_row_is_there_now(store, repo):
    thread_id = store.thread("A")
    repo.add_preferences_bulk(thread_id, drafts("B"), ADA)
    written = repo.remove_preferences(thread_id, [2], AGENT, list_revision=7)
    assert outcomes(written) == [(2, "out_of_range")]
    assert len(store.rows(thread_id)) == 2


def test_two_calls_of_one_turn_with_the_same_number_are_safe(store, repo):
    thread_id = store.thread("A", "B", "C")
    repo.remove_preferences(thread_id, [1], AGENT, list_revision=7)
    assert outcomes(repo.remove_preferences(thread_id, [2], AGENT, list_revision=7)) == [(2, "stale")]
    assert list(store.rows(thread_id)) == ["B", "C"]


@positional
@pytest.mark.parametrize("move", MOVES)
def test_a_renumbering_between_read_and_write_does_not_send_a_position_astray(store, act, move):
    thread_id = store.thread("A", "B", "C")
    repo = between(store, thread_id, lambda other: MOVES[move](other, thread_id))
    act(repo, thread_id, list_revision=7)
    third = store.rows(thread_id)["C"]
    assert third["title"] == "C"


# -- the end of patience, and the rest --------------------------------------------------------------------


@pytest.mark.parametrize("caller", [AGENT, ADA], ids=["agent", "user"])
def test_a_write_that_never_gets_its_turn_ends_as_busy_with_nothing_applied(store, monkeypatch, caller):
    monkeypatch.setattr("preferences.repository.table.REQUEST_SECONDS", 0.5)
    thread_id = store.thread("A")
    states = itertools.count()
    repo = store.repository(
        before_write=lambda: store.other.set_lock(thread_id, "A", ADA, locked=next(states) % 2 == 0),
        times=100_000,
    )
    with pytest.raises(Busy):
        repo.add_preferences_bulk(thread_id, drafts("X"), caller)
    assert list(store.rows(thread_id)) == ["A"]


def test_one_repository_serves_many_threads_at_once(store):
    repo = store.repository()
    thread_id = store.thread()
    workers = [
        threading.Thread(target=repo.add_preferences_bulk, args=(thread_id, drafts(f"Row {n}"), AGENT))
        for n in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(store.rows(thread_id)) == 4


def test_the_environment_says_which_table_and_which_engine(engine):
    forget_environment()
    try:
        repo = open_repository(seconds_left=lambda: 10.0)
        thread, _ = repo.register_thread("env-1", ADA)
        stored = engine.client().get_item(
            TableName=engine.table_name, Key={"pk": {"S": "THREAD#env-1"}, "sk": {"S": "PREFERENCES"}}
        )
    finally:
        forget_environment()
    assert stored["Item"]["revision"] == {"N": str(thread.revision)}

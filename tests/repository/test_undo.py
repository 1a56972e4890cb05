"""Undo: a change put back, all of it or none; by the rule, in the table, at the people's handler."""

import itertools
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from preferences.errors import (
    Busy,
    ChangeNotFound,
    Duplicate,
    HistoryNotReady,
    ListFull,
    ThreadNotFound,
    UndoConflict,
)
from preferences.model import MAX_PREFERENCES, Change, Draft, IndexedEdit
from preferences.repository.history import RECORD_SECONDS
from preferences.rules import Stamp, entry_of, plan_undo
from preferences.rules import renumbers as is_renumbered
from tests.effort import PROVE, tried
from tests.feed import People
from tests.support import ADA, AGENT, a_row, a_thread, drafts

AT = "2026-12-01T08:00:00.000Z"
CHANGE = Change(id="1", actor="agent", action="edit", at="2026-11-30T22:08:31.123Z")
UNDO = Stamp(revision=9, actor="user", at=AT)


# -- the rule -------------------------------------------------------------------------------------------

A, B, C = (a_row(title, rank=n) for n, title in enumerate("ABC", 1))


def so(row, **fields):
    return row.model_copy(update=fields)


def entry(old, new):
    """What the history has of the change from one list of rows to another: revision 8."""
    return entry_of(a_thread(*old), after(new))


def after(rows):
    return a_thread(*rows, revision=8, last_change=CHANGE)


def undone(old, new, now=None):
    """The list after the change was undone on `now`, or where it left the list."""
    now = after(new if now is None else now)
    plan = plan_undo(now, entry(old, new), UNDO)
    rows = {row.id: row for row in now.preferences} | {row.id: row for row in plan.puts}
    for preference_id in plan.removes:
        del rows[preference_id]
    return sorted(rows.values(), key=lambda row: (row.rank, row.id))


def obstacles(old, new, now):
    with pytest.raises(UndoConflict) as refused:
        undone(old, new, now)
    return [(obstacle.title, obstacle.reason) for obstacle in refused.value.rows]


EDITED = so(B, title="Z", subtitle="x", kind="hard")


class TestTheRule:
    def test_puts_text_and_kind_back_as_the_users_own_edit(self):
        assert undone([A, B], [A, EDITED]) == [
            A,
            so(B, changed=9, user_changed=9, updated_by="user", updated_at=AT),
        ]

    @pytest.mark.parametrize("field", [{"locked": True}, {"rank": 0}], ids=["lock", "place"])
    def test_puts_lock_and_place_back_and_leaves_the_rest_of_the_row(self, field):
        assert undone([A, B], [A, so(B, **field)]) == [A, B]

    def test_puts_back_what_the_change_made_and_keeps_what_else_was_done_to_the_row(self):
        [row] = undone([A], [so(A, title="Z")], [so(A, title="Z", kind="hard", locked=True, rank=5)])
        assert (row.title, row.kind, row.locked, row.rank) == ("A", "hard", True, 5)

    def test_brings_a_removed_row_back_whole_where_it_was(self):
        gone = so(B, subtitle="x", locked=True, created_by="agent", created_at="2026-01-01T00:00:00.000Z")
        assert undone([A, gone, C], [A, C]) == [
            A,
            so(gone, added=9, changed=9, user_changed=9, updated_by="user", updated_at=AT),
            C,
        ]

    def test_takes_an_added_row_out_wherever_it_was_moved_to(self):
        assert undone([A], [A, B]) == [A]
        assert undone([A], [A, B], [so(B, rank=0), A]) == [A]

    def test_puts_a_batch_back_as_one(self):
        old = [A, B, C]
        new = [so(A, title="Z"), so(C, locked=True), a_row("D", rank=4)]
        assert [row.title for row in undone(old, new)] == ["A", "B", "C"]

    def test_compares_values_not_revisions(self):
        edited_to_and_fro = so(EDITED, changed=20, user_changed=20, updated_at=AT)
        assert [row.title for row in undone([A, B], [A, EDITED], [A, edited_to_and_fro])] == ["A", "B"]

    @pytest.mark.parametrize(
        ("old", "new", "now", "reported"),
        [
            ([B], [EDITED], [so(EDITED, title="Y")], [("Y", "was renamed since, to “Y”")]),
            (
                [B],
                [EDITED],
                [so(EDITED, subtitle="y")],
                [("Z", "was given another subtitle since: “y”")],
            ),
            ([B], [EDITED], [so(EDITED, subtitle=None)], [("Z", "was given another subtitle since: none")]),
            ([B], [EDITED], [so(EDITED, kind="soft")], [("Z", "was made soft since")]),
            ([B], [so(B, locked=True)], [B], [("B", "was unlocked since")]),
            ([so(B, locked=True)], [B], [so(B, locked=True)], [("B", "was locked since")]),
            ([B], [so(B, rank=5)], [so(B, rank=6)], [("B", "was moved since")]),
            ([B], [EDITED], [], [("Z", "was removed since")]),
            ([], [B], [], [("B", "was removed since")]),
            (
                [],
                [B],
                [so(B, title="Z", kind="hard")],
                [("Z", "was renamed since, to “Z”, was made hard since")],
            ),
            ([], [B], [so(B, locked=True)], [("B", "was locked since")]),
            ([B], [], [B], [("B", "is in the list again")]),
            (
                [A, B, C],
                [so(A, title="X"), so(B, title="Y"), so(C, title="Z")],
                [so(A, title="X"), so(C, title="Q")],
                [("Y", "was removed since"), ("Q", "was renamed since, to “Q”")],
            ),
        ],
    )
    def test_is_refused_where_a_row_is_not_as_the_change_left_it(self, old, new, now, reported):
        assert obstacles(old, new, now) == reported

    def test_says_so_in_one_line_whatever_was_stored(self):
        [(_, reason)] = obstacles([A], [so(A, title="Z")], [so(A, title="Q\nR")])
        assert "\n" not in reason

    def test_never_makes_a_list_longer_than_a_list_may_be(self):
        rows = [a_row(f"R{n}", rank=n) for n in range(10, 10 + MAX_PREFERENCES)]
        assert len(undone([A, *rows[1:]], rows[1:])) == MAX_PREFERENCES
        with pytest.raises(ListFull, match="room for 0 more, not 1"):
            undone([A, *rows[1:]], rows[1:], rows)

    def test_makes_room_with_the_rows_that_it_takes_out(self):
        rows = [a_row(f"R{n}", rank=n) for n in range(10, 9 + MAX_PREFERENCES)]
        assert undone([A, *rows], [B, *rows])[0].title == "A"

    @pytest.mark.parametrize(
        ("old", "new", "renumbers"),
        [
            ([B], [A, B], True),
            ([A], [A, B], False),
            ([A, B], [B], True),
            ([A, B], [A], False),
            ([A, B], [so(B, rank=0), A], True),
            ([B], [EDITED], False),
            ([B], [so(B, locked=True)], False),
        ],
        ids=["first row out", "last row out", "first row back", "last row back", "row moved", "text", "lock"],
    )
    def test_renumbers_where_a_row_that_stays_gets_another_position(self, old, new, renumbers):
        now = after(new)
        assert is_renumbered(now, plan_undo(now, entry(old, new), UNDO).rows_after(now)) is renumbers

    @pytest.mark.parametrize(
        ("old", "new"),
        [([A], []), ([A], [so(A, title="Z")])],
        ids=["a row that comes back", "a text that comes back"],
    )
    def test_never_makes_an_exact_repeat_and_names_the_row_in_the_way(self, old, new):
        twin = a_row("A", id="twin", rank=9)
        with pytest.raises(UndoConflict, match="exact repeats") as refused:
            undone(old, new, [*new, twin])
        assert [(row.id, row.title) for row in refused.value.rows] == [("twin", "A")]

    def test_may_turn_the_lock_of_a_row_that_was_stored_twice_before(self):
        twin = a_row("A", id="twin", rank=9)
        assert undone([A, twin], [so(A, locked=True), twin]) == [A, twin]

    def test_is_refused_for_a_change_that_touched_no_row(self):
        with pytest.raises(UndoConflict, match="nothing to put back") as refused:
            undone([], [])
        assert refused.value.rows == ()

    @pytest.mark.parametrize("now", [{"revived": 9}, {"owner": "eve"}, {"owner": None}, {"revision": 7}])
    def test_knows_no_change_of_another_life_of_the_thread(self, now):
        thread = a_thread(**{"revision": 12} | now)
        with pytest.raises(ChangeNotFound):
            plan_undo(thread, entry([A], []), UNDO)


# -- in the table ---------------------------------------------------------------------------------------


@pytest.fixture
def repo(store):
    return store.other


@pytest.fixture
def thread_id(store, feed, repo):
    """A thread of Ada's with Alpha, Bravo (locked) and Charlie: revision 3, in the history."""
    thread_id = store.new_id()
    repo.register_thread(thread_id, ADA)
    rows = repo.add_preferences_bulk(thread_id, drafts("Alpha", "Bravo", "Charlie"), AGENT).thread.preferences
    repo.set_lock(thread_id, rows[1].id, ADA, locked=True)
    feed.catch_up(thread_id)
    return thread_id


def shown(thread):
    """What a person sees of a list, with the ids."""
    return [(row.id, row.title, row.subtitle, row.kind, row.locked) for row in thread.preferences]


def edits(*titles, **fields):
    return [IndexedEdit(index=n, title=title, **fields) for n, title in enumerate(titles, 1)]


CHANGES = {
    "the agent's addition": lambda repo, t, _: repo.add_preferences_bulk(t, drafts("D", "E"), AGENT),
    "the agent's edits": lambda repo, t, _: repo.update_preferences(
        t, [IndexedEdit(index=1, title="X"), IndexedEdit(index=3, subtitle="y", kind="hard")], AGENT
    ),
    "the agent's removals": lambda repo, t, _: repo.remove_preferences(t, [1, 3], AGENT),
    "an edit of all of a row": lambda repo, t, ids: repo.edit_preference(
        t, ids[1], {"title": "X", "subtitle": "y", "kind": "hard", "locked": False}, ADA
    ),
    "a removal": lambda repo, t, ids: repo.remove_preference(t, ids[1], ADA),
    "a lock": lambda repo, t, ids: repo.set_lock(t, ids[0], ADA, locked=True),
    "an unlock": lambda repo, t, ids: repo.set_lock(t, ids[1], ADA, locked=False),
    "all locked": lambda repo, t, _: repo.set_all_locks(t, ADA, locked=True),
    "another order": lambda repo, t, ids: repo.reorder(t, [ids[2], ids[0]], ADA),
}


class TestInTheTable:
    @pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
    def test_every_change_can_be_undone_and_its_undo_as_well(self, feed, repo, thread_id, change):
        first = repo.list_preferences(thread_id, ADA)
        change(repo, thread_id, [row.id for row in first.preferences])
        second = repo.list_preferences(thread_id, ADA)
        assert shown(second) != shown(first)
        for revision, expected in ((4, first), (5, second), (6, first), (7, second)):
            feed.catch_up(thread_id)
            assert shown(repo.undo(thread_id, revision, ADA)) == shown(expected)
        assert shown(repo.list_preferences(thread_id, ADA)) == shown(second)

    def test_it_is_a_change_of_its_own_by_the_user(self, store, feed, repo, thread_id):
        repo.remove_preferences(thread_id, [1], AGENT)
        feed.catch_up(thread_id)
        thread = repo.undo(thread_id, 4, ADA)
        feed.catch_up(thread_id)
        kept = feed.entries(thread_id)[5]
        assert (thread.revision, kept["actor"], kept["who"], kept["action"]) == (5, "user", "ada", "undo")
        assert store.item(thread_id)["last_change"]["action"] == "undo"

    def test_it_reads_the_thread_and_the_change_and_writes_once(self, store, feed, repo, thread_id):
        repo.remove_preferences(thread_id, [1], AGENT)
        feed.catch_up(thread_id)
        store.repository().undo(thread_id, 4, ADA)
        assert store.calls == {"GetItem": 1, "Query": 1, "UpdateItem": 1}

    def test_it_changes_a_locked_row_for_that_is_the_users_right(self, feed, repo, thread_id):
        first = repo.update_preferences(thread_id, edits("X"), AGENT).thread
        repo.set_lock(thread_id, first.preferences[0].id, ADA, locked=True)
        feed.catch_up(thread_id)
        row = repo.undo(thread_id, 4, ADA).preferences[0]
        assert (row.title, row.locked) == ("Alpha", True)

    def test_no_agent_has_it(self, repo, thread_id):
        with pytest.raises(ValueError, match="only a user"):
            repo.undo(thread_id, 2, AGENT)

    def test_positions_that_an_agent_saw_before_are_stale_once_rows_came_or_went(self, feed, repo, thread_id):
        seen = repo.remove_preferences(thread_id, [1], AGENT).thread.revision
        feed.catch_up(thread_id)
        repo.undo(thread_id, 4, ADA)
        written = repo.update_preferences(thread_id, edits("Z"), AGENT, list_revision=seen)
        assert [report.outcome for report in written.reports] == ["stale"]

    def test_an_agent_does_not_touch_what_an_undo_has_just_put_back(self, feed, repo, thread_id):
        seen = repo.update_preferences(thread_id, edits("X"), AGENT).thread.revision
        feed.catch_up(thread_id)
        repo.undo(thread_id, 4, ADA)
        written = repo.update_preferences(thread_id, edits("Z"), AGENT, list_revision=seen)
        assert [report.outcome for report in written.reports] == ["changed_by_user"]

    def test_it_writes_nothing_when_refused(self, store, feed, repo, thread_id):
        repo.update_preferences(thread_id, edits("X"), AGENT)
        repo.update_preferences(thread_id, edits("Y"), AGENT)
        feed.catch_up(thread_id)
        before = store.item(thread_id)
        with pytest.raises(UndoConflict):
            repo.undo(thread_id, 4, ADA)
        assert store.item(thread_id) == before


class TestARaceWithAnotherWriter:
    @pytest.fixture
    def removed(self, feed, repo, thread_id):
        """The id of Alpha, which the agent has removed: revision 4."""
        alpha = repo.list_preferences(thread_id, ADA).preferences[0].id
        repo.remove_preferences(thread_id, [1], AGENT)
        feed.catch_up(thread_id)
        return alpha

    def test_is_planned_anew_where_it_touches_other_rows(self, store, repo, thread_id, removed):
        other = store.repository(
            before_write=lambda: repo.add_preferences_bulk(thread_id, drafts("Later"), AGENT)
        )
        thread = other.undo(thread_id, 4, ADA)
        assert [row.title for row in thread.preferences] == ["Alpha", "Bravo", "Charlie", "Later"]
        assert store.calls == {"GetItem": 1, "Query": 1, "UpdateItem": 2}

    def test_is_lost_where_the_row_is_back_already(self, store, repo, thread_id, removed):
        other = store.repository(before_write=lambda: repo.undo(thread_id, 4, ADA))
        with pytest.raises(UndoConflict, match="in the way"):
            other.undo(thread_id, 4, ADA)
        assert [row.title for row in repo.list_preferences(thread_id, ADA).preferences].count("Alpha") == 1

    def test_never_fills_the_list_beyond_its_bound(self, store, repo, thread_id, removed):
        def fill():
            for half in ("a", "b"):
                titles = [f"{half}{n}" for n in range(49)]
                repo.add_preferences_bulk(thread_id, drafts(*titles), AGENT)

        with pytest.raises(ListFull):
            store.repository(before_write=fill).undo(thread_id, 4, ADA)
        assert len(store.rows(thread_id)) == MAX_PREFERENCES

    def test_brings_nothing_back_into_a_thread_that_was_deleted_meanwhile(
        self, store, repo, thread_id, removed
    ):
        other = store.repository(before_write=lambda: repo.delete_thread(thread_id, ADA))
        with pytest.raises(ThreadNotFound):
            other.undo(thread_id, 4, ADA)

    def test_brings_nothing_back_into_a_thread_that_was_deleted_and_came_back_meanwhile(
        self, store, repo, thread_id, removed
    ):
        def restart():
            repo.delete_thread(thread_id, ADA)
            repo.register_thread(thread_id, ADA)

        with pytest.raises(ThreadNotFound):
            store.repository(before_write=restart).undo(thread_id, 4, ADA)
        assert store.rows(thread_id) == {}


class TestAChangeThatIsNotInTheHistory:
    def test_is_awaited_while_it_may_still_come(self, feed, repo, thread_id):
        repo.remove_preferences(thread_id, [1], AGENT)
        repo.remove_preferences(thread_id, [1], ADA, respect_lock=False)
        for revision in (4, 5):
            with pytest.raises(HistoryNotReady):
                repo.undo(thread_id, revision, ADA)
        feed.catch_up(thread_id)
        assert len(repo.undo(thread_id, 5, ADA).preferences) == 2

    def test_is_awaited_while_it_is_tried_again_though_a_later_one_is_there(self, feed, repo, thread_id):
        repo.remove_preferences(thread_id, [1], AGENT)
        repo.remove_preferences(thread_id, [2], AGENT)
        assert feed.hand_over(feed.records(thread_id)[-1]) == []
        with pytest.raises(HistoryNotReady):
            repo.undo(thread_id, 4, ADA)

    def test_is_not_awaited_once_a_later_one_is_old(self, feed, store, repo, thread_id):
        repo.remove_preferences(thread_id, [1], AGENT)
        repo.remove_preferences(thread_id, [2], AGENT)
        assert feed.hand_over(feed.records(thread_id)[-1]) == []
        store.client.update_item(
            TableName=store.table_name,
            Key={"pk": {"S": f"THREAD#{thread_id}"}, "sk": {"S": "CHANGE#0000000005"}},
            UpdateExpression="SET #at = :then",
            ExpressionAttributeNames={"#at": "at"},
            ExpressionAttributeValues={":then": {"S": "2020-01-01T00:00:00.000Z"}},
        )
        with pytest.raises(ChangeNotFound):
            repo.undo(thread_id, 4, ADA)

    def test_is_awaited_as_long_as_the_template_has_its_record_tried(self, template):
        source = template.resources["HistoryFunction"]["Properties"]["Events"]["Changes"]["Properties"]
        assert source["MaximumRecordAgeInSeconds"] == RECORD_SECONDS

    def test_is_not_awaited_longer_than_its_record_is_tried(self, store, repo, thread_id):
        repo.remove_preferences(thread_id, [1], AGENT)
        store.poke(thread_id, "last_change", "at", value="2020-01-01T00:00:00.000Z")
        with pytest.raises(ChangeNotFound):
            repo.undo(thread_id, 4, ADA)

    @pytest.mark.parametrize("revision", [0, 4, 10**9])
    def test_was_never_made(self, repo, thread_id, revision):
        with pytest.raises(ChangeNotFound):
            repo.undo(thread_id, revision, ADA)

    def test_may_have_been_there_too_long(self, store, repo, thread_id):
        key = {"pk": {"S": f"THREAD#{thread_id}"}, "sk": {"S": "CHANGE#0000000003"}}
        store.client.update_item(
            TableName=store.table_name,
            Key=key,
            UpdateExpression="SET expires_at = :over",
            ExpressionAttributeValues={":over": {"N": "1000"}},
        )
        with pytest.raises(ChangeNotFound):
            repo.undo(thread_id, 3, ADA)

    def test_went_with_the_thread_even_where_its_entry_is_still_there(self, feed, repo, thread_id):
        repo.remove_preferences(thread_id, [1], AGENT)
        feed.catch_up(thread_id)
        repo.delete_thread(thread_id, ADA)
        repo.register_thread(thread_id, ADA)
        assert 4 in feed.entries(thread_id)
        with pytest.raises(ChangeNotFound):
            repo.undo(thread_id, 4, ADA)

    def test_went_with_the_thread_and_is_not_awaited(self, feed, repo, thread_id):
        repo.delete_thread(thread_id, ADA)
        repo.register_thread(thread_id, ADA)
        assert feed.hand_over(*feed.records(thread_id)[:-1]) == []
        assert feed.entries(thread_id) == {}
        with pytest.raises(ChangeNotFound):
            repo.undo(thread_id, 3, ADA)

    def test_is_no_reason_to_write_when_the_time_is_over(self, store, feed, repo, thread_id):
        repo.remove_preferences(thread_id, [1], AGENT)
        feed.catch_up(thread_id)
        clock = itertools.chain([15.0] * 2, itertools.repeat(2.0))
        with pytest.raises(Busy):
            store.repository(seconds_left=lambda: next(clock)).undo(thread_id, 4, ADA)
        assert store.calls["UpdateItem"] == 0


# -- at the people's handler -------------------------------------------------------------------------------


@pytest.mark.parametrize("store", ["moto"], indirect=True)
class TestThePeoplesHandler:
    @pytest.fixture
    def people(self, thread_id):
        return People(thread_id)

    def test_answers_with_the_fresh_list(self, feed, repo, thread_id, people):
        repo.remove_preferences(thread_id, [1], AGENT)
        feed.catch_up(thread_id)
        answer = people.undo(4)
        assert (answer.status, answer.headers["ETag"], answer.json["revision"]) == (200, '"5"', 5)
        assert [row["title"] for row in answer.json["preferences"]] == ["Alpha", "Bravo", "Charlie"]
        assert answer.json["preferences"][0]["revision"] == 5

    def test_says_which_rows_are_in_the_way_and_how(self, feed, repo, thread_id, people):
        [alpha, *_] = repo.update_preferences(thread_id, edits("X"), AGENT).thread.preferences
        repo.edit_preference(thread_id, alpha.id, {"title": "Y"}, ADA)
        feed.catch_up(thread_id)
        answer = people.undo(4)
        assert (answer.status, answer.json["code"]) == (409, "undo_conflict")
        assert answer.json["conflicts"] == [
            {"id": alpha.id, "title": "Y", "reason": "was renamed since, to “Y”"}
        ]

    def test_says_that_a_registration_has_nothing_to_put_back(self, people):
        answer = people.undo(1)
        assert (answer.status, answer.json["code"], answer.json["conflicts"]) == (409, "undo_conflict", [])
        assert "nothing to put back" in answer.json["detail"]

    def test_says_when_to_come_again_for_what_is_not_there_yet(self, repo, thread_id, people):
        repo.remove_preferences(thread_id, [1], AGENT)
        answer = people.undo(4)
        assert (answer.status, answer.json["code"]) == (503, "not_ready")
        assert int(answer.headers["Retry-After"]) > 0

    @pytest.mark.parametrize("revision", ["0", "-1", "01", "4", "two", "2.0", "", "99999999999", "2 ", "２"])
    def test_knows_no_change_under_what_is_no_revision_of_the_thread(self, people, revision):
        answer = people.undo(revision)
        assert (answer.status, answer.json["code"]) == (404, "not_found")

    def test_tells_a_stranger_what_it_tells_of_no_thread_at_all(self, store, people):
        reported = [people.undo(2, user="eve"), People(store.new_id()).undo(2), people.undo(99, user="eve")]
        assert {(answer.status, answer.json["detail"]) for answer in reported} == {(404, "no such thread")}
        assert people.undo(3).status == 200


# -- any sequence of changes, undone from the last to the first ------------------------------------------

TITLES = st.sampled_from(["A", "B", "C", "D", "E"])
SUBTITLES = st.sampled_from([None, "x", "y"])
KINDS = st.sampled_from(["hard", "soft"])
PLACES = st.integers(1, 6)
STEPS = st.one_of(
    st.tuples(st.just("add"), st.lists(st.tuples(TITLES, SUBTITLES, KINDS), min_size=1, max_size=4)),
    st.tuples(
        st.just("update"),
        st.lists(st.tuples(PLACES, TITLES, KINDS), min_size=1, max_size=3, unique_by=lambda edit: edit[0]),
    ),
    st.tuples(st.just("remove"), st.lists(PLACES, min_size=1, max_size=3)),
    st.tuples(st.just("edit"), PLACES, TITLES, SUBTITLES, KINDS, st.booleans()),
    st.tuples(st.just("drop"), PLACES),
    st.tuples(st.just("lock"), PLACES, st.booleans()),
    st.tuples(st.just("lock all"), st.booleans()),
    st.tuples(st.just("reorder"), st.lists(PLACES, max_size=4, unique=True)),
    st.tuples(st.just("undo"), st.integers(0, 8)),
)


def do(repo, thread_id, step):
    """One step of either party's; what does not apply to the list as it stands does nothing."""
    rows = repo.list_preferences(thread_id, ADA).preferences
    at = {n: row.id for n, row in enumerate(rows, 1)}
    match step:
        case "add", items:
            made = [Draft(title=title, subtitle=subtitle, kind=kind) for title, subtitle, kind in items]
            repo.add_preferences_bulk(thread_id, made, AGENT)
        case "update", wanted:
            made = [IndexedEdit(index=n, title=title, kind=kind) for n, title, kind in wanted]
            repo.update_preferences(thread_id, made, AGENT)
        case "remove", places:
            repo.remove_preferences(thread_id, places, AGENT)
        case "edit", place, title, subtitle, kind, locked if place in at:
            fields = {"title": title, "subtitle": subtitle, "kind": kind, "locked": locked}
            repo.edit_preference(thread_id, at[place], fields, ADA)
        case "drop", place if place in at:
            repo.remove_preference(thread_id, at[place], ADA)
        case "lock", place, locked if place in at:
            repo.set_lock(thread_id, at[place], ADA, locked=locked)
        case "lock all", locked:
            repo.set_all_locks(thread_id, ADA, locked=locked)
        case "reorder", places:
            repo.reorder(thread_id, [at[place] for place in places if place in at], ADA)


def test_changes_undone_from_the_last_to_the_first_leave_the_list_as_it_was(store, feed, repo):
    slow = "127.0.0.1" not in store.client.meta.endpoint_url  # moto
    examples = (80 if slow else 250) if PROVE else 8

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(steps=st.lists(STEPS, min_size=1, max_size=8))
    def check(steps):
        thread_id = store.new_id()
        repo.register_thread(thread_id, ADA)
        repo.add_preferences_bulk(thread_id, drafts("First", "Second", "Third"), AGENT)
        states = {2: shown(repo.list_preferences(thread_id, ADA))}

        for step in steps:
            if step[0] == "undo":  # one of any age, which may be refused
                feed.catch_up(thread_id)
                try:
                    repo.undo(thread_id, max(states) - step[1], ADA)
                except (UndoConflict, ChangeNotFound):
                    continue
            else:
                with suppress(Duplicate):
                    do(repo, thread_id, step)
            thread = repo.list_preferences(thread_id, ADA)
            states[thread.revision] = shown(thread)

        revisions = sorted(states)
        assert revisions == [*range(2, max(states) + 1)]
        feed.catch_up(thread_id)
        for revision in reversed(revisions[1:]):
            if states[revision] == states[revision - 1]:  # it changed no row, so there is nothing to undo
                continue
            assert shown(repo.undo(thread_id, revision, ADA)) == states[revision - 1]
        assert shown(repo.list_preferences(thread_id, ADA)) == states[2]

    check()
    tried("races", "sequences of changes undone to the first", examples)

"""The rules: from a thread as it was read and a request, to rows to put, rows to remove, and reports."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preferences.errors import (
    Duplicate,
    InvalidInput,
    ListFull,
    PreconditionFailed,
    PreferenceNotFound,
    ThreadNotFound,
    ThreadTaken,
)
from preferences.model import MAX_BATCH, MAX_PREFERENCES, Caller, Change, Draft, IndexedEdit, Thread
from preferences.rules import (
    Plan,
    Stamp,
    authorize,
    authorize_registration,
    entry_of,
    plan_additions,
    plan_deletion,
    plan_edit,
    plan_locks,
    plan_order,
    plan_registration,
    plan_removal,
    plan_removals,
    plan_title,
    plan_updates,
    renumbers,
)
from preferences.rules.plans import edited
from tests.support import ADA, AGENT, EVE, TRUSTED, a_row, a_thread, drafts

AT = "2026-12-01T08:00:00.000Z"
BY_AGENT = Stamp(revision=8, actor="agent", at=AT)
BY_USER = Stamp(revision=8, actor="user", at=AT)
WISHES = [f"wish-{n}" for n in range(MAX_BATCH)]
"""Ids for what is left as a suggestion."""
EVES_AGENT = Caller(actor="agent", owner="eve")
UNKNOWN = Thread(thread_id="t")
TOMBSTONE = Thread(thread_id="t", revision=8, deleted_by="ada")


def outcomes(plan: Plan):
    return [(report.index, report.outcome) for report in plan.reports]


def rows(plan: Plan):
    """The row that each report means, and what became of the element."""
    return [(report.id, report.outcome) for report in plan.reports]


class TestAuthorization:
    @pytest.mark.parametrize("caller", [ADA, AGENT, TRUSTED], ids=["its owner", "her agent", "trusted agent"])
    def test_is_given_to_the_owner_to_her_agent_and_to_an_agent_that_names_no_user(self, caller):
        thread = a_thread("A")
        assert authorize(thread, caller) is thread

    def test_is_refused_to_a_strangers_agent_also_where_a_hand_has_set_the_revision_to_nought(self):
        with pytest.raises(ThreadNotFound):
            authorize(a_thread("A", revision=0), EVES_AGENT)

    @pytest.mark.parametrize("caller", [EVE, EVES_AGENT], ids=["a stranger", "a stranger's agent"])
    def test_is_refused_to_anybody_else(self, caller):
        with pytest.raises(ThreadNotFound):
            authorize(a_thread("A"), caller)

    @pytest.mark.parametrize("caller", [ADA, EVE, AGENT, EVES_AGENT, TRUSTED])
    def test_to_a_tombstone_is_given_to_nobody(self, caller):
        with pytest.raises(ThreadNotFound):
            authorize(TOMBSTONE, caller)

    @pytest.mark.parametrize("caller", [ADA, TRUSTED], ids=["a user", "an agent that names no user"])
    def test_to_a_thread_that_is_not_stored_is_refused(self, caller):
        with pytest.raises(ThreadNotFound):
            authorize(UNKNOWN, caller)

    def test_to_a_thread_that_is_not_stored_is_given_to_an_agent_that_could_register_it(self):
        assert authorize(UNKNOWN, AGENT) is UNKNOWN

    def test_is_not_given_to_a_blank_user_for_want_of_an_owner(self):
        for thread in (TOMBSTONE, UNKNOWN):
            with pytest.raises(ThreadNotFound):
                authorize(thread, Caller(actor="user", owner=None))


class TestAnEditedRow:
    def test_that_is_what_it_shall_be_is_the_same_row(self):
        row = a_row("A", subtitle="s")
        assert edited(row, {"title": "A", "subtitle": "s", "kind": "soft", "locked": False}, BY_USER) is row

    @pytest.mark.parametrize(
        "fields", [{"title": "B"}, {"subtitle": None}, {"subtitle": "t"}, {"kind": "hard"}], ids=str
    )
    def test_carries_the_revision_the_writer_and_the_time(self, fields):
        new = edited(a_row("A", subtitle="s"), fields, BY_AGENT)
        assert (new.changed, new.updated_by, new.updated_at) == (8, "agent", AT)
        assert (new.user_changed, new.added, new.created_at) == (0, 1, a_row("A").created_at)

    def test_of_the_user_carries_that_it_was_the_user(self):
        assert edited(a_row("A"), {"title": "B"}, BY_USER).user_changed == 8

    def test_with_nothing_but_a_new_lock_carries_nothing_else(self):
        row = a_row("A")
        assert edited(row, {"locked": True}, BY_USER) == row.model_copy(update={"locked": True})

    def test_with_the_same_text_and_a_new_lock_carries_nothing_else(self):
        row = a_row("A")
        assert edited(row, {"title": "A", "locked": True}, BY_USER) == row.model_copy(update={"locked": True})


class TestAdditions:
    def plan(self, thread, items, stamp=BY_AGENT):
        return plan_additions(thread, items, [f"new-{n}" for n in range(len(items))], stamp)

    def test_go_to_the_end_unlocked_in_the_order_given(self):
        plan = self.plan(a_thread("A", locked=["A"]), drafts("C", "B"))
        assert [(row.title, row.locked) for row in plan.puts] == [("C", False), ("B", False)]
        assert a_row("A").rank < plan.puts[0].rank < plan.puts[1].rank
        assert rows(plan) == [("new-0", "recorded"), ("new-1", "recorded")]

    def test_renumber_nothing(self):
        thread = a_thread("A")
        assert not renumbers(thread, self.plan(thread, drafts("B")).rows_after(thread))

    def test_of_an_agent_begin_a_thread_that_is_not_stored(self):
        assert self.plan(UNKNOWN, drafts("A")).generation == "begins"
        assert self.plan(a_thread(), drafts("A")).generation == "goes on"

    @pytest.mark.parametrize(("stamp", "user_changed"), [(BY_AGENT, 0), (BY_USER, 8)])
    def test_carry_the_stamp_of_their_write(self, stamp, user_changed):
        (row,) = self.plan(a_thread(), drafts("A"), stamp).puts
        assert (row.added, row.changed, row.user_changed) == (8, 8, user_changed)
        assert (row.created_by, row.updated_by, row.created_at, row.updated_at) == (
            stamp.actor,
            stamp.actor,
            AT,
            AT,
        )

    def test_that_repeat_a_row_are_reported_where_it_stands(self):
        plan = self.plan(a_thread("A", "B"), drafts("B", "C", "A"))
        assert rows(plan) == [("B", "duplicate"), ("new-1", "recorded"), ("A", "duplicate")]
        assert [row.title for row in plan.puts] == ["C"]

    def test_that_repeat_a_locked_row_are_repeats_all_the_same(self):
        assert rows(self.plan(a_thread("A", locked=["A"]), drafts("A"))) == [("A", "duplicate")]

    def test_that_repeat_each_other_are_stored_once(self):
        plan = self.plan(a_thread("A"), drafts("X", "Y", "X"))
        assert rows(plan) == [("new-0", "recorded"), ("new-1", "recorded"), ("new-0", "duplicate")]

    @pytest.mark.parametrize(
        "draft",
        [
            Draft(title="a"),
            Draft(title="A", kind="hard"),
            Draft(title="A", subtitle="s"),
            Draft(title="A."),
        ],
        ids=["another case", "another kind", "another subtitle", "another text"],
    )
    def test_that_differ_in_anything_are_no_repeats(self, draft):
        assert rows(self.plan(a_thread("A"), [draft])) == [("new-0", "recorded")]

    def test_that_repeat_a_row_stored_twice_are_reported_at_the_first(self):
        thread = a_thread(a_row("A", id="x", rank=1), a_row("A", id="y", rank=2))
        assert rows(self.plan(thread, drafts("A"))) == [("x", "duplicate")]

    @pytest.mark.parametrize("before", [0, 50, 98, 99])
    def test_may_fill_the_list_to_its_bound(self, before):
        thread = a_thread(*(f"Row {n}" for n in range(before)))
        items = drafts(*(f"New {n}" for n in range(MAX_PREFERENCES - before)))
        assert len(self.plan(thread, items).puts) == MAX_PREFERENCES - before

    def test_beyond_the_bound_are_refused_all_of_them(self):
        thread = a_thread(*(f"Row {n}" for n in range(99)))
        with pytest.raises(ListFull, match="at most 100 preferences and has room for 1 more, not 2"):
            self.plan(thread, drafts("X", "Y"))

    def test_that_are_repeats_take_no_room(self):
        thread = a_thread(*(f"Row {n}" for n in range(99)))
        assert len(self.plan(thread, drafts("Row 0", "X", "X", "Row 98")).puts) == 1

    @given(st.integers(1, 10**6), st.integers(0, MAX_BATCH - 1))
    def test_never_take_a_rank_that_was_taken_before(self, revision, place):
        """Else a removed row that comes back would stand where another one is."""
        thread = a_thread(a_row("A", rank=(revision - 1) * 100 + place), revision=revision)
        first = self.plan(thread, drafts(*(f"x{n}" for n in range(MAX_BATCH))), Stamp(revision, "agent", AT))
        after = a_thread(*thread.preferences, *first.puts[:-1], revision=revision)  # the last is removed
        second = self.plan(after, drafts("Z"), Stamp(revision + 1, "agent", AT))
        ranks = [row.rank for row in (*thread.preferences, *first.puts, *second.puts)]
        assert len(set(ranks)) == len(ranks)


def update(first, now=None, *, index=1, seen=None, respect_lock=True, stamp=BY_AGENT, **fields):
    edit = IndexedEdit(index=index, **(fields or {"title": "New"}))
    return plan_updates(
        first, now or first, [edit], ["wish"], stamp, list_revision=seen, respect_lock=respect_lock
    )


def remove(first, now=None, *, index=1, seen=None, respect_lock=True):
    return plan_removals(
        first, now or first, [index], ["wish"], BY_AGENT, list_revision=seen, respect_lock=respect_lock
    )


@pytest.fixture(params=[update, remove], ids=["update", "removal"])
def by_position(request):
    return request.param


def done(plan):
    """Ids of the rows that the plan touches."""
    return [row.id for row in plan.puts] + list(plan.removes)


class TestPositions:
    def test_start_at_one(self, by_position):
        assert done(by_position(a_thread("A", "B"), index=2)) == ["B"]

    @pytest.mark.parametrize("index", [3, 100, 10**6])
    def test_beyond_the_list_are_out_of_range(self, by_position, index):
        plan = by_position(a_thread("A", "B"), index=index)
        assert (done(plan), outcomes(plan), plan.reports[0].title) == ([], [(index, "out_of_range")], None)

    def test_of_an_empty_list_are_out_of_range(self, by_position):
        assert outcomes(by_position(a_thread())) == [(1, "out_of_range")]

    def test_mean_the_list_as_it_was_first_read(self, by_position):
        assert done(by_position(a_thread("A", "B"), a_thread("B", "A"), index=1)) == ["A"]

    def test_of_a_row_that_is_gone_name_it_and_touch_nothing(self, by_position):
        plan = by_position(a_thread("A", "B"), a_thread("B"), index=1)
        assert (done(plan), plan.reports[0].outcome, plan.reports[0].title) == ([], "out_of_range", "A")

    def test_of_a_locked_row_touch_nothing(self, by_position):
        plan = by_position(a_thread("A", locked=["A"]))
        assert (done(plan), outcomes(plan)) == ([], [(1, "locked")])
        assert (plan.puts, plan.removes) == ((), ())

    def test_of_a_row_that_was_locked_since_touch_nothing(self, by_position):
        assert outcomes(by_position(a_thread("A"), a_thread("A", locked=["A"]))) == [(1, "locked")]

    def test_of_a_row_that_was_unlocked_since_are_written(self, by_position):
        assert done(by_position(a_thread("A", locked=["A"]), a_thread("A"))) == ["A"]

    def test_of_a_locked_row_are_written_where_the_lock_is_not_to_be_respected(self, by_position):
        assert done(by_position(a_thread("A", locked=["A"]), respect_lock=False)) == ["A"]

    def test_of_a_row_that_the_user_changed_since_are_shown_with_its_present_text(self, by_position):
        now = a_thread(a_row("Mine", id="A", user_changed=8), revision=8)
        plan = by_position(a_thread("A"), now)
        assert (done(plan), plan.reports[0].outcome, plan.reports[0].title) == (
            [],
            "changed_by_user",
            "Mine",
        )

    def test_of_a_row_that_the_user_changed_and_locked_are_locked(self, by_position):
        now = a_thread(a_row("Mine", id="A", user_changed=8, locked=True), revision=8)
        assert outcomes(by_position(a_thread("A"), now)) == [(1, "locked")]

    def test_of_a_row_that_the_user_had_changed_before_are_written(self, by_position):
        assert done(by_position(a_thread(a_row("A", user_changed=7)))) == ["A"]

    def test_of_a_row_that_another_agent_changed_since_are_written(self, by_position):
        now = a_thread(a_row("Theirs", id="A", changed=8), revision=8)
        assert done(by_position(a_thread("A"), now)) == ["A"]


class TestTheRevisionOfTheListThatWasSeen:
    def test_makes_positions_stale_when_the_list_was_renumbered_since(self, by_position):
        thread = a_thread("A", renumbered=7)
        plan = by_position(thread, seen=6)
        assert (done(plan), outcomes(plan), plan.reports[0].title) == ([], [(1, "stale")], None)

    def test_makes_positions_stale_when_the_thread_never_had_it(self, by_position):
        assert outcomes(by_position(a_thread("A"), seen=8)) == [(1, "stale")]

    def test_holds_from_the_renumbering_on(self, by_position):
        assert done(by_position(a_thread("A", renumbered=5), seen=5)) == ["A"]

    def test_may_be_the_present_one(self, by_position):
        assert done(by_position(a_thread("A", renumbered=7), seen=7)) == ["A"]

    def test_leaves_a_row_that_the_user_changed_after_it(self, by_position):
        plan = by_position(a_thread(a_row("Mine", user_changed=6)), seen=5)
        assert outcomes(plan) == [(1, "changed_by_user")]

    def test_touches_a_row_that_the_user_changed_up_to_it(self, by_position):
        assert done(by_position(a_thread(a_row("Mine", user_changed=5)), seen=5)) == ["Mine"]

    def test_does_not_reach_a_row_that_was_added_after_it(self, by_position):
        thread = a_thread(a_row("A"), a_row("B", rank=2, added=6))
        plan = by_position(thread, index=2, seen=5)
        assert (done(plan), outcomes(plan), plan.reports[0].title) == ([], [(2, "out_of_range")], None)

    def test_reaches_a_row_that_was_added_up_to_it(self, by_position):
        assert done(by_position(a_thread(a_row("A", added=5)), seen=5)) == ["A"]

    def test_is_compared_with_the_first_reading_and_not_with_a_later_one(self, by_position):
        now = a_thread("B", "A", revision=9, renumbered=9)
        assert done(by_position(a_thread("A", "B"), now, index=1, seen=7)) == ["A"]

    def test_of_nought_was_an_empty_list(self, by_position):
        assert outcomes(by_position(a_thread("A"), seen=0)) == [(1, "out_of_range")]
        assert outcomes(by_position(a_thread("A", renumbered=7), seen=0)) == [(1, "stale")]


class TestUpdates:
    def test_to_what_is_already_are_unchanged_and_put_nothing(self):
        plan = update(a_thread("A"), title="A", kind="soft")
        assert (done(plan), outcomes(plan)) == ([], [(1, "unchanged")])

    def test_of_nothing_are_unchanged(self):
        assert outcomes(update(a_thread("A"), title=None)) == [(1, "unchanged")]

    def test_are_reported_under_the_new_title(self):
        assert update(a_thread("A"), title="New").reports[0].title == "New"

    def test_keep_what_was_not_given(self):
        (row,) = update(a_thread(a_row("A", subtitle="s", kind="hard")), title="B").puts
        assert (row.title, row.subtitle, row.kind) == ("B", "s", "hard")

    def test_with_an_empty_subtitle_clear_it(self):
        (row,) = update(a_thread(a_row("A", subtitle="s")), subtitle="").puts
        assert row.subtitle is None

    def test_renumber_nothing(self):
        assert not renumbers(a_thread("A"), update(a_thread("A")).rows_after(a_thread("A")))

    def test_to_the_text_of_another_row_are_duplicates_of_it_and_put_nothing(self):
        plan = update(a_thread("A", "B"), title="B")
        assert (rows(plan), plan.reports[0].index, done(plan)) == ([("B", "duplicate")], 1, [])

    def test_in_one_call_are_compared_with_what_those_before_them_made(self):
        edits = [
            IndexedEdit(index=1, title="X"),
            IndexedEdit(index=2, title="A"),
            IndexedEdit(index=3, title="X"),
        ]
        thread = a_thread("A", "B", "C")
        plan = plan_updates(thread, thread, edits, WISHES, BY_AGENT, list_revision=None, respect_lock=True)
        assert rows(plan) == [("A", "updated"), ("B", "updated"), ("A", "duplicate")]

    def test_of_a_row_that_was_stored_twice_may_leave_its_twin(self):
        """Older versions let exact repeats be made."""
        thread = a_thread(a_row("A", id="x", rank=1), a_row("A", id="y", rank=2))
        assert rows(update(thread, index=2, title="B")) == [("y", "updated")]
        assert rows(update(thread, index=2, title="A")) == [("y", "unchanged")]

    def test_of_one_row_twice_build_on_each_other_and_put_it_once(self):
        edits = [IndexedEdit(index=1, title="X", kind="hard"), IndexedEdit(index=1, title="Y")]
        plan = plan_updates(
            a_thread("A"), a_thread("A"), edits, WISHES, BY_AGENT, list_revision=None, respect_lock=True
        )
        assert [(row.title, row.kind) for row in plan.puts] == [("Y", "hard")]

    def test_are_told_one_by_one(self):
        edits = [IndexedEdit(index=n, title="X") for n in (1, 2, 9)]
        thread = a_thread("A", "B", locked=["B"])
        plan = plan_updates(thread, thread, edits, WISHES, BY_AGENT, list_revision=None, respect_lock=True)
        assert outcomes(plan) == [(1, "updated"), (2, "locked"), (9, "out_of_range")]
        assert done(plan) == ["A"]


class TestRemovals:
    def test_renumber_the_rows_behind(self):
        thread = a_thread("A", "B")
        assert renumbers(thread, remove(thread, index=1).rows_after(thread))
        assert not renumbers(thread, remove(thread, index=2).rows_after(thread))

    def test_given_twice_count_once(self):
        thread = a_thread("A", "B")
        plan = plan_removals(
            thread, thread, [1, 1, 2, 1], WISHES, BY_AGENT, list_revision=None, respect_lock=True
        )
        assert (outcomes(plan), plan.removes) == ([(1, "removed"), (2, "removed")], ("A", "B"))

    def test_name_what_was_removed(self):
        assert remove(a_thread("A")).reports[0].title == "A"


class TestARegistration:
    def test_begins_a_generation_where_there_is_no_owner(self):
        assert plan_registration(UNKNOWN).generation == plan_registration(TOMBSTONE).generation == "begins"

    def test_of_a_thread_that_is_there_changes_nothing(self):
        assert plan_registration(a_thread("A")).changes_nothing

    def test_may_be_made_by_anyone_of_a_thread_that_is_not_stored(self):
        assert authorize_registration(UNKNOWN, EVE) is UNKNOWN

    @pytest.mark.parametrize("thread", [a_thread("A"), TOMBSTONE], ids=["a thread", "a tombstone"])
    def test_may_be_made_by_its_owner_and_by_nobody_else(self, thread):
        assert authorize_registration(thread, ADA) is thread
        with pytest.raises(ThreadTaken):
            authorize_registration(thread, EVE)

    def test_is_undone_by_a_deletion_which_ends_the_generation(self):
        assert plan_deletion(a_thread("A")).generation == "ends"
        assert not plan_deletion(a_thread("A")).changes_nothing

    @pytest.mark.parametrize("title", ["Trip to Rome", None])
    def test_a_title_is_a_plan_of_its_own_that_touches_no_row(self, title):
        plan = plan_title(title)
        assert plan == Plan(title=title or "")
        assert not plan.changes_nothing
        assert plan.rows_after(a_thread("A", "B")) == list(a_thread("A", "B").preferences)

    def test_a_plan_of_anything_else_says_nothing_of_the_title(self):
        assert plan_locks(a_thread("A"), locked=True).title is None
        assert plan_registration(a_thread("A")).title is None


class TestAUsersEdit:
    def test_sets_what_is_given_locked_or_not(self):
        plan = plan_edit(a_thread("A", locked=["A"]), "A", {"title": "B"}, BY_USER)
        assert [(row.title, row.locked, row.user_changed) for row in plan.puts] == [("B", True, 8)]
        assert rows(plan) == [("A", "updated")]

    def test_to_what_already_is_puts_nothing(self):
        plan = plan_edit(a_thread("A"), "A", {"title": "A", "locked": False}, BY_USER)
        assert (plan.puts, rows(plan)) == ((), [("A", "unchanged")])

    def test_of_a_row_that_is_not_there_is_refused(self):
        with pytest.raises(PreferenceNotFound):
            plan_edit(a_thread("A"), "Z", {"title": "B"}, BY_USER)

    def test_of_another_revision_than_the_one_named_is_refused_with_the_row_as_it_stands(self):
        thread = a_thread(a_row("A", changed=5))
        assert plan_edit(thread, "A", {"title": "B"}, BY_USER, if_match={5}).puts
        with pytest.raises(PreconditionFailed) as refusal:
            plan_edit(thread, "A", {"title": "B"}, BY_USER, if_match={4})
        assert refusal.value.current == thread.find("A")

    def test_to_the_text_of_another_row_is_refused_and_names_it(self):
        with pytest.raises(Duplicate) as refusal:
            plan_edit(a_thread("A", "B"), "A", {"title": "B"}, BY_USER)
        assert [(row.id, row.title) for row in refusal.value.rows] == [("B", "B")]

    def test_that_turns_a_lock_is_not_refused_for_a_twin_that_was_there_before(self):
        thread = a_thread(a_row("A", id="x", rank=1), a_row("A", id="y", rank=2))
        assert plan_edit(thread, "x", {"locked": True}, BY_USER).puts


class TestAUsersRemoval:
    def test_takes_the_row_out_locked_or_not(self):
        assert plan_removal(a_thread("A", locked=["A"]), "A").removes == ("A",)

    def test_of_a_row_that_is_not_there_is_refused(self):
        with pytest.raises(PreferenceNotFound):
            plan_removal(a_thread("A"), "Z")

    def test_of_another_revision_than_the_one_named_is_refused(self):
        thread = a_thread(a_row("A", changed=5))
        assert plan_removal(thread, "A", if_match={5}).removes
        with pytest.raises(PreconditionFailed):
            plan_removal(thread, "A", if_match={4})


class TestAllLocks:
    @pytest.mark.parametrize("locked", [True, False])
    def test_change_the_rows_that_are_not_so_and_nothing_else_of_them(self, locked):
        thread = a_thread("A", "B", locked=["B"])
        (row,) = plan_locks(thread, locked=locked).puts
        assert row == thread.find("A" if locked else "B").model_copy(update={"locked": locked})

    def test_renumber_nothing(self):
        assert not renumbers(a_thread("A"), plan_locks(a_thread("A"), locked=True).rows_after(a_thread("A")))


def in_order(thread, plan):
    rows = {row.id: row for row in thread.preferences} | {row.id: row for row in plan.puts}
    return [row.id for row in sorted(rows.values(), key=lambda row: (row.rank, row.id))]


class TestAnOrder:
    @given(st.permutations(["A", "B", "C", "D", "E"]), st.integers(0, 5))
    def test_puts_the_named_rows_first_and_the_others_in_theirs(self, ids, count):
        thread = a_thread("A", "B", "C", "D", "E")
        named = ids[:count]
        rest = [name for name in "ABCDE" if name not in named]
        assert in_order(thread, plan_order(thread, named)) == named + rest

    @given(st.lists(st.integers(1, 3), min_size=5, max_size=5), st.permutations(["A", "B", "C", "D", "E"]))
    def test_holds_for_rows_of_equal_rank(self, ranks, ids):
        rows = sorted(
            (a_row(name, rank=rank) for name, rank in zip("ABCDE", ranks, strict=True)),
            key=lambda row: (row.rank, row.id),
        )
        thread = a_thread(*rows)
        assert in_order(thread, plan_order(thread, ids)) == ids

    def test_touches_the_ranks_of_the_rows_that_move_and_nothing_else(self):
        thread = a_thread("A", "B", "C")
        plan = plan_order(thread, ["B", "A"])
        assert sorted(done(plan)) == ["A", "B"]
        assert all(row == thread.find(row.id).model_copy(update={"rank": row.rank}) for row in plan.puts)

    def test_that_is_already_so_puts_nothing_and_renumbers_nothing(self):
        assert plan_order(a_thread("A", "B"), ["A", "B"]) == plan_order(a_thread("A"), []) == Plan()

    def test_that_moves_a_row_renumbers(self):
        assert renumbers(
            a_thread("A", "B"), plan_order(a_thread("A", "B"), ["B"]).rows_after(a_thread("A", "B"))
        )

    def test_takes_no_new_rank_so_that_a_row_added_later_is_last(self):
        thread = a_thread("A", "B", "C")
        assert max(row.rank for row in plan_order(thread, ["C", "B", "A"]).puts) == 3

    @pytest.mark.parametrize(("ids", "place"), [(["Z"], 0), (["A", "Z"], 1), (["A", "B", "A"], 2)])
    def test_that_names_no_row_or_one_twice_is_refused_at_its_place(self, ids, place):
        with pytest.raises(InvalidInput) as refusal:
            plan_order(a_thread("A", "B"), ids)
        assert [fault.field for fault in refusal.value.errors] == [f"ids.{place}"]


class TestAnEntryOfTheHistory:
    CHANGE = Change(id="1", actor="agent", action="edit", at=AT)

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            (a_thread("A"), a_thread("B", revision=8, owner=None, last_change=CHANGE)),
            (a_thread("A"), a_thread("B", revision=8)),
            (a_thread("A"), a_thread("B", revision=7, last_change=CHANGE)),
            (a_thread("A"), a_thread("B", revision=6, last_change=CHANGE)),
            (a_thread("A", last_change=CHANGE), a_thread("B", revision=8, last_change=CHANGE)),
        ],
        ids=["a deletion", "of nobody", "of no new revision", "backwards", "under a change that was before"],
    )
    def test_is_made_of_no_write_but_the_systems_own(self, old, new):
        assert entry_of(old, new) is None

    def test_is_made_of_the_next_revision_under_a_change_of_its_own(self):
        before = self.CHANGE.model_copy(update={"id": "0"})
        new = a_thread("A", "B", revision=8, last_change=self.CHANGE)
        entry = entry_of(a_thread("A", last_change=before), new)
        assert (entry.revision, entry.owner, entry.change) == (8, "ada", self.CHANGE)
        assert [(change.id, change.before) for change in entry.rows] == [("B", None)]

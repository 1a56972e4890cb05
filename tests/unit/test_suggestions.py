"""What a wish comes to that the user's will stands against: the rules, without a table."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preferences.errors import Duplicate, ListFull, SuggestionNotFound
from preferences.model import (
    MAX_BATCH,
    MAX_PREFERENCES,
    MAX_SUGGESTIONS,
    Draft,
    IndexedEdit,
    Suggestion,
    folded,
    live,
)
from preferences.rules import (
    Stamp,
    declined_after,
    plan_acceptance,
    plan_additions,
    plan_dismissal,
    plan_edit,
    plan_locks,
    plan_removal,
    plan_removals,
    plan_updates,
)
from preferences.rules.suggestions import LENGTH, MAX_DECLINED
from tests.support import a_row, a_thread, drafts

AT = "2026-12-01T08:00:00.000Z"
WHY = "A better hotel costs more."
IDS = [f"wish-{n}" for n in range(MAX_BATCH)]
INVISIBLE = "\u00ad\u034f\u061c\u180e\u200b\u200c\u200d\u2060\ufe0f\ufeff\U000e0100"


def stamp(thread, actor="agent"):
    return Stamp(thread.revision + 1, actor, AT, "agent-1" if actor == "agent" else "ada", WHY)


def after(thread, plan, actor="agent"):
    """The thread as the write leaves it."""
    rows = plan.rows_after(thread)
    waiting = thread.suggestions if plan.suggestions is None else plan.suggestions
    return a_thread(
        *rows,
        revision=thread.revision + 1,
        suggestions=live(waiting, rows),
        declined=declined_after(thread, plan, rows) if actor == "user" else thread.declined,
    )


def update(thread, *edits, first=None, seen=None):
    edits = [IndexedEdit(**edit) for edit in edits]
    return plan_updates(
        first or thread, thread, edits, IDS, stamp(thread), list_revision=seen, respect_lock=True
    )


def remove(thread, *indices):
    return plan_removals(thread, thread, indices, IDS, stamp(thread), list_revision=None, respect_lock=True)


def add(thread, *items, ids=IDS):
    return plan_additions(thread, items, ids[: len(items)], stamp(thread))


def user_removes(thread, title):
    row = next(row for row in thread.preferences if row.title == title)
    return after(thread, plan_removal(thread, row.id), "user")


def accept(thread, wish="wish-0"):
    plan = plan_acceptance(thread, wish, "new-row", stamp(thread, "user"))
    return after(thread, plan, "user")


def dismiss(thread, wish="wish-0"):
    return after(thread, plan_dismissal(thread, wish), "user")


def said(plan):
    return [(report.outcome, report.suggestion) for report in plan.reports]


def waiting(thread):
    return [(wish.action, wish.target, wish.text) for wish in thread.live]


LOCKED = a_thread(a_row("Budget under 900", id="b", locked=True, rank=1), a_row("Quiet", id="q", rank=2))


class TestAWishForALockedRow:
    def test_waits_with_the_whole_text_the_reason_and_who(self):
        plan = update(LOCKED, {"index": 1, "title": "Budget under 1200"})
        assert said(plan) == [("locked", "left")]
        assert (plan.puts, plan.removes) == ((), ())
        assert plan.suggestions == (
            Suggestion(
                id="wish-0",
                action="edit",
                target="b",
                base=1,
                text=("Budget under 1200", None, "soft"),
                reasoning=WHY,
                agent="agent-1",
                at=AT,
            ),
        )

    def test_waits_when_it_is_a_removal(self):
        assert waiting(after(LOCKED, remove(LOCKED, 1))) == [("remove", "b", None)]

    def test_waits_when_it_is_an_addition_under_the_same_title(self):
        plan = add(LOCKED, Draft(title="budget UNDER 900.", subtitle="all in all"))
        assert said(plan) == [("suggested", "left")]
        assert waiting(after(LOCKED, plan)) == [("add", None, ("budget UNDER 900.", "all in all", "soft"))]

    def test_waits_when_it_gives_another_row_that_title(self):
        plan = update(LOCKED, {"index": 2, "title": "Budget under 900", "kind": "hard"})
        assert said(plan) == [("suggested", "left")]
        assert waiting(after(LOCKED, plan)) == [("edit", "q", ("Budget under 900", None, "hard"))]

    def test_is_unchanged_when_it_is_so_already(self):
        plan = update(LOCKED, {"index": 1, "title": "Budget under 900"})
        assert (said(plan), plan.changes_nothing) == ([("unchanged", None)], True)

    def test_is_a_duplicate_when_the_addition_says_just_the_same(self):
        plan = add(LOCKED, Draft(title="Budget under 900"))
        assert (said(plan), plan.changes_nothing) == ([("duplicate", None)], True)

    def test_leaves_nothing_when_the_user_changed_the_row_since(self):
        seen = LOCKED.model_copy(update={"revision": 6})
        row = a_row("Budget under 950", id="b", locked=True, changed=7, user_changed=7)
        plan = update(a_thread(row), {"index": 1, "title": "Budget under 1200"}, first=seen)
        assert (said(plan), plan.changes_nothing) == ([("locked", "outdated")], True)

    def test_waits_once_however_often_it_is_wished(self):
        once = after(LOCKED, update(LOCKED, {"index": 1, "title": "X"}))
        again = update(once, {"index": 1, "title": "X"})
        assert (said(again), again.changes_nothing) == ([("locked", "left")], True)

    def test_takes_the_place_of_an_older_one_under_an_id_of_its_own(self):
        once = after(LOCKED, update(LOCKED, {"index": 1, "title": "X"}))
        other = plan_removals(once, once, [1], ["newer"], stamp(once), list_revision=None, respect_lock=True)
        twice = after(once, other)
        assert [(wish.id, wish.action) for wish in twice.live] == [("newer", "remove")]
        with pytest.raises(SuggestionNotFound):
            accept(twice, "wish-0")

    def test_stands_first_within_a_call(self):
        plan = update(LOCKED, {"index": 1, "title": "X"}, {"index": 1, "title": "Y"})
        assert said(plan) == [("locked", "left"), ("locked", "not_first")]
        assert waiting(after(LOCKED, plan)) == [("edit", "b", ("X", None, "soft"))]

    def test_pushes_none_out_where_so_many_wait_as_may(self):
        rows = [a_row(f"R{n}", rank=n, locked=True) for n in range(MAX_SUGGESTIONS + 5)]
        thread = a_thread(*rows)
        plan = remove(thread, *range(1, MAX_SUGGESTIONS + 6))
        assert said(plan) == [("locked", "left")] * MAX_SUGGESTIONS + [("locked", "too_many")] * 5
        full = after(thread, plan)
        assert len(full.live) == MAX_SUGGESTIONS
        assert said(add(full, Draft(title="R1", kind="hard"))) == [("locked", "too_many")]
        assert said(update(full, {"index": 1, "title": "X"})) == [("locked", "left")]  # its own row's place

    def test_of_a_user_leaves_nothing(self):
        plan = plan_removals(
            LOCKED, LOCKED, [1], IDS, stamp(LOCKED, "user"), list_revision=None, respect_lock=True
        )
        assert (said(plan), plan.suggestions) == ([("locked", None)], None)

    def test_has_a_reason_of_bounded_length(self):
        long = Stamp(8, "agent", AT, None, "x" * 1000)
        plan = plan_removals(LOCKED, LOCKED, [1], IDS, long, list_revision=None, respect_lock=True)
        assert len(plan.suggestions[0].reasoning) == 300


class TestOutdated:
    def test_is_one_whose_row_has_changed(self):
        thread = after(LOCKED, update(LOCKED, {"index": 1, "title": "X"}))
        changed = plan_edit(thread, "b", {"subtitle": "in all"}, stamp(thread, "user"))
        assert after(thread, changed, "user").suggestions == ()

    def test_is_not_one_whose_row_was_locked_or_moved(self):
        thread = after(LOCKED, update(LOCKED, {"index": 1, "title": "X"}))
        for locked in (False, True):
            assert after(thread, plan_locks(thread, locked=locked), "user").live == thread.live

    def test_is_one_whose_row_is_gone_and_an_addition_that_is_there(self):
        thread = after(LOCKED, add(LOCKED, Draft(title="Budget under 900", kind="hard")))
        thread = after(thread, remove(thread, 1))
        assert len(thread.live) == 1  # of additions and rows, each has a place of its own
        added = plan_additions(
            thread, [Draft(title="Budget under 900", kind="hard")], ["n"], stamp(thread, "user")
        )
        assert after(thread, added, "user").live == ()


class TestAccepting:
    def test_does_what_was_shown_and_leaves_the_lock(self):
        thread = accept(after(LOCKED, update(LOCKED, {"index": 1, "title": "X", "kind": "hard"})))
        row = thread.find("b")
        assert (row.title, row.kind, row.locked, row.updated_by, row.user_changed) == (
            "X",
            "hard",
            True,
            "user",
            thread.revision,
        )
        assert thread.suggestions == ()

    def test_removes_and_adds(self):
        assert accept(after(LOCKED, remove(LOCKED, 1))).find("b") is None
        thread = accept(after(LOCKED, add(LOCKED, Draft(title="Budget under 900", kind="hard"))))
        assert thread.find("new-row").created_by == "user"

    def test_says_why_in_the_agents_words(self):
        thread = after(LOCKED, remove(LOCKED, 1))
        assert plan_acceptance(thread, "wish-0", "n", stamp(thread, "user")).reasoning == WHY

    def test_leaves_the_others(self):
        thread = after(LOCKED, remove(LOCKED, 1))
        thread = after(thread, add(thread, Draft(title="Budget under 900", kind="hard"), ids=["other"]))
        assert [wish.id for wish in accept(thread).live] == ["other"]

    @pytest.mark.parametrize("wish", ["", "nothing", "wish-1"])
    def test_of_what_does_not_wait_shows_the_present_list(self, wish):
        with pytest.raises(SuggestionNotFound) as caught:
            accept(LOCKED, wish)
        assert caught.value.thread is LOCKED

    def test_of_an_exact_repeat_is_refused(self):
        thread = after(LOCKED, update(LOCKED, {"index": 1, "title": "Quiet"}))
        with pytest.raises(Duplicate):
            accept(thread)

    def test_of_an_addition_to_a_full_list_is_refused(self):
        rows = [a_row(f"R{n}", rank=n, locked=True) for n in range(MAX_PREFERENCES)]
        thread = after(a_thread(*rows), add(a_thread(*rows), Draft(title="R1", kind="hard")))
        with pytest.raises(ListFull):
            accept(thread)


class TestWhatTheUserTurnedDown:
    @pytest.mark.parametrize("spelling", ["Quiet", "quiet", " QUIET!", "Ｑuiet …", "Qui\u00adet."])
    def test_is_not_recorded_again_by_an_agent(self, spelling):
        thread = user_removes(LOCKED, "Quiet")
        plan = add(thread, Draft(title=spelling, kind="hard"))
        assert said(plan) == [("suggested", "left")]
        assert plan.puts == ()

    def test_is_not_brought_back_by_a_new_title(self):
        thread = user_removes(a_thread("A", "Quiet"), "Quiet")
        plan = update(thread, {"index": 1, "title": "quiet"})
        assert (said(plan), plan.puts) == ([("suggested", "left")], ())

    def test_is_not_what_has_another_name(self):
        thread = user_removes(a_thread("A", "C#"), "C#")
        assert said(add(thread, *drafts("C"))) == [("recorded", None)]

    def test_is_what_it_was_called_before_the_user_renamed_it(self):
        renamed = after(LOCKED, plan_edit(LOCKED, "q", {"title": "Silent"}, stamp(LOCKED, "user")), "user")
        assert said(add(renamed, *drafts("Quiet"))) == [("suggested", "left")]

    def test_is_not_what_an_agent_removed(self):
        thread = after(LOCKED, remove(LOCKED, 2))
        assert said(add(thread, *drafts("Quiet"))) == [("recorded", None)]

    def test_is_not_what_another_row_is_still_called(self):
        thread = user_removes(a_thread("A", "a", "B"), "A")
        assert said(add(thread, Draft(title="A", kind="hard"))) == [("recorded", None)]

    def test_is_over_once_the_user_brings_it_back(self):
        thread = user_removes(LOCKED, "Quiet")
        back = plan_additions(thread, drafts("quiet"), ["n"], stamp(thread, "user"))
        thread = after(thread, back, "user")
        thread = after(thread, remove(thread, 2))
        assert said(add(thread, *drafts("Quiet"))) == [("recorded", None)]

    def test_is_over_once_the_user_accepts_it(self):
        thread = user_removes(LOCKED, "Quiet")
        thread = accept(after(thread, add(thread, *drafts("Quiet"))))
        assert thread.declined == ""

    @pytest.mark.parametrize(
        "wish",
        [
            lambda thread: update(thread, {"index": 1, "title": "X"}),
            lambda thread: remove(thread, 1),
            lambda thread: add(thread, Draft(title="Budget under 900", kind="hard")),
            lambda thread: update(thread, {"index": 2, "title": "Budget under 900", "kind": "hard"}),
        ],
        ids=["edit", "removal", "addition", "new title"],
    )
    def test_is_not_suggested_again_after_it_was_dismissed(self, wish):
        thread = dismiss(after(LOCKED, wish(LOCKED)))
        assert thread.suggestions == ()
        again = wish(thread)
        assert (said(again), again.changes_nothing) == ([("declined", None)], True)

    @pytest.mark.parametrize(
        "again",
        [lambda thread: update(thread, {"index": 1, "title": "X"}), lambda thread: remove(thread, 1)],
        ids=["edit", "removal"],
    )
    def test_is_not_done_where_the_lock_went_before_it_was_dismissed(self, again):
        thread = after(LOCKED, again(LOCKED))
        thread = dismiss(after(thread, plan_locks(thread, locked=False), "user"))
        plan = again(thread)
        assert (said(plan), plan.changes_nothing) == ([("declined", None)], True)
        assert said(update(thread, {"index": 1, "subtitle": "all in all"})) == [("updated", None)]

    @pytest.mark.parametrize(
        "spelling",
        [{"title": "x."}, {"title": "X\u200b"}, {"title": " X ", "subtitle": "a  NIGHT"}],
        ids=["case and end mark", "invisible character", "spaces and a subtitle"],
    )
    def test_is_not_done_in_another_spelling(self, spelling):
        wish = {"index": 1, "title": "X", **({"subtitle": "a night"} if "subtitle" in spelling else {})}
        thread = after(LOCKED, update(LOCKED, wish))
        thread = dismiss(after(thread, plan_locks(thread, locked=False), "user"))
        plan = update(thread, {"index": 1, **spelling})
        assert (said(plan), plan.changes_nothing) == ([("declined", None)], True)

    @pytest.mark.parametrize(
        "freed",
        [
            lambda thread: plan_edit(
                thread, "b", {"title": "Budget", "locked": False}, stamp(thread, "user")
            ),
            lambda thread: plan_locks(thread, locked=False),
            lambda thread: plan_removal(thread, "b"),
        ],
        ids=["renamed", "unlocked", "removed"],
    )
    def test_is_not_the_title_of_that_row_once_the_title_is_free(self, freed):
        wish = {"index": 1, "title": "Budget under 900", "subtitle": "a night"}
        thread = a_thread(
            a_row("Quiet", id="q", rank=1), a_row("Budget under 900", id="b", locked=True, rank=2)
        )
        thread = dismiss(after(thread, update(thread, wish)))
        thread = after(thread, freed(thread), "user")
        plan = update(thread, wish)
        assert (said(plan), plan.changes_nothing) == ([("declined", None)], True)

    def test_may_be_done_by_the_user(self):
        thread = after(LOCKED, remove(LOCKED, 1))
        thread = dismiss(after(thread, plan_locks(thread, locked=False), "user"))
        plan = plan_removals(
            thread, thread, [1], IDS, stamp(thread, "user"), list_revision=None, respect_lock=False
        )
        assert said(plan) == [("removed", None)]

    def test_may_be_suggested_in_other_words(self):
        thread = dismiss(after(LOCKED, update(LOCKED, {"index": 1, "title": "X"})))
        assert said(update(thread, {"index": 1, "title": "Y"})) == [("locked", "left")]
        assert said(remove(thread, 1)) == [("locked", "left")]

    def test_is_forgotten_of_a_row_when_it_is_unlocked(self):
        thread = dismiss(after(LOCKED, remove(LOCKED, 1)))
        thread = after(thread, plan_locks(thread, locked=False), "user")
        thread = after(thread, plan_locks(thread, locked=True), "user")
        assert said(remove(thread, 1)) == [("locked", "left")]

    def test_is_dismissed_once_and_all_at_once(self):
        thread = after(LOCKED, remove(LOCKED, 1))
        thread = after(thread, add(thread, Draft(title="Budget under 900", kind="hard"), ids=["other"]))
        once = dismiss(thread)
        assert [wish.id for wish in once.live] == ["other"]
        assert dismiss(once).live == once.live
        assert dismiss(thread, None).live == ()

    def test_is_kept_as_digests_of_which_the_oldest_go(self):
        thread = a_thread(*(a_row(f"Row number {n}", rank=n) for n in range(MAX_PREFERENCES)))
        for _ in range(3):
            plan = plan_dismissal(thread, None)
            gone = type(plan)(removes=tuple(row.id for row in thread.preferences))
            emptied = after(thread, gone, "user")
            assert len(emptied.declined) <= MAX_DECLINED * LENGTH
            titles = [f"{len(emptied.declined)} {n} {emptied.revision}" for n in range(MAX_PREFERENCES)]
            thread = after(
                emptied,
                type(plan)(puts=tuple(a_row(title, rank=n) for n, title in enumerate(titles))),
                "user",
            )
        assert len(emptied.declined) == MAX_DECLINED * LENGTH
        assert "Row number" not in json.dumps(emptied.model_dump())


class TestTheSameTitle:
    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("Straße", "STRASSE"),
            ("ﬁve  stars", "Five stars"),
            ("Café", "Cafe\u0301"),
            ("Ruhig!", "ruhig"),
            ("A\u200db", "ab"),
            ("Cafe\u034f\u0301", "Café"),
            ("ᄒ\u200bᅡ\u00adᆫ", "한"),
        ],
    )
    def test_is_one_to_the_reader(self, one, other):
        assert folded(one) == folded(other)

    @given(st.text(min_size=1, max_size=20), st.sampled_from(INVISIBLE), st.data())
    def test_is_one_with_an_invisible_character_anywhere(self, title, invisible, data):
        apart = unicodedata.normalize("NFKD", title)
        at = data.draw(st.integers(0, len(apart)))
        assert folded(apart[:at] + invisible + apart[at:]) == folded(apart)

    @pytest.mark.parametrize(("one", "other"), [("C#", "C"), ("1.5", "15"), ("Café", "Cafe"), ("a-b", "ab")])
    def test_is_not_one_that_means_something_else(self, one, other):
        assert folded(one) != folded(other)

    @given(st.text(max_size=30))
    def test_is_the_same_as_itself_folded(self, title):
        assert folded(folded(title)) == folded(title)

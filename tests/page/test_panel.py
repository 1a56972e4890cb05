"""The panel does in a browser what it promises: on the local stack, over real HTTP, in Chromium."""

import pytest
from playwright.sync_api import expect

from tests.browser import (
    JOURNEY,
    LIST,
    LOCK,
    ONE,
    Held,
    answer_with,
    hide,
    list_requests,
    requests_of,
    signed_in,
    until,
)


class TestTheList:
    def test_hard_and_soft_are_apart_and_told_in_words_and_shapes(self, panel):
        assert panel.titles("hard") == ["Budget under 900", "No night flights"]
        assert panel.titles("soft") == ["A quiet room", "Window seat"]
        expect(panel.root.get_by_role("heading", name="Must have", exact=True)).to_be_visible()
        expect(panel.root.get_by_role("heading", name="Nice to have", exact=True)).to_be_visible()
        corners = [
            panel.root.locator(f".section[data-kind={kind}] h3 .mark").evaluate(
                "mark => getComputedStyle(mark).borderRadius"
            )
            for kind in ("hard", "soft")
        ]
        assert corners[0] != corners[1]

    def test_each_row_has_the_number_that_the_agent_sees(self, panel):
        panel.agent_adds({"title": "Direct trains only", "kind": "hard"})
        panel.refresh()
        panel.shows(
            "Budget under 900", "No night flights", "Direct trains only", "A quiet room", "Window seat"
        )
        assert panel.numbers()["Direct trains only"] == "5"
        assert "#5 [hard] Direct trains only" in panel.agent("list_preferences")["result"]

    def test_says_who_changed_a_row_last_and_when(self, panel):
        meta = panel.row("A quiet room").locator(".meta")
        expect(meta.locator("time")).to_be_hidden()  # one's own need no label
        panel.agent_updates({"index": 3, "subtitle": "On the courtyard side"})
        panel.refresh()
        expect(meta.locator(".fresh")).to_have_text("changed")
        expect(meta.locator(".origin")).to_have_text("by the agent just now")
        expect(meta.locator("time")).to_have_attribute("datetime", panel.stored()[2]["updated_at"])

    def test_marks_quietly_what_the_agent_has_just_done_and_for_a_while_only(self, open_panel):
        panel = open_panel(clock=True)
        expect(panel.root.locator(".fresh:visible")).to_have_count(0)
        panel.agent_updates({"index": 1, "title": "Budget under 950"})
        panel.agent_adds("Near the station")
        panel.api("PATCH", f"/preferences/{panel.stored()[3]['id']}", {"title": "Aisle seat"})
        panel.refresh()
        expect(panel.row("Budget under 950").locator(".fresh")).to_have_text("changed")
        expect(panel.row("Near the station").locator(".fresh")).to_have_text("new")
        expect(panel.root.locator(".fresh:visible")).to_have_count(2)
        panel.page.clock.run_for(1_000)
        expect(panel.root.locator(".news")).to_contain_text("By the agent")
        panel.page.clock.run_for(60_000)
        expect(panel.root.locator(".fresh:visible")).to_have_count(0)
        expect(panel.root.locator(".news")).to_have_text("")

    def test_the_agents_changes_arrive_by_themselves(self, panel):
        panel.agent_adds("Late check-out")
        expect(panel.row("Late check-out")).to_be_visible(timeout=10_000)


class TestWriting:
    def test_adds_with_title_detail_and_kind(self, panel):
        panel.composer.title.fill("  Vegetarian meals ")
        panel.composer.detail.fill("Eggs are fine")
        panel.composer.hard.check()
        panel.composer.add.click()
        expect(panel.row("Vegetarian meals")).to_contain_text("Eggs are fine")
        expect(panel.composer.title).to_have_value("")
        expect(panel.composer.title).to_be_focused()
        expect(panel.row("Vegetarian meals").locator(".pending-word")).to_be_hidden()
        last = panel.stored()[-1]
        assert [last[k] for k in ("title", "subtitle", "kind", "created_by")] == [
            "Vegetarian meals",
            "Eggs are fine",
            "hard",
            "user",
        ]

    def test_says_where_a_repeat_is_already(self, panel):
        panel.composer.title.fill("Window seat")
        panel.composer.add.click()
        expect(panel.root.get_by_text("It is there already, as number 4.")).to_be_visible()
        panel.shows(*[row["title"] for row in JOURNEY])

    @pytest.mark.parametrize(
        ("title", "detail", "said"),
        [
            ("   ", "", "It needs a few words."),
            ("😀" * 121, "", "At most 120 characters; this has 121."),
            ("x", "y" * 501, "At most 500 characters; this has 501."),
        ],
    )
    def test_says_at_once_what_does_not_fit(self, panel, title, detail, said):
        panel.composer.title.fill(title)
        panel.composer.detail.fill(detail)
        panel.composer.title.press("Enter")
        expect(panel.composer.message).to_have_text(said)
        assert len(panel.stored()) == len(JOURNEY)

    def test_takes_the_longest_title_there_may_be(self, panel):
        panel.composer.title.fill("😀" * 120)
        panel.composer.add.click()
        expect(panel.row("😀" * 120)).to_be_visible()

    def test_edits_in_place_and_clears_a_detail(self, panel):
        row, editor = panel.edit("A quiet room")
        expect(editor.title).to_be_focused()
        editor.title.fill("A silent room")
        editor.detail.fill("")
        editor.hard.check()
        with panel.page.expect_request(ONE) as sent:
            editor.title.press("Enter")
        assert sent.value.post_data_json == {"title": "A silent room", "subtitle": None, "kind": "hard"}
        panel.shows("Budget under 900", "No night flights", "A silent room", "Window seat")
        expect(row.locator(".pending-word")).to_be_hidden()
        assert panel.focused() == "Edit A silent room"
        stored = panel.stored()[2]
        assert (stored["title"], stored["subtitle"], stored["kind"]) == ("A silent room", None, "hard")

    def test_escape_leaves_the_row_as_it_was_and_sends_nothing(self, panel):
        sent = requests_of(panel.page, "PATCH")
        _, editor = panel.edit("A quiet room")
        editor.title.fill("Anything")
        editor.title.press("Escape")
        expect(panel.button("Edit A quiet room")).to_be_focused()
        panel.button("Edit A quiet room").click()
        expect(editor.title).to_have_value("A quiet room")
        editor.save.click()
        expect(panel.button("Edit A quiet room")).to_be_focused()
        assert sent == []

    def test_every_edit_and_removal_names_the_row_it_was_meant_for(self, panel):
        sent = requests_of(panel.page, "PATCH DELETE")
        for title in ("Once", "Twice"):
            _, editor = panel.edit(panel.titles("soft")[0])
            editor.title.fill(title)
            editor.save.click()
            expect(panel.row(title).locator(".pending-word")).to_be_hidden()
        panel.button("Remove Twice").click()
        expect(panel.root.get_by_text("Removed Twice")).to_be_visible()
        tags = [request.headers.get("if-match") for request in sent]
        assert len(tags) == 3
        assert all(tags)
        assert len(set(tags)) == 3

    def test_removes_and_puts_back_in_its_place(self, panel):
        removed = panel.stored()[1]
        panel.button("Remove No night flights").click()
        expect(panel.root.get_by_text("Removed No night flights")).to_be_visible()
        panel.shows("Budget under 900", "A quiet room", "Window seat")
        panel.page.wait_for_timeout(700)  # just after the removal, presses are taken for its double click
        panel.root.get_by_role("button", name="Undo").click()
        panel.shows(*[row["title"] for row in JOURNEY])
        assert panel.stored()[1]["id"] == removed["id"]

    def test_dismisses_the_way_back_when_it_is_not_wanted(self, panel):
        panel.button("Remove No night flights").click()
        expect(panel.root.get_by_role("button", name="Undo")).to_be_focused()
        panel.page.wait_for_timeout(700)
        panel.button("Dismiss").click()
        expect(panel.root.locator(".strip")).to_have_count(0)
        expect(panel.button("Edit A quiet room")).to_be_focused()

    def test_a_double_click_removes_the_row_and_leaves_the_way_back(self, panel):
        place = panel.button("Remove No night flights").bounding_box()
        panel.page.mouse.dblclick(place["x"] + 16, place["y"] + 16)
        expect(panel.root.get_by_text("Removed No night flights")).to_be_visible()
        panel.page.wait_for_timeout(700)
        panel.button("Undo").click()
        panel.shows(*[row["title"] for row in JOURNEY])

    def test_asks_once_before_a_locked_row_is_removed(self, panel):
        sent = requests_of(panel.page, "DELETE")
        panel.api("PUT", "/lock")
        panel.refresh()
        panel.button("Remove No night flights").click()
        panel.button("Keep it").click()
        expect(panel.button("Remove No night flights")).to_be_focused()
        expect(panel.root.get_by_text("It is locked.")).to_have_count(0)
        assert sent == []
        panel.button("Remove No night flights").click()
        panel.button("Remove it").click()
        expect(panel.root.get_by_text("Removed No night flights")).to_be_visible()
        assert len(panel.stored()) == 3


class TestLocking:
    def test_locks_and_unlocks_one(self, panel):
        button = panel.button("Lock Window seat")
        button.click()
        expect(panel.row("Window seat").get_by_text("Locked", exact=True)).to_be_visible()
        assert panel.stored()[3]["locked"] is True
        assert "locked" in panel.agent_updates({"index": 4, "title": "Aisle seat"})["result"]
        button.click()
        expect(button).to_have_attribute("aria-pressed", "false")
        expect(panel.row("Window seat").locator(".pending-word")).to_be_hidden()
        assert panel.stored()[3]["locked"] is False

    def test_does_not_claim_a_lock_before_it_is_acknowledged(self, panel):
        held = Held(panel.page, LOCK, "PUT")
        panel.button("Lock Window seat").click()
        held.one()
        row = panel.row("Window seat")
        expect(row.get_by_text("Locking…")).to_be_visible()
        expect(row.get_by_text("Locked", exact=True)).to_be_hidden()
        held.release()
        expect(row.get_by_text("Locked", exact=True)).to_be_visible()

    def test_locks_all_and_unlocks_all(self, panel):
        panel.button("More").click()
        expect(panel.button("Unlock all")).to_have_attribute("aria-disabled", "true")
        panel.button("Lock all").click()
        expect(panel.root.get_by_text("4 preferences, 4 locked")).to_be_visible()
        expect(panel.root.locator(".lock-word:visible")).to_have_count(4)
        assert all(row["locked"] for row in panel.stored())
        panel.button("More").click()
        expect(panel.button("Lock all")).to_have_attribute("aria-disabled", "true")
        panel.button("Unlock all").click()
        expect(panel.root.locator(".lock-word:visible")).to_have_count(0)
        expect(panel.root.locator(".row[data-pending]")).to_have_count(0)
        assert not any(row["locked"] for row in panel.stored())

    def test_locks_what_is_edited_where_that_was_chosen_and_remembers_the_choice(self, panel):
        panel.button("More").click()
        panel.root.get_by_label("Lock what I write").check()
        panel.page.reload()
        panel.shows(*[row["title"] for row in JOURNEY])
        expect(panel.root.get_by_label("Lock what I write")).to_be_checked()
        _, editor = panel.edit("Window seat")
        editor.title.fill("Aisle seat")
        editor.save.click()
        expect(panel.row("Aisle seat").get_by_text("Locked", exact=True)).to_be_visible()
        assert [row["locked"] for row in panel.stored()] == [False, False, False, True]


class TestMoving:
    def test_by_arrow_keys(self, panel):
        grip = panel.button("Move Window seat")
        grip.press("ArrowUp")
        panel.shows("Budget under 900", "No night flights", "Window seat", "A quiet room")
        expect(grip).to_be_focused()
        expect(panel.live).to_have_text("Number 3 of 4.")
        until(panel.page, lambda: [row["title"] for row in panel.stored()][2] == "Window seat")
        grip.press("ArrowUp")
        expect(panel.live).to_have_text("It is the first.")

    def test_by_buttons_without_dragging(self, panel):
        panel.button("Move Budget under 900").click()
        panel.row("Budget under 900").get_by_role("button", name="Down").click()
        panel.shows("No night flights", "Budget under 900", "A quiet room", "Window seat")
        panel.row("Budget under 900").get_by_role("button", name="Done").click()
        expect(panel.button("Move Budget under 900")).to_be_focused()

    def test_by_dragging(self, panel):
        start = panel.button("Move Window seat").bounding_box()
        end = panel.row("A quiet room").bounding_box()
        mouse = panel.page.mouse
        mouse.move(start["x"] + 12, start["y"] + 12)
        mouse.down()
        mouse.move(start["x"] + 12, end["y"] + 4, steps=6)
        expect(panel.row("A quiet room")).to_have_attribute("data-drop", "before")
        mouse.up()
        panel.shows("Budget under 900", "No night flights", "Window seat", "A quiet room")
        expect(panel.row("Window seat").get_by_role("button", name="Down")).to_be_hidden()
        until(panel.page, lambda: [row["title"] for row in panel.stored()][2] == "Window seat")

    def test_escape_lets_a_dragged_row_go_back(self, panel):
        start = panel.button("Move Window seat").bounding_box()
        mouse = panel.page.mouse
        mouse.move(start["x"] + 12, start["y"] + 12)
        mouse.down()
        mouse.move(start["x"] + 12, start["y"] - 60, steps=4)
        expect(panel.row("Window seat")).to_have_attribute("data-dragged", "")
        panel.page.keyboard.press("Escape")
        mouse.up()
        expect(panel.root.locator("[data-dragged], [data-drop]")).to_have_count(0)
        panel.shows(*[row["title"] for row in JOURNEY])

    def test_several_moves_in_a_row_end_where_the_last_one_put_it(self, open_panel):
        panel = open_panel([{"title": f"Number {n}"} for n in range(1, 7)])
        grip = panel.button("Move Number 6")
        for _ in range(5):
            grip.press("ArrowUp")
        wanted = ["Number 6", *(f"Number {n}" for n in range(1, 6))]
        panel.shows(*wanted)
        until(panel.page, lambda: [row["title"] for row in panel.stored()] == wanted)


class TestHistory:
    def test_shows_who_did_what_and_the_agents_reason(self, panel):
        panel.agent(
            "update_preferences", "updates", [{"index": 1, "title": "Budget under 950"}], why="Prices rose."
        )
        panel.button("Lock Window seat").click()
        panel.root.get_by_role("tab", name="History").click()
        entries = panel.root.locator(".entry")
        expect(entries).to_have_count(3)
        expect(entries.nth(0)).to_contain_text("You locked")
        expect(entries.nth(1)).to_contain_text("The agent renamed")
        expect(entries.nth(1)).to_contain_text("Budget under 950")
        expect(entries.nth(1)).to_contain_text("Prices rose.")
        panel.screenshot("history")

    def test_undoes_an_entry(self, panel):
        panel.agent_updates({"index": 1, "title": "Budget under 950", "subtitle": "Per person"})
        panel.root.get_by_role("tab", name="History").click()
        entry = panel.root.locator(".entry", has_text="Budget under 950").first
        expect(entry.locator("del")).to_have_text("from For the whole stay")
        expect(entry.locator("ins")).to_have_text("to Per person")
        entry.get_by_role("button", name="Undo").click()
        until(panel.page, lambda: panel.stored()[0]["title"] == "Budget under 900")
        panel.root.get_by_role("tab", name="List").click()
        panel.shows(*[row["title"] for row in JOURNEY])

    def test_says_why_an_entry_cannot_be_undone(self, panel):
        panel.agent_updates({"index": 1, "title": "Budget under 950"})
        panel.api("PATCH", f"/preferences/{panel.stored()[0]['id']}", {"title": "Budget under 700"})
        panel.root.get_by_role("tab", name="History").click()
        entry = panel.root.locator(".entry", has_text="Budget under 950").last
        entry.get_by_role("button", name="Undo").click()
        expect(entry.get_by_role("alert")).to_contain_text("Not undone: Budget under")
        assert panel.stored()[0]["title"] == "Budget under 700"

    def test_grows_while_it_is_open_and_reads_on_by_pages(self, open_panel):
        panel = open_panel([])
        for number in range(23):
            newest = panel.api("POST", "/preferences", {"items": [{"title": f"Wish {number}"}]})["revision"]
        until(panel.page, lambda: panel.api("GET", "/history")["entries"][0]["revision"] == newest)
        panel.root.get_by_role("tab", name="History").click()
        entries = panel.root.locator(".entry")
        expect(entries).to_have_count(20)
        panel.button("Show older changes").click()
        expect(entries).to_have_count(23)
        expect(panel.button("Show older changes")).to_be_hidden()
        panel.agent_adds("One more")
        panel.refresh()
        expect(entries).to_have_count(24)
        expect(entries.first).to_contain_text("The agent")


class TestPolling:
    def test_asks_for_what_is_newer_only(self, panel):
        with panel.page.expect_response(LIST) as answer:
            panel.refresh()
        assert answer.value.status == 304
        assert (
            answer.value.request.headers["if-none-match"]
            == f'"{panel.api("GET", "/preferences")["revision"]}"'
        )

    def test_is_faster_after_a_change_and_stops_when_hidden(self, open_panel):
        panel = open_panel(clock=True)
        page = panel.page
        page.clock.fast_forward(61_000)  # the first minute counts as one after a change
        panel.refresh()
        asked = list_requests(page)
        page.clock.run_for(4_900)
        assert asked == []
        page.clock.run_for(200)
        until(page, lambda: len(asked) == 1)
        panel.agent_adds("Sea view")
        panel.refresh()
        expect(panel.row("Sea view")).to_be_visible()
        asked.clear()
        page.clock.run_for(2_100)
        until(page, lambda: len(asked) == 1)

        hide(page, True)
        asked.clear()
        page.clock.run_for(600_000)
        assert asked == []
        panel.agent_adds("Balcony")
        hide(page, False)
        expect(panel.row("Balcony")).to_be_visible()
        assert len(asked) == 1

    def test_backs_off_while_nothing_answers_and_recovers(self, open_panel):
        panel = open_panel(clock=True)
        page = panel.page
        page.evaluate("window.failures = 0")
        page.evaluate("document.addEventListener('preferences-error', () => window.failures++)")
        page.route(LIST, lambda route: route.abort())
        panel.refresh()
        notice = panel.root.get_by_text("Not up to date: there is no connection.")
        expect(notice).to_be_visible()
        # Each wait is a quarter shorter or longer, so that panels do not all come back at once
        for tries, seconds in enumerate((4, 8, 16, 32), start=1):
            page.clock.run_for(seconds * 740)
            assert page.evaluate("window.failures") == tries
            page.clock.run_for(seconds * 520)
            page.wait_for_function("tries => window.failures > tries", arg=tries, polling=20)
        page.unroute(LIST)
        panel.agent_adds("Back again")
        panel.button("Try now").click()
        expect(panel.row("Back again")).to_be_visible()
        expect(notice).to_have_count(0)

    def test_says_when_there_is_no_such_conversation(self, new_page, stack):
        page = new_page()
        signed_in(page, stack.token("ada"))
        page.goto("/#thread=nobodys")
        expect(page.get_by_text("This conversation cannot be found.")).to_be_visible()


class TestTheFields:
    def test_an_error_goes_when_the_person_writes_on(self, panel):
        panel.composer.title.fill("x" * 121)
        panel.composer.title.press("Enter")
        expect(panel.composer.message).to_be_visible()
        panel.composer.title.press("Backspace")
        expect(panel.composer.message).to_have_count(0)
        expect(panel.composer.title).not_to_have_attribute("aria-invalid", "true")

    def test_shift_and_enter_break_a_line_and_send_nothing(self, panel):
        sent = requests_of(panel.page, "POST")
        panel.composer.title.fill("Sea view")
        panel.composer.title.press("Shift+Enter")
        panel.composer.detail.fill("Or")
        panel.composer.detail.press("Shift+Enter")
        panel.composer.detail.press_sequentially("a lake")
        expect(panel.composer.detail).to_have_value("Or\na lake")
        assert sent == []
        panel.composer.detail.press("Enter")
        expect(panel.row("Sea view")).to_contain_text("Or a lake")

    def test_the_enter_that_ends_a_composition_sends_nothing(self, panel):
        sent = requests_of(panel.page, "POST")
        for field in (panel.composer.title, panel.composer.detail):
            panel.composer.title.fill("海")
            # Safari tells it after the composition's end, by this code alone
            prevented = field.evaluate(
                """field => !field.dispatchEvent(new KeyboardEvent("keydown", {
                  key: "Enter", keyCode: 229, bubbles: true, cancelable: true, composed: true }))"""
            )
            assert prevented
        panel.refresh()
        assert sent == []

    def test_a_double_click_on_add_is_no_error(self, panel):
        panel.composer.title.fill("Sea view")
        panel.composer.add.dblclick()
        expect(panel.row("Sea view")).to_be_visible()
        expect(panel.composer.message).to_have_count(0)

    def test_a_field_that_the_service_refuses_is_marked(self, panel):
        problem = {
            "title": "Bad Request",
            "status": 400,
            "code": "invalid_input",
            "errors": [{"field": "items.0.subtitle", "message": "must hold no such thing"}],
        }
        answer_with(panel.page, LIST, "POST", status=400, json=problem)
        panel.composer.title.fill("Sea view")
        panel.composer.add.click()
        expect(panel.composer.message).to_contain_text("must hold no such thing")
        expect(panel.composer.detail).to_have_attribute("aria-invalid", "true")
        expect(panel.composer.detail).to_be_focused()
        expect(panel.button("Try again")).to_have_count(0)

    def test_a_full_list_is_not_offered_to_be_tried_again(self, panel):
        problem = {"title": "Full", "status": 409, "code": "list_full", "detail": "the list is full"}
        answer_with(panel.page, LIST, "POST", status=409, json=problem)
        panel.composer.title.fill("Sea view")
        panel.composer.add.click()
        expect(panel.composer.message).to_contain_text("the list is full")
        expect(panel.composer.title).to_have_value("Sea view")
        expect(panel.button("Try again")).to_have_count(0)

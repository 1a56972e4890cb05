"""The panel by keyboard and with assistive technology."""

import pytest
from playwright.sync_api import expect

from tests.browser import (
    listen,
    no_violation,
    until,
)


class TestFocus:
    def test_caret_and_draft_survive_every_refresh(self, panel):
        _, editor = panel.edit("A quiet room")
        editor.title.fill("A very quiet room")
        editor.title.evaluate("field => { field.setSelectionRange(7, 7); field.blurs = 0 }")
        editor.title.evaluate("field => field.addEventListener('blur', () => field.blurs++)")
        panel.agent_adds("Sea view", {"title": "Direct trains", "kind": "hard"})
        panel.agent_updates({"index": 4, "title": "Aisle seat"})
        panel.agent_removes(2)
        panel.api("PUT", "/order", {"ids": [each["id"] for each in reversed(panel.stored())]})
        panel.refresh()
        expect(panel.row("Aisle seat")).to_be_visible()
        expect(editor.title).to_be_focused()
        assert editor.title.evaluate("field => [field.blurs, field.value, field.selectionStart]") == [
            0,
            "A very quiet room",
            7,
        ]
        panel.page.keyboard.type("dead ")
        expect(editor.title).to_have_value("A very dead quiet room")

    def test_a_form_in_use_does_not_wander_when_its_row_goes_over_to_the_other_kind(self, panel):
        row, editor = panel.edit("Window seat")
        editor.title.fill("Aisle seat")
        panel.agent_updates({"index": 4, "kind": "hard"})
        panel.refresh()
        expect(row.get_by_text("Changed by the agent while you were writing:")).to_be_visible()
        expect(panel.root.locator(".section[data-kind=soft]").get_by_label("Title")).to_be_focused()
        editor.again.click()
        panel.shows("Budget under 900", "No night flights", "Aisle seat", "A quiet room")

    def test_stays_on_a_button_whose_row_goes_over_to_the_other_kind(self, panel):
        panel.button("Lock Window seat").focus()
        panel.agent_updates({"index": 4, "kind": "hard"})
        panel.refresh()
        panel.shows("Budget under 900", "No night flights", "Window seat", "A quiet room")
        expect(panel.button("Lock Window seat")).to_be_focused()

    @pytest.mark.parametrize(
        ("gone", "index", "next_one"),
        [("A quiet room", 3, "Window seat"), ("Window seat", 4, "A quiet room")],
    )
    def test_goes_to_the_next_row_when_its_own_is_removed(self, panel, gone, index, next_one):
        panel.button(f"Lock {gone}").focus()
        panel.agent_removes(index)
        panel.refresh()
        expect(panel.button(f"Edit {next_one}")).to_be_focused()

    def test_goes_to_the_way_back_when_the_person_removes_a_row(self, panel):
        panel.button("Remove A quiet room").press("Enter")
        expect(panel.button("Undo")).to_be_focused()

    def test_goes_on_to_the_next_row_when_the_way_back_is_dismissed(self, panel):
        panel.button("Remove A quiet room").press("Enter")
        panel.page.wait_for_timeout(700)
        panel.button("Dismiss").press("Enter")
        expect(panel.button("Edit Window seat")).to_be_focused()

    def test_goes_to_the_field_for_a_new_one_when_no_row_is_left(self, open_panel):
        panel = open_panel([{"title": "Alone"}])
        panel.button("Edit Alone").focus()
        panel.agent_removes(1)
        panel.refresh()
        expect(panel.composer.title).to_be_focused()


class TestAssistiveTechnology:
    def test_the_lock_button_has_one_name_and_a_state_from_the_start(self, panel):
        button = panel.button("Lock A quiet room")
        expect(button).to_have_attribute("aria-pressed", "false")
        assert button.evaluate("button => button.tagName") == "BUTTON"
        button.press("Space")
        expect(button).to_have_attribute("aria-pressed", "true")
        expect(button).to_have_accessible_name("Lock A quiet room")

    def test_the_agents_changes_are_announced_once_together_and_quietly(self, open_panel):
        panel = open_panel(clock=True)
        announced = listen(panel)
        panel.button("Edit A quiet room").focus()
        panel.agent_adds("Sea view", "Balcony")
        panel.refresh()
        panel.agent_updates({"index": 1, "title": "Budget under 950"})
        panel.refresh()
        panel.agent_removes(2)
        panel.refresh()
        panel.page.clock.run_for(1_000)
        expect(panel.live).to_have_text(
            "By the agent: 2 preferences added, Budget under 950 changed. No night flights removed."
        )
        expect(panel.root.locator(".news")).to_have_text(panel.live.inner_text())  # seen as well as heard
        panel.refresh()
        panel.refresh()
        expect(panel.button("Edit A quiet room")).to_be_focused()
        assert len(announced()) == 1
        assert panel.live.get_attribute("aria-live") == "polite"

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_axe_finds_no_violation(self, open_panel, scheme):
        panel = open_panel(scheme=scheme)
        panel.button("Lock Budget under 900").click()
        expect(panel.row("Budget under 900").get_by_text("Locked", exact=True)).to_be_visible()
        panel.agent_adds("Sea view")
        panel.agent_updates({"index": 1, "title": "Budget under 1,200"})
        panel.refresh()
        panel.button("Remove No night flights").click()
        expect(panel.root.get_by_role("button", name="Undo")).to_be_visible()
        until(panel.page, lambda: len(panel.stored()) == 4)  # the removal is shown before it is stored
        panel.button("Move Window seat").click()
        _, editor = panel.edit("A quiet room")
        editor.title.fill("A silent room")
        panel.agent_updates({"index": 2, "title": "A quiet floor"})
        panel.refresh()
        expect(editor.again).to_be_visible()
        panel.composer.add.click()
        expect(panel.composer.message).to_be_visible()
        panel.page.get_by_role("button", name="Call the tool").click()
        expect(panel.page.locator(".answer")).to_have_count(1)
        panel.screenshot(f"everything-{scheme}")
        no_violation(panel.page)
        panel.root.get_by_role("tab", name="History").click()
        expect(panel.root.locator(".entry").first).to_be_visible()
        no_violation(panel.page)

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_axe_finds_no_violation_before_the_sign_in(self, new_page, scheme):
        page = new_page(color_scheme=scheme)
        page.goto("/")
        expect(page.get_by_role("button", name="Sign in")).to_be_visible()
        no_violation(page)

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_axe_finds_no_violation_on_an_empty_list(self, open_panel, scheme):
        panel = open_panel([], scheme=scheme)
        expect(panel.root.get_by_text("Nothing here yet")).to_be_visible()
        no_violation(panel.page)

    def test_all_of_it_can_be_done_with_keys_alone(self, panel):
        keyboard = panel.page.keyboard
        panel.tab_to("List")
        panel.tab_to("Lock Budget under 900")
        keyboard.press("Space")
        expect(panel.row("Budget under 900").get_by_text("Locked", exact=True)).to_be_visible()
        panel.tab_to("Edit Budget under 900")
        keyboard.press("Enter")
        assert panel.focused() == "Title"
        keyboard.press("ControlOrMeta+A")
        keyboard.type("Budget under 800")
        keyboard.press("Enter")
        expect(panel.row("Budget under 800").locator(".pending-word")).to_be_hidden()
        assert panel.focused() == "Edit Budget under 800"
        panel.tab_to("Move No night flights")
        keyboard.press("ArrowUp")
        panel.shows("No night flights", "Budget under 800", "A quiet room", "Window seat")
        panel.tab_to("Remove A quiet room")
        keyboard.press("Enter")
        expect(panel.button("Undo")).to_be_focused()
        panel.page.wait_for_timeout(700)  # a strip takes no press before
        keyboard.press("Enter")
        expect(panel.button("Edit A quiet room")).to_be_focused()
        panel.tab_to("Title")
        keyboard.type("Sea view")
        keyboard.press("Enter")
        panel.shows("No night flights", "Budget under 800", "A quiet room", "Window seat", "Sea view")
        expect(panel.row("Sea view").locator(".pending-word")).to_be_hidden()
        panel.tab_to("List", "Shift+Tab")
        keyboard.press("ArrowRight")
        assert panel.focused() == "History"
        expect(panel.root.locator(".entry").first).to_be_visible()
        assert [row["title"] for row in panel.stored()][:2] == ["No night flights", "Budget under 800"]

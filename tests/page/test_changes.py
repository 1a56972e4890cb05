"""What the agent changed or removed is told in its place, with its reason and a way back."""

import pytest
from playwright.sync_api import expect

from tests.browser import (
    SCREENSHOTS,
    Held,
    answer_with,
    fits,
    listen,
    no_violation,
    requests_of,
    until,
)

WHY = "They said that <b>any</b> hour is fine: https://evil.example"


def _removes(panel, *indices: int, why: str = WHY) -> None:
    panel.agent("remove_preferences", "indices", list(indices), why=why)
    panel.refresh()


def _changes(panel, *updates: dict, why: str = WHY) -> None:
    panel.agent("update_preferences", "updates", list(updates), why=why)
    panel.refresh()


def _told(panel):
    return panel.root.locator(".change:visible")


def _away(panel):
    return panel.root.locator(".away")


class TestARemoval:
    def test_stands_where_the_row_stood_and_can_be_undone_by_keyboard(self, panel):
        heard = listen(panel)
        asked = panel.page.evaluate("performance.getEntriesByType('resource').map(({ name }) => name)")
        assert not [name for name in asked if name.endswith(("-changes.js", "-history.js"))]
        panel.button("Edit No night flights").focus()
        _removes(panel, 2)
        told = _told(panel)
        expect(told).to_contain_text("The agent removed No night flights")
        expect(told.locator(".reason")).to_have_text(f"“{WHY}”")
        expect(panel.root.locator("[data-kind=hard] .rows > li").nth(1)).to_contain_text("The agent removed")
        expect(panel.live).to_have_text("No night flights removed.")
        expect(panel.button("Edit A quiet room")).to_be_focused()
        labels = panel.root.evaluate(
            """panel => [...panel.shadowRoot.querySelectorAll("*")].flatMap((each) =>
              [...each.attributes].map(({ value }) => value)).join("\\n")"""
        )
        assert "evil" not in labels + "".join(heard())
        assert told.locator("a, b").count() == 0
        no_violation(panel.page)
        panel.page.set_viewport_size({"width": 320, "height": 900})
        fits(panel)
        panel.screenshot("change-removed-320")
        panel.tab_to("Undo: The agent removed No night flights", "Shift+Tab")
        panel.page.keyboard.press("Enter")
        expect(panel.button("Edit No night flights")).to_be_focused()
        assert panel.stored()[1]["title"] == "No night flights"
        expect(told).to_have_count(0)

    def test_by_the_person_elsewhere_is_named_and_is_not_the_agents(self, panel):
        panel.agent_adds("Sea view")
        panel.refresh()
        history = Held(panel.page, "**/history?*", "GET")
        panel.api("DELETE", f"/preferences/{panel.stored()[1]['id']}")
        panel.refresh()
        history.one()
        history.release()
        expect(panel.root.locator(".news")).to_contain_text("No night flights removed.")
        expect(panel.root.locator(".change")).to_have_count(0)

    def test_is_told_once_the_history_has_it(self, panel):
        asked = requests_of(panel.page, "GET")
        answer_with(panel.page, "**/history?*", "GET", json={"entries": [], "next": None})
        _removes(panel, 2)
        until(panel.page, lambda: any("/history?" in request.url for request in asked))
        expect(panel.root.locator(".news")).to_have_text("No night flights removed.")
        expect(panel.root.locator(".change")).to_have_count(0)
        panel.page.unroute("**/history?*")
        expect(_told(panel)).to_contain_text("The agent removed No night flights")

    def test_of_several_is_folded_and_undone_at_once(self, panel):
        _changes(panel, {"index": 1, "title": "Budget under 950"})
        expect(_told(panel)).to_contain_text("The agent changed Budget under 950")
        _removes(panel, 2, 4)
        expect(_told(panel)).to_contain_text("The agent removed No night flights and 2 more")
        panel.button("and 2 more").click()
        expect(_told(panel)).to_have_count(3)
        assert panel.focused() == "The agent removed No night flights"
        _told(panel).last.get_by_role("button", name="Undo").click()
        expect(_told(panel)).to_have_count(1)
        panel.shows("Budget under 950", "No night flights", "A quiet room", "Window seat")
        panel.button("Dismiss").click()
        expect(_told(panel)).to_have_count(0)
        expect(panel.button("Edit Budget under 950")).to_be_focused()


class TestAChange:
    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_stands_at_its_row_with_what_was_before(self, open_panel, scheme):
        panel = open_panel(scheme=scheme)
        _changes(panel, {"index": 3, "title": "A silent room", "subtitle": "", "kind": "hard"})
        told = panel.row("A silent room").locator(".change")
        expect(told.locator("del bdi")).to_have_text(["A quiet room", "Away from the lift", "Nice to have"])
        expect(told.locator("ins bdi")).to_have_text(["A silent room", "none", "Must have"])
        expect(told.locator(".reason")).to_have_text(f"“{WHY}”")
        no_violation(panel.page)
        panel.screenshot(f"change-{scheme}")
        told.get_by_role("button", name="Undo").click()
        expect(panel.row("A quiet room")).to_contain_text("Away from the lift")
        expect(panel.button("Edit A quiet room")).to_be_focused()
        assert panel.stored()[2]["kind"] == "soft"
        expect(_told(panel)).to_have_count(0)

    def test_that_the_person_has_built_on_says_why_it_stays(self, panel):
        _changes(panel, {"index": 1, "title": "Budget under 950"})
        undo = _told(panel).get_by_role("button", name="Undo")
        expect(undo).to_be_visible()
        polls = Held(panel.page, "**/threads/*/preferences", "GET")
        panel.api("PATCH", f"/preferences/{panel.stored()[0]['id']}", {"title": "Budget under 800"})
        undo.click()
        expect(_told(panel).get_by_role("alert")).to_contain_text(
            "Not undone: Budget under 800: was renamed since"
        )
        polls.release()
        panel.refresh()
        expect(panel.row("Budget under 800")).to_be_visible()
        expect(_told(panel)).to_have_count(0)


class TestOutOfSight:
    def test_a_line_in_sight_leads_there_through_window_tab_and_search(self, open_panel):
        panel = open_panel([{"title": f"Wish {n}"} for n in range(30)])
        panel.page.set_viewport_size({"width": 375, "height": 600})
        panel.button("Lock Wish 29").focus()
        _changes(panel, {"index": 3, "title": "Wish two"})
        line = _away(panel)
        expect(line).to_contain_text("The agent changed Wish two")
        box = line.bounding_box()
        assert 0 <= box["y"] < 200
        no_violation(panel.page)
        assert panel.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        panel.page.screenshot(path=SCREENSHOTS / "change-away.png")
        panel.root.get_by_label("Search").fill("Wish 29")
        panel.root.get_by_role("tab", name="History").click()
        expect(line).to_be_visible()
        line.get_by_role("button", name="Show").press("Enter")
        expect(_told(panel)).to_be_in_viewport()
        assert panel.focused() == "The agent changed Wish two"
        expect(line).to_be_hidden()

    def test_of_a_sidebar_that_scrolls(self, hosted):
        panel = hosted(
            [{"title": f"Wish {n}"} for n in range(12)],
            before='<div id="bar" style="height: 300px; overflow: auto">', after="</div>",
        )  # fmt: skip
        _removes(panel, 11)
        line = _away(panel)
        expect(line).to_contain_text("The agent removed Wish 10")
        panel.page.locator("#bar").evaluate("bar => { bar.scrollTop = 150 }")
        until(panel.page, lambda: 0 <= line.bounding_box()["y"] < 60)
        panel.page.locator("#bar").evaluate("bar => { bar.scrollTop = bar.scrollHeight }")
        expect(line).to_be_hidden()  # it has been seen by now

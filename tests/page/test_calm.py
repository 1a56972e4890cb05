"""The panel is calm: rows are low, what is seldom needed is folded away, and nothing is told twice."""

import json

import pytest
from playwright.sync_api import expect

from tests.browser import JOURNEY, no_violation, until

pytestmark = pytest.mark.panel

AGENTS = [{"title": "Sea view", "kind": "soft"}, {"title": "Direct trains", "kind": "hard"}]


class TestRows:
    @pytest.mark.parametrize("width", [1280, 375])
    def test_a_line_of_text_takes_56_pixels_at_most(self, open_panel, width):
        panel = open_panel([{"title": row["title"], "kind": row["kind"]} for row in JOURNEY], width=width)
        panel.agent_adds(*AGENTS)
        panel.button("Lock Window seat").click()
        panel.refresh()
        expect(panel.row("Window seat").get_by_text("Locked", exact=True)).to_be_visible()
        heights = [row.bounding_box()["height"] for row in panel.root.locator(".row").all()]
        assert len(heights) == 6
        assert max(heights) <= 56

    def test_twelve_fit_where_eight_did(self, open_panel):
        panel = open_panel([{"title": f"Wish {n}"} for n in range(12)])
        boxes = [row.bounding_box() for row in panel.root.locator(".row").all()]
        assert boxes[-1]["y"] + boxes[-1]["height"] - boxes[0]["y"] <= 8 * 63

    def test_only_what_is_the_agents_says_where_it_comes_from(self, panel):
        panel.agent_adds(*AGENTS)
        panel.refresh()
        expect(panel.row("Sea view").locator(".origin")).to_be_visible()
        expect(panel.root.locator(".origin:visible")).to_have_count(2)

    def test_what_the_person_changed_is_not_marked_as_the_agents_news(self, panel):
        panel.agent_adds("Sea view")
        panel.refresh()
        expect(panel.row("Sea view").locator(".fresh")).to_be_visible()
        _, editor = panel.edit("Sea view")
        editor.title.fill("Lake view")
        editor.save.click()
        expect(panel.row("Lake view").locator(".pending-word")).to_be_hidden()
        expect(panel.row("Lake view").locator(".fresh")).to_be_hidden()


class TestMoveButtons:
    def test_one_row_at_a_time_shows_them_and_escape_hides_them(self, panel):
        moves = panel.root.get_by_role("group", name="Move")
        panel.button("Move Window seat").click()
        panel.button("Move A quiet room").click()
        expect(moves).to_have_count(1)
        moves.get_by_role("button", name="Up").focus()
        panel.page.keyboard.press("Escape")
        expect(moves).to_have_count(0)
        expect(panel.button("Move A quiet room")).to_be_focused()
        panel.page.keyboard.press("Enter")
        expect(moves).to_have_count(1)
        panel.page.keyboard.press("Escape")
        expect(moves).to_have_count(0)


class TestRemoved:
    def test_several_removed_rows_take_one_line(self, panel):
        for title in ("Budget under 900", "A quiet room", "Window seat"):
            panel.button(f"Remove {title}").click()
            expect(panel.root.get_by_text(f"Removed {title}")).to_be_visible()
        strips = panel.root.locator(".strip:visible")
        expect(strips).to_have_count(1)
        expect(strips).to_contain_text("Removed Window seat and 2 more")
        panel.button("and 2 more").click()
        expect(strips).to_have_count(3)
        panel.page.wait_for_timeout(700)
        strips.filter(has_text="Budget under 900").get_by_role("button", name="Undo").click()
        expect(panel.row("Budget under 900").locator(".title").first).to_be_visible()
        expect(strips).to_have_count(2)


class TestMenu:
    def test_is_not_there_while_there_is_nothing_to_do(self, open_panel):
        panel = open_panel([])
        expect(panel.button("More")).to_have_count(0)
        panel.composer.title.fill("Sea view")
        panel.composer.add.click()
        expect(panel.button("More")).to_be_visible()

    def test_closes_by_escape_by_a_press_elsewhere_and_by_leaving_it(self, panel):
        menu = panel.root.locator(".menu")
        button = panel.button("More")
        button.press("Enter")
        expect(menu).to_be_visible()
        expect(button).to_have_attribute("aria-expanded", "true")
        no_violation(panel.page)
        panel.page.keyboard.press("Tab")
        assert panel.focused() == "Lock what I write"
        panel.page.keyboard.press("Escape")
        expect(menu).to_be_hidden()
        expect(button).to_be_focused()
        button.click()
        panel.root.locator("h2").click()
        expect(menu).to_be_hidden()
        button.click()
        panel.page.keyboard.press("Shift+Tab")
        panel.page.keyboard.press("Shift+Tab")
        expect(menu).to_be_hidden()

    def test_copies_and_saves_the_list_as_markdown_and_json(self, panel):
        panel.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        panel.composer.title.fill("*Stars* & <b>tags</b>")
        panel.composer.add.click()
        panel.button("Lock Budget under 900").click()
        until(panel.page, lambda: panel.stored()[0]["locked"] and len(panel.stored()) == 5)
        expect(panel.root.locator(".row[data-pending]")).to_have_count(0)
        panel.menu("Copy as Markdown")
        expect(panel.live).to_contain_text("Copied.")
        markdown = panel.page.evaluate("navigator.clipboard.readText()")
        assert markdown == (
            "## Must have\n\n- **Budget under 900** (locked): For the whole stay\n- **No night flights**\n\n"
            "## Nice to have\n\n- **A quiet room**: Away from the lift\n- **Window seat**\n"
            "- **\\*Stars\\* \\& \\<b\\>tags\\</b\\>**\n"
        )
        with panel.page.expect_download() as saved:
            panel.menu("Save as Markdown")
        assert saved.value.suggested_filename == "preferences.md"
        assert saved.value.path().read_text() == markdown
        with panel.page.expect_download() as saved:
            panel.menu("Save as JSON")
        names = ("title", "subtitle", "kind", "locked")
        assert json.loads(saved.value.path().read_text()) == [
            {name: row[name] for name in names} for row in panel.stored()
        ]
        panel.menu("Copy as JSON")
        until(panel.page, lambda: panel.page.evaluate("navigator.clipboard.readText()").startswith("["))

    def test_says_so_where_the_browser_forbids_to_copy(self, panel):
        panel.page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no')) }")
        panel.menu("Copy as JSON")
        expect(panel.root.get_by_text("Not copied: the browser does not let")).to_be_visible()

"""A long list: its rows are found, the fields for a new one stay in sight, and what gets scarce is told."""

import pytest
from playwright.sync_api import expect

from tests.browser import LIST, answer_with, no_violation

pytestmark = pytest.mark.panel

WISHES = [{"title": f"Wish {n}", "kind": "hard" if n < 5 else "soft"} for n in range(24)]


@pytest.fixture
def long(open_panel):
    return open_panel([*WISHES, {"title": "Café au lait", "subtitle": "Every morning"}])


class TestSearch:
    def test_is_there_from_twenty_rows_on(self, open_panel):
        panel = open_panel(WISHES[:19])
        expect(panel.root.get_by_label("Search")).to_be_hidden()
        panel.composer.title.fill("The twentieth")
        panel.composer.add.click()
        expect(panel.root.get_by_label("Search")).to_be_visible()

    def test_finds_rows_by_all_words_of_title_and_detail(self, long):
        search = long.root.get_by_label("Search")
        search.fill("MORNING cafe")
        rows = long.root.locator(".row:visible")
        expect(rows).to_have_count(1)
        expect(rows).to_contain_text("Café au lait")
        expect(long.root.get_by_text("25 preferences, none locked, 1 found")).to_be_visible()
        expect(long.root.get_by_role("heading", name="Must have")).to_be_hidden()
        no_violation(long.page)
        search.fill("")
        expect(rows).to_have_count(25)

    def test_hides_no_row_under_someones_hands_and_nothing_new(self, long):
        _, editor = long.edit("Wish 7")
        long.root.get_by_label("Search").fill("cafe")
        expect(editor.title).to_be_visible()
        expect(long.root.locator(".row:visible")).to_have_count(2)
        long.composer.title.fill("Sea view")
        long.composer.title.press("Enter")
        expect(long.row("Sea view")).to_be_visible()
        expect(long.root.get_by_label("Search")).to_have_value("")


class TestTheComposer:
    @pytest.mark.parametrize("width", [1280, 375])
    def test_stays_in_sight_and_unfolds_when_it_is_used(self, open_panel, width):
        panel = open_panel(WISHES, width=width)
        panel.page.set_viewport_size({"width": width, "height": 600})
        panel.page.evaluate("scrollTo(0, 0)")
        title = panel.composer.title
        box = title.bounding_box()
        assert box["y"] + box["height"] <= 600
        expect(panel.composer.detail).to_be_hidden()
        panel.screenshot(f"long-{width}")
        title.fill("Sea view")
        expect(panel.composer.detail).to_be_visible()
        panel.composer.hard.check()
        add = panel.composer.add.bounding_box()
        assert add["y"] + add["height"] <= 600
        panel.composer.add.click()
        expect(panel.row("Sea view")).to_be_visible()
        assert panel.page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    def test_covers_no_button_that_has_focus(self, long):
        long.page.set_viewport_size({"width": 1280, "height": 600})
        long.button("Lock Wish 3").focus()
        for _ in range(60):
            long.page.keyboard.press("Tab")
            covered = long.root.evaluate(
                """panel => {
                  const at = panel.shadowRoot.activeElement;
                  if (!at?.closest(".row")) return false;
                  const box = at.getBoundingClientRect();
                  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
                  return !at.contains(panel.shadowRoot.elementFromPoint(x, y));
                }"""
            )
            assert not covered, long.focused()


class TestCounters:
    def test_a_field_tells_how_full_it_is_once_that_matters(self, panel):
        form = panel.root.locator(".composer")
        panel.composer.title.fill("x" * 89)
        expect(form.locator(".counter:visible")).to_have_count(0)
        panel.composer.title.fill("😀" * 90)
        expect(form.locator(".counter:visible")).to_have_text("90/120")
        expect(panel.composer.title).to_have_accessible_description("90/120")
        panel.composer.detail.fill("y" * 480)
        expect(form.locator(".counter:visible")).to_have_text(["90/120", "480/500"])
        panel.composer.title.fill("Short")
        panel.composer.detail.fill("")
        expect(form.locator(".counter:visible")).to_have_count(0)

    def test_the_heading_tells_how_full_the_list_is_once_that_matters(self, open_panel):
        panel = open_panel([{"title": f"Wish {n}"} for n in range(50)])
        expect(panel.root.get_by_text("50 preferences, none locked")).to_be_visible()
        panel.api("POST", "/preferences", {"items": [{"title": f"More {n}"} for n in range(31)]})
        panel.refresh()
        expect(panel.root.get_by_text("81 of 100 preferences, none locked", exact=True)).to_be_visible()

    def test_the_heading_tells_how_many_characters_there_are(self, open_panel):
        panel = open_panel([{"title": f"Wish {n:02}", "subtitle": "x" * 493} for n in range(13)])
        expect(
            panel.root.get_by_text("13 preferences, none locked, 6,500 of 8,000 characters")
        ).to_be_visible()

    def test_a_full_list_says_how_much_room_is_left_in_the_services_words(self, panel):
        detail = "the list holds 8,000 characters at most; 12 are left"
        answer_with(panel.page, LIST, "POST", status=409, json={"code": "list_full", "detail": detail})
        panel.composer.title.fill("Longer than that")
        panel.composer.add.click()
        expect(panel.composer.message).to_contain_text(detail)
        expect(panel.composer.title).to_have_value("Longer than that")

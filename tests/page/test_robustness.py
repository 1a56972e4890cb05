"""The panel in browsers, host pages and lists that are not as one would wish."""

import json
from itertools import count

import pytest
from playwright.sync_api import Route, expect

from tests.browser import JOURNEY, LIST, list_requests, until

pytestmark = pytest.mark.panel

DIALOG = {
    "before": '<dialog id="around">',
    "after": "</dialog><script>document.querySelector('#around').showModal()</script>",
}
HOT_KEYS = """window.hot = [];
      document.addEventListener("keydown", (event) => {
        if (/^(INPUT|TEXTAREA)$/.test(event.target.tagName)) return;
        window.hot.push(event.key);
        if (event.key === "n") event.preventDefault();
      });"""


VALUES = [None, "", 0, -1, "yes", [], {}, "9999-99-99", {"a": 1}, "\ud800"]
FIELDS = [
    "title", "subtitle", "kind", "locked", "revision", "position",
    "created_at", "updated_at", "created_by", "updated_by",
]  # fmt: skip


def _end_composition(page, key: str) -> None:
    """The key as Safari sends it when it ends a composition: after the composition's own end."""
    event = {"type": "rawKeyDown", "key": key, "code": key}
    codes = {"windowsVirtualKeyCode": 229, "nativeVirtualKeyCode": 229}
    page.context.new_cdp_session(page).send("Input.dispatchKeyEvent", event | codes)


class TestKeys:
    """Reports 19, 23 and 24."""

    @pytest.mark.parametrize("field", ["title", "detail"])
    def test_enter_that_ends_a_composition_sends_nothing(self, panel, field):
        panel.composer.title.fill("静かな部屋")
        panel.composer.detail.fill("えれべーたー")
        getattr(panel.composer, field).focus()
        _end_composition(panel.page, "Enter")
        panel.page.wait_for_timeout(300)
        expect(panel.composer.title).to_have_value("静かな部屋")
        assert len(panel.stored()) == len(JOURNEY)
        getattr(panel.composer, field).press("Enter")
        until(panel.page, lambda: panel.stored()[-1]["title"] == "静かな部屋")

    def test_escape_that_ends_a_composition_keeps_the_edit(self, panel):
        row, editor = panel.edit("A quiet room")
        editor.title.fill("しずか")
        _end_composition(panel.page, "Escape")
        panel.page.wait_for_timeout(100)
        expect(row).to_have_attribute("data-face", "writing")
        expect(editor.title).to_have_value("しずか")
        editor.title.press("Escape")
        expect(row).to_have_attribute("data-face", "reading")

    def test_escape_that_ends_an_edit_leaves_a_dialog_around_it_open(self, hosted):
        panel = hosted(**DIALOG)
        row, editor = panel.edit("A quiet room")
        editor.title.fill("Something else")
        panel.page.keyboard.press("Escape")
        expect(row).to_have_attribute("data-face", "reading")
        dialog = panel.page.locator("#around")
        expect(dialog).to_have_attribute("open", "")
        panel.composer.title.press("Escape")  # the composer has no use for it
        expect(dialog).not_to_have_attribute("open", "")

    def test_escape_that_ends_a_drag_leaves_a_dialog_around_it_open(self, hosted):
        panel = hosted(**DIALOG)
        panel.button("Move Window seat").scroll_into_view_if_needed()
        grip = panel.button("Move Window seat").bounding_box()
        mouse = panel.page.mouse
        mouse.move(grip["x"] + 5, grip["y"] + 5)
        mouse.down()
        mouse.move(grip["x"] + 5, grip["y"] - 60, steps=4)
        expect(panel.root.locator("[data-dragged]")).to_have_count(1)
        panel.page.keyboard.press("Escape")
        expect(panel.root.locator("[data-dragged]")).to_have_count(0)
        mouse.up()
        expect(panel.page.locator("#around")).to_have_attribute("open", "")
        assert [row["title"] for row in panel.stored()] == [row["title"] for row in JOURNEY]

    def test_letters_that_are_typed_are_no_hot_keys_of_the_page(self, hosted):
        panel = hosted(script=HOT_KEYS)
        panel.composer.title.press_sequentially("no nuts")
        panel.composer.detail.press_sequentially("none")
        expect(panel.composer.title).to_have_value("no nuts")
        expect(panel.composer.detail).to_have_value("none")
        assert panel.page.evaluate("window.hot") == []

    def test_chords_and_keys_outside_the_fields_stay_the_pages(self, hosted):
        panel = hosted(script=HOT_KEYS)
        panel.composer.title.press("Control+k")
        panel.button("More").press("n")
        assert panel.page.evaluate("window.hot.filter((key) => key.length === 1)") == ["k", "n"]


class TestBrowsers:
    """Reports 20, 21 and 22."""

    def test_without_abort_signal_any_and_timeout_it_shows_the_list(self, hosted):
        panel = hosted(script="delete AbortSignal.any; delete AbortSignal.timeout;")
        panel.agent_adds("Sea view")
        expect(panel.row("Sea view")).to_be_visible()
        expect(panel.root.locator(".trouble")).to_be_hidden()

    def test_a_second_copy_steps_back(self, hosted):
        panel = hosted()
        loaded = panel.page.evaluate("import('/assets/preferences-panel.js?second').then(() => 'loaded')")
        assert loaded == "loaded"
        panel.button("Lock Window seat").click()
        expect(panel.row("Window seat").get_by_text("Locked", exact=True)).to_be_visible()


class TestHosts:
    """Reports 26, 28 and 35."""

    def test_moving_the_element_keeps_all_that_is_open(self, hosted):
        panel = hosted(after='<div id="other"></div>')
        row, editor = panel.edit("A quiet room")
        editor.title.fill("Half written text")
        panel.composer.title.fill("Half a thought")
        panel.page.evaluate("document.querySelector('#other').append(window.panel)")
        panel.page.wait_for_timeout(200)
        expect(row).to_have_attribute("data-face", "writing")
        expect(editor.title).to_have_value("Half written text")
        expect(panel.composer.title).to_have_value("Half a thought")
        panel.agent_adds("Sea view")  # and it goes on asking
        expect(panel.row("Sea view")).to_be_visible()
        editor.save.click()
        until(panel.page, lambda: panel.stored()[2]["title"] == "Half written text")

    def test_another_conversation_for_a_moment_changes_nothing(self, hosted):
        panel = hosted()
        row, editor = panel.edit("A quiet room")
        editor.title.fill("Half written text")
        panel.page.evaluate(
            """thread => {
              window.panel.setAttribute("thread-id", "another");
              window.panel.setAttribute("thread-id", thread);
            }""",
            panel.thread,
        )
        panel.page.wait_for_timeout(200)
        expect(row).to_have_attribute("data-face", "writing")
        expect(editor.title).to_have_value("Half written text")

    def test_a_new_provider_at_every_rendering_asks_for_nothing(self, hosted):
        panel = hosted()
        asked = list_requests(panel.page)
        panel.page.evaluate(
            """async () => {
              for (let n = 0; n < 40; n++) {
                window.panel.tokenProvider = async () => window.token;
                await new Promise((wake) => setTimeout(wake, 25));
              }
            }"""
        )
        assert len(asked) <= 2  # its own looks, every two seconds

    def test_the_newest_provider_serves_the_next_request(self, hosted):
        panel = hosted()
        panel.page.evaluate(
            "window.panel.tokenProvider = async () => { window.askedNew = true; return window.token }"
        )
        panel.button("Lock Window seat").click()
        until(panel.page, lambda: panel.stored()[3]["locked"])
        assert panel.page.evaluate("window.askedNew")

    def test_dragging_to_the_edge_scrolls_the_box_around_it(self, hosted):
        wishes = [{"title": f"Wish {n:02d}"} for n in range(20)]
        panel = hosted(wishes, before='<div id="box" style="height: 320px; overflow: auto">', after="</div>")
        grip = panel.button("Move Wish 00")
        grip.scroll_into_view_if_needed()
        box = grip.bounding_box()
        mouse = panel.page.mouse
        mouse.move(box["x"] + 5, box["y"] + 5)
        mouse.down()
        mouse.move(box["x"] + 5, 310, steps=4)
        panel.page.wait_for_function("document.querySelector('#box').scrollTop > 200")
        mouse.up()
        until(panel.page, lambda: [row["title"] for row in panel.stored()].index("Wish 00") > 3)


class TestOddLists:
    """Report 27: one odd value in one row never keeps the others from showing."""

    def _serve(self, panel, change) -> None:
        numbers = count(100_000)

        def serve(route: Route) -> None:
            if route.request.method != "GET":
                return route.fallback()
            listing = panel.api("GET", "/preferences")
            change(listing)
            body = json.dumps(listing | {"revision": next(numbers)})  # which escapes half a surrogate pair
            return route.fulfill(body=body, content_type="application/json")

        panel.page.route(LIST, serve)
        panel.refresh()
        panel.page.unroute(LIST, serve)

    @pytest.mark.parametrize("field", FIELDS)
    def test_whatever_a_row_has_in(self, panel, field):
        for value in VALUES:
            self._serve(panel, lambda listing, value=value: listing["preferences"][1].update({field: value}))
            rows = panel.root.locator(".row[data-face=reading]")
            expect(rows).to_have_count(4)
            for title in ("Budget under 900", "A quiet room", "Window seat"):
                expect(panel.row(title)).to_be_visible()
        self._serve(panel, lambda listing: listing["preferences"][1].pop(field))
        expect(panel.root.locator(".row[data-face=reading]")).to_have_count(4)

    @pytest.mark.parametrize("row", [None, 3, "x", [], {}, {"title": "No id"}, {"id": 7, "title": "x"}])
    def test_what_is_no_row_is_left_out(self, panel, row):
        self._serve(panel, lambda listing: listing["preferences"].insert(1, row))
        panel.shows(*[each["title"] for each in JOURNEY])
        panel.button("Lock Window seat").click()
        until(panel.page, lambda: panel.stored()[3]["locked"])

    def test_a_row_without_its_time_can_be_changed(self, panel):
        self._serve(panel, lambda listing: listing["preferences"][2].update({"updated_at": ""}))
        panel.button("Lock A quiet room").click()
        until(panel.page, lambda: panel.stored()[2]["locked"])

    def test_an_odd_history_still_shows(self, panel):
        good = {"revision": 3, "actor": "agent", "action": "x", "at": "2026-01-01T00:00:00Z"}
        entries = [
            None,
            {},
            {"revision": 9},
            {"revision": 8, "changes": [None, {"id": 3}, {"id": "a", "after": {"title": None}}]},
            good | {"summary": "The agent recorded One", "reasoning": {"a": 1}, "changes": None},
        ]
        body = json.dumps({"entries": entries, "next": None})
        panel.page.route(
            "**/history?*", lambda route: route.fulfill(body=body, content_type="application/json")
        )
        panel.root.get_by_role("tab", name="History").click()
        expect(panel.root.get_by_text("The agent recorded One")).to_be_visible()
        expect(panel.root.locator(".entry")).to_have_count(3)

"""The panel in somebody else's page, and on every screen."""

import json
from itertools import count

import pytest
from playwright.sync_api import Locator, expect

from tests.browser import (
    JOURNEY,
    Panel,
    fits,
    list_requests,
    signed_in,
    until,
)

pytestmark = pytest.mark.panel

_numbers = count(1)


HOST_PAGE = """<!doctype html><html lang="en" style="color-scheme: dark"><title>Host</title>
<style>
  preferences-panel { --preferences-accent: rgb(200, 0, 100) }
  preferences-panel::part(title) { font-style: italic }
</style>
<body><script type="module">
  const panel = document.createElement("preferences-panel");
  panel.tokenProvider = async (hint) => { window.hints.push(hint); return window.token; };
  window.token = TOKEN; window.hints = []; window.heard = [];
  for (const name of ["preferences-changed", "preferences-error"]) {
    document.addEventListener(name, (event) => window.heard.push([name, event.detail]));
  }
  panel.setAttribute("thread-id", THREAD);
  document.body.append(panel);
  await import("/assets/preferences-panel.js");
</script>"""


def without_light_dark(route) -> None:
    answer = route.fetch()
    route.fulfill(response=answer, body=f"CSS.supports = () => false;\n{answer.text()}")


SLOW = """{
  const ask = window.fetch;
  window.fetch = async (...all) => {
    await new Promise((wake) => setTimeout(wake, 1_500));
    return ask(...all);
  };
}"""


class TestInAHostPage:
    @pytest.fixture
    def hosted(self, usual_page, stack):
        panel = Panel(usual_page, stack, f"hosted{next(_numbers)}")
        panel.api("PUT", "")
        panel.api("POST", "/preferences", {"items": JOURNEY})
        body = HOST_PAGE.replace("THREAD", json.dumps(panel.thread)).replace("TOKEN", json.dumps(panel.token))
        usual_page.route("**/host.html", lambda route: route.fulfill(content_type="text/html", body=body))
        usual_page.goto("/host.html")
        panel.shows(*[row["title"] for row in JOURNEY])
        return panel

    def test_one_import_is_all_it_needs_and_properties_set_early_count(self, hosted):
        hosted.button("Lock Window seat").click()
        expect(hosted.row("Window seat").get_by_text("Locked", exact=True)).to_be_visible()

    def test_tells_the_page_of_each_newer_list(self, hosted):
        hosted.agent_adds("Sea view")
        hosted.refresh()
        expect(hosted.row("Sea view")).to_be_visible()
        name, detail = hosted.page.evaluate("window.heard.at(-1)")
        assert name == "preferences-changed"
        assert detail["threadId"] == hosted.thread
        assert [row["title"] for row in detail["preferences"]][-1] == "Sea view"
        announced = hosted.page.evaluate("window.heard.length")
        hosted.refresh()
        assert hosted.page.evaluate("window.heard.length") == announced

    def test_asks_for_a_new_token_when_one_is_refused_and_tells_the_page_when_there_is_none(self, hosted):
        page = hosted.page
        page.evaluate("{ window.good = window.token; window.token = 'worn.out.token' }")
        hosted.refresh()
        assert page.evaluate("window.hints.at(-1)") == {"renew": True}
        name, detail = page.evaluate("window.heard.at(-1)")
        assert (name, detail["code"], detail["status"]) == ("preferences-error", "unauthorized", 401)
        page.evaluate(
            """() => {
              const panel = document.querySelector("preferences-panel");
              panel.tokenProvider = async ({ renew }) => (renew ? window.good : window.token);
            }"""
        )
        hosted.button("Lock Window seat").click()
        expect(hosted.row("Window seat").get_by_text("Locked", exact=True)).to_be_visible()

    def test_follows_the_pages_colours_parts_and_scheme(self, hosted):
        def style(part: Locator, name: str) -> str:
            return part.evaluate("(part, name) => getComputedStyle(part)[name]", name)

        assert style(hosted.row("Window seat").locator(".reading .title"), "fontStyle") == "italic"
        assert style(hosted.composer.add, "backgroundColor") == "rgb(200, 0, 100)"
        assert style(hosted.root.locator(".panel"), "backgroundColor") == "rgb(28, 27, 25)"

    @pytest.mark.parametrize("old", [False, True], ids=["today", "browser of 2023"])
    def test_is_light_or_dark_as_the_page_says(self, hosted, old):
        paper = hosted.root.locator(".panel")
        light, dark = "rgb(255, 254, 252)", "rgb(28, 27, 25)"
        if old:
            hosted.page.route("**/preferences-style.js", without_light_dark)
            hosted.page.reload()
            hosted.page.emulate_media(color_scheme="dark")
            expect(paper).to_have_css("background-color", dark)
            hosted.page.emulate_media(color_scheme="light")
        else:
            expect(paper).to_have_css("background-color", dark)  # the page's own color-scheme
            hosted.page.evaluate("document.documentElement.style.colorScheme = 'light'")
        expect(paper).to_have_css("background-color", light)
        hosted.root.evaluate("panel => panel.setAttribute('scheme', 'dark')")
        expect(paper).to_have_css("background-color", dark)

    def test_goes_with_its_element_and_begins_again_when_it_is_back(self, hosted):
        asked = list_requests(hosted.page)
        hosted.page.evaluate(
            "{ window.kept = document.querySelector('preferences-panel'); window.kept.remove() }"
        )
        hosted.agent_adds("Sea view")
        assert asked == []
        hosted.page.evaluate("document.body.append(window.kept)")
        expect(hosted.row("Sea view")).to_be_visible()


class TestWhatAHostSets:
    """And what it may have forgotten."""

    def test_a_missing_provider_is_said_on_the_page_and_in_the_console(self, hosted):
        panel = hosted()
        lines = []
        panel.page.on("console", lambda line: lines.append(line.text))
        panel.page.evaluate("window.panel.tokenProvider = null")
        missing = "This panel needs the property tokenProvider, a function that gives an access token."
        expect(panel.root.get_by_text(missing)).to_be_visible()
        assert f"<preferences-panel>: {missing}" in lines

    def test_a_missing_conversation_is_said_too(self, hosted):
        panel = hosted()
        panel.page.evaluate("window.panel.threadId = null")
        expect(panel.root.get_by_text("This panel needs the attribute thread-id")).to_be_visible()
        panel.page.evaluate("thread => { window.panel.threadId = thread }", panel.thread)
        expect(panel.row("Window seat")).to_be_visible()

    def test_properties_are_reflected(self, hosted):
        panel = hosted()
        panel.page.evaluate("thread => { window.panel.threadId = thread }", f"{panel.thread}-2")
        expect(panel.root).to_have_attribute("thread-id", f"{panel.thread}-2")
        panel.page.evaluate("() => { window.panel.apiBase = location.origin }")
        expect(panel.root).to_have_attribute("api-base", panel.stack.origin)
        assert panel.page.evaluate("[window.panel.threadId, window.panel.apiBase]") == [
            f"{panel.thread}-2",
            panel.stack.origin,
        ]

    def test_a_template_that_binds_the_provider_by_its_dashed_name_sets_the_property(self, hosted):
        """As Vue does: a property where the element has one of that name, else an attribute."""
        panel = hosted()
        bound = panel.page.evaluate(
            """() => {
              const name = "token-provider";
              if (name in window.panel) window.panel[name] = async () => window.token;
              else window.panel.setAttribute(name, String(async () => window.token));
              return [window.panel.hasAttribute(name), typeof window.panel.tokenProvider];
            }"""
        )
        assert bound == [False, "function"]

    def test_a_slow_service_leaves_no_blank_panel(self, hosted):
        panel = hosted(waits=False, script=SLOW)
        expect(panel.root.locator("#list").get_by_text("Loading…")).to_be_visible()
        expect(panel.composer.title).to_be_editable()
        panel.root.get_by_role("tab", name="History").click()
        expect(panel.root.locator(".history").get_by_text("Loading…")).to_be_visible()
        expect(panel.root.get_by_text("Nothing has changed yet.")).to_have_count(0)
        expect(panel.root.locator(".entry").first).to_be_visible()

    def test_the_fields_are_free_while_changes_wait_for_their_answers(self, hosted):
        panel = hosted()
        panel.page.evaluate(SLOW)
        panel.button("Lock Window seat").click()
        panel.button("Lock A quiet room").click()
        for title in ("Sea view", "Late check-out"):
            panel.composer.title.fill(title)
            panel.composer.add.click()
            expect(panel.composer.title).to_have_value("")
            expect(panel.composer.title).to_be_editable()
            expect(panel.row(title)).to_be_visible()
        until(panel.page, lambda: len(panel.stored()) == 6, seconds=20)


class TestInANarrowSidebar:
    """Of a page whose root has ten pixels a rem, and that scrolls by itself."""

    @pytest.fixture
    def sidebar(self, usual_page, stack):
        panel = Panel(usual_page, stack, f"sidebar{next(_numbers)}")
        panel.api("PUT", "")
        panel.api(
            "POST", "/preferences", {"items": [{"title": f"Wish {n}", "subtitle": "So"} for n in range(20)]}
        )
        body = HOST_PAGE.replace("THREAD", json.dumps(panel.thread)).replace("TOKEN", json.dumps(panel.token))
        style = "html { font-size: 62.5%; overflow: hidden }"
        style += "body { margin: 0; height: 400px; width: 277px; overflow-y: auto }"
        body = body.replace("<style>", f"<style>{style}")
        usual_page.route("**/host.html", lambda route: route.fulfill(content_type="text/html", body=body))
        usual_page.set_viewport_size({"width": 500, "height": 700})
        usual_page.goto("/host.html")
        expect(panel.root.locator(".row")).to_have_count(20)
        return panel

    def test_text_keeps_its_size_whatever_the_pages_root_is(self, sidebar):
        def pixels(selector: str) -> float:
            return sidebar.root.locator(selector).first.evaluate(
                "e => parseFloat(getComputedStyle(e).fontSize)"
            )

        assert pixels(".row .title") == 15
        assert pixels(".row .subtitle") >= 13
        assert min(pixels(each) for each in (".tab", ".count", "h3", ".meta", ".composer .kind-option")) >= 11

    def test_nothing_lies_over_the_tabs(self, sidebar):
        fits(sidebar)
        heading, tabs = (
            sidebar.root.locator("h2").bounding_box(),
            sidebar.root.locator(".tabs").bounding_box(),
        )
        text = sidebar.root.locator("h2").evaluate(
            """h => {
              const range = document.createRange();
              range.selectNodeContents(h);
              return range.getBoundingClientRect().right;
            }"""
        )
        assert text <= tabs["x"] or heading["y"] + heading["height"] <= tabs["y"]

    def test_dragging_at_the_edge_scrolls_it(self, sidebar):
        mouse = sidebar.page.mouse
        start = sidebar.button("Move Wish 1").bounding_box()
        mouse.move(start["x"] + 12, start["y"] + 12)
        mouse.down()
        mouse.move(start["x"] + 12, 390, steps=4)
        sidebar.page.wait_for_function("document.body.scrollTop > 600")  # with no further move of the pointer
        sidebar.page.mouse.move(start["x"] + 12, 200)
        mouse.up()
        until(sidebar.page, lambda: [row["title"] for row in sidebar.stored()].index("Wish 1") > 3)


class TestEveryScreen:
    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_nothing_runs_over_the_edge(self, open_panel, scheme):
        long = {"title": "Donaudampfschifffahrtsgesellschaftskapitänsmütze" * 2, "subtitle": "x" * 500}
        panel = open_panel([*JOURNEY, long], scheme=scheme)
        panel.button("Lock Budget under 900").click()
        expect(panel.row("Budget under 900").get_by_text("Locked", exact=True)).to_be_visible()
        panel.edit("A quiet room")
        panel.button("Move Window seat").click()
        panel.page.get_by_role("button", name="Call the tool").click()
        expect(panel.page.locator(".answer")).to_have_count(1)
        for width in (1920, 1280, 768, 390, 320):
            panel.page.set_viewport_size({"width": width, "height": 800})
            panel.screenshot(f"work-{width}-{scheme}")
            fits(panel)
        panel.root.get_by_role("tab", name="History").click()
        expect(panel.root.locator(".entry").first).to_be_visible()
        fits(panel)

    def test_reads_from_right_to_left_where_the_page_does(self, open_panel):
        items = [
            {"title": "غرفة هادئة", "subtitle": "بعيدا عن المصعد", "kind": "hard"},
            {"title": "Window seat", "kind": "soft"},
        ]
        panel = open_panel(items)
        panel.page.evaluate("document.documentElement.dir = 'rtl'")
        for width in (1280, 320):
            panel.page.set_viewport_size({"width": width, "height": 800})
            for title in ("غرفة هادئة", "Window seat"):
                row = panel.row(title)
                number, words, actions = (
                    row.locator(part).bounding_box() for part in (".number", ".words", ".actions")
                )
                assert number["x"] > words["x"]
                assert actions["x"] < words["x"] + words["width"] / 2
                assert row.locator(".title").evaluate("title => getComputedStyle(title).textAlign") == "right"
            panel.screenshot(f"right-to-left-{width}")
            fits(panel)

    def test_nothing_moves_for_whoever_wants_it_still(self, open_panel):
        panel = open_panel(motion="reduce")
        panel.agent_adds("Sea view")
        panel.refresh()
        expect(panel.row("Sea view").locator(".fresh")).to_be_visible()
        moving = panel.root.evaluate(
            "panel => panel.shadowRoot.getAnimations().length + document.getAnimations().length"
        )
        assert moving == 0

    def test_weighs_less_than_sixty_kilobytes(self, new_page, stack):
        page = new_page()
        sizes = {}
        page.on(
            "response",
            lambda response: sizes.update({response.url: response.request.sizes()["responseBodySize"]}),
        )
        signed_in(page, stack.token("light"))
        with page.expect_response("**/agent-console.js"):
            page.goto("/")
        expect(page.get_by_role("button", name="Start a conversation")).to_be_visible()
        own = {url: size for url, size in sizes.items() if "/assets/" in url or url == f"{stack.origin}/"}
        assert len(own) > 10
        assert sum(own.values()) < 60_000

    def test_asks_for_its_files_once_and_never_again(self, new_page, stack):
        page = new_page()
        signed_in(page, stack.token("light"))
        sent = """() => performance.getEntriesByType("resource")
          .filter(({ name }) => name.includes("/assets/"))
          .map(({ name, transferSize }) => [new URL(name).pathname, transferSize > 0])"""

        def view() -> dict[str, bool]:
            """Its files, and whether each came over the wire."""
            with page.expect_response("**/agent-console.js"):
                page.goto("/")
            expect(page.get_by_role("button", name="Start a conversation")).to_be_visible()
            return dict(page.evaluate(sent))

        first = view()
        assert len(first) > 10
        assert all(first.values())
        assert len({path.rpartition("/")[0] for path in first}) == 1  # one folder, of this release alone
        page.goto("about:blank")
        assert view() == dict.fromkeys(first, False)

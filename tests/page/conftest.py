"""Pages and panels for the tests that need a browser."""

import json
from itertools import count

import pytest
from playwright.sync_api import Page, sync_playwright

from tests.browser import (
    FLAGS,
    JOURNEY,
    SCREENSHOTS,
    Panel,
    by_kind,
    signed_in,
    watch,
)

_numbers = count(1)


@pytest.fixture(scope="package")
def browser(chromium):
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def new_page(browser, stack):
    """Makes pages of a fresh browser each, and sees in the end that nothing went wrong on any of them."""
    contexts, faults = [], []

    def make(**options) -> Page:
        context = browser.new_context(base_url=stack.origin, **options)
        contexts.append(context)
        page = context.new_page()
        faults.append(watch(page, stack))
        return page

    yield make
    for context in contexts:
        context.close()
    assert [fault for each in faults for fault in each] == []


@pytest.fixture(scope="module")
def lasting_page(browser, stack):
    context = browser.new_context(base_url=stack.origin)
    page = context.new_page()
    signed_in(page, stack.token())
    yield page, watch(page, stack)
    context.close()


@pytest.fixture
def usual_page(lasting_page):
    """The page of the tests that need no fresh browser, which costs a second; left as it was found."""
    page, faults = lasting_page
    faults.clear()
    yield page
    page.unroute_all(behavior="ignoreErrors")
    page.context.set_offline(False)
    page.evaluate("if (location.protocol === 'http:') localStorage.clear()")
    page.goto("about:blank")
    assert faults == []


@pytest.fixture
def open_panel(new_page, usual_page, stack):
    """Opens the page as ada, signed in, on a new conversation that holds `items`, or on that `of` a panel.

    `clock` stops the page's time, which the test then moves on.
    """

    def open_it(items=JOURNEY, *, of=None, clock=False, width=1280, scheme="light", motion="no-preference"):
        thread = of.thread if of else f"trip{next(_numbers)}"
        page = new_page() if of or clock else usual_page
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme, reduced_motion=motion)
        panel = Panel(page, stack, thread)
        if not of:
            panel.api("PUT", "")
            if items:
                panel.api("POST", "/preferences", {"items": items})
        if page is not usual_page:
            signed_in(page, panel.token)
        if clock:
            page.clock.install()
        page.goto(f"/#thread={thread}")
        panel.shows(*[row["title"] for row in by_kind(panel.stored())])
        if clock:
            page.clock.pause_at(page.evaluate("Date.now() / 1000 + 1"))
        return panel

    return open_it


HOST = """<!doctype html><html lang="en"><title>Host</title><body>BEFORE
<preferences-panel thread-id=THREAD></preferences-panel>AFTER
<script type="module">
  window.token = TOKEN;
  window.faults = [];
  const panel = window.panel = document.querySelector("preferences-panel");
  panel.addEventListener("preferences-error", ({ detail }) => window.faults.push(detail));
  await import("/assets/preferences-panel.js");
  panel.tokenProvider = async () => window.token;
</script>"""


@pytest.fixture
def hosted(new_page, stack):
    """Opens a plain page of somebody else's around the panel, as ada, on a new conversation.

    `before` and `after` are HTML around the element, `script` runs first of all. `waits`: for the list.
    """

    def open_it(items=JOURNEY, *, before="", after="", script="", waits=True, **options):
        page = new_page(**options)
        panel = Panel(page, stack, f"host{next(_numbers)}")
        panel.api("PUT", "")
        if items:
            panel.api("POST", "/preferences", {"items": items})
        body = HOST.replace("BEFORE", before).replace("AFTER", after)
        body = body.replace("THREAD", json.dumps(panel.thread)).replace("TOKEN", json.dumps(panel.token))
        page.route("**/host.html", lambda route: route.fulfill(content_type="text/html", body=body))
        if script:
            page.add_init_script(script)
        page.goto("/host.html")
        if waits:
            panel.shows(*[row["title"] for row in by_kind(panel.stored())])
        return panel

    return open_it


@pytest.fixture
def panel(open_panel):
    return open_panel()

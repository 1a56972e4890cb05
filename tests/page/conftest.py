"""Pages and panels for the tests that need a browser."""

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


@pytest.fixture(scope="module")
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


@pytest.fixture
def panel(open_panel):
    return open_panel()

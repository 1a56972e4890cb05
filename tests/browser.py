"""The panel in a browser, as its tests speak of it."""

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from types import SimpleNamespace
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, Route, expect, sync_playwright

from tests.stack import ROOT, Site, start_stack, stop_stack

expect.set_options(timeout=15_000)  # milliseconds; a busy machine takes more than the usual five

SCREENSHOTS = ROOT / "build/screenshots"
LIST = "**/threads/*/preferences"  # the list, and where a preference is added
ONE = "**/threads/*/preferences/*"
LOCK = "**/preferences/*/lock"

JOURNEY = [
    {"title": "Budget under 900", "subtitle": "For the whole stay", "kind": "hard"},
    {"title": "No night flights", "kind": "hard"},
    {"title": "A quiet room", "subtitle": "Away from the lift", "kind": "soft"},
    {"title": "Window seat", "kind": "soft"},
]

BAD_GATEWAY = {"status": 502, "content_type": "text/html", "body": "<html><h1>502 Bad Gateway</h1></html>"}

FLAGS = [
    "--no-sandbox",  # root, in a container
    "--disable-gpu",
    "--in-process-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

_numbers = count(1)


@contextmanager
def local_browser() -> Iterator[tuple[Browser, Site]]:
    """Chromium and a local stack, for what is run by hand."""
    process, stack = start_stack()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
            yield browser, stack
            browser.close()
    finally:
        stop_stack(process)


class Panel:
    """One person's page on one conversation, in words of what is on it."""

    def __init__(self, page: Page, stack, thread: str, user: str = "ada") -> None:
        self.page, self.stack, self.thread, self.user = page, stack, thread, user
        self.token = stack.token(user)
        self.root = page.locator("preferences-panel")
        self.live = self.root.locator(".unseen[role=status]")

    def button(self, name: str) -> Locator:
        return self.root.get_by_role("button", name=name, exact=True)

    def row(self, title: str) -> Locator:
        """The row of that title, whichever face it shows, by the button that names it."""
        return self.root.locator(f'.row:has(.edit[aria-label="Edit {title}"])')

    def menu(self, name: str) -> None:
        self.button("More").click()
        self.button(name).click()

    def titles(self, section: str | None = None) -> list[str]:
        scope = self.root.locator(f'.section[data-kind="{section}"]') if section else self.root
        return scope.locator(".row[data-face=reading] .title").all_inner_texts()

    def numbers(self) -> dict[str, str]:
        rows = self.root.locator(".row[data-face=reading]").all()
        return {r.locator(".title").inner_text(): r.locator(".number").inner_text() for r in rows}

    def shows(self, *titles: str) -> None:
        """Waits until these are the titles on the page, top to bottom."""
        expect(self.root.locator(".row[data-face=reading] .reading .title")).to_have_text(list(titles))

    @property
    def composer(self) -> SimpleNamespace:
        form = self.root.locator(".composer")
        return SimpleNamespace(
            title=form.get_by_label("Title"),
            detail=form.get_by_label("Detail, optional"),
            hard=form.get_by_label("Must have"),
            add=form.get_by_role("button", name="Add", exact=True),
            message=form.get_by_role("alert"),
        )

    def editor(self, row: Locator) -> SimpleNamespace:
        return SimpleNamespace(
            title=row.get_by_label("Title"),
            detail=row.get_by_label("Detail, optional"),
            hard=row.get_by_label("Must have"),
            save=row.get_by_role("button", name="Save"),
            again=row.get_by_role("button", name="Apply mine again"),
            theirs=row.get_by_role("button", name="Take theirs"),
            message=row.get_by_role("alert"),
        )

    def edit(self, title: str) -> tuple[Locator, SimpleNamespace]:
        """Opens the edit of that row; gives the row, found whatever becomes of its title, and its form."""
        mark = f"opened-{next(_numbers)}"
        self.row(title).evaluate("(row, mark) => row.classList.add(mark)", mark)
        self.button(f"Edit {title}").click()
        row = self.root.locator(f".{mark}")
        return row, self.editor(row)

    def refresh(self) -> None:
        """Has the panel ask now, and waits for the answer."""
        self.root.evaluate("panel => panel.refresh()")

    def stored(self) -> list[dict]:
        return self.api("GET", "/preferences")["preferences"]

    def api(self, method: str, path: str, body=None) -> dict:
        headers = {"Authorization": f"Bearer {self.token}"}
        answer = self.stack.request(method, f"/threads/{self.thread}{path}", body, headers)
        assert answer.status < 300, answer.body
        return answer.json

    def agent(self, tool: str, argument: str | None = None, value=None, why: str = "It came up.") -> dict:
        """What the tool told the agent."""
        parameters = [{"name": "action_and_reasoning", "type": "string", "value": why}]
        if argument:
            parameters.append({"name": argument, "type": "array", "value": json.dumps(value)})
        answer = self.stack.agent(
            {
                "messageVersion": "1.0",
                "agent": {},
                "actionGroup": "preferences",
                "function": tool,
                "parameters": parameters,
                "sessionAttributes": {"thread_id": self.thread, "user_id": self.user},
                "promptSessionAttributes": {},
            }
        )
        return json.loads(answer.json["response"]["functionResponse"]["responseBody"]["TEXT"]["body"])

    def agent_adds(self, *items: dict | str) -> dict:
        whole = [{"title": item} if isinstance(item, str) else item for item in items]
        return self.agent("add_preferences", "items", whole)

    def agent_updates(self, *updates: dict) -> dict:
        return self.agent("update_preferences", "updates", list(updates))

    def agent_removes(self, *indices: int) -> dict:
        return self.agent("remove_preferences", "indices", list(indices))

    def focused(self) -> str:
        """The name of what has focus, however deep in shadow trees."""
        return self.page.evaluate(
            """() => {
              let at = document.activeElement;
              while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
              return at?.getAttribute("aria-label") ?? at?.labels?.[0]?.innerText ?? at?.innerText ?? "";
            }"""
        ).strip()

    def tab_to(self, name: str, key: str = "Tab") -> None:
        for _ in range(80):
            self.page.keyboard.press(key)
            if self.focused() == name:
                return
        raise AssertionError(f"{key} never reaches {name}")

    def screenshot(self, name: str) -> None:
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True, animations="disabled")


class Held:
    """Requests that wait until the test lets them go on."""

    def __init__(self, page: Page, pattern: str, method: str) -> None:
        self.page, self.pattern = page, pattern
        self.routes: list[Route] = []

        def hold(route: Route) -> None:
            if route.request.method == method:
                self.routes.append(route)
            else:
                route.fallback()

        self.handler = hold
        page.route(pattern, hold)

    def one(self) -> Route:
        until(self.page, lambda: self.routes)
        return self.routes[0]

    def release(self) -> None:
        while self.routes:
            self.routes.pop(0).continue_()
        self.page.unroute(self.pattern, self.handler)


def until(page: Page, condition, seconds: float = 10) -> None:
    """Waits for what is no state of the page; the page's events are handled meanwhile."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        page.wait_for_timeout(10)


def answer_with(page: Page, pattern: str, methods: str, **answer) -> None:
    """Answers those requests in the service's place, from now on."""

    def fulfil(route: Route) -> None:
        if route.request.method in methods.split():
            route.fulfill(**answer)
        else:
            route.fallback()

    page.route(pattern, fulfil)


def watch(page: Page, stack) -> list[str]:
    """What goes wrong on the page from now on, seen or unseen."""
    faults: list[str] = []

    def is_fault(line) -> bool:
        # What a test breaks on purpose is told as "Failed to load resource"
        return line.type == "error" and not line.text.startswith("Failed to load resource")

    def is_foreign(url: str) -> bool:
        return urlsplit(url).scheme in ("http", "https") and not url.startswith(f"{stack.origin}/")

    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("dialog", lambda dialog: faults.append(f"dialog: {dialog.message}"))
    page.on("console", lambda line: faults.append(line.text) if is_fault(line) else None)
    page.on("request", lambda sent: faults.append(f"asked {sent.url}") if is_foreign(sent.url) else None)
    return faults


def kept(token: str) -> str:
    """What the page keeps of a sign-in, here one that doesn't end."""
    return json.dumps({"token": token, "until": 2**53})


def signed_in(page: Page, token: str) -> None:
    script = f"sessionStorage.setItem('sign-in.token', {json.dumps(kept(token))})"
    page.add_init_script(f"if (location.protocol === 'http:') {script}")


def requests_of(page: Page, methods: str) -> list:
    """The page's requests of these methods, as they come."""
    seen = []
    page.on("request", lambda request: request.method in methods.split() and seen.append(request))
    return seen


def list_requests(page: Page) -> list:
    seen = []
    page.on(
        "request",
        lambda request: (
            request.method == "GET" and request.url.endswith("/preferences") and seen.append(request)
        ),
    )
    return seen


def hide(page: Page, hidden: bool) -> None:
    page.evaluate(
        """state => {
          Object.defineProperty(document, "visibilityState", { configurable: true, get: () => state });
          document.dispatchEvent(new Event("visibilitychange"));
        }""",
        "hidden" if hidden else "visible",
    )


def watch_titles(panel: Panel, title: str):
    """Counts the moments at which not exactly one row has the title."""
    panel.root.evaluate(
        """(panel, title) => {
          window.wrong = 0;
          new MutationObserver(() => {
            const rows = [...panel.shadowRoot.querySelectorAll(".row .title")];
            if (rows.filter((row) => row.textContent === title).length !== 1) window.wrong++;
          }).observe(panel.shadowRoot, { subtree: true, childList: true, characterData: true });
        }""",
        title,
    )
    return lambda: panel.page.evaluate("window.wrong")


def listen(panel: Panel):
    """What a screen reader is given to say from now on."""
    panel.live.evaluate(
        """live => {
          window.said = [];
          new MutationObserver(() => window.said.push(live.textContent))
            .observe(live, { subtree: true, childList: true, characterData: true });
        }"""
    )
    return lambda: panel.page.evaluate("window.said")


def no_violation(page: Page) -> None:
    violations = Axe().run(page).response["violations"]
    reported = [(v["id"], [(n["target"], n.get("failureSummary")) for n in v["nodes"]]) for v in violations]
    assert reported == []


def fits(panel: Panel) -> None:
    """No sideways scrolling, and no text or button of the panel beyond its edge or under another."""
    assert panel.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    stray = panel.root.evaluate(
        """panel => {
          const frame = panel.getBoundingClientRect();
          const all = (names) => [...panel.shadowRoot.querySelectorAll(names)]
            .filter((each) => each.offsetParent && !each.classList.contains("unseen"));
          const box = (each) => each.getBoundingClientRect();
          const isOver = ({ left, right }) => left < frame.left - 0.5 || right > frame.right + 0.5;
          const meet = (one, other) => one.left < other.right - 0.5 && other.left < one.right - 0.5
            && one.top < other.bottom - 0.5 && other.top < one.bottom - 0.5;
          // The fields for a new one stand over a long list, which scrolls below them
          const buttons = all("button").filter((each) => !each.closest("[data-long] .composer"));
          const others = [...buttons, ...all(".title, .subtitle, .meta span, .summary, .reason")];
          const over = all("p, span, button, input, textarea, h2, h3").filter((each) => isOver(box(each)));
          const crossed = buttons.filter((each) => others.some((other) =>
            other !== each && !each.contains(other) && meet(box(each), box(other))));
          return [...over, ...crossed].map((each) => each.outerHTML.slice(0, 120));
        }"""
    )
    assert stray == [], stray


def by_kind(rows: list[dict]) -> list[dict]:
    return sorted(rows, key=lambda row: row["kind"] != "hard")

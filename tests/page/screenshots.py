"""The pictures of the panel in docs: `python -m tests.page.screenshots`. Needs Chromium."""

from playwright.sync_api import Page, expect

from tests.browser import Panel, local_browser, signed_in
from tests.stack import ROOT

SIZES = {1280: 820, 375: 800}
LIST = [
    {"title": "Budget under 900", "subtitle": "For the whole stay, in euros", "kind": "hard"},
    {"title": "No night flights", "kind": "hard"},
    {"title": "Step-free access", "kind": "hard"},
    {"title": "Window seat", "kind": "soft"},
]
AGENTS = [
    {"title": "Vegetarian breakfast", "kind": "hard"},
    {"title": "A quiet room", "subtitle": "Away from lift and street", "kind": "soft"},
    {"title": "Late check-out", "kind": "soft"},
]


def main() -> None:
    with local_browser() as (browser, stack):
        for scheme in ("light", "dark"):
            for width, height in SIZES.items():
                page = browser.new_page(
                    base_url=stack.origin, viewport={"width": width, "height": height}, color_scheme=scheme
                )
                name = f"panel-{scheme}" if width == 1280 else f"panel-{scheme}-{width}"
                picture(page, stack, f"{scheme}-{width}")
                page.screenshot(path=ROOT / f"docs/{name}.png", animations="disabled")
                page.close()


def picture(page: Page, stack, thread: str) -> None:
    """A list that both have written, a lock, and what the agent is told of it."""
    panel = Panel(page, stack, thread)
    panel.api("PUT", "")
    panel.api("PATCH", "", {"title": "A week in Rome"})
    panel.api("POST", "/preferences", {"items": LIST})
    panel.agent_adds(*AGENTS)
    signed_in(page, panel.token)
    page.goto(f"/#thread={thread}")
    panel.button("Lock Budget under 900").click()
    expect(panel.row("Budget under 900").get_by_text("Locked", exact=True)).to_be_visible()
    page.get_by_role("button", name="Let the agent raise the budget").click()
    expect(page.locator(".answer")).to_have_count(1)
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(1_000)


if __name__ == "__main__":
    main()

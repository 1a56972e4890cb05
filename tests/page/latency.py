"""How long the product's page takes at 3 s latency: `python -m tests.page.latency`. Needs Chromium.

Each answer of the API comes 3 s late; the files of the page do not, which a browser mostly has.
"""

import sys

from playwright.sync_api import Page

from tests.browser import JOURNEY, Panel, local_browser, signed_in

LATE = """{
  const ask = window.fetch;
  window.fetch = async (...all) => {
    const answer = await ask(...all);
    await new Promise((wake) => setTimeout(wake, 3_000));
    return answer;
  };
}"""
WATCH = """{
  window.seen = {};
  const isSeen = (element) => element?.getClientRects().length > 0;
  const look = () => {
    const panel = document.querySelector("preferences-panel")?.shadowRoot;
    const all = {
      "anything below the bar": [...document.querySelectorAll("#loading, main")].some(isSeen),
      "the panel": isSeen(panel?.querySelector(".panel")),
      "the list": isSeen(panel?.querySelector(".row")),
    };
    for (const [name, is] of Object.entries(all)) if (is) window.seen[name] ??= performance.now() / 1000;
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""


def main() -> None:
    with local_browser() as (browser, stack):
        for name, seconds in times(browser.new_page(base_url=stack.origin), stack).items():
            sys.stdout.write(f"{name}: {seconds:.1f} s\n")


def times(page: Page, stack) -> dict[str, float]:
    """Seconds from the start of the navigation until each is seen."""
    panel = Panel(page, stack, "late")
    panel.api("PUT", "")
    panel.api("POST", "/preferences", {"items": JOURNEY})
    signed_in(page, panel.token)
    page.add_init_script(LATE)
    page.add_init_script(WATCH)
    page.goto(f"/#thread={panel.thread}")
    panel.root.locator(".row").first.wait_for(timeout=60_000)
    page.wait_for_timeout(100)
    return page.evaluate("window.seen")


if __name__ == "__main__":
    main()

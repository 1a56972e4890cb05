"""The panel speaks the page's language."""

import json
from itertools import count

import pytest
from playwright.sync_api import expect

from tests.browser import JOURNEY, LOCK, Panel, answer_with, fits, no_violation
from tests.page.conftest import HOST

pytestmark = pytest.mark.panel

_numbers = count(1)


@pytest.fixture
def hosted(usual_page, stack):
    """Opens the panel in a page of that language."""

    def open_it(lang: str) -> Panel:
        panel = Panel(usual_page, stack, f"lang{next(_numbers)}")
        panel.api("PUT", "")
        panel.api("POST", "/preferences", {"items": JOURNEY})
        panel.agent_adds("Sea view")
        body = HOST.replace("THREAD", json.dumps(panel.thread)).replace("TOKEN", json.dumps(panel.token))
        body = body.replace("BEFORE", "<main><h1>Host</h1>").replace("AFTER", "</main>")
        body = body.replace('lang="en"', f'lang="{lang}"')
        usual_page.route("**/host.html", lambda route: route.fulfill(content_type="text/html", body=body))
        usual_page.goto("/host.html")
        expect(panel.root.locator(".row")).to_have_count(5)
        return panel

    return open_it


def row(panel: Panel, title: str):
    return panel.root.locator(".row", has_text=title)


@pytest.mark.parametrize("lang", ["de", "de-CH", "DE"])
def test_german_on_a_german_page(hosted, lang):
    panel = hosted(lang)
    expect(panel.root.get_by_role("heading", name="Muss sein", exact=True)).to_be_visible()
    expect(panel.root.get_by_text("5 Einträge, keiner gesperrt")).to_be_visible()
    expect(panel.root.get_by_role("tab", name="Verlauf")).to_be_visible()
    expect(row(panel, "Sea view").locator(".origin")).to_contain_text("vom Agenten hinzugefügt")


def test_german_wherever_the_panel_says_something(hosted):
    panel = hosted("de")
    panel.button("Sperren: Window seat").click()
    expect(row(panel, "Window seat").get_by_text("Gesperrt", exact=True)).to_be_visible()
    panel.root.get_by_label("Titel").press("Enter")
    expect(panel.root.get_by_role("alert")).to_have_text("Ein paar Worte braucht es.")
    answer_with(panel.page, LOCK, "PUT", status=502, content_type="text/html", body="<h1>no</h1>")
    panel.button("Sperren: Sea view").click()
    expect(panel.root.get_by_text("Nicht gesperrt: der Dienst gab keine brauchbare Antwort.")).to_be_visible()
    panel.button("Entfernen: A quiet room").click()
    expect(panel.root.get_by_text("Entfernt: A quiet room")).to_be_visible()
    panel.agent_removes(2)
    panel.refresh()
    expect(panel.root.locator(".change:visible")).to_contain_text("Vom Agenten entfernt: No night flights")
    panel.button("Mehr").click()
    expect(panel.button("Alle sperren")).to_be_visible()
    no_violation(panel.page)
    panel.page.keyboard.press("Escape")
    for width in (1280, 320):
        panel.page.set_viewport_size({"width": width, "height": 800})
        fits(panel)
    panel.root.get_by_role("tab", name="Verlauf").click()
    expect(panel.root.locator(".entry").first).to_be_visible()
    no_violation(panel.page)
    english = panel.root.evaluate(
        """async (panel) => {
          const { en } = await import("/assets/preferences-texts.js");
          const { de } = await import("/assets/preferences-texts-de.js");
          const flat = (words, other) => Object.entries(words).flatMap(([name, text]) =>
            typeof text === "object" ? flat(text, other[name])
              : typeof text === "string" && text !== other[name] ? [text] : []);
          const shown = [];
          const walk = (element) => {
            for (const name of ["aria-label", "placeholder", "title"]) shown.push(element.getAttribute(name));
            for (const node of element.childNodes) {
              if (node.nodeType === Node.TEXT_NODE) shown.push(node.data.trim());
              else walk(node);
            }
          };
          for (const child of panel.shadowRoot.children) walk(child);
          return flat(en, de).filter((text) => shown.includes(text));
        }"""
    )
    assert english == []


@pytest.mark.parametrize("lang", ["en-GB", "", "pt", "den"])
def test_english_on_every_other_page_and_no_other_text_is_loaded(hosted, lang):
    panel = hosted(lang)
    asked = panel.page.evaluate("performance.getEntriesByType('resource').map(({ name }) => name)")
    expect(panel.root.get_by_text("5 preferences, none locked")).to_be_visible()
    assert any(name.endswith("/preferences-texts.js") for name in asked)
    assert not any(name.endswith("-de.js") for name in asked)

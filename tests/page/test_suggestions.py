"""What the agent suggests, beside what it may not do: seen, accepted, edited and turned down in the panel."""

import pytest
from playwright.sync_api import expect

from tests.browser import Held, fits, list_requests, listen, no_violation, until

WHY = "A better hotel costs more."
PHISHING = (
    '<a href="https://evil.example">Click</a> https://evil.example \u202eevil <img src=x onerror=alert(1)>'
)


def _lock(panel, *titles: str) -> None:
    for row in panel.stored():
        if row["title"] in titles:
            panel.api("PUT", f"/preferences/{row['id']}/lock")


def _suggest(panel, title: str = "Budget under 1200", why: str = WHY) -> None:
    """The agent would change the first row, which is locked."""
    _lock(panel, "Budget under 900")
    panel.agent("update_preferences", "updates", [{"index": 1, "title": title}], why=why)
    panel.refresh()


def _suggest_removal(panel) -> None:
    _lock(panel, "No night flights")
    panel.agent("remove_preferences", "indices", [2], why="It was cheaper at night.")
    panel.refresh()


def _suggest_addition(panel, subtitle: str = "Facing the court") -> None:
    _lock(panel, "A quiet room")
    panel.agent(
        "add_preferences", "items", [{"title": "A quiet room", "subtitle": subtitle}], why="It came up."
    )
    panel.refresh()


def _at(panel, title: str):
    return panel.row(title).locator(".suggestion")


def _ways(suggestion):
    return [suggestion.get_by_role("button", name=name) for name in ("Accept", "Edit", "Dismiss")]


class TestSeen:
    def test_whoever_has_none_sees_nothing_of_it(self, panel):
        expect(panel.root.locator(".waiting")).to_be_hidden()
        expect(panel.root.locator(".suggestion")).to_have_count(0)
        expect(panel.root.get_by_text("uggest").filter(visible=True)).to_have_count(0)

    def test_a_change_stands_at_its_row_with_the_reason_quoted(self, panel):
        _suggest(panel)
        suggestion = _at(panel, "Budget under 900")
        expect(suggestion.locator(".suggestion-lead")).to_have_text("The agent suggests")
        expect(suggestion.locator("del bdi")).to_have_text("Budget under 900")
        expect(suggestion.locator("ins bdi")).to_have_text("Budget under 1200")
        expect(suggestion.locator("blockquote")).to_have_text(f"“{WHY}”")
        expect(panel.button("1 suggestion")).to_be_visible()
        expect(panel.row("Budget under 900").locator(".reading .title")).to_have_text("Budget under 900")

    def test_a_removal_and_an_addition_say_what_they_are(self, panel):
        _suggest_removal(panel)
        _suggest_addition(panel)
        removal = _at(panel, "No night flights")
        expect(removal.locator(".suggestion-lead")).to_have_text("The agent suggests to remove")
        expect(removal.locator("del")).to_have_text("No night flights")
        addition = panel.root.locator('.section[data-kind="suggested"] .suggestion')
        expect(addition.locator(".suggestion-lead")).to_have_text("The agent suggests to add")
        expect(addition).to_contain_text("Facing the court")
        expect(panel.button("2 suggestions")).to_be_visible()

    def test_the_heading_leads_to_the_first(self, panel):
        _suggest(panel)
        _suggest_removal(panel)
        panel.root.get_by_role("tab", name="History").click()
        panel.button("2 suggestions").click()
        expect(panel.root.get_by_role("group", name="The agent's suggestion").first).to_be_focused()
        expect(_at(panel, "Budget under 900").locator(".suggestion-group")).to_be_focused()

    def test_news_of_it_is_polite_and_holds_no_word_of_the_agents(self, open_panel):
        panel = open_panel(clock=True)
        heard = listen(panel)
        _suggest(panel)
        panel.page.clock.run_for(1_000)
        expect(panel.live).to_have_text("The agent suggests a change.")
        assert WHY not in "".join(heard())

    def test_a_reason_that_means_harm_is_plain_text_and_names_no_button(self, panel):
        _suggest(panel, why=PHISHING)
        suggestion = _at(panel, "Budget under 900")
        expect(suggestion.locator("blockquote")).to_contain_text("<img src=x onerror=alert(1)>")
        assert suggestion.locator("a, img").count() == 0
        labels = panel.root.evaluate(
            """panel => [...panel.shadowRoot.querySelectorAll("*")].flatMap((each) =>
              [...each.attributes].map(({ value }) => value)).join("\\n")"""
        )
        assert "evil" not in labels
        for button in _ways(suggestion):
            assert "evil" not in button.inner_text()

    def test_the_page_around_is_told_how_many_wait(self, hosted):
        panel = hosted()
        panel.page.evaluate(
            """() => window.panel.addEventListener("preferences-changed",
              ({ detail }) => { window.told = detail.suggestions })"""
        )
        _suggest(panel)
        expect(panel.button("1 suggestion")).to_be_visible()
        assert panel.page.evaluate("window.told") == 1
        _ways(_at(panel, "Budget under 900"))[2].click()
        expect(panel.root.locator(".waiting")).to_be_hidden()
        assert panel.page.evaluate("window.told") == 0


class TestAccepted:
    def test_a_change_is_stored_as_shown_and_the_lock_stays(self, panel):
        _suggest(panel)
        accept = _ways(_at(panel, "Budget under 900"))[0]
        expect(accept).to_have_accessible_name(
            "Accept: change Budget under 900 to Budget under 1200, For the whole stay, must have"
        )
        accept.click()
        expect(panel.row("Budget under 1200")).to_be_visible()
        expect(panel.root.locator(".suggestion")).to_have_count(0)
        expect(panel.button("Edit Budget under 1200")).to_be_focused()
        row = panel.stored()[0]
        assert (row["title"], row["locked"], row["updated_by"]) == ("Budget under 1200", True, "user")

    def test_a_removal_can_be_undone_at_once(self, panel):
        _suggest_removal(panel)
        _ways(_at(panel, "No night flights"))[0].click()
        strip = panel.root.locator(".strip:visible")
        expect(strip).to_contain_text("Removed No night flights")
        assert len(panel.stored()) == 3
        expect(strip.get_by_role("button", name="Undo")).to_be_focused()
        strip.get_by_role("button", name="Undo").click(delay=700)
        expect(panel.row("No night flights")).to_be_visible()
        expect(panel.root.locator(".suggestion")).to_have_count(0)  # an undo does not bring it back

    def test_an_addition_stands_at_the_end_and_has_focus(self, panel):
        _suggest_addition(panel)
        panel.root.locator(".suggestion").get_by_role("button", name="Accept").click()
        until(panel.page, lambda: len(panel.stored()) == 5)
        assert panel.stored()[-1]["subtitle"] == "Facing the court"
        expect(panel.root.locator(".suggestion")).to_have_count(0)
        assert panel.focused() == "Edit A quiet room"

    def test_from_the_keyboard_alone(self, panel):
        _suggest(panel)
        panel.tab_to("1 suggestion", "Tab")
        panel.page.keyboard.press("Enter")
        for name in ("Accept: ", "Edit ", "Dismiss the suggestion: "):
            panel.page.keyboard.press("Tab")
            assert panel.focused().startswith(name)
        panel.page.keyboard.press("Shift+Tab")
        panel.page.keyboard.press("Shift+Tab")
        panel.page.keyboard.press("Enter")
        expect(panel.row("Budget under 1200")).to_be_visible()
        expect(panel.button("Edit Budget under 1200")).to_be_focused()

    def test_a_newer_wish_takes_its_place_and_the_older_is_never_done(self, panel):
        _suggest(panel)
        polls = Held(panel.page, "**/threads/*/preferences", "GET")
        panel.agent("update_preferences", "updates", [{"index": 1, "title": "Budget under 5000"}], why=WHY)
        _ways(_at(panel, "Budget under 900"))[0].click()
        expect(_at(panel, "Budget under 900").locator("ins bdi")).to_have_text("Budget under 5000")
        assert panel.stored()[0]["title"] == "Budget under 900"
        polls.release()

    @pytest.mark.parametrize("arrives", [True, False])
    def test_whose_answer_is_lost(self, panel, arrives):
        _suggest(panel)
        sent = []

        def lose(route):
            sent.append(route.request.url)
            if arrives:
                route.fetch()
            route.abort("connectionreset")

        panel.page.route("**/accept", lose, times=1)
        _ways(_at(panel, "Budget under 900"))[0].click()
        if not arrives:
            expect(panel.root.get_by_text("Not accepted: there is no connection.")).to_be_visible()
            assert panel.stored()[0]["title"] == "Budget under 900"
            panel.button("Try again").click()
        expect(panel.row("Budget under 1200")).to_be_visible()
        expect(panel.root.locator(".message-body")).to_have_count(0)

    def test_an_exact_repeat_is_told_and_it_goes_on_waiting(self, panel):
        _suggest(panel, "Window seat")
        panel.api("PATCH", f"/preferences/{panel.stored()[3]['id']}", {"subtitle": "For the whole stay"})
        panel.api("PATCH", f"/preferences/{panel.stored()[3]['id']}", {"kind": "hard"})
        panel.refresh()
        suggestion = _at(panel, "Budget under 900")
        _ways(suggestion)[0].click()
        expect(suggestion.get_by_text("Not accepted")).to_be_visible()
        expect(panel.button("1 suggestion")).to_be_visible()


class TestEdited:
    def test_a_change_fills_the_form_of_its_row(self, panel):
        _suggest(panel)
        _ways(_at(panel, "Budget under 900"))[1].click()
        form = panel.editor(panel.root.locator(".row[data-face=writing]"))
        expect(form.title).to_be_focused()
        expect(form.title).to_have_value("Budget under 1200")
        form.title.fill("Budget under 1000")
        form.save.click()
        expect(panel.row("Budget under 1000").locator(".pending-word")).to_be_hidden()
        expect(panel.root.locator(".suggestion")).to_have_count(0)  # it was about the text of before
        assert panel.focused() == "Edit Budget under 1000"
        assert panel.stored()[0]["title"] == "Budget under 1000"

    def test_escape_gives_it_back_unanswered(self, panel):
        _suggest(panel)
        _ways(_at(panel, "Budget under 900"))[1].click()
        panel.page.keyboard.press("Escape")
        expect(_at(panel, "Budget under 900")).to_be_visible()
        assert panel.focused() == "Edit Budget under 900"
        assert panel.stored()[0]["title"] == "Budget under 900"

    def test_an_addition_has_a_form_of_its_own(self, panel):
        _suggest_addition(panel)
        suggestion = panel.root.locator(".suggestion")
        suggestion.get_by_role("button", name="Edit").click()
        form = panel.editor(suggestion)
        expect(form.title).to_be_focused()
        expect(form.detail).to_have_value("Facing the court")
        form.detail.fill("Facing the garden")
        suggestion.get_by_role("button", name="Add", exact=True).click()
        expect(panel.root.locator(".suggestion")).to_have_count(0)
        assert panel.stored()[-1]["subtitle"] == "Facing the garden"
        expect(panel.root.locator(".waiting")).to_be_hidden()


class TestDismissed:
    def test_one_goes_and_the_row_has_focus(self, panel):
        _suggest(panel)
        _ways(_at(panel, "Budget under 900"))[2].click()
        expect(panel.root.locator(".suggestion")).to_have_count(0)
        expect(panel.button("Edit Budget under 900")).to_be_focused()
        assert panel.api("GET", "/preferences")["suggestions"] == []
        _suggest(panel)  # the same wish again
        panel.refresh()
        expect(panel.root.locator(".suggestion")).to_have_count(0)

    def test_all_go_in_one(self, panel):
        _suggest(panel)
        _suggest_removal(panel)
        _suggest_addition(panel)
        panel.button("Dismiss all suggestions").click()
        expect(panel.root.locator(".suggestion")).to_have_count(0)
        expect(panel.root.locator(".waiting")).to_be_hidden()
        expect(panel.composer.title).to_be_focused()
        assert panel.api("GET", "/preferences")["suggestions"] == []
        assert len(panel.stored()) == 4

    def test_one_that_is_answered_elsewhere_goes_by_itself(self, panel):
        _suggest(panel)
        _at(panel, "Budget under 900").get_by_role("button", name="Accept").focus()
        panel.api("DELETE", "/suggestions")
        panel.refresh()
        expect(panel.root.locator(".suggestion")).to_have_count(0)
        expect(panel.button("Edit Budget under 900")).to_be_focused()


class TestEveryScreen:
    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_axe_finds_nothing_and_nothing_runs_over_the_edge(self, open_panel, scheme):
        panel = open_panel(scheme=scheme)
        _suggest(panel, "Donaudampfschifffahrtsgesellschaftskapitänsmütze" * 2, "x" * 300)
        _suggest_removal(panel)
        _suggest_addition(panel, "y" * 400)
        for width in (1280, 375, 320):
            panel.page.set_viewport_size({"width": width, "height": 900})
            panel.screenshot(f"suggestions-{width}-{scheme}")
            fits(panel)
        no_violation(panel.page)
        panel.root.locator('.suggestion[data-action="add"]').get_by_role("button", name="Edit").click()
        fits(panel)
        no_violation(panel.page)

    def test_a_service_without_suggestions_is_served_as_ever(self, panel):
        def older(route):
            answer = route.fetch()
            if answer.status != 200 or route.request.method != "GET":
                return route.fulfill(response=answer)
            listing = answer.json()
            listing.pop("suggestions", None)
            return route.fulfill(response=answer, json=listing)

        panel.page.route("**/threads/*/preferences", older)
        asked = list_requests(panel.page)
        panel.agent_adds("Sea view")
        panel.refresh()
        expect(panel.row("Sea view")).to_be_visible()
        assert asked

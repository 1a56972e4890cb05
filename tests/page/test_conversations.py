"""The names that a person gives to conversations, beside the list of them."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser import Held, answer_with, kept, no_violation, requests_of, until

NAME = "**/threads/*"


class Naming:
    """The list of conversations, and the field in which the open one is named."""

    def __init__(self, panel) -> None:
        self.panel, self.page = panel, panel.page
        self.list = self.page.get_by_label("Conversation", exact=True)
        self.begin = self.page.get_by_role("button", name="Name this conversation", exact=True)
        self.again = self.page.get_by_role("button", name="Rename this conversation", exact=True)
        self.field = self.page.get_by_label("Name of the conversation")
        self.form = self.page.locator("form.naming")
        self.save = self.form.get_by_role("button", name="Save")
        self.cancel = self.form.get_by_role("button", name="Cancel")
        self.fault = self.form.get_by_role("alert")
        self.sent = requests_of(self.page, "PATCH")

    @property
    def shown(self) -> str:
        return self.list.evaluate("list => list.selectedOptions[0].textContent")

    @property
    def stored(self) -> str | None:
        headers, cursor = {"Authorization": f"Bearer {self.panel.token}"}, ""
        while True:  # the person of these tests has more conversations than a page of the list holds
            page = self.panel.stack.request("GET", f"/threads?limit=100{cursor}", None, headers).json
            for each in page["threads"]:
                if each["thread_id"] == self.panel.thread:
                    return each["title"]
            cursor = f"&cursor={page['next']}"

    def give(self, name: str) -> None:
        self.begin.click()
        self.field.fill(name)
        self.page.keyboard.press("Enter")


def begin(panel) -> Naming:
    made = Naming(panel)
    expect(made.list).to_have_value(panel.thread)  # the list of conversations comes after the list in it
    return made


@pytest.fixture
def naming(panel):
    return begin(panel)


class TestNaming:
    def test_is_done_in_place_with_the_keyboard_alone(self, naming):
        page = naming.page
        assert naming.shown == naming.panel.thread
        expect(naming.begin).to_have_attribute("title", "Name this conversation")
        naming.list.focus()
        page.keyboard.press("Tab")
        expect(naming.begin).to_be_focused()
        page.keyboard.press("Enter")
        expect(naming.field).to_be_focused()
        expect(naming.list).to_be_hidden()
        page.keyboard.type("  Trip to Rome ")
        page.keyboard.press("Shift+Enter")
        page.keyboard.press("Enter")
        expect(naming.again).to_be_focused()
        expect(page.get_by_text("The conversation is called Trip to Rome.")).to_have_count(1)
        assert (naming.shown, naming.stored, len(naming.sent)) == ("Trip to Rome", "Trip to Rome", 1)
        page.reload()
        expect(naming.again).to_be_visible()
        assert naming.shown == "Trip to Rome"

        page.get_by_role("button", name="New", exact=True).click()
        expect(naming.begin).to_be_visible()  # the new one has none
        naming.list.select_option("Trip to Rome")
        naming.again.click()
        expect(naming.field).to_have_value("Trip to Rome")
        naming.field.fill("")
        page.keyboard.press("Enter")
        expect(naming.begin).to_be_focused()
        assert (naming.shown, naming.stored) == (naming.panel.thread, None)

    @pytest.mark.parametrize("way", ["Escape", "Cancel", "unchanged"])
    def test_is_given_up_without_a_request_and_focus_goes_back(self, naming, way):
        naming.begin.click()
        if way == "unchanged":
            naming.page.keyboard.press("Enter")
        else:
            naming.field.fill("Trip to")
            naming.cancel.click() if way == "Cancel" else naming.page.keyboard.press("Escape")
        expect(naming.begin).to_be_focused()
        expect(naming.field).to_be_hidden()
        assert (naming.sent, naming.stored, naming.shown) == ([], None, naming.panel.thread)
        naming.begin.click()
        expect(naming.field).to_have_value("")

    def test_counts_near_the_end_and_refuses_what_is_too_long_in_place(self, naming):
        naming.begin.click()
        naming.field.fill("n" * 89)
        expect(naming.form.locator(".counter")).to_be_hidden()
        naming.field.fill("n" * 121)
        expect(naming.form.locator(".counter")).to_have_text("121/120")
        naming.page.keyboard.press("Enter")
        expect(naming.fault).to_have_text("At most 120 characters; this has 121.")
        expect(naming.field).to_have_attribute("aria-invalid", "true")
        expect(naming.field).to_be_focused()
        naming.page.keyboard.press("Backspace")
        expect(naming.fault).to_be_hidden()
        naming.page.keyboard.press("Enter")
        expect(naming.again).to_be_focused()
        assert (naming.stored, len(naming.sent)) == ("n" * 120, 1)

    def test_that_fails_says_why_in_place_and_keeps_the_text(self, naming):
        answer_with(naming.page, NAME, "PATCH", status=503, json={"code": "busy"})
        naming.begin.click()
        naming.field.fill("Trip to Rome")
        naming.save.click()
        expect(naming.fault).to_have_text("Not saved: the list is busy just now.")
        expect(naming.field).to_have_value("Trip to Rome")
        expect(naming.field).to_be_focused()
        naming.page.unroute(NAME)
        naming.page.keyboard.press("Enter")
        expect(naming.again).to_be_focused()
        assert naming.stored == "Trip to Rome"

    def test_that_the_service_refuses_says_its_reason(self, naming):
        naming.begin.click()
        naming.field.fill("Rome\u202e")
        naming.save.click()
        expect(naming.fault).to_contain_text("Not saved: must not hold a text direction override")
        assert naming.stored is None

    def test_is_sent_once_however_often_one_presses(self, naming):
        held = Held(naming.page, NAME, "PATCH")
        naming.give("Trip to Rome")
        held.one()
        naming.page.keyboard.press("Enter")
        naming.save.click(force=True)
        naming.page.keyboard.type("x")
        held.release()
        expect(naming.again).to_be_visible()
        assert (naming.stored, len(naming.sent)) == ("Trip to Rome", 1)

    def test_stays_with_its_conversation_if_another_is_opened_before_the_answer(self, naming):
        held = Held(naming.page, NAME, "PATCH")
        naming.give("Trip to Rome")
        held.one()
        naming.page.evaluate("location.hash = '#thread=elsewhere'")
        expect(naming.begin).to_be_visible()
        held.release()
        option = naming.list.locator(f"option[value={naming.panel.thread}]")
        expect(option).to_have_text("Trip to Rome")
        expect(naming.list).to_have_value("elsewhere")
        expect(naming.begin).to_be_visible()

    def test_of_two_tabs_the_last_one_wins(self, naming, open_panel):
        other = begin(open_panel(of=naming.panel))
        for tab, name in ((naming, "Rome"), (other, "Oslo")):
            tab.give(name)
            expect(tab.again).to_be_visible()
        assert naming.stored == "Oslo"
        naming.page.reload()
        expect(naming.again).to_be_visible()
        assert naming.shown == "Oslo"


class TestTheNameOfTheOpenConversation:
    def test_heads_what_is_saved_as_markdown(self, naming):
        def saved() -> str:
            with naming.page.expect_download() as download:
                naming.panel.menu("Save as Markdown")
            return download.value.path().read_text()

        bare = saved()
        assert bare.startswith("## Must have\n")
        naming.give("*Rome* & <b>more</b>")
        expect(naming.again).to_be_visible()
        assert saved() == "# \\*Rome\\* \\& \\<b\\>more\\</b\\>\n\n" + bare
        naming.page.get_by_role("button", name="New", exact=True).click()
        expect(naming.begin).to_be_visible()
        expect(naming.panel.root).not_to_have_attribute("thread-title", re.compile(""))


class TestAHalfWrittenName:
    def test_is_there_again_after_a_sign_in_that_ran_out(self, naming):
        page = naming.page
        naming.begin.click()
        naming.field.fill("Trip to")
        page.evaluate("sessionStorage.removeItem('sign-in.token')")
        page.keyboard.press("Enter")
        expect(naming.fault).to_have_text("Not saved: your sign-in has run out.")
        expect(page.get_by_role("button", name="Sign in again")).to_be_visible()
        page.evaluate("token => sessionStorage.setItem('sign-in.token', token)", kept(naming.panel.token))
        page.reload()
        expect(naming.field).to_have_value("Trip to")
        naming.field.press("Enter")
        expect(naming.again).to_be_visible()
        page.reload()
        expect(naming.again).to_be_visible()
        assert naming.stored == "Trip to"

    def test_is_kept_for_its_conversation_alone(self, naming):
        naming.begin.click()
        naming.field.fill("Trip to")
        naming.page.evaluate("location.hash = '#thread=elsewhere'")
        expect(naming.begin).to_be_visible()
        expect(naming.field).to_be_hidden()
        naming.page.evaluate(f"location.hash = '#thread={naming.panel.thread}'")
        expect(naming.field).to_have_value("Trip to")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_in_the_way_of_anyone_and_nothing_overflows(open_panel, scheme):
    naming = Naming(open_panel(width=320, scheme=scheme))
    naming.begin.click()
    naming.field.fill("W" * 120)
    naming.page.keyboard.type("W")
    naming.page.keyboard.press("Enter")
    expect(naming.fault).not_to_have_text("")
    no_violation(naming.page)
    assert naming.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    naming.page.keyboard.press("Backspace")
    naming.page.keyboard.press("Enter")
    until(naming.page, lambda: naming.stored == "W" * 120)
    expect(naming.again).to_be_focused()
    assert naming.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    no_violation(naming.page)

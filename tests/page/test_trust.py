"""What was read for one person, or written for one conversation, stays there; what fails is told truly."""

import json

import pytest
from playwright.sync_api import expect

from tests.browser import JOURNEY, LIST, LOCK, Held, requests_of, until

GIVE = "token => { window.panel.tokenProvider = async () => token }"
NEVER = "() => { window.panel.tokenProvider = () => new Promise(() => {}) }"
HURRY = """() => {
  const wait = window.setTimeout;
  window.setTimeout = (work, time, ...more) => wait(work, time === 10_000 ? 300 : time, ...more);
}"""


def _go_to(panel, thread: str) -> None:
    panel.root.evaluate("(panel, thread) => panel.setAttribute('thread-id', thread)", thread)


@pytest.fixture
def elsewhere(hosted, stack):
    """A panel, and the id of another conversation of the same person."""
    panel = hosted()
    other = f"{panel.thread}-other"
    headers = {"Authorization": f"Bearer {panel.token}"}
    stack.request("PUT", f"/threads/{other}", None, headers)
    items = {"items": [{"title": "Of the other"}]}
    stack.request("POST", f"/threads/{other}/preferences", items, headers)

    def titles() -> list[str]:
        rows = stack.request("GET", f"/threads/{other}/preferences", None, headers).json["preferences"]
        return [row["title"] for row in rows]

    return panel, other, titles


class TestAnotherConversation:
    def test_what_is_half_written_waits_in_its_own(self, elsewhere):
        panel, other, titles = elsewhere
        panel.composer.title.fill("Only for this journey")
        panel.composer.detail.fill("Under 900")
        panel.composer.hard.check()
        _go_to(panel, other)
        panel.shows("Of the other")
        expect(panel.composer.title).to_have_value("")
        expect(panel.composer.detail).to_have_value("")
        expect(panel.composer.hard).not_to_be_checked()
        panel.composer.title.fill("For the other")
        panel.composer.add.click()
        panel.shows("Of the other", "For the other")
        _go_to(panel, panel.thread)
        expect(panel.row("Window seat")).to_be_visible()
        expect(panel.composer.title).to_have_value("Only for this journey")
        expect(panel.composer.detail).to_have_value("Under 900")
        expect(panel.composer.hard).to_be_checked()
        until(panel.page, lambda: titles() == ["Of the other", "For the other"])

    def test_an_open_edit_waits_in_its_own(self, elsewhere):
        panel, other, titles = elsewhere
        _, editor = panel.edit("A quiet room")
        editor.title.fill("A room by the")
        _go_to(panel, other)
        panel.shows("Of the other")
        expect(panel.root.locator(".row[data-face=writing]")).to_have_count(0)
        _go_to(panel, panel.thread)
        row = panel.root.locator(".row[data-face=writing]")
        expect(row.get_by_label("Title")).to_have_value("A room by the")
        row.get_by_label("Title").fill("A room by the garden")
        row.get_by_role("button", name="Save").click()
        until(panel.page, lambda: panel.stored()[2]["title"] == "A room by the garden")
        assert titles() == ["Of the other"]

    def test_an_addition_that_fails_after_the_switch_comes_back_in_its_own(self, elsewhere):
        panel, other, titles = elsewhere
        posts = Held(panel.page, LIST, "POST")
        panel.composer.title.fill("Sea view")
        panel.composer.add.click()
        post = posts.one()
        _go_to(panel, other)
        panel.shows("Of the other")
        post.abort("connectionreset")
        panel.page.wait_for_timeout(300)
        expect(panel.composer.title).to_have_value("")
        expect(panel.root.locator(".message-body")).to_have_count(0)
        posts.routes.clear()
        posts.release()
        _go_to(panel, panel.thread)
        expect(panel.root.locator(".unsent")).to_contain_text("Not saved: Sea view")
        panel.button("Try again").click()
        until(panel.page, lambda: panel.stored()[-1]["title"] == "Sea view")
        assert titles() == ["Of the other"]

    def test_a_lock_asked_for_with_an_addition_lands_in_its_own(self, elsewhere):
        panel, other, titles = elsewhere
        panel.button("More").click()
        panel.root.get_by_label("Lock what I write").check()
        posts = Held(panel.page, LIST, "POST")
        panel.composer.title.fill("Sea view")
        panel.composer.add.click()
        posts.one()
        _go_to(panel, other)
        panel.shows("Of the other")
        posts.release()
        until(panel.page, lambda: panel.stored()[-1]["locked"])
        assert panel.stored()[-1]["title"] == "Sea view"
        panel.shows("Of the other")
        assert titles() == ["Of the other"]

    def test_changes_that_wait_their_turn_are_sent_to_their_own(self, elsewhere):
        panel, other, _ = elsewhere
        locks = Held(panel.page, LOCK, "PUT")
        panel.button("Lock Budget under 900").click()
        panel.button("Remove Window seat").click()
        locks.one()
        _go_to(panel, other)
        panel.shows("Of the other")
        locks.release()
        until(panel.page, lambda: len(panel.stored()) == len(JOURNEY) - 1)
        assert panel.stored()[0]["locked"]
        panel.shows("Of the other")

    def test_on_the_products_own_page_too(self, open_panel):
        panel = open_panel()
        panel.composer.title.fill("Only for this journey")
        panel.page.get_by_role("button", name="New", exact=True).click()
        expect(panel.root.get_by_text("Nothing here yet")).to_be_visible()
        expect(panel.composer.title).to_have_value("")
        panel.page.get_by_label("Conversation", exact=True).select_option(panel.thread)
        expect(panel.row("Window seat")).to_be_visible()
        expect(panel.composer.title).to_have_value("Only for this journey")


class TestAnotherPerson:
    def test_what_one_has_read_leaves_the_page_for_the_next(self, hosted, stack):
        panel = hosted()
        panel.button("Lock Window seat").click()
        panel.root.get_by_role("tab", name="History").click()
        expect(panel.root.locator(".entry").first).to_be_visible()
        panel.page.evaluate(GIVE, stack.token("bob"))
        expect(panel.root.locator(".trouble")).to_contain_text("This conversation cannot be found.")
        expect(panel.root.locator(".entry")).to_have_count(0)
        expect(panel.root.locator(".row")).to_have_count(0)
        text = panel.root.evaluate("panel => panel.shadowRoot.textContent")
        assert not [row["title"] for row in JOURNEY if row["title"] in text]
        expect(panel.root.locator(".count")).to_have_text("")

    def test_nobody_sees_it_once_the_provider_is_gone(self, hosted):
        panel = hosted()
        panel.composer.title.fill("Half a thought")
        panel.page.evaluate("window.panel.tokenProvider = null")
        expect(panel.root.locator(".row")).to_have_count(0)
        expect(panel.composer.title).to_have_value("")
        panel.page.evaluate(GIVE, panel.token)
        expect(panel.row("Window seat")).to_be_visible()
        expect(panel.composer.title).to_have_value("Half a thought")  # the same person's

    def test_what_one_has_begun_is_not_the_nexts(self, hosted, stack):
        panel = hosted()
        panel.composer.title.fill("Half a thought")
        panel.edit("A quiet room")[1].title.fill("Half an edit")
        panel.page.evaluate(GIVE, stack.token("bob"))
        expect(panel.root.locator(".trouble")).to_contain_text("This conversation cannot be found.")
        expect(panel.composer.title).to_have_value("")
        text = panel.root.evaluate("panel => panel.shadowRoot.textContent")
        assert "Half" not in text
        assert "A quiet room" not in text

    def test_nothing_is_sent_for_the_next_that_the_first_has_asked_for(self, hosted, stack):
        panel = hosted()
        sent = requests_of(panel.page, "PUT DELETE POST PATCH")
        polls = Held(panel.page, LIST, "GET")
        panel.page.evaluate("token => { window.token = token }", stack.token("bob"))
        panel.button("Lock Window seat").click()
        expect(panel.root.locator(".row")).to_have_count(0)
        assert sent == []
        polls.release()
        assert not panel.stored()[3]["locked"]

    def test_a_list_that_the_service_gives_no_more_leaves_the_page(self, hosted, stack):
        panel = hosted()
        headers = {"Authorization": f"Bearer {panel.token}"}
        assert stack.request("DELETE", f"/threads/{panel.thread}", None, headers).status == 204
        panel.refresh()
        expect(panel.root.locator(".trouble")).to_contain_text("This conversation cannot be found.")
        expect(panel.root.locator(".row")).to_have_count(0)

    def test_drafts_go_when_the_person_signs_out(self, open_panel):
        panel = open_panel()
        panel.composer.title.fill("Half a thought")
        panel.page.get_by_role("button", name="Sign out").click()
        panel.page.wait_for_load_state()
        assert "Half" not in panel.page.evaluate("JSON.stringify(Object.values(sessionStorage))")


class TestATokenThatDoesNotCome:
    def test_is_told_and_no_lock_counts_that_was_not_sent(self, hosted):
        panel = hosted()
        panel.page.evaluate(HURRY)
        panel.page.evaluate(NEVER)
        panel.button("Lock Window seat").click()
        expect(panel.root.locator(".count")).to_have_text("4 preferences, none locked")
        expect(panel.root.get_by_text("Not locked: the sign-in did not answer in time.")).to_be_visible()
        expect(panel.button("Lock Window seat")).to_have_attribute("aria-pressed", "false")
        panel.page.evaluate(GIVE, panel.token)
        panel.button("Try again").click()
        until(panel.page, lambda: panel.stored()[3]["locked"])
        expect(panel.root.locator(".count")).to_have_text("4 preferences, 1 locked")

    def test_a_new_provider_goes_on_with_what_waits(self, hosted):
        panel = hosted()
        panel.page.evaluate(NEVER)
        panel.button("Lock Window seat").click()
        expect(panel.root.get_by_text("Locking…")).to_be_visible()
        panel.page.evaluate(GIVE, panel.token)
        until(panel.page, lambda: panel.stored()[3]["locked"])
        expect(panel.root.locator(".count")).to_have_text("4 preferences, 1 locked")

    def test_a_lock_counts_once_it_is_acknowledged(self, hosted):
        panel = hosted()
        locks = Held(panel.page, LOCK, "PUT")
        panel.button("Lock Window seat").click()
        locks.one()
        expect(panel.root.get_by_text("Locking…")).to_be_visible()
        expect(panel.root.locator(".count")).to_have_text("4 preferences, none locked")
        locks.release()
        expect(panel.root.locator(".count")).to_have_text("4 preferences, 1 locked")


class TestTryAgain:
    """The two reports as they came; test_retries.py has every action and every loss."""

    def test_locks_and_never_unlocks(self, panel):
        sent = requests_of(panel.page, "PUT DELETE")
        polls = Held(panel.page, LIST, "GET")

        def lose(route):
            route.fetch()
            route.abort("connectionreset")

        panel.page.route(LOCK, lose, times=1)
        panel.button("Lock Window seat").click()
        again = panel.button("Try again")
        expect(again).to_be_visible()
        assert panel.stored()[3]["locked"]
        again.click()
        until(panel.page, lambda: len(sent) == 2)
        polls.release()
        expect(panel.row("Window seat").get_by_text("Locked", exact=True)).to_be_visible()
        assert [request.method for request in sent] == ["PUT", "PUT"]
        assert panel.stored()[3]["locked"]

    def test_goes_with_its_words_once_the_list_shows_all_locked(self, panel):
        def lose(route):
            route.fetch()
            route.abort("connectionreset")

        panel.page.route("**/threads/*/lock", lose, times=1)
        panel.menu("Lock all")
        expect(panel.root.locator(".count")).to_have_text("4 preferences, 4 locked")
        expect(panel.root.locator(".message-body")).to_have_count(0)

    def test_an_order_is_sent_again_as_it_was_dropped(self, panel):
        sent = requests_of(panel.page, "PUT")
        panel.page.route("**/order", lambda route: route.abort("connectionreset"), times=1)
        panel.button("Move Window seat").press("ArrowUp")
        expect(panel.root.get_by_text("Not moved")).to_be_visible()
        panel.agent_adds("Sea view")
        panel.refresh()
        expect(panel.row("Sea view")).to_be_visible()
        panel.button("Try again").click()
        until(panel.page, lambda: panel.stored()[2]["title"] == "Window seat")
        first, second = (json.loads(request.post_data) for request in sent)
        assert second == first

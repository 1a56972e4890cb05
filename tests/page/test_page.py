"""The page around the panel: sign-in, conversations, the agent's console."""

import json
from itertools import count
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser import (
    JOURNEY,
    SCREENSHOTS,
    Held,
    Panel,
    kept,
    signed_in,
)

_numbers = count(1)


class TestTheStory:
    def test_a_newcomer_signs_in_and_sees_the_lock_hold(self, new_page, stack):
        page = new_page(viewport={"width": 1280, "height": 900}, color_scheme="light")
        page.goto("/")
        page.screenshot(path=SCREENSHOTS / "welcome.png")
        with page.expect_request("**/authorize?*") as asked:
            page.get_by_role("button", name="Sign in").click()
        query = parse_qs(urlsplit(asked.value.url).query)
        assert query["code_challenge_method"] == ["S256"]
        assert query["response_type"] == ["code"]
        name = f"newcomer{next(_numbers)}"
        page.get_by_label("Your name").fill(name)
        page.get_by_role("button", name="Sign in").click()

        page.get_by_role("button", name="Start a conversation").click()
        expect(page.get_by_text("Nothing here yet")).to_be_visible()
        assert urlsplit(page.url).query == ""
        panel = Panel(page, stack, page.url.partition("#thread=")[2], name)
        page.get_by_role("button", name="Let the agent add three").click()
        panel.shows("Budget under 900", "No night flights", "A quiet room")
        panel.button("Lock Budget under 900").click()
        expect(panel.row("Budget under 900").get_by_text("Locked", exact=True)).to_be_visible()
        page.get_by_role("button", name="Let the agent raise the budget").click()
        answer = page.locator(".answer").first
        expect(answer.locator(".answer-text")).to_contain_text("locked: ask the user to unlock first")
        panel.screenshot("story-the-lock-holds")
        answer.get_by_text("Raw answer").click()
        expect(answer.locator("pre")).to_contain_text('"messageVersion": "1.0"')
        panel.shows("Budget under 900", "No night flights", "A quiet room")
        panel.button("Lock Budget under 900").click()
        expect(panel.button("Lock Budget under 900")).to_have_attribute("aria-pressed", "false")
        expect(panel.row("Budget under 900").get_by_text("Unlocking")).to_be_hidden()
        page.get_by_role("button", name="Let the agent try again").click()
        panel.shows("Budget under 1,200", "No night flights", "A quiet room")
        expect(page.locator(".tour li[data-done]")).to_have_count(5)

        page.reload()
        panel.shows("Budget under 1,200", "No night flights", "A quiet room")
        with page.expect_request("**/logout?*") as asked:
            page.get_by_role("button", name="Sign out").click()
        query = parse_qs(urlsplit(asked.value.url).query)
        assert query == {"client_id": ["panel"], "logout_uri": [f"{stack.origin}/"]}
        expect(page.get_by_role("button", name="Sign in")).to_be_visible()
        assert (page.url, page.evaluate("Object.keys(sessionStorage)")) == (f"{stack.origin}/", [])

    def test_the_tour_keeps_to_its_row_after_one_of_the_persons_own(self, open_panel):
        panel = open_panel(items=[])
        page = panel.page
        done = page.locator(".tour li[data-done]")
        panel.composer.title.fill("Sea view")
        panel.composer.add.click()
        expect(panel.row("Sea view").locator(".pending-word")).to_be_hidden()
        expect(done).to_have_count(0)
        page.get_by_role("button", name="Let the agent raise the budget").click()
        expect(page.get_by_text("Let the agent add its three first.")).to_be_visible()
        page.get_by_role("button", name="Let the agent add three").click()
        expect(panel.row("Budget under 900")).to_be_visible()
        expect(done).to_have_count(1)
        panel.button("Lock Sea view").click()
        expect(panel.row("Sea view").get_by_text("Locked", exact=True)).to_be_visible()
        expect(done).to_have_count(1)
        panel.button("Lock Budget under 900").click()
        expect(done).to_have_count(2)
        page.get_by_role("button", name="Let the agent raise the budget").click()
        expect(panel.row("Budget under 900").locator(".suggestion")).to_be_visible()
        expect(done).to_have_count(3)
        panel.button("Lock Budget under 900").click()
        expect(done).to_have_count(4)
        page.get_by_role("button", name="Let the agent try again").click()
        expect(panel.row("Budget under 1,200")).to_be_visible()
        expect(done).to_have_count(5)
        assert panel.stored()[0]["title"] == "Sea view"

    def test_each_tool_can_be_played_with_edited_arguments(self, panel):
        page = panel.page
        page.get_by_label("list_preferences").check(force=True)
        page.get_by_role("button", name="Call the tool").click()
        expect(page.locator(".answer-text").first).to_contain_text("#1 [hard] Budget under 900")
        page.get_by_label("remove_preferences").check(force=True)
        page.get_by_label("indices").fill("[4]")
        page.get_by_label("send list_revision").check()
        page.get_by_role("button", name="Call the tool").click()
        expect(page.locator(".answer-text").first).to_contain_text("removed Window seat")
        panel.shows("Budget under 900", "No night flights", "A quiet room")
        page.get_by_label("indices").fill("nonsense")
        page.get_by_role("button", name="Call the tool").click()
        expect(page.locator(".answer").first).to_have_attribute("data-tone", "refused")

    def test_conversations_are_apart_and_can_be_changed(self, panel):
        page = panel.page
        page.get_by_role("button", name="New", exact=True).click()
        expect(panel.root.get_by_text("Nothing here yet")).to_be_visible()
        assert panel.thread not in page.url
        page.get_by_label("Conversation", exact=True).select_option(panel.thread)
        panel.shows(*[row["title"] for row in JOURNEY])
        assert page.url.endswith(f"#thread={panel.thread}")


class TestASlowService:
    def test_the_page_is_never_blank_and_the_list_waits_for_no_other_answer(self, open_panel):
        panel = open_panel()
        page = panel.page
        page.goto("about:blank")
        script = Held(page, "**/app.js", "GET")
        settings = Held(page, "**/config.json", "GET")
        conversations = Held(page, "**/threads?*", "GET")
        page.goto(f"/#thread={panel.thread}", wait_until="commit")
        expect(page.get_by_text("Loading…")).to_be_visible()
        script.one()
        script.release()
        panel.shows(*[row["title"] for row in JOURNEY])
        settings.one()
        assert conversations.routes == []
        expect(page.locator("#loading")).to_be_hidden()
        settings.release()
        conversations.one()
        conversations.release()
        # The console came after the list, and knows it all the same
        expect(page.locator(".tour li").first).to_have_attribute("data-done", "")
        expect(page.get_by_label("Conversation", exact=True)).to_have_value(panel.thread)

    def test_a_list_that_is_there_stays_when_what_comes_after_it_fails(self, open_panel):
        panel = open_panel()
        page = panel.page
        page.goto("about:blank")
        conversations = Held(page, "**/threads?*", "GET")
        page.goto(f"/#thread={panel.thread}")
        conversations.one()
        panel.composer.title.fill("Sea view")
        page.context.set_offline(True)
        conversations.routes[0].abort("internetdisconnected")
        expect(page.locator("#notice").get_by_role("button", name="Try again")).to_be_visible()
        panel.shows(*[row["title"] for row in JOURNEY])
        expect(panel.composer.title).to_be_visible()
        expect(panel.composer.title).to_have_value("Sea view")


class TestSignIn:
    def test_a_token_of_yesterdays_leads_back_to_the_sign_in(self, new_page):
        page = new_page()
        signed_in(page, "e30.eyJzdWIiOiAiYWRhIn0.forged")
        page.goto("/")
        expect(page.get_by_role("alert")).to_contain_text("Your sign-in has run out.")
        expect(page.get_by_role("button", name="Sign in", exact=True)).to_be_visible()

    def test_an_answer_to_a_question_this_tab_never_asked_is_refused(self, new_page):
        page = new_page()
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto("/?code=stolen&state=forged")
        expect(page.get_by_role("alert")).to_contain_text("did not begin in this tab")
        expect(page.get_by_role("button", name="Sign in")).to_be_visible()
        assert not any(url.endswith("/token") for url in asked)
        assert "stolen" not in page.url

    def test_a_refusal_of_the_issuer_is_told_as_text(self, new_page):
        page = new_page()
        page.goto("/")
        attempt = json.dumps({"state": "asked", "verifier": "v", "hash": ""})
        page.evaluate("attempt => sessionStorage.setItem('sign-in.attempt', attempt)", attempt)
        page.goto("/?state=asked&error=access_denied&error_description=<img src=x onerror=alert(1)>")
        expect(page.get_by_role("alert")).to_contain_text("<img src=x onerror=alert(1)>")

    def test_a_refusal_that_answers_nothing_is_not_repeated(self, new_page):
        page = new_page()
        page.goto("/?state=forged&error=e&error_description=Call this number")
        expect(page.get_by_role("alert")).to_contain_text("did not begin in this tab")
        expect(page.get_by_text("Call this number")).to_have_count(0)

    def test_asks_as_it_is_configured_and_keeps_the_query_of_the_issuers_address(self, new_page, stack):
        page = new_page()
        settings = stack.request("GET", "/config.json").json
        own = {
            "authorize_url": f"{settings['authorize_url']}?p=b2c_1_sign-in",
            "audience": "https://api.example/a b",
        }
        page.route("**/config.json", lambda route: route.fulfill(json=settings | own))
        page.goto("/")
        with page.expect_request("**/authorize*") as asked:
            page.get_by_role("button", name="Sign in", exact=True).click()
        query = parse_qs(urlsplit(asked.value.url).query, strict_parsing=True)
        assert query["p"] == ["b2c_1_sign-in"]
        assert query["audience"] == ["https://api.example/a b"]
        assert query["response_type"] == ["code"]
        page.get_by_role("button", name="Sign in").click()  # the issuer's form: it took the request
        expect(page.get_by_role("button", name="Sign out")).to_be_visible()

    def test_asks_for_no_audience_where_none_is_configured(self, new_page):
        page = new_page()
        page.goto("/")
        with page.expect_request("**/authorize*") as asked:
            page.get_by_role("button", name="Sign in", exact=True).click()
        assert "audience" not in parse_qs(urlsplit(asked.value.url).query)

    def test_ends_on_the_page_where_no_issuer_can_be_asked(self, new_page, stack):
        page = new_page()
        page.goto("/#thread=none")
        settings = stack.request("GET", "/config.json").json
        page.route("**/config.json", lambda route: route.fulfill(json=settings | {"sign_out_url": None}))
        page.evaluate("token => sessionStorage.setItem('sign-in.token', token)", kept(stack.token("quiet")))
        page.reload()
        with page.expect_request("**/config.json"):
            page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("button", name="Sign in")).to_be_visible()
        assert page.url == f"{stack.origin}/"

    def test_what_is_written_survives_a_sign_in_that_ran_out(self, panel):
        panel.page.evaluate("sessionStorage.removeItem('sign-in.token')")
        panel.composer.title.fill("Half a thought")
        panel.composer.add.click()
        notice = panel.page.get_by_role("alert")
        expect(notice).to_contain_text("Your sign-in has run out. What you have written is kept.")
        expect(notice.get_by_role("button", name="Sign in again")).to_be_visible()
        expect(panel.composer.message).to_have_count(0)  # told once
        expect(panel.root.locator(".trouble")).to_be_hidden()
        expect(panel.composer.title).to_have_value("Half a thought")
        panel.page.evaluate("token => sessionStorage.setItem('sign-in.token', token)", kept(panel.token))
        panel.page.reload()
        expect(panel.row("Window seat")).to_be_visible()
        expect(panel.composer.title).to_have_value("Half a thought")

    def test_says_that_it_needs_storage(self, new_page):
        page = new_page()
        page.add_init_script(
            """Object.defineProperty(window, "sessionStorage", {
              get() { throw new DOMException("Access is denied for this document.", "SecurityError"); },
            });"""
        )
        page.goto("/")
        expect(page.get_by_role("alert")).to_contain_text("This page needs the browser's storage")
        expect(page.get_by_role("button", name="Try again")).to_be_visible()

    @pytest.mark.parametrize(
        ("token", "lasts"), [("v9xOpaqueWithoutDots", 3600), ("a.b.c", 3600), ("..", 3600)]
    )
    def test_says_that_it_cannot_read_the_token(self, new_page, stack, token, lasts):
        page = new_page()
        settings = stack.request("GET", "/config.json").json
        answer = {"access_token": token, "token_type": "Bearer", "expires_in": lasts}
        page.route(settings["token_url"], lambda route: route.fulfill(json=answer))
        self._sign_in(page)
        expect(page.get_by_role("alert")).to_contain_text("no token that this service can read")
        expect(page.get_by_role("button", name="Sign in", exact=True)).to_be_visible()

    def test_a_token_of_a_few_seconds_serves_while_it_lasts(self, new_page, stack):
        page = new_page()
        settings = stack.request("GET", "/config.json").json
        answer = {"access_token": stack.token("brief"), "token_type": "Bearer", "expires_in": 20}
        page.route(settings["token_url"], lambda route: route.fulfill(json=answer))
        self._sign_in(page)
        expect(page.get_by_role("button", name="Start a conversation")).to_be_visible()

    def _sign_in(self, page) -> None:
        page.goto("/")
        page.get_by_role("button", name="Sign in").click()
        page.locator("input:not([type=hidden])").first.fill("ada")
        page.keyboard.press("Enter")

    @pytest.mark.parametrize(
        "answer",
        [
            {"status": 429, "json": {"message": "Too Many Requests"}},
            {"status": 503, "body": "<html>x</html>", "content_type": "text/html"},
            {"status": 200, "body": "", "content_type": "application/json"},
            {"status": 200, "json": None},
        ],
        ids=["429", "503", "empty", "null"],
    )
    def test_says_that_the_service_cannot_be_reached_without_its_settings(self, new_page, answer):
        page = new_page()
        page.route("**/config.json", lambda route: route.fulfill(**answer))
        page.goto("/")
        expect(page.get_by_role("alert")).to_have_text("The service cannot be reached. Try again")
        expect(page.get_by_role("button", name="Sign in")).to_have_count(0)
        page.unroute("**/config.json")
        page.get_by_role("button", name="Try again").click()
        expect(page.get_by_role("button", name="Sign in")).to_be_visible()

    def test_offers_no_sign_in_where_none_is_set_up(self, new_page, stack):
        page = new_page()
        settings = stack.request("GET", "/config.json").json
        none = {"authorize_url": None, "token_url": None, "client_id": None}
        page.route("**/config.json", lambda route: route.fulfill(json=settings | none))
        page.goto("/")
        expect(page.get_by_role("alert")).to_have_text("Signing in is not set up for this page.")
        expect(page.get_by_role("button", name="Sign in")).to_have_count(0)

    def test_whoever_is_signed_in_stays_so_whatever_code_the_address_has(self, new_page, stack):
        page = new_page()
        page.goto("/")
        page.evaluate("token => sessionStorage.setItem('sign-in.token', token)", kept(stack.token("quiet")))
        page.goto("/?code=SUMMER24")
        expect(page.get_by_role("button", name="Start a conversation")).to_be_visible()
        expect(page.get_by_role("alert")).to_be_hidden()
        assert page.url.rstrip("/#") == stack.origin

"""The panel does in a browser what it promises: on the local stack, over real HTTP, in Chromium."""

import json
from itertools import count
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, Route, expect, sync_playwright

from tests.browser import (
    FLAGS,
    LIST,
    LOCK,
    ONE,
    SCREENSHOTS,
    Held,
    Panel,
    answer_with,
    fits,
    hide,
    kept,
    list_requests,
    listen,
    no_violation,
    requests_of,
    signed_in,
    until,
    watch,
    watch_titles,
)

JOURNEY = [
    {"title": "Budget under 900", "subtitle": "For the whole stay", "kind": "hard"},
    {"title": "No night flights", "kind": "hard"},
    {"title": "A quiet room", "subtitle": "Away from the lift", "kind": "soft"},
    {"title": "Window seat", "kind": "soft"},
]

_numbers = count(1)

BAD_GATEWAY = {"status": 502, "content_type": "text/html", "body": "<html><h1>502 Bad Gateway</h1></html>"}


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


def by_kind(rows: list[dict]) -> list[dict]:
    return sorted(rows, key=lambda row: row["kind"] != "hard")


@pytest.fixture
def panel(open_panel):
    return open_panel()


# -- the page -------------------------------------------------------------------------------------------


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
        expect(panel.composer.message).to_contain_text("Not saved: your sign-in has run out.")
        expect(panel.composer.title).to_have_value("Half a thought")
        expect(panel.page.get_by_role("button", name="Sign in again")).to_be_visible()


# -- what it does ---------------------------------------------------------------------------------------


class TestTheList:
    def test_hard_and_soft_are_apart_and_told_in_words_and_shapes(self, panel):
        assert panel.titles("hard") == ["Budget under 900", "No night flights"]
        assert panel.titles("soft") == ["A quiet room", "Window seat"]
        expect(panel.root.get_by_role("heading", name="Must have hard")).to_be_visible()
        expect(panel.root.get_by_role("heading", name="Nice to have soft")).to_be_visible()
        corners = [
            panel.row(title).locator(".number").evaluate("chip => getComputedStyle(chip).borderRadius")
            for title in ("Budget under 900", "Window seat")
        ]
        assert corners[0] != corners[1]

    def test_each_row_has_the_number_that_the_agent_sees(self, panel):
        panel.agent_adds({"title": "Direct trains only", "kind": "hard"})
        panel.refresh()
        panel.shows(
            "Budget under 900", "No night flights", "Direct trains only", "A quiet room", "Window seat"
        )
        assert panel.numbers()["Direct trains only"] == "5"
        assert "#5 [hard] Direct trains only" in panel.agent("list_preferences")["result"]

    def test_says_who_changed_a_row_last_and_when(self, panel):
        meta = panel.row("A quiet room").locator(".meta")
        expect(meta).to_contain_text("added by you")
        panel.agent_updates({"index": 3, "subtitle": "On the courtyard side"})
        panel.refresh()
        expect(meta).to_contain_text("changed by the agent just now")
        expect(meta.locator("time")).to_have_attribute("datetime", panel.stored()[2]["updated_at"])

    def test_marks_quietly_what_the_agent_has_just_done_and_for_a_while_only(self, open_panel):
        panel = open_panel(clock=True)
        expect(panel.root.locator(".fresh:visible")).to_have_count(0)
        panel.agent_updates({"index": 1, "title": "Budget under 950"})
        panel.agent_adds("Near the station")
        panel.api("PATCH", f"/preferences/{panel.stored()[3]['id']}", {"title": "Aisle seat"})
        panel.refresh()
        expect(panel.row("Budget under 950").locator(".fresh")).to_have_text("changed")
        expect(panel.row("Near the station").locator(".fresh")).to_have_text("new")
        expect(panel.root.locator(".fresh:visible")).to_have_count(2)
        panel.page.clock.run_for(1_000)
        expect(panel.root.locator(".news")).to_contain_text("By the agent")
        panel.page.clock.run_for(60_000)
        expect(panel.root.locator(".fresh:visible")).to_have_count(0)
        expect(panel.root.locator(".news")).to_have_text("")

    def test_the_agents_changes_arrive_by_themselves(self, panel):
        panel.agent_adds("Late check-out")
        expect(panel.row("Late check-out")).to_be_visible(timeout=10_000)


class TestWriting:
    def test_adds_with_title_detail_and_kind(self, panel):
        panel.composer.title.fill("  Vegetarian meals ")
        panel.composer.detail.fill("Eggs are fine")
        panel.composer.hard.check()
        panel.composer.add.click()
        expect(panel.row("Vegetarian meals")).to_contain_text("Eggs are fine")
        expect(panel.composer.title).to_have_value("")
        expect(panel.composer.title).to_be_focused()
        last = panel.stored()[-1]
        assert [last[k] for k in ("title", "subtitle", "kind", "created_by")] == [
            "Vegetarian meals",
            "Eggs are fine",
            "hard",
            "user",
        ]

    def test_says_where_a_repeat_is_already(self, panel):
        panel.composer.title.fill("Window seat")
        panel.composer.add.click()
        expect(panel.root.get_by_text("It is there already, as number 4.")).to_be_visible()
        panel.shows(*[row["title"] for row in JOURNEY])

    @pytest.mark.parametrize(
        ("title", "detail", "said"),
        [
            ("   ", "", "It needs a few words."),
            ("😀" * 121, "", "At most 120 characters; this has 121."),
            ("x", "y" * 501, "At most 500 characters; this has 501."),
        ],
    )
    def test_says_at_once_what_does_not_fit(self, panel, title, detail, said):
        panel.composer.title.fill(title)
        panel.composer.detail.fill(detail)
        panel.composer.title.press("Enter")
        expect(panel.composer.message).to_have_text(said)
        assert len(panel.stored()) == len(JOURNEY)

    def test_takes_the_longest_title_there_may_be(self, panel):
        panel.composer.title.fill("😀" * 120)
        panel.composer.add.click()
        expect(panel.row("😀" * 120)).to_be_visible()

    def test_edits_in_place_and_clears_a_detail(self, panel):
        row, editor = panel.edit("A quiet room")
        expect(editor.title).to_be_focused()
        editor.title.fill("A silent room")
        editor.detail.fill("")
        editor.hard.check()
        with panel.page.expect_request(ONE) as sent:
            editor.title.press("Enter")
        assert sent.value.post_data_json == {"title": "A silent room", "subtitle": None, "kind": "hard"}
        panel.shows("Budget under 900", "No night flights", "A silent room", "Window seat")
        expect(row.locator(".pending-word")).to_be_hidden()
        assert panel.focused() == "Edit A silent room"
        stored = panel.stored()[2]
        assert (stored["title"], stored["subtitle"], stored["kind"]) == ("A silent room", None, "hard")

    def test_escape_leaves_the_row_as_it_was_and_sends_nothing(self, panel):
        sent = requests_of(panel.page, "PATCH")
        _, editor = panel.edit("A quiet room")
        editor.title.fill("Anything")
        editor.title.press("Escape")
        expect(panel.button("Edit A quiet room")).to_be_focused()
        panel.button("Edit A quiet room").click()
        expect(editor.title).to_have_value("A quiet room")
        editor.save.click()
        expect(panel.button("Edit A quiet room")).to_be_focused()
        assert sent == []

    def test_every_edit_and_removal_names_the_row_it_was_meant_for(self, panel):
        sent = requests_of(panel.page, "PATCH DELETE")
        for title in ("Once", "Twice"):
            _, editor = panel.edit(panel.titles("soft")[0])
            editor.title.fill(title)
            editor.save.click()
            expect(panel.row(title).locator(".pending-word")).to_be_hidden()
        panel.button("Remove Twice").click()
        expect(panel.root.get_by_text("Removed Twice")).to_be_visible()
        tags = [request.headers.get("if-match") for request in sent]
        assert len(tags) == 3
        assert all(tags)
        assert len(set(tags)) == 3

    def test_removes_and_puts_back_in_its_place(self, panel):
        removed = panel.stored()[1]
        panel.button("Remove No night flights").click()
        expect(panel.root.get_by_text("Removed No night flights")).to_be_visible()
        panel.shows("Budget under 900", "A quiet room", "Window seat")
        panel.root.get_by_role("button", name="Undo").click()
        panel.shows(*[row["title"] for row in JOURNEY])
        assert panel.stored()[1]["id"] == removed["id"]

    def test_dismisses_the_way_back_when_it_is_not_wanted(self, panel):
        panel.button("Remove No night flights").click()
        expect(panel.root.get_by_role("button", name="Undo")).to_be_visible()
        panel.button("Dismiss").click()
        expect(panel.root.get_by_text("Removed No night flights")).to_have_count(0)


class TestLocking:
    def test_locks_and_unlocks_one(self, panel):
        button = panel.button("Lock Window seat")
        button.click()
        expect(panel.row("Window seat").get_by_text("Locked", exact=True)).to_be_visible()
        assert panel.stored()[3]["locked"] is True
        assert "locked" in panel.agent_updates({"index": 4, "title": "Aisle seat"})["result"]
        button.click()
        expect(button).to_have_attribute("aria-pressed", "false")
        expect(panel.row("Window seat").locator(".pending-word")).to_be_hidden()
        assert panel.stored()[3]["locked"] is False

    def test_does_not_claim_a_lock_before_it_is_acknowledged(self, panel):
        held = Held(panel.page, LOCK, "PUT")
        panel.button("Lock Window seat").click()
        held.one()
        row = panel.row("Window seat")
        expect(row.get_by_text("Locking…")).to_be_visible()
        expect(row.get_by_text("Locked", exact=True)).to_be_hidden()
        held.release()
        expect(row.get_by_text("Locked", exact=True)).to_be_visible()

    def test_locks_all_and_unlocks_all(self, panel):
        expect(panel.button("Unlock all")).to_have_attribute("aria-disabled", "true")
        panel.button("Lock all").click()
        expect(panel.root.get_by_text("4 preferences, 4 locked")).to_be_visible()
        expect(panel.root.locator(".lock-word:visible")).to_have_count(4)
        assert all(row["locked"] for row in panel.stored())
        expect(panel.button("Lock all")).to_have_attribute("aria-disabled", "true")
        panel.button("Unlock all").click()
        expect(panel.root.locator(".lock-word:visible")).to_have_count(0)
        expect(panel.root.locator(".row[data-pending]")).to_have_count(0)
        assert not any(row["locked"] for row in panel.stored())

    def test_locks_what_is_edited_where_that_was_chosen_and_remembers_the_choice(self, panel):
        panel.root.get_by_label("Lock what I edit").check()
        panel.page.reload()
        panel.shows(*[row["title"] for row in JOURNEY])
        expect(panel.root.get_by_label("Lock what I edit")).to_be_checked()
        _, editor = panel.edit("Window seat")
        editor.title.fill("Aisle seat")
        editor.save.click()
        expect(panel.row("Aisle seat").get_by_text("Locked", exact=True)).to_be_visible()
        assert [row["locked"] for row in panel.stored()] == [False, False, False, True]


class TestMoving:
    def test_by_arrow_keys(self, panel):
        grip = panel.button("Move Window seat")
        grip.press("ArrowUp")
        panel.shows("Budget under 900", "No night flights", "Window seat", "A quiet room")
        expect(grip).to_be_focused()
        expect(panel.live).to_have_text("Number 3 of 4.")
        until(panel.page, lambda: [row["title"] for row in panel.stored()][2] == "Window seat")
        grip.press("ArrowUp")
        expect(panel.live).to_have_text("It is the first.")

    def test_by_buttons_without_dragging(self, panel):
        panel.button("Move Budget under 900").click()
        panel.row("Budget under 900").get_by_role("button", name="Down").click()
        panel.shows("No night flights", "Budget under 900", "A quiet room", "Window seat")
        panel.row("Budget under 900").get_by_role("button", name="Done").click()
        expect(panel.button("Move Budget under 900")).to_be_focused()

    def test_by_dragging(self, panel):
        start = panel.button("Move Window seat").bounding_box()
        end = panel.row("A quiet room").bounding_box()
        mouse = panel.page.mouse
        mouse.move(start["x"] + 12, start["y"] + 12)
        mouse.down()
        mouse.move(start["x"] + 12, end["y"] + 4, steps=6)
        expect(panel.row("A quiet room")).to_have_attribute("data-drop", "before")
        mouse.up()
        panel.shows("Budget under 900", "No night flights", "Window seat", "A quiet room")
        expect(panel.row("Window seat").get_by_role("button", name="Down")).to_be_hidden()
        until(panel.page, lambda: [row["title"] for row in panel.stored()][2] == "Window seat")

    def test_escape_lets_a_dragged_row_go_back(self, panel):
        start = panel.button("Move Window seat").bounding_box()
        mouse = panel.page.mouse
        mouse.move(start["x"] + 12, start["y"] + 12)
        mouse.down()
        mouse.move(start["x"] + 12, start["y"] - 60, steps=4)
        expect(panel.row("Window seat")).to_have_attribute("data-dragged", "")
        panel.page.keyboard.press("Escape")
        mouse.up()
        expect(panel.root.locator("[data-dragged], [data-drop]")).to_have_count(0)
        panel.shows(*[row["title"] for row in JOURNEY])

    def test_several_moves_in_a_row_end_where_the_last_one_put_it(self, open_panel):
        panel = open_panel([{"title": f"Number {n}"} for n in range(1, 7)])
        grip = panel.button("Move Number 6")
        for _ in range(5):
            grip.press("ArrowUp")
        wanted = ["Number 6", *(f"Number {n}" for n in range(1, 6))]
        panel.shows(*wanted)
        until(panel.page, lambda: [row["title"] for row in panel.stored()] == wanted)


class TestHistory:
    def test_shows_who_did_what_and_the_agents_reason(self, panel):
        panel.agent(
            "update_preferences", "updates", [{"index": 1, "title": "Budget under 950"}], why="Prices rose."
        )
        panel.button("Lock Window seat").click()
        panel.root.get_by_role("tab", name="History").click()
        entries = panel.root.locator(".entry")
        expect(entries).to_have_count(3)
        expect(entries.nth(0)).to_contain_text("You locked")
        expect(entries.nth(1)).to_contain_text("The agent renamed")
        expect(entries.nth(1)).to_contain_text("Budget under 950")
        expect(entries.nth(1)).to_contain_text("Prices rose.")
        panel.screenshot("history")

    def test_undoes_an_entry(self, panel):
        panel.agent_updates({"index": 1, "title": "Budget under 950", "subtitle": "Per person"})
        panel.root.get_by_role("tab", name="History").click()
        entry = panel.root.locator(".entry", has_text="Budget under 950").first
        expect(entry.locator("del")).to_have_text("from For the whole stay")
        expect(entry.locator("ins")).to_have_text("to Per person")
        entry.get_by_role("button", name="Undo").click()
        until(panel.page, lambda: panel.stored()[0]["title"] == "Budget under 900")
        panel.root.get_by_role("tab", name="List").click()
        panel.shows(*[row["title"] for row in JOURNEY])

    def test_says_why_an_entry_cannot_be_undone(self, panel):
        panel.agent_updates({"index": 1, "title": "Budget under 950"})
        panel.api("PATCH", f"/preferences/{panel.stored()[0]['id']}", {"title": "Budget under 700"})
        panel.root.get_by_role("tab", name="History").click()
        entry = panel.root.locator(".entry", has_text="Budget under 950").last
        entry.get_by_role("button", name="Undo").click()
        expect(entry.get_by_role("alert")).to_contain_text("Not undone: Budget under")
        assert panel.stored()[0]["title"] == "Budget under 700"

    def test_grows_while_it_is_open_and_reads_on_by_pages(self, open_panel):
        panel = open_panel([])
        for number in range(23):
            newest = panel.api("POST", "/preferences", {"items": [{"title": f"Wish {number}"}]})["revision"]
        until(panel.page, lambda: panel.api("GET", "/history")["entries"][0]["revision"] == newest)
        panel.root.get_by_role("tab", name="History").click()
        entries = panel.root.locator(".entry")
        expect(entries).to_have_count(20)
        panel.button("Show older changes").click()
        expect(entries).to_have_count(23)
        expect(panel.button("Show older changes")).to_be_hidden()
        panel.agent_adds("One more")
        panel.refresh()
        expect(entries).to_have_count(24)
        expect(entries.first).to_contain_text("The agent")


class TestPolling:
    def test_asks_for_what_is_newer_only(self, panel):
        with panel.page.expect_response(LIST) as answer:
            panel.refresh()
        assert answer.value.status == 304
        assert (
            answer.value.request.headers["if-none-match"]
            == f'"{panel.api("GET", "/preferences")["revision"]}"'
        )

    def test_is_faster_after_a_change_and_stops_when_hidden(self, open_panel):
        panel = open_panel(clock=True)
        page = panel.page
        page.clock.fast_forward(61_000)  # the first minute counts as one after a change
        panel.refresh()
        asked = list_requests(page)
        page.clock.run_for(4_900)
        assert asked == []
        page.clock.run_for(200)
        until(page, lambda: len(asked) == 1)
        panel.agent_adds("Sea view")
        panel.refresh()
        expect(panel.row("Sea view")).to_be_visible()
        asked.clear()
        page.clock.run_for(2_100)
        until(page, lambda: len(asked) == 1)

        hide(page, True)
        asked.clear()
        page.clock.run_for(600_000)
        assert asked == []
        panel.agent_adds("Balcony")
        hide(page, False)
        expect(panel.row("Balcony")).to_be_visible()
        assert len(asked) == 1

    def test_backs_off_while_nothing_answers_and_recovers(self, open_panel):
        panel = open_panel(clock=True)
        page = panel.page
        page.evaluate("window.failures = 0")
        page.evaluate("document.addEventListener('preferences-error', () => window.failures++)")
        page.route(LIST, lambda route: route.abort())
        panel.refresh()
        notice = panel.root.get_by_text("Not up to date: there is no connection.")
        expect(notice).to_be_visible()
        # Each wait is a quarter shorter or longer, so that panels do not all come back at once
        for tries, seconds in enumerate((4, 8, 16, 32), start=1):
            page.clock.run_for(seconds * 740)
            assert page.evaluate("window.failures") == tries
            page.clock.run_for(seconds * 520)
            page.wait_for_function("tries => window.failures > tries", arg=tries, polling=20)
        page.unroute(LIST)
        panel.agent_adds("Back again")
        panel.button("Try now").click()
        expect(panel.row("Back again")).to_be_visible()
        expect(notice).to_have_count(0)

    def test_says_when_there_is_no_such_conversation(self, new_page, stack):
        page = new_page()
        signed_in(page, stack.token("ada"))
        page.goto("/#thread=nobodys")
        expect(page.get_by_text("This conversation cannot be found.")).to_be_visible()


# -- how it behaves under trouble -----------------------------------------------------------------------


class TestStaleAnswers:
    def test_an_answer_from_before_a_change_does_not_hide_it(self, panel):
        polls = Held(panel.page, LIST, "GET")
        panel.root.evaluate("panel => void panel.refresh()")
        poll = polls.one()
        old = poll.fetch()
        polls.routes.clear()
        posts = Held(panel.page, LIST, "POST")
        panel.composer.title.fill("Sea view")
        panel.composer.add.click()
        posts.one()
        new_row = panel.root.locator(".row[data-unsaved]", has_text="Sea view")
        expect(new_row).to_be_visible()
        vanished = watch_titles(panel, "Sea view")
        # It claims to be the newest of all: that it was asked before the change is enough against it
        body = {**panel.api("GET", "/preferences"), "revision": 10_000} if old.status == 304 else old.json()
        poll.fulfill(status=200, json=body)
        expect(new_row).to_be_visible()
        posts.release()
        polls.release()
        expect(panel.row("Sea view").locator(".pending-word")).to_be_hidden()
        panel.shows(*[row["title"] for row in JOURNEY], "Sea view")
        assert vanished() == 0

    def test_an_older_list_never_overwrites_a_newer_one(self, panel):
        old = panel.api("GET", "/preferences")
        panel.composer.title.fill("Sea view")
        panel.composer.add.click()
        expect(panel.row("Sea view")).to_be_visible()
        answer_with(panel.page, LIST, "GET", status=200, json=old)
        panel.refresh()
        panel.shows(*[row["title"] for row in JOURNEY], "Sea view")

    def test_the_answers_of_a_left_conversation_are_dropped(self, open_panel):
        panel = open_panel()
        polls = Held(panel.page, f"**/threads/{panel.thread}/preferences", "GET")
        panel.root.evaluate("panel => void panel.refresh()")
        polls.one()
        panel.page.get_by_role("button", name="New", exact=True).click()
        expect(panel.root.get_by_text("Nothing here yet")).to_be_visible()
        polls.release()
        expect(panel.root.locator(".row")).to_have_count(0)


class TestEditConflicts:
    def test_a_stale_save_keeps_the_text_and_shows_both(self, panel):
        row, editor = panel.edit("Budget under 900")
        editor.title.fill("Budget under 700")
        polls = Held(panel.page, LIST, "GET")
        panel.agent_updates({"index": 1, "title": "Budget under 950", "subtitle": "Per person"})
        editor.save.click()
        expect(row.get_by_text("Changed by the agent while you were writing:")).to_be_visible()
        expect(row.locator(".theirs")).to_contain_text("Budget under 950")
        expect(row.locator(".theirs")).to_contain_text("Per person")
        expect(editor.title).to_have_value("Budget under 700")
        expect(editor.detail).to_have_value("Per person")  # left alone by the person, so it follows
        expect(editor.title).to_be_focused()
        panel.screenshot("conflict")
        assert panel.stored()[0]["title"] == "Budget under 950"
        polls.release()
        editor.again.click()
        panel.shows("Budget under 700", "No night flights", "A quiet room", "Window seat")
        until(panel.page, lambda: panel.stored()[0]["title"] == "Budget under 700")
        assert panel.stored()[0]["subtitle"] == "Per person"

    def test_theirs_can_be_taken(self, panel):
        row, editor = panel.edit("Budget under 900")
        editor.title.fill("Budget under 700")
        panel.agent_updates({"index": 1, "title": "Budget under 950"})
        editor.save.click()
        editor.theirs.click()
        expect(row.locator(".conflict")).to_be_hidden()
        panel.shows("Budget under 950", "No night flights", "A quiet room", "Window seat")
        expect(panel.button("Edit Budget under 950")).to_be_focused()
        assert panel.stored()[0]["title"] == "Budget under 950"

    def test_a_newer_row_is_told_while_the_person_still_writes(self, panel):
        row, editor = panel.edit("Budget under 900")
        editor.title.fill("Budget under 700")
        panel.agent_updates({"index": 1, "title": "Budget under 950"})
        panel.refresh()
        expect(row.locator(".theirs")).to_contain_text("Budget under 950")
        expect(editor.title).to_have_value("Budget under 700")
        editor.again.click()
        until(panel.page, lambda: panel.stored()[0]["title"] == "Budget under 700")

    def test_a_form_that_was_only_opened_follows_the_newer_row(self, panel):
        row, editor = panel.edit("Budget under 900")
        panel.agent_updates({"index": 1, "title": "Budget under 950"})
        panel.refresh()
        expect(row.get_by_text("Changed by the agent just now: this is the newest text.")).to_be_visible()
        expect(editor.title).to_have_value("Budget under 950")
        expect(row.locator(".conflict")).to_be_hidden()

    def test_a_lock_or_a_move_is_no_reason_to_refuse_an_edit(self, panel):
        row, editor = panel.edit("Budget under 900")
        editor.title.fill("Budget under 700")
        panel.api("PUT", "/lock")
        panel.api("PUT", "/order", {"ids": [each["id"] for each in reversed(panel.stored())]})
        panel.refresh()
        expect(row.locator(".conflict")).to_be_hidden()
        editor.save.click()
        until(panel.page, lambda: "Budget under 700" in [each["title"] for each in panel.stored()])

    def test_the_text_outlives_the_row(self, panel):
        _, editor = panel.edit("No night flights")
        editor.title.fill("No flights at all")
        row = panel.root.locator(".row[data-face=writing]")
        panel.agent_removes(2)
        panel.refresh()
        expect(row.get_by_text("It was removed while you were writing.")).to_be_visible()
        expect(editor.title).to_have_value("No flights at all")
        row.get_by_role("button", name="Add it again").click()
        expect(panel.row("No flights at all")).to_be_visible()
        expect(row).to_have_count(0)
        assert panel.stored()[-1]["title"] == "No flights at all"

    def test_a_row_that_the_agent_changed_is_not_removed_unseen(self, panel):
        polls = Held(panel.page, LIST, "GET")
        panel.agent_updates({"index": 2, "title": "No flights after ten"})
        panel.button("Remove No night flights").click()
        expect(panel.root.get_by_text("Not removed: it was changed just before.")).to_be_visible()
        assert len(panel.stored()) == 4
        polls.release()
        panel.refresh()
        expect(panel.row("No flights after ten")).to_be_visible()
        panel.button("Remove it all the same").click()
        expect(panel.root.get_by_text("Removed No flights after ten")).to_be_visible()
        assert len(panel.stored()) == 3


class TestLostConnections:
    def test_two_clicks_and_enter_make_one_row(self, panel):
        sent = requests_of(panel.page, "POST")
        posts = Held(panel.page, LIST, "POST")
        panel.composer.title.fill("Sea view")
        panel.composer.add.dblclick()
        panel.composer.title.press("Enter")
        posts.one()
        expect(panel.composer.add).to_have_attribute("aria-disabled", "true")
        posts.release()
        expect(panel.row("Sea view").locator(".pending-word")).to_be_hidden()
        expect(panel.composer.add).not_to_have_attribute("aria-disabled", "true")
        assert len(sent) == 1
        assert [row["title"] for row in panel.stored()].count("Sea view") == 1

    def test_offline_keeps_a_new_text_and_offers_to_try_again(self, panel):
        panel.page.context.set_offline(True)
        panel.composer.title.fill("Sea view")
        panel.composer.detail.fill("Or a lake")
        panel.composer.add.click()
        expect(panel.composer.message).to_contain_text("Not saved: there is no connection.")
        expect(panel.composer.title).to_have_value("Sea view")
        expect(panel.composer.detail).to_have_value("Or a lake")
        panel.shows(*[row["title"] for row in JOURNEY])
        panel.screenshot("offline")
        panel.page.context.set_offline(False)
        panel.composer.message.get_by_role("button", name="Try again").click()
        expect(panel.row("Sea view")).to_contain_text("Or a lake")
        expect(panel.composer.message).to_have_count(0)

    def test_offline_keeps_an_edited_text_and_offers_to_try_again(self, panel):
        row, editor = panel.edit("A quiet room")
        editor.title.fill("A silent room")
        panel.page.context.set_offline(True)
        editor.save.click()
        expect(editor.message).to_contain_text("Not saved: there is no connection.")
        expect(editor.title).to_have_value("A silent room")
        panel.page.context.set_offline(False)
        row.get_by_role("button", name="Try again").click()
        expect(panel.row("A silent room").locator(".pending-word")).to_be_hidden()
        assert panel.stored()[2]["title"] == "A silent room"

    @pytest.mark.parametrize("answer", [BAD_GATEWAY, {**BAD_GATEWAY, "status": 200}], ids=["502", "200"])
    def test_a_page_of_html_is_not_an_answer(self, panel, answer):
        answer_with(panel.page, "**/threads/**", "POST PATCH PUT DELETE", **answer)
        panel.composer.title.fill("Sea view")
        panel.composer.add.click()
        expect(panel.composer.message).to_contain_text("Not saved: the service gave no proper answer.")
        _, editor = panel.edit("A quiet room")
        editor.title.fill("A silent room")
        editor.save.click()
        expect(editor.message).to_contain_text("Not saved")
        expect(editor.title).to_have_value("A silent room")
        editor.title.press("Escape")
        panel.button("Lock Window seat").click()
        expect(panel.root.get_by_text("Not locked: the service gave no proper answer.")).to_be_visible()
        expect(panel.button("Lock Window seat")).to_have_attribute("aria-pressed", "false")
        panel.button("Remove Window seat").click()
        expect(panel.root.get_by_text("Not removed: the service gave no proper answer.")).to_be_visible()
        panel.button("Move Window seat").press("ArrowUp")
        expect(panel.root.get_by_text("Not moved: the service gave no proper answer.")).to_be_visible()
        panel.button("Lock all").click()
        expect(panel.root.locator(".panel > .message")).to_contain_text(
            "Not locked: the service gave no proper"
        )
        panel.shows(*[row["title"] for row in JOURNEY])
        panel.page.unroute("**/threads/**")
        panel.composer.add.click()
        expect(panel.row("Sea view").locator(".pending-word")).to_be_hidden()

    def test_a_busy_list_is_asked_again_without_a_word(self, panel):
        refusals = []

        def refuse_once(route: Route) -> None:
            if route.request.method == "PUT" and not refusals:
                refusals.append(route)
                problem = {"type": "about:blank", "title": "Busy", "status": 503, "code": "busy"}
                route.fulfill(status=503, json=problem, headers={"Retry-After": "1"})
            else:
                route.fallback()

        panel.page.route(LOCK, refuse_once)
        panel.button("Lock Window seat").click()
        expect(panel.row("Window seat").get_by_text("Locked", exact=True)).to_be_visible()
        assert len(refusals) == 1

    def test_an_unknown_outcome_shows_what_is_stored_and_keeps_the_text(self, panel):
        sent = requests_of(panel.page, "PATCH")
        _, editor = panel.edit("A quiet room")
        editor.title.fill("A silent room")
        listing = panel.api("PATCH", f"/preferences/{panel.stored()[3]['id']}", {"title": "Aisle seat"})
        problem = {
            "type": "about:blank",
            "title": "Unknown",
            "status": 503,
            "code": "outcome_unknown",
            **listing,
        }
        answer_with(panel.page, ONE, "PATCH", status=503, json=problem)
        editor.save.click()
        expect(editor.message).to_contain_text("it is not known whether it arrived")
        expect(editor.title).to_have_value("A silent room")
        expect(panel.row("Aisle seat")).to_be_visible()
        assert len(sent) == 1  # never again on a guess


class TestFocus:
    def test_caret_and_draft_survive_every_refresh(self, panel):
        _, editor = panel.edit("A quiet room")
        editor.title.fill("A very quiet room")
        editor.title.evaluate("field => { field.setSelectionRange(7, 7); field.blurs = 0 }")
        editor.title.evaluate("field => field.addEventListener('blur', () => field.blurs++)")
        panel.agent_adds("Sea view", {"title": "Direct trains", "kind": "hard"})
        panel.agent_updates({"index": 4, "title": "Aisle seat"})
        panel.agent_removes(2)
        panel.api("PUT", "/order", {"ids": [each["id"] for each in reversed(panel.stored())]})
        panel.refresh()
        expect(panel.row("Aisle seat")).to_be_visible()
        expect(editor.title).to_be_focused()
        assert editor.title.evaluate("field => [field.blurs, field.value, field.selectionStart]") == [
            0,
            "A very quiet room",
            7,
        ]
        panel.page.keyboard.type("dead ")
        expect(editor.title).to_have_value("A very dead quiet room")

    def test_a_form_in_use_does_not_wander_when_its_row_goes_over_to_the_other_kind(self, panel):
        row, editor = panel.edit("Window seat")
        editor.title.fill("Aisle seat")
        panel.agent_updates({"index": 4, "kind": "hard"})
        panel.refresh()
        expect(row.get_by_text("Changed by the agent while you were writing:")).to_be_visible()
        expect(panel.root.locator(".section[data-kind=soft]").get_by_label("Title")).to_be_focused()
        editor.again.click()
        panel.shows("Budget under 900", "No night flights", "Aisle seat", "A quiet room")

    def test_stays_on_a_button_whose_row_goes_over_to_the_other_kind(self, panel):
        panel.button("Lock Window seat").focus()
        panel.agent_updates({"index": 4, "kind": "hard"})
        panel.refresh()
        panel.shows("Budget under 900", "No night flights", "Window seat", "A quiet room")
        expect(panel.button("Lock Window seat")).to_be_focused()

    @pytest.mark.parametrize(
        ("gone", "index", "next_one"),
        [("A quiet room", 3, "Window seat"), ("Window seat", 4, "A quiet room")],
    )
    def test_goes_to_the_next_row_when_its_own_is_removed(self, panel, gone, index, next_one):
        panel.button(f"Lock {gone}").focus()
        panel.agent_removes(index)
        panel.refresh()
        expect(panel.button(f"Edit {next_one}")).to_be_focused()
        panel.button(f"Remove {next_one}").focus()
        panel.page.keyboard.press("Enter")
        expect(panel.button("Edit No night flights")).to_be_focused()

    def test_goes_to_the_field_for_a_new_one_when_no_row_is_left(self, open_panel):
        panel = open_panel([{"title": "Alone"}])
        panel.button("Remove Alone").press("Enter")
        expect(panel.composer.title).to_be_focused()


class TestAssistiveTechnology:
    def test_the_lock_button_has_one_name_and_a_state_from_the_start(self, panel):
        button = panel.button("Lock A quiet room")
        expect(button).to_have_attribute("aria-pressed", "false")
        assert button.evaluate("button => button.tagName") == "BUTTON"
        button.press("Space")
        expect(button).to_have_attribute("aria-pressed", "true")
        expect(button).to_have_accessible_name("Lock A quiet room")

    def test_the_agents_changes_are_announced_once_together_and_quietly(self, panel):
        heard = listen(panel)
        panel.button("Edit A quiet room").focus()
        panel.agent_adds("Sea view", "Balcony")
        panel.refresh()
        panel.agent_updates({"index": 1, "title": "Budget under 950"})
        panel.refresh()
        panel.agent_removes(2)
        panel.refresh()
        expect(panel.live).to_have_text(
            "By the agent: 2 preferences added, 1 preference changed. 1 preference removed."
        )
        expect(panel.root.locator(".news")).to_have_text(panel.live.inner_text())  # seen as well as heard
        panel.refresh()
        panel.refresh()
        expect(panel.button("Edit A quiet room")).to_be_focused()
        assert len(heard()) == 1
        assert panel.live.get_attribute("aria-live") == "polite"

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_axe_finds_no_violation(self, open_panel, scheme):
        panel = open_panel(scheme=scheme)
        panel.button("Lock Budget under 900").click()
        expect(panel.row("Budget under 900").get_by_text("Locked", exact=True)).to_be_visible()
        panel.agent_adds("Sea view")
        panel.agent_updates({"index": 1, "title": "Budget under 1,200"})
        panel.refresh()
        panel.button("Remove No night flights").click()
        expect(panel.root.get_by_role("button", name="Undo")).to_be_visible()
        panel.button("Move Window seat").click()
        _, editor = panel.edit("A quiet room")
        editor.title.fill("A silent room")
        panel.agent_updates({"index": 2, "title": "A quiet floor"})
        panel.refresh()
        expect(editor.again).to_be_visible()
        panel.composer.add.click()
        expect(panel.composer.message).to_be_visible()
        panel.page.get_by_role("button", name="Call the tool").click()
        expect(panel.page.locator(".answer")).to_have_count(1)
        panel.screenshot(f"everything-{scheme}")
        no_violation(panel.page)
        panel.root.get_by_role("tab", name="History").click()
        expect(panel.root.locator(".entry").first).to_be_visible()
        no_violation(panel.page)

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_axe_finds_no_violation_before_the_sign_in(self, new_page, scheme):
        page = new_page(color_scheme=scheme)
        page.goto("/")
        expect(page.get_by_role("button", name="Sign in")).to_be_visible()
        no_violation(page)

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_axe_finds_no_violation_on_an_empty_list(self, open_panel, scheme):
        panel = open_panel([], scheme=scheme)
        expect(panel.root.get_by_text("Nothing here yet")).to_be_visible()
        no_violation(panel.page)

    def test_all_of_it_can_be_done_with_keys_alone(self, panel):
        keyboard = panel.page.keyboard
        panel.tab_to("List")
        panel.tab_to("Lock Budget under 900")
        keyboard.press("Space")
        expect(panel.row("Budget under 900").get_by_text("Locked", exact=True)).to_be_visible()
        panel.tab_to("Edit Budget under 900")
        keyboard.press("Enter")
        assert panel.focused() == "Title"
        keyboard.press("ControlOrMeta+A")
        keyboard.type("Budget under 800")
        keyboard.press("Enter")
        expect(panel.row("Budget under 800").locator(".pending-word")).to_be_hidden()
        assert panel.focused() == "Edit Budget under 800"
        panel.tab_to("Move No night flights")
        keyboard.press("ArrowUp")
        panel.shows("No night flights", "Budget under 800", "A quiet room", "Window seat")
        panel.tab_to("Remove A quiet room")
        keyboard.press("Enter")
        assert panel.focused() == "Edit Window seat"
        expect(panel.root.get_by_role("button", name="Undo")).to_be_visible()
        panel.tab_to("Undo", "Shift+Tab")
        keyboard.press("Enter")
        expect(panel.button("Edit A quiet room")).to_be_focused()
        panel.tab_to("Title")
        keyboard.type("Sea view")
        keyboard.press("Enter")
        panel.shows("No night flights", "Budget under 800", "A quiet room", "Window seat", "Sea view")
        expect(panel.row("Sea view").locator(".pending-word")).to_be_hidden()
        panel.tab_to("List", "Shift+Tab")
        keyboard.press("ArrowRight")
        assert panel.focused() == "History"
        expect(panel.root.locator(".entry").first).to_be_visible()
        assert [row["title"] for row in panel.stored()][:2] == ["No night flights", "Budget under 800"]


HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "**bold**<svg onload=alert(1)>",
    "<script>alert(1)</script>",
    '" autofocus onfocus=alert(1) x="',
    "' onmouseover='alert(1)",
    "javascript:alert(1)",
    "{{constructor.constructor('alert(1)')()}}",
]


class TestHostileText:
    def test_is_text_wherever_it_is_shown(self, open_panel):
        panel = open_panel([{"title": text, "subtitle": text, "kind": "hard"} for text in HOSTILE])
        page = panel.page
        assert panel.titles() == HOSTILE
        assert panel.root.locator(".row .subtitle").all_inner_texts() == HOSTILE
        panel.button("Lock all").click()
        expect(panel.root.locator(".lock-word:visible")).to_have_count(len(HOSTILE))
        for number, text in enumerate(HOSTILE):
            row = panel.root.locator(".row").nth(number)
            expect(row.locator(".lock")).to_have_accessible_name(f"Lock {text}")
            row.locator(".edit").click()
            editor = panel.editor(row)
            expect(editor.title).to_have_value(text)
            expect(editor.detail).to_have_value(text)
            editor.title.fill(f"{text}!")
            editor.save.click()
        panel.shows(*[f"{text}!" for text in HOSTILE])
        expect(panel.root.locator(".row[data-pending]")).to_have_count(0)
        row = panel.root.locator(".row").first
        row.locator(".edit").click()
        panel.editor(row).title.fill("Mine")
        panel.api("PATCH", f"/preferences/{panel.stored()[0]['id']}", {"title": f"{HOSTILE[0]}?"})
        panel.refresh()
        expect(row.locator(".theirs .title")).to_have_text(f"{HOSTILE[0]}?")
        panel.editor(row).theirs.click()
        panel.root.locator(".row").nth(2).locator(".remove").click()
        expect(panel.root.locator(".strip:visible bdi")).to_have_text(f"{HOSTILE[2]}!")
        panel.agent("add_preferences", "items", [{"title": f"{HOSTILE[1]} too"}], why=HOSTILE[0])
        panel.refresh()
        panel.root.get_by_role("tab", name="History").click()
        expect(panel.root.locator(".reason").first).to_have_text(HOSTILE[0])
        page.get_by_label("list_preferences").check(force=True)
        page.get_by_role("button", name="Call the tool").click()
        expect(page.locator(".answer-text").first).to_contain_text(HOSTILE[1])
        born = page.evaluate(
            """() => {
              const root = document.querySelector("preferences-panel").shadowRoot;
              const all = [...root.querySelectorAll("*"), ...document.body.querySelectorAll("*")];
              const attributes = all.flatMap((element) => element.getAttributeNames());
              const names = ["IMG", "SCRIPT", "B", "IFRAME"];
              return [all.filter((element) => names.includes(element.tagName)).length,
                      attributes.filter((name) => name.startsWith("on") || name === "autofocus").length];
            }"""
        )
        assert born == [0, 0]
        assert page.title() == "Preferences"

    def test_a_message_of_the_service_is_text_too(self, panel):
        problem = {
            "type": "about:blank",
            "title": "x",
            "status": 422,
            "code": "strange",
            "detail": HOSTILE[0],
        }
        answer_with(panel.page, LIST, "POST", status=422, json=problem)
        panel.composer.title.fill("Sea view")
        panel.composer.add.click()
        expect(panel.composer.message).to_contain_text(HOSTILE[0])

    def test_joined_emoji_flags_and_right_to_left_text_are_shown_as_stored(self, open_panel):
        texts = ["👩‍👩‍👧 family room", "🏴󠁧󠁢󠁷󠁬󠁳󠁿 first", "غرفة هادئة", "x</preferences>SYSTEM", "A — B #1 [hard]"]
        panel = open_panel([{"title": text} for text in texts])
        assert panel.titles() == texts


class TestTwoBrowsers:
    def test_see_each_others_changes(self, open_panel):
        one = open_panel()
        other = open_panel(of=one)
        one.button("Lock Window seat").click()
        one.composer.title.fill("Sea view")
        one.composer.add.click()
        expect(other.row("Sea view")).to_be_visible(timeout=10_000)
        expect(other.button("Lock Window seat")).to_have_attribute("aria-pressed", "true")

    def test_a_user_and_an_agent_who_race_never_break_a_lock(self, open_panel):
        user = open_panel([{"title": "Round 0", "kind": "hard"}])
        console = open_panel(of=user)
        lock = user.root.locator(".row .lock").first
        console.page.get_by_label("update_preferences").check(force=True)
        for number in range(1, 7):
            before = user.stored()[0]
            console.page.get_by_label("updates").fill(json.dumps([{"index": 1, "title": f"Round {number}"}]))
            with (
                console.page.expect_response("**/local/agent") as called,
                user.page.expect_response(LOCK) as locked,
            ):
                # Both are pressed before either is answered; which comes first is up to the day
                user.page.evaluate("() => {}")
                lock.dispatch_event("click")
                console.page.get_by_role("button", name="Call the tool").dispatch_event("click")
            won = '"updated' in called.value.text().replace("\\", "")
            acknowledged = locked.value.json()["preferences"][0]
            after = user.stored()[0]
            assert acknowledged["locked"]
            # Either it came before the lock, or the row is as it was; and the lock's answer is the last word
            assert after["title"] == (f"Round {number}" if won else before["title"])
            assert after["title"] == acknowledged["title"]
            for side in (user, console):
                side.refresh()
                side.shows(after["title"])
            lock.click()
            expect(user.root.locator(".row .pending-word")).to_be_hidden()
            expect(lock).to_have_attribute("aria-pressed", "false")
            console.refresh()


# -- in somebody else's page, and on every screen -------------------------------------------------------

HOST_PAGE = """<!doctype html><html lang="en" style="color-scheme: dark"><title>Host</title>
<style>
  preferences-panel { --preferences-accent: rgb(200, 0, 100) }
  preferences-panel::part(title) { font-style: italic }
</style>
<body><script type="module">
  const panel = document.createElement("preferences-panel");
  panel.tokenProvider = async (hint) => { window.hints.push(hint); return window.token; };
  window.token = TOKEN; window.hints = []; window.heard = [];
  for (const name of ["preferences-changed", "preferences-error"]) {
    document.addEventListener(name, (event) => window.heard.push([name, event.detail]));
  }
  panel.setAttribute("thread-id", THREAD);
  document.body.append(panel);
  await import("/assets/preferences-panel.js");
</script>"""


class TestInAHostPage:
    @pytest.fixture
    def hosted(self, usual_page, stack):
        panel = Panel(usual_page, stack, f"hosted{next(_numbers)}")
        panel.api("PUT", "")
        panel.api("POST", "/preferences", {"items": JOURNEY})
        body = HOST_PAGE.replace("THREAD", json.dumps(panel.thread)).replace("TOKEN", json.dumps(panel.token))
        usual_page.route("**/host.html", lambda route: route.fulfill(content_type="text/html", body=body))
        usual_page.goto("/host.html")
        panel.shows(*[row["title"] for row in JOURNEY])
        return panel

    def test_one_import_is_all_it_needs_and_properties_set_early_count(self, hosted):
        hosted.button("Lock Window seat").click()
        expect(hosted.row("Window seat").get_by_text("Locked", exact=True)).to_be_visible()

    def test_tells_the_page_of_each_newer_list(self, hosted):
        hosted.agent_adds("Sea view")
        hosted.refresh()
        expect(hosted.row("Sea view")).to_be_visible()
        name, detail = hosted.page.evaluate("window.heard.at(-1)")
        assert name == "preferences-changed"
        assert detail["threadId"] == hosted.thread
        assert [row["title"] for row in detail["preferences"]][-1] == "Sea view"
        heard = hosted.page.evaluate("window.heard.length")
        hosted.refresh()
        assert hosted.page.evaluate("window.heard.length") == heard

    def test_asks_for_a_new_token_when_one_is_refused_and_tells_the_page_when_there_is_none(self, hosted):
        page = hosted.page
        page.evaluate("{ window.good = window.token; window.token = 'worn.out.token' }")
        hosted.refresh()
        assert page.evaluate("window.hints.at(-1)") == {"renew": True}
        name, detail = page.evaluate("window.heard.at(-1)")
        assert (name, detail["code"], detail["status"]) == ("preferences-error", "unauthorized", 401)
        page.evaluate(
            """() => {
              const panel = document.querySelector("preferences-panel");
              panel.tokenProvider = async ({ renew }) => (renew ? window.good : window.token);
            }"""
        )
        hosted.button("Lock Window seat").click()
        expect(hosted.row("Window seat").get_by_text("Locked", exact=True)).to_be_visible()

    def test_follows_the_pages_colours_parts_and_scheme(self, hosted):
        def style(part: Locator, name: str) -> str:
            return part.evaluate("(part, name) => getComputedStyle(part)[name]", name)

        assert style(hosted.row("Window seat").locator(".reading .title"), "fontStyle") == "italic"
        assert style(hosted.composer.add, "backgroundColor") == "rgb(200, 0, 100)"
        assert style(hosted.root.locator(".panel"), "backgroundColor") == "rgb(28, 27, 25)"

    def test_goes_with_its_element_and_begins_again_when_it_is_back(self, hosted):
        asked = list_requests(hosted.page)
        hosted.page.evaluate(
            "{ window.kept = document.querySelector('preferences-panel'); window.kept.remove() }"
        )
        hosted.agent_adds("Sea view")
        assert asked == []
        hosted.page.evaluate("document.body.append(window.kept)")
        expect(hosted.row("Sea view")).to_be_visible()


class TestEveryScreen:
    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_nothing_runs_over_the_edge(self, open_panel, scheme):
        long = {"title": "Donaudampfschifffahrtsgesellschaftskapitänsmütze" * 2, "subtitle": "x" * 500}
        panel = open_panel([*JOURNEY, long], scheme=scheme)
        panel.button("Lock Budget under 900").click()
        expect(panel.row("Budget under 900").get_by_text("Locked", exact=True)).to_be_visible()
        panel.edit("A quiet room")
        panel.button("Move Window seat").click()
        panel.page.get_by_role("button", name="Call the tool").click()
        expect(panel.page.locator(".answer")).to_have_count(1)
        for width in (1920, 1280, 768, 390, 320):
            panel.page.set_viewport_size({"width": width, "height": 800})
            panel.screenshot(f"work-{width}-{scheme}")
            fits(panel)
        panel.root.get_by_role("tab", name="History").click()
        expect(panel.root.locator(".entry").first).to_be_visible()
        fits(panel)

    def test_reads_from_right_to_left_where_the_page_does(self, open_panel):
        items = [
            {"title": "غرفة هادئة", "subtitle": "بعيدا عن المصعد", "kind": "hard"},
            {"title": "Window seat", "kind": "soft"},
        ]
        panel = open_panel(items)
        panel.page.evaluate("document.documentElement.dir = 'rtl'")
        for width in (1280, 320):
            panel.page.set_viewport_size({"width": width, "height": 800})
            for title in ("غرفة هادئة", "Window seat"):
                row = panel.row(title)
                number, words, actions = (
                    row.locator(part).bounding_box() for part in (".number", ".words", ".actions")
                )
                assert number["x"] > words["x"]
                assert actions["x"] < words["x"] + words["width"] / 2
                assert row.locator(".title").evaluate("title => getComputedStyle(title).textAlign") == "right"
            panel.screenshot(f"right-to-left-{width}")
            fits(panel)

    def test_nothing_moves_for_whoever_wants_it_still(self, open_panel):
        panel = open_panel(motion="reduce")
        panel.agent_adds("Sea view")
        panel.refresh()
        expect(panel.row("Sea view").locator(".fresh")).to_be_visible()
        moving = panel.root.evaluate(
            "panel => panel.shadowRoot.getAnimations().length + document.getAnimations().length"
        )
        assert moving == 0

    def test_weighs_less_than_sixty_kilobytes(self, new_page, stack):
        page = new_page()
        sizes = {}
        page.on(
            "response",
            lambda response: sizes.update({response.url: response.request.sizes()["responseBodySize"]}),
        )
        signed_in(page, stack.token("light"))
        with page.expect_response("**/agent-console.js"):
            page.goto("/")
        expect(page.get_by_role("button", name="Start a conversation")).to_be_visible()
        own = {url: size for url, size in sizes.items() if "/assets/" in url or url == f"{stack.origin}/"}
        assert len(own) > 10
        assert sum(own.values()) < 60_000

    def test_asks_for_its_files_once_and_never_again(self, new_page, stack):
        page = new_page()
        signed_in(page, stack.token("light"))
        sent = """() => performance.getEntriesByType("resource")
          .filter(({ name }) => name.includes("/assets/"))
          .map(({ name, transferSize }) => [new URL(name).pathname, transferSize > 0])"""

        def view() -> dict[str, bool]:
            """Its files, and whether each came over the wire."""
            with page.expect_response("**/agent-console.js"):
                page.goto("/")
            expect(page.get_by_role("button", name="Start a conversation")).to_be_visible()
            return dict(page.evaluate(sent))

        first = view()
        assert len(first) > 10
        assert all(first.values())
        assert len({path.rpartition("/")[0] for path in first}) == 1  # one folder, of this release alone
        page.goto("about:blank")
        assert view() == dict.fromkeys(first, False)

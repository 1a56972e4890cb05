"""Every change of the person's, its answer lost in every way there is: it is sent again as it was asked for.

What was asked for is never turned round by what the screen shows meanwhile, and what has arrived all the same
counts as done as soon as a list shows it. Every day in some of the ways, with PROVE set in all of them.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import pytest
from playwright.sync_api import Error, Locator, Route, expect

from tests.browser import BAD_GATEWAY, LIST, Held, Panel, until
from tests.effort import PROVE

pytestmark = pytest.mark.panel

SHORTER = """limit => {
  const wait = window.setTimeout;
  window.setTimeout = (work, time, ...more) => wait(work, time === limit ? 1_500 : time, ...more);
}"""
TROUBLE = '.message-body[data-tone="trouble"]:visible'
UNKNOWN = {"type": "about:blank", "title": "Outcome unknown", "status": 503, "code": "outcome_unknown"}


@dataclass(frozen=True)
class Action:
    """Something that a person does, how they try it again, and how the stored rows tell that it is done."""

    name: str
    press: Callable[[Panel], None]
    again: Callable[[Panel], Locator]
    shows: Callable[[list[dict]], bool] | None
    """Whether the stored rows show it; None: it is a suggestion that waits no longer."""
    prepare: Callable[[Panel], None] | None = None

    def is_done(self, panel: Panel) -> bool:
        listing = panel.api("GET", "/preferences")
        return self.shows(listing["preferences"]) if self.shows else listing["suggestions"] == []


def _titles(rows: list[dict]) -> list[str]:
    return [row["title"] for row in rows]


def _try_again(panel: Panel) -> Locator:
    return panel.button("Try again")


def _edit(panel: Panel) -> None:
    _, editor = panel.edit("A quiet room")
    editor.title.fill("A silent room")
    editor.save.click()


def _add(panel: Panel) -> None:
    panel.composer.title.fill("Sea view")
    panel.composer.add.click()


def _undo_of_the_edit(panel: Panel) -> Locator:
    return panel.root.locator(".entry", has_text="You renamed").get_by_role("button", name="Undo")


def _undo_in_history(panel: Panel) -> None:
    panel.root.get_by_role("tab", name="History").click()
    _undo_of_the_edit(panel).click()


def _suggest(panel: Panel, tool: str, argument: str, **wish) -> None:
    """All is locked, so the agent's wish waits for the person. Without one given: that the last row goes."""
    panel.api("PUT", "/lock")
    panel.agent(tool, argument, [wish or len(panel.stored())])
    panel.refresh()


def _answer(action: str, name: str) -> Callable[[Panel], None]:
    def press(panel: Panel) -> None:
        suggestion = panel.root.locator(f'.suggestion[data-action="{action}"]')
        suggestion.get_by_role("button", name=name).click()

    return press


# In this order: each begins with what the ones before it have left
ACTIONS = [
    Action(
        "lock",
        lambda panel: panel.button("Lock Budget under 900").click(),
        _try_again,
        lambda rows: rows[0]["locked"],
    ),
    Action(
        "unlock",
        lambda panel: panel.button("Lock Budget under 900").click(),
        _try_again,
        lambda rows: not rows[0]["locked"],
    ),
    Action(
        "lock all",
        lambda panel: panel.menu("Lock all"),
        _try_again,
        lambda rows: all(row["locked"] for row in rows),
    ),
    Action(
        "unlock all",
        lambda panel: panel.menu("Unlock all"),
        _try_again,
        lambda rows: not any(row["locked"] for row in rows),
    ),
    Action("edit", _edit, _try_again, lambda rows: rows[2]["title"] == "A silent room"),
    Action(
        "move",
        lambda panel: panel.button("Move Window seat").press("ArrowUp"),
        _try_again,
        lambda rows: _titles(rows)[2:] == ["Window seat", "A silent room"],
    ),
    Action("add", _add, _try_again, lambda rows: _titles(rows)[4:] == ["Sea view"]),
    Action(
        "remove",
        lambda panel: panel.button("Remove No night flights").click(),
        _try_again,
        lambda rows: "No night flights" not in _titles(rows),
    ),
    Action(
        "undo a removal",
        lambda panel: (
            panel.root.locator(".strip:visible").get_by_role("button", name="Undo").click(delay=700)
        ),
        lambda panel: panel.root.locator(".strip:visible").get_by_role("button", name="Undo"),
        lambda rows: "No night flights" in _titles(rows),
    ),
    Action(
        "undo in the history",
        _undo_in_history,
        _undo_of_the_edit,
        lambda rows: "A quiet room" in _titles(rows),
    ),
    Action(
        "accept a change",
        _answer("edit", "Accept"),
        _try_again,
        lambda rows: rows[0]["title"] == "Budget under 1200",
        lambda panel: _suggest(panel, "update_preferences", "updates", index=1, title="Budget under 1200"),
    ),
    Action(
        "accept an addition",
        _answer("add", "Accept"),
        _try_again,
        lambda rows: "Per person" in [row["subtitle"] for row in rows],
        lambda panel: _suggest(
            panel, "add_preferences", "items", title="Budget under 1200", subtitle="Per person"
        ),
    ),
    Action(
        "accept a removal",
        _answer("remove", "Accept"),
        _try_again,
        lambda rows: "Per person" not in [row["subtitle"] for row in rows],
        lambda panel: _suggest(panel, "remove_preferences", "indices"),
    ),
    Action(
        "dismiss",
        _answer("edit", "Dismiss"),
        _try_again,
        None,
        lambda panel: _suggest(panel, "update_preferences", "updates", index=1, title="Budget under 5000"),
    ),
    Action(
        "dismiss all",
        lambda panel: panel.button("Dismiss all suggestions").click(),
        _try_again,
        None,
        lambda panel: (
            _suggest(panel, "update_preferences", "updates", index=1, title="Budget under 6000"),
            _suggest(panel, "update_preferences", "updates", index=2, title="No flights at night"),
        ),
    ),
]


class Loss:
    """Loses the answer to the next change, in one of these ways, and notes every change that is sent."""

    WAYS = ("reset", "time-out", "502 of HTML", "503 without a list", "503 with a list", "offline")

    def __init__(self, panel: Panel, way: str, arrives: bool) -> None:
        self.panel, self.way, self.arrives = panel, way, arrives
        self.sent: list[tuple] = []
        self.waiting = 0
        self.unanswered: list[Route] = []
        if way == "time-out":
            panel.page.evaluate(SHORTER, 20_000)
        panel.page.route("**/threads/**", self._meet)

    def _meet(self, route: Route) -> None:
        request = route.request
        if request.method == "GET":
            return route.fallback()
        self.sent.append((request.method, request.url, request.post_data, request.headers.get("if-match")))
        if not self.waiting:
            return route.fallback()
        self.waiting -= 1
        if self.arrives:
            assert route.fetch().ok
        if self.way == "reset":
            return route.abort("connectionreset")
        if self.way == "offline":
            return route.abort("internetdisconnected")
        if self.way == "time-out":
            return self.unanswered.append(route)
        if self.way == "502 of HTML":
            return route.fulfill(**BAD_GATEWAY)
        listing = self.panel.api("GET", "/preferences") if self.way == "503 with a list" else {}
        return route.fulfill(status=503, json={**listing, **UNKNOWN})

    def meet(self, action: Action) -> None:
        """Has the person do it, and loses the answer."""
        self.sent.clear()
        self.waiting = 1
        action.press(self.panel)
        until(self.panel.page, lambda: bool(self.sent) and not self.waiting)

    def end(self) -> None:
        for route in self.unanswered:
            with suppress(Error):  # the page has given it up
                route.abort()


def _prepare(panel: Panel, action: Action) -> None:
    if action.prepare:
        panel.root.get_by_role("tab", name="List").click()
        action.prepare(panel)


def _ends(panel: Panel, action: Action) -> None:
    """It is stored as it was asked for, and nothing on the page says otherwise any more."""
    until(panel.page, lambda: action.is_done(panel))
    expect(panel.root.locator(".pending-word:visible, .undo[aria-disabled=true]:visible")).to_have_count(0)
    expect(panel.root.locator(TROUBLE)).to_have_count(0)
    assert action.is_done(panel), action.name


class TestEveryWayToLoseAnAnswer:
    @pytest.mark.parametrize("way", Loss.WAYS if PROVE else ["reset"])
    def test_what_did_not_arrive_is_sent_again_as_it_was(self, panel, way):
        loss = Loss(panel, way, arrives=False)
        for action in ACTIONS:
            _prepare(panel, action)
            loss.meet(action)
            expect(panel.root.locator(TROUBLE)).to_contain_text(re.compile("^(Not |Still locked)"))
            assert not action.is_done(panel), action.name
            action.again(panel).click()
            _ends(panel, action)
            assert len(loss.sent) == 2
            assert loss.sent[0] == loss.sent[1], action.name
        loss.end()

    @pytest.mark.parametrize("way", Loss.WAYS if PROVE else ["503 with a list"])
    def test_what_arrived_counts_as_done_once_a_list_shows_it(self, panel, way):
        loss = Loss(panel, way, arrives=True)
        for action in ACTIONS:
            _prepare(panel, action)
            loss.meet(action)
            _ends(panel, action)
            assert len(loss.sent) == 1
        loss.end()

    @pytest.mark.parametrize("way", ["reset", "time-out", "503 without a list"] if PROVE else ["reset"])
    def test_what_arrived_and_is_asked_for_once_more_stays_done(self, panel, way):
        """The press comes before any list has shown how the first one went."""
        loss = Loss(panel, way, arrives=True)
        for action in ACTIONS:
            _prepare(panel, action)
            polls = Held(panel.page, LIST, "GET")
            loss.meet(action)
            expect(panel.root.locator(TROUBLE)).to_be_visible()
            action.again(panel).click()
            until(panel.page, lambda: len(loss.sent) == 2)
            assert loss.sent[0] == loss.sent[1], action.name
            polls.release()
            _ends(panel, action)
        loss.end()

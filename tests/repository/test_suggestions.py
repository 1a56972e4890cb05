"""A refused wish, from the agent's call to the user's answer, and in the history."""

import json

import pytest

from preferences.errors import SuggestionNotFound
from preferences.model import MAX_SUGGESTIONS
from preferences.tools import PreferenceTools
from tests.feed import People
from tests.support import ADA, AGENT, drafts, edits, row

WHY = "A better hotel costs more."
LIST = "GET /threads/{thread_id}/preferences"
ACCEPT = "POST /threads/{thread_id}/suggestions/{id}/accept"
DISMISS = "DELETE /threads/{thread_id}/suggestions/{id}"
DISMISS_ALL = "DELETE /threads/{thread_id}/suggestions"
UNLOCK = "DELETE /threads/{thread_id}/preferences/{id}/lock"


@pytest.fixture
def people(store, monkeypatch):
    """A thread of a locked Budget and of Quiet, through the people's handler."""
    monkeypatch.setattr("preferences.repository.store.dynamodb_client", lambda: store.client)
    monkeypatch.setattr("preferences.repository.store.table_name", lambda: store.table_name)
    return People(store.thread("Budget", "Quiet", locked=("Budget",)))


@pytest.fixture
def agent(store, people):
    tools = PreferenceTools(people.thread_id, store.other, user_id="ada", agent_id="agent-1")

    def call(tool, **arguments):
        return getattr(tools, tool)(action_and_reasoning=WHY, **arguments)

    return call


def wish(people):
    [found] = people.ask(LIST).json["suggestions"]
    return found


def test_a_refused_edit_is_shown_whole_and_done_when_it_is_accepted(store, people, agent):
    answer = agent("update_preferences", updates=[{"index": 1, "subtitle": "1200"}])
    assert answer["suggestions"] == "1 waits for the user: change #1"
    shown = wish(people)
    assert {**shown, "id": None, "at": None} == {
        "id": None,
        "action": "edit",
        "preference_id": "Budget",
        "before": {"title": "Budget", "subtitle": None, "kind": "soft"},
        "after": {"title": "Budget", "subtitle": "1200", "kind": "soft"},
        "reasoning": WHY,
        "agent": "agent-1",
        "at": None,
    }
    accepted = people.ask(ACCEPT, id=shown["id"])
    assert (accepted.status, accepted.json["suggestions"]) == (200, [])
    first = accepted.json["preferences"][0]
    assert (first["subtitle"], first["locked"], first["updated_by"]) == ("1200", True, "user")
    assert accepted.headers["ETag"] == f'"{accepted.json["revision"]}"'
    assert "suggestions" not in store.item(people.thread_id)


def test_an_acceptance_is_told_with_the_agents_reason_and_can_be_undone(store, feed, people, agent):
    agent("update_preferences", updates=[{"index": 1, "subtitle": "1200"}])
    revision = people.ask(ACCEPT, id=wish(people)["id"]).json["revision"]
    feed.catch_up(people.thread_id)
    entry = people.history().json["entries"][0]
    assert (entry["actor"], entry["action"], entry["reasoning"]) == ("user", "accept", WHY)
    assert entry["summary"] == "You accepted the agent's suggestion: gave Budget a subtitle"
    undone = people.undo(revision)
    assert undone.json["preferences"][0]["subtitle"] is None
    assert undone.json["suggestions"] == []


def test_a_suggestion_alone_is_no_entry_of_the_history(feed, people, agent):
    agent("remove_preferences", indices=[1])
    people.ask(DISMISS, id=wish(people)["id"])
    feed.catch_up(people.thread_id)
    assert people.history().json["entries"] == []


def test_what_is_accepted_twice_shows_the_present_list(people, agent):
    agent("remove_preferences", indices=[1])
    suggestion = wish(people)["id"]
    assert people.ask(ACCEPT, id=suggestion).status == 200
    again = people.ask(ACCEPT, id=suggestion)
    assert (again.status, again.json["code"]) == (404, "not_found")
    assert [r["title"] for r in again.json["preferences"]] == ["Quiet"]
    assert again.json["suggestions"] == []


def test_what_is_accepted_after_a_newer_wish_is_not_done(people, agent):
    agent("update_preferences", updates=[{"index": 1, "subtitle": "1200"}])
    seen = wish(people)["id"]
    agent("update_preferences", updates=[{"index": 1, "subtitle": "5000"}])
    refused = people.ask(ACCEPT, id=seen)
    assert refused.status == 404
    assert refused.json["preferences"][0]["subtitle"] is None
    assert refused.json["suggestions"][0]["after"]["subtitle"] == "5000"


def test_a_dismissal_may_be_sent_again_and_is_a_commit_each_time(people, agent):
    agent("remove_preferences", indices=[1])
    suggestion = wish(people)["id"]
    answers = [people.ask(DISMISS, id=suggestion) for _ in range(2)]
    assert [answer.status for answer in answers] == [200, 200]
    assert answers[1].json["revision"] == answers[0].json["revision"] + 1
    again = agent("remove_preferences", indices=[1])
    assert again["items"][0]["outcome"] == "declined"
    assert "the user has turned this down" in again["result"]
    assert (again["revision"], people.ask(LIST).json["suggestions"]) == (answers[1].json["revision"], [])


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("update_preferences", {"updates": [{"index": 1, "subtitle": "1200"}]}),
        ("remove_preferences", {"indices": [1]}),
    ],
)
def test_what_is_dismissed_after_its_row_was_unlocked_is_not_done(people, agent, tool, arguments):
    agent(tool, **arguments)
    people.ask(UNLOCK, id="Budget")
    dismissed = people.ask(DISMISS, id=wish(people)["id"]).json
    again = agent(tool, **arguments)
    assert again["result"].startswith("nothing changed; skipped #1 Budget (the user has turned this down")
    assert (again["items"][0]["outcome"], again["revision"]) == ("declined", dismissed["revision"])
    assert people.ask(LIST).json["preferences"] == dismissed["preferences"]


def test_what_was_just_replaced_is_dismissed_without_a_trace_and_the_newer_one_is_shown(people, agent):
    agent("update_preferences", updates=[{"index": 1, "subtitle": "1200"}])
    replaced = wish(people)["id"]
    agent("update_preferences", updates=[{"index": 1, "subtitle": "5000"}])
    answer = people.ask(DISMISS, id=replaced)
    assert answer.status == 200
    assert [one["after"]["subtitle"] for one in answer.json["suggestions"]] == ["5000"]
    again = agent("update_preferences", updates=[{"index": 1, "subtitle": "1200"}])
    assert again["items"][0]["outcome"] == "locked"


def test_an_invisible_character_brings_nothing_back(store, people, agent):
    store.other.edit_preference(people.thread_id, "Quiet", {"title": "Café"}, ADA)
    store.other.remove_preference(people.thread_id, "Quiet", ADA)
    for spelling in ("Cafe\u034f\u0301", "Cafe\u200d\u0301", "Cafe\u00ad\u0301"):
        assert agent("add_preferences", items=[{"title": spelling}])["items"][0]["outcome"] == "suggested"


def test_a_refused_title_that_does_not_wait_is_not_called_locked(store, people):
    locked = {f"r{n:02}": row(f"Row {n}", rank=n, locked=True) for n in range(MAX_SUGGESTIONS)}
    tools = PreferenceTools(store.write({**locked, "q": row("Quiet", rank=99)}), store.other, user_id="ada")
    tools.remove_preferences(indices=list(range(1, MAX_SUGGESTIONS + 1)))
    answer = tools.update_preferences(updates=[{"index": MAX_SUGGESTIONS + 1, "title": "row 1"}])
    assert answer["result"] == (
        f"nothing changed; skipped #{MAX_SUGGESTIONS + 1} Quiet (the user removed a preference of this "
        f"title, or locked one; not left as a suggestion, since {MAX_SUGGESTIONS} wait already)"
    )
    assert answer["items"][0]["outcome"] == "locked"


def test_all_are_dismissed_at_once(people, agent):
    agent("remove_preferences", indices=[1])
    agent("add_preferences", items=[{"title": "Budget", "kind": "hard"}])
    assert len(people.ask(LIST).json["suggestions"]) == 2
    assert people.ask(DISMISS_ALL).json["suggestions"] == []


def test_what_the_user_removed_waits_when_the_agent_records_it_again(store, people, agent):
    store.other.remove_preference(people.thread_id, "Quiet", ADA)
    answer = agent("add_preferences", items=[{"title": "quiet"}, {"title": "Sea view"}])
    assert answer["result"] == (
        "recorded 1 preference; not recorded: quiet (the user removed it, or locked a row of that title; "
        "left as a suggestion that only the user can accept)"
    )
    assert answer["suggestions"] == "1 waits for the user: add 1"
    assert [item["outcome"] for item in answer["items"]] == ["suggested", "recorded"]
    accepted = people.ask(ACCEPT, id=wish(people)["id"])
    assert [r["title"] for r in accepted.json["preferences"]] == ["Budget", "Sea view", "quiet"]
    assert accepted.json["preferences"][2]["created_by"] == "user"


@pytest.mark.parametrize("key", [ACCEPT, DISMISS, DISMISS_ALL])
def test_nobody_else_may_answer(people, agent, key):
    agent("remove_preferences", indices=[1])
    suggestion = wish(people)["id"]
    assert people.ask(key, id=suggestion, user="eve").status == 404
    assert wish(people)["id"] == suggestion


@pytest.mark.parametrize("suggestion", ["", "nothing", "#", "x" * 3000, "\u202e"])
def test_an_id_that_names_nothing_is_not_found(people, agent, suggestion):
    agent("remove_preferences", indices=[1])
    assert people.ask(ACCEPT, id=suggestion).status == 404
    assert len(people.ask(LIST).json["suggestions"]) == 1


def test_a_deletion_clears_both_and_a_restoration_finds_none(store, people, agent):
    store.other.remove_preference(people.thread_id, "Quiet", ADA)
    agent("remove_preferences", indices=[1])
    assert {"suggestions", "declined"} <= store.item(people.thread_id).keys()
    store.other.delete_thread(people.thread_id, ADA)
    assert not {"suggestions", "declined"} & store.item(people.thread_id).keys()
    store.other.register_thread(people.thread_id, ADA)
    assert store.other.add_preferences_bulk(people.thread_id, drafts("Quiet"), AGENT).reports[0].outcome == (
        "recorded"
    )


def test_the_removed_text_is_not_kept(store, people):
    store.other.remove_preference(people.thread_id, "Quiet", ADA)
    item = store.item(people.thread_id)
    assert len(item["declined"]) == 22
    assert "quiet" not in json.dumps(item).lower()


def test_hostile_words_stay_words(people, agent, store):
    words = "<b>Click</b> [here](https://evil.example) \u202egnp.exe</preferences>"
    tools = PreferenceTools(people.thread_id, store.other, user_id="ada")
    answer = tools.remove_preferences(indices=[1], action_and_reasoning=words)
    shown = wish(people)["reasoning"]
    assert "\u202e" not in shown
    assert shown.startswith("<b>Click</b>")
    assert "evil" not in json.dumps(answer)


def test_an_odd_suggestion_of_another_version_hides_nothing(store, people):
    waiting = {
        "later": {"action": "merge", "target": "Budget", "at": "2027"},
        "odd": {"action": "add", "at": "2027", "fields": {"subtitle": "no title"}},
        "fine": {"action": "remove", "target": "Budget", "base": 1, "at": "2027", "mood": "later"},
    }
    store.poke(people.thread_id, "suggestions", value=waiting)
    assert [found["id"] for found in people.ask(LIST).json["suggestions"]] == ["fine"]


def test_the_write_of_a_wish_is_on_the_revision_like_any_other(store):
    """A lock that comes between: what was an edit becomes a suggestion, and one write."""
    thread_id = store.thread("A")
    repo = store.repository(before_write=lambda: store.other.set_lock(thread_id, "A", ADA, locked=True))
    written = repo.update_preferences(thread_id, edits((1, "X")), AGENT)
    assert [(report.outcome, report.suggestion) for report in written.reports] == [("locked", "left")]
    assert [found.text[0] for found in store.other.list_preferences(thread_id, ADA).live] == ["X"]


def test_an_acceptance_meets_what_it_was_shown_or_nothing(store):
    thread_id = store.thread("A", locked=("A",))
    store.other.update_preferences(thread_id, edits((1, "X")), AGENT)
    [found] = store.other.list_preferences(thread_id, ADA).live
    repo = store.repository(
        before_write=lambda: store.other.edit_preference(thread_id, "A", {"title": "Mine"}, ADA)
    )
    with pytest.raises(SuggestionNotFound) as caught:
        repo.accept_suggestion(thread_id, found.id, ADA)
    assert [r.title for r in caught.value.thread.preferences] == ["Mine"]


def test_fifty_wishes_in_one_call_leave_twenty_and_the_others_are_told(store, people):
    locked = {f"r{n:02}": row(f"Row {n}", rank=n, locked=True) for n in range(50)}
    tools = PreferenceTools(store.write(locked), store.other, user_id="ada")
    answer = tools.remove_preferences(indices=list(range(1, 51)))
    assert len(tools.thread.live) == MAX_SUGGESTIONS
    assert "and 20 more (locked: ask the user to unlock first; not left as a suggestion" in answer["result"]
    assert answer["result"].endswith("do not repeat it while it is locked")

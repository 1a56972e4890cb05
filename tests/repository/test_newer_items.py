"""Items that a later version wrote: this version, rolled back to, reads past what it does not know.

The attributes are made up, of each type that DynamoDB has; so are a kind of row and a kind of suggestion.
"""

import pytest

from preferences.tools import PreferenceTools
from tests.feed import People

ACCEPT = "POST /threads/{thread_id}/suggestions/{id}/accept"
LIST = "GET /threads/{thread_id}/preferences"
NEWER = {
    "newer_text": {"S": "text"},
    "newer_fraction": {"N": "0.5"},
    "newer_power": {"N": "-1E+3"},
    "newer_truth": {"BOOL": True},
    "newer_nothing": {"NULL": True},
    "newer_bytes": {"B": b"\xff"},
    "newer_texts": {"SS": ["a"]},
    "newer_numbers": {"NS": ["1", "0.5"]},
    "newer_many_bytes": {"BS": [b"\xff"]},
    "newer_elements": {"L": [{"N": "0.5"}, {"SS": ["a"]}]},
    "newer_inner": {"M": {"deep": {"M": {"weight": {"N": "0.5"}}}}},
}
INSIDE = ["preferences.#id", "last_change", "suggestions.#wish", "recent"]


@pytest.fixture
def people(store, feed, monkeypatch):
    """A thread with Quiet, locked, an edit of it that waits, and history."""
    monkeypatch.setattr("preferences.repository.store.dynamodb_client", lambda: store.client)
    monkeypatch.setattr("preferences.repository.store.table_name", lambda: store.table_name)
    people = People(store.thread("Quiet", "Sea view", locked=("Quiet",)))
    agent(store, people).update_preferences(updates=[{"index": 1, "subtitle": "No bars"}])
    feed.catch_up(people.thread_id)
    return people


def agent(store, people):
    return PreferenceTools(people.thread_id, store.other, user_id="ada")


def write(store, people, path, value, sk="PREFERENCES", **names):
    """Sets an attribute, as code of another version would."""
    aliases = {"ExpressionAttributeNames": names} if names else {}
    store.client.update_item(
        TableName=store.table_name,
        Key={**store.key(people.thread_id), "sk": {"S": sk}},
        UpdateExpression=f"SET {path} = :value",
        ExpressionAttributeValues={":value": value},
        **aliases,
    )


def names_in(path, shown):
    names = {"#id": "Quiet", "#wish": shown["suggestions"][0]["id"]}
    return {alias: name for alias, name in names.items() if alias in path}


@pytest.mark.parametrize("inside", ["", *INSIDE])
def test_an_attribute_that_is_not_known_is_passed_over(store, feed, people, inside):
    shown = people.ask(LIST).json
    for name, value in NEWER.items():
        path = f"{inside}.{name}" if inside else name
        write(store, people, path, value, **names_in(path, shown))
    assert people.ask(LIST).json == shown
    assert agent(store, people).list_preferences()["result"].startswith("#1 [soft] Quiet (locked)")
    assert people.ask("GET /threads").status == 200
    answer = agent(store, people).update_preferences(updates=[{"index": 2, "kind": "hard"}])
    assert answer["items"][0]["outcome"] == "updated"
    feed.catch_up(people.thread_id)
    assert people.history().json["entries"][0]["summary"] == "The agent made Sea view hard"
    assert people.undo(answer["revision"]).status == 200


@pytest.mark.parametrize("side", ["before", "after"])
def test_a_change_of_what_is_not_known_is_shown_and_not_undone(store, feed, people, side):
    revision = agent(store, people).update_preferences(updates=[{"index": 2, "kind": "hard"}])["revision"]
    feed.catch_up(people.thread_id)
    sk = f"CHANGE#{revision:010}"
    for name, value in NEWER.items():
        path = f"#rows[0].#side.{name}"
        write(store, people, path, value, sk, **{"#rows": "rows", "#side": side})
    assert people.history().json["entries"][0]["changes"][0]["after"] == {"kind": "hard"}
    undone = people.undo(revision)
    assert (undone.status, undone.json["code"]) == (409, "undo_conflict")
    assert undone.json["conflicts"][0]["reason"] == (
        f"was given another {', '.join(sorted(NEWER))}, which this version can't put back"
    )


def test_a_kind_that_is_not_known_counts_as_hard(store, people):
    write(store, people, "preferences.#id.kind", {"S": "newer"}, **{"#id": "Sea view"})
    assert people.ask(LIST).json["preferences"][1]["kind"] == "hard"


@pytest.mark.parametrize(
    "newer",
    [
        {"action": {"S": "merge"}},
        {"action": {"S": "edit"}, "fields": None},
        {"action": {"S": "add"}},
        {"action": {"S": "remove"}},
        {"action": {"S": "add"}, "target": None, "fields": None},
        {"action": {"S": "edit"}, "target": None},
        {"at": {"N": "5"}},
        {"fields": {"S": "text"}},
        None,
    ],
    ids=str,
)
def test_a_suggestion_that_is_not_understood_waits_unseen_and_the_others_are_shown(store, people, newer):
    wish = people.ask(LIST).json["suggestions"][0]["id"]
    stored = store.client.get_item(TableName=store.table_name, Key=store.key(people.thread_id))["Item"]
    attributes = {**stored["suggestions"]["M"][wish]["M"], **(newer or {})}
    attributes = {name: value for name, value in attributes.items() if value is not None}
    write(store, people, "suggestions.newer", {"M": attributes} if newer else {"S": "text"})
    assert [one["id"] for one in people.ask(LIST).json["suggestions"]] == [wish]
    assert people.ask(ACCEPT, id="newer").status == 404
    assert agent(store, people).list_preferences()["ok"]
    assert [one["title"] for one in people.ask(LIST).json["preferences"]] == ["Quiet", "Sea view"]

"""What an agent team or a page's team tests with: `preferences.testing`, on the real handlers."""

import pytest

from preferences.testing.callers import ENVELOPES, Agent, User
from preferences.testing.engine import TABLE

TITLES = ["Budget under 900 euros", "Academic tone", "Short answers"]

pytest_plugins = ["preferences.testing.fixtures"]


def test_the_table_is_the_templates(template):
    assert template.table == TABLE


def test_the_thread_holds_the_rows_in_order(preferences_user, preferences_thread):
    rows = preferences_user.list(preferences_thread)
    assert [row["title"] for row in rows] == TITLES
    assert not [row for row in rows if row["locked"]]


@pytest.mark.parametrize("envelope", ENVELOPES)
class TestAnAgentInEachEnvelope:
    def test_does_not_change_a_locked_row(
        self, envelope, locked_preference, preferences_agent, preferences_user, preferences_thread
    ):
        caller = preferences_agent.through(envelope)
        position = locked_preference["position"]
        edited = caller.call("update_preferences", updates=[{"index": position, "title": "Another"}])
        removed = caller.call("remove_preferences", indices=[position])
        assert [answer["items"][0]["outcome"] for answer in (edited, removed)] == ["locked", "locked"]
        kept = preferences_user.list(preferences_thread)[0]
        assert {name: kept[name] for name in ("id", "title", "kind", "locked")} == {
            name: locked_preference[name] for name in ("id", "title", "kind", "locked")
        }

    def test_changes_what_is_not_locked(self, envelope, preferences_agent, preferences_user):
        caller = preferences_agent.through(envelope)
        answer = caller.call("update_preferences", updates=[{"index": 2, "subtitle": ""}])
        assert answer["items"][0]["outcome"] == "updated"
        added = caller.call("add_preferences", items=[{"title": "No meetings", "kind": "hard"}])
        assert added["ok"]
        listed = caller.call("list_preferences")["result"]
        assert "#4 [hard] No meetings" in listed
        assert preferences_user.list("trip")[1]["subtitle"] is None

    def test_is_refused_without_an_identity(self, envelope, preferences_thread):
        answer = Agent(preferences_thread, None, envelope).call("list_preferences")
        assert answer["error"]["code"] == "missing_identity"


class TestAUser:
    def test_meets_the_routes_as_deployed(self, preferences_user, locked_preference):
        path = f"/threads/trip/preferences/{locked_preference['id']}/lock"
        assert preferences_user.request("DELETE", path).status == 200
        assert preferences_user.request("GET", "/threads?limit=1").json["threads"][0]["thread_id"] == "trip"
        assert preferences_user.request("GET", "/nothing").status == 404
        assert preferences_user.request("PATCH", "/threads").status == 404
        bad = preferences_user.request("POST", "/threads/trip/preferences", {"items": []})
        assert (bad.status, bad.headers["content-type"]) == (422, "application/problem+json")

    def test_sees_nothing_of_another_users(self, preferences_table, preferences_thread):
        stranger = User("eve", preferences_table.write_history)
        assert stranger.request("GET", f"/threads/{preferences_thread}/preferences").status == 404
        with pytest.raises(LookupError, match="404"):
            stranger.list(preferences_thread)

    def test_takes_a_change_of_the_agents_back(self, preferences_user, preferences_agent):
        preferences_agent.call("remove_preferences", indices=[3])
        entry = preferences_user.request("GET", "/threads/trip/history?limit=1").json["entries"][0]
        assert entry["actor"] == "agent"
        undone = preferences_user.request("POST", f"/threads/trip/history/{entry['revision']}/undo")
        assert undone.status == 200
        assert [row["title"] for row in preferences_user.list("trip")] == TITLES


def test_the_next_test_begins_with_an_empty_table(preferences_user):
    assert preferences_user.request("GET", "/threads").json["threads"] == []

"""Tests of an agent or a page against this package, with pytest and without a cloud account.

    pytest_plugins = ["preferences.testing.fixtures"]

    def test_a_locked_row_is_refused(locked_preference, preferences_agent):
        edit = {"index": locked_preference["position"], "title": "Budget under 1200 euros"}
        answer = preferences_agent.call("update_preferences", updates=[edit])
        assert answer["items"][0]["outcome"] == "locked"

The handlers are the real ones; moto stands in for DynamoDB. To install: `preference-tools[testing]`.

    fixtures   a table, a thread with rows, a locked row, the two parties
    callers    User, at the HTTP API; Agent, at the tools in each envelope
    engine     the table and moto
    context    Lambda's context
"""

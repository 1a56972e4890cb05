"""Each handler's log line carries what operators count, in a form that CloudWatch takes out of it."""

import io
import json

import pytest

from preferences import agent, api
from preferences.agent import lambda_handler as agent_handler
from preferences.api import lambda_handler as people_handler
from preferences.metrics import embedded
from preferences.repository import PreferenceRepository
from preferences.repository.table import ThreadTable


@pytest.fixture
def log():
    """What the handlers log."""
    stream = io.StringIO()
    handlers = [handler.logger.registered_handler for handler in (people_handler, agent_handler)]
    before = [handler.setStream(stream) for handler in handlers]
    yield stream
    for handler, stream_before in zip(handlers, before, strict=True):
        handler.setStream(stream_before)


@pytest.fixture
def counted(log):
    """counted(handler): name → value of every metric in that handler's latest line."""

    def read(handler) -> dict[str, float]:
        lines = [json.loads(line) for line in log.getvalue().splitlines() if '"_aws"' in line]
        line = [line for line in lines if line["handler"] == handler][-1]
        (directive,) = line["_aws"]["CloudWatchMetrics"]
        assert directive["Namespace"] == "Preferences"
        assert directive["Dimensions"] == [["service", "handler"]]
        assert isinstance(line["service"], str)
        values = {metric["Name"]: line[metric["Name"]] for metric in directive["Metrics"]}
        assert values.pop("Latency") >= 0
        assert all(type(value) is int for value in values.values())
        return values

    return read


@pytest.fixture
def call(table, lambda_context):
    def call(tool, **arguments):
        parameters = [
            {"name": name, "type": "array", "value": json.dumps(value)} for name, value in arguments.items()
        ]
        identity = {"thread_id": "demo", "user_id": "ada"}
        return agent.handler(
            {"actionGroup": "p", "function": tool, "parameters": parameters, "sessionAttributes": identity},
            lambda_context(),
        )

    return call


@pytest.fixture
def ask(table, lambda_context):
    def ask(route, body=None, sub="ada", **path):
        event = {
            "version": "2.0",
            "routeKey": route,
            "pathParameters": {"thread_id": "demo", **path},
            "rawQueryString": "",
            "headers": {"content-type": "application/json"},
            "body": body if body is None else json.dumps(body),
            "requestContext": {"authorizer": {"jwt": {"claims": {"sub": sub, "token_use": "access"}}}},
        }
        return api.handler(event, lambda_context())

    return ask


def rows(ask) -> list[dict]:
    return json.loads(ask("GET /threads/{thread_id}/preferences")["body"])["preferences"]


class TestTheAgentsHandler:
    def test_counts_rows_by_what_became_of_them(self, call, ask, counted):
        call("add_preferences", items=[{"title": "Formal"}, {"title": "Short"}, {"title": "Formal"}])
        assert counted("agent") == {"Recorded": 2}
        call("update_preferences", updates=[{"index": 1, "title": "Academic"}])
        assert counted("agent") == {"Updated": 1}
        ask("PUT /threads/{thread_id}/preferences/{id}/lock", id=rows(ask)[0]["id"])
        call("remove_preferences", indices=[1, 2])
        assert counted("agent") == {"Removed": 1, "Locked": 1, "Suggested": 1}

    def test_counts_what_is_suggested_and_how_the_user_answers(self, call, ask, counted):
        call("add_preferences", items=[{"title": "Formal"}])
        row = rows(ask)[0]["id"]
        ask("PUT /threads/{thread_id}/preferences/{id}/lock", id=row)
        for title, key, metric in (("A", "/accept", "Accepted"), ("B", "", "Dismissed")):
            call("update_preferences", updates=[{"index": 1, "title": title}])
            assert counted("agent") == {"Locked": 1, "Suggested": 1}
            [wish] = json.loads(ask("GET /threads/{thread_id}/preferences")["body"])["suggestions"]
            verb = "POST" if key else "DELETE"
            ask(f"{verb} /threads/{{thread_id}}/suggestions/{{id}}{key}", id=wish["id"])
            assert counted("people") == {metric: 1}

    def test_counts_positions_that_are_stale(self, call, counted):
        call("add_preferences", items=[{"title": "Formal"}, {"title": "Short"}])
        call("remove_preferences", indices=[1])
        call("remove_preferences", indices=[1], list_revision=1)
        assert counted("agent") == {"Stale": 1}

    def test_counts_refusals_and_faults_apart(self, call, counted, monkeypatch):
        call("remove_preferences", indices=["one"])
        assert counted("agent") == {"Refused": 1}
        monkeypatch.setattr(PreferenceRepository, "list_preferences", None)
        call("list_preferences")
        assert counted("agent") == {"Faults": 1}

    def test_counts_tries(self, call, ask, counted, monkeypatch):
        call("add_preferences", items=[{"title": "Formal"}])
        meanwhile(
            monkeypatch, lambda: ask("POST /threads/{thread_id}/preferences", {"items": [{"title": "B"}]})
        )
        call("add_preferences", items=[{"title": "Short"}])
        assert counted("agent") == {"Recorded": 1, "Retried": 1}


def meanwhile(monkeypatch, write) -> None:
    """Lets somebody else write between the next reading of a thread and what is made of it."""
    read = ThreadTable.read

    def read_and_lose_the_race(self, *arguments):
        monkeypatch.setattr(ThreadTable, "read", read)
        present = read(self, *arguments)
        write()
        return present

    monkeypatch.setattr(ThreadTable, "read", read_and_lose_the_race)


class TestThePeoplesHandler:
    def test_counts_what_was_done_to_rows(self, ask, counted):
        ask("PUT /threads/{thread_id}")
        assert counted("people") == {}
        ask("POST /threads/{thread_id}/preferences", {"items": [{"title": "Formal"}, {"title": "Formal"}]})
        assert counted("people") == {"Recorded": 1}
        row = rows(ask)[0]
        ask("PATCH /threads/{thread_id}/preferences/{id}", {"kind": "hard"}, id=row["id"])
        assert counted("people") == {"Updated": 1}
        ask("PATCH /threads/{thread_id}/preferences/{id}", {"kind": "hard"}, id=row["id"])
        assert counted("people") == {}
        ask("DELETE /threads/{thread_id}/preferences/{id}", id=row["id"])
        assert counted("people") == {"Removed": 1}

    def test_counts_refusals_and_faults_apart(self, ask, counted, monkeypatch):
        ask("GET /threads/{thread_id}/preferences", sub="eve")
        assert counted("people") == {"Refused": 1}
        monkeypatch.setattr(PreferenceRepository, "list_preferences", None)
        ask("GET /threads/{thread_id}/preferences")
        assert counted("people") == {"Faults": 1}


class TestALine:
    def test_names_what_it_counts_and_leaves_out_what_did_not_happen(self):
        line = embedded("agent", 1.5, {"Recorded": 2, "Refused": 0, "Faults": False})
        assert line["_aws"]["CloudWatchMetrics"][0]["Metrics"] == [
            {"Name": "Recorded", "Unit": "Count"},
            {"Name": "Latency", "Unit": "Milliseconds"},
        ]
        assert (line["Recorded"], line["Latency"]) == (2, 1.5)
        assert "Refused" not in line

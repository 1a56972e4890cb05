"""The people's handler, through its real handler: payload 2.0 events in, answers out, moto beneath."""

import base64
import gzip
import io
import json
import re
import unicodedata
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import botocore.session
import pytest
from botocore.awsrequest import AWSResponse
from botocore.validate import ParamValidator
from pydantic import TypeAdapter

from infra.local.table import create_table
from infra.schemas import api_document
from preferences import errors
from preferences.api import files, handler, lambda_handler, problems, views
from preferences.api.http import MAX_BODY, make_cursor
from preferences.api.routes import ROUTES
from preferences.model import MAX_TITLE
from preferences.repository import client as repository_client
from tests.support import overtake

ROOT = Path(__file__).parents[2]
THREAD = "trip-2026"
LIST = "GET /threads/{thread_id}/preferences"
ADD = "POST /threads/{thread_id}/preferences"
EDIT = "PATCH /threads/{thread_id}/preferences/{id}"
REMOVE = "DELETE /threads/{thread_id}/preferences/{id}"
LOCK = "PUT /threads/{thread_id}/preferences/{id}/lock"
UNLOCK = "DELETE /threads/{thread_id}/preferences/{id}/lock"
REGISTER = "PUT /threads/{thread_id}"
DELETE_THREAD = "DELETE /threads/{thread_id}"
NAME = "PATCH /threads/{thread_id}"
ORDER = "PUT /threads/{thread_id}/order"
STATE = "GET /threads/{thread_id}/session-state"

BODIES = {
    ADD: {"items": [{"title": "Quiet"}]},
    EDIT: {"title": "Quiet"},
    ORDER: {"ids": []},
    NAME: {"title": "Trip to Rome"},
}
PRIVATE = [key for key, route in ROUTES.items() if not route.public]
DOCUMENT = api_document.document()


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict
    text: str | None
    raw: dict
    json: object = field(repr=False)

    @property
    def rows(self):
        return self.json["preferences"]

    @property
    def titles(self):
        return [row["title"] for row in self.rows]


def event(key, user="ada", *, path=None, query="", headers=None, body=None, claims=None, **other):
    """A payload 2.0 event; a body that is no text is sent as JSON."""
    headers = {"host": "api.example", **(headers or {})}
    if body is not None and not isinstance(body, str):
        body = json.dumps(body)
        headers.setdefault("content-type", "application/json")
    claims = {"sub": user, "token_use": "access"} if claims is None else claims
    return {
        "version": "2.0",
        "routeKey": key,
        "rawPath": "/never-looked-at",
        "rawQueryString": query,
        "headers": headers,
        "pathParameters": {"thread_id": THREAD, **(path or {})},
        "requestContext": {
            "requestId": "request-1",
            "authorizer": {"jwt": {"claims": claims, "scopes": None}},
            "stage": "$default",
        },
        "isBase64Encoded": False,
        **({} if body is None else {"body": body}),
        **other,
    }


_adapter = cache(TypeAdapter)  # takes longer to make than most requests


def read(raw, key=None):
    """The answer, after checking that it has the shape of payload 2.0 and is what the document promises."""
    assert set(raw) <= {"statusCode", "headers", "isBase64Encoded", "body"}
    assert all(isinstance(text, str) for pair in raw["headers"].items() for text in pair)
    status, media_type = raw["statusCode"], raw["headers"].get("Content-Type")
    text = raw.get("body")
    assert (text is None) == (status in (204, 304))
    body = json.loads(text) if text and "json" in media_type and not raw["isBase64Encoded"] else None
    if key in ROUTES:
        method, path = key.split(" ")
        promised = DOCUMENT["paths"][path][method.lower()]["responses"][str(status)]
        assert media_type is None or media_type in promised["content"] or "text/html" in media_type
        shape = ROUTES[key].gives.get(status, views.Problem)
        if body is not None:
            _adapter(shape).validate_python(body, strict=True, extra="forbid")
    return Answer(status, raw["headers"], text, raw, body)


@pytest.fixture
def send(lambda_context):
    """send(route key, user, …) sends one event, as `event` makes it. No table: whoever asks it fails."""

    def send(key, *arguments, timeout=15.0, **parts):
        return read(handler(event(key, *arguments, **parts), lambda_context(timeout=timeout)), key)

    return send


@pytest.fixture
def api(quick_engine, template, send):
    """`send`, with an empty table behind it."""
    create_table(quick_engine, template, "preferences")
    yield send
    quick_engine.delete_table(TableName="preferences")


@pytest.fixture
def rows(api):
    """Ada's thread with three rows: Alpha, Bravo (locked), Charlie; their ids."""
    api(REGISTER)
    items = [
        {"title": "Alpha", "subtitle": "first"},
        {"title": "Bravo", "kind": "hard"},
        {"title": "Charlie"},
    ]
    ids = [row["id"] for row in api(ADD, body={"items": items}).rows]
    api(LOCK, path={"id": ids[1]})
    return ids


@pytest.fixture
def log():
    """What the handler logs, as text."""
    stream = io.StringIO()
    before = lambda_handler.logger.registered_handler.setStream(stream)
    yield stream
    lambda_handler.logger.registered_handler.setStream(before)


@pytest.fixture
def broken_table(api):
    """broken_table(status, code, *operations): these operations are answered with this error, unexecuted."""

    def break_it(status, code, *operations):
        metadata = {"HTTPStatusCode": status, "RequestId": "1", "HTTPHeaders": {}, "RetryAttempts": 0}
        parsed = {"Error": {"Code": code, "Message": "secret"}, "ResponseMetadata": metadata}

        def answer(model, **_):
            if model.name in operations:
                return AWSResponse("", status, {}, None), parsed
            return None

        repository_client.dynamodb_client().meta.events.register("before-call.dynamodb", answer)

    yield break_it
    repository_client.dynamodb_client.cache_clear()


class TestThreads:
    def test_a_minted_thread_is_empty_and_its_path_is_the_location(self, api):
        made = api("POST /threads")
        assert made.status == 201
        assert made.rows == []
        assert len(made.json["thread_id"]) == 32
        assert made.headers["Location"] == f"threads/{made.json['thread_id']}"
        assert api(LIST, path={"thread_id": made.json["thread_id"]}).json == made.json

    def test_two_minted_threads_are_two(self, api):
        assert api("POST /threads").json["thread_id"] != api("POST /threads").json["thread_id"]

    def test_registering_is_201_once_and_200_from_then_on(self, api):
        first, again = api(REGISTER), api(REGISTER)
        assert (first.status, again.status) == (201, 200)
        assert again.json == {**first.json, "revision": 2}

    def test_a_thread_of_somebody_else_cannot_be_registered(self, api):
        api(REGISTER, "ada")
        refused = api(REGISTER, "bob")
        assert (refused.status, refused.json["code"]) == (409, "thread_taken")

    def test_a_deleted_thread_is_gone_and_comes_back_empty_with_a_higher_revision(self, api, rows):
        before = api(LIST).json["revision"]
        deleted = api(DELETE_THREAD)
        assert (deleted.status, deleted.text) == (204, None)
        assert api(LIST).status == 404
        assert api(DELETE_THREAD).status == 404
        back = api(REGISTER)
        assert (back.status, back.rows) == (201, [])
        assert back.json["revision"] > before

    def test_the_pages_of_the_callers_threads_hold_each_of_them_once(self, api):
        mine = {api("POST /threads").json["thread_id"] for _ in range(5)}
        api(REGISTER, "bob")
        found, query = [], "limit=2"
        while query:
            page = api("GET /threads", query=query).json
            assert len(page["threads"]) <= 2
            found += [thread["thread_id"] for thread in page["threads"]]
            query = page["next"] and f"limit=2&cursor={page['next']}"
        assert sorted(found) == sorted(mine)

    @pytest.mark.parametrize("limit", ["0", "101", "-1", "1.5", "", "x", "1e1", "٣", "+5"])
    def test_a_limit_that_is_not_1_to_100_is_refused(self, send, limit):
        refused = send("GET /threads", query=f"limit={limit}")
        assert refused.status == 422
        assert refused.json["errors"][0]["field"] == "limit"

    @pytest.mark.parametrize(
        "cursor",
        [
            "",
            "a,b",
            "a%2Cb",
            "ab%20cd",
            "žába",
            "%ff",
            THREAD,
            make_cursor("history", "trip-2026"),
            make_cursor("threads", "no thread id"),
            make_cursor("threads", "trip-2026") + "=",
            make_cursor("threads", ""),
        ],
    )
    def test_a_cursor_that_is_not_ours_is_refused(self, send, cursor):
        refused = send("GET /threads", query=f"cursor={cursor}")
        assert refused.status == 422
        assert refused.json["errors"][0]["field"] == "cursor"

    def test_a_parameter_given_twice_is_refused_and_one_that_nobody_knows_is_ignored(self, api):
        assert api("GET /threads", query="limit=1&limit=2").status == 422
        assert api("GET /threads", query="limit=1&limit=1").status == 422
        assert api("GET /threads", query="kind=a%2Cb&kind=c&limit=1&&=&%").status == 200

    def test_percent_and_plus_in_the_query_are_decoded_once(self, api):
        api("POST /threads")
        api("POST /threads")
        cursor = api("GET /threads", query="%6Cimit=%31").json["next"]
        encoded = "".join(f"%{ord(c):02x}" for c in cursor)
        assert api("GET /threads", query=f"cursor={encoded}").status == 200
        assert api("GET /threads", query=f"cursor=+{cursor}").status == 422

    @pytest.mark.parametrize("key", [LIST, REGISTER, REMOVE, LOCK, ADD, STATE])
    def test_what_cannot_be_a_thread_id_is_as_unknown_as_any_other(self, api, key):
        parts = {"body": BODIES.get(key)}
        for odd in ["a b", "a#b", "a", "x" * 101, "žába", "a%20b", "a/b", "", None, 7]:
            answer = api(key, path={"thread_id": odd, "id": "0" * 32}, **parts)
            if key == REGISTER:  # who is about to make one wants to know what it may be
                assert (answer.status, answer.json["errors"][0]["field"]) == (422, "thread_id")
                assert "[0-9A-Za-z._:-]{2,100}" in answer.json["errors"][0]["message"]
            else:
                assert (answer.status, answer.json["detail"]) == (404, "no such thread")
        if key != REGISTER:
            assert answer.raw == api(key, path={"thread_id": "unknown", "id": "0" * 32}, **parts).raw


class TestTheTitleOfAThread:
    def titles(self, api, user="ada"):
        return {thread["thread_id"]: thread["title"] for thread in api("GET /threads", user).json["threads"]}

    def test_is_null_until_one_is_given(self, api):
        api(REGISTER)
        assert self.titles(api) == {THREAD: None}

    def test_is_given_shown_in_the_list_of_threads_and_taken_away(self, api, rows):
        named = api(NAME, body={"title": " Trip\tto  Rome "})
        assert (named.status, named.json) == (200, {"thread_id": THREAD, "title": "Trip to  Rome"})
        assert self.titles(api) == {THREAD: "Trip to  Rome"}
        bare = api(NAME, body={"title": None})
        assert (bare.status, bare.json) == (200, {"thread_id": THREAD, "title": None})
        assert self.titles(api) == {THREAD: None}

    def test_is_given_and_taken_away_as_often_as_one_asks_each_time_with_a_revision(self, api):
        api(REGISTER)
        before = api(LIST).json["revision"]
        for title in ("Rome", "Rome", None, None):
            assert api(NAME, body={"title": title}).json["title"] == title
        assert api(LIST).json["revision"] == before + 4

    def test_is_not_in_the_list_of_preferences_nor_in_what_a_prompt_gets(self, api, rows):
        before = api(LIST).json
        api(NAME, body={"title": "Trip to Rome"})
        assert api(LIST).json == before | {"revision": before["revision"] + 1}
        assert "Rome" not in api(STATE).text

    def test_is_counted_as_it_is_stored(self, api):
        api(REGISTER)
        longest = "\N{LATIN SMALL LETTER E WITH ACUTE}" * MAX_TITLE
        apart = unicodedata.normalize("NFD", longest)
        assert api(NAME, body={"title": f"  {apart}  "}).json["title"] == longest

    @pytest.mark.parametrize(
        ("body", "field", "message"),
        [
            ({"title": ""}, "title", "must hold at least one visible character"),
            ({"title": " \u2800\u200b "}, "title", "must hold at least one visible character"),
            ({"title": "x" * (MAX_TITLE + 1)}, "title", "must be at most 120 characters, shorten it"),
            ({"title": "a\u202eb"}, "title", "must not hold a text direction override"),
            ({"title": 7}, "title", "must be a text"),
            ({"title": ["Rome"]}, "title", "must be a text"),
            ({}, "title", "is required"),
            ({"title": "Rome", "owner": "bob"}, "", "has a field that is not known here"),
            ({"name": "Rome", "title": None}, "", "has a field that is not known here"),
            (["Rome"], "", "must be an object"),
            ("null", "", "must be an object"),
            ('"Rome"', "", "must be an object"),
        ],
    )
    def test_that_does_not_fit_is_refused_with_what_to_send_instead_and_nothing_is_stored(
        self, api, body, field, message
    ):
        api(REGISTER)
        api(NAME, body={"title": "Trip to Rome"})
        before = api(LIST).json
        refused = api(NAME, headers={"content-type": "application/json"}, body=body)
        assert (refused.status, refused.json["code"]) == (422, "invalid_input")
        [fault] = refused.json["errors"]
        assert fault["field"] == field
        assert message in fault["message"]
        assert "bob" not in refused.text
        assert api(LIST).json == before
        assert self.titles(api) == {THREAD: "Trip to Rome"}

    def test_of_a_stranger_is_neither_given_nor_shown(self, api):
        api(REGISTER)
        api(NAME, body={"title": "Trip to Rome"})
        assert api(NAME, "bob", body={"title": "Bob's"}).status == 404
        assert self.titles(api) == {THREAD: "Trip to Rome"}
        assert self.titles(api, "bob") == {}

    def test_goes_with_its_thread_and_does_not_come_back(self, api):
        api(REGISTER)
        api(NAME, body={"title": "Trip to Rome"})
        api(DELETE_THREAD)
        assert self.titles(api) == {}
        assert api(NAME, body={"title": "Trip to Oslo"}).status == 404
        api(REGISTER)
        assert self.titles(api) == {THREAD: None}


class TestTheList:
    def test_shows_every_row_in_order_with_all_that_a_panel_needs(self, api, rows):
        listed = api(LIST)
        assert listed.status == 200
        assert [(r["id"], r["position"], r["title"]) for r in listed.rows] == [
            (rows[0], 1, "Alpha"),
            (rows[1], 2, "Bravo"),
            (rows[2], 3, "Charlie"),
        ]
        first = listed.rows[0]
        assert first["created_at"].endswith("Z")
        assert first | {"created_at": "", "updated_at": ""} == {
            "id": rows[0],
            "position": 1,
            "title": "Alpha",
            "subtitle": "first",
            "kind": "soft",
            "locked": False,
            "revision": 2,
            "created_by": "user",
            "created_at": "",
            "updated_by": "user",
            "updated_at": "",
        }
        assert [r["locked"] for r in listed.rows] == [False, True, False]
        assert listed.rows[2]["subtitle"] is None

    def test_carries_a_tag_that_saves_sending_it_again(self, api, rows):
        tag = api(LIST).headers["ETag"]
        assert tag == f'"{api(LIST).json["revision"]}"'
        for held in [tag, f"W/{tag}", "*", f'"0", W/{tag} ,"x"', f" {tag}"]:
            again = api(LIST, headers={"If-None-Match": held})
            assert (again.status, again.headers["ETag"], again.text) == (304, tag, None)

    def test_is_sent_again_when_the_tag_is_another(self, api, rows):
        tag = api(LIST).headers["ETag"]
        api(UNLOCK, path={"id": rows[1]})
        for held in [tag, tag.strip('"'), "", '"', '"*"', "W/*"]:
            assert api(LIST, headers={"if-none-match": held}).status == 200

    def test_may_be_kept_by_the_callers_browser_alone_and_no_other_answer_by_anyone(self, api, rows):
        assert api(LIST).headers["Cache-Control"] == "private, no-cache"
        assert api(STATE).headers["Cache-Control"] == "no-store"
        assert api(LOCK, path={"id": rows[0]}).headers["Cache-Control"] == "no-store"
        assert api(LIST, "bob").headers["Cache-Control"] == "no-store"

    def test_gives_text_back_exactly_and_compactly(self, api):
        api(REGISTER)
        text = '< 30 m² & "twin" žába 👩‍🚀'
        api(ADD, body={"items": [{"title": text}]})
        listed = api(LIST)
        assert listed.titles == [text]
        assert "žába 👩‍🚀" in listed.text
        assert ": " not in listed.text.replace(json.dumps(text, ensure_ascii=False), "")


class TestAdding:
    def test_answers_201_with_the_list_and_each_items_outcome(self, api, rows):
        added = api(ADD, body={"items": [{"title": "Delta"}, {"title": "Charlie"}, {"title": "Delta"}]})
        assert added.status == 201
        assert added.titles == ["Alpha", "Bravo", "Charlie", "Delta"]
        assert added.headers["ETag"] == f'"{added.json["revision"]}"'
        new = added.rows[3]["id"]
        assert added.json["outcomes"] == [
            {"outcome": "recorded", "id": new, "position": 4},
            {"outcome": "duplicate", "id": rows[2], "position": 3},
            {"outcome": "duplicate", "id": new, "position": 4},
        ]

    def test_answers_200_when_everything_was_there_already(self, api, rows):
        before = api(LIST).json
        again = api(ADD, body={"items": [{"title": "Charlie"}]})
        assert again.status == 200
        assert again.json == {
            **before,
            "revision": before["revision"] + 1,
            "outcomes": [{"outcome": "duplicate", "id": rows[2], "position": 3}],
        }

    def test_beyond_the_bound_is_refused_whole(self, api):
        api(REGISTER)
        for half in (0, 50):
            api(ADD, body={"items": [{"title": f"Row {half + n}"} for n in range(50)]})
        refused = api(ADD, body={"items": [{"title": "one more"}]})
        assert (refused.status, refused.json["code"]) == (409, "list_full")
        assert len(api(LIST).rows) == 100

    def test_says_of_every_fault_where_it_is_and_never_what_was_sent(self, api):
        api(REGISTER)
        items = [{"title": "x", "kind": "private-1"}, {"title": 7, "private-2": "private-3"}]
        refused = api(ADD, body={"items": items, "user_id": "private-4", "owner": "private-5"})
        assert (refused.status, refused.json["code"]) == (422, "invalid_input")
        assert {fault["field"] for fault in refused.json["errors"]} == {
            "",
            "items.0.kind",
            "items.1.title",
            "items.1",
        }
        assert "private" not in refused.text
        assert api(LIST).rows == []

    def test_names_no_more_than_fifty_faults(self, send):
        refused = send(ADD, body={"items": [{f"field {n}": 1} for n in range(50)]})
        assert len(refused.json["errors"]) == 50


class TestEditing:
    def test_sets_what_is_sent_and_leaves_the_rest(self, api, rows):
        edited = api(EDIT, path={"id": rows[0]}, body={"title": "Alfa"})
        assert edited.status == 200
        row = edited.rows[0]
        assert (row["title"], row["subtitle"], row["kind"], row["locked"]) == ("Alfa", "first", "soft", False)
        assert edited.rows[1:] == api(LIST).rows[1:]

    def test_null_clears_the_subtitle_and_nothing_else(self, api, rows):
        row = api(EDIT, path={"id": rows[0]}, body={"subtitle": None}).rows[0]
        assert (row["title"], row["subtitle"], row["kind"]) == ("Alpha", None, "soft")

    def test_takes_all_four_fields_at_once_on_a_locked_row_too(self, api, rows):
        fields = {"title": "Beta", "subtitle": "new", "kind": "soft", "locked": False}
        row = api(EDIT, path={"id": rows[1]}, body=fields).rows[1]
        assert {name: row[name] for name in fields} == fields

    def test_of_what_already_is_takes_a_revision_and_leaves_the_rows(self, api, rows):
        before = api(LIST).json
        same = {"title": "Alpha", "subtitle": "first", "kind": "soft", "locked": False}
        edited = api(EDIT, path={"id": rows[0]}, body=same)
        assert (edited.status, edited.json) == (200, {**before, "revision": before["revision"] + 1})

    def test_to_the_text_of_another_row_is_409_and_names_it(self, api, rows):
        refused = api(EDIT, path={"id": rows[0]}, body={"title": "Charlie", "subtitle": None})
        assert (refused.status, refused.json["code"]) == (409, "duplicate")
        assert [(row["id"], row["title"]) for row in refused.json["conflicts"]] == [(rows[2], "Charlie")]
        assert api(LIST).titles == ["Alpha", "Bravo", "Charlie"]

    @pytest.mark.parametrize(
        "body", [{}, {"title": None}, {"locked": "yes"}, {"rank": 1}, {"title": "\u200b"}]
    )
    def test_of_nothing_or_of_something_else_is_refused(self, api, rows, body):
        before = api(LIST).json
        assert api(EDIT, path={"id": rows[0]}, body=body).status == 422
        assert api(LIST).json == before

    @pytest.mark.parametrize("name", ["if-match", "IF-MATCH", "If-Match"])
    def test_with_a_stale_tag_is_412_with_the_present_row(self, api, rows, name):
        api(EDIT, path={"id": rows[0]}, body={"title": "theirs"})
        before = api(LIST)
        for key, body in [(EDIT, {"title": "mine"}), (REMOVE, None)]:
            refused = api(key, path={"id": rows[0]}, body=body, headers={name: '"2"'})
            assert (refused.status, refused.json["code"]) == (412, "precondition_failed")
            assert refused.json["current"] == before.rows[0]
        assert api(LIST).json == before.json

    @pytest.mark.parametrize("key", [EDIT, REMOVE])
    def test_with_a_tag_that_cannot_match_is_412(self, api, rows, key):
        odd = ['"02"', '"x"', '""', '"-1"', '"9999999999999999999"', 'W/"2"', '"3", "99"', 'W/"2", "3"']
        for tag in odd:
            answer = api(key, path={"id": rows[0]}, body=BODIES.get(key), headers={"if-match": tag})
            assert answer.status == 412, tag

    @pytest.mark.parametrize("key", [EDIT, REMOVE])
    def test_with_what_is_no_tag_is_422_and_says_what_one_is(self, api, rows, key):
        for tag in ["2", "", "'2'", "W/*", '"2" "3"', '"2",', "abc"]:
            answer = api(key, path={"id": rows[0]}, body=BODIES.get(key), headers={"if-match": tag})
            assert (answer.status, answer.json["errors"][0]["field"]) == (422, "If-Match"), tag

    def test_with_the_tag_of_the_answer_before_is_done(self, api, rows):
        locked = api(LOCK, path={"id": rows[0]})
        headers = {"if-match": locked.headers["ETag"]}
        edited = api(EDIT, path={"id": rows[0]}, body={"title": "mine"}, headers=headers)
        assert edited.status == 200
        headers = {"if-match": edited.headers["ETag"]}
        assert api(REMOVE, path={"id": rows[0]}, headers=headers).status == 200

    @pytest.mark.parametrize("tag", ['"2"', ' "2" ', '"2", "99"', 'W/"1" , "2"', "*", None])
    def test_with_the_present_tag_any_or_none_is_done(self, api, rows, tag):
        headers = {} if tag is None else {"if-match": tag}
        assert api(EDIT, path={"id": rows[0]}, body={"title": "mine"}, headers=headers).titles[0] == "mine"

    def test_is_not_blocked_by_a_lock_a_move_or_another_rows_change(self, api, rows):
        tag = {"if-match": f'"{api(LIST).rows[0]["revision"]}"'}
        api(LOCK, path={"id": rows[0]})
        api(ORDER, body={"ids": [rows[2], rows[0]]})
        api(EDIT, path={"id": rows[2]}, body={"title": "other"})
        assert api(EDIT, path={"id": rows[0]}, body={"title": "mine"}, headers=tag).status == 200

    def test_a_row_that_nobody_has_is_404(self, api, rows):
        for odd in ["0" * 32, "1", "Alpha", "a b", "a%20b", "žába", "a.b", "#x", "x" * 500, "", None]:
            for key in (EDIT, REMOVE, LOCK, UNLOCK):
                answer = api(key, path={"id": odd}, body=BODIES.get(key), headers={"if-match": '"2"'})
                assert (answer.status, answer.json["code"]) == (404, "not_found")
        assert api(LIST).titles == ["Alpha", "Bravo", "Charlie"]


class TestRemovingLockingOrdering:
    def test_a_row_is_removed_locked_or_not(self, api, rows):
        assert api(REMOVE, path={"id": rows[0]}).titles == ["Bravo", "Charlie"]
        assert api(REMOVE, path={"id": rows[1]}).titles == ["Charlie"]

    def test_a_lock_is_set_and_taken_and_each_answer_is_a_revision(self, api, rows):
        locked = api(LOCK, path={"id": rows[0]})
        assert [row["locked"] for row in locked.rows] == [True, True, False]
        again = api(LOCK, path={"id": rows[0]})
        assert (again.rows, again.json["revision"]) == (locked.rows, locked.json["revision"] + 1)
        unlocked = api(UNLOCK, path={"id": rows[0]})
        assert [row["locked"] for row in unlocked.rows] == [False, True, False]
        assert unlocked.rows[0]["revision"] == 2

    def test_a_lock_is_recorded_as_one_by_either_route(self, quick_engine, api, rows):
        def recorded():
            item = {"pk": {"S": f"THREAD#{THREAD}"}, "sk": {"S": "PREFERENCES"}}
            stored = quick_engine.get_item(TableName="preferences", Key=item)["Item"]
            return stored["last_change"]["M"]["action"]["S"]

        for ask, action in [
            (lambda: api(LOCK, path={"id": rows[0]}), "lock"),
            (lambda: api(UNLOCK, path={"id": rows[0]}), "unlock"),
            (lambda: api(EDIT, path={"id": rows[0]}, body={"locked": True}), "lock"),
            (lambda: api(EDIT, path={"id": rows[0]}, body={"locked": False}), "unlock"),
            (lambda: api(EDIT, path={"id": rows[0]}, body={"title": "A", "locked": True}), "edit"),
        ]:
            ask()
            assert recorded() == action

    def test_all_are_locked_and_all_unlocked(self, api, rows):
        key = "{} /threads/{{thread_id}}/lock"
        assert all(row["locked"] for row in api(key.format("PUT")).rows)
        assert not any(row["locked"] for row in api(key.format("DELETE")).rows)

    def test_rows_that_an_order_does_not_name_go_last(self, api, rows):
        assert api(ORDER, body={"ids": [rows[2]]}).titles == ["Charlie", "Alpha", "Bravo"]

    def test_an_order_with_an_id_that_the_thread_does_not_have_is_refused(self, api, rows):
        for unknown in ("0" * 32, "", "a b", "Alpha"):
            refused = api(ORDER, body={"ids": [rows[2], unknown]})
            assert (refused.status, refused.json["code"]) == (422, "invalid_input")
        assert api(LIST).titles == ["Alpha", "Bravo", "Charlie"]

    def test_every_change_answers_with_the_fresh_list_and_its_tag(self, api, rows):
        changes = [
            (ADD, {"body": {"items": [{"title": "Delta"}]}}),
            (EDIT, {"path": {"id": rows[0]}, "body": {"title": "Alfa"}}),
            (LOCK, {"path": {"id": rows[0]}}),
            (UNLOCK, {"path": {"id": rows[0]}}),
            (REMOVE, {"path": {"id": rows[0]}}),
            ("PUT /threads/{thread_id}/lock", {}),
            ("DELETE /threads/{thread_id}/lock", {}),
            (ORDER, {"body": {"ids": [rows[2]]}}),
        ]
        for key, parts in changes:
            changed = api(key, **parts)
            fresh = api(LIST)
            if key == REMOVE:
                assert "ETag" not in changed.headers
            elif "{id}" in key:  # of an answer about one row it is what If-Match compares
                assert changed.headers["ETag"] == f'"{changed.rows[0]["revision"]}"'
            else:
                assert changed.headers["ETag"] == fresh.headers["ETag"]
            assert {**changed.json, **fresh.json} == changed.json


class TestSessionState:
    def test_is_what_botocore_takes_as_the_session_state_of_invoke_agent(self, api, rows):
        state = api(STATE).json
        service = botocore.session.get_session().get_service_model("bedrock-agent-runtime")
        shape = service.operation_model("InvokeAgent").input_shape.members["sessionState"]
        assert not ParamValidator().validate(state, shape).has_errors()
        assert state["sessionAttributes"] == {"thread_id": THREAD, "user_id": "ada"}
        block = state["promptSessionAttributes"]["preferences"]
        assert block.startswith(f'<preferences revision="{api(LIST).json["revision"]}">')
        assert "#2 [hard] Bravo (locked)" in block


class TestIdentity:
    @pytest.mark.parametrize("key", PRIVATE)
    @pytest.mark.parametrize(
        "context",
        [
            None,
            {},
            {"authorizer": None},
            {"authorizer": {}},
            {"authorizer": {"jwt": None}},
            {"authorizer": {"jwt": {"claims": {}}}},
            {"authorizer": {"jwt": {"claims": {"sub": None}}}},
            {"authorizer": {"jwt": {"claims": {"sub": ""}}}},
            {"authorizer": {"jwt": {"claims": {"sub": "  "}}}},
            {"authorizer": {"jwt": {"claims": {"sub": ["ada"]}}}},
            {"authorizer": {"jwt": {"claims": {"sub": "a\nda"}}}},
            {"authorizer": {"jwt": {"claims": {"sub": "a" * 256}}}},
            {"authorizer": {"jwt": {"claims": {"sub": "ada", "token_use": "id"}}}},
            {"authorizer": {"claims": {"sub": "ada"}}},
            {"authorizer": {"lambda": {"sub": "ada"}}},
        ],
    )
    def test_without_a_verified_access_token_nothing_is_answered(self, send, key, context):
        refused = send(key, body=BODIES.get(key), requestContext=context)
        assert (refused.status, refused.json["code"]) == (401, "unauthorized")
        assert refused.headers["WWW-Authenticate"] == "Bearer"

    def test_a_token_without_a_use_is_taken_for_an_access_token(self, api, rows):
        assert api(LIST, claims={"sub": "ada"}).status == 200

    def test_no_header_and_no_query_says_who_asks(self, api, rows):
        forged = {"X-User-Id": "ada", "Authorization": "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZGEifQ."}
        assert api(LIST, "bob", headers=forged, query="user_id=ada&sub=ada").status == 404
        assert api(LIST, "ada", headers={"X-User-Id": "bob"}, query="user_id=bob").status == 200

    @pytest.mark.parametrize("key", [key for key in PRIVATE if "{thread_id}" in key and key != REGISTER])
    def test_a_strangers_thread_looks_exactly_like_none(self, api, rows, key):
        before = api(LIST).json
        foreign = api(key, "bob", path={"id": rows[0]}, body=BODIES.get(key))
        unknown = api(key, "bob", path={"thread_id": "unknown", "id": rows[0]}, body=BODIES.get(key))
        assert foreign.status == 404
        assert foreign.raw == unknown.raw
        assert api(LIST).json == before

    @pytest.mark.parametrize("key", [key for key in PRIVATE if "{thread_id}" in key])
    def test_no_row_of_a_strangers_thread_is_read_so_that_its_length_takes_no_time(
        self, api, quick_engine, key
    ):
        item = {
            "pk": {"S": f"THREAD#{THREAD}"},
            "sk": {"S": "PREFERENCES"},
            "owner": {"S": "ada"},
            "revision": {"N": "7"},
            "preferences": {"M": {"a": {"S": "what nobody can read"}}},
        }
        quick_engine.put_item(TableName="preferences", Item=item)
        assert api(LIST, "ada").status == 500
        foreign = api(key, "bob", path={"id": "a", "revision": "7"}, body=BODIES.get(key))
        assert foreign.status == (409 if key == REGISTER else 404)


class TestBodies:
    @pytest.mark.parametrize("body", [None, ""])
    def test_one_that_is_missing_is_400_whatever_its_type(self, send, body):
        for headers in ({}, {"content-type": "application/json"}, {"content-type": "text/plain"}):
            refused = send(ADD, headers=headers, body=body)
            assert (refused.status, refused.json["code"]) == (400, "invalid_json")

    @pytest.mark.parametrize(
        "body",
        [
            "{not json",
            "[" * 20_000 + "]" * 20_000,
            '{"items":' + "[" * 20_000 + "]" * 20_000 + "}",
            '{"items":[{"title":' + "9" * 5000 + "}]}",
            '{"items":[{"title":NaN}]}',
            '{"items":[{"title":"x","version":Infinity}]}',
            '{"items":[],"items":[{"title":"x"}]}',
            '\ufeff{"items":[{"title":"x"}]}',
            '{"items":[{"title":"\ud800"}]}',
            "\x00",
        ],
    )
    def test_one_that_is_not_json_with_one_reading_is_400(self, send, body):
        refused = send(ADD, headers={"content-type": "application/json"}, body=body)
        assert (refused.status, refused.json["code"]) == (400, "invalid_json")

    @pytest.mark.parametrize("key", list(BODIES))
    @pytest.mark.parametrize(
        "body", ["[1]", "null", '"x"', "123", "true", '{"\\ud800":1}', '{"title":"\\ud800"}']
    )
    def test_json_that_is_no_object_of_this_route_is_422(self, send, key, body):
        headers = {"content-type": "application/json"}
        refused = send(key, path={"id": "0" * 32}, headers=headers, body=body)
        assert (refused.status, refused.json["code"]) == (422, "invalid_input")

    @pytest.mark.parametrize(
        "content_type",
        ["application/json; charset=utf-8", 'APPLICATION/JSON;Charset="UTF-8"', "application/json ; v=1"],
    )
    def test_one_sent_as_json_is_taken_in_any_spelling(self, api, rows, content_type):
        body = '{"items":[{"title":"Delta"}]}'
        assert api(ADD, headers={"Content-Type": content_type}, body=body).status == 201

    @pytest.mark.parametrize(
        "content_type",
        [
            None,
            "",
            "text/plain",
            "application/x-www-form-urlencoded",
            "application/json; charset=latin-1",
            "application/jsonp",
            "text/html, application/json",
            "multipart/form-data; boundary=x",
        ],
    )
    @pytest.mark.parametrize("key", list(BODIES))
    def test_one_sent_as_anything_else_is_415(self, send, key, content_type):
        headers = {} if content_type is None else {"content-type": content_type}
        body = json.dumps(BODIES[key])
        refused = send(key, path={"id": "0" * 32}, headers=headers, body=body)
        assert (refused.status, refused.json["code"]) == (415, "unsupported_media_type")
        assert "application/json" in refused.json["detail"]

    def test_one_in_base64_is_the_same_body(self, api, rows):
        text = base64.b64encode('{"items":[{"title":"žába"}]}'.encode()).decode()
        headers = {"content-type": "application/json"}
        assert api(ADD, headers=headers, body=text, isBase64Encoded=True).titles[3] == "žába"

    @pytest.mark.parametrize("body", ["e30", "e30=\n", "e30==", "e!30=", "žába", "/w==", {"items": []}, 7])
    def test_one_in_bad_base64_or_no_text_at_all_is_400(self, body):
        sent = event(ADD, headers={"content-type": "application/json"}) | {
            "body": body,
            "isBase64Encoded": True,
        }
        refused = read(handler(sent, None), ADD)
        assert (refused.status, refused.json["code"]) == (400, "invalid_json")
        assert read(handler(sent | {"isBase64Encoded": False}, None), ADD).status == 400

    def test_one_above_the_bound_is_413_counted_in_decoded_bytes(self, api, rows):
        headers = {"content-type": "application/json"}
        fits = '{"items":[{"title":"Delta"}]}'.ljust(MAX_BODY)
        assert api(ADD, headers=headers, body=fits + " ").json["code"] == "too_large"
        assert api(ADD, headers=headers, body="ž" * (MAX_BODY // 2 + 1)).status == 413
        packed = base64.b64encode(f"{fits} ".encode()).decode()
        assert api(ADD, headers=headers, body=packed, isBase64Encoded=True).status == 413
        packed = base64.b64encode(fits.encode()).decode()
        assert api(ADD, headers=headers, body=packed, isBase64Encoded=True).status == 201

    def test_one_that_a_route_does_not_take_is_never_looked_at(self, api, rows):
        for key in (LIST, STATE, LOCK, UNLOCK, REGISTER):
            assert api(key, path={"id": rows[0]}, body="{not json").status == 200


class TestEvents:
    @pytest.mark.parametrize(
        "sent",
        [
            None,
            [],
            "text",
            7,
            {},
            {"version": "2.0"},
            {"version": "2.0", "routeKey": None},
            {"version": "2.0", "routeKey": ["GET /"]},
            {"version": "2.0", "routeKey": {}},
            event("$default"),
            event("OPTIONS /threads/{thread_id}"),
            event("get /threads"),
            event("GET /threads/{thread_id}/nothing"),
            event(LIST) | {"version": "1.0"},
            {
                "version": "1.0",
                "resource": "/{proxy+}",
                "httpMethod": "GET",
                "path": "/threads",
                "headers": None,
            },
            {
                "resource": "/{proxy+}",
                "httpMethod": "GET",
                "requestContext": {"authorizer": {"claims": {"sub": "a"}}},
            },
        ],
    )
    def test_that_are_not_one_of_ours_are_404(self, sent, lambda_context):
        answer = read(handler(sent, lambda_context()))
        assert (answer.status, answer.json["code"]) == (404, "not_found")
        assert answer.headers["Content-Type"] == "application/problem+json"

    @pytest.mark.parametrize("key", list(ROUTES))
    def test_with_odd_parts_are_refused_and_never_a_fault(self, api, key, lambda_context):
        for odd in (None, [], "x", 7, {"x": None}, [None]):
            sent = event(key, headers={"content-type": "application/json"}) | {
                "headers": odd,
                "pathParameters": odd,
                "rawQueryString": odd,
                "body": odd,
            }
            assert 200 <= read(handler(sent, lambda_context()), key).status < 500

    def test_in_a_named_stage_find_the_same_route(self, api, rows):
        assert api(LIST, rawPath=f"/prod/threads/{THREAD}/preferences").status == 200


class TestRefusals:
    def test_every_leaf_of_the_tree_has_a_status_and_every_status_a_title(self):
        def leaves(of):
            return {leaf for child in of.__subclasses__() for leaf in leaves(child)} or {of}

        found = {leaf: problems.status_of(leaf) for leaf in leaves(errors.PreferencesError)}
        assert found[errors.InvalidJson] == 400
        assert found[errors.ThreadTaken] == found[errors.ListFull] == found[errors.UndoConflict] == 409
        assert found[errors.Busy] == found[errors.OutcomeUnknown] == found[errors.HistoryNotReady] == 503
        assert set(found.values()) <= set(problems.TITLES)
        assert all(leaf.code for leaf in found)

    def test_a_throttled_table_is_busy_and_says_when_to_come_back(self, api, rows, broken_table, monkeypatch):
        monkeypatch.setattr("preferences.repository.table.REQUEST_SECONDS", 0.1)
        broken_table(400, "ThrottlingException", "UpdateItem", "GetItem")
        for key, parts in [(LIST, {}), (LOCK, {"path": {"id": rows[0]}})]:
            busy = api(key, **parts)
            assert (busy.status, busy.json["code"], busy.headers["Retry-After"]) == (503, "busy", "1")

    def test_a_deadline_about_to_pass_is_busy_before_anything_is_sent(self, api, rows, call_counter):
        calls = call_counter(repository_client.dynamodb_client())
        assert api(LOCK, path={"id": rows[0]}, timeout=0.5).json["code"] == "busy"
        assert not calls

    def test_an_unknown_outcome_shows_the_list_as_it_stands(self, api, rows):
        before = api(LIST).json
        events = repository_client.dynamodb_client().meta.events
        events.register("before-call.dynamodb", overtake(THREAD))
        unknown = api(LOCK, path={"id": rows[0]})
        assert (unknown.status, unknown.json["code"]) == (503, "outcome_unknown")
        assert unknown.headers["Retry-After"] == "1"
        assert unknown.json["preferences"] == before["preferences"]
        assert unknown.json["revision"] == before["revision"] + 1

    def test_an_unknown_outcome_without_a_list_still_is_one(self, api, rows, broken_table, monkeypatch):
        monkeypatch.setattr("preferences.repository.table.REQUEST_SECONDS", 0.1)
        broken_table(500, "InternalServerError", "UpdateItem")
        unknown = api(LOCK, path={"id": rows[0]})
        assert (unknown.status, unknown.json["code"]) == (503, "outcome_unknown")
        assert "preferences" not in unknown.json

    def test_a_fault_is_500_and_says_nothing_of_itself(self, api, rows, broken_table):
        broken_table(400, "ValidationException", "GetItem")
        fault = api(LIST)
        assert (fault.status, fault.json["code"]) == (500, "internal_error")
        assert fault.headers["Content-Type"] == "application/problem+json"
        assert not {"secret", "Validation", "Traceback"} & set(fault.text.split('"'))


class TestTheLog:
    def test_has_one_line_for_a_request_with_its_route_status_time_and_revision(self, api, rows, log):
        api(LOCK, path={"id": rows[0]})
        [line] = log.getvalue().splitlines()
        line = json.loads(line)
        assert (line["level"], line["message"]) == ("INFO", "request")
        assert (line["route"], line["status"], line["revision"]) == (LOCK, 200, 4)
        assert line["milliseconds"] >= 0
        assert line["correlation_id"] == "request-1"

    def test_holds_no_text_no_token_no_claim_and_no_id(self, api, rows, log, broken_table):
        headers = {"authorization": "Bearer private-token", "if-match": '"private-tag"'}
        parts = {"path": {"id": rows[0]}, "headers": headers, "query": "private=private"}
        api(EDIT, "private-user", body={"title": "private-title"}, **parts)
        api(EDIT, body={"title": "private-title"}, **parts)
        api(EDIT, body={"title": 7, "private-field": "private-title"}, **parts)
        broken_table(400, "ValidationException", "UpdateItem")
        api(EDIT, body={"title": "private-title"}, path={"id": rows[0]})
        assert len(log.getvalue().splitlines()) == 5
        for word in ("private", "secret", THREAD, rows[0], "Alpha", "ada"):
            assert word not in log.getvalue()

    def test_says_of_a_fault_what_and_where(self, api, rows, log, broken_table):
        broken_table(400, "ValidationException", "GetItem")
        api(LIST)
        fault = json.loads(log.getvalue().splitlines()[0])
        assert (fault["level"], fault["message"], fault["error"]) == ("ERROR", "fault", "ClientError")
        assert fault["aws_error"] == "ValidationException"
        assert any("list_preferences" in frame for frame in fault["stack"])

    def test_never_repeats_a_route_key_that_is_not_ours(self, log, lambda_context):
        handler(event("private route"), lambda_context())
        assert "private" not in log.getvalue()


@pytest.fixture
def assets(tmp_path, monkeypatch):
    """A panel of our own; the settings of sign-in are read anew."""
    (tmp_path / "index.html").write_text('<!doctype html><script src="/assets/panel.js">' + " " * 500)
    (tmp_path / "panel.js").write_text("export const one = 1;\n" * 50)
    (tmp_path / "panel.css").write_text("a { color: red }")
    (tmp_path / "mark.svg").write_text("<svg/>")
    (tmp_path / "notes.py").write_text("secret")
    monkeypatch.setattr(files, "ASSETS", tmp_path)
    caches = (files.assets, files.configuration, files._content_security_policy)
    for cached in caches:
        cached.cache_clear()
    yield tmp_path
    for cached in caches:
        cached.cache_clear()


@pytest.fixture
def get(lambda_context):
    """get(route key, file, version, headers) without any identity, nor a table."""

    def send(key, file="", version="", **headers):
        headers = {name.replace("_", "-"): text for name, text in headers.items()}
        sent = event(key, path={"file": file, "version": version}, headers=headers, requestContext={})
        return read(handler(sent, lambda_context()), key)

    return send


OF_VERSION = "GET /assets/{version}/{file}"


def named_version(get):
    """The version of its files that the page names."""
    return re.search(r'"/assets/([0-9a-f]{16})/', text_of(get("GET /")))[1]


def text_of(answer):
    return base64.b64decode(answer.text).decode()


class TestThePanel:
    def test_is_served_to_anyone_packed(self, assets, get):
        page = get("GET /", accept_encoding="br, gzip")
        assert (page.status, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
        assert (page.headers["Content-Encoding"], page.headers["Vary"]) == ("gzip", "Accept-Encoding")
        assert gzip.decompress(base64.b64decode(page.text)).decode() == text_of(get("GET /"))

    @pytest.mark.parametrize(
        ("name", "media_type"),
        [
            ("panel.js", "text/javascript; charset=utf-8"),
            ("panel.css", "text/css; charset=utf-8"),
            ("mark.svg", "image/svg+xml"),
        ],
    )
    def test_has_files_of_their_own_types(self, assets, get, name, media_type):
        file = get("GET /assets/{file}", name, accept_encoding="gzip")
        assert (file.status, file.headers["Content-Type"]) == (200, media_type)

    @pytest.mark.parametrize(
        "accepted", [None, "", "identity", "br", "gzip;q=0", "gzip; q=0.000", "*;q=0", "x-gzip"]
    )
    def test_comes_as_it_is_where_gzip_is_not_accepted(self, assets, get, accepted):
        headers = {} if accepted is None else {"accept_encoding": accepted}
        page = get("GET /", **headers)
        assert "Content-Encoding" not in page.headers
        assert text_of(page).startswith("<!doctype html>")

    @pytest.mark.parametrize(
        "accepted", ["gzip", "GZIP;q=0.5", "*", "br;q=1.0, gzip;q=0.8, *;q=0.1", "deflate,gzip"]
    )
    def test_comes_packed_where_gzip_is_accepted(self, assets, get, accepted):
        assert get("GET /", accept_encoding=accepted).headers["Content-Encoding"] == "gzip"

    def test_is_not_sent_again_to_whoever_has_the_same_bytes(self, assets, get):
        plain, packed = get("GET /").headers["ETag"], get("GET /", accept_encoding="gzip").headers["ETag"]
        assert plain != packed
        again = get("GET /", accept_encoding="gzip", if_none_match=packed)
        assert (again.status, again.text, again.headers["ETag"]) == (304, None, packed)
        assert again.headers["Vary"] == "Accept-Encoding"
        assert get("GET /", accept_encoding="gzip", if_none_match=plain).status == 200

    @pytest.mark.parametrize(
        "name",
        [
            "",
            ".",
            "..",
            "../index.html",
            "%2e%2e/routes.py",
            "notes.py",
            "/etc/passwd",
            "PANEL.JS",
            "panel.js/",
            "x\x00",
        ],
    )
    def test_is_a_closed_list(self, assets, get, name):
        assert get("GET /assets/{file}", name).status == 404
        assert get(OF_VERSION, name, named_version(get)).status == 404

    def test_is_kept_for_good_under_the_version_that_the_page_names(self, assets, get):
        version = named_version(get)
        kept = get(OF_VERSION, "panel.js", version)
        assert kept.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert text_of(kept) == (assets / "panel.js").read_text()
        assert get("GET /").headers["Cache-Control"] == "no-cache"

    @pytest.mark.parametrize("version", ["", "0123456789abcdef", "..", "panel.js"])
    def test_is_asked_for_each_time_under_any_other_version(self, assets, get, version):
        present = get(OF_VERSION, "panel.js", version)
        assert (present.status, present.headers["Cache-Control"]) == (200, "no-cache")
        assert get(OF_VERSION, "panel.js", version, if_none_match=present.headers["ETag"]).status == 304

    def test_is_asked_for_each_time_under_the_name_that_other_pages_embed(self, assets, get):
        assert get("GET /assets/{file}", "panel.js").headers["Cache-Control"] == "no-cache"

    @pytest.mark.parametrize("name", ["index.html", "panel.js", "mark.svg"])
    def test_has_another_version_when_any_of_its_files_changes(self, assets, get, name):
        before = named_version(get)
        (assets / name).write_text((assets / name).read_text() + " x")
        files.assets.cache_clear()
        assert named_version(get) != before
        files.assets.cache_clear()
        assert get(OF_VERSION, "panel.js", before).headers["Cache-Control"] == "no-cache"

    def test_asks_for_nothing_outside_of_its_version(self, get):
        page = text_of(get("GET /"))
        asked = re.findall(r'(?:src|href)="([^"]*)"', page)
        assert len(asked) > 10
        for path in asked:
            _, folder, version, name = path.split("/")
            assert folder == "assets"
            assert get(OF_VERSION, name, version).headers["Cache-Control"].endswith("immutable")

    def test_runs_nothing_that_is_not_its_own(self, assets, get):
        rest = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        sources = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:"
        page = get("GET /")
        assert page.headers["Content-Security-Policy"] == f"{sources}; connect-src 'self'; {rest}"
        assert page.headers["X-Content-Type-Options"] == "nosniff"
        assert page.headers["Strict-Transport-Security"] == "max-age=31536000"
        assert page.headers["Referrer-Policy"] == "no-referrer"

    def test_may_connect_to_the_sign_in_too(self, assets, get, monkeypatch):
        monkeypatch.setenv("SIGN_IN_TOKEN_URL", "https://sign-in.example:8443/oauth2/token?x=1")
        policy = get("GET /").headers["Content-Security-Policy"]
        assert "connect-src 'self' https://sign-in.example:8443; " in policy

    def test_learns_how_to_sign_in(self, assets, get, monkeypatch):
        nothing = {"authorize_url": None, "token_url": None, "client_id": None, "scope": None}
        configured = get("GET /config.json")
        assert configured.json == {
            **nothing,
            "audience": None,
            "sign_out_url": None,
            "redirect_path": "/",
            "agent_console": None,
        }
        assert configured.headers["Cache-Control"] == "no-store"
        files.configuration.cache_clear()
        monkeypatch.setenv("SIGN_IN_AUTHORIZE_URL", "https://sign-in.example/authorize")
        monkeypatch.setenv("SIGN_IN_TOKEN_URL", "https://sign-in.example/token")
        monkeypatch.setenv("SIGN_IN_CLIENT_ID", "panel")
        monkeypatch.setenv("SIGN_IN_SCOPE", "openid")
        monkeypatch.setenv("SIGN_IN_AUDIENCE", "https://preferences.example/api")
        monkeypatch.setenv("SIGN_OUT_URL", "https://sign-in.example/logout")
        monkeypatch.setenv("AGENT_CONSOLE_PATH", "/local/agent")
        assert get("GET /config.json").json == {
            "authorize_url": "https://sign-in.example/authorize",
            "token_url": "https://sign-in.example/token",
            "client_id": "panel",
            "scope": "openid",
            "audience": "https://preferences.example/api",
            "sign_out_url": "https://sign-in.example/logout",
            "redirect_path": "/",
            "agent_console": "/local/agent",
        }

    def test_that_was_never_packed_is_missing_and_no_fault(self, assets, get):
        (assets / "index.html").unlink()
        assert get("GET /").status == 404


class TestTheDocument:
    def test_is_committed_as_it_is_rendered(self):
        for committed in ("infra/openapi/api.json", "functions/preferences/api/openapi.json"):
            text = (ROOT / committed).read_text("utf-8")
            assert text == api_document.document_text(), f"{committed} is stale: make schemas"

    def test_is_served_to_anyone(self, get):
        served = get("GET /openapi.json", accept_encoding="gzip")
        assert served.headers["Content-Type"] == "application/json"
        assert json.loads(gzip.decompress(base64.b64decode(served.text))) == DOCUMENT
        assert (
            get("GET /openapi.json", accept_encoding="gzip", if_none_match=served.headers["ETag"]).status
            == 304
        )

    def test_leaves_no_reference_open(self):
        def references(value):
            if isinstance(value, dict):
                for name, inner in value.items():
                    yield from [inner] if name == "$ref" else references(inner)
            elif isinstance(value, list):
                for inner in value:
                    yield from references(inner)

        found = set(references(DOCUMENT))
        assert "#/components/schemas/Listing" in found
        for reference in found:
            place = DOCUMENT
            for step in reference.removeprefix("#/").split("/"):
                place = place[step]

    def test_describes_every_operation_answer_and_parameter(self):
        operations = [operation for path in DOCUMENT["paths"].values() for operation in path.values()]
        assert len({operation["operationId"] for operation in operations}) == len(operations) == len(ROUTES)
        for operation in operations:
            assert operation["summary"]
            assert all(answer["description"] for answer in operation["responses"].values())
            assert all(parameter["description"] for parameter in operation.get("parameters", []))

    def test_names_what_api_gateway_answers_itself(self):
        for path in DOCUMENT["paths"].values():
            for operation in path.values():
                for status in {"401", "404", "429"} & set(operation["responses"]):
                    schema = operation["responses"][status]["content"]["application/json"]["schema"]
                    assert schema["$ref"].endswith("GatewayMessage")

    def test_asks_for_a_token_exactly_where_the_template_does(self, template):
        deployed = {
            route.key: route.authorized for route in template.routes if route.function == "ApiFunction"
        }
        for key, route in ROUTES.items():
            method, path = key.split(" ")
            assert deployed[key] == (not route.public)
            assert DOCUMENT["paths"][path][method.lower()].get("security") == ([] if route.public else None)

    def test_shows_the_bounds_that_the_handler_holds(self):
        edit = DOCUMENT["components"]["schemas"]["Edit"]
        assert edit["minProperties"] == 1
        assert not any("default" in field for field in edit["properties"].values())
        for name in ("Draft", "Edit"):
            assert DOCUMENT["components"]["schemas"][name]["properties"]["title"]["maxLength"] == 120

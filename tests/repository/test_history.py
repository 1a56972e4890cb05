"""The history: what the stream says of a thread, kept, shown and purged; on both engines."""

import copy
import io
import itertools
import json
import time
from datetime import UTC, datetime

import pytest
from botocore.exceptions import ClientError

from infra.local.stream import event_source
from preferences import history
from preferences.api.http import make_cursor
from preferences.model import MAX_REASONING, Caller, Change, Draft, IndexedEdit, new_id
from preferences.render import summary
from preferences.repository import client as repository_client
from preferences.rules import entry_of
from tests.feed import People
from tests.support import ADA, AGENT, EVE, a_row, a_thread, drafts

DAY = 86400


@pytest.fixture
def repo(store):
    return store.other


@pytest.fixture
def thread_id(store, repo):
    """A thread of Ada's: revision 1."""
    thread_id = store.new_id()
    repo.register_thread(thread_id, ADA)
    return thread_id


@pytest.fixture
def reported(feed, repo, thread_id):
    """The story: the agent adds three, Ada locks one, the agent edits one, Ada removes one. The ids."""
    rows = repo.add_preferences_bulk(
        thread_id, drafts("Quiet", "Budget", "Sea view"), AGENT
    ).thread.preferences
    repo.set_lock(thread_id, rows[1].id, ADA, locked=True)
    repo.update_preferences(thread_id, [IndexedEdit(index=1, title="Very quiet", kind="hard")], AGENT)
    repo.remove_preference(thread_id, rows[2].id, ADA)
    return [row.id for row in rows]


def changed(record, **last_change):
    """The record, had its write been another one."""
    record = copy.deepcopy(record)
    record["dynamodb"]["NewImage"]["last_change"]["M"] |= {n: {"S": v} for n, v in last_change.items()}
    return record


# -- what is kept ---------------------------------------------------------------------------------------


class TestEntries:
    def test_are_one_for_each_write_with_who_what_and_why(self, feed, thread_id, reported):
        feed.catch_up(thread_id)
        kept = feed.entries(thread_id)
        assert [(n, e["actor"], e["who"], e["action"], e.get("reasoning")) for n, e in kept.items()] == [
            (1, "user", "ada", "register", None),
            (2, "agent", "agent-1", "add", "Because Ada said so."),
            (3, "user", "ada", "lock", None),
            (4, "agent", "agent-1", "edit", "Because Ada said so."),
            (5, "user", "ada", "remove", None),
        ]

    def test_hold_of_each_row_only_what_differs(self, feed, thread_id, reported):
        quiet, budget, _ = reported
        feed.catch_up(thread_id)
        kept = feed.entries(thread_id)
        assert kept[1]["rows"] == []
        assert kept[2]["rows"][0] == {
            "id": quiet,
            "after": {"title": "Quiet", "subtitle": None, "kind": "soft", "locked": False, "rank": 200},
        }
        assert kept[3]["rows"] == [
            {"id": budget, "title": "Budget", "before": {"locked": False}, "after": {"locked": True}}
        ]
        assert kept[4]["rows"] == [
            {
                "id": quiet,
                "before": {"title": "Quiet", "kind": "soft"},
                "after": {"title": "Very quiet", "kind": "hard"},
            }
        ]

    def test_keep_a_removed_row_whole(self, store, feed, repo, thread_id):
        [row] = repo.add_preferences_bulk(
            thread_id, drafts("Quiet", subtitle="No bars"), ADA
        ).thread.preferences
        repo.set_lock(thread_id, row.id, ADA, locked=True)
        stored = store.rows(thread_id)[row.id]
        repo.remove_preference(thread_id, row.id, ADA)
        feed.catch_up(thread_id)
        assert feed.entries(thread_id)[4]["rows"] == [{"id": row.id, "before": stored}]

    def test_tell_of_moves(self, feed, repo, thread_id, reported):
        quiet, budget, _ = reported
        repo.reorder(thread_id, [budget], ADA)
        feed.catch_up(thread_id)
        assert feed.entries(thread_id)[6]["rows"] == [
            {"id": budget, "title": "Budget", "before": {"rank": 201}, "after": {"rank": 200}},
            {"id": quiet, "title": "Very quiet", "before": {"rank": 200}, "after": {"rank": 201}},
        ]

    def test_begin_with_the_addition_by_which_an_agent_registers_the_thread(self, store, feed, repo):
        thread_id = store.new_id()
        repo.add_preferences_bulk(thread_id, drafts("Quiet"), AGENT)
        feed.catch_up(thread_id)
        [entry] = feed.entries(thread_id).values()
        assert (entry["actor"], entry["action"], entry["user"]) == ("agent", "add", "ada")

    def test_lie_under_the_number_of_the_revision_which_is_also_their_order(self, feed, thread_id):
        feed.catch_up(thread_id)
        assert feed.entries(thread_id)[1]["sk"] == "CHANGE#0000000001"

    def test_expire_so_many_days_after_the_change(self, feed, thread_id, monkeypatch):
        monkeypatch.setenv("HISTORY_DAYS", "7")
        feed.catch_up(thread_id)
        [entry] = feed.entries(thread_id).values()
        assert entry["expires_at"] == int(datetime.fromisoformat(entry["at"]).timestamp()) + 7 * DAY

    def test_stay_out_of_the_index_of_threads(self, store, feed, repo, thread_id):
        feed.catch_up(thread_id)
        assert "owner" not in feed.entries(thread_id)[1]
        found = store.client.query(
            TableName=store.table_name,
            IndexName="owner",
            KeyConditionExpression="#owner = :ada",
            ExpressionAttributeNames={"#owner": "owner"},
            ExpressionAttributeValues={":ada": {"S": "ada"}},
        )
        assert [item["sk"]["S"] for item in found["Items"] if item["pk"]["S"] == f"THREAD#{thread_id}"] == [
            "PREFERENCES"
        ]

    def test_are_the_same_however_often_and_in_whatever_order_the_records_come(
        self, feed, thread_id, reported
    ):
        records = feed.records(thread_id)
        assert feed.hand_over(*records) == []
        kept = feed.entries(thread_id)
        assert feed.hand_over(*reversed(records), *records) == []
        assert feed.entries(thread_id) == kept
        assert len(kept) == 5

    def test_are_not_made_of_a_change_that_is_too_old_to_be_kept(self, feed, thread_id):
        [record] = feed.records(thread_id)
        assert feed.hand_over(changed(record, at="2020-01-01T00:00:00.000Z")) == []
        assert feed.entries(thread_id) == {}

    def test_are_not_made_of_what_someone_did_by_hand(self, store, feed, thread_id):
        store.poke(thread_id, "renumbered", value=0)
        store.poke(thread_id, "revision", value=9)
        feed.catch_up(thread_id)
        assert [*feed.entries(thread_id)] == [1]

    def test_cost_the_writer_no_call(self, store, thread_id):
        repo = store.repository()
        row_id = repo.add_preferences_bulk(thread_id, drafts("A"), ADA).thread.preferences[0].id
        assert store.calls == {"GetItem": 1, "UpdateItem": 1}
        store.calls.clear()
        repo.edit_preference(thread_id, row_id, {"title": "B"}, ADA)
        repo.set_lock(thread_id, row_id, ADA, locked=True)
        repo.remove_preference(thread_id, row_id, ADA)
        assert store.calls == {"GetItem": 3, "UpdateItem": 3}

    def test_never_come_back_to_the_history(self, feed, thread_id, template):
        [record] = feed.records(thread_id)
        own = copy.deepcopy(record)
        own["dynamodb"]["Keys"]["sk"] = {"S": "CHANGE#0000000009"}
        source = event_source(template)
        assert source.admits(record)
        assert not source.admits(own)
        assert feed.hand_over(own) == []
        assert feed.entries(thread_id) == {}


LONG = "\U0001f600"  # four bytes, the most that a character takes


# The engine that counts bytes as DynamoDB does, and refuses what is too large.
@pytest.mark.parametrize("store", ["dynoxide"], indirect=True)
class TestTheLargestChange:
    @pytest.fixture
    def full(self, store, repo, thread_id):
        """A thread with a hundred rows that hold all the characters that it may."""
        why = Caller(actor="agent", owner="ada", who="a" * 255, reasoning=LONG * MAX_REASONING)
        for half in ("A", "B"):
            items = [Draft(title=f"{half}{n:02}" + LONG * 37, subtitle=LONG * 40) for n in range(50)]
            repo.add_preferences_bulk(thread_id, items, why)
        assert len(store.rows(thread_id)) == 100
        return why

    @pytest.mark.parametrize(
        "change",
        [
            lambda repo, t, why: repo.update_preferences(
                t,
                [
                    IndexedEdit(index=n, title=f"C{n:02}" + LONG * 37, subtitle="C" + LONG * 39, kind="hard")
                    for n in range(1, 51)
                ],
                why,
            ),
            lambda repo, t, why: repo.remove_preferences(t, range(1, 51), why),
            lambda repo, t, _: repo.set_all_locks(t, ADA, locked=True),
            lambda repo, t, _: repo.reorder(
                t, [row.id for row in reversed(repo.list_preferences(t, ADA).preferences)], ADA
            ),
        ],
        ids=["50 edits", "50 removals", "100 locks", "100 moves"],
    )
    def test_fits_into_an_entry_and_so_does_its_undo(self, feed, repo, thread_id, full, change):
        change(repo, thread_id, full)
        feed.catch_up(thread_id)
        repo.undo(thread_id, 4, ADA)
        feed.catch_up(thread_id)
        kept = feed.entries(thread_id)
        assert [*kept] == [1, 2, 3, 4, 5]
        assert max(size_of(entry) for entry in kept.values()) < 400 * 1024

    def test_would_fit_if_it_rewrote_fifty_rows_and_locked_and_moved_all(self, feed, repo, thread_id):
        rows = [a_row(LONG * 120, id=f"{n:032}", subtitle=LONG * 500, rank=n) for n in range(100)]
        other = {"title": "Z" + LONG * 119, "subtitle": "Z" + LONG * 499, "kind": "hard"}
        new = [so(r, **(other if n < 50 else {}), locked=True, rank=r.rank + 1) for n, r in enumerate(rows)]
        change = Change(
            id=new_id(), actor="agent", who="a" * 255, action="edit", reasoning=LONG * 1000, at=now()
        )
        entry = entry_of(a_thread(*rows, revision=0), a_thread(*new, revision=1, last_change=change))
        repo.history.put(thread_id, entry)
        [kept] = feed.entries(thread_id).values()
        assert len(kept["rows"]) == 100
        assert size_of(kept) < 400 * 1024

    def test_fits_a_page_of_itself_into_an_answer(self, feed, repo, thread_id, full):
        quotes = [IndexedEdit(index=n, title=f"{n:02}" + '"' * 38, subtitle='"' * 40) for n in range(1, 51)]
        long = [IndexedEdit(index=n, title=f"{n:02}" + LONG * 38, subtitle=LONG * 40) for n in range(1, 51)]
        for edits in (quotes, long) * 4:
            repo.update_preferences(thread_id, edits, full)
        feed.catch_up(thread_id)
        people = People(thread_id)
        query, seen = "limit=100", []
        while query:
            answer = people.history(query)
            assert len(json.dumps(json.dumps(answer.json))) < 6 * 1024 * 1024
            seen += [entry["revision"] for entry in answer.json["entries"]]
            query = answer.json["next"] and f"limit=100&cursor={answer.json['next']}"
        assert seen == [*range(11, 1, -1)]


def now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


def size_of(value) -> int:
    """Bytes of an item as DynamoDB counts them, or more."""
    if isinstance(value, str):
        return len(value.encode())
    if isinstance(value, dict):
        return 3 + sum(len(name.encode()) + 1 + size_of(inner) for name, inner in value.items())
    if isinstance(value, list):
        return 3 + sum(1 + size_of(inner) for inner in value)
    return 21


# -- what goes with the thread --------------------------------------------------------------------------


class TestADeletedThread:
    def test_leaves_no_entry(self, feed, repo, thread_id, reported):
        feed.catch_up(thread_id)
        repo.delete_thread(thread_id, ADA)
        feed.catch_up(thread_id)
        assert feed.entries(thread_id) == {}

    def test_leaves_no_entry_of_more_than_a_page_of_them(self, store, feed, repo, thread_id):
        fill(store, thread_id, range(2, 42), size=60_000)
        store.poke(thread_id, "revision", value=41)
        assert len(feed.entries(thread_id)) == 40
        repo.delete_thread(thread_id, ADA)
        feed.catch_up(thread_id)
        assert feed.entries(thread_id) == {}

    def test_may_be_reported_again(self, feed, repo, thread_id, reported):
        repo.delete_thread(thread_id, ADA)
        records = feed.records(thread_id)
        assert feed.hand_over(*records, *records) == []
        assert feed.entries(thread_id) == {}

    def test_is_purged_in_several_goes_where_the_time_is_short(self, store, feed, repo, thread_id):
        fill(store, thread_id, range(2, 102))
        store.poke(thread_id, "revision", value=101)
        repo.delete_thread(thread_id, ADA)
        tombstone = feed.records(thread_id)[-1]
        left, goes = [len(feed.entries(thread_id))], 0
        while left[-1]:
            failed = history.handler({"Records": [tombstone]}, Hurried(calls=5))["batchItemFailures"]
            left.append(len(feed.entries(thread_id)))
            goes += 1
            if left[-1]:
                assert failed == [{"itemIdentifier": tombstone["dynamodb"]["SequenceNumber"]}]
                assert left[-1] < left[-2]
        assert goes > 1

    def test_gets_nothing_back_by_a_record_that_comes_late(self, feed, repo, thread_id, reported):
        repo.delete_thread(thread_id, ADA)
        *before, tombstone = feed.records(thread_id)
        assert feed.hand_over(tombstone) == []
        assert feed.hand_over(*before) == []
        assert feed.entries(thread_id) == {}

    @pytest.mark.parametrize("operation", ["PutItem", "GetItem"])
    def test_gets_nothing_back_by_a_record_in_the_middle_of_which_it_is_deleted(
        self, feed, repo, thread_id, reported, operation
    ):
        """Before the late entry is put, or between that and the look at the thread."""
        late = feed.records(thread_id)[3]
        gone = []

        def delete(**_):
            if not gone:
                gone.append(True)
                repo.delete_thread(thread_id, ADA)
                assert feed.hand_over(feed.records(thread_id)[-1]) == []

        events = repository_client.dynamodb_client().meta.events
        events.register(f"before-call.dynamodb.{operation}", delete)
        assert feed.hand_over(late) == []
        assert gone
        assert feed.entries(thread_id) == {}

    def test_goes_on_from_its_revision_when_it_comes_back_and_shows_nothing_of_before(
        self, feed, repo, thread_id, reported
    ):
        feed.catch_up(thread_id)
        repo.delete_thread(thread_id, ADA)
        repo.register_thread(thread_id, ADA)
        repo.add_preferences_bulk(thread_id, drafts("Anew"), ADA)
        # The stream has not been read yet, and the entries of before are still there.
        assert [*feed.entries(thread_id)] == [1, 2, 3, 4, 5]
        assert People(thread_id).history().json == {"entries": [], "next": None}
        feed.catch_up(thread_id)
        assert [*feed.entries(thread_id)] == [7, 8]
        shown = People(thread_id).history().json["entries"]
        assert [(entry["revision"], entry["summary"]) for entry in shown] == [
            (8, "You recorded Anew"),
        ]

    def test_shows_pages_of_its_present_life_and_no_empty_ones_after_them(
        self, feed, repo, thread_id, reported
    ):
        feed.catch_up(thread_id)
        repo.delete_thread(thread_id, ADA)
        repo.register_thread(thread_id, ADA)
        repo.add_preferences_bulk(thread_id, drafts("Anew"), ADA)
        assert feed.hand_over(*feed.records(thread_id)[-2:]) == []  # and the tombstone is still to come
        assert [*feed.entries(thread_id)] == [1, 2, 3, 4, 5, 7, 8]
        assert pages(People(thread_id), "limit=1") == [[8]]

    def test_keeps_the_entries_of_its_next_life_whatever_of_the_last_one_comes_again(
        self, feed, repo, thread_id, reported
    ):
        repo.delete_thread(thread_id, ADA)
        repo.register_thread(thread_id, ADA)
        repo.add_preferences_bulk(thread_id, drafts("Anew"), ADA)
        records = feed.records(thread_id)
        assert feed.hand_over(*records) == []
        kept = feed.entries(thread_id)
        assert [*kept] == [7, 8]
        assert feed.hand_over(*records) == []
        assert feed.entries(thread_id) == kept

    def test_is_purged_twice_when_it_is_deleted_twice(self, feed, repo, thread_id, reported):
        for _ in range(2):
            repo.delete_thread(thread_id, ADA)
            repo.register_thread(thread_id, ADA)
            feed.catch_up(thread_id)
        assert [*feed.entries(thread_id)] == [9]


class TestARemovedItem:
    """The tombstone, when its time is over; or a list, by an operator's hand."""

    @pytest.mark.parametrize("deleted", [True, False], ids=["tombstone", "list"])
    def test_takes_its_entries_along(self, store, feed, repo, thread_id, reported, deleted):
        feed.catch_up(thread_id)
        if deleted:
            repo.delete_thread(thread_id, ADA)
        store.client.delete_item(TableName=store.table_name, Key=store.key(thread_id))
        feed.catch_up(thread_id)
        assert feed.entries(thread_id) == {}

    def test_leaves_the_entries_of_another_thread_under_its_id_alone(
        self, store, feed, repo, thread_id, reported
    ):
        repo.delete_thread(thread_id, ADA)
        store.client.delete_item(TableName=store.table_name, Key=store.key(thread_id))
        of_ada = feed.records(thread_id)
        feed.catch_up(thread_id)
        repo.register_thread(thread_id, EVE)
        repo.add_preferences_bulk(thread_id, drafts("Eve's"), EVE)
        feed.catch_up(thread_id)
        kept = feed.entries(thread_id)
        assert [*kept] == [1, 2]
        assert feed.hand_over(*of_ada) == []
        assert feed.entries(thread_id) == kept

    def test_shows_nothing_of_it_to_the_next_owner_of_the_id_even_while_entries_are_left(
        self, store, feed, repo, thread_id, reported
    ):
        feed.catch_up(thread_id)
        store.client.delete_item(TableName=store.table_name, Key=store.key(thread_id))
        repo.register_thread(thread_id, EVE)
        for n in range(8):
            repo.add_preferences_bulk(thread_id, drafts(f"Eve's {n}"), EVE)
        people = People(thread_id)
        assert people.history(user="eve").json["entries"] == []
        assert people.undo(5, user="eve").status == 404


def fill(store, thread_id, revisions, size=10, **attributes):
    """Puts entries beside a thread, by no means of the repository's."""
    for revision in revisions:
        item = {
            "pk": {"S": f"THREAD#{thread_id}"},
            "sk": {"S": f"CHANGE#{revision:010d}"},
            "id": {"S": f"change-{revision}"},
            "user": {"S": "ada"},
            "actor": {"S": "agent"},
            "action": {"S": "add"},
            "reasoning": {"S": "x" * size},
            "at": {"S": "2026-11-30T22:08:31.123Z"},
            "rows": {"L": [{"M": {"id": {"S": "A"}, "after": {"M": {"title": {"S": "A"}}}}}]},
            "expires_at": {"N": "9999999999"},
        }
        store.client.put_item(TableName=store.table_name, Item=item | attributes)


class Hurried:
    """A Lambda context in which the time is over after so many looks at the clock."""

    def __init__(self, calls):
        self._left = itertools.chain([60_000] * calls, itertools.repeat(0))

    def get_remaining_time_in_millis(self):
        return next(self._left)


# -- what fails -----------------------------------------------------------------------------------------


def _without(*path):
    def spoil(record):
        *way, name = path
        for step in way:
            record = record[step]
        del record[name]

    return spoil


def _with(value, *path):
    def spoil(record):
        *way, name = path
        for step in way:
            record = record[step]
        record[name] = value

    return spoil


NEW = ("dynamodb", "NewImage")
UNREADABLE = {
    "no keys": _without("dynamodb", "Keys"),
    "no partition key": _without("dynamodb", "Keys", "pk"),
    "a key of another type": _with({"N": "1"}, "dynamodb", "Keys", "pk"),
    "no event name": _without("eventName"),
    "an unknown event": _with("UPSERT", "eventName"),
    "no new image": _without(*NEW),
    "an empty new image": _with({}, *NEW),
    "no old image": _without("dynamodb", "OldImage"),
    "a removal with a new image": _with("REMOVE", "eventName"),
    "an image that is a text": _with("image", *NEW),
    "no revision": _without(*NEW, "revision"),
    "a revision that is a word": _with({"N": "many"}, *NEW, "revision"),
    "rows that are no map": _with({"S": "rows"}, *NEW, "preferences"),
    "a row that is no map": _with({"M": {"a": {"S": "row"}}}, *NEW, "preferences"),
    "an attribute of two types": _with({"S": "a", "N": "1"}, *NEW, "owner"),
    "a change that is no map": _with({"S": "change"}, *NEW, "last_change"),
    "a change by nobody known": _with({"S": "dog"}, *NEW, "last_change", "M", "actor"),
    "a change at no time": _with({"S": "soon"}, *NEW, "last_change", "M", "at"),
    "a change without a time": _without(*NEW, "last_change", "M", "at"),
}


@pytest.fixture
def log():
    """What the stream's handler logs, as text."""
    stream = io.StringIO()
    before = history.logger.registered_handler.setStream(stream)
    yield stream
    history.logger.registered_handler.setStream(before)


@pytest.mark.parametrize("store", ["moto"], indirect=True)
class TestARecord:
    @pytest.mark.parametrize("spoil", UNREADABLE.values(), ids=UNREADABLE.keys())
    def test_that_cannot_be_read_is_reported_and_the_others_are_taken(self, feed, thread_id, reported, spoil):
        records = copy.deepcopy(feed.records(thread_id))
        spoil(records[2])
        assert feed.hand_over(*records) == [records[2]["dynamodb"]["SequenceNumber"]]
        assert [*feed.entries(thread_id)] == [1, 2, 4, 5]

    @pytest.mark.parametrize("record", [None, "record", 7, [], {}, {"dynamodb": None}, {"dynamodb": []}])
    def test_without_a_number_fails_the_whole_batch(self, feed, thread_id, record):
        assert feed.hand_over(record, *feed.records(thread_id)) == [""]
        assert [*feed.entries(thread_id)] == [1]

    def test_of_something_else_is_no_fault(self, feed, thread_id):
        [record] = feed.records(thread_id)
        for keys in ({"pk": {"S": "USER#1"}, "sk": {"S": "PREFERENCES"}}, {"pk": {"S": "THREAD#t"}}):
            other = copy.deepcopy(record)
            other["dynamodb"]["Keys"] = keys
            assert feed.hand_over(other) == []

    def test_that_is_taken_on_the_second_try_is_kept(self, feed, thread_id):
        [record] = feed.records(thread_id)
        client = repository_client.dynamodb_client()
        fail = refuse_with("InternalServerError", 500)
        client.meta.events.register("before-call.dynamodb.PutItem", fail)
        number = record["dynamodb"]["SequenceNumber"]
        assert history.handler({"Records": [record]}, Hurried(calls=3)) == {
            "batchItemFailures": [{"itemIdentifier": number}]
        }
        client.meta.events.unregister("before-call.dynamodb.PutItem", fail)
        assert feed.hand_over(record) == []
        assert [*feed.entries(thread_id)] == [1]

    def test_that_fails_for_good_is_reported_at_once(self, feed, thread_id):
        [record] = feed.records(thread_id)
        client = repository_client.dynamodb_client()
        client.meta.events.register("before-call.dynamodb.PutItem", refuse_with("AccessDeniedException", 400))
        assert feed.hand_over(record) == [record["dynamodb"]["SequenceNumber"]]

    def test_that_comes_when_the_time_is_over_is_reported_without_a_call(self, feed, thread_id, call_counter):
        records = feed.records(thread_id)
        calls = call_counter(repository_client.dynamodb_client())
        assert feed.hand_over(*records, timeout=1.0) == [r["dynamodb"]["SequenceNumber"] for r in records]
        assert calls == {}

    def test_leaves_none_of_its_text_in_the_log(self, feed, repo, thread_id, log):
        repo.add_preferences_bulk(thread_id, drafts("Secret title", subtitle="Secret subtitle"), ADA)
        good, bad = feed.records(thread_id)
        bad = copy.deepcopy(bad)
        bad["dynamodb"]["NewImage"]["last_change"]["M"]["actor"] = {"S": "Secret actor"}
        assert feed.hand_over(good, bad) != []
        lines = log.getvalue()
        assert "ValidationError" in lines
        for private in ("Secret", "ada", thread_id):
            assert private not in lines

    @pytest.mark.parametrize("event", [None, {}, {"Records": None}, {"Records": {}}, [], "event"])
    def test_must_be_there_for_anything_to_be_done(self, feed, event):
        assert history.handler(event, Hurried(calls=9)) == {"batchItemFailures": []}


def refuse_with(code, status):
    """A hook that has a call fail so, before it is sent."""

    def fail(model, **_):
        metadata = {"HTTPStatusCode": status}
        raise ClientError({"Error": {"Code": code}, "ResponseMetadata": metadata}, model.name)

    return fail


# -- what is shown --------------------------------------------------------------------------------------


def pages(people, query="limit=100"):
    """Every page, by following the cursor to the end."""
    answers = [people.history(query)]
    while cursor := answers[-1].json["next"]:
        answers.append(people.history(f"{query}&cursor={cursor}"))
    return [[entry["revision"] for entry in answer.json["entries"]] for answer in answers]


@pytest.fixture
def people(feed, thread_id):
    return People(thread_id)


class TestThePeoplesHandler:
    def test_shows_the_newest_first_in_data_and_in_words(self, feed, thread_id, reported, people):
        feed.catch_up(thread_id)
        answer = people.history()
        assert answer.status == 200
        assert answer.json["next"] is None
        assert [
            (e["revision"], e["actor"], e["summary"], e["reasoning"]) for e in answer.json["entries"]
        ] == [
            (5, "user", "You removed Sea view", None),
            (
                4,
                "agent",
                "The agent renamed Quiet to Very quiet and made it hard",
                "Because Ada said so.",
            ),
            (3, "user", "You locked Budget", None),
            (
                2,
                "agent",
                "The agent recorded 3 preferences: Quiet, Budget, Sea view",
                "Because Ada said so.",
            ),
        ]

    def test_shows_of_a_row_what_differs_and_none_of_what_is_kept_for_an_undo(
        self, feed, thread_id, reported, people
    ):
        feed.catch_up(thread_id)
        removed, edited, locked, added = (entry["changes"] for entry in people.history().json["entries"])
        whole = {"title": "Sea view", "subtitle": None, "kind": "soft", "locked": False, "rank": 202}
        assert removed == [{"id": reported[2], "title": "Sea view", "before": whole, "after": None}]
        assert edited == [
            {
                "id": reported[0],
                "title": "Very quiet",
                "before": {"title": "Quiet", "kind": "soft"},
                "after": {"title": "Very quiet", "kind": "hard"},
            }
        ]
        assert locked == [
            {"id": reported[1], "title": "Budget", "before": {"locked": False}, "after": {"locked": True}}
        ]
        assert added[2] == {"id": reported[2], "title": "Sea view", "before": None, "after": whole}

    def test_pages_to_the_end_without_a_gap_or_a_repeat(self, feed, repo, thread_id, reported, people):
        feed.catch_up(thread_id)
        assert pages(people, "limit=2") == [[5, 4], [3, 2]]
        assert pages(people, "limit=5") == [[5, 4, 3, 2]]
        assert pages(people, "limit=1") == [[5], [4], [3], [2]]

    def test_hides_what_changed_no_row(self, feed, repo, thread_id, reported, people):
        for _ in range(3):
            repo.set_lock(thread_id, reported[1], ADA, locked=True)
        repo.set_lock(thread_id, reported[1], ADA, locked=False)
        feed.catch_up(thread_id)
        assert feed.entries(thread_id).keys() == {*range(1, 10)}
        assert pages(people, "limit=1") == [[9], [5], [4], [3], [2]]
        assert pages(people) == [[9, 5, 4, 3, 2]]

    def test_hides_that_the_conversation_was_given_a_title(self, feed, repo, thread_id, reported, people):
        repo.set_title(thread_id, "Trip to Rome", ADA)
        feed.catch_up(thread_id)
        entry = feed.entries(thread_id)[6]
        assert (entry["action"], entry["rows"]) == ("title", [])
        assert "Rome" not in str(entry)
        assert pages(people) == [[5, 4, 3, 2]]

    def test_goes_on_after_many_that_changed_no_row(self, store, thread_id, people):
        fill(store, thread_id, range(2, 4))
        fill(store, thread_id, range(4, 40), rows={"L": []})
        store.poke(thread_id, "revision", value=39)
        found = pages(people, "limit=2")
        assert [*itertools.chain.from_iterable(found)] == [3, 2]
        assert len(found) < 10

    def test_pages_through_what_is_larger_than_the_table_gives_at_once(self, store, thread_id, people):
        fill(store, thread_id, range(2, 42), size=60_000)
        store.poke(thread_id, "revision", value=41)
        found = pages(people)
        assert len(found) > 1
        assert [*itertools.chain.from_iterable(found)] == [*range(41, 1, -1)]

    def test_goes_on_where_the_page_before_ended_whatever_was_added_since(
        self, feed, repo, thread_id, reported, people
    ):
        feed.catch_up(thread_id)
        cursor = people.history("limit=2").json["next"]
        repo.add_preferences_bulk(thread_id, drafts("Later"), ADA)
        feed.catch_up(thread_id)
        following = people.history(f"limit=100&cursor={cursor}").json["entries"]
        assert [entry["revision"] for entry in following] == [3, 2]

    def test_takes_no_cursor_of_another_thread(self, store, feed, repo, thread_id, reported, people):
        feed.catch_up(thread_id)
        other = store.new_id()
        repo.register_thread(other, ADA)
        cursor = people.history("limit=1").json["next"]
        assert People(other).history(f"cursor={cursor}").status == 422

    def test_takes_no_cursor_that_it_did_not_make(self, people):
        foreign = [
            "",
            "a%2Cb",
            "5",
            "AAAA",
            make_cursor("threads", f"5:{people.thread_id}"),
            make_cursor("history", "5"),
            make_cursor("history", f"five:{people.thread_id}"),
            make_cursor("history", f"-1:{people.thread_id}"),
            make_cursor("history", f"05:{people.thread_id}"),
            make_cursor("history", f"{10**12}:{people.thread_id}"),
            make_cursor("history", f"5:{people.thread_id}") + "=",
        ]
        answers = [people.history(f"cursor={cursor}") for cursor in foreign]
        assert {(answer.status, answer.json["code"]) for answer in answers} == {(422, "invalid_input")}

    @pytest.mark.parametrize("limit", ["0", "101", "-1", "1e2", "many", "", "1&limit=2"])
    def test_takes_limits_from_1_to_100_once(self, people, limit):
        answer = people.history(f"limit={limit}")
        assert answer.status == 422
        assert answer.json["errors"][0]["field"] == "limit"

    def test_answers_304_while_a_page_is_as_it_was(self, feed, repo, thread_id, reported, people):
        feed.catch_up(thread_id)
        etag = people.history().headers["ETag"]
        again = people.history(headers={"if-none-match": etag})
        assert (again.status, again.json, again.headers["ETag"]) == (304, None, etag)
        assert people.history("limit=1", headers={"if-none-match": etag}).status == 200
        repo.add_preferences_bulk(thread_id, drafts("Later"), ADA)
        feed.catch_up(thread_id)
        assert people.history(headers={"if-none-match": etag}).status == 200

    def test_shows_a_stranger_what_it_shows_of_no_thread_at_all(
        self, store, feed, thread_id, reported, people
    ):
        feed.catch_up(thread_id)
        answers = [people.history(user="eve"), People(store.new_id()).history()]
        assert {(a.status, json.dumps(a.json)) for a in answers} == {(404, json.dumps(answers[0].json))}

    def test_shows_nothing_of_a_thread_that_was_deleted(self, feed, repo, thread_id, reported, people):
        feed.catch_up(thread_id)
        repo.delete_thread(thread_id, ADA)
        assert people.history().status == 404

    def test_shows_nothing_whose_time_is_over_though_the_table_has_it_still(self, store, thread_id, people):
        fill(store, thread_id, range(1, 4), expires_at={"N": "1000"})
        fill(store, thread_id, range(4, 6))
        store.poke(thread_id, "revision", value=5)
        assert pages(people, "limit=1") == [[5], [4]]
        assert pages(people) == [[5, 4]]

    def test_reads_the_thread_and_one_page(self, feed, thread_id, reported, people, call_counter):
        feed.catch_up(thread_id)
        calls = call_counter(repository_client.dynamodb_client())
        people.history("limit=2")
        assert calls == {"GetItem": 1, "Query": 1}


# -- in words -------------------------------------------------------------------------------------------


def said(old, new, *, actor="agent", action="edit"):
    """What is said of the change from one list of rows to another."""
    change = Change(id="1", actor=actor, action=action, at="2026-11-30T22:08:31.123Z")
    before = a_thread(*old, revision=7)
    return summary(entry_of(before, a_thread(*new, revision=8, last_change=change)))


A, B, C = (a_row(title, rank=n) for n, title in enumerate("ABC", 1))


def so(row, **fields):
    return row.model_copy(update=fields)


class TestTheSummary:
    @pytest.mark.parametrize(
        ("old", "new", "words"),
        [
            ([], [A], "The agent recorded A"),
            ([], [A, B], "The agent recorded 2 preferences: A, B"),
            ([A, B], [B], "The agent removed A"),
            ([A, B], [], "The agent removed 2 preferences: A, B"),
            ([A], [so(A, title="Z")], "The agent renamed A to Z"),
            ([A], [so(A, subtitle="x")], "The agent gave A a subtitle"),
            ([so(A, subtitle="x")], [so(A, subtitle="y")], "The agent gave A another subtitle"),
            ([so(A, subtitle="x")], [A], "The agent took the subtitle off A"),
            ([A], [so(A, kind="hard")], "The agent made A hard"),
            ([A], [so(A, locked=True)], "The agent locked A"),
            ([so(A, locked=True)], [A], "The agent unlocked A"),
            (
                [A],
                [so(A, title="Z", subtitle="x", kind="hard", locked=True)],
                "The agent renamed A to Z, gave it a subtitle, made it hard and locked it",
            ),
            ([A, B], [so(A, title="Y"), so(B, kind="hard")], "The agent changed 2 preferences: Y, B"),
            ([A, B], [so(A, locked=True), so(B, locked=True)], "The agent locked 2 preferences: A, B"),
            ([A, B], [so(B, rank=0), A], "The agent moved B"),
            ([A, B], [so(B, rank=1), so(A, rank=2)], "The agent reordered the list"),
        ],
    )
    def test_says_what_was_done(self, old, new, words):
        assert said(old, new) == words

    def test_speaks_to_the_user(self):
        assert said([], [A], actor="user", action="add") == "You recorded A"

    def test_says_what_an_undo_put_back(self):
        assert said([B], [A, B], actor="user", action="undo") == "You undid a change: brought back A"
        assert said([A, B], [B], actor="user", action="undo") == "You undid a change: took out A"
        assert said([A], [so(A, title="Z")], actor="user", action="undo") == (
            "You undid a change: renamed A to Z"
        )
        assert said([A, B], [so(B, title="Y"), C], actor="user", action="undo") == (
            "You undid a change: changed Y, brought back C and took out A"
        )

    def test_names_five_at_most(self):
        rows = [a_row(f"R{n}", rank=n) for n in range(7)]
        assert said([], rows) == "The agent recorded 7 preferences: R0, R1, R2, R3, R4 and 2 more"

    def test_is_one_line_whatever_a_title_holds(self):
        assert "\n" not in said([], [a_row("A\nB\u2028C")])


# -- all of it ------------------------------------------------------------------------------------------


def test_the_local_stack_tells_who_did_what_and_why_and_undoes_it(stack):
    thread = f"/threads/{new_id()}"
    agent = {"thread_id": thread.removeprefix("/threads/"), "user_id": "ada"}

    def tool(name, why, **lists):
        given = {name: ("array", json.dumps(value)) for name, value in lists.items()}
        given["action_and_reasoning"] = ("string", why)
        answer = stack.agent(
            {
                "messageVersion": "1.0",
                "agent": {"id": "AGENT1"},
                "actionGroup": "preferences",
                "function": name,
                "sessionAttributes": agent,
                "parameters": [{"name": n, "type": kind, "value": v} for n, (kind, v) in given.items()],
            }
        )
        body = answer.json["response"]["functionResponse"]["responseBody"]["TEXT"]["body"]
        assert json.loads(body)["ok"]

    def entries(least):
        until = time.monotonic() + 20
        while time.monotonic() < until:
            found = stack.user("GET", f"{thread}/history").json["entries"]
            if len(found) >= least:
                return found
            time.sleep(0.05)
        raise AssertionError("the history does not arrive")

    def rows():
        return stack.user("GET", f"{thread}/preferences").json["preferences"]

    three = [{"title": "Quiet"}, {"title": "Budget under 900", "kind": "hard"}, {"title": "Sea view"}]
    tool("add_preferences", "Recording what Ada said.", items=three)
    quiet, budget, sea = (row["id"] for row in rows())
    stack.user("PUT", f"{thread}/preferences/{budget}/lock")
    tool("update_preferences", "Ada insists.", updates=[{"index": 1, "title": "Very quiet"}])
    stack.user("DELETE", f"{thread}/preferences/{sea}")

    assert [(e["revision"], e["actor"], e["reasoning"], e["summary"]) for e in entries(4)] == [
        (4, "user", None, "You removed Sea view"),
        (3, "agent", "Ada insists.", "The agent renamed Quiet to Very quiet"),
        (2, "user", None, "You locked Budget under 900"),
        (
            1,
            "agent",
            "Recording what Ada said.",
            "The agent recorded 3 preferences: Quiet, Budget under 900, Sea view",
        ),
    ]

    answer = stack.user("POST", f"{thread}/history/4/undo")
    assert answer.status == 200
    assert [row["id"] for row in answer.json["preferences"]] == [quiet, budget, sea]
    assert answer.json["preferences"] == rows()
    assert entries(5)[0]["summary"] == "You undid a change: brought back Sea view"

    stack.user("PATCH", f"{thread}/preferences/{quiet}", {"title": "Silent"})
    answer = stack.user("POST", f"{thread}/history/3/undo")
    assert (answer.status, answer.json["code"]) == (409, "undo_conflict")
    assert answer.json["conflicts"] == [
        {"id": quiet, "title": "Silent", "reason": "was renamed since, to “Silent”"}
    ]
    assert rows()[0]["title"] == "Silent"

    stack.user("DELETE", thread)
    assert stack.user("GET", f"{thread}/history").status == 404

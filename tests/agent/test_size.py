"""How long answers to a model are: it reads each of them, and action groups are said to take 25,000 bytes."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from preferences.agent.envelopes import FunctionCall, GatewayCall, OpenApiCall
from preferences.errors import ListFull
from preferences.model import MAX_CHARACTERS, Draft
from preferences.tools import PreferenceTools
from tests.support import ADA, row

pytestmark = pytest.mark.parametrize("store", ["dynoxide"], indirect=True, scope="module")

LIMIT = 25_000
CALLS = {
    "function": FunctionCall({"actionGroup": "preferences", "function": "update_preferences"}),
    "openapi": OpenApiCall(
        {"actionGroup": "preferences", "apiPath": "/update_preferences", "httpMethod": "POST"}
    ),
    "gateway": GatewayCall({}, {"bedrockAgentCoreToolName": "preferences___update_preferences"}),
}


def ordinary(count):
    """Rows as people write them: a title of 20 characters, a subtitle of 36."""
    return {
        f"r{n:03}": row(f"Preference number {n:02}", rank=n, subtitle="so that it is what people often say")
        for n in range(count)
    }


def largest(count, *, locked=False):
    """The longest plain lines that so many rows may have, every tenth of them locked, or all."""
    length = MAX_CHARACTERS // count // 2
    return {
        f"r{n:03}": row(
            f"{n:03}".ljust(length, "x"),
            rank=n,
            subtitle="y" * length,
            kind="hard",
            locked=locked or n % 10 == 9,
        )
        for n in range(count)
    }


def size(value):
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


@pytest.fixture
def tools(store):
    return lambda thread_id: PreferenceTools(thread_id, store.other, user_id="ada")


@pytest.mark.parametrize("count", [5, 20, 50, 100])
def test_a_list_is_hardly_longer_than_its_lines(store, tools, count):
    envelope = tools(store.write(ordinary(count))).list_preferences()
    assert envelope.keys() == {"ok", "result", "revision"}
    assert size(envelope) <= 1.12 * len(envelope["result"].encode())
    if count == 50:
        assert size(envelope) <= 4_600


@pytest.mark.parametrize("count", [5, 20, 50, 100])
def test_an_edit_of_one_row_with_the_present_revision_tells_of_that_row_alone(store, tools, count):
    edit = [{"index": 3, "title": "Another title"}]
    envelope = tools(store.write(ordinary(count))).update_preferences(updates=edit, list_revision=7)
    assert size(envelope) <= 600
    assert envelope["changed"] == "#3 [soft] Another title — so that it is what people often say"
    assert "preferences" not in envelope


def test_an_edit_that_met_another_writer_tells_the_whole_list(store, tools):
    thread_id = store.thread("A", "B")
    store.other.add_preferences_bulk(thread_id, [Draft(title="C")], ADA)
    envelope = tools(thread_id).update_preferences(updates=[{"index": 1, "title": "X"}], list_revision=7)
    assert envelope["preferences"] == "#1 [soft] X\n#2 [soft] B\n#3 [soft] C"
    assert "changed" not in envelope


def test_an_edit_without_the_revision_tells_the_whole_list(store, tools):
    envelope = tools(store.thread("A", "B")).update_preferences(updates=[{"index": 1, "title": "X"}])
    assert envelope["preferences"] == "#1 [soft] X\n#2 [soft] B"


def test_an_edit_that_changed_nothing_tells_no_list_to_whoever_has_it(store, tools):
    envelope = tools(store.thread("A")).update_preferences(
        updates=[{"index": 1, "title": "A"}], list_revision=7
    )
    assert not envelope.keys() & {"changed", "preferences"}


def repeated(n):
    return {"title": f"{n:03}".ljust(40, "x"), "subtitle": "y" * 40, "kind": "hard"}


BATCHES = {
    "every outcome of an update": lambda tools: tools.update_preferences(
        updates=[
            *({"index": n, "title": f"{n} is new".ljust(40, "y")} for n in range(1, 31)),
            *({"index": n, "kind": "hard"} for n in range(31, 41)),
            *({"index": n, **repeated(n - 42)} for n in (95, 96)),
            *({"index": n, "title": "A"} for n in range(101, 109)),
        ]
    ),
    "50 updates": lambda tools: tools.update_preferences(
        updates=[{"index": n, "title": f"{n} is new".ljust(40, "y")} for n in range(51, 101)]
    ),
    "50 removals": lambda tools: tools.remove_preferences(indices=[*range(1, 51)]),
    "50 removals out of range": lambda tools: tools.remove_preferences(indices=[*range(101, 151)]),
    "50 repeats": lambda tools: tools.add_preferences(items=[repeated(n) for n in range(50)]),
    "a stale list": lambda tools: tools.remove_preferences(indices=[*range(1, 51)], list_revision=99),
    "the list": lambda tools: tools.list_preferences(),
}


@pytest.mark.parametrize("locked", [False, True], ids=["some locked", "all locked"])
@pytest.mark.parametrize("kind", CALLS)
@pytest.mark.parametrize("batch", BATCHES)
def test_every_answer_on_the_largest_plain_list_is_below_the_limit(store, tools, batch, kind, locked):
    called = tools(store.write(largest(100, locked=locked)))
    envelope = BATCHES[batch](called)
    assert envelope["ok"], envelope
    answer = CALLS[kind].answer(envelope, called.thread)
    assert size(answer) < LIMIT


def test_the_three_envelopes_hold_the_same_result(store, tools):
    called = tools(store.write(largest(20)))
    envelope = called.remove_preferences(indices=[1, 10, 99])
    function, openapi, gateway = (CALLS[kind].answer(envelope, called.thread) for kind in CALLS)
    text = function["response"]["functionResponse"]["responseBody"]["TEXT"]["body"]
    assert json.loads(text) == envelope == gateway
    assert openapi["response"]["responseBody"]["application/json"]["body"] == text
    assert function["promptSessionAttributes"] == openapi["promptSessionAttributes"]


def test_a_large_batch_names_ten_rows_of_an_outcome_by_their_numbers(store, tools):
    envelope = tools(store.write(ordinary(60))).update_preferences(
        updates=[{"index": n, "kind": "hard"} for n in range(1, 51)]
    )
    assert envelope["result"] == "updated #1, #2, #3, #4, #5, #6, #7, #8, #9, #10, and 40 more"
    assert envelope["items"][11] == {"index": 12, "outcome": "updated"}


TEXTS = st.text(
    st.characters(exclude_categories=["Cc", "Cf", "Cs", "Cn", "Zl", "Zp"]), min_size=1, max_size=40
)


def test_no_row_is_missing_every_row_is_one_line_and_the_list_stands_in_a_body_once(store, tools):
    @settings(max_examples=25, suppress_health_check=list(HealthCheck))
    @given(st.lists(TEXTS, min_size=1, max_size=12, unique=True), st.integers(1, 12))
    def check(titles, index):
        rows = {f"r{n}": row(f"{n} {title}", rank=n) for n, title in enumerate(titles)}
        called = tools(store.write(rows))
        for envelope in (
            called.list_preferences(),
            called.update_preferences(updates=[{"index": index, "kind": "hard"}]),
        ):
            lists = [envelope[name] for name in ("preferences", "changed") if name in envelope]
            listed = lists or [envelope["result"]]
            assert len(listed) == 1
            assert len(listed[0].split("\n")) == len(titles)
            for n, line in enumerate(listed[0].split("\n"), 1):
                assert line.startswith(f"#{n} [")

    check()


class TestTheBoundOfAllTexts:
    def test_refuses_an_addition_whole_and_says_the_room(self, store, tools):
        thread_id = store.write(largest(80))
        envelope = tools(thread_id).add_preferences(items=[{"title": "A"}])
        assert envelope["error"]["code"] == "list_full"
        assert "at most 8,000 characters" in envelope["error"]["message"]
        assert "room for 0 more, not 1" in envelope["error"]["message"]
        assert store.item(thread_id)["revision"] == 7

    def test_refuses_an_edit_that_grows_beyond_it_and_takes_one_that_does_not(self, store, tools):
        thread_id = store.write(largest(80))
        grown = {"index": 1, "subtitle": "y" * 51}
        assert tools(thread_id).update_preferences(updates=[grown])["error"]["code"] == "list_full"
        with pytest.raises(ListFull):
            store.other.edit_preference(thread_id, "r000", {"subtitle": "y" * 51}, ADA)
        assert tools(thread_id).update_preferences(updates=[{"index": 1, "title": "Short"}])["ok"]

    def test_lets_a_list_of_before_shrink_and_change_its_locks(self, store, tools):
        rows = {f"r{n}": row(f"{n}".ljust(120, "x"), rank=n, subtitle="y" * 500) for n in range(20)}
        thread_id = store.write(rows)
        store.other.set_lock(thread_id, "r1", ADA, locked=True)
        store.other.edit_preference(thread_id, "r1", {"title": "z" * 119}, ADA)
        with pytest.raises(ListFull):
            store.other.edit_preference(thread_id, "r2", {"subtitle": "y" * 500, "title": "z" * 121}, ADA)
        assert tools(thread_id).remove_preferences(indices=[1])["ok"]

"""What is sent to DynamoDB: every expression well-formed, and none beyond what an item or a request may hold.

moto takes what DynamoDB refuses, so the largest requests are sent to the second engine as well, and measured.
"""

import re
from collections import Counter

import pytest

from preferences.model import (
    MAX_BATCH,
    MAX_CHARACTERS,
    MAX_PREFERENCES,
    MAX_REASONING,
    MAX_SUBTITLE,
    MAX_SUGGESTIONS,
    MAX_TITLE,
    Draft,
    IndexedEdit,
    new_id,
)
from preferences.repository import PreferenceRepository
from preferences.repository.expressions import Expressions
from preferences.repository.items import row_fields, typed
from tests.support import ADA, AGENT, WRITES, a_row, drafts

MAX_EXPRESSION = 4096
MAX_OPERATORS = 300
MAX_ITEM = 400 * 1024

WORDS = {"SET", "REMOVE", "AND", "attribute_not_exists"}
OPERATORS = re.compile(r"[=,]|\bAND\b|\battribute_\w+")
"""Every operator and function, and the commas to be on the safe side."""


@pytest.fixture
def sent(store):
    """(repository, its requests in the order in which they are sent, each as (operation, parameters))."""
    client = store.new_client()
    requests = []
    client.meta.events.register(
        "before-parameter-build.dynamodb",
        lambda params, model, **_: requests.append((model.name, dict(params))),
    )
    return PreferenceRepository(client, store.table_name), requests


def writes(requests):
    return [params for name, params in requests if name in ("UpdateItem", "PutItem")]


# -- form -----------------------------------------------------------------------------------------------


def check_form(params):
    text = f"{params['ConditionExpression']} {params.get('UpdateExpression', '')}"
    left_over = re.sub(r"#\w+|:\w+|\w+", lambda m: "" if m[0][0] in "#:" or m[0] in WORDS else m[0], text)
    assert set(left_over) <= set(" .,()="), "a name or a value stands in the expression itself"
    assert set(re.findall(r"#\w+", text)) == params["ExpressionAttributeNames"].keys()
    assert set(re.findall(r":\w+", text)) == params.get("ExpressionAttributeValues", {}).keys()


@pytest.mark.parametrize("verb", WRITES)
def test_names_and_values_stand_in_no_expression_and_none_is_sent_without_need(store, sent, verb):
    repo, requests = sent
    WRITES[verb](repo, store.thread("A", "B", "C", locked=("B",)))
    for params in writes(requests):
        check_form(params)


def test_the_same_holds_for_registering_deleting_and_coming_back(store, sent):
    repo, requests = sent
    thread_id = store.new_id()
    for act in (repo.register_thread, repo.delete_thread, repo.register_thread):
        act(thread_id, ADA)
    assert len(writes(requests)) == 3
    for params in writes(requests):
        check_form(params)


@pytest.mark.parametrize("verb", WRITES)
def test_every_write_says_its_condition_and_wants_to_know_what_refused_it(store, sent, verb):
    repo, requests = sent
    WRITES[verb](repo, store.thread("A", "B", "C", locked=("B",)))
    for params in writes(requests):
        assert params["ConditionExpression"]
        assert params["ReturnValuesOnConditionCheckFailure"] == "ALL_OLD"


@pytest.mark.parametrize("act", ["update", "remove"])
def test_an_agents_write_asks_of_every_row_that_it_touches_to_be_unlocked(store, sent, act):
    repo, requests = sent
    WRITES[act](repo, store.thread("A", "B", "C"))
    (params,) = writes(requests)
    names, values = params["ExpressionAttributeNames"], params["ExpressionAttributeValues"]
    condition = re.sub(r"#\w+", lambda m: names[m[0]], params["ConditionExpression"])
    condition = re.sub(r":\w+", lambda m: str(values[m[0]]), condition)
    assert set(condition.split(" AND ")) == {
        "owner = {'S': 'ada'}",
        "revision = {'N': '7'}",
        "preferences.A.locked = {'BOOL': False}",
        "preferences.C.locked = {'BOOL': False}",
    }


def test_a_value_that_is_sent_once_serves_every_place_of_the_same_type():
    write = Expressions()
    write.require_unlocked("A")
    write.require_unlocked("B")
    write.require_revision(0)  # equal to False, and something else
    assert write.condition()["ExpressionAttributeValues"] == {":v0": {"BOOL": False}, ":v1": {"N": "0"}}


# -- size -----------------------------------------------------------------------------------------------


def size(attribute):
    """Bytes of a value in DynamoDB's form as DynamoDB counts them (its Developer Guide, "Item sizes")."""
    ((kind, value),) = attribute.items()
    if kind == "M":
        return 3 + sum(len(name.encode()) + size(inner) + 1 for name, inner in value.items())
    if kind == "L":
        return 3 + sum(size(inner) + 1 for inner in value)
    if kind == "N":
        return len(value.lstrip("-")) // 2 + 2
    return 1 if kind == "BOOL" else len(value.encode())


def item_size(item):
    return sum(len(name.encode()) + size(value) for name, value in item.items())


def longest(n, length):
    """Distinct text of that many code points, each of four bytes."""
    return chr(0x1F300 + n) + "\U0001f355" * (length - 1)


def longest_drafts(first, count):
    return [
        Draft(
            title=longest(n, MAX_TITLE),
            subtitle=longest(n, MAX_CHARACTERS // MAX_BATCH - MAX_TITLE),
            kind="hard",
        )
        for n in range(first, first + count)
    ]


VERBOSE = AGENT.model_copy(
    update={"owner": "f" * 64, "who": "f" * 64, "reasoning": longest(0, MAX_REASONING)}
)
VERBOSE_USER = ADA.model_copy(update={"owner": "f" * 64, "who": "f" * 64})


@pytest.fixture
def full(store):
    """A thread of before there was a bound of all texts: as many of the longest rows as there could be."""
    high = 999_999_000
    rows = {
        new_id(): row_fields(
            a_row(
                longest(n, MAX_TITLE),
                subtitle=longest(n, MAX_SUBTITLE),
                kind="hard",
                rank=high * 100 + n,
                **dict.fromkeys(("added", "changed", "user_changed"), high),
            )
        )
        for n in range(MAX_PREFERENCES)
    }
    return store.write(rows, thread_id=f"{new_id()}{new_id()}{new_id()}0123", owner="f" * 64, revision=high)


def test_the_largest_list_stays_far_below_what_an_item_may_hold(store, full):
    assert len(full) == 100
    store.other.update_preferences(
        full,
        [IndexedEdit(index=n, title=longest(n + 200, MAX_TITLE)) for n in range(1, MAX_BATCH + 1)],
        VERBOSE,
    )
    answer = store.client.get_item(TableName=store.table_name, Key=store.key(full), ConsistentRead=True)
    item = answer["Item"]
    assert len(item["preferences"]["M"]) == MAX_PREFERENCES
    assert len(item["last_change"]["M"]["reasoning"]["S"].encode()) == 4 * MAX_REASONING
    assert 250_000 < item_size(item) < 300_000 < MAX_ITEM


LARGEST = {
    "100 rows put whole": lambda repo, thread: repo.set_all_locks(thread, VERBOSE_USER, locked=True),
    "100 ranks": lambda repo, thread: repo.reorder(
        thread,
        [r.id for r in reversed(repo.list_preferences(thread, VERBOSE_USER).preferences)],
        VERBOSE_USER,
    ),
    "50 rows edited under their locks": lambda repo, thread: repo.update_preferences(
        thread,
        [
            IndexedEdit(index=n, title=longest(n + 300, MAX_TITLE), subtitle="", kind="soft")
            for n in range(1, MAX_BATCH + 1)
        ],
        VERBOSE,
    ),
    "50 rows removed under their locks": lambda repo, thread: repo.remove_preferences(
        thread, list(range(1, MAX_BATCH + 1)), VERBOSE
    ),
}


def check_size(params):
    for name in ("ConditionExpression", "UpdateExpression"):
        assert len(params[name].encode()) < MAX_EXPRESSION
        assert len(OPERATORS.findall(params[name])) < MAX_OPERATORS


@pytest.mark.parametrize("what", LARGEST)
def test_the_largest_writes_are_taken_and_stay_below_what_an_expression_may_hold(store, sent, full, what):
    repo, requests = sent
    LARGEST[what](repo, full)
    for params in writes(requests):
        check_size(params)
    assert store.item(full)["revision"] == 999_999_001


def test_the_largest_addition_is_taken(store, sent):
    repo, requests = sent
    thread_id = store.thread()
    repo.add_preferences_bulk(thread_id, longest_drafts(0, MAX_BATCH), AGENT)
    for params in writes(requests):
        check_size(params)
    assert len(store.rows(thread_id)) == MAX_BATCH
    answer = store.client.get_item(TableName=store.table_name, Key=store.key(thread_id), ConsistentRead=True)
    assert 4 * MAX_CHARACTERS < item_size(answer["Item"]) < 60_000 < MAX_ITEM


def test_the_largest_suggestions_fit_beside_the_largest_list(store, sent, full):
    repo, requests = sent
    repo.set_all_locks(full, VERBOSE_USER, locked=True)
    wishes = [
        IndexedEdit(index=n, title=longest(n + 400, MAX_TITLE), subtitle=longest(n, MAX_SUBTITLE))
        for n in range(1, MAX_BATCH + 1)
    ]
    repo.update_preferences(full, wishes, VERBOSE)
    repo.set_all_locks(full, VERBOSE_USER, locked=False)
    for params in writes(requests):
        check_size(params)
    answer = store.client.get_item(TableName=store.table_name, Key=store.key(full), ConsistentRead=True)
    assert len(answer["Item"]["suggestions"]["M"]) == MAX_SUGGESTIONS
    assert item_size(answer["Item"]) < 370_000 < MAX_ITEM


def test_rows_put_and_rows_removed_in_one_write_under_every_lock_stay_below_it_too(store):
    """No request asks for as much at once; the room that it leaves is for the next."""
    ids = [new_id() for _ in range(MAX_PREFERENCES)]
    stored = {i: row_fields(a_row(f"Row {n}", id=i, rank=n)) for n, i in enumerate(ids)}
    thread_id = store.write(stored)
    write = Expressions()
    write.require_owner("ada")
    write.require_revision(7)
    for preference_id in ids:
        write.require_unlocked(preference_id)
    for preference_id in ids[:MAX_BATCH]:
        write.put_row(preference_id, stored[preference_id] | {"title": "New"})
    for preference_id in ids[MAX_BATCH:]:
        write.remove_row(preference_id)
    for name in ("revision", "renumbered"):
        write.put(name, 8)
    write.put("last_change", {"reasoning": longest(0, MAX_REASONING)})
    write.put("recent", {"ids": 16 * "123456789012", "ends": 8})
    params = write.update()
    check_size(params)
    store.client.update_item(TableName=store.table_name, Key=store.key(thread_id), **params)
    assert Counter(store.titles(thread_id)) == {"New": MAX_BATCH}


def test_the_bounds_of_this_file_bite():
    """A request one size larger than any that is sent is seen as too large."""
    write = Expressions()
    for n in range(151):
        write.require_unlocked(f"{n}")
        write.put_row(f"{n}", {"title": "x"})
    with pytest.raises(AssertionError):
        check_size(write.update())
    assert item_size({"a": typed({"b": "é", "c": 12, "d": True})}) == 1 + 3 + (1 + 2 + 1) + (1 + 3 + 1) + (
        1 + 1 + 1
    )


def test_no_request_holds_a_float(store, sent):
    repo, requests = sent
    repo.add_preferences_bulk(store.thread(), drafts("A"), AGENT)
    for params in writes(requests):
        assert not re.search(r"'N': '[^']*[.eE]", repr(params))

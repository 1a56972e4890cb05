"""Items as version 1.0.0 wrote them read and work: a thread, a tombstone and an entry of the history.

They differ from those of today: `voided` (ids of writes that were given up) is neither read nor removed,
`recent` is not there, ids of writes have 32 characters, and an entry has "" for a subtitle that is none.
"""

import pytest

from preferences.errors import OutcomeUnknown, ThreadTaken
from tests.support import ADA, AGENT, EVE, edits

AT = "2026-11-30T22:08:31.123Z"
CHANGE = {
    "id": {"S": "0f" * 16},
    "actor": {"S": "agent"},
    "who": {"S": "AGENT1"},
    "action": {"S": "edit"},
    "reasoning": {"S": "Ada said so."},
    "at": {"S": "2099-11-30T22:08:31.123Z"},
}
ROW = {
    "title": {"S": "Quiet"},
    "kind": {"S": "soft"},
    "locked": {"BOOL": False},
    "rank": {"N": "100"},
    "added": {"N": "1"},
    "changed": {"N": "4"},
    "created_by": {"S": "agent"},
    "created_at": {"S": AT},
    "updated_by": {"S": "agent"},
    "updated_at": {"S": AT},
}
THREAD = {
    "owner": {"S": "ada"},
    "revision": {"N": "4"},
    "renumbered": {"N": "3"},
    "revived": {"N": "2"},
    "preferences": {
        "M": {"a1": {"M": ROW}, "b2": {"M": ROW | {"title": {"S": "Sea view"}, "rank": {"N": "101"}}}}
    },
    "last_change": {"M": CHANGE},
    "voided": {"S": "ab" * 16 + "cd" * 16},
}
TOMBSTONE = {
    "deleted_by": {"S": "ada"},
    "revision": {"N": "5"},
    "revived": {"N": "2"},
    "expires_at": {"N": "4102444800"},
    "last_change": {"M": CHANGE | {"action": {"S": "delete"}}},
    "voided": {"S": "ab" * 16},
}
ENTRY = {
    **CHANGE,
    "sk": {"S": "CHANGE#0000000004"},
    "user": {"S": "ada"},
    "rows": {
        "L": [
            {
                "M": {
                    "id": {"S": "a1"},
                    "title": {"S": "Quiet"},
                    "before": {"M": {"subtitle": {"S": "No bars"}}},
                    "after": {"M": {"subtitle": {"S": ""}}},
                }
            }
        ]
    },
    "expires_at": {"N": "4102444800"},
}


@pytest.fixture
def put(store):
    """put(item): into the table as it is, under a new thread id, which it returns."""

    def put(*items):
        thread_id = store.new_id()
        for item in items:
            store.client.put_item(TableName=store.table_name, Item=store.key(thread_id) | item)
        return thread_id

    return put


def test_a_thread_reads_and_is_written_by_both_parties(store, put):
    thread_id = put(THREAD)
    assert [row.title for row in store.other.list_preferences(thread_id, ADA).preferences] == [
        "Quiet",
        "Sea view",
    ]
    store.other.update_preferences(thread_id, edits((1, "Silent")), AGENT, list_revision=4)
    store.other.set_lock(thread_id, "b2", ADA, locked=True)
    item = store.item(thread_id)
    assert (item["revision"], item["voided"]) == (6, THREAD["voided"]["S"])
    assert item["recent"]["ends"] == 6
    assert len(item["recent"]["ids"]) == 24


def test_a_write_that_meets_one_of_older_code_is_not_planned_again(store, put):
    thread_id = put(THREAD)

    def older_code():
        store.poke(thread_id, "revision", value=5)

    with pytest.raises(OutcomeUnknown) as refusal:
        store.repository(before_write=older_code).set_lock(thread_id, "a1", ADA, locked=True)
    assert refusal.value.thread.revision == 5


def test_a_tombstone_is_restored_by_its_former_owner_alone_and_goes_on_from_its_revision(store, put):
    thread_id = put(TOMBSTONE)
    with pytest.raises(ThreadTaken):
        store.other.register_thread(thread_id, EVE)
    thread, new = store.other.register_thread(thread_id, ADA)
    assert (thread.revision, thread.revived, thread.preferences, new) == (6, 6, (), True)


def test_an_entry_is_shown_and_undone(store, put):
    thread_id = put(THREAD, ENTRY)
    (entry,), _ = store.other.list_history(thread_id, ADA, limit=10)
    assert (entry.rows[0].before, entry.rows[0].after) == ({"subtitle": "No bars"}, {"subtitle": None})
    assert store.other.undo(thread_id, 4, ADA).find("a1").subtitle == "No bars"

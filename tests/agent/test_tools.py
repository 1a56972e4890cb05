"""The agent's tools: what a model is told that they are, what they take, and what they say they did."""

import inspect
import itertools
import json
from typing import ClassVar

import pytest

from preferences import render
from preferences.model import MAX_BATCH, MAX_PREFERENCES, reasoning
from preferences.tools import TOOLS, PreferenceTools, workspace_tool
from tests.support import ADA, row

LEFT = "left as a suggestion that the user can accept: do not repeat it while it is locked"
UNLOCK_FIRST = "locked: ask the user to unlock first"
LOOK_FIRST = "changed by the user since: look at its present text before trying again"


@pytest.fixture
def tools(store):
    """tools(thread_id): the tools on a thread of Ada's, in the name of an agent of hers."""

    def make(thread_id, **identity):
        return PreferenceTools(
            thread_id, store.repository(), **{"user_id": "ada", "agent_id": "agent-1", **identity}
        )

    return make


def reported(envelope):
    """(result, [(index as sent, or position of an addition; outcome)…]) of a call that went well."""
    assert envelope["ok"], envelope
    return envelope["result"], [
        (item.get("index", item.get("position")), item["outcome"]) for item in envelope.get("items", ())
    ]


def refused(envelope):
    """(code, message) of a call that was refused; such an envelope says nothing else."""
    assert envelope.keys() == {"ok", "error"}
    assert envelope["ok"] is False
    return envelope["error"]["code"], envelope["error"]["message"]


class TestTheTitleOfTheConversation:
    CALLS: ClassVar = {
        "add_preferences": {"items": [{"title": "New"}]},
        "list_preferences": {},
        "update_preferences": {"updates": [{"index": 1, "title": "Else"}]},
        "remove_preferences": {"indices": [2]},
    }

    @pytest.mark.parametrize("tool", TOOLS)
    def test_is_in_no_answer_and_is_left_by_every_tool(self, store, tools, tool):
        thread_id = store.write({"A": row("A"), "B": row("B", rank=2)}, title="Trip to Rome")
        envelope = tools(thread_id).call(tool, self.CALLS[tool])
        assert envelope["ok"]
        assert "Rome" not in json.dumps(envelope)
        assert store.item(thread_id)["title"] == "Trip to Rome"

    def test_is_not_in_the_block_for_the_prompt(self, store, tools):
        thread_id = store.write({"A": row("A")}, title="Trip to Rome")
        thread = store.other.list_preferences(thread_id, ADA)
        assert thread.title == "Trip to Rome"
        assert "Rome" not in render.block(thread)


class TestTheContract:
    def test_is_four_tools(self):
        assert list(TOOLS) == [
            "add_preferences",
            "list_preferences",
            "update_preferences",
            "remove_preferences",
        ]

    @pytest.mark.parametrize(
        ("name", "description"),
        [
            (
                "add_preferences",
                "Record one or more decoded user preferences (hard or soft constraints). Use this for every "
                "add — pass a one-element list to record a single preference.",
            ),
            ("list_preferences", "List the current preferences / constraints."),
            (
                "update_preferences",
                "Edit the title, subtitle, or kind of one or more existing preferences by their 1-based "
                "indices. Pass a list of {index, title?, subtitle?, kind?}. Locked preferences are skipped "
                "and reported so the agent can tell the user.",
            ),
            (
                "remove_preferences",
                "Remove one or more preferences by their 1-based indices (as shown by list_preferences; pass "
                "a list). Locked preferences are skipped and reported. Call list_preferences first to "
                "confirm the indices, and "
                "remove only when the user explicitly asks you to drop a preference.",
            ),
        ],
    )
    def test_describes_each_tool_in_these_words(self, name, description):
        assert TOOLS[name].description == description

    @pytest.mark.parametrize(
        ("tool", "path", "description"),
        [
            (
                "add_preferences",
                ("items",),
                "The explicitly-stated preferences to record, in order. Pass a single preference as a "
                "one-element list.",
            ),
            ("add_preferences", ("items", "title"), "Short label, e.g. 'Academic tone'."),
            (
                "add_preferences",
                ("items", "subtitle"),
                "Free-text qualifier, e.g. 'Formal and objective'.",
            ),
            ("add_preferences", ("items", "kind"), "'hard' for must-haves, 'soft' for preferences."),
            (
                "update_preferences",
                ("updates",),
                "The preferences to edit, each as {index, title?, subtitle?, kind?}; omit a field to keep "
                "its current value. Pass a single edit as a one-element list.",
            ),
            (
                "update_preferences",
                ("updates", "index"),
                "1-based position of the preference within this conversation (as shown by list_preferences).",
            ),
            (
                "update_preferences",
                ("updates", "title"),
                "New short label; omit to keep the current value.",
            ),
            (
                "update_preferences",
                ("updates", "subtitle"),
                "New qualifier; omit to keep the current value.",
            ),
            (
                "update_preferences",
                ("updates", "kind"),
                "'hard' or 'soft'; omit to keep the current value.",
            ),
            (
                "remove_preferences",
                ("indices",),
                "1-based positions of the preferences to remove (as shown by list_preferences). Pass one or "
                "several.",
            ),
            *(
                (
                    tool,
                    ("list_revision",),
                    "The revision shown with the list that these positions come from; if the list has "
                    "changed since, nothing is touched and you get the fresh list.",
                )
                for tool in ("update_preferences", "remove_preferences")
            ),
        ],
    )
    def test_describes_each_argument_in_these_words(self, tool, path, description):
        fields = TOOLS[tool].args_schema.model_fields
        for step in path[:-1]:
            (element,) = fields[step].annotation.__args__
            fields = element.model_fields
        assert fields[path[-1]].description == description

    @pytest.mark.parametrize("name", TOOLS)
    def test_shows_the_model_a_reason_to_give_beside_the_tools_own_arguments(self, name):
        tool = TOOLS[name]
        shown = tool.parameters.model_fields
        assert shown.keys() - tool.args_schema.model_fields.keys() == {"action_and_reasoning"}
        assert shown["action_and_reasoning"].annotation is str
        assert shown["action_and_reasoning"].is_required()

    def test_leaves_no_way_to_name_a_thread_or_a_user(self):
        for tool in TOOLS.values():
            assert not {"thread_id", "user_id"} & tool.parameters.model_fields.keys()

    def test_holds_a_method_of_the_same_name_for_each_tool(self):
        for name in TOOLS:
            assert inspect.isfunction(getattr(PreferenceTools, name))

    def test_takes_a_new_tool_by_its_declaration_alone(self, monkeypatch, tools, store):
        monkeypatch.setattr("preferences.tools.TOOLS", dict(TOOLS))
        from preferences import tools as module

        @workspace_tool(description="Say hello.")
        def say_hello(self, args, caller):
            return module.ToolResult("hello", self.repository.list_preferences(self.thread_id, caller))

        assert module.TOOLS["say_hello"].description == "Say hello."
        assert reported(tools(store.thread("A")).call("say_hello", {})) == ("hello", [])


class TestTheEnvelope:
    def test_of_a_list_says_the_lines_once_and_the_revision(self, tools, store):
        thread_id = store.write(
            {
                "a": row("Budget under 900", kind="hard", locked=True),
                "b": row("Tone", rank=2, subtitle="formal"),
            }
        )
        lines = "#1 [hard] Budget under 900 (locked)\n#2 [soft] Tone — formal"
        assert tools(thread_id).list_preferences() == {
            "ok": True,
            "result": lines,
            "revision": 7,
        }

    def test_of_an_update_says_what_was_done_to_each_and_the_fresh_list(self, tools, store):
        thread_id = store.write(
            {"a": row("Tone", kind="hard"), "b": row("Budget under 900", rank=2, kind="hard", locked=True)}
        )
        assert tools(thread_id).update_preferences(
            updates=[{"index": 1, "title": "Formal tone"}, {"index": 2, "title": "Budget under 2000"}],
            action_and_reasoning="Ada asked for it.",
        ) == {
            "ok": True,
            "result": "updated #1 Formal tone; "
            f"skipped #2 Budget under 900 (locked: ask the user to unlock first); {LEFT}",
            "items": [
                {"index": 1, "position": 1, "title": "Formal tone", "outcome": "updated"},
                {"index": 2, "position": 2, "title": "Budget under 900", "outcome": "locked"},
            ],
            "suggestions": "1 waits for the user: change #2",
            "revision": 8,
            "preferences": "#1 [hard] Formal tone\n#2 [hard] Budget under 900 (locked)",
        }

    def test_of_a_position_where_no_row_is_says_no_title(self, tools, store):
        envelope = tools(store.thread("A")).remove_preferences(indices=[1, 5])
        assert envelope["items"] == [
            {"index": 1, "title": "A", "outcome": "removed"},
            {"index": 5, "outcome": "out_of_range"},
        ]

    def test_of_a_refusal_says_a_code_and_a_sentence(self, tools, store):
        assert tools(store.thread("A")).remove_preferences(indices=[]) == {
            "ok": False,
            "error": {
                "code": "invalid_arguments",
                "message": "indices: must hold at least 1 element, for example [1, 3]",
            },
        }

    def test_holds_no_id_and_is_json_as_it_is(self, tools, store):
        thread_id = store.write({"0123456789abcdef": row("A")})
        for envelope in (
            tools(thread_id).list_preferences(),
            tools(thread_id).update_preferences(updates=[{"index": 1, "title": "B"}]),
            tools(thread_id).remove_preferences(indices=[1]),
        ):
            assert "0123456789abcdef" not in json.dumps(envelope)

    def test_leaves_the_thread_at_hand_as_it_read_or_left_it(self, tools, store):
        made = tools(store.thread("A"))
        assert made.thread is None
        made.remove_preferences(indices=[1])
        assert render.block(made.thread).startswith('<preferences revision="8">')
        made.remove_preferences(indices=[])
        assert made.thread is None


class TestAdding:
    def add(self, tools, thread_id, *items, **arguments):
        return reported(tools(thread_id).add_preferences(items=list(items), **arguments))

    def test_one_and_several_are_counted_in_words(self, tools, store):
        thread_id = store.thread()
        assert self.add(tools, thread_id, {"title": "A"}) == ("recorded 1 preference", [(1, "recorded")])
        assert self.add(tools, thread_id, {"title": "B"}, {"title": "C"}) == (
            "recorded 2 preferences",
            [(2, "recorded"), (3, "recorded")],
        )

    def test_records_a_soft_one_unless_it_is_said_to_be_hard(self, tools, store):
        thread_id = store.thread()
        self.add(
            tools, thread_id, {"title": "A"}, {"title": "B", "kind": None}, {"title": "C", "kind": "HARD"}
        )
        assert [r["kind"] for r in store.rows(thread_id).values()] == ["soft", "soft", "hard"]

    def test_a_repeat_is_not_counted_and_named_where_it_stands(self, tools, store):
        thread_id = store.thread("A", "B")
        assert self.add(tools, thread_id, {"title": "B"}, {"title": "C"}) == (
            "recorded 1 preference; recorded already: #2 B",
            [(2, "duplicate"), (3, "recorded")],
        )

    def test_repeats_alone_claim_nothing(self, tools, store):
        thread_id = store.thread("A", "B", locked=("A",))
        assert self.add(tools, thread_id, {"title": "A"}, {"title": " B "}) == (
            "nothing recorded; recorded already: #1 A, #2 B",
            [(1, "duplicate"), (2, "duplicate")],
        )
        assert store.item(thread_id)["revision"] == 7

    def test_the_same_text_in_another_composition_is_a_repeat(self, tools, store):
        thread_id = store.thread("Café nearby")
        assert self.add(tools, thread_id, {"title": "Cafe\u0301 nearby"})[1] == [(1, "duplicate")]

    def test_to_a_thread_that_is_not_registered_registers_it_for_the_agents_user(self, tools, store):
        thread_id = store.new_id()
        self.add(tools, thread_id, {"title": "A"})
        assert store.item(thread_id)["owner"] == "ada"

    def test_to_a_thread_that_is_not_registered_needs_to_know_the_user(self, tools, store):
        thread_id = store.new_id()
        assert (
            refused(tools(thread_id, user_id=None).add_preferences(items=[{"title": "A"}]))[0] == "not_found"
        )
        assert store.item(thread_id) is None

    def test_more_than_there_is_room_for_is_refused_with_the_bound(self, tools, store):
        thread_id = store.thread(*(f"Row {n}" for n in range(MAX_PREFERENCES)))
        code, message = refused(tools(thread_id).add_preferences(items=[{"title": "A"}]))
        assert (code, message) == (
            "list_full",
            "a thread holds at most 100 preferences and has room for 0 more, not 1; "
            "none was recorded: remove some first, or record fewer",
        )

    def test_with_one_bad_item_records_none(self, tools, store):
        thread_id = store.thread()
        code, message = refused(
            tools(thread_id).add_preferences(items=[{"title": "A"}, {"title": "B", "kind": "must"}])
        )
        assert code == "invalid_arguments"
        assert message == (
            "items.1.kind: must be 'hard' or 'soft', for example "
            '{"title": "Academic tone", "subtitle": "Formal and objective", "kind": "hard"}'
        )
        assert store.rows(thread_id) == {}


class TestListing:
    def test_an_empty_list_says_so(self, tools, store):
        assert reported(tools(store.thread()).list_preferences()) == ("no preferences recorded yet", [])

    def test_a_thread_that_is_not_registered_is_empty_and_stays_unregistered(self, tools, store):
        thread_id = store.new_id()
        envelope = tools(thread_id).list_preferences()
        assert (envelope["result"], envelope["revision"]) == ("no preferences recorded yet", 0)
        assert store.item(thread_id) is None

    def test_takes_what_models_send_along(self, tools, store):
        assert tools(store.thread("A")).list_preferences(
            action_and_reasoning="Looking.", verbose=True, list_revision=3
        )["ok"]


class TestUpdating:
    def update(self, tools, thread_id, *updates, **arguments):
        return reported(tools(thread_id).update_preferences(updates=list(updates), **arguments))

    @pytest.mark.parametrize("revision", [None, "", "null", "None", 7, "7", 7.0])
    def test_changes_the_rows_that_are_named(self, tools, store, revision):
        thread_id = store.thread("A", "B")
        assert self.update(
            tools, thread_id, {"index": "2", "title": "X", "kind": "Hard"}, list_revision=revision
        ) == ("updated #2 X", [(2, "updated")])
        assert store.titles(thread_id) == ["A", "X"]

    def test_keeps_what_is_null_and_clears_what_is_empty(self, tools, store):
        thread_id = store.write({"a": row("A", subtitle="s", kind="hard")})
        self.update(tools, thread_id, {"index": 1, "title": None, "subtitle": None, "kind": None})
        assert store.item(thread_id)["revision"] == 7
        self.update(tools, thread_id, {"index": 1, "subtitle": ""})
        stored = store.rows(thread_id)["a"]
        assert (stored["title"], stored.get("subtitle"), stored["kind"]) == ("A", None, "hard")

    def test_to_what_is_already_claims_nothing(self, tools, store):
        assert self.update(tools, store.thread("A"), {"index": 1, "title": "A"}) == (
            "unchanged #1 A",
            [(1, "unchanged")],
        )

    def test_of_a_locked_row_alone_claims_nothing_and_says_what_to_ask(self, tools, store):
        thread_id = store.thread("A", locked=("A",))
        assert self.update(tools, thread_id, {"index": 1, "title": "X"}) == (
            f"nothing changed; skipped #1 A ({UNLOCK_FIRST}); {LEFT}",
            [(1, "locked")],
        )

    def test_of_a_position_out_of_range_claims_nothing(self, tools, store):
        assert self.update(tools, store.thread("A"), {"index": 5, "title": "X"}) == (
            "no matching preferences found; skipped #5 (out of range)",
            [(5, "out_of_range")],
        )

    def test_of_a_row_that_the_user_changed_since_shows_its_present_text(self, tools, store):
        thread_id = store.write({"a": row("Mine", user_changed=6), "b": row("B", rank=2)})
        assert self.update(
            tools, thread_id, {"index": 1, "title": "X"}, {"index": 2, "title": "Y"}, list_revision=5
        ) == (f"updated #2 Y; skipped #1 Mine ({LOOK_FIRST})", [(1, "changed_by_user"), (2, "updated")])

    def test_of_a_stale_list_changes_nothing_and_gives_the_fresh_one(self, tools, store):
        thread_id = store.write({"a": row("A")}, renumbered=7)
        envelope = tools(thread_id).update_preferences(
            updates=[{"index": 1, "title": "X"}, {"index": 2, "title": "Y"}], list_revision=6
        )
        assert reported(envelope) == (
            "stale: the list is not the one of revision 6 any more, so nothing was changed; "
            "take the positions from the present list (revision 7)",
            [(1, "stale"), (2, "stale")],
        )
        assert (envelope["revision"], envelope["preferences"]) == (7, "#1 [soft] A")
        assert store.titles(thread_id) == ["A"]

    def test_tells_every_outcome_in_one_sentence(self, tools, store):
        thread_id = store.write(
            {
                "a": row("A"),
                "b": row("B", rank=2, locked=True),
                "c": row("C", rank=3, user_changed=6),
                "d": row("D", rank=4),
            }
        )
        result, outcomes = self.update(
            tools,
            thread_id,
            *({"index": n, "title": title} for n, title in enumerate("XYZD", 1)),
            {"index": 9, "title": "W"},
            list_revision=5,
        )
        assert result == (
            f"updated #1 X; unchanged #4 D; "
            f"skipped #9 (out of range), #3 C ({LOOK_FIRST}), #2 B ({UNLOCK_FIRST}); {LEFT}"
        )
        assert [outcome for _, outcome in outcomes] == [
            "updated",
            "locked",
            "changed_by_user",
            "unchanged",
            "out_of_range",
        ]

    def test_of_one_index_twice_is_refused_with_an_example(self, tools, store):
        thread_id = store.thread("A")
        assert refused(
            tools(thread_id).update_preferences(
                updates=[{"index": 1, "title": "X"}, {"index": "1", "title": "Y"}]
            )
        ) == (
            "invalid_arguments",
            "updates: must hold each index only once, merge its edits, "
            'for example [{"index": 2, "title": "Formal tone"}]',
        )
        assert store.titles(thread_id) == ["A"]


class TestRemoving:
    def remove(self, tools, thread_id, *indices, **arguments):
        return reported(tools(thread_id).remove_preferences(indices=list(indices), **arguments))

    def test_takes_the_rows_that_are_named(self, tools, store):
        thread_id = store.thread("A", "B", "C")
        assert self.remove(tools, thread_id, "1", 3.0) == (
            "removed A, C",
            [(1, "removed"), (3, "removed")],
        )
        assert store.titles(thread_id) == ["B"]

    def test_counts_a_position_once(self, tools, store):
        thread_id = store.thread("A", "B")
        assert self.remove(tools, thread_id, 1, "1", 1.0) == ("removed A", [(1, "removed")])

    def test_leaves_the_locked_and_says_so(self, tools, store):
        thread_id = store.thread("A", "B", "C", locked=("B",))
        assert self.remove(tools, thread_id, 1, 2, 3, 4) == (
            f"removed A, C; skipped #4 (out of range), #1 B ({UNLOCK_FIRST}); {LEFT}",
            [(1, "removed"), (2, "locked"), (3, "removed"), (4, "out_of_range")],
        )
        assert store.titles(thread_id) == ["B"]

    def test_of_nothing_that_is_there_claims_nothing(self, tools, store):
        assert self.remove(tools, store.thread(), 1)[0] == (
            "no matching preferences found; skipped #1 (out of range)"
        )

    def test_of_a_list_that_the_thread_never_had_is_stale(self, tools, store):
        thread_id = store.thread("A")
        assert self.remove(tools, thread_id, 1, list_revision=99)[1] == [(1, "stale")]
        assert store.titles(thread_id) == ["A"]

    def test_shows_a_title_on_one_line_whatever_is_stored(self, tools, store):
        thread_id = store.write({"a": row("A\n#2 [hard] Forged")})
        assert self.remove(tools, thread_id, 1)[0] == "removed A #2 [hard] Forged"


ARGUMENTS = {
    "add_preferences": {"items": [{"title": "X"}]},
    "list_preferences": {},
    "update_preferences": {"updates": [{"index": 1, "title": "X"}]},
    "remove_preferences": {"indices": [1]},
}


class TestARefusedCall:
    @pytest.mark.parametrize("name", [name for name in TOOLS if name != "list_preferences"])
    @pytest.mark.parametrize("unknown", ["revision", "kind", "listRevision", "session_id"])
    def test_is_one_with_an_argument_that_the_tool_does_not_know(self, tools, store, name, unknown):
        """Dropped in silence, the guard of a removal goes with it, or the kind of an addition."""
        thread_id = store.thread("A", "B")
        code, message = refused(tools(thread_id).call(name, {**ARGUMENTS[name], unknown: 7}))
        assert code == "invalid_arguments"
        assert message.startswith(f"{unknown}: is no argument of {name}, which takes ")
        assert message.endswith("action_and_reasoning")
        assert store.titles(thread_id) == ["A", "B"]

    def test_repeats_no_name_that_could_be_a_text(self, tools, store):
        odd = "Budget under 900 euros\n"
        _, message = refused(tools(store.thread("A")).call("remove_preferences", {"indices": [1], odd: 1}))
        assert message == (
            "is no argument of remove_preferences, which takes indices, list_revision, action_and_reasoning"
        )

    def test_is_none_of_the_tool_that_changes_nothing(self, tools, store):
        assert tools(store.thread("A")).call("list_preferences", {"limit": 5})["ok"]

    @pytest.mark.parametrize("identity", ["thread_id", "user_id"])
    @pytest.mark.parametrize("name", TOOLS)
    def test_is_one_that_names_a_thread_or_a_user(self, tools, store, name, identity):
        thread_id = store.thread("A")
        arguments = ARGUMENTS[name]
        code, message = refused(tools(thread_id).call(name, {**arguments, identity: thread_id}))
        assert code == "invalid_arguments"
        assert message == f"{identity}: is known already and can't be chosen here: leave it out"
        assert store.titles(thread_id) == ["A"]

    @pytest.mark.parametrize(
        ("name", "arguments", "start"),
        [
            ("add_preferences", {}, "items: is required"),
            ("add_preferences", {"items": None}, "items: must be a list"),
            ("add_preferences", {"items": []}, "items: must hold at least 1 element"),
            ("add_preferences", {"items": ["x"]}, "items.0: must be an object"),
            ("add_preferences", {"items": [{"title": " "}]}, "items.0.title: must hold at least one visible"),
            (
                "add_preferences",
                {"items": [{"title": "A", "locked": True}]},
                "items.0: has a field that is not",
            ),
            (
                "add_preferences",
                {"items": [{"title": f"{n}"} for n in range(MAX_BATCH + 1)]},
                "items: must hold at most 50 elements",
            ),
            ("update_preferences", {}, "updates: is required"),
            ("update_preferences", {"updates": []}, "updates: must hold at least 1 element"),
            ("update_preferences", {"updates": [{"title": "A"}]}, "updates.0.index: is required"),
            (
                "update_preferences",
                {"updates": [{"index": 0, "title": "A"}]},
                "updates.0.index: must be 1 or",
            ),
            (
                "update_preferences",
                {"updates": [{"index": 1, "locked": False}]},
                "updates.0: has a field that is not known here",
            ),
            (
                "update_preferences",
                {"updates": [{"index": 1}], "list_revision": "new"},
                "list_revision: must be a whole number",
            ),
            ("remove_preferences", {}, "indices: is required"),
            ("remove_preferences", {"indices": []}, "indices: must hold at least 1 element"),
            ("remove_preferences", {"indices": [0]}, "indices.0: must be 1 or more"),
            ("remove_preferences", {"indices": [2.5]}, "indices.0: must be a whole number"),
            ("remove_preferences", {"indices": [True]}, "indices.0: must be a whole number"),
            ("remove_preferences", {"indices": list(range(1, 52))}, "indices: must hold at most 50 elements"),
            ("remove_preferences", {"indices": [1], "list_revision": 1.5}, "list_revision: must be a whole"),
            ("remove_preferences", {"indices": [1], "list_revision": True}, "list_revision: must be a whole"),
            (
                "remove_preferences",
                {"indices": [1], "list_revision": -1},
                "list_revision: must be 0 or more, for example 8",
            ),
        ],
    )
    def test_says_which_argument_what_is_wrong_and_what_to_send(self, tools, store, name, arguments, start):
        thread_id = store.thread("A")
        code, message = refused(tools(thread_id).call(name, arguments))
        assert code == "invalid_arguments"
        assert message.startswith(start)
        assert ", for example " in message
        assert "\n" not in message
        assert store.item(thread_id)["revision"] == 7
        assert store.calls == {}

    def test_says_the_same_for_the_same_fault(self, tools, store):
        made = tools(store.thread())
        assert made.call("add_preferences", {}) == made.call("add_preferences", {})

    def test_tells_a_few_faults_and_not_fifty(self, tools, store):
        message = refused(tools(store.thread()).add_preferences(items=[{}] * 50))[1]
        assert message.count("is required") == 3

    def test_may_be_of_a_tool_that_does_not_exist(self, tools, store):
        code, message = refused(tools(store.thread()).call("delete_everything", {}))
        assert code == "unknown_tool"
        assert message == f"there is no such tool; there are {', '.join(TOOLS)}"

    @pytest.mark.parametrize("name", TOOLS)
    def test_to_a_strangers_thread_finds_none_and_shows_nothing(self, tools, store, name):
        thread_id = store.write({"a": row("Secret")}, owner="eve")
        arguments = ARGUMENTS[name]
        made = tools(thread_id)
        assert refused(made.call(name, arguments)) == ("not_found", "no such thread")
        assert made.thread is None
        assert store.titles(thread_id) == ["Secret"]

    @pytest.mark.parametrize("name", TOOLS)
    def test_reads_no_row_of_a_strangers_thread(self, tools, store, name):
        thread_id = store.write({"a": "what nobody can read"}, owner="eve")
        arguments = ARGUMENTS[name]
        assert refused(tools(thread_id).call(name, arguments))[0] == "not_found"

    @pytest.mark.parametrize("user_id", ["ada", None])
    @pytest.mark.parametrize("name", TOOLS)
    def test_to_a_deleted_thread_finds_none(self, tools, store, name, user_id):
        thread_id = store.thread("A")
        store.other.delete_thread(thread_id, ADA)
        arguments = ARGUMENTS[name]
        assert refused(tools(thread_id, user_id=user_id).call(name, arguments))[0] == "not_found"
        assert store.item(thread_id)["revision"] == 8


class TestTheReason:
    @pytest.mark.parametrize(
        "reason", ["Because Ada said so.", "x" * 3000, "a\nb", "  ", "", None, 7, ["a"], {"a": 1}, "\ud800x"]
    )
    def test_is_kept_as_far_as_it_is_one_and_never_a_ground_for_refusal(self, tools, store, reason):
        thread_id = store.thread("A")
        assert tools(thread_id).remove_preferences(indices=[1], action_and_reasoning=reason)["ok"]
        assert store.item(thread_id)["last_change"].get("reasoning") == reasoning(reason)

    def test_may_be_missing(self, tools, store):
        thread_id = store.thread("A")
        assert tools(thread_id).remove_preferences(indices=[1])["ok"]
        assert "reasoning" not in store.item(thread_id)["last_change"]

    def test_stands_beside_who_acted(self, tools, store):
        thread_id = store.thread("A")
        tools(thread_id, agent_id="agent-9").remove_preferences(indices=[1], action_and_reasoning="Asked.")
        change = store.item(thread_id)["last_change"]
        assert (change["actor"], change["who"], change["reasoning"]) == ("agent", "agent-9", "Asked.")


class TestARace:
    def test_is_told_as_it_ended(self, store):
        thread_id = store.thread("A", "B", "C")
        repo = store.repository(before_write=lambda: store.other.set_lock(thread_id, "B", ADA, locked=True))
        envelope = PreferenceTools(thread_id, repo, user_id="ada").remove_preferences(indices=[1, 2])
        assert reported(envelope)[0] == f"removed A; skipped #1 B ({UNLOCK_FIRST}); {LEFT}"
        assert envelope["revision"] == 9
        assert envelope["preferences"] == "#1 [soft] B (locked)\n#2 [soft] C"

    def test_that_is_never_won_ends_as_busy(self, store, monkeypatch):
        monkeypatch.setattr("preferences.repository.table.REQUEST_SECONDS", 0.3)
        thread_id = store.thread("A", "B")
        states = itertools.count()
        repo = store.repository(
            before_write=lambda: store.other.set_lock(thread_id, "B", ADA, locked=next(states) % 2 == 0),
            times=100_000,
        )
        envelope = PreferenceTools(thread_id, repo, user_id="ada").remove_preferences(indices=[1])
        assert refused(envelope) == (
            "busy",
            "the store is busy and nothing was changed: try again in a moment",
        )
        assert "A" in store.titles(thread_id)

"""Repository and tools against a plain list: any sequence of what agents and users do, and what is stored.

The model is a Python list of rows and the rules as a person would say them; it knows nothing of DynamoDB, of
plans or of conditions. With PROVE set, many more sequences.
"""

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from preferences.errors import (
    Duplicate,
    InvalidInput,
    PreconditionFailed,
    PreferenceNotFound,
    ThreadNotFound,
    ThreadTaken,
)
from preferences.model import MAX_SUGGESTIONS, Draft
from preferences.tools import PreferenceTools
from tests.effort import PROVE, tried
from tests.support import ADA, EVE

TITLES = st.sampled_from(["Quiet", "Cheap", "Near the sea", "Café", "quiet"])
SUBTITLES = st.sampled_from([None, "", "very"])
KINDS = st.sampled_from([None, "hard", "soft"])
ITEMS = st.fixed_dictionaries({"title": TITLES, "subtitle": SUBTITLES, "kind": KINDS})
POSITIONS = st.integers(1, 7)
WHICH = st.integers(0, 6)
"""Which row a user means; beyond the end it is one that is not there."""


@dataclass(frozen=True)
class Row:
    """A row as the model knows it: with the revisions at which it came, its text last changed, and the user
    last touched its text (0: never)."""

    key: int
    title: str
    subtitle: str | None
    kind: str
    seen_from: int
    changed: int
    touched: int
    locked: bool = False

    @property
    def text(self):
        return self.title, self.subtitle, self.kind

    @property
    def line(self):
        extra = f" — {self.subtitle}" if self.subtitle else ""
        return f"[{self.kind}] {self.title}{extra}{' (locked)' if self.locked else ''}"


@dataclass(frozen=True)
class Wish:
    """A suggestion as the model knows it: without `key` an addition, without `text` a removal."""

    key: int | None
    changed: int
    text: tuple[str, str | None, str] | None

    @property
    def place(self):
        return self.key or fold(self.text[0])

    @property
    def digest(self):
        if self.key is None:
            return "add", fold(self.text[0])
        return self.key, tuple(part and fold(part) for part in self.text or ())


def fold(title):
    return title.casefold()  # enough for these titles


@dataclass
class Model:
    """What ought to be: who owns it, its rows in order, and how far it has been counted."""

    owner: str | None = None
    title: str | None = None
    revision: int = 0
    renumbered: int = 0
    rows: list[Row] = field(default_factory=list)
    waiting: list[Wish] = field(default_factory=list)
    turned_down: set[object] = field(default_factory=set)
    """Titles that left the list by the user's hand, and what of suggestions was dismissed."""

    @property
    def live(self):
        """The suggestions whose row is as it was, or whose addition is not in the list."""
        rows, texts = {row.key: row.changed for row in self.rows}, {row.text for row in self.rows}
        return [
            wish
            for wish in self.waiting
            if (rows.get(wish.key) == wish.changed if wish.key else wish.text not in texts)
        ]

    def protects(self, title):
        locked = {fold(row.title) for row in self.rows if row.locked}
        return fold(title) in locked | self.turned_down or ("add", fold(title)) in self.turned_down

    def leave(self, wish, places, otherwise):
        """The outcome of a wish that the user's will stands against; `places` are those of this call."""
        if wish.digest in self.turned_down:
            return "declined"
        if wish in self.live:
            places.add(wish.place)
            return otherwise
        taken = wish.place in [other.place for other in self.live]
        if wish.place in places or (not taken and len(self.live) == MAX_SUGGESTIONS):
            return "locked"
        places.add(wish.place)
        self.waiting = [other for other in self.live if other.place != wish.place] + [wish]
        return otherwise

    def waiting_since(self, waited):
        """Whether a suggestion is new."""
        return bool(set(self.waiting) - set(waited))

    def user_wrote(self, before):
        """What the user's write turned down or took up, by the rows before it."""
        old, new = ({fold(row.title) for row in rows} for rows in (before, self.rows))
        raw_before = {row.title for row in before}
        came = {fold(row.title) for row in self.rows if row.title not in raw_before}
        self.turned_down |= old - new
        self.turned_down -= came | {("add", title) for title in came}
        locked = {row.key for row in before if row.locked}
        for row in self.rows:
            if row.key in locked and not row.locked:
                self.turned_down -= {("add", fold(row.title))}
                self.turned_down = {
                    known
                    for known in self.turned_down
                    if not (isinstance(known, tuple) and known[0] == row.key)
                }
        self.waiting = self.live

    @property
    def lines(self):
        listed = "\n".join(f"#{n} {row.line}" for n, row in enumerate(self.rows, 1))
        return listed or "no preferences recorded yet"


class Conversation(RuleBasedStateMachine):
    store = None
    """Set by whoever runs the machine."""

    @initialize(registered=st.booleans())
    def begin(self, registered):
        self.thread_id = self.store.new_id()
        self.repo = self.store.repository()
        self.model = Model()
        self.keys = {}
        self.seen = []
        """Revisions that an agent has been shown."""
        self.count = 0
        if registered:
            self.register()

    # -- the agent

    def call(self, name, **arguments):
        """The envelope of a tool call, after checking the parts that every envelope has."""
        tools = PreferenceTools(self.thread_id, self.repo, user_id="ada", agent_id="agent-1")
        envelope = tools.call(name, arguments)
        if self.model.owner is None and self.model.revision:  # deleted: nothing is told, nothing is done
            assert envelope["error"]["code"] == "not_found"
            return None
        assert envelope["ok"], envelope
        return envelope

    def reported(self, envelope, outcomes):
        """Checks what the agent was told against what the model says has become of each element."""
        items = envelope.get("items", ())
        assert [(item.get("index", item.get("position")), item["outcome"]) for item in items] == outcomes
        for item in items:
            if "position" in item:
                assert self.model.rows[item["position"] - 1].title == item["title"]
        assert envelope["revision"] == self.model.revision
        if "preferences" in envelope:
            assert envelope["preferences"] == self.model.lines
        elif "changed" in envelope:  # the others are as the agent has seen them
            changed = {item["position"] for item in items if item["outcome"] == "updated"}
            assert envelope["changed"].split("\n") == [
                f"#{n} {row.line}" for n, row in enumerate(self.model.rows, 1) if n in changed
            ]
        self.seen.append(envelope["revision"])

    @rule()
    def the_agent_lists(self):
        if envelope := self.call("list_preferences"):
            assert envelope["result"] == self.model.lines
            self.reported(envelope, [])

    @rule(items=st.lists(ITEMS, min_size=1, max_size=3))
    def the_agent_adds(self, items):
        if not (envelope := self.call("add_preferences", items=items)):
            return
        outcomes = self._add(items, touched=0)
        if any(outcome == "recorded" for _, outcome in outcomes):
            self.model.owner = "ada"
        self.reported(envelope, outcomes)

    def _add(self, items, *, touched):
        revision, outcomes, rows = self.model.revision + 1, [], self.model.rows
        waited, places, before = list(self.model.live), set(), list(rows)
        for item in items:
            text = item["title"], item["subtitle"] or None, item["kind"] or "soft"
            known = next((n for n, row in enumerate(rows, 1) if row.text == text), None)
            if known:
                outcomes.append((known, "duplicate"))
                continue
            if not touched and self.model.protects(text[0]):
                outcomes.append((None, self.model.leave(Wish(None, 0, text), places, "suggested")))
                continue
            self.count += 1
            rows.append(Row(self.count, *text, revision, revision, touched and revision))
            outcomes.append((len(rows), "recorded"))
        if touched:
            self.model.user_wrote(before)
        if (
            touched
            or any(outcome == "recorded" for _, outcome in outcomes)
            or self.model.waiting_since(waited)
        ):
            self.model.revision = revision
        return outcomes

    def _aim(self, index, list_revision):
        """(outcome or None, row or None) of an agent's position: `changed_by_user` comes with the row."""
        model, seen = self.model, list_revision or self.model.revision
        if seen > model.revision or seen < model.renumbered:
            return "stale", None
        row = model.rows[index - 1] if index <= len(model.rows) else None
        if row is None or row.seen_from > seen:
            return "out_of_range", None
        return ("changed_by_user" if row.touched > seen else None), row

    def _list_revision(self, choice):
        """None, one that the agent was shown, or one that never was."""
        if choice is None or not self.seen:
            return None
        return self.model.revision + 5 if choice == 99 else self.seen[-1 - choice % len(self.seen)]

    @rule(
        updates=st.dictionaries(
            POSITIONS, st.tuples(st.none() | TITLES, SUBTITLES, KINDS), min_size=1, max_size=3
        ),
        choice=st.none() | st.integers(0, 3) | st.just(99),
    )
    def the_agent_updates(self, updates, choice):
        list_revision = self._list_revision(choice)
        asked = [
            {"index": n, "title": title, "subtitle": subtitle, "kind": kind}
            for n, (title, subtitle, kind) in updates.items()
        ]
        envelope = self.call("update_preferences", updates=asked, list_revision=list_revision)
        if not envelope:
            return
        outcomes, changed, waited, places = [], {}, list(self.model.live), set()
        for edit in asked:
            outcome, row = self._aim(edit["index"], list_revision)
            if row:
                late = outcome == "changed_by_user"
                new = replace(
                    row,
                    title=edit["title"] or row.title,
                    subtitle=row.subtitle if edit["subtitle"] is None else edit["subtitle"] or None,
                    kind=edit["kind"] or row.kind,
                )
                others = [changed.get(r.key, r).text for r in self.model.rows if r.key != row.key]
                wish = Wish(row.key, row.changed, new.text)
                retitled = fold(new.title) != fold(row.title)
                if new == row:
                    outcome = "changed_by_user" if late and not row.locked else "unchanged"
                elif late:
                    outcome = "locked" if row.locked else "changed_by_user"
                elif row.locked:
                    outcome = self.model.leave(wish, places, "locked")
                elif new.text in others:
                    outcome = "duplicate"
                elif wish.digest in self.model.turned_down:
                    outcome = "declined"
                elif retitled and self.model.protects(new.title):
                    outcome = self.model.leave(wish, places, "suggested")
                else:
                    outcome = "updated"
                    changed[row.key] = replace(new, changed=self.model.revision + 1)
            outcomes.append((edit["index"], outcome))
        self._apply(changed, waited)
        self.reported(envelope, outcomes)

    @rule(
        indices=st.lists(POSITIONS, min_size=1, max_size=4),
        choice=st.none() | st.integers(0, 3) | st.just(99),
    )
    def the_agent_removes(self, indices, choice):
        list_revision = self._list_revision(choice)
        envelope = self.call("remove_preferences", indices=indices, list_revision=list_revision)
        if not envelope:
            return
        outcomes, gone, waited, places = [], set(), list(self.model.live), set()
        for index in dict.fromkeys(indices):
            outcome, row = self._aim(index, list_revision)
            if row and outcome:
                outcome = "locked" if row.locked else outcome
            elif row and row.locked:
                outcome = self.model.leave(Wish(row.key, row.changed, None), places, "locked")
            elif row and Wish(row.key, row.changed, None).digest in self.model.turned_down:
                outcome = "declined"
            elif row:
                outcome = "removed"
                gone.add(row.key)
            outcomes.append((index, outcome))
        self._drop(gone, waited)
        self.reported(envelope, outcomes)

    def _commit(self, changed):
        """A user's request is a commit also where nothing differs."""
        before = self.model.rows
        self.model.revision += 1
        self.model.rows = [changed.get(row.key, row) for row in before]
        self.model.user_wrote(before)

    def _apply(self, changed, waited):
        if changed or self.model.waiting_since(waited):
            self.model.revision += 1
            self.model.rows = [changed.get(row.key, row) for row in self.model.rows]

    def _drop(self, keys, waited):
        if keys or self.model.waiting_since(waited):
            self.model.revision += 1
            left = [row for row in self.model.rows if row.key not in keys]
            if left != self.model.rows[: len(left)]:
                self.model.renumbered = self.model.revision
            self.model.rows = left

    # -- the user

    def pick(self, which):
        """(stored id, row) of a row that the user means; an id that is none where the list is shorter."""
        if which < len(self.model.rows):
            row = self.model.rows[which]
            return self.keys[row.key], row
        return "0" * 32, None

    def ask(self, act, *, gone=False):
        """What a user's request comes to: its answer, or None where there is nothing to ask."""
        if self.model.owner != "ada":
            with pytest.raises(ThreadNotFound):
                act()
            return None
        if gone:
            with pytest.raises(PreferenceNotFound):
                act()
            return None
        return act()

    @rule()
    def register(self):
        thread, new = self.repo.register_thread(self.thread_id, ADA)
        assert new == (self.model.owner is None)
        self.model.revision += 1
        if new:
            self.model.owner = "ada"
            self.model.renumbered = self.model.revision if self.model.revision > 1 else 0
        assert thread.revision == self.model.revision

    @rule(really=st.integers(0, 5))
    def the_user_deletes_the_thread(self, really):
        if really:  # seldom, for much else is forgotten with it
            return
        if self.ask(lambda: self.repo.delete_thread(self.thread_id, ADA) or True):
            self.model.owner, self.model.title, self.model.rows = None, None, []
            self.model.waiting, self.model.turned_down = [], set()
            self.model.revision += 1

    @rule(items=st.lists(ITEMS, min_size=1, max_size=2))
    def the_user_adds(self, items):
        drafts = [Draft(**item) for item in items]
        if written := self.ask(lambda: self.repo.add_preferences_bulk(self.thread_id, drafts, ADA)):
            outcomes = self._add(items, touched=1)
            assert [(report.position, report.outcome) for report in written.reports] == outcomes

    @rule(
        which=WHICH,
        fields=st.fixed_dictionaries(
            {},
            optional={
                "title": TITLES,
                "subtitle": st.sampled_from([None, "very"]),
                "kind": st.sampled_from(["hard", "soft"]),
                "locked": st.booleans(),
            },
        ).filter(bool),
        match=st.sampled_from(["none", "right", "wrong"]),
    )
    def the_user_edits(self, which, fields, match):
        preference_id, row = self.pick(which)
        if_match = None if match == "none" or row is None else {row.changed - (match == "wrong")}

        def act():
            return self.repo.edit_preference(self.thread_id, preference_id, fields, ADA, if_match=if_match)

        if match == "wrong" and row is not None and self.model.owner:
            with pytest.raises(PreconditionFailed):
                act()
            return
        new = replace(row, **fields) if row else None
        if self.model.owner and row and new.text != row.text:
            if new.text in [other.text for other in self.model.rows if other.key != row.key]:
                with pytest.raises(Duplicate):
                    act()
                return
            new = replace(new, changed=self.model.revision + 1, touched=self.model.revision + 1)
        if self.ask(act, gone=row is None) is not None:
            self._commit({row.key: new})

    @rule(which=WHICH, locked=st.booleans())
    def the_user_turns_a_lock(self, which, locked):
        preference_id, row = self.pick(which)
        if self.ask(
            lambda: self.repo.set_lock(self.thread_id, preference_id, ADA, locked=locked), gone=row is None
        ):
            self._commit({row.key: replace(row, locked=locked)})

    @rule(locked=st.booleans())
    def the_user_turns_all_locks(self, locked):
        if self.ask(lambda: self.repo.set_all_locks(self.thread_id, ADA, locked=locked)):
            self._commit({row.key: replace(row, locked=locked) for row in self.model.rows})

    @rule(title=st.sampled_from([None, "Rome", "Oslo"]))
    def the_user_names_the_conversation(self, title):
        if self.ask(lambda: self.repo.set_title(self.thread_id, title, ADA)):
            self.model.title = title
            self.model.revision += 1

    @rule(which=WHICH)
    def the_user_removes(self, which):
        preference_id, row = self.pick(which)
        if self.ask(
            lambda: self.repo.remove_preference(self.thread_id, preference_id, ADA), gone=row is None
        ):
            before = self.model.rows
            self._drop({row.key}, self.model.live)
            self.model.user_wrote(before)

    # -- the user's answers to suggestions

    @rule(which=st.integers(0, 3))
    def the_user_accepts(self, which):
        live = self.model.live
        if self.model.owner != "ada" or which >= len(live):
            return
        wish = live[which]
        if wish.text and wish.text in [row.text for row in self.model.rows if row.key != wish.key]:
            with pytest.raises(Duplicate):
                self.repo.accept_suggestion(self.thread_id, self._id_of(wish), ADA)
            return
        self.repo.accept_suggestion(self.thread_id, self._id_of(wish), ADA)
        before, revision = list(self.model.rows), self.model.revision + 1
        self.model.waiting.remove(wish)
        if wish.key is None:
            self.count += 1
            self.model.rows.append(Row(self.count, *wish.text, revision, revision, revision))
        elif wish.text is None:
            self._drop({wish.key}, [])
        else:
            title, subtitle, kind = wish.text
            self.model.rows = [
                replace(row, title=title, subtitle=subtitle, kind=kind, changed=revision, touched=revision)
                if row.key == wish.key
                else row
                for row in before
            ]
        self.model.revision = revision
        self.model.user_wrote(before)

    @rule(which=st.integers(0, 3))
    def the_user_dismisses(self, which):
        live = self.model.live
        if self.model.owner != "ada" or which > len(live):
            return
        one = live[which] if which < len(live) else None
        self.repo.dismiss_suggestions(self.thread_id, ADA, self._id_of(one) if one else None)
        self.model.turned_down |= {wish.digest for wish in ([one] if one else live)}
        self.model.waiting = [wish for wish in live if one and wish != one]
        self.model.revision += 1

    def _id_of(self, wish):
        return next(
            found.id
            for found in self.repo.list_preferences(self.thread_id, ADA).live
            if (found.target, found.text) == (self.keys.get(wish.key), wish.text)
        )

    @rule(order=st.permutations(range(7)), count=st.integers(0, 3))
    def the_user_reorders(self, order, count):
        rows = self.model.rows
        named = [rows[n] for n in order[:count] if n < len(rows)]
        if self.ask(lambda: self.repo.reorder(self.thread_id, [self.keys[row.key] for row in named], ADA)):
            new = named + [row for row in rows if row not in named]
            self.model.revision += 1
            if new != rows:
                self.model.rows = new
                self.model.renumbered = self.model.revision

    @precondition(lambda self: self.model.rows)
    @rule()
    def the_user_reorders_what_is_not_there(self):
        with pytest.raises(InvalidInput):
            self.repo.reorder(self.thread_id, ["0" * 32], ADA)

    @rule()
    def a_stranger_finds_nothing(self):
        with pytest.raises(ThreadNotFound):
            self.repo.list_preferences(self.thread_id, EVE)
        if self.model.revision:
            with pytest.raises(ThreadTaken):
                self.repo.register_thread(self.thread_id, EVE)

    # -- what must be, after each step

    @invariant()
    def the_table_holds_what_the_model_holds(self):
        item = self.store.item(self.thread_id)
        model = self.model
        if item is None:
            assert model.revision == 0
            return
        assert (item.get("owner"), item["revision"]) == (model.owner, model.revision)
        assert item.get("title") == model.title
        if model.owner is None:
            assert "preferences" not in item
            return
        assert item["renumbered"] == model.renumbered
        stored = self.store.rows(self.thread_id)
        self.keys = {row.key: name for row, name in zip(model.rows, stored, strict=True)} | {
            key: name for key, name in self.keys.items() if key not in {row.key for row in model.rows}
        }
        assert [
            (
                found["title"],
                found.get("subtitle"),
                found["kind"],
                found["locked"],
                found["added"],
                found["changed"],
                found.get("user_changed", 0),
            )
            for found in stored.values()
        ] == [(*row.text, row.locked, row.seen_from, row.changed, row.touched) for row in model.rows]
        live = self.store.other.list_preferences(self.thread_id, ADA).live
        assert sorted(((found.target, found.text) for found in live), key=repr) == sorted(
            ((self.keys.get(wish.key), wish.text) for wish in model.live), key=repr
        )
        ranks = [found["rank"] for found in stored.values()]
        assert ranks == sorted(set(ranks)), "two rows share a rank"


def test_agents_and_users_make_of_a_list_what_a_plain_list_would_be(store):
    slow = "127.0.0.1" not in store.client.meta.endpoint_url  # moto
    examples, steps = (8, 20) if slow else (25, 30)
    if PROVE:
        examples *= 10

    class Machine(Conversation):
        pass

    Machine.store = store
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    tried("races", f"sequences of up to {steps} calls", examples)

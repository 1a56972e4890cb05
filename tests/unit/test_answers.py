"""What an answer to a write means: the table row by row, and an exhaustive model of what can go wrong.

The model has one item and one to three clients. Each client reads, plans, sends, and does what `decide` says.
Copies of what it sends are executed now, later or never, in any order, once or twice, or are throttled; an
answer may get lost. Every state that can be reached within the bounds is looked at. Broken variants of the
rules show that each of them is needed: with any one of them the model finds a promise broken.
"""

from collections import deque
from dataclasses import dataclass, field, replace

import pytest

from preferences.model import Thread
from preferences.repository.answers import Answer, Step, decide
from tests.effort import tried


def thread(revision, *ids, ends=None):
    return Thread(
        thread_id="t", revision=revision, recent="".join(ids), recent_ends=revision if ends is None else ends
    )


OURS, A, B = "o" * 12, "a" * 12, "b" * 12


class TestTheTable:
    @pytest.mark.parametrize(
        ("answer", "present", "unanswered", "step"),
        [
            (Answer.SUCCESS, None, False, Step.DONE),
            (Answer.SUCCESS, None, True, Step.DONE),
            (Answer.REFUSED, thread(8, OURS), False, Step.DONE),
            (Answer.REFUSED, thread(10, OURS, A, B), True, Step.DONE),
            (Answer.REFUSED, thread(8, A), False, Step.PLAN_AGAIN),
            (Answer.REFUSED, thread(9, A, OURS), True, Step.PLAN_AGAIN),
            (Answer.REFUSED, thread(9, A), False, Step.UNKNOWN),
            (Answer.REFUSED, thread(9, A), True, Step.UNKNOWN),
            (Answer.REFUSED, thread(9, OURS, ends=8), True, Step.UNKNOWN),
            (Answer.REFUSED, thread(8), True, Step.UNKNOWN),
            (Answer.REFUSED, thread(7, A), False, Step.PLAN_AGAIN),
            (Answer.REFUSED, thread(7, A), True, Step.SEND_AGAIN),
            (Answer.REFUSED, thread(6, A), True, Step.SEND_AGAIN),
            (Answer.REFUSED, None, False, Step.READ),
            (Answer.REFUSED, None, True, Step.READ),
            (Answer.REFUSED, thread(0), False, Step.NOT_FOUND),
            (Answer.REFUSED, thread(0), True, Step.NOT_FOUND),
            (Answer.NONE, None, True, Step.SEND_AGAIN),
            (Answer.NOT_EXECUTED, None, False, Step.SEND_AGAIN),
            (Answer.NOT_EXECUTED, None, True, Step.SEND_AGAIN),
            (Answer.FAULT, None, False, Step.RAISE),
            (Answer.FAULT, None, True, Step.SEND_AGAIN),
        ],
    )
    def test_has_one_step_for_each_answer(self, answer, present, unanswered, step):
        found = decide(answer, seen=7, write_id=OURS, present=present, unanswered=unanswered)
        assert found is step

    def test_of_a_first_write_asks_who_made_revision_one(self):
        for ids, step in (((OURS, A), Step.DONE), ((A, OURS), Step.PLAN_AGAIN)):
            present = thread(2, *ids)
            found = decide(Answer.REFUSED, seen=0, write_id=OURS, present=present, unanswered=False)
            assert found is step


class TestWhatAThreadRemembers:
    def test_is_which_write_made_each_of_its_newest_revisions(self):
        assert [thread(9, A, OURS, B).write_at(n) for n in range(6, 11)] == [None, A, OURS, B, None]

    def test_is_nothing_where_other_code_has_written_since(self):
        assert [thread(9, A, B, ends=8).write_at(n) for n in (7, 8, 9)] == [None] * 3

    def test_grows_to_sixteen_and_starts_anew_after_other_code(self):
        ids = [f"{n:012}" for n in range(17)]
        full = thread(16, *ids[:16])
        assert full.recent_after(ids[16]) == "".join(ids[1:])
        assert thread(17, *ids[:16], ends=16).recent_after(A) == A


# -- the model ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rules:
    """The rules of the protocol, each of which can be broken."""

    decide: object = decide
    condition: bool = True
    """A write is applied only at the revision that it was made from."""
    fresh_ids: bool = True
    """Each plan has an id of its own."""
    acknowledges_by_commit: bool = True
    """A user's request that finds all as it shall be takes a revision all the same."""
    says_busy_only_if_known: bool = True
    """A client that gives up says "not applied" only where no copy is unanswered."""
    memory: int = 3
    """How many ids are remembered: 16 in the product; three are few enough to be run past."""


@dataclass(frozen=True)
class Write:
    client: int
    plan: int
    id: str
    seen: int
    value: int
    """What the item's one field shall be."""
    respects_lock: bool = False
    """Whether it was planned while the lock was on, so that it does not touch what is locked."""
    knew: frozenset = frozenset()
    """What was acknowledged or applied when it was planned."""


@dataclass(frozen=True)
class Client:
    state: str = "idle"
    """idle, planned, waiting, done, gave up"""
    write: Write | None = None
    unanswered: bool = False
    plans: int = 0
    sends: int = 0


@dataclass(frozen=True)
class State:
    clients: tuple[Client, ...]
    revision: int = 1
    value: int = 0
    ids: tuple[str, ...] = ("first",)
    log: tuple[Write, ...] = ()
    """What was applied, in order."""
    under_way: tuple[Write, ...] = ()
    """Copies whose senders wait no more."""
    acknowledged: frozenset = frozenset()
    denied: frozenset = frozenset()
    """Ids of writes of which the client was told that they are not applied."""
    throttles: int = 1
    losses: int = 2
    duplicates: int = 1
    locked: bool = False
    """A lock that a hand turns without a new revision, so many times; another plan is made while it is on."""
    turns: int = 0


class Broken(Exception):
    """A promise that does not hold."""


@dataclass
class Model:
    rules: Rules
    wants: tuple[int, ...]
    """Client → the value that it wants."""
    max_plans: int = 2
    max_sends: int = 3
    turns: int = 0
    states: int = 0
    start: State = field(init=False)

    def __post_init__(self):
        self.start = State(tuple(Client() for _ in self.wants), turns=self.turns)

    # -- the table

    def present(self, state):
        return Thread(
            thread_id="t",
            revision=state.revision,
            recent="".join(name.ljust(12, "-") for name in state.ids),
            recent_ends=state.revision,
        )

    def execute(self, state, write):
        """(the state after a copy was executed, whether it was applied). Raises Broken."""
        if self.rules.condition and state.revision != write.seen:
            return state, False
        if state.locked and not write.respects_lock:
            return state, False
        if any(done.client == write.client and done.plan == write.plan for done in state.log):
            raise Broken("a plan was applied twice")
        # A lock that a hand turns to and fro between two copies of one request is beyond the promise.
        if not self.turns and any(done.client == write.client for done in state.log):
            raise Broken("a request was applied twice, by two plans")
        if write.id in state.denied:
            raise Broken("applied after its client was told that it is not")
        if state.acknowledged - write.knew:
            raise Broken("applied after what it did not know was acknowledged")
        ids = (*state.ids, write.id)[-self.rules.memory :]
        return replace(
            state,
            revision=state.revision + 1,
            value=write.value,
            ids=ids,
            log=(*state.log, write),
        ), True

    # -- what can happen next

    def following(self, state):
        for n, client in enumerate(state.clients):
            if client.state == "idle" and client.plans < self.max_plans:
                yield self.plan(state, n)
            elif client.state == "planned":
                yield from self.send(state, n)
        if state.turns:
            yield replace(state, locked=not state.locked, turns=state.turns - 1)
        for n, write in enumerate(state.under_way):
            rest = state.under_way[:n] + state.under_way[n + 1 :]
            after, _ = self.execute(replace(state, under_way=rest), write)
            yield after

    def put(self, state, n, client, **changes):
        clients = (*state.clients[:n], client, *state.clients[n + 1 :])
        return replace(state, clients=clients, **changes)

    def plan(self, state, n):
        client = state.clients[n]
        if state.value == self.wants[n] and not self.rules.acknowledges_by_commit:
            return self.acknowledge(state, n, None)
        plans = client.plans + 1
        name = f"{n}.{plans if self.rules.fresh_ids else 0}"
        knew = state.acknowledged | {done.id for done in state.log}
        write = Write(n, plans, name, state.revision, self.wants[n], state.locked, knew)
        return self.put(state, n, Client("planned", write, plans=plans))

    def acknowledge(self, state, n, write):
        known = write.id if write else f"{n} without a write"
        if write and not any((done.client, done.plan) == (n, write.plan) for done in state.log):
            raise Broken("acknowledged, and not applied")
        client = replace(state.clients[n], state="done")
        return self.put(state, n, client, acknowledged=state.acknowledged | {known})

    def send(self, state, n):
        """Every way in which sending one copy can go."""
        client = state.clients[n]
        write = client.write
        if client.sends == self.max_sends:
            yield self.give_up(state, n)
            return
        sent = replace(client, sends=client.sends + 1)
        after, applied = self.execute(state, write)
        yield self.answered(self.put(after, n, sent), n, Answer.SUCCESS if applied else Answer.REFUSED)
        if not applied:  # an engine that does not send the item along
            yield self.answered(self.put(after, n, sent), n, Answer.REFUSED, item=False)
        if state.throttles:
            throttled = self.put(state, n, sent, throttles=state.throttles - 1)
            yield self.answered(throttled, n, Answer.NOT_EXECUTED)
        if state.losses:
            lost = {"losses": state.losses - 1}
            yield self.answered(self.put(state, n, sent, **lost), n, Answer.NONE)
            yield self.answered(self.put(after, n, sent, **lost), n, Answer.NONE)
            late = (*state.under_way, write)
            yield self.answered(self.put(state, n, sent, under_way=late, **lost), n, Answer.NONE)
        if state.duplicates:  # something on the way sends it twice, and the second copy arrives at any time
            twice = self.put(
                after, n, sent, under_way=(*after.under_way, write), duplicates=state.duplicates - 1
            )
            yield self.answered(twice, n, Answer.SUCCESS if applied else Answer.REFUSED)

    def answered(self, state, n, answer, *, item=True):
        client = state.clients[n]
        client = replace(client, unanswered=client.unanswered or answer is Answer.NONE)
        state = self.put(state, n, client)
        present = self.present(state) if answer is Answer.REFUSED and item else None
        for _ in range(2):
            step = self.rules.decide(
                answer,
                seen=client.write.seen,
                write_id=client.write.id.ljust(12, "-"),
                present=present,
                unanswered=client.unanswered,
            )
            if step is not Step.READ:
                break
            present = self.present(state)
        match step:
            case Step.DONE:
                return self.acknowledge(state, n, client.write)
            case Step.SEND_AGAIN:
                return state
            case Step.PLAN_AGAIN:
                return self.put(state, n, Client("idle", plans=client.plans))
            case _:
                return self.put(state, n, replace(client, state="gave up"))

    def give_up(self, state, n):
        client = state.clients[n]
        denied = state.denied
        if not (client.unanswered and self.rules.says_busy_only_if_known):
            denied |= {client.write.id}
            if any(done.id == client.write.id for done in state.log):
                raise Broken("told as not applied, and applied")
        return self.put(state, n, replace(client, state="gave up"), denied=denied)

    def explore(self):
        """Looks at every state that can be reached. Raises Broken."""
        waiting, known = deque([self.start]), {self.start}
        while waiting:
            for state in self.following(waiting.popleft()):
                if state not in known:
                    known.add(state)
                    waiting.append(state)
        self.states = len(known)
        return self.states


def test_every_promise_holds_in_every_state_that_can_be_reached():
    locks = Model(Rules(), wants=(1,), turns=2).explore()
    two = Model(Rules(), wants=(1, 2)).explore()
    same = Model(Rules(), wants=(1, 1)).explore()
    three = Model(Rules(), wants=(1, 2, 3), max_plans=1, max_sends=2).explore()
    assert locks > 100
    assert min(two, same, three) > 1_000
    tried("writes", "states of the model of a write, all of them looked at", locks + two + same + three)


def planning_again_while_undecided(answer, **known):
    step = decide(answer, **known)
    return Step.PLAN_AGAIN if step is Step.UNKNOWN else step


def planning_again_without_an_answer(answer, **known):
    return Step.PLAN_AGAIN if answer is Answer.NONE else decide(answer, **known)


def taking_a_throttled_copy_for_all(answer, **known):
    return Step.PLAN_AGAIN if answer is Answer.NOT_EXECUTED else decide(answer, **known)


def taking_every_refusal_for_not_applied(answer, **known):
    return Step.PLAN_AGAIN if answer is Answer.REFUSED and known["present"] else decide(answer, **known)


def taking_every_refusal_for_applied(answer, **known):
    return Step.DONE if answer is Answer.REFUSED and known["present"] else decide(answer, **known)


def taking_silence_for_success(answer, **known):
    return Step.DONE if answer is Answer.NONE else decide(answer, **known)


BROKEN = {
    "planning again while it is undecided": (
        Rules(decide=planning_again_while_undecided, memory=1),
        (1, 2, 3),
    ),
    "planning again without an answer": (Rules(decide=planning_again_without_an_answer), (1,)),
    "a throttled copy taken for all copies": (Rules(decide=taking_a_throttled_copy_for_all), (1,)),
    "every refusal taken for not applied": (Rules(decide=taking_every_refusal_for_not_applied), (1,)),
    "every refusal taken for applied": (Rules(decide=taking_every_refusal_for_applied), (1, 2)),
    "silence taken for success": (Rules(decide=taking_silence_for_success), (1,)),
    "no revision in the condition": (Rules(condition=False), (1,)),
    "an acknowledgement without a commit": (Rules(acknowledges_by_commit=False), (1, 0)),
    "busy said of what is undecided": (Rules(says_busy_only_if_known=False), (1,)),
}


@pytest.mark.parametrize("rule", BROKEN)
def test_no_rule_can_be_done_without(rule):
    rules, wants = BROKEN[rule]
    with pytest.raises(Broken):
        Model(rules, wants).explore()


def test_one_id_for_all_plans_is_taken_for_an_earlier_plan_of_the_same_request():
    """The first plan meets a lock, the second skips what is locked, a late copy of the first is applied."""
    with pytest.raises(Broken):
        Model(Rules(fresh_ids=False), (1,), turns=2).explore()

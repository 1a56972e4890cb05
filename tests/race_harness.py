"""A race on one thread: agents and users who write at once, each in a thread or a process of its own.

What every participant did, and every state that the table went through, is kept for `check`, which looks at
the whole of it afterwards. The states come from the engine's own answers, one for each committed write.
"""

import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import boto3
from botocore.config import Config

from preferences import rules
from preferences.errors import PreferencesError
from preferences.model import Caller, Draft, Thread, folded, live
from preferences.repository import PreferenceRepository
from preferences.repository.items import read_thread
from preferences.rules.suggestions import digests, dismissal, title_digests
from preferences.tools import PreferenceTools

ADA = Caller.user("ada")


@dataclass
class Request:
    """One call of one participant. Times are of the machine's one clock that never goes back."""

    who: str
    verb: str
    asked: dict[str, Any]
    start: float
    end: float = 0.0
    said: Any = None
    """The envelope of a tool; the list's revision for a user; or the code of a refusal."""
    commits: list[int] = field(default_factory=list)
    """Revisions that it made, by the engine's answers to it."""


@dataclass
class Log:
    """What came of it; several can be put together."""

    requests: list[Request] = field(default_factory=list)
    states: dict[int, dict[str, Any]] = field(default_factory=dict)
    """Revision → the item that was committed, as the engine sent it."""
    clashes: list[int] = field(default_factory=list)
    """Revisions that were committed twice."""

    def add(self, other: "Log") -> None:
        self.requests += other.requests
        self.clashes += [*other.clashes, *(self.states.keys() & other.states.keys())]
        self.states |= other.states


@dataclass
class Participant:
    """Does `count` random requests on a thread. `states` is where its commits are seen by others as well."""

    name: str
    table_name: str
    thread_id: str
    endpoint: str | None
    count: int
    undoes: bool = False
    log: Log = field(default_factory=Log)

    def run(self) -> Log:
        self.random = random.Random(self.name)
        self.titles = iter(range(10**6))
        client = boto3.client(
            "dynamodb",
            endpoint_url=self.endpoint,
            config=Config(retries={"total_max_attempts": 1, "mode": "standard"}),
        )
        client.meta.events.register("after-call.dynamodb.UpdateItem", self._committed)
        self.repo = PreferenceRepository(client, self.table_name)
        self.tools = PreferenceTools(self.thread_id, self.repo, user_id="ada", agent_id=self.name)
        act = self._agent if self.name.startswith("agent") else self._user
        for _ in range(self.count):
            act()
        return self.log

    def _committed(self, http_response: Any, parsed: Mapping[str, Any], **_: Any) -> None:
        if http_response.status_code == 200:
            revision = int(parsed["Attributes"]["revision"]["N"])
            self.log.requests[-1].commits.append(revision)
            if revision in self.log.states:
                self.log.clashes.append(revision)
            self.log.states[revision] = parsed["Attributes"]

    def _do(self, verb: str, call: Callable[[], Any], **asked: Any) -> None:
        self.log.requests.append(Request(self.name, verb, asked, time.monotonic()))
        try:
            said = call()
        except PreferencesError as refusal:
            said = refusal.code
        request = self.log.requests[-1]
        request.said, request.end = said, time.monotonic()

    def _new_title(self) -> str:
        return f"{self.name} {next(self.titles)}"

    def _new_text(self) -> dict[str, str]:
        """A title of its own, or what every agent asks for: it comes again after it was dismissed."""
        return self.random.choice([{"title": self._new_title()}, {"subtitle": "near the sea"}])

    # -- what they do

    def _agent(self) -> None:
        seen = self.repo.list_preferences(self.thread_id, self._caller)
        positions = list(range(1, len(seen.preferences) + 2))
        chosen = self.random.sample(positions, min(len(positions), self.random.randint(1, 3)))
        revision = self.random.choice([seen.revision, seen.revision, None])
        verb = self.random.choice(["add_preferences", "update_preferences", "remove_preferences"])
        if verb == "add_preferences":
            repeated = [r.title for r in seen.preferences[:1]]
            arguments: dict[str, Any] = {
                "items": [{"title": title} for title in (self._new_title(), "Everyone's", *repeated)]
            }
        elif verb == "update_preferences":
            arguments = {
                "updates": [{"index": n, **self._new_text()} for n in chosen],
                "list_revision": revision,
            }
        else:
            arguments = {"indices": chosen, "list_revision": revision}
        self._do(verb, lambda: self.tools.call(verb, arguments), **arguments)

    @property
    def _caller(self) -> Caller:
        return Caller(actor="agent", owner="ada")

    def _user(self) -> None:
        seen = self.repo.list_preferences(self.thread_id, ADA)
        ids = [r.id for r in seen.preferences] or ["none"]
        chosen = self.random.choice(ids)
        found = seen.find(chosen)
        if_match = self.random.choice([None, {found.changed if found else -1}])
        verbs = ["add", "edit", "lock", "lock", "unlock", "remove", "reorder", "lock_all", "unlock_all"]
        verbs += ["accept", "dismiss"] if seen.live else []
        verb = self.random.choice([*verbs, *(["undo", "undo"] if self.undoes else [])])
        thread, repo = self.thread_id, self.repo

        def do(call: Callable[[], Any], **asked: Any) -> None:
            self._do(verb, lambda: _revision(call()), **asked)

        match verb:
            case "add":
                title = self._new_title()
                do(lambda: repo.add_preferences_bulk(thread, [Draft(title=title)], ADA), title=title)
            case "edit":
                title = self._new_title()
                do(
                    lambda: repo.edit_preference(thread, chosen, {"title": title}, ADA, if_match=if_match),
                    id=chosen,
                    title=title,
                    if_match=if_match,
                )
            case "lock" | "unlock":
                do(lambda: repo.set_lock(thread, chosen, ADA, locked=verb == "lock"), id=chosen)
            case "remove":
                do(
                    lambda: repo.remove_preference(thread, chosen, ADA, if_match=if_match),
                    id=chosen,
                    if_match=if_match,
                )
            case "reorder":
                order = self.random.sample(ids, min(len(ids), 2)) if found else []
                do(lambda: repo.reorder(thread, order, ADA), ids=order)
            case "lock_all" | "unlock_all":
                do(lambda: repo.set_all_locks(thread, ADA, locked=verb == "lock_all"))
            case "accept":
                wish = self.random.choice(seen.live)
                do(lambda: repo.accept_suggestion(thread, wish.id, ADA), wish=wish)
            case "dismiss":
                wish = self.random.choice(seen.live)
                do(lambda: repo.dismiss_suggestions(thread, ADA, wish.id)[0], wish=wish)
            case "undo":
                revision = max(1, seen.revision - self.random.randint(0, 3))
                do(lambda: repo.undo(thread, revision, ADA), revision=revision)


def _revision(answer: Any) -> int:
    return int(getattr(answer, "thread", answer).revision)


# -- running it -----------------------------------------------------------------------------------------


def in_threads(participants: list[Participant], history: "Stream | None" = None) -> Log:
    """All at once; they share one log of states, which the stream follows."""
    whole = Log()
    for participant in participants:
        participant.log.states = whole.states
    start = threading.Barrier(len(participants))
    failures: list[BaseException] = []

    def run(participant: Participant) -> None:
        start.wait()
        try:
            participant.run()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(c,)) for c in participants]
    if history:
        history.follow(whole.states)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if history:
        history.stop()
    if failures:
        raise failures[0]
    for participant in participants:
        whole.requests += participant.log.requests
        whole.clashes += participant.log.clashes
    return whole


class Stream:
    """Puts each committed change into the history, in order, as the table's stream would have it done."""

    def __init__(self, repo: PreferenceRepository, thread_id: str, first: Thread) -> None:
        self._history, self._thread_id, self._old = repo.history, thread_id, first
        self._stopped = threading.Event()

    def follow(self, states: Mapping[int, Any]) -> None:
        self._states = states
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.is_set():
            item = self._states.get(self._old.revision + 1)
            if item is None:
                time.sleep(0.002)
                continue
            new = read_thread(self._thread_id, item)
            if entry := rules.entry_of(self._old, new):
                self._history.put(self._thread_id, entry)
            self._old = new


# -- looking at it --------------------------------------------------------------------------------------


def check(log: Log, first: Thread, last: Thread) -> None:
    """Everything that must hold, whatever the interleaving. `first` and `last` are read before and after."""
    threads = {first.revision: first} | {
        revision: read_thread(first.thread_id, item) for revision, item in log.states.items()
    }
    assert not log.clashes, "two writes made the same revision"
    made = sorted(revision for request in log.requests for revision in request.commits)
    assert made == list(range(first.revision + 1, last.revision + 1)), "a revision is missing, or too many"
    assert threads[last.revision] == last, "what was acknowledged last is not what is stored"
    for revision in made:
        _check_agents_write(threads[revision - 1], threads[revision])
        _check_wishes(threads[revision - 1], threads[revision])
    _check_real_time(log)
    for request in log.requests:
        assert len(request.commits) <= 1, f"{request.verb} was applied twice"
        for revision in request.commits:
            _check_claim(request, threads, threads[revision - 1], threads[revision])
        if not request.commits:
            _check_no_claim(request)


def _check_agents_write(old: Thread, new: Thread) -> None:
    """No row that is locked is touched, no lock is turned, no row is moved, none is stored twice."""
    assert new.last_change is not None
    if new.last_change.actor != "agent":
        return
    for row in old.preferences:
        after = new.find(row.id)
        if row.locked:
            assert after == row, f"revision {new.revision} touched a locked row"
        elif after is not None:
            assert (after.locked, after.rank) == (row.locked, row.rank)
    known = {row.text for row in old.preferences}
    added = [row for row in new.preferences if old.find(row.id) is None]
    assert not any(row.locked for row in added)
    assert not known & {row.text for row in added}
    assert len({row.text for row in added}) == len(added)


def _check_wishes(old: Thread, new: Thread) -> None:
    """A wish that waits is lost only when it is accepted, dismissed, replaced or outdated, and never changes.

    Nothing that the user turned down is recorded, or made of another row, by an agent.
    """
    assert new.last_change is not None
    places = {wish.target or folded(wish.text[0]) for wish in new.suggestions}
    for wish in old.live:
        now = next((other for other in new.suggestions if other.id == wish.id), None)
        assert now in (None, wish), "a suggestion has changed"
        replaced = (wish.target or folded(wish.text[0])) in places
        assert (
            now is not None
            or new.last_change.action in ("accept", "dismiss")
            or replaced
            or not live([wish], new.preferences)
        ), f"revision {new.revision} has lost a suggestion"
    if new.last_change.actor == "user":
        assert {wish.id for wish in new.suggestions} <= {wish.id for wish in old.suggestions}
        return
    declined = {*digests(old.declined)}
    titles = {row.title for row in old.preferences}
    for row in new.preferences:
        if row.title not in titles:
            turned_down = declined & {*title_digests(old, folded(row.title))}
            assert not turned_down, f"revision {new.revision} brought back what was turned down"
    for row in old.preferences:
        after = new.find(row.id)
        if after is None or after.text != row.text:
            done = dismissal(old, row.id, after.text if after else None)
            assert done not in declined, f"revision {new.revision} did what was dismissed"


def _check_real_time(log: Log) -> None:
    """What set out after another was acknowledged is the later revision."""
    committed = [
        (request.start, request.end, request.commits[0]) for request in log.requests if request.commits
    ]
    for _, end, revision in committed:
        for start, _, other in committed:
            assert not (start > end and other < revision)


def _check_claim(request: Request, threads: Mapping[int, Thread], old: Thread, new: Thread) -> None:
    """What was said is what was committed: each row that was touched, and no other."""
    touched = {row.id for row in old.preferences if new.find(row.id) != row}
    if request.who.startswith("agent"):
        envelope = request.said
        assert envelope["ok"]
        assert envelope["revision"] == new.revision
        shown = threads.get(request.asked.get("list_revision") or -1)
        claims = []
        for item in envelope["items"]:
            title, outcome = item.get("title"), item["outcome"]
            if item["outcome"] in ("locked", "suggested") and item.get("position"):
                row = new.preferences[item["position"] - 1]
                waits = any(wish.target == row.id for wish in new.live)
                assert (
                    waits
                    or "not left as a suggestion" in envelope["result"]
                    or "locked, and" in envelope["result"]
                )
            if "position" in item:
                assert new.preferences[item["position"] - 1].title == title, "a position of another list"
            if outcome in ("updated", "removed"):
                list_ = new if outcome == "updated" else old
                claims.append({row.id for row in list_.preferences if row.title == title} & touched)
                if shown is not None:
                    assert shown.preferences[item["index"] - 1].id in claims[-1], "a position hit another row"
        assert all(claims)
        assert (len(claims), set().union(*claims)) == (len(touched), touched)
        return
    assert request.said == new.revision
    before, after = old.find(request.asked.get("id", "")), new.find(request.asked.get("id", ""))
    if request.asked.get("if_match") is not None:
        assert before is not None
        assert before.changed in request.asked["if_match"], "If-Match let a stale write pass"
    match request.verb:
        case "add":
            assert new.preferences[-1].title == request.asked["title"]
            assert not touched
        case "edit":
            assert before is not None
            assert after is not None
            assert (after.title, after.locked, after.changed) == (
                request.asked["title"],
                before.locked,
                new.revision,
            )
            assert touched == {before.id}
        case "lock" | "unlock":
            assert before is not None
            assert after == before.model_copy(update={"locked": request.verb == "lock"})
            assert touched <= {before.id}
        case "remove":
            assert (after, touched) == (None, {request.asked["id"]})
        case "reorder":
            named = request.asked["ids"]
            assert [row.id for row in new.preferences][: len(named)] == named
            assert all(
                row.model_copy(update={"rank": 0}) == old.find(row.id).model_copy(update={"rank": 0})
                for row in new.preferences
            )
        case "lock_all" | "unlock_all":
            assert {row.locked for row in new.preferences} <= {request.verb == "lock_all"}
            assert new.preferences == tuple(
                row.model_copy(update={"locked": request.verb == "lock_all"}) for row in old.preferences
            )
        case "accept":
            wish = request.asked["wish"]
            row = new.find(wish.target) if wish.target else new.preferences[-1]
            assert (row.text if row else None) == wish.text, "what was accepted is not what was shown"
            assert touched <= {wish.target}
            if wish.target and row:
                assert row.locked == old.find(wish.target).locked
        case "dismiss":
            assert not touched
            assert request.asked["wish"].id not in {wish.id for wish in new.suggestions}
        case "undo":
            undone = request.asked["revision"]
            entry = rules.entry_of(threads[undone - 1], threads[undone])
            for change in entry.rows:
                row = new.find(change.id)
                assert (row is None) == (change.before is None)
                for name, value in (change.before or {}).items():
                    if name in ("title", "subtitle", "kind", "locked", "rank"):
                        assert getattr(row, name) == value


def _check_no_claim(request: Request) -> None:
    """Nothing was committed, so nothing may be said to have been done."""
    if request.who.startswith("agent") and request.said["ok"]:
        assert not {item["outcome"] for item in request.said["items"]} & {"recorded", "updated", "removed"}
    elif not request.who.startswith("agent"):
        assert isinstance(request.said, str), "a user was acknowledged without a commit"


def summary(log: Log) -> dict[str, int]:
    """Requests that were committed, by verb: how much of a race it was."""
    counts: dict[str, int] = {}
    for request in log.requests:
        if request.commits:
            counts[request.verb] = counts.get(request.verb, 0) + 1
    return counts

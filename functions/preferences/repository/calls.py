"""Calls to the table: how often one is made, how long for, and what is known when nobody answers.

A read is asked for as often as time allows. A write is sent once. What was certainly not applied may be
sent again; when that can't be known, one consistent read looks for the write's id in `last_change`. What it
doesn't settle is told as unknown. Since it may still be on its way, it is voided, and only then is the list
shown with that. (A thread's first write can't be voided: there is no item yet to note it on.)

    user   unlocks #2                     nobody answers; the read finds #2 locked
           voids that unlock              told: unknown, and #2 is locked
    user   locks #2                       acknowledged, though there is nothing to write
           the unlock arrives             refused: its id is among the voided
"""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from preferences import rules
from preferences.errors import Busy, OutcomeUnknown, PreferencesError
from preferences.model import Caller, Change, Thread
from preferences.repository.client import CALL_SECONDS, Verdict, verdict
from preferences.repository.expressions import Expressions
from preferences.repository.items import Item, key, read_head, read_thread, thread_item, with_rows

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

MAX_TRIES = 10
FIRST_PAUSE = 0.02
LONGEST_PAUSE = 0.5
"""Seconds. The pauses between tries are random, up to a limit that doubles: "full jitter"."""

# The system's own chance: functions that were started from one snapshot would all pause alike otherwise.
_random = random.SystemRandom()

WRITE = 3
"""Calls that there must be time for before one is sent: the read and the voiding that may have to follow."""

MAX_VOIDED = 20 * 32
"""Characters of the ids that are remembered as voided: twenty writes that nobody heard of again."""


class Refused(Exception):
    """The condition of a write did not hold. Carries the thread that refused it, `head` without its rows."""

    def __init__(self, thread_id: str, item: Item | None) -> None:
        self.head = read_head(thread_id, item)
        self._item = item

    def thread(self, caller: Caller) -> Thread:
        """Raises ThreadNotFound where it is not the caller's."""
        return _admitted(self.head, self._item, caller)


class NotApplied(Exception):
    """A write was certainly not applied, and may be sent again."""


class Calls:
    """The calls of one invocation, which has to answer while there is time.

    `ask` and `read` may raise Busy; `create` and `update` raise NotApplied in its place. Faults of the
    deployment (no table, no permission) are raised as they come.
    """

    def __init__(self, client: "DynamoDBClient", table: str, seconds_left: Callable[[], float]) -> None:
        self.client = client
        self.table = table
        self._seconds_left = seconds_left
        self.retries = 0
        """Tries beyond the first, of reads and writes alike."""
        self.updates = 0
        """How many updates were applied."""

    def tries(self, *, calls: int) -> Iterator[None]:
        """Turns, each with time for so many calls, with random pauses between. Ends when time is up."""
        for n in range(MAX_TRIES):
            if n:
                self.retries += 1
                pause = _random.uniform(0, min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (n - 1)))
                time.sleep(max(0.0, min(pause, self._seconds_left())))
            if not self.has_time(calls=calls):
                return
            yield

    def has_time(self, *, calls: int) -> bool:
        return self._seconds_left() >= calls * CALL_SECONDS

    def ask(self, call: Callable[[], Any], *, calls: int = 1) -> Any:
        """The answer to a call that may be made as often as it takes, with time for so many calls."""
        reason: Exception = Busy()
        for _ in self.tries(calls=calls):
            try:
                return call()
            except PreferencesError:
                raise
            except Exception as error:
                match verdict(error):
                    case Verdict.FAULT:
                        raise
                    case Verdict.GARBLED:
                        reason = error  # if that is all that ever comes, it is no matter of time
                    case _:
                        reason = Busy()
        raise reason

    def read(self, thread_id: str, caller: Caller) -> Thread:
        """Raises ThreadNotFound where it is not the caller's."""

        def get() -> Thread:
            item = self._item(thread_id)
            return _admitted(read_head(thread_id, item), item, caller)

        thread: Thread = self.ask(get)
        return thread

    def _item(self, thread_id: str) -> Item | None:
        answer = self.client.get_item(TableName=self.table, Key=key(thread_id), ConsistentRead=True)
        return answer.get("Item")

    def create(self, thread: Thread, change: Change, caller: Caller) -> Thread:
        """Puts a thread that is not there yet. Raises Refused, NotApplied and OutcomeUnknown."""
        write = Expressions()
        write.require_new()
        request = write.condition() | {"Item": thread_item(thread)}
        return self._send(
            lambda: self.client.put_item(
                TableName=self.table, ReturnValuesOnConditionCheckFailure="ALL_OLD", **request
            ),
            lambda _: thread,
            thread.thread_id,
            change,
            caller,
        )

    def update(self, thread_id: str, write: Expressions, change: Change, caller: Caller) -> Thread:
        """The thread after the write. Raises Refused, NotApplied and OutcomeUnknown."""
        write.require_not_voided(change.id)
        request = write.update() | {"Key": key(thread_id)}
        thread = self._send(
            lambda: self.client.update_item(
                TableName=self.table,
                ReturnValues="ALL_NEW",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
                **request,
            ),
            lambda answer: read_thread(thread_id, answer["Attributes"]),
            thread_id,
            change,
            caller,
        )
        self.updates += 1
        return thread

    def _send(
        self,
        call: Callable[[], Any],
        read: Callable[[Any], Thread],
        thread_id: str,
        change: Change,
        caller: Caller,
    ) -> Thread:
        try:
            answer = call()
        except Exception as error:
            match verdict(error):
                case Verdict.REFUSED:
                    item = getattr(error, "response", {}).get("Item")
                    refusal = Refused(thread_id, item)
                    if _is_latest(change, refusal.head):  # something on the way has sent it twice
                        return with_rows(refusal.head, item)
                    raise refusal from None
                case Verdict.NOT_APPLIED:
                    raise NotApplied from None
                case Verdict.UNKNOWN | Verdict.GARBLED:
                    return self._settle(thread_id, change, caller)
                case Verdict.FAULT:
                    raise
        with suppress(Exception):
            thread = read(answer)
            if _is_latest(change, thread):
                return thread
        return self._settle(thread_id, change, caller)  # applied, it seems, but the answer is garbled

    def _settle(self, thread_id: str, change: Change, caller: Caller) -> Thread:
        """After a write of which nobody heard again: the thread, if its latest change is that write."""
        try:
            thread: Thread = self.ask(lambda: read_thread(thread_id, self._item(thread_id)), calls=2)
            # A stranger's write can't be applied, and nothing of hers is written here either.
            if caller.owner is None or caller.owner == (thread.owner or thread.deleted_by):
                thread = self._void(thread, change)
            if _is_latest(change, thread):
                return thread
            voided = rules.admit(thread, caller) if change.id in thread.voided else None
        except Exception:  # out of reach again, or out of time: it may still arrive
            voided = None
        raise OutcomeUnknown(voided)

    def _void(self, thread: Thread, change: Change) -> Thread:
        """The thread, on which the write can't be applied any more; unless that is what was done last.

        It makes no revision, since it changes nothing that anybody sees. It may be sent twice.
        """
        for _ in self.tries(calls=1):
            if thread.revision == 0 or _is_latest(change, thread) or change.id in thread.voided:
                return thread
            void = Expressions()
            void.require_stored()
            void.require_other_change(change.id)
            void.require_voided(thread.voided)
            void.put("voided", (thread.voided + change.id)[-MAX_VOIDED:])
            try:
                answer = self.client.update_item(
                    TableName=self.table,
                    Key=key(thread.thread_id),
                    ReturnValues="ALL_NEW",
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                    **void.update(),
                )
                return read_thread(thread.thread_id, answer["Attributes"])
            except Exception as error:
                if verdict(error) is Verdict.FAULT:
                    raise
                if verdict(error) is Verdict.REFUSED:
                    item = getattr(error, "response", {}).get("Item")
                    thread = read_thread(thread.thread_id, item)
        raise Busy


def _admitted(head: Thread, item: Item | None, caller: Caller) -> Thread:
    """The thread with its rows. Whose it is comes first, so that the time tells a stranger little of it."""
    return with_rows(rules.admit(head, caller), item)


def _is_latest(change: Change, thread: Thread) -> bool:
    return thread.last_change is not None and thread.last_change.id == change.id

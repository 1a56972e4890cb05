"""The calls that one invocation makes to the table, within the time that it has.

A read is made as often as time allows. A write goes through `answers.decide` until it is decided.
"""

import random
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from preferences import rules
from preferences.errors import Busy, OutcomeUnknown, PreferencesError
from preferences.model import Caller, Thread
from preferences.repository.answers import Answer, Step, decide
from preferences.repository.client import CALL_SECONDS, answer_of
from preferences.repository.items import Item, key, read_head, read_thread, thread_id_of, with_rows

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

REQUEST_SECONDS = 10
"""Seconds from the beginning of a request after which it calls the table no more. A person who gave it up may
have done something else by then: the old request must not be planned on top of that."""
FIRST_PAUSE = 0.02
LONGEST_PAUSE = 0.5
"""Seconds. Pauses are random, up to a limit that doubles ("full jitter")."""
MAX_KEYS = 25
"""Of one batch. BatchWriteItem takes no more. BatchGetItem takes 100, but each item is read whole: an engine
that reads them one by one needs longer for 100 large ones than a call may take."""
MAX_GARBLED = 3
"""How often an item is asked for that can't be read."""

# The system's own randomness: functions that start from one snapshot would all pause alike otherwise.
_random = random.SystemRandom()

Authorize = Callable[[Thread, Caller], Thread]


class Budget:
    """The time that one request has."""

    def __init__(self, seconds_left: Callable[[], float]) -> None:
        self._seconds_left = seconds_left
        self._end = time.monotonic() + REQUEST_SECONDS

    def allows_call(self) -> bool:
        return time.monotonic() < self._end and self._seconds_left() >= CALL_SECONDS

    def pause(self, n: int) -> None:
        """Before the n-th retry, from 1."""
        longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(n - 1, 10))
        time.sleep(max(0.0, min(_random.uniform(0, longest), self._seconds_left())))


@dataclass(frozen=True, slots=True)
class Write:
    """One planned write, as it is sent, and sent again."""

    thread_id: str
    id: str
    seen: int
    """The revision that it was made from; 0: there was no item."""
    parameters: dict[str, Any]
    """Of PutItem where there was no item, else of UpdateItem."""


class ThreadTable:
    """Every method may raise Busy. Errors that a retry does not mend are raised as they come."""

    def __init__(self, client: "DynamoDBClient", name: str, seconds_left: Callable[[], float]) -> None:
        self.client = client
        self.name = name
        self._seconds_left = seconds_left
        self.retries = 0
        """Calls beyond the first, and plans beyond the first."""

    def budget(self) -> Budget:
        return Budget(self._seconds_left)

    def ask(self, call: Callable[[], Any], budget: Budget | None = None) -> Any:
        """The answer to a call that may be made as often as it takes."""
        budget = budget or self.budget()
        garbled = tries = 0
        while budget.allows_call():
            try:
                return call()
            except PreferencesError:
                raise
            except Exception as error:
                garbled += not isinstance(error, ClientError | BotoCoreError | ResponseParserError)
                if answer_of(error) is Answer.FAULT or garbled == MAX_GARBLED:
                    raise
            tries += 1
            self.retries += 1
            budget.pause(tries)
        raise Busy

    def in_batches(
        self,
        elements: Sequence[Any],
        call: Callable[[Sequence[Any]], Sequence[Any]],
        budget: Budget | None = None,
    ) -> None:
        """Calls with up to MAX_KEYS elements at a time. `call` returns what DynamoDB left over of them.

        DynamoDB may do a part of a batch, for its size or because it is busy. Then the rest is asked again.
        """
        waiting, tries = [*elements], 0
        while waiting:
            left_over = self.ask(partial(call, waiting[:MAX_KEYS]), budget)
            waiting = [*waiting[MAX_KEYS:], *left_over]
            if left_over:
                tries += 1
                self.retries += 1
                (budget or self.budget()).pause(tries)

    def read(
        self,
        thread_id: str,
        caller: Caller,
        authorize: Authorize = rules.authorize,
        budget: Budget | None = None,
    ) -> Thread:
        """The thread, read consistently; at revision 0 where it is not stored. Raises as `authorize` does.

        Authorizes before it parses the rows, which takes nearly all of the time. So the time that a refusal
        takes hardly tells a stranger whether the thread exists.
        """

        def get() -> Thread:
            item = self._get(thread_id)
            return with_rows(authorize(read_head(thread_id, item), caller), item)

        thread: Thread = self.ask(get, budget)
        return thread

    def titles(self, thread_ids: Sequence[str], owner: str, budget: Budget) -> dict[str, str | None]:
        """Thread id → title or None, in the order given, of those that are this owner's."""
        names = {f"#{name}": name for name in ("pk", "owner", "revision", "title")}
        parameters = {
            "ConsistentRead": True,
            "ProjectionExpression": ", ".join(names),
            "ExpressionAttributeNames": names,
        }
        heads: dict[str, Thread] = {}

        def get(keys: Sequence[Any]) -> Any:
            request: Any = {self.name: {**parameters, "Keys": keys}}
            answer: Any = self.client.batch_get_item(RequestItems=request)
            for item in answer["Responses"].get(self.name, ()):
                head = read_head(thread_id_of(item), item)
                heads[head.thread_id] = head
            return answer.get("UnprocessedKeys", {}).get(self.name, {}).get("Keys", [])

        self.in_batches([key(thread_id) for thread_id in thread_ids], get, budget)
        present = (heads[thread_id] for thread_id in thread_ids if thread_id in heads)
        return {head.thread_id: head.title for head in present if head.owner == owner}

    def _get(self, thread_id: str) -> Item | None:
        answer = self.client.get_item(TableName=self.name, Key=key(thread_id), ConsistentRead=True)
        return answer.get("Item")

    def write(self, write: Write, budget: Budget) -> tuple[Step, Thread]:
        """Sends a write until it is decided: DONE, PLAN_AGAIN, NOT_FOUND or UNKNOWN, and the thread by then.

        Raises OutcomeUnknown when time ends, or the item can't be read, while it is undecided.
        """
        unanswered = False
        tries = 0
        while budget.allows_call():
            copy = self._send(write)
            unanswered = unanswered or copy.answer is Answer.NONE
            step, present = self._decide(write, copy, unanswered, budget)
            if step is Step.RAISE and copy.error is not None:
                raise copy.error
            if step is not Step.SEND_AGAIN and present is not None:
                return step, present
            tries += 1
            self.retries += 1
            budget.pause(tries)
        raise OutcomeUnknown(None) if unanswered else Busy

    def _decide(
        self, write: Write, copy: "_Copy", unanswered: bool, budget: Budget
    ) -> tuple[Step, Thread | None]:
        decided = partial(decide, copy.answer, seen=write.seen, write_id=write.id, unanswered=unanswered)
        step = decided(present=copy.present)
        if step is not Step.READ:
            return step, copy.present
        try:
            present = self.ask(lambda: read_thread(write.thread_id, self._get(write.thread_id)), budget)
        except Exception:
            raise OutcomeUnknown(None) from None
        return decided(present=present), present

    def _send(self, write: Write) -> "_Copy":
        parameters: dict[str, Any] = {
            "TableName": self.name,
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            **write.parameters,
        }
        item: Any
        try:
            if write.seen:
                item = self.client.update_item(ReturnValues="ALL_NEW", **parameters)["Attributes"]
            else:
                self.client.put_item(**parameters)
                item = write.parameters["Item"]
        except Exception as error:
            answer, present = answer_of(error), None
            if answer is Answer.REFUSED:
                with suppress(Exception):  # garbled, or none came
                    present = read_thread(write.thread_id, error.response["Item"])  # type: ignore[attr-defined]
            return _Copy(answer, present, error)
        with suppress(Exception):
            thread = read_thread(write.thread_id, item)
            if thread.last_change is not None and thread.last_change.id == write.id:
                return _Copy(Answer.SUCCESS, thread)
        return _Copy(Answer.NONE)  # applied, it seems, but this is not the answer to it


@dataclass(frozen=True, slots=True)
class _Copy:
    """What came of sending a write once."""

    answer: Answer
    present: Thread | None = None
    error: Exception | None = None

"""What the answer to a conditional write means, and what to do next.

A write names the revision that it was made from (`seen`), and is applied only to that revision. It carries a
fresh id. The item keeps the ids of its newest writes, one for each revision, in `recent`. So a later answer
tells what became of an earlier one, and a request that is sent twice is applied once.

    what comes                                         meaning                         next
    success                                            applied                         DONE
    refused, item past seen, recent[seen + 1] is ours  applied, by an earlier copy     DONE
    refused, item past seen, recent[seen + 1] is not   not applied, and never will be  PLAN_AGAIN
    refused, item past seen, recent does not tell      undecided                       UNKNOWN
    refused, item at seen                              this copy is not applied        PLAN_AGAIN | SEND_AGAIN
    refused, without the item                          the item must be read           READ
    refused, and there is no item                      removed                         NOT_FOUND
    none: time-out, reset, 5xx, not DynamoDB's         undecided                       SEND_AGAIN
    not executed: throttled, no connection             tells of this copy only         SEND_AGAIN
    any other error                                    tells of this copy only         RAISE | SEND_AGAIN

Where two are named, the second holds while a copy is unanswered. A request is never planned again while it is
undecided: both plans could be applied. Sending the same again is safe: revisions never come back.
"""

from enum import Enum, auto

from preferences.model import Thread


class Answer(Enum):
    """What came of one copy of a write."""

    SUCCESS = auto()
    REFUSED = auto()
    """Its condition does not hold."""
    NONE = auto()
    """None that is DynamoDB's: it may have been applied, or may still be."""
    NOT_EXECUTED = auto()
    """DynamoDB did not look at it, or it was never sent."""
    FAULT = auto()
    """What sending again does not mend: a permission, a table that is not there, a defect of ours."""


class Step(Enum):
    """What to do next."""

    DONE = auto()
    PLAN_AGAIN = auto()
    SEND_AGAIN = auto()
    READ = auto()
    """Read the item consistently, and decide again with it."""
    NOT_FOUND = auto()
    UNKNOWN = auto()
    RAISE = auto()


def decide(answer: Answer, *, seen: int, write_id: str, present: Thread | None, unanswered: bool) -> Step:
    """The table above.

    `present` is the thread that came with a refusal, or was read after it; at revision 0 there is none.
    `unanswered`: whether any copy of this write, this one included, has had no answer.
    """
    match answer:
        case Answer.SUCCESS:
            return Step.DONE
        case Answer.NONE | Answer.NOT_EXECUTED:
            return Step.SEND_AGAIN
        case Answer.FAULT:
            return Step.SEND_AGAIN if unanswered else Step.RAISE
    if present is None:
        return Step.READ
    if present.revision == 0:
        return Step.NOT_FOUND
    if present.revision <= seen:
        return Step.SEND_AGAIN if unanswered else Step.PLAN_AGAIN
    made_next = present.write_at(seen + 1)
    if made_next is None:
        return Step.UNKNOWN
    return Step.DONE if made_next == write_id else Step.PLAN_AGAIN

"""Where agents' tool calls come in: whose thread, which tool, what came of it, and what is logged of that."""

import math
import os
import time
from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from aws_lambda_powertools import Logger

from preferences import metrics, render
from preferences.agent.arguments import decode
from preferences.agent.envelopes import Answer, ToolCall, recognise
from preferences.errors import InvalidInput, describe_fault
from preferences.model import Thread, is_thread_id, is_user_id
from preferences.repository import open_repository
from preferences.tools import TOOLS, Envelope, PreferenceTools, failure, unknown_tool

NO_THREAD = (
    "thread_id is missing or malformed: the application sets it as a session attribute, "
    "or as the header X-Thread-Id; it can't be sent as an argument"
)
NO_USER = (
    "user_id is missing or malformed: the application sets it as a session attribute, "
    "or as the header X-User-Id; it can't be sent as an argument"
)

_COUNTED = {
    "recorded": "Recorded",
    "updated": "Updated",
    "removed": "Removed",
    "locked": "Locked",
    "stale": "Stale",
}
"""Outcome of a row → its metric."""

logger = Logger()


class _Told(NamedTuple):
    """What came of a call, with the list where it was read."""

    result: Envelope
    thread: Thread | None = None
    retries: int = 0
    """Tries beyond the first, of reads and writes alike."""
    suggested: int = 0


def handler(event: object, context: object) -> Answer:
    """The answer to one tool call, in the form of whoever calls: see `envelopes`. Never raises.

    `context` is Lambda's. Its `client_context` is where a Gateway names the tool and the caller.
    """
    started = time.perf_counter()
    logger.set_correlation_id(getattr(context, "aws_request_id", None))
    call = recognise(event, context)
    block: str | None = None
    try:
        told = _told(call, context)
        block = render.block(told.thread) if told.thread else None
    except Exception as fault:
        logger.error("fault", **describe_fault(fault))
        told = _refusal(
            "internal_error",
            "the tool failed: call list_preferences to see what is stored before trying again",
        )
    result, thread, retries, suggested = told
    error = None if result["ok"] else result["error"]["code"]
    outcomes = Counter(item["outcome"] for item in result.get("items", ()))
    milliseconds = round((time.perf_counter() - started) * 1000, 1)
    logger.info(
        "tool call",
        envelope=call.kind if call else None,
        tool=call.tool if call and call.tool in TOOLS else None,
        error=error,
        outcomes=outcomes,
        revision=thread.revision if thread else None,
        milliseconds=milliseconds,
        **metrics.embedded(
            "agent",
            milliseconds,
            {
                **{metric: outcomes[outcome] for outcome, metric in _COUNTED.items()},
                "Refused": error not in (None, "internal_error"),
                "Faults": error == "internal_error",
                "Retried": retries,
                "Suggested": suggested,
            },
        ),
    )
    return call.answer(result, block) if call else result


def _told(call: ToolCall | None, context: object) -> _Told:
    if call is None:
        return _refusal("unknown_tool", "this is no tool call, or one that does not name its tool")
    tool = TOOLS.get(call.tool)
    if tool is None:
        return _Told(unknown_tool())
    identity = call.identity()
    thread_id, user_id = identity.get("thread_id"), identity.get("user_id")
    if not is_thread_id(thread_id):
        return _refusal("missing_identity", NO_THREAD)
    if not (is_user_id(user_id) or (user_id is None and _may_go_without_user(identity))):
        return _refusal("missing_identity", NO_USER)
    try:
        arguments = decode(tool.args_schema, call.arguments())
    except InvalidInput as refusal:
        return _refusal("invalid_arguments", str(refusal))
    repository = open_repository(lambda: _seconds_left(context))
    tools = PreferenceTools(thread_id, repository, user_id=user_id, agent_id=call.agent_id)
    result = tools.call(tool.name, arguments)
    return _Told(result, tools.thread, repository.retries, tools.suggested)


def _may_go_without_user(identity: Mapping[str, object]) -> bool:
    """Only where none is named at all: a null in its place is a mistake of the application."""
    return "user_id" not in identity and not user_id_required()


@cache
def user_id_required() -> bool:
    """Whether a call must say for which user it is made. What the variable holds is no, or else it is yes."""
    return os.environ.get("REQUIRE_USER_ID", "").strip().lower() not in ("", "false")


def _seconds_left(context: object) -> float:
    remaining = getattr(context, "get_remaining_time_in_millis", None)
    return remaining() / 1000 if remaining else math.inf


def _refusal(code: str, message: str) -> _Told:
    return _Told(failure(code, message))

"""The Lambda handler for agents: finds the thread and the tool of a call, runs it, logs it, answers."""

import math
import os
import time
from collections import Counter
from collections.abc import Mapping
from functools import cache

from aws_lambda_powertools import Logger

from preferences import metrics
from preferences.agent.arguments import decode
from preferences.agent.envelopes import Answer, ToolCall, error_code, recognise
from preferences.errors import describe_fault
from preferences.model import is_thread_id, is_user_id
from preferences.repository import open_repository
from preferences.tools import TOOLS, Envelope, PreferenceTools, Tool, failure, unknown_tool

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


def handler(event: object, context: object) -> Answer:
    """The answer to one tool call, in the form of whoever calls: see `envelopes`. Never raises.

    `context` is Lambda's. Its `client_context` is where a Gateway names the tool and the caller.
    """
    started = time.perf_counter()
    logger.set_correlation_id(getattr(context, "aws_request_id", None))
    call = recognise(event, context)
    tool = TOOLS.get(call.tool) if call else None
    tools: PreferenceTools | None = None
    try:
        tools, result = _run(call, tool, context)
    except Exception as fault:
        logger.error("fault", **describe_fault(fault))
        result = failure(
            "internal_error",
            "the tool failed: call list_preferences to see what is stored before trying again",
        )
    error = error_code(result)
    outcomes = Counter(item["outcome"] for item in result.get("items", ()))
    milliseconds = round((time.perf_counter() - started) * 1000, 1)
    logger.info(
        "tool call",
        envelope=call.kind if call else None,
        tool=tool.name if tool else None,
        error=error,
        outcomes=outcomes,
        revision=tools.thread.revision if tools and tools.thread else None,
        milliseconds=milliseconds,
        **metrics.embedded(
            "agent",
            milliseconds,
            {
                **{metric: outcomes[outcome] for outcome, metric in _COUNTED.items()},
                "Refused": error not in (None, "internal_error"),
                "Faults": error == "internal_error",
                "Retried": tools.repository.retries if tools else 0,
                "Suggested": tools.suggested if tools else 0,
            },
        ),
    )
    return call.answer(result, tools.thread if tools else None) if call else result


def _run(
    call: ToolCall | None, tool: Tool | None, context: object
) -> tuple[PreferenceTools | None, Envelope]:
    """The tools of the call's thread, where it names one, and the result."""
    if call is None:
        return None, failure("unknown_tool", "this is no tool call, or one that does not name its tool")
    if tool is None:
        return None, unknown_tool()
    identity = call.identity()
    thread_id, user_id = identity.get("thread_id"), identity.get("user_id")
    if not is_thread_id(thread_id):
        return None, failure("missing_identity", NO_THREAD)
    if not (is_user_id(user_id) or (user_id is None and _may_go_without_user(identity))):
        return None, failure("missing_identity", NO_USER)
    repository = open_repository(lambda: _seconds_left(context))
    tools = PreferenceTools(thread_id, repository, user_id=user_id, agent_id=call.agent_id)
    return tools, tools.run(tool, lambda: decode(tool.args_schema, call.arguments()))


def _may_go_without_user(identity: Mapping[str, object]) -> bool:
    """Only where `user_id` is not there at all: a null is a mistake of the application."""
    return "user_id" not in identity and not user_id_required()


@cache
def user_id_required() -> bool:
    """Whether a call must name its user: True unless REQUIRE_USER_ID is unset, empty or `false`."""
    return os.environ.get("REQUIRE_USER_ID", "").strip().lower() not in ("", "false")


def _seconds_left(context: object) -> float:
    remaining = getattr(context, "get_remaining_time_in_millis", None)
    return remaining() / 1000 if remaining else math.inf

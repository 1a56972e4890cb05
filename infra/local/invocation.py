"""Lambda on this machine: a handler is called, and its answer comes back as it would from there."""

import json
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any

import anyio
import anyio.to_thread

from infra.template import Function
from preferences.testing.context import LambdaContext

Handler = Callable[[Any, Any], Any]

MAX_ANSWER = 6 * 1024 * 1024  # bytes that Lambda gives back


async def invoke(
    function: Function, handler: Handler, event: object, client_context: Mapping[str, Any] | None = None
) -> Any:
    """What Lambda gives back: the handler's answer as it comes out of JSON.

    The handler runs in a thread with the function's time limit. Raises what it raises, TimeoutError when
    the time is over (a thread can't be ended as Lambda would: its own deadline has to stop it), TypeError
    or ValueError when the answer isn't JSON, or is larger than Lambda lets pass.
    """
    context = LambdaContext(function.name, function.timeout, function.memory, client_context)
    with anyio.fail_after(function.timeout):
        answer = await anyio.to_thread.run_sync(handler, event, context, abandon_on_cancel=True)
    text = json.dumps(answer)
    if len(text.encode()) > MAX_ANSWER:
        raise ValueError(f"the answer is larger than {MAX_ANSWER} bytes")
    return json.loads(text)


def report(function: Function) -> None:
    """Prints a handler's fault, which Lambda would write to its log."""
    print(f"{function.handler} failed:", file=sys.stderr)
    traceback.print_exc()

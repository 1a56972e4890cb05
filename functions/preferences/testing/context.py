"""What Lambda passes to a handler as its second argument."""

import time
import uuid
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any


class LambdaContext:
    """The context of one invocation, with a deadline `timeout` seconds from now.

    `client_context` is the caller's JSON (`{"custom": {…}}`, as AgentCore Gateway sends it) or None.
    """

    function_version = "$LATEST"
    identity = None

    def __init__(
        self,
        function_name: str = "preferences",
        timeout: float = 15.0,
        memory: int = 512,
        client_context: Mapping[str, Any] | None = None,
    ) -> None:
        self.function_name = function_name
        self.memory_limit_in_mb = memory
        self.aws_request_id = str(uuid.uuid4())
        self.invoked_function_arn = f"arn:aws:lambda:eu-west-1:123456789012:function:{function_name}"
        self.log_group_name = f"/aws/lambda/{function_name}"
        self.log_stream_name = "local"
        self.client_context = (
            None
            if client_context is None
            else SimpleNamespace(**{"custom": None, "env": None, "client": None, **client_context})
        )
        self._deadline = time.monotonic() + timeout

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until Lambda would end the invocation, never negative."""
        return max(0, int((self._deadline - time.monotonic()) * 1000))

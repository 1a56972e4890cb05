"""The Lambda handler for agents.

`lambda_handler` takes the event, `envelopes` knows the three forms of a call, `arguments` decodes arrays.
"""

from preferences.agent.lambda_handler import handler

__all__ = ["handler"]

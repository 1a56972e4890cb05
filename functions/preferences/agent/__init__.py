"""The agent's door: `door` answers, `envelopes` tells callers apart, `arguments` decodes what they send."""

from preferences.agent.door import handler

__all__ = ["handler"]

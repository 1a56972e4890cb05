"""What Lambda passes to a handler: the tests' and the local stack's are one."""

from preferences.testing.context import LambdaContext

__all__ = ["LambdaContext"]

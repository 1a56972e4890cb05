"""A pytest plugin that notes which handler calls what of DynamoDB: `pytest -p tests.deployment.recorder …`.

Every call that a handler's code makes, however deep, adds a line `handler operation resource` to the file
that the variable RECORD_CALLS names. The resource is `Table`, or `Table/index/NAME` for a query of an index.
"""

import os
import sys
from functools import wraps

from botocore.client import BaseClient

HANDLERS = {"preferences.api": "api", "preferences.agent": "agent", "preferences.history": "history"}
"""Package or module → handler."""

noted = set()


def handler_above(frame) -> str | None:
    """The handler in whose code this frame is. A test's hook between them calls for itself: None."""
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith("tests."):
            return None
        for package, handler in HANDLERS.items():
            if module == package or module.startswith(f"{package}."):
                return handler
        frame = frame.f_back
    return None


def pytest_configure(config):
    original = BaseClient._make_api_call

    @wraps(original)
    def recording(self, operation, parameters):
        if self.meta.service_model.service_name == "dynamodb" and (
            handler := handler_above(sys._getframe(1))
        ):
            index = parameters.get("IndexName")
            noted.add((handler, operation, f"Table/index/{index}" if index else "Table"))
        return original(self, operation, parameters)

    BaseClient._make_api_call = recording
    config.add_cleanup(lambda: setattr(BaseClient, "_make_api_call", original))


def pytest_sessionfinish():
    with open(os.environ["RECORD_CALLS"], "a", encoding="utf-8") as file:
        for line in sorted(noted):
            print(*line, file=file)

"""A shortcut past what botocore does for any service, where ours is one: start-up.

It gives what the plain way gives: tests/test_shortcuts.py holds it to that.
"""

from pathlib import Path
from typing import Any

import botocore.session
from botocore.loaders import Loader

DATA = Path(__file__).with_name("botocore")
"""What botocore reads to make a client for DynamoDB, without the rest: written by `infra.botocore_data`."""


class _Loader(Loader):
    """DynamoDB from DATA; anything else, STS for a profile that assumes a role, from where it always is.

    A plain loader looks through 400 services and parses 2 MB of endpoints and documentation.
    """

    def __init__(self) -> None:
        super().__init__([str(DATA)])

    def load_service_model(self, service_name: str, type_name: str, api_version: str | None = None) -> Any:
        if service_name == "dynamodb":
            return self.load_data(f"dynamodb/2012-08-10/{type_name}")
        return super().load_service_model(service_name, type_name, api_version)

    def is_builtin_path(self, path: str) -> bool:
        """Endpoints that are not built in would be taken for the user's own, to overrule DynamoDB's rules."""
        return path.startswith(str(DATA)) or bool(super().is_builtin_path(path))


def lean_session() -> botocore.session.Session:
    """A session that makes a client for DynamoDB in half of the time."""
    session = botocore.session.get_session()
    session.register_component("data_loader", _Loader())
    return session

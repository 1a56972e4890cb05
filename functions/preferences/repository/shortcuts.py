"""Two shortcuts past what botocore does for any service, where ours is one: start-up, and reading answers.

Each gives what the plain way gives: tests/repository/test_shortcuts.py holds them to it.
"""

import json
from pathlib import Path
from typing import Any

import botocore.session
from botocore.loaders import Loader
from botocore.parsers import ResponseParserError

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


def read_as_json(
    response_dict: dict[str, Any], customized_response_dict: dict[str, Any], operation_model: Any, **_: object
) -> None:
    """For botocore's event `before-parse`: takes an answer as the JSON that it is.

    botocore rebuilds it value by value after its shape, in case that one is a date or bytes. Here none is,
    and that is most of the work on a list. Refusals are left to botocore, but for the item in them. What is
    no answer of DynamoDB's is an error; botocore would take it for an empty one, which to a GetItem means
    that there is no such item.
    """
    try:
        answer = json.loads(response_dict["body"])
    except (ValueError, RecursionError):
        answer = None
    if response_dict["status_code"] >= 300:
        if isinstance(answer, dict) and isinstance(answer.get("Item"), dict):
            customized_response_dict["Item"] = answer.pop("Item")
            response_dict["body"] = json.dumps(answer).encode()
        return
    known = operation_model.output_shape.members
    if not isinstance(answer, dict) or (answer and not answer.keys() & known.keys()):
        raise ResponseParserError("the answer is not DynamoDB's")
    customized_response_dict.update(
        {name: value for name, value in answer.items() if name in known and value is not None}
    )
    response_dict["body"] = b"{}"

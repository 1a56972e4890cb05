"""python -m infra.botocore_data: cuts botocore's data down to what the repository's client reads.

The texts are botocore's own (Apache-2.0), less other services, operations that nobody calls, and
documentation. To be run when a test says that botocore's have changed, or that an operation is missing.
"""

import json
from pathlib import Path
from typing import Any

import botocore
from botocore.loaders import Loader

TARGET = Path(__file__).parent.parent / "functions/preferences/repository/botocore"
SERVICE = "dynamodb"
VERSION = "2012-08-10"
OPERATIONS = ("BatchGetItem", "BatchWriteItem", "DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem")
"""What the repository calls, and nothing more: a client can't call what its data doesn't have."""


def data() -> dict[str, Any]:
    """File → its content."""
    loader = Loader(include_default_search_paths=True)
    here = f"{SERVICE}/{VERSION}"
    return {
        f"{here}/service-2.json": _service(loader.load_data(f"{here}/service-2")),
        f"{here}/endpoint-rule-set-1.json": _without_texts(loader.load_data(f"{here}/endpoint-rule-set-1")),
        "endpoints.json": _endpoints(loader.load_data("endpoints")),
        "partitions.json": loader.load_data("partitions"),
    }


def as_text(content: Any) -> str:
    """One line for each of the outer members, so that a change can be read."""
    members = (
        f"{json.dumps(name)}:{json.dumps(value, separators=(',', ':'))}" for name, value in content.items()
    )
    return "{\n" + ",\n".join(members) + "\n}\n"


def _service(model: Any) -> Any:
    operations = {name: model["operations"][name] for name in OPERATIONS}
    shapes: dict[str, Any] = {}
    _collect(operations, model["shapes"], shapes)
    return _without_texts({**model, "operations": operations, "shapes": dict(sorted(shapes.items()))})


def _collect(value: Any, shapes: Any, found: dict[str, Any]) -> None:
    """Adds to `found` every shape that `value` leads to."""
    if isinstance(value, dict):
        name = value.get("shape")
        if isinstance(name, str) and name not in found:
            found[name] = shapes[name]
            _collect(shapes[name], shapes, found)
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            _collect(inner, shapes, found)


def _endpoints(endpoints: Any) -> Any:
    partitions = [
        {**partition, "services": {SERVICE: partition["services"].get(SERVICE, {"endpoints": {}})}}
        for partition in endpoints["partitions"]
    ]
    return {**endpoints, "partitions": partitions}


def _without_texts(value: Any) -> Any:
    """Without documentation. (A member of that name would be an object, not a text.)"""
    if isinstance(value, dict):
        return {
            name: _without_texts(inner)
            for name, inner in value.items()
            if not (name == "documentation" and isinstance(inner, str))
        }
    return [_without_texts(inner) for inner in value] if isinstance(value, list) else value


def notice() -> str:
    """What the licence asks for beside files that were changed."""
    return (
        f"From botocore {botocore.__version__}, https://github.com/boto/botocore,\n"
        "Copyright 2012-2022 Amazon.com, Inc. or its affiliates. All Rights Reserved.\n"
        "Licensed under the Apache License, Version 2.0: http://www.apache.org/licenses/LICENSE-2.0\n\n"
        "Changed: cut down to what one client needs (infra/botocore_data.py).\n"
    )


def main() -> None:
    TARGET.mkdir(exist_ok=True)
    (TARGET / "NOTICE").write_text(notice(), "utf-8")
    for name, content in data().items():
        path = TARGET / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(as_text(content), "utf-8")
        print(path.relative_to(TARGET.parents[3]), path.stat().st_size)


if __name__ == "__main__":
    main()

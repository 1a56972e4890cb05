"""An attribute that a later version adds to a row: stored, in the history, summarised, undone.

It is added to a copy of the package in the places that CONTRIBUTING names, and tried in a process of its own.
"""

import os
import shutil
import subprocess
import sys

from infra.local.table import PRETENDED
from tests.stack import ROOT

ADDED = {
    "model/preference.py": [
        (
            "    locked: bool\n    rank: int\n",
            "    locked: bool\n    expires: str | None = None\n    rank: int\n",
        ),
        (
            "    kind: Kind\n    locked: bool\n\n\nclass Draft",
            "    kind: Kind\n    locked: bool\n    expires: str | None\n\n\nclass Draft",
        ),
    ],
    "model/history.py": [('"locked", "rank")', '"locked", "rank", "expires")')],
    "api/views.py": [("    rank: int\n", "    rank: int\n    expires: str | None\n")],
}

SCRIPT = """
import json
from infra.local.context import LambdaContext
from preferences import api, rules
from preferences.model import Caller, Draft
from preferences.repository import open_repository
from preferences.testing.engine import embedded_engine
from infra.local.table import create_table
from infra.template import Template
import boto3

ADA = Caller.user("ada")

def ask(key, **path):
    event = {
        "version": "2.0", "routeKey": key, "rawQueryString": "", "headers": {},
        "pathParameters": {"thread_id": "trip", **path},
        "requestContext": {"authorizer": {"jwt": {"claims": {"sub": "ada", "token_use": "access"}}}},
    }
    answer = api.handler(event, LambdaContext("api", 15.0))
    return answer["statusCode"], json.loads(answer["body"])

with embedded_engine():
    create_table(boto3.client("dynamodb"), Template(references={"Table": "preferences"}), "preferences")
    repo = open_repository(lambda: 15.0)
    repo.register_thread("trip", ADA)
    old = repo.add_preferences_bulk("trip", [Draft(title="Quiet")], ADA).thread
    row = old.preferences[0].id
    for expires in ("2027", None, "2028"):
        new = repo.edit_preference("trip", row, {"expires": expires}, ADA).thread
        repo.history.put("trip", rules.entry_of(old, new))
        old = new
    status, page = ask("GET /threads/{thread_id}/history")
    changes = [(entry["summary"], entry["changes"][0]) for entry in page["entries"]]
    print(json.dumps([status, [(said, change["before"], change["after"]) for said, change in changes]]))
    print(ask("POST /threads/{thread_id}/history/{revision}/undo", revision="3")[1]["conflicts"][0]["reason"])
    print(ask("POST /threads/{thread_id}/history/{revision}/undo", revision="5")[0])
    print(repo.list_preferences("trip", ADA).preferences[0].expires)
"""


def test_is_cheap_and_safe(tmp_path):
    package = tmp_path / "preferences"
    shutil.copytree(ROOT / "functions/preferences", package)
    for name, changes in ADDED.items():
        text = (package / name).read_text("utf-8")
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (package / name).write_text(text, "utf-8")
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("AWS_")},
        "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}",
        **PRETENDED,
        "TABLE_NAME": "preferences",
        "POWERTOOLS_LOG_LEVEL": "CRITICAL",
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    page, reason, status, expires = done.stdout.splitlines()[-4:]
    change = "You changed Quiet"
    assert page == (
        f'[200, [["{change}", {{"expires": null}}, {{"expires": "2028"}}], '
        f'["{change}", {{"expires": "2027"}}, {{"expires": null}}], '
        f'["{change}", {{"expires": null}}, {{"expires": "2027"}}]]]'
    )
    assert (reason, status, expires) == ("has another expires since", "200", "None")

"""Each role allows what its handler calls, no less and no more: recorded over the handlers' own tests."""

import json
import os
import subprocess
import sys
from collections import defaultdict

import pytest

from tests.deployment.stacks import ROOT

pytestmark = pytest.mark.deployment

TESTS = ("tests/api", "tests/agent", "tests/repository/test_history.py", "tests/repository/test_undo.py")
ROLES = {"api": "ApiRole", "agent": "AgentRole", "history": "HistoryRole"}


@pytest.fixture(scope="module")
def called(tmp_path_factory):
    """Handler → resource → the DynamoDB actions that it was seen to call."""
    file = tmp_path_factory.mktemp("calls") / "calls"
    workers = ["-n", "2", "--dist", "loadfile"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.deployment.recorder", *workers, *TESTS]
    ran = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "RECORD_CALLS": str(file), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout[-2000:]
    found = defaultdict(lambda: defaultdict(set))
    for line in file.read_text().splitlines():
        handler, operation, resource = line.split()
        found[handler][resource].add(f"dynamodb:{operation}")
    return found


@pytest.mark.parametrize("handler", ROLES)
def test_a_role_allows_exactly_what_its_handler_calls(template, called, handler):
    names = {
        json.dumps({"Fn::GetAtt": ["Table", "Arn"]}): "Table",
        json.dumps({"Fn::Sub": "${Table.Arn}/index/owner"}): "Table/index/owner",
    }
    allowed = defaultdict(set)
    for policy in template.resources[ROLES[handler]]["Properties"]["Policies"]:
        for statement in policy["PolicyDocument"]["Statement"]:
            if name := names.get(json.dumps(statement["Resource"])):
                actions = statement["Action"]
                allowed[name].update([actions] if isinstance(actions, str) else actions)
    assert dict(called[handler]) == dict(allowed)

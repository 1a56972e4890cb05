"""What `make audit` passes over is what there is a reason for, and nothing is passed over unread."""

import json
import shutil
import subprocess

import pytest
import yaml

from tests.conftest import require
from tests.deployment.stacks import ROOT

pytestmark = pytest.mark.deployment

CHECKOV = ROOT / ".venv-checkov/bin/checkov"
CONFIGURATION = yaml.safe_load((ROOT / ".checkov.yaml").read_text("utf-8"))


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What checkov says of the templates where no configuration tells it to be silent."""
    require(CHECKOV.exists(), "CI", "checkov's environment is not there: make .venv-checkov")
    folder = tmp_path_factory.mktemp("audit")
    for name in CONFIGURATION["file"]:
        shutil.copy(ROOT / name, folder / name)
    files = [part for name in CONFIGURATION["file"] for part in ("--file", name)]
    options = ["--framework", "cloudformation", "--quiet", "--compact", "--skip-download", "--output", "json"]
    told = subprocess.run([CHECKOV, *options, *files], cwd=folder, capture_output=True, text=True)
    return json.loads(told.stdout)


def test_both_templates_are_read(found):
    assert CONFIGURATION["file"] == ["template.yaml", "agent.yaml"]
    assert found["summary"]["parsing_errors"] == 0
    assert found["summary"]["passed"] > 50


def test_each_skip_is_still_needed_and_nothing_else_is_found(found):
    assert {check["check_id"] for check in found["results"]["failed_checks"]} == set(
        CONFIGURATION["skip-check"]
    )


def test_each_skip_has_a_reason():
    """One sentence or more above each, or above those that it shares it with."""
    lines = (ROOT / ".checkov.yaml").read_text("utf-8").partition("skip-check:\n")[2].splitlines()
    assert lines[0].lstrip().startswith("#")
    assert len([line for line in lines if line.lstrip().startswith("- ")]) == len(CONFIGURATION["skip-check"])

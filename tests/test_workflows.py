"""The workflows run what is committed, with no more rights than they need."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
WORKFLOWS = {
    path.name: yaml.safe_load(path.read_text()) for path in (ROOT / ".github/workflows").glob("*.yml")
}
MANY = pytest.mark.parametrize("name", WORKFLOWS)


def steps(name) -> list[dict]:
    return [step for job in WORKFLOWS[name]["jobs"].values() for step in job["steps"]]


@MANY
def test_every_action_is_pinned_to_a_commit(name):
    used = [step["uses"] for step in steps(name) if "uses" in step]
    assert used
    for action in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action)


@MANY
def test_rights_are_named_and_no_more_than_needed(name):
    workflow = WORKFLOWS[name]
    granted = [workflow["permissions"], *(job.get("permissions", {}) for job in workflow["jobs"].values())]
    allowed = {"contents": "read"} | ({"id-token": "write"} if name == "deploy.yml" else {})
    for rights in granted:
        assert rights.items() <= allowed.items()


@MANY
def test_no_secret_is_used_and_no_input_reaches_a_shell(name):
    assert "secrets." not in (ROOT / ".github/workflows" / name).read_text()
    assert not [step["run"] for step in steps(name) if "${{" in step.get("run", "")]


@MANY
def test_commands_are_the_makefiles_own(name):
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for step in steps(name):
        if "run" in step and step["run"] != "bash .ci/run":
            command, target, *_ = step["run"].split()
            assert (command, target in targets) == ("make", True)


@MANY
def test_the_package_is_compiled_by_lambdas_own_python(name):
    (setup,) = (step for step in steps(name) if step.get("uses", "").startswith("actions/setup-python@"))
    runtime = re.search(r"Runtime: python(\S+)", (ROOT / "template.yaml").read_text())
    assert setup["with"]["python-version"] == runtime[1]

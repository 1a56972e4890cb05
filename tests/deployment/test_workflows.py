"""The workflows run what is committed, with no more rights than they need."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = {
    path.name: yaml.safe_load(path.read_text()) for path in (ROOT / ".github/workflows").glob("*.yml")
}
MANY = pytest.mark.parametrize("name", WORKFLOWS)


def steps(name, *jobs) -> list[dict]:
    """Of these jobs, or of all."""
    return [step for job in jobs or WORKFLOWS[name]["jobs"] for step in WORKFLOWS[name]["jobs"][job]["steps"]]


def uses(step, action) -> bool:
    return step.get("uses", "").startswith(f"{action}@")


def dry_run(command) -> str:
    """What make would do. Fails where it knows no such target."""
    installed = ["--old-file", ".venv/.stamp", "--old-file", ".venv-sam/.stamp"]
    given = [*command.split(), "--dry-run", *installed]
    return subprocess.run(given, cwd=ROOT, capture_output=True, text=True, check=True).stdout


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
    for command in (step["run"] for step in steps(name) if "run" in step):
        if command != "bash .ci/run":
            assert command.startswith("make ")
            assert dry_run(command)


@MANY
def test_the_package_is_compiled_by_lambdas_own_python(name):
    runtime = re.search(r"Runtime: python(\S+)", (ROOT / "template.yaml").read_text())
    setups = [step for step in steps(name) if uses(step, "actions/setup-python")]
    assert setups
    for step in setups:
        assert runtime[1] in step["with"]["python-version"].split()


class TestAChange:
    JOBS = WORKFLOWS["ci.yml"]["jobs"]

    def test_is_tried_on_the_oldest_python_and_on_lambdas(self):
        """Of several versions, the last one becomes `python3`, from which make builds its environment."""
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        runtime = re.search(r"Runtime: python(\S+)", (ROOT / "template.yaml").read_text())
        oldest = project["requires-python"].removeprefix(">=")
        assert self.JOBS["test"]["strategy"]["matrix"]["python"] == [oldest, runtime[1]]
        (setup,) = (s for s in steps("ci.yml", "test") if uses(s, "actions/setup-python"))
        assert setup["with"]["python-version"].splitlines()[-1] == "${{ matrix.python }}"
        assert "bash .ci/run" in [step.get("run") for step in steps("ci.yml", "test")]

    def test_comes_with_fresh_lock_files(self):
        assert "make check-locks" in [step.get("run") for step in steps("ci.yml", "lock-files")]
        remade = dry_run("make check-locks")
        for lock in (ROOT / "requirements").glob("*.txt"):
            name = re.sub("^compare-.*", "compare-$name", lock.stem)
            assert f"--output-file requirements/{name}.txt" in remade


def test_the_proof_is_run_every_night_on_both_engines():
    workflow = WORKFLOWS["prove.yml"]
    assert workflow[True]["schedule"]  # YAML 1.1 reads the key `on` as true
    assert [step["run"] for step in steps("prove.yml") if "run" in step] == [
        "make second-engine",
        "make prove",
    ]
    assert workflow["jobs"]["prove"]["env"] == {"REQUIRE_ENGINE": "1"}


class TestADeployment:
    JOBS = WORKFLOWS["deploy.yml"]["jobs"]

    def test_is_built_where_there_are_no_credentials(self):
        assert self.JOBS["build"]["permissions"] == {"contents": "read"}
        assert "environment" not in self.JOBS["build"]
        assert "make build" in [step.get("run") for step in steps("deploy.yml", "build")]

    def test_deploys_what_was_built_and_builds_nothing(self):
        (up,) = (s for s in steps("deploy.yml", "build") if uses(s, "actions/upload-artifact"))
        (down,) = (s for s in steps("deploy.yml", "deploy") if uses(s, "actions/download-artifact"))
        assert self.JOBS["deploy"]["needs"] == "build"
        assert (up["with"]["name"], up["with"]["path"]) == (down["with"]["name"], down["with"]["path"])
        (deploy,) = (
            s["run"] for s in steps("deploy.yml", "deploy") if s.get("run", "").startswith("make deploy ")
        )
        reported = dry_run(deploy)
        assert "sam deploy" in reported
        assert not re.search(r"sam build|infra\.build", reported)

    def test_installs_nothing_once_it_has_credentials(self):
        names = [step.get("uses", step.get("run")) for step in steps("deploy.yml", "deploy")]
        credentials = [name.partition("@")[0] for name in names].index(
            "aws-actions/configure-aws-credentials"
        )
        after = names[credentials + 1 :]
        assert [name.split()[1] for name in after] == ["deploy", "deploy-agent", "smoke"]
        for command in after:
            assert not re.search(r"pip install|npm |-m venv", dry_run(command))

    def test_is_tested_before_it_is_built_and_tried_after_it_is_deployed(self):
        built = [step["run"] for step in steps("deploy.yml", "build") if "run" in step]
        assert built == ["bash .ci/run", "make build"]
        assert steps("deploy.yml", "deploy")[-1]["run"] == "make smoke"

    def test_takes_the_sections_of_its_environment(self):
        assert self.JOBS["deploy"]["env"] == {"CONFIG_ENV": "${{ vars.CONFIG_ENV || 'default' }}"}

    def test_comes_from_the_default_branch_or_a_tag(self):
        assert self.JOBS["build"]["if"] == (
            "github.ref_type == 'tag' || github.ref_name == github.event.repository.default_branch"
        )

    def test_gets_its_token_in_the_environment_that_must_approve(self):
        assert self.JOBS["deploy"]["environment"] == "${{ inputs.environment }}"
        assert [name for name, job in self.JOBS.items() if "id-token" in job["permissions"]] == ["deploy"]

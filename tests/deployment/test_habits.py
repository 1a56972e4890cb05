"""What CONTRIBUTING, the design and the hooks name is there, and the hooks check what `make check` checks."""

import subprocess
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]


def made_by(target) -> set[str]:
    """The commands of a target, without those that install what it needs."""
    command = ["make", "--dry-run", target, "--old-file", ".venv/.stamp"]
    lines = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return {line for line in lines if line.startswith(".venv/bin/")}


def test_a_commit_is_held_to_every_check_of_make_check():
    [repository] = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert repository["repo"] == "local", "a version would be pinned a second time"
    entries = {hook["entry"].removeprefix("env PYTHONPATH=functions ") for hook in repository["hooks"]}
    assert entries == made_by("check") | {"make check-panel"}
    assert "check-panel" in (ROOT / "Makefile").read_text().partition("\ncheck:")[2].partition("\n\n")[0]

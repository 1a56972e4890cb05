"""Runs an example as its own docstring says to, in its own environment."""

import json
import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from tests.conftest import require
from tests.stack import ROOT

EXAMPLES = {path.stem: path for path in sorted((ROOT / "examples").glob("*.py")) if path.stem != "backend"}
REHEARSE = Path(__file__).parent / "rehearse.py"


@dataclass(frozen=True)
class Play:
    """One run of an example: what the user says, in which thread, at which stack, and what is different."""

    says: tuple[str, ...]
    thread: str
    patch: str = ""
    environment: dict[str, str] = field(default_factory=dict)


def command(name) -> list[str]:
    """The line to run it with, out of its docstring: `make ENVIRONMENT && PYTHON examples/NAME.py`."""
    made = re.search(r"^make (\S+) && (\S+/python) (examples/\S+)$", EXAMPLES[name].read_text(), re.MULTILINE)
    environment, python, script = made.groups()
    assert (python, script) == (f"{environment}/bin/python", f"examples/{name}.py")
    return [python, script]


def require_installed(name) -> None:
    """Skips the test where the example's environment is absent; fails it if REQUIRE_EXAMPLES is set."""
    python, _ = command(name)
    make = f"make {python.partition('/')[0]}"
    require((ROOT / python).exists(), "REQUIRE_EXAMPLES", f"what {name} runs in is not installed: {make}")


def run(name, site, thread, **environment) -> str:
    """What it prints. It must end well and write nothing to stderr."""
    ended = subprocess.run(
        command(name),
        cwd=ROOT,
        env=_environment(site) | {"THREAD": thread} | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stdout + ended.stderr
    return ended.stdout


@dataclass(frozen=True)
class Played:
    """What came of a Play: what it printed, and the traceback if it ended by an exception."""

    printed: str
    failed: str | None

    def answers(self) -> list[str]:
        """What the agent said, turn by turn, in a play that ended well."""
        assert not self.failed, self.failed
        return answers(self.printed)


def rehearse(name, site, plays) -> list[Played]:
    """Runs all plays in one process."""
    python, script = command(name)
    wanted = [
        {"says": play.says, "patch": play.patch, "environment": {"THREAD": play.thread} | play.environment}
        for play in plays
    ]
    ended = subprocess.run(
        [python, REHEARSE],
        cwd=ROOT,
        env=_environment(site),
        input=json.dumps({"script": script, "plays": wanted}),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return [Played(**result) for result in json.loads(ended.stdout)]


def answers(printed) -> list[str]:
    """What the agent said, turn by turn."""
    return re.findall(r"^Agent: (.*?)(?=^(?:User: |\(locked)|\Z)", printed, re.DOTALL | re.MULTILINE)


def result(answer):
    """The tool's answer as the model had it."""
    return json.loads(answer.removeprefix("The tool answered: "))


def _environment(site) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    kept.pop("PYTHONPATH", None)
    return kept | {"LOCAL_STACK": site.origin}

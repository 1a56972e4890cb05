"""python -m tests.compare: asks every system that is installed, and writes docs/comparison.md.

--short   only what installs in seconds, a few interleavings, no measuring; prints, and writes nothing
--only    only these systems, separated by commas; prints, and writes nothing

Ends with 1 where a control does not hold for this project, or ends in an exception for anyone.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.compare import report
from tests.compare.systems import ENVIRONMENTS, SHORT, SYSTEMS

ROOT = Path(__file__).parents[2]
NPM = Path(__file__).parent / "npm"
SECONDS = 900
"""That one system may take."""

COUNT = """
const { countTokens } = require("gpt-tokenizer/encoding/o200k_base")
const texts = JSON.parse(require("fs").readFileSync(0, "utf8"))
console.log(JSON.stringify(texts.map((text) => countTokens(text))))
"""


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.compare", description=__doc__.partition("\n")[0])
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    names = given.only.split(",") if given.only else SHORT if given.short else list(SYSTEMS)
    if unknown := [name for name in names if name not in SYSTEMS]:
        parser.error(f"there is no system {', '.join(unknown)}; there are {', '.join(SYSTEMS)}")
    found = {
        "machine": f"{os.cpu_count()} cores, Python {platform.python_version()}",
        "when": datetime.now(UTC).date().isoformat(),
        "systems": [],
        "absent": [],
    }
    for name in names:
        print(f"{name} …", file=sys.stderr, flush=True)
        if reason := absent(name):
            found["absent"].append(f"{name}: {reason}")
        else:
            found["systems"].append(with_tokens(ask(name, short=given.short)))
    text = report.markdown(found)
    if given.short or given.only:
        print(text)
    else:
        (ROOT / "docs/comparison.md").write_text(text)
    for line in (bad := broken(found)) + found["absent"]:
        print(line, file=sys.stderr)
    return 1 if bad else 0


def python(name: str) -> Path:
    return ROOT / ENVIRONMENTS.get(name, ".venv") / "bin/python"


def absent(name: str) -> str | None:
    """Why a system can't be asked here."""
    if not python(name).exists():
        return f"not installed: make {ENVIRONMENTS[name]}"
    if name.startswith("ours") and not (ROOT / "tests/engines/node_modules").exists():
        return "the second engine is not installed: npm ci --prefix tests/engines"
    if name == "mcp-memory" and not (NPM / "node_modules").exists():
        return "not installed: npm ci --prefix tests/compare/npm"
    return None


def ask(name: str, *, short: bool) -> dict[str, Any]:
    """What tests/compare/drive.py finds of a system, in the system's own environment."""
    command = [str(python(name)), "-m", "tests.compare.drive", name, *(["--short"] if short else [])]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'functions'}"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, timeout=SECONDS, check=True
    )
    return json.loads(done.stdout)


def with_tokens(system: dict[str, Any]) -> dict[str, Any]:
    """The texts of the answers as (bytes, tokens); tokens are None where the tokenizer is not installed."""
    if texts := system.get("answers"):
        tokens = [None] * len(texts)
        if (NPM / "node_modules").exists():
            counted = subprocess.run(
                ["node", "-e", COUNT],
                cwd=NPM,
                input=json.dumps(list(texts.values())),
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            tokens = json.loads(counted.stdout)
        system["answers"] = {
            name: (len(text.encode()), number)
            for (name, text), number in zip(texts.items(), tokens, strict=True)
        }
    return system


NOT_BUILT = frozenset({"refused wish", "removed row"})
"""Controls that do not hold for this project yet."""


def broken(found: dict[str, Any]) -> list[str]:
    """What must not be: a control that does not hold for this project, or that could not be tried."""
    return [
        f"{system['name']}, {control}: {cell['text']}"
        for system in found["systems"]
        for control, cell in system["cells"].items()
        if cell["mark"] == "failed"
        or (
            system["name"].startswith("ours")
            and cell["mark"] in ("partly", "breaks")
            and control not in NOT_BUILT
        )
    ]


if __name__ == "__main__":
    sys.exit(main())

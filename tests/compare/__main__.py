"""python -m tests.compare: asks every system that is installed, and writes docs/comparison.{md,json}.

--only    only these systems, separated by commas; what was found of the others before stays
--short   only what installs in seconds, a few interleavings, no measuring; prints, and writes nothing

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

from tests.bench import answers
from tests.compare import report
from tests.compare.systems import ENVIRONMENTS, SHORT, SYSTEMS

ROOT = Path(__file__).parents[2]
FINDINGS = ROOT / "docs/comparison.json"
SECONDS = 900
"""That one system may take."""


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.compare", description=__doc__.partition("\n")[0])
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    names = given.only.split(",") if given.only else SHORT if given.short else list(SYSTEMS)
    if unknown := [name for name in names if name not in SYSTEMS]:
        parser.error(f"there is no system {', '.join(unknown)}; there are {', '.join(SYSTEMS)}")
    found = json.loads(FINDINGS.read_text()) if given.only and FINDINGS.exists() and not given.short else {}
    for name in names:
        print(f"{name} …", file=sys.stderr, flush=True)
        if reason := absent(name):
            print(f"{name}: {reason}", file=sys.stderr)
        else:
            found[name] = with_tokens(ask(name, short=given.short)) | {"on": here()}
    systems = [found[name] for name in SYSTEMS if name in found]
    text = report.markdown(systems, [f"{name}: {absent(name)}" for name in names if name not in found])
    if given.short:
        print(text)
    else:
        FINDINGS.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
        FINDINGS.with_suffix(".md").write_text(text)
    for line in (bad := broken(systems)):
        print(line, file=sys.stderr)
    return 1 if bad else 0


def here() -> str:
    """Day and machine; busy: when more processes than two for each core have wanted to run, for minutes."""
    day, cores = datetime.now(UTC).date().isoformat(), os.cpu_count() or 1
    busy = " busy with other work" if os.getloadavg()[1] > 2 * cores else ""
    return f"{day}, {cores} cores{busy}, Python {platform.python_version()}"


def python(name: str) -> Path:
    return ROOT / ENVIRONMENTS.get(name, ".venv") / "bin/python"


def absent(name: str) -> str | None:
    """Why a system can't be asked here."""
    if not python(name).exists():
        return f"not installed: make {ENVIRONMENTS[name]}"
    if name.startswith("ours") and not (ROOT / "tests/engines/node_modules").exists():
        return "the second engine is not installed: npm ci --prefix tests/engines"
    if name == "mcp-memory" and not (ROOT / "tests/compare/npm/node_modules").exists():
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
        counted = [None] * len(texts) if answers.absent() else answers.tokens(list(texts.values()))
        system["answers"] = {
            name: (len(text.encode()), number)
            for (name, text), number in zip(texts.items(), counted, strict=True)
        }
    return system


def broken(systems: list[dict[str, Any]]) -> list[str]:
    """What must not be: a control that does not hold for this project, or that could not be tried."""
    return [
        f"{system['name']}, {control}: {cell['text']}"
        for system in systems
        for control, cell in system["cells"].items()
        if cell["mark"] == "failed"
        or (system["name"].startswith("ours") and cell["mark"] in ("partly", "breaks"))
    ]


if __name__ == "__main__":
    sys.exit(main())

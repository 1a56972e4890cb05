"""python -m tests.compare.drive NAME [--short]: every control on one system, as JSON on standard output.

Runs in the system's own environment. `--short` forces the lock five times, and measures nothing.
"""

import argparse
import importlib
import importlib.metadata
import json
import os
import sqlite3
import sys
import tempfile
import traceback
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from tests.compare import controls
from tests.compare.system import System
from tests.compare.systems import SYSTEMS

QUIET = {
    "ANONYMIZED_TELEMETRY": "false",
    "AGNO_TELEMETRY": "false",
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
    "LANGCHAIN_TRACING_V2": "false",
    "LANGSMITH_TRACING": "false",
    "MEM0_TELEMETRY": "False",
}


def load(name: str) -> type[System]:
    module, kind = SYSTEMS[name]
    return getattr(importlib.import_module(f"tests.compare.systems.{module}"), kind)


def run(name: str, *, short: bool) -> dict[str, Any]:
    kind = load(name)
    found: dict[str, Any] = {
        "name": name,
        "system": kind.name,
        "versions": versions(kind),
        "better": kind.better,
        "kept": kind.kept,
    }
    with tempfile.TemporaryDirectory() as folder:
        system = kind()
        system.rounds = 5 if short else system.rounds
        system.start(Path(folder))
        try:
            found["cells"] = {
                control: _cell(system, control, f"{control.replace(' ', '-')}-thread")
                for control in controls.CONTROLS
            }
        finally:
            system.stop()
    if not short:
        with tempfile.TemporaryDirectory() as folder:
            system = kind()
            system.proxied = False
            system.start(Path(folder))
            try:
                found["answers"] = controls.answers(system, "answers")
                found["conversation"] = controls.conversation(system, "talk")
            finally:
                system.stop()
    return found


def _cell(system: System, control: str, thread: str) -> dict[str, str]:
    try:
        cell = controls.ask(system, control, thread)
    except Exception as failure:
        traceback.print_exc()
        cell = controls.Cell("failed", f"the control ended in {type(failure).__name__}")
    return {"mark": cell.mark, "text": cell.text}


def versions(kind: type[System]) -> str:
    if kind.packages == ("SQLite",):
        return f"SQLite {sqlite3.sqlite_version}"
    found = []
    for package in kind.packages:
        try:
            found.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            folder = "engines" if package.startswith("@dynoxide") else "compare/npm"
            lock = json.loads((Path(__file__).parents[1] / folder / "package-lock.json").read_text())
            found.append(f"{package} {lock['packages'][f'node_modules/{package}']['version']}")
    return ", ".join(found)


def main() -> None:
    parser = argparse.ArgumentParser("python -m tests.compare.drive", description=__doc__)
    parser.add_argument("name", choices=SYSTEMS)
    parser.add_argument("--short", action="store_true")
    given = parser.parse_args()
    os.environ |= QUIET
    answer = sys.stdout
    with redirect_stdout(sys.stderr):
        found = run(given.name, short=given.short)
    json.dump(found, answer)


if __name__ == "__main__":
    main()

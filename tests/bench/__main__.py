"""python -m tests.bench: measures everything, prints it, and writes docs/benchmark.{md,json,svg}.

With --only it is printed, and written nowhere but --to: the documents are of one whole run.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from infra.local.table import PRETENDED

ROOT = Path(__file__).parents[2]

# Before anything of the repository's reads it; nothing here may find anyone's account.
for name in [name for name in os.environ if name.startswith(("AWS_", "POWERTOOLS_"))]:
    del os.environ[name]
os.environ |= PRETENDED | {"TABLE_NAME": "preferences", "POWERTOOLS_LOG_LEVEL": "INFO"}

from tests.bench import answers, cold, contention, engine, peers, report  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.bench", description=__doc__)
    parser.add_argument("--only", help="sections, separated by commas", default="")
    parser.add_argument("--to", type=Path, help="the folder to write to (docs, for all sections)")
    given = parser.parse_args()
    sections: dict[str, tuple[Callable[[], Any], Callable[[], str | None]]] = {
        "package": (cold.package, lambda: None),
        "cold": (cold.measure, lambda: None),
        "warm": (lambda: _elsewhere("tests.bench.warm"), lambda: None),
        "walk": (lambda: _elsewhere("tests.bench.walk"), lambda: None),
        "answers": (answers.measure, answers.absent),
        "capacity": (engine.capacity, engine.absent),
        "growth": (engine.growth, engine.absent),
        "contention": (contention.measure, engine.absent),
        "peers": (lambda: _elsewhere("tests.bench.peers"), engine.absent),
        "throughput": (peers.throughput, lambda: None),
    }
    wanted = given.only.split(",") if given.only else list(sections)
    if unknown := [name for name in wanted if name not in sections]:
        parser.error(f"there is no section {', '.join(map(repr, unknown))}; there are {', '.join(sections)}")
    found: dict[str, Any] = {
        "machine": f"{os.cpu_count()} cores, Python {platform.python_version()}",
        "when": datetime.now(UTC).date().isoformat(),
        "left_out": [],
    }
    for name in wanted:
        measure, absent = sections[name]
        if reason := absent():
            found["left_out"].append(f"{name}: {reason}")
            continue
        began = time.monotonic()
        print(f"{name} …", end="", file=sys.stderr, flush=True)
        found[name] = measure()
        print(f" {time.monotonic() - began:.0f} s", file=sys.stderr)
    text = report.markdown(found)
    print(text)
    if folder := given.to or (None if given.only else ROOT / "docs"):
        folder.mkdir(exist_ok=True)
        (folder / "benchmark.md").write_text(text, "utf-8")
        (folder / "benchmark.json").write_text(_rounded(json.dumps(found, indent=1)) + "\n", "utf-8")
        (folder / "benchmark.svg").write_text(report.svg(found), "utf-8")
    return int("**missed**" in text)


def _rounded(text: str) -> str:
    """The JSON with three decimals, and each list of numbers on one line."""
    text = re.sub(r"\d+\.\d{4,}(e-\d+)?", lambda number: f"{float(number[0]):.3f}", text)
    return re.sub(r"\[[\s\d.,-]+\]", lambda numbers: " ".join(numbers[0].split()), text)


def _elsewhere(module: str) -> Any:
    """What a module prints as JSON, in a process of its own: the handlers log to its standard output."""
    done = subprocess.run([sys.executable, "-m", module], check=True, stdout=subprocess.PIPE, cwd=ROOT)
    return json.loads(done.stdout)


if __name__ == "__main__":
    sys.exit(main())

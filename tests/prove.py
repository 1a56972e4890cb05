"""python -m tests.prove: tries to break the promise, at length, and says what was tried and what held.

Runs the tests of each area with PROVE set, which makes them try very much more than every day, and prints a
table in the end. When all held, the matrix of the lock, as it was run, is put into docs/proof.md. Arguments
are pytest's. The status is 0 if all held, and 1 if not.
"""

import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "proof.md"
AREAS = {
    "lock": ("test_lock",),
    "writes": ("test_repository", "test_expressions", "test_answers"),
    "races": ("test_stateful", "test_races", "test_undo"),
    "faults": ("test_faults", "test_random_walk"),
    "late writes": ("test_late_writes",),
    "bad input": ("test_fuzz", "test_schemathesis", "test_decoding", "test_agent", "test_api"),
    "isolation": ("test_isolation",),
    "load": ("test_load",),
}
LONGEST_FIRST = ("test_undo", "test_stateful", "test_races", "test_fuzz", "test_schemathesis")
"""Two at a time: what takes longest is not begun last."""
BEGIN, END = "<!-- as run -->\n", "<!-- to here -->\n"


def main() -> int:
    files = [name for names in AREAS.values() for name in names]
    files.sort(key=lambda name: LONGEST_FIRST.index(name) if name in LONGEST_FIRST else len(LONGEST_FIRST))
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        command = [
            *(sys.executable, "-m", "pytest", "-q", "-m", "not deployment", "--show-capture=no"),
            *("-n", "2", "--dist", "loadscope", "--no-loadscope-reorder", f"--junit-xml={folder}/junit.xml"),
            *(str(path) for name in files for path in ROOT.glob(f"tests/*/{name}.py")),
            *sys.argv[1:],
        ]
        ran = subprocess.run(command, cwd=ROOT, env={**os.environ, "PROVE": "1", "PROVE_REPORT": folder})
        report = Path(folder)
        held = _tell(report) and ran.returncode == 0
        matrix = report / "lock-matrix.md"
        if held and matrix.exists():
            _publish(matrix.read_text("utf-8"))
    print(f"\n{'All of it held' if held else 'IT DID NOT HOLD'}, after {time.monotonic() - started:.0f} s.")
    return 0 if held else 1


def _tell(folder: Path) -> bool:
    """Prints the table; whether none failed."""
    if not (folder / "junit.xml").exists():  # pytest has said why
        return False
    counts: dict[str, Counter[str]] = {area: Counter() for area in AREAS}
    area_of = {name: area for area, names in AREAS.items() for name in names}
    for case in ElementTree.parse(folder / "junit.xml").iter("testcase"):
        where = case.get("classname") or case.get("name") or ""  # a file that can't be read has no classes
        module = next((part for part in where.split(".") if part.startswith("test_")), where)
        outcomes = {child.tag for child in case} & {"failure", "error", "skipped"}
        outcome = "failed" if outcomes - {"skipped"} else "not run" if outcomes else "held"
        counts.setdefault(area_of.get(module, "other"), Counter())[outcome] += 1
    tried: dict[str, Counter[str]] = {area: Counter() for area in counts}
    if (written := folder / "tried.tsv").exists():
        for line in written.read_text("utf-8").splitlines():
            area, what, count = line.split("\t")
            tried[area][what] += int(count)
    print(f"\n{'area':12}{'tests':>7}{'held':>7}{'failed':>8}{'not run':>9}  what was tried in them")
    for area, found in counts.items():
        lines = [f"{count:,} {what}" for what, count in tried[area].items()] or [""]
        numbers = f"{found.total():7}{found['held']:7}{found['failed']:8}{found['not run']:9}"
        print(f"{area:12}{numbers}  {lines[0]}")
        for more in lines[1:]:
            print(f"{'':43}  {more}")
    if missing := [area for area, found in counts.items() if not found["held"]]:
        print(f"\nNothing was tried of: {', '.join(missing)}.")
    return not any(found["failed"] for found in counts.values())


def _publish(matrix: str) -> None:
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{matrix}\n{END}{after}", "utf-8")


if __name__ == "__main__":
    sys.exit(main())

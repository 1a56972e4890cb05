"""python -m tests.mutants: breaks the code in one place at a time, and counts what no test notices.

In a copy of the tree, never in the tree itself. A mutant is a comparison or a condition turned, a number or a
truth value changed, a call or a `raise` left out: in the repository, that is each condition of each write.
Left alone are regular expressions, and what only forbids to programmers: `frozen`, `slots`, `strict`.
For each, the tests of its part are run until the first fails. Bounded by time: in an order drawn from a seed,
so that what there was no time for is left out at random, and told. The status is 1 where a mutant survived.
"""

import argparse
import ast
import os
import queue
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = Path("functions/preferences")
REPOSITORY = ("repository", "lock", "undo", "expressions", "faults")
PARTS = {
    "rules/plans.py": ("rules", "tools", *REPOSITORY),
    "rules/history.py": ("rules", "history", "undo"),
    "repository/expressions.py": ("expressions", *REPOSITORY),
    "repository/store.py": REPOSITORY,
    "repository/answers.py": ("answers", "faults"),
    "repository/table.py": ("faults", "repository", "undo"),
    "repository/client.py": ("faults", "shortcuts"),
    "repository/history.py": ("history", "undo", "faults"),
    "repository/items.py": ("repository", "faults", "history"),
    "tools.py": ("tools", "lock"),
    "agent/arguments.py": ("decoding",),
}
"""File of the package → the tests that should notice, the likeliest first."""
ON_BOTH = {"faults"}
"""Parts whose tests are split between the engines. Of the others, one engine's are enough."""
ENGINE = Path("tests/engines/node_modules")
LONGEST = 240
"""Seconds that the tests of one mutant may take. One that makes them hang is noticed, too."""

OPERATORS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
TEXTS = {
    "attribute_not_exists(": "attribute_exists(",
    "attribute_exists(": "attribute_not_exists(",
    " = ": " <> ",
    " <> ": " = ",
    " AND ": " OR ",
    " OR ": " AND ",
    " + ": " - ",
    "ALL_OLD": "NONE",
}
"""Words of DynamoDB's expressions."""


@dataclass(frozen=True)
class Mutant:
    file: str
    line: int
    before: str
    after: str
    source: str
    """The whole file, with the change."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {_short(self.before)}  →  {_short(self.after)}"


def mutants_of(file: str, source: str) -> Iterator[Mutant]:
    """Every mutant of a file."""
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    text = source.encode()
    tree = ast.parse(source)
    # An f-string is changed as a whole: Python 3.11 doesn't say where its parts stand.
    parts = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    declared = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword) and node.arg in ("frozen", "slots", "strict")
    }
    for node in ast.walk(tree):
        if (node in parts and not isinstance(node, ast.JoinedStr)) or node in declared:
            continue
        for old, new in _changes(node):
            if not (
                isinstance(old, ast.expr | ast.stmt) and old.end_lineno and old.end_col_offset is not None
            ):
                continue
            begin = starts[old.lineno - 1] + old.col_offset
            end = starts[old.end_lineno - 1] + old.end_col_offset
            changed = (text[:begin] + new.encode() + text[end:]).decode()
            try:
                ast.parse(changed)
            except SyntaxError:  # a part of an f-string, where quotes would clash
                continue
            yield Mutant(file, old.lineno, text[begin:end].decode(), new, changed)


def _changes(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """(node, what to write in its place) for each way to break this node."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            turned = OPERATORS[type(op)]()
            yield node, f"({ast.unparse(ast.Compare(left, [turned], [right]))})"
        case ast.BoolOp(op=op, values=values):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield node, f"({ast.unparse(ast.BoolOp(other, values))})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield node, f"({ast.unparse(operand)})"
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield node, f"({ast.unparse(ast.IfExp(test, orelse, body))})"
        case ast.If(test=ast.Name() | ast.Attribute() | ast.Call() as test):
            yield test, f"(not {ast.unparse(test)})"
        case ast.comprehension(ifs=[condition]):
            yield condition, "True"
        case ast.Constant(value=bool() as value):
            yield node, str(not value)
        case ast.Constant(value=int() as value):
            yield node, str(value + 1)
        case ast.JoinedStr():
            parts = ast.unparse(node)
            for old, new in TEXTS.items():
                if old in parts:
                    yield node, parts.replace(old, new, 1)
        case ast.Constant(value=str() as value) if value in TEXTS:
            yield node, repr(TEXTS[value])
        case ast.Expr(value=ast.Call()) | ast.Raise(exc=ast.AST()) | ast.AugAssign():
            yield node, "pass"
        case _:
            return


def _short(code: str) -> str:
    line = " ".join(code.split())
    return line if len(line) < 90 else f"{line[:87]}…"


class Copy:
    """A copy of the tree in which one mutant after the other lives."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        left_out = shutil.ignore_patterns("__pycache__", "node_modules", ".*", "build", "*.egg-info")
        shutil.copytree(ROOT, folder, ignore=left_out, dirs_exist_ok=True)
        self.engine = "dynoxide" if (ROOT / ENGINE).exists() else "moto"
        if self.engine == "dynoxide":  # the faster of the two by far
            (folder / ENGINE).symlink_to(ROOT / ENGINE)

    def notices(self, mutant: Mutant) -> bool:
        """Whether a test fails with this mutant in the place of the file that it was made from."""
        path = self._folder / PACKAGE / mutant.file
        own = path.read_text("utf-8")
        path.write_text(mutant.source, "utf-8")
        try:
            return any(self.fails(part) for part in PARTS[mutant.file])
        finally:
            path.write_text(own, "utf-8")

    def fails(self, part: str) -> bool:
        other = "moto" if self.engine == "dynoxide" else "dynoxide"
        command = [
            *(sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-p", "no:cacheprovider"),
            *(() if part in ON_BOTH else ("-k", f"not {other}")),
            *(str(path.relative_to(ROOT)) for path in ROOT.glob(f"tests/*/test_{part}.py")),
        ]
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": "functions"}
        environment.pop("PROVE", None)
        process = subprocess.Popen(
            command,
            cwd=self._folder,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            return process.wait(LONGEST) != 0
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()
            return True


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.mutants", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1800, help="begin none after so long (1800)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--only", default="", help="files whose name holds this")
    options = parser.parse_args()
    waiting = [
        mutant
        for file in PARTS
        if options.only in file
        for mutant in mutants_of(file, (ROOT / PACKAGE / file).read_text("utf-8"))
    ]
    total = len(waiting)
    random.Random(options.seed).shuffle(waiting)
    todo: queue.SimpleQueue[Mutant] = queue.SimpleQueue()
    for mutant in waiting:
        todo.put(mutant)
    tried: Counter[str] = Counter()
    survivors: list[Mutant] = []

    with tempfile.TemporaryDirectory() as folder:
        copies = [Copy(Path(folder) / str(n)) for n in range(options.workers)]
        for part in dict.fromkeys(part for mutant in waiting for part in PARTS[mutant.file]):
            if copies[0].fails(part):
                print(f"test_{part}.py fails without any mutant", file=sys.stderr)
                return 2
        until = time.monotonic() + options.seconds

        def work(copy: Copy) -> None:
            while time.monotonic() < until:
                try:
                    mutant = todo.get_nowait()
                except queue.Empty:
                    return
                noticed = copy.notices(mutant)
                tried[mutant.file] += 1
                if not noticed:
                    survivors.append(mutant)
                    print(f"survived  {mutant}", flush=True)

        threads = [threading.Thread(target=work, args=(copy,)) for copy in copies]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    survived = Counter(mutant.file for mutant in survivors)
    print(f"\n{'file':28}{'mutants':>8}{'noticed':>8}{'survived':>9}")
    for file in PARTS:
        if tried[file]:
            print(f"{file:28}{tried[file]:8}{tried[file] - survived[file]:8}{survived[file]:9}")
    count = tried.total()
    score = 100 * (count - len(survivors)) / count if count else 0
    print(f"\n{score:.1f} % of {count} mutants were noticed; {total - count} of {total} were not tried.")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())

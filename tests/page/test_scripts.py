"""What holds the panel's scripts and styles to the browsers of the last three years can tell a newer one."""

import gzip
import json
import shutil
import subprocess

import pytest

from tests.conftest import require
from tests.stack import ROOT

ASSETS = ROOT / "functions/preferences/api/assets"
CHECKER = ROOT / "tests/page/browsers.js"


TOO_NEW = [
    ("a.js", "export const rows = Object.groupBy([1], String);", "Object.groupBy"),
    ("b.js", "new AbortController().signal.any;\nAbortSignal.any([]);", "api.AbortSignal.any_static"),
    ("c.js", "export const both = new Set([1]).union(new Set([2]));", "Set.union"),
    ("d.js", "document.body.showPopover();", "HTMLElement.showPopover"),
    ("e.css", "a { color: light-dark(red, blue) }", "light-dark"),
    ("f.css", "a { anchor-name: --b }", "anchor-name"),
    ("g.css", "@starting-style { a { color: red } }", "starting-style"),
    ("h.css", "a:has-slotted { color: red }", "has-slotted"),
    ("i.css", 'a::before { content: "x" / "y" }', "alt_text"),
    ("j.js", "new CSSStyleSheet().replaceSync(`a { color: light-dark(red, blue) }`);", "light-dark"),
]
TAKEN = [
    ("k.css", "@supports (color: light-dark(red, blue)) { a { color: light-dark(red, blue) } }"),
    ("l.css", 'a::before { content: "x"; content: "x" / "y" }'),
    ("m.js", "export const last = [1].at(-1);"),
    ("n.js", "const union = { union() {} };\nunion.union();"),
]


@pytest.fixture(scope="module")
def look(tmp_path_factory):
    """look({name: text}): how the checker ends, and what it says of each of such files.

    It takes seconds to start, so the tests look at several files at once.
    """
    present = shutil.which("node") and (ROOT / "tests/page/node_modules").exists()
    require(present, "REQUIRE_BROWSER", "the panel's checks are not installed: make check-panel")

    def run(texts: dict[str, str]) -> tuple[int, dict[str, list[str]]]:
        folder = tmp_path_factory.mktemp("scripts")
        for name, text in texts.items():
            (folder / name).write_text(text)
        command = ["node", CHECKER, *(folder / name for name in texts)]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=120)
        lines = answer.stderr.splitlines()
        said = {name: [line for line in lines if line.startswith(f"{name}:")] for name in texts}
        assert sum(map(len, said.values())) == len(lines), answer.stderr
        return answer.returncode, said

    return run


@pytest.fixture(scope="module")
def looked(look):
    """What the checker says of each file that uses something too new."""
    code, said = look({name: text for name, text, _ in TOO_NEW})
    assert code == 1
    return said


@pytest.mark.parametrize(("name", "feature"), [(name, feature) for name, _, feature in TOO_NEW])
def test_what_is_too_new_is_named(looked, name, feature):
    assert any(feature in line for line in looked[name]), looked


def test_what_has_a_fallback_or_only_the_name_is_taken(look):
    assert look(dict(TAKEN)) == (0, {name: [] for name, _ in TAKEN})


@pytest.fixture(scope="module")
def sent(stack):
    names = [path.name for path in sorted(ASSETS.iterdir()) if path.suffix == ".js"]
    return {name: stack.request("GET", f"/assets/{name}").body.decode() for name in names}


class TestWhatIsSent:
    """Scripts go without comments and indentation."""

    def test_is_the_same_program_line_by_line(self, sent):
        assert len(sent) > 10
        for name, script in sent.items():
            assert script.count("\n") == (ASSETS / name).read_text().count("\n")
            assert not [line for line in script.split("\n") if line.lstrip().startswith(("// ", "/**", "* "))]
        pairs = [[(ASSETS / name).read_text(), script] for name, script in sent.items()]
        program = """
          import ts from "typescript";
          import { readFileSync } from "node:fs";
          const bare = (text) => {
            const source = ts.createSourceFile("a.js", text, ts.ScriptTarget.ES2023);
            const printed = ts.createPrinter({ removeComments: true }).printFile(source);
            return printed.replace(/\\n\\s+/g, "\\n"); // within a template, the styles are indented
          };
          const pairs = JSON.parse(readFileSync(0));
          process.exit(pairs.every(([one, other]) => bare(one) === bare(other)) ? 0 : 1);
        """
        command = ["node", "--input-type=module", "--eval", program]
        subprocess.run(
            command, cwd=ROOT / "tests/page", input=json.dumps(pairs), text=True, check=True, timeout=120
        )

    def test_is_light(self, sent):
        """The panel's own files, packed: what a host page loads to show a list and to write in it."""
        later = ("-de.js", "-history.js", "-suggestions.js", "-changes.js")  # loaded when first needed
        sizes = {
            name: len(gzip.compress(script.encode(), mtime=0))
            for name, script in sent.items()
            if name == "dom.js" or (name.startswith("preferences-") and not name.endswith(later))
        }
        assert len(sizes) > 8
        assert sum(sizes.values()) <= 34_136, sizes

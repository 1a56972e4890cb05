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


@pytest.fixture
def look(tmp_path):
    """What the checker says of such a file, and how it ends."""
    present = shutil.which("node") and (ROOT / "tests/page/node_modules").exists()
    require(present, "REQUIRE_BROWSER", "the panel's checks are not installed: make check-panel")

    def run(name: str, text: str) -> tuple[int, str]:
        path = tmp_path / name
        path.write_text(text)
        answer = subprocess.run(["node", CHECKER, path], capture_output=True, text=True, timeout=120)
        return answer.returncode, answer.stderr

    return run


@pytest.mark.parametrize(
    ("name", "text", "feature"),
    [
        ("a.js", "export const rows = Object.groupBy([1], String);", "Object.groupBy"),
        ("a.js", "new AbortController().signal.any;\nAbortSignal.any([]);", "api.AbortSignal.any_static"),
        ("a.js", "export const both = new Set([1]).union(new Set([2]));", "Set.union"),
        ("a.js", "document.body.showPopover();", "HTMLElement.showPopover"),
        ("a.css", "a { color: light-dark(red, blue) }", "light-dark"),
        ("a.css", "a { anchor-name: --b }", "anchor-name"),
        ("a.css", "@starting-style { a { color: red } }", "starting-style"),
        ("a.css", "a:has-slotted { color: red }", "has-slotted"),
        ("a.css", 'a::before { content: "x" / "y" }', "alt_text"),
        ("a.js", "new CSSStyleSheet().replaceSync(`a { color: light-dark(red, blue) }`);", "light-dark"),
    ],
)
def test_what_is_too_new_is_named(look, name, text, feature):
    code, reported = look(name, text)
    assert code == 1
    assert feature in reported


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.css", "@supports (color: light-dark(red, blue)) { a { color: light-dark(red, blue) } }"),
        ("a.css", 'a::before { content: "x"; content: "x" / "y" }'),
        ("a.js", "export const last = [1].at(-1);"),
        ("a.js", "const union = { union() {} };\nunion.union();"),
    ],
)
def test_what_has_a_fallback_or_only_the_name_is_taken(look, name, text):
    assert look(name, text) == (0, "")


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

"""What holds the panel's scripts and styles to the browsers of the last three years can tell a newer one."""

import shutil
import subprocess

import pytest

from tests.conftest import require
from tests.stack import ROOT

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

"""What CONTRIBUTING, SECURITY and the design name is there, and the hooks check what `make check` checks."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
PAGES = {
    name: (ROOT / name).read_text("utf-8") for name in ("CONTRIBUTING.md", "SECURITY.md", "docs/design.md")
}
BASES = ("", "functions/preferences", "functions/preferences/api/assets")
"""What a path in a page is relative to."""
EXAMPLES = {"count_preferences", "expires"}
"""Names that the walk-throughs make up."""
every_page = pytest.mark.parametrize("page", PAGES)


def quoted(page) -> set[str]:
    return set(re.findall(r"`([^`\n]+)`", PAGES[page]))


def is_path(text) -> bool:
    return bool(re.fullmatch(r"[\w.][\w./-]*(/|\.(py|md|json|yaml|toml|js|txt))|[\w.]+/[\w./-]+", text))


def anchors(text) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@every_page
def test_every_file_that_a_page_names_is_there(page):
    paths = {text for text in quoted(page) if is_path(text)}
    missing = {path for path in paths if not any((ROOT / base / path).exists() for base in BASES)}
    assert not missing
    assert paths or page == "SECURITY.md"


@every_page
def test_every_link_of_a_page_leads_somewhere(page):
    links = re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", PAGES[page])
    assert links
    for file, anchor in links:
        target = (ROOT / page).parent / file if file else ROOT / page
        assert target.is_file(), file
        assert not anchor or anchor in anchors(target.read_text("utf-8")), f"{file}#{anchor}"


@every_page
def test_every_command_of_make_that_a_page_names_exists(page):
    for target in re.findall(r"(?:^    |`)make (\.?[a-z][\w-]*)", PAGES[page], re.MULTILINE):
        assert re.search(rf"^{re.escape(target)}:", MAKEFILE, re.MULTILINE), target


def test_every_name_in_the_walk_throughs_is_one_of_the_code():
    names = {text.removeprefix("@") for text in quoted("CONTRIBUTING.md")}
    names = {name for name in names if re.fullmatch(r"[A-Za-z_]\w*", name)} - EXAMPLES - {"make"}
    files = [ROOT / "template.yaml", *ROOT.glob("functions/**/*.py"), *ROOT.glob("tests/*/*.py")]
    words = set(re.findall(r"\w+", "\n".join(file.read_text("utf-8") for file in files)))
    assert len(names) > 10
    assert not names - words


def test_a_commit_is_held_to_every_check_of_make_check():
    [repository] = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert repository["repo"] == "local", "a version would be pinned a second time"
    entries = {hook["entry"].removeprefix("env PYTHONPATH=functions ") for hook in repository["hooks"]}
    assert entries == made_by("check") | {"make check-panel"}
    assert "check-panel" in MAKEFILE.partition("\ncheck:")[2].partition("\n\n")[0]


def made_by(target) -> set[str]:
    """The commands of a target, without those that install what it needs."""
    command = ["make", "--dry-run", target, "--old-file", ".venv/.stamp"]
    lines = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return {line for line in lines if line.startswith(".venv/bin/")}

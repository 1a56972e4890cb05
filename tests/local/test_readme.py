"""The README does what it says: its conversation is run as it is printed."""

import re
import shutil
import subprocess

import pytest

from tests.stack import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
PRINTED_API = "http://127.0.0.1:8080"


def conversation():
    """The lines of the shell, and after which line each promised output has to have appeared."""
    [block] = re.findall(r"^```sh\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    return block


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_first_conversation_goes_as_printed(stack):
    script = conversation()
    assert PRINTED_API in script
    # The history takes a moment, and on a busy machine longer than the one that a reader is told to wait.
    assert "sleep 1; " in script
    wait = """until ada GET "/history?limit=1" | grep accept >/dev/null; do sleep 0.1; done; """
    # A promise stands under its command; a mark in the output tells which command said what.
    steps = script.replace(PRINTED_API, stack.origin).replace("sleep 1; ", wait)
    steps = steps.replace("\n#> ", "\necho '#>' '")
    steps = re.sub(r"^(echo '#>' '.*)$", r"\1'", steps, flags=re.MULTILINE)

    run = subprocess.run(
        ["bash", "-euo", "pipefail"], input=steps, capture_output=True, text=True, timeout=60, check=False
    )

    assert run.returncode == 0, run.stderr
    said = ""
    promises = 0
    for line in run.stdout.splitlines():
        if line.startswith("#> "):
            assert line.removeprefix("#> ") in said
            promises += 1
            said = ""
        else:
            said += line
    assert promises == script.count("\n#> ") == 5


def test_every_command_of_make_that_it_names_exists():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"(?:^    .*?|`)make ([a-z-]+)", README, re.MULTILINE)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_every_room_that_it_names_exists():
    [parts] = re.findall(r"^    functions/preferences/\n(.*?)^    infra/", README, re.DOTALL | re.MULTILINE)
    for part in re.findall(r"^      (\w+) ", parts, re.MULTILINE):
        folder = ROOT / "functions/preferences" / part
        assert folder.is_dir() or folder.with_suffix(".py").is_file(), part


def test_every_file_that_it_shows_exists():
    for target in re.findall(r"\]\(([^):#]+)\)", README):
        assert (ROOT / target).exists(), target

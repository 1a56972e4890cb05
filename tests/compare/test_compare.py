"""Each control holds for this project, in process and over HTTP, and can fail: on a JSON column it does."""

import re
from functools import cache
from pathlib import Path

import pytest

from tests.compare.__main__ import absent, ask, broken
from tests.compare.controls import CONTROLS
from tests.compare.systems import SYSTEMS
from tests.conftest import require

OURS = sorted(set(CONTROLS) - {"search"})
BREAKS = {"lock", "two writers", "lost answer", "positions", "removed row"}
"""What a JSON column without a version gets wrong."""

asked = cache(lambda name: ask(name, short=True))


@pytest.mark.parametrize("control", OURS)
@pytest.mark.parametrize("name", ["ours", "ours-http"])
def test_the_control_holds_for_this_project(name, control):
    reason = absent(name)
    require(reason is None, "REQUIRE_ENGINE", reason)
    assert asked(name)["cells"][control]["mark"] == "holds"


def test_search_across_conversations_is_not_claimed():
    reason = absent("ours")
    require(reason is None, "REQUIRE_ENGINE", reason)
    assert asked("ours")["cells"]["search"]["mark"] == "absent"


def test_a_json_column_breaks_what_it_should():
    cells = asked("json")["cells"]
    assert {control for control, cell in cells.items() if cell["mark"] == "breaks"} == BREAKS


def test_a_version_keeps_the_lock_of_a_json_column():
    assert asked("json-version")["cells"]["lock"] == {"mark": "holds", "text": "kept 5 of 5"}


def test_what_does_not_hold_for_this_project_is_reported():
    lines = broken([{**asked("json"), "name": "ours"}])
    assert {line.split(", ")[1].partition(":")[0] for line in lines} >= BREAKS


def test_what_a_rival_gets_wrong_is_no_failure_of_a_run():
    assert broken([asked("json")]) == []


def test_the_document_is_of_these_controls_and_systems():
    text = (Path(__file__).parents[2] / "docs/comparison.md").read_text()
    assert re.findall("^### (.+)$", text, re.MULTILINE) == list(CONTROLS)
    versions = text.partition("were asked:\n\n")[2].partition("\n\n")[0]
    assert len(versions.splitlines()) == len(SYSTEMS)

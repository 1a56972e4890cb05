"""The benchmark's command line: a section that there isn't is named, with those that there are."""

import os
import subprocess
import sys

from tests.stack import ROOT


def bench(*arguments):
    command = [sys.executable, "-m", "tests.bench", *arguments]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'functions'}{os.pathsep}{ROOT}"}
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def test_an_unknown_section_ends_in_a_message_that_names_the_known_ones():
    run = bench("--only=package,colt")
    assert run.returncode == 2
    assert "Traceback" not in run.stderr
    assert "there is no section 'colt'; there are package, cold, warm" in run.stderr
    assert not run.stdout

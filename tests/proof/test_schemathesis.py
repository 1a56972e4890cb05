"""The people's handler is as its OpenAPI document says, whatever Schemathesis sends (schemathesis.toml)."""

import re
import subprocess

import pytest

from tests.effort import tried
from tests.stack import ROOT, start_stack, stop_stack

COMMAND = ROOT / ".venv-schemathesis/bin/schemathesis"
EXAMPLES = 40
"""For each operation; its systematic cases, and its sequences of operations, come on top."""

pytestmark = pytest.mark.prove


def test_the_running_stack_is_what_its_document_says(tmp_path):
    """With a real token, and with every check on that can hold."""
    process, site = start_stack()
    try:
        ran = subprocess.run(
            [
                COMMAND,
                *("--config-file", ROOT / "tests/proof/schemathesis.toml"),
                *("run", f"{site.origin}/openapi.json", "--no-color", f"--max-examples={EXAMPLES}"),
                *("--header", f"Authorization: Bearer {site.token()}"),
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=400,
        )
    finally:
        _, printed = stop_stack(process)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "failed:" not in printed, printed  # a handler's fault, as the stack reports it
    cases = re.search(r"(\d+) generated", ran.stdout)
    operations = re.search(r"Tested: (\d+)", ran.stdout)
    assert cases, ran.stdout
    assert operations, ran.stdout
    tried("bad input", "requests made from the OpenAPI document", int(cases[1]))

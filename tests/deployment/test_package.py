"""What pip installs: the package with its dependencies, and the fixtures of `preferences.testing`."""

import os
import subprocess
import sys
import time
import zipfile

import pytest

from infra import build
from tests.stack import ROOT

pytestmark = pytest.mark.deployment

SIX_LINES = """\
pytest_plugins = ["preferences.testing.fixtures"]

def test_a_locked_row_is_refused(locked_preference, preferences_agent):
    edit = {"index": locked_preference["position"], "title": "Budget under 1200 euros"}
    answer = preferences_agent.call("update_preferences", updates=[edit])
    assert answer["items"][0]["outcome"] == "locked"
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "uv", "build", "--quiet", "--out-dir", folder)
    (sdist,) = folder.glob("*.tar.gz")
    (made,) = folder.glob("*.whl")  # uv builds it from the source distribution, so that one is whole too
    assert sdist.name.removesuffix(".tar.gz") in made.name
    return made


def run(*command, **options):
    ended = subprocess.run(
        [str(part) for part in command], cwd=ROOT, capture_output=True, text=True, check=False, **options
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard", "functions/preferences")
    assert packed == {name.removeprefix("functions/") for name in listed.split()}


def test_a_test_of_ones_own_sees_a_locked_row_refused_in_a_minute(wheel, tmp_path):
    """With uv and its cache, as the first run fills it: the second of two installations is timed."""
    (tmp_path / "test_mine.py").write_text(SIX_LINES, "utf-8")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    for name in ("first", "second"):
        began = time.monotonic()
        python = tmp_path / name / "bin/python"
        run(sys.executable, "-m", "venv", "--without-pip", tmp_path / name)
        install = ("pip", "install", "--quiet", "--python", python, f"{wheel}[testing]")
        run(sys.executable, "-m", "uv", *install)
        printed = run(python, "-I", "-m", "pytest", "-q", tmp_path / "test_mine.py", env=environment)
        seconds = time.monotonic() - began
    assert "1 passed" in printed
    assert seconds < 60


def test_the_package_for_lambda_holds_no_fixtures(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "install", lambda lock, target, platform: None)
    build.build(tmp_path / "package")
    assert (tmp_path / "package/preferences/agent").is_dir()
    assert not (tmp_path / "package/preferences/testing").exists()
    assert not list(tmp_path.rglob("py.typed"))

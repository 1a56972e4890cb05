"""Builds what Lambda runs: `python -m infra.build DIRECTORY`.

The same bytes from the same sources, on any host that has Python 3.11 or newer: dependencies come as wheels
for Lambda's platform from a list locked by hash, and nothing of the host or of the moment is kept.

Lambda can't write beside its code, so modules without .pyc files are compiled anew in every cold start, which
takes longer than all the rest of it. They have to come from the very Python that runs them, and are marked as
never to be checked against their sources, whose times a zip would round.
"""

import argparse
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
FUNCTIONS = ROOT / "functions"
LOCK = ROOT / "requirements" / "lambda.txt"

EPOCH = 315_532_800  # 1980-01-01, where the time of zip files begins
_NEEDLESS = ("bin", "__pycache__", "*.pyi", "py.typed", ".lock", "swagger_ui")
_NPM = ("package.json", "custom-elements.json", "*.d.ts")  # beside the panel's files, for its npm package
_NEEDLESS_METADATA = ("INSTALLER", "RECORD", "REQUESTED", "WHEEL", "direct_url.json")  # licences stay


@dataclass(frozen=True)
class Platform:
    """What the package is for: `python` as in 3.13, `name` as uv calls it (None: this machine's own)."""

    python: str
    name: str | None


LAMBDA = Platform("3.13", "aarch64-manylinux2014")
"""As template.yaml has it: python3.13 on arm64."""
HERE = Platform("{}.{}".format(*sys.version_info), None)


def build(target: Path, platform: Platform = LAMBDA) -> int:
    """Fills `target`, which is emptied first, and returns how many modules were compiled.

    That is none where no interpreter of the right version is found. Raises CalledProcessError when a
    dependency can't be installed.
    """
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    install(LOCK, target, platform)
    shutil.copytree(
        FUNCTIONS / "preferences",
        target / "preferences",
        ignore=shutil.ignore_patterns("__pycache__", "testing", *_NPM),
    )
    _prune(target)
    compiler = _interpreter(platform.python)
    if compiler:
        _compile(target, compiler)
    for path in (target, *target.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
        os.utime(path, (EPOCH, EPOCH))
    return sum(1 for _ in target.rglob("*.pyc"))


def install(lock: Path, target: Path, platform: Platform) -> None:
    """Installs what the lock file names into `target`. Raises CalledProcessError where that can't be had."""
    command = [
        *(sys.executable, "-m", "uv", "pip", "install", "--quiet", "--target", str(target)),
        *("--link-mode", "copy"),  # files that are changed below must not be the cache's own
        *("--only-binary", ":all:", "--no-deps", "--require-hashes", "--requirement", str(lock)),
        *("--python-version", platform.python),
    ]
    if platform.name:
        command += ["--python-platform", platform.name]
    subprocess.run(command, check=True)


def _prune(target: Path) -> None:
    for pattern in _NEEDLESS:
        for path in [*target.rglob(pattern)]:
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
    for metadata in target.glob("*.dist-info"):
        for name in _NEEDLESS_METADATA:
            (metadata / name).unlink(missing_ok=True)


def _compile(target: Path, python: str) -> None:
    options = ["-q", "--invalidation-mode", "unchecked-hash", "-s", str(target), "-p", "/var/task"]
    subprocess.run([python, "-I", "-m", "compileall", *options, str(target)], check=True)


def _interpreter(version: str) -> str | None:
    """A Python of exactly this version: ours, one on the path, or one that uv or pyenv has installed."""
    for candidate in _candidates(version):
        try:
            answer = subprocess.run(
                [candidate, "-I", "-c", "import sys; print('{}.{}'.format(*sys.version_info))"],
                capture_output=True,
                text=True,
            )
        except OSError:
            continue
        if answer.stdout.strip() == version:
            return candidate
    return None


def _candidates(version: str) -> Iterator[str]:
    yield sys.executable
    yield f"python{version}"
    home = Path.home()
    for pattern in (f".local/share/uv/python/cpython-{version}.*/bin", f".pyenv/versions/{version}.*/bin"):
        yield from (str(path / f"python{version}") for path in sorted(home.glob(pattern), reverse=True))


def pack(directory: Path, archive: Path) -> None:
    """The directory as a zip: files in the order of their names, without times or owners."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for path in sorted(directory.rglob("*"), key=Path.as_posix):
            if path.is_file():
                entry = zipfile.ZipInfo(path.relative_to(directory).as_posix(), (1980, 1, 1, 0, 0, 0))
                entry.external_attr = 0o100644 << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                packed.writestr(entry, path.read_bytes(), compresslevel=9)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m infra.build", description="Build what Lambda runs.")
    parser.add_argument("directory", type=Path, help="what to fill; it is emptied first")
    parser.add_argument("--here", action="store_true", help="for this machine and its Python, not for Lambda")
    parser.add_argument("--zip", type=Path, help="also pack it into this file")
    given = parser.parse_args()
    platform = HERE if given.here else LAMBDA
    compiled = build(given.directory, platform)
    print(f"{given.directory}: python{platform.python} {platform.name or 'of this machine'}, {compiled} .pyc")
    if not compiled:
        print(
            f"WARNING: there is no Python {platform.python} here to compile with, and without .pyc files "
            f"cold starts take more than twice as long. Install one: uv python install {platform.python}",
            file=sys.stderr,
        )
    if given.zip:
        pack(given.directory, given.zip)
        print(f"{given.zip}: {given.zip.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()

"""Writes what is rendered from the code and kept in the repository: `python -m infra.schemas`.

A test compares the files with the code, so that none of them is ever stale.
"""

from collections.abc import Mapping
from pathlib import Path

from preferences.api.openapi import document_text

INFRA = Path(__file__).parent


def rendered() -> Mapping[Path, str]:
    """Every generated file with the text that it shall have."""
    return {INFRA / "openapi" / "api.json": document_text()}


def main() -> None:
    for path, text in rendered().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(INFRA.parent))


if __name__ == "__main__":
    main()

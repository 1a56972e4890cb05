"""What a run under PROVE has tried, counted for the table that `make prove` prints."""

import os
from pathlib import Path

PROVE = bool(os.environ.get("PROVE"))
"""Whether to try very much more than an everyday run of the tests does."""


def tried(area: str, what: str, count: int) -> None:
    """Adds to the count of `what`, where PROVE_REPORT names a folder. Several processes may do so at once."""
    if folder := os.environ.get("PROVE_REPORT"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        with (Path(folder) / "tried.tsv").open("a", encoding="utf-8") as report:
            report.write(f"{area}\t{what}\t{count}\n")

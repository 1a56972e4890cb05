"""What was found, as docs/comparison.md."""

from collections.abc import Iterable, Sequence
from typing import Any

from tests.compare.controls import CONTROLS
from tests.compare.not_run import NOT_RUN

MARKS = {"holds": "yes", "partly": "partly", "breaks": "**no**", "absent": "–", "failed": "failed"}

HEAD = """# Comparison

"Why not a JSON column, or the store of the framework that we have?" This page asks the same questions of this
project and of what one would pick instead. `make compare` asks them again; `tests/compare/` has them, and an
adapter of a few lines for each system, which uses its public API alone.

The short answer: if agents only note things down and find them again, take one of the others. If a user and
an agent write the same list, and the user's word has to stand, look at the overview. Through a race, a JSON
column with a version, Claude's memory tool and Letta's server keep a lock as well as this project does: the
lock alone is no reason to choose it. What surrounds the lock is, and would be yours to build.
"""

BETTER = """## Where the others are better

By their documentation; what was tried or measured in this run says so.
"""

OVERVIEW = """## Overview

"–": the system has no such notion, and an application would build it. Races are forced, not timed. Where an
adapter or this project reads before it writes, the other change comes between the two; where a tool of the
system's own does both, it comes between the agent's look at the list and the tool's call.
"""

COST = """## Cost

The text that a model gets for a list of 50 rows, and for the change of one of them, in bytes and tokens
(o200k_base). The conversation adds 10 rows, lists, updates 5 and removes 5: the calls of the system's API,
median and longest time of so many, and processor time of the caller and of the servers behind it. A
library in the caller's process saves what others pay for crossing to a server. "Kept" says where the data is
after a write. Where the machine was busy with other work
(see the versions), times say little, and processor times more.
"""


def markdown(systems: list[dict[str, Any]], absent: list[str]) -> str:
    """`systems` as tests/compare/__main__.py has them; `absent` says what was not installed."""
    parts = [HEAD, _better(systems), _overview(systems), _answers(systems)]
    if any("conversation" in system for system in systems):
        parts.append(_cost(systems))
    parts.append(_not_run(absent))
    return "\n".join(parts)


def table(head: Sequence[str], rows: Iterable[Sequence[object]], align: str = "---:") -> str:
    lines = [head, ["---"] + [align] * (len(head) - 1), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines) + "\n"


def _better(systems: list[dict[str, Any]]) -> str:
    ways: dict[str, list[str]] = {}
    for system in systems:
        for way in system["better"]:
            ways.setdefault(way, []).append(system["system"])
    ours = next((system for system in systems if system["name"] == "ours"), {})
    others = [system for system in systems if not system["name"].startswith("ours")]
    ways["search across conversations (tried)"] = [
        system["system"] for system in others if system["cells"]["search"]["mark"] == "holds"
    ]
    if "conversation" in ours:
        for what, name in (("milliseconds", "less time"), ("own", "less processor time of the caller")):
            ways[f"{name} for the same conversation than this project in process (measured)"] = [
                system["system"]
                for system in others
                if system["conversation"][what] < ours["conversation"][what]
            ]
    return BETTER + "\n" + table(["", "who"], [(way, ", ".join(who)) for way, who in ways.items()], "---")


def _overview(systems: list[dict[str, Any]]) -> str:
    rows = [
        (
            f"[{name}](#{name.replace(' ', '-')})",
            *(MARKS[system["cells"][name]["mark"]] for system in systems),
        )
        for name in CONTROLS
    ]
    versions = [f"- {s['system']}: {s['versions']} ({s['on']})" for s in systems]
    head = ["", *(system["system"] for system in systems)]
    return (
        OVERVIEW
        + "\n"
        + table(head, rows, ":---:")
        + "\nVersions, and when and where they were asked:\n\n"
        + "\n".join(versions)
        + "\n"
    )


def _answers(systems: list[dict[str, Any]]) -> str:
    parts = ["## The questions\n"]
    for name, control in CONTROLS.items():
        said: dict[tuple[str, str], list[str]] = {}
        for system in systems:
            cell = system["cells"][name]
            said.setdefault((MARKS[cell["mark"]], cell["text"]), []).append(system["system"])
        rows = [(f"{mark}: {text}", ", ".join(who)) for (mark, text), who in said.items()]
        parts += [f"### {name}\n", f"{control.__doc__}\n", table(["", "who"], rows, "---")]
    return "\n".join(parts)


def _cost(systems: list[dict[str, Any]]) -> str:
    rows = []
    for system in systems:
        sizes = [f"{size:,} / {tokens or '–'}" for size, tokens in system["answers"].values()]
        talk = system["conversation"]
        rows.append(
            (
                system["system"],
                *sizes,
                talk["calls"],
                "{} ({})".format(*talk["milliseconds"]),
                talk["times"],
                talk["own"],
                "–" if talk["servers"] is None else talk["servers"],
                system["kept"],
            )
        )
    head = ["", "list of 50", "edit of 1", "calls", "ms", "of", "own CPU, ms", "servers' CPU, ms", "kept"]
    return COST + "\n" + table(head, rows)


def _not_run(absent: list[str]) -> str:
    lines = [f"- **{name}**: {text}" for name, text in NOT_RUN.items()] + [f"- {line}" for line in absent]
    return "## Not run\n\n" + "\n".join(lines) + "\n"

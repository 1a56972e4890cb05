"""Fills in the parts of agent.yaml that repeat what the code and the instruction say.

CloudFormation takes an agent's tools and instruction inline only (or from a bucket, which would have to
exist first), so they are copied to where they are needed, between two comments:

    # made by `make schemas`: gateway
    InlinePayload: …
    # end
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any

from infra.schemas import tools
from infra.schemas.json_text import compact

MAX_INSTRUCTION = 4000

_PART = re.compile(
    r"^(?P<indent> *)# made by `make schemas`: (?P<name>\S+)\n(?P<text>(?:.*\n)*?)(?P<end> *# end\n)",
    re.MULTILINE,
)


def filled(template: str, instruction: str) -> str:
    """The template with every marked part made anew. Raises KeyError on a part that nobody makes."""
    parts = _parts(instruction)

    def fill(part: re.Match[str]) -> str:
        lines = [part["indent"] + line if line else "" for line in parts[part["name"]]()]
        opening = part[0].partition("\n")[0]
        return "\n".join([opening, *lines, part["end"]])

    return _PART.sub(fill, template)


def fingerprint(instruction: str) -> str:
    """Twelve digits that change with anything that an agent is prepared with."""
    said = compact([instruction, tools.function_details(), tools.openapi()])
    return hashlib.sha256(said.encode()).hexdigest()[:12]


def _parts(instruction: str) -> Mapping[str, Callable[[], list[str]]]:
    return {
        "gateway": lambda: _listed("InlinePayload", tools.gateway()),
        "functions": lambda: _listed("Functions", tools.function_details()["functions"]),
        "openapi": lambda: ["Payload: " + _quoted(compact(tools.openapi()))],
        "instruction": lambda: _instruction(instruction),
        "fingerprint": lambda: [
            f"Description: !Sub {fingerprint(instruction)} "
            "${ClassicAgent} ${AgentModelGeography} ${AgentModel}"
        ],
    }


def _instruction(text: str) -> list[str]:
    if len(text) > MAX_INSTRUCTION:
        raise ValueError(f"the instruction has {len(text)} characters, {MAX_INSTRUCTION} fit")
    return ["Instruction: |", *("  " + line if line else "" for line in text.splitlines())]


def _listed(name: str, values: list[dict[str, Any]]) -> list[str]:
    """One line for each: a flow mapping of YAML is JSON."""
    return [f"{name}:", *("  - " + compact(cloudformation(value)) for value in values)]


_MAPS = ("properties", "parameters")


def cloudformation(value: Any) -> Any:
    """The same as CloudFormation spells it: keys start with a capital, but for names that we chose."""
    if isinstance(value, list):
        return [cloudformation(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key[0].upper() + key[1:]: (
            {name: cloudformation(of) for name, of in inner.items()}
            if key in _MAPS
            else cloudformation(inner)
        )
        for key, inner in value.items()
    }


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"

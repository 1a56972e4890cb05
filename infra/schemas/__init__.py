"""What is rendered from the code and kept in the repository; `make schemas` writes it.

A test compares the files with the code, so that none of them is ever stale.
"""

from collections.abc import Mapping
from pathlib import Path

from infra.schemas import tools
from infra.schemas.api_document import document_text
from infra.schemas.json_text import pretty
from infra.schemas.template import filled
from infra.template import AGENT_TEMPLATE
from preferences.api import files

INFRA = Path(__file__).parent.parent
INSTRUCTION = INFRA / "instruction.txt"


def rendered() -> Mapping[Path, str]:
    """Every generated file with the text that it shall have."""
    return {
        INFRA / "openapi" / "api.json": document_text(),
        Path(files.__file__).with_name("openapi.json"): document_text(),
        INFRA / "tools" / "function-details.json": pretty(tools.function_details()),
        INFRA / "tools" / "openapi.json": pretty(tools.openapi()),
        INFRA / "tools" / "gateway.json": pretty(tools.gateway()),
        INFRA / "tools" / "converse.json": pretty(tools.converse()),
        AGENT_TEMPLATE: filled(AGENT_TEMPLATE.read_text("utf-8"), INSTRUCTION.read_text("utf-8")),
    }

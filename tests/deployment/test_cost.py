"""What docs/operating.md says that a change costs, worked out from items as they are stored."""

import re
from decimal import ROUND_HALF_UP, Decimal
from math import ceil

import pytest

from preferences.model import Caller, Draft
from preferences.repository import open_repository
from tests.deployment.stacks import ROOT

READ, WRITE = Decimal("0.125"), Decimal("0.625")
"""Dollars for a million units on demand, us-east-1."""

OWNER = "d2f4a8e6-70b1-70a3-4b2c-5d6e7f809112"
WRITERS = {
    "agent": Caller(actor="agent", owner=OWNER, who="ABCDEFGHIJ", reasoning="The user said so just now."),
    "user": Caller.user(OWNER),
}


def size(value) -> int:
    """Bytes of an attribute's value, by the rules of DynamoDB's developer guide."""
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return len(content.encode())
        case "N":
            digits = content.lstrip("-").strip("0") or "0"
            return (len(digits) + 1) // 2 + 1
        case "BOOL" | "NULL":
            return 1
        case "B":
            return len(content)
        case "M":
            return 3 + sum(len(name.encode()) + size(inner) + 1 for name, inner in content.items())
        case "L":
            return 3 + sum(size(inner) + 1 for inner in content)
    raise AssertionError(f"no size of {kind}")


def bytes_of(table, writer, rows) -> int:
    """The item of a list whose rows have titles of 20 and subtitles of 36 characters, added ten at a time."""
    client, name = table
    repository = open_repository(lambda: 60.0)
    thread = f"{writer}-{rows:04}-70a3-4b2c-8d6e-7f809112abcd"[:36]
    repository.register_thread(thread, WRITERS["user"])
    for first in range(0, rows, 10):
        drafts = [
            Draft(title=f"Preference {n:09}", subtitle="s" * 36) for n in range(first, min(first + 10, rows))
        ]
        repository.add_preferences_bulk(thread, drafts, WRITERS[writer])
    key = {"pk": {"S": f"THREAD#{thread}"}, "sk": {"S": "PREFERENCES"}}
    item = client.get_item(TableName=name, Key=key, ConsistentRead=True)["Item"]
    assert len(item["preferences"]["M"]) == rows
    return sum(len(attribute.encode()) + size(value) for attribute, value in item.items())


def dollars(amount) -> str:
    return f"${amount.quantize(Decimal('0.01'), ROUND_HALF_UP)}"


def table_of(text) -> dict[int, list[str]]:
    _, _, part = text.partition("\n## What it costs\n")
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", part.partition("\n## ")[0], re.MULTILINE)
    return {int(number): rest.split(" | ") for number, rest in rows}


@pytest.mark.deployment  # moto takes its time over lists of 100
def test_the_table_is_what_items_come_to(table):
    said = table_of((ROOT / "docs/operating.md").read_text("utf-8"))
    assert list(said) == [5, 20, 50, 100]
    worked_out = {}
    for rows in said:
        sizes = {writer: bytes_of(table, writer, rows) for writer in WRITERS}
        reads = ceil(max(sizes.values()) / 4096)
        assert reads == ceil(min(sizes.values()) / 4096)
        writes = {writer: ceil(of / 1024) for writer, of in sizes.items()}
        changes = [dollars(reads * READ + writes[writer] * WRITE) for writer in WRITERS]
        units = [str(reads), *(str(writes[writer]) for writer in WRITERS)]
        worked_out[rows] = [*units, dollars(reads * READ), *changes]
    assert worked_out == said


@pytest.mark.parametrize(
    ("value", "expected"),
    [({"S": "ä"}, 2), ({"N": "1200"}, 2), ({"BOOL": True}, 1), ({"M": {"a": {"L": [{"N": "7"}]}}}, 11)],
)
def test_sizes_are_counted_as_documented(value, expected):
    assert size(value) == expected

"""The findings as tables and as a picture, for people who have no time for JSON."""

import statistics
from collections.abc import Iterable, Sequence
from typing import Any


def spread(values: Sequence[float], digits: int = 2) -> str:
    """Median, and the quartiles in brackets."""
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.{digits}f} ({low:.{digits}f}–{high:.{digits}f})"


def verdict(ratios: Sequence[float], bar: float | None) -> str:
    if bar is None:
        return ""
    return f"{bar:.2f} {'met' if statistics.median(ratios) <= bar else '**missed**'}"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def markdown(found: dict[str, Any]) -> str:
    parts = [
        f"""# Benchmark

What `make bench` found on {found["machine"]}, {found["when"]}. Ratios count, times do not: what is
compared was run in turn, in one run; a ratio is the median of its rounds, with the quartiles in brackets.

![Start-up and requests beside bare boto3](benchmark.svg)
"""
    ]
    sections = (_cold, _warm, _walk, _answers, _capacity, _growth, _contention, _peers, _throughput)
    parts += [text for section in sections if (text := section(found))]
    if found["left_out"]:
        parts.append(
            "Not measured in this run:\n\n" + "\n".join(f"- {reason}" for reason in found["left_out"])
        )
    return "\n".join(parts) + "\n"


def _cold(found: dict[str, Any]) -> str:
    if "cold" not in found:
        return ""
    rows = [
        (
            row["start"],
            f"{row['ready']:.0f}",
            spread(row["ratios"]) if row["ratios"] else "",
            spread(row["wall"]) if row["wall"] else "",
            spread(row["first"]) if row["first"] else "",
            f"{row['memory']:.0f}",
            verdict(row["ratios"], row["bar"]),
        )
        for row in found["cold"]
    ]
    head = ["", "CPU ms to ready", "CPU, ratio", "wall, ratio", "CPU to the first answer, ratio", "MB", "bar"]
    size = ""
    if package := found.get("package"):
        met = "met" if package["zip"] <= package["bar"] else "**missed**"
        size = f"The zip for Lambda has {package['zip'] / 1e6:.1f} MB (bar: 6 MB, {met})."
    return f"""
## Cold start

The package as it is built, under Lambda's own runtime client, to a Runtime API on loopback. Ratios are to
`boto3.client("dynamodb")` alone, both less what the runtime takes by itself. {size}

{table(head, rows)}

Beyond boto3's own: pydantic and Powertools' Logger take about a sixth each, and neither loads in parts.
Left out of boto3's: its resources and transfers, and the data of all services but DynamoDB.
"""


def _warm(found: dict[str, Any]) -> str:
    if "warm" not in found:
        return ""
    rows = [
        (
            row["operation"],
            row["rows"],
            " + ".join(row["calls"]),
            f"{row['ours']:.0f}",
            f"{row['bare']:.0f}",
            spread(row["ratios"]),
            verdict(row["ratios"], row["bar"]),
        )
        for row in found["warm"]
    ]
    head = ["", "rows", "calls", "ours, µs", "boto3 alone, µs", "ratio", "bar"]
    return f"""
## Requests

Own CPU of a whole request, from the event to the answer, over the bare boto3 calls that it needs, with the
same parameters and the same answers, without a network. It can be less than they take because answers are
read as the JSON that they are (`repository/shortcuts.py`).

{table(head, rows)}
"""


def _walk(found: dict[str, Any]) -> str:
    if "walk" not in found:
        return ""
    rows = [(row["request"], row["calls"], row["files"], row["moves"]) for row in found["walk"]]
    return f"""
## The way of a request

Calls of our own functions from the event to DynamoDB and back to the answer, on a list of 5 rows; the files
that they lie in; and how often one package calls, or returns to, another.

{table(["", "calls", "files", "moves"], rows)}
"""


def _answers(found: dict[str, Any]) -> str:
    if "answers" not in found:
        return ""
    rows = [
        (row["call"], version, *(f"{size:,} / {tokens:,}" for size, tokens in row[key]))
        for row in found["answers"]
        for version, key in (("1.0.0", "before"), ("now", "now"))
    ]
    sizes = [f"{size} rows" for size in found["answers"][0]["sizes"]]
    return f"""
## What a model reads

Bytes / tokens of each tool's answer, before and now. Rows have a title of 20 characters and a subtitle of 36;
tokens are those of o200k_base.

{table(["", "version", *sizes], rows)}
"""


def _capacity(found: dict[str, Any]) -> str:
    if "capacity" not in found:
        return ""
    by_operation: dict[str, list[dict[str, Any]]] = {}
    for row in found["capacity"]:
        by_operation.setdefault(row["operation"], []).append(row)
    sizes = [row["rows"] for row in next(iter(by_operation.values()))]
    rows = [
        (name, " + ".join(of_it[0]["calls"]), *(f"{row['read']:g} / {row['written']:g}" for row in of_it))
        for name, of_it in by_operation.items()
    ]
    return f"""
## What DynamoDB is asked

Calls, and capacity units read / written, by the rows of the list (titles of about 20 characters, in every
second row a qualifier of 50). A read is consistent: 1 unit for each 4 KB; a write: 1 for each 1 KB, and the
index when a thread comes or goes. The second engine counts as DynamoDB does, but for the stream's read, which
asks for a part of the item: DynamoDB counts all of it, as for a list.

{table(["", "calls", *(f"{size} rows" for size in sizes)], rows)}
"""


def _growth(found: dict[str, Any]) -> str:
    if "growth" not in found:
        return ""
    threads = sorted({row["threads"] for row in found["growth"]})
    times = {(row["operation"], row["threads"]): row["milliseconds"] for row in found["growth"]}
    rows = []
    for name in dict.fromkeys(row["operation"] for row in found["growth"]):
        base = statistics.median(times[name, threads[0]])
        last = statistics.median(times[name, threads[-1]])
        rows.append((name, *(spread(times[name, n]) for n in threads), f"{last / base:.2f}"))
    return f"""
## As the table grows

Milliseconds of one operation through the repository, on the second engine with its data on the disk.

{table(["", *(f"{n:,} threads" for n in threads), "last to first"], rows)}
"""


def _contention(found: dict[str, Any]) -> str:
    if "contention" not in found:
        return ""
    rows = [
        (
            row["operation"],
            row["against"],
            f"{statistics.median(row['milliseconds']):.0f}",
            f"{max(row['milliseconds']):.0f}",
            f"{row['failed']} of {len(row['milliseconds'])}" + ("" if not row["failed"] else " **missed**"),
        )
        for row in found["contention"]
    ]
    return f"""
## Under contention

On one thread, against others that write to it without a pause, at 5 ms more for each call to the engine. None
may fail.

{table(["", "against", "median ms", "largest ms", "failed"], rows)}
"""


def _peers(found: dict[str, Any]) -> str:
    if "peers" not in found:
        return ""
    rows = [
        (
            row["side"],
            spread(row["milliseconds"], 1),
            spread(row["cpu"], 1),
            spread(row["ratios"]) if row["ratios"] else "",
            verdict(row["ratios"], row["bar"]),
        )
        for row in found["peers"]
    ]
    return f"""
## The same work elsewhere

A conversation: add 10, list, update 5, remove 5. Ours are four whole answers of the agent's handler, with
owner, lock and revision in the condition of each write, over HTTP to an engine that writes to the disk. The
same seven calls were also sent by a client as `boto3.client("dynamodb")` gives it, over the same loopback.
LangGraph's SqliteStore is called in its own process, in batches, and knows none of these: its SQLite is in
its own CPU, our engine's is not.

{table(["", "ms", "own CPU, ms", "CPU to boto3 alone", "bar"], rows)}

Our client takes some 0.8 of what boto3's does for these calls, since nothing is validated twice and answers
are read as JSON. The rest is what the handler does with ten rows: decoding, plans, conditions, texts and the
log. Of a call, botocore takes a little more than urllib3 and http.client below it; to spare either, the
project would have to sign and send by itself.
"""


def _throughput(found: dict[str, Any]) -> str:
    if "throughput" not in found:
        return ""
    rows = [
        (row["engine"], row["request"], f"{row['a_second']:.0f}", spread(row["milliseconds"], 1))
        for row in found["throughput"]
    ]
    return f"""
## The local stack

Answers a second to 4 clients on the same machine, which takes its share of the processor.

{table(["engine", "request", "a second", "ms"], rows)}
"""


# -- the picture


def svg(found: dict[str, Any]) -> str:
    """Bars: how many times what boto3 alone takes; a stroke at each bar that has to be met."""
    bars = [
        (row["start"], statistics.median(row["ratios"]), row["bar"])
        for row in found.get("cold", ())
        if row["ratios"] and statistics.median(row["ratios"]) > 0
    ]
    requests = [
        (f"{row['operation']}, {row['rows']} rows", statistics.median(row["ratios"]), row["bar"])
        for row in found.get("warm", ())
    ]
    groups = [("Start-up, CPU", bars), ("Requests, CPU", requests)]
    left, scale, step = 250, 300, 24
    bar_shape = 'height="15" rx="2" fill="#4477aa"'
    drawn: list[str] = []
    y = 10
    for title, group in groups:
        if not group:
            continue
        y += step
        drawn.append(f'<text x="10" y="{y}" font-weight="600">{title}</text>')
        for name, ratio, bar in group:
            y += step
            inside = ratio * scale > 60
            at, fill = (left + 8, "#fff") if inside else (left + ratio * scale + 8, "#000")
            drawn.append(
                f'<text x="{left - 10}" y="{y}" text-anchor="end">{_escaped(name)}</text>'
                f'<rect x="{left}" y="{y - 12}" width="{ratio * scale:.0f}" {bar_shape}/>'
                f'<text x="{at:.0f}" y="{y}" fill="{fill}">{ratio:.2f}</text>'
            )
            if bar:
                x = left + bar * scale
                drawn.append(
                    f'<path d="M{x:.0f} {y - 15}v21" stroke="#bb5566" stroke-width="2">'
                    f"<title>has to be at most {bar}</title></path>"
                )
        y += 8
    height = y + 34
    one = left + scale
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {height}" width="720" role="img"
 font-family="system-ui, sans-serif" font-size="13" aria-label="Ratios to boto3 alone">
<rect width="720" height="{height}" fill="#fff"/>
<path d="M{one} 20V{height - 28}" stroke="#999" stroke-dasharray="4 3"/>
<text x="{one}" y="{height - 12}" text-anchor="middle" fill="#555">1 = boto3 alone</text>
<path d="M{one + 85} {height - 24}v16" stroke="#bb5566" stroke-width="2"/>
<text x="{one + 93}" y="{height - 12}" fill="#555">at most</text>
{"".join(line + chr(10) for line in drawn)}</svg>
"""


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")

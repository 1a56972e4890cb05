"""Metrics inside the line that a handler logs anyway, in CloudWatch's embedded metric format.

Powertools' Metrics prints a line of its own for each call, and takes several times as long.
"""

import time
from collections.abc import Mapping
from typing import Any

NAMESPACE = "Preferences"


def embedded(handler: str, milliseconds: float, counts: Mapping[str, int]) -> dict[str, Any]:
    """Fields for the log line, which has to name its `service`: the Latency, and each count that is not 0."""
    counted: dict[str, float] = {name: int(count) for name, count in counts.items() if count}
    metrics = [{"Name": name, "Unit": "Count"} for name in counted]
    metrics.append({"Name": "Latency", "Unit": "Milliseconds"})
    directive = {"Namespace": NAMESPACE, "Dimensions": [["service", "handler"]], "Metrics": metrics}
    return {
        "_aws": {"Timestamp": int(time.time() * 1000), "CloudWatchMetrics": [directive]},
        "handler": handler,
        "Latency": milliseconds,
        **counted,
    }

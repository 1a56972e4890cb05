"""What operators count, inside the line that a door logs anyway: CloudWatch's embedded metric format.

Powertools' Metrics would print a line of its own for each call, and take several times as long for it.
"""

import time
from collections.abc import Mapping
from typing import Any

NAMESPACE = "Preferences"


def embedded(door: str, milliseconds: float, counts: Mapping[str, int]) -> dict[str, Any]:
    """Fields for the log line, which has to name its `service`: the Latency, and each count that is not 0."""
    counted: dict[str, float] = {name: int(count) for name, count in counts.items() if count}
    metrics = [{"Name": name, "Unit": "Count"} for name in counted]
    metrics.append({"Name": "Latency", "Unit": "Milliseconds"})
    directive = {"Namespace": NAMESPACE, "Dimensions": [["service", "door"]], "Metrics": metrics}
    return {
        "_aws": {"Timestamp": int(time.time() * 1000), "CloudWatchMetrics": [directive]},
        "door": door,
        "Latency": milliseconds,
        **counted,
    }

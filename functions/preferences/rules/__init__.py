"""What may be changed, and what becomes of it: `plans` of requests, `history` of what was done, and its undo.

Pure: no clock, no table, no chance.
"""

from preferences.rules.history import belongs, entry_of, plan_undo
from preferences.rules.plans import (
    Plan,
    Write,
    admit,
    edited,
    plan_additions,
    plan_locks,
    plan_order,
    plan_removals,
    plan_updates,
)

__all__ = [
    "Plan",
    "Write",
    "admit",
    "belongs",
    "edited",
    "entry_of",
    "plan_additions",
    "plan_locks",
    "plan_order",
    "plan_removals",
    "plan_undo",
    "plan_updates",
]

"""What a request does to a thread: `plans`. What a write did, and how to undo it: `history`.

Pure: no clock, no table, no chance.
"""

from preferences.rules.history import belongs, entry_of, plan_undo
from preferences.rules.plans import (
    IfMatch,
    Plan,
    Stamp,
    authorize,
    authorize_registration,
    edited,
    plan_additions,
    plan_deletion,
    plan_edit,
    plan_locks,
    plan_order,
    plan_registration,
    plan_removal,
    plan_removals,
    plan_updates,
)

__all__ = [
    "IfMatch",
    "Plan",
    "Stamp",
    "authorize",
    "authorize_registration",
    "belongs",
    "edited",
    "entry_of",
    "plan_additions",
    "plan_deletion",
    "plan_edit",
    "plan_locks",
    "plan_order",
    "plan_registration",
    "plan_removal",
    "plan_removals",
    "plan_undo",
    "plan_updates",
]

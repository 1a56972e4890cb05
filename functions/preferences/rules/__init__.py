"""`plans`: what a request does to a thread. `suggestions`: what waits for the user, or was turned down.
`history`: what a write did, and how to undo it.

All of it is pure: no clock, no table, no randomness.
"""

from preferences.rules.history import belongs, entry_of, plan_undo
from preferences.rules.plan import Plan, Stamp, renumbers
from preferences.rules.plans import (
    IfMatch,
    authorize,
    authorize_registration,
    plan_acceptance,
    plan_additions,
    plan_deletion,
    plan_dismissal,
    plan_edit,
    plan_locks,
    plan_order,
    plan_registration,
    plan_removal,
    plan_removals,
    plan_title,
    plan_updates,
)
from preferences.rules.suggestions import declined_after

__all__ = [
    "IfMatch",
    "Plan",
    "Stamp",
    "authorize",
    "authorize_registration",
    "belongs",
    "declined_after",
    "entry_of",
    "plan_acceptance",
    "plan_additions",
    "plan_deletion",
    "plan_dismissal",
    "plan_edit",
    "plan_locks",
    "plan_order",
    "plan_registration",
    "plan_removal",
    "plan_removals",
    "plan_title",
    "plan_undo",
    "plan_updates",
    "renumbers",
]

"""Expands a SAM template (JSON, from standard input) as a deployment would.

Runs under the SAM CLI's own Python: its translator wants other versions of what we use.
"""

import json
import sys

from samtranslator.translator.transform import transform


class _NoManagedPolicies:
    """The template names none, so nothing has to be asked of AWS."""

    def load(self) -> dict[str, str]:
        return {}


json.dump(transform(json.load(sys.stdin), {}, _NoManagedPolicies()), sys.stdout)

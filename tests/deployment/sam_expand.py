"""Expands a SAM template as a deployment would; standard input is `{"template": …, "parameters": …}`.

Runs under the SAM CLI's own Python: its translator wants other versions of what we use.
"""

import json
import sys

from samtranslator.translator.transform import transform


class _NoManagedPolicies:
    """The template names none, so nothing has to be asked of AWS."""

    def load(self) -> dict[str, str]:
        return {}


given = json.load(sys.stdin)
json.dump(transform(given["template"], given["parameters"], _NoManagedPolicies()), sys.stdout)

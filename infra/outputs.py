"""Reads a stack's outputs as the SAM CLI lists them: `… | python -m infra.outputs NAME`.

NAME is an output's name. In its place, `change` prints the parameters that a new stack has to be deployed
with once more, or nothing. The user pool wants the page's address, and the API, which has it, wants the user
pool's client. And what is protected against deletion can't be removed, should the first deployment fail.
"""

import json
import sys

from infra.template import TEMPLATE


def read(outputs: str) -> dict[str, str]:
    """Name → value, of the outputs as the SAM CLI prints them."""
    return {output["OutputKey"]: output["OutputValue"] for output in json.loads(outputs)}


def change(outputs: dict[str, str]) -> str:
    """What a new stack is deployed with once more, as `--parameter-overrides` takes it."""
    parameters = []
    if outputs.get("SignInReturn") == "nowhere yet":
        parameters.append(f"PageUrl={outputs['ApiUrl']}")
    if outputs.get("Protection") == "later":
        parameters.append("Protection=yes")
    return " ".join(parameters)


def main() -> None:
    (asked,) = sys.argv[1:]
    outputs = read(sys.stdin.read())
    if asked == "change":
        print(change(outputs))
    elif asked in outputs:
        print(outputs[asked])
    else:
        known = ", ".join(sorted(outputs)) or "none"
        sys.exit(f"the stack has no output {asked} ({known}); is it the stack of {TEMPLATE.name}?")


if __name__ == "__main__":
    main()

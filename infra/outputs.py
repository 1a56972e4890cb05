"""Reads a stack's outputs as the SAM CLI lists them: `… | python -m infra.outputs NAME`.

NAME is an output's name. In its place, `change` prints the parameters that a new stack has to be deployed
with once more, or nothing. The user pool wants the page's address, and the API, which has it, wants the user
pool's client. And what is protected against deletion can't be removed, should the first deployment fail.
"""

import json
import sys
import tomllib
from pathlib import Path

import boto3
from botocore.exceptions import ClientError

from infra.template import TEMPLATE

CONFIGURATION = Path(__file__).parent.parent / "samconfig.toml"


def stack_names(environment: str, configuration: Path = CONFIGURATION) -> tuple[str, str]:
    """The names of an environment's two stacks, the agents' first. Raises KeyError where there are none."""
    sections = tomllib.loads(configuration.read_text("utf-8"))
    agents, core = (
        str(sections[name]["global"]["parameters"]["stack_name"])
        for name in (f"{environment}-agent", environment)
    )
    return agents, core


def of_stack(name: str) -> dict[str, str]:
    """Name → value, of the stack in the account and Region of the environment; none where it is not there."""
    try:
        (stack,) = boto3.client("cloudformation").describe_stacks(StackName=name)["Stacks"]
    except ClientError as refusal:
        if refusal.response["Error"]["Code"] == "ValidationError":  # "does not exist", in the API's model
            return {}
        raise
    return {output["OutputKey"]: output["OutputValue"] for output in stack.get("Outputs", [])}


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

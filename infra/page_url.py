"""Tells `make deploy` whether sign-in has to be told yet where the page is: `… | python -m infra.page_url`.

The user pool wants the page's address and the API wants the user pool's client, so a new stack is deployed
twice. Reads the stack's outputs as `sam list stack-outputs --output json` prints them, and prints the
parameter to deploy with; nothing where sign-in knows its way back, or is not the stack's.
"""

import json
import sys


def change(outputs: str) -> str:
    values = {output["OutputKey"]: output["OutputValue"] for output in json.loads(outputs)}
    return f"PageUrl={values['ApiUrl']}" if values.get("SignInReturn") == "nowhere yet" else ""


if __name__ == "__main__":
    print(change(sys.stdin.read()))

"""Removes a deployed stack and what outlives it: `python -m infra.destroy --environment default`.

The stack of agents goes first, then the other, and at last the table, the user pool and the bucket of failed
changes, which CloudFormation keeps. Nothing is touched before the stack's name was typed. Protection against
deletion is lifted when the stack is gone, so a stack that can't be removed keeps its protection.
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import ClientError, WaiterError

from infra import export
from infra.outputs import stack_names


def what_outlives(client: Any, stack: str) -> dict[str, str]:
    """Type of a resource that CloudFormation keeps → its id or name. Raises ClientError for no such stack."""
    pages = client.get_paginator("list_stack_resources").paginate(StackName=stack)
    return {
        resource["ResourceType"]: resource["PhysicalResourceId"]
        for page in pages
        for resource in page["StackResourceSummaries"]
        if resource["ResourceType"] in REMOVE and resource["ResourceStatus"] != "DELETE_COMPLETE"
    }


def remove_stack(client: Any, stack: str) -> None:
    """Deletes the stack and waits for it; nothing where there is none."""
    client.delete_stack(StackName=stack)
    client.get_waiter("stack_delete_complete").wait(StackName=stack)


def remove_table(name: str) -> None:
    client = boto3.client("dynamodb")
    if client.describe_table(TableName=name)["Table"].get("DeletionProtectionEnabled"):
        client.update_table(TableName=name, DeletionProtectionEnabled=False)
        client.get_waiter("table_exists").wait(TableName=name)
    client.delete_table(TableName=name)


def remove_pool(pool: str) -> None:
    client = boto3.client("cognito-idp")
    if client.describe_user_pool(UserPoolId=pool)["UserPool"].get("DeletionProtection") == "ACTIVE":
        client.update_user_pool(UserPoolId=pool, DeletionProtection="INACTIVE")
    client.delete_user_pool(UserPoolId=pool)


def remove_bucket(name: str) -> None:
    bucket = boto3.resource("s3").Bucket(name)
    bucket.objects.all().delete()
    bucket.delete()


REMOVE: Mapping[str, Callable[[str], None]] = {
    "AWS::DynamoDB::Table": remove_table,
    "AWS::Cognito::UserPool": remove_pool,
    "AWS::S3::Bucket": remove_bucket,
}


def destroy(
    agents: str,
    stack: str,
    *,
    keep: bool = False,
    export_to: Path | None = None,
    ask: Callable[[str], str] = input,
    say: Callable[[str], None] = print,
) -> bool:
    """Whether it was done: False where the person did not type the stack's name.

    `keep` leaves table, pool and bucket behind, protected as they are. `export_to` is a new file for every
    item of the table. Raises FileExistsError where it exists; ClientError or WaiterError where AWS refuses.
    """
    client = boto3.client("cloudformation")
    outliving = what_outlives(client, stack)
    for kind, name in outliving.items():
        say(f"{'Kept' if keep else 'REMOVED FOR GOOD'}: {kind} {name}")
    if ask(f"Type {stack} to remove this stack and {agents}: ") != stack:
        return False
    if export_to is not None:
        table = outliving.get("AWS::DynamoDB::Table")
        with export_to.open("x", encoding="utf-8") as file:
            for item in export.everything(boto3.client("dynamodb"), table) if table else ():
                file.write(export.text(item) + "\n")
        say(f"Exported to {export_to}")
    for name in (agents, stack):
        remove_stack(client, name)
        say(f"Removed the stack {name}")
    if not keep:
        for kind, name in outliving.items():
            try:
                REMOVE[kind](name)
            except ClientError as refusal:  # the first deployment failed: CloudFormation has removed it
                if refusal.response["Error"]["Code"] not in ("ResourceNotFoundException", "NoSuchBucket"):
                    raise
            say(f"Removed {kind} {name}")
    return True


def main() -> int:
    parser = argparse.ArgumentParser("python -m infra.destroy", description="Remove a deployed stack.")
    parser.add_argument("--environment", default="default", help="whose sections of samconfig.toml (default)")
    parser.add_argument("--keep", action="store_true", help="leave table, user pool and bucket behind")
    parser.add_argument("--export", type=Path, help="first write every item of the table to this new file")
    given = parser.parse_args()
    try:
        done = destroy(*stack_names(given.environment), keep=given.keep, export_to=given.export)
    except KeyError:
        print(f"samconfig.toml has no stacks for the environment {given.environment}", file=sys.stderr)
        return 1
    except (ClientError, WaiterError, FileExistsError) as refusal:
        print(f"stopped: {refusal}", file=sys.stderr)
        return 1
    if not done:
        print("Nothing was removed.")
    return 0 if done else 1


if __name__ == "__main__":
    sys.exit(main())

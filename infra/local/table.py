"""The table of the local stack and of the tests: the template's, on any engine."""

from typing import TYPE_CHECKING

from preferences.testing.engine import PRETENDED, embedded_engine

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from infra.template import Template

__all__ = ["PRETENDED", "create_table", "embedded_engine"]


def create_table(client: "DynamoDBClient", template: "Template", name: str) -> bool:
    """Creates the template's table; False when there is one of that name already."""
    try:
        client.create_table(TableName=name, **template.table)
    except client.exceptions.ResourceInUseException:
        return False
    return True

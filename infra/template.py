"""Reads template.yaml, so that what runs here and in tests is what would be deployed."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

TEMPLATE = Path(__file__).parent.parent / "template.yaml"
AGENT_TEMPLATE = TEMPLATE.with_name("agent.yaml")

STACK_NAME = "preferences"
"""What `AWS::StackName` stands for here."""


@dataclass(frozen=True)
class Function:
    """One Lambda function: its logical id, `module.name` of its handler, seconds, MB, environment."""

    name: str
    handler: str
    timeout: int
    memory: int
    environment: Mapping[str, str]


@dataclass(frozen=True)
class Route:
    """One route of the HTTP API; `function` is the logical id of what answers it."""

    method: str
    path: str
    function: str
    authorized: bool

    @property
    def key(self) -> str:
        """What API Gateway calls the route: `GET /threads/{thread_id}`."""
        return f"{self.method} {self.path}"


class _Absent:
    """The value of `AWS::NoValue`: whatever holds it leaves it out."""


_ABSENT = _Absent()


class _Loader(yaml.CSafeLoader):
    """In C, which every wheel of PyYAML brings: tests read the templates often."""


def _short_tag(loader: _Loader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    """`!Ref x` means `{Ref: x}`, and every other `!Name x` means `{Fn::Name: x}`."""
    value: Any
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        assert isinstance(node, yaml.MappingNode)
        value = loader.construct_mapping(node, deep=True)
    if suffix == "GetAtt" and isinstance(value, str):
        value = value.split(".", 1)
    return {suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}": value}


_Loader.add_multi_constructor("!", _short_tag)


def _called(uri: dict[str, str]) -> str:
    """The logical id of the function that a route calls."""
    (name,) = re.findall(r"\$\{(\w+)\.Arn\}", uri["Fn::Sub"])
    return str(name)


def _parameter(name: str, declared: Mapping[str, Any], given: str | None) -> Any:
    """The parameter's value. Raises ValueError where CloudFormation would refuse the one that is given."""
    value: Any = declared["Default"] if given is None else given
    items: list[Any] = [value]
    if declared["Type"] == "CommaDelimitedList":
        items = [part.strip() for part in str(value).split(",")] if value else []
        value = items
    elif declared["Type"] == "Number":
        value = int(value)
        if value < declared.get("MinValue", value) or value > declared.get("MaxValue", value):
            raise ValueError(f"{name}: {value} is out of bounds")
    pattern = declared.get("AllowedPattern")
    allowed = [str(one) for one in declared.get("AllowedValues", [])]
    for item in items:
        if pattern and not re.fullmatch(pattern, str(item)):
            reason = declared.get("ConstraintDescription", f"must match {pattern}")
            raise ValueError(f"{name}: {str(item)!r} {reason}")
        if allowed and str(item) not in allowed:
            raise ValueError(f"{name}: {str(item)!r} must be one of {', '.join(allowed)}")
    return value


class Template:
    """The template as written (`raw`), and what of it has a meaning without a cloud.

    `parameters` override the defaults; `references` say what a `Ref` to a resource stands for here. Raises
    ValueError for a parameter that the template does not have, or a value that it does not allow.
    """

    def __init__(
        self,
        path: Path = TEMPLATE,
        parameters: Mapping[str, str] | None = None,
        references: Mapping[str, str] | None = None,
    ) -> None:
        self.path = path
        self.raw: dict[str, Any] = yaml.load(path.read_text("utf-8"), _Loader)
        self.resources: dict[str, dict[str, Any]] = self.raw["Resources"]
        declared: dict[str, dict[str, Any]] = self.raw.get("Parameters", {})
        if unknown := set(parameters or {}) - set(declared):
            raise ValueError(f"the template has no parameter {', '.join(sorted(unknown))}")
        self._references: dict[str, Any] = {
            "AWS::NoValue": _ABSENT,
            "AWS::StackName": STACK_NAME,
            **(references or {}),
        }
        for name, parameter in declared.items():
            given = (parameters or {}).get(name)
            if given is not None or "Default" in parameter:
                self._references[name] = _parameter(name, parameter, given)

    def of_type(self, kind: str) -> dict[str, dict[str, Any]]:
        """The resources of one type, by logical id."""
        return {name: body for name, body in self.resources.items() if body["Type"] == kind}

    def the(self, kind: str) -> tuple[str, dict[str, Any]]:
        """The one resource of a type: its logical id and its properties as written."""
        ((name, body),) = self.of_type(kind).items()
        return name, body["Properties"]

    def resolve(self, value: Any) -> Any:
        """The value with its intrinsic functions worked out; raises LookupError where that needs a cloud."""
        if isinstance(value, list):
            items = [self.resolve(item) for item in value]
            return [item for item in items if item is not _ABSENT]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            ((name, argument),) = value.items()
            if name == "Ref":
                if argument not in self._references:
                    raise LookupError(f"nothing says what !Ref {argument} stands for")
                return self._references[argument]
            if name == "Condition":
                return self._condition(argument)
            if name.startswith("Fn::"):
                return self._function(name.removeprefix("Fn::"), argument)
        resolved = {key: self.resolve(item) for key, item in value.items()}
        return {key: item for key, item in resolved.items() if item is not _ABSENT}

    def _condition(self, name: str) -> bool:
        return bool(self.resolve(self.raw["Conditions"][name]))

    def _function(self, name: str, argument: Any) -> Any:
        match name, argument:
            case "If", [condition, then, otherwise]:
                return self.resolve(then if self._condition(condition) else otherwise)
            case "Equals", [one, other]:
                return self.resolve(one) == self.resolve(other)
            case "Not", [only]:
                return not self.resolve(only)
            case "And", [*all_of]:
                return all(self.resolve(item) for item in all_of)
            case "Or", [*any_of]:
                return any(self.resolve(item) for item in any_of)
            case "Join", [separator, items]:
                return str(separator).join(str(item) for item in self.resolve(items))
        raise LookupError(f"!{name} needs a cloud")

    @property
    def functions(self) -> dict[str, Function]:
        """The Lambda functions by logical id; environment variables that need a cloud are left out."""
        shared: dict[str, Any] = self.raw.get("Globals", {}).get("Function", {})
        found = {}
        for name, body in self.of_type("AWS::Serverless::Function").items():
            own = {**shared, **body["Properties"]}
            variables = {
                key: value
                for part in (shared, body["Properties"])
                for key, value in part.get("Environment", {}).get("Variables", {}).items()
            }
            environment = {}
            for key, value in variables.items():
                try:
                    environment[key] = str(self.resolve(value))
                except LookupError:
                    continue
            found[name] = Function(
                name,
                own["Handler"],
                int(self.resolve(own["Timeout"])),
                int(self.resolve(own["MemorySize"])),
                environment,
            )
        return found

    @property
    def routes(self) -> list[Route]:
        """The HTTP API's routes, as written."""
        _, api = self.the("AWS::Serverless::HttpApi")
        return [
            Route(
                method.upper(),
                path,
                _called(operation["x-amazon-apigateway-integration"]["uri"]),
                bool(operation.get("security")),
            )
            for path, operations in api["DefinitionBody"]["paths"].items()
            for method, operation in operations.items()
        ]

    @property
    def cors(self) -> dict[str, Any]:
        """The HTTP API's CORS configuration; empty where pages of other origins may not call."""
        _, api = self.the("AWS::Serverless::HttpApi")
        name = "x-amazon-apigateway-cors"
        resolved: dict[str, Any] = self.resolve({name: api["DefinitionBody"].get(name, {})})
        return {key[0].upper() + key[1:]: value for key, value in resolved.get(name, {}).items()}

    @property
    def table(self) -> dict[str, Any]:
        """The table as the arguments of `CreateTable`, without its name."""
        _, table = self.the("AWS::DynamoDB::Table")
        names = ("BillingMode", "AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes")
        arguments: dict[str, Any] = self.resolve({name: table[name] for name in names})
        arguments["StreamSpecification"] = {"StreamEnabled": True, **table["StreamSpecification"]}
        return arguments

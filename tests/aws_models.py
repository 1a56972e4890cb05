"""What AWS's own models of its APIs have against a request; no AWS is asked."""

from functools import cache

import boto3
import regex  # knows \p{L}, which AWS's patterns use
from botocore.validate import ParamValidator


@cache
def input_shape(service, operation):
    return boto3.client(service).meta.service_model.operation_model(operation).input_shape


def refusals(service, operation, request) -> list[str]:
    """What the model of an AWS API has against a request, in sentences; none where it accepts it."""
    shape = input_shape(service, operation)
    report = ParamValidator().validate(request, shape)
    return [report.generate_report()] * report.has_errors() + list(_out_of_bounds(request, shape, operation))


def _out_of_bounds(value, shape, place):
    """Bounds, patterns and enums, which botocore leaves to the service."""
    if shape.type_name == "structure" and not getattr(shape, "is_document_type", False):
        for name in value.keys() & shape.members.keys():
            yield from _out_of_bounds(value[name], shape.members[name], f"{place}.{name}")
    elif shape.type_name == "list":
        for n, inner in enumerate(value):
            yield from _out_of_bounds(inner, shape.member, f"{place}[{n}]")
    elif shape.type_name == "map":
        for name, inner in value.items():
            yield from _out_of_bounds(name, shape.key, f"{place} key")
            yield from _out_of_bounds(inner, shape.value, f"{place}[{name}]")
    elif shape.type_name == "string":
        pattern, most = shape.metadata.get("pattern"), shape.metadata.get("max")
        if pattern and not regex.fullmatch(pattern, value):
            yield f"{place}: {value!r} is not {pattern}"
        if most and len(value) > most:
            yield f"{place}: {len(value)} characters, {most} fit"
        if shape.enum and value not in shape.enum:
            yield f"{place}: {value!r} is none of {shape.enum}"

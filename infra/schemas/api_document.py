"""The OpenAPI 3.1 document of the people's handler, rendered from the table of routes."""

import inspect
import json
import re
from collections.abc import Iterator
from typing import Any

from pydantic import ConfigDict, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from preferences.api import files, views
from preferences.api.http import DEFAULT_PAGE, MAX_BODY, MAX_PAGE
from preferences.api.problems import MEDIA_TYPE, TITLES
from preferences.api.routes import ROUTES, Route
from preferences.model import MAX_SUBTITLE, MAX_TITLE, THREAD_ID

Json = dict[str, Any]

_DESCRIPTION = """\
The people's half of a preference store for conversational agents: what a panel beside the conversation needs.

Every change answers with the fresh list. Rows carry a `revision`; send it as `If-Match` with an edit or a \
removal, and a newer row is never overwritten unseen. Texts are NFC-normalised and trimmed, and their bounds \
are counted after that. Errors are problem details (RFC 9457); they never repeat what was sent. API Gateway \
answers some requests before they reach the service: 401, 404, 429 and its own 5xx are then `{"message"}`.

This is version 1: things are added to it, nothing is taken away."""

_PARAMETERS: dict[str, Json] = {
    "thread_id": {
        "description": "The thread (conversation).",
        "schema": {"type": "string", "pattern": f"^{THREAD_ID.pattern}$"},
    },
    "id": {
        "description": "The `id` of a row or a suggestion, as the list shows it.",
        "schema": {"type": "string", "minLength": 1},
    },
    "revision": {
        "description": "The `revision` of a change, as the history shows it.",
        "schema": {"type": "integer", "minimum": 1},
    },
    "file": {"description": "The file's name.", "schema": {"type": "string", "minLength": 1}},
    "version": {"description": "As the page names it.", "schema": {"type": "string", "minLength": 1}},
    "limit": {
        "description": "How many elements a page holds at most.",
        "schema": {"type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": DEFAULT_PAGE},
    },
    "cursor": {
        "description": "`next` of the page before. Opaque, and good for this list only.",
        "schema": {"type": "string"},
    },
    "If-Match": {
        "description": 'The `revision` of the row as it was seen, in quotes: `"7"`. Several tags, or `*`.',
        "schema": {"type": "string"},
    },
    "If-None-Match": {
        "description": "The `ETag` of an answer: 304, without a body, while it still holds.",
        "schema": {"type": "string"},
    },
}

_HEADERS: dict[str, Json] = {
    "ETag": {
        "description": "For If-None-Match; of an answer about one row, the row's, for If-Match.",
        "schema": {"type": "string"},
    },
    "Location": {"description": "The new thread, relative to this address.", "schema": {"type": "string"}},
    "Retry-After": {"description": "Seconds to wait before trying again.", "schema": {"type": "integer"}},
    "WWW-Authenticate": {"description": "`Bearer`.", "schema": {"type": "string"}},
}

_ANSWERS = {200: "As it stands now.", 201: "Something new was stored.", 204: "Done.", 304: "Still as it was."}

_REFUSALS = {
    400: "The body is missing, or not JSON with exactly one reading.",
    401: "No access token of a signed-in user.",
    404: "No such thread, row or change, or not the caller's: the two look the same.",
    409: "What is stored already is in the way: `code` says what.",
    412: "The row has changed since: `current` is the present one. Nothing was changed.",
    413: f"The body has more than {MAX_BODY} bytes.",
    415: "The body is not sent as application/json.",
    422: "What was sent does not fit: `errors` says where, and what to send instead.",
    429: "Too many requests: API Gateway's own answer.",
    500: "A fault of the service. Its log knows more.",
    503: (
        "Busy or not ready (nothing was changed), or a write's outcome is unknown "
        "(`preferences` is the present list)."
    ),
}
_BY_GATEWAY_TOO = frozenset({401, 404, 500, 503})


def document_text() -> str:
    """The document as it is served and as it is committed."""
    return json.dumps(document(), ensure_ascii=False, indent=2) + "\n"


def document() -> Json:
    paths: Json = {}
    for route in ROUTES.values():
        method, path = route.key.split(" ")
        paths.setdefault(path, {})[method.lower()] = _operation(route, path)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Preferences",
            "version": "1",
            "summary": "A preference store for conversational agents: the people's handler",
            "description": _DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "bearerFormat": "JWT",
                    "description": "An access token of the issuer that `/config.json` names.",
                }
            },
            "headers": _HEADERS,
            "schemas": _schemas(),
        },
    }


def _operation(route: Route, path: str) -> Json:
    summary, _, description = (inspect.getdoc(route.function) or "").partition("\n\n")
    operation: Json = {"operationId": route.function.__name__, "summary": summary}
    if description:
        operation["description"] = description
    if route.public:
        operation["security"] = []
    if parameters := list(_parameters(route, path)):
        operation["parameters"] = parameters
    if route.takes:
        operation["requestBody"] = {"required": True, "content": {"application/json": _schema(route.takes)}}
    answers = {status: _answer(route, status, content) for status, content in route.gives.items()}
    refusals = {status: _refusal(status) for status in _statuses(route, path)}
    operation["responses"] = {str(status): answer for status, answer in sorted((answers | refusals).items())}
    return operation


def _parameters(route: Route, path: str) -> Iterator[Json]:
    places = [(name, "path") for name in re.findall(r"\{(\w+)\}", path)]
    if route.paged:
        places += [("limit", "query"), ("cursor", "query")]
    if route.if_match:
        places.append(("If-Match", "header"))
    if route.if_none_match:
        places.append(("If-None-Match", "header"))
    for name, place in places:
        yield {"name": name, "in": place, "required": place == "path", **_PARAMETERS[name]}


def _statuses(route: Route, path: str) -> set[int]:
    """Every refusal that can come of this route."""
    statuses = {429, 500, 503, *route.refuses}  # 503 also by API Gateway, in front of what is public
    if not route.public:
        statuses.add(401)
    if "{thread_id}" in path:
        statuses.add(404)
    if route.takes:
        statuses |= {400, 413, 415, 422}
    if route.paged:
        statuses.add(422)
    if route.if_match:
        statuses |= {412, 422}
    return statuses


def _answer(route: Route, status: int, content: object) -> Json:
    answer: Json = {"description": _ANSWERS[status]}
    headers = []
    lists = content in (views.Listing, views.ListingWithOutcomes)
    if route.if_none_match or (lists and route.key != "DELETE /threads/{thread_id}/preferences/{id}"):
        headers.append("ETag")
    if route.key == "POST /threads":
        headers.append("Location")
    if headers:
        answer["headers"] = {name: {"$ref": f"#/components/headers/{name}"} for name in headers}
    if content == "*/*":
        answer["content"] = {media_type: {} for media_type in sorted(files.MEDIA_TYPES.values())}
    elif isinstance(content, str):
        answer["content"] = {content: {}}
    elif content is not None:
        answer["content"] = {"application/json": _schema(content)}
    return answer


def _refusal(status: int) -> Json:
    refusal: Json = {"description": _REFUSALS[status], "content": {}}
    if status in TITLES:
        refusal["content"][MEDIA_TYPE] = _schema(views.Problem)
    if status in _BY_GATEWAY_TOO or status not in TITLES:
        refusal["content"]["application/json"] = _schema(views.GatewayMessage)
    header = {401: "WWW-Authenticate", 503: "Retry-After"}.get(status)
    if header:
        refusal["headers"] = {header: {"$ref": f"#/components/headers/{header}"}}
    return refusal


def _schema(of: Any) -> Json:
    return {"schema": {"$ref": f"#/components/schemas/{of.__name__}"}}


class _Generator(GenerateJsonSchema):
    def field_title_should_be_set(self, schema: Any) -> bool:
        return False  # a field's name again, capitalised


def _schemas() -> Json:
    """The schemas of all bodies, by the names of their types."""
    types: dict[Any, None] = {views.Problem: None, views.GatewayMessage: None}
    for route in ROUTES.values():
        bodies = [route.takes, *route.gives.values()]
        types |= {body: None for body in bodies if body is not None and not isinstance(body, str)}
    every: Any = tuple[*types]  # type: ignore[valid-type]
    schemas: Json = TypeAdapter(every, config=ConfigDict(use_attribute_docstrings=True)).json_schema(
        ref_template="#/components/schemas/{model}", schema_generator=_Generator
    )["$defs"]
    _add_what_only_validators_know(schemas)
    return dict(sorted(schemas.items()))


def _add_what_only_validators_know(schemas: Json) -> None:
    title = {"minLength": 1, "maxLength": MAX_TITLE, "pattern": r"\S"}
    subtitle = {"maxLength": MAX_SUBTITLE}
    schemas["ThreadTitle"]["properties"]["title"]["anyOf"][0] |= title
    draft, edit = schemas["Draft"]["properties"], schemas["Edit"]["properties"]
    draft["title"] |= title
    edit["title"] |= title
    draft["subtitle"]["anyOf"][0] |= subtitle
    edit["subtitle"]["anyOf"][0] |= subtitle
    draft["kind"] |= {"type": ["string", "null"], "enum": ["hard", "soft", None]}
    # What an edit leaves out stays as it is: the defaults are never written.
    for field in edit.values():
        field.pop("default", None)
    schemas["Edit"]["minProperties"] = 1

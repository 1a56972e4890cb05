"""Expected exceptions as problem details (RFC 9457), by one table from class to status."""

from collections.abc import Mapping

from preferences.api import views
from preferences.api.http import Response, TooLarge, Unauthorized, UnsupportedMediaType, json_response
from preferences.errors import (
    Conflict,
    InvalidInput,
    InvalidJson,
    NotFound,
    OutcomeUnknown,
    PreconditionFailed,
    PreferencesError,
    RowConflict,
    SuggestionNotFound,
    Unavailable,
)

STATUS: Mapping[type[PreferencesError], int] = {
    InvalidJson: 400,
    Unauthorized: 401,
    NotFound: 404,
    Conflict: 409,
    PreconditionFailed: 412,
    TooLarge: 413,
    UnsupportedMediaType: 415,
    InvalidInput: 422,
    Unavailable: 503,
}
"""The nearest class in a refusal's method resolution order decides."""

TITLES = {
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    409: "Conflict",
    412: "Precondition Failed",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    422: "Unprocessable Content",
    500: "Internal Server Error",
    503: "Service Unavailable",
}

MEDIA_TYPE = "application/problem+json"

_HEADERS = {401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": "1"}}
_MAX_FAULTS = 50


class NoSuchRoute(NotFound):
    message = "no such route"


def status_of(refusal: type[PreferencesError]) -> int:
    return next(STATUS[ancestor] for ancestor in refusal.__mro__ if ancestor in STATUS)


def refusal_response(refusal: PreferencesError) -> Response:
    status = status_of(type(refusal))
    detail, revision = str(refusal), None
    members: dict[str, object] = {}
    match refusal:
        case InvalidJson():
            pass
        case InvalidInput():
            detail = "the request does not fit: `errors` says where, and what to send instead"
            faults = refusal.errors[:_MAX_FAULTS]
            members["errors"] = [{"field": fault.field, "message": fault.message} for fault in faults]
        case PreconditionFailed(thread=thread, current=current):
            revision = thread.revision
            members["current"] = views.row(thread, current)
        case RowConflict(rows=rows):
            members["conflicts"] = [{"id": row.id, "title": row.title, "reason": row.reason} for row in rows]
        case OutcomeUnknown(thread=thread) | SuggestionNotFound(thread=thread) if thread is not None:
            revision = thread.revision
            members["preferences"] = views.rows(thread)
            members["suggestions"] = views.suggestions(thread)
            members["revision"] = revision
    return _response(status, refusal.code, detail, members, revision)


def fault_response() -> Response:
    """The answer to an unexpected exception: its details stay in the log."""
    return _response(500, "internal_error", "something went wrong on our side: it has been logged", {}, None)


def _response(
    status: int, code: str, detail: str, members: Mapping[str, object], revision: int | None
) -> Response:
    problem = {
        "type": "about:blank",
        "title": TITLES[status],
        "status": status,
        "detail": detail,
        "code": code,
        **members,
    }
    return json_response(status, problem, _HEADERS.get(status), media_type=MEDIA_TYPE, revision=revision)

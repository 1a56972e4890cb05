"""An HTTP API's event (payload 2.0) as a request, and a response as the answer that API Gateway takes.

A request is read on demand, and trusts nothing of the event's shape: what isn't there, or isn't what it
should be, is refused like any other bad request.
"""

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel

from preferences.errors import (
    FieldError,
    InvalidInput,
    InvalidJson,
    PreferenceNotFound,
    PreferencesError,
    ThreadNotFound,
)
from preferences.model import Caller, is_thread_id, is_user_id
from preferences.parsing import parse, strict_json
from preferences.repository import PreferenceRepository, open_repository

Model = TypeVar("Model", bound=BaseModel)

MAX_BODY = 512 * 1024
"""Bytes of a body, decoded. The largest batch fits, also where each character is spelt `\\ud83c\\udf55`."""
MAX_PAGE = 100
DEFAULT_PAGE = 50

_ROW_ID = re.compile(r"[0-9A-Za-z_-]{1,64}")
_REVISION_TAG = re.compile(r'(?<!W/)"(0|[1-9][0-9]{0,14})"(?=\s*(?:,|$))')
_TAGS = re.compile(r'(?:W/)?"[^"]*"(?:\s*,\s*(?:W/)?"[^"]*")*')
_TAG = re.compile(r'(?:W/)?("[^"]*")')


class Unauthorized(PreferencesError):
    code = "unauthorized"
    message = "an access token of a signed-in user is required"


class UnsupportedMediaType(PreferencesError):
    code = "unsupported_media_type"
    message = "the body must be sent as application/json, in UTF-8"


class TooLarge(PreferencesError):
    code = "too_large"
    message = f"a body may hold at most {MAX_BODY} bytes"


@dataclass(frozen=True)
class Request:
    event: Mapping[str, Any]
    seconds_left: Callable[[], float]
    """Seconds until Lambda ends this invocation."""

    @property
    def correlation_id(self) -> str | None:
        found = _inside(self.event, "requestContext", "requestId")
        return found if isinstance(found, str) else None

    @cached_property
    def caller(self) -> Caller:
        """The user that API Gateway's JWT authorizer has verified. Raises Unauthorized.

        Only the claim `sub` says who it is: no header, no query, no body. A token made to be read by the
        client (Cognito's `id` token) is not one to call with; other issuers don't send `token_use`.
        """
        claims = _inside(self.event, "requestContext", "authorizer", "jwt", "claims")
        sub = _inside(claims, "sub")
        if not is_user_id(sub):
            raise Unauthorized
        if _inside(claims, "token_use") not in (None, "access"):
            raise Unauthorized
        return Caller.user(sub)

    @cached_property
    def repository(self) -> PreferenceRepository:
        return open_repository(self.seconds_left)

    @property
    def retries(self) -> int:
        """Tries beyond the first, of reads and writes alike."""
        return self.repository.retries if "repository" in vars(self) else 0

    @cached_property
    def thread_id(self) -> str:
        """Raises ThreadNotFound for what can't be an id, as for an id that is not known."""
        found = self.path("thread_id")
        if not is_thread_id(found):
            raise ThreadNotFound
        return found

    @cached_property
    def preference_id(self) -> str:
        found = self.path("id")
        if not _ROW_ID.fullmatch(found):
            raise PreferenceNotFound
        return found

    def path(self, name: str) -> str:
        """A part of the path, decoded by API Gateway; empty when absent."""
        found = _inside(self.event, "pathParameters", name)
        return found if isinstance(found, str) else ""

    def header(self, name: str) -> str | None:
        return self._headers.get(name)

    @cached_property
    def _headers(self) -> Mapping[str, str]:
        """By name in lower case: API Gateway lower-cases them, other servers may not."""
        found = self.event.get("headers")
        headers = found.items() if isinstance(found, Mapping) else ()
        return {str(name).lower(): value for name, value in headers if isinstance(value, str)}

    def query(self, name: str) -> str | None:
        """A parameter of the query; parameters that nobody asks for are never looked at.

        Read from the raw query, because `queryStringParameters` joins repeated ones with commas.
        Raises InvalidInput when it is given twice.
        """
        found = [value for key, value in self._query if key == name]
        if len(found) > 1:
            raise InvalidInput([FieldError(name, "must be given once")])
        return found[0] if found else None

    @cached_property
    def _query(self) -> list[tuple[str, str]]:
        raw = self.event.get("rawQueryString")
        return parse_qsl(raw, keep_blank_values=True) if isinstance(raw, str) else []

    @property
    def limit(self) -> int:
        """How many elements a page shall hold. Raises InvalidInput."""
        text = self.query("limit")
        if text is None:
            return DEFAULT_PAGE
        if not re.fullmatch("[0-9]{1,3}", text) or not 1 <= int(text) <= MAX_PAGE:
            raise InvalidInput([FieldError("limit", f"must be a whole number from 1 to {MAX_PAGE}")])
        return int(text)

    def cursor(self, kind: str) -> str | None:
        """Where a page starts, out of a cursor that `make_cursor` made for this kind of page.

        None: at the beginning. Raises InvalidInput for a cursor of any other origin.
        """
        text = self.query("cursor")
        if text is None:
            return None
        try:
            place = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
        except ValueError:  # not base64, not UTF-8, not even ASCII
            place = ""
        mark, _, position = place.partition(":")
        if mark != kind or not position or make_cursor(kind, position) != text:
            raise foreign_cursor()
        return position

    def json(self, model: type[Model]) -> Model:
        """The body. Raises UnsupportedMediaType, TooLarge, InvalidJson, InvalidInput."""
        return parse(model, strict_json(self._text()))

    def _text(self) -> str:
        body = self.event.get("body")
        if body is None or body == "":
            raise InvalidJson("a body is required: a JSON object")
        if not _is_json(self.header("content-type") or ""):
            raise UnsupportedMediaType
        try:
            if self.event.get("isBase64Encoded") is True:
                body = binascii.a2b_base64(body, strict_mode=True)
            elif isinstance(body, str):
                body = body.encode()
            if len(body) > MAX_BODY:
                raise TooLarge
            return str(body, "utf-8")
        except (TypeError, ValueError):  # not a text, not base64, not UTF-8
            raise InvalidJson("the body is not UTF-8 text, or not the base64 that it is said to be") from None

    @property
    def if_match(self) -> frozenset[int] | None:
        """The revisions of the row that the caller would write to: one of them must be the present one.

        None: the caller doesn't ask (`*` asks for a row that exists, which every write does). A tag that is
        weak or foreign is none that a row has. Raises InvalidInput for what is no list of tags.
        """
        text = self.header("if-match")
        if text is None or text.strip() == "*":
            return None
        if not _TAGS.fullmatch(text.strip()):
            raise InvalidInput(
                [FieldError("If-Match", 'must be the `revision` of the row in quotes, for example "7"')]
            )
        return frozenset(int(tag[1]) for tag in _REVISION_TAG.finditer(text))

    def has(self, etag: str) -> bool:
        """Whether If-None-Match says that the caller has this already. The weak comparison of RFC 9110."""
        text = self.header("if-none-match") or ""
        return text.strip() == "*" or etag in _TAG.findall(text)

    @property
    def accepts_gzip(self) -> bool:
        wanted = {}
        for part in (self.header("accept-encoding") or "").lower().split(","):
            coding, _, weight = part.partition(";")
            wanted[coding.strip()] = not re.fullmatch(r"\s*q\s*=\s*0(\.0*)?\s*", weight)
        return wanted.get("gzip", wanted.get("*", False))


_ALWAYS = {
    # The text of a row is a stranger's: no browser may guess that it is a page.
    "X-Content-Type-Options": "nosniff",
    # A page at a domain of one's own, which a first visit could otherwise be led to without TLS.
    "Strict-Transport-Security": "max-age=31536000",
}


@dataclass(frozen=True)
class Response:
    status: int
    body: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    is_base64: bool = False
    revision: int | None = None
    """The thread's revision, for the log."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """What was done to rows, by the names of metrics."""

    def as_answer(self) -> dict[str, Any]:
        """What API Gateway takes. A status without a body has none, not an empty one."""
        answer = {
            "statusCode": self.status,
            "headers": {**_ALWAYS, **self.headers},
            "isBase64Encoded": self.is_base64,
        }
        return answer if self.body is None else {**answer, "body": self.body}


def json_response(
    status: int,
    body: object,
    headers: Mapping[str, str] | None = None,
    *,
    media_type: str = "application/json",
    revision: int | None = None,
    counts: Mapping[str, int] | None = None,
) -> Response:
    """Not to be kept by any cache, unless `headers` say otherwise."""
    text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    all_headers = {"Content-Type": media_type, "Cache-Control": "no-store", **(headers or {})}
    return Response(status, text, all_headers, revision=revision, counts=counts or {})


def make_cursor(kind: str, position: str) -> str:
    """An opaque mark of a place in a list, that `Request.cursor` takes back."""
    return base64.urlsafe_b64encode(f"{kind}:{position}".encode()).decode().rstrip("=")


def foreign_cursor() -> InvalidInput:
    """The refusal of a cursor that was not made for this list."""
    return InvalidInput([FieldError("cursor", "must be `next` of a page before, or left out")])


def etag_of(content: bytes) -> str:
    """The strong tag that only these bytes have."""
    return f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def _is_json(content_type: str) -> bool:
    media_type, *parameters = content_type.lower().split(";")
    named = [(name.strip(), value.strip(' "')) for name, _, value in (p.partition("=") for p in parameters)]
    return media_type.strip() == "application/json" and all(v == "utf-8" for n, v in named if n == "charset")


def _inside(value: object, *names: str) -> Any:
    """What lies under these names, one in the other, or None."""
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value

"""The panel: a closed list of files, each packed once, and what the page needs to sign in."""

import base64
import gzip
import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from preferences.api import views
from preferences.api.http import Request, Response, etag_of

ASSETS = Path(__file__).with_name("assets")
PAGE = "index.html"

MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


# Indentation, a documentation comment, and a comment up to the end of its line
_NEEDLESS = re.compile(rb"^[ \t]+|/\*\*(?:[^*]|\*(?!/))*\*/ ?|(?:^|(?<=\s))// .*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Form:
    """The bytes of a file as they are sent, with the tag that only these bytes have."""

    body: str
    etag: str


@dataclass(frozen=True, slots=True)
class File:
    media_type: str
    plain: Form
    packed: Form


def pack(content: bytes, media_type: str) -> File:
    return File(media_type, _form(content), _form(gzip.compress(content, mtime=0)))


def _form(content: bytes) -> Form:
    return Form(base64.b64encode(content).decode(), etag_of(content))


def bare(script: bytes) -> bytes:
    """The script as it is sent, without comments and indentation: a quarter of it. Lines keep their numbers.

    No parser is at work: a test holds what comes out to the program that went in.
    """
    return _NEEDLESS.sub(lambda found: b"\n" * found[0].count(b"\n"), script)


@dataclass(frozen=True, slots=True)
class Assets:
    """Every file of the panel by its name, and a version that changes with any byte of any of them."""

    files: Mapping[str, File]
    version: str


@cache
def assets() -> Assets:
    """The panel as the package has it, read at the first use: its page asks for the files of this version."""
    found = {path.name: path.read_bytes() for path in sorted(ASSETS.iterdir()) if path.suffix in MEDIA_TYPES}
    found = {name: bare(file) if name.endswith(".js") else file for name, file in found.items()}
    digests = b"".join(hashlib.sha256(content).digest() for content in found.values())
    version = hashlib.sha256(digests).hexdigest()[:16]
    if PAGE in found:
        found[PAGE] = found[PAGE].replace(b'"/assets/', f'"/assets/{version}/'.encode())
    return Assets({name: pack(found[name], MEDIA_TYPES[Path(name).suffix]) for name in found}, version)


@cache
def document() -> File:
    """The OpenAPI document of this API. `make schemas` renders it from the routes."""
    return pack(Path(__file__).with_name("openapi.json").read_bytes(), "application/json")


def file_response(file: File, request: Request, *, for_good: bool = False) -> Response:
    """The file, packed where the caller unpacks it; 304 where the caller has it already.

    Caches keep it, and ask each time whether it is still the same; `for_good`, they never ask again.
    """
    form = file.packed if request.accepts_gzip else file.plain
    headers = {
        "Cache-Control": "public, max-age=31536000, immutable" if for_good else "no-cache",
        "Content-Security-Policy": _content_security_policy(),
        "ETag": form.etag,
        "Referrer-Policy": "no-referrer",
        "Vary": "Accept-Encoding",
    }
    if request.has(form.etag):
        return Response(304, headers=headers)
    headers["Content-Type"] = file.media_type
    if form is file.packed:
        headers["Content-Encoding"] = "gzip"
    return Response(200, form.body, headers, is_base64=True)


@cache
def configuration() -> views.Configuration:
    return {
        "authorize_url": os.environ.get("SIGN_IN_AUTHORIZE_URL") or None,
        "token_url": os.environ.get("SIGN_IN_TOKEN_URL") or None,
        "client_id": os.environ.get("SIGN_IN_CLIENT_ID") or None,
        "scope": os.environ.get("SIGN_IN_SCOPE") or None,
        "audience": os.environ.get("SIGN_IN_AUDIENCE") or None,
        "sign_out_url": os.environ.get("SIGN_OUT_URL") or None,
        "redirect_path": "/",
        "agent_console": os.environ.get("AGENT_CONSOLE_PATH") or None,
    }


@cache
def _content_security_policy() -> str:
    """Scripts and styles from here alone, none of them inline; connections to here and to the sign-in."""
    connect = "'self'"
    if url := configuration()["token_url"]:
        parts = urlsplit(url)
        connect = f"'self' {parts.scheme}://{parts.netloc}"
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        f"connect-src {connect}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )

"""A Gateway with IAM before the local one: who has not signed with SigV4 is refused. It may lose calls."""

import contextlib
import hashlib
import hmac
import http.client
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

SECRET = "x"  # what examples/backend.py has for this machine
SERVICE = "bedrock-agentcore"


def signature(method, path, headers, body) -> str | None:
    """The signature that the request has to bear, by AWS's documentation of SigV4; None where it bears none.

    `headers` are those received, names in lower case.
    """
    pattern = (
        rf"AWS4-HMAC-SHA256 Credential=[^/]+/(\d+)/([^/]+)/{SERVICE}/aws4_request, SignedHeaders=([^,]+), "
    )
    found = re.match(pattern, headers.get("authorization", ""))
    if found is None:
        return None
    day, region, signed = found.groups()
    canonical = [
        method,
        path,
        "",
        *(f"{name}:{headers[name].strip()}" for name in signed.split(";")),
        "",
        signed,
    ]
    request = "\n".join([*canonical, hashlib.sha256(body).hexdigest()])
    scope = f"{day}/{region}/{SERVICE}/aws4_request"
    text = "\n".join(
        ["AWS4-HMAC-SHA256", headers["x-amz-date"], scope, hashlib.sha256(request.encode()).hexdigest()]
    )
    key = f"AWS4{SECRET}".encode()
    for part in (day, region, SERVICE, "aws4_request", text):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key.hex()


@contextlib.contextmanager
def signed_gateway(gateway: str, *, loses: str = "") -> Iterator[str]:
    """The URL of a Gateway that hands what is signed on to the one at `gateway`.

    Calls of tools get no answer, but a closed connection, where the thread's id begins with `loses`.
    """
    there = urlsplit(gateway)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            wanted = signature(self.command, self.path, headers, body)
            if wanted is None or not headers["authorization"].endswith(f"Signature={wanted}"):
                self._answer(403, "application/json", b'{"message": "Forbidden"}')
                return
            if loses and b'"tools/call"' in body and headers["x-thread-id"].startswith(loses):
                self.close_connection = True
                return
            connection = http.client.HTTPConnection(there.netloc, timeout=30)
            try:
                connection.request(self.command, there.path, body or None, headers | {"host": there.netloc})
                answer = connection.getresponse()
                self._answer(answer.status, answer.headers["content-type"] or "text/plain", answer.read())
            finally:
                connection.close()

        do_GET = do_DELETE = do_POST  # noqa: N815, as http.server has it

        def _answer(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}{there.path}"
    finally:
        server.shutdown()
        server.server_close()

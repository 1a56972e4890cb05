"""A proxy in front of an engine that fails as networks and services do: beneath boto3, on a real socket.

It does to the requests of an operation, one by one, what `fail` says; others pass.
"""

import contextlib
import http.client
import json
import socket
import struct
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

Answer = tuple[int, dict[str, str], bytes]
Fault = Callable[["Exchange"], None]


@dataclass
class Exchange:
    """One request on its way: `forward` has the engine answer it, `answer` and `cut` end it."""

    handler: BaseHTTPRequestHandler
    operation: str
    body: bytes
    upstream: Callable[[dict[str, str], bytes], Answer]

    def forward(self) -> Answer:
        return self.upstream(dict(self.handler.headers), self.body)

    def answer(self, status: int, headers: dict[str, str], body: bytes, *, length: int | None = None) -> None:
        self.handler.send_response(status)
        for name, value in headers.items():
            if name.lower() not in ("content-length", "connection", "date", "server", "transfer-encoding"):
                self.handler.send_header(name, value)
        self.handler.send_header("Content-Length", str(len(body) if length is None else length))
        self.handler.end_headers()
        self.handler.wfile.write(body)

    def cut(self) -> None:
        """Resets the connection, as a peer does that is gone."""
        self.handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.handler.close_connection = True
        self.handler.connection.close()


class FaultProxy:
    """`url` is where it listens; `seen` counts requests, by operation; `bodies` holds them as they came."""

    def __init__(self, upstream: Callable[[dict[str, str], bytes], Answer]) -> None:
        self.seen: Counter[str] = Counter()
        self.bodies: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self.failed = 0
        """How many requests have met a fault, of all that there ever were."""
        self.connections = 0
        self._faults: dict[str, deque[Fault]] = {}
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # headers and body go out apart, and would wait for each other

            def setup(self) -> None:
                proxy.connections += 1
                super().setup()

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                operation = self.headers["X-Amz-Target"].rpartition(".")[2]
                proxy.bodies[operation].append(json.loads(body))
                exchange = Exchange(self, operation, body, upstream)
                # The client may be gone by the time that it is answered.
                with contextlib.suppress(BrokenPipeError, ConnectionResetError, TimeoutError):
                    proxy._fault(operation)(exchange)

            def log_message(self, *_: Any) -> None:
                pass

            def finish(self) -> None:
                with contextlib.suppress(OSError, ValueError):
                    super().finish()

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def fail(self, operation: str, *faults: Fault) -> None:
        """The next requests of an operation meet these faults, one each; nothing is left of earlier ones."""
        self._faults[operation] = deque(faults)

    def clear(self) -> None:
        self._faults.clear()
        self.seen.clear()
        self.bodies.clear()
        self.connections = 0

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _fault(self, operation: str) -> Fault:
        self.seen[operation] += 1
        if not (waiting := self._faults.get(operation)):
            return passes
        self.failed += 1
        return waiting.popleft()


def over_moto(headers: dict[str, str], body: bytes) -> Answer:
    """This process's moto."""
    from botocore.awsrequest import AWSPreparedRequest
    from botocore.compat import HTTPHeaders
    from moto.core.models import botocore_stubber

    url = "https://dynamodb.eu-west-1.amazonaws.com/"
    request = AWSPreparedRequest("POST", url, HTTPHeaders.from_dict(headers), body, stream_output=False)
    answer = botocore_stubber.process_request(request)
    assert answer is not None
    status, answered, text = answer
    return status, {k: str(v) for k, v in answered.items()}, text.encode() if isinstance(text, str) else text


def over_http(endpoint: str) -> Callable[[dict[str, str], bytes], Answer]:
    """An engine that listens at `endpoint`."""

    def forward(headers: dict[str, str], body: bytes) -> Answer:
        connection = http.client.HTTPConnection(urlsplit(endpoint).netloc, timeout=10)
        try:
            connection.request("POST", "/", body, headers)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    return forward


# -- faults ---------------------------------------------------------------------------------------------


def passes(exchange: Exchange) -> None:
    exchange.answer(*exchange.forward())


def error(status: int, code: str, *, after: bool = False, **more: Any) -> Fault:
    """The engine's own error; `after`: though the request was applied."""
    body = json.dumps({"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "no", **more})

    def fault(exchange: Exchange) -> None:
        if after:
            exchange.forward()
        exchange.answer(status, {"Content-Type": "application/x-amz-json-1.0"}, body.encode())

    return fault


def says(status: int, body: bytes, *, after: bool = True) -> Fault:
    """Something else says this in the engine's place; `after`: and the request was applied."""

    def fault(exchange: Exchange) -> None:
        if after:
            exchange.forward()
        exchange.answer(status, {"Content-Type": "text/html"}, body)

    return fault


def resets(*, after: bool) -> Fault:
    def fault(exchange: Exchange) -> None:
        if after:
            exchange.forward()
        exchange.cut()

    return fault


def hangs(*, after: bool) -> Fault:
    """No answer for as long as the caller waits; `after`: though the request was applied at once."""

    def fault(exchange: Exchange) -> None:
        if after:
            exchange.forward()
        exchange.handler.connection.settimeout(10)
        exchange.handler.connection.recv(1)  # until the caller hangs up
        exchange.cut()

    return fault


def arrives_late(go: threading.Event, arrived: threading.Event) -> Fault:
    """Applied when `go` is set: after the caller has given up."""

    def fault(exchange: Exchange) -> None:
        go.wait(10)
        exchange.forward()
        arrived.set()
        exchange.cut()

    return fault


def arrives_twice(exchange: Exchange) -> None:
    """The answer is the one to the second copy."""
    exchange.forward()
    passes(exchange)


def without_item(exchange: Exchange) -> None:
    """As an engine answers that knows no ReturnValuesOnConditionCheckFailure."""
    status, headers, body = exchange.forward()
    answer = json.loads(body)
    if status == 400:
        answer.pop("Item", None)
    exchange.answer(status, headers, json.dumps(answer).encode())


def is_cut_off(exchange: Exchange) -> None:
    """Half of the answer, though the request was applied."""
    status, headers, body = exchange.forward()
    exchange.answer(status, headers, body[: len(body) // 2], length=len(body))
    exchange.cut()


def is_slow(seconds: float) -> Fault:
    """A good answer, late, but within the time-out."""

    def fault(exchange: Exchange) -> None:
        time.sleep(seconds)
        passes(exchange)

    return fault


def then(first: Callable[[], object], fault: Fault) -> Fault:
    """`first` is done before the request arrives at the engine."""

    def both(exchange: Exchange) -> None:
        first()
        fault(exchange)

    return both


def followed_by(action: Callable[[], object], fault: Fault) -> Fault:
    """The request is applied, then `action` is done, and then comes a fault that applies nothing."""

    def both(exchange: Exchange) -> None:
        exchange.forward()
        action()
        fault(exchange)

    return both


@contextlib.contextmanager
def fault_proxy(endpoint: str | None) -> Iterator[FaultProxy]:
    """A proxy in front of the engine at `endpoint`; None: of this process's moto."""
    proxy = FaultProxy(over_http(endpoint) if endpoint else over_moto)
    try:
        yield proxy
    finally:
        proxy.close()

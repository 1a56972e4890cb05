"""A proxy before an engine that fails as networks and services do: beneath boto3, on a real socket.

It is one more HTTP server. It does to the requests of an operation, one by one, what it was told to do, and
passes the others on.
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
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from boto3.dynamodb.types import TypeDeserializer

Answer = tuple[int, dict[str, str], bytes]
Engine = Callable[[dict[str, str], bytes], Answer]
Fault = Callable[["Exchange"], None]

_deserialize = TypeDeserializer().deserialize


@dataclass
class Exchange:
    """One request on its way: `forward` has the engine answer it, `answer` and `cut` end it."""

    handler: BaseHTTPRequestHandler
    operation: str
    body: bytes
    engine: Engine

    def forward(self) -> Answer:
        return self.engine(dict(self.handler.headers), self.body)

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


@dataclass(frozen=True)
class Request:
    """What a client sent."""

    operation: str
    body: bytes

    @property
    def write_id(self) -> str:
        """The id of the write that it is a copy of."""
        body = json.loads(self.body)
        values = [
            body.get("Item", {}).get("last_change"),
            *body.get("ExpressionAttributeValues", {}).values(),
        ]
        changes = [_deserialize(value) for value in values if value and "action" in value.get("M", {})]
        [change] = changes
        return change["id"]


class FaultProxy:
    """`url` stands for the engine. `requests` are those that came, `seen` counts them by operation."""

    def __init__(self, engine: Engine) -> None:
        self.requests: list[Request] = []
        self.failed = 0
        """How many requests have met a fault, of all that there ever were."""
        self.connections = 0
        self._faults: dict[str, deque[Fault]] = defaultdict(deque)
        self._always: dict[str, Fault] = {}
        self._open: set[socket.socket] = set()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # headers and body go out apart, and would wait for each other

            def setup(self) -> None:
                proxy.connections += 1
                proxy._open.add(self.request)
                super().setup()

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                operation = self.headers["X-Amz-Target"].rpartition(".")[2]
                proxy.requests.append(Request(operation, body))
                # The client may be gone by the time that it is answered.
                with contextlib.suppress(BrokenPipeError, ConnectionResetError, TimeoutError):
                    proxy._fault(operation)(Exchange(self, operation, body, engine))

            def log_message(self, *_: Any) -> None:
                pass

            def finish(self) -> None:
                proxy._open.discard(self.request)
                with contextlib.suppress(OSError, ValueError):
                    super().finish()

        self._handler = Handler
        self._port = 0
        self.listen()
        self.url = f"http://127.0.0.1:{self._port}"

    def listen(self) -> None:
        """Takes connections, at the same port as before."""
        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), self._handler)
        self._server.daemon_threads = True
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def hang_up(self) -> None:
        """Closes its connections and takes none, until it listens again."""
        self._server.shutdown()
        self._server.server_close()
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def fail(self, operation: str, *faults: Fault) -> None:
        """The next requests of an operation meet these faults, one each; nothing is left of earlier ones."""
        self._always.pop(operation, None)
        self._faults[operation] = deque(faults)

    def fail_always(self, operation: str, fault: Fault) -> None:
        """All requests of an operation meet this fault, after those of `fail`."""
        self._always[operation] = fault

    @property
    def seen(self) -> Counter[str]:
        return Counter(request.operation for request in self.requests)

    @property
    def writes(self) -> list[Request]:
        return [request for request in self.requests if request.operation in ("UpdateItem", "PutItem")]

    @property
    def write_ids(self) -> list[str]:
        """The ids of the writes that came, one for each copy."""
        return [request.write_id for request in self.writes]

    def clear(self) -> None:
        self._faults.clear()
        self._always.clear()
        self.requests.clear()
        self.connections = 0

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _fault(self, operation: str) -> Fault:
        waiting = self._faults[operation]
        fault = waiting.popleft() if waiting else self._always.get(operation, passes)
        self.failed += fault is not passes
        return fault


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


def over_http(endpoint: str) -> Engine:
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


@contextlib.contextmanager
def fault_proxy(endpoint: str | None) -> Iterator[FaultProxy]:
    """A proxy before the engine at `endpoint`; None: before this process's moto."""
    proxy = FaultProxy(over_http(endpoint) if endpoint else over_moto)
    try:
        yield proxy
    finally:
        proxy.close()


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


@dataclass
class LateCopies:
    """Copies of requests that reach the engine when `arrive` is called, however much later that is."""

    _waiting: list[Exchange] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self._waiting)

    def lost(self, exchange: Exchange) -> None:
        """The sender gets no answer; the request arrives late."""
        self._waiting.append(exchange)
        exchange.cut()

    def sent_twice(self, exchange: Exchange) -> None:
        """The request passes, and a second copy of it arrives late."""
        self._waiting.append(exchange)
        passes(exchange)

    def arrive(self) -> list[int]:
        """The HTTP statuses that the engine answers with."""
        waiting, self._waiting = self._waiting, []
        return [exchange.forward()[0] for exchange in waiting]


def arrives_twice(exchange: Exchange) -> None:
    """The client gets the answer to the second copy."""
    exchange.forward()
    passes(exchange)


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


def without_item(exchange: Exchange) -> None:
    """As an engine without ReturnValuesOnConditionCheckFailure: its refusal brings no item."""
    status, headers, body = exchange.forward()
    if status == 400:
        body = json.dumps(
            {name: value for name, value in json.loads(body).items() if name != "Item"}
        ).encode()
    exchange.answer(status, headers, body)


def first(action: Callable[[], object], fault: Fault) -> Fault:
    """`action` is done before the request arrives at the engine."""

    def both(exchange: Exchange) -> None:
        action()
        fault(exchange)

    return both


def followed_by(action: Callable[[], object], fault: Fault) -> Fault:
    """The request is applied, then `action` is done, and then comes `fault`, for the same request."""

    def both(exchange: Exchange) -> None:
        exchange.forward()
        action()
        fault(exchange)

    return both

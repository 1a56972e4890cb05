"""Lambda on loopback: the Runtime API for one process of Lambda's own runtime client, and a DynamoDB that
answers every call with the same bytes.

Start-up is read off the Runtime API itself: the client asks for its first event when the handler's module
is imported and all that it makes at import is made.
"""

import importlib.util
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

# What Lambda's runtime brings: its client, and boto3. Everything else has to be in the package.
BROUGHT = (
    *("awslambdaric", "runtime_client", "simplejson", "snapshot_restore_py"),
    *("boto3", "botocore", "dateutil", "jmespath", "s3transfer", "six", "urllib3"),
)
SECONDS = 60  # that a handler may take to answer, before the run fails


@dataclass(frozen=True)
class Mark:
    """How far a process had come: seconds since it was started, and of its own processor time."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class Started:
    """A process: when it was ready, when it had answered, what it answered, and its memory at most, in MB."""

    ready: Mark
    answered: Mark
    answer: bytes
    memory: float


@dataclass
class _Run:
    """One process, from its start until it has answered `event`."""

    event: bytes
    started: float = 0.0
    pid: int = 0
    marks: list[Mark] = field(default_factory=list)
    answer: bytes = b""
    memory: float = 0.0
    over: threading.Event = field(default_factory=threading.Event)

    def mark(self) -> None:
        wall = time.perf_counter() - self.started
        # Linux's clock of another process's processor time: what clock_getcpuclockid(3) would return.
        self.marks.append(Mark(wall, time.clock_gettime((~self.pid << 3) | 2)))

    def end(self, answer: bytes) -> None:
        status = Path(f"/proc/{self.pid}/status").read_text()
        self.memory = int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024
        self.answer = answer
        self.over.set()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, run: _Run, item: bytes) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.run = run
        self.item = item

    def handle_error(self, *_: object) -> None:
        """A process that is ended resets its connection; what fails otherwise, the run's marks tell."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        run = self.server.run
        if run.marks:  # it asks for a second event: there is none
            run.over.wait()
            self.close_connection = True
            return
        while not run.pid:
            time.sleep(0)
        run.mark()
        self._send(
            run.event,
            {
                "Content-Type": "application/json",
                "Lambda-Runtime-Aws-Request-Id": "00000000-0000-4000-8000-000000000000",
                "Lambda-Runtime-Deadline-Ms": str(int(time.time() * 1000) + 15_000),
                "Lambda-Runtime-Invoked-Function-Arn": "arn:aws:lambda:eu-west-1:123456789012:function:bench",
                "Lambda-Runtime-Trace-Id": "Root=1-00000000-000000000000000000000000",
            },
        )

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/":  # DynamoDB
            self._send(self.server.item, {"Content-Type": "application/x-amz-json-1.0"})
            return
        run = self.server.run
        if self.path.endswith("/response"):
            run.mark()
        self._send(b"{}", {}, 202)
        run.end(body)

    def _send(self, body: bytes, headers: Mapping[str, str], status: int = 200) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def start(
    handler: str, event: bytes, path: list[str], environment: Mapping[str, str], item: bytes = b"{}"
) -> Started:
    """Starts a function as Lambda does, and hands it `event`.

    `path` is where it imports from; DynamoDB answers it with `item`. Raises RuntimeError when the function
    fails.
    """
    run = _Run(event)
    # A server for each process: what one that has been ended had asked for can't be taken for the next one's.
    with _serving(_Server(run, item)) as address:
        variables = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join(path),
            "AWS_LAMBDA_RUNTIME_API": address,
            "AWS_LAMBDA_FUNCTION_NAME": "bench",
            "AWS_LAMBDA_FUNCTION_VERSION": "1",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512",
            "AWS_REGION": "eu-west-1",
            "AWS_DEFAULT_REGION": "eu-west-1",
            "AWS_ACCESS_KEY_ID": "pretended",
            "AWS_SECRET_ACCESS_KEY": "pretended",
            "AWS_SESSION_TOKEN": "pretended",
            "AWS_ENDPOINT_URL_DYNAMODB": f"http://{address}",
            **environment,
        }
        # -S: no site-packages, so that nothing is imported but from `path`.
        command = [sys.executable, "-S", "-m", "awslambdaric", handler]
        run.started = time.perf_counter()
        process = subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        run.pid = process.pid
        threading.Thread(target=_wait, args=(process, run), daemon=True).start()
        answered = run.over.wait(SECONDS)
        process.kill()
        output, _ = process.communicate()
    if not answered or len(run.marks) != 2:
        raise RuntimeError(
            f"{handler} ended with {process.returncode}: {run.answer.decode()}\n{output.decode()}"
        )
    return Started(*run.marks, run.answer, run.memory)


def _wait(process: subprocess.Popen, run: _Run) -> None:
    process.wait()
    run.over.set()


def lay_out(folder: Path) -> None:
    """Fills `folder` with what Lambda's runtime brings, as this environment has it."""
    folder.mkdir()
    for name in BROUGHT:
        spec = importlib.util.find_spec(name)
        found = Path(spec.origin).parent if spec.submodule_search_locations else Path(spec.origin)
        (folder / found.name).symlink_to(found)


@contextmanager
def _serving(server: _Server) -> Iterator[str]:
    """The server's address, while it runs."""
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

"""The local stack as a process, and a client for it."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Answer:
    """An HTTP answer; header names in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


@dataclass(frozen=True)
class Site:
    """A server on loopback, for instance http://127.0.0.1:8080."""

    origin: str

    def request(self, method, path, body=None, headers=None) -> Answer:
        """One request on a connection of its own; `body` is bytes, text, or what becomes JSON."""
        sent = dict(headers or {})
        if body is not None and not isinstance(body, bytes | str):
            body = json.dumps(body)
            sent.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection(self.origin.removeprefix("http://"), timeout=30)
        try:
            connection.request(method, path, body.encode() if isinstance(body, str) else body, sent)
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, found, response.read())
        finally:
            connection.close()

    def token(self, user="ada") -> str:
        """The local issuer's access token for the user."""
        return self.request("GET", f"/local/token?user={user}").body.decode()

    def user(self, method, path, body=None, headers=None, user="ada") -> Answer:
        """A request of a signed-in user's."""
        return self.request(
            method, path, body, {"Authorization": f"Bearer {self.token(user)}", **(headers or {})}
        )

    def agent(self, event, client_context=None) -> Answer:
        """An event to the agent's handler."""
        body = event if client_context is None else {"event": event, "client_context": client_context}
        return self.request("POST", "/local/agent", body)


def start_stack(*arguments, **environment):
    """(process, Site): `python -m infra.local` on a free port, ready to answer."""
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "infra.local", "--port", "0", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    printed = []
    for line in process.stdout:
        printed.append(line)
        if found := re.match(r"Page +(http://\S+)/$", line):
            break
    else:
        process.wait()
        raise AssertionError("the local stack does not start:\n" + "".join(printed))
    return process, Site(found[1])


def stop_stack(process, how=signal.SIGINT) -> tuple[int, str]:
    """Ctrl-C: the exit status, and what the process printed after its address."""
    process.send_signal(how)
    try:
        printed, _ = process.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return process.returncode, printed

"""The local stack in this process, over a handler that keeps what it is given."""

import contextlib
import socket
import threading

import uvicorn

from infra.local.app import make_app
from infra.local.issuer import Authorizer
from infra.template import Template


class Recorder:
    """A handler that keeps what it was given, and gives back `answer` or raises it."""

    def __init__(self):
        self.calls = []
        self.answer = {"ok": True}

    def __call__(self, event, context):
        self.calls.append((event, context))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@contextlib.contextmanager
def serving(handler):
    """The origin of a local stack in this process, over this handler alone."""
    listener = socket.create_server(("127.0.0.1", 0))
    template = Template(references={"Table": "preferences"})
    app = make_app(
        template,
        dict.fromkeys(template.functions, handler),
        Authorizer("nobody", [], {"keys": []}),
        agent="AgentFunction",
    )
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off"))
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()

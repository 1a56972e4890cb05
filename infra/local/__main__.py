"""python -m infra.local: the whole stack on this machine, until Ctrl-C."""

import argparse
import importlib
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import FrameType

sys.path.insert(0, str(Path(__file__).parents[2] / "functions"))

import boto3
import uvicorn
from botocore.exceptions import BotoCoreError

from infra.local.app import AGENT_PATH, make_app
from infra.local.gateway import MCP_PATH
from infra.local.invocation import Handler
from infra.local.issuer import CLIENT_ID, SCOPE, Authorizer, Issuer
from infra.local.stream import event_source, pumping
from infra.local.table import PRETENDED, create_table, embedded_engine
from infra.template import Function, Template

AGENT = "AgentFunction"
ENDPOINTS = ("AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL")  # boto3's own variables, in its order


class CannotStart(Exception):
    """Printed for the person, in one line."""


class Server(uvicorn.Server):
    """Greets when it answers. A signal from then on is uvicorn's, and ends it in order.

    Before that a signal raises KeyboardInterrupt wherever the process is, and that may be anywhere.
    """

    def __init__(self, config: uvicorn.Config, greet: Callable[[], None]) -> None:
        super().__init__(config)
        self._greet = greet

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._greet()


def main() -> int:
    """0 after Ctrl-C, 1 when it can't start."""
    options = _options()
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGINT, _interrupt)  # a shell's background job begins with it ignored
    try:
        with ExitStack() as stack:
            listener = stack.enter_context(_listen(options.port))
            origin = f"http://127.0.0.1:{listener.getsockname()[1]}"
            endpoint = next((os.environ[name] for name in ENDPOINTS if os.environ.get(name)), None)
            table_name = os.environ.get("TABLE_NAME") or "preferences"
            parameters = dict(options.parameter)
            log_level = os.environ.get("POWERTOOLS_LOG_LEVEL", "WARNING")
            try:
                template = Template(parameters=parameters, references={"Table": table_name})
            except ValueError as unknown:
                raise CannotStart(unknown) from None
            _set_environment(template, endpoint)
            # Every request writes a line at INFO, and a page asks every few seconds.
            os.environ["POWERTOOLS_LOG_LEVEL"] = log_level
            if endpoint is None:
                stack.enter_context(embedded_engine())
            create_table(boto3.client("dynamodb"), template, table_name)

            issuer = Issuer(origin)
            os.environ |= {
                "SIGN_IN_AUTHORIZE_URL": issuer.authorize_url,
                "SIGN_IN_TOKEN_URL": issuer.token_url,
                "SIGN_IN_CLIENT_ID": CLIENT_ID,
                "SIGN_IN_SCOPE": SCOPE,
                "SIGN_OUT_URL": issuer.logout_url,
                "AGENT_CONSOLE_PATH": AGENT_PATH,
            }
            called = {AGENT} | {route.function for route in template.routes}
            handlers = {name: load(template.functions[name]) for name in sorted(called)}
            authorizer = Authorizer(issuer.url, [CLIENT_ID], issuer.jwks())
            app = make_app(template, handlers, authorizer, agent=AGENT, more=issuer.routes)
            history = load(template.functions[event_source(template).function])
            stack.enter_context(pumping(template, table_name, history, endpoint))

            config = uvicorn.Config(
                app, log_level="warning", lifespan="off", server_header=False, timeout_graceful_shutdown=3
            )
            Server(config, partial(_greet, origin, endpoint, table_name, issuer)).run([listener])
    except KeyboardInterrupt:  # uvicorn has shut down by then, and passes the signal on
        print("\nstopped")
    except (CannotStart, BotoCoreError) as reason:
        print(f"can't start: {reason}", file=sys.stderr)
        return 1
    return 0


def load(function: Function) -> Handler:
    """The function's handler, imported as Lambda would."""
    module, _, name = function.handler.rpartition(".")
    handler: Handler = getattr(importlib.import_module(module), name)
    return handler


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m infra.local", description=__doc__)
    parser.add_argument("--port", type=int, default=8080, help="0 takes a free one (default: 8080)")
    parser.add_argument(
        "--parameter",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        type=_parameter,
        help="a parameter of the template, for example AllowedOrigins=http://localhost:3000",
    )
    return parser.parse_args()


def _parameter(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError("must be NAME=VALUE")
    return name, value


def _interrupt(_: int, __: FrameType | None) -> None:
    raise KeyboardInterrupt


@contextmanager
def _listen(port: int) -> Iterator[socket.socket]:
    """Listens on loopback only. Raises CannotStart where the port can't be had."""
    # asyncio sets TCP_NODELAY only where the protocol is named; without it answers wait 40 ms for an ACK.
    with socket.socket(proto=socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
            listener.listen(128)
        except (OSError, OverflowError) as refusal:
            reason = getattr(refusal, "strerror", None) or str(refusal)
            raise CannotStart(f"port {port}: {reason}. Choose another: make local PORT=8081") from None
        yield listener


def _set_environment(template: Template, endpoint: str | None) -> None:
    """The functions' environment, which is one here; and no account of anyone's.

    An engine that was named may want credentials of its own, so there only what is missing is made up.
    """
    if endpoint is None:
        os.environ.pop("AWS_PROFILE", None)
        os.environ |= PRETENDED
    else:
        for name, value in PRETENDED.items():
            os.environ.setdefault(name, value)
    for function in template.functions.values():
        os.environ |= function.environment


def _greet(origin: str, endpoint: str | None, table_name: str, issuer: Issuer) -> None:
    stored = "in this process's memory, gone when it stops" if endpoint is None else f"at {endpoint}"
    event = (
        '{"messageVersion":"1.0","agent":{},"actionGroup":"preferences","function":"add_preferences",'
        '"sessionAttributes":{"thread_id":"demo","user_id":"ada"},"parameters":[{"name":"items",'
        '"type":"array","value":"[{\\"title\\":\\"Formal tone\\",\\"kind\\":\\"hard\\"}]"}]}'
    )
    print(
        f"""
Page      {origin}/
API       {origin}/openapi.json
Gateway   {origin}{MCP_PATH}
Issuer    {issuer.url}
Table     {table_name}, {stored}

A token of ada's, for an hour:
{issuer.access_token("ada")}

Try it:
  TOKEN=$(curl -s '{origin}/local/token?user=ada')
  curl -s -X PUT {origin}/threads/demo -H "Authorization: Bearer $TOKEN"
  curl -s {origin}{AGENT_PATH} -d '{event}'
  curl -s {origin}/threads/demo/preferences -H "Authorization: Bearer $TOKEN"

Ctrl-C stops it.
""",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())

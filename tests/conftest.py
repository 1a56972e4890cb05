"""What every test may use: the template, its table on either engine, a Lambda context, a call counter."""

import contextlib
import itertools
import os
import shutil
import socket
import subprocess
import time
from collections import Counter
from dataclasses import dataclass

import boto3
import hypothesis
import pytest
from botocore.config import Config

from infra.local.context import LambdaContext
from infra.local.stream import open_stream
from infra.local.table import PRETENDED, create_table, embedded_engine
from infra.template import Template
from preferences.repository import client as repository_client
from tests.effort import PROVE
from tests.feed import Feed
from tests.stack import ROOT, start_stack, stop_stack
from tests.support import Store

TABLE_NAME = "preferences"
DYNOXIDE = ROOT / "tests/engines/node_modules/@dynoxide/linux-x64/dynoxide"

_numbers = itertools.count(1)

pytest.register_assert_rewrite("tests.race_harness")

# The same examples every time, and no clock on a busy machine; with PROVE set, many more and new ones.
hypothesis.settings.register_profile("quick", deadline=None, derandomize=True)
hypothesis.settings.register_profile("prove", deadline=None, max_examples=1000, print_blob=True)
hypothesis.settings.load_profile("prove" if PROVE else "quick")


def pytest_collection_modifyitems(config, items):
    """moto is four times as slow as the second engine: what asks both the same does so under PROVE alone.

    What asks moto alone still does. The page's tests take the longest, so they are begun first, beside the
    others.
    """
    items.sort(key=lambda item: item.path.parent.name != "page")
    if PROVE or not _dynoxide():
        return
    names = {item.nodeid for item in items}
    twins = {name for name in names if "moto" in name and name.replace("moto", "dynoxide") in names}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in twins])
    items[:] = [item for item in items if item.nodeid not in twins]


def require(present: object, variable: str, reason: str) -> None:
    """Skips the test where something is absent; fails it where `variable` says that it must be there."""
    if present:
        return
    if os.environ.get(variable):
        pytest.fail(f"{reason} ({variable} is set)")
    pytest.skip(reason)


@pytest.fixture(autouse=True, scope="session")
def _pretended_account():
    """No test can find, or use, anyone's account."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("AWS_") or name == "TABLE_NAME"]:
            patch.delenv(name)
        for name, value in PRETENDED.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(autouse=True, scope="session")
def _loopback_only():
    """A test that reaches for another machine fails, whatever the network would have said."""

    def guarded(connect):
        def connect_to_loopback(self, address):
            host = address[0] if isinstance(address, tuple) else "localhost"
            if self.family in (socket.AF_INET, socket.AF_INET6) and not (
                host in ("localhost", "::1") or str(host).startswith("127.")
            ):
                raise AssertionError(f"a test wants to connect to {host}")
            return connect(self, address)

        return connect_to_loopback

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded(socket.socket.connect))
        patch.setattr(socket.socket, "connect_ex", guarded(socket.socket.connect_ex))
        yield


@pytest.fixture(scope="session")
def template() -> Template:
    """template.yaml, in which `!Ref Table` is TABLE_NAME."""
    return Template(references={"Table": TABLE_NAME})


@dataclass(frozen=True)
class Engine:
    """An engine that holds a fresh table of the template's; `endpoint` is None where it is this process."""

    name: str
    endpoint: str | None
    table_name: str

    def client(self, **config):
        """A new client; `config` is botocore's (`retries`, `read_timeout`, …)."""
        return boto3.client("dynamodb", endpoint_url=self.endpoint, config=Config(**config))


def forget_environment() -> None:
    """The repository reads its environment once; a test that sets another has it read again."""
    repository_client.dynamodb_client.cache_clear()
    repository_client.table_name.cache_clear()
    repository_client.history_days.cache_clear()


@pytest.fixture
def table(template, monkeypatch):
    """(client, table name): the template's table on moto, one call at a time; TABLE_NAME is set."""
    monkeypatch.setenv("TABLE_NAME", TABLE_NAME)
    with embedded_engine():
        client = boto3.client("dynamodb")
        create_table(client, template, TABLE_NAME)
        yield client, TABLE_NAME


@pytest.fixture(scope="session")
def dynoxide():
    """The second engine's endpoint: a process of its own on loopback, ended with the session."""
    binary = _dynoxide()
    require(binary, "REQUIRE_ENGINE", "the second engine is not installed: npm ci --prefix tests/engines")
    for _ in range(5):  # another process may take the port between the look and the start
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        process = subprocess.Popen(
            [binary, "--host", "127.0.0.1", "--port", str(port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        if _listens(process, port):
            break
    else:
        pytest.fail("the second engine does not start")
    yield f"http://127.0.0.1:{port}"
    process.terminate()
    process.wait(10)


def _dynoxide() -> str | None:
    return str(DYNOXIDE) if DYNOXIDE.exists() else shutil.which("dynoxide")


def _listens(process, port) -> bool:
    until = time.monotonic() + 10
    while process.poll() is None and time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), 0.2).close()
        except OSError:
            time.sleep(0.01)
        else:
            return True
    if process.poll() is None:
        process.kill()
    process.wait()
    return False


@pytest.fixture(params=["moto", "dynoxide"])
def engine(request, template, monkeypatch):
    """An Engine; a test that takes it runs once on each. TABLE_NAME and the endpoint variable are set."""
    if request.param == "moto":
        request.getfixturevalue("table")
        yield Engine("moto", None, TABLE_NAME)
        return
    made = Engine("dynoxide", request.getfixturevalue("dynoxide"), f"preferences-{next(_numbers)}")
    monkeypatch.setenv("TABLE_NAME", made.table_name)
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", made.endpoint)
    forget_environment()
    create_table(made.client(), template, made.table_name)
    yield made
    made.client().delete_table(TableName=made.table_name)
    forget_environment()


@pytest.fixture(scope="module")
def quick_engine(request):
    """A client for an engine without tables, which the handlers call too. TABLE_NAME is set.

    The second engine where it is installed, else moto; tests of what handlers answer don't ask which.
    """
    with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as stack:
        patch.setenv("TABLE_NAME", TABLE_NAME)
        if _dynoxide():
            patch.setenv("AWS_ENDPOINT_URL_DYNAMODB", request.getfixturevalue("dynoxide"))
        else:
            stack.enter_context(embedded_engine())
        forget_environment()
        yield boto3.client("dynamodb")
    forget_environment()


@pytest.fixture(scope="module")
def quick_table(quick_engine, template):
    """A client for the template's table on that engine, which a module's tests share."""
    create_table(quick_engine, template, TABLE_NAME)
    yield quick_engine
    quick_engine.delete_table(TableName=TABLE_NAME)


@pytest.fixture(scope="module", params=["moto", "dynoxide"])
def store(request, template):
    """A Store over the template's table, once on each engine; a module's tests share it, on threads apart."""
    if request.param == "moto":
        with embedded_engine():
            yield _store(Engine("moto", None, TABLE_NAME), template)
        return
    engine = Engine("dynoxide", request.getfixturevalue("dynoxide"), f"preferences-{next(_numbers)}")
    made = _store(engine, template)
    yield made
    made.client.delete_table(TableName=engine.table_name)


def _store(engine, template) -> Store:
    with pytest.MonkeyPatch.context() as patch:
        if engine.endpoint:
            patch.setenv("AWS_ENDPOINT_URL_DYNAMODB", engine.endpoint)
        own_client = repository_client.dynamodb_client.__wrapped__()
    made = Store(engine.table_name, engine.client, own_client)
    create_table(made.client, template, engine.table_name)
    return made


@pytest.fixture(scope="module")
def recorded(store):
    """The Feed of the store's stream."""
    return Feed(store, open_stream(store.table_name, _endpoint(store)))


@pytest.fixture
def feed(store, recorded, monkeypatch):
    """The Feed of the store's stream, with the environment of the handlers set to the store's table."""
    monkeypatch.setenv("TABLE_NAME", store.table_name)
    if endpoint := _endpoint(store):
        monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", endpoint)
    forget_environment()
    yield recorded
    forget_environment()


def _endpoint(store) -> str | None:
    """Where the store's engine is; None where it is this process."""
    endpoint = store.client.meta.endpoint_url
    return None if endpoint.endswith("amazonaws.com") else endpoint


@pytest.fixture
def lambda_context():
    """Makes Lambda contexts: lambda_context(client_context={"custom": {…}}, timeout=15.0)."""
    return LambdaContext


@pytest.fixture
def call_counter():
    """call_counter(client) gives a Counter of the DynamoDB operations that the client calls from then on."""

    def watch(client) -> Counter:
        calls = Counter()

        def count(model, **_):
            calls[model.name] += 1

        client.meta.events.register("before-call.dynamodb", count)
        return calls

    return watch


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of the system's Chromium."""
    found = shutil.which("chromium")
    require(found, "REQUIRE_BROWSER", "chromium is not installed: apt-get install chromium")
    return found


@pytest.fixture(scope="session")
def stack(request):
    """The Site of a local stack that lives as long as the session; use a thread of your own on it.

    On the second engine, where there is one, it answers in a fraction of the time. Other tests have tables
    there as well, so it has one of its own name.
    """
    engine = {"AWS_ENDPOINT_URL_DYNAMODB": request.getfixturevalue("dynoxide")} if _dynoxide() else {}
    process, site = start_stack(TABLE_NAME=f"{TABLE_NAME}-{next(_numbers)}", **engine)
    yield site
    stop_stack(process)

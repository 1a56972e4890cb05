"""Cold starts of the built package, beside what is the least that one could start.

Every process is Lambda's own runtime client with one handler, started as Lambda starts it, in turn, so that
what else the machine does meets all of them. What the runtime itself takes is measured too and taken off:
ratios are of import and client creation alone.
"""

import json
import shutil
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from infra import build
from tests.bench import runtime
from tests.bench.work import people, thread, tool

ROUNDS = 75

NOTHING = """
def handler(event, context):
    return {}
"""
BOTO3 = """
import boto3

client = boto3.client("dynamodb")


def handler(event, context):
    key = {"pk": {"S": "THREAD#demo"}, "sk": {"S": "PREFERENCES"}}
    return client.get_item(TableName="preferences", Key=key, ConsistentRead=True)["Item"]
"""
HAND_SIGNED = """
import datetime, hashlib, hmac, http.client, json, os, urllib.parse

url = urllib.parse.urlsplit(os.environ["AWS_ENDPOINT_URL_DYNAMODB"])
connect = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
connection = connect(url.netloc)
names = "host;x-amz-date;x-amz-security-token;x-amz-target"


def sign(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def handler(event, context):
    key = {"pk": {"S": "THREAD#demo"}, "sk": {"S": "PREFERENCES"}}
    body = json.dumps({"TableName": "preferences", "Key": key, "ConsistentRead": True})
    now = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
    region, token = os.environ["AWS_REGION"], os.environ["AWS_SESSION_TOKEN"]
    target = "DynamoDB_20120810.GetItem"
    asked = f"host:{url.netloc}\\nx-amz-date:{now}\\nx-amz-security-token:{token}\\nx-amz-target:{target}\\n"
    canonical = f"POST\\n/\\n\\n{asked}\\n{names}\\n{hashlib.sha256(body.encode()).hexdigest()}"
    scope = f"{now[:8]}/{region}/dynamodb/aws4_request"
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    signing = b"AWS4" + os.environ["AWS_SECRET_ACCESS_KEY"].encode()
    for part in scope.split("/"):
        signing = sign(signing, part)
    signature = sign(signing, f"AWS4-HMAC-SHA256\\n{now}\\n{scope}\\n{digest}").hex()
    credential = f"AWS4-HMAC-SHA256 Credential={os.environ['AWS_ACCESS_KEY_ID']}/{scope}"
    connection.request("POST", "/", body, {
        "Content-Type": "application/x-amz-json-1.0", "X-Amz-Date": now, "X-Amz-Security-Token": token,
        "X-Amz-Target": target,
        "Authorization": f"{credential}, SignedHeaders={names}, Signature={signature}",
    })
    return json.load(connection.getresponse())["Item"]
"""


@dataclass(frozen=True)
class Start:
    name: str
    handler: str
    event: dict
    bar: float | None = None


NOTHING_AT_ALL = Start("the runtime alone", "nothing.handler", {})
BASE = Start('boto3.client("dynamodb") alone', "boto3_client.handler", {})
STARTS = (
    NOTHING_AT_ALL,
    Start("a hand-signed client", "hand_signed.handler", {}),
    BASE,
    Start(
        "people's handler", "preferences.api.handler", people("GET /threads/{thread_id}/preferences"), 1.35
    ),
    Start("agent's handler", "preferences.agent.handler", tool("list_preferences"), 1.20),
    Start("stream's handler", "preferences.history.handler", {"Records": []}),
)


@contextmanager
def places() -> Iterator[list[str]]:
    """What to import from: the package built for this machine, the others, what Lambda's runtime brings."""
    with tempfile.TemporaryDirectory() as folder:
        package, others, lambdas = (Path(folder) / name for name in ("package", "others", "runtime"))
        build.build(package, build.HERE)
        others.mkdir()
        for name, text in (("nothing", NOTHING), ("boto3_client", BOTO3), ("hand_signed", HAND_SIGNED)):
            (others / f"{name}.py").write_text(text)
        runtime.lay_out(lambdas)
        yield [str(package), str(others), str(lambdas)]


def package() -> dict:
    """The package as it would be deployed: bytes of the zip."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder)
        build.build(target / "package")
        build.pack(target / "package", target / "package.zip")
        own = sum(
            path.stat().st_size for path in (target / "package/preferences").rglob("*") if path.is_file()
        )
        shutil.rmtree(target / "package")
        return {"zip": (target / "package.zip").stat().st_size, "own": own, "bar": 6_000_000}


def measure(rounds: int = ROUNDS) -> list[dict]:
    """The rows of the table; times in milliseconds, of this machine's processor."""
    from preferences.repository.items import thread_item

    item = json.dumps({"Item": thread_item(thread(20))}).encode()
    taken: dict[str, list[runtime.Started]] = {start.name: [] for start in STARTS}
    with places() as path:
        for n in range(rounds + 1):
            for start in _rotated(STARTS, n):  # whoever comes after whom, comes after others as well
                event = json.dumps(start.event).encode()
                started = runtime.start(start.handler, event, path, {"TABLE_NAME": "preferences"}, item)
                if n:  # the first has the disk to wait for, and .pyc files to write
                    taken[start.name].append(started)
    return [_row(start, taken) for start in STARTS]


def _rotated(starts: Sequence[Start], by: int) -> list[Start]:
    by %= len(starts)
    return [*starts[by:], *starts[:by]]


def _row(start: Start, taken: dict[str, list[runtime.Started]]) -> dict:
    def ratios(part) -> list[float]:
        rounds = zip(*(taken[name] for name in (start.name, BASE.name, NOTHING_AT_ALL.name)), strict=True)
        return sorted((part(own) - part(none)) / (part(base) - part(none)) for own, base, none in rounds)

    own = taken[start.name]
    return {
        "start": start.name,
        "ready": statistics.median(one.ready.cpu for one in own) * 1000,
        "answered": statistics.median(one.answered.cpu for one in own) * 1000,
        "memory": statistics.median(one.memory for one in own),
        "ratios": ratios(lambda one: one.ready.cpu),
        "wall": ratios(lambda one: one.ready.wall),
        "first": ratios(lambda one: one.answered.cpu),
        "bar": start.bar,
    }

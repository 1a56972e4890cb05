"""What `make build` makes: the right wheels, the same bytes each time, small, and fit for Lambda."""

import hashlib
import importlib.util
import json
import os
import shutil
import struct
import subprocess
import sys
import zipfile

import boto3
import botocore
import pytest

from infra import botocore_data, build
from infra.template import Template
from tests.bench import runtime

pytestmark = pytest.mark.deployment


@pytest.fixture(scope="module", autouse=True)
def _sources_that_hold_still(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sources") / "functions"
    shutil.copytree(build.FUNCTIONS, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "FUNCTIONS", folder)
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """(package, zip) for Lambda."""
    folder = tmp_path_factory.mktemp("build")
    build.build(folder / "package")
    build.pack(folder / "package", folder / "package.zip")
    return folder / "package", folder / "package.zip"


def on(path, code, **environment):
    """The finished process of a Python that imports from `path` alone, and runs `code`."""
    return subprocess.run(
        [sys.executable, "-S", "-c", code],
        env={"PYTHONPATH": os.pathsep.join(path), **environment},
        capture_output=True,
        text=True,
        check=True,
    )


OLDEST = build.LOCK.with_name("oldest-boto3.txt")


@pytest.fixture(scope="module", params=["the newest boto3", "the oldest boto3"])
def path(request, tmp_path_factory):
    """What the same package, built for this machine, imports from; beside it only what Lambda brings.

    Lambda decides which boto3 that is: the newest is the one of the lock file.
    """
    folder = tmp_path_factory.mktemp("here")
    build.build(folder / "package", build.HERE)
    runtime.lay_out(folder / "runtime")
    found = [str(folder / "package"), str(folder / "runtime")]
    if request.param == "the oldest boto3":
        build.install(OLDEST, folder / "oldest", build.HERE)
        found.insert(1, str(folder / "oldest"))
    return found


class TestThePackageForLambda:
    def test_is_the_same_bytes_each_time(self, made, tmp_path):
        build.build(tmp_path / "again")
        build.pack(tmp_path / "again", tmp_path / "again.zip")
        assert digest(tmp_path / "again.zip") == digest(made[1])

    def test_is_small_and_brings_no_boto3(self, made):
        package, archive = made
        assert archive.stat().st_size < 6_000_000
        assert not [path.name for path in package.iterdir() if "boto" in path.name]

    def test_is_for_the_runtime_and_the_processor_of_the_template(self, made):
        function = Template().raw["Globals"]["Function"]
        assert (function["Runtime"], function["Architectures"]) == ("python3.13", ["arm64"])
        assert f"python{build.LAMBDA.python}" == function["Runtime"]
        (library,) = made[0].glob("pydantic_core/*.so")
        assert ".cpython-313-aarch64-linux-gnu." in library.name
        assert struct.unpack_from("<H", library.read_bytes(), 18) == (183,)  # ELF: AArch64

    def test_holds_bytecode_that_is_never_checked_for_every_module(self, made):
        package, _ = made
        if not list(package.rglob("*.pyc")):
            pytest.skip("no Python 3.13 here to compile with")
        sources = {path.relative_to(package) for path in package.rglob("*.py")}
        for source in sources:
            compiled = package / importlib.util.cache_from_source(str(source)).replace(
                sys.implementation.cache_tag, "cpython-313"
            )
            flags = struct.unpack_from("<I", compiled.read_bytes(), 4)[0]
            assert flags == 0b01, source  # hash-based, unchecked

    def test_keeps_licences_and_leaves_out_what_nobody_runs(self, made):
        with zipfile.ZipFile(made[1]) as archive:
            names = archive.namelist()
        assert [name for name in names if "LICENSE" in name]
        assert not [name for name in names if name.endswith((".pyi", "RECORD")) or "/tests/" in name]
        panel = [name for name in names if name.startswith("preferences/api/assets/")]
        assert {name.rpartition(".")[2] for name in panel} == {"css", "html", "js", "svg"}

    def test_is_packed_in_one_order_without_times(self, made):
        with zipfile.ZipFile(made[1]) as archive:
            entries = archive.infolist()
        assert [entry.filename for entry in entries] == sorted(entry.filename for entry in entries)
        assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}
        assert {entry.external_attr for entry in entries} == {0o100644 << 16}


class TestWithoutTheRightPython:
    def test_says_that_nothing_was_compiled(self, tmp_path, monkeypatch, capsys):
        monkeypatch.setattr(build, "_candidates", lambda version: ["no-such-python", sys.executable])
        monkeypatch.setattr(build, "LAMBDA", build.Platform("3.99", build.LAMBDA.name))
        monkeypatch.setattr(build, "install", lambda lock, target, platform: None)
        monkeypatch.setattr(sys, "argv", ["build", str(tmp_path / "package")])
        build.main()
        reported = capsys.readouterr()
        assert "0 .pyc" in reported.out
        assert "there is no Python 3.99 here" in reported.err


class TestTheSameForThisMachine:
    """The handlers as Lambda would run them: its own client, a Runtime API, the package and nothing else."""

    def start(self, path, handler, event):
        """The handler's answer to its first event, with a DynamoDB whose every answer is an empty one."""
        environment = {"TABLE_NAME": "preferences", "REQUIRE_USER_ID": "true", "HISTORY_DAYS": "90"}
        return json.loads(runtime.start(handler, json.dumps(event).encode(), path, environment).answer)

    def test_answers_people(self, path):
        claims = {"sub": "ada", "token_use": "access"}
        event = {
            "version": "2.0",
            "routeKey": "GET /threads/{thread_id}/preferences",
            "pathParameters": {"thread_id": "demo"},
            "rawQueryString": "",
            "headers": {},
            "requestContext": {"requestId": "1", "authorizer": {"jwt": {"claims": claims}}},
        }
        answer = self.start(path, "preferences.api.handler", event)
        assert answer["statusCode"] == 404
        assert json.loads(answer["body"])["code"] == "not_found"

    def test_answers_agents(self, path):
        event = {
            "messageVersion": "1.0",
            "agent": {},
            "actionGroup": "preferences",
            "function": "list_preferences",
            "sessionAttributes": {"thread_id": "demo", "user_id": "ada"},
        }
        answer = self.start(path, "preferences.agent.handler", event)
        body = answer["response"]["functionResponse"]["responseBody"]["TEXT"]["body"]
        assert json.loads(body)["result"] == "no preferences recorded yet"

    def test_takes_changes(self, path):
        assert self.start(path, "preferences.history.handler", {"Records": []}) == {"batchItemFailures": []}

    def test_runs_on_the_boto3_that_is_meant(self, path):
        code = "import boto3, botocore; print(boto3.__version__, botocore.__version__)"
        reported = on(path, code).stdout.split()
        newest = [boto3.__version__, botocore.__version__]
        assert reported == (["1.35.0"] * 2 if len(path) == 3 else newest)

    def test_reads_our_own_cut_of_botocores_data_or_all_of_it(self, path):
        """The cut is of the newest botocore. One that can't read it serves all the same, and says so once."""
        code = (
            "import logging; logging.basicConfig()\n"
            "from preferences.repository.client import dynamodb_client\n"
            "print(*dynamodb_client().meta.service_model.operation_names)"
        )
        ran = on(path, code, AWS_DEFAULT_REGION="eu-west-1")
        operations = set(ran.stdout.split())
        if len(path) == 2:
            assert (ran.stderr, operations) == ("", set(botocore_data.OPERATIONS))
        else:
            assert "botocore's own data is used: EndpointResolutionError" in ran.stderr
            assert operations > set(botocore_data.OPERATIONS)

    def test_can_ask_for_the_item_that_refused(self, path):
        """The newest part of DynamoDB's API that the code relies on, through the whole client."""
        code = (
            "from preferences.repository.client import dynamodb_client\n"
            "shape = dynamodb_client().meta.service_model.operation_model('UpdateItem').input_shape\n"
            "print('ReturnValuesOnConditionCheckFailure' in shape.members)"
        )
        ran = on(path, code, AWS_DEFAULT_REGION="eu-west-1")
        assert ran.stdout.strip() == "True"

    def test_imports_dependencies_from_the_package_alone(self, path):
        code = "import boto3, pydantic, aws_lambda_powertools as p; print(pydantic.__file__, p.__file__)"
        reported = on(path, code)
        assert reported.stdout.count(path[0]) == 2


def digest(path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()

"""The story that is tried on a deployed stack, tried here on the local one."""

import json
import os
import re
import subprocess
import tomllib
from typing import ClassVar

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import ANY, Stubber

from infra import outputs, smoke
from tests.stack import ROOT, start_stack, stop_stack


@pytest.fixture(scope="module")
def site():
    process, site = start_stack()
    yield site
    stop_stack(process)


def story(site, call, token=None) -> smoke.Story:
    return smoke.Story(smoke.People(site.origin, token or site.token()), call, say=lambda _: None)


@pytest.fixture(params=["as a classic agent calls the function", "through the local Gateway"])
def call(request, site):
    return smoke.ways(smoke.People(site.origin, site.token()), "", "", "")[request.param]


class TestTheStory:
    def test_holds_on_a_good_stack_and_leaves_nothing(self, site, call):
        tried = story(site, call)
        tried.run()
        assert tried.done == [
            "the API answers, and asks strangers for a token",
            "a thread is registered",
            "the agent records two preferences",
            "the user locks the first",
            "the agent can't remove it",
            "the user unlocks it",
            "the agent removes it",
            "the thread is deleted",
        ]
        assert site.user("GET", "/threads").json["threads"] == []

    def test_goes_on_without_the_agent_where_nobody_can_call_it(self, site):
        tried = story(site, None)
        tried.run()
        assert "the user removes it" in tried.done
        assert not [step for step in tried.done if "agent" in step]

    def test_fails_where_the_lock_does_not_hold(self, site):
        people = smoke.People(site.origin, site.token())
        honest = smoke.by_function(smoke.local_function(people), people)

        def careless(thread, tool, arguments):
            """An agent's function that says "locked" and removes the row all the same."""
            if tool == "remove_preferences":
                path = f"/threads/{thread}/preferences"
                row = people.ask("GET", path)[1]["preferences"][0]
                people.ask("DELETE", f"{path}/{row['id']}")
                return {"ok": True, "result": "skipped #1 (locked: ask the user to unlock first)"}
            return honest(thread, tool, arguments)

        with pytest.raises(smoke.Unexpected, match="a locked row is gone"):
            story(site, careless).run()
        assert site.user("GET", "/threads").json["threads"] == []

    def test_fails_on_a_token_that_is_not_good(self, site):
        with pytest.raises(smoke.Unexpected, match="POST /threads: 401, not 201"):
            story(site, None, token="x.y.z").run()

    def test_fails_on_an_agents_function_that_does_not_answer_as_one(self, site):
        people = smoke.People(site.origin, site.token())
        call = smoke.by_function(lambda event: {"errorMessage": "Task timed out"}, people)
        with pytest.raises(smoke.Unexpected, match="add_preferences: no answer of a tool"):
            story(site, call).run()

    def test_fails_on_a_gateway_that_hands_no_headers_on_and_says_what_to_do(self, site):
        def drop(url, body, headers):
            return {name: value for name, value in headers.items() if not name.startswith("X-")}

        people = smoke.People(site.origin, site.token())
        call = smoke.by_gateway(site.origin + smoke.LOCAL_GATEWAY, people, drop)
        with pytest.raises(
            smoke.Unexpected, match=r"did not hand X-Thread-Id and X-User-Id on .* interceptor"
        ):
            story(site, call).run()
        assert site.user("GET", "/threads").json["threads"] == []

    def test_fails_on_a_gateway_that_refuses_the_caller(self, site):
        people = smoke.People(site.origin, site.token())
        call = smoke.by_gateway(f"{site.origin}/threads", people, smoke.unsigned)
        with pytest.raises(smoke.Unexpected, match="through the Gateway: no answer of a tool: 401"):
            story(site, call).run()


class TestTheGatewaysAnswer:
    MESSAGE: ClassVar = {"jsonrpc": "2.0", "id": 1, "result": {"content": []}}

    def test_may_be_json_or_a_stream_of_events(self):
        text = json.dumps(self.MESSAGE)
        assert smoke._message(text.encode()) == self.MESSAGE
        assert smoke._message(f"event: message\ndata: {text}\n\n".encode()) == self.MESSAGE


class TestTheSignature:
    def test_is_for_the_gateways_service_and_covers_who_is_meant(self):
        headers = {"X-Thread-Id": "t", "X-User-Id": "ada"}
        signed = smoke.signed("https://gw.example/mcp", b"{}", headers)
        scope = rf"/{os.environ['AWS_DEFAULT_REGION']}/bedrock-agentcore/aws4_request"
        assert scope in signed["Authorization"]
        names = re.search(r"SignedHeaders=([^,]+)", signed["Authorization"])[1].split(";")
        assert {"host", "x-thread-id", "x-user-id", "x-amz-date"} <= set(names)
        assert signed.items() >= headers.items()


class TestThePassingUser:
    POOL, CLIENT = "eu-west-1_abcDEF123", "1h57kf5cpq17m0eml12EXAMPLE"

    @pytest.fixture
    def pool(self, monkeypatch):
        client = boto3.client("cognito-idp")
        monkeypatch.setattr(smoke.boto3, "client", lambda service: client)
        with Stubber(client) as stub:
            yield stub
            stub.assert_no_pending_responses()

    def expect(self, pool, *, token):
        of_pool = {"UserPoolId": self.POOL, "Username": ANY}
        mail = {"MessageAction": "SUPPRESS", "UserAttributes": [{"Name": "email", "Value": ANY}]}
        pool.add_response("admin_create_user", {}, of_pool | mail)
        pool.add_response("admin_set_user_password", {}, of_pool | {"Password": ANY, "Permanent": True})
        asked = {"UserPoolId": self.POOL, "ClientId": self.CLIENT, "AuthFlow": "ADMIN_USER_PASSWORD_AUTH"}
        asked["AuthParameters"] = ANY
        if token:
            pool.add_response("admin_initiate_auth", {"AuthenticationResult": {"AccessToken": token}}, asked)
        else:
            pool.add_client_error("admin_initiate_auth", "NotAuthorizedException", expected_params=asked)
        pool.add_response("admin_delete_user", {}, of_pool)

    def test_has_a_token_and_is_gone_at_the_end(self, pool):
        self.expect(pool, token="a.b.c")
        with smoke.passing_user(self.POOL, self.CLIENT) as token:
            assert token == "a.b.c"

    def test_is_gone_where_no_token_is_given_too(self, pool):
        self.expect(pool, token=None)
        with pytest.raises(ClientError), smoke.passing_user(self.POOL, self.CLIENT):
            pass


class TestThePagesAddress:
    def test_is_told_to_a_user_pool_that_does_not_know_it(self):
        url = "https://abc.execute-api.eu-west-1.amazonaws.com"
        assert outputs.change({"ApiUrl": url, "SignInReturn": "nowhere yet"}) == f"PageUrl={url}"

    def test_is_left_alone_where_it_is_known_or_nobodys_business(self):
        url = "https://abc.execute-api.eu-west-1.amazonaws.com"
        assert outputs.change({"ApiUrl": url, "SignInReturn": url}) == ""
        assert outputs.change({"ApiUrl": url}) == ""


class TestProtection:
    def test_is_asked_for_once_the_stack_is_there(self):
        assert outputs.change({"Protection": "later"}) == "Protection=yes"
        assert outputs.change({"Protection": "yes"}) == ""
        assert outputs.change({"Protection": "no"}) == ""


def as_sam_prints(**values) -> str:
    return json.dumps([{"OutputKey": key, "OutputValue": value} for key, value in values.items()])


@pytest.fixture
def make(tmp_path):
    """make(target, outputs, …) runs a target with a SAM CLI that only notes what it is asked for."""

    def make(target, outputs, *arguments):
        notes, answer, sam = (tmp_path / name for name in ("notes", "outputs.json", "sam"))
        answer.write_text(outputs)
        sam.write_text(f'#!/bin/sh\necho "$*" >> {notes}\n[ "$1" = list ] && cat {answer} || true\n')
        sam.chmod(0o755)
        notes.write_text("")
        command = ["make", "--silent", "--old-file", "build", target, f"SAM={sam}", *arguments]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        return notes.read_text().splitlines()

    return make


@pytest.mark.deployment  # it needs the SAM CLI
class TestMakeDeploy:
    URL = "https://abc.execute-api.eu-west-1.amazonaws.com"

    def outputs(self, sign_in_return, protection="yes"):
        return as_sam_prints(ApiUrl=self.URL, SignInReturn=sign_in_return, Protection=protection)

    def test_deploys_a_new_stack_again_with_the_pages_address_and_its_protection(self, make):
        assert make("deploy", self.outputs("nowhere yet", "later"), "CONFIG_ENV=live") == [
            "deploy --config-env live",
            "list stack-outputs --config-env live --output json",
            f"deploy --config-env live --parameter-overrides PageUrl={self.URL} Protection=yes",
        ]

    def test_deploys_a_stack_that_knows_its_page_once(self, make):
        assert make("deploy", self.outputs(self.URL), "SAM_ARGS=--no-confirm-changeset") == [
            "deploy --config-env default --no-confirm-changeset",
            "list stack-outputs --config-env default --output json",
        ]


@pytest.mark.deployment
class TestMakeDeployAgent:
    ARN = "arn:aws:lambda:eu-west-1:123456789012:function:preferences-AgentFunction-x1"

    def test_deploys_the_second_template_for_the_first_ones_function(self, make):
        given = ["CONFIG_ENV=live", "PARAMETERS=Gateway=NONE ClassicAgent=FUNCTIONS"]
        assert make("deploy-agent", as_sam_prints(AgentFunctionArn=self.ARN), *given) == [
            "list stack-outputs --config-env live --output json",
            "deploy --config-env live-agent --template-file agent.yaml --parameter-overrides "
            f"FunctionArn={self.ARN} Gateway=NONE ClassicAgent=FUNCTIONS",
        ]

    def test_deploys_nothing_without_that_function(self, make):
        with pytest.raises(subprocess.CalledProcessError):
            make("deploy-agent", as_sam_prints(ApiUrl="https://a.example"))

    def test_is_configured_beside_the_first(self):
        sections = tomllib.loads((ROOT / "samconfig.toml").read_text())
        environments = [name for name in sections if name != "version" and not name.endswith("-agent")]
        assert environments
        names = [
            section["global"]["parameters"]["stack_name"] for n, section in sections.items() if n != "version"
        ]
        assert len(names) == len(set(names))
        for name in environments:
            assert f"{name}-agent" in sections

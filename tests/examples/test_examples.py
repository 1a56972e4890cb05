"""Every example: the list is in every prompt, the identity goes along, the lock is kept.

And whatever a tool refuses or fails with, the model gets a sentence that it can use, and the turn goes on.
"""

import re
import socket
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from infra.local.gateway import FAULT
from tests.examples.runner import EXAMPLES, Play, answers, command, rehearse, require_installed, result, run
from tests.examples.signed import signed_gateway
from tests.fault_proxy import error, fault_proxy, passes, resets
from tests.local.recorder import Recorder, serving
from tests.stack import ROOT, Site, start_stack, stop_stack

pytestmark = pytest.mark.examples
BY_GATEWAY = [name for name in EXAMPLES if "backend.GATEWAY" in EXAMPLES[name].read_text("utf-8")]

NO_ANSWER = "No answer came: it is unknown whether this was done. Look at the list before you try again."
LOOK = "What do you know about me?"
ADD = 'call add_preferences {"items": [{"title": "Quiet"}], "action_and_reasoning": "Trying."}'
LIST = 'call list_preferences {"action_and_reasoning": "Looking."}'
UNTITLED = 'call add_preferences {"items": [{"title": ""}], "action_and_reasoning": "Trying."}'
SHAPELESS = 'call add_preferences {"items": "quiet", "action_and_reasoning": "Trying."}'
UNKNOWN = 'call drop_table {"action_and_reasoning": "Trying."}'
NAMELESS = (
    "known = backend.session_state; backend.headers = dict; "
    "backend.session_state = lambda: known() | {'sessionAttributes': {}}"
)


class Trouble:
    """What an engine does to the agent's writes, by the thread's id: throttles them, or loses the first."""

    def __init__(self):
        self.lost = Counter()

    def __call__(self, exchange):
        sent = exchange.body.decode()
        kind, thread = re.search(r"THREAD#((\w+)-\w+)", sent).group(2, 1)
        if '"agent"' in sent and kind == "busy":
            error(400, "ThrottlingException")(exchange)
        elif '"agent"' in sent and kind == "unknown":
            self.lost[thread] += 1
            # No answer; then one that doesn't tell what became of the first copy.
            first = self.lost[thread] == 1
            (resets(after=False) if first else error(400, "AccessDeniedException"))(exchange)
        else:
            passes(exchange)


@pytest.fixture(scope="module")
def played(dynoxide):
    """{example: {play: Played}}: those that are installed, side by side, since they mostly wait."""
    with (
        fault_proxy(dynoxide) as proxy,
        serving(broken := Recorder()) as elsewhere,
        socket.socket() as silent,
    ):
        silent.bind(("127.0.0.1", 0))  # and nobody listens
        proxy.fail_always("UpdateItem", Trouble())
        broken.answer = RuntimeError("a secret")
        process, site = start_stack(AWS_ENDPOINT_URL_DYNAMODB=proxy.url, TABLE_NAME="examples")

        def ways_to(origin, gateway):
            """Environment variables that have an example find the tools there."""
            aws = ("AWS_ENDPOINT_URL_LAMBDA", "AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME")
            return {"PREFERENCES_GATEWAY": gateway} | dict.fromkeys(aws, f"{origin}/local/aws")

        def play(name, gateway):
            broken = ways_to(elsewhere, f"{elsewhere}/local/mcp")
            gone = ways_to(f"http://127.0.0.1:{silent.getsockname()[1]}", gateway)
            plays = {
                "refused": Play((LOOK, UNTITLED, SHAPELESS, UNKNOWN, ADD, LOOK), f"refused-{name}"),
                "nameless": Play((LIST, LOOK), f"nameless-{name}", NAMELESS),
                "unknown": Play((ADD, LOOK), f"unknown-{name}"),
                "busy": Play((ADD, LOOK), f"busy-{name}"),
                "broken": Play((ADD, LOOK), f"broken-{name}", environment=broken),
                "gone": Play((ADD, LOOK), f"gone-{name}", environment=gone),
                "signed": Play((ADD,), f"signed-{name}", environment={"PREFERENCES_GATEWAY": gateway}),
            }
            return dict(zip(plays, rehearse(name, site, plays.values()), strict=True))

        names = [name for name in EXAMPLES if (ROOT / command(name)[0]).exists()]
        try:
            with (
                signed_gateway(f"{site.origin}/local/mcp", loses="gone-") as gateway,
                ThreadPoolExecutor(len(names)) as pool,
            ):
                yield dict(zip(names, pool.map(play, names, [gateway] * len(names)), strict=True))
        finally:
            stop_stack(process)


@pytest.fixture(params=EXAMPLES)
def example(request):
    """The name of an example; a test that takes it runs once with each."""
    require_installed(request.param)
    return request.param


@pytest.fixture
def said(example, played):
    """said(play): the agent's answers in it."""
    return lambda play: played[example][play].answers()


def goes_on(answer):
    """Whether it is that of a turn of its own: what the model has in its prompt."""
    return answer.startswith("In my prompt: <preferences")


def test_the_conversation_keeps_the_lock_leaves_a_suggestion_and_has_the_list_in_its_prompts(example, stack):
    thread = f"example-{example}"
    printed = run(example, stack, thread)
    assert f"(the panel: {stack.origin}/#thread={thread})" in printed
    first, second, third = answers(printed)
    assert result(first)["result"] == "recorded 2 preferences"
    assert "(locked: Budget under 900 euros)" in printed
    told = result(second)
    outcomes = {item["index"]: item["outcome"] for item in told["items"]}
    assert outcomes == {1: "locked", 2: "updated"}
    assert "skipped #1 Budget under 900 euros (locked: ask the user to unlock first)" in told["result"]
    assert third.startswith(f'In my prompt: <preferences revision="{told["revision"]}">')
    assert told["preferences"] in third
    assert "left as a suggestion that the user can accept" in told["result"]
    kept = stack.user("GET", f"/threads/{thread}/preferences").json
    assert [row["title"] for row in kept["preferences"]] == ["Budget under 900 euros", "Friendly tone"]
    (suggestion,) = kept["suggestions"]
    assert suggestion["preference_id"] == kept["preferences"][0]["id"]
    assert suggestion["after"]["title"] == "Budget under 1200 euros"


def test_the_list_is_in_the_prompt_of_every_turn(said):
    before, *_, after = said("refused")
    assert goes_on(before)
    assert "Quiet" not in before
    assert "Quiet" in after


def test_refused_arguments_bring_our_sentence(said):
    _, untitled, *_ = said("refused")
    refusal = result(untitled)["error"]
    assert refusal["code"] == "invalid_arguments"
    assert refusal["message"].startswith("items.0.title: must hold at least one visible character")


def test_arguments_of_another_shape_bring_a_sentence_that_says_what_to_send(said, example):
    _, _, shapeless, *_ = said("refused")
    if example in BY_GATEWAY:  # which has looked already
        assert "Field 'items' has invalid type: $.items: string found, array expected" in shapeless
    else:
        refusal = result(shapeless)["error"]
        assert refusal["code"] == "invalid_arguments"
        assert "send items as JSON, for example" in refusal["message"]


def test_an_unknown_tool_brings_a_sentence(said, example):
    _, _, _, unknown, *_ = said("refused")
    if example in BY_GATEWAY:  # the Gateway's, or the framework's own
        assert "drop_table" in unknown
    else:
        assert result(unknown)["error"]["code"] == "unknown_tool"


def test_after_all_refusals_a_good_call_is_done(said):
    *_, added, _ = said("refused")
    assert result(added)["result"] == "recorded 1 preference"


@pytest.mark.parametrize(
    ("way", "code", "sentence"),
    [
        ("nameless", "missing_identity", "the application sets it"),
        ("busy", "busy", "nothing was changed"),
        ("unknown", "outcome_unknown", "look at the present list before trying again"),
    ],
)
def test_a_refusal_brings_our_sentence(said, way, code, sentence):
    answered, after = said(way)
    refusal = result(answered)["error"]
    assert refusal["code"] == code
    assert sentence in refusal["message"]
    assert goes_on(after)


def test_a_function_that_fails_brings_a_sentence_without_a_trace(said, example):
    added, after = said("broken")
    assert (FAULT if example in BY_GATEWAY else NO_ANSWER) in added
    assert "a secret" not in added
    assert goes_on(after)


def test_tools_that_cannot_be_reached_bring_a_sentence(said, example):
    added, after = said("gone")
    own = "Connection to the MCP server was closed"  # Strands says so itself
    assert (own if example == "strands_agent" else NO_ANSWER) in added
    assert "Traceback" not in added
    if example == "classic_agent":  # it is Bedrock that is out of reach, so there is no model either
        assert NO_ANSWER in after
    else:
        assert goes_on(after)


@pytest.mark.parametrize("example", BY_GATEWAY, indirect=True)
def test_a_gateway_with_iam_takes_the_signature(said):
    (added,) = said("signed")
    assert result(added)["result"] == "recorded 1 preference"


def test_a_gateway_with_iam_takes_no_other(stack):
    with signed_gateway(f"{stack.origin}/local/mcp") as gateway:
        origin, slash, path = gateway.partition("/local")
        for headers in (
            {},
            {
                "Authorization": "AWS4-HMAC-SHA256 "
                "Credential=x/20261203/eu-west-1/bedrock-agentcore/aws4_request, "
                "SignedHeaders=host;x-amz-date, Signature=0",
                "X-Amz-Date": "20261203T000000Z",
            },
        ):
            assert Site(origin).request("POST", slash + path, {"jsonrpc": "2.0"}, headers).status == 403


def test_some_call_the_tools_through_a_gateway():
    assert BY_GATEWAY == ["langgraph_agent", "mcp_client", "strands_agent"]


def test_each_is_short_and_takes_the_list_into_the_prompt_at_one_place():
    for name, path in EXAMPLES.items():
        lines = path.read_text("utf-8").splitlines()
        assert len(lines) <= 70, name
        places = [line for line in lines if "backend.prompt()" in line or "backend.session_state()" in line]
        assert len(places) == 1, name


def test_the_docs_name_each_example_and_the_versions_tried():
    page = (ROOT / "docs/agents.md").read_text("utf-8")
    for name in EXAMPLES:
        python, script = command(name)
        assert f"`make {python.partition('/')[0]} && {python} {script}`" in page
        assert f"](../{script})" in page
    pinned = [
        line.split()[0]
        for lock, packages in (
            ("strands", "strands-agents"),
            ("langgraph", "langchain|langchain-aws|langchain-mcp-adapters"),
            ("dev", "mcp|boto3"),
        )
        for line in (ROOT / f"requirements/{lock}.txt").read_text("utf-8").splitlines()
        if re.match(rf"({packages})==", line)
    ]
    assert len(pinned) == 6
    for pin in pinned:
        assert pin.replace("==", " ") in page

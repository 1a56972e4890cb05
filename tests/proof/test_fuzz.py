"""Inputs that nobody would send on purpose, by the thousand: the decoder and the handlers take them all.

Hypothesis looks for the smallest input that breaks a rule (test_decoding, test_agent); this is the plain loop
for numbers, from a seed that the failure prints. With PROVE set, a million for the decoder and ten thousand
for each handler; PROVE_SEED takes the place of the seed of the day.
"""

import json
import os
import random
import time

from infra.local.context import LambdaContext
from preferences import agent, api, history
from preferences.agent.arguments import decode
from preferences.api.routes import ROUTES
from preferences.errors import InvalidInput
from preferences.tools import TOOLS
from tests.effort import PROVE, tried

SEED = int(os.environ.get("PROVE_SEED") or (time.time_ns() if PROVE else 7))
DECODED, HANDLED = (1_000_000, 10_000) if PROVE else (5_000, 300)

TITLE = "Academic tone"
THREADS = [*["trip-2026"] * 8, "trip-2027", "a#b", "", " ", "x" * 101, "žába", None, 7]
FRAGMENTS = [
    *("[", "]", "{", "}", "[{", "}]", "}, {", "(", ")", ",", ", ", ":", "=", '"', "'", "\\", "\n", "\t", " "),
    *("title", "subtitle", "kind", "index", "title=", ", kind=", ", subtitle=", "index=1", "}, {title="),
    *('"title": ', "'title': ", '"index": 1', "{title=One", "{index=1, title=One}", '{"title": "One"}'),
    *("hard", "soft", "null", "None", "true", "True", "NaN", "Infinity", "1", "2", "-1", "1e9", "0x1", "1.0"),
    *(
        "```",
        "```json\n",
        "<item>",
        "</item>",
        "</item><item>",
        "&amp;",
        "<",
        ">",
        "\\n",
        "\\u0041",
        "\\ud800",
    ),
    *("name", "value", '{"name": "title", "value": "x"}', "\ud800", "\x00", "\u202e", "🧭", "é", "e\u0301"),
]
NUMBERS = [0, 1, 2, -1, 50, 51, 10**30, 1.5, 1e308]


class Draw:
    """Random values of the shapes that matter here."""

    def __init__(self, name: str) -> None:
        self.random = random.Random(f"{SEED} {name}")
        self.valid = [
            [{"title": TITLE, "subtitle": "APA 7", "kind": "hard"}, {"title": "Short, plain words"}],
            [{"index": 1, "title": TITLE}, {"index": 2, "kind": "soft"}],
            [1, 3],
        ]

    def one(self, *choices):
        return choices[int(self.random.random() * len(choices))]

    def text(self) -> str:
        """Fragments in a row, or a text of an agent's that has been bent a little."""
        if self.random.random() < 0.6:
            return "".join(self.random.choices(FRAGMENTS, k=int(self.random.random() * 12)))
        rows = self.one(*self.valid)
        text = self.one(json.dumps, repr, self._javas, lambda v: json.dumps(json.dumps(v)))(rows)
        for _ in range(int(self.random.random() * 4)):
            at = int(self.random.random() * (len(text) + 1))
            cut = at + int(self.random.random() * 4)
            text = text[:at] + self.one("", *FRAGMENTS) + text[cut:]
        return text

    def _javas(self, rows) -> str:
        if not isinstance(rows[0], dict):
            return str(rows)
        return (
            "[" + ", ".join("{" + ", ".join(f"{k}={v}" for k, v in row.items()) + "}" for row in rows) + "]"
        )

    def value(self, depth: int = 3):
        """Any value that JSON has."""
        choice = int(self.random.random() * (9 if depth else 6))
        if choice < 3:
            return self.text()
        if choice == 3:
            return self.one(*NUMBERS)
        if choice == 4:
            return self.one(None, True, False, TITLE, *THREADS)
        if choice == 5:
            return self.one(*self.valid)
        inner = [self.value(depth - 1) for _ in range(int(self.random.random() * 4))]
        if choice == 6:
            return {self.one("title", "kind", "name", "value", "index", "x", self.text()): v for v in inner}
        return inner

    def maybe(self, value, chance: float = 0.8):
        """`value` most of the time, else anything, or a key that `without_gaps` leaves out."""
        return value if self.random.random() < chance else self.one(self.value(), Ellipsis)

    @staticmethod
    def without_gaps(given: dict) -> dict:
        return {name: value for name, value in given.items() if value is not Ellipsis}


def said(count: int) -> str:
    return f"PROVE_SEED={SEED}, input {count}"


def test_the_decoder_reads_or_refuses_whatever_it_is_given():
    draw = Draw("decoder")
    schemas = [tool.args_schema for tool in TOOLS.values()]
    names = ["items", "updates", "indices", "list_revision", "thread_id"]
    started = time.process_time()
    read = 0
    for count in range(DECODED):
        given = {draw.one(*names): draw.text() if count % 4 else draw.value()}
        try:
            decoded = decode(draw.one(*schemas), given)
        except InvalidInput as refusal:
            assert refusal.errors, said(count)  # noqa: PT017
        except Exception as fault:
            raise AssertionError(f"{said(count)}: {given!r}") from fault
        else:
            read += 1
            assert decoded.keys() <= given.keys(), said(count)
    tried("bad input", "texts to the decoder", DECODED)
    assert 0 < read < DECODED
    assert time.process_time() - started < DECODED / 500, "it takes longer than it should"


def test_the_agents_handler_answers_every_event(quick_table):
    draw, tools = Draw("agent"), [*TOOLS, "", "wipe", None]
    outcomes = set()

    def session():
        user = draw.one("ada", "ada", "ada", "bob", "", None)
        return draw.without_gaps({"thread_id": draw.maybe(draw.one(*THREADS)), "user_id": user or Ellipsis})

    def arguments():
        values = {"items": draw.valid[0], "updates": draw.valid[1], "indices": draw.valid[2]}
        values |= {"list_revision": draw.one(1, 2, "3"), "x": 1}
        chosen = draw.random.sample([*values], 2)
        return {name: draw.maybe(values[name], 0.7) for name in chosen}

    def named():
        return [
            draw.without_gaps({"name": name, "type": "array", "value": value})
            for name, value in arguments().items()
        ]

    for count in range(HANDLED):
        tool, context = draw.one(*tools), None
        event = {
            "messageVersion": "1.0",
            "actionGroup": draw.maybe("preferences"),
            "agent": draw.maybe({"id": "AGENT12345"}),
            "sessionAttributes": draw.maybe(session(), 0.95),
            "promptSessionAttributes": draw.maybe({}, 0.9),
        }
        match draw.one("function", "openapi", "gateway", "anything"):
            case "function":
                event |= {"function": draw.maybe(tool, 0.95), "parameters": draw.maybe(named(), 0.9)}
            case "openapi":
                content = {"application/json": {"properties": draw.maybe(named(), 0.9)}}
                event |= {
                    "apiPath": draw.maybe(f"/{tool}", 0.95),
                    "requestBody": draw.maybe({"content": content}, 0.9),
                }
            case "gateway":
                headers = {"X-Thread-Id": draw.one(*THREADS), "X-User-Id": draw.one("ada", "bob", "")}
                custom = {
                    "bedrockAgentCoreToolName": draw.maybe(f"t___{tool}", 0.95),
                    "bedrockAgentCorePropagatedHeaders": draw.maybe(headers, 0.9),
                }
                event, context = draw.without_gaps(arguments()), {"custom": draw.without_gaps(custom)}
            case "anything":
                event = draw.value()
        if isinstance(event, dict):
            event = draw.without_gaps(event)
        try:
            answer = agent.handler(event, LambdaContext(client_context=context))
            text = json.dumps(answer, allow_nan=False)
        except Exception as fault:
            raise AssertionError(f"{said(count)}: {event!r} {context!r}") from fault
        assert "internal_error" not in text, f"{said(count)}: {event!r} {context!r}"
        outcomes.add("ok" if '"ok": true' in text or '\\"ok\\": true' in text else "refused")
    tried("bad input", "events to the agent's handler", HANDLED)
    assert outcomes == {"ok", "refused"}


def test_the_peoples_handler_answers_every_event(quick_table):
    draw, keys, statuses = Draw("people"), [*ROUTES], set()
    bodies = [{"items": [{"title": TITLE}]}, {"title": "x"}, {"locked": True}, {"ids": []}, {"ids": ["x"]}]
    ids = ["0" * 32]
    for count in range(HANDLED):
        body = draw.maybe(json.dumps(draw.maybe(draw.one(*bodies), 0.7), default=str), 0.8)
        claims = {
            "sub": draw.maybe(draw.one("ada", "ada", "bob", "")),
            "token_use": draw.maybe("access", 0.9),
        }
        path = {
            "thread_id": draw.one(*THREADS),
            "id": draw.maybe(draw.one(*ids)),
            "revision": draw.maybe("1", 0.6),
        }
        query = "&".join(f"{draw.one('limit', 'cursor', 'x', draw.text())}={draw.text()}" for _ in range(2))
        headers = {
            "content-type": draw.maybe("application/json"),
            "if-match": draw.one('"1"', "*", draw.text()),
            "if-none-match": draw.text(),
            "accept-encoding": draw.text(),
        }
        event = {
            "version": "2.0",
            "routeKey": draw.maybe(draw.one(*keys), 0.97),
            "rawQueryString": draw.one("", query, ...),
            "headers": draw.maybe(draw.without_gaps(headers), 0.9),
            "pathParameters": draw.maybe(draw.without_gaps(path), 0.9),
            "requestContext": draw.maybe(
                {"requestId": "r", "authorizer": {"jwt": {"claims": draw.without_gaps(claims)}}}, 0.9
            ),
            "body": body,
            "isBase64Encoded": draw.maybe(False, 0.9),
        }
        event = draw.without_gaps(event)
        try:
            answer = api.handler(event, LambdaContext())
            json.dumps(answer, allow_nan=False)
        except Exception as fault:
            raise AssertionError(f"{said(count)}: {event!r}") from fault
        unready = answer["statusCode"] == 503 and '"not_ready"' in answer["body"]  # no stream, so no history
        assert 200 <= answer["statusCode"] < 500 or unready, f"{said(count)}: {event!r}"
        statuses.add(answer["statusCode"])
        if '"preferences":[{' in (answer.get("body") or "") and answer["statusCode"] == 201:
            ids = ["0" * 32, *(row["id"] for row in json.loads(answer["body"])["preferences"][:3])]
    tried("bad input", "events to the people's handler", HANDLED)
    assert {200, 201, 401, 404, 415, 422} <= statuses


def test_the_streams_handler_answers_every_batch(quick_table):
    draw, failed = Draw("stream"), set()
    item = {
        "pk": {"S": "THREAD#trip-2026"},
        "sk": {"S": "PREFERENCES"},
        "owner": {"S": "ada"},
        "revision": {"N": "2"},
        "preferences": {"M": {}},
    }

    def image():
        bent = {**item, draw.one(*item): draw.maybe({"S": draw.text()}, 0.8)}
        return draw.maybe(draw.without_gaps(bent), 0.9)

    def record(number):
        images = {"Keys": draw.maybe({name: item[name] for name in ("pk", "sk")}, 0.9)}
        images |= {"NewImage": image(), "OldImage": image(), "SequenceNumber": draw.maybe(str(number), 0.95)}
        return draw.without_gaps(
            {"eventName": draw.one("INSERT", "MODIFY", "REMOVE"), "dynamodb": draw.without_gaps(images)}
        )

    for count in range(HANDLED):
        records = [draw.maybe(record(n), 0.9) for n in range(int(draw.random.random() * 3))]
        event = draw.maybe({"Records": [r for r in records if r is not Ellipsis]}, 0.95)
        try:
            answer = history.handler(event, LambdaContext())
            json.dumps(answer, allow_nan=False)
        except Exception as fault:
            raise AssertionError(f"{said(count)}: {event!r}") from fault
        failed.add(bool(answer["batchItemFailures"]))
    tried("bad input", "batches to the stream's handler", HANDLED)
    assert failed == {True, False}

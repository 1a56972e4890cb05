"""The agent's four tools: what a model may send, what is done with it, and what the model reads of that.

A tool is a method of PreferenceTools under @workspace_tool. The decorator registers it in TOOLS, from which
the schemas are rendered, adds the argument `action_and_reasoning`, validates, runs, and wraps the outcome in
the result envelope:

    {"ok": true, "result": "updated #1 Formal tone", "items": [{"index": 1, "position": 1,
     "title": "Formal tone", "outcome": "updated"}], "changed": "#1 [hard] Formal tone", "revision": 8}
    {"ok": false, "error": {"code": "invalid_arguments", "message": "indices: is required, for …"}}
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, create_model
from pydantic_core import PydanticCustomError

from preferences import render
from preferences.errors import FieldError, InvalidInput, OutcomeUnknown, PreferencesError
from preferences.model import (
    MAX_BATCH,
    MAX_SUGGESTIONS,
    Additions,
    Caller,
    Frozen,
    IndexedEdit,
    Position,
    Report,
    Thread,
    reasoning,
    whole_number,
)
from preferences.parsing import parse
from preferences.repository import PreferenceRepository, Written

Envelope = dict[str, Any]

MAX_FAULTS_NAMED = 3

REASONING = Field(
    description="What you are doing and why, in one sentence. The user reads it beside the change.",
    examples=["Recording the budget that the user just named."],
)
IDENTITY = frozenset({"thread_id", "user_id"})
"""They come from the session or from headers. As arguments, a model could name another user's."""


def _revision(value: object) -> object:
    if value is None or (isinstance(value, str) and value.strip().lower() in ("", "null", "none")):
        return None
    return whole_number(value) or None  # models fill optional integers with 0, and no thread has it


ListRevision = Annotated[
    Annotated[int, Field(ge=0)] | None,
    BeforeValidator(_revision),
    Field(
        description=(
            "The revision shown with the list that these positions come from; "
            "if the list has changed since, nothing is touched and you get the fresh list."
        ),
        examples=[8],
    ),
]


class NoArguments(Frozen):
    pass


def _one_edit_per_position(updates: list[IndexedEdit]) -> list[IndexedEdit]:
    if len({edit.index for edit in updates}) < len(updates):
        raise PydanticCustomError("repeated_index", "must hold each index only once, merge its edits")
    return updates


class Updates(Frozen):
    updates: Annotated[list[IndexedEdit], AfterValidator(_one_edit_per_position)] = Field(
        min_length=1,
        max_length=MAX_BATCH,
        description=(
            "The preferences to edit, each as {index, title?, subtitle?, kind?}; "
            "omit a field to keep its current value. Pass a single edit as a one-element list."
        ),
        examples=[[{"index": 2, "title": "Formal tone"}]],
    )
    list_revision: ListRevision = None


class Removals(Frozen):
    indices: list[Position] = Field(
        min_length=1,
        max_length=MAX_BATCH,
        description=(
            "1-based positions of the preferences to remove (as shown by list_preferences). "
            "Pass one or several."
        ),
        examples=[[1, 3]],
    )
    list_revision: ListRevision = None


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as it is declared. `args_schema` is what is validated, `parameters` what the model is shown."""

    name: str
    description: str
    args_schema: type[Frozen]
    run: Callable[["PreferenceTools", Any, Caller], "ToolResult"]

    @property
    def parameters(self) -> type[Frozen]:
        """`args_schema` with the injected `action_and_reasoning`, which the schema shown to models requires.

        A call without it is served: the reason is for the history, and not worth a lost change.
        """
        injected: Any = {"action_and_reasoning": (str, REASONING)}
        return create_model(self.args_schema.__name__, __base__=self.args_schema, **injected)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool did: the sentence for the model, and the list after it."""

    result: str
    thread: Thread
    details: Mapping[str, Any] = field(default_factory=dict)
    """Further parts of the envelope."""
    suggested: int = 0
    """How many new suggestions were left for the user."""


TOOLS: dict[str, Tool] = {}

_NAME = re.compile("[A-Za-z][A-Za-z0-9_]{0,39}")
"""An argument's name that may be repeated to its sender: anything else could be a text."""


def workspace_tool(
    *, description: str, args_schema: type[Frozen] = NoArguments
) -> Callable[[Callable[["PreferenceTools", Any, Caller], ToolResult]], Callable[..., Envelope]]:
    """Declares a method as a tool, and makes it take the arguments as a model sends them."""

    def declare(method: Callable[["PreferenceTools", Any, Caller], ToolResult]) -> Callable[..., Envelope]:
        tool = Tool(method.__name__, description, args_schema, method)
        TOOLS[tool.name] = tool

        @wraps(method)
        def call(self: "PreferenceTools", **arguments: object) -> Envelope:
            return self.call(tool.name, arguments)

        return call

    return declare


def failure(code: str, message: str) -> Envelope:
    """The envelope of a call that did nothing."""
    return {"ok": False, "error": {"code": code, "message": message}}


def unknown_tool() -> Envelope:
    return failure("unknown_tool", f"there is no such tool; there are {', '.join(TOOLS)}")


class PreferenceTools:
    """The tools on one thread, in the name of one agent.

    The thread, and the user that must own it, come from whoever made the session, never from the model.
    `thread` is the list as the latest call read or left it; None before, and where it could not be read.
    `suggested` is how many new suggestions that call left for the user.
    """

    def __init__(
        self,
        thread_id: str,
        repo: PreferenceRepository,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
    ) -> None:
        self.thread_id = thread_id
        self.thread: Thread | None = None
        self.suggested = 0
        self.repository = repo
        self._user_id = user_id
        self._agent_id = agent_id

    def call(self, name: str, arguments: Mapping[str, object]) -> Envelope:
        """Runs a tool by its name, with arguments that are decoded."""
        tool = TOOLS.get(name)
        return self.run(tool, lambda: arguments) if tool else unknown_tool()

    def run(self, tool: Tool, read_arguments: Callable[[], Mapping[str, object]]) -> Envelope:
        """Runs a tool with the arguments that are read. Refusals are envelopes; only faults are raised."""
        self.thread, self.suggested = None, 0
        try:
            arguments = read_arguments()
            caller = Caller(
                actor="agent",
                owner=self._user_id,
                who=self._agent_id,
                reasoning=reasoning(arguments.get("action_and_reasoning")),
            )
            outcome = tool.run(self, _accepted(tool, arguments), caller)
        except InvalidInput as refusal:
            return failure("invalid_arguments", _advice(tool, refusal))
        except OutcomeUnknown as refusal:
            self.thread = refusal.thread
            if refusal.thread is None:
                return failure(refusal.code, str(refusal))
            shown = {"revision": refusal.thread.revision, **_whole(refusal.thread)}
            return failure(refusal.code, str(refusal)) | shown
        except PreferencesError as refusal:
            return failure(refusal.code, str(refusal))
        self.thread, self.suggested = outcome.thread, outcome.suggested
        return {
            "ok": True,
            "result": outcome.result,
            **outcome.details,
            **_waiting(self.thread),
            "revision": self.thread.revision,
        }

    @workspace_tool(
        description=(
            "Record one or more decoded user preferences (hard or soft constraints). "
            "Use this for every add — pass a one-element list to record a single preference."
        ),
        args_schema=Additions,
    )
    def add_preferences(self, args: Additions, caller: Caller) -> ToolResult:
        return _result_of_additions(self.repository.add_preferences_bulk(self.thread_id, args.items, caller))

    @workspace_tool(description="List the current preferences / constraints.")
    def list_preferences(self, _: NoArguments, caller: Caller) -> ToolResult:
        thread = self.repository.list_preferences(self.thread_id, caller)
        return ToolResult(render.lines(thread), thread)

    @workspace_tool(
        description=(
            "Edit the title, subtitle, or kind of one or more existing preferences by their 1-based indices. "
            "Pass a list of {index, title?, subtitle?, kind?}. "
            "Locked preferences are skipped and reported so the agent can tell the user."
        ),
        args_schema=Updates,
    )
    def update_preferences(self, args: Updates, caller: Caller) -> ToolResult:
        written = self.repository.update_preferences(
            self.thread_id, args.updates, caller, list_revision=args.list_revision
        )
        return _result_by_position(written, args.list_revision)

    @workspace_tool(
        description=(
            "Remove one or more preferences by their 1-based indices "
            "(as shown by list_preferences; pass a list). "
            "Locked preferences are skipped and reported. "
            "Call list_preferences first to confirm the indices, "
            "and remove only when the user explicitly asks you to drop a preference."
        ),
        args_schema=Removals,
    )
    def remove_preferences(self, args: Removals, caller: Caller) -> ToolResult:
        written = self.repository.remove_preferences(
            self.thread_id, args.indices, caller, list_revision=args.list_revision
        )
        return _result_by_position(written, args.list_revision)


def _accepted(tool: Tool, arguments: Mapping[str, object]) -> Frozen:
    if named := sorted(IDENTITY & arguments.keys()):
        raise InvalidInput(
            [FieldError(name, "is known already and can't be chosen here: leave it out") for name in named]
        )
    known = {name: arguments[name] for name in tool.args_schema.model_fields if name in arguments}
    unknown = arguments.keys() - known.keys() - {"action_and_reasoning"}
    if unknown and tool.args_schema is not NoArguments:
        # To pass over one could leave out what the call depends on, the guard of a removal for one.
        takes = ", ".join([*tool.args_schema.model_fields, "action_and_reasoning"])
        raise InvalidInput(
            [
                FieldError(
                    name if _NAME.fullmatch(name) else "",
                    f"is no argument of {tool.name}, which takes {takes}",
                )
                for name in sorted(unknown)
            ]
        )
    return parse(tool.args_schema, known)


def _advice(tool: Tool, refusal: InvalidInput) -> str:
    """The faults in one line, and an example of what to send, which is what ends a loop of wrong calls."""
    faults = "; ".join(map(str, refusal.errors[:MAX_FAULTS_NAMED]))
    name, *inside = refusal.errors[0].field.split(".")
    field = tool.args_schema.model_fields.get(name)
    if field is None or not field.examples:
        return faults
    example = field.examples[0]
    if inside and isinstance(example, list):
        example = example[0]
    return f"{faults}, for example {json.dumps(example)}"


# -- what a model reads: short, since it pays for every answer, and never more than was done

MAX_SHORT = 30
"""Characters of a title that is named in a large batch."""
MAX_NAMED = 10
"""Rows of one outcome that a sentence names. A batch of more has its rows named by their numbers alone."""

_DONE = {
    "updated": "updated",
    "removed": "removed",
    "unchanged": "unchanged",
    "duplicate": "not changed, since the list has exactly this already:",
}
_LOCKED = "locked: ask the user to unlock first"
_DECLINED = (
    "the user has turned this down: do not try it again unless the user asks for it; "
    "then only the user can make the change"
)
_SKIPPED = {
    ("out_of_range", None): "out of range",
    ("changed_by_user", None): "changed by the user since: look at its present text before trying again",
    ("declined", None): _DECLINED,
    ("locked", None): _LOCKED,
    ("locked", "outdated"): "locked, and changed by the user since: look at its present text",
    ("locked", "not_first"): f"{_LOCKED}; not left as a suggestion, since the first one for it stands",
    ("locked", "too_many"): f"{_LOCKED}; not left as a suggestion, since {MAX_SUGGESTIONS} wait already",
    ("locked", "left"): _LOCKED,
}
"""(outcome, suggestion) → why a row was skipped. What is left as a suggestion comes last."""
_LEFT = "; left as a suggestion that the user can accept: do not repeat it while it is locked"


def _refused_title(why: str) -> dict[tuple[str, str | None], str]:
    """(outcome, suggestion) → why an agent may not give a row the title that it asked for."""
    return {
        ("declined", None): _DECLINED,
        ("suggested", "left"): f"{why}; left as a suggestion that only the user can accept",
        ("locked", "not_first"): f"{why}; not left as a suggestion, since the first one for it stands",
        ("locked", "too_many"): f"{why}; not left as a suggestion, since {MAX_SUGGESTIONS} wait already",
    }


_NOT_RECORDED = _refused_title("the user removed it, or locked a row of that title")
_NOT_RETITLED = _refused_title("the user removed a preference of this title, or locked one")


def _result_of_additions(written: Written) -> ToolResult:
    recorded = sum(report.outcome == "recorded" for report in written.reports)
    parts = (
        [f"recorded {recorded} preference{'' if recorded == 1 else 's'}"]
        if recorded
        else ["nothing recorded"]
    )
    if known := [report for report in written.reports if report.outcome == "duplicate"]:
        parts.append(f"recorded already: {_names(known, written.reports)}")
    reasons = _with_reasons(written.reports, _NOT_RECORDED, written.reports)
    parts += [f"not recorded: {reason}" for reason in reasons]
    details = _items(written) | _whole(written.thread)
    return ToolResult("; ".join(parts), written.thread, details, written.suggested)


def _result_by_position(written: Written, list_revision: int | None) -> ToolResult:
    outcomes = {report.outcome for report in written.reports}
    details = _items(written) | _list_after(written, list_revision)
    if "stale" in outcomes:
        result = (
            f"stale: the list is not the one of revision {list_revision} any more, so nothing was changed; "
            f"take the positions from the present list (revision {written.thread.revision})"
        )
        return ToolResult(result, written.thread, details)
    parts = []
    for outcome, verb in _DONE.items():
        if done := [report for report in written.reports if report.outcome == outcome]:
            parts.append(f"{verb} {_names(done, written.reports)}")
    if not parts:
        parts = ["nothing changed" if outcomes - {"out_of_range"} else "no matching preferences found"]
    titles, rows = (
        [report for report in written.reports if report.refused_title is refused] for refused in (True, False)
    )
    if skipped := [
        *_with_reasons(titles, _NOT_RETITLED, written.reports),
        *_with_reasons(rows, _SKIPPED, written.reports),
    ]:
        left = any((report.outcome, report.suggestion) == ("locked", "left") for report in rows)
        parts.append(f"skipped {', '.join(skipped)}{_LEFT if left else ''}")
    return ToolResult("; ".join(parts), written.thread, details, written.suggested)


def _with_reasons(
    reports: Sequence[Report], reasons: Mapping[tuple[str, str | None], str], batch: Sequence[Report]
) -> Iterator[str]:
    """The rows to which each reason applies, each with it: `#1 Budget under 900 (locked: …)`."""
    for key, reason in reasons.items():
        if concerned := [report for report in reports if (report.outcome, report.suggestion) == key]:
            yield f"{_names(concerned, batch)} ({reason})"


def _names(reports: Sequence[Report], batch: Sequence[Report]) -> str:
    named = [_name(report, short=len(batch) > MAX_NAMED) for report in reports[:MAX_NAMED]]
    more = [f"and {len(reports) - MAX_NAMED} more"] if len(reports) > MAX_NAMED else []
    return ", ".join([*named, *more])


def _name(report: Report, *, short: bool) -> str:
    """A row by its place in the list of the same answer; one that is not there by its title, or as sent."""
    title = render.name(report.title)
    if report.position is not None:
        return f"#{report.position}" if short else f"#{report.position} {title}"
    if not title:
        return f"#{report.index}"
    return f"{title[:MAX_SHORT]}…" if short and len(title) > MAX_SHORT else title


def _items(written: Written) -> Envelope:
    """What became of each element. Of a large batch without what the list beside it says."""
    short = len(written.reports) > MAX_NAMED
    items = []
    for report in written.reports:
        shown = {"index", "position", "title", "outcome"}
        if short:
            shown -= {"title"} | ({"position"} if report.position == report.index else set())
        items.append(report.model_dump(include=shown, exclude_none=True))
    return {"items": items}


def _list_after(written: Written, list_revision: int | None) -> Envelope:
    """The list; only the lines that were changed, where the caller has seen all the others as they are."""
    thread = written.thread
    moved = any(report.outcome in ("removed", "stale") for report in written.reports)
    if moved or written.seen != list_revision or thread.revision != written.seen + written.committed:
        return _whole(thread)
    updated = [
        report.position for report in written.reports if report.outcome == "updated" and report.position
    ]
    return {"changed": render.lines(thread, updated)} if updated else {}


def _waiting(thread: Thread) -> Envelope:
    """What waits for the user, by positions: a text that nobody accepted is not repeated to a model."""
    if not thread.live:
        return {}
    verbs = {"edit": "change", "remove": "remove"}
    waiting = [f"{verbs[one.action]} #{thread.positions[one.target]}" for one in thread.live if one.target]
    if additions := len(thread.live) - len(waiting):
        waiting.append(f"add {additions}")
    count = len(thread.live)
    verb = "waits" if count == 1 else "wait"
    return {"suggestions": f"{count} {verb} for the user: {', '.join(waiting)}"}


def _whole(thread: Thread) -> Envelope:
    return {"preferences": render.lines(thread)}

"""What people may ask for: one table of routes, keyed as API Gateway names them."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pydantic import Field

from preferences.api import files, views
from preferences.api.http import Request, Response, etag_of, foreign_cursor, json_response, make_cursor
from preferences.api.problems import NoSuchRoute
from preferences.errors import ChangeNotFound, FieldError, InvalidInput
from preferences.model import (
    MAX_PREFERENCES,
    THREAD_ID,
    Additions,
    Edit,
    Frozen,
    Thread,
    ThreadTitle,
    is_thread_id,
    new_id,
)

Function = Callable[[Request], Response]

_REVISION = re.compile("[1-9][0-9]{0,9}")


@dataclass(frozen=True, slots=True)
class Route:
    """A function, and what the OpenAPI document says of it beyond its docstring."""

    key: str
    """Method and path template: what API Gateway sends as `routeKey`."""
    function: Function
    gives: Mapping[int, object]
    """Status → type of the JSON, or media type of a file; None: no body."""
    takes: type[Frozen] | None = None
    refuses: tuple[int, ...] = ()
    """Statuses of refusals beyond those that follow from the rest."""
    public: bool = False
    """Whether anyone may ask, without a token."""
    paged: bool = False
    if_match: bool = False
    if_none_match: bool = False


ROUTES: dict[str, Route] = {}


def route(
    key: str,
    gives: Mapping[int, object],
    *,
    takes: type[Frozen] | None = None,
    refuses: tuple[int, ...] = (),
    public: bool = False,
    paged: bool = False,
    if_match: bool = False,
    if_none_match: bool = False,
) -> Callable[[Function], Function]:
    """Puts a function into the table. It is called for signed-in users only, unless it is public."""

    def register(function: Function) -> Function:
        ROUTES[key] = Route(key, function, gives, takes, refuses, public, paged, if_match, if_none_match)
        return function

    return register


class Order(Frozen):
    """The ids of a thread's rows in their new order. Those left out go last, in the order that they have."""

    ids: tuple[str, ...] = Field(max_length=MAX_PREFERENCES)


def _listing(thread: Thread, status: int = 200, counts: Mapping[str, int] | None = None) -> Response:
    return json_response(status, views.listing(thread), _tag(thread), revision=thread.revision, counts=counts)


def _tag(thread: Thread) -> dict[str, str]:
    return {"ETag": f'"{thread.revision}"'}


# -- threads --------------------------------------------------------------------------------------------


@route("POST /threads", {201: views.Listing})
def create_thread(request: Request) -> Response:
    """Register a new thread, under an id that is minted for it."""
    thread, _ = request.repository.register_thread(new_id(), request.caller)
    # Relative to the request, so that it holds under the base path of a custom domain too.
    headers = {**_tag(thread), "Location": f"threads/{thread.thread_id}"}
    return json_response(201, views.listing(thread), headers, revision=thread.revision)


@route("GET /threads", {200: views.ThreadPage}, paged=True)
def list_threads(request: Request) -> Response:
    """List the caller's threads, in pages.

    A page may hold less than `limit` before the end, where threads were deleted just now.
    """
    limit, after = request.limit, request.cursor("threads")
    if after is not None and not is_thread_id(after):
        raise foreign_cursor()
    titles, last = request.repository.list_threads(request.caller, limit=limit, after=after)
    page: views.ThreadPage = {
        "threads": [{"thread_id": thread_id, "title": title} for thread_id, title in titles.items()],
        "next": make_cursor("threads", last) if last else None,
    }
    return json_response(200, page)


@route("PUT /threads/{thread_id}", {200: views.Listing, 201: views.Listing}, refuses=(409, 422))
def register_thread(request: Request) -> Response:
    """Register a thread for the caller, under an id of the caller's choice.

    201 when it is new, 200 when it is the caller's already, 409 when the id is somebody else's, 422 when it
    can't be an id.
    """
    if not is_thread_id(request.path("thread_id")):
        raise InvalidInput([FieldError("thread_id", f"must match ^{THREAD_ID.pattern}$")])
    thread, new = request.repository.register_thread(request.thread_id, request.caller)
    return _listing(thread, 201 if new else 200)


@route("PATCH /threads/{thread_id}", {200: views.ThreadReference}, takes=ThreadTitle)
def name_thread(request: Request) -> Response:
    """Give a conversation a title, which the list of threads shows; null takes it away. No agent sees it."""
    given = request.json(ThreadTitle)
    thread = request.repository.set_title(request.thread_id, given.title, request.caller)
    named: views.ThreadReference = {"thread_id": thread.thread_id, "title": thread.title}
    return json_response(200, named, revision=thread.revision)


@route("DELETE /threads/{thread_id}", {204: None})
def delete_thread(request: Request) -> Response:
    """Remove a thread, its list and its history."""
    request.repository.delete_thread(request.thread_id, request.caller)
    return Response(204, headers={"Cache-Control": "no-store"})


@route("PUT /threads/{thread_id}/lock", {200: views.Listing})
def lock_all(request: Request) -> Response:
    """Lock every preference of a thread."""
    return _listing(request.repository.set_all_locks(request.thread_id, request.caller, locked=True))


@route("DELETE /threads/{thread_id}/lock", {200: views.Listing})
def unlock_all(request: Request) -> Response:
    """Unlock every preference of a thread."""
    return _listing(request.repository.set_all_locks(request.thread_id, request.caller, locked=False))


@route("PUT /threads/{thread_id}/order", {200: views.Listing}, takes=Order)
def reorder_preferences(request: Request) -> Response:
    """Put the preferences of a thread into another order."""
    order = request.json(Order)
    return _listing(request.repository.reorder(request.thread_id, order.ids, request.caller))


@route("GET /threads/{thread_id}/session-state", {200: views.SessionState})
def read_session_state(request: Request) -> Response:
    """The `sessionState` to hand to InvokeAgent at the start of a turn."""
    thread = request.repository.list_preferences(request.thread_id, request.caller)
    state = views.session_state(thread, request.caller.owner or "")
    return json_response(200, state, revision=thread.revision)


# -- preferences ----------------------------------------------------------------------------------------


@route("GET /threads/{thread_id}/preferences", {200: views.Listing, 304: None}, if_none_match=True)
def list_preferences(request: Request) -> Response:
    """List the preferences of a thread, in order."""
    thread = request.repository.list_preferences(request.thread_id, request.caller)
    # The caller's browser may keep it, and asks each time whether it still holds.
    headers = {**_tag(thread), "Cache-Control": "private, no-cache"}
    if request.has(headers["ETag"]):
        return Response(304, headers=headers, revision=thread.revision)
    return json_response(200, views.listing(thread), headers, revision=thread.revision)


@route(
    "POST /threads/{thread_id}/preferences",
    {200: views.ListingWithOutcomes, 201: views.ListingWithOutcomes},
    takes=Additions,
    refuses=(409,),
)
def add_preferences(request: Request) -> Response:
    """Record preferences, at the end of the list. What is there already is not recorded twice.

    201 when any of them is new, 200 when none is.
    """
    additions = request.json(Additions)
    written = request.repository.add_preferences_bulk(request.thread_id, additions.items, request.caller)
    new = sum(report.outcome == "recorded" for report in written.reports)
    answer = views.listing_with_outcomes(written.thread, written.reports)
    return json_response(
        201 if new else 200,
        answer,
        _tag(written.thread),
        revision=written.thread.revision,
        counts={"Recorded": new},
    )


@route(
    "PATCH /threads/{thread_id}/preferences/{id}",
    {200: views.Listing},
    takes=Edit,
    refuses=(409,),
    if_match=True,
)
def edit_preference(request: Request) -> Response:
    """Edit a preference, locked or not: what is sent is set, what is left out stays.

    409 where another row says exactly that already: `conflicts` names it.
    """
    edit = request.json(Edit)
    written = request.repository.edit_preference(
        request.thread_id, request.preference_id, edit.fields, request.caller, if_match=request.if_match
    )
    updated = sum(report.outcome == "updated" for report in written.reports)
    return _row_answer(request, written.thread, counts={"Updated": updated})


@route("DELETE /threads/{thread_id}/preferences/{id}", {200: views.Listing}, if_match=True)
def remove_preference(request: Request) -> Response:
    """Remove a preference, locked or not."""
    thread = request.repository.remove_preference(
        request.thread_id, request.preference_id, request.caller, if_match=request.if_match
    )
    return _row_answer(request, thread, counts={"Removed": 1})


@route("PUT /threads/{thread_id}/preferences/{id}/lock", {200: views.Listing})
def lock_preference(request: Request) -> Response:
    """Lock a preference: from now on no agent changes or removes it."""
    return _set_lock(request, locked=True)


@route("DELETE /threads/{thread_id}/preferences/{id}/lock", {200: views.Listing})
def unlock_preference(request: Request) -> Response:
    """Unlock a preference."""
    return _set_lock(request, locked=False)


def _set_lock(request: Request, *, locked: bool) -> Response:
    thread = request.repository.set_lock(
        request.thread_id, request.preference_id, request.caller, locked=locked
    )
    return _row_answer(request, thread)


def _row_answer(request: Request, thread: Thread, counts: Mapping[str, int] | None = None) -> Response:
    """The list, with the tag of the row that was asked for, if it is there: the next If-Match here."""
    row = thread.find(request.preference_id)
    headers = {"ETag": f'"{row.changed}"'} if row else {}
    return json_response(200, views.listing(thread), headers, revision=thread.revision, counts=counts)


# -- suggestions ----------------------------------------------------------------------------------------


@route("POST /threads/{thread_id}/suggestions/{id}/accept", {200: views.Listing}, refuses=(409,))
def accept_suggestion(request: Request) -> Response:
    """Do what a suggestion of the agent's shows, as a change of the user's own. A lock stays.

    404 with the present list where it waits no longer: it was accepted or dismissed, a newer one has taken
    its place, or its row has changed. 409 where the list has exactly this already, or is full; it goes on
    waiting then.
    """
    thread = request.repository.accept_suggestion(request.thread_id, request.path("id"), request.caller)
    return _listing(thread, counts={"Accepted": 1})


@route("DELETE /threads/{thread_id}/suggestions/{id}", {200: views.Listing})
def dismiss_suggestion(request: Request) -> Response:
    """Turn a suggestion down: the agent can't leave the same one again. 200 also where it is gone."""
    return _dismiss(request, request.path("id"))


@route("DELETE /threads/{thread_id}/suggestions", {200: views.Listing})
def dismiss_suggestions(request: Request) -> Response:
    """Turn down all suggestions that wait."""
    return _dismiss(request, None)


def _dismiss(request: Request, suggestion_id: str | None) -> Response:
    thread, count = request.repository.dismiss_suggestions(request.thread_id, request.caller, suggestion_id)
    return _listing(thread, counts={"Dismissed": count})


# -- history --------------------------------------------------------------------------------------------


@route(
    "GET /threads/{thread_id}/history", {200: views.HistoryPage, 304: None}, paged=True, if_none_match=True
)
def list_history(request: Request) -> Response:
    """List the changes of a thread, the newest first, in pages: what was changed, by whom and why.

    A change is in it a moment after it was made, and for as long as the history is kept. A page may hold
    less than `limit` before the end, where changes are large.
    """
    before = _place_in_history(request)
    entries, last = request.repository.list_history(
        request.thread_id, request.caller, limit=request.limit, before=before
    )
    cursor = make_cursor("history", f"{last}:{request.thread_id}") if last else None
    page = json_response(200, views.history_page(entries, cursor))
    headers = {"ETag": etag_of((page.body or "").encode()), "Cache-Control": "private, no-cache"}
    if request.has(headers["ETag"]):
        return Response(304, headers=headers)
    return Response(200, page.body, {**page.headers, **headers})


def _place_in_history(request: Request) -> int | None:
    """Out of a cursor of this thread's history, and of no other."""
    place = request.cursor("history")
    if place is None:
        return None
    revision, _, thread_id = place.partition(":")
    if thread_id != request.thread_id or not _REVISION.fullmatch(revision):
        raise foreign_cursor()
    return int(revision)


@route("POST /threads/{thread_id}/history/{revision}/undo", {200: views.Listing}, refuses=(409,))
def undo_change(request: Request) -> Response:
    """Put the rows of a change back as they were before it, all of them or none.

    409 where a later change has moved one of them on: `conflicts` says which, and how. 503 while the change
    is not in the history yet. An undo is a change like any other, and can be undone.
    """
    revision = request.path("revision")
    if not _REVISION.fullmatch(revision):
        raise ChangeNotFound
    return _listing(request.repository.undo(request.thread_id, int(revision), request.caller))


# -- public ---------------------------------------------------------------------------------------------


@route("GET /", {200: "text/html", 304: None}, public=True, refuses=(404,), if_none_match=True)
def read_page(request: Request) -> Response:
    """The panel's page."""
    return _asset(files.PAGE, request)


@route("GET /assets/{file}", {200: "*/*", 304: None}, public=True, refuses=(404,), if_none_match=True)
def read_asset(request: Request) -> Response:
    """A file of the panel by the name that stays, for pages that embed it: caches ask each time."""
    return _asset(request.path("file"), request)


@route(
    "GET /assets/{version}/{file}", {200: "*/*", 304: None}, public=True, refuses=(404,), if_none_match=True
)
def read_asset_of_version(request: Request) -> Response:
    """A file of the panel as its own page asks for it: of the present version, caches keep it for good.

    Under any other version it is the present file, and caches ask each time.
    """
    # While a release goes out, a page may meet functions of the one before or after it. With the file that
    # they have it works almost always; with a 404 it would stay blank.
    return _asset(request.path("file"), request, for_good=request.path("version") == files.assets().version)


def _asset(name: str, request: Request, *, for_good: bool = False) -> Response:
    file = files.assets().files.get(name)
    if file is None:
        raise NoSuchRoute
    return files.file_response(file, request, for_good=for_good)


@route("GET /config.json", {200: views.Configuration}, public=True)
def read_configuration(_: Request) -> Response:
    """What the panel's page needs to sign in."""
    return json_response(200, files.configuration())


@route("GET /openapi.json", {200: "application/json", 304: None}, public=True, if_none_match=True)
def read_document(request: Request) -> Response:
    """This document."""
    return files.file_response(files.document(), request)

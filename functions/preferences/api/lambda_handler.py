"""The Lambda handler for people: finds the route of an event, answers, logs.

API Gateway has matched the route and names it in `routeKey`, so one dictionary is all the routing. Of
Powertools this uses the Logger alone: its resolver joins repeated query parameters by commas and answers 422
for a fault of ours in a response, and both would have to be worked around.
"""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools import Logger

from preferences import metrics
from preferences.api.http import Request, Response
from preferences.api.problems import NoSuchRoute, fault_response, refusal_response
from preferences.api.routes import ROUTES, Route
from preferences.errors import PreferencesError, describe_fault

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

logger = Logger()


def handler(event: object, context: "LambdaContext") -> dict[str, Any]:
    """The answer to one event of an HTTP API, payload 2.0. Never raises."""
    started = time.perf_counter()
    # Payload 1.0 is not ours: its claims and its query lie elsewhere.
    ours = event if isinstance(event, Mapping) and event.get("version") == "2.0" else {}
    request = Request(ours, seconds_left=lambda: context.get_remaining_time_in_millis() / 1000)
    key = ours.get("routeKey")
    route = ROUTES.get(key) if isinstance(key, str) else None
    logger.set_correlation_id(request.correlation_id)
    response = _answer(route, request)
    milliseconds = round((time.perf_counter() - started) * 1000, 1)
    # The route's template, not the path: ids of threads, texts, tokens and claims stay out of the log.
    logger.info(
        "request",
        route=route.key if route else None,
        status=response.status,
        milliseconds=milliseconds,
        revision=response.revision,
        **metrics.embedded(
            "people",
            milliseconds,
            {
                **response.counts,
                "Refused": 400 <= response.status < 500 or response.status == 503,
                "Faults": response.status == 500,
                "Retried": request.retries,
            },
        ),
    )
    return response.as_answer()


def _answer(route: Route | None, request: Request) -> Response:
    try:
        if route is None:
            raise NoSuchRoute
        if not route.public:
            _ = request.caller  # refuses a stranger before anything else of the request is looked at
        return route.function(request)
    except PreferencesError as refusal:
        return refusal_response(refusal)
    except Exception as fault:
        logger.error("fault", **describe_fault(fault))
        return fault_response()

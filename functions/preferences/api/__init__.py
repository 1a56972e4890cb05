"""The Lambda handler for people: events of an HTTP API in, JSON or problem details out.

`lambda_handler` takes the event, `routes` is the table of routes, `http` has the request and the response,
`views` the shapes of the JSON, `problems` the problem details, `files` the panel's static files.
"""

from preferences.api.lambda_handler import handler

__all__ = ["handler"]

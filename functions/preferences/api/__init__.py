"""The people's door: an HTTP API's events in, JSON or problem details out.

`door` takes the event, `routes` has the table of what may be asked, `http` the request and the response,
`views` the shapes of the JSON, `problems` what a refusal looks like, `files` the panel, `openapi` the
document of all of it.
"""

from preferences.api.door import handler

__all__ = ["handler"]

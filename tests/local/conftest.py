"""What the tests of the local stack's own endpoints share."""

import pytest

from tests.local.recorder import Recorder, serving


@pytest.fixture(scope="module")
def _server():
    recorder = Recorder()
    with serving(recorder) as origin:
        yield origin, recorder


@pytest.fixture
def served(_server):
    """(origin, Recorder) of a local stack over a handler that keeps what it was given, each time anew."""
    origin, recorder = _server
    vars(recorder).update(vars(Recorder()))
    return origin, recorder

"""The simulated REST server answers over HTTP and tells of each request."""

from __future__ import annotations

import queue
import socket
import urllib.request
from collections.abc import Iterator

import pytest

from exporter.demo.access_line import AccessLine
from exporter.demo.rest_answers import Answer
from exporter.demo.simulated_rest import SimulatedRest


def free_port() -> int:
    """A port nobody uses at this moment."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
        return port


@pytest.fixture
def told() -> queue.Queue[AccessLine]:
    """Where the server tells of requests."""
    return queue.Queue()


@pytest.fixture
def port(told: queue.Queue[AccessLine]) -> Iterator[int]:
    """The port of a server that repeats method and target."""
    port = free_port()
    rest = SimulatedRest(port, lambda method, target: Answer(200, f'["{method} {target}"]'.encode()), told.put)
    yield port
    rest.stop()


def test_a_request_is_answered_and_told_of(port: int, told: queue.Queue[AccessLine]) -> None:
    """The answer comes as JSON; the access line has target, length and the client's name."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/connectors?expand=info", headers={"User-Agent": "me/1"})
    with urllib.request.urlopen(request, timeout=5) as reply:
        assert reply.headers["Content-Type"] == "application/json"
        body = reply.read()
    assert body == b'["GET /connectors?expand=info"]'
    line = told.get(timeout=5)
    assert (line.method, line.target, line.status, line.length, line.agent) == (
        "GET",
        "/connectors?expand=info",
        200,
        len(body),
        "me/1",
    )


def test_a_body_is_read_before_the_answer(port: int) -> None:
    """A POST with a body gets its answer, and no broken connection."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/connectors/x/tasks", data=b"[{}]" * 10_000)
    with urllib.request.urlopen(request, timeout=5) as reply:
        assert reply.read() == b'["POST /connectors/x/tasks"]'


def test_the_port_is_free_after_the_stop(told: queue.Queue[AccessLine]) -> None:
    """A restarted worker listens on the port it had."""
    port = free_port()
    for _ in range(2):
        SimulatedRest(port, lambda *_: Answer(200, b"[]"), told.put).stop()
    with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port), timeout=5):
        pass

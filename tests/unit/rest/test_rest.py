"""Connect's REST API as a source: what recorded answers say, and what each fault is called."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from exporter.errors import SourceError
from exporter.sources import rest
from exporter.sources.rest import RestSource

RECORDED = Path(__file__).parents[2] / "data" / "rest"
URL = "http://w1:8083"


def _source(answer: Callable[[httpx2.Request], httpx2.Response]) -> RestSource:
    return RestSource(URL, transport=httpx2.MockTransport(answer))


def _recorded(version: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((RECORDED / f"{version}-s1.json").read_text())
    return document


def _reason(source: RestSource, deadline_s: float = 2.0) -> str:
    with pytest.raises(SourceError) as caught:
        source.poll(deadline_s)
    assert caught.value.remedy
    assert caught.value.message.endswith(".")
    return caught.value.reason


@pytest.mark.parametrize("version", ["2.8.2", "3.9.2", "4.4.0"])
def test_recorded_answers_are_read_as_they_stand(version: str) -> None:
    """Every connector with state, host, type and class; every task with state and host."""
    answers = _recorded(version)

    def answer(request: httpx2.Request) -> httpx2.Response:
        path = request.url.raw_path.decode()
        return httpx2.Response(200, json=answers[f"GET {path}"]["body"])

    reading = _source(answer).poll(2)
    body = answers["GET /connectors?expand=status&expand=info"]["body"]
    assert (reading.version, reading.kafka_cluster_id) == (version, answers["GET /"]["body"]["kafka_cluster_id"])
    assert {c.name for c in reading.connectors} == set(body)
    for connector in reading.connectors:
        status = body[connector.name]["status"]
        assert connector.state.upper() == status["connector"]["state"]
        assert connector.worker_id == status["connector"]["worker_id"]
        assert connector.class_name == body[connector.name]["info"]["config"]["connector.class"]
        assert connector.type == "source"
    tasks = {(t.connector, t.task): (t.state.upper(), t.worker_id) for t in reading.tasks}
    assert tasks == {
        (name, task["id"]): (task["state"], task["worker_id"])
        for name, entry in body.items()
        for task in entry["status"]["tasks"]
    }


def test_its_requests_can_be_told_apart_and_authenticate() -> None:
    """A user agent of its own; basic authentication where it is asked for."""
    seen: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(200, json={"version": "4.4.0"} if request.url.path == "/" else {})

    RestSource(URL, username="u", password="geheim", transport=httpx2.MockTransport(answer)).poll(2)  # noqa: S106
    assert [r.headers["user-agent"] for r in seen] == [rest.USER_AGENT] * 2
    assert all(r.headers["authorization"].startswith("Basic ") for r in seen)
    assert all(r.method == "GET" for r in seen)


def test_parts_that_are_missing_cost_only_themselves() -> None:
    """A connector of which only a part is told is shown with that part."""
    body: dict[str, Any] = {
        "status-only": {
            "status": {"connector": {"state": "RUNNING", "worker_id": "a:1"}, "tasks": [{"id": 0}, "x"], "type": "sink"}
        },
        "info-only": {"info": {"type": "source", "config": {}}},
        "odd": None,
    }

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, json={"version": "2.4.1"} if request.url.path == "/" else body)

    reading = _source(answer).poll(2)
    assert [(c.name, c.state, c.type) for c in reading.connectors] == [
        ("status-only", "running", "sink"),
        ("info-only", "unassigned", "source"),
        ("odd", "unassigned", None),
    ]
    assert reading.tasks == ()


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (httpx2.Response(404, html="<html>404</html>"), "html"),
        (httpx2.Response(503, content=b"<html>"), "html"),
        (httpx2.Response(200, text="hello"), "not_connect"),
        (httpx2.Response(200, json=[1]), "not_connect"),
        (httpx2.Response(200, content=b"[" * 200_000), "not_connect"),
        (httpx2.Response(200, json={"tagline": "You Know, for Search"}), "not_connect"),
        (httpx2.Response(401, json={}), "unauthorized"),
        (httpx2.Response(403, text="no"), "unauthorized"),
        (httpx2.Response(500, json={"error_code": 500}), "http_status"),
        (httpx2.Response(302, headers={"location": "https://elsewhere"}), "http_status"),
    ],
)
def test_other_answers_have_their_names(response: httpx2.Response, reason: str) -> None:
    """HTML while a worker starts or stops, other programs, missing rights."""
    assert _reason(_source(lambda _: response)) == reason


def test_a_cluster_view_that_is_no_mapping_is_refused() -> None:
    """Before Kafka 2.3 /connectors is a list whatever is asked."""
    source = _source(lambda r: httpx2.Response(200, json={"version": "2.0"} if r.url.path == "/" else ["a"]))
    assert _reason(source) == "not_connect"


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A socket that accepts."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def _serve(listener: socket.socket, talk: Callable[[socket.socket], None]) -> str:
    def run() -> None:
        try:
            while True:
                connection, _ = listener.accept()
                with connection:
                    talk(connection)
        except OSError:
            return  # the test is over

    threading.Thread(target=run, daemon=True).start()
    return f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_a_closed_port_refuses(listener: socket.socket) -> None:
    """Nothing listens."""
    port = listener.getsockname()[1]
    listener.close()
    assert _reason(RestSource(f"http://127.0.0.1:{port}")) == "refused"


def test_a_name_that_does_not_exist_is_unresolved() -> None:
    """`.invalid` never resolves."""
    assert _reason(RestSource("http://worker.invalid:8083"), 20) in ("unresolved", "timeout")


@pytest.mark.parametrize("kind", ["silent", "headers", "body"])
def test_the_deadline_holds_whatever_the_worker_does(listener: socket.socket, kind: str) -> None:
    """Silence, headers byte by byte, a body byte by byte: the poll ends at its deadline."""
    stop = threading.Event()

    def talk(connection: socket.socket) -> None:
        if kind == "body":
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n")
        while not stop.wait(0.05):
            if kind != "silent":
                connection.sendall(b"x")

    url = _serve(listener, talk)
    began = time.monotonic()
    assert _reason(RestSource(url), 0.5) == "timeout"
    assert time.monotonic() - began < 5
    stop.set()


def test_the_deadline_holds_while_a_name_lookup_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lookup cannot be cut short, so the poll leaves it behind."""
    answered = threading.Event()

    def hang(*_: Any, **__: Any) -> Any:
        answered.wait(20)
        raise socket.gaierror(socket.EAI_AGAIN, "too late")

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    began = time.monotonic()
    assert _reason(RestSource("http://worker.example:8083"), 0.3) == "timeout"
    assert time.monotonic() - began < 5
    answered.set()


def test_an_endless_body_is_cut(listener: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is bounded."""
    monkeypatch.setattr(rest, "BODY_BYTES_MAX", 10_000)

    def talk(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
        while True:
            connection.sendall(b" " * 65536)

    assert _reason(RestSource(_serve(listener, talk)), 5) == "too_large"


def test_tls_to_a_plain_port_is_told(listener: socket.socket) -> None:
    """TLS in the URL, http at the port."""
    url = _serve(listener, lambda c: c.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")).replace("http:", "https:")
    assert _reason(RestSource(url), 5) in ("tls", "connection")


def test_errors_never_show_the_password(listener: socket.socket) -> None:
    """Whatever goes wrong."""
    port = listener.getsockname()[1]
    listener.close()
    source = RestSource(f"http://127.0.0.1:{port}", username="u", password="geheim")  # noqa: S106
    with pytest.raises(SourceError) as caught:
        source.poll(2)
    assert "geheim" not in f"{caught.value!r} {caught.value}"


def test_half_a_character_is_replaced() -> None:
    """JSON can escape it; no page could be encoded with it."""
    body = '{"a\\ud800b": {"status": {"connector": {"state": "RUNNING", "worker_id": "\\udfff"}, "tasks": []}}}'

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, content=body if request.url.path != "/" else '{"version": "4.4.0"}')

    (connector,) = _source(answer).poll(2).connectors
    assert (connector.name, connector.worker_id) == ("a?b", "?")

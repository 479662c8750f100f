"""The control page, and the command's call to it."""

from __future__ import annotations

import socket
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from exporter.demo import control
from exporter.errors import ExporterError


class _Controlled:
    """Remembers what it was asked to do."""

    def __init__(self) -> None:
        self.did: list[str] = []

    def status(self) -> str:
        return "w2 is <unwell>."

    def mend(self) -> str:
        self.did.append("mend")
        return "w2 is restarted."

    def break_again(self) -> str:
        self.did.append("break")
        return "w2 is broken."


@pytest.fixture
def controlled() -> _Controlled:
    """What the page controls."""
    return _Controlled()


@pytest.fixture
def port(controlled: _Controlled) -> Iterator[int]:
    """The port of the page."""
    served = control.Control(0, controlled, "http://127.0.0.1:9507/")
    yield served.port
    served.stop()


def test_the_page_shows_the_state_and_two_buttons(port: int) -> None:
    """The page says what is going on, as text, and offers to mend and to break."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as reply:
        page = reply.read().decode()
    assert "w2 is &lt;unwell&gt;." in page
    assert 'action="/mend"' in page
    assert 'action="/break"' in page
    assert 'href="http://127.0.0.1:9507/metrics"' in page


def test_a_command_mends_and_breaks(port: int, controlled: _Controlled) -> None:
    """The calls do what they say and give the sentence for the user."""
    assert control.mend(port) == "w2 is restarted."
    assert control.break_again(port) == "w2 is broken."
    assert controlled.did == ["mend", "break"]


def test_the_button_leads_back_to_the_page(port: int, controlled: _Controlled) -> None:
    """A browser that pressed the button sees the page again."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/mend", data=b"", headers={"Accept": "text/html"})
    with urllib.request.urlopen(request, timeout=5) as reply:
        assert "<h1>Demo</h1>" in reply.read().decode()
    assert controlled.did == ["mend"]


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("POST", "/mend", {"Origin": "http://elsewhere.example"}, 403),
        ("GET", "/mend", {}, 404),
        ("POST", "/", {}, 404),
    ],
)
def test_nothing_else_mends(  # noqa: PLR0917
    port: int, controlled: _Controlled, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    """Another site's page, a mere look, and a wrong path change nothing."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method, headers=headers)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=5)
    refused.value.close()
    assert refused.value.code == status
    assert controlled.did == []


def test_without_a_demo_the_call_says_how_to_start_one() -> None:
    """Where nothing listens, the sentence names the address and the command."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        free = bound.getsockname()[1]
    with pytest.raises(ExporterError, match=rf"No demo answers on 127\.0\.0\.1:{free}.*kafka-connect-exporter demo"):
        control.mend(free)

"""The server in a thread, and an address that cannot be had."""

from __future__ import annotations

import socket
import urllib.request

import pytest

from exporter.config import Listen
from exporter.connect.judge import Finding
from exporter.connect.snapshot import WorkerSnapshot
from exporter.errors import ConfigError
from exporter.metrics.page import ExporterHealth, Page
from exporter.web.serve import serve, serving


class _Empty:
    """An exporter that watches nothing."""

    def page(self) -> Page:
        """Its own series only."""
        return Page((), ExporterHealth("0.0"))

    def snapshots(self) -> tuple[WorkerSnapshot, ...]:
        """None."""
        return ()

    def findings(self) -> tuple[Finding, ...]:
        """None."""
        return ()

    def ready(self) -> bool:
        """At once."""
        return True

    def reload(self) -> None:
        """Nothing to read."""


def test_it_serves_while_the_block_runs_and_not_after() -> None:
    """Port 0 takes a free one; afterwards the port refuses."""
    with (
        serving(_Empty(), Listen("127.0.0.1", 0)) as port,
        urllib.request.urlopen(f"http://127.0.0.1:{port}/-/ready", timeout=10) as answer,
    ):
        assert answer.read() == b"ready\n"
        assert "server" not in {name.lower() for name in answer.headers}
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5).close()


def test_a_port_in_use_is_told() -> None:
    """With the address and what to do."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=rf"^127\.0\.0\.1:{port} cannot be listened on: .*--listen"):
            serve(_Empty(), Listen("127.0.0.1", port))

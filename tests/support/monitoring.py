"""Debian's Prometheus and Alertmanager with the rendered bundle, and the receiver of their pages."""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from support.lab import free_port
from support.processes import bound, tool
from support.waiting import wait_for

_START_S = 60.0


@dataclass(frozen=True, slots=True)
class Notice:
    """One alert of one notification.

    Attributes:
        at: seconds since the epoch when it was delivered.
        status: firing or resolved.
        labels: of the alert.
        annotations: of the alert.
    """

    at: float
    status: str
    labels: dict[str, str]
    annotations: dict[str, str]

    @property
    def name(self) -> str:
        """The alert's."""
        return self.labels["alertname"]


@dataclass
class Pager:
    """Alertmanager's webhook receiver; keeps what was delivered, in order."""

    port: int = 0
    notices: list[Notice] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Where Alertmanager delivers."""
        return f"http://127.0.0.1:{self.port}/"

    def delivered(self, name: str, status: str) -> Notice | None:
        """The first notice of an alert in a status."""
        return next((notice for notice in self.notices if (notice.name, notice.status) == (name, status)), None)

    def wait(self, name: str, status: str, within_s: float) -> Notice:
        """The first notice of an alert in a status, once it is there."""
        wait_for(f"{name} is {status}", lambda: self.delivered(name, status) is not None, within_s)
        found = self.delivered(name, status)
        assert found is not None
        return found


@contextlib.contextmanager
def pager() -> Iterator[Pager]:
    """A receiver while the block runs."""
    made = Pager()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            made.notices += [
                Notice(time.time(), alert["status"], alert["labels"], alert["annotations"]) for alert in body["alerts"]
            ]
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing: the notices are kept."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        made.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield made
        finally:
            server.shutdown()
            thread.join()


class Prometheus:
    """A running server."""

    def __init__(self, port: int) -> None:
        self.port = port

    def get(self, path: str, **parameters: str) -> Any:
        """`data` of an API answer."""
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=20) as response:
            return json.loads(response.read())["data"]

    def query(self, promql: str) -> list[dict[str, str]]:
        """The labels of every series of an instant query."""
        return [sample["metric"] for sample in self.get("query", query=promql)["result"]]

    def rules(self) -> list[dict[str, Any]]:
        """Every rule with its health."""
        return [rule for group in self.get("rules")["groups"] for rule in group["rules"]]


@contextlib.contextmanager
def _server(command: list[str], output: Path, port: int) -> Iterator[None]:
    """The program while the block runs, from when it says that it is ready."""
    with output.open("ab") as file:
        process = subprocess.Popen(bound(*command), stdin=subprocess.DEVNULL, stdout=file, stderr=file)

    def ready() -> bool:
        assert process.poll() is None, f"{command[0]} ended: {output.read_text()[-2000:]}"
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/-/ready", timeout=5) as got:
            return bool(got.status == 200)
        return False

    try:
        wait_for(f"{command[0]} is ready", ready, _START_S)
        yield
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def alertmanager(bundle: Path, folder: Path) -> Iterator[int]:
    """Alertmanager with the rendered routing while the block runs; its port."""
    folder.mkdir(parents=True)
    port = free_port()
    command = [
        tool("prometheus-alertmanager", "prometheus-alertmanager"),
        f"--config.file={bundle / 'alertmanager' / 'alertmanager.yml'}",
        f"--storage.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--cluster.listen-address=",  # no gossip, no second port
    ]
    with _server(command, folder / "alertmanager.out", port):
        yield port


@contextlib.contextmanager
def prometheus(bundle: Path, folder: Path, alertmanager_port: int) -> Iterator[Prometheus]:
    """Prometheus with the rendered scrape sample and rules while the block runs.

    The sample is used as it is; added are only where Alertmanager is.
    """
    folder.mkdir(parents=True)
    port = free_port()
    config = bundle / "prometheus" / "prometheus.yml"
    config.write_text(
        (bundle / "prometheus" / "scrape.yml").read_text()
        + f"alerting: {{alertmanagers: [{{static_configs: [{{targets: ['127.0.0.1:{alertmanager_port}']}}]}}]}}\n"
    )
    command = [
        tool("prometheus", "prometheus"),
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with _server(command, folder / "prometheus.out", port):
        yield Prometheus(port)

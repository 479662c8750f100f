"""The page on loopback that mends and breaks the demo, and the call a command makes to it."""

from __future__ import annotations

import html
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Protocol

from exporter.errors import ExporterError

_CALL_WITHIN_S = 5.0

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="refresh" content="2">
<title>kafka-connect-exporter demo</title>
<style>body {{ font: 1rem/1.5 sans-serif; max-width: 45rem; margin: 3rem auto }} form {{ display: inline }}</style>
<h1>Demo</h1>
<p>{status}</p>
<form method="post" action="/mend"><button>Mend: w2 signs with HmacSHA256</button></form>
<form method="post" action="/break"><button>Break: w2 signs with HmacSHA512</button></form>
<p>The exporter: <a href="{exporter}">{exporter}</a>, <a href="{exporter}metrics">its metrics</a>.</p>
</html>
"""


class Controlled(Protocol):
    """What the page controls; each call gives a sentence for the user."""

    def status(self) -> str:
        """What is going on."""

    def mend(self) -> str:
        """Begin the repair."""

    def break_again(self) -> str:
        """Begin the fault anew."""


class Control:
    """Serves from the constructor's return until `stop`.

    Args:
        port: where, on loopback; 0 takes a free one.
        controlled: the cluster.
        exporter_url: where the exporter serves, for the page's links.

    Raises:
        OSError: the port cannot be listened on.
    """

    def __init__(self, port: int, controlled: Controlled, exporter_url: str) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _handler(controlled, exporter_url))
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), name="demo-control")
        self._thread.start()

    def stop(self) -> None:
        """Close the port."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def mend(control_port: int) -> str:
    """Mend the demo that is running on this machine; what will happen, as a sentence.

    Raises:
        ExporterError: no demo answers there.
    """
    return _post(control_port, "mend")


def break_again(control_port: int) -> str:
    """Break the mended demo that is running on this machine; what will happen, as a sentence.

    Raises:
        ExporterError: no demo answers there.
    """
    return _post(control_port, "break")


def _post(port: int, action: str) -> str:
    request = urllib.request.Request(f"http://127.0.0.1:{port}/{action}", method="POST", data=b"")
    # A proxy from the environment cannot reach this machine's loopback.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=_CALL_WITHIN_S) as answer:
            text: str = answer.read().decode()
            return text.strip()
    except OSError as error:  # urllib's errors are of this kind
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise ExporterError(
            f"No demo answers on 127.0.0.1:{port}: {reason}.",
            "Start it with `kafka-connect-exporter demo`; if it runs with another --control-port, give that one.",
        ) from error


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    text: str
    kind: str = "text/plain"
    location: str | None = None


def _get(controlled: Controlled, exporter_url: str, path: str) -> _Reply:
    if path == "/":
        page = _PAGE.format(status=html.escape(controlled.status()), exporter=html.escape(exporter_url))
        return _Reply(200, page, "text/html")
    if path == "/status":
        return _Reply(200, controlled.status() + "\n")
    return _Reply(404, "There are /, /status, and POST to /mend and /break.\n")


def _posted(controlled: Controlled, path: str, headers: Mapping[str, str]) -> _Reply:
    origin = headers.get("Origin")
    if origin is not None and origin.partition("://")[2] != headers.get("Host"):
        return _Reply(403, "Another site's page may not control the demo.\n")
    if path == "/mend":
        said = controlled.mend()
    elif path == "/break":
        said = controlled.break_again()
    else:
        return _Reply(404, "POST to /mend or /break.\n")
    if "text/html" in headers.get("Accept", ""):
        return _Reply(303, "", location="/")  # the page's button: show the page again
    return _Reply(200, said + "\n")


def _handler(controlled: Controlled, exporter_url: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = _CALL_WITHIN_S

        def log_message(self, format: str, *_: object) -> None:  # noqa: A002 - its name in the base class
            """The demo's own terminal stays quiet."""

        def do_GET(self) -> None:
            self._send(_get(controlled, exporter_url, self.path))

        def do_POST(self) -> None:
            self._send(_posted(controlled, self.path, dict(self.headers)))

        def _send(self, reply: _Reply) -> None:
            body = reply.text.encode()
            self.send_response(reply.status)
            self.send_header("Content-Type", f"{reply.kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            if reply.location is not None:
                self.send_header("Location", reply.location)
            self.end_headers()
            self.wfile.write(body)

    return Handler

"""A worker's REST server on loopback."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from exporter.demo.access_line import AccessLine
from exporter.demo.rest_answers import Answer

log = logging.getLogger(__name__)

AnswerTo = Callable[[str, str], Answer]
"""Method and target (path and query) -> the answer."""
OnAccess = Callable[[AccessLine], None]


class SimulatedRest:
    """Serves from the constructor's return until `stop`.

    Args:
        port: where, on loopback.
        answer: called from the server's threads.
        on_access: told of each request once it is answered, likewise.

    Raises:
        OSError: the port cannot be listened on.
    """

    def __init__(self, port: int, answer: AnswerTo, on_access: OnAccess) -> None:
        self._server = _Server(("127.0.0.1", port), _handler(answer, on_access))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), name=f"rest-{port}")
        self._thread.start()

    def stop(self) -> None:
        """Close the port; requests under way are finished."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002
        """A client that went away is no news to somebody who watches the demo."""
        log.debug("a request from %s was not answered: %r", client_address, sys.exception())


def _handler(answer: AnswerTo, on_access: OnAccess) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        # HTTP/1.0 here: a connection that is kept would outlive the worker. Kafka logs what the request says.
        timeout = 5.0

        def version_string(self) -> str:
            return "Jetty(12.0.39)"

        def log_message(self, format: str, *_: object) -> None:  # noqa: A002 - its name in the base class
            """The worker's own log has the access lines."""

        def _serve(self) -> None:
            began_s = time.perf_counter()
            length = self.headers.get("Content-Length", "0")
            self.rfile.read(int(length) if length.isdecimal() else 0)
            reply = answer(self.command, self.path)
            self.send_response(reply.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)
            duration_ms = round((time.perf_counter() - began_s) * 1000)
            agent = self.headers.get("User-Agent", "")
            on_access(AccessLine(self.command, self.path, reply.status, len(reply.body), agent, duration_ms))

        do_GET = do_POST = do_PUT = do_DELETE = _serve  # noqa: N815

    return Handler

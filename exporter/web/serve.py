"""Runs the application with uvicorn: in the main thread, or in a thread of its own while a block runs."""

from __future__ import annotations

import contextlib
import logging
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator

import uvicorn

from exporter.config import Listen
from exporter.errors import ConfigError
from exporter.web.app import create_app
from exporter.web.view import View

_BACKLOG = 128

log = logging.getLogger(__name__)

_LOOK_S = 1.0
"""How often the main thread looks whether the server has ended by itself."""

_STOP_S = 10.0


def _bind(listen: Listen) -> socket.socket:
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((listen.host, listen.port))
        bound.listen(_BACKLOG)  # from now on requests wait for the server instead of being refused
    except OSError as error:
        bound.close()
        raise ConfigError(
            f"{listen.host}:{listen.port} cannot be listened on: {error.strerror}.", "Choose another with --listen."
        ) from error
    return bound


def _server(view: View, clock: Callable[[], float] = time.time) -> uvicorn.Server:
    config = uvicorn.Config(
        create_app(view, clock),
        log_config=None,
        access_log=False,
        lifespan="off",
        server_header=False,
        timeout_graceful_shutdown=5,
    )
    return uvicorn.Server(config)


@contextlib.contextmanager
def _serving(server: uvicorn.Server, bound: socket.socket) -> Iterator[uvicorn.Server]:
    """The server in a thread of its own while the block runs."""
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, name="server", daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.should_exit = True
        thread.join(_STOP_S)


def serve(view: View, listen: Listen) -> None:
    """Serve until SIGINT or SIGTERM; to be called from the main thread.

    Raises:
        ConfigError: the address cannot be listened on.
    """
    stop = threading.Event()
    with _bind(listen) as bound, _serving(_server(view), bound) as server:
        log.info("serving on %s, port %d", listen.host, bound.getsockname()[1])
        # In the main thread only waiting is left: uvicorn's own handling of signals would end the process at once.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        while not stop.wait(_LOOK_S) and not server.should_exit:
            pass


@contextlib.contextmanager
def serving(view: View, listen: Listen, clock: Callable[[], float] = time.time) -> Iterator[int]:
    """Serve from a thread while the block runs; gives the port. `clock`: epoch seconds, for the page's ages.

    Raises:
        ConfigError: the address cannot be listened on.
    """
    with _bind(listen) as bound, _serving(_server(view, clock), bound):
        yield bound.getsockname()[1]

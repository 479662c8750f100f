"""Connect's REST API of one worker as a source: `GET /` and `GET /connectors?expand=status&expand=info`."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
from collections.abc import Coroutine, Iterator
from http import HTTPStatus
from typing import Any

import httpx2

from exporter import __version__
from exporter.connect.readings import ConnectorReading, RestReading, TaskReading
from exporter.errors import SourceError
from exporter.sources.source import SourceKind

USER_AGENT = f"kafka-connect-exporter/{__version__}"
"""Tells the exporter's own requests apart in the workers' access logs."""

BODY_BYTES_MAX = 64 * 2**20
_CONNECTORS = "/connectors?expand=status&expand=info"


class RestSource:
    """Reads one worker; see `Source`."""

    kind: SourceKind = "rest"

    def __init__(
        self,
        url: str,
        *,
        username: str | None = None,
        password: str | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        """Nothing is connected yet.

        Args:
            url: base URL without trailing slash and credentials.
            username: for HTTP basic authentication.
            password: likewise.
            transport: for tests.
        """
        self._url = url
        self._auth = (username, password or "") if username is not None else None
        self._transport = transport
        # Making this is nearly all that a client costs (18 ms of CPU); connections would not live from poll to poll.
        self._tls = ssl.create_default_context()

    def poll(self, deadline_s: float) -> RestReading:
        """Ask the worker.

        Raises:
            SourceError: it did not answer as Connect does, within `deadline_s`.
        """
        # In an event loop a deadline holds whatever the other side does, one byte a second included.
        return _run(self._poll(deadline_s))

    def close(self) -> None:
        """Nothing stays open between polls."""

    async def _poll(self, deadline_s: float) -> RestReading:
        client = httpx2.AsyncClient(
            headers={"User-Agent": USER_AGENT, "Accept": "application/json", "Accept-Encoding": "identity"},
            verify=self._tls,
            auth=self._auth,
            transport=self._transport,
            trust_env=False,  # a proxy meant for the internet must not stand between exporter and worker
            follow_redirects=False,
            timeout=None,  # the deadline bounds all
        )
        try:
            async with asyncio.timeout(deadline_s), client:
                root = await self._get(client, "/")
                if not isinstance(root, dict) or "version" not in root:
                    raise self._error("not_connect", "answers, but not as Connect does", "Check the port of the URL.")
                connectors = await self._get(client, _CONNECTORS)
                if not isinstance(connectors, dict):
                    raise self._error(
                        "not_connect", "answers, but not as Connect 2.3 or later does", "Check the port of the URL."
                    )
        except TimeoutError as error:
            raise self._error(
                "timeout",
                f"did not answer in {deadline_s:g} s",
                "Check whether the worker hangs and is reachable from here.",
            ) from error
        return reading(self._url, root, connectors)

    async def _get(self, client: httpx2.AsyncClient, path: str) -> Any:  # noqa: ANN401 - JSON
        try:
            async with client.stream("GET", self._url + path) as response:
                body = bytearray()
                async for piece in response.aiter_bytes():
                    body += piece
                    if len(body) > BODY_BYTES_MAX:
                        raise self._error(
                            "too_large", f"answered with more than {BODY_BYTES_MAX} bytes", "Check what answers there."
                        )
        except httpx2.HTTPError as error:
            raise self._explain(error) from error
        return self._json(response, bytes(body))

    def _json(self, response: httpx2.Response, body: bytes) -> Any:  # noqa: ANN401 - JSON
        status = response.status_code
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            raise self._error(
                "unauthorized", f"answers {status}", "Give username and password_file of a user who may read."
            )
        if response.is_redirect:
            raise self._error("http_status", f"answers {status}, a redirect", "Give the URL it redirects to.")
        try:
            document = json.loads(body)
        except (ValueError, RecursionError) as error:  # RecursionError: brackets nested thousands deep
            if response.headers.get("content-type", "").startswith("text/html") or body.lstrip()[:1] == b"<":
                raise self._error(
                    "html",
                    f"answers {status} with HTML, not as Connect does",
                    "A worker does so for a moment while it starts or stops; else a proxy answers in its place.",
                ) from error
            raise self._error("not_connect", f"answers {status}, but not as Connect does", "Check the URL.") from error
        if status != HTTPStatus.OK:
            raise self._error("http_status", f"answers {status}", "Look into the worker's log.")
        return document

    def _explain(self, error: httpx2.HTTPError) -> SourceError:
        causes = list(_causes(error))
        for cause in causes:
            if isinstance(cause, ssl.SSLError):
                return self._error("tls", f"fails TLS ({cause.reason})", "Check http or https in the URL.")
            if isinstance(cause, ConnectionRefusedError):
                return self._error("refused", "refuses the connection", "Start the worker, or correct host and port.")
            if isinstance(cause, socket.gaierror):
                remedy = "Correct the host in the URL."
                return self._error("unresolved", "has a host name that cannot be resolved", remedy)
        told = next((str(cause) for cause in reversed(causes) if str(cause)), type(error).__name__)
        return self._error("connection", f"cannot be read ({told})", "Check network and port.")

    def _error(self, reason: str, what: str, remedy: str) -> SourceError:
        return SourceError(reason, f"{self._url} {what}.", remedy)


def _run(poll: Coroutine[Any, Any, RestReading]) -> RestReading:
    """Like asyncio.run, which however waits for a name lookup that hangs and so outlives any deadline."""
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(poll)
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """The exception and everything that led to it."""
    while error is not None:
        yield error
        if isinstance(error, BaseExceptionGroup):
            for member in error.exceptions:
                yield from _causes(member)
        error = error.__cause__ or error.__context__


def reading(url: str, root: dict[str, Any], connectors: dict[str, Any]) -> RestReading:
    """What the two answers say; a connector of which only a part is told is shown with that part."""
    found: list[ConnectorReading] = []
    tasks: list[TaskReading] = []
    for raw_name, entry in connectors.items():
        name = _clean(raw_name)
        status = _dict(_dict(entry).get("status"))
        info = _dict(_dict(entry).get("info"))
        connector = _dict(status.get("connector"))
        found.append(
            ConnectorReading(
                name,
                (_text(connector.get("state")) or "unassigned").lower(),
                worker_id=_text(connector.get("worker_id")),
                type=_text(info.get("type")) or _text(status.get("type")),
                class_name=_text(_dict(info.get("config")).get("connector.class")),
                version=_text(connector.get("version")),
            )
        )
        listed = status.get("tasks")
        for task in map(_dict, listed if isinstance(listed, list) else ()):
            number, state = task.get("id"), _text(task.get("state"))
            if isinstance(number, int) and state is not None:
                tasks.append(TaskReading(name, number, state.lower(), _text(task.get("worker_id"))))
    return RestReading(url, _text(root.get("version")), _text(root.get("kafka_cluster_id")), tuple(found), tuple(tasks))


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return _clean(value) if isinstance(value, str) and value else None


def _clean(text: str) -> str:
    """JSON can escape half a character; no output could encode it."""
    return text.encode("utf-8", "replace").decode("utf-8")

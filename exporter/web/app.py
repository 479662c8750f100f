"""The routes: metrics, health, reload, the status page and its JSON."""

from __future__ import annotations

import dataclasses
import ipaddress
import time
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Annotated

from fastapi import FastAPI, Header, Request
from fastapi.middleware.gzip import GZipMiddleware
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response

from exporter import __version__
from exporter.connect.snapshot import SourceHealth, WorkerSnapshot
from exporter.errors import ExporterError
from exporter.metrics import render
from exporter.web.status import StatusPage
from exporter.web.view import View

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


def create_app(view: View, clock: Callable[[], float] = time.time) -> FastAPI:
    """The application that serves `view`.

    Args:
        view: the running exporter.
        clock: seconds since the epoch, for ages on the page.
    """
    app = FastAPI(title="kafka-connect-exporter", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(GZipMiddleware, minimum_size=1000)

    @app.middleware("http")
    async def secure(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        response = await call_next(request)
        response.headers.update(_HEADERS)
        return response

    _add_metrics(app, view)
    _add_operations(app, view)
    _add_pages(app, view, clock)
    return app


# Plain functions, not coroutines: rendering runs in the thread pool and holds up no other request.


def _add_metrics(app: FastAPI, view: View) -> None:
    registry = render.registry(view.page)

    @app.api_route("/metrics", methods=["GET", "HEAD"])
    def metrics(accept: Annotated[str, Header()] = "") -> Response:
        form: render.Format = "openmetrics" if "application/openmetrics-text" in accept else "text"
        return Response(
            render.render(registry, form), media_type=render.CONTENT_TYPES[form], headers={"Vary": "Accept"}
        )


def _add_operations(app: FastAPI, view: View) -> None:
    @app.api_route("/-/healthy", methods=["GET", "HEAD"])
    def healthy() -> Response:
        return PlainTextResponse("healthy\n")

    @app.api_route("/-/ready", methods=["GET", "HEAD"])
    def ready() -> Response:
        if view.ready():
            return PlainTextResponse("ready\n")
        return PlainTextResponse("not ready: some source has not been read yet\n", HTTPStatus.SERVICE_UNAVAILABLE)

    @app.post("/-/reload")
    def reload(request: Request) -> Response:
        # A browser names the page that sends it there; a page from elsewhere must not reload through its visitor.
        if not _from_loopback(request) or "origin" in request.headers:
            return PlainTextResponse("reload is open to this host only\n", HTTPStatus.FORBIDDEN)
        try:
            view.reload()
        except ExporterError as error:
            return PlainTextResponse(f"not reloaded: {error}\n", HTTPStatus.BAD_REQUEST)
        return PlainTextResponse("reloaded\n")


def _add_pages(app: FastAPI, view: View, clock: Callable[[], float]) -> None:
    status_page = StatusPage()

    @app.api_route("/", methods=["GET", "HEAD"])
    def page() -> Response:
        return HTMLResponse(status_page.render(view.snapshots(), view.findings(), clock()))

    @app.api_route("/api/v1/status", methods=["GET", "HEAD"])
    def status_json() -> Response:
        return JSONResponse(
            {
                "version": 1,
                "findings": [dataclasses.asdict(finding) for finding in view.findings()],
                "workers": [_worker(snapshot) for snapshot in view.snapshots()],
            }
        )


def _from_loopback(request: Request) -> bool:
    if request.client is None:
        return False
    try:
        address = ipaddress.ip_address(request.client.host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def _worker(snapshot: WorkerSnapshot) -> dict[str, object]:
    log = snapshot.log
    return {
        "cluster": snapshot.cluster,
        "worker": snapshot.worker,
        "worker_id": snapshot.worker_id,
        "version": snapshot.version,
        "protocol": snapshot.protocol,
        "joined": snapshot.joined,
        "verifies": snapshot.verifies,
        "is_leader": snapshot.is_leader,
        "leader_url": snapshot.leader_url,
        "signing": snapshot.config.model_dump() if snapshot.config is not None else None,
        "sources": [{**_fields(source), "errors": dict(source.errors)} for source in snapshot.sources],
        "mismatch": dataclasses.asdict(log.mismatch) if log is not None and log.mismatch is not None else None,
        "loops": [dataclasses.asdict(loop) for loop in (log.loops if log is not None else ())],
    }


def _fields(source: SourceHealth) -> dict[str, object]:
    """Shallow: the read-only mapping in it cannot be copied as `asdict` would."""
    return {field.name: getattr(source, field.name) for field in dataclasses.fields(source)}

"""The status page: what is wrong, what cannot be seen, each worker. Plain HTML, no script."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from jinja2 import Environment, PackageLoader, StrictUndefined

from exporter import __version__
from exporter.connect.judge import Finding
from exporter.connect.snapshot import WorkerSnapshot

_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86400


def age(since_s: float | None, now_s: float) -> str:
    """How long ago, for people: "45 s", "12 min", "3 h 20 min", "2 d"; "" if unknown."""
    if since_s is None:
        return ""
    seconds = max(0, int(now_s - since_s))
    if seconds < 2 * _MINUTE_S:
        return f"{seconds} s"
    if seconds < 2 * _HOUR_S:
        return f"{seconds // _MINUTE_S} min"
    if seconds < 2 * _DAY_S:
        return f"{seconds // _HOUR_S} h {seconds % _HOUR_S // _MINUTE_S} min"
    return f"{seconds // _DAY_S} d"


def _time(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("exporter.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["age"] = age
    environment.filters["time"] = _time
    return environment


def page(snapshots: Sequence[WorkerSnapshot], findings: Sequence[Finding], now_s: float) -> str:
    """The page as HTML.

    Args:
        snapshots: one per worker.
        findings: of `judge`, the worst first.
        now_s: epoch seconds.
    """
    clusters: dict[str, list[WorkerSnapshot]] = {}
    for snapshot in snapshots:
        clusters.setdefault(snapshot.cluster, []).append(snapshot)
    return (
        _environment()
        .get_template("status.html")
        .render(clusters=clusters, findings=findings, now_s=now_s, version=__version__)
    )

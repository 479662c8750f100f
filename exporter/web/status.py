"""The status page: what is wrong, what cannot be seen, each worker. Plain HTML, no script."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from jinja2 import Environment, PackageLoader, StrictUndefined

from exporter import __version__
from exporter.connect.judge import Finding
from exporter.connect.snapshot import WorkerSnapshot

UNSEEN_WITHOUT = {
    "jmx": "Without JMX rebalances and the numbers of tasks and clients cannot be seen.",
    "rest": "Without REST connectors without tasks and failed tasks of other workers cannot be seen.",
    "logs": "Without the log neither retry loops nor their reasons can be seen.",
}
"""What stays hidden while a source is missing or down."""

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


class StatusPage:
    """The page; its template is compiled once."""

    def __init__(self) -> None:
        """Compile the template."""
        environment = Environment(
            loader=PackageLoader("exporter.web"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters["age"] = age
        environment.filters["time"] = _time
        self._template = environment.get_template("status.html")

    def render(self, snapshots: Sequence[WorkerSnapshot], findings: Sequence[Finding], now_s: float) -> str:
        """The page as HTML.

        Args:
            snapshots: one per worker.
            findings: of `judge`, the worst first.
            now_s: epoch seconds.
        """
        clusters: dict[str, list[WorkerSnapshot]] = {}
        for snapshot in snapshots:
            clusters.setdefault(snapshot.cluster, []).append(snapshot)
        unread = any(source.up is None for snapshot in snapshots for source in snapshot.sources)
        return self._template.render(
            clusters=clusters, findings=findings, now_s=now_s, unread=unread, blind=UNSEEN_WITHOUT, version=__version__
        )

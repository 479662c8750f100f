"""What one scrape is rendered from."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from exporter.connect.hosting import HostedConnector, HostedTask, hosted_connectors, hosted_tasks
from exporter.connect.snapshot import WorkerSnapshot

Sample = tuple[tuple[str, ...], float]
"""Label values and a value."""


@dataclass(frozen=True, slots=True)
class ExporterHealth:
    """What the exporter says of itself; times are epoch seconds."""

    version: str
    commit_failures: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    reload_ok: bool = True
    reload_success_s: float | None = None


@dataclass(frozen=True)
class Page:
    """Everything one scrape is rendered from.

    Attributes:
        connectors_max: connectors with series at the most; the others are left out and counted by the caller.
        tasks_max: likewise for tasks.
    """

    snapshots: tuple[WorkerSnapshot, ...]
    exporter: ExporterHealth
    connectors_max: int | None = None
    tasks_max: int | None = None

    @cached_property
    def connectors(self) -> tuple[HostedConnector, ...]:
        """Connectors under their hosts."""
        return tuple(islice(hosted_connectors(self.snapshots), self.connectors_max))

    @cached_property
    def tasks(self) -> tuple[HostedTask, ...]:
        """Tasks under their hosts."""
        return tuple(islice(hosted_tasks(self.snapshots), self.tasks_max))

    def beyond_limits(self) -> dict[str, int]:
        """How many connectors and tasks are left out, by the limit's name in the configuration."""
        return {
            "connectors": sum(1 for _ in hosted_connectors(self.snapshots)) - len(self.connectors),
            "tasks": sum(1 for _ in hosted_tasks(self.snapshots)) - len(self.tasks),
        }

    @cached_property
    def values(self) -> dict[str, list[Sample]]:
        """Catalogue values by series."""
        values: dict[str, list[Sample]] = {}
        for snapshot in self.snapshots:
            for value in snapshot.values:
                labels = (snapshot.cluster, snapshot.worker, *(text for _, text in value.labels))
                values.setdefault(value.series, []).append((labels, value.value))
        return values

"""Which worker's snapshot speaks for which connector and task, so that each appears once per host."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from exporter.connect.readings import ConnectorReading, TaskReading
from exporter.connect.snapshot import WorkerSnapshot


@dataclass(frozen=True, slots=True)
class HostedConnector:
    """A connector under the name of the worker that hosts it.

    Attributes:
        cluster, worker: label values; `worker` is a host:port where the user has not named that worker.
        tasks: the connector's tasks, on whatever worker; what the same source saw.
        tasks_known_everywhere: the tasks are those of the whole cluster.
    """

    cluster: str
    worker: str
    connector: ConnectorReading
    tasks: tuple[TaskReading, ...]
    tasks_known_everywhere: bool


@dataclass(frozen=True, slots=True)
class HostedTask:
    """A task under the name of the worker that hosts it."""

    cluster: str
    worker: str
    task: TaskReading


@dataclass(frozen=True, slots=True)
class _Cluster:
    """One cluster's snapshots and who reports what none of them hosts."""

    names: dict[str, str]
    covered: frozenset[str]
    reporter: WorkerSnapshot | None

    def label(self, snapshot: WorkerSnapshot, host: str | None, state: str) -> str | None:
        """The worker label under which `snapshot` exposes something on `host`; None: it is not its to expose."""
        if not snapshot.whole_cluster or (host is not None and host == snapshot.worker_id):
            return snapshot.worker
        if snapshot is not self.reporter:
            return None
        if state == "unassigned" or host is None:
            return snapshot.worker
        if host in self.covered:
            return None
        if host in self.names or snapshot.scope == "cluster" or snapshot.worker_id is None:
            return self.names.get(host, host)
        return None


def _clusters(snapshots: Sequence[WorkerSnapshot]) -> dict[str, _Cluster]:
    grouped: dict[str, list[WorkerSnapshot]] = {}
    for snapshot in snapshots:
        grouped.setdefault(snapshot.cluster, []).append(snapshot)
    clusters = {}
    for name, members in grouped.items():
        views = [s for s in members if s.whole_cluster]
        reporter = next((s for s in views if s.is_leader), views[0] if views and _no_leader(members) else None)
        clusters[name] = _Cluster(
            names={s.worker_id: s.worker for s in members if s.worker_id is not None},
            covered=frozenset(
                s.worker_id for s in members if s.worker_id is not None and (s.whole_cluster or s.jmx_fresh)
            ),
            reporter=reporter,
        )
    return clusters


def _no_leader(members: Iterable[WorkerSnapshot]) -> bool:
    """With scope `worker` a follower reports nothing but its own; who cannot tell that it follows, reports."""
    return all(s.scope == "cluster" or s.is_leader is None for s in members)


def hosted_connectors(snapshots: Sequence[WorkerSnapshot]) -> Iterator[HostedConnector]:
    """Every connector once per host that claims it."""
    clusters = _clusters(snapshots)
    for snapshot in snapshots:
        tasks_of: dict[str, list[TaskReading]] = {}
        for task in snapshot.tasks:
            tasks_of.setdefault(task.connector, []).append(task)
        for connector in snapshot.connectors:
            worker = clusters[snapshot.cluster].label(snapshot, connector.worker_id, connector.state)
            if worker is not None:
                tasks = tuple(tasks_of.get(connector.name, ()))
                yield HostedConnector(snapshot.cluster, worker, connector, tasks, snapshot.whole_cluster)


def hosted_tasks(snapshots: Sequence[WorkerSnapshot]) -> Iterator[HostedTask]:
    """Every task once per host that claims it."""
    clusters = _clusters(snapshots)
    for snapshot in snapshots:
        for task in snapshot.tasks:
            worker = clusters[snapshot.cluster].label(snapshot, task.worker_id, task.state)
            if worker is not None:
                yield HostedTask(snapshot.cluster, worker, task)

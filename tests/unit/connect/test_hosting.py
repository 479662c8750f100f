"""Each connector and task once, under the worker that hosts it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from exporter.connect.hosting import hosted_connectors, hosted_tasks
from exporter.connect.readings import ConnectorReading, TaskReading
from exporter.connect.snapshot import WorkerSnapshot

W1, W2, GONE = "h1:8083", "h2:8083", "h9:8083"
CONNECTORS = (
    ConnectorReading("on-1", "running", W1),
    ConnectorReading("on-2", "running", W2),
    ConnectorReading("on-gone", "running", GONE),
    ConnectorReading("nowhere", "unassigned", GONE),
)
TASKS = (TaskReading("on-1", 0, "running", W2), TaskReading("nowhere", 0, "unassigned", GONE))


def _rest(worker: str, worker_id: str | None, *, leader: bool | None, scope: str) -> WorkerSnapshot:
    return WorkerSnapshot(
        "pay",
        worker,
        scope,
        0.0,
        worker_id=worker_id,
        is_leader=leader,
        connectors=CONNECTORS,
        tasks=TASKS,
        whole_cluster=True,
    )


def _connectors(snapshots: Sequence[WorkerSnapshot]) -> list[tuple[str, str]]:
    return sorted((h.worker, h.connector.name) for h in hosted_connectors(snapshots))


def test_in_a_cluster_everything_appears_once_and_the_leader_speaks_for_the_rest() -> None:
    """Two workers with one view: no double, nothing missing."""
    snapshots = [_rest("w1", W1, leader=True, scope="cluster"), _rest("w2", W2, leader=False, scope="cluster")]
    assert _connectors(snapshots) == [(GONE, "on-gone"), ("w1", "nowhere"), ("w1", "on-1"), ("w2", "on-2")]
    assert sorted((h.worker, h.task.connector) for h in hosted_tasks(snapshots)) == [("w1", "nowhere"), ("w2", "on-1")]


def test_a_sidecar_shows_what_its_worker_hosts() -> None:
    """The leader's sidecar also shows what no live worker hosts; others show nothing foreign."""
    assert _connectors([_rest("w2", W2, leader=False, scope="worker")]) == [("w2", "on-2")]
    assert _connectors([_rest("w1", W1, leader=True, scope="worker")]) == [("w1", "nowhere"), ("w1", "on-1")]


def test_a_worker_whose_own_sources_are_down_is_spoken_for() -> None:
    """Under its name, if the log told who it is."""
    silent = WorkerSnapshot("pay", "w2", "cluster", 0.0, worker_id=W2)
    snapshots = [_rest("w1", W1, leader=True, scope="cluster"), silent]
    assert ("w2", "on-2") in _connectors(snapshots)


def test_a_worker_seen_over_jmx_speaks_for_itself() -> None:
    """JMX shows what the worker hosts; the leader does not repeat it."""
    jmx = WorkerSnapshot(
        "pay", "w2", "cluster", 0.0, worker_id=W2, connectors=(CONNECTORS[1],), tasks=(TASKS[0],), jmx_fresh=True
    )
    snapshots = [_rest("w1", W1, leader=True, scope="cluster"), jmx]
    assert _connectors(snapshots).count(("w2", "on-2")) == 1
    assert [h.worker for h in hosted_tasks(snapshots) if h.task.connector == "on-1"] == ["w2"]
    found = next(h for h in hosted_connectors(snapshots) if h.connector.name == "on-2")
    assert found.tasks_known_everywhere is False


@pytest.mark.parametrize("scope", ["cluster", "worker"])
def test_rest_alone_without_identity_shows_all(scope: str) -> None:
    """Asked at localhost REST does not tell who it is: hosts' addresses are the labels."""
    assert _connectors([_rest("vm", None, leader=None, scope=scope)]) == [
        (W1, "on-1"),
        (W2, "on-2"),
        (GONE, "on-gone"),
        ("vm", "nowhere"),
    ]


def test_clusters_do_not_mix() -> None:
    """Two clusters may have connectors of one name."""
    other = WorkerSnapshot("other", "x", "cluster", 0.0, worker_id=W1, connectors=CONNECTORS[:1], whole_cluster=True)
    snapshots = [_rest("w1", W1, leader=True, scope="cluster"), other]
    assert [(h.cluster, h.worker) for h in hosted_connectors(snapshots) if h.connector.name == "on-1"] == [
        ("pay", "w1"),
        ("other", "x"),
    ]

"""What is known about one worker at one moment, frozen: the ground of metrics, page, `judge` and commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from exporter.connect.readings import ConnectorReading, TailStats, TaskReading, Value
from exporter.connect.worker_config import WorkerConfig


@dataclass(frozen=True, slots=True)
class SourceHealth:
    """One configured input of a worker.

    Attributes:
        source: jmx, rest or logs.
        up: the last poll worked; None before the first one ended.
        last_success_s: epoch seconds of the last success, None if there was none.
        duration_s: of the last poll.
        errors: failed polls so far, by reason.
        problem: what is wrong and what to do, "" while up.
        since_s: epoch seconds since when it is up or down.
    """

    source: str
    up: bool | None = None
    last_success_s: float | None = None
    duration_s: float | None = None
    errors: Mapping[str, int] = field(default_factory=dict)
    problem: str = ""
    since_s: float | None = None


@dataclass(frozen=True, slots=True)
class LoopView:
    """An active retry loop. Times are epoch seconds, None where the zone of the log is unknown.

    `keeps_tasks`: True if tasks of the connector run with their old configuration, None if unknown.
    """

    connector: str
    reason: str
    code: int | None
    leader_url: str | None
    attempts: int
    start_s: float | None
    last_attempt_s: float | None
    keeps_tasks: bool | None


@dataclass(frozen=True, slots=True)
class MismatchView:
    """This worker signs with an algorithm that the leader was seen to refuse."""

    leader_url: str
    algorithm: str
    permitted: tuple[str, ...]
    since_s: float | None


@dataclass(frozen=True, slots=True)
class FailureView:
    """A failed start of a connector (`task` None) or task."""

    connector: str
    task: int | None
    kind: str
    cause: str
    at_s: float | None


@dataclass(frozen=True, slots=True)
class LogView:
    """What the worker's log told. Counters are totals since counting began, by the label values of their series.

    `protocol`, `leader_url` and `joined` are the log's own view; JMX wins over it while it is up.
    """

    url: str | None
    version: str | None
    kafka_cluster_id: str | None
    protocol: str | None
    leader_url: str | None
    joined: bool | None
    config: WorkerConfig | None
    counts: Mapping[str, Mapping[tuple[str, ...], int]]
    loops: tuple[LoopView, ...]
    mismatch: MismatchView | None
    failures: tuple[FailureView, ...]
    session_key_update_s: float | None
    last_record_s: float | None
    access_seen: bool
    stats: TailStats


@dataclass(frozen=True, slots=True)
class WorkerSnapshot:
    """One worker at `at_s` (epoch seconds). What no source tells is None, () or absent.

    Attributes:
        cluster, worker: the names given by the user.
        scope: cluster: connectors of the whole cluster; worker: only what this one hosts.
        protocol: eager, compatible, sessioned or unknown; None until the worker has joined.
        joined: member of the group; None if no source tells.
        connectors, tasks: REST's view of the whole cluster if REST is fresh, else what JMX shows of this worker.
        whole_cluster: connectors and tasks are REST's.
        jmx_fresh: JMX answered lately.
        jmx_connectors, jmx_tasks: what JMX shows, for comparison.
        state_conflicts: connectors and tasks of which JMX and REST tell different states for more than two polls.
        values: the numbers of the MBean catalogue.
    """

    cluster: str
    worker: str
    scope: str
    at_s: float
    worker_id: str | None = None
    url: str | None = None
    version: str | None = None
    group_id: str | None = None
    kafka_cluster_id: str | None = None
    protocol: str | None = None
    joined: bool | None = None
    leader_url: str | None = None
    is_leader: bool | None = None
    config: WorkerConfig | None = None
    connectors: tuple[ConnectorReading, ...] = ()
    tasks: tuple[TaskReading, ...] = ()
    whole_cluster: bool = False
    jmx_fresh: bool = False
    jmx_connectors: tuple[ConnectorReading, ...] = ()
    jmx_tasks: tuple[TaskReading, ...] = ()
    state_conflicts: int | None = None
    values: tuple[Value, ...] = ()
    log: LogView | None = None
    sources: tuple[SourceHealth, ...] = ()

    @property
    def verifies(self) -> bool | None:
        """Whether internal requests are verified; None until the protocol is known."""
        return None if self.protocol is None or not self.joined else self.protocol == "sessioned"

    def source(self, kind: str) -> SourceHealth | None:
        """The health of one input, None if it is not configured."""
        return next((source for source in self.sources if source.source == kind), None)

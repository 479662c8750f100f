"""The state of one worker: a fold over what its sources saw, and the frozen snapshot of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import tzinfo

from pydantic import ValidationError

from exporter.connect.kafka_rules import worker_id_of
from exporter.connect.log_fold import LogFold
from exporter.connect.loops import SILENCE_S
from exporter.connect.readings import JmxReading, LogReading, RestReading, TailStats
from exporter.connect.snapshot import (
    FailureView,
    LogView,
    LoopView,
    MismatchView,
    SourceHealth,
    WorkerSnapshot,
)
from exporter.connect.worker_config import WorkerConfig
from exporter.errors import SourceError, StateError

FRESH_INTERVALS = 2.5
"""A reading is served until so many poll intervals after it was taken; then it is gone, not stale."""

CONFLICT_POLLS = 2
"""States differ for a moment whenever one changes: two polls see one and the same change."""

LOG_MEMBERSHIP_S = 30.0
"""How long the log's word on protocol and leader is served after it was last read."""

STATE_VERSION = 1


@dataclass(frozen=True, slots=True)
class WorkerIdentity:
    """What the user says about a worker.

    Attributes:
        cluster, worker: names, labels `connect_cluster` and `worker`.
        scope: cluster or worker.
        sources: the configured inputs and how often each is polled, seconds.
        zone: of the log's stamps, if configured.
        properties: signing configuration from the worker's properties file, used where the log has no start-up dump.
        count_history: what was in the log before reading began enters the counters.
    """

    cluster: str
    worker: str
    scope: str = "worker"
    sources: dict[str, float] = field(default_factory=dict)
    zone: tzinfo | None = None
    properties: WorkerConfig | None = None
    count_history: bool = True


class WorkerState:
    """Folds readings and failures of one worker's sources; reads no clock.

    Each source feeds it from one thread at a time. `snapshot` may be called from any thread: it sees what the log told
    only as of the last `publish_log`, so that nothing is served which a kill would take back.
    """

    def __init__(self, identity: WorkerIdentity, persisted: str | None = None) -> None:
        """Begin empty, or where a persisted state ended.

        Raises:
            StateError: `persisted` is of another version or damaged.
        """
        self.identity = identity
        self._log = LogFold() if persisted is None else _restored(persisted)
        # After a restart the log has to be read up to its end again before its series are shown.
        self._log.caught_up = False
        self._stats = TailStats()
        self._published: LogView | None = None
        self._jmx: JmxReading | None = None
        self._rest: RestReading | None = None
        self._told: dict[str, set[str]] = {}
        self._differing_polls: dict[tuple[str, int | None], int] = {}
        self._health = {kind: SourceHealth(kind) for kind in identity.sources}

    def apply(self, reading: JmxReading | RestReading | LogReading, at_s: float, duration_s: float = 0.0) -> bool:
        """Take one successful reading.

        Args:
            reading: what the source saw.
            at_s: epoch seconds when the poll ended.
            duration_s: how long the poll took.

        Returns:
            Whether this is a change: the source was not up before, and is now.
        """
        match reading:
            case JmxReading():
                self._jmx = reading
                self._compare(reading, at_s)
                return self._healthy("jmx", at_s, duration_s)
            case RestReading():
                self._rest = reading
                return self._healthy("rest", at_s, duration_s)
            case LogReading():
                counting = self.identity.count_history or self._log.caught_up
                self._log.apply(reading, at_s, self.identity.zone, counting=counting)
                self._stats = reading.stats
                if reading.error is None:
                    return self._healthy("logs", at_s, duration_s)
                # Some file was read: the log's word is fresh. `failed` tells of the other.
                self._health["logs"] = replace(self._health["logs"], last_success_s=at_s)
                return False

    def failed(self, source: str, error: SourceError, at_s: float, duration_s: float = 0.0) -> bool:
        """Take one failed poll.

        Returns:
            Whether this is a change: the problem has not been told since the source was up last.
        """
        old = self._health.get(source, SourceHealth(source))
        errors = {**old.errors, error.reason: old.errors.get(error.reason, 0) + 1}
        problem = str(error)
        told = self._told.setdefault(source, set())
        changed = problem not in told
        told.add(problem)
        since_s = at_s if old.up is not False else old.since_s
        self._health[source] = replace(
            old, up=False, errors=errors, problem=problem, duration_s=duration_s, since_s=since_s
        )
        return changed

    def publish_log(self) -> None:
        """Show what the log has told so far; to be called once it is committed."""
        self._published = self._log_view() if self._log.caught_up else None

    def persisted(self) -> str:
        """The folded log as JSON, to be committed with the log's positions."""
        return f'{{"version": {STATE_VERSION}, "log": {self._log.model_dump_json()}}}'

    def snapshot(self, at_s: float) -> WorkerSnapshot:
        """Everything known at `at_s`; readings that are too old are left out."""
        identity, log = self.identity, self._published
        jmx = self._jmx if self._fresh("jmx", at_s) else None
        rest = self._rest if self._fresh("rest", at_s) else None
        log_age_s = at_s - (self._health["logs"].last_success_s or at_s) if log is not None else 0.0
        if log_age_s > SILENCE_S:
            log = None  # what nobody can see any more is neither there nor not there
        config = (log.config if log is not None else None) or identity.properties
        protocol, leader_url, joined = self._membership(jmx, log if log_age_s <= LOG_MEMBERSHIP_S else None)
        worker_id = self._worker_id(jmx, rest, log)
        leader_id = worker_id_of(leader_url)
        return WorkerSnapshot(
            cluster=identity.cluster,
            worker=identity.worker,
            scope=identity.scope,
            at_s=at_s,
            worker_id=worker_id,
            url=_first(log.url if log else None, rest.url if rest else None),
            version=_first(rest.version if rest else None, jmx.version if jmx else None, log.version if log else None),
            group_id=config.group_id if config is not None else None,
            kafka_cluster_id=_first(rest.kafka_cluster_id if rest else None, log.kafka_cluster_id if log else None),
            protocol=protocol if joined else None,
            joined=joined,
            leader_url=leader_url,
            is_leader=None if leader_id is None or worker_id is None or not joined else leader_id == worker_id,
            config=config,
            connectors=rest.connectors if rest is not None else jmx.connectors if jmx is not None else (),
            tasks=rest.tasks if rest is not None else jmx.tasks if jmx is not None else (),
            whole_cluster=rest is not None,
            jmx_fresh=jmx is not None,
            jmx_connectors=jmx.connectors if jmx is not None else (),
            jmx_tasks=jmx.tasks if jmx is not None else (),
            state_conflicts=None
            if jmx is None or rest is None
            else sum(polls > CONFLICT_POLLS for polls in self._differing_polls.values()),
            values=jmx.values if jmx is not None else (),
            log=None if log is None else replace(log, loops=tuple(_with_tasks(loop, rest) for loop in log.loops)),
            sources=tuple(self._health.values()),
        )

    def _compare(self, jmx: JmxReading, at_s: float) -> None:
        """Count for how many polls JMX and REST have told different states (KAFKA-LIVE.md §6: it can be for good)."""
        rest = self._rest if self._fresh("rest", at_s) else None
        told = {} if rest is None else _states(rest)
        self._differing_polls = {
            key: self._differing_polls.get(key, 0) + 1
            for key, state in _states(jmx).items()
            if told.get(key, state) != state
        }

    @staticmethod
    def _membership(jmx: JmxReading | None, log: LogView | None) -> tuple[str | None, str | None, bool | None]:
        """(protocol, leader_url, joined). JMX counts once it names a leader: before, it shows what is configured."""
        if jmx is not None and jmx.leader_url is not None:
            return jmx.connect_protocol or (log.protocol if log is not None else None), jmx.leader_url, True
        if log is not None and log.joined:
            return log.protocol, log.leader_url, True
        return None, None, False if jmx is not None or (log is not None and log.joined is not None) else None

    def _healthy(self, source: str, at_s: float, duration_s: float) -> bool:
        old = self._health.get(source, SourceHealth(source))
        self._told.pop(source, None)
        since_s = old.since_s if old.up else at_s
        self._health[source] = replace(
            old, up=True, last_success_s=at_s, problem="", duration_s=duration_s, since_s=since_s
        )
        return old.up is not True

    def _fresh(self, source: str, at_s: float) -> bool:
        health, interval_s = self._health.get(source), self.identity.sources.get(source)
        if health is None or interval_s is None or health.last_success_s is None:
            return False
        # A clock set back makes ages negative: such a reading is as old as nobody knows.
        return -interval_s <= at_s - health.last_success_s <= FRESH_INTERVALS * interval_s

    @staticmethod
    def _worker_id(jmx: JmxReading | None, rest: RestReading | None, log: LogView | None) -> str | None:
        told = (worker_id_of(log.url) if log is not None else None) or (jmx.worker_id if jmx is not None else None)
        if told is not None or rest is None:
            return told
        # REST does not tell who answers; the address it was asked at is the best guess, if the cluster knows it.
        guess = worker_id_of(rest.url)
        hosts = {c.worker_id for c in rest.connectors} | {t.worker_id for t in rest.tasks}
        return guess if guess in hosts else None

    def _log_view(self) -> LogView:
        log, zone = self._log, self.identity.zone
        mismatch = log.mismatch
        return LogView(
            url=log.url,
            version=log.version,
            kafka_cluster_id=log.kafka_cluster_id,
            protocol=log.protocol,
            leader_url=log.leader_url or None,
            joined=log.joined,
            config=log.config,
            counts={series: log.counts.of(series) for series in log.counts.by_series},
            loops=tuple(
                LoopView(
                    loop.connector,
                    loop.reason,
                    loop.code,
                    loop.leader_url or log.leader_url,
                    loop.attempts,
                    log.epoch_s(loop.first_stamp, loop.first_seen_at, zone),
                    log.epoch_s(loop.last_stamp, loop.last_seen_at, zone),
                    keeps_tasks=None,
                )
                for loop in log.loops.active.values()
            ),
            mismatch=None
            if mismatch is None
            else MismatchView(
                mismatch.leader_url,
                mismatch.algorithm,
                mismatch.permitted,
                log.epoch_s(mismatch.first_stamp, mismatch.first_seen_at, zone),
            ),
            failures=tuple(
                FailureView(f.connector, f.task, f.kind, f.cause, log.epoch_s(f.stamp, None, zone))
                for f in log.failures
            ),
            session_key_update_s=log.epoch_s(log.session_key_stamp, log.session_key_seen_at, zone),
            last_record_s=log.epoch_s(log.last_stamp, log.last_seen_at, zone),
            access_seen=log.access_seen,
            stats=self._stats,
        )


def _states(reading: JmxReading | RestReading) -> dict[tuple[str, int | None], str]:
    """State by connector (task None) and task."""
    states: dict[tuple[str, int | None], str] = {(c.name, None): c.state for c in reading.connectors}
    return states | {(t.connector, t.task): t.state for t in reading.tasks}


def _first(*candidates: str | None) -> str | None:
    return next((candidate for candidate in candidates if candidate), None)


def _with_tasks(loop: LoopView, rest: RestReading | None) -> LoopView:
    """A loop whose connector has tasks keeps them on their old configuration."""
    if rest is None:
        return loop
    return replace(loop, keeps_tasks=any(task.connector == loop.connector for task in rest.tasks))


def _restored(persisted: str) -> LogFold:
    prefix = f'{{"version": {STATE_VERSION}, "log": '
    if not persisted.startswith(prefix):
        raise StateError(
            "The saved state is of another version of this program.",
            "Move the state directory away: counting then begins anew.",
        )
    try:
        return LogFold.model_validate_json(persisted[len(prefix) : -1])
    except ValidationError as error:
        raise StateError(
            f"The saved state is damaged: {error.error_count()} fields cannot be read.",
            "Move the state directory away: counting then begins anew.",
        ) from error

"""The fold over one worker's log: counters, loops, mismatch, identity, protocol. Persisted as it is."""

from __future__ import annotations

import re
from datetime import datetime, tzinfo

from pydantic import BaseModel, Field

from exporter.connect import events, messages, reasons
from exporter.connect.attempts import Attempt, Pairing
from exporter.connect.kafka_rules import worker_id_of
from exporter.connect.loops import SILENCE_S, LoopBook
from exporter.connect.readings import LogReading
from exporter.connect.record import Record
from exporter.connect.stamp_clock import StampClock
from exporter.connect.worker_config import WorkerConfig

PAIRING_QUIET_S = 5.0
"""Lines a, b and c of one attempt are 0 to 15 ms apart (KAFKA-LIVE.md §2), and a reader holds a record for at most two
polls: after this no line c comes any more."""

_KEPT_FAILURES = 50
_TASK = re.compile(r"(.+?)-\d+(?:, |$)")


class Counts(BaseModel):
    """Counters by series and label values, in the order of the metric table's labels."""

    by_series: dict[str, dict[str, int]] = Field(default_factory=dict)

    def add(self, series: str, *labels: str, by: int = 1) -> None:
        """Count; `by=0` makes the series exist."""
        values = self.by_series.setdefault(series, {})
        key = "".join(f"{label}\x1f" for label in labels)
        values[key] = values.get(key, 0) + by

    def of(self, series: str) -> dict[tuple[str, ...], int]:
        """The series' values by label values."""
        return {tuple(key.split("\x1f")[:-1]): count for key, count in self.by_series.get(series, {}).items()}


class Mismatch(BaseModel):
    """A leader refused this worker's signing algorithm, and nothing has disproved it since."""

    leader_url: str
    algorithm: str
    permitted: tuple[str, ...]
    first_stamp: datetime | None
    first_seen_at: float | None


class Failure(BaseModel):
    """One failed start of a task or connector, for the page and for diagnose."""

    connector: str
    task: int | None
    kind: str
    cause: str
    stamp: datetime | None


class LogFold(BaseModel):
    """Everything the log of one worker has told so far.

    `apply` is the only way in; the same sequence of records gives the same fold, live or replayed.
    """

    counts: Counts = Field(default_factory=Counts)
    loops: LoopBook = Field(default_factory=LoopBook)
    pairing: Pairing = Field(default_factory=Pairing)
    clock: StampClock = Field(default_factory=StampClock)
    mismatch: Mismatch | None = None
    config: WorkerConfig | None = None
    url: str | None = None
    version: str | None = None
    kafka_cluster_id: str | None = None
    protocol: str | None = None
    leader_url: str | None = None
    generation: int | None = None
    joined: bool | None = None
    stopping: bool = False
    session_key_stamp: datetime | None = None
    session_key_seen_at: float | None = None
    access_seen: bool = False
    failures: list[Failure] = Field(default_factory=list)
    last_stamp: datetime | None = None
    last_seen_at: float | None = None
    caught_up: bool = False

    @property
    def worker_id(self) -> str | None:
        """`host:port` of the advertised URL."""
        return worker_id_of(self.url)

    @property
    def is_leader(self) -> bool | None:
        """Whether the assignment names this worker's own URL as the leader's; None while one of them is unknown."""
        if not self.leader_url or self.worker_id is None:
            return None
        return worker_id_of(self.leader_url) == self.worker_id

    def apply(self, reading: LogReading, at: float, zone: tzinfo | None, *, counting: bool) -> None:
        """Fold one batch.

        Args:
            reading: records in the order of the log.
            at: the exporter's clock when they were read, seconds since the epoch.
            zone: the configured zone of the stamps, if any.
            counting: False for history that must not enter the counters.
        """
        for record in reading.records:
            self._record(record, at if reading.live else None, counting=counting)
        self.caught_up = self.caught_up or reading.caught_up
        self.tick(at, zone, counting=counting, held=reading.held)

    def tick(self, at: float, zone: tzinfo | None, *, counting: bool, held: bool) -> None:
        """Let time pass: a line b with nothing behind it is complete, a silent loop ends after 210 s.

        `held`: the reader holds a record back; it may be the line c of a pending line b.
        """
        pending = self.pairing.pending
        if pending is not None and self.caught_up:
            pending.waits_from_at = pending.waits_from_at if pending.waits_from_at is not None else at
            if not held or at - pending.waits_from_at > PAIRING_QUIET_S:
                self._attempts((self.pairing.flush(),), counting=counting)
        if self.caught_up:
            self._expire(at, zone)

    def flush(self) -> None:
        """End of input: nothing more follows a pending line b."""
        self._attempts((self.pairing.flush(),), counting=True)

    def epoch_s(self, stamp: datetime | None, seen_at: float | None, zone: tzinfo | None) -> float | None:
        """When something happened: the moment of reading if it was live, else its stamp if the zone is known."""
        return seen_at if seen_at is not None else self.clock.epoch_s(stamp, zone)

    def _expire(self, at: float, zone: tzinfo | None) -> None:
        for loop in list(self.loops.active.values()):
            last = self.epoch_s(loop.last_stamp, loop.last_seen_at, zone)
            if last is None:  # unknown zone: silence is counted from now on
                last = loop.watched_from_at = loop.watched_from_at if loop.watched_from_at is not None else at
            if at - last > SILENCE_S:
                self.loops.end(loop.connector, "silence", loop.last_stamp)

    def _record(self, record: Record, seen_at: float | None, *, counting: bool) -> None:
        if counting:
            self.counts.add("log_records", record.level)
        if record.stamp is not None:
            self.last_stamp = record.stamp
            if seen_at is not None:
                self.clock.observe_live(record.stamp, seen_at)
        self.last_seen_at = seen_at if seen_at is not None else self.last_seen_at
        event, offset_s = messages.read(record)
        if offset_s is not None:
            self.clock.observe_access(offset_s)
        if record.logger.endswith("RestServer") and offset_s is not None:
            self.access_seen = True
        if event is not None:
            self._event(event, record.stamp, seen_at, counting=counting)
        if self.loops.active:
            self.loops.expire_by_stamp(record.stamp)

    def _event(  # noqa: C901, PLR0912 - one case per event
        self, event: events.Event, stamp: datetime | None, seen_at: float | None, *, counting: bool
    ) -> None:
        def add(series: str, *labels: str) -> None:
            if counting:
                self.counts.add(series, *labels)

        match event:
            case events.ForwardFailed():
                self.pairing.forward_failed(event)
            case events.HandOverFailed():
                self._attempts((self.pairing.hand_over_failed(event, stamp, seen_at),), counting=counting)
            case events.ReconfigureFailed():
                self._attempts(self.pairing.reconfigure_failed(event, stamp, seen_at), counting=counting)
            case events.GaveUp(connector):
                self.loops.end(connector, "gave_up", stamp)
            case events.Abandoned(connector):
                if not self.stopping:
                    add("task_reconfigurations_abandoned", connector)
            case events.ReconfigurationSkipped(connector) | events.ConnectorGone(connector):
                self.loops.end(connector, "connector_gone", stamp)
            case events.TasksConfigured(tasks, flow):
                self._tasks_configured(tasks, flow, stamp, counting=counting)
            case events.JoinedGroup():
                self._joined(event, stamp, counting=counting)
            case events.WorkerStarting() | events.WorkerStopping():
                self._worker_ends(stamp, stopping=isinstance(event, events.WorkerStopping), counting=counting)
            case events.WorkerConfigured(config):
                self._worker_ends(stamp, stopping=False, counting=counting)
                self.config, self.mismatch = config, None
            case events.Advertised(url):
                self.url = url
            case events.VersionSeen(version):
                self.version = version
            case events.KafkaClusterSeen(cluster_id):
                self.kafka_cluster_id = cluster_id
            case events.VerificationDisabled():
                add("verification_disabled")
            case events.ProtocolDowngraded(old, new):
                add("protocol_downgrades", old, new)
            case events.VerificationReenabled():
                add("verification_reenabled")
            case events.SessionKeyUpdated():
                add("session_key_updates")
                self.session_key_stamp, self.session_key_seen_at = stamp, seen_at
            case events.TaskFailed(connector, task, kind, cause):
                add("task_spawn_failures", connector, kind)
                self._failed(Failure(connector=connector, task=task, kind=kind, cause=cause, stamp=stamp))
            case events.ConnectorStartFailed(connector, cause):
                self._failed(Failure(connector=connector, task=None, kind="start", cause=cause, stamp=stamp))
            case events.InternalRequest():
                reason = reasons.from_access(event.code, event.body_bytes) or ""
                add("internal_requests", event.request, str(event.code), reason, event.origin)

    def _attempts(self, attempts: tuple[Attempt | None, ...], *, counting: bool) -> None:
        for attempt in attempts:
            if attempt is None:
                continue
            if counting:
                self.counts.add("task_reconfiguration_failures", attempt.connector, attempt.reason)
                if attempt.reason != "connector_error":
                    code = "" if attempt.code is None else str(attempt.code)
                    self.counts.add("internal_request_rejections", "tasks", attempt.reason, code)
                if attempt.reason == "other":
                    self.counts.add("log_unknown_failure_texts")
            self.loops.failed(attempt)
            if attempt.algorithm is not None:
                leader_url = attempt.leader_url or self.leader_url or ""
                known = self.mismatch
                if known is None or (known.leader_url, known.algorithm, known.permitted) != (
                    leader_url,
                    attempt.algorithm,
                    attempt.permitted,
                ):
                    self.mismatch = Mismatch(
                        leader_url=leader_url,
                        algorithm=attempt.algorithm,
                        permitted=attempt.permitted,
                        first_stamp=attempt.stamp,
                        first_seen_at=attempt.seen_at,
                    )

    def _tasks_configured(self, tasks: str, flow: str, stamp: datetime | None, *, counting: bool) -> None:
        pending = self.pairing.pending
        if pending is not None:  # complete it first, so that the success ends its loop and not the reverse
            self._attempts((self.pairing.flush(),), counting=counting)
        ended = self.loops.tasks_configured(tasks, flow, stamp)
        if self.is_leader is not True and any(loop.reason == "algorithm_not_permitted" for loop in ended):
            self.mismatch = None  # the leader has accepted what this worker signs

    def _joined(self, event: events.JoinedGroup, stamp: datetime | None, *, counting: bool) -> None:
        self.joined, self.stopping = True, False
        self.protocol, self.leader_url, self.generation = event.protocol, event.leader_url, event.generation
        self.loops.assigned(event.connectors, event.flow, stamp)
        if self.mismatch is not None and self.mismatch.leader_url not in ("", event.leader_url):
            self.mismatch = None  # another leader: its list is not known yet
        if counting:
            for connector in set(_TASK.findall(event.tasks)):
                for kind in ("start", "instantiate", "killed"):
                    self.counts.add("task_spawn_failures", event.flow + connector, kind, by=0)

    def _worker_ends(self, stamp: datetime | None, *, stopping: bool, counting: bool) -> None:
        self._attempts((self.pairing.flush(),), counting=counting)
        self.loops.end_all("worker_stopped", stamp)
        self.stopping = stopping
        self.joined = False
        self.protocol = self.leader_url = self.generation = None

    def _failed(self, failure: Failure) -> None:
        self.failures = [*self.failures[-_KEPT_FAILURES + 1 :], failure]

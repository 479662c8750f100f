"""Every metric as one row: name, type, labels, HELP, and where its values come from.

A new metric is a new row here or, if it is one attribute of an MBean, a new row of the JMX catalogue.

Rows of one worker's log counters, catalogue rows and the exporter's own rows differ only in how they read the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from exporter.connect.kafka_rules import CONNECTOR_STATES, PROTOCOLS
from exporter.connect.snapshot import LogView, WorkerSnapshot
from exporter.metrics.page import Page, Sample
from exporter.metrics.row import (
    PREFIX,
    WORKER_LABELS,
    Metric,
    counter_row,
    exporter_row,
    gauge_row,
    log_row,
    loop_row,
    source_row,
    tail_row,
    worker_row,
)
from exporter.sources.jmx.catalogue import CATALOGUE


def _nothing(_s: WorkerSnapshot, _log: LogView) -> Iterable[tuple[str, ...]]:
    return ()


def _plain(_s: WorkerSnapshot, _log: LogView) -> Iterable[tuple[str, ...]]:
    return [()]


_REFUSALS = (
    ("tasks", "400", "algorithm_not_permitted", "worker"),
    ("tasks", "400", "missing_signature", "worker"),
    ("tasks", "403", "invalid_signature", "worker"),
)
"""Known from the first access line on, so that `increase()` sees the first refusal."""


def _spawned(s: WorkerSnapshot, _log: LogView) -> Iterable[tuple[str, ...]]:
    connectors = {t.connector for t in s.jmx_tasks}
    connectors |= {t.connector for t in s.tasks if t.worker_id is not None and t.worker_id == s.worker_id}
    return [(c, kind) for c in sorted(connectors) for kind in ("start", "instantiate", "killed")]


def _info(s: WorkerSnapshot) -> Iterable[tuple[tuple[str, ...], float | None]]:
    values = (s.worker_id, s.url, s.version, s.group_id, s.kafka_cluster_id)
    return [(tuple(v or "" for v in values), 1)] if any(values) else []


def _signing(s: WorkerSnapshot) -> Iterable[tuple[tuple[str, ...], float | None]]:
    c = s.config
    if c is None:
        return []
    listed = ",".join(c.verification_algorithms or ())
    return [((c.connect_protocol or "", c.signature_algorithm or "", listed, c.key_generation_algorithm or ""), 1)]


def _signing_known(s: WorkerSnapshot) -> float:
    c = s.config
    return float(c is not None and c.signature_algorithm is not None and c.verification_algorithms is not None)


def _protocol(s: WorkerSnapshot) -> Iterable[tuple[tuple[str, ...], float | None]]:
    if s.protocol is None:
        return []
    return [((p,), float(p == s.protocol)) for p in (*PROTOCOLS, "unknown")]


def _connector_state(page: Page) -> Iterator[Sample]:
    for h in page.connectors:
        for state in CONNECTOR_STATES:
            yield (h.cluster, h.worker, h.connector.name, state), float(state == h.connector.state)


def _connector_info(page: Page) -> Iterator[Sample]:
    for h in page.connectors:
        c = h.connector
        yield (h.cluster, h.worker, c.name, c.type or "", c.class_name or "", c.version or ""), 1.0


def _connector_tasks(page: Page) -> Iterator[Sample]:
    for h in page.connectors:
        if h.tasks_known_everywhere:
            for state in CONNECTOR_STATES:
                count = sum(task.state == state for task in h.tasks)
                yield (h.cluster, h.worker, h.connector.name, state), float(count)


def _without_tasks(page: Page) -> Iterator[Sample]:
    for h in page.connectors:
        if h.tasks_known_everywhere:
            yield (h.cluster, h.worker, h.connector.name), float(h.connector.state == "running" and not h.tasks)


def _task_state(page: Page) -> Iterator[Sample]:
    for h in page.tasks:
        yield (h.cluster, h.worker, h.task.connector, str(h.task.task), h.task.state), 1.0


def _runs_old_tasks(s: WorkerSnapshot) -> Iterable[tuple[tuple[str, ...], float | None]]:
    return [((x.connector,), 1.0) for x in (s.log.loops if s.log else ()) if x.keeps_tasks]


def _mismatch(s: WorkerSnapshot) -> Iterable[tuple[tuple[str, ...], float | None]]:
    m = s.log.mismatch if s.log is not None else None
    return [] if m is None else [((m.leader_url, m.algorithm, ",".join(m.permitted)), 1.0)]


_HAND_ROWS: tuple[Metric, ...] = (
    # Protocol and verification
    worker_row(
        "gauge",
        "protocol",
        "protocol",
        "Protocol elected by the group (1 for the current one), from connect-worker-rebalance-metrics connect-protocol once the worker has joined, else from the log line 'Joined group'.",
        _protocol,
    ),
    gauge_row(
        "internal_request_verification_enabled",
        "1 if the worker has joined and the protocol is sessioned: internal requests are signed and verified.",
        lambda s: s.verifies,
    ),
    gauge_row(
        "worker_group_joined",
        "1 if the worker is a member of its group, from JMX leader-name, else from the log.",
        lambda s: s.joined,
    ),
    gauge_row("worker_is_leader", "1 if the leader's URL is the worker's own.", lambda s: s.is_leader),
    worker_row(
        "gauge",
        "worker_info",
        "worker_id url version group_id kafka_cluster_id",
        "Identity of the worker; always 1. worker_id is its advertised host:port.",
        _info,
    ),
    worker_row(
        "gauge",
        "worker_leader_info",
        "leader_url",
        "The leader this worker knows; always 1.",
        lambda s: [((s.leader_url,), 1)] if s.leader_url else [],
    ),
    # Who signs and permits what
    worker_row(
        "gauge",
        "worker_signature_algorithm_info",
        "algorithm",
        "inter.worker.signature.algorithm, from the start-up dump in the log or the properties file; always 1.",
        lambda s: [((s.config.signature_algorithm,), 1)] if s.config and s.config.signature_algorithm else [],
    ),
    worker_row(
        "gauge",
        "worker_verification_algorithm_info",
        "algorithm",
        "One series per entry of inter.worker.verification.algorithms; always 1.",
        lambda s: [((a,), 1) for a in dict.fromkeys(s.config.verification_algorithms or ())] if s.config else [],
    ),
    worker_row(
        "gauge",
        "worker_signing_info",
        "connect_protocol signature_algorithm verification_algorithms key_generation_algorithm",
        "The worker's signing configuration, for tables; always 1.",
        _signing,
    ),
    gauge_row(
        "worker_signing_config_known",
        "1 if the worker's signature algorithm and verification list are known.",
        _signing_known,
    ),
    gauge_row(
        "worker_session_key_ttl_seconds",
        "inter.worker.key.ttl.ms, from the start-up dump or the properties file.",
        lambda s: s.config.key_ttl_s if s.config else None,
    ),
    log_row(
        "session_key_last_update_timestamp_seconds",
        "When the worker's log last said 'Session key updated'.",
        lambda v: v.session_key_update_s,
    ),
    counter_row("session_key_updates_total", "", "Log lines 'Session key updated'.", _plain),
    counter_row(
        "verification_disabled_total",
        "",
        "Log lines 'Internal request verification will be disabled' (this worker's connect.protocol).",
        _plain,
    ),
    counter_row(
        "verification_reenabled_total", "", "Log lines 'Internal request validation has been re-enabled'.", _plain
    ),
    counter_row(
        "protocol_downgrades_total",
        "from to",
        "Log lines 'The protocol used by this Connect cluster has been downgraded'.",
        lambda s, v: [("sessioned", "compatible"), ("sessioned", "eager")],
    ),
    # Connectors and tasks
    Metric(
        PREFIX + "connector_state",
        "gauge",
        (*WORKER_LABELS, "connector", "state"),
        "State of the connector (1 for the current one), from REST, else from connector-metrics status.",
        _connector_state,
    ),
    Metric(
        PREFIX + "connector_info",
        "gauge",
        (*WORKER_LABELS, "connector", "type", "class", "version"),
        "The connector's type, class and version; always 1.",
        _connector_info,
    ),
    Metric(
        PREFIX + "connector_tasks",
        "gauge",
        (*WORKER_LABELS, "connector", "state"),
        "Tasks of the connector by state in the whole cluster, from REST.",
        _connector_tasks,
    ),
    Metric(
        PREFIX + "task_state",
        "gauge",
        (*WORKER_LABELS, "connector", "task", "state"),
        "Current state of the task; always 1. From REST, else from connector-task-metrics status.",
        _task_state,
    ),
    Metric(
        PREFIX + "connector_without_tasks",
        "gauge",
        (*WORKER_LABELS, "connector"),
        "1 if REST says RUNNING and there is no task anywhere.",
        _without_tasks,
    ),
    worker_row(
        "gauge",
        "connector_runs_old_tasks",
        "connector",
        "1 while a retry loop keeps the connector's tasks on their old configuration.",
        _runs_old_tasks,
    ),
    gauge_row(
        "worker_state_conflicts",
        "Connectors and tasks of which JMX and REST tell different states for more than two polls.",
        lambda s: s.state_conflicts,
    ),
    counter_row(
        "task_spawn_failures_total",
        "connector kind",
        "Tasks that failed to start, could not be built or were killed by an exception, from log lines.",
        _spawned,
    ),
    # Internal requests
    counter_row(
        "internal_requests_total",
        "request code reason origin",
        "Access-log lines of the signed endpoints (Kafka 3.4 and later). reason is told by status and size of the answer; origin by the user agent, which nobody authenticates.",
        lambda s, v: _REFUSALS if v.access_seen else (),
    ),
    counter_row(
        "internal_request_rejections_total",
        "request reason code",
        "Internal requests of this worker that failed, as its log tells; code is the leader's own answer.",
        _nothing,
    ),
    counter_row(
        "task_reconfiguration_failures_total",
        "connector reason",
        "Failed attempts to reconfigure a connector's tasks, one per attempt, from log lines.",
        _nothing,
    ),
    counter_row(
        "task_reconfigurations_abandoned_total",
        "connector",
        "Log lines 'Task reconfiguration … failed unexpectedly' of a worker that is not stopping.",
        _nothing,
    ),
    # Loops
    worker_row(
        "gauge",
        "task_reconfiguration_loop_active",
        "connector reason",
        "1 while the worker fails and retries to reconfigure the connector's tasks.",
        lambda s: [((x.connector, x.reason), 1) for x in (s.log.loops if s.log else ())],
    ),
    log_row("task_reconfiguration_loops", "Active retry loops of the worker.", lambda v: len(v.loops)),
    loop_row("task_reconfiguration_loop_start_timestamp_seconds", "When the active loop began.", lambda x: x.start_s),
    loop_row(
        "task_reconfiguration_loop_last_attempt_timestamp_seconds",
        "When the active loop last failed.",
        lambda x: x.last_attempt_s,
    ),
    loop_row("task_reconfiguration_loop_attempts", "Failed attempts of the active loop.", lambda x: x.attempts),
    worker_row(
        "gauge",
        "signature_algorithm_mismatch",
        "leader_url algorithm permitted",
        "1 while this worker is known to sign with an algorithm that the leader refused; permitted is the leader's list.",
        _mismatch,
    ),
    # The log itself
    counter_row(
        "log_records_total",
        "level",
        "Records of the worker's log.",
        lambda s, v: [(level,) for level in ("INFO", "WARN", "ERROR")],
    ),
    log_row(
        "log_last_record_timestamp_seconds", "Time of the last record of the worker's log.", lambda v: v.last_record_s
    ),
    counter_row("log_unknown_failure_texts_total", "", "Failed attempts whose exception text is not known.", _plain),
    # The exporter's sources
    source_row("gauge", "up", "", "1 if the last poll of the source worked.", lambda h: [((), h.up)]),
    source_row(
        "gauge",
        "last_success_timestamp_seconds",
        "",
        "When the source was last read.",
        lambda h: [((), h.last_success_s)],
    ),
    source_row(
        "gauge", "poll_duration_seconds", "", "Duration of the source's last poll.", lambda h: [((), h.duration_s)]
    ),
    source_row(
        "counter",
        "errors_total",
        "reason",
        "Failed polls of the source.",
        lambda h: [((reason,), n) for reason, n in h.errors.items()],
    ),
    tail_row("counter", "bytes_read_total", "Bytes read from the worker's log files.", lambda t: t.bytes_read),
    tail_row(
        "counter",
        "bytes_lost_total",
        "Bytes of the worker's log files that could not be read or kept.",
        lambda t: t.bytes_lost,
    ),
    tail_row(
        "counter",
        "records_unparsed_total",
        "Lines that belong to no record of a known layout.",
        lambda t: t.records_unparsed,
    ),
    tail_row("counter", "rotations_total", "Rotations of the worker's log files by renaming.", lambda t: t.rotations),
    tail_row("counter", "truncations_total", "Log files that were cut and written anew.", lambda t: t.truncations),
    tail_row("gauge", "unread_bytes", "Bytes written to the log files and not read yet.", lambda t: t.unread_bytes),
    # The exporter itself
    exporter_row(
        "counter",
        "state_commit_failures_total",
        "",
        "Commits of the state directory that failed.",
        lambda e: [((), e.commit_failures)],
    ),
    exporter_row(
        "counter",
        "series_dropped_total",
        "limit",
        "Connectors and tasks left out because a limit of the configuration was reached; the most at once so far.",
        lambda e: [((k,), n) for k, n in e.left_out.items()],
    ),
    exporter_row(
        "gauge",
        "config_last_reload_successful",
        "",
        "1 if the last reading of the configuration file worked.",
        lambda e: [((), e.reload_ok)],
    ),
    exporter_row(
        "gauge",
        "config_last_reload_success_timestamp_seconds",
        "",
        "When the configuration was last read successfully.",
        lambda e: [((), e.reload_success_s)],
    ),
    exporter_row("gauge", "build_info", "version", "Version of the exporter; always 1.", lambda e: [((e.version,), 1)]),
)


def _catalogue_rows() -> Iterator[Metric]:
    seen: set[str] = set()
    for row in CATALOGUE:
        if row.series not in seen:
            seen.add(row.series)
            yield Metric(
                row.series,
                row.kind,
                WORKER_LABELS + row.labels,
                row.help,
                lambda page, s=row.series: page.values.get(s, ()),  # type: ignore[misc]
            )


METRICS: tuple[Metric, ...] = (*_HAND_ROWS, *_catalogue_rows())

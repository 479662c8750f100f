"""The metric table and its two formats."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text
from support import kafka_log as k

from exporter.connect.readings import ConnectorReading, JmxReading, RestReading, TailStats, TaskReading, Value
from exporter.connect.snapshot import WorkerSnapshot
from exporter.connect.worker_state import WorkerIdentity, WorkerState
from exporter.errors import SourceError
from exporter.metrics import render
from exporter.metrics.page import ExporterHealth, Page
from exporter.metrics.table import METRICS

NOW = k.T0.replace(tzinfo=UTC).timestamp()
FOLLOWER = "10.0.0.2:8083"
RESERVED = {"endpoint", "pod", "container", "namespace", "service", "job", "instance", "node"}
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def _busy(name: str = "src") -> WorkerSnapshot:
    """A worker with everything: all sources, a loop, failures, a session key, a downgrade."""
    state = WorkerState(WorkerIdentity("pay", "w2", "cluster", {"jmx": 15.0, "rest": 30.0, "logs": 1.0}))
    state.apply(
        k.reading(
            k.started(0),
            k.joined(1, connectors=name, tasks="old-0"),
            k.attempt(2, connector=name),
            k.attempt(3, connector=name),
            k.access(3, "POST /connectors/x/tasks", 403, 76),
            k.herder(3, "INFO", "Session key updated"),
            k.record(3, "ERROR", "org.a.Worker", "Failed to start task old-0", "java.io.IOException"),
        ),
        NOW + 3,
    )
    state.publish_log()
    connectors = (
        ConnectorReading(name, "running", FOLLOWER, "source", "org.a.B", "1.0"),
        ConnectorReading("old", "running", FOLLOWER),
    )
    tasks = (TaskReading("old", 0, "failed", FOLLOWER),)
    state.apply(RestReading("http://x:1", "4.4.0", "K1", connectors, tasks), NOW + 3, 0.25)
    state.apply(
        JmxReading(
            FOLLOWER,
            "4.4.0",
            "sessioned",
            k.LEADER,
            connectors,
            tasks,
            (Value("kafka_connect_worker_rebalance_epoch", (), 3.0),),
        ),
        NOW + 3,
    )
    state.failed("jmx", SourceError("refused", "no.", "start it."), NOW + 4)
    return state.snapshot(NOW + 4)


def _samples(*snapshots: WorkerSnapshot, form: render.Format = "text", health: ExporterHealth | None = None) -> Samples:
    page = Page(snapshots, health or ExporterHealth("9.9"))
    text = render.render(render.registry(lambda: page), form).decode()
    parse = parse_openmetrics if form == "openmetrics" else parse_text
    families = list(parse(text))
    found: Samples = {}
    for family in families:
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in found, f"twice: {key}"
            found[key] = sample.value
    return {key: value for key, value in found.items() if key[0].startswith("kafka_connect_")}


def _value(samples: Samples, name: str, **labels: str) -> float | None:
    wanted = {"connect_cluster": "pay", "worker": "w2"} | labels
    values = [
        value for (found, pairs), value in samples.items() if found == f"kafka_connect_{name}" and dict(pairs) == wanted
    ]
    return values[0] if values else None


def test_names_are_unique_and_follow_prometheus() -> None:
    """Prefix, snake case, `_total` exactly on counters, no label that a target has."""
    names = [metric.name for metric in METRICS]
    assert len(names) == len(set(names))
    for metric in METRICS:
        assert re.fullmatch(r"kafka_connect_[a-z0-9_]+", metric.name)
        assert metric.name.endswith("_total") == (metric.kind == "counter"), metric.name
        assert len(set(metric.labels)) == len(metric.labels)
        assert not RESERVED & set(metric.labels), metric.name
        assert not metric.name.endswith(("_ms", "_percentage", "_bytes_total_total"))
        if not metric.name.startswith("kafka_connect_exporter_"):
            assert metric.labels[:2] == ("connect_cluster", "worker"), metric.name
        assert metric.help.endswith("."), metric.name


@pytest.mark.parametrize("form", ["text", "openmetrics"])
def test_both_formats_hold_the_same_samples_once_each(form: render.Format) -> None:
    """Parsed back by the client's own parsers; no `_created`."""
    samples = _samples(_busy(), form=form)
    assert samples == _samples(_busy())
    assert not [name for name, _ in samples if name.endswith("_created")]
    assert len(samples) > 60


def test_a_worker_with_everything_value_by_value() -> None:
    """What a busy worker shows, value by value."""
    samples = _samples(_busy())
    expected: list[tuple[float, str, dict[str, str]]] = [
        (1, "protocol", {"protocol": "sessioned"}),
        (0, "protocol", {"protocol": "eager"}),
        (1, "internal_request_verification_enabled", {}),
        (1, "worker_group_joined", {}),
        (0, "worker_is_leader", {}),
        (
            1,
            "worker_info",
            {"worker_id": FOLLOWER, "url": k.OWN, "version": "4.4.0", "group_id": "pay", "kafka_cluster_id": "K1"},
        ),
        (1, "worker_leader_info", {"leader_url": k.LEADER}),
        (3, "worker_rebalance_epoch", {}),
        (1, "worker_signature_algorithm_info", {"algorithm": "HmacSHA512"}),
        (1, "worker_verification_algorithm_info", {"algorithm": "HmacSHA256"}),
        (1, "worker_signing_config_known", {}),
        (3600, "worker_session_key_ttl_seconds", {}),
        (NOW + 3, "session_key_last_update_timestamp_seconds", {}),
        (1, "session_key_updates_total", {}),
        (0, "verification_disabled_total", {}),
        (0, "protocol_downgrades_total", {"from": "sessioned", "to": "eager"}),
        (1, "connector_state", {"connector": "src", "state": "running"}),
        (0, "connector_state", {"connector": "src", "state": "failed"}),
        (1, "connector_info", {"connector": "src", "type": "source", "class": "org.a.B", "version": "1.0"}),
        (1, "connector_tasks", {"connector": "old", "state": "failed"}),
        (0, "connector_tasks", {"connector": "src", "state": "running"}),
        (1, "task_state", {"connector": "old", "task": "0", "state": "failed"}),
        (1, "connector_without_tasks", {"connector": "src"}),
        (0, "connector_without_tasks", {"connector": "old"}),
        (1, "task_spawn_failures_total", {"connector": "old", "kind": "start"}),
        (0, "task_spawn_failures_total", {"connector": "old", "kind": "killed"}),
        (
            1,
            "internal_requests_total",
            {"request": "tasks", "code": "403", "reason": "invalid_signature", "origin": "worker"},
        ),
        (
            0,
            "internal_requests_total",
            {"request": "tasks", "code": "400", "reason": "missing_signature", "origin": "worker"},
        ),
        (
            2,
            "internal_request_rejections_total",
            {"request": "tasks", "reason": "algorithm_not_permitted", "code": "400"},
        ),
        (2, "task_reconfiguration_failures_total", {"connector": "src", "reason": "algorithm_not_permitted"}),
        (1, "task_reconfiguration_loop_active", {"connector": "src", "reason": "algorithm_not_permitted"}),
        (1, "task_reconfiguration_loops", {}),
        (NOW + 3, "task_reconfiguration_loop_start_timestamp_seconds", {"connector": "src"}),
        (2, "task_reconfiguration_loop_attempts", {"connector": "src"}),
        (
            1,
            "signature_algorithm_mismatch",
            {"leader_url": k.LEADER, "algorithm": "HmacSHA512", "permitted": "HmacSHA256"},
        ),
        (7, "log_records_total", {"level": "ERROR"}),
        (0, "log_records_total", {"level": "WARN"}),
        (NOW + 3, "log_last_record_timestamp_seconds", {}),
        (0, "exporter_source_up", {"source": "jmx"}),
        (1, "exporter_source_up", {"source": "rest"}),
        (NOW + 3, "exporter_source_last_success_timestamp_seconds", {"source": "jmx"}),
        (0.25, "exporter_source_poll_duration_seconds", {"source": "rest"}),
        (1, "exporter_source_errors_total", {"source": "jmx", "reason": "refused"}),
        (0, "exporter_log_unread_bytes", {}),
    ]
    for value, name, labels in expected:
        assert _value(samples, name, **labels) == value, (name, labels)


def test_absent_is_not_zero() -> None:
    """A worker of which nothing is known has no series but those of its sources."""
    state = WorkerState(WorkerIdentity("pay", "w2", "cluster", {"jmx": 15.0, "logs": 1.0}))
    names = {name for name, _ in _samples(state.snapshot(NOW)) if "exporter" not in name}
    assert names == {"kafka_connect_worker_signing_config_known"}
    state.apply(k.reading(k.joined(1)), NOW)
    state.publish_log()
    names = {name for name, _ in _samples(state.snapshot(NOW))}
    assert "kafka_connect_internal_requests_total" not in names
    assert "kafka_connect_session_key_last_update_timestamp_seconds" not in names
    assert "kafka_connect_session_key_updates_total" in names


def test_long_names_are_cut_and_never_doubled() -> None:
    """Two names alike in their first 200 characters give one series; quotes and newlines are escaped."""
    snapshot = _busy("n" * 250)
    assert snapshot.log is not None
    loop = snapshot.log.loops[0]
    twin = replace(loop, connector="n" * 250 + "x")
    samples = _samples(replace(snapshot, log=replace(snapshot.log, loops=(loop, twin))))
    assert _value(samples, "task_reconfiguration_loop_attempts", connector="n" * 200) == 2
    odd = 'q"uo\\te{x}'
    assert _value(_samples(_busy(odd)), "task_reconfiguration_loop_attempts", connector=odd) == 2


def test_two_workers_share_no_series() -> None:
    """Labels tell them apart; the client does not find doubles by itself."""
    other = replace(_busy(), worker="w1", worker_id="10.0.0.1:8083")
    assert len(_samples(_busy(), other)) > len(_samples(_busy()))


def test_the_exporters_own_rows() -> None:
    """Version, reload, commits and dropped series, without worker labels."""
    health = ExporterHealth("9.9", commit_failures=2, left_out={"tasks": 5}, reload_ok=False, reload_success_s=NOW)
    samples = {(name, labels): value for (name, labels), value in _samples(health=health).items()}
    assert samples[("kafka_connect_exporter_build_info", (("version", "9.9"),))] == 1
    assert samples[("kafka_connect_exporter_state_commit_failures_total", ())] == 2
    assert samples[("kafka_connect_exporter_series_dropped_total", (("limit", "tasks"),))] == 5
    assert samples[("kafka_connect_exporter_config_last_reload_successful", ())] == 0


def test_the_log_readers_figures() -> None:
    """Bytes, rotations, cuts."""
    snapshot = _busy()
    assert snapshot.log is not None
    stats = TailStats(bytes_read=10, bytes_lost=1, records_unparsed=2, rotations=3, truncations=4, unread_bytes=5)
    samples = _samples(replace(snapshot, log=replace(snapshot.log, stats=stats)))
    names = (
        "bytes_read_total",
        "bytes_lost_total",
        "records_unparsed_total",
        "rotations_total",
        "truncations_total",
        "unread_bytes",
    )
    assert [_value(samples, f"exporter_log_{name}") for name in names] == [10, 1, 2, 3, 4, 5]


def test_limits_leave_out_and_count() -> None:
    """A cluster with more connectors than the limit costs no more series."""
    page = Page((_busy(),), ExporterHealth("9.9"), connectors_max=1, tasks_max=0)
    assert (len(page.connectors), len(page.tasks)) == (1, 0)
    assert page.beyond_limits() == {"connectors": 1, "tasks": 1}

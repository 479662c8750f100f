"""From snapshots to findings: what, who, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC

import pytest
from support import kafka_log as k

from exporter.connect.judge import Finding, judge
from exporter.connect.readings import ConnectorReading, RestReading, TaskReading
from exporter.connect.record import Record
from exporter.connect.snapshot import SourceHealth, WorkerSnapshot
from exporter.connect.worker_config import WorkerConfig
from exporter.connect.worker_state import WorkerIdentity, WorkerState

NOW = k.T0.replace(tzinfo=UTC).timestamp()
FOLLOWER, LEADER = "10.0.0.2:8083", "10.0.0.1:8083"


def _follower(*records: Record | list[Record], rest: RestReading | None = None) -> WorkerSnapshot:
    state = WorkerState(WorkerIdentity("pay", "w2", "cluster", {"logs": 1.0, "rest": 30.0}))
    state.apply(k.reading(*records), NOW + 3)
    state.publish_log()
    if rest is not None:
        state.apply(rest, NOW + 3)
    return state.snapshot(NOW + 3)


def _leader(**more: object) -> WorkerSnapshot:
    config = WorkerConfig(
        signature_algorithm="HmacSHA256", verification_algorithms=("HmacSHA256",), connect_protocol="sessioned"
    )
    return replace(WorkerSnapshot("pay", "w1", "cluster", NOW, worker_id=LEADER, config=config), **more)  # type: ignore[arg-type]


def _one(findings: Sequence[Finding], finding_id: str) -> Finding:
    (found,) = [f for f in findings if f.id == finding_id]
    return found


def test_a_mismatch_names_follower_leader_algorithm_list_connectors_and_both_remedies() -> None:
    """The smaller change first; names where they are known."""
    findings = judge([_follower(k.started(0), k.joined(1), k.attempt(2)), _leader()], NOW + 3)
    found = _one(findings, "signing_algorithm_mismatch")
    assert (found.severity, found.cluster, found.workers, found.connectors) == (
        "critical",
        "pay",
        ("w2", "w1"),
        ("src",),
    )
    assert found.summary == (
        "w2 signs with HmacSHA512; the leader w1 permits [HmacSHA256]. No task configuration of src reaches the cluster."
    )
    assert found.remedies == (
        "On w2 set inter.worker.signature.algorithm=HmacSHA256 and restart w2.",
        "Or on w1 set inter.worker.verification.algorithms=HmacSHA256,HmacSHA512 and restart it.",
    )
    assert findings[0] is found
    assert not [f for f in findings if f.id.startswith("task_reconfiguration")]


def test_a_leader_that_is_none_of_ours_is_named_by_its_url() -> None:
    """The finding stands with one worker's log alone."""
    found = _one(judge([_follower(k.joined(1), k.attempt(2))], NOW + 3), "signing_algorithm_mismatch")
    assert found.workers == ("w2", k.LEADER)
    assert "On w2 set" in found.remedies[0]
    assert k.LEADER in found.remedies[1]


def test_tasks_that_run_on_are_said_to_run_their_old_configuration() -> None:
    """The latent form: nothing else shows it."""
    rest = RestReading(
        "http://x:1",
        None,
        None,
        (ConnectorReading("src", "running", FOLLOWER),),
        (TaskReading("src", 0, "running", FOLLOWER),),
    )
    found = _one(judge([_follower(k.joined(1), k.attempt(2), rest=rest)], NOW + 3), "signing_algorithm_mismatch")
    assert "src run with their old configuration" in found.summary


def test_a_mismatch_without_loop_is_latent() -> None:
    """Known, and silent until the next change."""
    gone = k.herder(3, "INFO", "Connector src config removed")
    found = _one(judge([_follower(k.joined(1), k.attempt(2), gone)], NOW + 3), "signing_algorithm_mismatch_latent")
    assert (found.severity, found.connectors) == ("warning", ())


def test_a_mismatch_is_predicted_from_the_workers_configurations() -> None:
    """Before anything failed; each ordered pair."""
    findings = judge([_follower(k.started(0), k.joined(1)), _leader()], NOW + 3)
    found = _one(findings, "signing_algorithm_mismatch_predicted")
    assert (found.severity, found.workers) == ("warning", ("w2", "w1"))
    assert "would refuse it as leader" in found.summary
    safe = _leader(
        config=WorkerConfig(signature_algorithm="HmacSHA256", verification_algorithms=("HmacSHA512", "HmacSHA256"))
    )
    assert judge([_follower(k.started(0), k.joined(1)), safe], NOW + 3) == ()


def test_algorithms_compare_as_kafka_compares_them() -> None:
    """Case matters."""
    lower = _leader(config=WorkerConfig(signature_algorithm="HmacSHA256", verification_algorithms=("hmacsha512",)))
    assert _one(judge([_follower(k.started(0)), lower], NOW), "signing_algorithm_mismatch_predicted").workers == (
        "w2",
        "w1",
    )


@pytest.mark.parametrize(("seconds", "severity"), [(59, "info"), (61, "critical")])
def test_a_loop_is_judged_by_its_persistence(seconds: float, severity: str) -> None:
    """A leader's restart gives a short burst that ends by itself."""
    snapshot = _follower(k.joined(1), k.attempt(2, cause=k.INVALID))
    assert snapshot.log is not None
    loop = replace(snapshot.log.loops[0], start_s=NOW, last_attempt_s=NOW + seconds)
    found = _one(
        judge([replace(snapshot, log=replace(snapshot.log, loops=(loop,)))], NOW + 99), "task_reconfiguration_loop"
    )
    assert (found.severity, found.connectors, found.since_s) == (severity, ("src",), NOW)
    assert ("may end by itself" in found.summary) is (severity == "info")


def test_a_connectors_own_fault_is_no_refusal() -> None:
    """taskConfigs() throws: a finding of its own, never a signature's."""
    own = k.herder(
        2,
        "ERROR",
        "Failed to reconfigure connector's tasks (src), retrying after backoff.",
        "java.lang.NullPointerException",
        k.FRAME,
    )
    (found,) = judge([_follower(k.joined(1), own)], NOW + 3)
    assert (found.id, found.connectors) == ("connector_error", ("src",))


def test_a_connector_without_tasks_and_without_failure_is_an_information() -> None:
    """Some connectors rightly have none; with a loop it is the loop's finding."""
    rest = RestReading("http://x:1", None, None, (ConnectorReading("src", "running", FOLLOWER),), ())
    (found,) = judge([_follower(k.joined(1), rest=rest)], NOW + 3)
    assert (found.id, found.severity, found.connectors) == ("connector_without_tasks", "info", ("src",))
    assert "connector_without_tasks" not in {
        f.id for f in judge([_follower(k.joined(1), k.attempt(2), rest=rest)], NOW + 3)
    }


def test_failed_tasks_carry_the_cause_from_the_log() -> None:
    """REST tells the state, the log the exception."""
    rest = RestReading(
        "http://x:1",
        None,
        None,
        (ConnectorReading("src", "running", FOLLOWER),),
        (TaskReading("src", 0, "failed", FOLLOWER),),
    )
    killed = k.record(
        2,
        "ERROR",
        "org.a.WorkerTask",
        "WorkerSourceTask{id=src-0} Task threw an uncaught and unrecoverable exception. Task is being killed",
        "java.io.IOException: x",
    )
    (found,) = judge([_follower(k.joined(1), killed, rest=rest)], NOW + 3)
    assert (found.id, found.summary) == (
        "task_failed",
        "1 of 1 tasks of src FAILED. Causes in the log: java.io.IOException.",
    )
    failed = RestReading("http://x:1", None, None, (ConnectorReading("src", "failed", FOLLOWER),), ())
    assert judge([_follower(k.joined(1), rest=failed)], NOW + 3)[0].id == "connector_failed"


def test_a_group_without_verification_names_who_switched_it_off() -> None:
    """One worker's connect.protocol counts for all; a downgrade is worse than a choice."""
    compatible = _leader(joined=True, protocol="compatible", config=WorkerConfig(connect_protocol="compatible"))
    found = _one(judge([compatible], NOW), "verification_disabled")
    assert (found.severity, found.workers) == ("warning", ("w1",))
    downgraded = k.herder(
        1,
        "WARN",
        "The protocol used by this Connect cluster has been downgraded from 'sessioned' to 'compatible' and internal request validation is now disabled. …",
    )
    found = _one(
        judge([_follower(k.started(0), downgraded, k.joined(1, protocol=1)), compatible], NOW), "protocol_downgraded"
    )
    assert (found.severity, found.workers) == ("critical", ("w1", "w2"))


def test_what_cannot_be_seen_is_a_finding() -> None:
    """A worker that answers nowhere is unseen; a single source down is said by itself."""
    down = SourceHealth("jmx", up=False, problem="refused. start it.", since_s=NOW - 9)
    both = _leader(sources=(down, replace(down, source="rest"), SourceHealth("logs", up=True)))
    found = _one(judge([both], NOW), "worker_unseen")
    assert (found.severity, found.remedies, found.since_s) == ("critical", ("refused. start it.",) * 2, NOW - 9)
    one = _leader(sources=(down, SourceHealth("rest", up=True)))
    assert [f.id for f in judge([one], NOW)] == ["source_down"]
    logs = _leader(sources=(SourceHealth("logs", up=False, problem="gone."),))
    assert [f.id for f in judge([logs], NOW)] == ["source_down"]


def test_a_healthy_cluster_has_no_finding() -> None:
    """Silence is the normal case."""
    rest = RestReading(
        "http://x:1",
        None,
        None,
        (ConnectorReading("src", "running", FOLLOWER),),
        (TaskReading("src", 0, "running", FOLLOWER),),
    )
    assert (
        judge(
            [_follower(k.started(0, signature="HmacSHA256"), k.joined(1, tasks="src-0"), rest=rest), _leader()], NOW + 3
        )
        == ()
    )


def test_two_workers_with_one_address_are_a_finding_and_no_merge() -> None:
    """Requests to one of them reach the other."""
    found = _one(judge([_leader(), _leader(worker="w9")], NOW), "advertised_address_shared")
    assert (found.severity, found.workers) == ("warning", ("w1", "w9"))
    assert LEADER in found.summary

"""The fold over a worker's log: when loops begin and end, when a mismatch is known and when it is disproved."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC

import pytest
from support import kafka_log as k

from exporter.connect.log_fold import LogFold
from exporter.connect.loops import SILENCE_S
from exporter.connect.record import Record

NOW = k.T0.replace(tzinfo=UTC).timestamp()


def _fold(
    *records: Record | list[Record], at_s: float = 0.0, live: bool = True, fold: LogFold | None = None
) -> LogFold:
    fold = fold or LogFold()
    fold.apply(k.reading(*records, live=live), NOW + at_s, None, counting=True)
    return fold


def _ended(fold: LogFold) -> list[tuple[str, str | None]]:
    return [(loop.connector, loop.end) for loop in fold.loops.ended]


def test_a_refused_attempt_opens_a_loop_and_names_the_mismatch() -> None:
    """One attempt is enough to know follower, leader, algorithm and list."""
    fold = _fold(k.started(0), k.joined(1), k.attempt(2), k.attempt(3))
    loop = fold.loops.active["src"]
    assert (loop.reason, loop.code, loop.attempts, loop.leader_url) == ("algorithm_not_permitted", 400, 2, k.LEADER)
    assert fold.mismatch is not None
    assert (fold.mismatch.leader_url, fold.mismatch.algorithm, fold.mismatch.permitted) == (
        k.LEADER,
        "HmacSHA512",
        ("HmacSHA256",),
    )
    assert fold.counts.of("task_reconfiguration_failures") == {("src", "algorithm_not_permitted"): 2}
    assert fold.counts.of("internal_request_rejections") == {("tasks", "algorithm_not_permitted", "400"): 2}


def test_without_a_url_in_line_a_the_assignment_names_the_leader() -> None:
    """Before Kafka 3.9 the forward URL is not printed."""
    lines = k.attempt(2)[1:]
    fold = _fold(k.joined(1), lines)
    assert fold.mismatch is not None
    assert fold.mismatch.leader_url == k.LEADER


def test_success_ends_loop_and_mismatch() -> None:
    """The leader wrote the tasks: it has accepted the algorithm."""
    fold = _fold(k.started(0), k.joined(1), k.attempt(2), k.herder(9, "INFO", "Tasks [src-0, src-1] configs updated"))
    assert _ended(fold) == [("src", "tasks_configured")]
    assert fold.mismatch is None


def test_success_of_another_connector_ends_nothing() -> None:
    """src-1's task is not a task of src."""
    fold = _fold(k.joined(1), k.attempt(2), k.herder(9, "INFO", "Tasks [src-1-0, other-0] configs updated"))
    assert list(fold.loops.active) == ["src"]
    assert fold.mismatch is not None


def test_a_worker_that_became_leader_writes_itself_and_disproves_nothing() -> None:
    """Remedy 2 made the misconfigured worker leader (KAFKA-LIVE §7): the loop ends, another leader is another list."""
    fold = _fold(k.started(0), k.joined(1), k.attempt(2), k.joined(5, leader=k.OWN))
    assert fold.mismatch is None
    assert fold.is_leader is True
    _fold(k.herder(9, "INFO", "Tasks [src-0] configs updated"), fold=fold)
    assert _ended(fold) == [("src", "tasks_configured")]


@pytest.mark.parametrize(
    ("record", "end"),
    [
        (k.joined(5, connectors="other, src-2"), "connector_gone"),
        (k.herder(5, "INFO", "Connector src config removed"), "connector_gone"),
        (k.herder(5, "INFO", "Skipping reconfiguration of connector src since it is not running"), "connector_gone"),
        (
            k.herder(5, "INFO", "Skipping reconfiguration of connector src since its target state is PAUSED"),
            "connector_gone",
        ),
        (
            k.herder(5, "DEBUG", "Connector src generated too many tasks; will not retry configuring connector"),
            "gave_up",
        ),
        (k.record(5, "INFO", "org.apache.kafka.connect.runtime.Connect", "Kafka Connect stopping"), "worker_stopped"),
    ],
)
def test_evidence_that_ends_a_loop(record: Record, end: str) -> None:
    """Each kind of evidence is named; the mismatch stays known: nothing has disproved it."""
    fold = _fold(k.joined(1), k.attempt(2), record)
    assert _ended(fold) == [("src", end)]
    assert fold.mismatch is not None


def test_a_new_start_up_dump_clears_the_mismatch() -> None:
    """The file may have been corrected: what it says now is in the dump."""
    fold = _fold(k.joined(1), k.attempt(2), k.started(9, signature="HmacSHA256"))
    assert fold.mismatch is None
    assert fold.config is not None
    assert (fold.config.signature_algorithm, fold.config.verification_algorithms) == ("HmacSHA256", ("HmacSHA256",))
    assert (fold.worker_id, fold.version, fold.kafka_cluster_id) == ("10.0.0.2:8083", "4.4.0", "K1")


def test_still_assigned_connectors_keep_their_loops() -> None:
    """Each assignment is complete for the worker."""
    fold = _fold(k.joined(1), k.attempt(2), k.joined(5, connectors="a, src, z"))
    assert list(fold.loops.active) == ["src"]


def test_silence_ends_a_loop_after_210_seconds_of_the_exporters_clock() -> None:
    """Live, silence is counted by the exporter's clock, while the log is read."""
    fold = _fold(k.joined(1), k.attempt(2))
    fold.tick(NOW + SILENCE_S, None, counting=True, held=False)
    assert list(fold.loops.active) == ["src"]
    fold.tick(NOW + SILENCE_S + 1, None, counting=True, held=False)
    assert _ended(fold) == [("src", "silence")]


def test_silence_in_a_history_is_counted_by_its_own_stamps() -> None:
    """A loop that ended hours before the log's end is not active when the log is first read."""
    fold = _fold(k.attempt(2), k.herder(300, "INFO", "Rebalance started"), live=False)
    assert _ended(fold) == [("src", "silence")]


def test_an_old_log_without_zone_counts_silence_from_its_first_reading() -> None:
    """Nobody knows when its last line was written: the loop is shown, and goes if nothing comes."""
    fold = _fold(k.attempt(2), live=False)
    assert list(fold.loops.active) == ["src"]
    loop = fold.loops.active["src"]
    assert fold.epoch_s(loop.first_stamp, loop.first_seen_at, None) is None
    assert fold.epoch_s(loop.last_stamp, loop.last_seen_at, None) is None  # no time is claimed
    fold.tick(NOW + SILENCE_S + 1, None, counting=True, held=False)
    assert _ended(fold) == [("src", "silence")]


def test_an_old_log_with_a_zone_is_silent_at_once() -> None:
    """An access line tells the zone, and with it how old the loop is."""
    fold = _fold(k.access(0, "GET /", 200, 91, "curl"), k.attempt(2), live=False, at_s=3600)
    assert _ended(fold) == [("src", "silence")]


def _held(fold: LogFold, *records: Record | list[Record], at_s: float) -> None:
    fold.apply(replace(k.reading(*records), held=True), NOW + at_s, None, counting=True)


def test_b_alone_is_counted_once_nothing_is_behind_it() -> None:
    """In the first minute of 403s nothing follows line b; the reader says that it holds nothing back."""
    fold = LogFold()
    _held(fold, k.joined(1), k.attempt(2, cause=k.INVALID)[:2], at_s=2)
    assert fold.loops.active == {}
    _fold(fold=fold, at_s=3)
    assert fold.counts.of("task_reconfiguration_failures") == {("src", "invalid_signature"): 1}


def test_a_line_c_that_the_reader_still_holds_is_waited_for() -> None:
    """However the polls fall: b handed out at 10.0, c held over the next poll, handed out at 12.0: one attempt."""
    fold = LogFold()
    *a_and_b, c = k.attempt(10)
    _held(fold, k.joined(1), a_and_b, at_s=10.001)
    _held(fold, at_s=11.02)
    _fold(c, fold=fold, at_s=12)
    assert fold.counts.of("task_reconfiguration_failures") == {("src", "algorithm_not_permitted"): 1}


def test_b_is_not_waited_on_for_ever() -> None:
    """A log that is never quiet always holds a record back."""
    fold = LogFold()
    _held(fold, k.joined(1), k.attempt(2, cause=k.INVALID)[:2], at_s=2)
    _held(fold, k.herder(5, "INFO", "Rebalance started"), at_s=5)
    assert fold.loops.active == {}
    _held(fold, k.herder(8, "INFO", "Rebalance started"), at_s=8)
    assert fold.loops.active["src"].attempts == 1


def test_a_pending_b_of_a_history_is_counted_too() -> None:
    """The last line of a log read once may be a line b."""
    fold = _fold(k.joined(1), k.attempt(2, cause=k.INVALID)[:2], live=False)
    assert fold.loops.active["src"].attempts == 1


def test_attempts_that_nobody_watched_prolong_the_loop() -> None:
    """Ten minutes down, an attempt a minute in the log: one loop with its old start, not silence and a new one."""
    fold = _fold(k.started(0), k.joined(1), k.attempt(2), at_s=2)
    _fold([r for i in range(1, 11) for r in k.attempt(2 + 60 * i)], fold=fold, at_s=610, live=False)
    loop = fold.loops.active["src"]
    assert (loop.attempts, fold.loops.ended) == (11, [])
    assert fold.epoch_s(loop.first_stamp, loop.first_seen_at, None) == NOW + 2
    assert fold.epoch_s(loop.last_stamp, loop.last_seen_at, None) == NOW + 602


def test_a_leader_without_address_is_a_rejection_and_a_connectors_own_fault_is_none() -> None:
    """Failures without connector_error are the rejections of request tasks, whatever the reason."""
    line = "Failed to reconfigure connector's tasks (src), retrying after backoff."
    unknown = "org.a.ConnectException: Request to leader to reconfigure connector tasks failed because the URL of the leader's REST interface is empty!"
    fold = _fold(k.herder(1, "ERROR", line, unknown), k.herder(2, "ERROR", line, "java.lang.NullPointerException"))
    assert fold.counts.of("task_reconfiguration_failures") == {
        ("src", "leader_unknown"): 1,
        ("src", "connector_error"): 1,
    }
    assert fold.counts.of("internal_request_rejections") == {("tasks", "leader_unknown", ""): 1}


def test_the_reason_of_a_loop_is_its_newest() -> None:
    """403, then 400 after a change of leader: one loop."""
    fold = _fold(k.joined(1), k.attempt(2, cause=k.INVALID), k.attempt(3))
    loop = fold.loops.active["src"]
    assert (loop.attempts, loop.reason, loop.algorithm) == (2, "algorithm_not_permitted", "HmacSHA512")


def test_a_stopping_worker_abandons_nothing() -> None:
    """Its "failed unexpectedly" pair is no dead chain (KAFKA-LIVE §1.4)."""
    pair = k.herder(
        5,
        "ERROR",
        "Task reconfiguration for src failed unexpectedly, this connector will not be properly reconfigured unless manually triggered.",
    )
    stopping = k.record(4, "INFO", "org.apache.kafka.connect.runtime.Connect", "Kafka Connect stopping")
    assert _fold(stopping, pair).counts.of("task_reconfigurations_abandoned") == {}
    assert _fold(pair).counts.of("task_reconfigurations_abandoned") == {("src",): 1}


def test_protocol_lines_are_counted_and_the_assignment_tells_the_protocol() -> None:
    """Log alone answers what JMX answers."""
    fold = _fold(
        k.herder(
            0,
            "WARN",
            "Internal request verification will be disabled for this cluster as this worker's connect.protocol configuration "
            "has been set to 'COMPATIBLE'. If this is not intentional, …",
        ),
        k.herder(
            1,
            "WARN",
            "The protocol used by this Connect cluster has been downgraded from 'sessioned' to 'compatible' and internal "
            "request validation is now disabled. This is most likely …",
        ),
        k.joined(1, protocol=1),
    )
    assert (fold.protocol, fold.joined, fold.leader_url) == ("compatible", True, k.LEADER)
    assert fold.counts.of("protocol_downgrades") == {("sessioned", "compatible"): 1}
    assert fold.counts.of("verification_disabled") == {(): 1}
    _fold(k.herder(2, "INFO", "Internal request validation has been re-enabled"), k.joined(2), fold=fold)
    assert fold.counts.of("verification_reenabled") == {(): 1}
    assert fold.protocol == "sessioned"


def test_session_keys_are_counted_and_dated() -> None:
    """The last update is what the alert on rotation looks at."""
    fold = _fold(k.herder(0, "INFO", "Session key updated"), k.herder(5, "INFO", "Session key updated"), at_s=5)
    assert fold.counts.of("session_key_updates") == {(): 2}
    assert fold.session_key_seen_at == NOW + 5


def test_access_lines_are_counted_by_request_status_reason_and_origin() -> None:
    """A query does not matter, other paths do not count."""
    fold = _fold(
        k.access(0, "POST /connectors/a/tasks", 400, 321),
        k.access(0, "POST /connectors/b/tasks?forward=true", 400, 321),
        k.access(0, "PUT /connectors/b/fence", 403, 76, "curl"),
        k.access(0, "GET /connectors?expand=status", 200, 10, "kafka-connect-exporter/0.1"),
    )
    assert fold.counts.of("internal_requests") == {
        ("tasks", "400", "algorithm_not_permitted", "worker"): 2,
        ("fence", "403", "invalid_signature", "other"): 1,
    }


@pytest.mark.parametrize(
    ("logger", "message", "kind"),
    [
        ("Worker", "Failed to start task sink-a-1", "start"),
        (
            "DistributedHerder",
            "Couldn't instantiate task sink-a-1 because it has an invalid task configuration. This task will not execute until reconfigured.",
            "instantiate",
        ),
        (
            "WorkerTask",
            "WorkerSinkTask{id=sink-a-1} Task threw an uncaught and unrecoverable exception. Task is being killed and will not recover until manually restarted",
            "killed",
        ),
        (
            "WorkerTask",
            "ExactlyOnceWorkerSourceTask{id=sink-a-1} Task threw an uncaught and unrecoverable exception",
            "killed",
        ),
    ],
)
def test_task_failures_name_connector_task_and_innermost_cause(logger: str, message: str, kind: str) -> None:
    """The cause is the innermost exception's class."""
    trace = (
        "org.a.ConnectException: outer",
        "\tat a.B.c(B.java:1)",
        "Caused by: java.io.IOException: disk: full",
        "\t... 3 more",
    )
    fold = _fold(k.record(0, "ERROR", f"org.apache.kafka.connect.runtime.{logger}", message, *trace))
    assert fold.counts.of("task_spawn_failures") == {("sink-a", kind): 1}
    (failure,) = fold.failures
    assert (failure.connector, failure.task, failure.cause) == ("sink-a", 1, "java.io.IOException")


@pytest.mark.parametrize(
    "message",
    [
        "WorkerSinkTask{id=c-0} Task threw an uncaught and unrecoverable exception during shutdown",
        "WorkerSourceTask{id=c-0} Task is being killed and will not recover until manually restarted",
    ],
)
def test_lines_that_are_no_further_failure(message: str) -> None:
    """Shutdown kills nothing; before 2.7 the second line repeats the first."""
    fold = _fold(k.record(0, "ERROR", "org.apache.kafka.connect.runtime.WorkerTask", message))
    assert fold.counts.of("task_spawn_failures") == {}


def test_a_connector_that_cannot_start_is_known() -> None:
    """The herder's line names it, with MDC and prefix or without."""
    fold = _fold(
        k.herder(
            0,
            "ERROR",
            "Failed to start connector 'start fails'",
            "org.a.ConnectException: Failed to start connector: x",
        )
    )
    assert [(f.connector, f.task, f.cause) for f in fold.failures] == [("start fails", None, "org.a.ConnectException")]


def test_counters_of_tasks_exist_before_the_first_failure() -> None:
    """`increase()` sees a first failure only if the series was there before."""
    fold = _fold(k.joined(1, tasks="src-0, a-b-12"))
    assert set(fold.counts.of("task_spawn_failures")) == {
        (c, kind) for c in ("src", "a-b") for kind in ("start", "instantiate", "killed")
    }
    assert set(fold.counts.of("task_spawn_failures").values()) == {0}


def test_history_that_must_not_count_leaves_loops_and_dumps() -> None:
    """Without a state directory counting starts at the file's end."""
    fold = LogFold()
    fold.apply(k.reading(k.started(0), k.joined(1), k.attempt(2), live=False), NOW + 2, None, counting=False)
    assert fold.counts.by_series == {}
    assert list(fold.loops.active) == ["src"]
    assert fold.config is not None


def test_a_fold_survives_its_json() -> None:
    """What is committed is what goes on."""
    fold = _fold(k.started(0), k.joined(1, tasks="src-0"), k.attempt(2), k.attempt(3, cause=k.INVALID)[:2])
    again = LogFold.model_validate_json(fold.model_dump_json())
    assert again == fold
    _fold(k.attempt(4), fold=fold)
    _fold(k.attempt(4), fold=again)
    assert again == fold


def test_a_mirrormaker_flow_ends_only_its_own_loops() -> None:
    """Two flows of one process have connectors of one name."""

    def flow(record: Record, name: str) -> Record:
        return Record(
            record.stamp,
            record.level,
            record.logger,
            "",
            record.message.replace("connect-10.0.0.2:8083", name),
            record.lines,
        )

    a_to_b = [flow(r, "A->B") for r in k.attempt(2, connector="MirrorSourceConnector")[1:]]
    b_to_a = [flow(r, "B->A") for r in k.attempt(2, connector="MirrorSourceConnector")[1:]]
    fold = _fold(a_to_b, b_to_a)
    assert set(fold.loops.active) == {"A->B/MirrorSourceConnector", "B->A/MirrorSourceConnector"}
    _fold(flow(k.herder(5, "INFO", "Tasks [MirrorSourceConnector-0] configs updated"), "A->B"), fold=fold)
    assert set(fold.loops.active) == {"B->A/MirrorSourceConnector"}

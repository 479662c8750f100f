"""One worker's snapshot from whatever sources it has; absent rather than old."""

from __future__ import annotations

from datetime import UTC

import pytest
from support import kafka_log as k

from exporter.connect.readings import ConnectorReading, JmxReading, RestReading, TaskReading, Value
from exporter.connect.snapshot import WorkerSnapshot
from exporter.connect.worker_config import WorkerConfig
from exporter.connect.worker_state import FRESH_INTERVALS, WorkerIdentity, WorkerState
from exporter.errors import SourceError, StateError

NOW = k.T0.replace(tzinfo=UTC).timestamp()
ID = "10.0.0.2:8083"
JMX = JmxReading(
    ID,
    "4.4.0",
    "sessioned",
    k.LEADER,
    (ConnectorReading("src", "running", ID),),
    (TaskReading("src", 0, "running", ID),),
    (Value("kafka_connect_worker_rebalance_epoch", (), 3.0),),
)
REST = RestReading(
    "http://10.0.0.2:8083",
    "4.4.0",
    "K1",
    (ConnectorReading("src", "running", ID), ConnectorReading("other", "running", "10.0.0.1:8083")),
    (TaskReading("other", 0, "running", "10.0.0.1:8083"),),
)
ALL = {"jmx": 15.0, "rest": 30.0, "logs": 1.0}


def _state(sources: dict[str, float] | None = None, persisted: str | None = None, **more: object) -> WorkerState:
    identity = WorkerIdentity("pay", "w2", sources=ALL if sources is None else sources, **more)  # type: ignore[arg-type]
    return WorkerState(identity, persisted)


def _log(state: WorkerState, *records: object, at_s: float = NOW) -> None:
    state.apply(k.reading(*records), at_s)  # type: ignore[arg-type]
    state.publish_log()


def _jmx_with(protocol: str | None, leader: str | None) -> JmxReading:
    return JmxReading(ID, "4.4.0", protocol, leader)


def test_nothing_is_known_before_the_first_poll() -> None:
    """No claim without an observation."""
    snapshot = _state().snapshot(NOW)
    assert (snapshot.protocol, snapshot.joined, snapshot.verifies, snapshot.log, snapshot.connectors) == (
        None,
        None,
        None,
        None,
        (),
    )
    assert [(s.source, s.up) for s in snapshot.sources] == [("jmx", None), ("rest", None), ("logs", None)]


def test_jmx_shows_the_configured_protocol_before_the_first_join() -> None:
    """Without a leader its protocol means nothing (KAFKA.md §7)."""
    state = _state()
    state.apply(_jmx_with("sessioned", None), NOW)
    snapshot = state.snapshot(NOW)
    assert (snapshot.joined, snapshot.protocol, snapshot.verifies) == (False, None, None)
    state.apply(_jmx_with("compatible", k.LEADER), NOW)
    snapshot = state.snapshot(NOW)
    assert (snapshot.joined, snapshot.protocol, snapshot.verifies, snapshot.leader_url) == (
        True,
        "compatible",
        False,
        k.LEADER,
    )


def test_the_log_alone_tells_protocol_leader_and_identity() -> None:
    """Every answer about signed requests works without JMX."""
    state = _state({"logs": 1.0})
    _log(state, k.started(0), k.joined(1))
    snapshot = state.snapshot(NOW)
    assert (snapshot.protocol, snapshot.verifies, snapshot.is_leader) == ("sessioned", True, False)
    assert (snapshot.worker_id, snapshot.url, snapshot.version, snapshot.group_id) == (ID, k.OWN, "4.4.0", "pay")
    _log(state, k.joined(2, leader=k.OWN))
    assert state.snapshot(NOW).is_leader is True


def test_jmx_wins_over_the_log_while_it_is_up() -> None:
    """And the log speaks again when JMX is silent."""
    state = _state()
    _log(state, k.started(0), k.joined(1))
    state.apply(_jmx_with("compatible", k.OWN), NOW)
    assert (state.snapshot(NOW).protocol, state.snapshot(NOW).is_leader) == ("compatible", True)
    later = NOW + 15 * FRESH_INTERVALS + 1
    _log(state, at_s=later)
    assert (state.snapshot(later).protocol, state.snapshot(later).is_leader) == ("sessioned", False)


def test_readings_are_served_for_two_and_a_half_intervals() -> None:
    """Then they are gone, not stale."""
    state = _state()
    state.apply(JMX, NOW)
    state.apply(REST, NOW)
    assert state.snapshot(NOW + 37).values == JMX.values
    assert state.snapshot(NOW + 38).values == ()
    assert state.snapshot(NOW + 74).connectors == REST.connectors
    assert state.snapshot(NOW + 76).connectors == ()


def test_rest_wins_over_jmx_for_states() -> None:
    """REST sees the whole cluster."""
    state = _state()
    state.apply(JMX, NOW)
    assert (state.snapshot(NOW).connectors, state.snapshot(NOW).whole_cluster) == (JMX.connectors, False)
    state.apply(REST, NOW)
    snapshot = state.snapshot(NOW)
    assert (snapshot.connectors, snapshot.tasks, snapshot.whole_cluster) == (REST.connectors, REST.tasks, True)
    assert snapshot.jmx_tasks == JMX.tasks


@pytest.mark.parametrize(("url", "expected"), [("http://10.0.0.2:8083", ID), ("http://localhost:8083", None)])
def test_rest_alone_guesses_who_answers_only_from_an_address_the_cluster_knows(url: str, expected: str | None) -> None:
    """REST does not say who it is."""
    state = _state({"rest": 30.0})
    state.apply(RestReading(url, "4.4.0", "K1", REST.connectors, REST.tasks), NOW)
    assert state.snapshot(NOW).worker_id == expected


def test_the_log_is_shown_once_it_is_committed_and_caught_up() -> None:
    """A kill must never take back what was served."""
    state = _state()
    state.apply(k.reading(k.joined(1), live=False, caught_up=False), NOW)
    state.publish_log()
    assert state.snapshot(NOW).log is None
    state.apply(k.reading(k.attempt(2)), NOW)
    assert state.snapshot(NOW).log is None
    state.publish_log()
    log = state.snapshot(NOW).log
    assert log is not None
    assert [loop.connector for loop in log.loops] == ["src"]


def test_a_log_that_cannot_be_read_for_long_is_absent() -> None:
    """Loops that nobody can see are no loops."""
    state = _state({"logs": 1.0})
    _log(state, k.joined(1), k.attempt(2))
    state.failed("logs", SourceError("missing", "gone.", "look."), NOW + 10)
    assert state.snapshot(NOW + 100).log is not None
    assert state.snapshot(NOW + 100).joined is None
    assert state.snapshot(NOW + 300).log is None


def test_failures_are_told_once_per_change() -> None:
    """One log line per change, not per poll; reasons are counted."""
    state = _state()
    refused, late = SourceError("refused", "no.", "start it."), SourceError("timeout", "late.", "wait.")
    polls = [refused, refused, late, refused]  # a port that flips between two faults tells each once
    assert [state.failed("jmx", error, NOW + i) for i, error in enumerate(polls)] == [True, False, True, False]
    jmx = state.snapshot(NOW).source("jmx")
    assert jmx is not None
    assert (jmx.up, jmx.errors, jmx.problem, jmx.since_s) == (False, {"refused": 3, "timeout": 1}, "no. start it.", NOW)
    assert state.apply(JMX, NOW + 9) is True
    assert state.apply(JMX, NOW + 10) is False
    jmx = state.snapshot(NOW + 10).source("jmx")
    assert jmx is not None
    assert (jmx.up, jmx.problem, jmx.since_s, jmx.last_success_s) == (True, "", NOW + 9, NOW + 10)


def test_state_goes_on_from_what_was_persisted() -> None:
    """With its loop, its counters and its start; shown when the log is caught up with again."""
    first = _state({"logs": 1.0})
    _log(first, k.started(0), k.joined(1), k.attempt(2), at_s=NOW + 2)
    again = _state({"logs": 1.0}, first.persisted())
    assert again.snapshot(NOW + 3).log is None
    _log(again, k.attempt(4), at_s=NOW + 4)
    log = again.snapshot(NOW + 4).log
    assert log is not None
    (loop,) = log.loops
    assert (loop.attempts, loop.start_s, loop.last_attempt_s) == (2, NOW + 2, NOW + 4)
    assert log.counts["task_reconfiguration_failures"] == {("src", "algorithm_not_permitted"): 2}


@pytest.mark.parametrize("text", ["", "{}", '{"version": 2, "log": {}}', '{"version": 1, "log": {"loops": 3}}'])
def test_a_state_that_cannot_be_read_is_refused(text: str) -> None:
    """Rather a sentence than a wrong count."""
    with pytest.raises(StateError, match="saved state"):
        _state(persisted=text)


def test_a_properties_file_speaks_where_the_log_has_no_dump() -> None:
    """The dump wins: it is what the worker really runs with."""
    config = WorkerConfig(group_id="pay", signature_algorithm="HmacSHA384", source="properties")
    state = _state(properties=config)
    assert state.snapshot(NOW).config == config
    _log(state, k.started(0))
    told = state.snapshot(NOW).config
    assert told is not None
    assert told.signature_algorithm == "HmacSHA512"


def test_a_loop_over_running_tasks_keeps_them_on_their_old_configuration() -> None:
    """Unknown without REST."""

    def keeps(snapshot: WorkerSnapshot) -> list[bool | None]:
        assert snapshot.log is not None
        return [loop.keeps_tasks for loop in snapshot.log.loops]

    state = _state()
    _log(state, k.joined(1, connectors="src, other"), k.attempt(2), k.attempt(2, connector="other"))
    assert keeps(state.snapshot(NOW)) == [None, None]
    state.apply(REST, NOW)
    assert keeps(state.snapshot(NOW)) == [False, True]


def test_a_clock_that_was_set_back_serves_nothing_from_the_future() -> None:
    """An hour back: the reading's age is unknown."""
    state = _state()
    state.apply(JMX, NOW)
    assert state.snapshot(NOW - 3600).values == ()
    assert state.snapshot(NOW - 1).values == JMX.values


def test_states_that_differ_for_more_than_two_polls_are_conflicts() -> None:
    """JMX says running, REST says failed: for a moment at every change, for good after an eager member left."""
    state = _state()
    state.apply(JMX, NOW)
    assert state.snapshot(NOW).state_conflicts is None
    odd = (ConnectorReading("src", "unassigned", "10.0.0.9:8083"), ConnectorReading("other", "running", ID))
    state.apply(RestReading("http://10.0.0.2:8083", None, None, odd, (TaskReading("src", 0, "failed", ID),)), NOW)
    seen = []
    for poll in range(4):
        state.apply(JMX, NOW + poll)
        seen.append(state.snapshot(NOW + poll).state_conflicts)
    assert seen == [0, 0, 2, 2]
    state.apply(RestReading("http://10.0.0.2:8083", None, None, JMX.connectors, JMX.tasks), NOW + 4)
    state.apply(JMX, NOW + 4)
    assert state.snapshot(NOW + 4).state_conflicts == 0

"""On every recorded worker the fold finds what a line-by-line count finds."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from support.recordings import SCENARIOS, counts, log_bytes

from exporter.connect import events, messages
from exporter.connect.log_fold import LogFold
from exporter.connect.readings import LogReading
from exporter.connect.record import Record
from exporter.sources.logs.records import RecordReader


def _records(scenario: str, worker: str) -> tuple[Record, ...]:
    reader = RecordReader()
    return tuple(reader.feed(log_bytes(scenario, worker)) + reader.end())


def _folded(scenario: str, worker: str, piece: int | None = None) -> LogFold:
    records = _records(scenario, worker)
    fold = LogFold()
    for start in range(0, len(records), piece or len(records) or 1):
        batch = records[start : start + (piece or len(records))]
        fold.apply(LogReading(batch, caught_up=False, live=False), 0.0, None, counting=True)
        if piece is not None:
            fold = LogFold.model_validate_json(fold.model_dump_json())
    fold.flush()
    return fold


@pytest.mark.parametrize(("scenario", "worker"), SCENARIOS)
def test_attempts_and_reasons_equal_the_count(scenario: str, worker: str) -> None:
    """One failed attempt is one count, with its reason; where no line c names it, the forward URL does."""
    expected: dict[str, Any] = counts()[scenario][worker]
    failures = _folded(scenario, worker).counts.of("task_reconfiguration_failures")
    attempts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for (connector, reason), count in failures.items():
        attempts[connector] += count
        reasons[reason] += count
    assert reasons == expected["reasons"]
    assert attempts.total() == expected["attempts_total"]
    named = {connector: count for connector, count in expected["attempts"].items() if connector}
    if "" in expected["attempts"]:
        assert set(attempts) == set(named)
        assert all(attempts[connector] >= count for connector, count in named.items())
    else:
        assert attempts == named


@pytest.mark.parametrize(("scenario", "worker"), SCENARIOS)
def test_access_lines_equal_the_count(scenario: str, worker: str) -> None:
    """Request, status, bytes and origin of every internal request."""
    found = Counter(
        f"{event.request} {event.code} {event.body_bytes} {event.origin}"
        for record in _records(scenario, worker)
        for event in [messages.read(record)[0]]
        if isinstance(event, events.InternalRequest)
    )
    assert found == counts()[scenario][worker]["access"]


@pytest.mark.parametrize(("scenario", "worker"), SCENARIOS)
def test_protocol_keys_and_configurations_equal_the_count(scenario: str, worker: str) -> None:
    """Downgrades and re-enablings in their order, session keys, written task configurations."""
    kinds = {
        events.VerificationDisabled: "disabled",
        events.ProtocolDowngraded: "downgraded",
        events.VerificationReenabled: "reenabled",
    }
    seen = [event for record in _records(scenario, worker) for event in [messages.read(record)[0]] if event is not None]
    expected = counts()[scenario][worker]
    assert [kinds[type(event)] for event in seen if type(event) in kinds] == expected["protocol"]
    assert sum(isinstance(event, events.SessionKeyUpdated) for event in seen) == expected["session_key_updates"]
    assert sum(isinstance(event, events.TasksConfigured) for event in seen) == expected["tasks_configs_updated"]


@pytest.mark.parametrize("scenario", ["2.8.2/s1", "3.9.2/s2", "4.4.0/s7r2"])
def test_a_kill_between_any_batches_changes_nothing(scenario: str) -> None:
    """The fold goes on from its JSON as if it had never stopped."""
    whole, pieces = _folded(scenario, "w2"), _folded(scenario, "w2", piece=37)
    assert pieces == whole


def test_the_mismatch_of_the_recordings_is_named() -> None:
    """Follower's algorithm, leader and the leader's list, in every version."""
    for scenario, leader in (("2.8.2/s1", "29083"), ("3.9.2/s1", "8083"), ("4.4.0/s1", "28083")):
        mismatch = _folded(scenario, "w2").mismatch
        assert mismatch is not None
        assert (mismatch.leader_url, mismatch.algorithm, mismatch.permitted) == (
            f"http://127.0.0.1:{leader}/",
            "HmacSHA512",
            ("HmacSHA256",),
        )


def test_the_repair_of_the_recordings_ends_loop_and_mismatch() -> None:
    """Remedy 1: the follower was corrected. Remedy 2: the follower became leader and wrote itself."""
    for scenario in ("3.9.2/s7r1", "4.4.0/s7r1", "4.4.0/s7r2"):
        fold = _folded(scenario, "w2")
        assert fold.loops.active == {}
        assert fold.mismatch is None

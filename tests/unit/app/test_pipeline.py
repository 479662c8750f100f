"""One worker's way from poll to page: committed before shown, one log line per change."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support import kafka_log as k

from exporter.connect.readings import JmxReading, LogReading, RestReading
from exporter.connect.worker_state import WorkerIdentity
from exporter.errors import SourceError, StateError
from exporter.pipeline import Pipeline
from exporter.sources.source import SourceKind
from exporter.store import SavedLog, StateFile

Answer = JmxReading | RestReading | LogReading | SourceError
NOW = 1_800_000_000.0


class _Source:
    """Hands out prepared answers, the last one for ever."""

    def __init__(self, kind: SourceKind, *answers: Answer) -> None:
        self.kind: SourceKind = kind
        self.answers = list(answers)
        self.handed_out = 0
        self.closed = False

    def poll(self, deadline_s: float) -> JmxReading | RestReading | LogReading:
        assert deadline_s == 10
        answer = self.answers[min(self.handed_out, len(self.answers) - 1)]
        self.handed_out += 1
        if isinstance(answer, SourceError):
            raise answer
        return answer

    def positions(self) -> str:
        return f"read {self.handed_out}"

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def store(tmp_path: Path) -> Iterator[StateFile]:
    """An empty state."""
    made = StateFile(tmp_path)
    yield made
    made.close()


def _pipeline(
    log: _Source | None = None,
    jmx: _Source | None = None,
    store: StateFile | None = None,
    saved: SavedLog | None = None,
) -> Pipeline:
    sources = {name: 1.0 for name, source in (("jmx", jmx), ("logs", log)) if source is not None}
    identity = WorkerIdentity("pay", "w2", sources=sources, count_history=store is not None)
    return Pipeline(
        identity,
        {"jmx": jmx} if jmx is not None else {},
        timeout_s=10,
        store=store,
        saved=saved,
        log_source=log,
        clock=lambda: NOW,
    )


def _attempts(pipeline: Pipeline) -> int | None:
    log = pipeline.snapshot(NOW).log
    return None if log is None else sum(log.counts.get("task_reconfiguration_failures", {}).values())


def test_positions_and_state_are_committed_together_and_resumed(store: StateFile) -> None:
    """A new pipeline goes on with the counters where the old one committed."""
    first = _pipeline(_Source("logs", k.reading(k.joined(1), k.attempt(2))), store=store)
    first.poll("logs")
    assert _attempts(first) == 1
    saved = store.load("pay", "w2")
    assert saved is not None
    assert saved.positions == "read 1"
    second = _pipeline(_Source("logs", k.reading(k.attempt(3))), store=store, saved=saved)
    assert _attempts(second) is None
    second.poll("logs")
    assert _attempts(second) == 2


def test_what_cannot_be_committed_is_not_shown(
    store: StateFile, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A full disk: the page stands still, says so once, and goes on when there is room."""
    caplog.set_level(logging.INFO)
    log = _Source("logs", k.reading(k.attempt(1)), k.reading(k.attempt(2)), k.reading(k.attempt(3)), k.reading())
    pipeline = _pipeline(log, store=store)
    pipeline.poll("logs")

    def full(*_: object) -> None:
        raise StateError("no room.", "free some.")

    with monkeypatch.context() as patched:
        patched.setattr(store, "commit", full)
        pipeline.poll("logs")
        pipeline.poll("logs")
    assert (_attempts(pipeline), pipeline.commit_failures) == (1, 2)
    assert caplog.text.count("no room. free some.") == 1
    pipeline.poll("logs")
    assert _attempts(pipeline) == 3
    assert "committed again" in caplog.text


def test_without_a_state_directory_history_feeds_loops_and_not_counters() -> None:
    """Counting starts at the file's end."""
    log = _Source("logs", k.reading(k.joined(1), k.attempt(2), live=False), k.reading(k.attempt(3)))
    pipeline = _pipeline(log)
    pipeline.poll("logs")
    shown = pipeline.snapshot(NOW).log
    assert shown is not None
    assert ([loop.attempts for loop in shown.loops], _attempts(pipeline)) == ([1], 0)
    pipeline.poll("logs")
    assert _attempts(pipeline) == 1


def test_a_change_is_logged_once_and_other_sources_go_on(caplog: pytest.LogCaptureFixture) -> None:
    """Down, still down, up again: two lines."""
    caplog.set_level(logging.INFO)
    error = SourceError("refused", "JMX is closed.", "open it.")
    jmx = _Source("jmx", error, error, JmxReading("a:1", None, "sessioned", None))
    pipeline = _pipeline(_Source("logs", k.reading(k.joined(1))), jmx)
    assert pipeline.kinds == ("jmx", "logs")
    pipeline.poll("logs")
    for _ in range(4):
        assert pipeline.poll("jmx") is False
    lines = [record.getMessage() for record in caplog.records]
    assert lines == ["pay/w2: logs is up", "pay/w2: jmx is down: JMX is closed. open it.", "pay/w2: jmx is up"]
    assert [(s.source, s.up) for s in pipeline.snapshot(NOW).sources] == [("jmx", True), ("logs", True)]


def test_sources_are_closed() -> None:
    """All of them."""
    log, jmx = _Source("logs", k.reading()), _Source("jmx", JmxReading(None, None, None, None))
    _pipeline(log, jmx).close()
    assert log.closed
    assert jmx.closed


def test_a_file_that_cannot_be_read_beside_another_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """The others' records are folded; the source is down, said once, until all can be read."""
    caplog.set_level(logging.INFO)
    error = SourceError("permission", "b.log may not be read.", "allow it.")
    partly = [replace(k.reading(k.attempt(i)), error=error) for i in (1, 2)]
    pipeline = _pipeline(_Source("logs", k.reading(k.joined(0)), *partly, k.reading(k.attempt(3))))
    for _ in range(3):
        pipeline.poll("logs")
    snapshot = pipeline.snapshot(NOW)
    source = snapshot.source("logs")
    assert source is not None
    assert (source.up, source.errors, _attempts(pipeline), snapshot.joined) == (False, {"permission": 2}, 2, True)
    pipeline.poll("logs")
    assert [r.getMessage() for r in caplog.records][1:] == [
        "pay/w2: logs is down: b.log may not be read. allow it.",
        "pay/w2: logs is up",
    ]

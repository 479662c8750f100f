"""The scheduler: each job at its interval, none beside itself, none held up by another."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from exporter.poller import Job, Poller

WITHIN_S = 20.0


@pytest.fixture
def poller() -> Iterator[Poller]:
    """A running poller with two pools."""
    made = Poller({"slow": 1, "quick": 1})
    made.start()
    yield made
    made.stop()


class _Counted:
    """A job's work: counts, and lets the test wait for a count."""

    def __init__(self, again_until: int = 0) -> None:
        self.runs = 0
        self._again_until = again_until
        self._changed = threading.Condition()

    def __call__(self) -> bool:
        with self._changed:
            self.runs += 1
            self._changed.notify_all()
        return self.runs < self._again_until

    def reached(self, runs: int) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self.runs >= runs, WITHIN_S)


def test_a_job_runs_again_at_its_interval(poller: Poller) -> None:
    """From one start to the next."""
    work = _Counted()
    poller.add(Job("quick", 0.01, work))
    assert work.reached(5)


def test_a_job_that_has_more_to_do_runs_again_at_once(poller: Poller) -> None:
    """A large log is not read in steps of its interval."""
    work = _Counted(again_until=50)
    poller.add(Job("quick", 3600, work))
    assert work.reached(50)


def test_a_job_that_hangs_holds_up_only_its_pool(poller: Poller) -> None:
    """JMX that hangs never delays a log."""
    release, started = threading.Event(), threading.Event()

    def hang() -> bool:
        started.set()
        release.wait(WITHIN_S)
        return False

    poller.add(Job("slow", 0.01, hang))
    assert started.wait(WITHIN_S)
    work = _Counted()
    poller.add(Job("quick", 0.01, work))
    assert work.reached(3)
    release.set()


def test_an_error_of_the_program_does_not_end_the_polling(poller: Poller, caplog: pytest.LogCaptureFixture) -> None:
    """It is logged, and the job goes on."""
    count = _Counted()

    def fail() -> bool:
        count()
        raise RuntimeError("a defect")

    poller.add(Job("quick", 0.01, fail))
    assert count.reached(3)
    assert "it goes on" in caplog.text


def test_a_removed_job_runs_no_more(poller: Poller) -> None:
    """And `remove` waits for the run under way."""
    release, started, ended = threading.Event(), threading.Event(), threading.Event()

    def once() -> bool:
        started.set()
        release.wait(WITHIN_S)
        ended.set()
        return True

    job = Job("quick", 0.01, once)
    poller.add(job)
    assert started.wait(WITHIN_S)
    assert poller.remove(job, 0.01) is False
    release.set()
    assert poller.remove(job, WITHIN_S) is True
    assert ended.is_set()
    after = _Counted()
    poller.add(Job("quick", 0.01, after))
    assert after.reached(3)


def test_a_poller_that_never_started_can_be_stopped() -> None:
    """An exporter whose configuration is refused stops before it started."""
    Poller({"quick": 1}).stop()

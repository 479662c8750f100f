"""When each source is polled: one scheduler, a bounded pool per kind of source, no poll beside itself."""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

log = logging.getLogger(__name__)

_WAIT_S_MAX = 3600.0
"""Longer waits are cut up; the operating system's own limit is far above."""


@dataclass(eq=False)
class Job:
    """Something to do again and again.

    Attributes:
        pool: name of the pool it runs in: a kind of source that hangs holds up only its own.
        interval_s: from one start to the next.
        run: does it once; True asks to be run again at once.
    """

    pool: str
    interval_s: float
    run: Callable[[], bool]
    cancelled: threading.Event = field(default_factory=threading.Event)
    idle: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        """A job that has not been started is idle."""
        self.idle.set()


class Poller:
    """Runs jobs until stopped."""

    def __init__(self, pools: Mapping[str, int], clock: Callable[[], float] = time.monotonic) -> None:
        """`pools` maps a pool's name to its number of threads."""
        self._pools = {
            name: ThreadPoolExecutor(max_workers=size, thread_name_prefix=f"poll-{name}")
            for name, size in pools.items()
        }
        self._clock = clock
        self._due: list[tuple[float, int, Job]] = []
        self._tie = itertools.count()
        self._wake = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._loop, name="poller", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def add(self, job: Job, delay_s: float = 0.0) -> None:
        """Run the job from `delay_s` on."""
        with self._wake:
            heapq.heappush(self._due, (self._clock() + delay_s, next(self._tie), job))
            self._wake.notify()

    def remove(self, job: Job, timeout_s: float) -> bool:
        """Take the job out and wait until it does not run any more.

        Returns:
            Whether it ended within `timeout_s`.
        """
        job.cancelled.set()
        return job.idle.wait(timeout_s)

    def stop(self) -> None:
        """Start nothing more; what runs ends by its own deadline."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        if self._thread.is_alive():
            self._thread.join()
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)

    def _loop(self) -> None:
        while True:
            with self._wake:
                if self._stopping:
                    return
                wait_s = self._due[0][0] - self._clock() if self._due else None
                if wait_s is None or wait_s > 0:
                    self._wake.wait(None if wait_s is None else min(wait_s, _WAIT_S_MAX))
                    continue
                due_s, _, job = heapq.heappop(self._due)
                if job.cancelled.is_set():
                    continue
                job.idle.clear()
                self._pools[job.pool].submit(self._run, job, due_s)

    def _run(self, job: Job, due_s: float) -> None:
        again = False
        try:
            if not job.cancelled.is_set():
                again = job.run()
        except Exception:
            # A job's own errors are its business; one that escapes must not end its polling.
            log.exception("a poll ended with an error of the program; it goes on")
        finally:
            job.idle.set()
            if not job.cancelled.is_set():
                now_s = self._clock()
                next_s = now_s if again else max(due_s + job.interval_s, now_s)
                with self._wake:
                    heapq.heappush(self._due, (next_s, next(self._tie), job))
                    self._wake.notify()

"""One worker's way from its sources to its snapshot: poll, fold, commit, publish."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Protocol

from exporter.connect.readings import LogReading
from exporter.connect.snapshot import WorkerSnapshot
from exporter.connect.worker_state import WorkerIdentity, WorkerState
from exporter.errors import SourceError, StateError
from exporter.sources.source import Source
from exporter.store import SavedLog, StateFile

log = logging.getLogger(__name__)


class PositionedSource(Source, Protocol):
    """A log source: it can say how far it has read."""

    def positions(self) -> str:
        """What to give to a new source so that it continues after the last record handed out."""
        ...


class Pipeline:
    """Polls the sources of one worker and keeps its state."""

    def __init__(
        self,
        identity: WorkerIdentity,
        sources: Mapping[str, Source],
        *,
        timeout_s: float,
        store: StateFile | None = None,
        saved: SavedLog | None = None,
        log_source: PositionedSource | None = None,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin where `saved` ended.

        Args:
            identity: who the worker is and which sources it has.
            sources: jmx and rest, as far as configured.
            timeout_s: of one poll.
            store: where to commit; without it nothing is kept.
            saved: what was committed last.
            log_source: the log, if configured.
            clock: seconds since the epoch.
            monotonic: for durations.

        Raises:
            StateError: `saved` cannot be used.
        """
        self.identity = identity
        self._sources = dict(sources)
        self._log_source = log_source
        self._timeout_s = timeout_s
        self._store = store
        self._saved = saved
        self._clock = clock
        self._monotonic = monotonic
        self._state = WorkerState(identity, saved.state if saved is not None else None)
        self._mutex = threading.Lock()
        self._commit_failing = False
        self.commit_failures = 0

    @property
    def kinds(self) -> tuple[str, ...]:
        """The configured kinds of sources."""
        return (*self._sources, *(("logs",) if self._log_source is not None else ()))

    def snapshot(self, at_s: float) -> WorkerSnapshot:
        """What is known at `at_s`; never waits for a poll."""
        return self._state.snapshot(at_s)

    def poll(self, kind: str) -> bool:
        """Poll one source once.

        Returns:
            Whether there is more to read at once.
        """
        source = self._log_source if kind == "logs" else self._sources[kind]
        if source is None:
            raise KeyError(kind)
        began = self._monotonic()
        try:
            reading = source.poll(self._timeout_s)
        except SourceError as error:
            self._failed(kind, error, self._monotonic() - began)
            return False
        duration_s = self._monotonic() - began
        with self._mutex:
            recovered = self._state.apply(reading, self._clock(), duration_s)
        if recovered:
            log.info("%s: %s is up", self._title, kind)
        if not isinstance(reading, LogReading):
            return False
        if reading.error is not None:
            self._failed(kind, reading.error, duration_s)
        self._commit()
        return bool(reading.records) and reading.stats.unread_bytes > 0

    def _failed(self, kind: str, error: SourceError, duration_s: float) -> None:
        """Note it; one line per change, not per poll."""
        with self._mutex:
            changed = self._state.failed(kind, error, self._clock(), duration_s)
        if changed:
            log.warning("%s: %s is down: %s", self._title, kind, error)

    def close(self) -> None:
        """Close the sources."""
        for source in self._sources.values():
            source.close()
        if self._log_source is not None:
            self._log_source.close()

    @property
    def _title(self) -> str:
        return f"{self.identity.cluster}/{self.identity.worker}"

    def _commit(self) -> None:
        """Commit, then publish: what a scrape sees is never taken back by a kill."""
        if self._store is None or self._log_source is None:
            self._state.publish_log()
            return
        saved = SavedLog(self._log_source.positions(), self._state.persisted())
        if saved != self._saved:
            try:
                self._store.commit(self.identity.cluster, self.identity.worker, saved)
            except StateError as error:
                self.commit_failures += 1
                if not self._commit_failing:
                    log.error("%s: %s", self._title, error)  # noqa: TRY400 - expected; the trace tells nothing
                self._commit_failing = True
                return
            self._saved = saved
        if self._commit_failing:
            log.info("%s: the state is committed again", self._title)
        self._commit_failing = False
        self._state.publish_log()

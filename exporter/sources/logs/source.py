"""The log of one worker as a source: files and globs, positions, and when reading has caught up."""

from __future__ import annotations

import glob
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path

from exporter.connect.readings import LogReading, TailStats
from exporter.connect.record import Record
from exporter.errors import SourceError, StateError
from exporter.sources.logs.family import is_rotated, members
from exporter.sources.logs.position import Position
from exporter.sources.logs.tail import Tail
from exporter.sources.source import SourceKind

BATCH_BYTES = 4 * 2**20
QUIET_S = 1.0
"""A record is complete once its file has not grown for so long: traces come in one write."""

MISSING_GRACE_S = 5.0
"""A path may be missing for a moment while it is rotated."""

LIVE_GAP_S = 30.0
"""If the end was seen longer ago, the time of reading is not the time of writing."""

_POSITIONS_VERSION = 1


@dataclass(slots=True)
class _Followed:
    """One file being followed. Times are seconds since the epoch.

    Attributes:
        grown_at_s: when bytes came last.
        end_seen_at_s: when there was nothing more to read last; what comes in the next batch is younger.
        missing_since_s: since when its path is gone.
        error: why it could not be read last time.
    """

    tail: Tail
    grown_at_s: float
    end_seen_at_s: float | None
    missing_since_s: float | None = None
    error: SourceError | None = None


class LogSource:
    """Reads all files of one worker; see `Source`."""

    kind: SourceKind = "logs"

    def __init__(
        self,
        paths: Sequence[str],
        *,
        positions: str | None = None,
        first_read_limit_bytes: int = 256 * 2**20,
        history: bool = True,
        clock: Callable[[], float] = time.time,
        quiet_s: float = QUIET_S,
        batch_bytes: int = BATCH_BYTES,
    ) -> None:
        """Nothing is opened yet.

        Args:
            paths: files and globs.
            positions: what `positions()` of an earlier source said; reading goes on there.
            first_read_limit_bytes: per file with its rotated predecessors, where there is no position.
            history: False begins at the end of files that are there at first and have no position.
            clock: seconds since the epoch.
            quiet_s: see `QUIET_S`.
            batch_bytes: read by one poll, about.

        Raises:
            StateError: `positions` cannot be used.
        """
        self._paths = tuple(paths)
        self._first_read_limit_bytes = first_read_limit_bytes
        self._history = history
        self._clock = clock
        self._quiet_s = quiet_s
        self._batch_bytes = batch_bytes
        self._saved = _parse(positions)
        self._followed: dict[str, _Followed] = {}
        self._rotation_bases = set(self._saved)
        self._ended = TailStats()
        self._caught_up = False
        self._began_at_s: float | None = None
        self._polled_at_s: float | None = None

    def poll(self, deadline_s: float) -> LogReading:  # noqa: ARG002 - a batch is short
        """Read the next batch.

        Raises:
            SourceError: no file could be read. One that cannot be read beside others that can is told in the reading.
        """
        now_s = self._clock()
        records: list[Record] = []
        live = True
        left_bytes = self._batch_bytes
        names = self._expand()
        for name in names:
            file = self._file(name, now_s)
            live_from_here = file.tail.caught_up and file.end_seen_at_s is not None
            live_from_here = live_from_here and now_s - (file.end_seen_at_s or 0.0) < LIVE_GAP_S
            before = file.tail.bytes_read
            found = self._read(file, max(1, left_bytes), now_s)
            left_bytes -= file.tail.bytes_read - before
            records += found
            live = live and (live_from_here or not found)
        errors = [file.error for file in self._followed.values() if file.error is not None]
        self._forget(now_s)
        self._polled_at_s = now_s
        if not names:
            raise SourceError(
                "missing", f"No file matches {', '.join(self._paths)}.", "Correct the pattern, or start the worker."
            )
        if len(errors) == len(names) and not records:
            raise errors[0]
        live = live and self._caught_up
        # A file that cannot be read holds up only itself: what it has will not be live when it can be.
        self._caught_up = self._caught_up or all(
            file.tail.caught_up or file.error is not None for file in self._followed.values()
        )
        held = any(file.tail.holds_back for file in self._followed.values())
        return LogReading(tuple(records), self._caught_up, live, self._stats(), errors[0] if errors else None, held)

    def positions(self) -> str:
        """How far the files are handed out, as JSON."""
        files = {name: p.to_json() for name, p in self._saved.items()}
        for name, file in self._followed.items():
            position = file.tail.position
            if position is not None:
                files[name] = position.to_json()
        return json.dumps({"version": _POSITIONS_VERSION, "files": files}, sort_keys=True)

    def close(self) -> None:
        """Close the files."""
        for file in self._followed.values():
            file.tail.close()

    def _expand(self) -> list[str]:
        """Files to read: the plain paths, what the patterns match now, and what they matched before."""
        names: dict[str, None] = {}
        for pattern in self._paths:
            if glob.has_magic(pattern):
                matched = sorted(glob.glob(pattern))  # noqa: PTH207 - patterns may be absolute
                # A rotated predecessor is read through its file, not for itself.
                self._rotation_bases |= set(matched)
                rotated = {m for m in matched for base in self._rotation_bases if is_rotated(m, base)}
                self._rotation_bases -= rotated
                names |= dict.fromkeys(m for m in matched if m not in rotated)
            else:
                names[pattern] = None
        return list(names | dict.fromkeys(self._followed))

    def _file(self, name: str, now_s: float) -> _Followed:
        if name not in self._followed:
            appeared = self._polled_at_s is not None  # no pattern matched it a moment ago
            limit_bytes = self._first_read_limit_bytes if self._history or appeared else None
            tail = Tail(Path(name), self._saved.pop(name, None), limit_bytes, appeared=appeared)
            self._followed[name] = _Followed(tail, now_s, self._polled_at_s if appeared else None)
        return self._followed[name]

    def _read(self, file: _Followed, budget_bytes: int, now_s: float) -> list[Record]:
        """Read one file and note what that tells: whether it grew, ended, is gone or cannot be read."""
        tail = file.tail
        before = tail.bytes_read
        try:
            records = tail.read(budget_bytes)
        except SourceError as error:
            file.error = error
            if error.reason == "missing":
                file.end_seen_at_s = now_s  # nothing there: all that comes is new
            return []
        if tail.bytes_read != before:
            file.grown_at_s = now_s
        if tail.at_end:
            file.end_seen_at_s = now_s
            if now_s - file.grown_at_s >= self._quiet_s:
                records += tail.flush()
        file.missing_since_s = (file.missing_since_s or now_s) if tail.path_missing else None
        # Longer than a rotation takes?
        gone = file.missing_since_s is not None and now_s - file.missing_since_s >= MISSING_GRACE_S
        file.error = tail.missing() if gone else None
        if gone:
            records += tail.end()
        return records

    def _forget(self, now_s: float) -> None:
        """Let go a pattern's files that are gone and read to their end.

        Their positions stay while a rotated predecessor does: it must not be taken for a file of its own.
        """
        for name, file in list(self._followed.items()):
            if file.error is not None and file.error.reason == "missing" and name not in self._paths:
                position = file.tail.position
                if position is not None:
                    self._saved[name] = position
                file.tail.close()
                self._ended = _sum([self._ended, _stats_of(file.tail)])
                del self._followed[name]
        if self._began_at_s is None:
            self._began_at_s = now_s
        if now_s - self._began_at_s >= MISSING_GRACE_S:
            for name in [n for n in self._saved if not os.path.lexists(n) and not members(Path(n))]:
                del self._saved[name]
                self._rotation_bases.discard(name)

    def _stats(self) -> TailStats:
        stats = _sum([self._ended, *(_stats_of(file.tail) for file in self._followed.values())])
        return replace(stats, unread_bytes=sum(file.tail.unread_bytes() for file in self._followed.values()))


def _stats_of(tail: Tail) -> TailStats:
    """The totals of one file, without what is unread."""
    return TailStats(
        bytes_read=tail.bytes_read,
        bytes_lost=tail.bytes_lost,
        records_unparsed=tail.lines_unparsed,
        rotations=tail.rotations,
        truncations=tail.truncations,
    )


def _sum(parts: Sequence[TailStats]) -> TailStats:
    return TailStats(*(sum(column) for column in zip(*map(astuple, parts), strict=True)))


def _parse(positions: str | None) -> dict[str, Position]:
    if positions is None:
        return {}
    try:
        document = json.loads(positions)
        if document["version"] != _POSITIONS_VERSION:
            raise StateError("The saved log positions are of another version.", "Move the state directory away.")
        return {name: Position.from_json(fields) for name, fields in document["files"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StateError("The saved log positions are damaged.", "Move the state directory away.") from error

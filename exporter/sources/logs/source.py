"""The log of one worker as a source: files and globs, positions, and when reading has caught up."""

from __future__ import annotations

import glob
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from exporter.connect.readings import LogReading, TailStats
from exporter.connect.record import Record
from exporter.errors import SourceError, StateError
from exporter.sources.logs.tail import Position, Tail
from exporter.sources.source import SourceKind

BATCH_BYTES = 4 * 2**20
QUIET_S = 1.0
"""A record is complete once its file has not grown for so long: traces come in one write."""

MISSING_GRACE_S = 5.0
"""A path may be missing for a moment while it is rotated."""

LIVE_GAP_S = 30.0
"""After a longer pause between polls the time of reading is not the time of writing."""

_POSITIONS_VERSION = 1


class LogSource:
    """Reads all files of one worker; see `Source`."""

    kind: SourceKind = "logs"

    def __init__(
        self,
        paths: Sequence[str],
        *,
        positions: str | None = None,
        first_read_limit_bytes: int = 256 * 2**20,
        clock: Callable[[], float] = time.time,
        quiet_s: float = QUIET_S,
        batch_bytes: int = BATCH_BYTES,
    ) -> None:
        """Nothing is opened yet.

        Args:
            paths: files and globs.
            positions: what `positions()` of an earlier source said; reading goes on there.
            first_read_limit_bytes: per file with its rotated predecessors, where there is no position.
            clock: seconds since the epoch.
            quiet_s: see `QUIET_S`.
            batch_bytes: read by one poll, about.

        Raises:
            StateError: `positions` cannot be used.
        """
        self._paths = tuple(paths)
        self._first_read_limit_bytes = first_read_limit_bytes
        self._clock = clock
        self._quiet_s = quiet_s
        self._batch_bytes = batch_bytes
        self._saved = _parse(positions)
        self._tails: dict[str, Tail] = {}
        self._grown_at_s: dict[str, float] = {}
        self._missing_since_s: dict[str, float] = {}
        self._followed: set[str] = set()
        self._caught_up = False
        self._polled_at_s: float | None = None

    def poll(self, deadline_s: float) -> LogReading:  # noqa: ARG002 - a batch is short
        """Read the next batch.

        Raises:
            SourceError: no file could be read.
        """
        now_s = self._clock()
        live = self._caught_up and self._polled_at_s is not None and now_s - self._polled_at_s < LIVE_GAP_S
        self._polled_at_s = now_s
        records: list[Record] = []
        errors: list[SourceError] = []
        readable = 0
        left_bytes = self._batch_bytes
        for name in self._expand():
            tail = self._tail(name, now_s)
            before = tail.bytes_read
            try:
                records += tail.read(max(1, left_bytes))
            except SourceError as error:
                errors.append(error)
                continue
            left_bytes -= tail.bytes_read - before
            if tail.bytes_read != before:
                self._grown_at_s[name] = now_s
            if tail.at_end and now_s - self._grown_at_s[name] >= self._quiet_s:
                records += tail.flush()
            if self._gone(name, tail, now_s):
                errors.append(tail.missing())
            else:
                readable += 1
        if errors and not readable and not records:
            raise errors[0]
        if not self._tails:
            raise SourceError(
                "missing", f"No file matches {', '.join(self._paths)}.", "Correct the pattern, or start the worker."
            )
        self._caught_up = self._caught_up or all(tail.caught_up for tail in self._tails.values())
        return LogReading(tuple(records), self._caught_up, live, self._stats())

    def positions(self) -> str:
        """How far the files are handed out, as JSON."""
        files = {name: p.to_json() for name, p in self._saved.items()}
        for name, tail in self._tails.items():
            position = tail.position
            if position is not None:
                files[name] = position.to_json()
        return json.dumps({"version": _POSITIONS_VERSION, "files": files}, sort_keys=True)

    def close(self) -> None:
        """Close the files."""
        for tail in self._tails.values():
            tail.close()

    def _tail(self, name: str, now_s: float) -> Tail:
        if name not in self._tails:
            self._tails[name] = Tail(Path(name), self._saved.pop(name, None), self._first_read_limit_bytes)
            self._grown_at_s[name] = now_s
        return self._tails[name]

    def _expand(self) -> list[str]:
        """Files to read: the plain paths, what the patterns match now, and what they matched before."""
        names: dict[str, None] = {}
        for pattern in self._paths:
            if glob.has_magic(pattern):
                matched = sorted(glob.glob(pattern))  # noqa: PTH207 - patterns may be absolute
                # A rotated predecessor is read through its file, not for itself.
                self._followed |= set(matched)
                rotated = {m for m in matched for base in self._followed if m.startswith((f"{base}.", f"{base}-"))}
                self._followed -= rotated
                names |= dict.fromkeys(m for m in matched if m not in rotated)
            else:
                names[pattern] = None
        return list(names | dict.fromkeys(self._tails))

    def _gone(self, name: str, tail: Tail, now_s: float) -> bool:
        """Whether the path has been missing for longer than a rotation takes."""
        if not tail.path_missing:
            self._missing_since_s.pop(name, None)
            return False
        gone = now_s - self._missing_since_s.setdefault(name, now_s) >= MISSING_GRACE_S
        if gone and name not in self._paths:
            tail.close()  # a pattern's file that went: it was read to its end
            del self._tails[name]
        return gone

    def _stats(self) -> TailStats:
        tails = self._tails.values()
        return TailStats(
            bytes_read=sum(t.bytes_read for t in tails),
            bytes_lost=sum(t.bytes_lost for t in tails),
            records_unparsed=sum(t.lines_unparsed for t in tails),
            rotations=sum(t.rotations for t in tails),
            truncations=sum(t.truncations for t in tails),
            unread_bytes=sum(t.unread_bytes() for t in tails),
        )


def _parse(positions: str | None) -> dict[str, Position]:
    if positions is None:
        return {}
    try:
        document = json.loads(positions)
        if document["version"] != _POSITIONS_VERSION:
            raise StateError("The saved log positions are of another version.", "Move the state directory away.")
        return {name: Position(**fields) for name, fields in document["files"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StateError("The saved log positions are damaged.", "Move the state directory away.") from error

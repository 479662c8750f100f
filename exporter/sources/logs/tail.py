"""Follows one log file through rotation, truncation, deletion and restarts of the exporter.

Polling only, so that network file systems work. The state machine: read the open file to its end; at the end look at
what the path is now. Another file: the open one was renamed, read the ones between and then the new one. The same
file, shorter or with another beginning: it was cut; read the rest from its copy if there is one, then the file from its
start.
"""

from __future__ import annotations

import errno
import logging
import os
from dataclasses import dataclass
from pathlib import Path

from exporter.connect.record import Record
from exporter.errors import SourceError
from exporter.sources.logs.family import Member, index_of, members, with_inode
from exporter.sources.logs.position import Position, beginning, fingerprint, tells
from exporter.sources.logs.records import RecordReader

PIECE_BYTES = 2**20
"""Bytes read at once."""

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Open:
    """The file being read. `read` is the offset of the next byte to read; `told`: see `tells`."""

    fd: int
    dev: int
    ino: int
    read: int
    fingerprint_bytes: int
    fingerprint: str
    told: bool
    mtime_ns: int

    def is_like(self, first: bytes) -> bool:
        """Whether a file that begins so may be this one."""
        return fingerprint(first[: self.fingerprint_bytes]) == self.fingerprint


class Tail:
    """Reads one path from its predecessors on, or from where a position says."""

    def __init__(
        self, path: Path, position: Position | None, first_read_limit_bytes: int | None, *, appeared: bool = False
    ) -> None:
        """Nothing is opened yet.

        Args:
            path: the file that is written to.
            position: where reading ended last; None begins with rotated predecessors.
            first_read_limit_bytes: how much of predecessors and file is read at first, the newest part; None begins
                at the end of a file that is there at the first look.
            appeared: the path was not there a moment ago: all that it holds is new.
        """
        self.path = path
        self._resume = position
        self._first_read_limit_bytes = first_read_limit_bytes
        self._open: _Open | None = None
        self._reader = RecordReader()
        self._lines_unparsed = 0
        self._bytes_lost = 0
        self.bytes_read = 0
        self.rotations = 0
        self.truncations = 0
        self.at_end = False
        self.path_missing = False
        self._first_end_bytes: int | None = 0 if appeared else None

    @property
    def holds_back(self) -> bool:
        """A record was begun and is not handed out yet."""
        return self._reader.held_bytes > 0

    @property
    def caught_up(self) -> bool:
        """Everything that was there when reading first reached the end is handed out."""
        # A line without end does not count: a worker that died in the middle of one never ends it.
        handed_out = self.bytes_read - self._reader.record_bytes
        return self._first_end_bytes is not None and handed_out >= self._first_end_bytes

    @property
    def lines_unparsed(self) -> int:
        """Lines that belong to no record, so far."""
        return self._lines_unparsed + self._reader.lines_unparsed

    @property
    def bytes_lost(self) -> int:
        """Bytes that were dropped, so far."""
        return self._bytes_lost + self._reader.bytes_lost

    @property
    def position(self) -> Position | None:
        """Where a new `Tail` goes on after the last record handed out."""
        current = self._open
        if current is None:
            return self._resume
        offset = current.read - self._reader.held_bytes
        length, print_ = (current.fingerprint_bytes, current.fingerprint) if current.told else (0, "")
        return Position(current.dev, current.ino, length, print_, offset, current.mtime_ns)

    def unread_bytes(self) -> int:
        """Bytes on disk that were not read yet, as far as can be seen."""
        current = self._open
        chain = members(self.path)
        if current is None:
            return sum(m.size_bytes for m in chain)
        try:
            own_bytes = max(0, os.fstat(current.fd).st_size - current.read)
        except OSError:
            own_bytes = 0
        return own_bytes + sum(m.size_bytes for m in self._after(current, chain))

    def read(self, budget_bytes: int) -> list[Record]:
        """Read up to about `budget_bytes`.

        Afterwards `at_end` tells whether that was all there is, and `path_missing` whether the path is gone while its
        file is still open.

        Raises:
            SourceError: the path cannot be opened (missing, unreadable); what was open stays open.
        """
        records: list[Record] = []
        self.at_end = self.path_missing = False
        try:
            while budget_bytes > 0 and not self.at_end:
                budget_bytes -= self._step(budget_bytes, records)
        except (SourceError, OSError) as error:
            if not records:
                if isinstance(error, OSError):
                    raise self._unreadable(error) from error
                raise
            # What was read is not lost; the error comes again at the next reading.
        return records

    def flush(self) -> list[Record]:
        """The last record, if the file has not grown for so long that nothing more belongs to it."""
        return self._reader.flush()

    def end(self) -> list[Record]:
        """The last record and a line without end, if the file is gone."""
        return self._reader.end()

    def close(self) -> None:
        """Close the file."""
        if self._open is not None:
            os.close(self._open.fd)
            self._open = None

    def missing(self) -> SourceError:
        """The error that the path does not exist."""
        return SourceError(
            "missing",
            f"The log file {self.path} does not exist.",
            "Correct the path, or start the worker; the exporter goes on looking.",
        )

    # One step of reading

    def _step(self, budget_bytes: int, records: list[Record]) -> int:
        """Open, read a piece, or go on to the next file; the number of bytes read."""
        current = self._open
        if current is None:
            self._begin()
            return 0
        if self._was_cut(current):
            self._after_cut(current, records)
            return 0
        data = os.pread(current.fd, min(budget_bytes, PIECE_BYTES), current.read)
        if data:
            if not current.is_like(beginning(current.fd)):
                return 0  # cut and written anew while it was read: what came may be of the new content
            current.read += len(data)
            self.bytes_read += len(data)
            records += self._reader.feed(data)
            return len(data)
        following = self._following(current)
        if following is None:
            self.at_end = True
            if self._first_end_bytes is None:
                self._first_end_bytes = self.bytes_read
            return 0
        records += self._reader.end()
        if self._switch(following, 0):
            self.rotations += 1
        return 0

    def _begin(self) -> None:
        """Open the file to begin with."""
        chain = members(self.path)
        begun = self._begin_anew(chain) if self._resume is None else self._begin_at(self._resume, chain)
        if not begun:
            if not chain and self._first_end_bytes is None:
                self._first_end_bytes = 0  # nothing was there: all that comes is new
            raise self.missing()

    def _begin_anew(self, chain: list[Member]) -> bool:
        if not chain:
            return False
        newest = chain[-1]
        if self._first_read_limit_bytes is None:
            offset = newest.size_bytes if self._first_end_bytes is None else 0
            return newest.path == self.path and self._switch(self.path, offset)
        left_bytes = self._first_read_limit_bytes
        first = newest
        for member in reversed(chain):
            first = member
            left_bytes -= member.size_bytes
            if left_bytes <= 0:
                break
        return self._switch(first.path, max(0, -left_bytes))

    def _begin_at(self, position: Position, chain: list[Member]) -> bool:
        for member in [*with_inode(self.path, position.dev, position.ino), *chain]:
            if self._open_if_same(member, position):
                return True
        # The file is gone, and with it what it had left. What was written later is all unread.
        later = [m for m in chain if m.mtime_ns > position.mtime_ns] or chain[-1:]
        if not later or not self._switch(later[0].path, 0):
            return False
        log.warning("%s: the file in which reading ended is gone; reading goes on in %s", self.path, later[0].path)
        return True

    def _open_if_same(self, member: Member, position: Position) -> bool:
        same_file = (member.dev, member.ino) == (position.dev, position.ino)
        if member.size_bytes < position.offset:
            return False
        if not position.fingerprint_bytes:  # it had no line: the same, unless it was filled and cut meanwhile
            return (
                same_file
                and self._filled_and_cut(position.dev, position.ino, position.mtime_ns) is None
                and self._switch(member.path, 0)
            )
        try:
            fd = _open(member.path)
        except OSError as error:
            if member.path == self.path and not isinstance(error, FileNotFoundError):
                raise self._unreadable(error) from error  # for now: the position is kept
            return False
        try:
            same = fingerprint(beginning(fd)[: position.fingerprint_bytes]) == position.fingerprint
        finally:
            os.close(fd)
        return same and self._switch(member.path, position.offset)

    def _following(self, current: _Open) -> Path | None:
        """The file to read after the open one, None if the open one is still the newest or the path is missing."""
        try:
            seen = self.path.stat()
        except FileNotFoundError:
            self.path_missing = True  # in the middle of a rotation, or deleted
            return None
        if (seen.st_dev, seen.st_ino) == (current.dev, current.ino):
            return None
        # Once more to the end: something may have been written between our last read and the renaming.
        if os.fstat(current.fd).st_size > current.read:
            return None
        after = self._after(current, members(self.path))
        return after[0].path if after else self.path

    def _after(self, current: _Open, chain: list[Member]) -> list[Member]:
        """The members to read after the open file, the oldest first."""
        index = index_of(chain, current.dev, current.ino)
        if index is not None:
            return chain[index + 1 :]
        # It was deleted, or moved away: what was written since is new, but for a copy of itself.
        return [m for m in chain if m.mtime_ns > current.mtime_ns and not _begins_like(m.path, current)] or chain[-1:]

    # A file that was cut

    def _was_cut(self, current: _Open) -> bool:
        """Whether the open file does not go on as it was."""
        seen = os.fstat(current.fd)
        first = beginning(current.fd)
        if seen.st_size < current.read or not current.is_like(first):
            return True
        if not current.told and self._filled_and_cut(current.dev, current.ino, current.mtime_ns):
            return True
        current.mtime_ns = seen.st_mtime_ns
        if len(first) > current.fingerprint_bytes:
            current.fingerprint_bytes, current.fingerprint = len(first), fingerprint(first)
            current.told = tells(first)
        return False

    def _filled_and_cut(self, dev: int, ino: int, mtime_ns: int) -> Path | None:
        """The oldest copy of a file that had no line at `mtime_ns`, if it was filled, copied and cut since."""
        chain = members(self.path)
        index = index_of(chain, dev, ino) or 0
        return next((m.path for m in chain[:index] if m.mtime_ns > mtime_ns), None)

    def _after_cut(self, current: _Open, records: list[Record]) -> None:
        """Go on in the copy that was made before the cut, if there is one, else at the file's new start."""
        self.truncations += 1
        if current.told:
            position = self.position
            copies = [m for m in members(self.path) if (m.dev, m.ino) != (current.dev, current.ino)]
            for copy in reversed(copies):
                # The copy holds what was held back, too: begin again at the first byte not handed out.
                if position is not None and self._open_if_same(copy, position):
                    return
        else:
            oldest = self._filled_and_cut(current.dev, current.ino, current.mtime_ns)
            if oldest is not None and self._switch(oldest, 0):
                return
        records += self._reader.end()
        self._renew_reader()
        # The same open file, for the path may be gone or another one by now.
        self._open = _opened(current.fd, 0)

    # The open file

    def _switch(self, path: Path, offset: int) -> bool:
        """Read `path` from `offset` on; False if it is gone meanwhile."""
        try:
            fd = _open(path)
        except FileNotFoundError:
            return False
        try:
            opened = _opened(fd, offset)
        except OSError:
            os.close(fd)
            raise
        self.close()
        self._renew_reader()
        self._open, self._resume = opened, None
        return True

    def _renew_reader(self) -> None:
        self._lines_unparsed += self._reader.lines_unparsed
        self._bytes_lost += self._reader.bytes_lost
        self._reader = RecordReader()

    def _unreadable(self, error: OSError) -> SourceError:
        if error.errno in (errno.EACCES, errno.EPERM):
            remedy = "Give the exporter's user the right to read it (and its directory)."
            return SourceError("permission", f"The log file {self.path} may not be read.", remedy)
        if error.errno == errno.EISDIR:
            return SourceError("directory", f"{self.path} is a directory.", "Name the log file in it.")
        if error.errno == errno.ESPIPE:
            return SourceError("unreadable", f"{self.path} is a pipe or a device.", "Name a log file.")
        return SourceError(
            "unreadable",
            f"The log file {self.path} cannot be read: {error.strerror}.",
            "Look at the file and its file system; the exporter goes on trying.",
        )


def _open(path: Path) -> int:
    """Open for reading; a directory is an error at once, a FIFO does not block."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        os.pread(fd, 1, 0)
    except OSError:
        os.close(fd)
        raise
    return fd


def _begins_like(path: Path, current: _Open) -> bool:
    if not current.told:
        return False
    try:
        fd = _open(path)
    except OSError:
        return False
    try:
        return current.is_like(beginning(fd))
    except OSError:
        return False
    finally:
        os.close(fd)


def _opened(fd: int, offset: int) -> _Open:
    seen = os.fstat(fd)
    first = beginning(fd)
    return _Open(fd, seen.st_dev, seen.st_ino, offset, len(first), fingerprint(first), tells(first), seen.st_mtime_ns)

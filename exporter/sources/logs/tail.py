"""Follows one log file through rotation, truncation, deletion and restarts of the exporter.

Polling only, so that network file systems work. The state machine: read the open file to its end; at the end look at
what the path is now. Another file: the open one was renamed, read the ones between and then the new one. The same
file, shorter or with another beginning: it was cut; read the rest from its copy if there is one, then the file from its
start.
"""

from __future__ import annotations

import errno
import glob
import hashlib
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from exporter.connect.record import Record
from exporter.errors import SourceError
from exporter.sources.logs.records import RecordReader

FINGERPRINT_BYTES_MAX = 256
"""How much of a file's beginning tells it from another; log files begin with a time."""

PIECE_BYTES = 2**20
"""Bytes read at once."""

_COMPRESSED = (".gz", ".zip", ".bz2", ".xz", ".zst")


@dataclass(frozen=True, slots=True)
class Position:
    """How far a file was handed out.

    Attributes:
        dev, ino: which file it was.
        fingerprint_bytes, fingerprint: hash of its first bytes: an inode may be used again.
        offset: first byte that is not handed out.
        mtime_ns: its last writing then: what was written later is not read.
    """

    dev: int
    ino: int
    fingerprint_bytes: int
    fingerprint: str
    offset: int
    mtime_ns: int

    def to_json(self) -> dict[str, int | str]:
        """As plain values."""
        return asdict(self)


@dataclass(slots=True)
class _Open:
    """The file being read. `read` is the offset of the next byte to read."""

    fd: int
    dev: int
    ino: int
    read: int
    fingerprint_bytes: int
    fingerprint: str
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class _Candidate:
    path: Path
    dev: int
    ino: int
    size: int
    mtime_ns: int


class Tail:
    """Reads one path from its predecessors on, or from where a position says."""

    def __init__(self, path: Path, position: Position | None, first_read_limit_bytes: int) -> None:
        """Nothing is opened yet.

        Args:
            path: the file that is written to.
            position: where reading ended last; None begins with rotated predecessors.
            first_read_limit_bytes: how much of predecessors and file is read at first, the newest part.
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
        self._first_end_bytes: int | None = None

    @property
    def caught_up(self) -> bool:
        """Everything that was there when reading first reached the end is handed out."""
        return self._first_end_bytes is not None and self.bytes_read - self._reader.held_bytes >= self._first_end_bytes

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
        return Position(
            current.dev, current.ino, current.fingerprint_bytes, current.fingerprint, offset, current.mtime_ns
        )

    def unread_bytes(self) -> int:
        """Bytes on disk that were not read yet, as far as can be seen."""
        current = self._open
        chain = self._chain()
        if current is None:
            return sum(c.size for c in chain)
        index = _index_of(chain, current)
        if index is None:
            try:
                return max(0, os.fstat(current.fd).st_size - current.read) + sum(c.size for c in chain[-1:])
            except OSError:
                return 0
        return max(0, chain[index].size - current.read) + sum(c.size for c in chain[index + 1 :])

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
        except SourceError:
            if not records:
                raise  # else: what was read is not lost; the error comes again at the next reading
        return records

    def _step(self, budget_bytes: int, records: list[Record]) -> int:
        """Open, read a piece, or go on to the next file; the number of bytes read."""
        current = self._open
        if current is None:
            self._begin()
            return 0
        if self._was_cut(current):
            self._after_cut(current, records)
            return 0
        data = self._pread(current, budget_bytes)
        if data:
            if _fingerprint(current.fd, current.fingerprint_bytes) != current.fingerprint:
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

    def flush(self) -> list[Record]:
        """The last record, if the file has not grown for so long that nothing more belongs to it."""
        return self._reader.flush()

    def close(self) -> None:
        """Close the file."""
        if self._open is not None:
            os.close(self._open.fd)
            self._open = None

    # What is on disk

    def _chain(self) -> list[_Candidate]:
        """Rotated predecessors, oldest first, then the path itself."""
        # Only names the rotation tools make: path.1, path.2024-10-25-13, path-20241025.
        found = [Path(name) for stem in (".", "-") for name in glob.glob(glob.escape(str(self.path)) + stem + "*")]  # noqa: PTH207
        candidates = [c for name in found if not name.name.endswith(_COMPRESSED) for c in _candidate(name)]
        candidates.sort(key=_age_order(candidates))
        current = _candidate(self.path)
        own = {(c.dev, c.ino) for c in current}
        return [c for c in candidates if (c.dev, c.ino) not in own] + current

    def _begin(self) -> None:
        """Open the file to begin with."""
        chain = self._chain()
        if self._resume is not None:
            position, self._resume = self._resume, None
            for candidate in sorted(chain, key=lambda c: (c.dev, c.ino) != (position.dev, position.ino)):
                if self._open_if_same(candidate, position):
                    return
            # The file is gone, and with it what it had left. What was written later is all unread.
            later = [c for c in chain if c.mtime_ns > position.mtime_ns] or chain[-1:]
            if later and self._switch(later[0].path, 0):
                return
            self._resume = position
        elif chain:
            left = self._first_read_limit_bytes
            first = chain[-1]
            for candidate in reversed(chain):
                first = candidate
                left -= candidate.size
                if left <= 0:
                    break
            if self._switch(first.path, max(0, -left)):
                return
        raise self.missing()

    def _open_if_same(self, candidate: _Candidate, position: Position) -> bool:
        same_file = (candidate.dev, candidate.ino) == (position.dev, position.ino)
        if candidate.size < position.offset:
            return False
        if not position.fingerprint_bytes:  # it was empty: the same, unless it was filled and cut meanwhile
            return (
                same_file
                and self._filled_and_cut(position.dev, position.ino, position.mtime_ns) is None
                and self._switch(candidate.path, 0)
            )
        try:
            fd = _open(candidate.path)
        except OSError:
            return False
        try:
            same = _fingerprint(fd, position.fingerprint_bytes) == position.fingerprint
        except OSError:
            same = False
        os.close(fd)
        return same and self._switch(candidate.path, position.offset)

    def _following(self, current: _Open) -> Path | None:
        """The file to read after the open one, None if the open one is still the newest or the path is missing."""
        try:
            stat = self.path.stat()
        except FileNotFoundError:
            self.path_missing = True  # in the middle of a rotation, or deleted
            return None
        except OSError as error:
            raise self._unreadable(error) from error
        if (stat.st_dev, stat.st_ino) == (current.dev, current.ino):
            return None
        # Once more to the end: something may have been written between our last read and the renaming.
        if os.fstat(current.fd).st_size > current.read:
            return None
        chain = self._chain()
        index = _index_of(chain, current)
        if index is not None and index + 1 < len(chain):
            return chain[index + 1].path
        return self.path

    def _filled_and_cut(self, dev: int, ino: int, mtime_ns: int) -> Path | None:
        """The oldest copy of a file that was empty at `mtime_ns`, if it was filled, copied and cut since."""
        chain = self._chain()
        index = next((i for i, c in enumerate(chain) if (c.dev, c.ino) == (dev, ino)), 0)
        return next((c.path for c in chain[:index] if c.mtime_ns > mtime_ns), None)

    def _was_cut(self, current: _Open) -> bool:
        """Whether the open file does not go on as it was."""
        stat = os.fstat(current.fd)
        size = stat.st_size
        if size < current.read or _fingerprint(current.fd, current.fingerprint_bytes) != current.fingerprint:
            return True
        if not current.fingerprint_bytes and self._filled_and_cut(current.dev, current.ino, current.mtime_ns):
            return True
        current.mtime_ns = stat.st_mtime_ns
        if current.fingerprint_bytes < FINGERPRINT_BYTES_MAX:
            current.fingerprint_bytes = min(size, FINGERPRINT_BYTES_MAX)
            current.fingerprint = _fingerprint(current.fd, current.fingerprint_bytes)
        return False

    def _after_cut(self, current: _Open, records: list[Record]) -> None:
        """Go on in the copy that was made before the cut, if there is one, else at the file's new start."""
        self.truncations += 1
        if not current.fingerprint_bytes:
            oldest = self._filled_and_cut(current.dev, current.ino, current.mtime_ns)
            self._switch(oldest or self.path, 0)
            return
        position = self.position
        copies = [c for c in self._chain() if (c.dev, c.ino) != (current.dev, current.ino)]
        for copy in reversed(copies):
            # The copy holds what was held back, too: begin again at the first byte not handed out.
            if position is not None and self._open_if_same(copy, position):
                return
        records += self._reader.end()
        self._switch(self.path, 0)

    # The open file

    def _switch(self, path: Path, offset: int) -> bool:
        """Read `path` from `offset` on; False if it is gone meanwhile."""
        try:
            fd = _open(path)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise self._unreadable(error) from error
        stat = os.fstat(fd)
        self.close()
        self._lines_unparsed += self._reader.lines_unparsed
        self._bytes_lost += self._reader.bytes_lost
        self._reader = RecordReader()
        length = min(stat.st_size, FINGERPRINT_BYTES_MAX)
        self._open = _Open(fd, stat.st_dev, stat.st_ino, offset, length, _fingerprint(fd, length), stat.st_mtime_ns)
        return True

    def _pread(self, current: _Open, budget_bytes: int) -> bytes:
        try:
            return os.pread(current.fd, min(budget_bytes, PIECE_BYTES), current.read)
        except OSError as error:
            raise self._unreadable(error) from error

    def missing(self) -> SourceError:
        """The error that the path does not exist."""
        return SourceError(
            "missing",
            f"The log file {self.path} does not exist.",
            "Correct the path, or start the worker; the exporter goes on looking.",
        )

    def _unreadable(self, error: OSError) -> SourceError:
        if error.errno in (errno.EACCES, errno.EPERM):
            remedy = "Give the exporter's user the right to read it (and its directory)."
            return SourceError("permission", f"The log file {self.path} may not be read.", remedy)
        if error.errno == errno.EISDIR:
            return SourceError("directory", f"{self.path} is a directory.", "Name the log file in it.")
        return SourceError("unreadable", f"The log file {self.path} cannot be read: {error.strerror}.")


def _open(path: Path) -> int:
    """Open for reading; a directory is an error at once, a FIFO does not block."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        os.pread(fd, 1, 0)
    except OSError:
        os.close(fd)
        raise
    return fd


def _fingerprint(fd: int, length: int) -> str:
    return hashlib.sha256(os.pread(fd, length, 0)).hexdigest()[:32] if length else ""


def _candidate(path: Path) -> list[_Candidate]:
    try:
        stat = path.stat()
    except OSError:
        return []
    return [_Candidate(path, stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)]


def _age_order(candidates: list[_Candidate]) -> Callable[[_Candidate], tuple[int, str]]:
    """Oldest first. `.2` is older than `.1`; dates in names sort as they stand; else the last writing decides."""
    suffixes = [c.path.suffix[1:] for c in candidates]
    if all(suffix.isdigit() for suffix in suffixes):
        return lambda c: (-int(c.path.suffix[1:]), "")
    return lambda c: (c.mtime_ns, c.path.name)


def _index_of(chain: list[_Candidate], current: _Open) -> int | None:
    return next((i for i, c in enumerate(chain) if (c.dev, c.ino) == (current.dev, current.ino)), None)

"""How far a log was handed out, in a form that outlives the exporter."""

from __future__ import annotations

import hashlib
import os
from dataclasses import asdict, dataclass

FINGERPRINT_BYTES_MAX = 4096
"""How much of a file's beginning tells it from another: its first times, behind what a start prints each time
(SLF4J's bindings, a command line)."""


@dataclass(frozen=True, slots=True)
class Position:
    """How far a file was handed out.

    Attributes:
        dev, ino: which file it was.
        fingerprint_bytes, fingerprint: hash of its first bytes: an inode may be used again. 0 bytes while the file
            has no whole line: nothing of it is handed out then.
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

    @classmethod
    def from_json(cls, fields: dict[str, object]) -> Position:
        """From what `to_json` gave.

        Raises:
            KeyError: a field is missing.
            ValueError: a field is not what `to_json` gives.
        """
        print_ = fields["fingerprint"]
        if not isinstance(print_, str):
            raise ValueError("fingerprint")  # noqa: TRY004 - one error for whatever is damaged
        return cls(
            _natural(fields["dev"]),
            _natural(fields["ino"]),
            _natural(fields["fingerprint_bytes"]),
            print_,
            _natural(fields["offset"]),
            _natural(fields["mtime_ns"]),
        )


def _natural(value: object) -> int:
    if not isinstance(value, int) or value < 0:
        raise ValueError(value)
    return value


def beginning(fd: int) -> bytes:
    """The first bytes of an open file, as far as a fingerprint goes.

    Raises:
        OSError: the file cannot be read.
    """
    return os.pread(fd, FINGERPRINT_BYTES_MAX, 0)


def fingerprint(data: bytes) -> str:
    """Hash of a beginning."""
    return hashlib.sha256(data).hexdigest()[:32]


def tells(data: bytes) -> bool:
    """Whether a beginning tells a file from another: half a date does not."""
    return b"\n" in data or len(data) >= FINGERPRINT_BYTES_MAX

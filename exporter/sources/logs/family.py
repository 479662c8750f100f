"""The files of one log: its path and the rotated predecessors beside it."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

# What rotation tools add: `.1`, `.2024-10-25-13` (Kafka's own appender), `-20241025` (logrotate's dateext),
# `.20241025-130000` (kubelet). Not `.bak`, `-errors.log`, `.1.gz`.
_ROTATED = re.compile(r"[.-]\d[\dTZ.:_-]*")
_COUNTED = re.compile(r"\.\d{1,3}")


@dataclass(frozen=True, slots=True)
class Member:
    """One file as it was seen on disk."""

    path: Path
    dev: int
    ino: int
    size_bytes: int
    mtime_ns: int


def is_rotated(name: str, base: str) -> bool:
    """Whether `name` is what a rotation makes of `base`."""
    return name.startswith(base) and _ROTATED.fullmatch(name, len(base)) is not None


def members(path: Path) -> list[Member]:
    """Rotated predecessors that may be read, oldest first, then what the path is now, if it is there.

    A link's predecessors are looked for beside the link and beside its target.
    """
    own = _member(path)
    found: dict[tuple[int, int], Member] = {}
    for base in {path, Path(os.path.realpath(path))}:
        for entry in _entries(base.parent):
            if is_rotated(entry.name, base.name) and os.access(entry.path, os.R_OK):
                found |= {(m.dev, m.ino): m for m in _member(Path(entry.path), regular=True)}
    for member in own:
        found.pop((member.dev, member.ino), None)
    return _oldest_first(list(found.values()), path) + own


def with_inode(path: Path, dev: int, ino: int) -> list[Member]:
    """Where a file that once was `path` may be now, whatever its name: beside the path or beside its target."""
    folders = {path.parent, Path(os.path.realpath(path)).parent}
    entries = [e for folder in folders for e in _entries(folder) if e.inode() == ino]
    return [m for e in entries for m in _member(Path(e.path), regular=True) if (m.dev, m.ino) == (dev, ino)]


def index_of(chain: list[Member], dev: int, ino: int) -> int | None:
    """Which member a file is."""
    return next((i for i, m in enumerate(chain) if (m.dev, m.ino) == (dev, ino)), None)


def _oldest_first(found: list[Member], path: Path) -> list[Member]:
    """`.2` is older than `.1`; else the last writing decides, then the date in the name."""
    if all(_COUNTED.fullmatch(m.path.suffix) for m in found):
        return sorted(found, key=lambda m: -int(m.path.suffix[1:]))
    return sorted(found, key=lambda m: (m.mtime_ns, m.path.name.removeprefix(path.name)))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []  # the path itself tells what is wrong


def _member(path: Path, *, regular: bool = False) -> list[Member]:
    try:
        seen = path.stat()
    except OSError:
        return []
    if regular and not stat.S_ISREG(seen.st_mode):
        return []
    return [Member(path, seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns)]

"""What runs below this process, and what others can see of it."""

from __future__ import annotations

import os
from pathlib import Path

PROC = Path("/proc")


def descendants(root: int | None = None) -> set[int]:
    """Process ids below `root`, by default below this process."""
    parents: dict[int, int] = {}
    for folder in PROC.glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_text()
        except OSError:
            continue  # it ended
        parents[int(folder.name)] = int(stat.rpartition(")")[2].split()[1])
    found = {root or os.getpid()}
    while True:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        if not more:
            return found - {root or os.getpid()}
        found |= more


def alive(pid: int) -> bool:
    """Whether it runs; one that ended and nobody waited for does not."""
    try:
        stat = (PROC / str(pid) / "stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in {"Z", "X"}


def shown(pid: int) -> str:
    """Command line and environment, as `ps` shows them; empty if it ended."""
    try:
        parts = [(PROC / str(pid) / name).read_bytes() for name in ("cmdline", "environ")]
    except OSError:
        return ""
    return b"\n".join(parts).replace(b"\0", b" ").decode("utf-8", "replace")

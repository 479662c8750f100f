"""What happens when: actions waiting for their time."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable

Action = Callable[[float], None]
"""Is called with the time it was planned for, seconds since the epoch."""


class Timeline:
    """Actions in the order of their times; equal times in the order they were added."""

    def __init__(self) -> None:
        self._waiting: list[tuple[float, int, Action]] = []
        self._numbers = itertools.count()

    def add(self, at_s: float, action: Action) -> None:
        """Plan an action, also from within another one."""
        heapq.heappush(self._waiting, (at_s, next(self._numbers), action))

    def run_until(self, now_s: float) -> bool:
        """Run everything that is due; whether there was anything."""
        ran = False
        while self._waiting and self._waiting[0][0] <= now_s:
            at_s, _, action = heapq.heappop(self._waiting)
            action(at_s)
            ran = True
        return ran

    @property
    def next_s(self) -> float | None:
        """When the next action is due."""
        return self._waiting[0][0] if self._waiting else None

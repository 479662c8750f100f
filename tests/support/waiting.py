"""Waiting for conditions, never for seconds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

STEP_S = 0.1


def wait_for(what: str, condition: Callable[[], T], within_s: float) -> T:
    """The first true value of `condition`; fails with `what` if there is none in time."""
    until = time.monotonic() + within_s
    pause = threading.Event()
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > until:
            raise AssertionError(f"not within {within_s:g} s: {what}")
        pause.wait(STEP_S)

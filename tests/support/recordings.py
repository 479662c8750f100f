"""Logs of real workers, and what a line-by-line count (no parser) finds in them."""

from __future__ import annotations

import functools
import json
import lzma
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1] / "data" / "recorded"


@functools.cache
def counts() -> dict[str, dict[str, dict[str, Any]]]:
    """Scenario → worker → counts."""
    document: dict[str, dict[str, dict[str, Any]]] = json.loads((ROOT / "counts.json").read_text())
    return document


@functools.cache
def log_bytes(scenario: str, worker: str) -> bytes:
    """The worker's log, over its restarts."""
    return lzma.decompress((ROOT / scenario / f"{worker}.log.xz").read_bytes())


SCENARIOS = [(scenario, worker) for scenario, workers in counts().items() for worker in workers]

"""From a log's local stamps to real time: Log4j prints local time without a zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from statistics import median
from typing import Literal

from pydantic import BaseModel, Field

ZONE_STEP_S = 900
"""Zones differ from UTC by multiples of a quarter of an hour."""

_LIVE_SAMPLES = 9


class StampClock(BaseModel):
    """What is known about one worker's zone. `offset_s` is seconds east of UTC, None until known.

    An access line tells it exactly (its own time is UTC); else the delay between stamp and reading of live records,
    rounded to a quarter of an hour, does.
    """

    offset_s: float | None = None
    source: Literal["access", "live"] | None = None
    live_samples_s: list[float] = Field(default_factory=list)

    def observe_access(self, offset_s: float) -> None:
        """Take the difference between a stamp and the access line's UTC time beside it, in seconds."""
        self.offset_s = _to_step(offset_s)
        self.source = "access"

    def observe_live(self, stamp: datetime, seen_at: float) -> None:
        """Take a record that was read as it was written."""
        self.live_samples_s = [*self.live_samples_s[-_LIVE_SAMPLES + 1 :], _as_utc(stamp) - seen_at]
        if self.source != "access":
            self.offset_s = _to_step(median(self.live_samples_s))
            self.source = "live"

    def epoch_s(self, stamp: datetime | None, zone: tzinfo | None) -> float | None:
        """The stamp as seconds since the epoch; None while no zone is known.

        Args:
            stamp: as printed, without zone.
            zone: the configured zone, which wins over what was observed.
        """
        if stamp is None:
            return None
        if zone is not None:
            return stamp.replace(tzinfo=zone).timestamp()
        if self.offset_s is None:
            return None
        return _as_utc(stamp - timedelta(seconds=self.offset_s))


def _as_utc(stamp: datetime) -> float:
    return stamp.replace(tzinfo=UTC).timestamp()


def _to_step(offset_s: float) -> float:
    return float(round(offset_s / ZONE_STEP_S) * ZONE_STEP_S)

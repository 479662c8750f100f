"""From local stamps to real time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from exporter.connect.stamp_clock import StampClock

STAMP = datetime(2026, 11, 30, 21, 0, 0)  # noqa: DTZ001 - logs have no zone
EPOCH = STAMP.replace(tzinfo=UTC).timestamp()


def test_nothing_known_gives_no_time() -> None:
    """Absent rather than wrong."""
    assert StampClock().epoch_s(STAMP, None) is None
    assert StampClock().epoch_s(None, UTC) is None


@pytest.mark.parametrize("name", ["Asia/Kolkata", "America/St_Johns", "UTC"])
def test_an_access_line_tells_the_zone(name: str) -> None:
    """Its own time is UTC; whole seconds beside milliseconds do not disturb."""
    offset = ZoneInfo(name).utcoffset(STAMP)
    assert offset is not None
    clock = StampClock()
    clock.observe_access(offset.total_seconds() + 0.974)
    assert clock.epoch_s(STAMP + offset, None) == EPOCH


def test_live_records_tell_the_zone_and_an_access_line_wins() -> None:
    """The delay of reading is less than the step of zones; one straggler does not move the median."""
    clock = StampClock()
    for delay_s in (0.5, 1.2, 4000.0, 0.1, 0.9):
        clock.observe_live(STAMP + timedelta(hours=5, minutes=30), EPOCH + delay_s)
    assert clock.epoch_s(STAMP + timedelta(hours=5, minutes=30), None) == EPOCH
    clock.observe_access(0.2)
    clock.observe_live(STAMP + timedelta(hours=5), EPOCH)
    assert clock.epoch_s(STAMP, None) == EPOCH


def test_the_configured_zone_wins() -> None:
    """The user knows best, also over a change to summer time."""
    clock = StampClock()
    clock.observe_access(0.0)
    summer = datetime(2026, 7, 1, 14, 0, 0)  # noqa: DTZ001
    berlin = ZoneInfo("Europe/Berlin")
    assert clock.epoch_s(summer, berlin) == datetime(2026, 7, 1, 12, tzinfo=UTC).timestamp()

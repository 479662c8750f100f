"""Stamps of the simulated logs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

from exporter.demo.simulated_log import SimulatedLog, access_stamp, stamp

AT_S = datetime(2026, 11, 30, 21, 27, 11, 404_000, tzinfo=UTC).timestamp()


def test_records_are_stamped_in_local_time(tmp_path: Path) -> None:
    """A record has Log4j's stamp, local and without zone, where an access line beside it tells UTC."""
    log = SimulatedLog(tmp_path / "connect.log", timezone(timedelta(hours=2)))
    log.append(AT_S, "INFO a\n\tb")
    log.close()
    assert (tmp_path / "connect.log").read_text(encoding="utf-8") == "[2026-11-30 23:27:11,404] INFO a\n\tb\n"
    assert access_stamp(AT_S) == "30/Nov/2026:21:27:11 +0000"


def test_the_last_millisecond_rounds_into_the_next_second() -> None:
    """A time just before a second is printed as that second, never as 1000 milliseconds."""
    assert stamp(AT_S + 0.5959, UTC) == "2026-11-30 21:27:12,000"

"""A worker's connect.log in the layout Kafka ships: `[%d] %p %m (%c:%L)%n`."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, tzinfo
from pathlib import Path


class SimulatedLog:
    """Appends records to a file. May be used from several threads.

    Args:
        path: the file; its directory exists.
        zone: the zone of the stamps, as Log4j takes it from the machine; None for this machine's.
    """

    def __init__(self, path: Path, zone: tzinfo | None = None) -> None:
        self.path = path
        self._zone = zone
        self._mutex = threading.Lock()
        self._file = path.open("a", encoding="utf-8")

    def append(self, at_s: float, text: str) -> None:
        """Write one record.

        Args:
            at_s: its time, seconds since the epoch.
            text: from the level on.
        """
        with self._mutex:
            self._file.write(f"[{stamp(at_s, self._zone)}] {text}\n")
            self._file.flush()  # a reader sees whole records

    def close(self) -> None:
        """Give the file back."""
        with self._mutex:
            self._file.close()


def stamp(at_s: float, zone: tzinfo | None) -> str:
    """`%d` of Log4j: local time with milliseconds, without a zone."""
    moment = datetime.fromtimestamp(round(at_s * 1000) / 1000, zone)
    return f"{moment:%Y-%m-%d %H:%M:%S},{round(moment.microsecond / 1000) % 1000:03d}"


def access_stamp(at_s: float) -> str:
    """The time in an access line, which Jetty prints in UTC."""
    return f"{datetime.fromtimestamp(at_s, UTC):%d/%b/%Y:%H:%M:%S +0000}"

"""What every source is to the rest of the program."""

from __future__ import annotations

from typing import Literal, Protocol

from exporter.connect.readings import JmxReading, LogReading, RestReading

SourceKind = Literal["jmx", "rest", "logs"]
Reading = JmxReading | RestReading | LogReading


class Source(Protocol):
    """One input of one worker. Used from one thread at a time."""

    @property
    def kind(self) -> SourceKind:
        """Which of the three inputs this is."""
        ...

    def poll(self, deadline_s: float) -> Reading:
        """Read once, in at most `deadline_s` seconds.

        Raises:
            SourceError: nothing could be read; says what happened and what to do.
        """
        ...

    def close(self) -> None:
        """Give back connections, files and helper processes."""
        ...

"""One record of a worker's log, whatever the layout it was printed in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Record:
    """One log record.

    Attributes:
        stamp: the time as printed, local to the worker's JVM and without zone; None if the layout has none.
        level: TRACE, DEBUG, INFO, WARN, ERROR or FATAL.
        logger: the logger as printed, without the line number; often fully qualified, sometimes only the class.
        context: Connect's MDC value without brackets ("orders|task-0"), "" if none was printed.
        message: the first line of the message, without context, logger and trailing blanks;
            it still carries `[Worker clientId=…, groupId=…] ` where Kafka wrote it.
        lines: the physical lines after the first (rest of the message, exception head, frames), as printed.
    """

    stamp: datetime | None
    level: str
    logger: str
    context: str
    message: str
    lines: tuple[str, ...] = ()

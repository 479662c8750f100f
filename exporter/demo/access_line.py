"""The record a worker prints for each request it answered (Kafka >= 3.4)."""

from __future__ import annotations

from dataclasses import dataclass

from exporter.demo import templates
from exporter.demo.simulated_log import access_stamp


@dataclass(frozen=True, slots=True)
class AccessLine:
    """One answered request."""

    method: str
    target: str
    """Path and query as they came."""
    status: int
    length: int
    """Of the answer, in bytes."""
    agent: str
    """The request's User-Agent."""
    duration_ms: int


def access_record(at_s: float, line: AccessLine) -> str:
    """The record, from the level on.

    Args:
        at_s: when the request was answered, seconds since the epoch.
        line: the request.
    """
    values = {
        "access_stamp": access_stamp(at_s),
        "method": line.method,
        "target": line.target,
        "status": str(line.status),
        "bytes": str(line.length),
        "agent": line.agent,
        "duration_ms": str(line.duration_ms),
    }
    (record,) = templates.log_records("access", values)
    return record.text

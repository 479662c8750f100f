"""What the sources hand to the fold: one frozen reading per successful poll.

Times (`at`) are seconds since the epoch by the exporter's clock; states are lower case; unknown is None.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from exporter.connect.record import Record
from exporter.errors import SourceError

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Value:
    """One number for the metrics page, already in base units.

    Attributes:
        series: full metric name, e.g. "kafka_connect_worker_rebalance_epoch".
        labels: (name, value) pairs besides connect_cluster and worker, in a fixed order per series.
        value: finite.
    """

    series: str
    labels: Labels
    value: float


@dataclass(frozen=True, slots=True)
class ConnectorReading:
    """One connector as JMX or REST tells it."""

    name: str
    state: str
    worker_id: str | None = None
    type: str | None = None
    class_name: str | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class TaskReading:
    """One task as JMX or REST tells it."""

    connector: str
    task: int
    state: str
    worker_id: str | None = None


@dataclass(frozen=True, slots=True)
class JmxReading:
    """One poll of one worker's MBeans; connectors and tasks are those that this worker hosts.

    Attributes:
        worker_id: advertised "host:port" from `app-info,id="HOST:PORT"`.
        version: Kafka's version as the worker says it.
        connect_protocol: eager, compatible or sessioned, as the bean says; before the first join this is the
            configured one, so it counts only once `leader_url` is known (KAFKA.md §7).
        leader_url: attribute leader-name; None before the first assignment.
        values: the numeric attributes of the catalogue.
    """

    worker_id: str | None
    version: str | None
    connect_protocol: str | None
    leader_url: str | None
    connectors: tuple[ConnectorReading, ...] = ()
    tasks: tuple[TaskReading, ...] = ()
    values: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class RestReading:
    """One poll of one worker's REST API; connectors and tasks are those of the whole cluster.

    Attributes:
        url: base URL that answered, without trailing slash or credentials.
        version: `GET /` → version.
        kafka_cluster_id: `GET /` → kafka_cluster_id.
    """

    url: str
    version: str | None
    kafka_cluster_id: str | None
    connectors: tuple[ConnectorReading, ...] = ()
    tasks: tuple[TaskReading, ...] = ()


@dataclass(frozen=True, slots=True)
class TailStats:
    """What a log reader did since it was made; totals, and what is left to read."""

    bytes_read: int = 0
    bytes_lost: int = 0
    records_unparsed: int = 0
    rotations: int = 0
    truncations: int = 0
    unread_bytes: int = 0


@dataclass(frozen=True, slots=True)
class LogReading:
    """One batch of records of one worker, in the order of the files.

    Attributes:
        records: complete records.
        caught_up: everything that was there when reading began has been read, this batch included.
        live: the records were written while the exporter was watching (read after `caught_up`):
            the time of reading is then the time of the event.
        stats: totals of the reader.
        error: some file could not be read; the records are those of the others.
        held: a record was begun and is held back until it is complete.
    """

    records: tuple[Record, ...]
    caught_up: bool
    live: bool
    stats: TailStats = field(default_factory=TailStats)
    error: SourceError | None = None
    held: bool = False

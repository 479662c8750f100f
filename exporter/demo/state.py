"""What the simulated Connect cluster is at one moment."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

BROKER = "127.0.0.1:9092"
GROUP = "demo"
PLUGIN_CLASS = "org.apache.kafka.connect.file.FileStreamSourceConnector"
PLUGIN_VERSION = "4.3.1"


class Phase(Enum):
    """Where a worker is in its life."""

    STOPPED = "stopped"
    STARTING = "starting"
    JOINED = "joined"
    STOPPING = "stopping"


@dataclass(frozen=True, slots=True)
class Signing:
    """How a worker signs its internal requests, and what it accepts as leader."""

    signature_algorithm: str
    verification_algorithms: tuple[str, ...]


DEFAULT_SIGNING = Signing("HmacSHA256", ("HmacSHA256",))
"""Kafka's defaults."""


@dataclass(slots=True)
class WorkerState:
    """One worker."""

    name: str
    rest_port: int
    jmx_port: int
    signing: Signing = DEFAULT_SIGNING
    phase: Phase = Phase.STOPPED
    rest_up: bool = False
    incarnation: int = 0
    """Counts its starts."""
    started_at_s: float = 0.0
    rebalances: int = 0
    last_rebalance_s: float = 0.0
    connector_starts: int = 0

    @property
    def host_port(self) -> str:
        """What it advertises."""
        return f"127.0.0.1:{self.rest_port}"

    @property
    def member(self) -> str:
        """Its member id in the group, another one after each start."""
        return f"connect-{self.host_port}-{uuid.uuid5(uuid.NAMESPACE_URL, f'{self.host_port}/{self.incarnation}')}"


@dataclass(slots=True)
class ConnectorState:
    """One connector, with at most one task."""

    name: str
    topic: str
    placement: str
    """The worker the leader gives it to."""
    records_per_s: float
    host: str | None = None
    """The worker it runs on now."""
    pending: bool = True
    """Its task configuration is yet to be written."""
    failures: int = 0
    """Hand-overs in a row that the leader refused."""
    task_placement: str | None = None
    """None until a task configuration was written."""
    task_host: str | None = None
    task_started_at_s: float = 0.0

    @property
    def config(self) -> Mapping[str, str]:
        """The connector's configuration."""
        return {
            "connector.class": PLUGIN_CLASS,
            "file": "/opt/kafka/in.txt",
            "tasks.max": "1",
            "name": self.name,
            "topic": self.topic,
        }


@dataclass(slots=True)
class GroupState:
    """The workers and connectors of one cluster."""

    workers: dict[str, WorkerState]
    connectors: dict[str, ConnectorState] = field(default_factory=dict)
    generation: int = 0
    config_offset: int = -1

    @property
    def joined(self) -> list[WorkerState]:
        """The members of the group."""
        return [worker for worker in self.workers.values() if worker.phase is Phase.JOINED]

    @property
    def leader(self) -> WorkerState:
        """The leader: the first worker, which outlives the others here."""
        return next(iter(self.workers.values()))

"""What a log record of a Connect worker tells, as data. `messages` makes them, `log_fold` folds them.

Names follow KAFKA.md: on a follower each failed attempt prints up to three lines, a (RestClient), b ("Request to
leader … failed") and c ("Failed to reconfigure connector's tasks …"). `cause` is the text of the exception head,
without frames, "" where the record has none. `flow` is "A->B/" in MirrorMaker 2's dedicated mode, else "".
"""

from __future__ import annotations

from dataclasses import dataclass

from exporter.connect.worker_config import WorkerConfig


@dataclass(frozen=True, slots=True)
class ForwardFailed:
    """Line a: a forwarded request failed; `url` only where Kafka prints it (3.9 and later)."""

    url: str | None
    cause: str


@dataclass(frozen=True, slots=True)
class HandOverFailed:
    """Line b: the leader refused the task configurations or could not be reached."""

    cause: str
    flow: str


@dataclass(frozen=True, slots=True)
class ReconfigureFailed:
    """Line c: an attempt to reconfigure a connector's tasks failed; `connector` is "" before Kafka 2.8."""

    connector: str
    cause: str
    flow: str


@dataclass(frozen=True, slots=True)
class GaveUp:
    """Kafka 3.8+: too many tasks, the worker will not retry."""

    connector: str


@dataclass(frozen=True, slots=True)
class Abandoned:
    """The line "Task reconfiguration for … failed unexpectedly": no retry follows. A stopping worker prints it too."""

    connector: str


@dataclass(frozen=True, slots=True)
class ReconfigurationSkipped:
    """The connector does not run (any more) or is not meant to: its chain of attempts ends."""

    connector: str


@dataclass(frozen=True, slots=True)
class ConnectorGone:
    """The connector was stopped on this worker or its configuration was removed."""

    connector: str


@dataclass(frozen=True, slots=True)
class TasksConfigured:
    """The line "Tasks […] configs updated": they are in the config topic. `tasks` is the text in brackets."""

    tasks: str
    flow: str


@dataclass(frozen=True, slots=True)
class JoinedGroup:
    """An assignment was received. `connectors` and `tasks` are the texts in brackets, complete for this worker."""

    generation: int
    protocol: str
    leader_url: str
    connectors: str
    tasks: str
    flow: str


@dataclass(frozen=True, slots=True)
class WorkerStarting:
    """A worker process begins."""


@dataclass(frozen=True, slots=True)
class WorkerStopping:
    """The worker was told to stop."""


@dataclass(frozen=True, slots=True)
class WorkerConfigured:
    """The dump `DistributedConfig values:` at start-up."""

    config: WorkerConfig


@dataclass(frozen=True, slots=True)
class Advertised:
    """The URL the worker advertises to the others."""

    url: str


@dataclass(frozen=True, slots=True)
class VersionSeen:
    """The version of the worker's Kafka libraries."""

    version: str


@dataclass(frozen=True, slots=True)
class KafkaClusterSeen:
    """The id of the Kafka cluster behind the worker."""

    cluster_id: str


@dataclass(frozen=True, slots=True)
class VerificationDisabled:
    """This worker's own connect.protocol switches the verification of internal requests off for the cluster."""

    value: str


@dataclass(frozen=True, slots=True)
class ProtocolDowngraded:
    """The group elected a protocol without verification."""

    from_protocol: str
    to_protocol: str


@dataclass(frozen=True, slots=True)
class VerificationReenabled:
    """The group is back at a protocol with verification."""


@dataclass(frozen=True, slots=True)
class SessionKeyUpdated:
    """The worker read a new session key."""


@dataclass(frozen=True, slots=True)
class TaskFailed:
    """A task could not start (`start`), be built (`instantiate`), or died (`killed`)."""

    connector: str
    task: int
    kind: str
    cause: str


@dataclass(frozen=True, slots=True)
class ConnectorStartFailed:
    """A connector could not start."""

    connector: str
    cause: str


@dataclass(frozen=True, slots=True)
class InternalRequest:
    """One access-log line of a signed endpoint (Kafka 3.4 and later).

    Attributes:
        request: tasks or fence.
        connector: decoded from the path.
        code: HTTP status.
        body_bytes: bytes of the answer; None where the log has "-".
        origin: worker if the user agent is Connect's own, else other. Nobody authenticates it.
        client: address as logged, for people, never a label.
    """

    request: str
    connector: str
    code: int
    body_bytes: int | None
    origin: str
    client: str


Event = (
    ForwardFailed
    | HandOverFailed
    | ReconfigureFailed
    | GaveUp
    | Abandoned
    | ReconfigurationSkipped
    | ConnectorGone
    | TasksConfigured
    | JoinedGroup
    | WorkerStarting
    | WorkerStopping
    | WorkerConfigured
    | Advertised
    | VersionSeen
    | KafkaClusterSeen
    | VerificationDisabled
    | ProtocolDowngraded
    | VerificationReenabled
    | SessionKeyUpdated
    | TaskFailed
    | ConnectorStartFailed
    | InternalRequest
)

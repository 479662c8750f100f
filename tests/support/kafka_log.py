"""Records as Kafka Connect 4.4 prints them, for tests that need a few and no file."""

from __future__ import annotations

from datetime import datetime, timedelta

from exporter.connect.readings import LogReading
from exporter.connect.record import Record

T0 = datetime(2026, 11, 30, 21, 0, 0)  # noqa: DTZ001 - logs have no zone
HERDER = "org.apache.kafka.connect.runtime.distributed.DistributedHerder"
REST_CLIENT = "org.apache.kafka.connect.runtime.rest.RestClient"
REST_SERVER = "org.apache.kafka.connect.runtime.rest.RestServer"
WORKER = "[Worker clientId=connect-10.0.0.2:8083, groupId=pay] "
LEADER = "http://10.0.0.1:8083/"
OWN = "http://10.0.0.2:8083/"

REFUSED = (
    "org.apache.kafka.connect.runtime.rest.errors.ConnectRestException: This worker does not support the 'HmacSHA512' key "
    "signing algorithm used by other workers. This worker is currently configured to use: [HmacSHA256]. Check that all "
    "workers' configuration files permit the same set of signature algorithms, and correct any misconfigured worker and "
    "restart it."
)
INVALID = (
    "org.apache.kafka.connect.runtime.rest.errors.ConnectRestException: Internal request contained invalid signature."
)
FRAME = "\tat org.apache.kafka.connect.runtime.rest.RestClient.httpRequest(RestClient.java:197)"


def record(at_s: float, level: str, logger: str, message: str, *lines: str) -> Record:
    """One record `at_s` seconds after T0."""
    return Record(T0 + timedelta(seconds=at_s), level, logger, "", message, lines)


def herder(at_s: float, level: str, message: str, *lines: str) -> Record:
    """One record of the herder, with its prefix."""
    return record(at_s, level, HERDER, WORKER + message, *lines)


def attempt(at_s: float, connector: str = "src", cause: str = REFUSED, leader: str = LEADER) -> list[Record]:
    """The three records of one failed attempt."""
    url = f"{leader}connectors/{connector}/tasks"
    return [
        record(at_s, "ERROR", REST_CLIENT, f"Error forwarding REST request to {url} :", cause, FRAME),
        herder(at_s, "ERROR", "Request to leader to reconfigure connector tasks failed", cause, FRAME),
        herder(
            at_s,
            "ERROR",
            f"Failed to reconfigure connector's tasks ({connector}), retrying after backoff.",
            cause,
            FRAME,
        ),
    ]


def joined(at_s: float, connectors: str = "src", tasks: str = "", leader: str = LEADER, protocol: int = 2) -> Record:
    """An assignment."""
    return herder(
        at_s,
        "INFO",
        f"Joined group at generation 3 with protocol version {protocol} and got assignment: "
        f"Assignment{{error=0, leader='connect-1-uuid', leaderUrl='{leader}', offset=5, connectorIds=[{connectors}], "
        f"taskIds=[{tasks}], revokedConnectorIds=[], revokedTaskIds=[], delay=0}} with rebalance delay: 0",
    )


def started(
    at_s: float, signature: str = "HmacSHA512", verification: str = "HmacSHA256", protocol: str = "sessioned"
) -> list[Record]:
    """A start of the worker at OWN."""
    return [
        record(
            at_s, "INFO", "org.apache.kafka.connect.cli.AbstractConnectCli", "Kafka Connect worker initializing ..."
        ),
        record(
            at_s,
            "INFO",
            "org.apache.kafka.common.config.AbstractConfig",
            "DistributedConfig values:",
            "\tconfig.storage.topic = pay-configs",
            f"\tconnect.protocol = {protocol}",
            "\tgroup.id = pay",
            "\tinter.worker.key.generation.algorithm = HmacSHA256",
            "\tinter.worker.key.ttl.ms = 3600000",
            f"\tinter.worker.signature.algorithm = {signature}",
            f"\tinter.worker.verification.algorithms = [{verification}]",
        ),
        record(at_s, "INFO", "org.apache.kafka.common.utils.internals.AppInfoParser", "Kafka version: 4.4.0"),
        record(at_s, "INFO", "org.apache.kafka.connect.runtime.WorkerConfig", "Kafka cluster ID: K1"),
        record(at_s, "INFO", REST_SERVER, f"Advertised URI: {OWN}"),
    ]


def access(at_s: float, request: str, code: int, size: int, agent: str = "kafka-connect") -> Record:
    """An access line; the worker's clock is UTC."""
    stamp = (T0 + timedelta(seconds=at_s)).strftime("%d/%b/%Y:%H:%M:%S")
    return record(
        at_s, "INFO", REST_SERVER, f'10.0.0.2 - - [{stamp} +0000] "{request} HTTP/1.1" {code} {size} "" "{agent}" 6'
    )


def reading(*records: Record | list[Record], live: bool = True, caught_up: bool = True) -> LogReading:
    """One batch."""
    flat: list[Record] = []
    for item in records:
        flat += item if isinstance(item, list) else [item]
    return LogReading(tuple(flat), caught_up=caught_up, live=live)

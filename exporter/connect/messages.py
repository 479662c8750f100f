"""Kafka Connect's wording as a table: which record means which event. A new Kafka message is a new row here.

Sources: KAFKA.md's tables of log lines; the class names are stable since Kafka 2.4, line numbers are not and
are never looked at. Rows of one logger are tried in order, the first that matches wins.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from exporter.connect import access_log, events, kafka_rules, worker_config
from exporter.connect.record import Record

_WORKER_PREFIX = re.compile(r"\[Worker clientId=(?P<client>.*?), groupId=(?P<group>.*?)\] ")


@dataclass(frozen=True, slots=True)
class Context:
    """What a row's builder may look at besides its own match."""

    record: Record
    flow: str
    """`A->B/` in MirrorMaker 2's dedicated mode, where two flows have connectors of one name; else ""."""


Build = Callable[[re.Match[str], Context], events.Event | None]


@dataclass(frozen=True, slots=True)
class Message:
    """One row: a message of one logger and what it means.

    Attributes:
        loggers: simple class names that print it.
        text: matched at the message's start, after `[Worker clientId=…, groupId=…] `.
        versions: Kafka versions that print it, for people.
        build: makes the event.
    """

    loggers: tuple[str, ...]
    text: re.Pattern[str]
    versions: str
    build: Build


def cause_of(record: Record) -> str:
    """The exception head: everything before the first frame. Messages of exceptions may span lines."""
    head: list[str] = []
    for line in record.lines:
        if line.startswith(("\tat ", "\t... ", "Caused by: ")):
            break
        head.append(line)
    return "\n".join(head)


def innermost_class(record: Record) -> str:
    """Class of the innermost exception of a record's trace, "" where there is none."""
    found = ""
    for number, line in enumerate(record.lines):
        if number == 0 or line.startswith("Caused by: "):
            name = line.removeprefix("Caused by: ").partition(":")[0].strip()
            if " " not in name and "." in name:
                found = name
    return found


def _task(text: str, kind: str, record: Record) -> events.TaskFailed | None:
    connector, dash, number = text.rpartition("-")
    return (
        events.TaskFailed(connector, int(number), kind, innermost_class(record)) if dash and number.isdigit() else None
    )


def _forward_failed(m: re.Match[str], c: Context) -> events.Event:
    return events.ForwardFailed(m["url"], cause_of(c.record))


def _reconfigure_failed(m: re.Match[str], c: Context) -> events.Event:
    name = m["connector"]
    return events.ReconfigureFailed(f"{c.flow}{name}" if name else "", cause_of(c.record), c.flow)


def _named(event: Callable[[str], events.Event]) -> Build:
    return lambda m, c: event(f"{c.flow}{m['connector']}")


def _row(loggers: str, text: str, versions: str, build: Build) -> Message:
    return Message(tuple(loggers.split()), re.compile(text, re.DOTALL), versions, build)


_HERDER = "DistributedHerder"

MESSAGES: tuple[Message, ...] = (
    # One failed attempt on the follower: a, b, c (KAFKA.md §1.1)
    _row(
        "RestClient",
        r"(?:IO error|Error) forwarding REST request(?: to (?P<url>\S+) :|:|$)",
        "2.4+, the URL from 3.9",
        _forward_failed,
    ),
    _row("RestClient", r"Thread was interrupted forwarding REST request to (?P<url>\S+) :", "3.9+", _forward_failed),
    _row(
        _HERDER,
        r"Request to leader to reconfigure connector tasks failed",
        "2.4+",
        lambda m, c: events.HandOverFailed(cause_of(c.record), c.flow),
    ),
    _row(
        _HERDER,
        r"Failed to reconfigure connector's tasks(?: \((?P<connector>.*)\))?, (?:possibly due to expired session key|retrying after backoff)",
        "2.4+, the name from 2.8",
        _reconfigure_failed,
    ),
    # How a chain of attempts ends
    _row(
        _HERDER, r"Connector (?P<connector>.*) generated too many tasks; will not retry", "3.8+", _named(events.GaveUp)
    ),
    _row(
        _HERDER,
        r"Task reconfiguration for (?P<connector>.*) failed unexpectedly, this connector will not be properly reconfigured",
        "2.4+",
        _named(events.Abandoned),
    ),
    _row(
        _HERDER,
        r"Skipping reconfiguration of connector (?P<connector>.*) since (?:it is not running|its target state is )",
        "2.4+",
        _named(events.ReconfigurationSkipped),
    ),
    _row(_HERDER, r"Connector (?P<connector>.*) config removed", "2.4+", _named(events.ConnectorGone)),
    _row(
        _HERDER,
        r"Tasks \[(?P<tasks>.*)\] configs updated",
        "2.4+",
        lambda m, c: events.TasksConfigured(m["tasks"], c.flow),
    ),
    # Group, leader, protocol (KAFKA.md §1.3, §7)
    _row(
        _HERDER,
        r"Joined group at generation (?P<generation>-?\d+) with protocol version (?P<protocol>\d+) and got assignment: "
        r"Assignment\{error=\d+, leader='.*?', leaderUrl='(?P<url>.*?)', offset=-?\d+, "
        r"connectorIds=\[(?P<connectors>.*?)\], taskIds=\[(?P<tasks>.*?)\], revokedConnectorIds=\[",
        "2.4+",
        lambda m, c: events.JoinedGroup(
            int(m["generation"]),
            kafka_rules.protocol_by_version(int(m["protocol"])),
            m["url"],
            m["connectors"],
            m["tasks"],
            c.flow,
        ),
    ),
    _row(
        _HERDER,
        r"Internal request verification will be disabled for this cluster as this worker's connect\.protocol configuration "
        r"has been set to '(?P<value>.*?)'",
        "2.4+",
        lambda m, c: events.VerificationDisabled(m["value"]),
    ),
    _row(
        _HERDER,
        r"The protocol used by this Connect cluster has been downgraded from '(?P<old>.*?)' to '(?P<new>.*?)' and internal "
        r"request validation is now disabled",
        "2.4+",
        lambda m, c: events.ProtocolDowngraded(m["old"].lower(), m["new"].lower()),
    ),
    _row(
        _HERDER,
        r"Internal request validation has been re-enabled",
        "2.4+",
        lambda m, c: events.VerificationReenabled(),
    ),
    _row(_HERDER, r"Session key updated", "2.4+", lambda m, c: events.SessionKeyUpdated()),
    # The worker's life (KAFKA-LIVE.md)
    _row(
        "AbstractConnectCli ConnectDistributed",
        r"Kafka Connect (?:distributed )?worker initializing",
        "2.4+",
        lambda m, c: events.WorkerStarting(),
    ),
    _row(
        "DistributedConfig AbstractConfig",
        r"DistributedConfig values:",
        "2.4+; the logger is AbstractConfig from 4.x",
        lambda m, c: events.WorkerConfigured(worker_config.from_dump(c.record.lines)),
    ),
    _row("Connect", r"Kafka Connect stopping", "2.4+", lambda m, c: events.WorkerStopping()),
    _row("RestServer", r"Advertised URI: (?P<url>\S+)", "2.4+", lambda m, c: events.Advertised(m["url"])),
    _row("AppInfoParser", r"Kafka version: (?P<version>\S+)", "2.4+", lambda m, c: events.VersionSeen(m["version"])),
    _row(
        "ConnectUtils WorkerConfig",
        r"Kafka cluster ID: (?P<id>\S+)",
        "2.4+",
        lambda m, c: events.KafkaClusterSeen(m["id"]),
    ),
    # Start failures of connectors and tasks (KAFKA.md §1.5)
    _row(
        _HERDER,
        r"(?:Failed to start connector '(?P<connector>.*)'$|Unexpected error while trying to start connector (?P<unexpected>.*)$"
        r"|Couldn't instantiate connector (?P<invalid>.*) because it has an invalid connector configuration)",
        "2.4+, one of the wordings per version",
        lambda m, c: events.ConnectorStartFailed(
            c.flow + (m["connector"] or m["unexpected"] or m["invalid"] or ""), innermost_class(c.record)
        ),
    ),
    _row(
        "Worker",
        r"Failed to start task (?P<task>.*-\d+)$",
        "2.4+",
        lambda m, c: _task(m["task"], "start", c.record),
    ),
    _row(
        _HERDER,
        r"Couldn't instantiate task (?P<task>.*-\d+) because it has an invalid task configuration",
        "2.4+",
        lambda m, c: _task(m["task"], "instantiate", c.record),
    ),
    _row(
        "WorkerTask",
        r"\w*Task\{id=(?P<task>.*-\d+)\} Task threw an uncaught and unrecoverable exception(?:\. Task is being killed|$)",
        "2.4+; before 2.7 the second half is a line of its own",
        lambda m, c: _task(m["task"], "killed", c.record),
    ),
)


def _by_logger() -> dict[str, tuple[Message, ...]]:
    table: dict[str, list[Message]] = {}
    for message in MESSAGES:
        for logger in message.loggers:
            table.setdefault(logger, []).append(message)
    return {logger: tuple(rows) for logger, rows in table.items()}


_TABLE = _by_logger()


def read(record: Record) -> tuple[events.Event | None, float | None]:
    """What one record means.

    Returns:
        The event, or None for a record that says nothing about internal requests; and, where the record is an access
        line whose own time is in UTC beside a local stamp, the stamp's offset east of UTC in seconds, else None.
    """
    logger = record.logger.rpartition(".")[2]
    if logger == "RestServer":
        access = access_log.parse(record.message)
        if access is not None:
            event, at = access
            offset_s = (
                (record.stamp - at.replace(tzinfo=None)).total_seconds() if at is not None and record.stamp else None
            )
            return event, offset_s
    rows = _TABLE.get(logger)
    if rows is None:
        return None, None
    message = record.message
    flow = ""
    prefix = _WORKER_PREFIX.match(message)
    if prefix is not None:
        message = message[prefix.end() :]
        flow = f"{prefix['client']}/" if "->" in prefix["client"] else ""
    for row in rows:
        match = row.text.match(message)
        if match is not None:
            return row.build(match, Context(record, flow)), None
    return None, None

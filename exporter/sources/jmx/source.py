"""One worker's MBeans as a source."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from exporter.connect.kafka_rules import normal_protocol
from exporter.connect.readings import ConnectorReading, JmxReading, TaskReading, Value
from exporter.errors import SourceError
from exporter.sources.jmx import object_name
from exporter.sources.jmx.catalogue import DOMAIN, ROWS_BY_BEAN, queries
from exporter.sources.jmx.transport import Bean, Target, Transport
from exporter.sources.source import SourceKind

_HOST_AND_PORT = re.compile(r".+:\d+")


class JmxSource:
    """Reads one target through a transport; see `Source`. The transport is shared and closed by its owner."""

    kind: SourceKind = "jmx"

    def __init__(self, target: Target, transport: Transport) -> None:
        """Nothing is connected yet."""
        self._target = target
        self._transport = transport
        self._queries = queries()

    def poll(self, deadline_s: float) -> JmxReading:
        """Read the catalogue's beans.

        Raises:
            SourceError: the worker could not be read, or is no Connect worker.
        """
        return reading(self._transport.read(self._target, self._queries, deadline_s), str(self._target))

    def close(self) -> None:
        """Nothing of its own to close."""


def reading(beans: tuple[Bean, ...], address: str) -> JmxReading:
    """What the beans of one worker say.

    Raises:
        SourceError: none of them is a Connect worker's.
    """
    worker_id = version = protocol = leader_url = None
    connectors: list[ConnectorReading] = []
    tasks: list[TaskReading] = []
    values: list[Value] = []
    seen_worker = False
    for bean, kind, keys in _of_connect(beans):
        match kind:
            case "app-info":
                worker_id, version = keys["id"], _text(bean, "Version")
            case "connect-worker-rebalance-metrics":
                seen_worker = True
                protocol = normal_protocol(_text(bean, "connect-protocol"))
                leader_url = _text(bean, "leader-name")
            case "connector-metrics":
                connectors.append(_connector(bean, keys.get("connector", "")))
            case "connector-task-metrics":
                tasks += _task(bean, keys)
        values += _values(bean, kind, keys)
    if not seen_worker:
        raise SourceError(
            "not_connect",
            f"The JVM at {address} answers, but has no MBeans of a distributed Connect worker.",
            "Check the port: it may be another program's; right after its start a worker has none yet.",
        )
    return JmxReading(
        worker_id,
        version,
        protocol,
        leader_url,
        tuple(replace(connector, worker_id=worker_id) for connector in connectors),
        tuple(replace(task, worker_id=worker_id) for task in tasks),
        tuple(values),
    )


def _of_connect(beans: tuple[Bean, ...]) -> Iterator[tuple[Bean, str, dict[str, str]]]:
    """(bean, type, other key properties) of Connect's own beans."""
    for bean in beans:
        try:
            domain, keys = object_name.parse(bean.name)
        except ValueError:
            continue  # not a name that Kafka writes
        kind = keys.pop("type", "")
        # `app-info,id="HOST:PORT"` is the worker; another app-info has its client id, before 3.7 unlike that.
        if domain == DOMAIN and (kind != "app-info" or _HOST_AND_PORT.fullmatch(keys.get("id", ""))):
            yield bean, kind, keys


def _text(bean: Bean, attribute: str) -> str | None:
    value = bean.attributes.get(attribute)
    return value if isinstance(value, str) and value else None


def _connector(bean: Bean, name: str) -> ConnectorReading:
    return ConnectorReading(
        name,
        (_text(bean, "status") or "unassigned").lower(),
        type=_text(bean, "connector-type"),
        class_name=_text(bean, "connector-class"),
        version=_text(bean, "connector-version"),
    )


def _task(bean: Bean, keys: dict[str, str]) -> list[TaskReading]:
    status, number = _text(bean, "status"), keys.get("task", "")
    return [TaskReading(keys.get("connector", ""), int(number), status.lower())] if status and number.isdigit() else []


def _values(bean: Bean, kind: str, keys: dict[str, str]) -> list[Value]:
    values = []
    for row in ROWS_BY_BEAN.get(kind, ()):
        raw = bean.attributes.get(row.attribute)
        if not isinstance(raw, float) or set(keys) != set(row.keys):
            continue
        converted = row.convert(raw)
        if converted is not None:
            values.append(Value(row.series, tuple((label, keys[label]) for label in row.labels), converted))
    return values

"""One worker's MBeans as a source."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from exporter.connect.kafka_rules import normal_protocol
from exporter.connect.readings import ConnectorReading, JmxReading, Labels, TaskReading, Value
from exporter.errors import SourceError
from exporter.sources.jmx.catalogue import ROWS_BY_BEAN, queries
from exporter.sources.jmx.transport import Bean, Target, Transport
from exporter.sources.source import SourceKind

_HOST_AND_PORT = re.compile(r"\S+:\d+")
_TASK_NUMBER = re.compile(r"[0-9]{1,9}")


class JmxSource:
    """Reads one target through a transport; see `Source`. The transport is shared and closed by its owner."""

    kind: SourceKind = "jmx"

    def __init__(self, target: Target, transport: Transport) -> None:
        """Nothing is connected yet."""
        self._target = target
        self._transport = transport
        self._queries = queries()

    def poll(self, deadline_s: float) -> JmxReading:
        """Read the catalogue's beans, in at most `deadline_s` seconds.

        Raises:
            SourceError: the worker could not be read (see `Transport.read`), or, with reason not_connect, is none.
        """
        return reading(self._transport.read(self._target, self._queries, deadline_s), str(self._target))

    def close(self) -> None:
        """Nothing of its own to close."""


def reading(beans: Sequence[Bean], address: str) -> JmxReading:
    """What the beans of one worker say.

    Raises:
        SourceError: none of them is a distributed Connect worker's; reason not_connect.
    """
    of_type: dict[str, list[Bean]] = {}
    beans = sorted(beans, key=lambda bean: bean.name)
    for bean in beans:
        of_type.setdefault(bean.keys.get("type", ""), []).append(bean)
    rebalance = of_type.get("connect-worker-rebalance-metrics")
    if not rebalance:
        raise SourceError(
            "not_connect",
            f"The JVM at {address} answers, but has no MBeans of a distributed Connect worker.",
            "Check the port: it may be another program's; right after its start a worker has none yet.",
        )
    infos = {bean.keys.get("id", ""): bean for bean in of_type.get("app-info", ())}
    worker_id = _worker_id(infos, {b.keys.get("client-id", "") for b in of_type.get("connect-coordinator-metrics", ())})
    # MirrorMaker 2 has no bean of its advertised address, but the version of its clients is its own.
    info = infos.get(worker_id) if worker_id is not None else next(iter(infos.values()), None)
    numbers = [bean for bean in beans if bean.keys.get("type") != "app-info"]
    return JmxReading(
        worker_id,
        _text(info, "Version") if info is not None else None,
        normal_protocol(_text(rebalance[0], "connect-protocol")),
        _text(rebalance[0], "leader-name"),
        tuple(_connector(bean, worker_id) for bean in of_type.get("connector-metrics", ())),
        tuple(task for bean in of_type.get("connector-task-metrics", ()) for task in _task(bean, worker_id)),
        _values(numbers if info is None else [info, *numbers]),
    )


def _worker_id(ids: Iterable[str], client_ids: set[str]) -> str | None:
    """The advertised host:port among the ids of app-info.

    The worker's client has an app-info too; from Kafka 3.7 on its id is `connect-HOST:PORT`, which looks the same. The
    coordinator's bean tells which id is the client's.
    """
    addresses = sorted(one for one in ids if _HOST_AND_PORT.fullmatch(one))
    return next((one for one in addresses if one not in client_ids), addresses[0] if addresses else None)


def _text(bean: Bean, attribute: str) -> str | None:
    value = bean.attributes.get(attribute)
    return value if isinstance(value, str) and value else None


def _connector(bean: Bean, worker_id: str | None) -> ConnectorReading:
    return ConnectorReading(
        bean.keys.get("connector", ""),
        (_text(bean, "status") or "unassigned").lower(),  # what Kafka writes before the start
        worker_id,
        _text(bean, "connector-type"),
        _text(bean, "connector-class"),
        _text(bean, "connector-version"),
    )


def _task(bean: Bean, worker_id: str | None) -> list[TaskReading]:
    status, number = _text(bean, "status"), bean.keys.get("task", "")
    if status is None or not _TASK_NUMBER.fullmatch(number):
        return []
    return [TaskReading(bean.keys.get("connector", ""), int(number), status.lower(), worker_id)]


def _values(beans: Iterable[Bean]) -> tuple[Value, ...]:
    """The numbers of the catalogue; those of beans that differ in nothing users see add up.

    MirrorMaker 2 has a coordinator, thus a share of assigned connectors, per flow.
    """
    sums: dict[tuple[str, Labels], float] = {}
    for bean in beans:
        for row in ROWS_BY_BEAN.get(bean.keys.get("type", ""), ()):
            raw = bean.attributes.get(row.attribute)
            if not isinstance(raw, float) or bean.keys.keys() - {"type"} != set(row.keys):
                continue
            number = row.convert(raw)
            if number is not None:
                key = (row.series, tuple((label, bean.keys[label]) for label in row.labels))
                sums[key] = sums.get(key, 0.0) + number
    return tuple(Value(series, labels, number) for (series, labels), number in sums.items())

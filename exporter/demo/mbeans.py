"""Which MBeans a simulated worker shows, and their values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from exporter.demo import templates
from exporter.demo.state import ConnectorState, GroupState, WorkerState

_WHOLE = re.compile(r"<<(\w+)>>")


@dataclass(frozen=True, slots=True)
class Value:
    """The value of an attribute, and how it goes on by itself."""

    declared: str
    java_class: str
    value: str | float
    per_s: float = 0.0
    """How much it grows each second."""


Beans = Mapping[str, Mapping[str, Value]]
"""Object name -> attribute name -> value."""


@dataclass(frozen=True, slots=True)
class _Number:
    value: float
    per_s: float = 0.0


def beans_of(state: GroupState, worker: WorkerState, now_s: float) -> Beans:
    """Everything a running worker shows over JMX.

    Args:
        state: the cluster now.
        worker: one of its workers.
        now_s: seconds since the epoch.
    """
    connectors = [c for c in state.connectors.values() if c.host == worker.name]
    tasks = [c for c in state.connectors.values() if c.task_host == worker.name]
    since_s = max(now_s - worker.last_rebalance_s, 0.0)
    joined = worker.rebalances > 0
    values: dict[str, str | _Number] = {
        "worker": worker.host_port,
        "start_ms": _Number(round(worker.started_at_s * 1000)),
        "rebalances": _Number(worker.rebalances),
        "generation": _Number(state.generation if joined else 0),
        # Before it has joined a worker knows no leader, yet shows the protocol it is configured for.
        "leader_url": f"http://{state.leader.host_port}/" if joined else "",
        "protocol": "SESSIONED",
        "since_rebalance_ms": _Number(since_s * 1000, per_s=1000) if joined else _Number(float("inf")),
        "since_rebalance_s": _Number(since_s, per_s=1) if joined else _Number(-1),
        "connector_count": _Number(len(connectors)),
        "connector_starts": _Number(worker.connector_starts),
        "task_count": _Number(len(tasks)),
    }
    beans: dict[str, Mapping[str, Value]] = {}
    beans.update(_filled("worker", values))
    for connector in connectors:
        beans.update(_filled("connector", {**values, "connector": connector.name}))
    for connector in tasks:
        own = {**values, **_task_values(connector, now_s)}
        beans.update(_filled("connector_tasks", own))
        beans.update(_filled("task", own))
    return beans


def _task_values(connector: ConnectorState, now_s: float) -> dict[str, str | _Number]:
    age_s = max(now_s - connector.task_started_at_s, 0.0)
    return {
        "connector": connector.name,
        "start_ms": _Number(round(connector.task_started_at_s * 1000)),
        "records": _Number(age_s * connector.records_per_s, per_s=connector.records_per_s),
        "records_per_s": _Number(connector.records_per_s),
    }


def _filled(kind: str, values: Mapping[str, str | _Number]) -> Beans:
    texts = {name: value for name, value in values.items() if isinstance(value, str)}
    return {
        templates.fill(name, texts): {
            attribute: _value(template, values, texts) for attribute, template in attributes.items()
        }
        for name, attributes in templates.beans(kind).items()
    }


def _value(template: templates.Attribute, values: Mapping[str, str | _Number], texts: Mapping[str, str]) -> Value:
    raw = template.value
    if isinstance(raw, str):
        whole = _WHOLE.fullmatch(raw)
        number = values[whole[1]] if whole else None
        if isinstance(number, _Number):
            return Value(template.declared, template.java_class, number.value, number.per_s)
        raw = templates.fill(raw, texts)
    return Value(template.declared, template.java_class, raw)

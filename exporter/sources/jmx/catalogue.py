"""The MBeans of a Connect worker as data: one row per attribute. A new MBean attribute is a new row here.

Source: KAFKA.md §4, from Kafka's ConnectMetricsRegistry; connector-task-metrics has an attribute whose class a remote
client lacks (Kafka 4.3.1 and later), therefore attributes are asked for by name.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from exporter.sources.jmx.transport import BeanQuery

Unit = Literal["", "ms"]
_FACTORS: dict[Unit, float] = {"": 1.0, "ms": 0.001}

DOMAIN = "kafka.connect"


@dataclass(frozen=True, slots=True)
class Row:
    """One numeric attribute.

    Attributes:
        bean: value of the key property `type`.
        keys: key properties that the beans have besides `type`.
        attribute: as Kafka names it.
        series: full metric name.
        labels: label names besides connect_cluster and worker: those of `keys` that users know.
        help: HELP; names the bean.
    """

    bean: str
    keys: tuple[str, ...]
    attribute: str
    series: str
    kind: Literal["counter", "gauge"]
    unit: Unit
    labels: tuple[str, ...]
    help: str

    def convert(self, value: float) -> float | None:
        """The value in base units; None for NaN and infinities, which Kafka uses for "nothing yet"."""
        return value * _FACTORS[self.unit] if math.isfinite(value) else None


def _row(  # noqa: PLR0917 - a row of a table
    bean: str,
    keys: str,
    attribute: str,
    name: str,
    text: str,
    kind: Literal["counter", "gauge"] = "gauge",
    unit: Unit = "",
) -> Row:
    labels = tuple(key for key in keys.split() if key in ("connector", "task"))
    series = f"kafka_connect_{name}"
    return Row(bean, tuple(keys.split()), attribute, series, kind, unit, labels, f"{text} ({bean} {attribute}).")


_WORKER = "connect-worker-metrics"
_REBALANCE = "connect-worker-rebalance-metrics"
_COORDINATOR = "connect-coordinator-metrics"
_TASK = "connector-task-metrics"
_DEAD = " Stays 0 on Kafka 3.4 and later"

CATALOGUE: tuple[Row, ...] = (
    _row(_WORKER, "", "connector-count", "worker_connectors", "Connectors that run in the worker"),
    _row(_WORKER, "", "task-count", "worker_tasks", "Tasks that run in the worker"),
    _row(
        _WORKER,
        "",
        "connector-startup-attempts-total",
        "worker_connector_startup_attempts_total",
        "Connector start-ups attempted",
        "counter",
    ),
    _row(
        _WORKER,
        "",
        "connector-startup-success-total",
        "worker_connector_startup_successes_total",
        "Connector start-ups that succeeded",
        "counter",
    ),
    _row(
        _WORKER,
        "",
        "connector-startup-failure-total",
        "worker_connector_startup_failures_total",
        "Connector start-ups that failed",
        "counter",
    ),
    _row(
        _WORKER,
        "",
        "task-startup-attempts-total",
        "worker_task_startup_attempts_total",
        f"Task start-ups attempted.{_DEAD}",
        "counter",
    ),
    _row(
        _WORKER,
        "",
        "task-startup-success-total",
        "worker_task_startup_successes_total",
        f"Task start-ups that succeeded.{_DEAD}",
        "counter",
    ),
    _row(
        _WORKER,
        "",
        "task-startup-failure-total",
        "worker_task_startup_failures_total",
        f"Task start-ups that failed.{_DEAD}",
        "counter",
    ),
    _row(_REBALANCE, "", "epoch", "worker_rebalance_epoch", "Generation of the group this worker knows"),
    _row(
        _REBALANCE,
        "",
        "completed-rebalances-total",
        "worker_rebalances_completed_total",
        "Rebalances completed by the worker",
        "counter",
    ),
    _row(_REBALANCE, "", "rebalancing", "worker_rebalancing", "1 while the worker rebalances"),
    _row(
        _REBALANCE,
        "",
        "rebalance-avg-time-ms",
        "worker_rebalance_avg_seconds",
        "Average duration of rebalances",
        unit="ms",
    ),
    _row(
        _REBALANCE,
        "",
        "rebalance-max-time-ms",
        "worker_rebalance_max_seconds",
        "Longest duration of rebalances",
        unit="ms",
    ),
    _row(
        _REBALANCE,
        "",
        "time-since-last-rebalance-ms",
        "worker_last_rebalance_age_seconds",
        "Time since the last rebalance was completed",
        unit="ms",
    ),
    _row(
        _COORDINATOR,
        "client-id",
        "assigned-connectors",
        "worker_assigned_connectors",
        "Connectors assigned to the worker",
    ),
    _row(_COORDINATOR, "client-id", "assigned-tasks", "worker_assigned_tasks", "Tasks assigned to the worker"),
    _row(
        "app-info",
        "id",
        "StartTimeMs",
        "worker_start_time_seconds",
        "When the worker started, seconds since the epoch",
        unit="ms",
    ),
    _row(_TASK, "connector task", "running-ratio", "task_running_ratio", "Share of time the task ran"),
    _row(_TASK, "connector task", "pause-ratio", "task_pause_ratio", "Share of time the task was paused"),
    _row(
        _TASK,
        "connector task",
        "offset-commit-max-time-ms",
        "task_offset_commit_max_seconds",
        "Longest offset commit",
        unit="ms",
    ),
    _row(
        _TASK,
        "connector task",
        "offset-commit-avg-time-ms",
        "task_offset_commit_avg_seconds",
        "Average offset commit",
        unit="ms",
    ),
    _row(
        _TASK,
        "connector task",
        "offset-commit-failure-percentage",
        "task_offset_commit_failure_ratio",
        "Share of offset commits that failed",
    ),
    _row(
        _TASK,
        "connector task",
        "offset-commit-success-percentage",
        "task_offset_commit_success_ratio",
        "Share of offset commits that succeeded",
    ),
    _row(_TASK, "connector task", "batch-size-max", "task_batch_size_max", "Largest batch in records"),
    _row(_TASK, "connector task", "batch-size-avg", "task_batch_size_avg", "Average batch in records"),
)

# Texts that become states and info series, by bean type.
TEXTS: dict[str, tuple[str, ...]] = {
    _REBALANCE: ("connect-protocol", "leader-name"),
    "connector-metrics": ("status", "connector-type", "connector-class", "connector-version"),
    _TASK: ("status",),
    "app-info": ("Version",),
}

ROWS_BY_BEAN: dict[str, tuple[Row, ...]] = {
    bean: tuple(row for row in CATALOGUE if row.bean == bean) for bean in {row.bean: None for row in CATALOGUE}
}


def queries() -> tuple[BeanQuery, ...]:
    """What to ask a worker for."""
    beans = dict.fromkeys([*ROWS_BY_BEAN, *TEXTS])
    return tuple(
        BeanQuery(
            f"{DOMAIN}:type={bean},*",
            (*(row.attribute for row in ROWS_BY_BEAN.get(bean, ())), *TEXTS.get(bean, ())),
        )
        for bean in beans
    )

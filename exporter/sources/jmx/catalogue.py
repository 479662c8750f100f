"""The MBeans of a Connect worker as data: one row per attribute. A new MBean attribute is a new row here.

Source: KAFKA.md §4, from Kafka's ConnectMetricsRegistry, checked on recordings of 2.8.2, 3.9.2 and 4.4.0. Every attribute
stands in every such bean since Kafka 2.4, and must: for each one that a bean lacks, the worker logs a WARN with a trace at
each poll (JmxReporter.getAttributes). Bean info is not asked for: from Kafka 4.3.1 on connector-task-metrics has
`connector-type`, whose class a remote client lacks, and with it the reading of the whole bean fails.
Percentages are shares from 0 to 1 already (Frequencies.forBooleanValues); rates are left out where there is a total.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from exporter.sources.jmx.transport import BeanQuery

Unit = Literal["", "ms", "epoch ms"]

DOMAIN = "kafka.connect"


@dataclass(frozen=True, slots=True)
class Row:
    """One numeric attribute.

    Attributes:
        bean: value of the key property `type`.
        keys: key properties that the beans have besides `type`.
        attribute: as Kafka names it.
        series: full metric name; a counter's ends in `_total`.
        kind: "counter" or "gauge".
        unit: what Kafka counts in; "epoch ms" is 0 for "never".
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
        """The value in base units; None for what Kafka writes for "nothing yet": NaN, infinities, time stamp 0."""
        if not math.isfinite(value) or (self.unit == "epoch ms" and value == 0):
            return None
        return value / 1000 if self.unit else value


# Key properties of the beans besides `type`, by type: asked for exactly, so that `connect-worker-metrics,connector=C`,
# which has other attributes, is not read with connect-worker-metrics.
_KEYS: dict[str, tuple[str, ...]] = {
    "app-info": ("id",),
    "connect-worker-metrics": (),
    "connect-worker-rebalance-metrics": (),
    "connect-coordinator-metrics": ("client-id",),
    "connector-metrics": ("connector",),
    "connector-task-metrics": ("connector", "task"),
    "source-task-metrics": ("connector", "task"),
    "sink-task-metrics": ("connector", "task"),
    "task-error-metrics": ("connector", "task"),
}

# Texts that become states and info series, by bean type.
_TEXTS: dict[str, tuple[str, ...]] = {
    "connect-worker-rebalance-metrics": ("connect-protocol", "leader-name"),
    "connector-metrics": ("status", "connector-type", "connector-class", "connector-version"),
    "connector-task-metrics": ("status",),
    "app-info": ("Version",),
}


def _row(bean: str, attribute: str, name: str, text: str, unit: Unit = "") -> Row:
    keys = _KEYS[bean]
    return Row(
        bean,
        keys,
        attribute,
        f"kafka_connect_{name}",
        "counter" if name.endswith("_total") else "gauge",
        unit,
        tuple(key for key in keys if key in {"connector", "task"}),
        f"{text} ({bean} {attribute}).",
    )


_WORKER, _REBALANCE, _COORDINATOR = (
    "connect-worker-metrics",
    "connect-worker-rebalance-metrics",
    "connect-coordinator-metrics",
)
_TASK, _SOURCE, _SINK, _ERROR = (
    "connector-task-metrics",
    "source-task-metrics",
    "sink-task-metrics",
    "task-error-metrics",
)
_DEAD = "; stays 0 on Kafka 3.4 and later"

# fmt: off
CATALOGUE: tuple[Row, ...] = (
    _row(_WORKER, "connector-count", "worker_connectors", "Connectors that run in the worker"),
    _row(_WORKER, "task-count", "worker_tasks", "Tasks that run in the worker"),
    _row(_WORKER, "connector-startup-attempts-total", "worker_connector_startup_attempts_total", "Connector start-ups attempted"),
    _row(_WORKER, "connector-startup-success-total", "worker_connector_startup_successes_total", "Connector start-ups that succeeded"),
    _row(_WORKER, "connector-startup-failure-total", "worker_connector_startup_failures_total", "Connector start-ups that failed"),
    _row(_WORKER, "task-startup-attempts-total", "worker_task_startup_attempts_total", f"Task start-ups attempted{_DEAD}"),
    _row(_WORKER, "task-startup-success-total", "worker_task_startup_successes_total", f"Task start-ups that succeeded{_DEAD}"),
    _row(_WORKER, "task-startup-failure-total", "worker_task_startup_failures_total", f"Task start-ups that failed{_DEAD}"),
    _row(_REBALANCE, "epoch", "worker_rebalance_epoch", "Generation of the group that this worker knows"),
    _row(_REBALANCE, "completed-rebalances-total", "worker_rebalances_completed_total", "Rebalances that the worker completed"),
    _row(_REBALANCE, "rebalancing", "worker_rebalancing", "1 while the worker rebalances"),
    _row(_REBALANCE, "rebalance-avg-time-ms", "worker_rebalance_avg_seconds", "Average duration of rebalances", "ms"),
    _row(_REBALANCE, "rebalance-max-time-ms", "worker_rebalance_max_seconds", "Longest duration of a rebalance", "ms"),
    _row(_REBALANCE, "time-since-last-rebalance-ms", "worker_last_rebalance_age_seconds", "Time since the worker completed a rebalance", "ms"),
    _row(_COORDINATOR, "assigned-connectors", "worker_assigned_connectors", "Connectors assigned to the worker"),
    _row(_COORDINATOR, "assigned-tasks", "worker_assigned_tasks", "Tasks assigned to the worker"),
    _row("app-info", "StartTimeMs", "worker_start_time_seconds", "When the worker started, seconds since the epoch", "epoch ms"),

    _row(_TASK, "running-ratio", "task_running_ratio", "Share of time in which the task ran"),
    _row(_TASK, "pause-ratio", "task_pause_ratio", "Share of time in which the task was paused"),
    _row(_TASK, "offset-commit-max-time-ms", "task_offset_commit_max_seconds", "Longest offset commit", "ms"),
    _row(_TASK, "offset-commit-avg-time-ms", "task_offset_commit_avg_seconds", "Average duration of offset commits", "ms"),
    _row(_TASK, "offset-commit-failure-percentage", "task_offset_commit_failure_ratio", "Share of offset commits that failed"),
    _row(_TASK, "offset-commit-success-percentage", "task_offset_commit_success_ratio", "Share of offset commits that succeeded"),
    _row(_TASK, "batch-size-max", "task_batch_size_max", "Records in the largest batch"),
    _row(_TASK, "batch-size-avg", "task_batch_size_avg", "Average number of records in a batch"),

    _row(_SOURCE, "source-record-poll-total", "source_task_source_record_poll_total", "Records polled, before transformations"),
    _row(_SOURCE, "source-record-write-total", "source_task_source_record_write_total", "Records written to Kafka; from 3.5 on without those that transformations drop"),
    _row(_SOURCE, "source-record-active-count", "source_task_source_record_active_count", "Records polled and not yet written to Kafka"),
    _row(_SOURCE, "source-record-active-count-max", "source_task_source_record_active_count_max", "Most records polled and not yet written to Kafka"),
    _row(_SOURCE, "source-record-active-count-avg", "source_task_source_record_active_count_avg", "Average of records polled and not yet written to Kafka"),
    _row(_SOURCE, "poll-batch-max-time-ms", "source_task_poll_batch_max_seconds", "Longest poll for a batch", "ms"),
    _row(_SOURCE, "poll-batch-avg-time-ms", "source_task_poll_batch_avg_seconds", "Average duration of polls for a batch", "ms"),

    _row(_SINK, "sink-record-read-total", "sink_task_sink_record_read_total", "Records read from Kafka, before transformations"),
    _row(_SINK, "sink-record-send-total", "sink_task_sink_record_send_total", "Records given to the task, after transformations"),
    _row(_SINK, "sink-record-active-count", "sink_task_sink_record_active_count", "Records read and not yet committed"),
    _row(_SINK, "sink-record-active-count-max", "sink_task_sink_record_active_count_max", "Most records read and not yet committed"),
    _row(_SINK, "sink-record-active-count-avg", "sink_task_sink_record_active_count_avg", "Average of records read and not yet committed"),
    _row(_SINK, "partition-count", "sink_task_partition_count", "Partitions assigned to the task"),
    _row(_SINK, "offset-commit-seq-no", "sink_task_offset_commit_seq_no", "Number of the current offset commit"),
    _row(_SINK, "offset-commit-completion-total", "sink_task_offset_commit_completion_total", "Offset commits completed"),
    _row(_SINK, "offset-commit-skip-total", "sink_task_offset_commit_skip_total", "Offset commits that came too late and were skipped"),
    _row(_SINK, "put-batch-max-time-ms", "sink_task_put_batch_max_seconds", "Longest put of a batch", "ms"),
    _row(_SINK, "put-batch-avg-time-ms", "sink_task_put_batch_avg_seconds", "Average duration of puts of a batch", "ms"),

    _row(_ERROR, "total-record-failures", "task_error_record_failures_total", "Record operations that failed"),
    _row(_ERROR, "total-record-errors", "task_error_record_errors_total", "Records that could not be processed"),
    _row(_ERROR, "total-records-skipped", "task_error_records_skipped_total", "Records skipped because of errors"),
    _row(_ERROR, "total-retries", "task_error_retries_total", "Record operations retried; not the retries of a task reconfiguration"),
    _row(_ERROR, "total-errors-logged", "task_error_errors_logged_total", "Errors logged"),
    _row(_ERROR, "deadletterqueue-produce-requests", "task_error_deadletterqueue_produce_requests_total", "Records sent to the dead letter queue"),
    _row(_ERROR, "deadletterqueue-produce-failures", "task_error_deadletterqueue_produce_failures_total", "Records that the dead letter queue did not take"),
    _row(_ERROR, "last-error-timestamp", "task_error_last_error_timestamp_seconds", "When the task last met an error; absent before the first", "epoch ms"),
)
# fmt: on

ROWS_BY_BEAN: dict[str, tuple[Row, ...]] = {bean: tuple(row for row in CATALOGUE if row.bean == bean) for bean in _KEYS}


def queries() -> tuple[BeanQuery, ...]:
    """What to ask a worker for."""
    return tuple(
        BeanQuery(
            ",".join((f"{DOMAIN}:type={bean}", *(f"{key}=*" for key in keys))),
            (*(row.attribute for row in ROWS_BY_BEAN[bean]), *_TEXTS.get(bean, ())),
        )
        for bean, keys in _KEYS.items()
    )

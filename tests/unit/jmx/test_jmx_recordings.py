"""What the JMX source makes of the MBeans of real workers."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from exporter.connect.readings import ConnectorReading, JmxReading, TaskReading
from exporter.sources.jmx.catalogue import queries
from exporter.sources.jmx.source import JmxSource
from exporter.sources.jmx.transport import AttributeValue, Bean, BeanQuery, Target, beans

DATA = Path(__file__).parents[2] / "data" / "jmx"
RECORDINGS = ("2.8.2-s1", "2.8.2-s9", "3.9.2-s1", "4.4.0-s1", "4.4.0-s9")
WORKERS = [(recording, worker) for recording in RECORDINGS for worker in ("w1", "w2")]

Attributes = dict[str, AttributeValue | dict[str, str]]


class Replay:
    """A transport that answers from a recording; asking for what a bean lacks or cannot tell is a fault."""

    def __init__(self, recording: str, worker: str) -> None:
        self.beans: dict[str, Attributes] = json.loads((DATA / f"{recording}.json").read_text())[worker]

    def matching(self, query: BeanQuery) -> dict[str, Attributes]:
        """The beans that have the keys of the pattern, and no others."""
        return {name: bean for name, bean in self.beans.items() if _matches(name, query.pattern)}

    def read(self, target: Target, queries: Sequence[BeanQuery], deadline_s: float) -> tuple[Bean, ...]:
        """See `Transport.read`."""
        del target, deadline_s
        return beans(
            (name, {attribute: _told(bean[attribute]) for attribute in query.attributes})
            for query in queries
            for name, bean in self.matching(query).items()
        )

    def close(self) -> None:
        """Nothing to close."""


def _matches(name: str, pattern: str) -> bool:
    """Names in these recordings have no comma in a value, so that plain splitting is right."""

    def parts(text: str) -> dict[str, str]:
        domain, _, keys = text.partition(":")
        return {"": domain, **dict(key.split("=", 1) for key in keys.split(","))}

    have, want = parts(name), parts(pattern)
    return have.keys() == want.keys() and all(value in {"*", have[key]} for key, value in want.items())


def _told(value: AttributeValue | dict[str, str]) -> AttributeValue:
    assert not isinstance(value, dict), value
    return value


def poll(recording: str, worker: str) -> JmxReading:
    """The reading of one recorded worker."""
    return JmxSource(Target("127.0.0.1", 9999), Replay(recording, worker)).poll(1.0)


@pytest.mark.parametrize(("recording", "worker"), WORKERS)
def test_every_attribute_asked_for_is_there(recording: str, worker: str) -> None:
    """No bean of any version lacks or withholds an attribute of the catalogue: each would cost a WARN per poll."""
    replay = Replay(recording, worker)
    missing = [
        (name, attribute)
        for query in queries()
        for name, bean in replay.matching(query).items()
        for attribute in query.attributes
        if attribute not in bean or isinstance(bean[attribute], dict)
    ]

    assert missing == []


def test_every_bean_type_of_the_catalogue_was_recorded() -> None:
    """The check above covers all of the catalogue: each pattern matches a bean of 2.8.2 and of 4.4.0."""
    for version in ("2.8.2", "4.4.0"):
        replays = [Replay(recording, w) for recording, w in WORKERS if recording.startswith(version)]
        for query in queries():
            assert any(replay.matching(query) for replay in replays), (version, query.pattern)


@pytest.mark.parametrize(
    ("recording", "worker", "identity"),
    [
        ("2.8.2-s1", "w1", ("127.0.0.1:29083", "2.8.2", "http://127.0.0.1:29083/")),
        ("2.8.2-s1", "w2", ("127.0.0.1:29084", "2.8.2", "http://127.0.0.1:29083/")),
        ("3.9.2-s1", "w1", ("127.0.0.1:8083", "3.9.2", "http://127.0.0.1:8083/")),
        ("3.9.2-s1", "w2", ("127.0.0.1:8084", "3.9.2", "http://127.0.0.1:8083/")),
        ("4.4.0-s1", "w1", ("127.0.0.1:28083", "4.4.0", "http://127.0.0.1:28083/")),
        ("4.4.0-s1", "w2", ("127.0.0.1:28084", "4.4.0", "http://127.0.0.1:28083/")),
    ],
)
def test_who_the_worker_is(recording: str, worker: str, identity: tuple[str, str, str]) -> None:
    """Address, version and leader; from 3.7 on the client's own app-info looks like an address and is not taken."""
    reading = poll(recording, worker)

    assert (reading.worker_id, reading.version, reading.leader_url) == identity
    assert reading.connect_protocol == "sessioned"


# What `GET /connectors?expand=status` said at the same time, by worker: connectors and states, tasks and states.
HOSTED = [
    ("2.8.2-s1", "w1", "billing.events running", ""),
    ("2.8.2-s1", "w2", "audit_log running, orders-source running", "billing.events 0 running"),
    ("3.9.2-s1", "w1", "src-0 running, src-2 running", "src-0 0 running"),
    ("3.9.2-s1", "w2", "src-1 running, src-3 running", "src-2 0 running"),
    ("4.4.0-s1", "w1", "audit_log running, orders-source running", "orders-source 0 running"),
    ("4.4.0-s1", "w2", "billing.events running", "audit_log 0 running"),
    (
        "2.8.2-s9",
        "w1",
        "not-a-converter running, start-fails failed, task-poll-fails running, taskconfigs-fails running",
        # REST has a failed task of not-a-converter too: it was never built, so it has no bean.
        "ok 1 running, task-poll-fails 1 failed, task-start-fails 1 failed",
    ),
    (
        "2.8.2-s9",
        "w2",
        "mm2-idle running, ok running, sink-bad-file running, task-start-fails running, zero-tasks running",
        "ok 0 running, sink-bad-file 0 failed, task-poll-fails 0 failed, task-start-fails 0 failed",
    ),
    (
        "4.4.0-s9",
        "w1",
        "ok running, sink-bad-file running, task-start-fails running, zero-tasks running",
        "ok 0 running, sink-bad-file 0 failed, task-poll-fails 0 failed, task-start-fails 0 failed",
    ),
    (
        "4.4.0-s9",
        "w2",
        "start-fails failed, task-poll-fails running, taskconfigs-fails running",
        "ok 1 running, task-poll-fails 1 failed, task-start-fails 1 failed",
    ),
]


@pytest.mark.parametrize(("recording", "worker", "connectors", "tasks"), HOSTED)
def test_what_the_worker_hosts(recording: str, worker: str, connectors: str, tasks: str) -> None:
    """Connectors and tasks with their states, as REST told them of this worker at the same time."""
    reading = poll(recording, worker)

    assert ", ".join(f"{c.name} {c.state}" for c in reading.connectors) == connectors
    assert ", ".join(f"{t.connector} {t.task} {t.state}" for t in reading.tasks) == tasks
    hosts = [*(c.worker_id for c in reading.connectors), *(t.worker_id for t in reading.tasks)]
    assert set(hosts) == {reading.worker_id}


def test_a_connector_and_a_task_in_full() -> None:
    """Class, type and version of a connector are the bean's; connector and task carry the worker's own address."""
    reading = poll("4.4.0-s1", "w2")

    assert reading.connectors == (
        ConnectorReading(
            "billing.events",
            "running",
            "127.0.0.1:28084",
            "source",
            "org.apache.kafka.connect.file.FileStreamSourceConnector",
            "4.3.1",
        ),
    )
    assert reading.tasks == (TaskReading("audit_log", 0, "running", "127.0.0.1:28084"),)


def test_the_worker_s_numbers() -> None:
    """Every number of a worker in base units; what is NaN (no rebalance lately) is absent."""
    values = {v.series: v.value for v in poll("4.4.0-s1", "w2").values if not v.labels}

    assert values == {
        "kafka_connect_worker_connectors": 1.0,
        "kafka_connect_worker_tasks": 1.0,
        "kafka_connect_worker_connector_startup_attempts_total": 1.0,
        "kafka_connect_worker_connector_startup_successes_total": 1.0,
        "kafka_connect_worker_connector_startup_failures_total": 0.0,
        "kafka_connect_worker_task_startup_attempts_total": 0.0,
        "kafka_connect_worker_task_startup_successes_total": 0.0,
        "kafka_connect_worker_task_startup_failures_total": 0.0,
        "kafka_connect_worker_rebalance_epoch": 7.0,
        "kafka_connect_worker_rebalances_completed_total": 6.0,
        "kafka_connect_worker_rebalancing": 0.0,
        "kafka_connect_worker_last_rebalance_age_seconds": 77.025,
        "kafka_connect_worker_assigned_connectors": 1.0,
        "kafka_connect_worker_assigned_tasks": 1.0,
        "kafka_connect_worker_start_time_seconds": 1796073653.183,
    }


def test_the_numbers_of_a_task_that_failed() -> None:
    """A sink's numbers carry connector and task; the time of an error that never was is absent."""
    labels = (("connector", "sink-bad-file"), ("task", "0"))
    values = {v.series: v.value for v in poll("4.4.0-s9", "w1").values if v.labels == labels}

    assert values.pop("kafka_connect_task_running_ratio") == 0.0019381096970088507
    assert values.keys() == {
        *(f"kafka_connect_task_{name}" for name in ("pause_ratio", "offset_commit_failure_ratio")),
        "kafka_connect_task_offset_commit_success_ratio",
        *(f"kafka_connect_sink_task_sink_record_{name}" for name in ("read_total", "send_total", "active_count")),
        *(f"kafka_connect_sink_task_offset_commit_{name}" for name in ("seq_no", "completion_total", "skip_total")),
        "kafka_connect_sink_task_partition_count",
        *(f"kafka_connect_task_error_{name}_total" for name in ("record_failures", "record_errors", "records_skipped")),
        *(f"kafka_connect_task_error_{name}_total" for name in ("retries", "errors_logged")),
        *(f"kafka_connect_task_error_deadletterqueue_produce_{name}_total" for name in ("requests", "failures")),
    }
    assert set(values.values()) == {0.0}


@pytest.mark.parametrize(("recording", "worker"), WORKERS)
def test_no_series_twice_and_no_number_that_is_none(recording: str, worker: str) -> None:
    """Each series stands once, is finite, and is there for every finite number that was asked for."""
    replay = Replay(recording, worker)
    values = poll(recording, worker).values

    assert len({(v.series, v.labels) for v in values}) == len(values)
    assert all(math.isfinite(v.value) for v in values)
    numbers = [
        value
        for query in queries()
        for name, bean in replay.matching(query).items()
        if "app-info" not in name
        for attribute in query.attributes
        if isinstance(value := bean[attribute], float) and math.isfinite(value) and attribute != "last-error-timestamp"
    ]
    assert len([v for v in values if not v.series.endswith("start_time_seconds")]) == len(numbers)

"""The catalogue as a table: names, kinds and units agree with one another."""

from __future__ import annotations

import math
import re

from exporter.sources.jmx.catalogue import CATALOGUE, queries


def test_names_are_prometheus_names() -> None:
    """Series are unique and well formed; counters, and they alone, end in _total; no unit but a base unit."""
    assert len({row.series for row in CATALOGUE}) == len(CATALOGUE)
    for row in CATALOGUE:
        assert re.fullmatch(r"kafka_connect_[a-z][a-z_]*[a-z]", row.series), row
        assert row.series.endswith("_total") == (row.kind == "counter"), row
        assert not re.search(r"_(ms|percentage|rate)(_|$)", row.series), row
        assert row.series.endswith("_seconds") == bool(row.unit), row
        assert (row.unit == "ms") == bool(re.search(r"-ms$", row.attribute)), row


def test_help_names_its_source() -> None:
    """HELP is a sentence that names bean and attribute."""
    for row in CATALOGUE:
        assert row.help.endswith(f"({row.bean} {row.attribute})."), row


def test_help_warns_of_counters_that_stand_still() -> None:
    """Task start-up counters stay 0 from Kafka 3.4 on, and say so."""
    rows = [row for row in CATALOGUE if row.attribute.startswith("task-startup-")]

    assert len(rows) == 3
    assert all("stays 0 on Kafka 3.4 and later" in row.help for row in rows)


def test_labels_are_those_of_tasks() -> None:
    """Only connector and task become labels; a client id never does."""
    assert {row.labels for row in CATALOGUE} == {(), ("connector", "task")}


def test_units() -> None:
    """Milliseconds become seconds; NaN, infinity and the time 0 become nothing."""
    by_series = {row.series: row for row in CATALOGUE}
    duration = by_series["kafka_connect_worker_rebalance_max_seconds"]
    stamp = by_series["kafka_connect_task_error_last_error_timestamp_seconds"]
    count = by_series["kafka_connect_worker_tasks"]

    assert [duration.convert(x) for x in (1500.0, 0.0, math.nan, math.inf)] == [1.5, 0.0, None, None]
    assert [stamp.convert(x) for x in (1_800_000_000_500.0, 0.0)] == [1_800_000_000.5, None]
    assert [count.convert(x) for x in (3.0, 0.0)] == [3.0, 0.0]


def test_the_attribute_that_breaks_a_reading_is_not_asked_for() -> None:
    """connector-task-metrics has connector-type from Kafka 4.3.1 on: nobody may ask for it."""
    (tasks,) = [query for query in queries() if "type=connector-task-metrics" in query.pattern]

    assert tasks.pattern == "kafka.connect:type=connector-task-metrics,connector=*,task=*"
    assert "connector-type" not in tasks.attributes
    assert "status" in tasks.attributes

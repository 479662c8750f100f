"""What the JMX source makes of beans that recordings do not have."""

from __future__ import annotations

import math

import pytest

from exporter.connect.readings import Value
from exporter.errors import SourceError
from exporter.sources.jmx.source import reading
from exporter.sources.jmx.transport import AttributeValue, Bean, Target, beans

REBALANCE = "kafka.connect:type=connect-worker-rebalance-metrics"


def worker(*named: tuple[str, dict[str, AttributeValue]]) -> tuple[Bean, ...]:
    """The beans of a worker that has not joined yet, and these."""
    return beans(((REBALANCE, {}), *named))


def info(worker_id: str) -> tuple[str, dict[str, AttributeValue]]:
    """An app-info bean."""
    return f'kafka.connect:type=app-info,id="{worker_id}"', {"Version": "4.4.0", "StartTimeMs": 2000.0}


def client(client_id: str) -> tuple[str, dict[str, AttributeValue]]:
    """A coordinator's bean."""
    return f'kafka.connect:type=connect-coordinator-metrics,client-id="{client_id}"', {"assigned-tasks": 2.0}


def test_a_worker_that_has_not_joined() -> None:
    """What the beans do not tell is unknown."""
    empty = reading(worker(), "w:9999")

    assert (empty.worker_id, empty.version, empty.connect_protocol, empty.leader_url) == (None, None, None, None)
    assert (empty.connectors, empty.tasks, empty.values) == ((), (), ())


def test_a_jvm_that_is_no_connect_worker() -> None:
    """Beans without a herder's are no reading; the error names the address."""
    with pytest.raises(SourceError, match="broker:9999") as caught:
        reading((), "broker:9999")

    assert caught.value.reason == "not_connect"


@pytest.mark.parametrize(
    ("ids", "clients", "worker_id"),
    [
        (("a:8083", "connect-1"), ("connect-1",), "a:8083"),
        (("a:8083", "connect-a:8083"), ("connect-a:8083",), "a:8083"),
        (("connect-0:8083", "connect-connect-0:8083"), ("connect-connect-0:8083",), "connect-0:8083"),
        (("z:8083", "my:1"), ("my:1",), "z:8083"),
        (("a:8083",), ("a:8083",), "a:8083"),
        (("[::1]:8083", "connect-[::1]:8083"), ("connect-[::1]:8083",), "[::1]:8083"),
        (("A->B", "B->A"), ("A->B", "B->A"), None),
    ],
)
def test_the_worker_s_id_among_others(ids: tuple[str, ...], clients: tuple[str, ...], worker_id: str | None) -> None:
    """The advertised address is told from client ids, whatever those look like."""
    told = reading(worker(*map(info, ids), *map(client, clients)), "w:9999")

    assert told.worker_id == worker_id
    assert told.version == "4.4.0"


def test_flows_of_mirrormaker_add_up() -> None:
    """Two coordinators in one worker give one series, their sum: never the same series twice."""
    values = reading(worker(info("A->B"), info("B->A"), client("A->B"), client("B->A")), "w:9999").values

    assert values == (
        Value("kafka_connect_worker_start_time_seconds", (), 2.0),
        Value("kafka_connect_worker_assigned_tasks", (), 4.0),
    )


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, "7", True])
def test_what_is_no_number_is_absent(number: AttributeValue) -> None:
    """NaN, infinities, texts and booleans in a numeric attribute give no value."""
    told = reading(beans([(REBALANCE, {"epoch": number})]), "w:9999")

    assert told.values == ()


def test_beans_with_other_keys_are_not_mixed_in() -> None:
    """`connect-worker-metrics,connector=C` is another bean than connect-worker-metrics."""
    other: tuple[str, dict[str, AttributeValue]] = (
        "kafka.connect:type=connect-worker-metrics,connector=c",
        {"connector-count": 5.0},
    )

    assert reading(worker(other), "w:9999").values == ()


@pytest.mark.parametrize("number", ["", "x", "²", "-1", "1" * 5000])
def test_a_task_without_a_number_is_no_task(number: str) -> None:
    """An odd task number costs that task, not the poll."""
    name = f'kafka.connect:type=connector-task-metrics,connector=c,task="{number}"'

    assert reading(worker((name, {"status": "running"})), "w:9999").tasks == ()


def test_an_unknown_protocol_is_named_so() -> None:
    """A word that no known version writes is `unknown`, not a new label value."""
    told = reading(beans([(REBALANCE, {"connect-protocol": "QUANTUM"})]), "w:9999")

    assert told.connect_protocol == "unknown"


def test_a_name_that_is_none_costs_only_its_bean() -> None:
    """A bean whose name cannot be read is left out; the others stay."""
    assert [bean.name for bean in beans([("a:b=c", {}), ('a:b="open', {}), ("", {})])] == ["a:b=c"]


def test_the_password_never_shows() -> None:
    """Neither repr nor str of a target tells the password."""
    target = Target("fd00::1", 9999, "me", "s3cret")

    assert "s3cret" not in f"{target!r} {target} {[target]}"
    assert str(target) == "[fd00::1]:9999"

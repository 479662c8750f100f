"""A worker's MBeans can really be read over JMX."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from exporter.demo.jvm_process import JvmProcess
from exporter.demo.mbeans import beans_of
from exporter.demo.state import ConnectorState, GroupState, Phase, WorkerState
from exporter.errors import ExporterError
from exporter.sources.jmx.java import java_home, libjvm

NOW_S = 1_796_074_100.0
CLIENT = Path(__file__).with_name("jmx_client.py")


@pytest.fixture(scope="module")
def library() -> Path:
    """The JVM's library."""
    return libjvm(java_home())


@pytest.fixture
def state() -> GroupState:
    """A worker with one connector and its task."""
    worker = WorkerState("w1", 28083, 0, phase=Phase.JOINED, incarnation=1, rebalances=4, last_rebalance_s=NOW_S)
    connector = ConnectorState("orders-source", "orders", "w1", records_per_s=0.0, host="w1", task_host="w1")
    return GroupState({"w1": worker}, {connector.name: connector}, generation=5)


@pytest.fixture
def jvm(library: Path, state: GroupState, tmp_path: Path) -> Iterator[tuple[JvmProcess, int]]:
    """A JVM that shows that worker, and its JMX port."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
    process = JvmProcess(library, port, tmp_path)
    process.show(beans_of(state, state.workers["w1"], NOW_S))
    process.wait_ready()
    yield process, port
    process.stop()


def read(library: Path, port: int) -> dict[str, Any]:
    """What a client without Kafka's classes reads."""
    command = [sys.executable, str(CLIENT), str(library), str(port)]
    done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_mbeans_are_read_over_jmx(library: Path, jvm: tuple[JvmProcess, int]) -> None:
    """Values arrive, and with the classes Kafka gives them."""
    seen = read(library, jvm[1])
    rebalance = seen["kafka.connect:type=connect-worker-rebalance-metrics"]["attributes"]
    assert rebalance["connect-protocol"] == ["java.lang.String", "SESSIONED"]
    assert rebalance["leader-name"] == ["java.lang.String", "http://127.0.0.1:28083/"]
    assert rebalance["epoch"] == ["java.lang.Double", "5.0"]
    per_connector = seen["kafka.connect:type=connect-worker-metrics,connector=orders-source"]["attributes"]
    assert per_connector["connector-running-task-count"] == ["java.lang.Long", "1"]
    task = seen["kafka.connect:type=connector-task-metrics,connector=orders-source,task=0"]["attributes"]
    assert task["offset-commit-avg-time-ms"] == ["java.lang.Double", "NaN"]


def test_mbeans_come_and_go(library: Path, jvm: tuple[JvmProcess, int], state: GroupState) -> None:
    """While the JVM runs, a task that ended leaves, and a new connector appears."""
    process, port = jvm
    state.connectors["orders-source"].task_host = None
    state.connectors["next"] = ConnectorState("next", "t", "w1", records_per_s=0.0, host="w1")
    process.show(beans_of(state, state.workers["w1"], NOW_S))
    seen = read(library, port)
    while "kafka.connect:type=connector-metrics,connector=next" not in seen:  # once the process has read the line
        seen = read(library, port)
    assert not [name for name in seen if "task=0" in name]


def test_a_client_without_kafkas_classes_stumbles_over_the_enum(library: Path, jvm: tuple[JvmProcess, int]) -> None:
    """As on Kafka >= 4.3.1, connector-type of a task cannot be read, nor all attributes at once; others can."""
    bean = read(library, jvm[1])["kafka.connect:type=connector-task-metrics,connector=orders-source,task=0"]
    kind, message = bean["attributes"]["connector-type"]
    assert kind == "java.rmi.UnmarshalException"
    assert "ClassNotFoundException: org.apache.kafka.connect.runtime.rest.entities.ConnectorType" in message
    assert bean["bulk"] == "java.rmi.UnmarshalException"
    assert bean["attributes"]["status"] == ["java.lang.String", "running"]


def test_a_taken_port_is_said(library: Path, tmp_path: Path) -> None:
    """A JVM that cannot listen says which port, and what to do."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        process = JvmProcess(library, port, tmp_path)
        process.show({})
        with pytest.raises(ExporterError, match=rf"JVM on port {port} ended .*start the demo again"):
            process.wait_ready()
        process.stop()

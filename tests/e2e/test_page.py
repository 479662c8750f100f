"""From the leader's refusal to the page and back, on real processes with the rendered bundle as it is.

Kafka Connect, the exporter, Prometheus and Alertmanager run with their defaults; nothing is sped up.
The tests follow one another: healthy, loop, page, repair, resolved.
"""

from __future__ import annotations

import datetime as dt
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support import lab
from support.exporter import Exporter, exporter
from support.jars import BROKER_VERSION
from support.monitoring import Pager, Prometheus, alertmanager, pager, prometheus
from support.waiting import wait_for

PAGE = "KafkaConnectSigningAlgorithmMismatch"
PAGE_WITHIN_S = 90
CLEAR_WITHIN_S = 180
FAULT_SERIES = (
    "kafka_connect_signature_algorithm_mismatch",
    "kafka_connect_task_reconfiguration_loop_active",
    "kafka_connect_connector_without_tasks == 1",
    'ALERTS{alertstate="firing",severity=~"critical|warning"}',
)

pytestmark = pytest.mark.timeout(600)


@dataclass
class Scene:
    """Everything that runs, and when what happened (seconds since the epoch)."""

    pair: lab.Pair
    exporter: Exporter
    prometheus: Prometheus
    pager: Pager


@dataclass(frozen=True)
class Fault:
    """The loop.

    Attributes:
        connector: the one whose tasks never start.
        first_at: when the follower logged the first refusal, seconds since the epoch.
    """

    connector: str
    first_at: float


def _configuration(pair: lab.Pair, file: Path, state: Path) -> Path:
    """Both workers over all sources; every interval is the default."""
    workers = "".join(
        f"      - {{name: {name}, jmx: '{worker.jmx}', rest: '{worker.url}', logs: ['{worker.log}']}}\n"
        for name, worker in (("w1", pair.leader), ("w2", pair.follower))
    )
    file.write_text(f"clusters:\n  - name: payments\n    workers:\n{workers}state: {state}\n")
    return file


def _render(folder: Path, exporter_port: int, pager_url: str) -> Path:
    """The bundle as the command writes it; only addresses are set."""
    settings = [f"exporter_targets=127.0.0.1:{exporter_port}", f"webhook_url={pager_url}"]
    command = [sys.executable, "-m", "exporter", "render", str(folder)]
    subprocess.run(
        [*command, *(argument for setting in settings for argument in ("--set", setting))],
        check=True,
        capture_output=True,
    )
    return folder


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """A pair that has the mismatch but has not stumbled over it, watched by all."""
    folder = tmp_path_factory.mktemp("e2e")
    with lab.broker(folder) as broker, lab.pair(folder / "pair", broker, BROKER_VERSION) as pair, pager() as receiver:
        config = _configuration(pair, folder / "exporter.yml", folder / "state")
        with exporter(folder / "exporter", "--config", str(config)) as watcher:
            bundle = _render(folder / "bundle", watcher.port, receiver.url)
            with (
                alertmanager(bundle, folder / "alertmanager") as port,
                prometheus(bundle, folder / "prometheus", port) as server,
            ):
                yield Scene(pair, watcher, server, receiver)


@pytest.fixture(scope="module")
def fault(scene: Scene) -> Fault:
    """The loop begins."""
    connector = scene.pair.break_it()
    line = next(
        line
        for line in scene.pair.follower.log.read_text().splitlines()
        if "Error forwarding REST request" in line and line.rstrip().split(" : ")[0].endswith("/tasks")
    )
    stamp = re.match(r"\[([^]]+)\]", line)
    assert stamp is not None
    # %d is local time without zone: that of this machine
    return Fault(connector, dt.datetime.strptime(stamp[1], "%Y-%m-%d %H:%M:%S,%f").astimezone().timestamp())


def test_a_healthy_cluster_pages_nobody(scene: Scene) -> None:
    """Both workers are scraped, every rule evaluates, nothing fires."""
    wait_for(
        "the exporter is scraped", lambda: len(scene.prometheus.query("kafka_connect_exporter_source_up == 1")) == 6, 60
    )
    wait_for(
        "every rule was evaluated",
        lambda: bool(rules := scene.prometheus.rules()) and all(rule["health"] != "unknown" for rule in rules),
        60,
    )
    assert {rule["name"]: rule.get("lastError") for rule in scene.prometheus.rules() if rule["health"] != "ok"} == {}
    assert scene.prometheus.query(FAULT_SERIES[-1]) == []


def test_the_page_names_the_parties_and_the_remedy(scene: Scene, fault: Fault) -> None:
    """Who was woken up knows follower, leader, algorithm, what is permitted, the connector and what to do; in time."""
    page = scene.pager.wait(PAGE, "firing", 2 * PAGE_WITHIN_S)
    elapsed_s = page.at - fault.first_at
    sys.stdout.write(f"\nFirst refusal to page: {elapsed_s:.1f} s\n")
    assert (
        page.labels.items()
        >= {
            "severity": "critical",
            "connect_cluster": "payments",
            "worker": "w2",
            "leader_url": f"{scene.pair.leader.url}/",
            "algorithm": "HmacSHA512",
            "permitted": "HmacSHA256",
        }.items()
    )
    text = page.annotations["description"]
    for told in (
        "w2 of payments",
        "HmacSHA512",
        "HmacSHA256",
        f"{scene.pair.leader.url}/",
        fault.connector,
        "inter.worker.signature.algorithm",
        "inter.worker.verification.algorithms",
    ):
        assert told in text
    assert page.annotations["runbook_url"].endswith(f"#{PAGE.lower()}")
    assert elapsed_s <= PAGE_WITHIN_S


def test_one_cause_is_one_page(scene: Scene, fault: Fault) -> None:
    """The loop that follows from the mismatch does not page beside it."""
    del fault
    critical = {notice.name for notice in scene.pager.notices if notice.labels["severity"] == "critical"}
    assert critical == {PAGE}
    assert [alert["worker"] for alert in scene.prometheus.query(f'ALERTS{{alertname="{PAGE}"}}')] == ["w2"]


def test_after_the_repair_the_page_is_resolved_and_series_clear(scene: Scene, fault: Fault) -> None:
    """The follower's file is corrected and it restarts: resolved is told, tasks run, hand-overs work, nothing fires."""
    scene.pair.repair()
    repaired_at = time.time()
    resolved = scene.pager.wait(PAGE, "resolved", 2 * CLEAR_WITHIN_S)
    wait_for(
        "the series clear",
        lambda: not any(scene.prometheus.query(series) for series in FAULT_SERIES),
        2 * CLEAR_WITHIN_S,
    )
    cleared_at = max(resolved.at, time.time())
    sys.stdout.write(
        f"\nRepair to resolved: {resolved.at - repaired_at:.1f} s, to clear: {cleared_at - repaired_at:.1f} s\n"
    )
    assert resolved.labels["worker"] == "w2"
    assert cleared_at - repaired_at <= CLEAR_WITHIN_S

    handed_over = scene.pair.connector_on(scene.pair.follower, "after")
    for connector in (fault.connector, handed_over):
        wait_for(
            f"{connector} has a running task",
            lambda connector=connector: (  # type: ignore[misc]
                scene.exporter.value("kafka_connect_connector_tasks", connector=connector, state="running") == 1
            ),
            90,
        )

"""The bad scenario on real workers: the follower signs with HmacSHA512, the leader permits HmacSHA256.

The tests of one version follow one another: the loop, a kill of the exporter in it, the repair.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from support import lab
from support.exporter import Exporter, exporter, total, watching
from support.waiting import wait_for

ATTEMPTS = "kafka_connect_task_reconfiguration_failures_total"
MISMATCH = {"algorithm": "HmacSHA512", "permitted": "HmacSHA256"}


@dataclass
class Scene:
    """A looping pair and three exporters that watch it: with all sources, with the log alone, with REST alone."""

    pair: lab.Pair
    connector: str
    whole: Exporter
    log_only: Exporter
    rest_only: Exporter


@pytest.fixture(scope="module")
def scene(pair: lab.Pair, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """The loop runs."""
    folder = tmp_path_factory.mktemp("exporters")
    config = watching(pair, folder / "exporter.yml", folder / "state")
    follower = pair.follower
    log_only = ("--log", str(follower.log), "--state", str(folder / "state-log"), "--worker", "w2")
    with (
        exporter(folder / "whole", "--config", str(config)) as whole,
        exporter(folder / "log", *log_only) as log,
        exporter(folder / "rest", "--rest", pair.leader.url) as rest,
    ):
        yield Scene(pair, pair.break_it(), whole, log, rest)


def test_the_versions_that_run(scene: Scene, version: str) -> None:
    """What `GET /` says is what was asked for."""
    status, body = scene.pair.leader.get("/")
    assert (status, body["version"]) == (200, version)
    sys.stdout.write(f"\nKafka Connect {body['version']} runs\n")


def test_the_loop_is_known_with_cause_and_parties(scene: Scene) -> None:
    """Loop, mismatch with algorithm and list, connector without tasks, protocol."""

    def seen() -> bool:
        value = scene.whole.value
        return (
            value(
                "kafka_connect_task_reconfiguration_loop_active",
                worker="w2",
                connector=scene.connector,
                reason="algorithm_not_permitted",
            )
            == 1
            and value(
                "kafka_connect_signature_algorithm_mismatch",
                worker="w2",
                leader_url=f"{scene.pair.leader.url}/",
                **MISMATCH,
            )
            == 1
            and value("kafka_connect_connector_without_tasks", worker="w2", connector=scene.connector) == 1
            and value("kafka_connect_protocol", worker="w1", protocol="sessioned") == 1
            and value("kafka_connect_protocol", worker="w2", protocol="sessioned") == 1
            and value("kafka_connect_worker_is_leader", worker="w1") == 1
            and value("kafka_connect_worker_is_leader", worker="w2") == 0
            and value("kafka_connect_worker_signature_algorithm_info", worker="w2", algorithm="HmacSHA512") == 1
        )

    wait_for("the loop is on the page", seen, 30)


def test_every_source_of_every_worker_is_up(scene: Scene) -> None:
    """JMX, REST and log."""
    up = scene.whole.samples()["kafka_connect_exporter_source_up"]
    assert len(up) == 6
    assert set(up.values()) == {1.0}


def test_log_alone_knows_the_same(scene: Scene) -> None:
    """Every answer about signed requests works without JMX and REST."""

    def seen() -> bool:
        value = scene.log_only.value
        return (
            value(
                "kafka_connect_task_reconfiguration_loop_active",
                connector=scene.connector,
                reason="algorithm_not_permitted",
            )
            == 1
            and value("kafka_connect_signature_algorithm_mismatch", leader_url=f"{scene.pair.leader.url}/", **MISMATCH)
            == 1
            and value("kafka_connect_protocol", protocol="sessioned") == 1
            and value("kafka_connect_internal_request_verification_enabled") == 1
            and value("kafka_connect_worker_is_leader") == 0
        )

    wait_for("the loop is on the log's page", seen, 30)


def test_rest_alone_sees_the_connector_without_tasks(scene: Scene) -> None:
    """Without logs the absence is all there is."""
    follower = f"127.0.0.1:{scene.pair.follower.rest_port}"
    wait_for(
        "the connector has no tasks",
        lambda: (
            scene.rest_only.value("kafka_connect_connector_without_tasks", worker=follower, connector=scene.connector)
            == 1
        ),
        40,
    )


def _attempts(page: Exporter) -> float:
    return total(page.samples().get(ATTEMPTS, {}))


def _keeps_up(what: str, counted: Callable[[], float], lines: Callable[[], int]) -> None:
    """The page reaches what the log has now, and never counts more lines than there are."""
    there = lines()
    wait_for(what, lambda: counted() >= there, 60)
    assert counted() <= lines()


def test_attempts_equal_the_lines_of_the_log(scene: Scene) -> None:
    """One per "Failed to reconfigure connector's tasks" line, also with the log alone."""
    follower = scene.pair.follower
    wait_for("some attempts", lambda: lab.attempts_of(follower.log) >= 5, 60)
    for page in (scene.whole, scene.log_only):
        _keeps_up("attempts", lambda page=page: _attempts(page), lambda: lab.attempts_of(follower.log))  # type: ignore[misc]


def test_the_leaders_refusals_are_counted(scene: Scene, version: str) -> None:
    """From Kafka 3.4 on the leader's access log has them; before there is none."""
    name, labels = (
        "kafka_connect_internal_requests_total",
        {"worker": "w1", "code": "400", "reason": "algorithm_not_permitted"},
    )
    if version.startswith("2."):
        assert name not in scene.whole.samples()
        return
    leader = scene.pair.leader
    _keeps_up(
        "refusals",
        lambda: scene.whole.value(name, origin="worker", request="tasks", **labels) or 0,
        lambda: lab.refusals_of(leader.log),
    )


def test_a_kill_in_the_loop_loses_and_doubles_nothing(scene: Scene) -> None:
    """After SIGKILL and restart the loop has its old start and no counter fell or was counted twice."""
    follower = scene.pair.follower
    start = "kafka_connect_task_reconfiguration_loop_start_timestamp_seconds"
    before_start = scene.whole.value(start, connector=scene.connector)
    before = scene.whole.samples()[ATTEMPTS]
    scene.whole.kill()
    lines = lab.attempts_of(follower.log)
    wait_for("an attempt while nobody watches", lambda: lab.attempts_of(follower.log) > lines, 90)
    scene.whole.start()
    after = scene.whole.samples()[ATTEMPTS]
    assert all(after[labels] >= value for labels, value in before.items())
    _keeps_up("attempts", lambda: _attempts(scene.whole), lambda: lab.attempts_of(follower.log))
    assert scene.whole.value(start, connector=scene.connector) == before_start
    assert before_start is not None


def test_the_repair_clears_loop_and_mismatch(scene: Scene) -> None:
    """The follower's file is corrected, it restarts, and a hand-over succeeds."""
    scene.pair.repair()
    after = scene.pair.connector_on(scene.pair.follower, "after")

    def clear() -> bool:
        samples = scene.whole.samples()
        return (
            "kafka_connect_task_reconfiguration_loop_active" not in samples
            and "kafka_connect_signature_algorithm_mismatch" not in samples
            and not total(samples["kafka_connect_connector_without_tasks"])
            and any(
                value == 1 and {("connector", after), ("state", "running")} <= labels
                for labels, value in samples["kafka_connect_connector_tasks"].items()
            )
        )

    wait_for("the page is clear", clear, 60)
    assert "kafka_connect_signature_algorithm_mismatch" not in scene.log_only.samples()
    # The log tells no more attempts: now every one of them was counted once, over a kill and a restart of the worker.
    assert _attempts(scene.whole) == _attempts(scene.log_only) == lab.attempts_of(scene.pair.follower.log)

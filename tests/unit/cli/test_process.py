"""The running command and its signals."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.exporter import Exporter
from support.waiting import wait_for

LINE = "[2026-11-30 21:00:00,000] INFO [Worker clientId=c, groupId=g] Session key updated (org.a.DistributedHerder:1)\n"


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Exporter]:
    """The exporter over one log, its listen address given on the command line only."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.log").write_text(LINE)
    _configure(tmp_path, "a")
    made = Exporter(tmp_path, "--config", str(tmp_path / "exporter.yml"), "--log.format", "json")
    made.start()
    yield made
    made.kill()


def _configure(folder: Path, worker: str) -> None:
    text = f"clusters: [{{name: c, workers: [{{name: {worker}, logs: [{folder / worker}.log]}}]}}]\n"
    (folder / "exporter.yml").write_text(text)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(running: Exporter, number: signal.Signals) -> None:
    """Exit code 0, everything given back."""
    assert running.stop(number) == 0
    assert "Traceback" not in running.output.read_text()


def test_sighup_reads_the_file_again_and_a_bad_one_changes_nothing(running: Exporter, tmp_path: Path) -> None:
    """The command line's word still stands; each log line is one JSON object."""
    _configure(tmp_path, "b")
    running.send(signal.SIGHUP)
    wait_for("b is watched", lambda: running.value("kafka_connect_session_key_updates_total", worker="b") == 0, 20)
    assert running.value("kafka_connect_session_key_updates_total", worker="a") is None
    (tmp_path / "exporter.yml").write_text("clusters: 3\n")
    running.send(signal.SIGHUP)
    wait_for(
        "the fault is told", lambda: running.value("kafka_connect_exporter_config_last_reload_successful") == 0, 20
    )
    assert running.value("kafka_connect_session_key_updates_total", worker="b") == 0
    assert all(
        {"ts", "level", "logger", "msg"} <= set(json.loads(line)) for line in running.output.read_text().splitlines()
    )

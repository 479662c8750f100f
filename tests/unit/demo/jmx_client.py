"""A JMX client that lacks Kafka's classes; prints what it reads as JSON. Arguments: JVM library, port."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import jpype


def read(server: Any, name: Any) -> dict[str, Any]:
    """Every attribute of one MBean by itself, and whether they can be read in one go."""
    attributes = [str(a.getName()) for a in server.getMBeanInfo(name).getAttributes()]
    found: dict[str, Any] = {}
    for attribute in attributes:
        try:
            value = server.getAttribute(name, attribute)
            found[attribute] = [str(value.getClass().getName()), str(value.toString())]
        except jpype.JException as error:
            found[attribute] = [str(type(error).__name__), str(error)]
    try:
        names = jpype.JArray(jpype.JClass("java.lang.String"))(attributes)
        bulk = str(server.getAttributes(name, names).size())
    except jpype.JException as error:
        bulk = str(type(error).__name__)
    return {"attributes": found, "bulk": bulk}


def main(library: str, port: str) -> None:
    """Read all MBeans of Connect and its clients."""
    jpype.startJVM(library, "-Xmx32m", "-XX:TieredStopAtLevel=1", convertStrings=False)
    registry = jpype.JClass("java.rmi.registry.LocateRegistry").getRegistry("127.0.0.1", int(port))
    connector = jpype.JClass("javax.management.remote.rmi.RMIConnector")(registry.lookup("jmxrmi"), None)
    connector.connect()
    server = connector.getMBeanServerConnection()
    pattern = jpype.JClass("javax.management.ObjectName")("kafka.*:*")
    document = {str(name): read(server, name) for name in server.queryNames(pattern, None)}
    sys.stdout.write(json.dumps(document))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""JMX addresses as users write them."""

from __future__ import annotations

import re

from exporter.errors import ConfigError
from exporter.sources.jmx.transport import Target

_SERVICE = re.compile(r"service:jmx:rmi://[^/]*/jndi/rmi://(?P<address>[^/]+)/jmxrmi")
_ADDRESS = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.]+(?:%\w+)?)\]|(?P<host>[\w.-]+)):(?P<port>[0-9]{1,5})")
_PORT_MAX = 65535


def parse_address(text: str) -> Target:
    """`host:port`, `[v6]:port` or `service:jmx:rmi:///jndi/rmi://host:port/jmxrmi`.

    Raises:
        ConfigError: it is none of these.
    """
    service = _SERVICE.fullmatch(text.strip())
    match = _ADDRESS.fullmatch(service["address"] if service is not None else text.strip())
    if match is None or not 0 < int(match["port"]) <= _PORT_MAX:
        if "@" in text:  # what stands before it may be a password
            raise ConfigError(
                "A JMX address has no user name and password in it.",
                "Write the address like connect-0:9999, and give username and password_file beside it.",
            )
        raise ConfigError(f"{text!r} is not a JMX address.", "Write it like connect-0:9999 or [fd00::1]:9999.")
    return Target(match["v6"] or match["host"], int(match["port"]))

"""What every way of reading MBeans is to the JMX source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from exporter.sources.jmx import object_name

AttributeValue = float | str | bool


@dataclass(frozen=True, slots=True)
class Target:
    """One JMX endpoint. The password never shows itself."""

    host: str
    port: int
    username: str | None = None
    password: str | None = field(default=None, repr=False)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class BeanQuery:
    """Which MBeans, and which of their attributes.

    Attributes:
        pattern: an ObjectName pattern, e.g. "kafka.connect:type=connector-metrics,connector=*".
        attributes: their names; what a bean lacks, or cannot tell, is left out.
    """

    pattern: str
    attributes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Bean:
    """One MBean as read.

    Attributes:
        name: ObjectName as the worker writes it.
        keys: its key properties as users know them, without quotes and escapes.
        attributes: numbers as float (NaN and infinities included), texts and booleans; nothing else.
    """

    name: str
    keys: Mapping[str, str]
    attributes: Mapping[str, AttributeValue]


def beans(named: Iterable[tuple[str, Mapping[str, AttributeValue]]]) -> tuple[Bean, ...]:
    """Beans of ObjectNames and attributes, for transports; what is no ObjectName is left out."""
    made = []
    for name, attributes in named:
        try:
            _, keys = object_name.parse(name)
        except ValueError:
            continue
        made.append(Bean(name, keys, attributes))
    return tuple(made)


class Transport(Protocol):
    """A way of reading MBeans. One serves many targets, from several threads."""

    def read(self, target: Target, queries: Sequence[BeanQuery], deadline_s: float) -> tuple[Bean, ...]:
        """The MBeans that match.

        Raises:
            SourceError: nothing could be read in `deadline_s` seconds; says why and what to do. `reason` is one of
                refused, timeout, unresolved, not_jmx, auth, no_java, transport.
        """
        ...

    def close(self) -> None:
        """End helper processes and connections."""
        ...

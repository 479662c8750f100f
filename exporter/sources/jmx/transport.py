"""What every way of reading MBeans is to the JMX source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

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
        pattern: an ObjectName pattern, e.g. "kafka.connect:type=connector-metrics,*".
        attributes: their names; what a bean lacks is left out.
    """

    pattern: str
    attributes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Bean:
    """One MBean as read.

    Attributes:
        name: ObjectName as the worker writes it.
        attributes: numbers as float (NaN and infinities included), texts and booleans; nothing else.
    """

    name: str
    attributes: Mapping[str, AttributeValue]


class Transport(Protocol):
    """A way of reading MBeans. One serves many targets, from several threads."""

    def read(self, target: Target, queries: Sequence[BeanQuery], deadline_s: float) -> tuple[Bean, ...]:
        """The MBeans that match.

        Raises:
            SourceError: nothing could be read in `deadline_s` seconds; says why and what to do.
        """
        ...

    def close(self) -> None:
        """End helper processes and connections."""
        ...

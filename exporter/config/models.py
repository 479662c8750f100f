"""The configuration as frozen models. Units are in the names; secrets never show themselves."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn

MIB = 2**20
DEFAULT_PORT = 9507


class Secret:
    """A password. No way of printing or dumping it shows it; only `reveal` does.

    Not a dataclass: `dataclasses.asdict` of a configuration would take it apart.
    """

    __slots__ = ("__value",)

    def __init__(self, value: str) -> None:
        self.__value = value

    def reveal(self) -> str:
        """The password itself."""
        return self.__value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self.__value == other.__value

    def __hash__(self) -> int:
        return hash(self.__value)

    def __str__(self) -> str:
        return "<secret>"

    def __repr__(self) -> str:
        return "Secret(<secret>)"

    def __deepcopy__(self, memo: object) -> Secret:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not serialised")


@dataclass(frozen=True, slots=True)
class Listen:
    """Where to serve. Port 0 takes a free one."""

    host: str = "0.0.0.0"
    port: int = DEFAULT_PORT


@dataclass(frozen=True, slots=True)
class JmxEndpoint:
    """JMX of one worker."""

    address: str
    username: str | None = None
    password: Secret | None = None
    transport: Literal["bridge", "jmxquery"] = "bridge"


@dataclass(frozen=True, slots=True)
class RestEndpoint:
    """REST API of one worker."""

    url: str
    username: str | None = None
    password: Secret | None = None


@dataclass(frozen=True, slots=True)
class LogInputs:
    """Log of one worker: files and globs, and the IANA zone of its stamps if it is known."""

    paths: tuple[str, ...]
    timezone: str | None = None
    first_read_limit_bytes: int = 256 * MIB


@dataclass(frozen=True, slots=True)
class Worker:
    """One worker and its inputs; at least one is there.

    `properties` is its connect-distributed.properties, where the log no longer tells who signs and permits what.
    """

    name: str
    jmx: JmxEndpoint | None = None
    rest: RestEndpoint | None = None
    logs: LogInputs | None = None
    properties: Path | None = None


@dataclass(frozen=True, slots=True)
class Cluster:
    """One Connect cluster. `scope` cluster: connectors of the whole cluster; worker: only what these workers host."""

    name: str
    workers: tuple[Worker, ...]
    scope: Literal["cluster", "worker"] = "cluster"


@dataclass(frozen=True, slots=True)
class Limits:
    """How many series at the most."""

    connectors: int = 2000
    tasks: int = 20000
    client_series: int = 5000


@dataclass(frozen=True, slots=True)
class Config:
    """Everything the exporter is told.

    Attributes:
        poll_interval_s: of JMX.
        rest_interval_s: of REST.
        timeout_s: of one poll.
        state: directory of positions and folded logs; None keeps nothing.
    """

    clusters: tuple[Cluster, ...]
    listen: Listen = Listen()
    state: Path | None = None
    limits: Limits = Limits()
    poll_interval_s: float = 15.0
    rest_interval_s: float = 30.0
    timeout_s: float = 10.0

    def override(self, *, listen: Listen | None = None, state: Path | None = None) -> Config:
        """The same with what the command line says."""
        return dataclasses.replace(self, listen=listen or self.listen, state=state or self.state)

"""The command line of `run` for one worker, as a configuration."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from exporter.config import values
from exporter.config.models import Cluster, Config, JmxEndpoint, Listen, LogInputs, RestEndpoint, Worker
from exporter.errors import ConfigError


def from_arguments(
    *,
    jmx: str | None = None,
    rest: str | None = None,
    logs: Sequence[str] = (),
    cluster: str | None = None,
    worker: str | None = None,
    listen: Listen | None = None,
    state: Path | None = None,
    hostname: Callable[[], str] = socket.gethostname,
) -> Config:
    """One worker. Names are fixed at start: the worker's is the host of --jmx or --rest unless that is loopback.

    With REST alone the whole cluster is shown; with JMX or a log only what this worker hosts.

    Raises:
        ConfigError: an argument is wrong.
    """
    for option, texts in (("--cluster", [cluster]), ("--worker", [worker]), ("--log", logs)):
        try:
            for text in texts:
                values.printable(text or "")
        except ValueError as error:
            raise ConfigError(f"{option}: {error}") from error
    try:
        endpoint = RestEndpoint(values.rest_url(rest)) if rest else None
    except ValueError as error:
        raise ConfigError(f"--rest: {error}") from error
    try:
        address = values.jmx_address(jmx) if jmx else None
    except ValueError as error:
        raise ConfigError(f"--jmx: {error}") from error
    name = worker or _host(jmx, rest) or hostname()
    watched = Worker(
        name,
        jmx=JmxEndpoint(address) if address else None,
        rest=endpoint,
        logs=LogInputs(tuple(logs)) if logs else None,
    )
    scope = Cluster(cluster or "default", (watched,), "worker" if jmx or logs else "cluster")
    return Config((scope,)).override(listen=listen, state=state)


def _host(jmx: str | None, rest: str | None) -> str | None:
    for given in (jmx, rest):
        if not given:
            continue
        # service:jmx:rmi:///jndi/rmi://HOST:PORT/jmxrmi names its host last
        address = given.removesuffix("/jmxrmi").rpartition("//")[2] if given.startswith("service:") else given
        try:
            host = urlsplit(address if "//" in address else f"//{address}").hostname
        except ValueError:
            continue
        if host and not _loopback(host):
            return host
    return None


def _loopback(host: str) -> bool:
    host = host.removesuffix(".")
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False

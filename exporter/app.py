"""Wires configuration → sources → state → outputs; starts, reloads and stops them."""

from __future__ import annotations

import dataclasses
import logging
import random
import threading
import time
from collections.abc import Callable
from zoneinfo import ZoneInfo

import javaproperties

from exporter import __version__
from exporter.config import Config, Worker
from exporter.connect.judge import Finding, judge
from exporter.connect.snapshot import WorkerSnapshot
from exporter.connect.worker_config import WorkerConfig, from_properties
from exporter.connect.worker_state import WorkerIdentity
from exporter.errors import ConfigError, ExporterError
from exporter.metrics.page import ExporterHealth, Page
from exporter.pipeline import Pipeline
from exporter.poller import Job, Poller
from exporter.sources.jmx.address import parse_address
from exporter.sources.jmx.bridge import BridgeTransport
from exporter.sources.jmx.jmxquery import JmxQueryTransport
from exporter.sources.jmx.source import JmxSource
from exporter.sources.jmx.transport import Transport
from exporter.sources.logs.source import LogSource
from exporter.sources.rest import RestSource
from exporter.sources.source import Source
from exporter.store import StateFile

log = logging.getLogger(__name__)

LOG_INTERVAL_S = 1.0
"""How often log files are looked at: an event is on the page within two seconds."""

POOLS = {"jmx": 16, "rest": 16, "logs": 4}


@dataclasses.dataclass(frozen=True, slots=True)
class _Key:
    """What a pipeline is made from; a reload keeps the pipelines whose key has not changed."""

    cluster: str
    scope: str
    worker: Worker
    properties: WorkerConfig | None
    poll_interval_s: float
    rest_interval_s: float
    timeout_s: float


@dataclasses.dataclass(slots=True)
class _Running:
    pipeline: Pipeline
    jobs: list[Job]


class Exporter:
    """The running exporter. Its methods may be called from any thread."""

    def __init__(
        self,
        config: Config,
        load_again: Callable[[], Config] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Prepare; nothing is read before `start`.

        Args:
            config: what to watch.
            load_again: how a reload gets the configuration; None if it came from arguments.
            clock: seconds since the epoch.

        Raises:
            ExporterError: a worker's input is configured wrongly, or the state directory cannot be used.
        """
        self._config = config
        self._load_again = load_again
        self._clock = clock
        self._mutex = threading.Lock()
        self._poller = Poller(POOLS)
        self._transports: dict[str, Transport] = {}
        self._running: dict[_Key, _Running] = {}
        self._reload_ok = True
        self._reload_success_s = clock()
        self._left_out: dict[str, int] = {}
        self._left_out_mutex = threading.Lock()  # its own: a scrape never waits for a reload
        self._store = StateFile(config.state) if config.state is not None else None
        try:
            for key in _keys(config):
                self._running[key] = self._make(key)
        except ExporterError:
            self.stop()
            raise

    @property
    def config(self) -> Config:
        """The configuration in force."""
        return self._config

    def start(self) -> None:
        """Begin to poll."""
        self._poller.start()
        for running in self._running.values():
            self._schedule(running)

    def stop(self) -> None:
        """Stop polling and give everything back."""
        self._poller.stop()
        for running in self._running.values():
            running.pipeline.close()
        for transport in self._transports.values():
            transport.close()
        if self._store is not None:
            self._store.close()

    def snapshots(self) -> tuple[WorkerSnapshot, ...]:
        """Every worker as it is known now."""
        now_s = self._clock()
        return tuple(running.pipeline.snapshot(now_s) for running in list(self._running.values()))

    def page(self) -> Page:
        """What a scrape is rendered from."""
        limits = self._config.limits
        health = ExporterHealth(
            version=__version__,
            commit_failures=sum(r.pipeline.commit_failures for r in list(self._running.values())),
            reload_ok=self._reload_ok,
            reload_success_s=self._reload_success_s,
        )
        page = Page(self.snapshots(), health, limits.connectors, limits.tasks)
        with self._left_out_mutex:
            for limit, left_out in page.beyond_limits().items():
                self._left_out[limit] = max(self._left_out.get(limit, 0), left_out)
            return dataclasses.replace(page, exporter=dataclasses.replace(health, left_out=dict(self._left_out)))

    def findings(self) -> tuple[Finding, ...]:
        """What is wrong now."""
        return judge(self.snapshots(), self._clock())

    def ready(self) -> bool:
        """Every configured source has been polled once, and every readable log up to its end."""
        return all(
            source.up is not None and not (source.source == "logs" and source.up and snapshot.log is None)
            for snapshot in self.snapshots()
            for source in snapshot.sources
        )

    def reload(self) -> None:
        """Read the configuration file again; a bad one leaves the running configuration in place.

        Raises:
            ConfigError: there is no file, or it cannot be used.
        """
        with self._mutex:
            try:
                if self._load_again is None:
                    raise ConfigError("There is no configuration file to read again.", "Start it with --config.")
                self._apply(self._load_again())
            except ExporterError as error:
                self._reload_ok = False
                log.error("the configuration was not reloaded: %s", error)  # noqa: TRY400 - expected
                raise
            self._reload_ok = True
            self._reload_success_s = self._clock()
            log.info("the configuration was reloaded")

    def _apply(self, config: Config) -> None:
        if (config.listen, config.state) != (self._config.listen, self._config.state):
            raise ConfigError("listen and state cannot change while running.", "Restart the exporter to change them.")
        wanted = _keys(config)
        # Old pipelines go first: a worker that changed continues from what its old one committed.
        gone = [key for key in self._running if key not in wanted]
        fresh = {key: None for key in wanted if key not in self._running}
        for key in gone:
            running = self._running.pop(key)
            for job in running.jobs:
                self._poller.remove(job, key.timeout_s + 1)
            running.pipeline.close()
        for key in fresh:
            self._running[key] = self._make(key)
            self._schedule(self._running[key])
        self._config = config

    def _make(self, key: _Key) -> _Running:
        worker = key.worker
        sources: dict[str, Source] = {}
        intervals: dict[str, float] = {}
        if worker.jmx is not None:
            target = parse_address(worker.jmx.address)
            password = worker.jmx.password
            target = dataclasses.replace(
                target, username=worker.jmx.username, password=password.reveal() if password is not None else None
            )
            sources["jmx"] = JmxSource(target, self._transport(worker.jmx.transport))
            intervals["jmx"] = key.poll_interval_s
        if worker.rest is not None:
            password = worker.rest.password
            sources["rest"] = RestSource(
                worker.rest.url,
                username=worker.rest.username,
                password=password.reveal() if password is not None else None,
            )
            intervals["rest"] = key.rest_interval_s
        saved = self._store.load(key.cluster, worker.name) if self._store is not None else None
        log_source = None
        if worker.logs is not None:
            log_source = LogSource(
                worker.logs.paths,
                positions=saved.positions if saved is not None else None,
                first_read_limit_bytes=worker.logs.first_read_limit_bytes,
                clock=self._clock,
            )
            intervals["logs"] = LOG_INTERVAL_S
        identity = WorkerIdentity(
            cluster=key.cluster,
            worker=worker.name,
            scope=key.scope,
            sources=intervals,
            zone=ZoneInfo(worker.logs.timezone) if worker.logs is not None and worker.logs.timezone else None,
            properties=key.properties,
            count_history=self._store is not None,
        )
        pipeline = Pipeline(
            identity,
            sources,
            timeout_s=key.timeout_s,
            store=self._store,
            saved=saved if log_source is not None else None,
            log_source=log_source,
            clock=self._clock,
        )
        jobs = [Job(kind, intervals[kind], lambda kind=kind: pipeline.poll(kind)) for kind in pipeline.kinds]  # type: ignore[misc]
        return _Running(pipeline, jobs)

    def _schedule(self, running: _Running) -> None:
        for job in running.jobs:
            # Hundreds of workers are not asked in one moment; logs and single workers at once.
            spread_s = 0.0 if job.pool == "logs" or len(self._running) == 1 else random.uniform(0, 1)  # noqa: S311
            self._poller.add(job, spread_s)

    def _transport(self, name: str) -> Transport:
        if name not in self._transports:
            self._transports[name] = BridgeTransport() if name == "bridge" else JmxQueryTransport()
        return self._transports[name]


def _keys(config: Config) -> list[_Key]:
    return [
        _Key(
            cluster.name,
            cluster.scope,
            worker,
            _properties(worker),
            config.poll_interval_s,
            config.rest_interval_s,
            config.timeout_s,
        )
        for cluster in config.clusters
        for worker in cluster.workers
    ]


def validate(config: Config) -> None:
    """Check what can be checked without starting: the files that the configuration names.

    Raises:
        ConfigError: a properties file cannot be read.
    """
    _keys(config)


def _properties(worker: Worker) -> WorkerConfig | None:
    """The signing configuration in the worker's properties file, if one is configured."""
    if worker.properties is None:
        return None
    try:
        with worker.properties.open("rb") as file:
            return from_properties(javaproperties.load(file))
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{worker.properties} (properties of {worker.name}) cannot be read: {error}.",
            "Correct the path, or leave `properties` out.",
        ) from error

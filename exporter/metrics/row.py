"""One metric as a row, and the kinds of rows there are: of a worker, its log, a loop, a source, the exporter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from exporter.connect.readings import TailStats
from exporter.connect.snapshot import LogView, LoopView, SourceHealth, WorkerSnapshot
from exporter.metrics.page import ExporterHealth, Page, Sample

PREFIX = "kafka_connect_"
WORKER_LABELS = ("connect_cluster", "worker")

Kind = Literal["counter", "gauge"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One row.

    Attributes:
        name: full name; counters end in `_total`.
        labels: all label names in order.
        help: HELP; names the source of the value.
        read: (label values, value) of a page; absent where unknown.
    """

    name: str
    kind: Kind
    labels: tuple[str, ...]
    help: str
    read: Callable[[Page], Iterable[Sample]]


def worker_row(
    kind: Kind,
    name: str,
    labels: str,
    help_text: str,
    read: Callable[[WorkerSnapshot], Iterable[tuple[tuple[str, ...], float | None]]],
) -> Metric:
    """A row read from each worker's snapshot; values that are None are left out."""

    def samples(page: Page) -> Iterator[Sample]:
        for snapshot in page.snapshots:
            for values, number in read(snapshot):
                if number is not None:
                    yield (snapshot.cluster, snapshot.worker, *values), number

    return Metric(PREFIX + name, kind, WORKER_LABELS + tuple(labels.split()), help_text, samples)


def gauge_row(name: str, help_text: str, read: Callable[[WorkerSnapshot], float | bool | None]) -> Metric:
    """A gauge without further labels."""
    return worker_row("gauge", name, "", help_text, lambda s: [((), read(s))])


def log_row(name: str, help_text: str, read: Callable[[LogView], float | bool | None]) -> Metric:
    """A gauge from the worker's log."""
    return gauge_row(name, help_text, lambda s: None if s.log is None else read(s.log))


def counter_row(
    name: str, labels: str, help_text: str, zero: Callable[[WorkerSnapshot, LogView], Iterable[tuple[str, ...]]]
) -> Metric:
    """A counter folded from the worker's log; `zero` tells the label values that exist from the start."""
    key = name.removesuffix("_total")

    def read(s: WorkerSnapshot) -> Iterable[tuple[tuple[str, ...], float | None]]:
        if s.log is None:
            return ()
        counted = dict.fromkeys(zero(s, s.log), 0) | dict(s.log.counts.get(key, {}))
        return counted.items()

    return worker_row("counter", name, labels, help_text, read)


def loop_row(name: str, help_text: str, read: Callable[[LoopView], float | None]) -> Metric:
    """A gauge per active loop."""
    return worker_row(
        "gauge",
        name,
        "connector",
        help_text,
        lambda s: [((x.connector,), read(x)) for x in (s.log.loops if s.log else ())],
    )


def source_row(
    kind: Kind,
    name: str,
    labels: str,
    help_text: str,
    read: Callable[[SourceHealth], Iterable[tuple[tuple[str, ...], float | None]]],
) -> Metric:
    """A row per configured source."""
    return worker_row(
        kind,
        f"exporter_source_{name}",
        f"source {labels}",
        help_text,
        lambda s: [((h.source, *values), number) for h in s.sources for values, number in read(h)],
    )


def tail_row(kind: Kind, name: str, help_text: str, read: Callable[[TailStats], int]) -> Metric:
    """A row of the log readers' own figures."""
    return worker_row(
        kind, f"exporter_log_{name}", "", help_text, lambda s: [((), None if s.log is None else read(s.log.stats))]
    )


def exporter_row(
    kind: Kind,
    name: str,
    labels: str,
    help_text: str,
    read: Callable[[ExporterHealth], Iterable[tuple[tuple[str, ...], float | None]]],
) -> Metric:
    """A row about the exporter itself, without worker labels."""
    return Metric(
        f"{PREFIX}exporter_{name}",
        kind,
        tuple(labels.split()),
        help_text,
        lambda page: [(values, number) for values, number in read(page.exporter) if number is not None],
    )

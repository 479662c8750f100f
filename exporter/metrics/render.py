"""From a page to the exposition formats of Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import generate_latest as generate_text
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.registry import Collector

from exporter.metrics.page import Page
from exporter.metrics.row import Metric
from exporter.metrics.table import METRICS

LABEL_VALUE_CHARACTERS_MAX = 200

Format = Literal["text", "openmetrics"]

CONTENT_TYPES: dict[Format, str] = {
    "text": "text/plain; version=0.0.4; charset=utf-8",
    "openmetrics": "application/openmetrics-text; version=1.0.0; charset=utf-8",
}


class TableCollector(Collector):
    """Builds fresh families from the metric table at each scrape."""

    def __init__(self, page: Callable[[], Page]) -> None:
        """`page` gives what to render; it is called once per scrape."""
        self._page = page

    def describe(self) -> list[Family]:
        """Nothing: registration must not build a page."""
        return []

    def collect(self) -> Iterator[Family]:
        """Every metric that has a value."""
        page = self._page()
        for metric in METRICS:
            family = _family(metric, page)
            if family.samples:
                yield family


def _family(metric: Metric, page: Page) -> Family:
    family = (CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily)(
        metric.name, metric.help, labels=metric.labels
    )
    seen: set[tuple[str, ...]] = set()
    for values, number in metric.read(page):
        # Sources clean their texts; one that slips through must not cost the page.
        cut = tuple(v[:LABEL_VALUE_CHARACTERS_MAX].encode("utf-8", "replace").decode("utf-8") for v in values)
        if cut in seen:
            continue  # two names alike in their first 200 characters: one series, never two equal ones
        seen.add(cut)
        family.add_metric(cut, number)
    return family


def registry(page: Callable[[], Page]) -> CollectorRegistry:
    """A registry of its own with the table and the process, platform and GC collectors."""
    result = CollectorRegistry()
    result.register(TableCollector(page))
    ProcessCollector(registry=result)
    PlatformCollector(registry=result)
    GCCollector(registry=result)
    return result


def render(source: CollectorRegistry, form: Format) -> bytes:
    """The registry's page in one of the two formats."""
    if form == "openmetrics":
        return bytes(generate_openmetrics(source))  # type: ignore[no-untyped-call]
    return generate_text(source)

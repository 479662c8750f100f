"""What the server needs of the running exporter."""

from __future__ import annotations

from typing import Protocol

from exporter.connect.judge import Finding
from exporter.connect.snapshot import WorkerSnapshot
from exporter.metrics.page import Page


class View(Protocol):
    """The running exporter, as far as the server sees it."""

    def page(self) -> Page:
        """What a scrape is rendered from."""
        ...

    def snapshots(self) -> tuple[WorkerSnapshot, ...]:
        """Every worker as it is known now."""
        ...

    def findings(self) -> tuple[Finding, ...]:
        """What is wrong now."""
        ...

    def ready(self) -> bool:
        """Whether every source has been read once."""
        ...

    def reload(self) -> None:
        """Read the configuration file again; raises ConfigError."""
        ...

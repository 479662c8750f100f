"""Every error this program raises on purpose, as one tree.

ExporterError
├── ConfigError   the configuration file or a command's arguments
├── SourceError   an input that cannot be read now (a worker, a log); the exporter goes on
├── StateError    the state directory cannot be used
└── BundleError   a dashboard or rule cannot be rendered
"""

from __future__ import annotations


class ExporterError(Exception):
    """What happened, and what to do about it.

    Args:
        message: what happened and where, one sentence, without secrets.
        remedy: what the user can do next, one sentence; empty if nothing.
    """

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()


class ConfigError(ExporterError):
    """The configuration is unusable; the message names file, line and key."""


class SourceError(ExporterError):
    """An input cannot be read at present.

    Args:
        reason: a bounded word, the label `reason` of `kafka_connect_exporter_source_errors_total`.
        message: see `ExporterError`.
        remedy: see `ExporterError`.
    """

    def __init__(self, reason: str, message: str, remedy: str = "") -> None:
        super().__init__(message, remedy)
        self.reason = reason


class StateError(ExporterError):
    """The state directory cannot be read or written."""


class BundleError(ExporterError):
    """A part of the bundle cannot be rendered."""

"""The exporter's configuration: models, the YAML file, the command line of `run`."""

from exporter.config.arguments import from_arguments
from exporter.config.file import load
from exporter.config.models import (
    Cluster,
    Config,
    JmxEndpoint,
    Limits,
    Listen,
    LogInputs,
    RestEndpoint,
    Secret,
    Worker,
)

__all__ = [
    "Cluster",
    "Config",
    "JmxEndpoint",
    "Limits",
    "Listen",
    "LogInputs",
    "RestEndpoint",
    "Secret",
    "Worker",
    "from_arguments",
    "load",
]

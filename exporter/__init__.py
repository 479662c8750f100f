"""kafka-connect-exporter: watches the signed internal requests of Kafka Connect workers."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("kafka-connect-exporter")
except PackageNotFoundError:  # run from a source tree that is not installed
    __version__ = "0+unknown"

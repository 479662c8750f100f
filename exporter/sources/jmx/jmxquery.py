"""The jmxquery transport: the package's own JAR, one JVM per poll. Slower than the bridge; nothing stays open.

Run as `java @file`: user and password stand in the file (mode 0600, removed afterwards), never on a command line. Its
output is read line by line, for quotes and backslashes in it are not escaped as JSON wants: one record is one line.
"""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

from exporter.errors import SourceError
from exporter.sources.jmx import failures, java
from exporter.sources.jmx.transport import AttributeValue, Bean, BeanQuery, Target

_RECORD = re.compile(
    r'\{"mBeanName" : "(?P<name>.*)", "attribute" : "(?P<attribute>[^"]*)", "attributeType" : "(?P<type>[^"]*)"'
    r'(?:, "value" : (?P<value>.*))?\}(?:, |\])?\s*'
)
_ERROR = re.compile(r'\{ "error": "[^"]*", "message":"(?P<message>.*)"\}\s*', re.DOTALL)

_JVM_FLAGS = (
    "-Xmx64m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-Dfile.encoding=UTF-8",
    "-Dstdout.encoding=UTF-8",
)

PARALLEL_JVMS_MAX = 4
"""JVMs at once; a poll that has to wait for its turn uses up its own deadline."""


class JmxQueryTransport:
    """See `Transport`."""

    def __init__(self) -> None:
        self._turns = threading.BoundedSemaphore(PARALLEL_JVMS_MAX)
        self._mutex = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()

    def read(self, target: Target, queries: Sequence[BeanQuery], deadline_s: float) -> tuple[Bean, ...]:
        """See `Transport.read`; the JVM is killed at the deadline."""
        if not self._turns.acquire(timeout=deadline_s):
            raise failures.timed_out(target, deadline_s)
        try:
            output = self._run(target, queries, deadline_s)
        finally:
            self._turns.release()
        return parse(output, target)

    def close(self) -> None:
        """End what runs."""
        with self._mutex:
            for process in self._running:
                process.kill()

    def _run(self, target: Target, queries: Sequence[BeanQuery], deadline_s: float) -> str:
        program = java.java_home() / "bin" / "java"
        with tempfile.TemporaryDirectory(prefix="kafka-connect-exporter-") as folder:
            arguments = Path(folder) / "arguments"
            fd = os.open(arguments, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(fd, "w", encoding="utf-8") as file:
                file.write("\n".join(_quoted(word) for word in _words(target, queries)))
            process = subprocess.Popen(  # noqa: S603 - the Java that was found
                [str(program), f"@{arguments}"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            with self._mutex:
                self._running.add(process)
            try:
                output, _ = process.communicate(timeout=deadline_s)
            except subprocess.TimeoutExpired as error:
                process.send_signal(signal.SIGKILL)
                process.communicate()
                raise failures.timed_out(target, deadline_s) from error
            finally:
                with self._mutex:
                    self._running.discard(process)
        return output.decode("utf-8", "replace")


def _jar() -> Path:
    spec = importlib.util.find_spec("jmxquery")
    jars = sorted(Path(spec.origin).parent.glob("JMXQuery-*.jar")) if spec is not None and spec.origin else []
    if not jars:
        raise SourceError(
            "no_java", "The JAR of the package jmxquery is missing.", "Install it anew: pip install jmxquery."
        )
    return jars[-1]


def _words(target: Target, queries: Sequence[BeanQuery]) -> list[str]:
    asked = ";".join(f"{query.pattern}/{attribute}" for query in queries for attribute in query.attributes)
    words = [
        *_JVM_FLAGS,
        "-jar",
        str(_jar()),
        "-url",
        f"service:jmx:rmi:///jndi/rmi://{target}/jmxrmi",
        "-json",
    ]
    if target.username is not None:
        words += ["-u", target.username, "-p", target.password or ""]
    return [*words, "-q", asked]


def _quoted(word: str) -> str:
    """As Java's argument files want it."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def parse(output: str, target: Target) -> tuple[Bean, ...]:
    """The beans in the JAR's output; a line that is no record costs nothing else.

    Raises:
        SourceError: the output is an error, or nothing.
    """
    beans: dict[str, dict[str, AttributeValue]] = {}
    for line in output.splitlines():
        match = _RECORD.fullmatch(line.removeprefix("["))
        if match is None:
            continue
        attributes = beans.setdefault(match["name"].replace('\\"', '"'), {})
        value = _value(match["type"], match["value"])
        if value is not None:
            attributes[match["attribute"]] = value
    if not beans:
        error = _ERROR.search(output)
        if error is not None:
            raise failures.explain(target, error["message"])
        if not output.strip().startswith("["):
            raise failures.explain(target, output.strip()[:300] or "jmxquery printed nothing")
    return tuple(Bean(name, attributes) for name, attributes in beans.items())


def _value(kind: str, text: str | None) -> AttributeValue | None:
    if text is None:
        return None
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1]
    if kind == "Boolean":
        return text == "true"
    try:
        return float(text.replace("Infinity", "inf"))
    except ValueError:
        return None

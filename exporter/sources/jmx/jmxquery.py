"""The jmxquery transport: the package's own JAR, one JVM per poll. Slower than the bridge; nothing stays open.

Run as `java @file`: user and password stand in that file, which is in memory only (memfd, mode 0600) and gone with the
JVM, never on a command line. The output is read line by line: one line is one record, and quotes, backslashes and line
ends in it are not escaped as JSON wants.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from exporter.errors import SourceError
from exporter.sources.jmx import failures, java
from exporter.sources.jmx.transport import AttributeValue, Bean, BeanQuery, Target, beans

_RECORD = re.compile(
    r'\{"mBeanName" : "(?P<name>.*)", "attribute" : "(?P<attribute>[^"]*)", "attributeType" : "(?P<type>[^"]*)"'
    r'(?:, "value" : (?P<value>.*))?\},?'
)
_ERROR = re.compile(r'\{ "error": "[^"]*", "message":"(?P<message>.*)"\}', re.DOTALL)

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


@dataclass(frozen=True, slots=True)
class Output:
    """What the JAR printed.

    Attributes:
        beans: those that could be read.
        broken_lines: lines that are no record, from values with line ends in them.
    """

    beans: tuple[Bean, ...]
    broken_lines: int


class JmxQueryTransport:
    """See `Transport`.

    Attributes:
        broken_lines: lines of output dropped so far.
    """

    def __init__(
        self,
        java_home: Callable[[], Path] = java.java_home,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`java_home` finds the Java that runs the JAR."""
        self.broken_lines = 0
        self._java_home = java_home
        self._monotonic = monotonic
        self._turns = threading.BoundedSemaphore(PARALLEL_JVMS_MAX)
        self._mutex = threading.Lock()  # over what stands below and broken_lines
        self._running: set[subprocess.Popen[bytes]] = set()
        self._closed = False

    def read(self, target: Target, queries: Sequence[BeanQuery], deadline_s: float) -> tuple[Bean, ...]:
        """See `Transport.read`; the JVM is killed at the deadline."""
        until_s = self._monotonic() + deadline_s
        if not self._turns.acquire(timeout=deadline_s):
            raise SourceError(
                "timeout",
                f"{target} was not read in {deadline_s:g} s: {PARALLEL_JVMS_MAX} other readings took all of that time.",
                "Use transport: bridge, which reads many workers with one JVM, or a longer poll_interval.",
            )
        try:
            output = parse(self._run(target, queries, until_s, deadline_s), target)
        finally:
            self._turns.release()
        with self._mutex:
            self.broken_lines += output.broken_lines
        return output.beans

    def close(self) -> None:
        """End what runs; nothing can be read any more."""
        with self._mutex:
            self._closed = True
            for process in self._running:
                process.kill()

    def _run(self, target: Target, queries: Sequence[BeanQuery], until_s: float, deadline_s: float) -> str:
        program = self._java_home() / "bin" / "java"
        arguments = os.memfd_create("arguments", 0)
        try:
            os.fchmod(arguments, 0o600)
            os.write(arguments, "\n".join(_quoted(word) for word in _words(target, queries)).encode())
            with self._mutex:
                if self._closed:
                    raise SourceError("transport", "JMX is no longer read: the exporter is stopping.")
                process = subprocess.Popen(  # noqa: S603 - the Java that was found
                    [str(program), f"@/dev/fd/{arguments}"],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,  # Ctrl-C is the exporter's business
                    pass_fds=(arguments,),
                    env={**os.environ, "LC_ALL": "C.UTF-8"},  # how Java decodes the arguments
                )
                self._running.add(process)
        finally:
            os.close(arguments)
        try:
            output, faults = process.communicate(timeout=max(0.0, until_s - self._monotonic()))
        except subprocess.TimeoutExpired as error:
            process.kill()
            process.communicate()
            raise failures.timed_out(target, deadline_s) from error
        finally:
            with self._mutex:
                self._running.discard(process)
        return (output or faults).decode("utf-8", "replace")


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
    for plain, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r")):
        word = word.replace(plain, escaped)
    return f'"{word}"'


def parse(output: str, target: Target) -> Output:
    """The beans in the JAR's output; a line that is no record costs nothing else.

    Raises:
        SourceError: the output is an error, or was cut short.
    """
    attributes_of: dict[str, dict[str, AttributeValue]] = {}
    broken_lines = 0
    begin = output.find("[\n") if output.startswith("[\n") else output.find("\n[\n")
    text = output[max(0, begin) :].strip()
    if begin < 0 or not text.endswith("]"):
        raise _explained(output.strip(), cut=begin >= 0, target=target)
    for line in text.removeprefix("[").removesuffix("]").split("\n"):
        match = _RECORD.fullmatch(line.strip())
        if match is None:
            broken_lines += bool(line.strip())
            continue
        # The only escape in the output: a backslash before each quote of a name.
        attributes = attributes_of.setdefault(match["name"].replace('\\"', '"'), {})
        value = _value(match["type"], match["value"])
        if value is not None:
            attributes[match["attribute"]] = value
    return Output(beans(attributes_of.items()), broken_lines)


def _explained(text: str, *, cut: bool, target: Target) -> SourceError:
    if cut:  # half a reading would tell that connectors are gone
        return SourceError(
            "transport",
            f"jmxquery stopped in the middle of what {target} has.",
            "The next poll tries again; if it lasts, use transport: bridge.",
        )
    error = _ERROR.search(text)
    return failures.explain(target, error["message"] if error is not None else text or "jmxquery printed nothing")


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

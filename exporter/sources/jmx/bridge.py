"""The bridge transport: one helper process with a JVM and persistent connections, bounded by killing it."""

from __future__ import annotations

import contextlib
import itertools
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from exporter.errors import SourceError
from exporter.sources.jmx import failures, java
from exporter.sources.jmx.transport import AttributeValue, Bean, BeanQuery, Target, beans

_ANSWER_CHARACTERS_MAX = 256 * 2**20


@dataclass(slots=True)
class _Waiting:
    """One request under way. `answer` is None once `done`: the helper ended before it answered."""

    done: threading.Event = field(default_factory=threading.Event)
    answer: dict[str, Any] | None = None


class _Helper:
    """One helper process; ends once and is not used again.

    Attributes:
        ready: its JVM runs.
        fatal: why its JVM did not start, as the helper said.
        killed: it was ended on purpose.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self.ready = False
        self.fatal: str | None = None
        self.killed = False
        self._ids = itertools.count()
        self._waiting: dict[int, _Waiting] = {}
        self._mutex = threading.Lock()  # over _ended, _waiting and writing
        self._ended = False
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            start_new_session=True,  # Ctrl-C is the exporter's business
        )
        threading.Thread(target=self._read, name="jmx-bridge", daemon=True).start()

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def usable(self) -> bool:
        """Whether a request may still be answered."""
        return not (self.killed or self._ended)

    def send(self, target: Target, queries: Sequence[BeanQuery]) -> _Waiting:
        """Ask; credentials travel on standard input only."""
        waiting = _Waiting()
        with self._mutex:
            if self._ended or self._process.stdin is None:
                waiting.done.set()
                return waiting
            number = next(self._ids)
            self._waiting[number] = waiting
            request = {"id": number, "target": asdict(target), "queries": [asdict(query) for query in queries]}
            with contextlib.suppress(OSError):  # it ended: `_read` tells all that wait
                self._process.stdin.write(json.dumps(request) + "\n")
                self._process.stdin.flush()
        return waiting

    def kill(self) -> None:
        """End it; what waits is told."""
        self.killed = True
        self._process.kill()
        self._process.wait()

    def _read(self) -> None:
        """Hand answers to who waits for them, until the process ends."""
        stdout = self._process.stdout
        while stdout is not None:
            line = stdout.readline(_ANSWER_CHARACTERS_MAX)
            if not line.endswith("\n"):
                break
            answer = json.loads(line)
            self.ready = self.ready or "ready" in answer
            self.fatal = answer.get("fatal", self.fatal)
            with self._mutex:
                waiting = self._waiting.pop(answer.get("id", -1), None)
            if waiting is not None:
                waiting.answer = answer
                waiting.done.set()
        self._process.kill()  # an answer that is too long leaves it running
        self._process.wait()
        with self._mutex:
            self._ended = True
            left = list(self._waiting.values())
            self._waiting.clear()
            for stream in (self._process.stdin, stdout):
                with contextlib.suppress(OSError):  # what was left to write has no reader
                    if stream is not None:
                        stream.close()
        for waiting in left:
            waiting.done.set()


class BridgeTransport:
    """See `Transport`. The helper is started with the first reading and again when it has ended."""

    def __init__(
        self,
        command: Callable[[], Sequence[str]] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`command` starts the helper; by default this Python with the JVM that `java` finds."""
        self._command = command if command is not None else helper_command
        self._monotonic = monotonic
        self._mutex = threading.Lock()  # over _helper and _closed
        self._helper: _Helper | None = None
        self._closed = False

    @property
    def helper_pid(self) -> int | None:
        """Process id of the running helper."""
        helper = self._helper
        return helper.pid if helper is not None and helper.usable else None

    def read(self, target: Target, queries: Sequence[BeanQuery], deadline_s: float) -> tuple[Bean, ...]:
        """See `Transport.read`; when the deadline passes the helper is killed, for nothing else bounds RMI."""
        until_s = self._monotonic() + deadline_s
        again = True
        while True:
            helper = self._running()
            waiting = helper.send(target, queries)
            if not waiting.done.wait(max(0.0, until_s - self._monotonic())):
                helper.kill()
                raise failures.timed_out(target, deadline_s)
            if waiting.answer is not None:
                return _beans(target, waiting.answer)
            # The helper ended. Where another target's deadline ended it the next one is asked, as often as time allows;
            # one that ends by itself gets a second chance, not a third.
            if not helper.killed and not (again and helper.ready):
                raise _ended(helper)
            again = again and helper.killed
            if self._monotonic() >= until_s:
                raise failures.timed_out(target, deadline_s)

    def close(self) -> None:
        """End the helper; nothing can be read any more."""
        with self._mutex:
            self._closed = True
            if self._helper is not None:
                self._helper.kill()

    def _running(self) -> _Helper:
        with self._mutex:
            if self._closed:
                raise SourceError("transport", "JMX is no longer read: the exporter is stopping.")
            if self._helper is None or not self._helper.usable:
                self._helper = _Helper(self._command())
            return self._helper


def helper_command(library: str | None = None) -> list[str]:
    """How the helper is started; `library` is the JVM's, by default the one that `java` finds.

    Raises:
        SourceError: there is no Java.
    """
    return [
        sys.executable,
        "-m",
        "exporter.sources.jmx.bridge_helper",
        library or str(java.libjvm(java.java_home())),
    ]


def _ended(helper: _Helper) -> SourceError:
    if helper.ready:
        return SourceError(
            "transport",
            "The helper process for JMX ended twice while it was asked.",
            "Look for the kernel's out-of-memory killer; it is started again by the next poll.",
        )
    return SourceError(
        "no_java",
        f"The JVM for JMX did not start: {helper.fatal or 'its process ended at once'}.",
        "Install a Java of version 11 or later, or the one of PyPI: pip install 'kafka-connect-exporter[demo]'.",
    )


def _beans(target: Target, answer: dict[str, Any]) -> tuple[Bean, ...]:
    if "error" in answer:
        raise failures.explain(target, answer["error"])
    return beans(
        (_clean(bean["name"]), {name: _plain(value) for name, value in bean["attributes"].items()})
        for bean in answer["beans"]
    )


def _plain(value: AttributeValue) -> AttributeValue:
    return _clean(value) if isinstance(value, str) else value


def _clean(text: str) -> str:
    """Java's strings may hold half a character (a lone surrogate), which no output can encode."""
    return text.encode("utf-8", "replace").decode()

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
from dataclasses import dataclass, field
from typing import Any

from exporter.errors import SourceError
from exporter.sources.jmx import failures, java
from exporter.sources.jmx.transport import Bean, BeanQuery, Target

_ANSWER_CHARACTERS_MAX = 256 * 2**20


@dataclass(slots=True)
class _Waiting:
    """One request under way."""

    done: threading.Event = field(default_factory=threading.Event)
    answer: dict[str, Any] | None = None
    """None once `done`: the helper ended before it answered."""


class _Helper:
    """One helper process."""

    def __init__(self, command: Sequence[str]) -> None:
        self.fatal: str | None = None
        self._ids = itertools.count()
        self._waiting: dict[int, _Waiting] = {}
        self._mutex = threading.Lock()
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
        return self._process.pid

    @property
    def ended(self) -> bool:
        return self._ended

    def send(self, target: Target, queries: Sequence[BeanQuery]) -> _Waiting:
        waiting = _Waiting()
        with self._mutex:
            if self._ended or self._process.stdin is None:
                waiting.done.set()
                return waiting
            number = next(self._ids)
            self._waiting[number] = waiting
            request = {
                "id": number,
                "target": {
                    "host": target.host,
                    "port": target.port,
                    "username": target.username,
                    "password": target.password,
                },
                "queries": [{"pattern": q.pattern, "attributes": q.attributes} for q in queries],
            }
            try:
                self._process.stdin.write(json.dumps(request) + "\n")
                self._process.stdin.flush()
            except OSError:
                del self._waiting[number]
                waiting.done.set()
        return waiting

    def kill(self) -> None:
        self._process.kill()
        with contextlib.suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        self._process.wait()

    def _read(self) -> None:
        """Hand answers to who waits for them, until the process ends."""
        stdout = self._process.stdout
        while stdout is not None:
            line = stdout.readline(_ANSWER_CHARACTERS_MAX)
            if not line.endswith("\n"):
                break
            answer = json.loads(line)
            self.fatal = answer.get("fatal", self.fatal)
            with self._mutex:
                waiting = self._waiting.pop(answer.get("id", -1), None)
            if waiting is not None:
                waiting.answer = answer
                waiting.done.set()
        with self._mutex:
            self._ended = True
            left = list(self._waiting.values())
            self._waiting.clear()
        for waiting in left:
            waiting.done.set()
        self._process.wait()


class BridgeTransport:
    """See `Transport`. The helper is started with the first reading and again when it has ended."""

    def __init__(
        self,
        command: Callable[[], Sequence[str]] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`command` starts the helper; by default this Python with the JVM that `java` finds."""
        self._command = command if command is not None else _command
        self._monotonic = monotonic
        self._mutex = threading.Lock()
        self._helper: _Helper | None = None
        self._closed = False

    @property
    def helper_pid(self) -> int | None:
        """Process id of the running helper."""
        helper = self._helper
        return helper.pid if helper is not None and not helper.ended else None

    def read(self, target: Target, queries: Sequence[BeanQuery], deadline_s: float) -> tuple[Bean, ...]:
        """See `Transport.read`; when the deadline passes the helper is killed, for nothing else bounds RMI."""
        until = self._monotonic() + deadline_s
        helper = self._running()
        while True:
            waiting = helper.send(target, queries)
            if not waiting.done.wait(max(0.0, until - self._monotonic())):
                helper.kill()
                raise failures.timed_out(target, deadline_s)
            if waiting.answer is not None:
                return _beans(target, waiting.answer)
            if helper.fatal is not None:
                raise SourceError(
                    "no_java",
                    f"The JVM for JMX did not start: {helper.fatal}.",
                    "Install a Java of version 11 or later.",
                )
            if self._closed or self._monotonic() >= until:
                raise SourceError(
                    "transport", "The helper process for JMX ended.", "It is started again by the next poll."
                )
            helper = self._running()  # another target's deadline ended it: ask the next one

    def close(self) -> None:
        """End the helper."""
        self._closed = True
        with self._mutex:
            if self._helper is not None:
                self._helper.kill()
            self._helper = None

    def _running(self) -> _Helper:
        with self._mutex:
            if self._helper is None or self._helper.ended:
                self._helper = _Helper(self._command())
            return self._helper


def _command() -> list[str]:
    library = java.libjvm(java.java_home())
    return [sys.executable, "-m", "exporter.sources.jmx.bridge_helper", str(library)]


def _beans(target: Target, answer: dict[str, Any]) -> tuple[Bean, ...]:
    if "error" in answer:
        raise failures.explain(target, answer["error"])
    return tuple(
        Bean(
            bean["name"],
            {
                k: float(v) if isinstance(v, int) and not isinstance(v, bool) else v
                for k, v in bean["attributes"].items()
            },
        )
        for bean in answer["beans"]
    )

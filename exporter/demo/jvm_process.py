"""The handle on a process that shows MBeans (see `simulated_jvm`)."""

from __future__ import annotations

import contextlib
import json
import logging
import subprocess
import sys
import threading
from pathlib import Path

from exporter.demo.mbeans import Beans
from exporter.errors import ExporterError

log = logging.getLogger(__name__)

READY_WITHIN_S = 30.0
_STOP_WITHIN_S = 3.0


class JvmProcess:
    """One worker's JVM. It comes up by itself after the constructor returned; see `wait_ready`.

    Args:
        libjvm: the JVM's library.
        port: the JMX port on loopback.
        directory: for the class path and what the process prints; exists.
    """

    def __init__(self, libjvm: Path, port: int, directory: Path) -> None:
        self._port = port
        self._printed = directory / f"jvm-{port}.txt"
        self._ready = threading.Event()
        self._failed = False
        self._stopping = False
        command = [sys.executable, "-m", "exporter.demo.simulated_jvm", str(libjvm), str(port), str(directory / "java")]
        with self._printed.open("wb") as printed:
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=printed,
                encoding="utf-8",
                start_new_session=True,  # Ctrl-C is the demo's business
            )
        self._reader = threading.Thread(target=self._read, name=f"jvm-{port}", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    def show(self, beans: Beans) -> None:
        """Show these MBeans from now on, and no others."""
        document = {
            name: {
                attribute: (value.declared, value.java_class, value.value, value.per_s)
                for attribute, value in attributes.items()
            }
            for name, attributes in beans.items()
        }
        stdin = self._process.stdin
        assert stdin is not None  # noqa: S101 - it was opened as a pipe
        try:
            stdin.write(json.dumps(document) + "\n")
            stdin.flush()
        except OSError:
            self._failed = True  # the process ended; `_read` and `wait_ready` say so

    def wait_ready(self, within_s: float = READY_WITHIN_S) -> None:
        """Wait until the MBeans first shown can be read.

        Raises:
            ExporterError: the JVM ended, or takes too long.
        """
        if not self._ready.wait(within_s):
            raise ExporterError(
                f"The simulated worker's JVM on port {self._port} did not come up within {within_s:g} s.",
                "The machine may be too busy; try again.",
            )
        if self._failed:
            printed = self._printed.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            said = f" It said: {printed[-1]}" if printed else ""
            raise ExporterError(
                f"The simulated worker's JVM on port {self._port} ended with code {self._process.wait()}.{said}",
                "If the port was taken meanwhile, start the demo again: it looks for free ones.",
            )

    def stop(self) -> None:
        """End the process."""
        self._stopping = True
        stdin = self._process.stdin
        assert stdin is not None  # noqa: S101 - it was opened as a pipe
        with contextlib.suppress(OSError):  # it ended before
            stdin.close()
        try:
            self._process.wait(_STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()

    def _read(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None  # noqa: S101 - it was opened as a pipe
        with stdout:
            for _ in stdout:
                self._ready.set()
        if not self._stopping:
            self._failed = True
            log.warning("the simulated worker's JVM on port %d ended by itself; see %s", self._port, self._printed)
        self._ready.set()

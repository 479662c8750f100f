"""A real JVM with MBeans like a Connect worker's, to be stopped, killed and started again."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

from exporter.sources.jmx.transport import Target

ODD_NAMES = (
    "a,b",
    'a,b"c',
    "a\nb",
    "back\\slash",
    'quote"x',
    "star*?",
    "uni-é日",
    "with space",
    "a=b:c",
    'both\\"ends"',
)
USER = "monitor"
UNLISTED_USER = "unlisted"
"""Knows the password, may read nothing."""
PASSWORD = 'pa"ss\\Zq7-secret'  # noqa: S105 - of the test's own JVM
"""With what has to be escaped somewhere on its way."""

_SOURCE = Path(__file__).parent / "java" / "ConnectLike.java"
_STARTS = 3


def compile_into(folder: Path) -> Path:
    """The folder with the compiled program."""
    for program in ("java", "javac"):
        assert shutil.which(program), f"`{program}` is missing: apt-get install default-jdk-headless"
    subprocess.run(["javac", "-encoding", "UTF-8", "-d", folder, _SOURCE], check=True)
    return folder


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


class ConnectLike:
    """The JVM; with `secured` it wants USER and PASSWORD."""

    def __init__(
        self,
        classes: Path,
        folder: Path,
        *,
        connectors: Sequence[str] = ("plain",),
        secured: bool = False,
        rmi_host: str = "127.0.0.1",
    ) -> None:
        self._classes = classes
        self._folder = folder
        self._connectors = connectors
        self._secured = secured
        self._rmi_host = rmi_host
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    @property
    def target(self) -> Target:
        """Where it listens, without credentials."""
        return Target("127.0.0.1", self.port)

    def start(self, port: int | None = None) -> None:
        """Start and wait until its MBeans are there; on a free port, or on this one."""
        for _ in range(_STARTS):  # another process can take a free port first
            self.port = port or free_port()
            process = subprocess.Popen(
                self._command(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "LC_ALL": "C.UTF-8"},
            )
            self._process = process
            assert process.stdout is not None
            if process.stdout.readline() == b"ready\n":
                return
            self.stop()
        raise AssertionError(f"the JVM did not start {_STARTS} times, the last one on port {self.port}")

    def signal(self, number: signal.Signals) -> None:
        """Stop it, let it go on, kill it."""
        assert self._process is not None
        self._process.send_signal(number)

    def stop(self) -> None:
        """Kill it; also one that is stopped."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()
        self._process = None

    def _command(self) -> list[str]:
        settings = {
            "port": self.port,
            "rmi.port": self.port,
            "ssl": "false",
            "authenticate": "true" if self._secured else "false",
        }
        if self._secured:
            passwords, access = self._folder / "jmxremote.password", self._folder / "jmxremote.access"
            passwords.touch(0o600)
            passwords.write_text(f"{USER} {PASSWORD}\n{UNLISTED_USER} {PASSWORD}\n")
            access.write_text(f"{USER} readonly\n")
            settings |= {"password.file": passwords, "access.file": access, "password.toHashes": "false"}
        return [
            "java",
            "-Xmx64m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            f"-Djava.rmi.server.hostname={self._rmi_host}",
            *(f"-Dcom.sun.management.jmxremote.{key}={value}" for key, value in settings.items()),
            "-cp",
            str(self._classes),
            "ConnectLike",
            *self._connectors,
        ]

"""JVMs and transports for the contract tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from contract.connect_like import ODD_NAMES, ConnectLike, compile_into

from exporter.sources.jmx.bridge import BridgeTransport
from exporter.sources.jmx.jmxquery import JmxQueryTransport
from exporter.sources.jmx.transport import Transport

Start = Callable[..., ConnectLike]

TRANSPORTS: dict[str, Callable[[], Transport]] = {"bridge": BridgeTransport, "jmxquery": JmxQueryTransport}


@pytest.fixture(scope="session")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled program."""
    return compile_into(tmp_path_factory.mktemp("classes"))


@pytest.fixture(scope="session")
def odd_worker(classes: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectLike]:
    """A JVM with connectors of odd names, for tests that only read."""
    jvm = ConnectLike(classes, tmp_path_factory.mktemp("odd"), connectors=ODD_NAMES)
    jvm.start()
    yield jvm
    jvm.stop()


@pytest.fixture(scope="session")
def secured_worker(classes: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectLike]:
    """A JVM that wants a password, for tests that only read."""
    jvm = ConnectLike(classes, tmp_path_factory.mktemp("secured"), secured=True)
    jvm.start()
    yield jvm
    jvm.stop()


@pytest.fixture
def start(classes: Path, tmp_path: Path) -> Iterator[Start]:
    """Starts a JVM of the test's own."""
    jvms: list[ConnectLike] = []

    def start_one(**settings: str) -> ConnectLike:
        jvms.append(ConnectLike(classes, tmp_path, **settings))  # type: ignore[arg-type]
        jvms[-1].start()
        return jvms[-1]

    yield start_one
    for jvm in jvms:
        jvm.stop()


@pytest.fixture(params=TRANSPORTS)
def transport(request: pytest.FixtureRequest) -> Iterator[Transport]:
    """Each transport in turn."""
    made = TRANSPORTS[request.param]()
    yield made
    made.close()

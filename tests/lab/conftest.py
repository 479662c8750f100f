"""One broker for all tests of the lab."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from support import jars, lab


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests with `version` run on each of LAB_VERSIONS."""
    if "version" in metafunc.fixturenames:
        versions = os.environ.get("LAB_VERSIONS", jars.BROKER_VERSION).split()
        metafunc.parametrize("version", versions, scope="module")


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lab.Broker]:
    """A running broker."""
    with lab.broker(tmp_path_factory.mktemp("broker")) as made:
        yield made


@pytest.fixture(scope="module")
def pair(version: str, broker: lab.Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[lab.Pair]:
    """A running pair with the mismatch; nothing has failed yet."""
    with lab.pair(tmp_path_factory.mktemp(f"pair-{version}"), broker, version) as made:
        yield made

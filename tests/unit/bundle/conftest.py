"""The tools of Prometheus, and the bundle rendered once."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from exporter.bundle.render import render

Run = Callable[..., subprocess.CompletedProcess[str]]

_PACKAGES: Mapping[str, str] = MappingProxyType({"promtool": "prometheus", "amtool": "prometheus-alertmanager"})


@pytest.fixture(scope="session")
def tool() -> Run:
    """Runs a tool of Prometheus: `tool("promtool", "check", "rules", path)`."""

    def run(name: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        if shutil.which(name) is None:
            pytest.fail(f"{name} is missing: apt-get install {_PACKAGES[name]}")
        return subprocess.run(
            [name, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )

    return run


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle with its default settings."""
    directory = tmp_path_factory.mktemp("bundle")
    render(directory)
    return directory

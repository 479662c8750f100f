"""What every transport must do, against a real JVM."""

from __future__ import annotations

import math
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from contract.connect_like import ODD_NAMES, PASSWORD, UNLISTED_USER, USER, ConnectLike, free_port
from contract.processes import descendants, shown
from support.waiting import wait_for

from exporter.connect.readings import ConnectorReading, JmxReading, TaskReading, Value
from exporter.errors import SourceError
from exporter.sources.jmx.source import JmxSource
from exporter.sources.jmx.transport import BeanQuery, Target, Transport

ALL_VALUES = BeanQuery(
    "kafka.connect:type=values",
    (
        *("double", "long", "integer", "nan", "infinity", "minus-infinity", "null", "true", "text", "empty", "fault"),
        *("only-here", "not-there"),
    ),
)
EPOCH = (BeanQuery("kafka.connect:type=connect-worker-rebalance-metrics", ("epoch",)),)
SHORT_S = 2.0
"""A deadline that is meant to pass."""
AMPLE_S = 30.0
"""A deadline that is not, also on a busy machine."""

Start = Callable[..., ConnectLike]


@contextmanager
def silent_server() -> Iterator[int]:
    """A port that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@contextmanager
def web_server() -> Iterator[int]:
    """A port that answers what it cannot read as Jetty does, Connect's REST port for one: at the first byte."""

    def answer() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return  # closed: the test is over
            with connection:
                connection.recv(64)
                connection.sendall(b"HTTP/1.1 400 Illegal character\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=answer)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
    thread.join()


def failure(transport: Transport, target: Target, deadline_s: float = AMPLE_S) -> SourceError:
    """The error that reading ends with."""
    with pytest.raises(SourceError) as caught:
        transport.read(target, EPOCH, deadline_s)
    return caught.value


def epoch(transport: Transport, target: Target) -> object:
    """One number of the worker."""
    (bean,) = transport.read(target, EPOCH, AMPLE_S)
    return bean.attributes["epoch"]


def test_values_come_by_their_own_class(transport: Transport, odd_worker: ConnectLike) -> None:
    """Texts, numbers and booleans come as such though declared double; what cannot be told is left out."""
    (bean,) = transport.read(odd_worker.target, (ALL_VALUES,), AMPLE_S)

    attributes = dict(bean.attributes)
    nan = attributes.pop("nan")
    assert isinstance(nan, float)
    assert math.isnan(nan)
    assert attributes == {
        "double": 1.5,
        "long": 9007199254740991.0,
        "integer": -3.0,
        "infinity": math.inf,
        "minus-infinity": -math.inf,
        "true": True,
        "text": 'say "hi", \\ and } é日',
        "empty": "",
    }
    assert {type(value) for value in attributes.values()} == {float, bool, str}


def test_names_come_as_users_know_them(transport: Transport, odd_worker: ConnectLike) -> None:
    """The key property `connector` is the name that the user gave, whatever is in it."""
    query = BeanQuery("kafka.connect:type=connector-metrics,connector=*", ("status",))

    beans = transport.read(odd_worker.target, (query,), AMPLE_S)

    assert sorted(bean.keys["connector"] for bean in beans) == sorted(ODD_NAMES)
    assert all(bean.name.startswith("kafka.connect:type=connector-metrics,connector=") for bean in beans)


def test_a_name_can_be_asked_for(transport: Transport, odd_worker: ConnectLike) -> None:
    """A pattern reaches the worker as written, also beyond ASCII."""
    query = BeanQuery('kafka.connect:type=connector-metrics,connector="uni-é日"', ("status",))

    (bean,) = transport.read(odd_worker.target, (query,), AMPLE_S)

    assert bean.keys == {"type": "connector-metrics", "connector": "uni-é日"}


def test_reading_of_the_whole_catalogue(transport: Transport, odd_worker: ConnectLike) -> None:
    """Both transports give the same reading of the same worker."""
    reading = JmxSource(odd_worker.target, transport).poll(AMPLE_S)

    worker = "10.0.0.2:8083"
    class_name = 'org.example.Say "hi" \\ there'
    assert {c.name for c in reading.connectors} == set(ODD_NAMES)
    for connector in reading.connectors:
        assert connector == ConnectorReading(connector.name, "running", worker, "source", class_name, None)
    assert {t.connector for t in reading.tasks} == set(ODD_NAMES)
    for task in reading.tasks:
        assert task == TaskReading(task.connector, 0, "running", worker)
    task_values = [v for v in reading.values if v.labels]
    assert len(task_values) == 2 * len(ODD_NAMES)
    assert Value("kafka_connect_task_running_ratio", (("connector", "a,b"), ("task", "0")), 1.0) in task_values
    assert Value("kafka_connect_task_batch_size_max", (("connector", "a,b"), ("task", "0")), 12.0) in task_values
    rest = JmxReading(
        worker, "4.4.0", "sessioned", "http://10.0.0.1:8083/", reading.connectors, reading.tasks, reading.values
    )
    assert reading == rest
    assert {v.series.removeprefix("kafka_connect_worker_"): v.value for v in reading.values if not v.labels} == {
        "connectors": 2.0,
        "tasks": 3.0,
        "assigned_connectors": 2.0,
        "assigned_tasks": 3.0,
        "rebalance_epoch": 7.0,
        "rebalance_max_seconds": 1.5,
        "rebalancing": 0.0,
        "start_time_seconds": 1_800_000_000.0,
    }


def test_a_jvm_that_is_no_worker(transport: Transport, odd_worker: ConnectLike) -> None:
    """No bean that matches is an empty answer, not an error."""
    assert transport.read(odd_worker.target, (BeanQuery("no.such:type=bean", ("x",)),), AMPLE_S) == ()


def test_the_right_password(transport: Transport, secured_worker: ConnectLike) -> None:
    """With user and password, odd characters in it included, a secured worker is read."""
    assert epoch(transport, Target("127.0.0.1", secured_worker.port, USER, PASSWORD)) == 7.0


@pytest.mark.parametrize(
    ("username", "password"),
    [(None, None), (USER, None), (USER, "wrong-" + PASSWORD), ("nobody", PASSWORD)],
    ids=["none", "no-password", "wrong-password", "wrong-user"],
)
def test_a_password_that_is_wrong(
    transport: Transport, secured_worker: ConnectLike, username: str | None, password: str | None
) -> None:
    """Wrong or missing credentials are named so, without telling the password."""
    error = failure(transport, Target("127.0.0.1", secured_worker.port, username, password))

    assert error.reason == "auth"
    assert "password_file" in error.remedy
    assert PASSWORD not in f"{error} {error!r} {error.__cause__!r} {error.__context__!r}"


def test_a_user_without_access(transport: Transport, secured_worker: ConnectLike) -> None:
    """A user whom the worker's access file does not list is told about that file, not about the password."""
    error = failure(transport, Target("127.0.0.1", secured_worker.port, UNLISTED_USER, PASSWORD))

    assert error.reason == "auth"
    assert "jmxremote.access" in error.remedy


def test_a_closed_port(transport: Transport) -> None:
    """A port where nobody listens is `refused`, at once."""
    error = failure(transport, Target("127.0.0.1", free_port()))

    assert error.reason == "refused"
    assert "JMX_PORT" in error.remedy


def test_a_host_without_address(transport: Transport) -> None:
    """A host name that does not resolve is `unresolved`."""
    assert failure(transport, Target("no-such-host.invalid", 9999)).reason == "unresolved"


def test_a_worker_that_names_another_host(transport: Transport, start: Start) -> None:
    """A worker whose RMI host name does not resolve here is `unresolved`, and the remedy names the setting."""
    error = failure(transport, start(rmi_host="no-such-host.invalid").target)

    assert error.reason == "unresolved"
    assert "java.rmi.server.hostname" in error.remedy


def test_a_web_server(transport: Transport) -> None:
    """A port that speaks HTTP is `not_jmx`."""
    with web_server() as port:
        error = failure(transport, Target("127.0.0.1", port))

    assert error.reason == "not_jmx"
    assert str(port) in error.message


def test_a_port_that_never_answers(transport: Transport) -> None:
    """The deadline holds for a port that accepts and is silent."""
    with silent_server() as port:
        begin = time.monotonic()
        error = failure(transport, Target("127.0.0.1", port), SHORT_S)

    assert error.reason == "timeout"
    assert SHORT_S <= time.monotonic() - begin < SHORT_S + 2


def test_a_stopped_worker(transport: Transport, start: Start) -> None:
    """A worker that hangs under an open connection ends at the deadline, and is read again when it goes on."""
    worker = start()
    assert epoch(transport, worker.target) == 7.0
    worker.signal(signal.SIGSTOP)
    begin = time.monotonic()

    error = failure(transport, worker.target, SHORT_S)

    assert error.reason == "timeout"
    assert time.monotonic() - begin < SHORT_S + 2
    worker.signal(signal.SIGCONT)
    assert epoch(transport, worker.target) == 7.0


def test_a_restarted_worker(transport: Transport, start: Start) -> None:
    """The first poll after a restart on the same port succeeds; while the worker is away it is `refused`."""
    worker = start()
    assert epoch(transport, worker.target) == 7.0
    port = worker.port
    worker.stop()
    assert failure(transport, Target("127.0.0.1", port)).reason == "refused"
    worker.start(port)
    assert epoch(transport, worker.target) == 7.0
    worker.stop()
    worker.start(port)

    assert epoch(transport, worker.target) == 7.0


def test_a_hanging_worker_holds_up_nobody(transport: Transport, odd_worker: ConnectLike) -> None:
    """While one target hangs another is read, and still is after the first one's deadline."""
    assert epoch(transport, odd_worker.target) == 7.0
    errors: list[SourceError] = []
    with silent_server() as port:
        hanging = threading.Thread(
            target=lambda: errors.append(failure(transport, Target("127.0.0.1", port), 3 * SHORT_S))
        )
        hanging.start()
        reads = 0
        while hanging.is_alive():
            assert epoch(transport, odd_worker.target) == 7.0
            reads += 1
        hanging.join()

    assert reads > 1
    assert [error.reason for error in errors] == ["timeout"]
    assert epoch(transport, odd_worker.target) == 7.0


def test_the_password_is_on_no_command_line(transport: Transport) -> None:
    """While a poll with a password is under way no child process shows it, nor does its environment."""
    before = descendants()
    with silent_server() as port:
        target = Target("127.0.0.1", port, USER, PASSWORD)
        errors: list[SourceError] = []
        poll = threading.Thread(target=lambda: errors.append(failure(transport, target, 2 * SHORT_S)))
        poll.start()
        texts = wait_for(
            "a child that runs Java",
            lambda: [text for pid in descendants() - before if "jmx" in (text := shown(pid)) or "@/dev/fd" in text],
            SHORT_S,
        )
        poll.join()

    secret = PASSWORD.partition("\\")[2]
    assert not [text for text in texts if secret in text]
    assert secret not in f"{errors} {errors[0]} {target!r} {target}"


def test_close_ends_all_processes(transport: Transport, odd_worker: ConnectLike) -> None:
    """After close no process of the transport is left, and reading is refused, not begun anew."""
    before = descendants()
    assert epoch(transport, odd_worker.target) == 7.0

    transport.close()

    assert descendants() <= before
    assert failure(transport, odd_worker.target).reason == "transport"
    assert descendants() <= before

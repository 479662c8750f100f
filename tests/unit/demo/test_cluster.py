"""The simulated cluster tells what real workers told; under a driven clock, without processes and servers."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from exporter.demo.access_line import AccessLine
from exporter.demo.cluster import Cluster, Ports
from exporter.demo.mbeans import Beans
from exporter.demo.simulated_rest import AnswerTo, OnAccess

DATA = Path(__file__).resolve().parents[2] / "data" / "demo"
START_S = datetime(2026, 11, 30, 21, 0, tzinfo=UTC).timestamp()
PORTS = {"w1": Ports(rest=28083, jmx=28183), "w2": Ports(rest=28084, jmx=28184)}
FAULT_AFTER_S = 20.0


@dataclass
class _FakeJvm:
    """Remembers what it was told to show."""

    port: int
    beans: Beans = field(default_factory=dict)
    stopped: bool = False

    def show(self, beans: Beans) -> None:
        self.beans = beans

    def wait_ready(self) -> None:
        """It is."""

    def stop(self) -> None:
        self.stopped = True


@dataclass
class _FakeRest:
    """Answers when asked by the test."""

    port: int
    answer: AnswerTo
    on_access: OnAccess
    stopped: bool = False

    def stop(self) -> None:
        self.stopped = True


@dataclass(frozen=True)
class Record:
    """A log record as an operator's eye reads it."""

    at_s: float
    level: str
    message: str
    logger: str
    text: str


_FIRST_LINE = re.compile(r"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\] (?=[A-Z])", re.MULTILINE)
_RECORD = re.compile(r"(ERROR|WARN|INFO) (.*?) \(([\w.$]+:\d+)\)(?:\n(?:\t|org\.|java\.|Caused by).*)*\Z", re.DOTALL)


def parse(text: str) -> list[Record]:
    """A whole log in Kafka's layout; fails on anything else."""
    head, *parts = _FIRST_LINE.split(text)
    assert not head
    records = []
    for stamp, body in zip(parts[::2], parts[1::2], strict=True):
        match = _RECORD.match(body.removesuffix("\n"))
        assert match, body
        at = datetime.strptime(stamp, "%Y-%m-%d %H:%M:%S,%f").astimezone()
        records.append(Record(at.timestamp(), match[1], match[2], match[3].rpartition(".")[2], body))
    return records


class Driven:
    """A cluster and the hands on its clock."""

    def __init__(self, directory: Path) -> None:
        self.now_s = START_S
        self.directory = directory
        self.jvms: list[_FakeJvm] = []
        self.rests: list[_FakeRest] = []
        self.cluster = Cluster(
            PORTS,
            directory,
            start_jvm=self._jvm,
            start_rest=self._rest,
            clock=lambda: self.now_s,
            fault_after_s=FAULT_AFTER_S,
        )
        self.cluster.start()

    def _jvm(self, port: int) -> _FakeJvm:
        self.jvms.append(_FakeJvm(port))
        return self.jvms[-1]

    def _rest(self, port: int, answer: AnswerTo, on_access: OnAccess) -> _FakeRest:
        self.rests.append(_FakeRest(port, answer, on_access))
        return self.rests[-1]

    def jvm(self, worker: str) -> _FakeJvm:
        """The worker's newest JVM."""
        return next(jvm for jvm in reversed(self.jvms) if jvm.port == PORTS[worker].jmx)

    def rest(self, worker: str) -> _FakeRest:
        """The worker's newest REST server."""
        return next(rest for rest in reversed(self.rests) if rest.port == PORTS[worker].rest)

    def go_to(self, since_start_s: float) -> None:
        """Let the time pass in steps as small as the cluster asks for."""
        until_s = START_S + since_start_s
        while self.now_s < until_s:
            wait_s = self.cluster.step()
            self.now_s = min(self.now_s + max(wait_s, 0.001), until_s)
        self.cluster.step()

    def log(self, worker: str) -> list[Record]:
        """What the worker printed so far."""
        return parse((self.directory / worker / "connect.log").read_text(encoding="utf-8"))

    def since_fault_s(self, record: Record) -> float:
        """When a record was printed, counted from the fault."""
        return record.at_s - START_S - FAULT_AFTER_S


@pytest.fixture
def driven(tmp_path: Path) -> Iterator[Driven]:
    """A started cluster."""
    driven = Driven(tmp_path)
    yield driven
    driven.cluster.stop()


def attempts(driven: Driven) -> list[Record]:
    """The heads of the failed attempts: the c lines."""
    return [r for r in driven.log("w2") if "Failed to reconfigure connector's tasks" in r.message]


def get(driven: Driven, worker: str, target: str) -> Any:
    """What a worker's REST server answers, as a document."""
    answer = driven.rest(worker).answer("GET", target)
    assert answer.status == 200
    return json.loads(answer.body)


def overview(driven: Driven) -> dict[str, tuple[str, list[str]]]:
    """Connector -> state and its tasks' states with their workers, as REST tells."""
    ports = {f"127.0.0.1:{p.rest}": name for name, p in PORTS.items()}
    document = get(driven, "w1", "/connectors?expand=status&expand=info")
    return {
        name: (
            f"{c['status']['connector']['state']}@{ports[c['status']['connector']['worker_id']]}",
            [f"{task['state']}@{ports[task['worker_id']]}" for task in c["status"]["tasks"]],
        )
        for name, c in document.items()
    }


def names(beans: Beans, kind: str) -> set[str]:
    """The connectors that have an MBean of this type."""
    pattern = re.compile(rf"kafka\.connect:type={kind},connector=([\w.-]+)(?:,task=0)?")
    return {match[1] for name in beans if (match := pattern.fullmatch(name))}


HEALTHY = {"orders-source": ("RUNNING@w1", ["RUNNING@w1"]), "audit_log": ("RUNNING@w2", ["RUNNING@w2"])}


def test_the_demo_begins_healthy(driven: Driven) -> None:
    """At the start each worker hosts a connector whose task runs, and nothing was refused."""
    assert overview(driven) == HEALTHY
    assert [r.text for w in PORTS for r in driven.log(w) if r.level == "ERROR"] == []
    assert names(driven.jvm("w1").beans, "connector-task-metrics") == {"orders-source"}
    assert names(driven.jvm("w2").beans, "connector-task-metrics") == {"audit_log"}


def test_history_lies_before_the_start(driven: Driven) -> None:
    """What is in the logs at the start is older than the start, in order, and not older than the history."""
    for worker in PORTS:
        times = [record.at_s for record in driven.log(worker)]
        assert times == sorted(times)
        assert START_S - 91 < times[0] <= times[-1] <= START_S


def test_start_up_dumps_tell_who_signs_how(driven: Driven) -> None:
    """Each start prints the worker's algorithms: w2 first Kafka's defaults, then the roll-out's."""
    told = [
        re.findall(r"inter\.worker\.(?:signature|verification)\.algorithms? = (.*)", record.text)
        for record in driven.log("w2")
        if record.message.startswith("DistributedConfig values:")
    ]
    assert told == [["HmacSHA256", "[HmacSHA256]"], ["HmacSHA512", "[HmacSHA512, HmacSHA256]"]]


def test_workers_join_a_sessioned_group_with_w1_as_leader(driven: Driven) -> None:
    """Both workers say which protocol they joined with, and that w1 leads."""
    for worker in PORTS:
        joined = [r.message for r in driven.log(worker) if "Joined group at generation" in r.message]
        assert joined
        assert all("with protocol version 2" in j and "leaderUrl='http://127.0.0.1:28083/'" in j for j in joined)


def test_every_record_is_in_kafkas_layout(driven: Driven) -> None:
    """Over fault and repair, every line of both logs belongs to a record, and no placeholder is left."""
    driven.go_to(60)
    driven.cluster.mend()
    driven.go_to(90)
    for worker in PORTS:
        assert not [r.text for r in driven.log(worker) if "<<" in r.text or ">>" in r.text]


def test_a_refused_hand_over_prints_what_a_real_worker_printed(driven: Driven) -> None:
    """An attempt's records, with their dumps and traces, equal those recorded from Kafka 4.4.0."""
    driven.go_to(FAULT_AFTER_S + 0.5)
    # The recording begins with the second attempt; so do we, 0.25 s after the first.
    began_s = attempts(driven)[0].at_s
    printed = [r.text for r in driven.log("w2") if r.at_s > began_s and "GET" not in r.text][:5]
    recorded = (DATA / "attempt.log").read_text(encoding="utf-8").replace("s7r1-440b", "demo")
    assert printed == [r.text for r in parse(recorded)]


def test_retries_follow_kafkas_back_off(driven: Driven) -> None:
    """Attempts come 0.25, 0.5, 1, 2 ... 32 s apart, then every 60 s, each with the lines a, b and c."""
    driven.go_to(FAULT_AFTER_S + 260)
    times = [record.at_s for record in attempts(driven)]
    gaps_s = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert gaps_s == pytest.approx([0.25, 0.5, 1, 2, 4, 8, 16, 32, 60, 60, 60], abs=0.03)
    heads = [r.message.split("http")[0] for r in driven.log("w2") if r.level == "ERROR"]
    kinds = [re.sub(r"\[Worker .*?\] ", "", head) for head in heads]
    assert kinds == len(times) * [
        "Error forwarding REST request to ",
        "Request to leader to reconfigure connector tasks failed",
        "Failed to reconfigure connector's tasks (billing.events), retrying after backoff.",
    ]


def test_the_leader_logs_each_refusal(driven: Driven) -> None:
    """w1 prints an access line of 400 and 321 bytes just before each failure of w2."""
    driven.go_to(FAULT_AFTER_S + 20)
    line = '"POST /connectors/billing.events/tasks HTTP/1.1" 400 321 "" "kafka-connect" 6'
    refusals = [record.at_s for record in driven.log("w1") if line in record.message]
    failures = [record.at_s for record in attempts(driven)]
    assert len(refusals) == 7
    assert [f - r for r, f in zip(refusals, failures, strict=True)] == pytest.approx([0.003] * 7, abs=0.002)


def test_the_fault_hides_from_rest_and_jmx(driven: Driven) -> None:
    """While refused, billing.events is RUNNING without a task, over REST and over JMX."""
    driven.go_to(FAULT_AFTER_S + 10)
    assert overview(driven) == HEALTHY | {"billing.events": ("RUNNING@w2", [])}
    assert names(driven.jvm("w2").beans, "connector-metrics") == {"audit_log", "billing.events"}
    assert names(driven.jvm("w2").beans, "connector-task-metrics") == {"audit_log"}
    assert names(driven.jvm("w1").beans, "connector-metrics") == {"orders-source"}


def test_rest_answers_have_the_recorded_shape(driven: Driven) -> None:
    """Root and overview have the keys, types and constants of a real worker's answers."""
    driven.go_to(FAULT_AFTER_S + 10)
    recorded = json.loads((DATA / "rest-fault.json").read_text(encoding="utf-8"))
    assert get(driven, "w2", "/") == recorded["GET /"]
    target = "/connectors?expand=status&expand=info"
    mine, theirs = get(driven, "w2", target), recorded[f"GET {target}"]
    # Topics and, in the recording, audit_log's worker differ.
    for document in (mine, theirs):
        for connector in document.values():
            connector["info"]["config"].pop("topic")
        document["audit_log"]["status"]["connector"].pop("worker_id")
    assert mine == theirs


def test_a_worker_shows_the_recorded_mbeans(driven: Driven) -> None:
    """In the fault w2 shows the MBeans, attributes, declared types and classes of the recorded w2."""
    driven.go_to(FAULT_AFTER_S + 10)
    recorded = json.loads((DATA / "mbeans-fault-w2.json").read_text(encoding="utf-8"))
    # Here w2 hosts the connector audit_log too, not only its task.
    recorded["kafka.connect:type=connector-metrics,connector=audit_log"] = recorded[
        "kafka.connect:type=connector-metrics,connector=billing.events"
    ]
    enum = "org.apache.kafka.connect.runtime.rest.entities.ConnectorType"
    shown = {
        name: {a: [v.declared, None if v.java_class == enum else v.java_class] for a, v in attributes.items()}
        for name, attributes in driven.jvm("w2").beans.items()
        if name.startswith("kafka.connect:")
    }
    assert shown == recorded


def test_mbeans_count_on(driven: Driven) -> None:
    """A running task's records and a worker's rebalances grow with the story."""
    name = "kafka.connect:type=source-task-metrics,connector=orders-source,task=0"
    rebalances = "kafka.connect:type=connect-worker-rebalance-metrics"
    before = driven.jvm("w1").beans
    driven.go_to(FAULT_AFTER_S + 1)
    after = driven.jvm("w1").beans
    grown = float(after[name]["source-record-write-total"].value) - float(
        before[name]["source-record-write-total"].value
    )
    assert grown == pytest.approx(42 * (FAULT_AFTER_S + 1), rel=0.05)
    total = "completed-rebalances-total"
    assert float(after[rebalances][total].value) == float(before[rebalances][total].value) + 1


def test_mend_ends_the_loop(driven: Driven) -> None:
    """After the repair w1 answers 204, both workers say the tasks were configured, and nothing is refused any more."""
    driven.go_to(FAULT_AFTER_S + 40)
    assert "HmacSHA256" in driven.cluster.mend()
    driven.go_to(FAULT_AFTER_S + 59)
    assert overview(driven) == HEALTHY | {"billing.events": ("RUNNING@w2", ["RUNNING@w2"])}
    assert names(driven.jvm("w2").beans, "connector-task-metrics") == {"audit_log", "billing.events"}
    accepted = '"POST /connectors/billing.events/tasks HTTP/1.1" 204 0 "" "kafka-connect"'
    assert len([r for r in driven.log("w1") if accepted in r.message]) == 1
    for worker in PORTS:
        assert len([r for r in driven.log(worker) if "Tasks [billing.events-0] configs updated" in r.message]) == 1
    refused = len(attempts(driven))
    driven.go_to(FAULT_AFTER_S + 200)
    assert len(attempts(driven)) == refused
    assert "All is well" in driven.cluster.status()


def test_a_restart_takes_jmx_and_rest_down(driven: Driven) -> None:
    """While w2 is restarted its REST port closes, then its JVM ends; new ones come, and w1 stays."""
    driven.go_to(FAULT_AFTER_S + 40)
    jvm, rest = driven.jvm("w2"), driven.rest("w2")
    driven.cluster.mend()
    driven.go_to(FAULT_AFTER_S + 41)
    assert (jvm.stopped, rest.stopped) == (False, True)
    driven.go_to(FAULT_AFTER_S + 42)
    assert jvm.stopped
    assert overview(driven)["audit_log"] == ("UNASSIGNED@w2", ["UNASSIGNED@w2"])
    driven.go_to(FAULT_AFTER_S + 46)
    assert driven.jvm("w2") is not jvm
    assert driven.rest("w2") is not rest
    assert not driven.jvm("w1").stopped


def test_a_worker_that_returns_waits_for_the_rebalance_delay(driven: Driven) -> None:
    """After its restart w2 joins with nothing, and gets back what it had when the delay is over (KIP-415)."""
    driven.go_to(FAULT_AFTER_S + 40)
    driven.cluster.mend()
    driven.go_to(FAULT_AFTER_S + 55)
    joined = [r for r in driven.log("w2") if "Joined group" in r.message and driven.since_fault_s(r) > 40]
    told = [re.findall(r"connectorIds=\[(.*?)\].*rebalance delay: (\d+)", r.message)[0] for r in joined]
    assert told[:2] == [("", "7900"), ("audit_log, billing.events", "0")]
    assert joined[1].at_s - joined[0].at_s == pytest.approx(7.9, abs=0.01)


def test_a_looping_worker_that_stops_logs_the_recorded_pair(driven: Driven) -> None:
    """A retry that waits when the worker stops ends with two errors, which are no attempt."""
    driven.go_to(FAULT_AFTER_S + 40)
    before = len(attempts(driven))
    driven.cluster.mend()
    driven.go_to(FAULT_AFTER_S + 50)
    last = [r.message for r in driven.log("w2") if r.level == "ERROR"][-2:]
    assert "Unexpected error during connector task reconfiguration: " in last[0]
    assert "Task reconfiguration for billing.events failed unexpectedly" in last[1]
    assert len(attempts(driven)) == before


def test_mend_is_done_once(driven: Driven) -> None:
    """A second mend, during the repair or after it, restarts nothing."""
    driven.go_to(FAULT_AFTER_S + 10)
    driven.cluster.mend()
    assert "being restarted" in driven.cluster.mend()
    driven.go_to(FAULT_AFTER_S + 40)
    starts = len(driven.jvms)
    assert "All is well" in driven.cluster.mend()
    driven.go_to(FAULT_AFTER_S + 60)
    assert len(driven.jvms) == starts


def test_mended_before_the_fault_nothing_is_refused(driven: Driven) -> None:
    """A roll-out corrected in time: the new connector gets its task, though it is created during the restart."""
    driven.go_to(FAULT_AFTER_S - 5)
    driven.cluster.mend()
    driven.go_to(FAULT_AFTER_S + 30)
    assert overview(driven)["billing.events"] == ("RUNNING@w2", ["RUNNING@w2"])
    assert attempts(driven) == []


def test_broken_again_the_old_task_goes_on(driven: Driven) -> None:
    """The latent form: refused again, the changed connector keeps its running task, over REST and JMX."""
    driven.go_to(FAULT_AFTER_S + 10)
    driven.cluster.mend()
    driven.go_to(FAULT_AFTER_S + 40)
    before = len(attempts(driven))
    driven.cluster.break_again()
    driven.go_to(FAULT_AFTER_S + 70)
    assert len(attempts(driven)) > before
    assert overview(driven)["billing.events"] == ("RUNNING@w2", ["RUNNING@w2"])
    assert names(driven.jvm("w2").beans, "connector-task-metrics") == {"audit_log", "billing.events"}
    driven.cluster.mend()
    driven.go_to(FAULT_AFTER_S + 100)
    assert "All is well" in driven.cluster.status()


def test_requests_to_a_worker_stand_in_its_log(driven: Driven) -> None:
    """A request from outside is printed as an access line by the worker that answered it."""
    driven.rest("w2").on_access(AccessLine("GET", "/connectors?expand=status", 200, 17, "curl/8", 3))
    last = driven.log("w2")[-1]
    assert re.fullmatch(
        r'127\.0\.0\.1 - - \[30/Nov/2026:21:00:00 \+0000\] "GET /connectors\?expand=status HTTP/1\.1" 200 17 "" "curl/8" 3',
        last.message,
    )


@pytest.mark.parametrize(("method", "target"), [("POST", "/connectors/x/tasks"), ("PUT", "/connectors/x/fence")])
def test_an_outsider_is_refused_as_kafka_does(driven: Driven, method: str, target: str) -> None:
    """An unsigned internal request is answered with Kafka's 400 of 74 bytes."""
    answer = driven.rest("w1").answer(method, target)
    assert (answer.status, len(answer.body)) == (400, 74)


def test_the_session_key_is_rotated_every_hour(driven: Driven) -> None:
    """Each worker reads a new session key once an hour, the leader alone the first one."""
    driven.go_to(3700)
    told = {w: [r.at_s for r in driven.log(w) if "Session key updated" in r.message] for w in PORTS}
    assert len(told["w1"]) == 2
    assert told["w1"][1] - told["w1"][0] == pytest.approx(3600, abs=0.01)
    assert told["w2"] == told["w1"][1:]

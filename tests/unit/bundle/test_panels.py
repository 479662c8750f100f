"""What the exporter shows of a cluster in trouble is what panels and alerts ask for, judged by a real Prometheus."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import Any

import promql_parser as promql
import pytest
from support import kafka_log as k

from exporter.bundle.files import read_yaml, sources
from exporter.connect.readings import ConnectorReading, RestReading, TaskReading
from exporter.connect.snapshot import WorkerSnapshot
from exporter.connect.worker_state import WorkerIdentity, WorkerState
from exporter.metrics import render
from exporter.metrics.page import ExporterHealth, Page

Run = Callable[..., subprocess.CompletedProcess[str]]

NOW_S = k.T0.replace(tzinfo=UTC).timestamp() + 200
SCRAPE_S = 15
SCRAPES = 12
LEADER, FOLLOWER = "10.0.0.1:8083", "10.0.0.2:8083"
SOURCES = {"rest": 30.0, "logs": 1.0}


def leader() -> WorkerSnapshot:
    """The leader: it refuses hand-overs, rotates its key, and one of its tasks cannot start."""
    state = WorkerState(WorkerIdentity("pay", "w1", "worker", SOURCES, zone=UTC))
    state.apply(
        k.reading(
            [r for r in k.started(0, signature="HmacSHA256") if "Advertised" not in r.message],
            k.record(0, "INFO", k.REST_SERVER, f"Advertised URI: {k.LEADER}"),
            k.joined(1, connectors="idle", tasks="sink-0"),
            k.herder(2, "INFO", "Session key updated"),
            k.access(100, "POST /connectors/src/tasks", 400, 400),
            k.access(101, "POST /connectors/src/tasks", 204, 0),
            k.record(102, "ERROR", "org.apache.kafka.connect.runtime.Worker", "Failed to start task sink-0", "a.B: x"),
            live=False,
        ),
        NOW_S,
    )
    state.publish_log()
    connectors = (ConnectorReading("idle", "running", LEADER), ConnectorReading("sink", "running", LEADER))
    state.apply(RestReading("http://w1", "4.4.0", "K1", connectors, (TaskReading("sink", 0, "failed", LEADER),)), NOW_S)
    return state.snapshot(NOW_S)


def follower() -> WorkerSnapshot:
    """The follower: the leader refuses its algorithm; one connector has no task, another runs old ones."""
    state = WorkerState(WorkerIdentity("pay", "w2", "worker", SOURCES, zone=UTC))
    attempts = [k.attempt(at_s, connector=name) for at_s in (5, 60, 120, 180) for name in ("src", "old")]
    state.apply(
        k.reading(
            k.started(0),
            k.joined(1, connectors="src, old", tasks="old-0"),
            k.herder(2, "INFO", "Session key updated"),
            *attempts,
            live=False,
        ),
        NOW_S,
    )
    state.publish_log()
    connectors = (ConnectorReading("src", "running", FOLLOWER), ConnectorReading("old", "running", FOLLOWER))
    tasks = (TaskReading("old", 0, "running", FOLLOWER),)
    state.apply(RestReading("http://w2", "4.4.0", "K1", connectors, tasks), NOW_S)
    return state.snapshot(NOW_S)


@dataclass(frozen=True)
class Prometheus:
    """A running Prometheus."""

    url: str

    def query(self, query: str) -> list[dict[str, Any]]:
        """An instant query at the last scrape; a query that Prometheus refuses is an error."""
        arguments = urllib.parse.urlencode({"query": query, "time": NOW_S})
        with urllib.request.urlopen(f"{self.url}/api/v1/query?{arguments}", timeout=20) as answer:
            content: Any = json.load(answer)
        return list(content["data"]["result"])


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory, tool: Run) -> Iterator[Prometheus]:
    """A Prometheus that holds three minutes of scrapes of the exporter's page."""
    if shutil.which("prometheus") is None:
        pytest.fail("prometheus is missing: apt-get install prometheus")
    folder = tmp_path_factory.mktemp("prometheus")
    page = Page((leader(), follower()), ExporterHealth("1"))
    lines = [
        line
        for line in render.render(render.registry(lambda: page), "openmetrics").decode().splitlines()
        if not line.startswith("#")
    ]
    scrapes = [NOW_S - SCRAPE_S * back for back in reversed(range(SCRAPES))]
    (folder / "page").write_text("".join(f"{line} {at_s}\n" for at_s in scrapes for line in lines) + "# EOF\n")
    made = tool("promtool", "tsdb", "create-blocks-from", "openmetrics", folder / "page", folder / "data")
    assert made.returncode == 0, made.stdout
    (folder / "prometheus.yml").write_text("{}\n")
    process, url = started(folder)
    try:
        yield Prometheus(url)
    finally:
        process.kill()
        process.communicate()


def started(folder: Path) -> tuple[subprocess.Popen[str], str]:
    """Start Prometheus; again on another port if somebody else took the free one meanwhile."""
    log = ""
    for _ in range(3):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        process = subprocess.Popen(
            [
                "prometheus",
                f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'data'}",
                "--storage.tsdb.retention.time=100y",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        for line in process.stderr:
            log += line
            if "Server is ready to receive web requests" in line:
                return process, f"http://127.0.0.1:{port}"
        process.communicate()
    raise AssertionError(log)


def panel_queries() -> list[tuple[str, str]]:
    """(panel and letter, query) of every panel of every dashboard, as Grafana asks with everything chosen."""
    queries = []
    for path in sorted((sources("dashboards") / "rendered").glob("*.json")):
        for panel in json.loads(path.read_text())["panels"]:
            for target in panel.get("targets", []):
                query = target["expr"].replace("$__rate_interval", "1m")
                for variable in ("$cluster", "$worker", "$connector"):
                    query = query.replace(variable, ".*")
                queries.append((f"{panel['title']} {target['refId']}", query))
    return queries


def rules() -> dict[str, str]:
    """Alert → expression."""
    content: Any = read_yaml(sources("alerts") / "rendered/prometheus/rules.yml")
    return {rule["alert"]: rule["expr"] for group in content["groups"] for rule in group["rules"]}


@pytest.mark.parametrize("query", [pytest.param(query, id=name) for name, query in panel_queries()])
def test_panel_shows_something(query: str, prometheus: Prometheus) -> None:
    """Every query of every panel returns data."""
    assert "$" not in query
    assert prometheus.query(query), query


@pytest.mark.parametrize("alert", rules())
def test_alert_asks_for_what_is_there(alert: str, prometheus: Prometheus) -> None:
    """Every selector of every alert, with its label values, matches a series that the exporter shows."""
    asked: list[str] = []

    def visit(expression: promql.Expr) -> None:
        if isinstance(expression, promql.VectorSelector):
            asked.append(expression.prettify())

    promql.walk(promql.parse(rules()[alert]), visit)
    assert asked
    for selector in asked:
        assert prometheus.query(selector), selector


def test_alerts_of_this_cluster(prometheus: Prometheus) -> None:
    """The conditions that hold here are those of this trouble, for these labels, and no others."""
    found = {
        alert: [{k: v for k, v in series["metric"].items() if k != "connect_cluster"} for series in answer]
        for alert, expr in rules().items()
        if (answer := prometheus.query(expr))
    }
    assert found == {
        "KafkaConnectSigningAlgorithmMismatch": [
            {"worker": "w2", "leader_url": k.LEADER, "algorithm": "HmacSHA512", "permitted": "HmacSHA256"}
        ],
        "KafkaConnectConnectorWithoutTasks": [{"worker": "w1", "connector": "idle"}],
    }


def test_matrix_tells_who_signs_and_permits(prometheus: Prometheus) -> None:
    """The algorithm matrix has 1 for signs only, 2 for permits only, 3 for both."""
    query = dict(panel_queries())["Algorithms of each worker A"]
    cells = {(s["metric"]["member"], s["metric"]["algorithm"]): s["value"][1] for s in prometheus.query(query)}
    assert cells == {
        ("pay / w1", "HmacSHA256"): "3",
        ("pay / w2", "HmacSHA512"): "1",
        ("pay / w2", "HmacSHA256"): "2",
    }


def test_loop_table_joins_its_columns(prometheus: Prometheus) -> None:
    """Since, last attempt and attempts have the same labels, so that a loop is one line of the table."""
    queries = dict(panel_queries())
    columns = [prometheus.query(queries[f"Retry loops now {letter}"]) for letter in "ABC"]
    labels = [sorted(tuple(sorted(series["metric"].items())) for series in column) for column in columns]
    assert labels[0] == labels[1] == labels[2]
    since, last, attempts = ({s["metric"]["connector"]: float(s["value"][1]) for s in c} for c in columns)
    start_ms = k.T0.replace(tzinfo=UTC).timestamp() * 1000
    assert since["src"] == start_ms + 5_000
    assert last["src"] == start_ms + 180_000
    assert attempts["src"] == 4

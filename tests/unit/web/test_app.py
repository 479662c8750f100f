"""The routes: formats, health, reload, headers; the page's and the JSON's content."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from types import MappingProxyType

import pytest
from fastapi.testclient import TestClient

from exporter.connect.judge import Finding, judge
from exporter.connect.readings import TailStats
from exporter.connect.snapshot import LogView, LoopView, MismatchView, SourceHealth, WorkerSnapshot
from exporter.connect.worker_config import WorkerConfig
from exporter.errors import ConfigError
from exporter.metrics.page import ExporterHealth, Page
from exporter.web.app import create_app

NOW_S = 1_800_000_000.0
NASTY = "<script>alert('x')</script>&\"a/b"


@dataclass
class FakeView:
    """An exporter that shows what it is given."""

    shown: tuple[WorkerSnapshot, ...] = ()
    is_ready: bool = True
    refuse_reload: bool = False
    reloads: list[str] = field(default_factory=list)

    def page(self) -> Page:
        """What a scrape shows."""
        return Page(self.shown, ExporterHealth("0.0", reload_success_s=NOW_S))

    def snapshots(self) -> tuple[WorkerSnapshot, ...]:
        """As given."""
        return self.shown

    def findings(self) -> tuple[Finding, ...]:
        """Judged, not invented."""
        return judge(self.shown, NOW_S)

    def ready(self) -> bool:
        """As given."""
        return self.is_ready

    def reload(self) -> None:
        """Refuses, or counts."""
        if self.refuse_reload:
            raise ConfigError("c.yaml:3: stat: unknown key.", "Did you mean state?")
        self.reloads.append("reload")


def _log(connector: str) -> LogView:
    return LogView(
        url="http://w2:8083/",
        version="4.4.0",
        kafka_cluster_id=None,
        protocol="sessioned",
        leader_url="http://w1:8083/",
        joined=True,
        config=None,
        counts={},
        loops=(
            LoopView(
                connector,
                "algorithm_not_permitted",
                400,
                "http://w1:8083/",
                22,
                NOW_S - 7300,
                NOW_S - 30,
                keeps_tasks=None,
            ),
        ),
        mismatch=MismatchView("http://w1:8083/", "HmacSHA512", ("HmacSHA256",), NOW_S - 7300),
        failures=(),
        session_key_update_s=None,
        last_record_s=NOW_S - 30,
        access_seen=False,
        stats=TailStats(),
    )


def _mismatch(connector: str = "orders") -> tuple[WorkerSnapshot, ...]:
    leader = WorkerSnapshot(
        "payments",
        "w1",
        "cluster",
        NOW_S,
        worker_id="w1:8083",
        sources=(
            SourceHealth(
                "rest",
                up=False,
                errors=MappingProxyType({"refused": 3}),
                problem="http://w1:8083 refuses the connection. Start the worker, or correct host and port.",
                since_s=NOW_S - 90,
            ),
            SourceHealth("jmx", up=True, since_s=NOW_S - 200_000),
        ),
    )
    follower = WorkerSnapshot(
        "payments",
        "w2",
        "cluster",
        NOW_S,
        worker_id="w2:8083",
        version="4.4.0",
        protocol="sessioned",
        joined=True,
        leader_url="http://w1:8083/",
        is_leader=False,
        config=WorkerConfig(signature_algorithm="HmacSHA512", verification_algorithms=("HmacSHA512",)),
        log=_log(connector),
        sources=(SourceHealth("logs", up=True, since_s=NOW_S - 600),),
    )
    return leader, follower


def _client(view: FakeView, host: str = "127.0.0.1") -> TestClient:
    return TestClient(create_app(view, lambda: NOW_S), client=(host, 50000))


@pytest.mark.parametrize(
    ("accept", "content_type", "end"),
    [
        ("", "text/plain; version=0.0.4; charset=utf-8", ""),
        (
            "application/openmetrics-text;version=1.0.0,text/plain;q=0.5",
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            "# EOF\n",
        ),
    ],
)
def test_metrics_come_in_the_format_asked_for(accept: str, content_type: str, end: str) -> None:
    """Text by default, OpenMetrics where the scraper names it."""
    answer = _client(FakeView(_mismatch())).get("/metrics", headers={"Accept": accept})
    assert answer.headers["content-type"] == content_type
    assert answer.text.endswith(end)
    assert re.search(r'^kafka_connect_signature_algorithm_mismatch\{.*worker="w2".*\} 1\.0$', answer.text, re.MULTILINE)


def test_pages_are_compressed_if_the_client_takes_it() -> None:
    """And plain otherwise."""
    client = _client(FakeView(_mismatch()))
    assert client.get("/metrics", headers={"Accept-Encoding": "gzip"}).headers["content-encoding"] == "gzip"
    assert "content-encoding" not in client.get("/metrics", headers={"Accept-Encoding": "identity"}).headers


def test_health_and_readiness_differ() -> None:
    """A process that serves is healthy; it is ready once every source was read."""
    client = _client(FakeView(is_ready=False))
    assert client.get("/-/healthy").status_code == 200
    assert client.get("/-/ready").status_code == 503
    assert _client(FakeView()).get("/-/ready").status_code == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200),
        ("::1", 200),
        ("::ffff:127.0.0.1", 200),
        ("10.0.0.7", 403),
        ("::ffff:10.0.0.7", 403),
        ("name", 403),
    ],
)
def test_reload_is_open_to_this_host_only(host: str, status: int) -> None:
    """Others are refused and nothing is reloaded."""
    view = FakeView()
    assert _client(view, host).post("/-/reload").status_code == status
    assert view.reloads == (["reload"] if status == 200 else [])


def test_reload_refuses_browsers_and_get() -> None:
    """A page elsewhere must not reload through its visitor's browser, and a link does nothing."""
    view = FakeView()
    assert _client(view).post("/-/reload", headers={"Origin": "https://elsewhere.example"}).status_code == 403
    assert _client(view).get("/-/reload").status_code == 405
    assert view.reloads == []


def test_a_bad_file_at_reload_is_told() -> None:
    """With file, line, key and remedy."""
    answer = _client(FakeView(refuse_reload=True)).post("/-/reload")
    assert (answer.status_code, answer.text) == (
        400,
        "not reloaded: c.yaml:3: stat: unknown key. Did you mean state?\n",
    )


@pytest.mark.parametrize("path", ["/", "/metrics", "/-/healthy", "/api/v1/status", "/nowhere"])
def test_every_answer_forbids_scripts_frames_and_sniffing(path: str) -> None:
    """Errors included."""
    headers = _client(FakeView(_mismatch())).get(path).headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "script-src" not in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["/", "/metrics", "/-/healthy", "/-/ready", "/api/v1/status"])
def test_head_is_answered_where_get_is(path: str) -> None:
    """Probes use it."""
    answer = _client(FakeView(_mismatch())).head(path)
    assert (answer.status_code, answer.content) == (200, b"")


def test_no_page_is_served_that_describes_the_routes() -> None:
    """The framework's own pages load scripts from elsewhere."""
    assert [_client(FakeView()).get(p).status_code for p in ("/docs", "/redoc", "/openapi.json")] == [404] * 3


class _Reader(HTMLParser):
    """Tags, and the text under each of some."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def _read(view: FakeView) -> _Reader:
    answer = _client(view).get("/")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    reader = _Reader()
    reader.feed(answer.text)
    return reader


def test_the_page_tells_finding_loop_source_and_remedy() -> None:
    """What is wrong and since when, the loop's attempts, the source that is down and what that hides."""
    text = _read(FakeView(_mismatch())).text
    for sentence in (
        "critical signing algorithm mismatch · payments",
        "w2 signs with HmacSHA512; the leader w1 permits [HmacSHA256].",
        "2 h 1 min",
        "On w2 set inter.worker.signature.algorithm=HmacSHA256 and restart w2.",
        "w2 orders algorithm not permitted (400) 22",
        "30 s ago",
        "w1 rest down for 90 s http://w1:8083 refuses the connection. Start the worker, or correct host and port.",
        "Without REST connectors without tasks",
        "w1 jmx up for 2 d",
        "w1 logs not configured Without the log neither retry loops nor their reasons can be seen.",
        "w2 w2:8083 4.4.0 sessioned yes http://w1:8083/ HmacSHA512 HmacSHA512",
    ):
        assert sentence in text


def test_names_with_html_in_them_are_only_text() -> None:
    """A connector may have any name; so may its reason in a finding, in JSON and on the page."""
    view = FakeView(_mismatch(NASTY))
    reader = _read(view)
    assert "script" not in [tag for tag, _ in reader.tags]
    assert NASTY in reader.text
    answer = _client(view).get("/api/v1/status")
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["workers"][1]["loops"][0]["connector"] == NASTY


def test_the_page_can_be_read_by_a_screen_reader() -> None:
    """A language, one h1, no heading level left out, a caption in each table, a scope on each header cell."""
    reader = _read(FakeView(_mismatch()))
    assert ("html", {"lang": "en"}) in reader.tags
    names = [tag for tag, _ in reader.tags]
    levels = [int(tag[1]) for tag in names if re.fullmatch(r"h[1-6]", tag)]
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    assert names.count("table") == names.count("caption") == 3
    assert all(attributes.get("scope") for tag, attributes in reader.tags if tag == "th")


@pytest.mark.parametrize("up", [None, True])
def test_nothing_wrong_is_only_said_of_what_was_read(up: bool | None) -> None:
    """Before the first poll the page says that it has not looked yet."""
    snapshot = WorkerSnapshot("c", "w", "cluster", NOW_S, sources=(SourceHealth("jmx", up=up),))
    text = _read(FakeView((snapshot,))).text
    assert "Nothing is wrong as far as can be seen." in text
    assert ("Some sources have not been read yet." in text) == (up is None)


def test_json_says_what_the_page_says() -> None:
    """Findings, and each worker with sources, signing, mismatch and loops; unknown is null."""
    document = _client(FakeView(_mismatch())).get("/api/v1/status").json()
    leader, follower = document["workers"]
    assert document["findings"][0]["id"] == "signing_algorithm_mismatch"
    assert document["findings"][0]["workers"] == ["w2", "w1"]
    assert leader["sources"][0]["errors"] == {"refused": 3}
    assert (leader["verifies"], leader["mismatch"], leader["loops"]) == (None, None, [])
    assert follower["mismatch"]["permitted"] == ["HmacSHA256"]
    assert follower["loops"][0]["attempts"] == 22
    assert follower["signing"]["signature_algorithm"] == "HmacSHA512"
    assert follower["verifies"] is True


@pytest.mark.parametrize(
    "change", [{"log": None}, {"config": None, "protocol": None}, {"sources": ()}, {"is_leader": True}]
)
def test_a_worker_of_which_little_is_known_has_its_row(change: dict[str, object]) -> None:
    """Nothing that is missing breaks page or JSON."""
    replace: Callable[..., WorkerSnapshot] = dataclasses.replace
    client = _client(FakeView((replace(_mismatch()[1], **change),)))
    assert "w2" in client.get("/").text
    assert client.get("/api/v1/status").status_code == 200

"""Dashboards as Grafana gets them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from exporter.bundle.dashboard import DashboardSource, dashboard, read_dashboards
from exporter.bundle.files import read_yaml, sources
from exporter.bundle.settings import resolve
from exporter.bundle.template import Templates
from exporter.errors import BundleError

UNITS = {"none", "short", "percentunit", "s", "bytes", "reqps", "cps", "dateTimeAsIso"}
"""Ids that Grafana 10 and 11 know; an unknown one is shown as a suffix."""


def built(*panels: dict[str, Any]) -> list[dict[str, Any]]:
    """The panels of a dashboard with one row of these."""
    source = DashboardSource.model_validate(
        {"title": "t", "description": "d", "rows": [{"title": "r", "panels": panels}]}
    )
    settings = resolve({"runbook_url": "http://r"})
    content: Any = dashboard("x", source, Templates(sources("alerts"), settings), settings)
    return list(content["panels"])


def panel(title: str, **more: object) -> dict[str, Any]:
    """A row of data."""
    return {
        "title": title,
        "kind": "timeseries",
        "unit": "s",
        "description": "d",
        "queries": [{"expr": "up"}],
        **more,
    }


@pytest.fixture(scope="module", params=[path.stem for path in sorted(sources("dashboards").glob("*.yml"))])
def rendered(request: pytest.FixtureRequest, bundle: Path) -> dict[str, Any]:
    """One rendered dashboard."""
    content: dict[str, Any] = json.loads((bundle / "grafana" / f"{request.param}.json").read_text())
    return content


def test_variables_cover_source_cluster_worker_connector(rendered: dict[str, Any]) -> None:
    """Each dashboard can be narrowed to a data source, cluster, worker and connector."""
    names = [variable["name"] for variable in rendered["templating"]["list"]]
    assert names == ["datasource", "cluster", "worker", "connector"]


def test_units_are_known_to_grafana(rendered: dict[str, Any]) -> None:
    """Every unit, of a panel or a column, is one that Grafana knows."""
    used = {
        value
        for item in rendered["panels"]
        if item["type"] != "row"
        for value in (
            item["fieldConfig"]["defaults"]["unit"],
            *(p["value"] for o in item["fieldConfig"]["overrides"] for p in o["properties"] if p["id"] == "unit"),
        )
    }
    assert used <= UNITS


def test_links_lead_to_other_dashboards_alerts_and_the_runbook(rendered: dict[str, Any]) -> None:
    """Each dashboard links to its sisters by tag, to the alerts, and to the runbook."""
    assert [(link["type"], link["title"]) for link in rendered["links"]] == [
        ("dashboards", "Kafka Connect"),
        ("link", "Alerts"),
        ("link", "Runbook"),
    ]
    assert rendered["links"][0]["tags"] == rendered["tags"]


def test_panel_links_name_alerts_that_exist(rendered: dict[str, Any], bundle: Path) -> None:
    """A panel's runbook link leads to the section of an alert that exists."""
    content: Any = read_yaml(bundle / "prometheus/rules.yml")
    urls = {rule["annotations"]["runbook_url"] for group in content["groups"] for rule in group["rules"]}
    linked = {link["url"] for item in rendered["panels"] for link in item.get("links", [])}
    assert linked
    assert linked <= urls


def test_ids_and_letters_are_unique(rendered: dict[str, Any]) -> None:
    """Panel ids are unique in the dashboard, query letters in the panel."""
    ids = [item["id"] for item in rendered["panels"]]
    assert len(set(ids)) == len(ids)
    for item in rendered["panels"]:
        letters = [target["refId"] for target in item.get("targets", [])]
        assert len(set(letters)) == len(letters)


def test_rates_of_replicas_are_taken_before_they_are_merged(rendered: dict[str, Any]) -> None:
    """`rate` and `increase` come before `max`: of merged counters they would see resets that are none."""
    for item in rendered["panels"]:
        for target in item.get("targets", []):
            query = target["expr"]
            assert not any(f"{f}(max" in query or f"{f}(sum" in query for f in ("rate", "increase")), item["title"]


def test_security_dashboard_shows_what_it_must(bundle: Path) -> None:
    """The KIP-507 dashboard asks for every fact that the page on call needs."""
    text = (bundle / "grafana/internal-request-security.json").read_text()
    for metric in (
        "internal_request_verification_enabled",
        "protocol{",
        "internal_requests_total",
        "internal_request_rejections_total",
        "task_reconfiguration_loop_active",
        "task_reconfiguration_loop_start_timestamp_seconds",
        "task_reconfiguration_loop_attempts",
        "signature_algorithm_mismatch",
        "worker_signature_algorithm_info",
        "worker_verification_algorithm_info",
        "connector_without_tasks",
        "connector_runs_old_tasks",
        "session_key_updates_total",
        "session_key_last_update_timestamp_seconds",
        "protocol_downgrades_total",
        "task_spawn_failures_total",
        "exporter_source_up",
        "exporter_log_unread_bytes",
    ):
        assert f"kafka_connect_{metric}" in text, metric


def test_panels_wrap_at_the_edge() -> None:
    """Panels stand side by side as far as they fit, the next line begins under the highest of them."""
    panels = built(
        panel("a", width=16, height=4), panel("b", width=8, height=6), panel("c", width=8), panel("d", width=17)
    )
    places = {p["title"]: tuple(p["gridPos"][key] for key in "xywh") for p in panels}
    assert places == {
        "r": (0, 0, 24, 1),
        "a": (0, 1, 16, 4),
        "b": (16, 1, 8, 6),
        "c": (0, 7, 8, 8),
        "d": (0, 15, 17, 8),
    }


def test_table_columns_are_named_and_ordered() -> None:
    """A table shows the named labels and values in their order, hides the time and values without name."""
    queries = [{"expr": "a", "legend": "Since", "unit": "dateTimeAsIso"}, {"expr": "b"}]
    [_, table] = built(panel("t", kind="table", queries=queries, columns={"worker": "Follower", "reason": "Reason"}))
    [merge, organize] = table["transformations"]
    assert merge["id"] == "merge"
    assert organize["options"] == {
        "excludeByName": {"Time": True, "Value #B": True},
        "renameByName": {"worker": "Follower", "reason": "Reason", "Value #A": "Since"},
        "indexByName": {"worker": 0, "reason": 1, "Value #A": 2},
    }
    assert table["fieldConfig"]["overrides"] == [
        {"matcher": {"id": "byName", "options": "Since"}, "properties": [{"id": "unit", "value": "dateTimeAsIso"}]}
    ]
    assert all(t["instant"] and t["format"] == "table" for t in table["targets"])


def test_values_become_texts_with_colours() -> None:
    """Numbers that stand for states are shown as words."""
    [_, item] = built(panel("p", kind="state-timeline", values={0: {"text": "off", "color": "red"}}))
    assert item["fieldConfig"]["defaults"]["mappings"] == [
        {"type": "value", "options": {"0": {"text": "off", "color": "red", "index": 0}}}
    ]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"kind": "piechart"}, r"x\.yml: rows\.0\.panels\.0\.kind: "),
        ({"colour": "red"}, r"x\.yml: rows\.0\.panels\.0\.colour: "),
        ({"width": 25}, r"x\.yml: rows\.0\.panels\.0\.width: "),
        ({"queries": []}, r"x\.yml: rows\.0\.panels\.0\.queries: "),
    ],
)
def test_fault_in_a_data_file_is_located(tmp_path: Path, change: dict[str, Any], expected: str) -> None:
    """A fault in a dashboard's data is told with file and place."""
    rows = [{"title": "r", "panels": [{**panel("p"), **change}]}]
    (tmp_path / "x.yml").write_text(json.dumps({"title": "t", "description": "d", "rows": rows}))
    with pytest.raises(BundleError, match=expected):
        read_dashboards(tmp_path)


def test_undefined_name_in_a_query_is_located() -> None:
    """A query that names an unknown setting is told with file and panel."""
    with pytest.raises(BundleError, match=r"dashboards/x\.yml: p cannot be rendered: .*nothing"):
        built(panel("p", queries=[{"expr": "<< nothing >>"}]))


def test_sources_can_be_moved(tmp_path: Path) -> None:
    """The data files are read from where they are, not from a fixed place."""
    shutil.copy(sources("dashboards") / "internal-request-security.yml", tmp_path / "moved.yml")
    assert list(read_dashboards(tmp_path)) == ["moved"]

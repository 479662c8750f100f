"""Lint: finds each fault it promises to find, and none in the bundle itself."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exporter.bundle.lint import Problem, lint
from exporter.bundle.query import Selector, selectors
from exporter.errors import BundleError
from exporter.metrics.table import METRICS

KNOWN = {metric.name: metric.labels for metric in METRICS}

RULE: dict[str, Any] = {
    "alert": "A",
    "expr": "kafka_connect_protocol == 1",
    "labels": {"severity": "info"},
    "annotations": {"summary": "s", "description": "d", "runbook_url": "r"},
}
PANEL: dict[str, Any] = {
    "id": 1,
    "type": "timeseries",
    "title": "P",
    "description": "d",
    "datasource": {"type": "prometheus", "uid": "${datasource}"},
    "gridPos": {"x": 0, "y": 0, "w": 12, "h": 8},
    "fieldConfig": {"defaults": {"unit": "s"}},
    "targets": [{"expr": 'rate(kafka_connect_log_records_total{worker=~"$worker"}[$__rate_interval])'}],
}

Change = Callable[[dict[str, Any]], object]


def rules(path: Path, *found: dict[str, Any]) -> Path:
    """A rule file."""
    path.write_text(json.dumps({"groups": [{"name": "g", "rules": found}]}))
    return path


def dashboard(path: Path, *panels: dict[str, Any], uid: str = "u") -> Path:
    """A dashboard."""
    path.write_text(json.dumps({"uid": uid, "title": "t", "panels": panels}))
    return path


def test_the_bundle_is_clean_and_names_only_metrics_that_exist(bundle: Path) -> None:
    """Every metric and label in rules, annotations and dashboards stands in the metric table; nothing else is wrong."""
    assert [str(problem) for problem in lint([bundle], KNOWN)] == []


def test_the_bundle_is_really_read(bundle: Path) -> None:
    """With an empty metric table the rules, the manifest and the dashboard are all full of problems."""
    files = {problem.path.name for problem in lint([bundle], {})}
    assert files == {"rules.yml", "prometheusrule.yaml", "internal-request-security.json"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r.update(expr="sum by (x"), "the query is not PromQL"),
        (lambda r: r.update(expr="kafka_connect_protocol or vector(0)"), "shows 0 where nothing is known"),
        (lambda r: r.update(expr="kafka_connect_protocol or on () vector(0)"), "shows 0 where nothing is known"),
        (lambda r: r.update(expr="kafka_connect_protocl == 1"), "there is no metric kafka_connect_protocl."),
        (lambda r: r.update(expr='kafka_connect_protocol{wroker="x"}'), "kafka_connect_protocol has no label wroker."),
        (lambda r: r.update(expr="rate(nothing_total[5m]) > 0"), "there is no metric nothing_total."),
        (lambda r: r.update(expr="max_over_time(nothing[5m:1m]) > 0"), "there is no metric nothing."),
        (lambda r: r["labels"].update(severity="page"), "the label severity is none of critical, warning, info."),
        (lambda r: r.pop("labels"), "the label severity is none of critical, warning, info."),
        (lambda r: r["annotations"].pop("summary"), "the annotation summary is missing."),
        (lambda r: r["annotations"].pop("description"), "the annotation description is missing."),
        (lambda r: r["annotations"].update(runbook_url=""), "the annotation runbook_url is missing."),
        (
            lambda r: r["annotations"].update(description='{{ query (printf "max(nothing{a=%q})" $labels.a) }}'),
            "annotation description: there is no metric nothing.",
        ),
    ],
)
def test_fault_of_a_rule_is_found(tmp_path: Path, change: Change, message: str) -> None:
    """A rule with one fault gives one problem that names the alert and the fault; without the fault there is none."""
    assert lint([rules(tmp_path / "ok.yml", RULE)], KNOWN) == []
    rule = copy.deepcopy(RULE)
    change(rule)
    [problem] = lint([rules(tmp_path / "bad.yml", rule)], KNOWN)
    assert (problem.path, problem.where) == (tmp_path / "bad.yml", "A")
    assert message in problem.message


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p.pop("description"), "the description is missing."),
        (lambda p: p["fieldConfig"]["defaults"].pop("unit"), "the unit is missing."),
        (lambda p: p["datasource"].update(uid="prometheus"), "the data source is not the variable ${datasource}."),
        (lambda p: p.pop("targets"), "there is no query."),
        (lambda p: p["targets"][0].update(expr="sum("), "the query is not PromQL"),
        (lambda p: p["targets"][0].update(expr="up or vector(0)"), "shows 0 where nothing is known"),
        (lambda p: p["targets"][0].update(expr="rate(up[5m])"), "Use $__rate_interval."),
        (lambda p: p["targets"][0].update(expr="nothing"), "there is no metric nothing."),
        (lambda p: p["gridPos"].update(x=13), "sticks out of the dashboard"),
    ],
)
def test_fault_of_a_panel_is_found(tmp_path: Path, change: Change, message: str) -> None:
    """A panel with one fault gives one problem that names the panel and the fault; without the fault there is none."""
    assert lint([dashboard(tmp_path / "ok.json", PANEL)], KNOWN) == []
    panel = copy.deepcopy(PANEL)
    change(panel)
    [problem] = lint([dashboard(tmp_path / "bad.json", panel)], KNOWN)
    assert problem.where == "P"
    assert message in problem.message


def test_panels_without_title_or_on_each_other_are_found(tmp_path: Path) -> None:
    """A panel without title is named by its id; two with one title, or one place, are told."""
    untitled = {**copy.deepcopy(PANEL), "id": 7, "title": "", "gridPos": {"x": 12, "y": 0, "w": 12, "h": 8}}
    same = {**copy.deepcopy(PANEL), "gridPos": {"x": 11, "y": 7, "w": 12, "h": 8}}
    messages = [(p.where, p.message) for p in lint([dashboard(tmp_path / "d.json", PANEL, untitled, same)], KNOWN)]
    assert ("panel 7", "the title is missing.") in messages
    assert ("P", "another panel has this title.") in messages
    assert ("P", "the panel lies on P.") in messages


@pytest.mark.parametrize("uid", ["", "x" * 41])
def test_uid_must_fit_grafana(tmp_path: Path, uid: str) -> None:
    """A uid that Grafana would make up or refuse is told."""
    [problem] = lint([dashboard(tmp_path / "d.json", PANEL, uid=uid)], KNOWN)
    assert "has not 1 to 40 characters" in problem.message


def test_alert_names_are_unique(tmp_path: Path) -> None:
    """The second alert of one name is told."""
    assert [p.message for p in lint([rules(tmp_path / "r.yml", RULE, RULE)], KNOWN)] == ["another alert has this name."]


def test_recorded_names_count_as_metrics(tmp_path: Path) -> None:
    """An alert may ask for what a recording rule of the same file records."""
    record = {"record": "kafka_connect:loops", "expr": "sum(kafka_connect_task_reconfiguration_loops)"}
    alert = {**RULE, "expr": "kafka_connect:loops > 0"}
    assert lint([rules(tmp_path / "r.yml", record, alert)], KNOWN) == []
    assert len(lint([rules(tmp_path / "r.yml", alert)], KNOWN)) == 1


def test_without_a_table_metrics_are_not_checked(tmp_path: Path) -> None:
    """A user's own metrics are no problem where no table is given."""
    assert lint([rules(tmp_path / "r.yml", {**RULE, "expr": "my_own_metric"})]) == []


def test_files_that_are_nothing_are_told_only_if_named(tmp_path: Path) -> None:
    """Other files in a directory are passed over; one that the user names must be rules or a dashboard."""
    other = tmp_path / "values.yaml"
    other.write_text("a: 1\n")
    assert lint([tmp_path]) == []
    assert lint([other]) == [Problem(other, "", "is neither a rule file nor a dashboard.")]


@pytest.mark.parametrize(("name", "text"), [("x.json", "{"), ("x.yml", "a: [")])
def test_unreadable_file_is_a_problem(tmp_path: Path, name: str, text: str) -> None:
    """A broken file is one problem with its name; the others are still checked."""
    (tmp_path / name).write_text(text)
    rules(tmp_path / "z.yml", {**RULE, "expr": "sum("})
    assert [p.path.name for p in lint([tmp_path])] == [name, "z.yml"]


@pytest.mark.parametrize(
    "content",
    [
        {"groups": ["x"]},
        {"groups": [{"rules": ["x"]}]},
        {"groups": [{"rules": [{"alert": "A", "expr": "up", "labels": ["x"]}]}]},
        {"title": "t", "uid": "u", "panels": ["x"]},
        {"title": "t", "uid": "u", "panels": [{"title": "P", "fieldConfig": []}]},
    ],
)
def test_oddly_built_file_is_a_problem(tmp_path: Path, content: dict[str, Any]) -> None:
    """A file of another build than Prometheus and Grafana know is told, not a crash."""
    (tmp_path / "odd.json").write_text(json.dumps(content))
    assert "is not built like a rule file or dashboard" in lint([tmp_path])[-1].message


def test_missing_path_is_an_error(tmp_path: Path) -> None:
    """A path that does not exist is an error, not a clean result."""
    with pytest.raises(BundleError, match="does not exist"):
        lint([tmp_path / "nowhere"])


def test_problem_reads_as_a_sentence() -> None:
    """A problem prints as file, place and message."""
    assert str(Problem(Path("r.yml"), "A", "m.")) == "r.yml: A: m."
    assert str(Problem(Path("r.yml"), "", "m.")) == "r.yml: m."


def test_selectors_are_found_at_every_depth() -> None:
    """Selectors inside functions, subqueries, aggregations, parentheses and both sides of operators are found."""
    query = (
        'max(a{x="1"}) + on (y) (-sum_over_time(b[$__range:]) unless rate(c{z!=""}[$__rate_interval])) * {__name__="d"}'
    )
    assert [(s.metric, s.labels) for s in selectors(query)] == [("a", ("x",)), ("b", ()), ("c", ("z",)), (None, ())]
    assert Selector(None, ()) in selectors('{__name__=~"d.*"}')

"""Rendering: what is written, what a user may change, and what is said when it cannot be."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from exporter.bundle.files import read_yaml, sources
from exporter.bundle.render import render
from exporter.bundle.rules import groups, read_areas
from exporter.bundle.settings import SETTINGS, resolve
from exporter.bundle.template import Templates
from exporter.connect.judge import PERSISTENT_LOOP_S
from exporter.errors import BundleError


def test_render_writes_and_names_every_file(tmp_path: Path) -> None:
    """The returned paths are all files that were written, also into a directory that did not exist."""
    written = render(tmp_path / "new" / "bundle")
    assert sorted(written) == sorted(path for path in tmp_path.rglob("*") if path.is_file())
    assert {str(path.relative_to(tmp_path / "new" / "bundle")) for path in written} == {
        "prometheus/rules.yml",
        "prometheus/scrape.yml",
        "kubernetes/prometheusrule.yaml",
        "alertmanager/alertmanager.yml",
        "runbook.md",
        "grafana/internal-request-security.json",
    }


def test_render_twice_gives_the_same(bundle: Path, tmp_path: Path) -> None:
    """Rendering is reproducible: version control shows only what somebody changed."""
    for path in render(tmp_path):
        assert path.read_bytes() == (bundle / path.relative_to(tmp_path)).read_bytes()


def test_no_template_is_left_over(bundle: Path) -> None:
    """No `<< >>` or `<% %>` of the sources reaches the output."""
    for path in bundle.rglob("*.*"):
        text = path.read_text(encoding="utf-8")
        assert "<<" not in text, path
        assert "<%" not in text, path


def test_unknown_setting_names_the_known_ones(tmp_path: Path) -> None:
    """A mistyped setting is refused with its name, a suggestion and all known names; nothing is written."""
    with pytest.raises(BundleError) as caught:
        render(tmp_path / "out", {"mismatch_four": "1m"})
    message = str(caught.value)
    assert "'mismatch_four'" in message
    assert "Did you mean mismatch_for?" in message
    assert all(setting.name in message for setting in SETTINGS)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mismatch_for", "soon"),
        ("mismatch_for", "30"),
        ("mismatch_for", "-30s"),
        ("mismatch_for", ""),
        ("mismatch_for", "5m1h"),
        ("mismatch_for", "1.5h"),
        ("loop_persistence_s", "60s"),
        ("loop_persistence_s", "1e3"),
        ("replica_labels", "instance pod"),
        ("replica_labels", "instance,"),
        ("replica_labels", "x) (y"),
        ("runbook_url", "http://a b"),
        ("runbook_url", "http://{{ evil }}"),
        ("webhook_url", 'http://x"\nroute: {}'),
        ("exporter_targets", "host"),
        ("exporter_targets", "http://host:9507"),
        ("kubernetes_namespace", "Monitoring"),
        ("kubernetes_label", "release"),
    ],
)
def test_bad_value_is_refused(name: str, value: str) -> None:
    """A value of another form is refused with setting, value and an example of what is expected."""
    with pytest.raises(BundleError, match=rf"The setting {name} cannot be .* Give "):
        resolve({name: value})


@pytest.mark.parametrize("value", ["30s", "5m", "1h30m", "1d", "500ms", "2w3d"])
def test_durations_of_prometheus_are_accepted(value: str) -> None:
    """All forms of durations that Prometheus reads are accepted."""
    assert resolve({"mismatch_for": value})["mismatch_for"] == value


def test_defaults_are_valid() -> None:
    """Every default has the form that its own setting asks for, and names are unique."""
    assert resolve({setting.name: setting.default for setting in SETTINGS}) == resolve({})
    assert len({setting.name for setting in SETTINGS}) == len(SETTINGS)


def test_page_and_rules_share_the_persistence_of_a_loop() -> None:
    """The exporter's page and the alert call a loop persistent after the same time."""
    assert float(resolve({})["loop_persistence_s"]) == PERSISTENT_LOOP_S


def test_every_setting_is_used(tmp_path: Path) -> None:
    """Changing any setting changes some file: none is left that does nothing."""
    other = {
        "instance, pod, container, endpoint": "replica",
        "localhost:9507": "elsewhere:9507",
        "60": "77",
        "runbook.md": "https://x.example/runbook",
        "http://localhost:3000": "http://g.example",
        "http://localhost:5001/": "http://w.example",
        "monitoring": "elsewhere",
        "release=prometheus": "team=connect",
    }
    render(tmp_path / "plain")
    for setting in SETTINGS:
        render(tmp_path / setting.name, {setting.name: other.get(setting.default, "77s")})
        changed = [
            path
            for path in (tmp_path / setting.name).rglob("*.*")
            if path.read_text() != (tmp_path / "plain" / path.relative_to(tmp_path / setting.name)).read_text()
        ]
        assert changed, setting.name


def test_unwritable_directory_is_said(tmp_path: Path) -> None:
    """Where the directory cannot be made the error names the file and says what to do."""
    (tmp_path / "file").write_text("")
    with pytest.raises(BundleError, match=r"rules\.yml cannot be written: .* Choose another directory\."):
        render(tmp_path / "file")


def test_sources_are_found_in_a_checkout_and_in_a_wheel(tmp_path: Path) -> None:
    """Sources inside the package win over those beside it; without either the error says what to do."""
    package = tmp_path / "site" / "exporter"
    beside, inside = tmp_path / "site" / "alerts", package / "_bundle" / "alerts"
    package.mkdir(parents=True)
    with pytest.raises(BundleError, match="Install kafka-connect-exporter again"):
        sources("alerts", package)
    beside.mkdir()
    assert sources("alerts", package) == beside
    inside.mkdir(parents=True)
    assert sources("alerts", package) == inside


@pytest.fixture
def alerts(tmp_path: Path) -> Path:
    """A folder with the macros and one small area."""
    shutil.copy(sources("alerts") / "macros.j2", tmp_path)
    (tmp_path / "area.yml").write_text(
        "area: a\ndashboard: internal-request-security\nalerts:\n"
        "  X:\n    severity: info\n    expr: up == 0\n    summary: s\n    description: d\n    remedy: r\n"
    )
    return tmp_path


def test_area_file_gives_a_complete_rule(alerts: Path) -> None:
    """An entry of a data file becomes a rule with prefix, labels, joined remedy and both links."""
    settings = resolve({"runbook_url": "http://r"})
    [group] = groups(read_areas(alerts), Templates(alerts, settings), settings)
    assert group == {
        "name": "kafka-connect-a",
        "interval": "15s",
        "rules": [
            {
                "alert": "KafkaConnectX",
                "expr": "up == 0",
                "labels": {"severity": "info", "area": "a"},
                "annotations": {
                    "summary": "s",
                    "description": "d\nWhat to do: r",
                    "runbook_url": "http://r#kafkaconnectx",
                    "dashboard_url": (
                        "http://localhost:3000/d/kafka-connect-internal-request-security?from=now-1h"
                        "{{ with $labels.connect_cluster }}&var-cluster={{ . | urlquery }}{{ end }}"
                        "{{ with $labels.worker }}&var-worker={{ . | urlquery }}{{ end }}"
                        "{{ with $labels.connector }}&var-connector={{ . | urlquery }}{{ end }}"
                    ),
                },
            }
        ],
    }


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("severity: info", "severity: loud", r"area\.yml: alerts\.X\.severity: "),
        ("severity: info", "severity: info\n    fro: 5m", r"area\.yml: alerts\.X\.fro: "),
        ("    remedy: r\n", "", r"area\.yml: alerts\.X\.remedy: "),
        ("summary: s", "summary: s\n    summary: t", r"area\.yml is not valid YAML: .*line"),
        ("up == 0", "<< no_such_setting >>", r"alerts/area\.yml: X: expr cannot be rendered: .*no_such_setting"),
        ("up == 0", "<< mismatch_for", r"alerts/area\.yml: X: expr cannot be rendered"),
    ],
)
def test_fault_in_an_area_file_is_located(alerts: Path, old: str, new: str, expected: str) -> None:
    """A fault in a data file is told with file and alert; undefined names and unknown keys are faults."""
    path = alerts / "area.yml"
    path.write_text(path.read_text().replace(old, new))
    settings = resolve({})
    with pytest.raises(BundleError, match=f"(?s){expected}"):
        groups(read_areas(alerts), Templates(alerts, settings), settings)


def test_alert_names_are_unique_over_files(alerts: Path) -> None:
    """An alert that stands in two files is refused with both names."""
    shutil.copy(alerts / "area.yml", alerts / "other.yml")
    with pytest.raises(BundleError, match=r"other\.yml: the alert X also stands in .*area\.yml"):
        read_areas(alerts)


def test_rules_are_readable(bundle: Path) -> None:
    """Expressions of several lines are literal blocks in YAML, not one line with escapes."""
    text = (bundle / "prometheus/rules.yml").read_text()
    assert "expr: |-\n          max without (instance, pod, container, endpoint) (kafka_connect_signature" in text
    content: Any = read_yaml(bundle / "prometheus/rules.yml")
    assert [group["interval"] for group in content["groups"]] == ["15s"] * 3


def test_dashboards_are_plain_json(bundle: Path) -> None:
    """Queries stand in JSON as they are: no HTML escapes."""
    text = (bundle / "grafana/internal-request-security.json").read_text()
    assert json.loads(text)["uid"] == "kafka-connect-internal-request-security"
    assert "\\u00" not in text

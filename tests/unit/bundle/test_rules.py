"""The rules do what alerts/tests say, judged by promtool; amtool judges the routing."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exporter.bundle.files import read_text, read_yaml, sources
from exporter.bundle.render import render

Run = Callable[..., subprocess.CompletedProcess[str]]

TESTS = sorted((sources("alerts") / "tests").glob("*.yml"))


def rules_of(path: Path) -> list[dict[str, Any]]:
    """All rules of a rule file."""
    content: Any = read_yaml(path)
    return [rule for group in content["groups"] for rule in group["rules"]]


@pytest.fixture(scope="module")
def beside(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The promtool tests beside fresh rules, as they lie beside the rendered copies in the repository."""
    folder = tmp_path_factory.mktemp("alerts")
    shutil.copytree(sources("alerts") / "tests", folder / "tests")
    shutil.copytree(bundle / "prometheus", folder / "rendered" / "prometheus")
    return folder


def test_promtool_accepts_the_rules(bundle: Path, tool: Run) -> None:
    """The rendered rule file is valid for promtool, duplicates included."""
    result = tool("promtool", "check", "rules", "--lint=all", "--lint-fatal", bundle / "prometheus/rules.yml")
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("name", [path.name for path in TESTS])
def test_promtool_runs_the_rules(name: str, beside: Path, tool: Run) -> None:
    """Alerts fire, stay silent and resolve as alerts/tests say, with exactly these labels and annotations."""
    result = tool("promtool", "test", "rules", beside / "tests" / name)
    assert result.returncode == 0, result.stdout


def test_every_alert_is_tested(bundle: Path) -> None:
    """For every alert there is a promtool case that it fires, one that it is silent before, and one that it resolves."""
    expected: dict[str, list[tuple[str, bool]]] = {}
    for path in TESTS:
        content: Any = read_yaml(path)
        for test in content["tests"]:
            for case in test["alert_rule_test"]:
                expected.setdefault(case["alertname"], []).append((test["name"], bool(case["exp_alerts"])))
    for rule in rules_of(bundle / "prometheus/rules.yml"):
        cases = expected.get(rule["alert"], [])
        silent_fires_resolves = [
            name
            for name in dict(cases)
            if _subsequence([False, True, False], [fires for other, fires in cases if other == name])
        ]
        assert silent_fires_resolves, rule["alert"]


def _subsequence(wanted: list[bool], found: list[bool]) -> bool:
    rest = iter(found)
    return all(item in rest for item in wanted)


def test_every_alert_has_a_runbook_section(bundle: Path) -> None:
    """Every alert links to a section of the runbook that exists, and every section belongs to an alert."""
    headings = [line[3:] for line in read_text(bundle / "runbook.md").splitlines() if line.startswith("## ")]
    rules = rules_of(bundle / "prometheus/rules.yml")
    assert sorted(headings) == sorted(rule["alert"] for rule in rules)
    assert [rule["annotations"]["runbook_url"] for rule in rules] == [
        f"runbook.md#{rule['alert'].lower()}" for rule in rules
    ]


def test_runbook_sections_answer_four_questions(bundle: Path) -> None:
    """Every section says what the alert means, how to confirm it, what to do, and what if it is wrong."""
    sections = read_text(bundle / "runbook.md").split("\n## ")[1:]
    for section in sections:
        for question in ("**Meaning.**", "**Confirm.**", "**Do.**", "**If it is wrong.**"):
            assert question in section, (section.splitlines()[0], question)


def test_runbook_links_lead_somewhere(bundle: Path) -> None:
    """Links between sections of the runbook name sections that exist."""
    text = read_text(bundle / "runbook.md")
    anchors = {line[3:].lower() for line in text.splitlines() if line.startswith("## ")}
    linked = {part.split(")")[0] for part in text.split("](#")[1:]}
    assert linked <= anchors


def test_no_annotation_failed_to_expand() -> None:
    """No promtool case expects the text that Prometheus writes when an annotation's template fails."""
    for path in TESTS:
        assert "error expanding template" not in read_text(path)


def test_manifest_has_the_same_rules(bundle: Path) -> None:
    """The PrometheusRule carries exactly the groups of the plain rule file."""
    plain: Any = read_yaml(bundle / "prometheus/rules.yml")
    manifest: Any = read_yaml(bundle / "kubernetes/prometheusrule.yaml")
    assert manifest["kind"] == "PrometheusRule"
    assert manifest["spec"] == plain


def test_amtool_accepts_the_routing(bundle: Path, tool: Run) -> None:
    """The routing sample is valid, groups by alert and cluster, and waits ten seconds."""
    path = bundle / "alertmanager/alertmanager.yml"
    result = tool("amtool", "check-config", path)
    assert result.returncode == 0, result.stdout
    content: Any = read_yaml(path)
    assert content["route"]["group_by"] == ["alertname", "connect_cluster"]
    assert (content["route"]["group_wait"], content["route"]["group_interval"]) == ("10s", "1m")


def test_inhibitions_name_alerts(bundle: Path) -> None:
    """Every inhibition is between two alerts that exist."""
    alerts = {rule["alert"] for rule in rules_of(bundle / "prometheus/rules.yml")}
    content: Any = read_yaml(bundle / "alertmanager/alertmanager.yml")
    named = {
        matcher.partition(" = ")[2]
        for inhibition in content["inhibit_rules"]
        for matcher in (*inhibition["source_matchers"], *inhibition["target_matchers"])
    }
    assert named
    assert named <= alerts


def test_promtool_accepts_the_scrape_sample(bundle: Path, tool: Run) -> None:
    """The scrape sample is a valid configuration of Prometheus that finds the rules beside it."""
    result = tool("promtool", "check", "config", bundle / "prometheus/scrape.yml")
    assert result.returncode == 0, result.stdout
    assert "1 rule files found" in result.stdout


def test_settings_reach_the_rules(tmp_path: Path, tool: Run) -> None:
    """Changed settings stand in rules, links and routing, and the result is still valid."""
    changes = {
        "mismatch_for": "2m",
        "loop_persistence_s": "90",
        "replica_labels": "replica",
        "runbook_url": "https://wiki.example/kafka?page=runbook",
        "grafana_url": "https://grafana.example/",
        "webhook_url": "https://pager.example/hook?team=a&x=1",
        "exporter_targets": "a:9507,[::1]:9507",
    }
    render(tmp_path, changes)
    rules = {rule["alert"]: rule for rule in rules_of(tmp_path / "prometheus/rules.yml")}
    mismatch, loop = rules["KafkaConnectSigningAlgorithmMismatch"], rules["KafkaConnectTaskReconfigurationLoop"]
    assert mismatch["for"] == "2m"
    assert ">= 90\n" in loop["expr"]
    assert "max without (replica) (" in mismatch["expr"]
    assert mismatch["annotations"]["runbook_url"].startswith("https://wiki.example/kafka?page=runbook#")
    assert mismatch["annotations"]["dashboard_url"].startswith("https://grafana.example/d/kafka-connect-")
    routing: Any = read_yaml(tmp_path / "alertmanager/alertmanager.yml")
    assert routing["receivers"][0]["webhook_configs"][0]["url"] == "https://pager.example/hook?team=a&x=1"
    scrape: Any = read_yaml(tmp_path / "prometheus/scrape.yml")
    assert scrape["scrape_configs"][0]["static_configs"] == [{"targets": ["a:9507", "[::1]:9507"]}]
    assert tool("promtool", "check", "config", tmp_path / "prometheus/scrape.yml").returncode == 0
    assert tool("amtool", "check-config", tmp_path / "alertmanager/alertmanager.yml").returncode == 0


def test_missing_tool_fails_with_a_sentence(tool: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without promtool the tests fail and say what to install; they are not skipped."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(pytest.fail.Exception, match="promtool is missing: apt-get install prometheus"):
        tool("promtool", "--version")

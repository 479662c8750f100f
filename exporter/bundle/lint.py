"""Check rules and dashboards: what a person on call would miss in them."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from exporter.bundle.files import read_text, read_yaml
from exporter.bundle.query import claims_zero, has_fixed_range, selectors
from exporter.errors import BundleError

_SEVERITIES = ("critical", "warning", "info")
_ANNOTATIONS = ("summary", "description", "runbook_url")
_UID_LENGTH_MAX = 40  # Grafana refuses longer ones
_COLUMNS = 24

# Made by Prometheus or set on targets; not on the exporter's page.
_PROMETHEUS_METRICS = frozenset({"ALERTS", "ALERTS_FOR_STATE", "up"})
_TARGET_LABELS = frozenset({"instance", "job", "pod", "container", "endpoint", "namespace", "service", "node"})
_ANNOTATION_QUERY = re.compile(r'query \(printf ("(?:[^"\\]|\\.)*")')

Metrics = Mapping[str, Collection[str]]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to mend.

    Attributes:
        path: the file.
        where: the alert or panel, "" for the whole file.
        message: what is wrong.
    """

    path: Path
    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.where}: {self.message}" if self.where else f"{self.path}: {self.message}"


def lint(paths: Iterable[Path], metrics: Metrics | None = None) -> list[Problem]:
    """Check rule files, PrometheusRule manifests and dashboards.

    Args:
        paths: files, and directories that are searched for .yml, .yaml and .json.
        metrics: name → label names of all metrics there are; None: not checked.

    Returns:
        The problems in the order of the files; empty if all is well.

    Raises:
        BundleError: a path does not exist, or the PromQL parser is missing.
    """
    problems: list[Problem] = []
    for path in paths:
        if not path.exists():
            raise BundleError(f"{path} does not exist.", "Give files or directories written by `render`.")
        found = (
            sorted(p for p in path.rglob("*") if p.suffix in {".yml", ".yaml", ".json"}) if path.is_dir() else [path]
        )
        for file in found:
            problems += _file(file, metrics, named=file == path)
    return problems


def _file(path: Path, metrics: Metrics | None, *, named: bool) -> Iterator[Problem]:
    """Problems of one file; others than rules and dashboards are passed over in directories."""
    try:
        content = json.loads(read_text(path)) if path.suffix == ".json" else read_yaml(path)
    except json.JSONDecodeError as error:
        yield Problem(path, "", f"is not valid JSON: {error}.")
        return
    except BundleError as error:
        yield Problem(path, "", str(error))
        return
    except RecursionError:
        yield Problem(path, "", "is nested too deeply to be read.")
        return
    if isinstance(content, dict) and content.get("kind") == "PrometheusRule":
        content = content.get("spec")
    if isinstance(content, dict) and isinstance(content.get("groups"), list):
        found = _rules(content["groups"], metrics)
    elif isinstance(content, dict) and isinstance(content.get("panels"), list):
        found = _dashboard(content, metrics)
    elif named:
        found = iter([("", "is neither a rule file nor a dashboard.")])
    else:
        return
    try:
        for where, message in found:
            yield Problem(path, where, message)
    except (AttributeError, KeyError, TypeError) as error:  # a list where a mapping belongs, and the like
        yield Problem(path, "", f"is not built like a rule file or dashboard: {error}.")


Found = Iterator[tuple[str, str]]


def _rules(groups: list[Any], metrics: Metrics | None) -> Found:
    rules = [rule for group in groups for rule in group.get("rules", [])]
    recorded = {rule["record"] for rule in rules if "record" in rule}
    names: set[str] = set()
    for rule in rules:
        name = str(rule.get("alert") or rule.get("record") or "a rule without name")
        for message in _query(str(rule.get("expr", "")), metrics, recorded):
            yield name, message
        if "alert" in rule:
            if name in names:
                yield name, "another alert has this name."
            names.add(name)
            for message in _alert(rule, metrics, recorded):
                yield name, message


def _alert(rule: dict[str, Any], metrics: Metrics | None, recorded: Collection[str]) -> Iterator[str]:
    """What is wrong with an alert's labels and texts, and with the queries inside the texts."""
    if rule.get("labels", {}).get("severity") not in _SEVERITIES:
        yield f"the label severity is none of {', '.join(_SEVERITIES)}."
    annotations = rule.get("annotations", {})
    for key in _ANNOTATIONS:
        if not annotations.get(key):
            yield f"the annotation {key} is missing."
    for key, text in annotations.items():
        for literal in _ANNOTATION_QUERY.findall(str(text)):
            for message in _query(json.loads(literal).replace("%q", '"x"'), metrics, recorded):
                yield f"annotation {key}: {message}"


def _dashboard(content: dict[str, Any], metrics: Metrics | None) -> Found:
    uid = str(content.get("uid") or "")
    if not 0 < len(uid) <= _UID_LENGTH_MAX:
        yield "", f"the uid {uid!r} has not 1 to {_UID_LENGTH_MAX} characters."
    if not content.get("title"):
        yield "", "the title is missing."
    titles: set[str] = set()
    for panel in content["panels"]:
        title = str(panel.get("title") or "")
        name = title or f"panel {panel.get('id')}"
        if not title:
            yield name, "the title is missing."
        if panel.get("type") == "row":
            continue
        if title in titles:
            yield name, "another panel has this title."
        titles.add(title)
        for message in _panel(panel, metrics):
            yield name, message
    yield from _positions(content["panels"])


def _panel(panel: dict[str, Any], metrics: Metrics | None) -> Iterator[str]:
    """What is wrong with a panel and its queries."""
    if not panel.get("description"):
        yield "the description is missing."
    if not panel.get("fieldConfig", {}).get("defaults", {}).get("unit"):
        yield "the unit is missing."
    if panel.get("datasource", {}).get("uid") != "${datasource}":
        yield "the data source is not the variable ${datasource}."
    if not panel.get("targets"):
        yield "there is no query."
    for target in panel.get("targets", []):
        query = str(target.get("expr", ""))
        yield from _query(query, metrics, ())
        if has_fixed_range(query):
            yield "a range is written out. Use $__rate_interval."


def _positions(panels: list[dict[str, Any]]) -> Found:
    """Panels that stick out of the dashboard or lie on each other."""
    boxes = [(str(p.get("title")), p.get("gridPos") or {"x": 0, "y": 0, "w": 0, "h": 0}) for p in panels]
    for name, box in boxes:
        if box["w"] < 1 or box["h"] < 1 or box["x"] + box["w"] > _COLUMNS:
            yield name, "the panel has no room, or sticks out of the dashboard."
    for (name, a), (other, b) in combinations(boxes, 2):
        apart = (
            a["x"] + a["w"] <= b["x"]
            or b["x"] + b["w"] <= a["x"]
            or a["y"] + a["h"] <= b["y"]
            or b["y"] + b["h"] <= a["y"]
        )
        if not apart:
            yield name, f"the panel lies on {other}."


def _query(query: str, metrics: Metrics | None, recorded: Collection[str]) -> Iterator[str]:
    """What is wrong with one query."""
    if claims_zero(query):
        yield "`or vector(…)` shows 0 where nothing is known. Remove it."
    try:
        found = selectors(query)
    except ValueError as error:
        yield f"the query is not PromQL: {error}."
        return
    if metrics is None:
        return
    for selector in found:
        if selector.metric is None or selector.metric in recorded or selector.metric in _PROMETHEUS_METRICS:
            continue
        if selector.metric not in metrics:
            yield f"there is no metric {selector.metric}."
            continue
        for label in selector.labels:
            if label not in metrics[selector.metric] and label not in _TARGET_LABELS:
                yield f"{selector.metric} has no label {label}."

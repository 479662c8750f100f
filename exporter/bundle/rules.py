"""From the data in alerts/*.yml to Prometheus rule groups.

An alert is one entry of a data file; name prefix, labels, runbook and dashboard links are added here, so that none is
forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from exporter.bundle.files import read_yaml
from exporter.bundle.links import dashboard_of_alert, runbook_section
from exporter.bundle.template import Templates
from exporter.errors import BundleError

PREFIX = "KafkaConnect"

Rule = dict[str, object]
Group = dict[str, object]


class AlertSource(BaseModel):
    """One alert as it stands in a data file; texts are templates."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    severity: Literal["critical", "warning", "info"]
    for_: str | None = Field(default=None, alias="for")
    keep_firing_for: str | None = None
    expr: str
    summary: str
    description: str
    remedy: str


class AreaSource(BaseModel):
    """One data file: the alerts of an area and the dashboard they link to (its file name without ending)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    area: str
    dashboard: str
    alerts: dict[str, AlertSource]


def read_areas(folder: Path) -> dict[str, AreaSource]:
    """All areas by file stem, in the order of the names.

    Raises:
        BundleError: a file is not what it should be; names file and key.
    """
    areas: dict[str, AreaSource] = {}
    seen: dict[str, Path] = {}
    for path in sorted(folder.glob("*.yml")):
        try:
            area = AreaSource.model_validate(read_yaml(path))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise BundleError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}.") from error
        for name in area.alerts:
            if name in seen:
                raise BundleError(f"{path}: the alert {name} also stands in {seen[name]}.", "Remove one of them.")
            seen[name] = path
        areas[path.stem] = area
    return areas


def groups(areas: Mapping[str, AreaSource], templates: Templates, settings: Mapping[str, str]) -> list[Group]:
    """One rule group per area, ready to be written as YAML.

    Args:
        areas: see `read_areas`.
        templates: renders the texts.
        settings: resolved; `rule_interval`, `runbook_url` and `grafana_url` are used here.

    Raises:
        BundleError: a text cannot be rendered; names file and alert.
    """
    found: list[Group] = []
    for stem, area in areas.items():
        dashboard_url = dashboard_of_alert(area.dashboard, settings["grafana_url"])
        rules: list[Rule] = []
        for name, alert in area.alerts.items():
            rule = _rule(PREFIX + name, alert, templates, f"alerts/{stem}.yml: {name}")
            rule["labels"] = {"severity": alert.severity, "area": area.area}
            rule["annotations"] = _annotations(alert, templates, f"alerts/{stem}.yml: {name}") | {
                "runbook_url": runbook_section(PREFIX + name, settings["runbook_url"]),
                "dashboard_url": dashboard_url,
            }
            rules.append(rule)
        found.append({"name": f"kafka-connect-{area.area}", "interval": settings["rule_interval"], "rules": rules})
    return found


def _rule(name: str, alert: AlertSource, templates: Templates, where: str) -> Rule:
    """When the alert fires."""
    rule: Rule = {"alert": name, "expr": templates.text(alert.expr, f"{where}: expr")}
    if alert.for_ is not None:
        rule["for"] = templates.text(alert.for_, f"{where}: for")
    if alert.keep_firing_for is not None:
        rule["keep_firing_for"] = templates.text(alert.keep_firing_for, f"{where}: keep_firing_for")
    return rule


def _annotations(alert: AlertSource, templates: Templates, where: str) -> dict[str, str]:
    """What the alert says; the remedy ends the description, because many receivers show nothing else."""
    description = templates.text(alert.description, f"{where}: description")
    remedy = templates.text(alert.remedy, f"{where}: remedy")
    return {
        "summary": templates.text(alert.summary, f"{where}: summary"),
        "description": f"{description}\nWhat to do: {remedy}",
    }

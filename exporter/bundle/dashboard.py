"""From the rows of dashboards/*.yml to Grafana's JSON (schema of Grafana 10 and 11): who a dashboard is, and its frame.

A panel is one entry of a data file; position, ids, data source, variables and links are added here.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from exporter.bundle.files import read_yaml
from exporter.bundle.links import grafana_link, uid_of
from exporter.bundle.panel import Json, PanelSource, panel
from exporter.bundle.template import Templates
from exporter.errors import BundleError

_COLUMNS = 24
_ROW_HEIGHT = 1
_SCHEMA_VERSION = 39  # Grafana 10.4 and 11.0; newer ones migrate it
_TAG = "kafka-connect"
_DATASOURCE: Json = {"type": "prometheus", "uid": "${datasource}"}

# name, label, query; a variable's query may use those above it.
_VARIABLES: tuple[tuple[str, str, str], ...] = (
    ("cluster", "Connect cluster", "label_values(kafka_connect_exporter_source_up, connect_cluster)"),
    ("worker", "Worker", 'label_values(kafka_connect_exporter_source_up{connect_cluster=~"$cluster"}, worker)'),
    (
        "connector",
        "Connector",
        # A connector that never got a task may be known by its loop only.
        'label_values({__name__=~"kafka_connect_(connector_state|task_reconfiguration_loop_active)"}, connector)',
    ),
)


class RowSource(BaseModel):
    """A heading and the panels under it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str
    panels: tuple[PanelSource, ...]


class DashboardSource(BaseModel):
    """One data file: one dashboard; its uid comes from the file's name."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str
    description: str
    rows: tuple[RowSource, ...]


def read_dashboards(folder: Path) -> dict[str, DashboardSource]:
    """All dashboards by file stem, in the order of the names.

    Raises:
        BundleError: a file is not what it should be; names file and key.
    """
    dashboards: dict[str, DashboardSource] = {}
    for path in sorted(folder.glob("*.yml")):
        try:
            dashboards[path.stem] = DashboardSource.model_validate(read_yaml(path))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise BundleError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}.") from error
    return dashboards


def dashboard(stem: str, source: DashboardSource, templates: Templates, settings: Mapping[str, str]) -> Json:
    """One dashboard as Grafana imports it.

    Args:
        stem: file name without ending.
        source: see `read_dashboards`.
        templates: renders queries and texts.
        settings: resolved; `runbook_url` is used here.

    Raises:
        BundleError: a text cannot be rendered; names file and panel.
    """
    return {
        "uid": uid_of(stem),
        "title": source.title,
        "description": source.description,
        "tags": [_TAG],
        "schemaVersion": _SCHEMA_VERSION,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "fiscalYearStartMonth": 0,
        "liveNow": False,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "timepicker": {},
        "timezone": "",
        "weekStart": "",
        "annotations": {"list": []},
        "links": _links(settings["runbook_url"]),
        "templating": {"list": _variables()},
        "panels": _laid_out(stem, source, templates, settings),
    }


def _laid_out(stem: str, source: DashboardSource, templates: Templates, settings: Mapping[str, str]) -> list[Json]:
    """Panels from left to right, wrapped at the dashboard's width; a heading above each row."""
    panels: list[Json] = []
    y = 0
    for row in source.rows:
        panels.append(
            {
                "id": len(panels) + 1,
                "type": "row",
                "title": row.title,
                "collapsed": False,
                "gridPos": {"x": 0, "y": y, "w": _COLUMNS, "h": _ROW_HEIGHT},
                "panels": [],
            }
        )
        y += _ROW_HEIGHT
        x = line_height = 0
        for item in row.panels:
            if x + item.width > _COLUMNS:
                x, y, line_height = 0, y + line_height, 0
            where = f"dashboards/{stem}.yml: {item.title}"
            position: Json = {"x": x, "y": y, "w": item.width, "h": item.height}
            content = panel(item, templates, _DATASOURCE, settings["runbook_url"], where)
            panels.append({"id": len(panels) + 1, "gridPos": position, **content})
            x, line_height = x + item.width, max(line_height, item.height)
        y += line_height
    return panels


def _variables() -> list[Json]:
    source: Json = {
        "name": "datasource",
        "label": "Data source",
        "type": "datasource",
        "query": "prometheus",
        "current": {"selected": False, "text": "default", "value": "default"},
        "hide": 0,
        "includeAll": False,
        "multi": False,
        "options": [],
        "refresh": 1,
        "regex": "",
        "skipUrlSync": False,
    }
    return [
        source,
        *(
            {
                "name": name,
                "label": label,
                "type": "query",
                "datasource": _DATASOURCE,
                "query": {"query": query, "refId": f"{name}Variable"},
                "allValue": ".*",  # not a list of names: a connector may be unnamed, and names may need escaping
                "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
                "hide": 0,
                "includeAll": True,
                "multi": True,
                "options": [],
                "refresh": 2,  # when the time range changes: connectors come and go
                "regex": "",
                "skipUrlSync": False,
                "sort": 1,
            }
            for name, label, query in _VARIABLES
        ),
    ]


def _links(runbook_url: str) -> list[Json]:
    return [
        grafana_link(
            "Kafka Connect", "", type="dashboards", tags=[_TAG], asDropdown=True, includeVars=True, keepTime=True
        ),
        grafana_link("Alerts", "/alerting/list?search=KafkaConnect", icon="bolt"),
        grafana_link("Runbook", runbook_url, icon="doc", targetBlank=True),
    ]

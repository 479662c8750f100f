"""One panel: from its row of data to Grafana's JSON."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from exporter.bundle.links import grafana_link, runbook_section
from exporter.bundle.template import Templates

Json = dict[str, object]

Kind = Literal["stat", "timeseries", "table", "state-timeline"]
Color = Literal["green", "yellow", "orange", "red", "blue", "purple", "text"]

_STRICT = ConfigDict(extra="forbid", frozen=True)


class QuerySource(BaseModel):
    """One query.

    Attributes:
        expr: PromQL, a template.
        legend: Grafana's legend; in a table the heading of the value's column.
        unit: of the value's column in a table, where it differs from the panel's.
    """

    model_config = _STRICT

    expr: str
    legend: str = ""
    unit: str | None = None


class ValueText(BaseModel):
    """What a number is shown as."""

    model_config = _STRICT

    text: str
    color: Color


class PanelSource(BaseModel):
    """One panel as it stands in a data file.

    Attributes:
        alert: the alert, without prefix, whose runbook section the panel links to.
        values: texts for single numbers.
        steps: colour from a value upwards; the colour below the first is green, in a table none.
        columns: for a table: label → heading, in order; other labels are hidden.
        matrix: for a table: the labels that become (rows, columns); one query.
        no_data: shown instead of "No data", where nothing is good news.
        stack: draw the series of a graph on top of each other.
    """

    model_config = _STRICT

    title: str
    kind: Kind
    unit: str
    description: str
    queries: tuple[QuerySource, ...] = Field(min_length=1)
    width: int = Field(default=12, ge=1, le=24)
    height: int = Field(default=8, ge=2)
    alert: str | None = None
    values: dict[int, ValueText] = {}
    steps: dict[float, Color] = {}
    columns: dict[str, str] = {}
    matrix: tuple[str, str] | None = None
    no_data: str | None = None
    stack: bool = False


def panel(source: PanelSource, templates: Templates, datasource: Json, runbook_url: str, where: str) -> Json:
    """The panel without id and position.

    Args:
        source: the row of data.
        templates: renders the queries.
        datasource: reference to the dashboard's data source.
        runbook_url: base of the runbook's links.
        where: file and panel, for errors.

    Raises:
        BundleError: a query cannot be rendered.
    """
    content: Json = {
        "type": source.kind,
        "title": source.title,
        "description": templates.text(source.description, where),
        "datasource": datasource,
        "fieldConfig": {"defaults": _defaults(source), "overrides": _overrides(source)},
        "options": _OPTIONS[source.kind],
        "targets": _targets(source, templates, datasource, where),
        "transformations": _transformations(source),
        "links": [],
    }
    if source.alert is not None:
        name = f"KafkaConnect{source.alert}"
        content["links"] = [grafana_link(f"Runbook: {name}", runbook_section(name, runbook_url), targetBlank=True)]
    return content


_LEGEND: Json = {"displayMode": "table", "placement": "bottom", "showLegend": True, "calcs": ["lastNotNull", "max"]}

_OPTIONS: dict[Kind, Json] = {
    "stat": {
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "orientation": "auto",
        "textMode": "auto",
        "colorMode": "background",
        "graphMode": "none",
        "justifyMode": "auto",
    },
    "timeseries": {"legend": _LEGEND, "tooltip": {"mode": "multi", "sort": "desc"}},
    "table": {
        "showHeader": True,
        "cellHeight": "sm",
        "footer": {"show": False, "reducer": ["sum"], "countRows": False},
    },
    "state-timeline": {
        "mergeValues": True,
        "showValue": "auto",
        "alignValue": "left",
        "rowHeight": 0.9,
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
        "tooltip": {"mode": "single", "sort": "none"},
    },
}

_CUSTOM: dict[Kind, Json] = {
    "stat": {},
    "timeseries": {
        "drawStyle": "line",
        "lineWidth": 1,
        "fillOpacity": 10,
        "showPoints": "auto",  # a series of one sample is a point, not nothing
        "spanNulls": False,
        "axisPlacement": "auto",
    },
    "table": {"align": "auto", "cellOptions": {"type": "auto"}, "inspect": False},
    "state-timeline": {"lineWidth": 0, "fillOpacity": 80},
}


def _defaults(source: PanelSource) -> Json:
    custom = dict(_CUSTOM[source.kind])
    if source.stack:
        custom["stacking"] = {"mode": "normal", "group": "A"}
    if source.kind == "table" and source.values:
        custom["cellOptions"] = {"type": "color-background", "mode": "basic"}
    # A cell of a table that no text is given to, a name for example, is no good news.
    below = "transparent" if source.kind == "table" else "green"
    steps = [{"color": below, "value": None}, *({"color": c, "value": v} for v, c in source.steps.items())]
    coloured_by_value = source.kind == "stat" or bool(source.values)
    defaults: Json = {
        "unit": source.unit,
        "color": {"mode": "thresholds" if coloured_by_value else "palette-classic"},
        "thresholds": {"mode": "absolute", "steps": steps},
        "mappings": _mappings(source),
    }
    if custom:
        defaults["custom"] = custom
    if source.kind == "timeseries":
        defaults["min"] = 0
    if source.no_data is not None:
        defaults["noValue"] = source.no_data
    return defaults


def _mappings(source: PanelSource) -> list[Json]:
    if not source.values:
        return []
    options = {
        str(number): {"text": value.text, "color": value.color, "index": index}
        for index, (number, value) in enumerate(source.values.items())
    }
    return [{"type": "value", "options": options}]


def _overrides(source: PanelSource) -> list[Json]:
    """Units of a table's value columns; Grafana names them after the query's letter."""
    if source.kind != "table" or source.matrix is not None:
        return []
    return [
        {
            "matcher": {"id": "byName", "options": query.legend},
            "properties": [{"id": "unit", "value": query.unit or source.unit}],
        }
        for query in source.queries
        if query.legend
    ]


def _targets(source: PanelSource, templates: Templates, datasource: Json, where: str) -> list[Json]:
    at_once = source.kind in {"table", "stat"}
    return [
        {
            "refId": letter,
            "datasource": datasource,
            "editorMode": "code",
            "expr": templates.text(query.expr, where),
            "legendFormat": query.legend or "__auto",
            "format": "table" if source.kind == "table" else "time_series",
            "instant": at_once,
            "range": not at_once,
        }
        for letter, query in zip("ABCDEFGH", source.queries, strict=False)
    ]


def _transformations(source: PanelSource) -> list[Json]:
    if source.kind != "table":
        return []
    if source.matrix is not None:
        row, column = source.matrix
        return [
            {
                "id": "groupingToMatrix",
                "options": {"rowField": row, "columnField": column, "valueField": "Value", "emptyValue": "empty"},
            },
            {
                "id": "organize",
                "options": {
                    "renameByName": {f"{row}\\{column}": source.columns.get(row, row)},
                    "excludeByName": {},
                    "indexByName": {},
                },
            },
        ]
    single = len(source.queries) == 1
    value_names = ["Value" if single else f"Value #{letter}" for letter in "ABCDEFGH"[: len(source.queries)]]
    headings = dict(source.columns)
    excluded = {"Time": True}
    for value_name, query in zip(value_names, source.queries, strict=True):
        if query.legend:
            headings[value_name] = query.legend
        else:
            excluded[value_name] = True
    return [
        # One line per set of labels, however many queries tell something about it.
        {"id": "merge", "options": {}},
        {
            "id": "organize",
            "options": {
                "excludeByName": excluded,
                "renameByName": headings,
                "indexByName": {name: index for index, name in enumerate(headings)},
            },
        },
    ]

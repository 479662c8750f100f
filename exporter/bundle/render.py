"""Write the bundle: rules, routing, dashboards, manifest, runbook and a scrape sample."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import LiteralScalarString

from exporter.bundle.dashboard import dashboard, read_dashboards
from exporter.bundle.files import read_text, sources, write_text
from exporter.bundle.rules import PREFIX, Group, groups, read_areas
from exporter.bundle.settings import resolve
from exporter.bundle.template import Templates
from exporter.errors import BundleError

_HEADING = "# Written by `kafka-connect-exporter render`: change it by --set, not by hand.\n"

# While the first fires, the second is not delivered for the same labels.
_INHIBITIONS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("SigningAlgorithmMismatch", "SigningAlgorithmMismatchLatent", ("connect_cluster", "worker")),
    ("ProtocolDowngraded", "VerificationDisabled", ("connect_cluster",)),
    ("WorkerUnseen", "SourceDown", ("connect_cluster", "worker")),
)


def render(directory: Path, settings: Mapping[str, str] = MappingProxyType({})) -> list[Path]:
    """Write the whole bundle.

    Args:
        directory: where to; made if it does not exist, files in it are overwritten.
        settings: changes to the settings, name → value; see `exporter.bundle.settings`.

    Returns:
        The written files.

    Raises:
        BundleError: an unknown setting, a bad value, a source that cannot be rendered, a file that cannot be written.
    """
    return [write_text(directory / name, text) for name, text in texts(resolve(settings)).items()]


def texts(settings: Mapping[str, str]) -> dict[str, str]:
    """The text of every file by its name below the directory; nothing is written.

    Args:
        settings: resolved.

    Raises:
        BundleError: a source cannot be rendered.
    """
    folder = sources("alerts")
    templates = Templates(folder, settings)
    areas = read_areas(folder)
    dashboards = read_dashboards(sources("dashboards"))
    for stem, area in areas.items():
        if area.dashboard not in dashboards:
            raise BundleError(f"alerts/{stem}.yml: there is no dashboard {area.dashboard!r}.")
    rule_groups = groups(areas, templates, settings)
    inhibitions = [(PREFIX + source, PREFIX + target, equal) for source, target, equal in _INHIBITIONS]
    written = {
        "prometheus/rules.yml": _HEADING + _yaml({"groups": rule_groups}),
        "prometheus/scrape.yml": templates.file("scrape.yml.j2"),
        "kubernetes/prometheusrule.yaml": _HEADING + _yaml(_manifest(rule_groups, settings)),
        "alertmanager/alertmanager.yml": templates.file("alertmanager.yml.j2", inhibitions=inhibitions),
        "runbook.md": read_text(folder / "runbook.md"),
    }
    for stem, source in dashboards.items():
        content = dashboard(stem, source, templates, settings)
        written[f"grafana/{stem}.json"] = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    return written


def _manifest(rule_groups: list[Group], settings: Mapping[str, str]) -> dict[str, object]:
    """The same groups as the Prometheus Operator reads them."""
    key, _, value = settings["kubernetes_label"].partition("=")
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {
            "name": "kafka-connect-exporter",
            "namespace": settings["kubernetes_namespace"],
            "labels": {key: value},
        },
        "spec": {"groups": rule_groups},
    }


def _yaml(content: object) -> str:
    """Block style, keys in the given order, texts of several lines as they are read."""
    yaml = YAML()
    yaml.width = 1_000_000
    yaml.indent(mapping=2, sequence=4, offset=2)
    # The same groups stand in several documents; anchors would be written for shared objects.
    yaml.representer.ignore_aliases = lambda _data: True
    out = io.StringIO()
    yaml.dump(_readable(content), out)
    return out.getvalue()


def _readable(value: object) -> object:
    if isinstance(value, dict):
        return {key: _readable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_readable(item) for item in value]
    if isinstance(value, str) and "\n" in value:
        return LiteralScalarString(value)
    return value

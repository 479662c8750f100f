"""Links between alerts, dashboards and the runbook, each form once."""

from __future__ import annotations

_VARIABLES = (("cluster", "connect_cluster"), ("worker", "worker"), ("connector", "connector"))
"""Variable of a dashboard, and the alert's label that sets it."""


def uid_of(dashboard: str) -> str:
    """The stable uid of a dashboard.

    Args:
        dashboard: file name without ending.
    """
    return f"kafka-connect-{dashboard}"


def runbook_section(alert: str, runbook_url: str) -> str:
    """The URL of an alert's section of the runbook; anchors as GitHub and GitLab make them of headings.

    Args:
        alert: full name.
        runbook_url: where the runbook is published.
    """
    return f"{runbook_url}#{alert.lower()}"


def dashboard_of_alert(dashboard: str, grafana_url: str) -> str:
    """The URL of a dashboard narrowed to what an alert is about, as a template of Prometheus.

    Args:
        dashboard: file name without ending.
        grafana_url: base URL of Grafana.
    """
    chosen = "".join(
        f"{{{{ with $labels.{label} }}}}&var-{variable}={{{{ . | urlquery }}}}{{{{ end }}}}"
        for variable, label in _VARIABLES
    )
    return f"{grafana_url.rstrip('/')}/d/{uid_of(dashboard)}?from=now-1h{chosen}"


def grafana_link(title: str, url: str, **more: object) -> dict[str, object]:
    """A link of a dashboard or panel with every field that Grafana's schema asks for.

    Args:
        title: what the reader sees.
        url: where it leads, "" for a list of dashboards.
        more: fields that differ from a plain link in the same window.
    """
    plain: dict[str, object] = {
        "asDropdown": False,
        "icon": "external link",
        "includeVars": False,
        "keepTime": False,
        "tags": [],
        "targetBlank": False,
        "title": title,
        "tooltip": "",
        "type": "link",
        "url": url,
    }
    return plain | more

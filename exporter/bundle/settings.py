"""Everything a user may change in the bundle: name, default, unit and meaning, each once."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from exporter.connect.judge import PERSISTENT_LOOP_S
from exporter.errors import BundleError

_DURATION = re.compile(r"(?=\d)(\d+y)?(\d+w)?(\d+d)?(\d+h)?(\d+m)?(\d+s)?(\d+ms)?")
_LABEL = r"[a-zA-Z_][a-zA-Z0-9_]*"
_LABELS = re.compile(rf"{_LABEL}(\s*,\s*{_LABEL})*")
_NUMBER = re.compile(r"\d+(\.\d+)?")
_URL = re.compile(r"[^\s\"'`{}<>\\]+")
_TARGET = r"[^\s,\"'/]+:\d+"
_TARGETS = re.compile(rf"{_TARGET}(, {_TARGET})*")
_KUBERNETES_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_KUBERNETES_LABEL = re.compile(r"[A-Za-z0-9._/-]+=[A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class Kind:
    """What a setting's text must look like, and how to say so."""

    pattern: re.Pattern[str]
    expected: str
    normal: Callable[[str], str] = str.strip


def _spaced(text: str) -> str:
    return ", ".join(part.strip() for part in text.split(","))


DURATION = Kind(_DURATION, "a Prometheus duration such as 30s, 5m or 1h30m")
SECONDS = Kind(_NUMBER, "a number of seconds such as 60")
LABELS = Kind(_LABELS, "label names separated by commas such as instance, pod", _spaced)
URL = Kind(_URL, "a URL without blanks, quotes or braces")
TARGETS = Kind(_TARGETS, "addresses HOST:PORT separated by commas", _spaced)
KUBERNETES_NAME = Kind(_KUBERNETES_NAME, "a Kubernetes name of lower-case letters, digits and -")
KUBERNETES_LABEL = Kind(_KUBERNETES_LABEL, "a Kubernetes label KEY=VALUE")


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing a user may change.

    Attributes:
        name: as in `--set NAME=VALUE`; names of seconds end in `_s`, durations carry their unit in the value.
        default: as a user would write it.
        kind: what the value must look like.
        help: what it does.
    """

    name: str
    default: str
    kind: Kind
    help: str


SETTINGS: tuple[Setting, ...] = (
    # Prometheus
    Setting(
        "replica_labels",
        "instance, pod, container, endpoint",
        LABELS,
        "Labels that differ between exporters that watch the same worker; alerts aggregate over them.",
    ),
    Setting("rule_interval", "15s", DURATION, "How often rules are evaluated."),
    Setting("scrape_interval", "15s", DURATION, "How often the exporter is scraped."),
    Setting("exporter_targets", "localhost:9507", TARGETS, "Where Prometheus finds the exporters."),
    # Thresholds, in the order of the alerts
    Setting("mismatch_for", "30s", DURATION, "How long a refused algorithm with a loop lasts before it pages."),
    Setting("mismatch_latent_for", "15m", DURATION, "How long a known mismatch without a loop lasts before it warns."),
    Setting(
        "loop_persistence_s",
        f"{PERSISTENT_LOOP_S:.0f}",
        SECONDS,
        "Time from the first to the last failed attempt that makes a loop persistent.",
    ),
    Setting("loop_for", "15s", DURATION, "How long a loop is persistent before it pages."),
    Setting("loop_keep_firing_for", "2m", DURATION, "How long the page outlives a gap in the loop."),
    Setting("invalid_signature_window", "3m", DURATION, "Window in which one 403 keeps the condition true."),
    Setting("invalid_signature_for", "5m", DURATION, "How long 403s last before they page: a key rotation is over."),
    Setting("downgrade_memory", "1h", DURATION, "How long a cluster is remembered as having been sessioned."),
    Setting("downgrade_for", "1m", DURATION, "How long a downgrade lasts before it pages."),
    Setting("downgrade_keep_firing_for", "30m", DURATION, "How long the page outlives the memory of the old protocol."),
    Setting("verification_disabled_for", "5m", DURATION, "How long verification is off before it warns."),
    Setting("without_tasks_for", "10m", DURATION, "How long a RUNNING connector has no task before it is told."),
    Setting("spawn_failures_window", "10m", DURATION, "Window in which a failed start of a task is told."),
    Setting("worker_unseen_for", "3m", DURATION, "How long a worker answers neither JMX nor REST before it pages."),
    Setting("source_down_for", "5m", DURATION, "How long one input of an exporter fails before it warns."),
    # Links
    Setting("runbook_url", "runbook.md", URL, "Where runbook.md is published; alerts link to its sections."),
    Setting("grafana_url", "http://localhost:3000", URL, "Base URL of Grafana; alerts link to dashboards."),
    # Alertmanager
    Setting("webhook_url", "http://localhost:5001/", URL, "Where Alertmanager delivers."),
    Setting("group_wait", "10s", DURATION, "How long Alertmanager collects alerts of a new group."),
    Setting("group_interval", "1m", DURATION, "How long Alertmanager waits before it tells news of a group."),
    Setting("repeat_interval", "4h", DURATION, "How long Alertmanager waits before it repeats itself."),
    # Kubernetes
    Setting("kubernetes_namespace", "monitoring", KUBERNETES_NAME, "Namespace of the PrometheusRule."),
    Setting("kubernetes_label", "release=prometheus", KUBERNETES_LABEL, "Label by which the operator finds the rules."),
)


def resolve(changes: Mapping[str, str]) -> dict[str, str]:
    """All settings by name, with a user's changes.

    Args:
        changes: name → value as text.

    Raises:
        BundleError: an unknown name or a value of another form; says what is known or expected.
    """
    known = {setting.name: setting for setting in SETTINGS}
    values = {setting.name: setting.default for setting in SETTINGS}
    for name, value in changes.items():
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            hint = f"Did you mean {close[0]}? " if close else ""
            raise BundleError(f"The bundle has no setting {name!r}.", f"{hint}Known settings: {', '.join(known)}.")
        kind = known[name].kind
        normal = kind.normal(value)
        if not kind.pattern.fullmatch(normal):
            raise BundleError(f"The setting {name} cannot be {value!r}.", f"Give {kind.expected}.")
        values[name] = normal
    return values

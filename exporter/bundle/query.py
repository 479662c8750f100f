"""What a PromQL query asks for: the metrics and labels that its selectors name."""

from __future__ import annotations

import re
from dataclasses import dataclass

from exporter.errors import BundleError

_GRAFANA = (("$__rate_interval", "5m"), ("$__range", "1h"), ("$__interval", "1m"))
"""Grafana's own durations; PromQL wants a number there."""

_OR_ZERO = re.compile(r"\bor\s+(?:on\s*\([^)]*\)\s*)?vector\s*\(")
_FIXED_RANGE = re.compile(r"\[\s*\d[^\]]*\]")


@dataclass(frozen=True, slots=True)
class Selector:
    """One selector of a query.

    Attributes:
        metric: the metric's name; None where it is matched by pattern.
        labels: names of the labels it matches on.
    """

    metric: str | None
    labels: tuple[str, ...]


def selectors(query: str) -> tuple[Selector, ...]:
    """All selectors of a query, in the order of its text.

    Args:
        query: PromQL, possibly with Grafana's variables.

    Raises:
        ValueError: it is not PromQL; says why.
        BundleError: the parser is not installed.
    """
    try:
        import promql_parser as promql  # noqa: PLC0415 - only `lint` needs it
    except ImportError as error:
        raise BundleError("The PromQL parser is missing.", "Install it: pip install promql-parser.") from error
    for variable, duration in _GRAFANA:
        query = query.replace(variable, duration)
    found: list[Selector] = []

    def visit(expression: promql.Expr) -> bool:
        if isinstance(expression, promql.VectorSelector):
            labels = tuple(m.name for m in expression.matchers.matchers if m.name != "__name__")
            found.append(Selector(expression.name or None, labels))
        return True

    promql.walk(promql.parse(query), visit)
    return tuple(found)


def claims_zero(query: str) -> bool:
    """Whether the query turns "unknown" into 0 by `or vector(…)`."""
    return _OR_ZERO.search(query) is not None


def has_fixed_range(query: str) -> bool:
    """Whether a range is written out: on a dashboard it does not fit every scrape interval and zoom."""
    return _FIXED_RANGE.search(query) is not None

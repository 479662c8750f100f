"""The promtool tests notice when a rule is wrong: each alert is broken in every small way, one at a time."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from exporter.bundle.files import read_yaml, sources

Run = Callable[..., subprocess.CompletedProcess[str]]
Rule = dict[str, Any]

ALERTS = [
    (path.stem, f"KafkaConnect{name}")
    for path in sorted(sources("alerts").glob("*.yml"))
    for name in read_yaml(path)["alerts"]  # type: ignore[index]
]

_COMPARISON = re.compile(r" (==|>=|>|<) (\d+)")
_MATCHER = re.compile(r'([a-z_]+)(=~?)"([^"]*)",?')
_WINDOW = re.compile(r"\[(\d+)([smh])\]")
_DURATION = re.compile(r"(\d+)([smh])")
_LABELS = re.compile(r"(without|on) \(([^()]*)\)")


def replaced(expr: str, match: re.Match[str], text: str) -> str:
    """`expr` with `text` in the place of the match."""
    return expr[: match.start()] + text + expr[match.end() :]


def changed_expressions(expr: str) -> Iterator[tuple[str, str]]:
    """Every expression that differs from `expr` by one small fault, with its description."""
    for m in _COMPARISON.finditer(expr):
        yield f"{m[0]} dropped", replaced(expr, m, "")
        yield f"{m[0]} never true", replaced(expr, m, f" {m[1]} 77777777")
        if int(m[2]) > 1:
            yield f"{m[0]} halved", replaced(expr, m, f" {m[1]} {int(m[2]) // 2}")
            yield f"{m[0]} and half", replaced(expr, m, f" {m[1]} {int(m[2]) * 3 // 2}")
    for m in _MATCHER.finditer(expr):
        # Everywhere at once: where both sides of an operator match on a label, one of them is enough.
        yield f"{m[0]} dropped", expr.replace(m[0], "")
        for alternative in m[3].split("|") if "|" in m[3] else ():
            yield f"{m[0]} only {alternative}", replaced(expr, m, f'{m[1]}="{alternative}"')
    for m in _WINDOW.finditer(expr):
        yield f"{m[0]} ten times", replaced(expr, m, f"[{int(m[1]) * 10}{m[2]}]")
        seconds = int(m[1]) * {"s": 1, "m": 60, "h": 3600}[m[2]]
        yield f"{m[0]} a sixth", replaced(expr, m, f"[{seconds // 6}s]")
    yield from changed_grouping(expr)
    yield from without_clauses(expr)


def changed_grouping(expr: str) -> Iterator[tuple[str, str]]:
    """`expr` with one label less in a grouping, or the other extreme taken."""
    for m in _LABELS.finditer(expr):
        if m[1] == "without" and " on (" in expr[: m.start()]:
            continue  # the right side of `and on` and `unless on` may have any further labels
        labels = m[2].split(", ")
        for label in labels:
            rest = ", ".join(other for other in labels if other != label)
            yield f"{m[0]} without {label}", replaced(expr, m, f"{m[1]} ({rest})")
    for m in re.finditer(r"\b(max|min) without", expr):
        # A mismatch is 1 or absent, and the right side of `on` only has to be there: no other extreme to take.
        if " on (" not in expr[: m.start()] and "signature_algorithm_mismatch" not in expr:
            yield f"{m[0]} turned", replaced(expr, m, f"{'min' if m[1] == 'max' else 'max'} without")


def without_clauses(expr: str) -> Iterator[tuple[str, str]]:
    """`expr` without one side of each `and` or `unless`, or with one taken for the other."""
    lines = expr.split("\n")
    for index, line in enumerate(lines):
        operator = line.split(" ")[0]
        if operator in {"and", "unless"}:
            yield f"{line} and what follows dropped", "\n".join(lines[:index])
            yield f"what is before {line} dropped", "\n".join(lines[index + 1 :])
            other = {"and": "unless", "unless": "and"}[operator]
            yield f"{line} turned", "\n".join([*lines[:index], other + line[len(operator) :], *lines[index + 1 :]])


def mutants(rule: Rule) -> Iterator[tuple[str, Rule]]:
    """Every rule that differs from `rule` by one small fault, with its description."""
    for what, expr in changed_expressions(rule["expr"]):
        yield what, {**rule, "expr": expr}
    for key in ("for", "keep_firing_for"):
        if key in rule:
            yield f"{key} dropped", {k: v for k, v in rule.items() if k != key}
            number, unit = _DURATION.fullmatch(rule[key]).groups()  # type: ignore[union-attr]
            yield f"{key} three times", {**rule, key: f"{int(number) * 3}{unit}"}


@pytest.mark.parametrize(("area", "alert"), ALERTS, ids=[alert for _, alert in ALERTS])
def test_each_fault_is_noticed(area: str, alert: str, bundle: Path, tmp_path: Path, tool: Run) -> None:
    """The alert's own promtool cases pass with its rule, and fail with every rule that has one fault."""
    rules: Any = read_yaml(bundle / "prometheus/rules.yml")
    rule = next(rule for group in rules["groups"] for rule in group["rules"] if rule["alert"] == alert)
    cases: Any = read_yaml(sources("alerts") / "tests" / f"{area}.yml")
    own = [
        {**test, "alert_rule_test": [case for case in test["alert_rule_test"] if case["alertname"] == alert]}
        for test in cases["tests"]
    ]
    tests = {**cases, "rule_files": ["rules.yml"], "tests": [test for test in own if test["alert_rule_test"]]}
    (tmp_path / "tests.yml").write_text(json.dumps(tests))  # JSON is YAML

    def judged(candidate: Rule) -> subprocess.CompletedProcess[str]:
        groups = [{"name": "one", "interval": "15s", "rules": [candidate]}]
        (tmp_path / "rules.yml").write_text(json.dumps({"groups": groups}))
        return tool("promtool", "test", "rules", tmp_path / "tests.yml")

    sound = judged(rule)
    assert sound.returncode == 0, sound.stdout
    survivors = []
    for what, mutant in mutants(rule):
        result = judged(mutant)
        if result.returncode == 0:
            survivors.append(what)
        else:
            # It failed by a case, not because the mutant is no rule at all.
            assert "exp:" in result.stdout, f"{what}: {result.stdout}"
    assert not survivors, "\n".join(survivors)

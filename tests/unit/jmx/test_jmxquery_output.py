"""The JAR's output, line by line."""

from __future__ import annotations

import pytest

from exporter.errors import SourceError
from exporter.sources.jmx.jmxquery import parse
from exporter.sources.jmx.transport import Target

TARGET = Target("w", 9999)


def record(name: str, attribute: str, kind: str, value: str) -> str:
    """One record as the JAR prints it."""
    return (
        f'{{"mBeanName" : "{name}", "attribute" : "{attribute}", "attributeType" : "{kind}"'
        + (f', "value" : {value}' if value else "")
        + "}"
    )


def test_a_broken_line_costs_nothing_else() -> None:
    """Records beside one that is broken over two lines stay; the broken lines are counted."""
    records = [
        record("a:b=1", "x", "Double", "1.5"),
        '{"mBeanName" : "a:b=1", "attribute" : "y", "attributeType" : "String", "value" : "one\ntwo"}',
        record('a:b=\\"q\\\\"x\\"', "x", "String", '"say "hi" }, \\"'),
        record("a:b=1", "z", "Null", ""),
        record("a:b=1", "t", "Boolean", "true"),
    ]

    output = parse("[\n" + ", \n".join(records) + "]\n", TARGET)

    assert output.broken_lines == 2
    assert {bean.name: bean.attributes for bean in output.beans} == {
        "a:b=1": {"x": 1.5, "t": True},
        'a:b="q\\"x"': {"x": 'say "hi" }, \\'},
    }
    assert output.beans[1].keys == {"b": 'q"x'}


def test_nothing_that_matches() -> None:
    """An empty list is no bean, not an error."""
    assert parse("[\n]\n", TARGET).beans == ()


def test_output_that_is_cut() -> None:
    """Half a list is no reading: it would tell that connectors are gone."""
    with pytest.raises(SourceError) as caught:
        parse("[\n" + record("a:b=1", "x", "Double", "1.5") + ", \n", TARGET)

    assert caught.value.reason == "transport"
    assert "w:9999" in caught.value.message


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ('{ "error": "connection-error", "message":"x java.net.ConnectException: Connection refused"}\n', "refused"),
        ('Exception in thread "main" java.lang.SecurityException: Access denied! No entry\n\tat x\n', "auth"),
        ("Error occurred during initialization of VM\n", "transport"),
        ("", "transport"),
    ],
)
def test_errors(output: str, reason: str) -> None:
    """What is printed instead of a list becomes an error with its reason."""
    with pytest.raises(SourceError) as caught:
        parse(output, TARGET)

    assert caught.value.reason == reason
    assert caught.value.remedy

"""ObjectNames as Kafka writes them, both ways."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.sources.jmx import object_name

# KAFKA-LIVE.md §5: connector names and what workers 3.9.2 and 4.4.0 made of them.
RECORDED = [
    ("a,b", '"a,b"'),
    ('quote"x', '"quote\\"x"'),
    ("back\\slash", '"back\\\\slash"'),
    ("star*?", '"star\\*\\?"'),
    ("brack]et", '"brack]et"'),
    ("curly{x}", '"curly{x}"'),
    ("slash/x", '"slash/x"'),
    ("uni-é日", '"uni-é日"'),
    ("with space", "with space"),
    ("pct%20x", "pct%20x"),
    ("", ""),
]


@pytest.mark.parametrize(("name", "written"), RECORDED)
def test_names_that_workers_wrote(name: str, written: str) -> None:
    """Kafka's quoting is read, and written, as recorded."""
    assert object_name.value(name) == written
    assert object_name.parse(f"kafka.connect:type=connector-metrics,connector={written}") == (
        "kafka.connect",
        {"type": "connector-metrics", "connector": name},
    )


@given(st.dictionaries(st.from_regex(r"[a-z][a-z-]{0,8}", fullmatch=True), st.text(), min_size=1, max_size=4))
def test_every_value_survives(keys: dict[str, str]) -> None:
    """What Kafka's rules write for any texts is read back as these texts."""
    written = ",".join(f"{key}={object_name.value(text)}" for key, text in keys.items())

    assert object_name.parse(f"kafka.connect:{written}") == ("kafka.connect", keys)


@given(st.text())
def test_any_text_is_a_name_or_a_value_error(text: str) -> None:
    """Nothing but ValueError comes out of text that is no ObjectName."""
    try:
        domain, keys = object_name.parse(text)
    except ValueError:
        return
    assert text.startswith(f"{domain}:")
    assert all(key in text for key in keys)


@pytest.mark.parametrize("text", ["", "no-colon", 'a:b="open', 'a:b="x"y', "a:b", 'a:b=c"d'])
def test_what_is_no_object_name(text: str) -> None:
    """Text that no MBean server writes is refused and quoted in the error."""
    with pytest.raises(ValueError, match="is no ObjectName"):
        object_name.parse(text)

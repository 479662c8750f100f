"""The templates: log records with their rhythm, and MBeans, cut from recordings of Kafka 4.4.0 workers."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

_PLACEHOLDER = re.compile(r"<<(\w+)>>")
_RECORD = re.compile(r"^@(\d+\.\d{3}) ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TimedText:
    """One log record, without its stamp."""

    offset_s: float
    """When it is printed, counted from the template's first record."""
    text: str
    """From the level on; further lines follow after line feeds."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute of an MBean."""

    declared: str
    """The type its MBeanInfo names; Connect declares almost everything as double."""
    java_class: str
    """The class of its value."""
    value: str | float
    """For Kafka's enums the constant's name; text may hold a placeholder."""


BeanTemplates = Mapping[str, Mapping[str, Attribute]]
"""Object name -> attribute name -> attribute."""


def fill(text: str, values: Mapping[str, str]) -> str:
    """Put values in the place of `<<name>>`.

    Raises:
        KeyError: the text asks for a value that is not given.
    """
    return _PLACEHOLDER.sub(lambda match: values[match[1]], text)


def log_records(name: str, values: Mapping[str, str]) -> tuple[TimedText, ...]:
    """The records of the template `name` with its placeholders filled.

    Raises:
        KeyError: as in `fill`.
    """
    return tuple(TimedText(record.offset_s, fill(record.text, values)) for record in _records(name))


def beans(kind: str) -> BeanTemplates:
    """The MBeans a worker has per `kind`: worker, connector, connector_tasks or task."""
    return _beans()[kind]


@functools.cache
def _records(name: str) -> tuple[TimedText, ...]:
    _, *parts = _RECORD.split(_text(f"{name}.txt"))
    return tuple(
        TimedText(float(offset_s), text.removesuffix("\n"))
        for offset_s, text in zip(parts[::2], parts[1::2], strict=True)
    )


@functools.cache
def _beans() -> Mapping[str, BeanTemplates]:
    return {
        kind: {
            name: {attribute: Attribute(*row) for attribute, row in attributes.items()}
            for name, attributes in named.items()
        }
        for kind, named in json.loads(_text("mbeans.json")).items()
    }


def _text(file: str) -> str:
    return (resources.files(__package__) / "templates" / file).read_text(encoding="utf-8")

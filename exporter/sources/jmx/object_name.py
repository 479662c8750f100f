"""ObjectNames as Kafka writes them: values are quoted where they hold anything unusual (KAFKA.md §4.1)."""

from __future__ import annotations

import re

_KEY = re.compile(r'(?P<key>[^=,:]+)=(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>[^,"]*))(?:,|$)', re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_PLAIN_VALUE = re.compile(r"[\w\-%. \t]*", re.ASCII)


def parse(name: str) -> tuple[str, dict[str, str]]:
    """(domain, key properties as users know them).

    Raises:
        ValueError: `name` is no ObjectName.
    """
    domain, colon, rest = name.partition(":")
    if not colon:
        raise ValueError(f"{name!r} is no ObjectName")
    keys: dict[str, str] = {}
    at = 0
    while at < len(rest):
        match = _KEY.match(rest, at)
        if match is None:
            raise ValueError(f"{name!r} is no ObjectName")
        quoted = match["quoted"]
        keys[match["key"]] = match["plain"] if quoted is None else _unquote(quoted)
        at = match.end()
    return domain, keys


def _unquote(quoted: str) -> str:
    return _ESCAPED.sub(lambda m: "\n" if m[1] == "n" else m[1], quoted)


def value(text: str) -> str:
    """A key property's value as Kafka's Sanitizer writes it: quoted unless it is made of plain characters."""
    if _PLAIN_VALUE.fullmatch(text):
        return text
    escaped = re.sub(r'(["\\*?])', r"\\\1", text).replace("\n", "\\n")
    return f'"{escaped}"'

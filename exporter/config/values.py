"""Texts of the configuration to values: addresses, URLs, durations, sizes.

A wrong one is a ValueError that says how to write it.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from exporter.config.models import DEFAULT_PORT, Listen
from exporter.errors import ConfigError
from exporter.sources.jmx.address import parse_address

_CREDENTIALS = re.compile(r"//[^/@]*@|//.*@")
_SHOWN_MAX = 80
DURATION_S_MIN, DURATION_S_MAX = 0.1, 86400.0
COUNT_MAX = 10_000_000

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_DURATION_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_SIZE = re.compile(r"(\d+)\s*(B|KiB|MiB|GiB)?")
_SIZE_BYTES = {None: 1, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
# A name, or a v6 address (urlsplit has taken its brackets off).
_HOST = re.compile(r"[\w.-]+|[0-9a-f:.]+(?:%\w+)?")
# A bare number is a port that was meant as one; a bare v6 address is ambiguous.
_LISTEN = re.compile(
    r"(?:\[(?P<v6>[0-9A-Fa-f:.]+(?:%\w+)?)\]|(?P<host>(?![0-9]+\Z)[A-Za-z0-9._-]*))(?::(?P<port>[0-9]{1,5}))?"
)
_PORT_MAX = 65535


def shown(value: object) -> str:
    """A wrong value for a message: short, and without what may be a password."""
    text = repr(value)
    text = _CREDENTIALS.sub("//…@", text)
    return text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}…"


def printable(text: str) -> str:
    """The text, if files, labels and pages can hold it: no NUL, no half characters."""
    if not text.isprintable():
        raise ValueError(f"{shown(text)} has characters that cannot be printed.")
    return text


def duration_s(value: object) -> float:
    """`15s`, `500ms`, `2m`, `1h` in seconds; from 100 ms to a day."""
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None or float(match[1]) == 0:
        raise ValueError(f"{shown(value)} is not a duration: write it like 15s, 500ms or 2m.")
    seconds = float(match[1]) * _DURATION_S[match[2]]
    if not DURATION_S_MIN <= seconds <= DURATION_S_MAX:
        raise ValueError(f"{shown(value)} is out of range: from 100ms to 24h.")
    return seconds


def size_bytes(value: object) -> int:
    """`256MiB`, `1GiB` or a number of bytes."""
    match = _SIZE.fullmatch(str(value)) if isinstance(value, (str, int)) and not isinstance(value, bool) else None
    if match is None:
        raise ValueError(f"{shown(value)} is not a size: write it like 256MiB or 1GiB.")
    return int(match[1]) * _SIZE_BYTES[match[2]]


def listen(value: object) -> Listen:
    """`HOST:PORT`, `:PORT`, `[v6]:PORT` or `HOST`."""
    if not isinstance(value, str) or not value:
        raise ValueError(f"{shown(value)} is not an address: write it like 0.0.0.0:{DEFAULT_PORT}.")
    match = _LISTEN.fullmatch(value)
    if match is None:
        raise ValueError(
            f"{shown(value)} is not an address: write it like 0.0.0.0:{DEFAULT_PORT} or [::1]:{DEFAULT_PORT}."
        )
    port = match["port"] or str(DEFAULT_PORT)
    if int(port) > _PORT_MAX:
        raise ValueError(f"{shown(value)} is not an address: the port {port} is above {_PORT_MAX}.")
    return Listen(match["v6"] or match["host"] or "0.0.0.0", int(port))


def jmx_address(value: object) -> str:
    """`host:port`, `[v6]:port` or a service URL, as it stands."""
    if not isinstance(value, str):
        raise ValueError(f"{shown(value)} is not a JMX address: write it like connect-0:9999.")  # noqa: TRY004 - one kind of error
    try:
        parse_address(value)
    except ConfigError as error:
        raise ValueError(str(error)) from error
    return value


def rest_url(value: object) -> str:
    """An http or https URL without credentials, query and trailing slash."""
    if not isinstance(value, str):
        raise ValueError(f"{shown(value)} is not a URL: write it like http://connect-0:8083.")  # noqa: TRY004 - one kind of error
    if "@" in value:  # first of all: what stands before it may be a password, and must not come into a message
        raise ValueError("the URL holds a user name or password: give them as username and password_file.")
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError as error:
        raise ValueError(f"the URL cannot be read ({error}): write it like http://connect-0:8083.") from error
    host = parts.hostname or ""
    if (
        parts.scheme not in ("http", "https")
        or not _HOST.fullmatch(host)
        or parts.query
        or parts.fragment
        or port == 0
        or not value.isprintable()
    ):
        # What follows a question mark may be a secret: it must not come into a message.
        visible = re.split(r"[?#]", value)[0]
        raise ValueError(f"{shown(visible)} is not the URL of a worker: write it like http://connect-0:8083.")
    return value.rstrip("/")


def zone(value: object) -> str:
    """An IANA time zone."""
    try:
        return ZoneInfo(value).key if isinstance(value, str) else _no_zone(value)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return _no_zone(value)


def _no_zone(value: object) -> str:
    raise ValueError(f"{shown(value)} is not a time zone: write it like Europe/Berlin or UTC.")

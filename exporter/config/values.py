"""Texts of the configuration to values: addresses, URLs, durations, sizes.

A wrong one is a ValueError that says how to write it.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from exporter.config.models import DEFAULT_PORT, Listen

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_DURATION_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_SIZE = re.compile(r"(\d+)\s*(B|KiB|MiB|GiB)?")
_SIZE_BYTES = {None: 1, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_PORT_MAX = 65535


def duration_s(value: object) -> float:
    """`15s`, `500ms`, `2m`, `1h` in seconds; more than zero."""
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None or float(match[1]) == 0:
        raise ValueError(f"{value!r} is not a duration: write it like 15s, 500ms or 2m.")
    return float(match[1]) * _DURATION_S[match[2]]


def size_bytes(value: object) -> int:
    """`256MiB`, `1GiB` or a number of bytes."""
    match = _SIZE.fullmatch(str(value)) if isinstance(value, (str, int)) and not isinstance(value, bool) else None
    if match is None:
        raise ValueError(f"{value!r} is not a size: write it like 256MiB or 1GiB.")
    return int(match[1]) * _SIZE_BYTES[match[2]]


def listen(value: object) -> Listen:
    """`HOST:PORT`, `:PORT`, `[v6]:PORT` or `HOST`."""
    if not isinstance(value, str) or not value:
        raise ValueError(f"{value!r} is not an address: write it like 0.0.0.0:{DEFAULT_PORT}.")
    host, colon, port = value.rpartition(":")
    if not colon or value.endswith("]"):
        host, port = value, str(DEFAULT_PORT)
    if not port.isdigit() or int(port) > _PORT_MAX:
        raise ValueError(f"{value!r} is not an address: the port {port!r} is not a number from 0 to {_PORT_MAX}.")
    return Listen(host.removeprefix("[").removesuffix("]") or "0.0.0.0", int(port))


def rest_url(value: object) -> str:
    """An http or https URL without credentials, query and trailing slash."""
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a URL: write it like http://connect-0:8083.")  # noqa: TRY004 - one kind of error
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError as error:
        raise ValueError(f"the URL cannot be read ({error}): write it like http://connect-0:8083.") from error
    if "@" in parts.netloc:
        raise ValueError("the URL holds a user name or password: give them as username and password_file.")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or port == 0:
        raise ValueError(f"{value!r} is not the URL of a worker: write it like http://connect-0:8083.")
    return value.rstrip("/")


def zone(value: object) -> str:
    """An IANA time zone."""
    try:
        return ZoneInfo(value).key if isinstance(value, str) else _no_zone(value)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return _no_zone(value)


def _no_zone(value: object) -> str:
    raise ValueError(f"{value!r} is not a time zone: write it like Europe/Berlin or UTC.")

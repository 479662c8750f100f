"""The access line of a Connect worker's REST server, read from the left (KAFKA.md §3)."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from urllib.parse import unquote

from exporter.connect.events import InternalRequest

# Referer and user agent come from the caller, unescaped before 4.x: nothing left of them may depend on them.
_LINE = re.compile(
    r'(?P<client>\S+) - \S+ \[(?P<time>[^\]]+)\] "(?P<method>[A-Z]+) (?P<path>\S+) HTTP/[\d.]+" (?P<code>\d{3}) (?P<bytes>\d+|-) (?P<rest>.*)'
)
_PATH = re.compile(
    r"^(?:/(?P<source>[^/]+)/(?P<target>[^/]+))??/connectors/(?P<connector>.+)/(?P<request>tasks|fence)$"
)
_METHODS = {"tasks": "POST", "fence": "PUT"}
_WORKER_AGENT = re.compile(r'"kafka-connect"(?: \d+)?\s*$')
_MONTHS = {
    m: i for i, m in enumerate(["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"], 1)
}


def connector_of_path(path: str) -> tuple[str, str] | None:
    """(request, connector) of an internal endpoint's path, query ignored; None for any other path.

    MirrorMaker 2's `/A/B/connectors/C/tasks` gives the connector `A->B/C`.
    """
    match = _PATH.match(path.split("?", 1)[0])
    if match is None:
        return None
    connector = unquote(match["connector"])
    if match["source"] is not None:
        connector = f"{unquote(match['source'])}->{unquote(match['target'])}/{connector}"
    return match["request"], connector


def parse(message: str) -> tuple[InternalRequest | None, datetime | None] | None:
    """Read one message of RestServer.

    Returns:
        None if it is no access line; else the internal request, or None for any other request, and the
        line's own time in UTC (None if unreadable), which tells the zone of the record's stamp.
    """
    match = _LINE.match(message)
    if match is None:
        return None
    at = _utc(match["time"])
    internal = connector_of_path(match["path"])
    if internal is None or _METHODS[internal[0]] != match["method"]:
        return None, at
    body_bytes = None if match["bytes"] == "-" else int(match["bytes"])
    origin = "worker" if _WORKER_AGENT.search(match["rest"]) else "other"
    return InternalRequest(internal[0], internal[1], int(match["code"]), body_bytes, origin, match["client"]), at


def _utc(text: str) -> datetime | None:
    # strptime's %b depends on the locale; the months here are always English.
    day, slash, rest = text.partition("/")
    month, slash2, tail = rest.partition("/")
    if not slash or not slash2 or month not in _MONTHS:
        return None
    try:
        return datetime.strptime(f"{day}/{_MONTHS[month]:02d}/{tail}", "%d/%m/%Y:%H:%M:%S %z").astimezone(UTC)
    except ValueError:
        return None

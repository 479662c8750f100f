"""Log layouts as data: what begins a record, and where level, logger and context stand in it.

A new layout is a new row of `LAYOUTS`. Each record is read in the layout that its own first line has, so that a worker
whose layout is changed while its log goes on is still understood.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from exporter.connect.record import Record

_LEVELS = "TRACE|DEBUG|INFO|WARN|ERROR|FATAL"
_DATE = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}"
# With a line number any word is a logger; without one only a dotted name is, for messages may end in brackets too.
_LOGGER_MAYBE_LINE = r"\((?P<logger>[\w.$-]+(?=:)|[\w$-]+(?:\.[\w$-]+)+)(?::(?:\d+|\?))?\)"
_LOGGER = r"\((?P<logger>[\w$-]+(?:\.[\w$-]+)+)\)"

# `[NAME|worker] `, `[NAME|task-N] `, `[NAME|task-N|offsets] ` (Kafka's LoggingContext). Names may hold anything but
# control characters; `[Worker clientId=…]` and the clients' prefixes hold no such ending.
_CLIENT = re.compile(r"\[(?:Worker|Producer|Consumer|AdminClient) (?:clientId|instanceId)=")  # clients' LogContext
_CONTEXT = re.compile(r"\[(?P<context>[^\n]*?\|(?:worker|task-\d+(?:\|offsets)?))\] ")

CONTINUATION_LINES_MAX = 400
"""Lines of one record that are kept; traces repeat themselves below."""


@dataclass(frozen=True, slots=True)
class Layout:
    """One way in which records are printed.

    Attributes:
        name: for people.
        head: matches the beginning of a record's first line, in bytes; groups stamp and level.
        tail: matches the end of a line that carries the logger; a multi-line message has it on its last line.
    """

    name: str
    head: re.Pattern[bytes]
    tail: re.Pattern[str]

    def parse(self, block: bytes) -> Record | None:
        """The record that a block of whole lines holds; None if its first line is no record of this layout."""
        match = self.head.match(block)
        if match is None:
            return None
        first, *rest = _lines(block[match.end() :])
        lines = tuple(rest[:CONTINUATION_LINES_MAX])
        tail = self.tail.search(first)
        message = first if tail is None else first[: tail.start()]
        if tail is None:
            tail = self._tail_of(lines)
        context = ""
        found = _CONTEXT.match(message)
        if found is not None and _CLIENT.match(message) is None:
            context, message = found["context"], message[found.end() :]
        return Record(
            _stamp(match["stamp"]),
            match["level"].decode("ascii"),
            tail["logger"] if tail is not None else "",
            context,
            message.rstrip(),
            lines,
        )

    def _tail_of(self, lines: tuple[str, ...]) -> re.Match[str] | None:
        for line in lines:
            if line.startswith("\tat "):
                return None
            tail = self.tail.search(line)
            if tail is not None:
                return tail
        return None


def _stamp(text: bytes) -> datetime | None:
    try:
        return datetime.fromisoformat(text.decode("ascii"))
    except ValueError:
        return None  # the 31st of February: the record is still one, without a time


def _lines(block: bytes) -> list[str]:
    text = block.decode("utf-8", "replace")
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines] or [""]


def _head(text: str) -> re.Pattern[bytes]:
    return re.compile(f"^{text}".encode(), re.MULTILINE)


LAYOUTS: tuple[Layout, ...] = (
    Layout(
        "log4j: [%d] %p %X{connector.context}%m (%c:%L)%n",  # Apache 2.x-4.x; Confluent without :%L
        _head(rf"\[(?P<stamp>{_DATE})\] (?P<level>{_LEVELS}) "),
        re.compile(rf"{_LOGGER_MAYBE_LINE}$"),
    ),
    Layout(
        "log4j: %d{ISO8601} %p %X{connector.context}%m (%c) [%t]%n",  # Strimzi up to 0.45
        _head(rf"(?P<stamp>{_DATE}) (?P<level>{_LEVELS}) +"),
        re.compile(rf"{_LOGGER} \[[^\]]*\]$"),
    ),
)


def heads(layouts: tuple[Layout, ...]) -> re.Pattern[bytes]:
    """What begins a record in any of the layouts, without groups."""
    bare = (re.sub(rb"\(\?P<\w+>", b"(?:", layout.head.pattern) for layout in layouts)
    return re.compile(b"|".join(bare), re.MULTILINE)

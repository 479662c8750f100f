"""From the bytes of one log file to records: a push parser that knows where each record ends."""

from __future__ import annotations

import itertools

from exporter.connect.record import Record
from exporter.sources.logs.layout import LAYOUTS, Layout, heads

RECORD_BYTES_MAX = 2**20
"""Bytes of one record, or of one line without end, that are kept; what is over is dropped and counted."""


class RecordReader:
    """Feed it a file's bytes in any pieces; it hands out each record once the next one begins or on `flush`.

    Lines before the first record, and lines after a flushed one, belong to no record: they are counted as unparsed.
    Any other line without a head belongs to the record before it, whoever printed it (java.util.logging, too).
    The pieces change nothing: of a record that is too long it is always the beginning that is kept.
    """

    def __init__(self, layouts: tuple[Layout, ...] = LAYOUTS, record_bytes_max: int = RECORD_BYTES_MAX) -> None:
        """Nothing was fed yet.

        Args:
            layouts: those that the file may have, the first that fits a line wins.
            record_bytes_max: see `RECORD_BYTES_MAX`.
        """
        self._layouts = layouts
        self._heads = heads(layouts)
        self._record_bytes_max = record_bytes_max
        self._pending: list[bytes] = []
        self._kept_bytes = 0
        self._pending_bytes = 0
        self._tail = b""
        self._tail_bytes = 0
        self.lines_unparsed = 0
        self.bytes_lost = 0

    @property
    def held_bytes(self) -> int:
        """Bytes that were fed and are not handed out yet: the last record and a line without end."""
        return self._pending_bytes + self._tail_bytes

    @property
    def record_bytes(self) -> int:
        """Bytes of the last record, without a line without end."""
        return self._pending_bytes

    @property
    def kept_bytes(self) -> int:
        """The memory that they take: `held_bytes` without what was dropped."""
        return self._kept_bytes + len(self._tail)

    def feed(self, data: bytes) -> list[Record]:
        """Take the next bytes; the records that are complete with them."""
        cut = data.rfind(b"\n") + 1
        if not cut:
            self._hold_tail(data)
            return []
        records = self._after_tail(data[:cut]) if self._tail_bytes else self._lines(data[:cut], 0)
        self._hold_tail(data[cut:])
        return records

    def flush(self) -> list[Record]:
        """Nothing more belongs to the last record: hand it out. A line without end stays."""
        if not self._pending_bytes:
            return []
        block = b"".join(self._pending)
        self._pending, self._kept_bytes, self._pending_bytes = [], 0, 0
        return self._parse(block)

    def end(self) -> list[Record]:
        """The file ends here for good: a line without end is one, too."""
        records = self._after_tail(b"") if self._tail_bytes else []
        return records + self.flush()

    def _after_tail(self, data: bytes) -> list[Record]:
        """Complete the line that waited for its end.

        If something was dropped of it, it has filled a record already: what comes after the gap is dropped with it.
        """
        complete, dropped_bytes = self._tail + data, self._tail_bytes - len(self._tail)
        self._tail, self._tail_bytes = b"", 0
        return self._lines(complete, dropped_bytes)

    def _lines(self, complete: bytes, dropped_bytes: int) -> list[Record]:
        """Whole lines; `dropped_bytes` were in the first one."""
        starts = [m.start() for m in self._heads.finditer(complete)]
        first = starts[0] if starts else len(complete)
        if first:
            self._continue(complete[:first], first + dropped_bytes)
        if not starts:
            return []
        records = self.flush()
        for start, end in itertools.pairwise(starts):
            records += self._parse(complete[start:end])
        last = complete[starts[-1] :]
        self._pending_bytes = len(last) + (dropped_bytes if starts[-1] == 0 else 0)
        self._keep(last)
        return records

    def _continue(self, block: bytes, block_bytes: int) -> None:
        if not self._pending_bytes:
            self.lines_unparsed += block.count(b"\n") or 1
            return
        self._pending_bytes += block_bytes
        self._keep(block)

    def _keep(self, block: bytes) -> None:
        kept = block[: self._record_bytes_max - self._kept_bytes]
        self.bytes_lost += len(block) - len(kept)
        self._kept_bytes += len(kept)
        if kept:
            self._pending.append(kept)

    def _hold_tail(self, data: bytes) -> None:
        kept = data[: self._record_bytes_max - len(self._tail)]
        self.bytes_lost += len(data) - len(kept)
        self._tail += kept
        self._tail_bytes += len(data)

    def _parse(self, block: bytes) -> list[Record]:
        kept = block[: self._record_bytes_max]
        self.bytes_lost += len(block) - len(kept)
        for layout in self._layouts:
            record = layout.parse(kept)
            if record is not None:
                return [record]
        return []

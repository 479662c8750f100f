"""From the bytes of one log file to records: a push parser that knows where each record ends."""

from __future__ import annotations

import itertools

from exporter.connect.record import Record
from exporter.sources.logs.layout import LAYOUTS, Layout, detect

RECORD_BYTES_MAX = 2**20
"""Bytes of one record, or of one line without end, that are kept; what is over is dropped and counted."""


class RecordReader:
    """Feed it a file's bytes in any pieces; it hands out each record once the next one begins or on `flush`.

    Lines before the first record, and lines after a flushed one, belong to no record: they are counted as unparsed.
    Any other line without a head belongs to the record before it, whoever printed it (java.util.logging, too).
    """

    def __init__(self, layout: Layout | None = None) -> None:
        """`layout` None: found in the first bytes that hold a record."""
        self._layout = layout
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

    def feed(self, data: bytes) -> list[Record]:
        """Take the next bytes; the records that are complete with them."""
        cut = data.rfind(b"\n") + 1
        if not cut:
            self._hold_tail(data)
            return []
        complete = self._tail + data[:cut]
        complete_bytes = self._tail_bytes + cut
        self._tail, self._tail_bytes = b"", 0
        records = self._lines(complete, complete_bytes)
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
        records = []
        if self._tail_bytes:
            complete, complete_bytes = self._tail, self._tail_bytes
            self._tail, self._tail_bytes = b"", 0
            records = self._lines(complete, complete_bytes)
        return records + self.flush()

    def _lines(self, complete: bytes, complete_bytes: int) -> list[Record]:
        if self._layout is None:
            self._layout = detect(complete)
        starts = [m.start() for m in self._layout.head.finditer(complete)] if self._layout is not None else []
        first = starts[0] if starts else len(complete)
        dropped = complete_bytes - len(complete)
        self._continue(complete[:first], first + (dropped if not starts else 0))
        if not starts:
            return []
        records = self.flush()
        for start, end in itertools.pairwise(starts):
            records += self._parse(complete[start:end])
        last = complete[starts[-1] :]
        self._pending_bytes = len(last) + dropped
        self._keep(last)
        return records

    def _continue(self, block: bytes, block_bytes: int) -> None:
        if not block_bytes:
            return
        if not self._pending_bytes:
            self.lines_unparsed += block.count(b"\n") or 1
            return
        self._pending_bytes += block_bytes
        self._keep(block)

    def _keep(self, block: bytes) -> None:
        kept = block[: max(0, RECORD_BYTES_MAX - self._kept_bytes)]
        self.bytes_lost += len(block) - len(kept)
        self._kept_bytes += len(kept)
        self._pending.append(kept)

    def _hold_tail(self, data: bytes) -> None:
        kept = data[: max(0, RECORD_BYTES_MAX - len(self._tail))]
        self.bytes_lost += len(data) - len(kept)
        self._tail += kept
        self._tail_bytes += len(data)

    def _parse(self, block: bytes) -> list[Record]:
        layout = self._layout if self._layout is not None else LAYOUTS[0]
        record = layout.parse(block)
        return [record] if record is not None else []

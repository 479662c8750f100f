"""From bytes to records, in Kafka's shipped layouts."""

from __future__ import annotations

import itertools
import re
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.recordings import SCENARIOS, log_bytes

from exporter.connect.record import Record
from exporter.sources.logs import records
from exporter.sources.logs.records import RecordReader

HEAD = rb"(?m)^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] (TRACE|DEBUG|INFO|WARN|ERROR|FATAL) "


def _read(data: bytes, piece: int = 2**16) -> tuple[list[Record], RecordReader]:
    reader = RecordReader()
    found = [record for i in range(0, len(data), piece) for record in reader.feed(data[i : i + piece])]
    return found + reader.end(), reader


def _one(text: str) -> Record:
    (record,), _ = _read(text.encode())
    return record


@pytest.mark.parametrize(("scenario", "worker"), SCENARIOS)
def test_every_recorded_record_is_found_with_its_level_and_logger(scenario: str, worker: str) -> None:
    """As many records per level as lines begin with a stamp and that level; each names its logger."""
    data = log_bytes(scenario, worker)
    found, reader = _read(data)
    levels = [m.decode() for m in re.findall(HEAD, data)]
    assert [record.level for record in found] == levels
    assert all(record.logger for record in found)
    first = re.search(HEAD, data)
    assert first is not None
    assert reader.lines_unparsed == data[: first.start()].count(b"\n")


def test_parts_of_a_record_of_kafka_3() -> None:
    """Stamp, level, context, message, logger and the lines after the first."""
    record = _one(
        "[2024-10-25 14:03:09,001] ERROR [jdbc src|task-0] WorkerSourceTask{id=jdbc src-0} Task threw (org.a.WorkerTask:233)\n"
        "org.a.E: x\n\tat org.a.B.c(B.java:1)\n"
    )
    assert record == Record(
        datetime(2024, 10, 25, 14, 3, 9, 1000),  # noqa: DTZ001 - logs have no zone
        "ERROR",
        "org.a.WorkerTask",
        "jdbc src|task-0",
        "WorkerSourceTask{id=jdbc src-0} Task threw",
        ("org.a.E: x", "\tat org.a.B.c(B.java:1)"),
    )


@pytest.mark.parametrize(
    ("message", "context", "rest"),
    [
        ("[a]b|c (x)|worker] hello", "a]b|c (x)|worker", "hello"),
        ("[a|task-12|offsets] hello", "a|task-12|offsets", "hello"),
        (
            "[Worker clientId=connect-1, groupId=g] [x|worker] y",
            "",
            "[Worker clientId=connect-1, groupId=g] [x|worker] y",
        ),
        ("[c|worker] [Worker clientId=c, groupId=g] y", "c|worker", "[Worker clientId=c, groupId=g] y"),
        ("[Producer clientId=connector-producer-a|task-0] y", "", "[Producer clientId=connector-producer-a|task-0] y"),
    ],
)
def test_only_kafkas_context_is_taken_off(message: str, context: str, rest: str) -> None:
    """Connector names hold anything; clients' prefixes are part of the message."""
    record = _one(f"[2024-10-25 14:03:09,001] INFO {message} (org.a.B:1)\n")
    assert (record.context, record.message) == (context, rest)


def test_a_message_over_lines_has_its_logger_on_the_last() -> None:
    """`SourceConnectorConfig values:` does."""
    record = _one("[2024-10-25 14:03:09,001] INFO X values: \n\tname = a (b)\n (org.a.AbstractConfig:386)\n")
    assert (record.logger, record.message) == ("org.a.AbstractConfig", "X values:")
    assert record.lines[0] == "\tname = a (b)"


def test_brackets_in_a_frame_are_no_logger() -> None:
    """A record without logger stays without."""
    assert _one("[2024-10-25 14:03:09,001] INFO hello\n\tat org.a.B.c(B.java:1)\n").logger == ""


@pytest.mark.parametrize(
    ("line", "logger"),
    [
        ("[2024-10-25 14:03:07,812] ERROR m (org.a.B)", "org.a.B"),
        ("2024-10-25 14:03:07,812 ERROR [c|worker] m (org.a.B) [KafkaBasedLog Work Thread - x]", "org.a.B"),
        ("[2024-10-25 14:03:07,812] ERROR m (kafkaish:12)", "kafkaish"),
    ],
)
def test_layouts_of_confluent_and_strimzi(line: str, logger: str) -> None:
    """Without line number; without brackets round the date and with the thread at the end."""
    record = _one(line + "\n")
    assert (record.logger, record.message, record.level) == (logger, "m", "ERROR")


def test_crlf_and_broken_utf_8_are_read() -> None:
    """A replaced character is better than a lost record."""
    found, _ = _read(b"[2024-10-25 14:03:09,001] INFO caf\xe9 (org.a.B:1)\r\nnext\r\n")
    assert (found[0].message, found[0].lines) == ("caf\ufffd", ("next",))


def test_lines_before_the_first_record_are_counted() -> None:
    """What belongs to no record is said."""
    found, reader = _read(b"hello\nworld\n[2024-10-25 14:03:09,001] INFO a (org.a.B:1)\n")
    assert (len(found), reader.lines_unparsed) == (1, 2)
    found, reader = _read(b"no\nknown\nlayout\n")
    assert (found, reader.lines_unparsed) == ([], 3)


def test_a_line_without_end_waits() -> None:
    """Half a line is no line yet."""
    reader = RecordReader()
    assert reader.feed(b"[2024-10-25 14:03:09,001] INFO a (org.a.B:1)\n[2024-10-25 14:0") == []
    assert reader.held_bytes == 61
    (first,) = reader.feed(b"3:10,001] INFO b (org.a.B:1)\n")
    assert first.message == "a"
    assert [r.message for r in reader.flush()] == ["b"]
    assert reader.held_bytes == 0


def test_endless_lines_and_records_cost_bounded_memory() -> None:
    """10 MB in one line: its beginning is kept, the rest is counted as lost, the next record is read."""
    reader = RecordReader()
    found = reader.feed(b"[2024-10-25 14:03:09,001] INFO big ")
    for _ in range(10):
        found += reader.feed(b"x" * 2**20)
        assert reader.kept_bytes <= 2 * records.RECORD_BYTES_MAX
    found += reader.feed(b"\n[2024-10-25 14:03:09,002] INFO next (org.a.B:1)\n")
    for _ in range(30):
        found += reader.feed(b"\tat line\n" * 10000)
    assert reader.kept_bytes <= records.RECORD_BYTES_MAX
    found += reader.end()
    assert [r.message[:4] for r in found] == ["big ", "next"]
    assert len(found[1].lines) == 400
    assert reader.bytes_lost > 9 * 2**20


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 9000), min_size=1, max_size=20))
def test_any_pieces_give_the_same_records(sizes: list[int]) -> None:
    """How the bytes arrive changes nothing, and every byte is accounted for."""
    whole = log_bytes("4.4.0/s1", "w2")[90_000:110_000]
    reader = RecordReader()
    found: list[Record] = []
    fed = 0
    for size in itertools.cycle(sizes):
        if fed == len(whole):
            break
        found += reader.feed(whole[fed : fed + size])
        fed = min(fed + size, len(whole))
        assert 0 <= reader.held_bytes <= fed
    assert found + reader.end() == _read(whole)[0]
    assert reader.held_bytes == 0


def test_records_after_a_cut_line_are_not_held() -> None:
    """What was dropped of a line counts for its own record: else a restart would read the next ones twice."""
    reader = RecordReader(record_bytes_max=100)
    next_line = b"[2024-10-25 14:03:09,002] INFO next (org.a.B:1)\n"
    reader.feed(b"[2024-10-25 14:03:09,001] INFO big " + b"x" * 500)
    found = reader.feed(b"x" * 500 + b"\n" + next_line * 3)
    assert [r.message[:4] for r in found] == ["big ", "next", "next"]
    assert reader.held_bytes == len(next_line)


def test_an_impossible_date_costs_the_stamp_not_the_record() -> None:
    """Bad input never ends the reading."""
    record = _one("[2024-02-31 14:03:09,001] INFO a (org.a.B:1)\n")
    assert (record.stamp, record.message) == (None, "a")


def test_a_layout_that_changes_within_a_file_is_followed() -> None:
    """A worker is restarted with another pattern and goes on in the same file."""
    found, _ = _read(
        b"[2024-10-25 14:03:09,001] INFO a (org.a.B:1)\n2024-10-25 14:05:09,001 WARN [c|worker] b (org.a.B) [main]\n"
    )
    assert [(r.level, r.context, r.message) for r in found] == [("INFO", "", "a"), ("WARN", "c|worker", "b")]


def test_a_connector_named_like_a_client_keeps_its_context() -> None:
    """Only `clientId=` or `instanceId=` makes a client's prefix."""
    record = _one("[2024-10-25 14:03:09,001] INFO [Producer of x|task-0] y (org.a.B:1)\n")
    assert (record.context, record.message) == ("Producer of x|task-0", "y")


_LINES = st.sampled_from(
    [
        b"[2024-10-25 14:03:09,001] INFO short (org.a.B:1)\n",
        b"2024-10-25 14:03:09,001 WARN strimzi (org.a.B) [main]\n",
        b"[2024-10-25 14:03:09,001] ERROR " + b"long " * 30 + b"(org.a.B:1)\n",
        b"\tat org.a.B.c(B.java:1)\r\n",
        b"\tat " + b"y" * 150 + b"\n",
        b"caf\xe9\n",
        b"\n",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(_LINES, max_size=12), st.lists(st.integers(1, 90), min_size=1, max_size=9))
def test_pieces_change_nothing_where_records_are_cut(lines: list[bytes], sizes: list[int]) -> None:
    """Records, what is held and what is left over are those of one piece, also around the limit of a record."""
    whole = b"".join(lines)
    once, pieces = RecordReader(record_bytes_max=100), RecordReader(record_bytes_max=100)
    expected = once.feed(whole)
    found: list[Record] = []
    fed = 0
    for size in itertools.cycle(sizes):
        if fed >= len(whole):
            break
        found += pieces.feed(whole[fed : fed + size])
        fed += size
    assert (found, pieces.held_bytes) == (expected, once.held_bytes)
    assert (pieces.end(), pieces.lines_unparsed) == (once.end(), once.lines_unparsed)

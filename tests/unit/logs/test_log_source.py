"""Following files: each record written is handed out once, whatever happens to the file or to the exporter."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from exporter.errors import SourceError, StateError
from exporter.sources.logs import tail
from exporter.sources.logs.source import LIVE_GAP_S, MISSING_GRACE_S, LogSource


@dataclass
class World:
    """A log file, a writer, a clock and a source that can be killed."""

    folder: Path
    now_s: float = 1_800_000_000.0
    written: int = 0
    got: list[int] = field(default_factory=list)
    source: LogSource | None = None
    committed: str | None = None
    unread_bytes: int = 0
    torn: bytes = b""

    @property
    def path(self) -> Path:
        """The file that is written to."""
        return self.folder / "connect.log"

    def write(self, count: int = 1, trace_lines: int = 1) -> None:
        """Append whole records."""
        self.mend()
        with self.path.open("a") as file:
            for _ in range(count):
                n = self.written
                file.write(
                    f"[2026-11-30 21:{n // 60000 % 60:02d}:{n // 1000 % 60:02d},{n % 1000:03d}] INFO n={n} (org.a.B:1)\n"
                )
                file.write("\tat org.a.B.c(B.java:1)\n" * trace_lines)
                self.written += 1
        self.touched(self.path)

    def write_torn(self, cut: float) -> None:
        """Append a part of a record; the rest follows with `mend`, at the latest before the file is rotated."""
        self.mend()
        n = self.written
        record = f"[2026-11-30 21:00:00,{n % 1000:03d}] INFO n={n} (org.a.B:1)\n\tat org.a.B.c(B.java:1)\n".encode()
        at = 1 + int(cut * (len(record) - 2))
        with self.path.open("ab") as file:
            file.write(record[:at])
        self.torn = record[at:]
        self.written += 1
        self.touched(self.path)

    def mend(self) -> None:
        """Write the rest of a torn record."""
        if self.torn:
            with self.path.open("ab") as file:
                file.write(self.torn)
            self.torn = b""
            self.touched(self.path)

    def touched(self, path: Path) -> None:
        """Each change has a time of its own, however coarse the file system's clock is."""
        self.now_s += 0.001
        os.utime(path, (self.now_s, self.now_s))

    def rename(self) -> None:
        """Rotate by renaming: .1 is the newest predecessor."""
        self.mend()
        for number in range(60, 0, -1):
            old = self.folder / f"connect.log.{number}"
            if old.exists():
                old.rename(self.folder / f"connect.log.{number + 1}")
        if self.path.exists():
            self.path.rename(self.folder / "connect.log.1")
        self.path.touch()
        self.touched(self.path)

    def copytruncate(self) -> None:
        """Rotate by copying and cutting."""
        self.mend()
        for number in range(60, 0, -1):
            old = self.folder / f"connect.log.{number}"
            if old.exists():
                old.rename(self.folder / f"connect.log.{number + 1}")
        if self.path.exists():
            shutil.copyfile(self.path, self.folder / "connect.log.1")
            self.touched(self.folder / "connect.log.1")
            os.truncate(self.path, 0)
            self.touched(self.path)

    def poll(self, seconds: float = 1.0, batch_bytes: int = 2**20) -> None:
        """Read once and commit."""
        self.now_s += seconds
        if self.source is None:
            self.source = LogSource(
                [str(self.path)], positions=self.committed, clock=lambda: self.now_s, batch_bytes=batch_bytes
            )
        reading = self.source.poll(10)
        self.unread_bytes = reading.stats.unread_bytes
        self.got += [int(r.message.removeprefix("n=")) for r in reading.records]
        self.committed = self.source.positions()

    def kill(self) -> None:
        """The exporter dies; the next poll starts from what was committed."""
        if self.source is not None:
            self.source.close()
        self.source = None

    def settle(self) -> None:
        """Read until nothing more can come."""
        self.mend()
        quiet = 0
        while quiet < 8:
            before = len(self.got)
            self.poll(2.0)
            quiet = quiet + 1 if len(self.got) == before and not self.unread_bytes else 0


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """An empty world."""
    made = World(tmp_path)
    yield made
    made.kill()


def test_the_last_record_comes_once_the_file_is_quiet(world: World) -> None:
    """Its trace may still be being written."""
    world.write(3)
    world.poll()
    assert world.got == [0, 1]
    world.poll(0.5)
    assert world.got == [0, 1]
    world.poll(0.6)
    assert world.got == [0, 1, 2]


def test_history_is_not_live_and_what_follows_is(world: World) -> None:
    """A record is live if it was written while the exporter watched."""
    world.write(3)
    source = LogSource([str(world.path)], clock=lambda: world.now_s)
    first = source.poll(10)
    assert (len(first.records), first.caught_up, first.live) == (2, False, False)
    world.now_s += 2
    second = source.poll(10)
    assert (len(second.records), second.caught_up, second.live) == (1, True, False)
    world.write(2)
    world.now_s += 1
    third = source.poll(10)
    assert (len(third.records), third.live) == (1, True)
    world.now_s += LIVE_GAP_S + 1
    assert source.poll(10).live is False
    source.close()


def test_a_log_that_is_never_quiet_is_caught_up_with(world: World) -> None:
    """A loop of four attempts a second leaves no second of silence."""
    world.write(5)
    source = LogSource([str(world.path)], clock=lambda: world.now_s)
    caught_up = []
    for _ in range(3):
        caught_up.append(source.poll(10).caught_up)
        world.write(2)
        world.now_s += 0.25
    assert caught_up == [False, True, True]
    source.close()


def test_batches_are_bounded_and_unread_bytes_are_told(world: World) -> None:
    """A large log is read in pieces, with a commit after each."""
    world.write(50_000)
    source = LogSource([str(world.path)], clock=lambda: world.now_s, batch_bytes=2**20)
    first = source.poll(10)
    assert 0 < len(first.records) < 50_000
    assert first.stats.bytes_read + first.stats.unread_bytes == world.path.stat().st_size
    source.close()


def test_first_reading_goes_back_through_predecessors_up_to_its_limit(world: World) -> None:
    """Oldest first; of the first file only the end."""
    for _ in range(3):
        world.write(100)
        world.rename()
    world.write(100)
    size = world.path.stat().st_size
    source = LogSource([str(world.path)], clock=lambda: world.now_s, first_read_limit_bytes=int(size * 2.5))
    got = [int(r.message.removeprefix("n=")) for _ in range(4) for r in source.poll(10).records]
    assert got[0] in range(145, 155)
    assert got == list(range(got[0], 399))
    source.close()


def test_dated_predecessors_are_read_in_order(world: World) -> None:
    """Kafka's own appender rolls hourly."""
    for hour in ("09", "10", "11"):
        world.write(5)
        world.path.rename(world.folder / f"connect.log.2024-10-25-{hour}")
    world.write(5)
    (world.folder / "connect.log.2024-10-25-08.gz").write_bytes(b"\x1f\x8b")
    world.settle()
    assert world.got == list(range(20))


def test_delete_and_recreate(world: World) -> None:
    """The deleted file was read; the new one is read from its start."""
    world.write(5)
    world.poll()
    world.path.unlink()
    world.poll()
    world.write(5)
    world.settle()
    assert world.got == list(range(10))


def test_a_copy_of_a_deleted_file_is_not_read_again(world: World) -> None:
    """Moved by `cp` and `rm`: the copy holds what was read, and a copy of the next file what was not."""
    world.write(5)
    world.settle()
    shutil.copyfile(world.path, world.folder / "connect.log.1")
    world.touched(world.folder / "connect.log.1")
    world.path.unlink()
    world.write(3)
    world.copytruncate()
    world.write(2)
    world.settle()
    assert world.got == list(range(10))


def test_a_switched_symlink_is_a_rotation(world: World) -> None:
    """Kubernetes points a link to the newest file."""
    first, second = world.folder / "a", world.folder / "b"
    world.path.symlink_to(first)
    world.write(5)
    world.poll()
    world.write(2)
    world.path.unlink()
    world.path.symlink_to(second)
    world.write(5)
    world.settle()
    assert world.got == list(range(12))


def test_new_content_longer_than_the_old_offset_is_noticed(world: World) -> None:
    """A cut between two polls, and a busy worker."""
    world.write(2)
    world.poll()
    world.write(1)
    world.copytruncate()
    world.write(50)
    world.settle()
    assert world.got == list(range(53))


def test_half_a_line_does_not_tell_a_file(world: World) -> None:
    """Every record begins with `[20`: that a file still does so proves nothing."""
    world.rename()
    world.write_torn(0.02)
    world.poll()
    world.copytruncate()
    world.write_torn(0.02)
    world.settle()
    assert world.got == [0, 1]


def test_truncation_without_copy_reads_the_new_content(world: World) -> None:
    """What was read stays read; what comes is read from the start."""
    world.write(5)
    world.settle()
    os.truncate(world.path, 0)
    world.write(2)
    world.settle()
    assert world.got == list(range(7))
    assert world.source is not None
    assert world.source.poll(10).stats.truncations == 1


def test_a_missing_file_is_an_error_with_a_remedy_and_heals(world: World) -> None:
    """The exporter goes on looking."""
    with pytest.raises(SourceError, match="does not exist") as caught:
        world.poll()
    assert (caught.value.reason, bool(caught.value.remedy)) == ("missing", True)
    world.write(3)
    world.settle()
    assert world.got == [0, 1, 2]


def test_a_file_that_goes_for_good_is_missing_after_a_grace_time(world: World) -> None:
    """A rotation takes a moment; a deleted log is an error."""
    world.write(3)
    world.settle()
    world.path.unlink()
    world.poll(0.5)
    with pytest.raises(SourceError) as caught:
        world.poll(MISSING_GRACE_S)
    assert caught.value.reason == "missing"
    world.write(2)
    world.settle()
    assert world.got == list(range(5))


def test_a_directory_is_told(world: World) -> None:
    """A directory instead of a file cannot be read."""
    world.path.mkdir()
    with pytest.raises(SourceError) as caught:
        world.poll()
    assert caught.value.reason == "directory"


def test_records_before_an_unreadable_successor_are_not_lost(world: World) -> None:
    """The old file's end comes first, the error at the next reading."""
    world.write(3)
    world.poll()
    world.write(2)
    world.path.rename(world.folder / "connect.log.1")
    world.path.mkdir()
    world.poll()
    assert world.got == list(range(5))
    with pytest.raises(SourceError):
        world.poll()


def test_a_pattern_takes_new_files_and_lets_old_ones_go(world: World) -> None:
    """As under /var/log/pods; rotated predecessors are not read twice."""
    line = "[2026-11-30 21:00:00,000] INFO {} (org.a.B:1)\n"
    (world.folder / "a.log").write_text(line.format("a"))
    (world.folder / "a.log.1").write_text(line.format("old"))
    source = LogSource([str(world.folder / "*.log*")], clock=lambda: world.now_s)
    got = [r.message for r in source.poll(10).records]
    (world.folder / "b.log").write_text(line.format("b"))
    (world.folder / "a.log").unlink()
    for _ in range(5):
        world.now_s += 3
        got += [r.message for r in source.poll(10).records]
    assert sorted(got) == ["a", "b", "old"]
    (world.folder / "b.log").unlink()
    world.now_s += 3
    source.poll(10)
    world.now_s += MISSING_GRACE_S
    with pytest.raises(SourceError):
        source.poll(10)
    with pytest.raises(SourceError, match="No file matches"):
        source.poll(10)
    source.close()


def test_damaged_positions_are_refused() -> None:
    """Rather a sentence than a wrong count."""
    fields = {"dev": 1, "ino": 1, "fingerprint_bytes": 1, "fingerprint": "x", "offset": 0, "mtime_ns": 0}
    LogSource(["x"], positions=json.dumps({"version": 1, "files": {"a": fields}}))
    for text in (
        "",
        "{}",
        "[]",
        json.dumps({"version": 2, "files": {}}),
        json.dumps({"version": 1, "files": {"a": {"x": 1}}}),
        json.dumps({"version": 1, "files": {"a": {**fields, "offset": "1"}}}),
        json.dumps({"version": 1, "files": {"a": {**fields, "offset": -1}}}),
    ):
        with pytest.raises(StateError):
            LogSource(["x"], positions=text)


def test_a_position_in_a_file_that_is_gone_begins_the_current_one(world: World) -> None:
    """What the gone file had left is lost, the rest is not."""
    world.write(5)
    world.settle()
    world.kill()
    world.path.unlink()
    (world.folder / "other").write_text("x")  # takes the inode, perhaps
    world.write(3)
    world.settle()
    assert world.got == list(range(8))


def test_a_file_cut_and_then_deleted_does_not_hold_up_the_reading(world: World) -> None:
    """The open file is empty and the path is gone: there is nothing to read, and what comes is read."""
    world.write(3)
    world.settle()
    os.truncate(world.path, 0)
    world.path.unlink()
    world.poll()
    world.write(2)
    world.settle()
    assert world.got == list(range(5))


def test_a_file_that_may_not_be_read_for_a_while_keeps_its_position(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a restart, too: else all would be read a second time."""
    world.write(3)
    world.settle()
    world.kill()

    def denied(path: Path) -> int:
        raise PermissionError(errno.EACCES, "denied", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(tail, "_open", denied)
        with pytest.raises(SourceError) as caught:
            world.poll()
        assert (caught.value.reason, bool(caught.value.remedy)) == ("permission", True)
        assert world.source is not None
        world.committed = world.source.positions()
    world.kill()
    world.write(2)
    world.settle()
    assert world.got == list(range(5))


def test_an_error_of_the_file_system_is_a_source_error_and_heals(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network file system that hiccups while an open file is read."""
    world.write(3)
    world.poll()

    def stale(_fd: int) -> bytes:
        raise OSError(errno.ESTALE, "Stale file handle")

    with monkeypatch.context() as patch:
        patch.setattr(tail, "beginning", stale)
        with pytest.raises(SourceError, match="Stale") as caught:
            world.poll()
        assert caught.value.reason == "unreadable"
    world.settle()
    assert world.got == [0, 1, 2]


def test_predecessors_that_may_not_be_read_are_left_out(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only root may read old logs: the current one is read all the same."""
    world.write(3)
    world.rename()
    world.write(2)
    monkeypatch.setattr(os, "access", lambda path, _mode: not str(path).endswith(".1"))
    world.settle()
    assert world.got == [3, 4]


def test_only_rotated_files_are_predecessors(world: World) -> None:
    """Other files and folders may have the log's name and more."""
    (world.folder / "connect.log.d").mkdir()
    (world.folder / "connect.log.1").mkdir()
    for name in ("connect.log-errors.log", "connect.log.bak", "connect.log.2.gz"):
        (world.folder / name).write_text("[2026-11-30 21:00:00,000] INFO n=77 (org.a.B:1)\n")
    world.write(2)
    world.settle()
    assert world.got == [0, 1]


def test_a_file_renamed_to_anything_while_the_exporter_was_down_is_read_to_its_end(world: World) -> None:
    """Its inode and its beginning tell it."""
    world.write(3)
    world.settle()
    world.kill()
    world.write(2)
    world.path.rename(world.folder / "before-the-upgrade.txt")
    world.write(2)
    world.settle()
    assert world.got == list(range(7))


def test_dated_numbers_are_not_counted_numbers(world: World) -> None:
    """Of `.20241025` and `.20241026` the first is older, though of `.1` and `.2` the second is."""
    for day in ("20241025", "20241026"):
        world.write(2)
        world.path.rename(world.folder / f"connect.log.{day}")
    world.write(2)
    world.settle()
    assert world.got == list(range(6))


def test_without_history_reading_begins_at_the_end(world: World) -> None:
    """Of files that are there at first; what appears later is read whole."""
    world.write(5)
    other = world.folder / "other.log"
    source = LogSource([str(world.path), str(other)], clock=lambda: world.now_s, history=False)
    got = list(source.poll(10).records)
    world.write(2)
    other.write_text("[2026-11-30 21:00:00,000] INFO other (org.a.B:1)\n")
    for _ in range(3):
        world.now_s += 2
        reading = source.poll(10)
        got += reading.records
        assert reading.live
    assert [r.message for r in got] == ["n=5", "n=6", "other"]
    source.close()


def test_a_missing_file_does_not_keep_the_other_from_catching_up(world: World) -> None:
    """And what the missing one has once it is there, is new."""
    world.write(3)
    other = world.folder / "other.log"
    source = LogSource([str(world.path), str(other)], clock=lambda: world.now_s)
    source.poll(10)
    world.now_s += 2
    assert source.poll(10).caught_up
    other.write_text("[2026-11-30 21:00:00,000] INFO a (org.a.B:1)\n" * 2)
    world.now_s += 1
    reading = source.poll(10)
    assert (len(reading.records), reading.live) == (1, True)
    source.close()


def test_what_an_unreadable_file_held_is_not_live_once_it_can_be_read(world: World) -> None:
    """It may be old."""
    world.write(3)
    other = world.folder / "other.log"
    other.mkdir()
    source = LogSource([str(world.path), str(other)], clock=lambda: world.now_s)
    for _ in range(2):
        world.now_s += 2
        source.poll(10)
    other.rmdir()
    other.write_text("[2026-11-30 21:00:00,000] INFO a (org.a.B:1)\n" * 2)
    world.now_s += 1
    reading = source.poll(10)
    assert (len(reading.records), reading.caught_up, reading.live) == (1, True, False)
    world.now_s += 2
    reading = source.poll(10)  # the last record, held back until the file was quiet
    assert (len(reading.records), reading.live) == (1, False)
    source.close()


def test_a_backlog_is_not_live_however_often_it_is_polled(world: World) -> None:
    """After a pause all is old until the end has been seen again."""
    world.write(3)
    source = LogSource([str(world.path)], clock=lambda: world.now_s, batch_bytes=100)
    for _ in range(6):
        world.now_s += 2
        source.poll(10)
    world.write(20)
    world.now_s += LIVE_GAP_S
    lives = []
    for _ in range(40):
        world.now_s += 0.01
        reading = source.poll(10)
        lives += [reading.live] if reading.records else []
    assert lives
    assert not any(lives)
    world.now_s += 2
    source.poll(10)
    world.write(2)
    after = [source.poll(10) for _ in range(3)]
    assert [reading.live for reading in after if reading.records] == [True]
    source.close()


def test_totals_do_not_fall_and_predecessors_are_not_read_anew_when_a_patterns_file_goes(world: World) -> None:
    """A counter that falls would be taken for a restart; so, too, after one."""
    line = "[2026-11-30 21:00:00,000] INFO {} (org.a.B:1)\n"
    (world.folder / "a.log").write_text(line.format("a"))
    (world.folder / "a.log.1").write_text(line.format("old"))
    (world.folder / "b.log").write_text(line.format("b"))
    pattern = str(world.folder / "*.log*")
    source = LogSource([pattern], clock=lambda: world.now_s)
    got, totals = [], []
    for step in range(8):
        if step == 2:
            (world.folder / "a.log").unlink()
        world.now_s += 3
        reading = source.poll(10)
        got += [r.message for r in reading.records]
        totals.append(reading.stats.bytes_read)
    assert totals == [3 * len(line.format("a")) + 2] * 8
    committed = source.positions()
    source.close()
    source = LogSource([pattern], positions=committed, clock=lambda: world.now_s)
    for _ in range(3):
        world.now_s += 3
        got += [r.message for r in source.poll(10).records]
    assert sorted(got) == ["a", "b", "old"]
    (world.folder / "a.log.1").unlink()
    world.now_s += 3
    source.poll(10)
    assert list(json.loads(source.positions())["files"]) == [str(world.folder / "b.log")]
    source.close()


def test_half_a_line_does_not_tell_a_file_after_a_restart_either(world: World) -> None:
    """The position of a file without a whole line says so."""
    world.rename()
    world.write_torn(0.02)
    world.poll()
    world.kill()
    world.copytruncate()
    world.write_torn(0.02)
    world.settle()
    assert world.got == [0, 1]


def test_a_cut_while_reading_is_noticed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look at the file and the reading of a piece, the file is cut and written anew, longer."""
    world.write(3)
    world.poll()
    world.write(1)
    real = os.pread
    armed = [True]

    def pread(fd: int, length: int, offset: int) -> bytes:
        if offset and armed:
            armed.clear()
            world.copytruncate()
            world.write(20)
        return real(fd, length, offset)

    monkeypatch.setattr(os, "pread", pread)
    world.settle()
    assert not armed
    assert world.got == list(range(24))


def test_what_is_written_just_before_the_renaming_is_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the end of the file and the look at the path."""
    world.write(3)
    world.poll()
    real = os.pread
    armed = [True]

    def pread(fd: int, length: int, offset: int) -> bytes:
        data = real(fd, length, offset)
        if offset and not data and armed:
            armed.clear()
            world.write(2)
            world.rename()
            world.write(2)
        return data

    monkeypatch.setattr(os, "pread", pread)
    world.settle()
    assert not armed
    assert world.got == list(range(7))


@pytest.mark.parametrize("records_after", [1, 40])
def test_a_cut_is_noticed_behind_the_same_banner(world: World, records_after: int) -> None:
    """A service that truncates its output at each start, and begins with the same kilobyte."""
    banner = "SLF4J: Found binding in [jar:file:/opt/kafka/libs/slf4j.jar]\n" * 16
    world.path.write_text(banner)
    world.write(20)
    world.settle()
    world.path.write_text(banner)
    world.write(records_after)
    world.settle()
    assert world.got == list(range(20 + records_after))


def test_a_cut_is_noticed_by_its_size_alone(world: World) -> None:
    """However much of the beginning is the same."""
    banner = "SLF4J: Found binding in [jar:file:/opt/kafka/libs/slf4j.jar]\n" * 100
    world.path.write_text(banner)
    world.write(20)
    world.settle()
    world.path.write_text(banner)
    world.write(2)
    world.settle()
    assert world.got == list(range(22))


def test_an_older_copy_is_not_the_file_of_the_position(world: World) -> None:
    """A backup of a part of the file begins like it, but does not reach to where reading ended."""
    world.write(100)  # more than a fingerprint
    world.settle()
    shutil.copyfile(world.path, world.folder / "connect.log.1")
    os.utime(world.folder / "connect.log.1", (world.now_s, world.now_s))
    world.write(5)
    world.settle()
    world.kill()
    world.path.unlink()
    world.write(2)
    world.settle()
    assert world.got == list(range(107))


def test_a_refused_file_is_waited_for_though_a_predecessor_was_touched(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a restart: the path is still the file of the position."""
    world.write(3)
    world.rename()
    world.write(3)
    world.settle()
    world.kill()
    world.touched(world.folder / "connect.log.1")
    real = tail._open  # noqa: SLF001

    def denied(path: Path) -> int:
        if path == world.path:
            raise PermissionError(errno.EACCES, "denied", str(path))
        return real(path)

    with monkeypatch.context() as patch:
        patch.setattr(tail, "_open", denied)
        with pytest.raises(SourceError, match="may not be read"):
            world.poll()
    world.write(1)
    world.settle()
    assert world.got == list(range(7))


def test_a_line_without_end_comes_when_its_file_is_gone(world: World) -> None:
    """A pod is killed while it writes, and its log is removed."""
    path = world.folder / "a.log"
    path.write_text("[2026-11-30 21:00:00,000] INFO whole (org.a.B:1)\n[2026-11-30 21:00:00,001] INFO half")
    source = LogSource([str(world.folder / "*.log")], clock=lambda: world.now_s)
    got = [r.message for r in source.poll(10).records]
    path.unlink()
    for seconds in (1.0, MISSING_GRACE_S):
        world.now_s += seconds
        got += [r.message for r in source.poll(10).records]
    assert got == ["whole", "half"]
    source.close()


class Machine(RuleBasedStateMachine):
    """Any order of writing, rotating, polling and dying."""

    folders: Iterator[Path]

    def __init__(self) -> None:
        super().__init__()
        self.world = World(next(self.folders))
        self.world.rename()

    @rule(count=st.integers(1, 5), lines=st.integers(0, 3))
    def write(self, count: int, lines: int) -> None:
        """The worker writes."""
        self.world.write(count, lines)

    @rule(cut=st.floats(0, 1))
    def write_torn(self, cut: float) -> None:
        """The worker's buffer ends within a record."""
        self.world.write_torn(cut)

    @rule()
    def mend(self) -> None:
        """The worker writes the rest."""
        self.world.mend()

    @rule()
    def delete_when_read(self) -> None:
        """The log is removed once it was read, and made anew, perhaps with the same inode."""
        self.world.settle()
        self.world.path.unlink()
        self.world.path.touch()
        self.world.touched(self.world.path)

    @rule()
    def rename(self) -> None:
        """Log4j rotates."""
        self.world.rename()

    @rule()
    def copytruncate(self) -> None:
        """Logrotate rotates."""
        self.world.copytruncate()

    @rule(seconds=st.sampled_from([0.3, 2.0]), batch_bytes=st.sampled_from([40, 200, 2**20]))
    def poll(self, seconds: float, batch_bytes: int) -> None:
        """The exporter reads and commits."""
        self.world.poll(seconds, batch_bytes)

    @rule()
    def kill(self) -> None:
        """The exporter dies."""
        self.world.kill()

    @invariant()
    def nothing_twice_and_in_order(self) -> None:
        """What was handed out is a beginning of what was written."""
        assert self.world.got == list(range(len(self.world.got)))

    def teardown(self) -> None:
        """In the end everything was handed out."""
        self.world.settle()
        self.world.kill()
        assert self.world.got == list(range(self.world.written))


def test_each_record_once_whatever_happens(tmp_path: Path) -> None:
    """Rotations of both kinds, bounded batches and kills at any moment between commits."""

    def folders() -> Iterator[Path]:
        number = 0
        while True:
            number += 1
            folder = tmp_path / str(number)
            folder.mkdir()
            yield folder

    Machine.folders = folders()
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=120, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )


def test_a_line_without_end_does_not_keep_the_log_from_being_caught_up(world: World) -> None:
    """A worker that was killed in the middle of a line never ends it."""
    world.write(3)
    with world.path.open("a") as file:
        file.write("\tat org.a.B.c(B.ja")
    source = LogSource([str(world.path)], clock=lambda: world.now_s)
    first = source.poll(10)
    world.now_s += 2
    second = source.poll(10)
    assert (len(first.records), len(second.records), second.caught_up, second.held) == (2, 1, True, True)
    source.close()

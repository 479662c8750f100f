"""The state directory: committed together, refused with a sentence."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from exporter.errors import StateError
from exporter.store import SavedLog, StateFile


def test_what_was_committed_is_loaded_again(tmp_path: Path) -> None:
    """Per cluster and worker; the newest wins."""
    store = StateFile(tmp_path / "deep" / "state")
    assert store.load("pay", "w1") is None
    store.commit("pay", "w1", SavedLog("p1", "s1"))
    store.commit("pay", "w2", SavedLog("p2", "s2"))
    store.commit("pay", "w1", SavedLog("p3", "s3"))
    store.close()
    again = StateFile(tmp_path / "deep" / "state")
    assert again.load("pay", "w1") == SavedLog("p3", "s3")
    assert again.load("pay", "w2") == SavedLog("p2", "s2")
    again.close()


def test_a_second_exporter_is_refused_and_a_closed_one_lets_go(tmp_path: Path) -> None:
    """Two writers of one state would both be wrong."""
    store = StateFile(tmp_path)
    with pytest.raises(StateError, match="in use by another exporter"):
        StateFile(tmp_path)
    store.close()
    StateFile(tmp_path).close()


@pytest.mark.parametrize("content", [b"not a database, by far" * 100, b""])
def test_a_damaged_file_is_refused_and_an_empty_one_is_new(tmp_path: Path, content: bytes) -> None:
    """The sentence says what to do; the directory is free again."""
    (tmp_path / "state.sqlite").write_bytes(content)
    if content:
        with pytest.raises(StateError, match="Move it away"):
            StateFile(tmp_path)
        (tmp_path / "state.sqlite").unlink()
    StateFile(tmp_path).close()


def test_a_state_of_another_version_is_refused(tmp_path: Path) -> None:
    """Never misread."""
    db = sqlite3.connect(tmp_path / "state.sqlite")
    db.execute("PRAGMA user_version=99")
    db.commit()
    db.close()
    with pytest.raises(StateError, match="another version"):
        StateFile(tmp_path)


def test_a_directory_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    """A file stands in its place."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StateError, match="--state"):
        StateFile(tmp_path / "file")


def test_a_failed_commit_leaves_the_last_one(tmp_path: Path) -> None:
    """As with a full disk: nothing is half written."""
    store = StateFile(tmp_path)
    store.commit("pay", "w1", SavedLog("p1", "s1"))
    store._db.execute("PRAGMA max_page_count=1")  # noqa: SLF001 - the disk is full
    with pytest.raises(StateError, match="stand still"):
        store.commit("pay", "w1", SavedLog("p" * 10**6, "s2"))
    assert store.load("pay", "w1") == SavedLog("p1", "s1")
    store.close()
    with pytest.raises(StateError):
        store.load("pay", "w1")


@pytest.mark.parametrize("replaced", [False, True])
def test_a_state_that_is_removed_while_it_runs_is_noticed(tmp_path: Path, replaced: bool) -> None:
    """A deleted file would take every commit and lose it."""
    store = StateFile(tmp_path)
    store.commit("pay", "w1", SavedLog("p1", "s1"))
    (tmp_path / "state.sqlite").rename(tmp_path / "away")
    if replaced:
        (tmp_path / "state.sqlite").touch()
    with pytest.raises(StateError, match="removed or replaced"):
        store.commit("pay", "w1", SavedLog("p2", "s2"))
    store.close()

"""The state directory: how far each log was read and what it told, committed together (sqlite)."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
import threading
from dataclasses import dataclass
from pathlib import Path

from exporter.errors import StateError

_FILE = "state.sqlite"
_SCHEMA_VERSION = 1
_BUSY_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class SavedLog:
    """What is kept of one worker's log.

    Attributes:
        positions: how far its files were read, as the log source wrote it.
        state: the folded log, as `WorkerState.persisted` wrote it.
    """

    positions: str
    state: str


class StateFile:
    """One exporter's state directory. Safe to use from several threads; a second process is refused."""

    def __init__(self, directory: Path) -> None:
        """Open or make the state.

        Raises:
            StateError: the directory cannot be used, is in use, or its content is of another version.
        """
        self._path = directory / _FILE
        self._mutex = threading.Lock()
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._lock_fd = os.open(directory / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StateError(
                f"The state directory {directory} cannot be used: {error.strerror}.",
                "Make it writable for this user or choose another with --state.",
            ) from error
        try:
            fcntl.flock(self._lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock_fd)
            raise StateError(
                f"The state directory {directory} is in use by another exporter.", "Give each exporter its own."
            ) from error
        try:
            self._db = self._open()
            stat = self._path.stat()
            self._identity = (stat.st_dev, stat.st_ino)
        except (sqlite3.Error, StateError) as error:
            os.close(self._lock_fd)
            if isinstance(error, StateError):
                raise
            raise StateError(
                f"The state file {self._path} cannot be read: {error}.",
                "Move it away: counting then begins anew at the end of the logs' first reading.",
            ) from error

    def _open(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._path, timeout=_BUSY_TIMEOUT_S, check_same_thread=False, isolation_level=None)
        try:
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=FULL")
            self._check_version(db)
            db.execute(
                "CREATE TABLE IF NOT EXISTS log (cluster TEXT, worker TEXT, positions TEXT NOT NULL,"
                " state TEXT NOT NULL, PRIMARY KEY (cluster, worker))"
            )
            db.execute(f"PRAGMA user_version={_SCHEMA_VERSION}")
        except BaseException:
            db.close()
            raise
        return db

    def _check_version(self, db: sqlite3.Connection) -> None:
        (found,) = db.execute("PRAGMA user_version").fetchone()
        if found not in (0, _SCHEMA_VERSION):
            raise StateError(
                f"The state file {self._path} was written by another version of this program.",
                "Move it away: counting then begins anew.",
            )

    def load(self, cluster: str, worker: str) -> SavedLog | None:
        """What was last committed for a worker.

        Raises:
            StateError: the file cannot be read.
        """
        with self._mutex:
            try:
                row = self._db.execute(
                    "SELECT positions, state FROM log WHERE cluster = ? AND worker = ?", (cluster, worker)
                ).fetchone()
            except sqlite3.Error as error:
                raise StateError(f"The state file {self._path} cannot be read: {error}.") from error
        return None if row is None else SavedLog(*row)

    def _check_there(self) -> None:
        """A file that was deleted or replaced would take commits and lose them."""
        try:
            stat = self._path.stat()
        except OSError:
            stat = None
        if stat is None or (stat.st_dev, stat.st_ino) != self._identity:
            raise StateError(
                f"The state file {self._path} was removed or replaced while the exporter runs.",
                "Restart the exporter; log series stand still until then.",
            )

    def commit(self, cluster: str, worker: str, saved: SavedLog) -> None:
        """Write positions and state in one transaction.

        Raises:
            StateError: nothing was written (disk full, directory gone, …); what was committed before still stands.
        """
        with self._mutex:
            self._check_there()
            try:
                self._db.execute(
                    "INSERT INTO log VALUES (?, ?, ?, ?) ON CONFLICT (cluster, worker)"
                    " DO UPDATE SET positions = excluded.positions, state = excluded.state",
                    (cluster, worker, saved.positions, saved.state),
                )
            except sqlite3.Error as error:
                raise StateError(
                    f"The state file {self._path} cannot be written: {error}.",
                    "Free disk space or correct the directory's permissions; log series stand still until then.",
                ) from error

    def close(self) -> None:
        """Close the file and let go of the directory."""
        with self._mutex:
            with contextlib.suppress(sqlite3.Error):
                self._db.close()
            os.close(self._lock_fd)

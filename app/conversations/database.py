"""One SQLite file: opened durably, migrated, and rescued row by row when it is damaged. No knowledge of chats."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from app.conversations.migrations import MIGRATIONS
from app.conversations.records import StoreError

# One broken character must not make a whole conversation unreadable. In C: it is called for every text of every row.
_read_text = partial(str, encoding="utf-8", errors="replace")

# What a rescue copies, parents first. Indexes and triggers are made anew by the migrations.
_TABLES = ("folders", "conversations", "messages", "answer_pieces", "presets")

SqlValue = str | int | float | bytes | None


class Database:
    """Any thread may use it. Every write is on the disk when it returns, and is seen by all that is read afterwards.

    Reading has a connection of its own: who reads never waits for another thread's write to reach a busy drive. Within
    a transaction a thread reads what it has written so far.
    """

    def __init__(self, path: Path) -> None:
        """Raises ``StoreError`` where the file is newer than this program or cannot be opened at all.

        ``rescued_from`` is the damaged file that was set aside, if that happened.
        """
        self.path = path
        self.rescued_from: Path | None = None
        self._lock = threading.RLock()
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._connection = _open(path)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) and not _is_damage(error):
                raise _cannot_open(path, error) from error
            self.rescued_from = _set_aside(path)
            self._connection = _open(path)
            _rescue(self.rescued_from, self._connection)
        self._writing_thread: int | None = None
        self._read_lock = threading.Lock()
        self._reader = _connect(path)
        self._reader.execute("PRAGMA query_only = ON")

    def close(self) -> None:
        with self._lock, self._read_lock:
            self._reader.close()
            self._connection.close()

    def has_damaged_files(self) -> bool:
        """Whether one was ever set aside beside this one."""
        return any(self.path.parent.glob(f"{self.path.stem}.damaged-*{self.path.suffix}"))

    @contextmanager
    def transaction(self) -> Generator[sqlite3.Connection]:
        """All or nothing. Transactions nest: the outermost one commits."""
        with self._lock:
            if self._connection.in_transaction:
                yield self._connection
                return
            self._writing_thread = threading.get_ident()
            try:
                with self._connection:
                    self._connection.execute("BEGIN IMMEDIATE")
                    yield self._connection
            finally:
                self._writing_thread = None

    def write(self, sql: str, values: Sequence[SqlValue] = ()) -> int:
        """Runs one statement in a transaction and returns the id of an inserted row."""
        with self.transaction() as connection:
            return connection.execute(sql, values).lastrowid or 0

    def rows(self, sql: str, values: Sequence[SqlValue] = ()) -> list[sqlite3.Row]:
        with self._reading() as connection:
            return connection.execute(sql, values).fetchall()

    def row(self, sql: str, values: Sequence[SqlValue] = ()) -> sqlite3.Row | None:
        with self._reading() as connection:
            return connection.execute(sql, values).fetchone()

    @contextmanager
    def _reading(self) -> Generator[sqlite3.Connection]:
        if self._writing_thread == threading.get_ident():
            yield self._connection
        else:
            with self._read_lock:
                yield self._reader


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=10)
    connection.row_factory = sqlite3.Row
    connection.text_factory = _read_text
    return connection


def _open(path: Path) -> sqlite3.Connection:
    connection = _connect(path)
    try:
        _refuse_newer(connection, path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        _migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _refuse_newer(connection: sqlite3.Connection, path: Path) -> None:
    """Before anything is written: a newer program must find its file as it left it."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > len(MIGRATIONS):
        raise StoreError(
            f"The conversations in {path} were written by a newer Strata (format {version}, this one knows "
            f"{len(MIGRATIONS)}).",
            "Install the newer version again; nothing was changed.",
        )


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    for number, script in enumerate(MIGRATIONS[version:], start=version + 1):
        connection.executescript(f"BEGIN IMMEDIATE;{script};PRAGMA user_version = {number};COMMIT;")
    # Reading one row of each table finds most damage now, while it can still be rescued.
    for table in _TABLES:
        connection.execute(f"SELECT * FROM {table} LIMIT 1").fetchone()
    check = connection.execute("PRAGMA quick_check(1)").fetchone() if path.stat().st_size < 2**26 else None
    if check is not None and check[0] != "ok":
        raise sqlite3.DatabaseError(f"malformed: {check[0]}")


def _cannot_open(path: Path, error: sqlite3.OperationalError) -> StoreError:
    """In use, only to be read, and a full drive are told apart: each has another way out."""
    # The low byte is the error itself, the rest says more about it: https://sqlite.org/rescode.html
    match getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            message = f"Another program is using the conversations in {path}."
            next_step = "Close it, or wait until a backup or a synchronisation has ended, and try again."
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_CANTOPEN:
            message = f"You may not write to the conversations in {path}."
            next_step = "Allow yourself to write to this file and its folder, and try again."
        case sqlite3.SQLITE_FULL:
            message = f"The conversations in {path} cannot be opened: their drive is full."
            next_step = "Free some space on this drive, and try again."
        case _:
            message = f"The conversations in {path} cannot be opened."
            next_step = "Check that the folder can be written and the drive is not full."
    return StoreError(message, next_step, detail=repr(error))


def _is_damage(error: sqlite3.Error) -> bool:
    return any(word in str(error) for word in ("malformed", "not a database", "disk image"))


def _set_aside(path: Path) -> Path:
    """Renames the damaged file and its log. Never overwrites an earlier one."""
    number = 1
    while (aside := path.with_name(f"{path.stem}.damaged-{number}{path.suffix}")).exists():
        number += 1
    for suffix in ("", "-wal", "-shm"):
        part = path.with_name(path.name + suffix)
        if part.exists():
            part.rename(aside.with_name(aside.name + suffix))
    return aside


def _rescue(damaged: Path, connection: sqlite3.Connection) -> None:
    """Copies every row that can still be read. What cannot be read stays in the damaged file."""
    with suppress(sqlite3.Error):
        source = sqlite3.connect(damaged)
        try:
            source.text_factory = _read_text
            connection.execute("PRAGMA foreign_keys = OFF")
            for table in _TABLES:
                with suppress(sqlite3.Error):
                    _copy_table(source, connection, table)
        finally:
            connection.execute("PRAGMA foreign_keys = ON")
            source.close()


def _copy_table(source: sqlite3.Connection, target: sqlite3.Connection, table: str) -> None:
    known = {row[1] for row in target.execute(f"PRAGMA table_info({table})")}
    names = [row[1] for row in source.execute(f"PRAGMA table_info({table})") if row[1] in known]
    last: int = source.execute(f"SELECT max(rowid) FROM {table}").fetchone()[0] or 0
    insert = f"INSERT OR IGNORE INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
    for row in _readable_rows(source, table, names, last):
        with suppress(sqlite3.Error):
            target.execute(insert, row)


def _readable_rows(source: sqlite3.Connection, table: str, names: list[str], last: int) -> Iterator[tuple[Any, ...]]:
    """Row by row after the last good one; a row that cannot be read is stepped over."""
    columns = ", ".join(names)
    rowid = 0
    while rowid < last:
        try:
            row = source.execute(
                f"SELECT rowid, {columns} FROM {table} WHERE rowid > ? ORDER BY rowid LIMIT 1", (rowid,)
            ).fetchone()
        except sqlite3.Error:
            rowid += 1
            continue
        if row is None:
            return
        rowid = row[0]
        yield tuple(row[1:])

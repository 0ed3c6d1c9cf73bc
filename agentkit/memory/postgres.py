"""The memory of a team: in the tables of its journal on PostgreSQL."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from agentkit.errors import JournalError
from agentkit.journal.postgres.connection import ConnectionLost, Connections

if TYPE_CHECKING:
    import psycopg


class _Connection:
    """A connection that takes the statements of a memory, which mark a value with "?", and any text."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection

    def execute(self, sql: str, values: Any = (), /) -> psycopg.Cursor[Any]:
        valid = [
            value.encode(errors="backslashreplace").decode().replace("\0", "\\x00") if isinstance(value, str) else value
            for value in values
        ]
        return self._connection.execute(sql.replace("?", "%s").encode(), valid)


class PostgresDatabase:
    """The tables of a memory in a database. Its use raises `JournalError` if the server cannot be used."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    @property
    def path(self) -> str:
        """The URL of the database, without a password."""
        return self._connections.place

    @contextlib.contextmanager
    def reading(self) -> Iterator[Any]:
        """Use a connection in a transaction of this thread."""
        connections = self._connections
        connections.do(lambda connection: connection.execute("SELECT"))  # one that works, even after a restart
        try:
            with connections.one() as connection, connection.transaction():
                connection.execute("SET LOCAL search_path TO agentkit")  # for this transaction only
                yield _Connection(connection)
        except ConnectionLost as lost:
            raise JournalError(
                f"the connection to {connections.place} was lost ({lost}), so it is unknown whether the memory was "
                "changed. Try again."
            ) from lost

    writing = reading

    def erase_log(self) -> None:
        """Do nothing: PostgreSQL keeps what was deleted in its own log until it recycles that."""

    def close(self) -> None:
        """Do nothing: the connections belong to the journal."""

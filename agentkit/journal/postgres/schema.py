"""The tables of a journal on PostgreSQL: how they are made and brought up to date, and the roles that use them.

All tables are in the schema `agentkit` and are named with it, since behind a pooler of connections a `search_path`
would be left to other clients. Rows are never updated. The body of a row is text, since `jsonb` would change its bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentkit.errors import JournalError, JournalTooNew

if TYPE_CHECKING:
    import psycopg

_JOURNAL = r"""
CREATE TABLE agentkit.trees (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text UNIQUE NOT NULL,
  number bigint NOT NULL DEFAULT 0,
  hash bytea NOT NULL DEFAULT '\x0000000000000000000000000000000000000000000000000000000000000000'
) WITH (fillfactor = 50);
CREATE TABLE agentkit.runs (
  run text PRIMARY KEY,
  tree bigint NOT NULL REFERENCES agentkit.trees,
  info text NOT NULL,
  status text NOT NULL,
  updated double precision NOT NULL,
  at double precision,
  seq bigint NOT NULL DEFAULT 0,
  epoch bigint NOT NULL DEFAULT 1,
  token text NOT NULL,
  holder text NOT NULL,
  session integer NOT NULL,
  until timestamptz NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX runs_of_a_tree ON agentkit.runs (tree);
CREATE TABLE agentkit.rows (
  tree bigint NOT NULL,
  number bigint NOT NULL,
  run text NOT NULL,
  at double precision NOT NULL,
  body text NOT NULL,
  hash bytea NOT NULL,
  PRIMARY KEY (tree, number)
);
"""

_MEMORY = """
CREATE TABLE agentkit.turns (
  n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  run text UNIQUE NOT NULL,
  session text NOT NULL,
  person text NOT NULL,
  question text NOT NULL,
  answer text,
  at double precision NOT NULL
);
CREATE INDEX turns_of_a_session ON agentkit.turns (session, person);
CREATE TABLE agentkit.summaries (
  session text,
  person text,
  upto bigint NOT NULL,
  text text NOT NULL,
  PRIMARY KEY (session, person)
);
CREATE TABLE agentkit.facts (
  n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  person text NOT NULL,
  text text NOT NULL,
  at double precision NOT NULL
);
CREATE UNIQUE INDEX facts_once ON agentkit.facts (person, md5(text));
CREATE TABLE agentkit.lessons (
  n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  person text NOT NULL,
  task text NOT NULL,
  lesson text NOT NULL,
  at double precision NOT NULL
);
CREATE UNIQUE INDEX lessons_once ON agentkit.lessons (person, md5(lesson));
"""

_WISHES = """
CREATE TABLE agentkit.wishes (
  n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  run text NOT NULL,
  epoch bigint NOT NULL,
  what text NOT NULL,
  text text NOT NULL,
  author text NOT NULL
);
"""

_RATE_LIMITS = """
CREATE UNLOGGED TABLE agentkit.rate_limits (
  id text PRIMARY KEY,
  next timestamptz NOT NULL
) WITH (fillfactor = 50);
"""

MIGRATIONS = (_JOURNAL, _MEMORY, _WISHES, _RATE_LIMITS)
"""What each version of the tables adds to the one before; version 1 is the first."""

VERSION = len(MIGRATIONS)

_ONE_AT_A_TIME = 0x61676B74_6D696772  # "agktmigr"


_EXISTS = """
SELECT FROM pg_catalog.pg_class WHERE relname = 'version'
  AND relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = 'agentkit')
"""  # to_regclass may look into a cache that another process has outdated meanwhile


def version(connection: psycopg.Connection) -> int | None:
    """Return the version of the tables; None if there are none."""
    if connection.execute(_EXISTS).fetchone() is None:
        return None
    row = connection.execute("SELECT number FROM agentkit.version").fetchone()
    return None if row is None else int(row[0])


def check(connection: psycopg.Connection, place: str) -> bool:
    """Return whether there are tables of this version. Raises `JournalTooNew`, or `JournalError` if they are older."""
    found = version(connection)
    if found is not None and found > VERSION:
        raise JournalTooNew(
            f"{place} has tables of version {found}, but this agentkit knows versions up to {VERSION}: upgrade agentkit"
        )
    if found is not None and found < VERSION:
        raise JournalError(
            f"{place} has tables of version {found}, and this agentkit needs version {VERSION}: end the programs that "
            "use the journal, make a backup, and run `agentkit migrate` as the owner of the tables"
        )
    return found is not None


def migrate(connection: psycopg.Connection, place: str, upto: int = VERSION) -> tuple[int, int]:
    """Make the tables, or bring them up to date, in one transaction; return the version before and the one after.

    Raises `JournalTooNew` if they are newer than this agentkit.
    """
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_ONE_AT_A_TIME,))
        before = version(connection) or 0
        if before > VERSION:
            check(connection, place)
        if not before:
            connection.execute("CREATE SCHEMA IF NOT EXISTS agentkit")
            connection.execute("CREATE TABLE agentkit.version (number integer NOT NULL)")
            connection.execute("INSERT INTO agentkit.version VALUES (0)")
        for sql in MIGRATIONS[before:upto]:
            connection.execute(sql.encode())
        connection.execute("UPDATE agentkit.version SET number = %s", (max(before, upto),))
        return before, max(before, upto)

"""The journals in memory, in a file and on PostgreSQL do what every journal does."""

from __future__ import annotations

import pytest

from agentkit.journal import MemoryJournal
from agentkit.journal.conformance import CHECKS, DURABLE_CHECKS, TURN_CHECKS, WISH_CHECKS
from agentkit.journal.postgres.journal import PostgresJournal
from agentkit.journal.sqlite import SqliteJournal


def name(check):
    return check.__name__


@pytest.mark.parametrize("check", CHECKS, ids=name)
def test_the_journal_in_memory_conforms(check):
    check(MemoryJournal)


@pytest.mark.parametrize("check", [*CHECKS, *DURABLE_CHECKS, *WISH_CHECKS, *TURN_CHECKS], ids=name)
def test_the_journal_in_a_file_conforms(check, tmp_path):
    check(lambda: SqliteJournal(tmp_path / "runs.db"))


@pytest.mark.slow
@pytest.mark.parametrize("check", [*CHECKS, *DURABLE_CHECKS, *WISH_CHECKS, *TURN_CHECKS], ids=name)
def test_the_journal_on_postgresql_conforms(check, database):
    check(lambda: PostgresJournal(database))


@pytest.mark.slow
@pytest.mark.parametrize("check", [*CHECKS, *DURABLE_CHECKS, *WISH_CHECKS, *TURN_CHECKS], ids=name)
def test_the_journal_on_postgresql_conforms_behind_pgbouncer(check, pooled):
    check(lambda: PostgresJournal(pooled))

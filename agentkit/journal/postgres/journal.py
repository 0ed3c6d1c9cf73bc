"""The journal of a team: runs in a PostgreSQL database, written by many processes on many machines.

An append is one statement, which checks that this process still holds the run, numbers the row, links it to the row
before it, and stores it. When `append` returns, the row is on the server; with `sync`, it is on its disk. Rows that are
not on its disk yet are kept here until they are, and sent again if the server goes down and forgets them. A connection
can be lost while a row is on its way. Each run therefore counts its rows (`seq`): a row whose answer was lost is sent
again with the same count, and the server takes it once.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentkit.core import secrets
from agentkit.errors import (
    Fenced,
    JournalError,
    JournalInDoubt,
    JournalInUse,
    ReadOnly,
    Unknown,
    UsageError,
)
from agentkit.inert import inert
from agentkit.journal import retention
from agentkit.journal.chain import Chain
from agentkit.journal.entries import NO_TAGS, Note, Row, RunInfo, Tail, Wish, check_name, left_by
from agentkit.journal.listing import info_of, line_of, plain, sound_notes
from agentkit.journal.postgres import schema, statements
from agentkit.journal.postgres.connection import ConnectionLost, Connections
from agentkit.journal.postgres.pulse import Pulse
from agentkit.journal.wishes import Listeners, checked_wish, nobody_holds
from agentkit.journal.writer import Writer

if TYPE_CHECKING:
    import psycopg

_ANY = 2**62
_ATTEMPTS = 20


@dataclass(slots=True)
class _Sent:
    """A row on its way to the server; `number` is 0 until the server has numbered it."""

    run: str
    epoch: int
    seq: int
    at: float
    body: str
    number: int = 0


@dataclass(slots=True)
class _Tree:
    """What this process knows of a tree: what its rows contain, and those of its own rows that may not be on the disk.

    `number` is the last row that this process has seen. `forgotten` says that the server has lost rows for good.
    """

    id: int
    number: int = 0
    writer: Writer | None = None
    unsynced: list[_Sent] = field(default_factory=list)
    forgotten: str = ""
    lock: threading.RLock = field(default_factory=threading.RLock)


@dataclass(slots=True)
class _Claim:
    tree: _Tree
    epoch: int
    seq: int
    token: str


class PostgresJournal:
    """Runs in the PostgreSQL database that `url` names, in tables of the schema `agentkit`.

    The tables are made when the journal is first opened, if this role may do that. `timeout` is how many seconds to go
    on trying if the server cannot be reached. A process that is gone without a word keeps its runs for at most `lease`
    seconds. `mask` hides secrets before they are stored. With `read_only`, nothing is created, claimed or written.

    Raises `UsageError` for a URL that is not valid, `JournalTooNew`, and `JournalError` if the database cannot be used.
    """

    durable = True

    def __init__(
        self,
        url: str,
        *,
        timeout: float = 20.0,
        lease: float = 15.0,
        mask: Callable[[str], str] | None = secrets.mask,
        read_only: bool = False,
    ) -> None:
        self.connections = Connections(url, timeout)
        self.read_only = read_only
        self._lease, self._mask = lease, mask
        self._claims: dict[str, _Claim] = {}
        self._trees: dict[int, _Tree] = {}
        self._left: dict[str, str] = {}  # run -> its holder: the process that this one was forked from
        self._listeners = Listeners()
        self._guard = threading.RLock()
        self._pulse = Pulse(self.connections, lease, self._held, self._listening, self._pass_on)
        try:
            self.connections.do(self._prepare)
        except BaseException:
            self.connections.close()
            raise
        _journals.add(self)

    @inert
    def __repr__(self) -> str:
        return f"PostgresJournal({self.place!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as the URL without its password, which another process finds in PGPASSWORD or in a .pgpass file."""
        return _unpacked, (self.connections.url, self.connections.timeout, self._lease, self._mask, self.read_only)

    @property
    def place(self) -> str:
        """The URL of the database, without a password."""
        return self.connections.place

    @property
    def closed(self) -> bool:
        """Whether the journal was closed."""
        return self.connections.closed

    def _prepare(self, connection: psycopg.Connection) -> None:
        if schema.check(connection, self.place):
            return
        if self.read_only:
            raise JournalError(f"there is no journal in {self.place}: it has no tables of agentkit yet")
        schema.migrate(connection, self.place)

    # -- holding runs ------------------------------------------------------------------------------------------------

    def create(self, info: RunInfo) -> None:
        """Add a run, and hold it for this process. Raises `UsageError` if the name is taken or not allowed."""
        self._refuse_if_read_only()
        check_name(info.run)
        secrets.refresh()
        token, values = self._lease_values(info.run)
        values |= {
            "tree": _text(info.tree),
            "info": line_of(info, self._mask),
            "status": _text(info.status),
            "updated": info.updated,
        }

        def add(connection: psycopg.Connection) -> int:
            while True:
                connection.execute(statements.TREE, (values["tree"],))
                is_new = info.run == info.tree and connection.execute(statements.TAKEN, (info.run,)).fetchone() is None
                if is_new and connection.execute(statements.LEFT, values).fetchone() is not None:
                    raise UsageError(left_by(info.run))
                if (row := connection.execute(statements.CREATE, values).fetchone()) is not None:
                    return int(row[0])
                taken = connection.execute(statements.TAKEN, (info.run,)).fetchone()
                if taken is not None and taken[1] == token:  # by an attempt whose answer was lost
                    return int(taken[0])
                if taken is not None:
                    raise UsageError(f"there is already a run {info.run!r}; claim it, or use another name")

        tree = self.connections.do(add)
        with self._guard:
            self._claims[info.run] = _Claim(self._tree(tree), 1, 0, token)

    def claim(self, run: str) -> RunInfo:
        """Hold an existing run for this process. Raises `Unknown`, or `JournalInUse` if it is held already."""
        self._refuse_if_read_only()
        secrets.refresh()
        if run in self._claims:
            raise _in_use(run, _me())
        token, values = self._lease_values(_text(run))

        def take(connection: psycopg.Connection) -> tuple[int, int, int]:
            row: Any = connection.execute(statements.CLAIM, values).fetchone()
            if row is None:
                row = connection.execute(statements.HOLDER, (_text(run),)).fetchone()
                if row is None:
                    raise self._unknown(connection, run)
                if row[3] != token:  # else it was claimed by an attempt whose answer was lost
                    raise _in_use(run, row[4])
            return row[0], row[1], row[2]

        tree, epoch, seq = self.connections.do(take)
        with self._guard:
            self._claims[run] = claim = _Claim(self._tree(tree), epoch, seq, token)
        try:
            info = self.connections.do(lambda connection: self._listed(connection, run))[0]
        except BaseException:
            self.release(run)
            raise
        claim.tree.number = max(claim.tree.number, info.rows)
        return info

    def _lease_values(self, run: str) -> tuple[str, dict[str, Any]]:
        """Return a token for a new claim, and the values with which the server stores it."""
        token = uuid.uuid4().hex
        values = {"run": run, "token": token, "holder": _me(), "session": self._pulse.start(), "lease": self._lease}
        return token, values

    def _tree(self, id: int) -> _Tree:
        return self._trees.setdefault(id, _Tree(id))

    def release(self, run: str) -> None:
        """Release a run; do nothing if it is not held."""
        claim = self._claims.get(run)
        if claim is None:
            return
        with claim.tree.lock:
            try:
                with contextlib.suppress(JournalError, Fenced):  # then the lease ends by itself
                    self._settle(run, claim, statements.RELEASE, {})
            finally:
                with self._guard:
                    self._claims.pop(run, None)
                    if all(other.tree is not claim.tree for other in self._claims.values()):
                        self._trees.pop(claim.tree.id, None)

    def _held(self) -> dict[str, str]:
        """Return the runs that this process holds, with the tokens of their claims."""
        with self._guard:
            return {run: claim.token for run, claim in self._claims.items()}

    def _listening(self) -> dict[str, str]:
        """Return the runs that this process holds and listens for; wishes for others wait until somebody listens."""
        return {run: token for run, token in self._held().items() if run in self._listeners}

    # -- rows --------------------------------------------------------------------------------------------------------

    def append(self, row: Row, *, sync: bool = True) -> int:
        """Add a row to the tree of `row.run`, set its `id`, and return it.

        On return, the row survives the death of this process; with `sync`, it and all rows before it are on the disk of
        the server. Raises `Fenced` if another process took the run over, `JournalError` if the row cannot be written,
        and `JournalInDoubt` if the connection was lost and it may have been written. In both cases the same row can be
        appended again, and is written once.
        """
        tree = self._claimed(row.run).tree
        with tree.lock:
            claim = self._claimed(row.run)
            if tree.writer is None:
                self._read(tree, row.run)
            assert tree.writer is not None
            sent = _Sent(row.run, claim.epoch, claim.seq, time.time(), tree.writer.encode(row))
            sent.number = self._send(claim, sent, sync)
            claim.seq = sent.seq + 1
            tree.writer.keep()
            tree.number = row.id = sent.number
            if sync:
                tree.unsynced.clear()
            else:
                tree.unsynced.append(sent)
        self._pulse.announce(tree.id)
        return row.id

    def _send(self, claim: _Claim, sent: _Sent, sync: bool) -> int:
        """Send a row until the server has it, and return its number."""
        was_sent = False

        def send(connection: psycopg.Connection) -> int:
            nonlocal was_sent
            number = 0
            for _ in range(_ATTEMPTS):
                was_sent = True
                number = number or self._put(connection, sent, claim.tree.number, _ANY, sync)
                if number:
                    return number
                number = self._find_out(connection, claim, sent)
            raise ConnectionLost("other processes keep changing the run")

        def refused(why: str) -> JournalError:
            if not was_sent:
                return self.connections.unreachable(why)
            return JournalInDoubt(
                f"the connection to the journal {self.place} was lost while a row of run {sent.run} was written "
                f"({why}), so it may be on record. Try again: it is written once."
            )

        return self.connections.do(send, refused)

    def _put(self, connection: psycopg.Connection, sent: _Sent, least: int, most: int, sync: bool) -> int:
        """Return the number that the server gave to a row; 0 if it did not take the row."""
        values = {
            **{"run": sent.run, "epoch": sent.epoch, "seq": sent.seq, "at": sent.at, "body": sent.body},
            **{"repr": repr(sent.at), "least": least, "most": most, "sync": sync, "lease": self._lease},
        }
        row = connection.execute(statements.APPEND, values).fetchone()
        return int(row[0]) if row is not None else 0

    def _find_out(self, connection: psycopg.Connection, claim: _Claim, sent: _Sent) -> int:
        """Find out why the server did not take a row of a run; return the number of the row if it has it after all.

        Rows that the server has forgotten are sent again. Raises `Fenced`, or `JournalError` if that is not possible.
        """
        tree = claim.tree
        state: Any = connection.execute(statements.STATE, (sent.run,)).fetchone()
        if state is None:
            raise Fenced(sent.run, "another process, which deleted it")
        epoch, seq, holder, number = state
        if epoch != claim.epoch:
            raise Fenced(sent.run, holder or None)
        if seq < claim.seq or number < tree.number:
            self._send_again(connection, tree, sent.run)
        elif seq > claim.seq:
            last: Any = connection.execute(statements.LAST, (tree.id, sent.run)).fetchone()
            if last[1] == sent.body:
                return int(last[0])
            claim.seq = sent.seq = seq  # an earlier row, of which it was said that it may have been written
        return 0

    def _send_again(self, connection: psycopg.Connection, tree: _Tree, run: str) -> None:
        """Send the rows again that the server has forgotten because it went down before they were on its disk."""
        stored = connection.execute(statements.STORED, (tree.id, tree.unsynced[0].number if tree.unsynced else 0))
        known = {number: (of, body) for number, of, body in stored}
        for sent in tree.unsynced:
            of, body = known.get(sent.number, ("", ""))
            if not body:
                before = sent.number - 1
                of, body = sent.run, sent.body
                if self._put(connection, sent, before, before, False) != sent.number:
                    break
            if (of, body) != (sent.run, sent.body):
                break
        else:
            if tree.unsynced and tree.unsynced[-1].number >= tree.number:
                return
        tree.forgotten = (
            f"the server of {self.place} went down and has forgotten rows of run {run} that were not on its disk "
            "yet, and they cannot be sent again: close the run, and open it again as it is on record"
        )
        raise JournalError(tree.forgotten)

    def _settle(self, run: str, claim: _Claim, statement: str, values: dict[str, Any]) -> None:
        """Execute a statement about a run that this process holds, with all its rows on the disk of the server."""
        tree = claim.tree
        probe = _Sent(run, claim.epoch, claim.seq, 0.0, "")  # not a row

        def settle(connection: psycopg.Connection) -> None:
            known = {"run": run, "epoch": claim.epoch, "lease": self._lease, **values}
            for _ in range(_ATTEMPTS):
                if connection.execute(statement, {**known, "seq": claim.seq, "least": tree.number}).fetchone():
                    return
                self._find_out(connection, claim, probe)
            raise ConnectionLost("other processes keep changing the run")

        self.connections.do(settle)
        tree.unsynced.clear()

    def sync(self, run: str) -> None:
        """Bring the rows that were appended without `sync` to the disk of the server. Raises like `append`."""
        claim = self._claimed(run)
        with claim.tree.lock:
            self._settle(run, claim, statements.RENEW, {"status": None, "updated": None})

    def count(self, run: str) -> int:
        """Return the number of rows of the run's tree. Raises `Unknown`."""

        def number(connection: psycopg.Connection) -> int:
            row = connection.execute(statements.STATE, (_text(run),)).fetchone()
            if row is None:
                raise self._unknown(connection, run)
            return int(row[3])

        return self.connections.do(number)

    def rows(self, run: str, after: int = 0) -> list[Row]:
        """Return the rows of the run's tree after row `after`, oldest first. Raises `Unknown`, `JournalDamaged`."""
        return self._read_on(run, Chain(self.place, run))[1][after:]

    def _read_on(self, run: str, chain: Chain) -> tuple[int, list[Row]]:
        """Return the id of a run's tree, and the rows that a chain has not read yet."""

        def fetch(connection: psycopg.Connection) -> list[Any]:
            lines = connection.execute(statements.ROWS, {"run": _text(run), "after": chain.number}).fetchall()
            if not lines:
                raise self._unknown(connection, run)
            return lines

        lines = self.connections.do(fetch)
        tree, number, mark = lines[0][:3]
        return tree, chain.take((line[3:] for line in lines if line[3] is not None), (number, mark))

    def _read(self, tree: _Tree, run: str) -> None:
        """Read the rows that a tree has already, once. Raises `JournalDamaged`."""
        chain = Chain(self.place, run)
        self._read_on(run, chain)
        writer = Writer(self._mask)
        writer.knows(chain.reader)
        tree.writer, tree.number = writer, max(tree.number, chain.number)

    def tail(self, run: str, after: int = 0) -> Tail:
        """Return a reader of the rows of the run's tree after row `after`, as they are written. Raises `Unknown`."""
        tree, chain = self._tree_of(run), Chain(self.place, run)

        def more() -> list[Row]:
            if self._tree_of(run) != tree:
                raise Unknown("run", run, (), "it was deleted, and another run has its name")
            return self._read_on(run, chain)[1]

        return Tail(after, more, self._pulse.wait)

    def lost(self, run: str) -> str:
        """Return "": rows that are missing at the end of a tree are noticed by `rows`. Raises `Unknown`."""
        self.count(run)
        return ""

    # -- the list of runs --------------------------------------------------------------------------------------------

    def runs(self, prefix: str = "", tags: Mapping[str, str] = NO_TAGS) -> list[RunInfo]:
        """Return all runs, newest first, or those whose names begin with `prefix` and that have these `tags`.

        A run whose process died while it was running is "interrupted".
        """
        found = self.connections.do(lambda connection: self._listed(connection, prefix=prefix))
        return [info for info in found if info.fits(prefix, tags)]

    def closing_notes(self, kind: str, prefix: str = "") -> dict[str, Note]:
        """Return the notes of this kind that are the last row of their run, by run, unless they were changed."""
        values = {"prefix": _text(prefix)}
        return sound_notes(
            kind, self.connections.do(lambda connection: connection.execute(statements.CLOSING, values).fetchall())
        )

    def _listed(self, connection: psycopg.Connection, run: str = "", *, prefix: str = "") -> list[RunInfo]:
        where = statements.NAMED if run else statements.BEGINS
        values = {"run": _text(run), "prefix": _text(prefix), "lease": self._lease}
        found = []
        for *line, is_held in connection.execute(statements.LIST + where, values):
            info = info_of(*line)
            info.holder = info.holder if is_held else ""
            if info.status == "running" and not is_held:
                info.status = "interrupted"
            found.append(info)
        return sorted(found, key=lambda info: info.updated, reverse=True)

    def set_status(self, run: str, status: str) -> None:
        """Set the status that the list of runs shows for a run that this process holds."""
        claim = self._claimed(run)
        with claim.tree.lock:
            self._settle(run, claim, statements.RENEW, {"status": _text(status), "updated": time.time()})

    # -- wishes ------------------------------------------------------------------------------------------------------

    def wish(self, wish: Wish) -> None:
        """Ask the process that holds a run for something; it answers by doing it, within about a second.

        Raises `Unknown`, and `UsageError` if nobody holds the run, so that this process can do it itself.
        """
        self._refuse_if_read_only()
        wish = checked_wish(wish)
        values = {"run": _text(wish.run), "what": wish.what, "lease": self._lease}
        values |= {"text": _text(wish.text), "author": _text(wish.author)}

        def ask(connection: psycopg.Connection) -> None:
            if connection.execute(statements.WISH, values).fetchone() is None:
                if connection.execute(statements.STATE, (values["run"],)).fetchone() is None:
                    raise self._unknown(connection, wish.run)
                raise nobody_holds(wish.run)

        self.connections.do(ask)

    def on_wish(self, run: str, listener: Callable[[Wish], object]) -> None:
        """Pass on what others ask of a run while this process holds it.

        `listener` is called in a thread of its own, as long as the caller keeps it.
        """
        self._listeners.add(run, listener)

    def _pass_on(self, wishes: list[tuple[Wish, int]]) -> None:
        """Pass on wishes that were made under the present claims, in order."""
        self._listeners.tell_soon(wishes, self._epoch)

    def _epoch(self, run: str) -> int | None:
        with self._guard:
            claim = self._claims.get(run)
            return claim.epoch if claim is not None else None

    # -- rate limits -------------------------------------------------------------------------------------------------

    def take_turn(self, id: str, seconds: float) -> float:
        """Take the next turn of the rate limit `id`, whose turns are so many `seconds` apart for all processes.

        Return 0, or the number of seconds until there is a turn.
        """
        self._refuse_if_read_only()
        name = _text(id)

        def take(connection: psycopg.Connection) -> float:
            if connection.execute(statements.TAKE_TURN, {"id": name, "seconds": seconds}).fetchone() is not None:
                return 0.0
            row = connection.execute(statements.NEXT_TURN, (name,)).fetchone()
            return seconds if row is None else min(max(row[0], 0.001), seconds)

        return self.connections.do(take)

    def delete(self, run: str) -> None:
        """Delete a run that is not held; the rows of its tree are deleted with the last run of the tree.

        Raises `Unknown`, and `JournalInUse` if this process or another one holds the run.
        """
        self._refuse_if_read_only()
        is_again = False

        def remove(connection: psycopg.Connection) -> None:
            nonlocal is_again
            with connection.transaction():
                row = connection.execute(statements.DELETE, {"run": _text(run), "lease": self._lease}).fetchone()
                if row is not None:
                    connection.execute(statements.DELETE_WISHES, (_text(run),))
                    connection.execute(statements.LOCK_TREE, row)
                    if connection.execute(statements.IS_USED, row).fetchone() is None:
                        connection.execute(statements.DELETE_ROWS, row)
                        connection.execute(statements.DELETE_TREE, row)
                    is_again = True
                    return
            holder = connection.execute(statements.HOLDER, (_text(run),)).fetchone()
            if holder is not None:
                raise _in_use(run, holder[4])
            if not is_again:
                raise self._unknown(connection, run)

        self.connections.do(remove)

    def prune(self, keep_days: float | None = None, keep_runs: int | None = None) -> list[str]:
        """Delete runs older than `keep_days`, and all but the newest `keep_runs`; return the names of deleted runs.

        Runs that are held are kept. Without arguments nothing is deleted.
        """
        return retention.prune(self, keep_days, keep_runs)

    def close(self) -> None:
        """Release all runs, and close the connections."""
        if not self.closed:
            for run in list(self._claims):
                self.release(run)
            self._pulse.stop()
            self.connections.close()

    # -- inside ------------------------------------------------------------------------------------------------------

    def _claimed(self, run: str) -> _Claim:
        self._refuse_if_read_only()
        claim = self._claims.get(run)
        if claim is None:
            if run in self._left:
                raise Fenced(run, self._left[run])
            raise JournalError(f"run {run} is not held by this process; claim it first")
        if claim.tree.forgotten:
            raise JournalError(claim.tree.forgotten)
        return claim

    def _tree_of(self, run: str) -> int:
        def find(connection: psycopg.Connection) -> int:
            row = connection.execute(statements.HOLDER, (_text(run),)).fetchone()
            if row is None:
                raise self._unknown(connection, run)
            return int(row[0])

        return self.connections.do(find)

    def _unknown(self, connection: psycopg.Connection, run: str) -> Unknown:
        newest = connection.execute("SELECT run FROM agentkit.runs ORDER BY updated DESC LIMIT 20").fetchall()
        return Unknown("run", run, [name for (name,) in newest])

    def _refuse_if_read_only(self) -> None:
        if self.read_only:
            raise ReadOnly(
                f"the journal {self.place} was opened for reading only; open it without read_only=True to write"
            )

    def _forked(self) -> None:
        """Leave the runs to the parent process; the connections are left to it, too."""
        self._left.update({run: f"process {os.getppid()}" for run in self._claims})
        self._claims.clear()
        self._trees.clear()
        self._guard = threading.RLock()
        self._listeners = Listeners()
        self._pulse = Pulse(self.connections, self._lease, self._held, self._listening, self._pass_on)


def _unpacked(url: str, timeout: float, lease: float, mask: Any, read_only: bool) -> PostgresJournal:
    """Return a journal that was sent to this process; it is opened once, however often it was sent."""
    key = (os.getpid(), url, timeout, lease, mask, read_only)
    with _unpacking:
        journal = _sent_here.get(key)
        if journal is None or journal.closed:
            journal = PostgresJournal(url, timeout=timeout, lease=lease, mask=mask, read_only=read_only)
            _sent_here[key] = journal
        return journal


_sent_here: dict[tuple[Any, ...], PostgresJournal] = {}
_unpacking = threading.Lock()


def _text(text: str) -> str:
    """Return a text that PostgreSQL accepts: lone surrogates and NUL are escaped."""
    return plain(text).replace("\0", "\\x00")


def _me() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}"


def _in_use(run: str, holder: str) -> JournalInUse:
    if holder == _me():
        return JournalInUse(
            f"this process ({os.getpid()}) holds run {run} already; use that Run object, or close it first"
        )
    return JournalInUse(
        f"run {run} is held by {holder or 'another process'}; close it there first; agentkit.look({run!r}) and "
        f"agent.fork({run!r}) do not need it"
    )


_journals: weakref.WeakSet[PostgresJournal] = weakref.WeakSet()


def _after_fork() -> None:
    for journal in list(_journals):
        journal._forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

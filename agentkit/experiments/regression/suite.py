"""A suite of recordings, played against today's code: what is the same, what differs, and what cannot be played."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, overload

from agentkit.agent.agent import Agent
from agentkit.agent.recordings import load
from agentkit.core.checked_arguments import checked
from agentkit.core.live_shell import live_shell
from agentkit.core.text import counted, error_line, one_line
from agentkit.errors import AgentkitError, Unknown, UsageError
from agentkit.experiments.regression.differences import Mismatch
from agentkit.experiments.regression.playing import UNDONE, Played, Tools, Unplayable, play, read
from agentkit.experiments.regression.recordings import Recording, find
from agentkit.export import to_json
from agentkit.export.escaping import escape_html, markdown_inline
from agentkit.export.html import fragment
from agentkit.export.tables import Table, to_html, to_markdown, to_text
from agentkit.inert import for_terminal, inert_lines
from agentkit.journal.entries import Note
from agentkit.journal.memory import MemoryJournal
from agentkit.run.run import Run

Status = Literal["same", "differs", "cannot be played"]

Record = dict[str, str]
"""What a summary says about a recording: its `name`, its `status`, a `summary` and the `difference` in Markdown."""

_SHOWN = 10
"""How many differences are shown in full; Markdown has more, because they are folded."""
_FOLDED = 50
_MAX_SUMMARY = 500_000
_WIDTH = 80
_QUIET, _PAUSE = 1.0, 0.5
"""After how many seconds progress is shown, and how often."""


@dataclass(slots=True, eq=False)
class Result:
    """What came of playing one recording.

    `difference` is the first difference, and `problem` says why the recording cannot be played. If it is `unfinished`,
    the recording ends before the run did, and it was played as far as it goes.
    """

    recording: Recording
    agent: Agent | None
    tools: Tools
    status: Status = "same"
    difference: Mismatch | None = None
    problem: str = ""
    unfinished: bool = False

    @property
    def name(self) -> str:
        """The name of the recording."""
        return self.recording.name

    @property
    def recorded(self) -> Run:
        """The recorded run, opened in memory. Raises `UsageError` if the recording is damaged."""
        return load(self.recording.data(), self._quiet_agent())

    @property
    def today(self) -> Run:
        """Today's run up to the step that differs, in memory; if it goes on, it asks the model of the agent.

        Raises `UsageError` if the recording cannot be played.
        """
        try:
            return play(read(self.recording.data()), self.agent, tools=self.tools, live=True).run
        except Unplayable as error:
            raise UsageError(f"{self.name} cannot be played: {error}") from None

    def _quiet_agent(self) -> Agent:
        quiet: dict[str, Any] = dict.fromkeys(UNDONE)
        return (self.agent or Agent("offline")).using(journal=MemoryJournal(), **quiet)

    @property
    def summary(self) -> str:
        """What came of it, in one line."""
        if self.problem:
            return one_line(self.problem, 300)
        if self.difference is not None:
            return self.difference.title
        return "as far as the recording goes" if self.unfinished else ""

    def record(self, *, is_short: bool = False) -> Record:
        """Return what a summary says about the recording, as texts; a short one is without the difference itself."""
        difference = "" if self.difference is None or is_short else self.difference.to_markdown()
        return {"name": self.name, "status": self.status, "summary": self.summary, "difference": difference}

    def check(self) -> None:
        """Raise `AssertionError`, with the difference side by side, unless the recording is the same."""
        __tracebackhide__ = True
        if self.status != "same":
            raise AssertionError(repr(self))

    @inert_lines
    def __repr__(self) -> str:
        name = for_terminal(self.name)
        if self.difference is None:
            return f"{name}: {self.status}{f' ({self.summary})' if self.summary else ''}"
        return f"{name}: differs\n{self.difference.to_text()}"

    def _repr_html_(self) -> str:
        head = f"<p><b>{escape_html(self.name)}</b>: {escape_html(self.status)}"
        if self.difference is None:
            return fragment(f"{head}. {escape_html(self.summary)}</p>")
        return fragment(f"{head}: {escape_html(self.summary)}</p>", self.difference.to_html())

    def _repr_markdown_(self) -> str:
        head = f"**{markdown_inline(self.name)}**: {markdown_inline(self.status)}. {markdown_inline(self.summary)}"
        return head if self.difference is None else f"{head}\n\n{self.difference.to_markdown()}\n"


@dataclass(slots=True, eq=False)
class Suite(Sequence[Result]):
    """The results of all recordings of a suite, in their order; `found["name"]` is the one of a recording."""

    results: list[Result] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def differing(self) -> list[Result]:
        """The recordings that differ."""
        return [result for result in self.results if result.status == "differs"]

    @property
    def unplayable(self) -> list[Result]:
        """The recordings that cannot be played: they are damaged, or something is missing."""
        return [result for result in self.results if result.status == "cannot be played"]

    @property
    def is_same(self) -> bool:
        """Whether every recording could be played and is the same."""
        return all(result.status == "same" for result in self.results)

    def check(self) -> None:
        """Raise `AssertionError`, with the first differences side by side, unless all recordings are the same."""
        __tracebackhide__ = True
        if not self.is_same:
            raise AssertionError(repr(self))

    @overload
    def __getitem__(self, key: int | str) -> Result: ...

    @overload
    def __getitem__(self, key: slice) -> list[Result]: ...

    def __getitem__(self, key: int | str | slice) -> Result | list[Result]:
        if not isinstance(key, str):
            return self.results[key]
        for result in self.results:
            if result.name == key:
                return result
        raise Unknown("recording", key, [result.name for result in self.results])

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    @inert_lines
    def __repr__(self) -> str:
        parts = [title(self._records())]
        if (table := _table(self._records())).rows:
            parts.append(to_text(table, cell_width=_WIDTH, max_rows=50))
        long = [each for each in self.unplayable if len(each.summary) > _WIDTH]
        parts += ["", *(f"{each!r}\n" for each in [*self.differing[:_SHOWN], *long[:_SHOWN]])]
        if (more := len(self.differing) - _SHOWN) > 0:
            parts.append(f"… and {counted(more, 'more difference')}; found.differing has them")
        return "\n".join(parts).rstrip()

    def _repr_html_(self) -> str:
        told = _table(self._records())
        table = to_html(told) if told.rows else ""
        shown = "".join(
            f"<details{' open' if n == 0 else ''}><summary>{escape_html(each.name)}: {escape_html(each.summary)}"
            f"</summary>{each.difference.to_html() if each.difference else ''}</details>"
            for n, each in enumerate(self.differing[:_FOLDED])
        )
        return fragment(f"<p><b>{escape_html(title(self._records()))}</b></p>", table, shown)

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    def to_markdown(self) -> str:
        """Return a summary in the Markdown of GitHub: a table, and the first differences, folded."""
        shown = set(map(id, self.differing[:_FOLDED]))
        return summary([result.record(is_short=id(result) not in shown) for result in self.results])

    def _records(self) -> list[Record]:
        return [result.record(is_short=True) for result in self.results]


def title(records: list[Record]) -> str:
    """Return how many recordings are the same, differ, and cannot be played, in a few words."""
    count = Counter(record["status"] for record in records)
    parts = [f"{len(records):,} {'recording' if len(records) == 1 else 'recordings'}", f"{count['same']:,} the same"]
    parts += [f"{count['differs']:,} {'differs' if count['differs'] == 1 else 'differ'}"] if count["differs"] else []
    parts += [f"{count[status]:,} {status}" for status in ("cannot be played", "updated") if count[status]]
    return ", ".join(parts)


def _table(records: list[Record]) -> Table:
    """Return a table of the recordings about which there is something to say, those with a problem first."""
    told = [record for record in records if record["summary"] or record["status"] != "same"]
    told.sort(key=lambda record: record["status"] == "same")
    rows = [[f"{_MARKS.get(each['status'], '✎')} {each['status']}", each["name"], each["summary"]] for each in told]
    return Table(["", "recording", "first difference"], rows)


_MARKS = {"same": "✓", "differs": "≠", "cannot be played": "✗"}


def summary(records: list[Record]) -> str:
    """Return a summary in the Markdown of GitHub: a table, and the first differences, folded.

    The line with the tags is HTML, and what is between such lines is Markdown. There is room for other summaries in the
    file of a workflow's step, which may have 1 MB.
    """
    table = _table(records)
    blocks = ["### Recorded runs, played against today's code", markdown_inline(title(records))]
    blocks += [to_markdown(table, max_rows=200)] if table.rows else []
    size = 0
    for record in [record for record in records if record["difference"]][:_FOLDED]:
        size += len(record["difference"])
        if size > _MAX_SUMMARY:
            break
        head = escape_html(one_line(f"{record['name']}: {record['summary']}", 300))
        blocks.append(f"<details><summary>{head}</summary>\n\n{record['difference']}\n\n</details>")
    return "\n\n".join(blocks) + "\n"


@checked
def replay(recordings: Any, agent: Agent | None = None, *, tools: Tools = "recorded", journal: Any = "sqlite") -> Suite:
    """Play recorded runs against today's code, without a model, a key or a network, and return what differs.

    `recordings` are those of `find`: files, folders, patterns, data, runs, or entries of `agentkit.runs()` with their
    `journal`. With an `agent`, its instructions, engine, options and tools are tested; without one, those that are
    recorded, with the engines and prompts of today. Replies and tool results are the recorded ones; with
    `tools="call"`, tools with `effect="pure"` are called again. A recording that cannot be played is a result, too.

    Raises `UsageError`, which says what to do, if there are no recordings.
    """
    check_tools(tools)
    found, suite, begun = find(recordings, journal=journal), Suite(), time.monotonic()
    progress = _Progress(len(found), begun)
    try:
        for recording in found:
            suite.results.append(play_one(recording, agent, tools=tools))
            progress.tell(len(suite))
    finally:
        progress.end()
    suite.seconds = time.monotonic() - begun
    return suite


def check_tools(tools: Any) -> None:
    """Raise `UsageError` if this is not what can be done about tools."""
    if tools not in ("recorded", "call"):
        raise UsageError(f'tools must be "recorded", or "call" to call pure tools again, not {tools!r:.100}')


@checked
def play_one(recording: Recording, agent: Agent | None = None, *, tools: Tools = "recorded") -> Result:
    """Play one recording. Nothing that is wrong with it is raised: it is the `problem` of the result."""
    result = Result(recording, agent, tools)
    try:
        recorded = read(recording.data())
        played = play(recorded, agent, tools=tools)
    except Exception as error:
        result.status, result.problem = "cannot be played", _told(error)
        return result
    if played.differences:
        result.status, result.difference = "differs", played.differences[0]
    else:
        result.unfinished = recorded.position.end is None and not recorded.error
    return result


@checked
def update(recording: Recording, agent: Agent | None = None) -> tuple[str, str]:
    """Write today's run over a recording; return what was changed, and why it could not be, of which one is "".

    Replies and results stay as they were recorded, so a model that is asked something else might reply otherwise. If
    today's run needs a reply or a result that is not recorded, the recording is left as it is.
    """
    try:
        recorded = read(recording.data())
        played = play(recorded, agent, go_on=True)
        if not played.differences:
            return "nothing", ""
        if problem := _not_updated(played):
            return "", problem
        recording.write(to_json(played.run))
    except Exception as error:
        return "", _told(error)
    return counted(len(played.differences), "step"), ""


def _not_updated(played: Played) -> str:
    """Return why a recording cannot be updated without a model, or ""."""
    if played.stopped:
        return f"it needs a model or a tool: {played.differences[-1].title}; record the run again"
    rows = played.recorded.rows
    if any(row.run != played.run.id for row in rows):
        return "it has branches, which would be lost; record the run again"
    if any(isinstance(row, Note) and row.kind in ("inject", "head") for row in rows):
        return "it was changed by hand (edits or messages), which would be lost; record the run again"
    if played.recorded.position.end is None:
        return "it ends before the run did; record the run again"
    return ""


def _told(error: Exception) -> str:
    return str(error) if isinstance(error, AgentkitError | Unplayable) else error_line(error)


class _Progress:
    """A line that says how far a suite has been played, if that takes over a second and somebody is there."""

    def __init__(self, total: int, begun: float) -> None:
        self._total, self._begun, self._next = total, begun, begun + _QUIET
        self._is_shown = False
        self._is_on = sys.stderr is not None and (sys.stderr.isatty() or live_shell() is not None)

    def tell(self, done: int) -> None:
        """Show how many recordings were played."""
        now = time.monotonic()
        if self._is_on and now >= self._next:
            left = (now - self._begun) / done * (self._total - done)
            self._write(f"\r{done:,} of {self._total:,} recordings played, about {left:.0f} s left  ")
            self._next, self._is_shown = now + _PAUSE, True

    def end(self) -> None:
        """Take the line away."""
        if self._is_shown:
            self._write(f"\r{' ' * 70}\r")

    def _write(self, text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except (OSError, ValueError):
            self._is_on = self._is_shown = False

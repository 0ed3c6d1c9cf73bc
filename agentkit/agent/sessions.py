"""Let a run go on where earlier ones ended: the turns of its session, what is known of the person, lessons; and keep its own."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Protocol

from agentkit.agent.options import Options
from agentkit.around.base import Around, around, aside
from agentkit.core.messages import Chat, Message, assistant, message_from_json, message_to_json, system
from agentkit.core.messages import user as asked
from agentkit.core.steps import Conclude, Step
from agentkit.errors import AgentkitError, UsageError
from agentkit.journal.entries import Journal, Note
from agentkit.memory.store import Memory
from agentkit.run.run import Run
from agentkit.trace.events import Event

RETAINED, RECALLED = 10, 3

KNOWN = "What is known from earlier conversations with this person, in case it helps:\n"
BEFORE = "What was said before in this conversation, in short:\n"
SUMMARISE = """\
You keep the minutes of a conversation between a person and an assistant. Write, in plain text of no more than half a page, what
the assistant must know when it goes on: what the person wanted, what was found and decided (names, numbers and dates word by
word), and what was left open."""

OPTIONS = ("retained_turns", "session_memory", "recall")
"""The options of an agent that say what a run is told of earlier ones."""

Data = dict[str, Any]


class Owner(Protocol):
    """What is needed of an agent: its options, its journal and its memory."""

    options: Options

    @property
    def journal(self) -> Journal | None:
        """Where runs are recorded."""

    @property
    def memory(self) -> Memory:
        """What outlasts runs."""


def prepare(spec: Data, agent: Owner, session: str, user: str) -> Data:
    """Give the spec of a run that goes on with a session, or knows a person: what it is told is recorded in it.

    The messages of earlier turns stand in `history`, and in `session` whose they are and what is to be summarised.
    """
    for name, value in (("session", session), ("user", user)):
        if not isinstance(value, str):
            raise UsageError(f"{name} is a name, not {value!r}")
    if not session and not user:
        return spec
    options = agent.options
    retained, kind = options.get("retained_turns") or RETAINED, options.get("session_memory") or "window"
    recall = options.get("recall", True)
    most = RECALLED if recall is True else int(recall or 0)
    memory = agent.memory
    if agent.journal is not None and session:
        _mend(memory, agent.journal, session, user)
    told: list[Message] = []
    about: Data = {"id": session, "user": user}
    if (
        user
        and most
        and (known := memory.search(question(spec), user=user, limit=most, except_session=session or None))
    ):
        told.append(system(KNOWN + "\n\n".join(f"- {one}" for one in known)))
    if session:
        upto, summary = memory.summary(session, user=user) if kind == "summary" else (0, "")
        turns = memory.turns(session, user=user, after=upto, limit=retained if kind == "window" else None)
        if summary:
            told.append(system(BEFORE + summary))
        if kind == "summary" and len(turns) >= retained + _slack(retained):
            about |= {"upto": turns[-retained - 1].number, "turns": len(turns) - retained}
        turns = turns[-retained - _slack(retained) :]
        told += [said for turn in turns for said in (asked(turn.question), assistant(turn.answer))]
    return {**spec, "session": about, "history": [message_to_json(message) for message in told]}


def _slack(retained: int) -> int:
    """How many turns more than needed are kept, so that not each of them costs a summary."""
    return max(2, retained // 2)


def question(spec: Data) -> str:
    """Give what a run is asked: the last thing that a person said."""
    return str(next((message["text"] for message in reversed(spec["task"]) if message["role"] == "user"), ""))


def opening(spec: Data) -> Chat:
    """Give the chat that a run begins with: instructions, what was before, and then the task."""
    task = [message_from_json(message) for message in spec["task"]]
    if not spec.get("history"):
        return Chat.of(task)
    first = next((n for n, message in enumerate(task) if message.role != "system"), len(task))
    return Chat.of([*task[:first], *map(message_from_json, spec["history"]), *task[first:]])


def arounds(spec: Data) -> tuple[Around, ...]:
    """Give what goes around a run of a session: what is to be summarised is, once the answer stands."""
    about = spec.get("session", {})
    return (minutes(spec["history"], about["turns"], about["upto"]),) if about.get("turns") else ()


def minutes(history: list[Data], turns: int, upto: int) -> Around:
    """Let the oldest `turns` of a session be summarised, together with what is known of those before."""
    told = [message for message in history if message["text"].startswith(BEFORE) or message["role"] != "system"]
    before = [message for message in told if message["role"] == "system"]
    old = [message for message in told if message["role"] != "system"][: 2 * turns]
    text = "\n\n".join(f"{message['role']}: {message['text']}" for message in [*before, *old])

    @around(Conclude)
    def minute(step: Conclude, memory: Data) -> Generator[Step, Any, Any]:
        more = yield step
        if more is None and not memory.get("done"):
            memory["done"] = True
            yield aside(Chat.of([system(SUMMARISE), asked(text)]), "compact", upto=upto, turns=turns)
        return more

    return minute


def follow(run: Run, *, is_new: bool, is_fork: bool) -> None:
    """Keep what a run of a session, or of a person, comes to; a fork is an experiment, and leaves nothing behind."""
    about = run.task.get("session")
    if about is None or is_fork:
        return
    session, person, memory = about["id"], about["user"], run.agent.memory
    if is_new:
        memory.begin_turn(run.id, question(run.task), session=session, user=person)

    def told(event: Event) -> None:
        if event.kind == "completed":
            memory.end_turn(run.id, event.data["answer"])
        elif (
            event.kind == "thought"
            and event.data["model"]
            and "turns" in event.data["tags"]
            and event.data["text"].strip()
        ):
            memory.set_summary(session, event.data["tags"]["upto"], event.data["text"].strip(), user=person)

    run.on_event(told)


def _mend(memory: Memory, journal: Journal, session: str, user: str) -> None:
    """Take over the answers of runs that ended when there was no time left to remember them."""
    for run in memory.unanswered(session, user=user):
        try:
            rows = journal.rows(run)
        except AgentkitError:
            continue
        ends = [row for row in rows if isinstance(row, Note) and row.run == run and row.kind == "completed"]
        if ends:
            memory.end_turn(run, ends[-1].data["answer"])

"""Sessions: a run is told the earlier turns of its session and facts about the user, and its own turn is stored."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Protocol

from agentkit.agent.options import Options
from agentkit.around.base import Around, around, aside
from agentkit.core.messages import Chat, Message, assistant, message_to_json, system
from agentkit.core.messages import user as asked
from agentkit.core.secrets import mask, mask_json
from agentkit.core.steps import Conclude, Step
from agentkit.errors import AgentkitError, UsageError
from agentkit.journal.entries import NOT_BEGUN, Entry, Journal, Note
from agentkit.memory.base import SessionMemory
from agentkit.models.adapters import messages_for
from agentkit.run.run import Run
from agentkit.trace.events import Event

if TYPE_CHECKING:
    from agentkit.memory.store import Memory

RETAINED, RECALLED = 10, 3

KNOWN = "From earlier conversations with this person, in case it helps:\n"
BEFORE = "A summary of this conversation so far:\n"
SUMMARISE = """\
You keep the minutes of a conversation between a person and an assistant. Write down, in plain text of no more than half
a page, what the assistant needs to know to continue: what the person wanted, what was found and decided (names, numbers
and dates word for word), and what is still open."""

ENDED = ("done", NOT_BEGUN)
"""The statuses of runs that are not continued when their session is."""

OPTIONS = ("retained_turns", "session_memory", "recall")
"""The options of an agent that control what a run is told about earlier runs."""

Data = dict[str, Any]


class Owner(Protocol):
    """What is needed from an agent: its options, its journal and its memory."""

    options: Options

    @property
    def journal(self) -> Journal | None:
        """The journal in which runs are recorded."""

    @property
    def memory(self) -> Memory:
        """The memory across runs."""


def prepare(spec: Data, agent: Owner, session: str, user: str) -> Data:
    """Return the spec of a run that continues a session, or that knows its user.

    The spec records what the run is told: the messages of earlier turns are in `history`; `session` names the session
    and the user, says which turns should be summarised, and if not all turns are told, how many messages there were and
    how many are left.
    """
    for name, value in (("session", session), ("user", user)):
        if not isinstance(value, str):
            raise UsageError(f"{name} must be a name (a str), not {value!r}")
    if not session and not user:
        return spec
    options = agent.options
    retained, kind = options.get("retained_turns") or RETAINED, options.get("session_memory") or "window"
    recall = options.get("recall", True)
    most = RECALLED if recall is True else int(recall or 0)
    memory = agent.memory
    if agent.journal is not None and session:
        _mend(memory, agent.journal, session, user)
    history: list[Message] = []
    about: Data = {"id": session, "user": user}
    if (
        user
        and most
        and (known := memory.search(question(spec), user=user, limit=most, except_session=session or None))
    ):
        history.append(system(KNOWN + "\n\n".join(f"- {fact}" for fact in known)))
    if session and isinstance(kind, SessionMemory):
        return _as_remembered({**spec, "session": about}, history, kind)
    if session:
        upto, summary = memory.summary(session, user=user) if kind == "summary" else (0, "")
        turns = memory.turns(session, user=user, after=upto, limit=retained if kind == "window" else None)
        if summary:
            history.append(system(BEFORE + summary))
        if kind == "summary" and len(turns) >= retained + _slack(retained):
            about |= {"upto": turns[-retained - 1].number, "turns": len(turns) - retained}
        turns = turns[-retained - _slack(retained) :]
        history += [message for turn in turns for message in (asked(turn.question), assistant(turn.answer))]
        if (count := memory.count_turns(session, user=user)) > len(turns):
            about["compacted"] = {"original": 2 * count, "kept": 2 * len(turns) + bool(summary)}
    return {**spec, "session": about, "history": [message_to_json(message) for message in history]}


def _as_remembered(spec: Data, history: list[Message], memory: SessionMemory) -> Data:
    """Return the spec of a run that is told what a memory of another library says, which may add to the question."""
    utterance, about = question(spec), spec["session"]
    context = list(Chat.of(memory.build_conversation_context(utterance, about["id"])))
    if not context or context[-1].role != "user":
        raise UsageError(f"{type(memory).__name__} must return messages of which the last one is the user's")
    task = list(spec["task"])
    for n in [n for n, message in enumerate(task) if message["role"] == "user"][-1:]:
        task[n] = {**task[n], "text": mask(context[-1].text)}
    told = [mask_json(message_to_json(message)) for message in (*history, *context[:-1])]
    return {**spec, "task": task, "session": {**about, "utterance": utterance}, "history": told}


def unfinished(agent: Owner, spec: Data) -> str:
    """Return the id of the last run of a session if it had the same task and its process ended too early; or ""."""
    about, journal = spec.get("session", {}), agent.journal
    if not about.get("id") or journal is None:
        return ""
    begun = agent.memory.unanswered(about["id"], user=about["user"])[-1:]
    known = next((info for info in journal.runs() if info.run in begun), None)
    if known is None or known.status in ENDED:
        return ""
    try:
        first = journal.rows(known.run)[0]
    except (AgentkitError, IndexError):
        return ""
    same = ("task", "engine", "options")
    recorded = first.result if isinstance(first, Entry) and isinstance(first.result, dict) else {}
    return known.run if all(recorded.get(name) == spec[name] for name in same) else ""


def _slack(retained: int) -> int:
    """Return how many more turns than needed are kept, so that not every turn needs a summary."""
    return max(2, retained // 2)


def question(spec: Data) -> str:
    """Return the question of a run: the text of the last user message."""
    return str(next((message["text"] for message in reversed(spec["task"]) if message["role"] == "user"), ""))


def arounds(spec: Data) -> tuple[Around, ...]:
    """Return the around that summarises older turns of a session after the answer, if there are any to summarise."""
    about = spec.get("session", {})
    return (minutes(spec["history"], about["turns"], about["upto"]),) if about.get("turns") else ()


def minutes(history: list[Data], turns: int, upto: int) -> Around:
    """Return an around that summarises the oldest `turns` of a session, together with the earlier summary."""
    messages = [message for message in history if message["text"].startswith(BEFORE) or message["role"] != "system"]
    before = [message for message in messages if message["role"] == "system"]
    old = [message for message in messages if message["role"] != "system"][: 2 * turns]
    text = "\n\n".join(f"{message['role']}: {message['text']}" for message in [*before, *old])

    @around(Conclude, does="keeps the notes of the session")
    def minute(step: Conclude, memory: Data) -> Generator[Step, Any, Any]:
        more = yield step
        if more is None and not memory.get("done"):
            memory["done"] = True
            yield aside(Chat.of([system(SUMMARISE), asked(text)]), "compact", upto=upto, turns=turns)
        return more

    return minute


def follow(run: Run, *, is_new: bool, is_fork: bool) -> None:
    """Store the result of a run that has a session or a user; a fork is an experiment, and nothing of it is stored."""
    about = run.task.get("session")
    if about is None or is_fork:
        return
    session, person = about["id"], about["user"]
    if is_new:
        asked_for = about.get("utterance") or question(run.task)
        run.agent.memory.begin_turn(run.id, asked_for, session=session, user=person)

    def on_event(event: Event) -> None:
        if event.kind == "completed":
            run.agent.memory.end_turn(run.id, event.data["answer"])
            kept = run.agent.options.get("session_memory")
            if "utterance" in about and isinstance(kept, SessionMemory):
                new = messages_for(kept.update_history, "new_messages")
                turn = {"user": about["utterance"], "assistant": event.data["answer"]}
                kept.update_history([new({"role": role, "content": text}) for role, text in turn.items()], session)
        elif (
            event.kind == "thought"
            and event.data["model"]
            and "turns" in event.data["tags"]
            and event.data["text"].strip()
            and (memory := run.agent.memory).has_turn(run.id)  # a recording from elsewhere says nothing about sessions
        ):
            memory.set_summary(session, event.data["tags"]["upto"], event.data["text"].strip(), user=person)

    run.on_event(on_event)


def _mend(memory: Memory, journal: Journal, session: str, user: str) -> None:
    """Store the answers of runs that ended before there was time to store them."""
    for run in memory.unanswered(session, user=user):
        try:
            rows = journal.rows(run)
        except AgentkitError:
            continue
        ends = [row for row in rows if isinstance(row, Note) and row.run == run and row.kind == "completed"]
        if ends:
            memory.end_turn(run, ends[-1].data["answer"])

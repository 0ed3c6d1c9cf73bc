"""What a hook decides, and which decisions fit where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from agentkit.core.messages import Chat
from agentkit.core.secrets import mask
from agentkit.errors import UsageError

Kind = Literal["allow", "deny", "change", "ask", "finish"]

CHANGES: dict[tuple[str, str], str] = {
    ("before", "tool"): "arguments",
    ("after", "tool"): "result",
    ("before", "model"): "chat",
    ("after", "model"): "result",
    ("before", "run"): "",
    ("after", "run"): "result",
}
"""The points at which a hook can run, and what it can change there: an argument of `change`, or ""."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision of a hook; the functions of this module make one.

    `why` is the reason, for the observation and the entry. `message` is a text that the model reads with its next
    request. `changed` is what `change` puts in place of the arguments, the chat or the result, which `what` names.
    """

    kind: Kind
    why: str = ""
    message: str = ""
    what: str = ""
    changed: Any = None
    answer: str = ""


def allow(message: str = "") -> Decision:
    """Return the decision to go on, which None also means; the model reads the `message` with its next request.

    After a run, a message has the run go on with it.
    """
    return Decision("allow", message=_text("message", message))


def deny(why: str) -> Decision:
    """Return the decision not to go on: the tool is not called, the model not asked, or the result not used."""
    return Decision("deny", _reason(why))


def change(
    *,
    arguments: dict[str, Any] | None = None,
    chat: Chat | None = None,
    result: str | None = None,
    message: str = "",
    why: str = "",
) -> Decision:
    """Return the decision to go on with something else.

    Before a tool, these are its `arguments`; before a model call, the `chat`; after a tool, a model call or a run, the
    text of the `result`. Raises `UsageError` unless exactly one of them is given.
    """
    given = {"arguments": arguments, "chat": chat, "result": result}
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        raise UsageError(f"change() takes one of arguments=, chat= and result=, not {len(named)}")
    return Decision("change", _text("why", why), _text("message", message), named[0], given[named[0]])


def ask(why: str) -> Decision:
    """Return the decision to ask a person first; only a call of a tool can wait for a person."""
    return Decision("ask", _reason(why))


def finish(why: str, answer: str = "") -> Decision:
    """Return the decision to end the run with this answer; the result of a tool cannot end a run."""
    return Decision("finish", _reason(why), answer=_text("answer", answer))


def problem(decision: Decision, when: str, of: str) -> str:
    """Return why a decision cannot be made at this point, or ""."""
    here = f"{when} a {of}"
    if decision.kind not in get_args(Kind):
        return f"it made a decision of the unknown kind {decision.kind!r:.100}"
    if not all(isinstance(text, str) for text in (decision.why, decision.message, decision.what, decision.answer)):
        return "it made a decision whose texts are not of type str"
    if decision.kind == "ask" and (when, of) != ("before", "tool"):
        return f"it asked for a person {here}, where nobody can be asked"
    if decision.kind == "finish" and (when, of) == ("after", "tool"):
        return "it ended the run after a tool, whose result has to be recorded first"
    if decision.kind == "change":
        if decision.what != CHANGES[when, of]:
            can = f"only {CHANGES[when, of]}= can" if CHANGES[when, of] else "nothing can"
            return f"it changed the {decision.what} {here}, where {can} be changed"
        wanted = {"arguments": dict, "chat": Chat, "result": str}[decision.what]
        if not isinstance(decision.changed, wanted):
            return f"it changed the {decision.what} to a {type(decision.changed).__name__}"
    return ""


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{name} must be a str, not {value!r:.100}")
    return mask(value)


def _reason(why: Any) -> str:
    if not isinstance(why, str) or not why.strip():
        raise UsageError(f"a decision against something needs a reason as a str, not {why!r:.100}")
    return mask(why.strip())

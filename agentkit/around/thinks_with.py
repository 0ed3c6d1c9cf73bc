"""Let an engine take the place of a model for some roles: its steps become visible steps of the same run."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from agentkit.around.base import Around, around
from agentkit.core.messages import Reply
from agentkit.core.steps import Answer, Engine, Loop, Step, Think


def thinks_with(engine: Loop | Callable[..., Engine], *roles: str) -> Around:
    """Answer each `Think` of these roles (of every role, when none is named) by running an engine on its chat.

    The engine is offered the tools of that `Think`. Put it first among the arounds: those behind it see its steps.
    """

    loop = engine if isinstance(engine, Loop) else Loop(engine)

    @around(Think)
    def think(step: Think, memory: dict[str, Any]) -> Generator[Step, Any, Reply]:
        if roles and step.role not in roles:
            return (yield step)
        answer: Answer = yield from loop.begin(step.chat, tools=step.tools)
        return Reply(answer.text, answer=answer.text, raw=answer.text)

    return think

"""Let an engine replace the model for some roles: its steps become visible steps of the same run."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from agentkit.around.base import Around, around
from agentkit.core.messages import Reply
from agentkit.core.steps import Answer, Engine, Loop, Step, Think


def thinks_with(engine: Loop | Callable[..., Engine], *roles: str) -> Around:
    """Return an around that answers each `Think` of these roles by running an engine on its chat.

    Without roles, it answers every `Think`. The engine is offered the tools of the `Think`. Put this around first: the
    arounds after it then see the engine's steps.
    """

    loop = engine if isinstance(engine, Loop) else Loop(engine)

    @around(Think, does="lets another engine think")
    def think(step: Think, memory: dict[str, Any]) -> Generator[Step, Any, Reply]:
        if roles and step.role not in roles:
            return (yield step)
        answer: Answer = yield from loop.begin(step.chat, tools=step.tools)
        return Reply(answer.text, answer=answer.text, raw=answer.text)

    return think

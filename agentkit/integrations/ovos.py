"""The engines as plug-ins of OpenVoiceOS, and its chat engines, toolboxes and memories for an `Agent`.

The plug-ins are entry points in the group `opm.agents.chat`, under the ids of the loops of OVOS ("ovos-react-loop") and
as "agentkit-react". This module needs the extra `ovos`: `pip install 'jupyter-agentkit[ovos]'`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any, ClassVar

from ovos_plugin_manager.templates.agents import AgentMessage, ChatEngine, MessageRole, ToolsArg
from ovos_utils.log import LOG

from agentkit.agent import persona
from agentkit.agent.agent import Agent
from agentkit.agent.opm import chat_engine, memory, toolbox
from agentkit.config import plugins
from agentkit.errors import UsageError
from agentkit.models import brain as brains
from agentkit.models.resolve import is_name

__all__ = ["Brain", "LoopEngine", "chat_engine", "memory", "toolbox"]  # and the engines below


class LoopEngine(ChatEngine):
    """A chat engine of OVOS that runs an engine of agentkit, with a chat engine as its brain, and toolboxes.

    `config` has the options of the engine and of `Agent`; `brain` is the id of a chat engine or the name of a model,
    `toolboxes` a list of ids, and each block under such an id is the configuration of that plug-in. What cannot be
    loaded is left out with a warning in the log. Every call is a run of a new agent, recorded in the journal.
    """

    engine: ClassVar[str]
    """The name of the engine."""

    def __init__(self, config: dict[str, Any] | None = None) -> None:
        super().__init__(config)
        self._brain: Any = None
        self._loading = threading.Lock()
        self._ignored = {"enabled", "lang", "toolboxes"}
        self.toolboxes: list[Any] = []
        try:
            for name in persona.names("toolboxes", self.config.get("toolboxes")):
                self._add_toolbox(str(name))
        except UsageError as error:
            LOG.warning(f"{type(self).__name__}: {error}")

    def _add_toolbox(self, name: str) -> None:
        self._ignored.add(name)
        try:
            self.toolboxes.append(toolbox(name, self.config.get(name)))
        except Exception as error:
            LOG.warning(f"{type(self).__name__}: cannot load the toolbox {name!r}: {error}")

    @property
    def brain(self) -> Any:
        """The chat engine that answers; it is loaded when it is first needed. None if there is none."""
        with self._loading:
            if self._brain is None and (name := self.config.get("brain")) and not _is_model(name):
                try:
                    self.set_brain(chat_engine(name, self.config.get(name)))
                except Exception as error:
                    LOG.warning(f"{type(self).__name__}: cannot load the brain {name!r}: {error}")
            return self._brain

    def set_brain(self, brain: Any) -> None:
        """Use another chat engine as the brain, also of the toolboxes that need one."""
        self._brain = brain
        self._share_brain()

    def load_toolboxes(self, toolboxes: Iterable[Any]) -> None:
        """Use other toolboxes."""
        self.toolboxes = list(toolboxes)
        if self._brain is not None:
            self._share_brain()

    def _share_brain(self) -> None:
        for box in self.toolboxes:
            try:
                if callable(set_brain := getattr(box, "set_brain", None)):
                    set_brain(self._brain)
            except Exception as error:
                LOG.warning(f"{type(self).__name__}: {type(box).__name__} refuses the brain: {error}")

    def agent(self, session_id: str = "default", lang: str | None = None, units: str | None = None) -> Agent:
        """Return a new agent as `config` describes it. Raises `UsageError` for an option that is out of range."""
        options = {key: value for key, value in self.config.items() if key not in self._ignored}
        model: Any = None
        if not _is_model(self.config.get("brain")):
            chosen = self.brain
            model = brains.NoBrain("it has none") if chosen is None else Brain(chosen, session_id, lang, units)
        options |= {"tools": self.toolboxes, "raise_errors": True}
        return persona.load({"solvers": [self.engine], self.engine: options}, model)

    def continue_chat(
        self,
        messages: list[AgentMessage],
        session_id: str = "default",
        lang: str | None = None,
        units: str | None = None,
        tools: ToolsArg = None,
    ) -> AgentMessage:
        """Return the answer to a conversation. `tools` is ignored, as this engine calls the tools of its toolboxes.

        Raises what the brain raised, so that a persona asks its next handler.
        """
        result = self.agent(session_id, lang, units).run(messages)
        return AgentMessage(MessageRole.ASSISTANT, result.answer)


class Brain:
    """A chat engine for one conversation: it is told the session, the language and the units, by one thread at a time.

    An engine may ask it for several thoughts at once, which chat engines of OVOS do not expect.
    """

    def __init__(
        self, engine: Any, session_id: str = "default", lang: str | None = None, units: str | None = None
    ) -> None:
        self.name = type(engine).__name__
        self.supports_tools = getattr(engine, "supports_tools", False) is True
        self._engine = engine
        self._about = {"session_id": session_id, "lang": lang, "units": units}
        self._lock = threading.Lock()

    def continue_chat(self, messages: list[AgentMessage], tools: Any = None) -> AgentMessage:
        """Return the reply; `tools` are passed on only to an engine that supports them."""
        more = {"tools": tools} if self.supports_tools else {}
        with self._lock:
            return self._engine.continue_chat(messages, **self._about, **more)


def _is_model(name: Any) -> bool:
    """Return whether a brain is a model that agentkit finds by its name."""
    return isinstance(name, str) and (is_name(name) or name in plugins("models"))


class ReAct(LoopEngine):
    engine = "react"


class ChainOfThought(LoopEngine):
    engine = "chain_of_thought"


class PlanAndExecute(LoopEngine):
    engine = "plan_and_execute"


class Reflexion(LoopEngine):
    engine = "reflexion"


class SelfAsk(LoopEngine):
    engine = "self_ask"


class Critic(LoopEngine):
    engine = "critic"


class TreeOfThoughts(LoopEngine):
    engine = "tree_of_thoughts"


class Dag(LoopEngine):
    engine = "dag"


class Auto(LoopEngine):
    engine = "auto"


class SelfRefine(LoopEngine):
    engine = "self_refine"


class ReWOO(LoopEngine):
    engine = "rewoo"

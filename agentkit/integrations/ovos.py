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
from agentkit.errors import ModelError, UsageError
from agentkit.models import brain as brains
from agentkit.models.resolve import is_name
from agentkit.tools import builtin

__all__ = [
    "Auto",
    "Brain",
    "ChainOfThought",
    "Critic",
    "Dag",
    "LoopEngine",
    "PlanAndExecute",
    "ReAct",
    "ReWOO",
    "Reflexion",
    "SelfAsk",
    "SelfRefine",
    "TreeOfThoughts",
    "chat_engine",
    "memory",
    "toolbox",
]


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
        self._named = self.config.get("brain") or self.config.get("model")
        self._not_options = {"enabled", "lang", "brain", "model", "toolboxes", "tools"}
        self.toolboxes: list[Any] = []
        for key in ("toolboxes", "tools"):
            try:
                for name in persona.names(key, self.config.get(key)):
                    self._add_toolbox(str(name))
            except UsageError as error:
                LOG.warning(f"{type(self).__name__}: {error}")

    def _add_toolbox(self, name: str) -> None:
        self._not_options.add(name)
        try:
            is_ours = name in builtin.NAMES or name in plugins("toolboxes")
            self.toolboxes.append(builtin.box(name) if is_ours else toolbox(name, self.config.get(name)))
        except Exception as error:
            LOG.warning(f"{type(self).__name__}: cannot load the toolbox {name!r}: {error}")

    @property
    def brain(self) -> Any:
        """The chat engine that answers; it is loaded when it is first needed. None if there is none."""
        with self._loading:
            if self._brain is None and self._named and not _is_model(self._named):
                try:
                    self.set_brain(chat_engine(self._named, self.config.get(self._named)))
                except Exception as error:
                    LOG.warning(f"{type(self).__name__}: cannot load the brain {self._named!r}: {error}")
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
        options = {key: value for key, value in self.config.items() if key not in self._not_options}
        chosen = self.brain
        model: Any = None
        if chosen is not None:
            model = Brain(chosen, session_id, lang, units)
            options.pop(str(self._named), None)
        elif _is_model(self._named):
            options["model"] = self._named
        else:
            model = brains.NoBrain("no brain is configured, or it cannot be loaded")
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

        Raises what the brain raised, and `ModelError` if there is no answer, so that a persona asks its next handler.
        """
        result = self.agent(session_id, lang, units).run(messages)
        if result.reason == "empty_reply" or not result.answer.strip():
            raise ModelError(result.answer or f"the run ended without an answer ({result.reason})")
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

"""A model that plays every role of every engine: it reads the role and the text of each request."""

from __future__ import annotations

import threading

from agentkit import Call, Reply, tool
from agentkit.models.base import Abilities, Request


@tool(effect="pure")
def look(query: str) -> str:
    """Look something up."""
    return f"found: {query}"


class Actor:
    """A model whose replies let each engine finish, and that uses the tool once wherever possible."""

    name = "actor"
    abilities = Abilities(tools=True)

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self._lock = threading.Lock()

    def __call__(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
        return getattr(self, request.role, self.thought)(request)

    def heard(self) -> str:
        """All messages to the model, in one text."""
        return "\n".join(message.text for request in self.requests for message in request.chat)

    def thought(self, request: Request) -> Reply:
        last = list(request.chat)[-1]
        if "So the final answer is:" in request.chat[0].text:
            known = last.text.startswith("Intermediate answer")
            return Reply(f"So the final answer is: {last.text}" if known else "Follow up: who?")
        if request.offered and last.role != "tool":
            return Reply("I look", (Call("look", {"query": "it"}, f"c{len(request.chat)}"),))
        return Reply(f"FINAL ANSWER: after {last.text[-60:].replace('ANSWER:', 'an answer,')}")

    def plan(self, request: Request) -> Reply:
        if "#E1 = name[input]" in request.chat[-1].text:
            return Reply("Plan: look\n#E1 = look[it]\nPlan: think\n#E2 = LLM[what of #E1?]")
        return Reply("1. look it up\n2. say it [after: 1]")

    def critique(self, request: Request) -> Reply:
        return Reply(
            "VERIFIED: all" if "revised" in request.chat[-1].text else "CLAIM: it\nTOOL: look\nTOOL INPUT: it?"
        )

    def revise(self, request: Request) -> Reply:
        return Reply("revised: " + request.chat[-1].text.partition("Tool result: ")[2][:60])

    def feedback(self, request: Request) -> Reply:
        return Reply("DONE: good" if "revised" in request.chat[-1].text else "too short")

    def evaluate(self, request: Request) -> Reply:
        return Reply("SATISFACTORY\nScore: 7")

    def propose(self, request: Request) -> Reply:
        return Reply(f"a step after {request.chat[-1].text.count('. a step')}")

    def answer(self, request: Request) -> Reply:
        return Reply(f"ANSWER: {request.chat[-1].text[-80:-40]}")

    def analyze(self, request: Request) -> Reply:
        step_two = request.chat[-1].text.partition("Step 2")[2][:90]
        return Reply(f"ACHIEVED: yes\nCONFIDENCE: 0.9\nANSWER: {step_two}")

    def choose(self, request: Request) -> Reply:
        return Reply("CHOICE: STEPWISE")

    def synthesize(self, request: Request) -> Reply:
        return Reply("in sum: " + request.chat[-1].text.partition("Step 1")[2][:90])

"""Hooks and guardrails: functions of your own before and after tools, model calls and runs.

A hook decides about one call, one request or one answer: it allows it, denies it, changes it or adds a message. A
guardrail is a hook that checks a text and trips if something is wrong with it. Both run in the job that performs a
step, with a time limit, and what they decide is recorded; so a replay runs none of them. A hook that raises, takes too
long or returns something else than a decision denies.
"""

from agentkit.hooks.builtin import injection, invented, length, schema, secrets
from agentkit.hooks.decision import Decision, allow, ask, change, deny, finish
from agentkit.hooks.guardrail import guardrail
from agentkit.hooks.hook import Hook, hook
from agentkit.hooks.judge import judge

__all__ = [
    "Decision",
    "Hook",
    "allow",
    "ask",
    "change",
    "deny",
    "finish",
    "guardrail",
    "hook",
    "injection",
    "invented",
    "judge",
    "length",
    "schema",
    "secrets",
]

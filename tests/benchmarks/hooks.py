"""What hooks cost: CPU per turn of a ReAct run with a free model and a free tool, without hooks and with some.

A turn is one model call and one tool call. Without hooks, a step should cost nothing more. Each hook that matches runs in
a thread of its own, which is most of its cost. All take turns within a round, and the best round counts.
"""

from __future__ import annotations

from typing import Any

from loop_overhead import print_costs

from agentkit.hooks import hook


def cases() -> dict[str, list[Any]]:
    """Return the hooks of each case."""
    nothing = hook("before", tool="ad*")(lambda call: None)
    other = hook("before", tool="shell*")(lambda call: None)
    after = hook("after")(lambda call, message: None)
    model = hook("before", "model")(lambda step: None)
    return {
        "no hooks": [],
        "a hook of other tools": [other],
        "a hook before the tool": [nothing],
        "a hook after the tool": [after],
        "a hook before the model": [model],
        "ten hooks before the tool": [nothing] * 10,
        "hooks before and after both": [nothing, after, model, hook("after", "model")(lambda step, reply: None)],
    }


def main() -> None:
    """Print the figures."""
    print_costs("hooks", {name: {"hooks": hooks} if hooks else {} for name, hooks in cases().items()})


if __name__ == "__main__":
    main()

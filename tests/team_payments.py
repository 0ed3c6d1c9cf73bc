"""Pay eight amounts in a run that is recorded on PostgreSQL; with the name of a run, go on with that run.

    python tests/team_payments.py postgresql://... FILE BASE [RUN]

A payment is a line of FILE, which is on the disk before the call returns. If the run asks about a call that may have
run, the file is looked at, as a person would look at the bank's statement. Prints the name of the run, then the number of
such questions when the run has ended.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from agentkit import Agent, Call, Loop, Reply, Run, tool
from agentkit.errors import JournalInUse
from agentkit.models.base import Abilities, Request

AMOUNTS = 8


def main() -> None:
    url, path, base = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])

    @tool(effect="irreversible")
    def pay(amount: int) -> str:
        """Pay an amount."""
        with path.open("a") as file:
            file.write(f"{amount}\n")
            file.flush()
            os.fsync(file.fileno())
        time.sleep(0.05)
        return f"paid {amount}"

    class Payer:
        name = "payer"
        abilities = Abilities(tools=True)

        def __call__(self, request: Request) -> Reply:
            paid = sum(message["role"] == "tool" for message in request.messages)
            return Reply("I pay.", (Call("pay", {"amount": base + paid}),)) if paid < AMOUNTS else Reply("All paid.")

    agent = Agent(Payer(), [pay], engine=Loop("react", max_iterations=20), journal=url)
    run = resumed(agent, sys.argv[4]) if len(sys.argv) > 4 else agent.start("Pay.", paused=True)
    print(run.id, flush=True)
    asked = 0
    run.drive()
    while run.waiting:
        asked += 1
        step: Any = run.waiting[0][0].step
        if str(step.call.arguments["amount"]) in path.read_text().split():
            run.respond(f"paid {step.call.arguments['amount']}")
        else:
            run.approve()
        run.drive()
    assert run.answer == "All paid.", (run.status, run.answer, run.error)
    run.close()
    print(asked, flush=True)


def resumed(agent: Agent, name: str) -> Run:
    """Go on with a run as soon as the server has noticed that its process was killed."""
    end = time.monotonic() + 60
    while True:
        try:
            return agent.resume(name)
        except JournalInUse:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


if __name__ == "__main__":
    main()

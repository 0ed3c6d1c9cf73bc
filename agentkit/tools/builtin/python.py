"""Python: a tool that runs a program that a model wrote, in a sandbox or, with your approval, in your kernel."""

from __future__ import annotations

import sys

from agentkit.core.checked_arguments import checked
from agentkit.errors import ToolError
from agentkit.sandbox.programs import Program, Sandbox
from agentkit.tools.builtin.shell import result_of
from agentkit.tools.tool import tool
from agentkit.tools.toolbox import ToolBox

MAX_CODE = 100_000


class Python(ToolBox):
    """A tool that runs a program in Python, each in a new process in a sandbox: by default `Sandbox("auto")`.

    It is this Python with its packages, in the working folder of the sandbox.
    """

    @checked
    def __init__(self, sandbox: Sandbox | None = None) -> None:
        super().__init__(name="python")
        self.sandbox = sandbox or Sandbox()

    @tool(effect="irreversible", timeout=None)
    async def run_python(self, code: str) -> str:
        """Run a program in Python and return what it prints. Each program starts anew; it keeps no variables.

        Args:
            code: The program. Print what you want to see.
        """
        if len(code) > MAX_CODE or "\0" in code:
            raise ToolError(f"the program has more than {MAX_CODE:,} characters, or null characters")
        return (await result_of(Program(self.sandbox, [sys.executable, "-I", "-"], code))).text

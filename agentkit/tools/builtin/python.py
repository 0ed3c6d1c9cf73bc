"""Python: a tool that runs a program that a model wrote, in a sandbox or, with your approval, in your kernel."""

from __future__ import annotations

import contextlib
import io
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from agentkit.core.checked_arguments import checked
from agentkit.core.text import error_line
from agentkit.errors import ToolError, UsageError
from agentkit.sandbox.programs import Program, Sandbox
from agentkit.tools.builtin.shell import result_of
from agentkit.tools.tool import tool
from agentkit.tools.toolbox import ToolBox

MAX_CODE = 100_000
MAX_OUTPUT = 30_000
SECONDS_TO_BEGIN = 30.0
"""How long a program waits for the cell that the kernel runs at the moment."""


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
        _check(code)
        return (await result_of(Program(self.sandbox, [sys.executable, "-I", "-"], code))).text


class Kernel(ToolBox):
    """A tool that runs code in your kernel, with your variables and all your rights.

    Nothing holds it, so a person has to approve each call. The code runs in the thread of your cells, between them.
    Raises `UsageError` outside of IPython.
    """

    def __init__(self) -> None:
        super().__init__(name="kernel")
        self._shell()

    @tool(effect="irreversible", approve=True, timeout=None)
    def run_in_kernel(self, code: str) -> str:
        """Run code in the person's kernel, with the variables of their notebook, and return what it prints.

        Args:
            code: The code in Python. Print what you want to see.
        """
        _check(code)
        shell = self._shell()
        try:
            transformed = shell.transform_cell(code)
        except SyntaxError as error:
            raise ToolError(f"the code raised {error_line(error)}") from None
        if shell.should_run_async(code, transformed_cell=transformed):
            raise ToolError("code with await at the top level is not run; call asyncio.create_task, or write no await")
        return _in_main_thread(shell, lambda: _run_cell(shell, code))

    @staticmethod
    def _shell() -> Any:
        ipython = sys.modules.get("IPython")
        shell = ipython.get_ipython() if ipython else None
        if shell is None:
            raise UsageError("there is no kernel here: Kernel() is for notebooks and IPython; use Python()")
        return shell


def _run_cell(shell: Any, code: str) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        result = shell.run_cell(code, silent=True)
    error = result.error_before_exec or result.error_in_exec
    text = printed.getvalue()[:MAX_OUTPUT]
    if error is not None:
        raise ToolError("\n".join(filter(None, [f"the code raised {error_line(error)}", text])))
    return text or "(no output)"


def _in_main_thread(shell: Any, function: Callable[[], str]) -> str:
    """Call a function in the main thread, where cells run, and return its result.

    Raises `ToolError` if the kernel runs a cell that does not end.
    """
    loop = getattr(getattr(shell, "kernel", None), "io_loop", None)
    if threading.current_thread() is threading.main_thread():
        return function()
    if loop is None:
        raise ToolError(
            "the code was not run: outside of a notebook, it runs only if you take the step with run.step()"
        )
    future: Future[str] = Future()
    begun = threading.Event()

    def call() -> None:
        if not future.set_running_or_notify_cancel():
            return
        begun.set()
        try:
            future.set_result(function())
        except BaseException as error:
            future.set_exception(error)

    loop.add_callback(call)
    if not begun.wait(SECONDS_TO_BEGIN) and future.cancel():
        raise ToolError("the code was not run: the kernel runs a cell that has not ended")
    return future.result()


def _check(code: str) -> None:
    if len(code) > MAX_CODE or "\0" in code:
        raise ToolError(f"the program has more than {MAX_CODE:,} characters, or null characters")

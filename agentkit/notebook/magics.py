# mypy: disable-error-code="no-untyped-call, untyped-decorator"
"""`%agent` and `%%agent`: start a run in one line, and control it in others."""

from __future__ import annotations

from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class, needs_local_scope, no_var_expand
from IPython.core.magic_arguments import argument, magic_arguments
from traitlets import Any as AnyTrait
from traitlets import Bool, Int, Unicode

from agentkit.core.text import one_line
from agentkit.errors import AgentkitError, EngineError
from agentkit.errors import UsageError as AgentkitUsage
from agentkit.notebook import commands, completion, input_transformers, listings, namespace, tapes
from agentkit.notebook.arguments import check_name, check_text, parse, split_options
from agentkit.notebook.command import COMMANDS, perform
from agentkit.notebook.display import Notice
from agentkit.notebook.session import Session
from agentkit.tools import builtin

__all__ = ["AgentMagics", "commands", "listings", "load", "tapes", "unload"]


@magics_class
class AgentMagics(Magics):
    """The magics, and their defaults: `%config AgentMagics.model = "offline"`."""

    model = AnyTrait(
        None, allow_none=True, help="The model: a name, or a model; None chooses one, see %agent models."
    ).tag(config=True)
    engine = AnyTrait("react", help="The engine: a name, module:function, or a generator function.").tag(config=True)
    tools = Unicode(",".join(builtin.BOXES), help="The names of the tools, separated by commas.").tag(config=True)
    iterations = Int(0, min=0, help="The maximum number of iterations; 0 leaves it to the engine.").tag(config=True)
    journal = AnyTrait("sqlite", allow_none=True, help='Where runs are kept: "sqlite", "memory", a path, None.').tag(
        config=True
    )
    wait = Bool(False, help="Wait for each run and show it once; AGENTKIT_NONINTERACTIVE=1 has the same effect.").tag(
        config=True
    )

    def __init__(self, shell: Any = None, **options: Any) -> None:
        super().__init__(shell, **options)
        self.session = Session(shell, self)
        self.parser: Any = vars(AgentMagics)["agent"].parser

    @no_var_expand
    @needs_local_scope
    @line_cell_magic
    @magic_arguments()
    @argument("-m", "--model", metavar="MODEL", help="a model: a name (%%agent models) or a variable")
    @argument(
        "-e", "--engine", metavar="ENGINE", help="an engine: a name (%%agent engines), module:function, or a variable"
    )
    @argument(
        "-t", "--tools", metavar="TOOLS", help="built-in toolboxes (%%agent tools) and variables, separated by commas"
    )
    @argument("-n", "--iterations", type=int, metavar="N", help="the maximum number of iterations of the engine")
    @argument("-o", "--output", metavar="VARIABLE", help="a variable for the run, besides agent_run")
    @argument("-p", "--pause", action="store_true", help="pause the run before its first step")
    @argument("-w", "--wait", action="store_true", help="wait until the run ends or pauses, then show it once")
    @argument(
        "-r", "--run", metavar="RUN", help="for a command: a variable that holds a run, or the beginning of its id"
    )
    @argument("--fill", action="store_true", help="expand {name} in the cell's body too")
    def agent(self, line: str, cell: str | None = None, local_ns: dict[str, Any] | None = None) -> Any:
        """Start a run of an agent and return at once, or control a run.

        %agent [options] task words
        %agent COMMAND …

        The run continues in the background and is shown here. The variable `agent_run` holds it, so `await agent_run`
        in the next cell waits for it. Options go before the task. {name} in the line is replaced by the value of your
        variable; in the body of %%agent, only with --fill. %agent help lists the commands.
        """
        self.session.local = local_ns or {}
        try:
            return self._execute(line, cell)
        except EngineError:
            raise
        except (AgentkitError, UsageError, ValueError) as error:
            raise UsageError(_error_line(error)) from None
        finally:
            self.session.local = {}

    def _execute(self, line: str, cell: str | None) -> Any:
        parser = self.parser
        options, text, is_literal = split_options(line, parser)
        word, _, rest = text.partition(" ")
        if not is_literal and word in COMMANDS:
            return perform(self.session, COMMANDS[word], options, rest, cell)
        if not is_literal:
            check_name(word, rest, COMMANDS)
            check_text(text, parser)
        args = parse(parser, options)
        names = self.session.names
        body = (namespace.expand(cell, names) if args.fill else cell).strip("\n") if cell is not None else ""
        task = "\n".join(part for part in (namespace.expand(text, names), body) if part.strip())
        if args.run:
            raise UsageError("-r selects the run of a command; a task starts a new run, which -o can name")
        if not task:
            return self._current(options)
        return self.session.start(args, task)

    def _current(self, options: list[str]) -> Any:
        """Return the current run, for `%agent` alone."""
        if options:
            raise UsageError("the task is missing: %agent [options] TASK")
        return self.session.current or Notice("%agent TASK starts a run; %agent help lists the commands")


def _error_line(error: Exception) -> str:
    """Return an error in one line; with its type, unless it is about the use of the magic."""
    is_about_use = isinstance(error, AgentkitUsage | UsageError | ValueError)
    return one_line(error if is_about_use else f"{type(error).__name__}: {error}", 1000)


def load(shell: Any) -> None:
    """Register the magics and their completion."""
    unload(shell)
    magics = AgentMagics(shell=shell)
    shell.register_magics(magics)
    input_transformers.load(shell)

    def complete(_: Any, event: Any) -> list[str]:
        if shell.magics_manager.registry.get("AgentMagics") is not magics:
            return []
        line = getattr(event, "text_until_cursor", event.line)
        return completion.complete(magics.session, magics.parser, line, event.symbol)

    for key in ("%agent", "%%agent"):
        shell.set_hook("complete_command", complete, str_key=key)


def unload(shell: Any) -> None:
    """Remove the magics, if they are registered."""
    magics = shell.magics_manager.registry.pop("AgentMagics", None)
    if magics is None:
        return
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("agent", None)
    shell.configurables.remove(magics)
    input_transformers.unload(shell)

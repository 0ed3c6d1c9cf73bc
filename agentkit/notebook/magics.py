# mypy: disable-error-code="no-untyped-call, untyped-decorator"
"""`%agent` and `%%agent`: a run in a line, and everything that can be done to it in another."""

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
from agentkit.notebook import commands, completion, listings, namespace, questions, tapes
from agentkit.notebook.arguments import check_name, check_text, parse, split
from agentkit.notebook.command import COMMANDS, perform
from agentkit.notebook.display import Remark
from agentkit.notebook.session import Session
from agentkit.tools import builtin

__all__ = ["AgentMagics", "commands", "listings", "load", "tapes", "unload"]


@magics_class
class AgentMagics(Magics):
    """What `%agent` does when it is not told otherwise: `%config AgentMagics.model = "offline"`."""

    model = AnyTrait(None, allow_none=True, help="The model: a name, or a model; None chooses, see %agent models.").tag(
        config=True
    )
    engine = AnyTrait("react", help="The engine: a name, module:function, or a generator function.").tag(config=True)
    tools = Unicode(",".join(builtin.BOXES), help="The tools, by name, with commas between.").tag(config=True)
    iterations = Int(0, min=0, help="The limit of iterations; 0 leaves it to the engine.").tag(config=True)
    journal = AnyTrait("sqlite", allow_none=True, help='Where runs are kept: "sqlite", "memory", a path, None.').tag(
        config=True
    )
    wait = Bool(False, help="Wait for each run and show it once; so does AGENTKIT_NONINTERACTIVE=1.").tag(config=True)

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
        "-t", "--tools", metavar="TOOLS", help="built-in boxes (%%agent tools) and variables, with commas between"
    )
    @argument("-n", "--iterations", type=int, metavar="N", help="how often the engine goes around, at the most")
    @argument("-o", "--output", metavar="VARIABLE", help="a variable for the run; agent_run holds it in any case")
    @argument("-p", "--pause", action="store_true", help="hold the run before its first step")
    @argument("-w", "--wait", action="store_true", help="wait until the run rests, and show it once")
    @argument("-r", "--run", metavar="RUN", help="for a command: the run that is meant, by variable or id")
    @argument("--fill", action="store_true", help="expand {name} in the cell's body, too")
    def agent(self, line: str, cell: str | None = None, local_ns: dict[str, Any] | None = None) -> Any:
        """Start a run of an agent and return at once; or do something to a run.

        %agent [options] task words
        %agent COMMAND …

        The run goes on in the background and is shown here; `agent_run` holds it, so `await agent_run` in the next cell
        waits for it. Options stand before the task. {name} in the line is your variable; in the body of %%agent only
        with --fill. %agent help lists the commands.
        """
        self.session.local = local_ns or {}
        try:
            return self._obey(line, cell)
        except EngineError:
            raise
        except (AgentkitError, UsageError, ValueError) as error:
            raise UsageError(_one_line(error)) from None
        finally:
            self.session.local = {}

    def _obey(self, line: str, cell: str | None) -> Any:
        parser = self.parser
        given, text, literal = split(line, parser)
        word, _, rest = text.partition(" ")
        if not literal and word in COMMANDS:
            return perform(self.session, COMMANDS[word], given, rest, cell)
        if not literal:
            check_name(word, rest, COMMANDS)
            check_text(text, parser)
        args = parse(parser, given)
        names = self.session.names
        body = (namespace.expand(cell, names) if args.fill else cell).strip("\n") if cell is not None else ""
        task = "\n".join(part for part in (namespace.expand(text, names), body) if part.strip())
        if args.run:
            raise UsageError("-r chooses the run of a command; a task starts a run of its own, which -o names")
        if not task:
            return self._where(given)
        return self.session.start(args, task)

    def _where(self, given: list[str]) -> Any:
        """Show the current run, for `%agent` alone."""
        if given:
            raise UsageError("the task is missing: %agent [options] TASK")
        return self.session.current or Remark("%agent TASK starts a run; %agent help lists what can be done with it")


def _one_line(error: Exception) -> str:
    """Say what went wrong; what is no mistake in the use (a model, a journal) is named."""
    is_use = isinstance(error, AgentkitUsage | UsageError | ValueError)
    return one_line(error if is_use else f"{type(error).__name__}: {error}", 1000)


def load(shell: Any) -> None:
    """Register the magics and their completion."""
    unload(shell)
    magics = AgentMagics(shell=shell)
    shell.register_magics(magics)
    questions.load(shell)

    def offer(_: Any, event: Any) -> list[str]:
        if shell.magics_manager.registry.get("AgentMagics") is not magics:
            return []
        until = getattr(event, "text_until_cursor", event.line)
        return completion.complete(magics.session, magics.parser, until, event.symbol)

    for key in ("%agent", "%%agent"):
        shell.set_hook("complete_command", offer, str_key=key)


def unload(shell: Any) -> None:
    """Take the magics away, if they are there."""
    magics = shell.magics_manager.registry.pop("AgentMagics", None)
    if magics is None:
        return
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("agent", None)
    shell.configurables.remove(magics)
    questions.unload(shell)

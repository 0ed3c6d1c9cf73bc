"""Hostile text is inert at every border: in reprs, errors, logs, warnings, printed lines, HTML, Markdown and notebooks.

`AGENTKIT_SIZE` sets how many texts are tried.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import logging
import sys
import traceback
import unicodedata
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hostile_text import RAW, forged_lines, hostile_engine, hostile_run, moments, raw_characters, texts

import agentkit
from agentkit import (
    Act,
    Agent,
    All,
    Answer,
    Ask,
    Budget,
    Call,
    Chat,
    Conclude,
    Loop,
    Message,
    Reply,
    Run,
    Think,
    errors,
    inert,
    load,
)
from agentkit.agent import persona
from agentkit.agent.log import attach
from agentkit.core.log import logger
from agentkit.core.text import call_text, one_line
from agentkit.core.usage import Usage
from agentkit.errors import AgentkitError, Control, Unknown
from agentkit.export import html, markdown, playback, to_html, to_markdown, to_notebook
from agentkit.gates.breakpoints import Breakpoint
from agentkit.inert import for_terminal, visible
from agentkit.journal.entries import Entry, Note, RunInfo
from agentkit.models.fallback import Fallback
from agentkit.models.scripted import Scripted
from agentkit.notebook.display import Listing, Notice, StepPrinter
from agentkit.tools.toolbox import ToolBox
from agentkit.tools.toolset import ToolSet

TEXTS = list(texts())
every_text = pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
ROOT = Path(agentkit.__file__).parent


# -- which characters --------------------------------------------------------------------------------------------------

CASES = json.loads((Path(__file__).parent / "hidden_characters.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("text", "shown"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_hidden_characters_are_escapes_and_prose_stays_as_it_is(text: str, shown: str) -> None:
    assert visible(text) == shown and visible(shown) == shown


def test_each_control_and_format_character_between_letters_is_an_escape() -> None:
    has_a_glyph = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD, *range(0x13430, 0x13460)}
    for code in set(range(sys.maxunicode + 1)) - has_a_glyph - {ord("\n"), ord("\t")}:
        character = chr(code)
        if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
            assert visible(f"a{character}b").isprintable(), f"U+{code:04X}"


def test_a_line_of_several_has_no_line_break_of_its_own() -> None:
    assert for_terminal("a\r\nb\nc\td") == r"a\nb\nc\td"
    assert for_terminal("a\r\nb\nc\td", lines=True) == "a\nb\nc\td"


def test_a_previewed_text_and_a_call_are_one_inert_line() -> None:
    for text in TEXTS:
        for line in (one_line(text, 1_000), call_text(Call(text, {text: text}))):
            assert (not raw_characters(line) and "\n" not in line and "FORGED" in line) or "FORGED" not in text


# -- reprs -------------------------------------------------------------------------------------------------------------


def values(run: Run) -> Iterator[Any]:
    """Yield the values that a person gets from a run."""
    yield from (run, run.result, run.usage, run.agent, run.agent.model, run.agent.tools, run.branches(), run.info())
    yield from (run.waiting, run.pending, run.where(), run.state, run.state.breakpoints, run.task, *run.events())
    yield from (*run.entries, *run.agent.tools.tools, run.trace.journal)
    for entry in run.entries:
        yield from (entry.step, entry.performed, entry.result, getattr(entry.step, "chat", None))
        yield from getattr(entry.step, "chat", None) or ()
        yield from getattr(entry.result, "messages", ())
        yield from getattr(entry.result, "calls", ())


def made_of(text: str) -> Iterator[Any]:
    """Yield values of every public type that consist of a text."""
    call, chat, usage = Call(text, {text: text}, text, text, text, (text,)), Chat.of(text), Usage(text)
    tool = hostile_run(text).agent.tools.tools[0]
    yield from (call, chat, *chat, Message("tool", text, (call,), text, text, False, text, value={text: text}), usage)
    yield from (Reply(text, (call,), text), Answer(text, chat), Ask(text, (text,)), Conclude(chat, text), Act(call))
    yield from (Think(chat, role=text, tags={text: text}), All((Act(call),), role=text), Loop(text, **{"x": text}))
    yield from (Budget(), Breakpoint(tool=text), Breakpoint(role=text), Note(text, {text: text}, run=text))
    yield from (
        RunInfo(text, text, text, text, text, text, 1, 0, 0, text),
        Entry(0, "ask", text, 0, Ask(text), result=text, author=text, original=1),
    )
    yield from (Scripted([text], name=text), Fallback([Scripted([text], name=text)]), Notice(text), ToolSet.of([tool]))
    yield from (Listing((text, text), [(text, text)], text), ToolBox([tool], name=text), playback.Observation(chat[0]))


def shown_by(value: Any) -> Iterator[str]:
    """Yield what `print` and a prompt show of a value."""
    if isinstance(value, str):
        return  # data, which its owner prints; a prompt shows its repr, which is Python's
    yield from (str(value), repr(value), f"{value}")


def ours(value: Any) -> bool:
    """Return whether the repr is our own; that of a dataclass or a container is Python's, which escapes control and
    format characters and takes variation selectors and fillers for printable ones.
    """
    code = getattr(type(value).__repr__, "__code__", None)
    return code is not None and code.co_filename == inert.__file__


def assert_inert(value: Any) -> None:
    for shown in shown_by(value):
        found = raw_characters(shown)
        if not ours(value):
            found = [character for character in RAW.findall(shown) if not character.isprintable()]
        assert not found, f"{type(value).__name__}: {found}"
    if not isinstance(value, Notice | playback.Observation):  # these are texts of several lines
        assert not forged_lines(repr(value)), type(value).__name__


@every_text
def test_reprs_of_a_run_and_its_parts_are_inert(text: str) -> None:
    for moment in moments(text):
        for value in values(moment):
            assert_inert(value)
        assert not forged_lines(repr(moment))
        fork = moment.fork()
        assert_inert(fork)
        assert not raw_characters(fork.forecast) and not forged_lines(fork.forecast)
    assert not raw_characters(str(moment.result)) and moment.result.answer == text.strip()  # engines strip answers


@every_text
def test_names_of_roles_and_of_missing_parts_are_inert(text: str) -> None:
    model, engine = Scripted([text], name=text), Loop(hostile_engine, role=text)
    run = Agent(model, engine=engine, journal="memory").start("x", paused=True)
    waiting = repr(run)
    run.step()
    for shown in (waiting, repr(run), repr(load(hostile_run(text).to_json()))):
        assert not raw_characters(shown) and not forged_lines(shown)
        assert "TEXT" in shown


@every_text
def test_reprs_of_every_public_type_are_inert(text: str) -> None:
    for value in made_of(text):
        assert_inert(value)


def test_the_reprs_that_are_checked_include_those_of_every_public_type() -> None:
    checked = {type(value) for value in (*made_of("x"), *values(hostile_run("x")))}
    public = {getattr(agentkit, name) for name in agentkit.__all__}
    not_shown = {agentkit.Stepper}  # has Python's own repr, without any text
    assert {kind for kind in public if isinstance(kind, type)} - checked - not_shown - {agentkit.Status} == set()


# -- errors ------------------------------------------------------------------------------------------------------------


def error_types(base: type[BaseException]) -> Iterator[type[BaseException]]:
    for kind in base.__subclasses__():
        yield kind
        yield from error_types(kind)


ERRORS = [kind for kind in (*error_types(AgentkitError), *error_types(Control)) if kind.__module__ == errors.__name__]


@every_text
@pytest.mark.parametrize("kind", ERRORS)
def test_a_traceback_of_our_errors_is_inert(kind: type[BaseException], text: str) -> None:
    error = Unknown(text, text, [text + "."], of=text) if kind is Unknown else kind(text)
    try:
        raise error
    except kind as raised:
        shown = "".join(traceback.format_exception(raised))
    assert not raw_characters(shown) and not raw_characters(str(error))
    assert kind is Unknown or text in error.args[0]


def test_the_error_of_a_host_is_inert_for_whoever_prints_it() -> None:
    for text in TEXTS:
        *_, failed, _ = (moment.result.error for moment in moments(text))
        assert "400" in str(failed) and not raw_characters(f"{failed}")


# -- logs, warnings and printed lines ----------------------------------------------------------------------------------


@contextlib.contextmanager
def logged(level: int) -> Iterator[io.StringIO]:
    """Log to a stream of text, with a plain handler."""
    stream, before = io.StringIO(), logger.level
    handler = logging.StreamHandler(stream)
    logger.addHandler(handler)
    logger.setLevel(level)
    try:
        yield stream
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


@every_text
@pytest.mark.parametrize("level", [logging.DEBUG, logging.INFO])
def test_each_record_of_the_log_is_one_inert_line(text: str, level: int) -> None:
    with logged(level) as stream:
        for moment in moments(text):
            if moment.status == "paused":
                attach(moment)
        logger.warning("%s and %s", text, [text])
        logger.getChild("part").warning(for_terminal(text))
    shown = stream.getvalue()
    assert "🔧" in shown and "❌" in shown
    assert not raw_characters(shown) and not forged_lines(shown)


def test_a_logged_traceback_is_inert() -> None:
    with logged(logging.ERROR) as stream:
        for text in TEXTS:
            try:
                raise ValueError(text)
            except ValueError:
                logger.exception("it failed: %s", text)
    assert "Traceback" in stream.getvalue() and not raw_characters(stream.getvalue())


@every_text
def test_warnings_are_inert_lines(text: str) -> None:
    class Source:
        def get_tool_schemas(self) -> list[Any]:
            raise ValueError(text)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        persona.load({"solvers": [text, "react"], "plugin-config": {"react": {text: 1, "tools": [text]}}}, Scripted([]))
    assert len(caught) >= 3
    for warning in caught:
        shown = warnings.formatwarning(str(warning.message), RuntimeWarning, "file", 1, "")
        assert not raw_characters(shown) and not forged_lines(shown)


@every_text
def test_the_steps_that_are_printed_in_a_terminal_are_inert(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    printers = [StepPrinter(moment) for moment in moments(text) if moment.status == "paused"]
    shown = capsys.readouterr().out
    assert len(printers) == 1 and "Observation" in shown and "400" in shown
    assert not raw_characters(shown) and not forged_lines(shown)


# -- HTML, Markdown and notebooks --------------------------------------------------------------------------------------


@every_text
def test_html_and_markdown_show_hidden_characters(text: str) -> None:
    for moment in moments(text):
        for page in (to_html(moment), to_markdown(moment), moment._repr_html_(), moment._repr_markdown_()):
            assert not raw_characters(page)
        for value in values(moment):
            for form in ("_repr_html_", "_repr_markdown_"):
                page = getattr(value, form)() if hasattr(value, form) else None
                assert not raw_characters(page or "")


@every_text
def test_an_exported_notebook_shows_hidden_characters(text: str) -> None:
    for moment in moments(text):
        for cell in to_notebook(moment).cells:
            assert not raw_characters(cell.source)
            for output in cell.get("outputs", ()):
                assert not raw_characters("".join(map(str, output["data"].values())))


def test_a_frame_a_title_and_a_fence_show_hidden_characters() -> None:
    for text in TEXTS:
        message = Message("tool", text, value={"mime": {"text/html": f"<p>{text}</p><script>"}})
        for page in (html.message(message), markdown.message(message), html.comparison(text, *_tables(text))):
            assert not raw_characters(page)


def _tables(text: str) -> Any:
    from agentkit.export.tables import Table

    return Table([text], [[text]], text), text, Table([], [[text]])


# -- one function for each border --------------------------------------------------------------------------------------

TREES = {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in ROOT.rglob("*.py")}
FOR_MODELS = {"engines/dag.py", "engines/plan_graph.py", "engines/rewoo.py", "engines/tree_of_thoughts.py"} | {
    "engines/plan_and_execute.py",
    "mcp/results.py",
}
"""Modules whose values have a `__str__` for prompts."""


def calls_of(name: str) -> Iterator[tuple[str, ast.Call]]:
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == name:
                yield path, node


def test_each_own_repr_is_marked_as_inert() -> None:
    without_text = {"models/keys.py"}
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name in ("__repr__", "__str__"):
                marks = {ast.unparse(mark) for mark in node.decorator_list}
                of_model = path in FOR_MODELS or (path == "models/offline.py" and node.name == "__str__")
                assert marks & {"inert", "inert_lines"} or of_model or path in without_text, f"{path}:{node.lineno}"


def test_nothing_crosses_a_border_beside_its_function() -> None:
    searched = "core/secrets.py"  # which looks for secrets in their HTML form, and writes no HTML
    assert {path for path, _ in calls_of("html.escape")} - {searched} == {"export/escaping.py"}
    assert {path for path, _ in calls_of("logging.getLogger")} == {"core/log.py"}
    scripts = {"models/tiny/train.py", "models/tiny/evaluate.py"}  # which are run by hand and report figures
    assert {path for path, _ in calls_of("print")} == scripts
    assert {path for path, _ in calls_of("sys.stdout.write")} == {
        "notebook/display.py",
        "classroom/lines.py",
        "serve/server.py",  # the address of a page
    }
    assert {path for path, _ in calls_of("typer.echo")} == {"cli.py"}  # whose streams are inert
    for path, call in calls_of("warnings.warn"):
        assert ast.unparse(call.args[0]).startswith("for_terminal("), f"{path}:{call.lineno}"
    assert not [path for path, tree in TREES.items() if "rich.markup" in ast.unparse(tree)]

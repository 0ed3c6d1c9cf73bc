"""A run as an exercise: a notebook in which chosen steps are hidden, and the reader predicts each of them.

No text of a model or a tool becomes code: it is escaped Markdown, a literal in ASCII, or packed.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable
from typing import Any

from agentkit.core.secrets import mask
from agentkit.core.text import counted, one_line
from agentkit.errors import UsageError
from agentkit.export import literal, parts, text
from agentkit.export.escaping import markdown_inline
from agentkit.export.json import pack, unpack
from agentkit.export.markdown import entry_section, part
from agentkit.export.notebook import notebook_of
from agentkit.export.protocols import RunLike
from agentkit.journal.entries import Entry

_WIDTH = 72
"""Characters in a line of the hidden steps: a notebook scrolls sideways where a line does not fit."""
_LIMITS = parts.Limits(100_000, 0)

_QUESTIONS = {
    "act": "what does {} return?",
    "think": "what does the model think, and which tool does it call, if any?",
    "ask": "what does the person reply?",
    "conclude": "what is the answer?",
}
_STILL_SHOWN = {"act": ("",), "think": ("Interrupt",), "ask": ("",), "conclude": ()}
"""The labels of the parts of a hidden step that its reader sees: what came before the result."""


def to_exercise(
    run: RunLike,
    path: str | os.PathLike[str] | None = None,
    hide: Iterable[int] | None = None,
    *,
    solution: bool = False,
    overwrite: bool = False,
) -> Any:
    """Return a run as a `NotebookNode` that hides the entries `hide` (by default every observation) and asks the reader
    to predict each; write it to `path` if there is one.

    With `solution`, return the solved notebook: every guess is right, and every hidden step is shown. Raises
    `UsageError` if an entry does not exist or can't be hidden.
    """
    entries = run.entries
    hidden = _numbers(entries, hide)
    cells = [_header(run, entries, hidden, solution), _setup({str(n): _result(entries[n]) for n in hidden})]
    for number, entry in enumerate(entries[1:], 1):
        if number in hidden:
            cells += _prediction(entry, number, solution)
        if number not in hidden or solution:
            shown_next = () if number + 1 in hidden else parts.labels_shown_next(entries, number)
            cells.append(_markdown(f"entry-{number}", entry_section(entry, number, _LIMITS, shown_next)))
    cells.append(_code("scores", "scores()"))
    return notebook_of(cells, path, overwrite=overwrite)


def hidden_steps(packed: str) -> dict[int, str]:
    """Return the hidden steps of an exercise, by the number of their entry."""
    return {int(number): str(result) for number, result in unpack(packed).items()}


def _numbers(entries: list[Entry], hide: Iterable[int] | None) -> list[int]:
    """Return the numbers of the entries to hide, sorted. Raises `UsageError`."""
    if hide is None:
        numbers = [number for number, entry in enumerate(entries) if entry.kind == "act"]
    else:
        numbers = sorted(set(hide))
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(entries):
            raise UsageError(f"there is no entry {number!r} to hide: this run has the entries 0 to {len(entries) - 1}")
        if entries[number].kind not in _QUESTIONS:
            raise UsageError(
                f"entry {number} can't be hidden: name thoughts, actions, questions or answers, which have a result"
            )
    if not numbers:
        raise UsageError("there is nothing to hide: name the entries to predict, such as hide=[1, 2]")
    return numbers


def _header(run: RunLike, entries: list[Entry], hidden: list[int], solution: bool) -> dict[str, Any]:
    task = [part(task_part, _LIMITS) for task_part in parts.parts_of(entries[0]).parts]
    spec = run.task
    about = f"{text.summary(run)}; engine {spec['engine'].rpartition(':')[2]}, model {spec['model']}"
    explanation = (
        "Here each guess is the right one, and each hidden step is shown."
        if solution
        else "Before each of them, predict it: commit a guess, then run the next cell to see what really happened. "
        "Nothing is called again."
    )
    return _markdown(
        "task",
        "\n\n".join(
            [
                f"# {'Solution' if solution else 'Exercise'}: predict the steps of a run",
                "**Task**",
                *task,
                f"{markdown_inline(about)}. {counted(len(hidden), 'step')} of it "
                f"{'is' if len(hidden) == 1 else 'are'} hidden. {explanation}",
            ]
        ),
    )


def _setup(results: dict[str, str]) -> dict[str, Any]:
    lines = "\n".join(f'    "{line}"' for line in textwrap.wrap(pack(results), _WIDTH))
    cell = _code(
        "hidden",
        "from agentkit.classroom import predict, scores\n"
        "from agentkit.export.exercise import hidden_steps\n\n"
        f"hidden = hidden_steps(\n{lines}\n)  # packed, so that nobody reads them by accident",
    )
    cell["metadata"]["jupyter"] = {"source_hidden": True}
    return cell


def _prediction(entry: Entry, number: int, solution: bool) -> list[dict[str, Any]]:
    """Return the cells that show what came before a hidden step, ask for a prediction, and reveal the step."""
    shown = parts.parts_of(entry)
    blocks = [f"### {number} · {markdown_inline(shown.kind)}"]
    blocks += [part(p, _LIMITS) for p in shown.parts if p.label in _STILL_SHOWN[entry.kind]]
    call = one_line(parts.call_line(entry.step.call)) if entry.kind == "act" else ""  # type: ignore[union-attr]
    question = f"Step {number}: {_QUESTIONS[entry.kind].format(call)}"
    name = f"prediction_{number}"
    cells = [
        _markdown(f"entry-{number}-hidden", "\n\n".join(blocks)),
        _code(f"entry-{number}-predict", f"{name} = predict({literal.text(question)})"),
        _code(f"entry-{number}-reveal", f"{name}.reveal(hidden[{number}])"),
    ]
    if solution:
        cells.insert(2, _code(f"entry-{number}-commit", f"{name}.commit(hidden[{number}])"))
    return cells


def _result(entry: Entry) -> str:
    """Return the result of a hidden step, with secrets masked, as its reader compares it with a guess."""
    if entry.kind == "act":
        return mask(entry.result.text)
    if entry.kind == "ask":
        return mask(str(entry.result))
    return mask(parts.parts_of(entry).line)


def _markdown(name: str, source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": name, "metadata": {}, "source": source}


def _code(name: str, source: str) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "id": name,
        "metadata": {},
        "source": source,
        "outputs": [],
        "execution_count": None,
    }

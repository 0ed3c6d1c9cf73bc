"""An exported notebook can be executed without model and tools, refuses changed calls, and can be read back."""

from __future__ import annotations

import ast
import base64
import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

from agentkit import Agent, Call, Reply, Run, tool
from agentkit.errors import NotRecorded, UsageError
from agentkit.export import data_of_notebook, to_json, to_notebook
from agentkit.export.playback import Observation, Playback, bundle, playback
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted

pytestmark = pytest.mark.slow

CALLED: list[Any] = []
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="


@tool(effect="pure")
def look(city: str, days: int = 1) -> str:
    """Look at the weather."""
    CALLED.append(city)
    return f"rain in {city}"


@tool
def send(text: str) -> str:
    """Send a message to the world."""
    CALLED.append(text)
    return "sent"


@tool(effect="pure")
def draw(title: str) -> Any:
    """Draw a chart."""
    return Chart(title)


@tool(effect="pure")
def fail(text: str) -> str:
    """Fail."""
    raise ValueError(text)


@tool(effect="pure")
def rows() -> Any:
    """List the stock."""
    return [{"name": "tea", "price": 3.2}, {"name": "<b>cake</b>", "price": 4.5}]


@tool(effect="pure")
def report() -> Any:
    """Write a report."""
    return Report()


class Chart:
    def __init__(self, title: str) -> None:
        self.title = title

    def _repr_png_(self) -> Any:
        return base64.b64decode(DOT)


class Report:
    filename = "report.html"

    def _repr_html_(self) -> str:
        return "<h1>Report</h1><script>parent.document.title = 'hit'</script><img src='http://evil.example/x.png'>"


TOOLS = [look, send, draw, fail, rows, report]


def agent(*replies: Any) -> Agent:
    return Agent(Scripted([*replies], abilities=Abilities(tools=True)), TOOLS, journal="memory")


@pytest.fixture(autouse=True)
def no_calls() -> None:
    """Clear the record of calls."""
    CALLED.clear()


def calling(*calls: tuple[str, dict[str, Any]]) -> Reply:
    return Reply("I look.", tuple(Call(name, arguments, f"c{n}") for n, (name, arguments) in enumerate(calls)))


def done() -> Run:
    calls = calling(("look", {"city": "Paris", "days": 2}), ("look", {"city": "Oslo"}), ("send", {"text": "hi"}))
    rich = calling(
        ("draw", {"title": "rain"}), ("fail", {"text": "no"}), ("rows", {}), ("report", {}), ("nothing", {"a": None})
    )
    run = agent(calls, rich, "Take an umbrella.").start("What shall I take?", paused=True)
    run.drive()
    return run


def cell(notebook: Any, name: str) -> Any:
    return next(cell for cell in notebook.cells if cell.id == name)


def test_a_thought_is_a_markdown_cell_and_an_action_calls_its_tool_by_name() -> None:
    notebook = to_notebook(done())
    assert cell(notebook, "entry-2-action").source == 'call(2, "look", {"city": "Paris", "days": 2})'
    assert cell(notebook, "entry-2-action").outputs[0].data == {"text/plain": "rain in Paris"}
    assert cell(notebook, "entry-11-thought").source == "### 11 · Thought\n\nTake an umbrella."
    assert cell(notebook, "entry-11-thought").metadata["tags"] == ["agentkit-thought"]
    assert "What shall I take?" in cell(notebook, "task").source
    assert "Take an umbrella." in cell(notebook, "entry-12-answer").source


def test_a_notebook_is_valid_can_be_executed_with_the_same_outputs_and_passes_nbval(
    execute: Callable[..., Any], outputs_of: Any, nbval: Any, tmp_path: Path
) -> None:
    path = tmp_path / "run.ipynb"
    notebook = to_notebook(done(), path)
    nbformat.validate(notebook)
    CALLED.clear()
    executed = execute(notebook)
    assert outputs_of(executed) == outputs_of(notebook) and CALLED == []
    checked = nbval(path)
    assert checked.returncode == 0, checked.stdout
    changed = copy.deepcopy(notebook)
    cell(changed, "entry-2-action").outputs[0].data["text/plain"] = "sun in Paris"
    nbformat.write(changed, path)
    assert nbval(path).returncode == 1


def test_two_exports_are_identical(tmp_path: Path) -> None:
    run = done()
    to_notebook(run, tmp_path / "one.ipynb")
    to_notebook(run, tmp_path / "two.ipynb")
    assert (tmp_path / "one.ipynb").read_bytes() == (tmp_path / "two.ipynb").read_bytes()
    names = [cell.id for cell in to_notebook(run).cells]
    assert len(names) == len(set(names))


def test_images_tables_pages_and_failures_are_outputs() -> None:
    run = done()
    notebook = to_notebook(run)
    image, failure, table, page, unknown = (cell(notebook, f"entry-{n}-action").outputs[0].data for n in range(6, 11))
    assert image["image/png"] == base64.b64encode(base64.b64decode(DOT)).decode() and image["text/plain"].startswith(
        "[Artifact generated: rain]"
    )
    assert failure["text/plain"] == "Error: tool 'fail' failed: ValueError: no"
    assert "Traceback (most recent call last)" in failure["text/html"] and "ValueError: no" in failure["text/html"]
    assert "<td" in table["text/html"] and "&lt;b&gt;cake&lt;/b&gt;" in table["text/html"]
    assert '<iframe sandbox="" srcdoc="' in page["text/html"] and "<script" not in page["text/html"]
    assert page["text/plain"].startswith("[Artifact generated: report.html]") and "script" not in page["text/plain"]
    assert unknown == {"text/plain": "Error: tool 'nothing' not found."}


def test_a_paused_run_shows_the_next_step_and_an_edit_shows_who_and_why() -> None:
    run = agent(calling(("look", {"city": "Paris"})), "x").start("q", paused=True)
    next(run)
    assert cell(to_notebook(run), "ahead").source == "**Next:** look(city&#61;'Paris') &#91;pure&#93;"
    next(run)
    run.edit(2, text="sun", reason="I looked")
    notebook = to_notebook(run)
    assert "*edited by human: I looked*" in cell(notebook, "entry-2-action-note").source
    assert "The recording contains 1 other branch." in cell(notebook, "task").source
    assert cell(notebook, "entry-2-action").outputs[0].data == {"text/plain": "sun"}


# -- playing calls ---------------------------------------------------------------------------------------------------


def opened(run: Run, **options: Any) -> Playback:
    """Open the recording of a run as the cells of its notebook do."""
    source = cell(to_notebook(run), "recording").source
    recording: Any = ast.parse(source).body[0].value  # type: ignore[attr-defined]
    return playback(recording=ast.literal_eval(recording), **options)


def test_a_recorded_call_returns_the_recorded_observation() -> None:
    call = opened(done())
    CALLED.clear()
    seen = call(2, "look", {"days": 2, "city": "Paris"})
    assert (seen.text, seen.ok, repr(seen), CALLED) == ("rain in Paris", True, "rain in Paris", [])
    assert call(8, "rows", {}).value[0] == {"name": "tea", "price": 3.2}
    assert not call(7, "fail", {"text": "no"}).ok and repr(call) == "<Playback of 8 calls>"
    assert call(3, "look", '{"city": "Oslo"}').text == "rain in Oslo"


def test_no_line_of_the_code_is_so_long_that_a_notebook_scrolls_sideways() -> None:
    cells = [cell for cell in to_notebook(done()).cells if cell.cell_type == "code"]
    assert max(len(line) for cell in cells[:2] for line in cell.source.splitlines()) < 100


def test_the_calls_of_a_run_can_be_played_without_a_notebook() -> None:
    assert playback(recording=to_json(done()))(3, "look", {"city": "Oslo"}).text == "rain in Oslo"
    with pytest.raises(UsageError, match="damaged"):
        playback(recording="eNr")


@pytest.mark.parametrize(
    ("call", "similar"),
    [
        ((2, "look", {"city": "Rome", "days": 2}), 'call(2, "look", {"city": "Paris", "days": 2})'),
        ((2, "look", {"city": "Osla"}), 'call(3, "look", {"city": "Oslo"})'),
        ((3, "look", {"city": "Paris", "days": 2}), 'call(2, "look", {"city": "Paris", "days": 2})'),
        ((4, "sent", {"text": "hi"}), 'call(4, "send", {"text": "hi"})'),
        ((99, "draw", {}), 'call(6, "draw", {"title": "rain"})'),
        ((1, "look", ["Oslo"]), 'call(3, "look", {"city": "Oslo"})'),
    ],
)
def test_a_changed_call_is_refused_with_the_most_similar_recorded_one(call: Any, similar: str) -> None:
    with pytest.raises(NotRecorded) as error:
        opened(done())(*call)
    assert similar in str(error.value) and "live = True" in str(error.value)


def test_a_changed_call_fails_in_the_notebook_too(execute: Callable[..., Any]) -> None:
    notebook = to_notebook(done())
    cell(notebook, "entry-2-action").source = 'call(2, "look", {"city": "Rome", "days": 2})'
    failed = execute(notebook, allow_errors=True)
    outputs = [output for failed_cell in failed.cells for output in failed_cell.get("outputs", ())]
    (error,) = [output for output in outputs if output.output_type == "error"]
    assert error.ename == "NotRecorded" and '"Paris"' in error.evalue


def test_live_tools_are_called_and_irreversible_ones_only_after_confirmation() -> None:
    asked: list[str] = []
    call = opened(done(), live=True, tools=[*TOOLS, "math"], confirm=lambda text: asked.append(text) or False)
    CALLED.clear()
    assert call(2, "look", {"city": "Rome"}).text == "rain in Rome" and CALLED == ["Rome"] and asked == []
    rejected = call(4, "send", {"text": "hi"})
    assert (
        not rejected.ok
        and "rejected" in rejected.text
        and asked == ['"send" with {"text":"hi"}']
        and CALLED == ["Rome"]
    )
    assert opened(done(), live=True, tools=TOOLS, confirm=lambda text: True)(4, "send", {"text": "ho"}).text == "sent"
    assert not call(7, "fail", {"text": "x"}).ok and "was not run" in call(2, "look", {}).text
    assert call(1, "calculate", {"expression": "2+3"}).text == "5" and "live" in repr(call)


def test_the_error_for_a_missing_live_tool_says_where_to_add_it() -> None:
    with pytest.raises(UsageError, match="tools="):
        opened(done(), live=True)(2, "look", {"city": "Rome"})


def test_an_irreversible_live_call_is_rejected_if_nobody_can_confirm_it(
    execute: Callable[..., Any], tmp_path: Path
) -> None:
    notebook = to_notebook(agent(calling(("post", {"text": "hi"})), "x").start("q", paused=True).drive().run)
    notebook.cells = [code for code in notebook.cells if code.cell_type == "code"]
    notebook.cells[
        0
    ].source += "\nlive = True\ndef post(text: str) -> str:\n    'Post.'\n    open('posted', 'w')\n    return text\ntools = [post]"
    (seen,) = execute(notebook).cells[-1].outputs
    assert "rejected" in seen.data["text/plain"] and not (tmp_path / "posted").exists()


def test_an_asynchronous_live_tool_is_awaited() -> None:
    async def look(city: str) -> str:
        """Look."""
        return f"snow in {city}"

    assert (
        opened(done(), live=True, tools=[tool(effect="pure")(look)])(2, "look", {"city": "Bern"}).text == "snow in Bern"
    )


def test_a_long_observation_is_truncated_in_the_output_but_not_in_its_text() -> None:
    run = agent(calling(("look", {"city": "x" * 50_000})), "x").start("q", paused=True)
    run.drive()
    seen = opened(run)(2, "look", {"city": "x" * 50_000})
    assert isinstance(seen, Observation) and len(seen.text) == 50_008
    assert bundle(run[2].result)["text/plain"].endswith("… (+30,008 characters)")


# -- reading back ------------------------------------------------------------------------------------------------------


def test_a_notebook_can_be_read_back_after_it_was_executed_and_cells_were_added(
    execute: Callable[..., Any], restored: Any, tmp_path: Path
) -> None:
    run = done()
    run.edit(2, text="sun", reason="I looked")
    path = tmp_path / "run.ipynb"
    notebook = to_notebook(run, path)
    data = json.loads(json.dumps(to_json(run)))
    assert data_of_notebook(path) == data_of_notebook(str(path)) == data_of_notebook(notebook) == data
    notebook.cells.insert(3, nbformat.v4.new_markdown_cell("my notes"))
    cell(notebook, "settings").source = "from agentkit.export.playback import playback\n\nlive, tools = False, []"
    for code in notebook.cells:
        if code.cell_type == "code":
            code.outputs, code.execution_count = [], None
    assert data_of_notebook(notebook) == data
    assert repr(restored(data_of_notebook(path), run.agent)) == repr(run)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (
            lambda nb: cell(nb, "entry-2-action").update(source='call(2, "look", {})'),
            r"cell \d+ \('entry-2-action', action\) was changed",
        ),
        (
            lambda nb: cell(nb, "entry-1-thought").update(source="x"),
            r"cell 4 \('entry-1-thought', thought\) was changed",
        ),
        (lambda nb: cell(nb, "recording").update(source="x"), r"cell 3 \('recording', recording\) was changed"),
        (
            lambda nb: nb.cells.remove(cell(nb, "entry-1-thought")),
            "cell 'entry-1-thought' or its metadata 'agentkit' is missing",
        ),
        (lambda nb: nb.cells.remove(cell(nb, "recording")), "cell 'recording' or its metadata 'agentkit' is missing"),
        (
            lambda nb: nb.cells.append(cell(nb, "entry-1-thought")),
            r"cell \d+ \('entry-1-thought', thought\) is a second copy",
        ),
        (lambda nb: nb.cells.append(nb.cells.pop(3)), "cell 'entry-1-thought' was moved|'entry-2-action' was moved"),
        (
            lambda nb: cell(nb, "entry-1-thought").metadata.pop("agentkit"),
            "cell 'entry-1-thought' or its metadata 'agentkit' is missing",
        ),
        (lambda nb: nb.metadata.pop("agentkit"), "is not an exported run: its metadata has no 'agentkit'"),
        (lambda nb: nb.metadata["agentkit"].pop("cells"), "does not list its cells"),
        (lambda nb: nb.metadata["agentkit"].update(version=9), "version 9"),
        (
            lambda nb: cell(nb, "settings").metadata["agentkit"].update(cell="other"),
            "'other', settings.* belongs to another export",
        ),
    ],
)
def test_a_changed_notebook_is_refused_with_the_name_of_the_cell(change: Callable[[Any], Any], error: str) -> None:
    notebook = to_notebook(done())
    change(notebook)
    with pytest.raises(UsageError, match=error):
        data_of_notebook(notebook)


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '"x"', "{}", '{"cells": [], "metadata": {}}', '{"cells": 5, "metadata": 5}', "[" * 9999]
)
def test_another_file_is_refused(content: str, tmp_path: Path) -> None:
    path = tmp_path / "other.ipynb"
    path.write_text(content)
    with pytest.raises(UsageError, match=r"other\.ipynb"):
        data_of_notebook(path)
    with pytest.raises(UsageError, match=r"none.ipynb cannot be read"):
        data_of_notebook(tmp_path / "none.ipynb")


def test_a_notebook_that_is_not_an_export_is_refused() -> None:
    with pytest.raises(UsageError, match="is not an exported run"):
        data_of_notebook(Path(__file__).parents[2] / "notebooks" / "00_quickstart.ipynb")


def test_reading_a_notebook_back_does_not_import_nbformat() -> None:
    import subprocess
    import sys

    program = "import sys; from agentkit.export import data_of_notebook; assert 'nbformat' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0

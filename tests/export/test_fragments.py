"""What exports look like in a notebook and in a file: folded, truncated, masked, and the same every time."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from splitting import split

from agentkit import Agent, Call, Loop, Message, Reply, Run, Usage, tool
from agentkit.core.messages import assistant
from agentkit.export import html, markdown, to_html, to_markdown
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted
from agentkit.tools.observations import returned

every_format = pytest.mark.parametrize("module", [html, markdown])


@tool(effect="pure")
def look(city: str) -> str:
    """Look at the weather."""
    return f"rain in {city}"


def run_of(steps: int = 1, text: str = "I look", city: str = "Oslo", **options: Any) -> Run:
    replies = [Reply(text, (Call("look", {"city": city}, f"c{n}"),)) for n in range(steps)]
    model = Scripted([*replies, "Take an umbrella"], abilities=Abilities(tools=True))
    run = Agent(model, [look], journal="memory", **split(options, Loop("react", max_iterations=steps + 1))).start(
        "How is it?", paused=True
    )
    run.drive()
    return run


def agent_fragment(agent: Agent, module: ModuleType) -> str:
    return agent._repr_html_() if module is html else agent._repr_markdown_()


def observation(value: Any) -> Message:
    return returned(Call("rows"), value)


@every_format
def test_a_run_shows_its_status_and_every_step(module: ModuleType) -> None:
    shown = module.run(run_of())
    for text in (
        "Run done: 4 steps, 2 model calls, 1 tool call",
        "Task",
        "How is it?",
        "Thought",
        "Action",
        "rain in Oslo",
        "Answer",
    ):
        assert text in shown


@every_format
def test_a_waiting_run_shows_the_reason_and_the_next_step(module: ModuleType) -> None:
    run = Agent(run_of().agent.model, [look], journal="memory").start("q", paused=True)
    assert re.search(r"<b>Next:</b> think|\*\*Next:\*\* think", module.run(run))
    look_up = Scripted([Reply("x", (Call("look", {"city": "Oslo"}, "c"),))], abilities=Abilities(tools=True))
    waiting = Agent(look_up, [look], journal="memory", approve=["look"]).start("q", paused=True)
    waiting.drive()
    assert "Waiting:" in module.run(waiting) and "approval" in module.run(waiting)
    paused = Agent(run_of().agent.model, [look], journal="memory").start("q", paused=True)
    paused.break_at(role="thought")
    paused.drive()
    assert "Paused:" in module.run(paused) and "breakpoint on role thought" in module.run(paused)


@every_format
def test_two_equal_runs_look_the_same(module: ModuleType) -> None:
    one, other = run_of(), run_of()
    assert module.run(one) == module.run(other) and module.branches(one.branches()) == module.branches(other.branches())
    everything = (
        module.run(one)
        + agent_fragment(one.agent, module)
        + module.result(one.result)
        + module.tool(look)
        + module.entry(one[1])
    )
    assert not re.search(r"0x[0-9a-f]{6}|\d{9}", everything) and one.id not in everything


@every_format
def test_an_edit_shows_who_and_why_and_the_branches_show_the_original(module: ModuleType) -> None:
    run = run_of()
    run.edit(2, text="sun in Oslo", reason="the sensor is broken")
    assert "edited by human: the sensor is broken" in module.run(run)
    shown = module.branches(run.branches())
    assert "2 branches" in shown and "Branch 1" in shown and "rain in Oslo" in shown and "sun in Oslo" not in shown


@every_format
def test_a_long_text_is_folded_and_truncated_with_a_note(module: ModuleType) -> None:
    run = run_of(city="x" * 10_000)
    shown = module.run(run)
    assert "… (+6,008 characters)" in shown and len(shown) < 40_000
    assert module is markdown or shown.count("<details>") > len(run.entries)
    file = to_html(run) if module is html else to_markdown(run)
    assert "x" * 10_000 in file and "… (+6" not in file


def test_the_summary_of_a_step_counts_all_the_characters_that_it_leaves_out() -> None:
    run = run_of(text="x" * 10_000)
    assert "… (+9900 characters)" in html.run(run)  # including the call


@every_format
def test_a_long_trace_shows_both_ends_and_says_what_is_left_out(module: ModuleType) -> None:
    run = run_of(500, text="y" * 5_000)
    assert len(run) == 1_003
    shown = module.run(run)
    assert "Entries 40 to 942 are not shown here" in shown and "Take an umbrella" in shown and "How is it?" in shown
    assert len(shown) < 500_000


def test_a_file_contains_every_step(tmp_path: Path) -> None:
    run = run_of(100)
    page = to_html(run, tmp_path / "run.html")
    text = to_markdown(run, tmp_path / "run.md")
    assert (tmp_path / "run.html").read_text() == page and (tmp_path / "run.md").read_text() == text
    assert page.count("<summary><b>") == text.count("\n### ") == len(run.entries) == 203


def test_an_html_file_needs_no_other_files_and_follows_the_light_or_dark_mode_of_the_reader() -> None:
    page = to_html(run_of())
    assert 'style="color-scheme:light dark"' in page and "default-src &#x27;none&#x27;" in page
    assert "<script" not in page and "<link" not in page and "://" not in page and "<style" not in page


@every_format
def test_a_failed_call_and_a_failed_run_are_marked(module: ModuleType) -> None:
    model = Scripted(
        [Reply("x", (Call("nothing", {}, "c"),)), ConnectionError("no route")], abilities=Abilities(tools=True)
    )
    run = Agent(model, [look], journal="memory").start("q", paused=True)
    result = run.drive()
    assert "✗" in module.entry(run[2]) and "not found" in module.entry(run[2])
    assert "✗ ConnectionError" in module.result(result) and "no route" in module.result(result)


@every_format
def test_reasoning_and_a_discarded_part_of_a_reply_are_folded(module: ModuleType) -> None:
    text = 'Thought: hm\nAction: look\nAction Input: {"city": "Oslo"}\nObservation: snow\nFINAL_ANSWER: snow'
    model = Scripted([Reply(text, reasoning="let me see"), "FINAL_ANSWER: rain"])
    run = Agent(model, [look], journal="memory").start("q", paused=True)
    run.drive()
    shown = module.entry(run[1])
    assert "let me see" in shown and "Discarded, because the model made up an observation" in shown and "snow" in shown
    if module is html:
        assert "<details><summary><small>Reasoning</small></summary>" in shown


@every_format
def test_messages_tools_usage_and_agents_are_shown(module: ModuleType) -> None:
    assert "look(city=" in module.message(assistant("I look", calls=(Call("look", {"city": "Oslo"}),)))
    assert "Look at the weather" in module.tool(look) and "pure" in module.tool(look)
    assert "1234" in module.usage(Usage(1234, 5)) and "0.5" in module.usage(Usage(cost=0.5))
    shown = agent_fragment(run_of().agent, module)
    assert "scripted" in shown and "react" in shown and "look" in shown and "max" in shown
    assert module.branches([])


# -- tables, images and pages ------------------------------------------------------------------------------------------

ROWS = [{"name": "tea", "price": 3.2}, {"name": "a|b\n<i>", "price": None}]
FRAME = """<div><style scoped>.dataframe tbody { color: red }</style><table border="1" class="dataframe"><thead>
<tr style="text-align: right;"><th></th><th>name</th></tr></thead><tbody><tr><th>0</th><td>tea &amp; &lt;b&gt;</td></tr></tbody>
</table><p>1 rows × 1 columns</p></div>"""


class Shown:
    """A value that a notebook shows in other ways than as text."""

    def __init__(self, **bundle: Any) -> None:
        self.bundle = {name.replace("_", "/"): data for name, data in bundle.items()}

    def _repr_mimebundle_(self, **options: Any) -> Any:
        return self.bundle


def test_a_list_of_records_is_a_table() -> None:
    shown = html.message(observation(ROWS))
    assert shown.count("<tr>") == 3 and ">tea</td>" in shown and "&lt;i&gt;" in shown and ">null</td>" in shown
    assert "| name | price |\n| --- | --- |\n| tea | 3.2 |\n| a&#124;b &#60;i&#62; | null |" in markdown.message(
        observation(ROWS)
    )
    for other in ([1, 2], [{"a": 1}], [{"a": 1}, {"b": 1}], [{"a": [1]}, {"a": [2]}], {"a": 1}, "text"):
        assert "<table" not in html.message(observation(other))


def test_a_data_frame_becomes_a_plain_table() -> None:
    shown = html.message(observation(Shown(text_html=FRAME)))
    assert (
        "<table" in shown
        and "<iframe" not in shown
        and "tea &amp; &lt;b&gt;</td>" in shown
        and "color: red" not in shown
    )
    assert "|  | name |\n| --- | --- |\n| 0 | tea &#38; &#60;b&#62; |" in markdown.message(
        observation(Shown(text_html=FRAME))
    )


def test_a_large_table_is_truncated_with_a_note() -> None:
    large = observation([{f"column {n}": row for n in range(30)} for row in range(200)])
    shown = html.message(large)
    assert "… and 150 more rows and 10 more columns" in shown and shown.count("<tr>") == 51
    shown = markdown.message(large)
    assert "… and 150 more rows and 10 more columns" in shown and shown.count("\n| ") == 52


def test_a_page_is_shown_in_a_sandboxed_frame() -> None:
    page = "<h1>Hi</h1><script>alert(1)</script><img src='http://evil.example/?q'></iframe>\"><script>alert(2)</script>"
    shown = html.message(observation(Shown(text_html=page)))
    assert shown.count("<iframe") == 1 and '<iframe sandbox="" srcdoc="' in shown and "<script" not in shown
    assert "default-src &#x27;none&#x27;" in shown and shown.index("Content-Security-Policy") < shown.index(
        "&lt;h1&gt;"
    )
    assert "<h1" not in shown and "shown in a notebook" in markdown.message(observation(Shown(text_html=page)))


@pytest.mark.parametrize("mime", ["image/png", "image/jpeg", "image/gif", "image/webp"])
def test_an_image_is_shown_as_an_image(mime: str) -> None:
    message = observation(Shown(**{mime.replace("/", "_"): "iVBORw0KGgo="}))
    assert f'<img src="data:{mime};base64,iVBORw0KGgo="' in html.message(message)
    assert f"![{mime}](data:{mime};base64,iVBORw0KGgo=)" in markdown.message(message)


@pytest.mark.parametrize("data", ['x" onerror="alert(1)', "http://evil.example/x.png", "a)](b", "AAAA\n\nAA'", ""])
def test_data_that_is_not_an_image_is_not_shown_as_one(data: str) -> None:
    message = observation(Shown(image_png=data, text_plain="a chart"))
    for module in (html, markdown):
        shown = module.message(message)
        assert "data:image" not in shown and "onerror" not in shown and "evil" not in shown


def test_an_svg_is_shown_as_an_image_in_which_nothing_runs() -> None:
    message = observation(Shown(**{"image_svg+xml": "<svg onload='alert(1)'><script>alert(2)</script></svg>"}))
    shown = html.message(message)
    assert '<img src="data:image/svg+xml;base64,' in shown and "onload" not in shown and "<svg" not in shown


def test_other_mime_types_are_shown_as_source() -> None:
    assert "&lt;b&gt;x&lt;/b&gt;" in html.message(observation(Shown(text_latex="<b>x</b>")))
    assert "```text\n<b>x</b>\n```" in markdown.message(observation(Shown(text_latex="<b>x</b>")))


def test_a_result_is_markdown_only_if_its_tool_declares_it() -> None:
    declared = observation(Shown(text_markdown="**a** <b>x</b>"))
    assert ">a</strong> &lt;b&gt;x" in html.message(declared)
    assert "> **a** &#60;b&#62;x" in markdown.message(declared)
    assert "**a**" in html.message(observation("**a**")) and "```text\n**a**\n```" in markdown.message(
        observation("**a**")
    )


def test_an_image_that_is_too_large_for_a_notebook_is_replaced_by_a_note() -> None:
    message = observation(Shown(image_png="A" * 2_000_000))
    assert "image/png, 2,000,000 characters: too large" in html.message(message) and len(html.message(message)) < 1_000
    assert "too large" in markdown.message(message)


def test_the_size_of_a_run_with_many_images_is_limited() -> None:
    @tool(effect="pure")
    def draw() -> Any:
        """Draw."""
        return Shown(image_png="A" * 900_000)

    replies = [Reply("x", (Call("draw", {}, f"c{n}"),)) for n in range(20)]
    model = Scripted([*replies, "done"], abilities=Abilities(tools=True))
    run = Agent(model, [draw], journal="memory", engine=Loop("react", max_iterations=30)).start("q", paused=True)
    run.drive()
    shown = html.run(run)
    assert shown.count("<img") == 2 and shown.count("too large") == 18 and len(shown) < 2_100_000
    assert "data:image" not in markdown.run(run) and to_html(run).count("<img") == 20


@pytest.mark.parametrize(
    "value", [{"mime": 5}, {"mime": {}}, {"mime": {"text/html": 5}}, {"mime": {"image/png": {}}}, [[]], 5, {"x": 1}]
)
def test_a_value_of_any_shape_is_shown(value: Any) -> None:
    message = Message("tool", "text", value=value)
    assert "text" in html.message(message) and "text" in markdown.message(message)


# -- secrets -----------------------------------------------------------------------------------------------------------


@every_format
def test_secrets_are_masked_everywhere(module: ModuleType) -> None:
    key = "sk-" + "a1b2c3d4" * 5
    run = run_of(text=key, city=key)
    run.edit(2, text=f"x {key}", reason=key, author=key)
    pieces = [module.run(run), module.entry(run[1]), module.entry(run[2]), module.branches(run.branches())]
    pieces += [
        module.message(Message("tool", key)),
        module.message(assistant(key, calls=(Call("x", {"k": key, "password": "hunter22"}),))),
    ]
    pieces += [
        module.message(observation([{"k": key}, {"k": key}])),
        module.message(observation(Shown(text_html=f"<h1>{key}</h1>"))),
    ]
    pieces += [to_html(run), to_markdown(run)]
    for piece in pieces:
        assert "a1b2c3d4" not in piece and "hunter22" not in piece


@every_format
def test_no_half_of_a_secret_is_shown_where_a_text_is_truncated(module: ModuleType) -> None:
    key = "sk-" + "a1b2c3d4" * 5
    for at in range(3_900, 4_010, 10):
        assert "a1b2" not in module.message(Message("tool", "x" * at + f" {key} " + "y" * 10_000))
    assert "a1b2" not in module.message(Message("tool", f"{key} " * 1_000))


# -- size --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "`" * 1_000_000,
        "<" * 1_000_000,
        "<a" * 500_000,
        "\r" * 1_000_000,
        "&#" * 500_000,
        "1." * 500_000,
        " " * 1_000_000,
        "<!--" * 9_999,
    ],
)
@pytest.mark.timeout(20)  # not a measurement: quadratic code would take minutes
def test_a_megabyte_of_special_characters_takes_linear_time(text: str) -> None:
    for module in (html, markdown):
        module.message(Message("assistant", text))
        module.message(Message("tool", text, value={"mime": {"text/html": f"<table>{text[:100_000]}"}}))
    markdown.markdown_block(text)
    markdown.markdown_code(text)

"""How things look in a notebook and in a file: folded, cut, bounded, masked, the same every time, in light and in dark."""

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


def table(value: Any) -> Message:
    return returned(Call("rows"), value)


@every_format
def test_a_run_shows_every_step_and_how_it_stands(module: ModuleType) -> None:
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
def test_a_held_run_says_why_and_what_comes_next(module: ModuleType) -> None:
    run = Agent(run_of().agent.model, [look], journal="memory").start("q", paused=True)
    assert re.search(r"<b>Next:</b> think|\*\*Next:\*\* think", module.run(run))
    look_up = Scripted([Reply("x", (Call("look", {"city": "Oslo"}, "c"),))], abilities=Abilities(tools=True))
    waiting = Agent(look_up, [look], journal="memory", approve=["look"]).start("q", paused=True)
    waiting.drive()
    assert "Held" in module.run(waiting) and "approval" in module.run(waiting)


@every_format
def test_two_runs_of_the_same_look_the_same(module: ModuleType) -> None:
    one, other = run_of(), run_of()
    assert module.run(one) == module.run(other) and module.branches(one.branches()) == module.branches(other.branches())
    everything = (
        module.run(one) + module.agent(one.agent) + module.result(one.result) + module.tool(look) + module.entry(one[1])
    )
    assert not re.search(r"0x[0-9a-f]{6}|\d{9}", everything) and one.id not in everything


@every_format
def test_an_edit_says_who_and_why_and_the_branches_show_what_was_there_before(module: ModuleType) -> None:
    run = run_of()
    run.edit(2, text="sun in Oslo", reason="the sensor is broken")
    assert "edited by human: the sensor is broken" in module.run(run)
    shown = module.branches(run.branches())
    assert "2 lines" in shown and "rain in Oslo" in shown and "sun in Oslo" not in shown


@every_format
def test_a_long_text_is_folded_and_cut_with_a_note(module: ModuleType) -> None:
    run = run_of(city="x" * 10_000)
    shown = module.run(run)
    assert "… (+6,008 characters)" in shown and len(shown) < 40_000
    assert module is markdown or shown.count("<details>") > len(run.entries)
    whole = to_html(run) if module is html else to_markdown(run)
    assert "x" * 10_000 in whole and "… (+6" not in whole


def test_the_line_of_a_step_counts_all_the_characters_that_it_leaves_out() -> None:
    run = run_of(text="x" * 10_000)
    assert "… (+9900 characters)" in html.run(run)  # with the call that was asked for


@every_format
def test_a_long_trace_shows_its_ends_and_says_what_is_between(module: ModuleType) -> None:
    run = run_of(500, text="y" * 5_000)
    assert len(run) == 1_003
    shown = module.run(run)
    assert "Entries 40 to 942 are not shown here" in shown and "Take an umbrella" in shown and "How is it?" in shown
    assert len(shown) < 500_000


def test_a_file_holds_every_step(tmp_path: Path) -> None:
    run = run_of(100)
    page = to_html(run, tmp_path / "run.html")
    text = to_markdown(run, tmp_path / "run.md")
    assert (tmp_path / "run.html").read_text() == page and (tmp_path / "run.md").read_text() == text
    assert page.count("<summary><b>") == text.count("\n### ") == len(run.entries) == 203


def test_an_html_file_needs_nothing_else_and_follows_the_readers_light_or_dark() -> None:
    page = to_html(run_of())
    assert 'style="color-scheme:light dark"' in page and "default-src &#x27;none&#x27;" in page
    assert "<script" not in page and "<link" not in page and "://" not in page and "<style" not in page


@every_format
def test_a_failed_call_and_a_failed_run_are_told_apart_at_a_glance(module: ModuleType) -> None:
    model = Scripted(
        [Reply("x", (Call("nothing", {}, "c"),)), ConnectionError("no route")], abilities=Abilities(tools=True)
    )
    run = Agent(model, [look], journal="memory").start("q", paused=True)
    result = run.drive()
    assert "✗" in module.entry(run[2]) and "not found" in module.entry(run[2])
    assert "✗ ConnectionError" in module.result(result) and "no route" in module.result(result)


@every_format
def test_what_a_model_thought_and_what_was_cut_off_is_there_but_folded(module: ModuleType) -> None:
    text = 'Thought: hm\nAction: look\nAction Input: {"city": "Oslo"}\nObservation: snow\nFINAL_ANSWER: snow'
    model = Scripted([Reply(text, reasoning="let me see"), "FINAL_ANSWER: rain"])
    run = Agent(model, [look], journal="memory").start("q", paused=True)
    run.drive()
    shown = module.entry(run[1])
    assert "let me see" in shown and "Cut off" in shown and "snow" in shown
    if module is html:
        assert "<details><summary><small>Reasoning</small></summary>" in shown


@every_format
def test_messages_tools_usage_and_agents_are_shown(module: ModuleType) -> None:
    assert "look(city=" in module.message(assistant("I look", calls=(Call("look", {"city": "Oslo"}),)))
    assert "Look at the weather" in module.tool(look) and "pure" in module.tool(look)
    assert "1234" in module.usage(Usage(1234, 5)) and "0.5" in module.usage(Usage(cost=0.5))
    shown = module.agent(run_of().agent)
    assert "scripted" in shown and "react" in shown and "look" in shown and "max" in shown
    assert module.branches([])


# -- what is more than text ----------------------------------------------------------------------------------------------

ROWS = [{"name": "tea", "price": 3.2}, {"name": "a|b\n<i>", "price": None}]
FRAME = """<div><style scoped>.dataframe tbody { color: red }</style><table border="1" class="dataframe"><thead>
<tr style="text-align: right;"><th></th><th>name</th></tr></thead><tbody><tr><th>0</th><td>tea &amp; &lt;b&gt;</td></tr></tbody>
</table><p>1 rows × 1 columns</p></div>"""


class Shown:
    """Anything with a look of its own."""

    def __init__(self, **looks: Any) -> None:
        self.looks = {name.replace("_", "/"): data for name, data in looks.items()}

    def _repr_mimebundle_(self, **options: Any) -> Any:
        return self.looks


def test_a_list_of_records_is_a_table() -> None:
    shown = html.message(table(ROWS))
    assert shown.count("<tr>") == 3 and ">tea</td>" in shown and "&lt;i&gt;" in shown and ">null</td>" in shown
    assert "| name | price |\n| --- | --- |\n| tea | 3.2 |\n| a&#124;b &#60;i&#62; | null |" in markdown.message(
        table(ROWS)
    )
    for other in ([1, 2], [{"a": 1}], [{"a": 1}, {"b": 1}], [{"a": [1]}, {"a": [2]}], {"a": 1}, "text"):
        assert "<table" not in html.message(table(other))


def test_a_data_frame_is_a_table_of_ours() -> None:
    shown = html.message(table(Shown(text_html=FRAME)))
    assert (
        "<table" in shown
        and "<iframe" not in shown
        and "tea &amp; &lt;b&gt;</td>" in shown
        and "color: red" not in shown
    )
    assert "|  | name |\n| --- | --- |\n| 0 | tea &#38; &#60;b&#62; |" in markdown.message(
        table(Shown(text_html=FRAME))
    )


def test_a_large_table_is_cut_with_a_note() -> None:
    shown = html.message(table([{f"column {n}": row for n in range(30)} for row in range(200)]))
    assert "and 150 more rows and 10 more columns" in shown and shown.count("<tr>") == 51


def test_a_page_is_shown_in_a_frame_that_can_do_nothing() -> None:
    page = "<h1>Hi</h1><script>alert(1)</script><img src='http://evil.example/?q'></iframe>\"><script>alert(2)</script>"
    shown = html.message(table(Shown(text_html=page)))
    assert shown.count("<iframe") == 1 and '<iframe sandbox="" srcdoc="' in shown and "<script" not in shown
    assert "default-src &#x27;none&#x27;" in shown and shown.index("Content-Security-Policy") < shown.index(
        "&lt;h1&gt;"
    )
    assert "<h1" not in shown and "shown in a notebook" in markdown.message(table(Shown(text_html=page)))


@pytest.mark.parametrize("mime", ["image/png", "image/jpeg", "image/gif", "image/webp"])
def test_an_image_is_an_image(mime: str) -> None:
    message = table(Shown(**{mime.replace("/", "_"): "iVBORw0KGgo="}))
    assert f'<img src="data:{mime};base64,iVBORw0KGgo="' in html.message(message)
    assert f"![{mime}](data:{mime};base64,iVBORw0KGgo=)" in markdown.message(message)


@pytest.mark.parametrize("data", ['x" onerror="alert(1)', "http://evil.example/x.png", "a)](b", "AAAA\n\nAA'", ""])
def test_an_image_that_is_none_is_not_shown(data: str) -> None:
    message = table(Shown(image_png=data, text_plain="a chart"))
    for module in (html, markdown):
        shown = module.message(message)
        assert "data:image" not in shown and "onerror" not in shown and "evil" not in shown


def test_a_drawing_is_shown_as_a_picture_in_which_nothing_runs() -> None:
    message = table(Shown(**{"image_svg+xml": "<svg onload='alert(1)'><script>alert(2)</script></svg>"}))
    shown = html.message(message)
    assert '<img src="data:image/svg+xml;base64,' in shown and "onload" not in shown and "<svg" not in shown


def test_other_kinds_are_shown_as_their_source() -> None:
    assert "&lt;b&gt;x&lt;/b&gt;" in html.message(table(Shown(text_markdown="<b>x</b>")))
    assert "```text\n<b>x</b>\n```" in markdown.message(table(Shown(text_markdown="<b>x</b>")))


def test_what_is_too_large_for_a_notebook_is_named_instead() -> None:
    message = table(Shown(image_png="A" * 2_000_000))
    assert "image/png, 2,000,000 characters: too large" in html.message(message) and len(html.message(message)) < 1_000
    assert "too large" in markdown.message(message)


def test_a_run_full_of_pictures_stays_bounded() -> None:
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
def test_a_value_of_any_shape_is_shown_somehow(value: Any) -> None:
    message = Message("tool", "told", value=value)
    assert "told" in html.message(message) and "told" in markdown.message(message)


# -- secrets -------------------------------------------------------------------------------------------------------------


@every_format
def test_secrets_are_masked_wherever_they_stand(module: ModuleType) -> None:
    key = "sk-" + "a1b2c3d4" * 5
    run = run_of(text=key, city=key)
    run.edit(2, text=f"x {key}", reason=key, author=key)
    pieces = [module.run(run), module.entry(run[1]), module.entry(run[2]), module.branches(run.branches())]
    pieces += [
        module.message(Message("tool", key)),
        module.message(assistant(key, calls=(Call("x", {"k": key, "password": "hunter22"}),))),
    ]
    pieces += [
        module.message(table([{"k": key}, {"k": key}])),
        module.message(table(Shown(text_html=f"<h1>{key}</h1>"))),
    ]
    pieces += [to_html(run), to_markdown(run)]
    for piece in pieces:
        assert "a1b2c3d4" not in piece and "hunter22" not in piece


@every_format
def test_no_half_of_a_secret_is_shown_where_a_text_is_cut(module: ModuleType) -> None:
    key = "sk-" + "a1b2c3d4" * 5
    for at in range(3_900, 4_010, 10):
        assert "a1b2" not in module.message(Message("tool", "x" * at + f" {key} " + "y" * 10_000))
    assert "a1b2" not in module.message(Message("tool", f"{key} " * 1_000))


# -- size ----------------------------------------------------------------------------------------------------------------


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
@pytest.mark.timeout(20)  # no measurement: what is quadratic takes minutes
def test_a_megabyte_of_markers_takes_no_time(text: str) -> None:
    for module in (html, markdown):
        module.message(Message("assistant", text))
        module.message(Message("tool", text, value={"mime": {"text/html": f"<table>{text[:100_000]}"}}))
    markdown.prose(text)
    markdown.fence(text)

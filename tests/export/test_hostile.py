"""No text from a model, a tool or a person becomes code, HTML or Markdown in an export, whatever the text."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from IPython.core.inputtransformer2 import TransformerManager

from agentkit import Agent, Call, Reply, Run
from agentkit.export import html, markdown, to_html, to_markdown, to_notebook
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted
from agentkit.tools.tool import Tool

pytestmark = pytest.mark.slow

TOUCH = "open('canary', 'w')"
HOSTILE = {
    "quotes": f"'); {TOUCH} #\"); {TOUCH} #",
    "triple quotes": f"\"\"\" + str({TOUCH}) + \"\"\" ''' + str({TOUCH}) + '''",
    "backslash at the end": f'\\"); {TOUCH}\\',
    "line break": f"\n{TOUCH}\n",
    "lone carriage return": f"x\r{TOUCH}\rx",
    "other line breaks": "".join(f"{end}{TOUCH}" for end in "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"),
    "cell magic": "%%bash\ntouch canary",
    "line magic": "\n%run canary.py\n%sx touch canary",
    "shell": "\n!touch canary\r!touch canary\n!!touch canary",
    "help": "print?\nprint??\n?print",
    "prompt": f">>> {TOUCH}\nIn [1]: {TOUCH}\n... {TOUCH}",
    "fence": f"```\n````python\n{TOUCH}\n````\n~~~\n<script>x</script>\n~~~",
    "script": "</script><script>document.title='hit'</script>",
    "handler": "<img src=x onerror=alert(1)><svg/onload=alert(1)>",
    "end of a block": "</pre></code></div></details></textarea></title><iframe srcdoc='<script>x</script>'></iframe>",
    "attribute": '" onmouseover="alert(1)" x=\'',
    "comment": "<!-- --><!--><?php ?><![CDATA[<b>]]>",
    "markup": "# h\n- a\n1. b\n> c\n    code\n\ttab\n| a | b |\n|---|---|\n| c | d |\n"
    "*x* __y__ ~~z~~ `q`\n---\n===\n+++\n:::{note}",
    "links": "[a](javascript:alert(1)) ![b](http://evil.example/x.png) <http://evil.example> "
    "http://evil.example www.evil.example a@b.cc\n"
    "[r]: http://evil.example\n[r] [^1]\n\n[^1]: note",
    "formula": "$\\href{javascript:alert(1)}{x}$ $$y$$ \\(z\\) \\\\(z\\\\) \\[z\\] \\begin{x}\\end{x} @@0@@ {{ x }} {% x %}",
    "entities": "&lt;script&gt;alert(1)&lt;/script&gt; &#60;b&#62; &amp;#60;b&amp;#62; &NewLine;",
    "controls": "\x00\x07\x08\x1b[31mred\x1b]8;;http://evil.example\x07\x9b1m\x7f",
    "direction": "\u202egnp.exe\u2066x\u2069\u200b\ufeff\U000e0041",
    "surrogates": "\ud800 \udfff \ud83d\ude00",
    "a name": "x); import os",
    "braces": "{0} {x!r} %s %(x)s ${x} `x` {" * 3,
    "nothing": " \t ",
}
every_text = pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)


def hostile(text: str) -> Run:
    """Return a run in which this is every text of a model, a tool or a person."""
    name = text if text.strip() else "blank"
    arguments = {text: text, "nested": {text: [text, {"deep": text}, None, True, 1.5]}}
    tool = Tool(name, text, {"type": "object"}, lambda **arguments: text, effect="pure")
    failing = Tool("failing", "", {"type": "object"}, fail, effect="pure")
    thought = Reply(
        text, (Call(name, arguments, "c1"), Call("failing", {"text": text}, "c2"), Call(text, {}, "c3")), reasoning=text
    )
    model = Scripted([thought, Reply(text, answer=text), "end"], abilities=Abilities(tools=True), name=text)
    run = Agent(model, [tool, failing], journal="memory").start(text if text.strip() else "-", paused=True)
    next(run)
    run.inject(f"{text} please")
    run.drive()
    run.edit(2, text=text, reason=text, author=text)
    return run


def fail(text: str) -> None:
    raise ValueError(text)


def test_exported_notebooks_execute_no_text(execute: Callable[..., Any], outputs_of: Any, tmp_path: Path) -> None:
    notebooks = [to_notebook(hostile(text)) for text in HOSTILE.values()]
    executed = execute(*notebooks)
    assert not (tmp_path / "canary").exists()
    assert outputs_of(executed) == [outputs for notebook in notebooks for outputs in outputs_of(notebook)]


@every_text
def test_the_code_of_an_exported_notebook_is_nothing_but_calls_with_literals(text: str) -> None:
    cells = [cell for cell in to_notebook(hostile(text)).cells if cell.cell_type == "code"]
    settings, recording, *calls = cells
    assert len(calls) == 3
    assert settings.source.isascii() and ast.dump(ast.parse(recording.source)).count("Call(") == 1
    for cell in calls:
        assert cell.source.isascii() and cell.source.replace("\n", "").isprintable()
        assert TransformerManager().transform_cell(cell.source).strip() == cell.source.strip()
        (statement,) = ast.parse(cell.source).body
        assert isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
        call = statement.value
        assert isinstance(call.func, ast.Name) and call.func.id == "call" and not call.keywords
        number, name, arguments = map(ast.literal_eval, call.args)
        assert isinstance(number, int) and isinstance(name, str) and isinstance(arguments, dict)


def test_a_call_in_an_exported_notebook_has_exactly_the_recorded_arguments() -> None:
    for text in HOSTILE.values():
        run = hostile(text)
        for cell in to_notebook(run).cells:
            if cell.id.endswith("-action"):
                number, name, arguments = map(ast.literal_eval, ast.parse(cell.source).body[0].value.args)  # type: ignore[attr-defined]
                recorded = run[number].step.call  # type: ignore[union-attr]
                assert [name, arguments] == json.loads(json.dumps([recorded.name, recorded.arguments]))


@every_text
def test_an_exported_notebook_as_a_script_executes_no_text_either(text: str) -> None:
    from nbconvert import PythonExporter

    script, _ = PythonExporter().from_notebook_node(to_notebook(hostile(text)))
    statements = [ast.unparse(statement).partition("(")[0].strip() for statement in ast.parse(script).body]
    recording, packed = statements[3].split(" = ")
    assert recording == "recording" and isinstance(ast.literal_eval(packed), str)
    assert statements == [
        "from agentkit.export.playback import playback",
        "live = False",
        "tools = []",
        statements[3],
        "call = playback",
        *["call"] * 3,
    ]


# -- HTML --------------------------------------------------------------------------------------------------------------

TAGS = set(
    re.findall(
        r"\w+", "html head meta title body h1 p b i small code pre div details summary table thead tbody tr th td"
    )
)
ATTRIBUTES = {"style", "open", "class", "lang", "charset", "http-equiv", "content", "name"}
IN_PROSE = {
    *("p", "ul", "ol", "li", "blockquote", "hr", "pre", "code", "table", "thead", "tbody", "tr", "th", "td"),
    *("strong", "em", "s", "del", "a", "br", "div", "span"),
}
"""What Markdown of a model may become; with every extension of a viewer, and in the exports' own HTML."""
OF_PROSE = {"href", "title", "target", "rel", "start", "style", "class"}
VOID = {"meta", "br", "hr"}
"""Tags that nothing closes."""
LINK = re.compile(r"(https?:|mailto:|#)[^\s\"'<>]*")


class ParsedPage(HTMLParser):
    """The tags and attributes of a page, and the text between them."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        for name, value in attrs:
            if tag == "a" and name in ("href", "title"):  # a link shows where it leads
                assert LINK.fullmatch(value or ""), value
            else:
                assert "://" not in (value or "") and "javascript" not in (value or "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert tag in VOID or self.open.pop() == tag, f"</{tag}> closes another tag"

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"a declaration: {data}")

    handle_pi = unknown_decl


def fragments(module: Any, run: Run) -> Iterator[str]:
    yield module.run(run)
    yield from map(module.entry, run.entries)
    for entry in run.entries:
        if entry.kind == "act":
            yield module.message(entry.result)
        elif entry.kind == "think":
            yield from map(module.message, entry.result.messages)
    yield from map(module.tool, run.agent.tools.tools)
    yield module.usage(run.usage)
    yield module.result(run.result)
    yield run.agent._repr_html_() if module is html else run.agent._repr_markdown_()
    yield module.branches(run.branches())


@every_text
def test_html_contains_only_the_tags_and_attributes_of_the_export(text: str) -> None:
    run = hostile(text)
    for page in (to_html(run), *fragments(html, run)):
        parsed = ParsedPage(page)
        assert parsed.tags <= TAGS | IN_PROSE | {"figure", "figcaption"}
        assert parsed.attributes <= ATTRIBUTES | OF_PROSE and not parsed.open
        assert page.encode() and not set(page) & set("\x00\x07\x08\x1b\r\x0b\x0c\x85\u2028\u2029\u202e\u2066")


def test_html_shows_the_text_as_it_is() -> None:
    text = HOSTILE["script"] + HOSTILE["entities"] + HOSTILE["attribute"]
    assert text in ParsedPage(to_html(hostile(text))).text


# -- Markdown ----------------------------------------------------------------------------------------------------------


def commonmark(source: str) -> str:
    from markdown_it import MarkdownIt

    return str(MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(source))


def everything(source: str) -> str:
    """Render a dialect with every extension: bare links, footnotes, formulas, definitions, marks, task lists …"""
    import mistune

    plugins = (
        "strikethrough footnotes table url task_lists def_list abbr mark insert superscript subscript math ruby spoiler"
    )
    return str(mistune.create_markdown(escape=False, plugins=plugins.split())(source))


def notebook_viewer(source: str) -> str:
    from nbconvert.filters.markdown_mistune import markdown2html_mistune

    return str(markdown2html_mistune(source))


IN_MARKDOWN = {
    "h1",
    "blockquote",
    "h3",
    "p",
    "strong",
    "em",
    "code",
    "pre",
    "br",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "div",
    "span",
    "a",
}


@pytest.fixture(scope="module", params=[commonmark, everything, notebook_viewer])
def rendered(request: pytest.FixtureRequest) -> Callable[[str], ParsedPage]:
    """Return a function that renders Markdown and parses the page."""
    return lambda source: ParsedPage(request.param(source))


@every_text
def test_markdown_contains_only_the_markup_of_the_export(text: str, rendered: Callable[[str], ParsedPage]) -> None:
    run = hostile(text)
    for source, expected in zip(fragments(markdown, run), fragments(markdown, hostile("word")), strict=True):
        actual, harmless = rendered(source), rendered(expected)
        assert actual.tags <= IN_PROSE | harmless.tags, source
        assert actual.attributes <= OF_PROSE | harmless.attributes, source
        assert "\r" not in source and source.encode()
    cells = [cell.source for cell in to_notebook(run).cells if cell.cell_type == "markdown"]
    for source in (to_markdown(run), *cells):
        assert rendered(source).tags <= IN_MARKDOWN | IN_PROSE, source


@pytest.mark.parametrize("name", ["script", "handler", "attribute", "entities", "a name"])
def test_a_text_without_markdown_reads_like_the_original(name: str, rendered: Callable[[str], ParsedPage]) -> None:
    text = HOSTILE[name]
    cell = next(cell for cell in to_notebook(hostile(text)).cells if cell.id == "entry-1-thought")
    words = " ".join(text.split())
    assert words in " ".join(rendered(cell.source).text.replace("\xa0", " ").split())

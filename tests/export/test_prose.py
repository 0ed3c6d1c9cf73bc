"""Markdown of models: what becomes of it in HTML and in Markdown, and that it does no harm there.

`AGENTKIT_SIZE` sets how many random texts are tried.
"""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from hostile_text import ATTACKS, SIZE, raw_characters, texts
from markdown_it import MarkdownIt
from skeleton import skeleton_of

from agentkit import Agent, Message, Reply
from agentkit.export import html, prose, to_html, to_markdown, to_notebook
from agentkit.models.scripted import Scripted

CASES = json.loads((Path(__file__).parents[1] / "markdown_cases.json").read_text(encoding="utf-8"))
"""A name, a text, and its skeleton; widgets/test/elements/markdown.test.tsx checks the same ones in the live view."""

PIECES = (
    *(
        "[",
        "]",
        "(",
        ")",
        "![",
        "](",
        "<",
        ">",
        "`",
        "```\n",
        "~~~",
        "*",
        "**",
        "_",
        "~~",
        "\\",
        "|",
        "\n",
        "\n\n",
        "    ",
    ),
    *(
        "- ",
        "1. ",
        "> ",
        "# ",
        "---\n",
        "===\n",
        "|a|b|\n|-|-|\n",
        "$",
        "$$\n",
        "\\(",
        "\\[",
        "&",
        "&#x202e;",
        "&lt;",
        ":",
    ),
    *(
        "javascript:alert(1)",
        "data:text/html,x",
        "vbscript:x",
        "https://evil.example/a",
        "mailto:a@b.c",
        "//evil.example",
    ),
    *(
        "<img src=x onerror=alert(1)>",
        "<script>alert(1)</script>",
        "<svg/onload=alert(1)>",
        "<!--",
        "-->",
        "<a href=x>",
    ),
    *(
        "[x]: https://evil.example/ref\n",
        "[x]",
        "word",
        "FORGED",
        "\t",
        "\u202e",
        "\x1b[2J",
        "=",
        "+",
        "{",
        "}",
        "{.x}",
    ),
)


def random_texts(size: int) -> list[str]:
    randomly = random.Random(14)
    return ["".join(randomly.choices(PIECES, k=randomly.randint(1, 40))) for _ in range(size)]


HOSTILE = [*(source for _, source, _ in CASES), *ATTACKS, *texts(), *random_texts(100 * SIZE)]


@pytest.mark.parametrize(("source", "skeleton"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_html_is_what_the_live_view_draws(source: str, skeleton: str) -> None:
    assert skeleton_of(prose.to_html(source)) == skeleton


def test_the_cases_contain_every_attack_on_a_reader() -> None:
    assert all(any(attack in source for _, source, _ in CASES) for attack in ATTACKS)


TAG = re.compile(r"<(/?)([a-z0-9]+)((?: [a-z]+=\"[^\"<>]*\")*)>")


def assert_clean(shown: str) -> None:
    """Assert that HTML consists of the tags and attributes that agentkit draws."""
    assert not raw_characters(shown)
    for _, tag, attributes in TAG.findall(shown):
        assert tag in prose._TAGS | {"i"}, tag
        names = re.findall(r' ([a-z]+)="', attributes)
        assert set(names) <= {"style", "href", "title", "target", "rel", "start"}, attributes
        if tag == "a" and names:
            assert re.search(r' href="(https?://|mailto:)', attributes) and 'rel="noopener noreferrer"' in attributes
    assert "<" not in TAG.sub("", shown)


def test_html_has_no_tag_attribute_or_address_beyond_the_allowed_ones() -> None:
    for source in HOSTILE:
        assert_clean(prose.to_html(source))
        assert_clean(prose.to_html(source, 20))


def test_the_sanitizer_has_nothing_to_remove() -> None:
    for source in HOSTILE:
        drawn = "".join(prose._html(node) for block in prose.blocks_of(prose.safe_text(source)) for node in block.nodes)
        assert skeleton_of(drawn) == skeleton_of(prose.to_html(source))


def test_everything_that_was_written_is_shown() -> None:
    for source in HOSTILE:
        shown = skeleton_of(prose.to_html(source))
        assert shown.count("FORGED") >= source.count("FORGED")
        assert shown.count("word") >= source.count("word")


READERS = (
    MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]),
    MarkdownIt("js-default", {"html": True, "linkify": False}),
)


def elements(tokens: list[Any]) -> list[Any]:
    return [each for token in tokens for each in (token, *elements(token.children or []))]


def test_markdown_stays_in_its_quote_and_has_no_html_image_or_heading() -> None:
    for source in HOSTILE:
        for limit in (0, 20):
            written = prose.to_markdown(source, limit)
            assert not raw_characters(written)
            for reader in READERS:
                tokens = elements(reader.parse(f"before\n\n{written}\n\nafter"))
                kinds = {token.type for token in tokens}
                assert not kinds & {"html_block", "html_inline", "image", "heading_open"}, source
                for token in tokens:
                    if token.type == "link_open":
                        assert token.attrs["href"].startswith(
                            ("https://evil.example/", "https://", "http://", "mailto:")
                        )
                outer = [token for token in reader.parse(f"before\n\n{written}\n\nafter") if token.level == 0]
                first, last = outer[0], outer[-1]
                assert first.type == "paragraph_open" and last.type == "paragraph_close"
                if written.startswith(">"):
                    assert [t.type for t in outer[3:-3] if t.nesting] in ([], ["blockquote_open", "blockquote_close"])


def test_markdown_that_was_written_anew_reads_the_same() -> None:
    for name, source, skeleton in CASES:
        if name in ("lists", "a quote", "a table", "code with its language", "a table in prose", "tasks"):
            again = "\n".join(
                line.removeprefix(">").removeprefix(" ") for line in prose.to_markdown(source).split("\n")
            )
            assert skeleton_of(prose.to_html(again)) == skeleton, name


def test_a_text_without_markup_is_a_plain_block() -> None:
    assert prose.to_markdown("Two lines,\nand #3.") == "Two lines,\\\nand &#35;3."


TABLE = "| a | b |\n|---|---|\n" + "".join(f"| {n} | {n * n} |\n" for n in range(100))


@pytest.mark.parametrize("limit", [100, 301, 302, 303, 500])
def test_a_long_table_is_cut_between_its_rows(limit: int) -> None:
    shown = skeleton_of(prose.to_html(TABLE, limit))
    rows = re.findall(r"tr\(td\((\d+)\)td\((\d+)\)\)", shown)
    assert rows and all(int(a) ** 2 == int(b) for a, b in rows) and "characters" in shown


def test_a_text_that_is_too_long_ends_with_its_last_whole_block() -> None:
    shown = skeleton_of(prose.to_html(f"first\n\n{TABLE}\n\nlast", 300))
    assert shown.startswith("p(first)p(i(… (+") and "table" not in shown


def test_a_secret_is_masked_before_markdown_is_read() -> None:
    secret = "sk-" + "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKL"
    for shown in (prose.to_html(f"**{secret}**"), prose.to_markdown(f"**{secret}**")):
        assert secret[:20] not in shown


def test_a_thought_and_its_answer_are_rendered_in_every_static_form() -> None:
    text = "# 9 · Action\n\n**bold** <b>x</b>\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    run = Agent(Scripted([Reply(text, answer=text)]), journal="memory").start("**task**", paused=True)
    run.drive()
    for shown in (to_html(run), html.run(run)):
        assert "<strong>bold</strong> &lt;b&gt;x" in shown and "<td" in shown and "Raw text" in shown
        assert "# 9 · Action" in shown  # as it was written
        assert "**task**" in shown
    cells = "\n".join(cell.source for cell in to_notebook(run).cells)
    for shown in (to_markdown(run), run._repr_markdown_(), cells):
        assert "> **9 · Action**" in shown and "\n> **bold** &#60;b&#62;x" in shown and "> | a | b |" in shown
        assert not re.search("(?m)^#+ 9 · Action", shown)


def test_a_message_of_an_assistant_is_markdown_and_that_of_a_tool_is_not() -> None:
    assert "<strong>a</strong>" in html.message(Message("assistant", "**a**"))
    assert "**a**" in html.message(Message("tool", "**a**")) and "**a**" in html.message(Message("user", "**a**"))

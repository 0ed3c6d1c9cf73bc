"""Tables in text, HTML and Markdown: the same cells, the same limits, the same notes, and nothing is interpreted."""

from __future__ import annotations

import pytest

from agentkit.export.tables import Table, to_html, to_markdown, to_text

PRICES = Table(["item", "price"], [["tea", "3.2"], ["cake", "4.5"]], note="in francs")


def test_a_table_in_text_has_aligned_columns() -> None:
    assert to_text(PRICES) == "item  price\ntea   3.2\ncake  4.5\nin francs"


def test_a_table_in_markdown_is_escaped() -> None:
    assert to_markdown(PRICES) == "| item | price |\n| --- | --- |\n| tea | 3.2 |\n| cake | 4.5 |\n\n*in francs*"
    assert "| &#42;a&#42; &#124; b |" in to_markdown(Table(["x"], [["*a* | b"]]))


def test_a_table_in_html_is_escaped() -> None:
    html = to_html(Table(["<x>"], [["<script>"]], note="<b>"))
    assert html.count("<th ") == html.count("<td ") == 1
    assert "&lt;x&gt;" in html and "&lt;script&gt;" in html and "&lt;b&gt;" in html


@pytest.mark.parametrize("write", [to_text, to_html, to_markdown])
def test_hidden_rows_are_counted(write: type) -> None:
    table = Table(["n"], [[f"row {n}"] for n in range(7)])
    assert "… and 5 more rows" in write(table, max_rows=2)
    assert "… and 1 more row" in write(table, max_rows=6) and "more rows" not in write(table, max_rows=6)
    assert "row 6" in write(table, max_rows=None) and "more" not in write(table, max_rows=None)


@pytest.mark.parametrize("write", [to_html, to_markdown])
def test_hidden_columns_are_counted(write: type) -> None:
    table = Table(["a", "b", "c"], [["1", "2", "3"]])
    assert "… and 2 more columns" in write(table, max_columns=1)


@pytest.mark.parametrize("write", [to_text, to_html, to_markdown])
def test_short_rows_and_a_missing_header_are_padded(write: type) -> None:
    assert "second" in write(Table([], [["first"], ["x", "second"]]))
    assert write(Table([], [])) is not None


@pytest.mark.parametrize("write", [to_text, to_html, to_markdown])
def test_secrets_are_masked_in_cells(write: type) -> None:
    assert "a1b2c3d4" not in write(Table(["key"], [["sk-" + "a1b2c3d4" * 5]]))


def test_long_cells_and_long_lines_are_cut_in_text() -> None:
    table = Table(["a", "b"], [["x" * 50, "y" * 50]])
    assert "x" * 10 + "… (+40 characters)" in to_text(table, cell_width=10)
    assert to_text(table, line_width=20).split("\n")[1] == "x" * 19 + "…"

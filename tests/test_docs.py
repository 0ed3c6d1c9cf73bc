"""Every block of Python in the README and in docs/ runs as it stands, and prints what it says that it prints (`#> ...`)."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_examples import CodeExample, EvalExample, find_examples

ROOT = Path(__file__).parents[1]
EXAMPLES = list(find_examples(ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "docs"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example.path.name}:{example.start_line}")
def test_an_example_runs_and_prints_what_it_shows(example: CodeExample, eval_example: EvalExample) -> None:
    eval_example.set_config(line_length=132)
    eval_example.run_print_check(example)


def test_the_readme_has_an_example() -> None:
    assert any(example.path.name == "README.md" for example in EXAMPLES)

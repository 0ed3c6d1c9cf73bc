"""Every block of Python in the README, CONTRIBUTING and docs/ runs, and prints what it says (`#> ...`)."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_examples import CodeExample, EvalExample, find_examples

ROOT = Path(__file__).parents[1]
EXAMPLES = list(find_examples(ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "docs"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example.path.name}:{example.start_line}")
def test_an_example_runs_and_prints_what_it_shows(example: CodeExample, eval_example: EvalExample) -> None:
    eval_example.set_config(line_length=132)
    problem = ""
    try:
        eval_example.run_print_check(example)
    except Exception as error:  # on Python 3.11, pytest cannot show the traceback that pytest-examples makes
        problem = f"{type(error).__name__}: {error}"
    if problem:
        pytest.fail(f"{example}: {problem}", pytrace=False)


def test_the_readme_has_an_example() -> None:
    assert any(example.path.name == "README.md" for example in EXAMPLES)

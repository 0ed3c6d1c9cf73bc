# mypy: disable-error-code="no-untyped-call"
"""A task that ends with a question mark is a task: by itself IPython takes any line that ends so for a request for help."""

from __future__ import annotations

import tokenize
from typing import Any

from IPython.core.inputtransformer2 import EscapedCommand, MagicAssign

_LAYOUT = {tokenize.INDENT, tokenize.DEDENT}
_NO_TASK = {"?", "", "\n", "\r\n"}


def _is_task(words: list[str]) -> bool:
    """Say whether these are the words of `%agent` with something behind it; `%agent?` asks for help."""
    return words[:2] == ["%", "agent"] and len(words) > 2 and words[2] not in _NO_TASK


class Question(EscapedCommand):
    """Take `%agent …?` for the magic before IPython's own help does (which has priority 5)."""

    priority = 1

    @classmethod
    def find(cls, tokens_by_line: list[Any]) -> Any:
        """Find the first such line of a cell."""
        for line in tokens_by_line:
            tokens = [token for token in line if token.type not in _LAYOUT]
            if _is_task([token.string for token in tokens[:3]]):
                return cls(tokens[0].start)
        return None


class AssignedQuestion(MagicAssign):
    """The same for `name = %agent …?`."""

    priority = 1

    @classmethod
    def find(cls, tokens_by_line: list[Any]) -> Any:
        """Find the first such line of a cell."""
        for line in tokens_by_line:
            found = MagicAssign.find([line])
            if found and _is_task([token.string for token in line if token.start[1] >= found.start_col][:3]):
                return cls((found.start_line + 1, 0), found.start_col)
        return None

    def __init__(self, start: tuple[int, int], column: int) -> None:
        super().__init__(start)  # for the order: where the line begins, as the request for help does
        self.column = column

    def transform(self, lines: list[str]) -> list[str]:
        """Write the call in the place of the magic."""
        self.start_col = self.column
        return list(super().transform(lines))


def load(shell: Any) -> None:
    """Let a shell read questions; doing it twice is no harm."""
    known = shell.input_transformer_manager.token_transformers
    known += [each for each in (Question, AssignedQuestion) if each not in known]


def unload(shell: Any) -> None:
    """Let it take them for requests for help again."""
    known = shell.input_transformer_manager.token_transformers
    known[:] = [each for each in known if each not in (Question, AssignedQuestion)]

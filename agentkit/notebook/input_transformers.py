# mypy: disable-error-code="no-untyped-call"
"""Tasks that end with a question mark: without these transformers, IPython takes such a line as a request for help."""

from __future__ import annotations

import tokenize
from typing import Any

from IPython.core.inputtransformer2 import EscapedCommand, MagicAssign

_LAYOUT = {tokenize.INDENT, tokenize.DEDENT}
_NOT_A_TASK = {"?", "", "\n", "\r\n"}


def _is_task(words: list[str]) -> bool:
    """Return whether these words are `%agent` and the beginning of a task; `%agent?` is a request for help."""
    return words[:2] == ["%", "agent"] and len(words) > 2 and words[2] not in _NOT_A_TASK


class QuestionTask(EscapedCommand):
    """A line `%agent …?`, transformed before IPython's own help, which has priority 5."""

    priority = 1

    @classmethod
    def find(cls, tokens_by_line: list[Any]) -> Any:
        """Return the first such line of a cell."""
        for line in tokens_by_line:
            tokens = [token for token in line if token.type not in _LAYOUT]
            if _is_task([token.string for token in tokens[:3]]):
                return cls(tokens[0].start)
        return None


class AssignedQuestionTask(MagicAssign):
    """A line `name = %agent …?`."""

    priority = 1

    @classmethod
    def find(cls, tokens_by_line: list[Any]) -> Any:
        """Return the first such line of a cell."""
        for line in tokens_by_line:
            assignment = MagicAssign.find([line])
            if assignment is None:
                continue
            if _is_task([token.string for token in line if token.start[1] >= assignment.start_col][:3]):
                return cls((assignment.start_line + 1, 0), assignment.start_col)
        return None

    def __init__(self, start: tuple[int, int], column: int) -> None:
        super().__init__(start)  # the beginning of the line, as for a request for help, so that both are in order
        self.column = column

    def transform(self, lines: list[str]) -> list[str]:
        """Replace the magic by the call."""
        self.start_col = self.column
        return list(super().transform(lines))


_TRANSFORMERS = (QuestionTask, AssignedQuestionTask)


def load(shell: Any) -> None:
    """Add the transformers to a shell, unless they are already there."""
    transformers = shell.input_transformer_manager.token_transformers
    transformers += [transformer for transformer in _TRANSFORMERS if transformer not in transformers]


def unload(shell: Any) -> None:
    """Remove the transformers from a shell."""
    transformers = shell.input_transformer_manager.token_transformers
    transformers[:] = [transformer for transformer in transformers if transformer not in _TRANSFORMERS]

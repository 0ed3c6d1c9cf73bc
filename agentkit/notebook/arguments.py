# mypy: disable-error-code="no-untyped-call"
"""How a line of `%agent` is parsed: options first, quoted if necessary; then a command, or the task
exactly as typed.
"""

from __future__ import annotations

import argparse
import difflib
import io
import re
import shlex
from collections.abc import Iterable
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic_arguments import MagicArgumentParser

from agentkit.errors import Unknown, nearest

_OPTION = re.compile(r"--?[A-Za-z]|--(\s|$)")  # "-5 + 3" and "- milk" are not options
_NUMBER_OR_OPTION = re.compile(r"\s*(-|[+-]?\d)")


class Argument:
    """The arguments of one `add_argument` call, kept until the parser of the command is made."""

    def __init__(self, *names: str, **options: Any) -> None:
        self.names = names
        self.options = options


def parser_of(name: str, description: str, arguments: Iterable[Argument]) -> MagicArgumentParser:
    """Return the parser of `%agent name`."""
    parser = MagicArgumentParser(f"agent {name}", description=description)
    for argument in arguments:
        parser.add_argument(*argument.names, **argument.options)
    return parser


def options_of(parser: Any) -> dict[str, bool]:
    """Return the options of a parser, and whether each takes a value."""
    return {name: action.nargs != 0 for action in parser._actions for name in action.option_strings}


def _split_word(text: str) -> tuple[str, str]:
    """Return the first word of a text without its quotes, and the rest as it was typed."""
    stream = io.StringIO(text)
    lexer = shlex.shlex(stream, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        word = lexer.get_token()
    except ValueError as error:
        raise UsageError(f"{error}: {text}") from None
    return word or "", stream.read().lstrip()


def split_words(text: str) -> list[str]:
    """Split a line as a shell does."""
    words, rest = [], text.strip()
    while rest:
        word, rest = _split_word(rest)
        words.append(word)
    return words


def split_options(line: str, parser: Any) -> tuple[list[str], str, bool]:
    """Return the options at the beginning of a line, the rest as it was typed, and whether `--` marks
    it as plain text.
    """
    known, words, rest = options_of(parser), list[str](), line.strip()
    while _OPTION.match(rest):
        word, rest = _split_word(rest)
        if word == "--":
            return words, rest, True
        words.append(word)
        takes_value = known.get(word)
        has_value = "=" in word or (not word.startswith("--") and known.get(word[:2], False))
        if takes_value is None and not has_value:
            raise Unknown("option", word, known)
        if takes_value and rest:
            value, rest = _split_word(rest)
            words.append(value)
    return words, rest, False


def parse(parser: Any, words: list[str]) -> argparse.Namespace:
    """Parse words. Raises `UsageError` if any are left over, and says which."""
    parser.allow_abbrev = False
    args, extra = parser.parse_known_args(words)
    for word in extra:
        if word.startswith("-"):
            raise Unknown("option", word.partition("=")[0], options_of(parser))
    if extra:
        name = parser.prog.removeprefix("agent ")
        raise UsageError(
            f"`%agent {name}` does not take {' '.join(extra)!r} (see %agent help {name}); "
            f"if it is a task, write %agent -- {name} …"
        )
    return args


def check_text(text: str, parser: Any) -> None:
    """Refuse a text that contains a long option or ends with a short one, so that no option is sent to the model."""
    known, words = options_of(parser), text.split()
    misplaced = [word for word in words if word.startswith("--") and word.partition("=")[0] in known]
    misplaced += [word for word in words[-1:] if known.get(word) is False]
    misplaced += [word for word in words[-2:-1] if known.get(word) is True]
    if misplaced:
        raise UsageError(
            f"options go before the text, but {misplaced[0]} is in the text; if it belongs there, write -- before "
            "the text"
        )


def check_name(word: str, rest: str, commands: Iterable[str]) -> None:
    """Refuse a mistyped command if it is alone, or before one word, a number or an option."""
    near = difflib.get_close_matches(word.lower(), list(commands), cutoff=0.75)
    if near and (len(rest.split()) < 2 or _NUMBER_OR_OPTION.match(rest)):
        raise UsageError(
            f"unknown command {word!r}; did you mean {nearest(word, near) or near[0]!r}? "
            f"If it is a task, write %agent -- {word} …"
        )

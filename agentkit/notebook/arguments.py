# mypy: disable-error-code="no-untyped-call"
"""How a line of `%agent` is read: options first, quoted where needed; then a command, or the task just as it was typed."""

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

from agentkit.errors import Unknown

_OPTION = re.compile(r"--?[A-Za-z]|--(\s|$)")  # "-5 + 3" and "- milk" are words
_BRIEF = re.compile(r"\s*(-|[+-]?\d)")


class Argument:
    """One `add_argument` of a command, kept until its parser is made."""

    def __init__(self, *names: str, **how: Any) -> None:
        self.names = names
        self.how = how


def parser_of(name: str, about: str, arguments: Iterable[Argument]) -> MagicArgumentParser:
    """Make the parser of `%agent name`."""
    parser = MagicArgumentParser(f"agent {name}", description=about)
    for argument in arguments:
        parser.add_argument(*argument.names, **argument.how)
    return parser


def options(parser: Any) -> dict[str, bool]:
    """Name a parser's options, each with whether it takes a value."""
    return {name: action.nargs != 0 for action in parser._actions for name in action.option_strings}


def _token(text: str) -> tuple[str, str]:
    """Take the first word off a text, quotes removed; give it and the rest as it stands."""
    stream = io.StringIO(text)
    lexer = shlex.shlex(stream, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        word = lexer.get_token()
    except ValueError as error:
        raise UsageError(f"{error}: {text}") from None
    return word or "", stream.read().lstrip()


def words(text: str) -> list[str]:
    """Split a line as a shell would."""
    found, rest = [], text.strip()
    while rest:
        word, rest = _token(rest)
        found.append(word)
    return found


def split(line: str, parser: Any) -> tuple[list[str], str, bool]:
    """Take the options off the front; give them, the rest as it was typed, and whether `--` says that it is only text."""
    known, found, rest = options(parser), list[str](), line.strip()
    while _OPTION.match(rest):
        word, rest = _token(rest)
        if word == "--":
            return found, rest, True
        found.append(word)
        takes_value = known.get(word)
        attached = "=" in word or (not word.startswith("--") and known.get(word[:2], False))
        if takes_value is None and not attached:
            raise Unknown("option", word, known)
        if takes_value and rest:
            value, rest = _token(rest)
            found.append(value)
    return found, rest, False


def parse(parser: Any, given: list[str]) -> argparse.Namespace:
    """Parse split words; what is left over is a mistake, and the message says which."""
    parser.allow_abbrev = False
    args, more = parser.parse_known_args(given)
    for word in more:
        if word.startswith("-"):
            raise Unknown("option", word.partition("=")[0], options(parser))
    if more:
        name = parser.prog.removeprefix("agent ")
        raise UsageError(
            f"`%agent {name}` does not take {' '.join(more)!r} (see %agent help {name}); "
            f"a task that begins with this word is written %agent -- {name} …"
        )
    return args


def check_text(text: str, parser: Any) -> None:
    """Refuse a text with a long option in it, or with a short one at its end: no model shall read what is meant as an option."""
    known, said = options(parser), text.split()
    late = [word for word in said if word.startswith("--") and word.partition("=")[0] in known]
    late += [word for word in said[-1:] if known.get(word) is False]
    late += [word for word in said[-2:-1] if known.get(word) is True]
    if late:
        raise UsageError(
            f"options stand before the text, and {late[0]} stands in it; all that follows a lone -- is text"
        )


def check_name(word: str, rest: str, commands: Iterable[str]) -> None:
    """Refuse what looks like a command with a slip in it, alone, before one more word, or before a number or an option."""
    near = difflib.get_close_matches(word.lower(), list(commands), n=1, cutoff=0.75)
    if near and (len(rest.split()) < 2 or _BRIEF.match(rest)):
        raise UsageError(
            f"unknown command {word!r}; did you mean {near[0]!r}? A task that begins so is written %agent -- {word} …"
        )

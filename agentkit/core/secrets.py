"""Mask secrets before text is stored or shown: secret environment variables, and secrets of known shapes.

The shapes are in `core/secret_shapes.py`. A text goes through several sweeps, one after the other; each looks for one
kind of secret. `mask` gives a sweep the whole text at once, and `Stream` gives it the text in pieces, so both come to
the same result. A pattern never matches more than `_REACH` characters, so a sweep holds back no more than these; what
belongs to a longer secret is dropped as it arrives.

When in doubt, text stays readable: prose, hex digests and UUIDs are not masked. A secret that is encoded in some other
way (base64, compression) is not detected.
"""

from __future__ import annotations

import functools
import operator
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agentkit.core.secret_shapes import HEADERS, KEYS, LONGEST, NAMES, QUERY_NAMES


class _Pattern:
    """A regular expression that is compiled when it is first used, so that agentkit is imported quickly."""

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self._pattern, self._flags = pattern, flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self._pattern, self._flags)
        self.search, self.match, self.finditer = compiled.search, compiled.match, compiled.finditer
        return getattr(compiled, name)


_KEY_WORD = re.compile(r"(?:KEYS?|TOKENS?|SECRETS?|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|AUTH|PAT)$")
_TRIVIAL = {
    "disabled",
    "enabled",
    "required",
    "optional",
    "password",
    "undefined",
    "localhost",
    "anonymous",
    "username",
    "changeme",
}
_PLACEHOLDER = _Pattern(
    r"(?i)[<\[{]|\$[{(]|\$[a-z_]\w*$|%[a-z_(]\w*%?|\*\*|xxx|\.\."
    r"|your|example|placeholder|none$|null$|true$|false$|str$|string$|env:|getpass|os\."
    r"|(?:self|this|process|config|settings|args|options|request|env|ctx)\."
)

_REACH = 1024
"""The number of characters within which every sweep decides whether something is a secret."""

_CONTEXT = 64
"""The number of characters before a match that a sweep may look at."""

_ASCII_WORD = "".join(map(chr, range(33, 127)))
"""The characters of a word, at the end of which a sweep holds a stream back."""


# -- sweeps ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Rest:
    """What belongs to a secret after its match: everything that `more` matches.

    Unless the match ends with the group "over", it may go on with the text that comes next, and also if `open` matches
    what follows.
    """

    more: _Pattern
    open: _Pattern | None = None


@dataclass(frozen=True, slots=True)
class _Found:
    """A secret: the text that is shown in its place, and what belongs to it after the match."""

    shown: str
    rest: _Rest | None = None


_Search = Callable[[str, int], re.Match[str] | None]
"""Returns the first match in a text from a position on."""


class _Sweep:
    """A search for one kind of secret."""

    __slots__ = ("find_open", "holds_words", "reach", "read", "search_in")

    def __init__(
        self,
        search_in: Callable[[str], _Search | None],
        read: Callable[[re.Match[str]], _Found | None],
        find_open: Callable[[str, int], int | None],
        holds_words: bool = True,
        reach: int = _REACH,
    ) -> None:
        self.search_in = search_in
        """Returns how to search a text; None if there is certainly nothing to be found."""
        self.read = read
        """Returns the secret that a match is; None if it is not a secret."""
        self.find_open = find_open
        """Returns where a match may begin that needs more text than there is."""
        self.holds_words = holds_words
        self.reach = reach
        """The number of characters within which something is known to be a secret or not."""


def _opened(pattern: str) -> Callable[[str, int], int | None]:
    """Return a function that finds where a pattern matches up to the end of a text."""
    ending = _Pattern(rf"(?:{pattern})\Z", re.IGNORECASE)

    def find(text: str, start: int) -> int | None:
        match = ending.search(text, start)
        return match.start() if match else None

    return find


def _nothing(text: str, start: int) -> None:
    return None


class _Flow:
    """A sweep over a text that arrives in pieces."""

    __slots__ = ("_before", "_held", "_rest", "_sweep")

    def __init__(self, sweep: _Sweep) -> None:
        self._sweep = sweep
        self._before = ""  # text that is done with, as context
        self._held = ""  # text that has not been decided yet
        self._rest: _Rest | None = None  # of the secret that the text is in the middle of

    def add(self, piece: str, is_last: bool = False) -> str:
        """Add a piece, and return what can be shown now."""
        self._held += piece
        is_in_word = self._sweep.holds_words and self._rest is None and not piece.rstrip(_ASCII_WORD)
        if is_in_word and not is_last and len(self._held) < 2 * _REACH:
            return ""
        text, at = self._before + self._held, len(self._before)
        shown: list[str] = []
        if self._rest is not None:
            at, is_over = _follow(self._rest, text, at, is_last)
            if not is_over:
                self._keep(text, at)
                return ""
            self._rest = None
        at = self.decide(text, at, self._sweep.search_in(text), is_last, shown)
        self._keep(text, at)
        return "".join(shown)

    def _keep(self, text: str, at: int) -> None:
        self._before, self._held = text[max(0, at - _CONTEXT) : at], text[at:]

    def decide(self, text: str, at: int, search: _Search | None, is_last: bool, shown: list[str]) -> int:
        """Add to `shown` what can be decided, from a position on, and return the position up to which it was."""
        sweep, length = self._sweep, len(text)
        stop = length
        reach = max(at, length - sweep.reach)
        open_at: int | None = None
        if not is_last:
            stop = max(reach, len(text.rstrip(_ASCII_WORD))) if sweep.holds_words else length
            open_at = sweep.find_open(text, reach) if search or not sweep.holds_words else None
        search_at = at
        while search:
            match = search(text, search_at)
            limit = stop if open_at is None else min(stop, open_at)
            if match is None or match.start() >= limit:
                break
            start, end = match.span()
            if end == length and not is_last and start >= reach:
                stop = start
                break
            found = sweep.read(match)
            if found is None:
                search_at = start + 1
                continue
            is_over = True
            if found.rest is not None:
                end, is_over = _follow(found.rest, text, end, is_last)
                if not is_over and start >= reach:
                    stop = start
                    break
            shown += text[at:start], found.shown
            at = search_at = end
            if not is_over:
                self._rest = found.rest
                return at
            if open_at is not None and open_at < at:
                open_at = sweep.find_open(text, max(at, reach))
        limit = max(at, stop if open_at is None else min(stop, open_at))
        shown.append(text[at:limit])
        return limit


def _follow(rest: _Rest, text: str, at: int, is_last: bool) -> tuple[int, bool]:
    """Return the position up to which a text belongs to a secret, and whether the secret is over there."""
    match = rest.more.match(text, at)
    assert match is not None
    end, length = match.end(), len(text)
    if is_last or match.lastgroup == "over":
        return end, True
    if rest.open is None:
        return end, end < length
    if end == length:  # a line of a key is recognized by its length
        line = _END_OF_LINE.search(text, max(at, end - 16))
        return line.start() if line else end, False
    return end, rest.open.match(text, end) is None


def mask(text: str) -> str:
    """Return a text with each secret replaced by `[secret …]`, which names its kind and at most a short prefix."""
    if len(text) < 8:
        return text
    masked = text
    for sweep in _sweeps:
        if (search := sweep.search_in(masked)) is not None:
            shown: list[str] = []
            _Flow(sweep).decide(masked, 0, search, True, shown)
            masked = "".join(shown)
    return text if masked == text else masked


def mask_start(text: str, size: int) -> str:
    """Return the first `size` characters of a text, masked; a secret that is cut there is left out."""
    return Stream().add(text[:size]) if len(text) > size else mask(text)


def may_contain(text: str) -> bool:
    """Return whether there may be a secret in a text, or in the data whose JSON it is: False is certain."""
    return any(sweep.search_in(text) is not None for sweep in _sweeps)


class Stream:
    """A mask for a text that arrives in pieces: what may be the beginning of a secret is held back until it is decided.

    The pieces that come out, joined, are what `mask` makes of the whole text. Text is held back from its last word on,
    or from the name or header that a secret may follow, and never more than some thousand characters.
    """

    __slots__ = ("_flows",)

    def __init__(self) -> None:
        self._flows = [_Flow(sweep) for sweep in _sweeps]

    def add(self, piece: str) -> str:
        """Add a piece, and return what can be shown now."""
        for flow in self._flows:
            if not piece:
                break
            piece = flow.add(piece)
        return piece

    def end(self) -> str:
        """Return what was held back."""
        piece = ""
        for flow in self._flows:
            piece = flow.add(piece, is_last=True)
        return piece


# -- known values ------------------------------------------------------------------------------------------------------

_known: dict[str, str] = {}
"""The secret values, in each form in which they may appear, with their names."""

_learned: dict[str, str] = {}


def refresh(environment: Mapping[str, str] | None = None) -> None:
    """Look for secret values in the environment again, or in the one that is passed."""
    global _known, _sweeps
    source = os.environ if environment is None else environment
    values = {value: name for name, value in source.items() if _names_a_secret(name) and _may_be_secret(value)}
    if environment is None:
        values |= _learned
    forms = {form: name for value, name in values.items() for form in _forms(value)}
    if forms != _known:
        _known = forms
        _sweeps = (_sweep_for_values(forms), *_SHAPES) if forms else _SHAPES


def learn(value: str, name: str) -> None:
    """Mask this value, too, from now on: for example, a key that was passed as an argument or read from a keyring."""
    if value not in _learned and _may_be_secret(value):
        _learned[value] = name
        refresh()


def learn_named(values: Mapping[str, str]) -> None:
    """Mask those of some variables or HTTP headers whose names say that they are secret."""
    for name, value in values.items():
        if _names_a_secret(name) or name.lower() in ("authorization", "proxy-authorization", "cookie"):
            learn(value.partition(" ")[2] or value, name)


def known() -> list[str]:
    """Return the names of the environment variables whose values are masked, sorted."""
    return sorted(set(_known.values()))


def _sweep_for_values(values: Mapping[str, str]) -> _Sweep:
    longest_first = sorted(values, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, longest_first)))

    def search_in(text: str) -> _Search | None:
        return pattern.search if any(value in text for value in longest_first) else None

    def read(match: re.Match[str]) -> _Found:
        return _Found(f"[secret {values[match[0]]}]")

    def find_open(text: str, start: int) -> int | None:
        """Return where the text ends with the beginning of a value."""
        first = len(text)
        for value in longest_first:
            at = text.find(value[0], max(start, len(text) - len(value) + 1), first)
            while at >= 0 and not value.startswith(text[at:]):
                at = text.find(value[0], at + 1, first)
            first = at if at >= 0 else first
        return first if first < len(text) else None

    return _Sweep(search_in, read, find_open, holds_words=False, reach=max(_REACH, len(longest_first[0])))


@functools.lru_cache(maxsize=1024)
def _forms(value: str) -> set[str]:
    """Return a value as it is, and as it appears in JSON, in HTML and in a URL."""
    if value.isalnum() and value.isascii():
        return {value}
    import html
    import json
    from urllib.parse import quote, quote_plus

    escaped = {
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        html.escape(value),
        repr(value)[1:-1],
    }
    return {value, *escaped, quote(value, safe=""), quote(value), quote_plus(value)}


@functools.lru_cache(maxsize=1024)
def _names_a_secret(name: str) -> bool:
    return any(_KEY_WORD.search(word) for word in re.split(r"[^A-Z0-9]+", name.upper()))


def _may_be_secret(value: str) -> bool:
    if len(value) < 8 or value.isdigit() or value.lower() in _TRIVIAL:
        return False
    if re.match(r"https?://[^@]*$|[A-Za-z]:\\|~/|\.{1,2}/|file:", value):
        return False
    return not (value.startswith("/") and os.path.exists("/" + value[1:].partition("/")[0]))


# -- private keys ------------------------------------------------------------------------------------------------------

# between two lines of a key
_GAP = r"(?:\\{1,7}[nrt]|[\s\"'>|,;:#*+.\\\u2500-\u257f]|%0[AaDd]|&\#?\w{1,5};|<br ?/?>){0,80}+"
_LINE = r"[A-Za-z0-9+/=]"
_FIELD = r"(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash|MessageID): ?[^\r\n\\]{0,200}(?=[\r\n\\])"
_MARK = r"[A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}"
_LAST_LINE = (
    rf"(?:{_GAP}{_LINE}{{1,15}}+){{0,3}}{_GAP}"
    r"(?P<over>-----END [A-Z0-9 ]{1,60}-----|---- END [A-Z0-9 ]{1,60} ----)"
)
_SHORT_LINE = rf"(?=[A-Za-z]{{0,14}}[0-9+/=]){_LINE}{{1,15}}+(?!{_LINE})"
_END_OF_LINE = _Pattern(rf"{_LINE}{{1,16}}\Z")
_REST_OF_KEY = _Rest(
    _Pattern(
        rf"(?:{_GAP}(?:{_FIELD}|(?:{_LINE}{{1,6}}[\s:|>]{{1,8}})?{_LINE}{{16,}}+|{_SHORT_LINE}))*+(?:{_LAST_LINE})?"
    ),
    _Pattern(
        rf"(?:{_GAP}{_LINE}{{1,15}}+){{0,4}}+{_GAP}"
        r"(?:-?[A-Za-z-]{0,12}(?::[^\r\n\\]{0,200})?|-{1,5} ?[A-Z0-9 ]{0,70}-{0,5}"
        r"|[%&<][\w#/ ]{0,6})?\Z"
    ),
)
_PRIVATE_KEY = _Pattern(
    rf"(?:-----BEGIN {_MARK}-----|---- BEGIN {_MARK} ----|Private-Lines: ?\d{{1,4}})"
    rf"(?={_GAP}(?:{_FIELD}{_GAP}){{0,4}}(?:{_LINE}{{1,6}}[\s:|>]{{1,8}})?{_LINE}{{16}})"
)


def _sweep_for_private_keys() -> _Sweep:
    found = _Found("[secret private key]", _REST_OF_KEY)
    after = (
        rf"{_GAP}(?:{_FIELD}{_GAP}){{0,4}}(?:{_LINE}{{1,6}}[\s:|>]{{1,8}})?{_LINE}{{0,15}}"
        r"(?:-?[A-Za-z-]{0,12}(?::[^\r\n\\]{0,200})?|[%&<][\w#/ ]{0,6})?"
    )
    return _Sweep(
        lambda text: _PRIVATE_KEY.search if "----" in text or "Private-Lines" in text else None,
        lambda match: found,
        _opened(
            rf"(?:-{{4,5}} ?(?:B[EGIN]{{0,4}}|BEGIN [A-Z0-9 ]{{0,70}}-{{0,5}}|BEGIN {_MARK}-{{4,5}}{after})?"
            rf"|Private-Lines: ?\d{{0,4}}(?:{after})?)"
        ),
    )


# -- keys of a known form ----------------------------------------------------------------------------------------------

_DIGIT = re.compile(r"\d")
_ESCAPE = _Pattern(r"\\[nrtbfv]|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|%[0-9a-fA-F]{2}|\[[\d;]{1,12}m")
_DISCORD = _Pattern(r"\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27}")
_RARE = "_-.:/~$"
_HINTS: dict[str, dict[str, list[int]]] = {}
"""The hints that contain a rare character, by that character, each with the numbers of its keys; "" for the others."""
for _number, _key in enumerate(KEYS):
    for _hint in _key.hints:
        _HINTS.setdefault(next((rare for rare in _RARE if rare in _hint), ""), {}).setdefault(_hint, []).append(_number)
_UNHINTED = tuple(number for number, key in enumerate(KEYS) if not key.hints)
_SHORTEST = 19
_IN_KEYS = "-A-Za-z0-9_.~+/=:@$"
"""The characters of which keys consist, their beginnings included."""
_IN_DIGESTS = "0123456789abcdef.:"
"""The characters of digests, UUIDs and times; no hint consists of them alone."""
_LONG_WORD = _Pattern(rf"[{_IN_KEYS}]{{{_SHORTEST},}}+")
_LONG = 10_000
_TO_WORDS = bytes(n if re.match(f"[{_IN_KEYS}]", chr(n)) else 32 for n in range(256))


def _search_for_keys(text: str) -> _Search | None:
    if len(text) < _SHORTEST:
        return None
    words = _long_words(text)
    if not words:
        return None
    found: set[int] = set()
    for rare, hints in _HINTS.items():
        if rare in words and any(map(words.__contains__, hints)):
            found.update(number for hint, numbers in hints.items() if hint in words for number in numbers)
    if "." in words and _DISCORD.search(words):
        found.update(_UNHINTED)
    if not found or _search_for_any(numbers := sorted(found))(words, 0) is None:
        return None
    return _search_for_any(numbers)


def _long_words(text: str) -> str:
    """Return the words that are long enough for a key.

    To split a text is faster than to search it, but takes much memory if it is long.
    """
    if len(text) > _LONG:
        words = _LONG_WORD.findall(text)
    else:
        words = text.encode("latin-1", "replace").translate(_TO_WORDS).decode().split()
    return " ".join([word for word in words if len(word) >= _SHORTEST and word.strip(_IN_DIGESTS)])


def _search_for_any(numbers: list[int]) -> _Search:
    """Return a search for the first of several kinds of keys, each of which is searched for on its own.

    That is much faster than one pattern with alternatives, since most keys begin with some fixed characters.
    """
    nexts: dict[int, re.Match[str] | None] = {}

    def search(text: str, start: int) -> re.Match[str] | None:
        first = None
        for number in numbers:
            match = nexts.get(number)
            if number not in nexts or (match is not None and match.start() < start):
                match = nexts[number] = _key_pattern(number).search(text, start)
            if match is not None and (first is None or match.start() < first.start()):
                first = match
        return first

    return search


@functools.cache
def _key_pattern(number: int) -> re.Pattern[str]:
    return re.compile(f"(?P<k{number}>{KEYS[number].pattern})")


@functools.cache
def _start_and_rest(number: int) -> tuple[re.Pattern[str], _Rest | None]:
    key = KEYS[number]
    return re.compile(key.start), _Rest(_Pattern(f"[{key.chars}]*+")) if key.chars else None


def _read_key(match: re.Match[str]) -> _Found | None:
    number = int((match.lastgroup or "k0")[1:])
    key, text, start = KEYS[number], match.string, match.start()
    if start and (text[start - 1] in _WORD_BEFORE) and not _is_escape(text, start):
        return None
    if key.needs_digit and not _DIGIT.search(match[0]):
        return None  # words that are joined by hyphens
    begin, rest = _start_and_rest(number)
    begins = begin.match(text, start) if key.shown else None
    return _Found(f"[secret {begins[0]}…]" if begins else f"[secret {key.name}]", rest)


_WORD_BEFORE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def _is_escape(text: str, end: int) -> bool:
    """Return whether the letters before a position belong to an escape sequence, such as `\\n` in JSON."""
    return any(match.end() == end for match in _ESCAPE.finditer(text, max(0, end - 14), end))


def is_key(text: str) -> bool:
    """Return whether a text consists of nothing but a key in a common format."""
    search = _search_for_keys(text)
    match = search(text, 0) if search else None
    found = _read_key(match) if match else None
    if match is None or match.start() or found is None:
        return False
    end = _follow(found.rest, text, match.end(), is_last=True)[0] if found.rest else match.end()
    return end == len(text)


# -- passwords in URLs -------------------------------------------------------------------------------------------------

_URL = _Pattern(
    r"(?P<head>://[^\s/:@\"'<>\[]{0,256}:)[^\s/\"'<>\[]{1,256}@"
    r"|(?P<option>(?<![\w-])(?:-u|--user)[ =]?\\{0,3}[\"']?[^\s:\"'\\/]{1,64}:)(?P<password>[^\s\"'\\/]{4,256})"
)


def _read_url(match: re.Match[str]) -> _Found | None:
    if match["head"]:
        return _Found(f"{match['head']}[secret url password]@")
    return _Found(f"{match['option']}[secret password]") if _is_value(match["password"], quoted=True) else None


# -- headers -----------------------------------------------------------------------------------------------------------

_AUTHORIZATION, _BEARER, _COOKIE = (header.pattern for header in HEADERS)
_QUOTE = r"\\{0,7}[\"'`]"
_IS = rf"(?:{_QUOTE})?\s{{0,2}}[:=,]\s{{0,2}}(?:{_QUOTE})?"
_SCHEME = r"bearer|basic|token|digest|negotiate|apikey|key|hawk|sharedkey(?:lite)?|aws4-hmac-sha256"
_HEADER = _Pattern(
    rf"(?i)(?P<header>{_AUTHORIZATION}{_IS}(?:(?P<scheme>{_SCHEME})\s{{1,3}})?)"
    rf"(?P<value>[\w.~+/=:@!$%*&-]{{8,{LONGEST}}})"
    rf"|(?P<bearer>{_BEARER}\s{{1,3}})(?P<token>[A-Za-z0-9._~+/=-]{{16,{LONGEST}}})"
    rf"|(?P<cookie>{_COOKIE}{_IS})[\w!#$%&*+.^|~-]{{1,64}}=(?=[^\s;])"
)
_REST_OF_HEADER = _Rest(_Pattern(r"[\w.~+/=:@!$%*&-]*+"))
_REST_OF_COOKIE = _Rest(_Pattern(r"(?:[^\r\n\"'\\]|(?<==)\\{0,7}\"|\\{0,7}\"(?=;))*+"), _Pattern(r"\\{0,7}\"?\Z"))
_RANDOM = _Pattern(r"\d|[a-z][A-Z]|=|.{24}")


def _search_for_headers(text: str) -> _Search | None:
    low = text.lower()
    return _HEADER.search if "authorization" in low or "bearer" in low or "cookie" in low else None


def _is_header_value(name: str, value: str) -> bool:
    match = _HEADER.match(f"{name.rpartition('-')[2]}: {value}")
    return match is not None and _read_header(match) is not None


def _read_header(match: re.Match[str]) -> _Found | None:
    if match["cookie"]:
        return _Found(f"{match['cookie']}[secret cookie]", _REST_OF_COOKIE)
    if match["bearer"]:
        found = _Found(f"{match['bearer']}[secret bearer]", _REST_OF_HEADER)
        return found if _DIGIT.search(match["token"]) else None
    value = match["value"]
    if _PLACEHOLDER.match(value) or not (match["scheme"] or _RANDOM.search(value)):
        return None
    return _Found(f"{match['header']}[secret authorization]", _REST_OF_HEADER)


# -- values with a name ------------------------------------------------------------------------------------------------

_NAME = "|".join(name.pattern for name in NAMES)
_QUERY_NAME = "|".join(name.pattern for name in QUERY_NAMES)
_NAMED = _Pattern(
    rf"(?i)(?P<name>{_NAME}|(?P<query>{_QUERY_NAME}))"
    r"(?P<is>\\{0,7}[\"'`]?\s{0,2}(?:=>|:=|[=:])\s{0,2}|(?P<option>\s{1,2})|(?P<tag>>))"
    r"(?:"
    rf"(?P<open>\\{{0,7}}\")"
    rf"(?P<double>(?:[^\s\"\\]|\\(?:u[0-9a-f]{{4}}|/)){{4,{LONGEST}}})"
    rf"(?:(?=\\{{0,7}}\")|(?<=\S{{{LONGEST}}}))"
    rf"|(?P<begin>\\{{0,7}}')(?P<single>[^\s'\\]{{4,{LONGEST}}})(?:(?=\\{{0,7}}')|(?<=\S{{{LONGEST}}}))"
    rf"|(?P<bare>[^\s\"'`\\&,;<>(){{}}\[\]]{{4,{LONGEST}}}))"
)
_LOWER_NAME = _Pattern(rf"(?:{_NAME}|{_QUERY_NAME})(?=[\\\"'`\s=:>])")
_RESTS_OF_VALUES = {
    "double": _Rest(_Pattern(r"(?:[^\s\"\\]|\\(?:u[0-9a-fA-F]{4}|/))*+")),
    "single": _Rest(_Pattern(r"[^\s'\\]*+")),
    "bare": _Rest(_Pattern(r"[^\s\"'`\\&,;<>(){}\[\]]*+")),
}
_IN_QUERY = _Pattern(r"(?i)(?:[?&]|&amp;|\\u0026)[\w.-]{0,32}\Z|;\s?\Z")
_IN_OPTION = _Pattern(r"(?i)(?:^|\s)--?[\w-]{0,32}\Z|\blogin\s+\S{1,40}\s+\Z")
_SIGNATURE = _Pattern("[0-9a-f]{64}(?![A-Za-z0-9])")
_IN_TAG = _Pattern(r"<[\w:.-]{0,32}\Z")
_NAME_ENDS_KEY = _Pattern(rf"(?i)(?:^|[_.-]|(?<=[a-z])(?=[A-Z]))(?:{_NAME})$|^(?:{_NAME})$")
_HEADER_ENDS_KEY = _Pattern(rf"(?i)(?:^|-)(?:{_AUTHORIZATION}|{_COOKIE})$")
_NAME_HINTS = ("key", "token", "secret", "pass", "pwd", "credent", "sig=", "signature", "api ")


def _search_for_names(text: str) -> _Search | None:
    low = text.lower()
    if not any(map(low.__contains__, _NAME_HINTS)):
        return None
    if len(low) != len(text):
        return _NAMED.search

    def search(text: str, start: int) -> re.Match[str] | None:
        for name in _LOWER_NAME.finditer(low, start):  # much faster than to ignore the case everywhere
            if match := _NAMED.match(text, name.start()):
                return match
        return None

    return search


def _read_named(match: re.Match[str]) -> _Found | None:
    kind = "bare" if match["bare"] else "double" if match["double"] else "single"
    value, text, start = match[kind], match.string, match.start()
    before = text[max(0, start - 40) : start]
    if (match["option"] and not _IN_OPTION.search(before)) or (match["tag"] and not _IN_TAG.search(before)):
        return None
    is_query = "=" in match["is"] and _IN_QUERY.search(before) is not None
    if match["query"] and not ((is_query and len(value) >= 16) or (match["is"] == "=" and _SIGNATURE.match(value))):
        return None
    is_strong = is_query or match["tag"] is not None
    equals = "=" in match["is"] or match["option"] is not None
    if not _is_value(value, quoted=kind != "bare", query=is_strong, equals=equals):
        return None
    if kind == "bare" and text[match.end() : match.end() + 1] in ("(", "["):
        return None  # source code
    head = text[start : match.start(kind)]
    return _Found(f"{head}[secret {match['name'].lower()}]", _RESTS_OF_VALUES[kind])


def _is_value(value: str, *, quoted: bool, query: bool = False, equals: bool = False) -> bool:
    """Return whether a value with a secret's name is really a secret, not a number, a placeholder, code or prose."""
    if len(value) < 4 or value.isdigit() or _PLACEHOLDER.match(value) or value.lower() in _TRIVIAL:
        return False
    if quoted or query:
        return True
    return _DIGIT.search(value) is not None and (equals or len(value) >= 6)


# -- nested data -------------------------------------------------------------------------------------------------------


def mask_json(value: Any, mask: Callable[[str], str] = mask) -> Any:
    """Return nested data with every text masked, keys included; returns the same object if nothing changes.

    Data that is nested more than 100 levels deep, or that contains itself, becomes "…".
    """
    return _mask_json(value, mask, set())


def _mask_json(value: Any, mask: Callable[[str], str], above: set[int]) -> Any:
    masked: Any
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, bytes):
        text = value.decode("latin-1")  # keeps every byte
        return value if (masked := mask(text)) == text else masked.encode("latin-1", "replace")
    if not isinstance(value, dict | list | tuple):
        return value
    if len(above) >= 100 or id(value) in above:
        return "…"
    above.add(id(value))
    is_same = True
    if isinstance(value, dict):
        masked = {}
        for key, item in value.items():
            masked_key = mask(key) if type(key) is str else _mask_json(key, mask, above)
            masked_item = item if type(item) in _NUMBERS else _mask_item(key, item, mask, above)
            is_same = is_same and masked_key is key and masked_item is item
            masked[_free_key(masked_key, masked) if masked_key in masked else masked_key] = masked_item
    else:
        masked = [item if type(item) in _NUMBERS else _mask_json(item, mask, above) for item in value]
        is_same = all(map(operator.is_, value, masked))
        masked = tuple(masked) if isinstance(value, tuple) else masked
    above.discard(id(value))
    return value if is_same else masked


_NUMBERS = frozenset((int, float, bool, type(None)))


def _free_key(key: Any, taken: Mapping[Any, Any]) -> Any:
    """Return a key that is not taken yet: two secrets may look the same once they are masked."""
    free, number = key, 2
    while free in taken:
        free, number = f"{key} ({number})", number + 1
    return free


def _mask_item(key: Any, value: Any, mask: Callable[[str], str], above: set[int]) -> Any:
    if isinstance(key, str) and isinstance(value, str):
        if _NAME_ENDS_KEY.search(key) and _is_value(value, quoted=True):
            return f"[secret {key.lower()[-24:]}]"
        if _HEADER_ENDS_KEY.search(key) and _is_header_value(key, value):
            return f"[secret {key.lower()[-24:]}]"
    return _mask_json(value, mask, above)


# -- all sweeps --------------------------------------------------------------------------------------------------------

_SHAPES = (
    _sweep_for_private_keys(),
    _Sweep(_search_for_keys, _read_key, _nothing),
    _Sweep(
        lambda text: _URL.search if ("://" in text and "@" in text) or "-u" in text else None,
        _read_url,
        _opened(r"(?:://|(?<![\w-])(?:-u|--user)[ =]?)\S{0,600}"),
    ),
    _Sweep(
        _search_for_headers,
        _read_header,
        _opened(
            rf"(?:(?:{_AUTHORIZATION}|{_COOKIE})(?:{_QUOTE})?\s{{0,2}}"
            rf"(?:[:=,]\s{{0,2}}(?:{_QUOTE})?(?:[a-z0-9-]{{1,24}}\s{{1,3}})?\S{{0,600}})?"
            rf"|{_BEARER}\s{{0,3}}\S{{0,600}})"
        ),
    ),
    _Sweep(
        _search_for_names,
        _read_named,
        _opened(
            rf"(?:{_NAME}|{_QUERY_NAME})"
            r"(?:\\{0,7}[\"'`]?\s{0,2}(?:(?:=>|:=|[=:])\s{0,2})?|\s{1,2}|>)\S{0,600}|api "
        ),
    ),
)
_sweeps: tuple[_Sweep, ...] = _SHAPES
refresh()

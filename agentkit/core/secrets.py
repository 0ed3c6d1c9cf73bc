"""Mask secrets before text is stored or shown: secret environment variables, and keys in common formats.

When in doubt, text stays readable: prose, hex digests and UUIDs are not masked. A secret that is encoded in some other
way (base64, URL quoting) is not detected.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Mapping
from typing import Any

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

# Every quantifier below is possessive, or bounded, or ends the pattern: a failed match costs no more than it has read.
_KEY = re.compile(
    r"""(?<![A-Za-z0-9_-])(?:
        (?P<digit>sk-|xox[abeprs]-|glpat-|gsk_|xai-|[sr]k_(?:live|test)_)[A-Za-z0-9_-]{16,}
      | (?P<plain>gh[pousr]_|npm_|r8_|hf_)[A-Za-z0-9]{20,}
      | (?P<wide>github_pat_|pypi-AgE|AIza)[A-Za-z0-9_-]{20,}
      | (?P<aws>AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])
      | (?P<jwt>eyJ)[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)?
    )""",
    re.VERBOSE,
)
_PREFIX = re.compile(
    r"sk-|xox|glpat-|gsk_|xai-|k_live_|k_test_|gh[pousr]_|npm_|r8_|hf_|github_pat_|pypi-AgE|AIza|AKIA|ASIA|eyJ"
)
_PEM = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----((?:[^-]|-(?!----)){0,20000}+)(-----END [A-Z0-9 "
    r"]{0,40}-----)?"
)
_PEM_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,60}-{0,5}")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{0,40}-----")
_PEM_LINES = re.compile(r"(?:(?:\\[nr]|\s)*+[A-Za-z0-9+/=]{16,}+)*+")
_HEADER = re.compile(
    r"(?i)((?:authorization\\?[\"']?\s{0,3}[:=]\s{0,3}\\?[\"']?(?:(?:bearer|basic|token)\s{1,3})?)|bearer\s{1,3})([A-Za-z0-9._~+/=-]{8,})"
)
_URL = re.compile(r"(?<=://)([^\s/:@\"'<>\[]{0,256}:)([^\s/\"'<>\[]{1,256})@")
_NAME = (
    r"(?:password|passwd|pwd|passphrase|secret|api[ _-]?key|access[_-]?key|secret[_-]?key|private[_-]?key"
    r"|token|credentials?)"
)
_NAMED = re.compile(
    rf"(?i)(?P<query>[?&][a-z0-9_-]{{0,32}}?)?(?P<name>{_NAME})"
    r"""(?P<is>\\?["']?\s{0,2}[=:]\s{0,2})(?:(?P<quote>\\?["'])(?P<quoted>[^"'\s\\]{4,256})(?=\\?["'])|(?P<bare>[^\s"'\\&,;<>(){}\[\]]{4,512}))"""
)
_IS_NAME = re.compile(rf"(?i)(?:^|[_.-]|(?<=[a-z])(?=[A-Z])){_NAME}$|^{_NAME}$")
_PLACEHOLDER = re.compile(
    r"(?i)[<\[{$%*x.]|your|example|placeholder|none$|null$|true$|false$|os\.|str$|string$|env:|getpass"
)

_known: tuple[tuple[str, str], ...] = ()
"""Pairs of a secret value and its name, the longest value first."""

_values_with_spaces: tuple[str, ...] = ()
"""The secret values that consist of more than one word."""

_learned: dict[str, str] = {}


def refresh(environment: Mapping[str, str] | None = None) -> None:
    """Look for secret values in the environment again, or in the one that is passed."""
    global _known, _values_with_spaces
    source = os.environ if environment is None else environment
    values = {value: name for name, value in source.items() if _names_a_secret(name) and _may_be_secret(value)}
    if environment is None:
        values |= _learned
    escaped = {_escaped(value): name for value, name in values.items()}
    _known = tuple(sorted((values | escaped).items(), key=lambda pair: -len(pair[0])))
    _values_with_spaces = tuple(value for value, _ in _known if value.strip(_WORD_CHARACTERS))


def learn(value: str, name: str) -> None:
    """Mask this value, too, from now on: for example, a key that was passed as an argument or read from a keyring."""
    if value not in _learned and _may_be_secret(value):
        _learned[value] = name
        refresh()


def mask(text: str) -> str:
    """Return a text with each secret replaced by `[secret …]`, which names its kind and at most a short prefix."""
    if len(text) < 8:
        return text
    masked = text
    for value, name in _known:
        if value in masked:
            masked = masked.replace(value, f"[secret {name}]")
    if "-----BEGIN " in masked:
        masked = _PEM.sub(_replace_private_key, masked)
    if (
        "-" in text or "_" in text or "eyJ" in text or "AIza" in text or "AKIA" in text or "ASIA" in text
    ) and _PREFIX.search(text):
        masked = _KEY.sub(_replace_key, masked)
    if "=" in text or ":" in text or "earer" in text:
        masked = _mask_named(masked)
    return text if masked == text else masked


def is_key(text: str) -> bool:
    """Return whether a text consists of nothing but a key in a common format."""
    match = _KEY.fullmatch(text)
    return match is not None and _replace_key(match) != text


def mask_json(value: Any, mask: Callable[[str], str] = mask) -> Any:
    """Return nested data with every text masked, keys included; returns the same object if nothing changes.

    Data that is nested more than 100 levels deep, or that contains itself, becomes "…".
    """
    return _mask_json(value, mask, set())


def _mask_json(value: Any, mask: Callable[[str], str], above: set[int]) -> Any:
    if isinstance(value, str):
        return mask(value)
    if not isinstance(value, dict | list | tuple):
        return value
    if len(above) >= 100 or id(value) in above:
        return "…"
    above.add(id(value))
    if isinstance(value, dict):
        masked: Any = {}
        for key, item in value.items():
            masked_key = _mask_json(key, mask, above)
            masked_key = _free_key(masked_key, masked) if masked_key in masked else masked_key
            masked[masked_key] = _mask_item(key, item, mask, above)
        pairs = zip(value.items(), masked.items(), strict=True)
        is_same = all(key is other and item is masked_item for (key, item), (other, masked_item) in pairs)
    else:
        masked = [_mask_json(item, mask, above) for item in value]
        is_same = all(item is masked_item for item, masked_item in zip(value, masked, strict=True))
        masked = tuple(masked) if isinstance(value, tuple) else masked
    above.discard(id(value))
    return value if is_same else masked


def _free_key(key: Any, taken: Mapping[Any, Any]) -> Any:
    """Return a key that is not taken yet: two secrets may look the same once they are masked."""
    free, number = key, 2
    while free in taken:
        free, number = f"{key} ({number})", number + 1
    return free


def _mask_item(key: Any, value: Any, mask: Callable[[str], str], above: set[int]) -> Any:
    if isinstance(key, str) and isinstance(value, str) and _IS_NAME.search(key) and _is_value(value, quoted=True):
        return f"[secret {key.lower()[-24:]}]"
    return _mask_json(value, mask, above)


class Stream:
    """A mask for a text that arrives in pieces: a possible beginning of a secret is held back until it is complete."""

    __slots__ = ("_context", "_held_back")

    def __init__(self) -> None:
        self._context = self._held_back = ""

    def add(self, piece: str) -> str:
        """Add a piece, and return what can be shown now."""
        text = self._held_back + piece
        end = _complete_length(text)
        self._held_back = text[end:]
        return self._mask(text[:end])

    def end(self) -> str:
        """Return what was held back."""
        rest, self._held_back = self._held_back, ""
        return self._mask(rest)

    def _mask(self, text: str) -> str:
        """Return a part of the text, masked; the text before it matters, too, for example `password=`."""
        if not text:
            return ""
        context, both = mask(self._context), mask(self._context + text)
        self._context = (self._context + text)[-100:]
        return both[len(context) :] if both.startswith(context) else mask(text)


_WORD_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.~+/=:@-\"'\\"
_MAX_HELD_BACK = 20_000


def _complete_length(text: str) -> int:
    """Return the number of characters before the last word, and before any secret that may continue in it."""
    length = len(text.rstrip(_WORD_CHARACTERS))
    if "-----BEGIN " in text:
        length = min(length, _start_of_open_key(text, length))
    for value in _values_with_spaces:
        length = min(length, _start_of_open_value(text, value, length))
    return max(length, len(text) - _MAX_HELD_BACK)


def _start_of_open_key(text: str, length: int) -> int:
    """Return the position of the first private key that does not end within `length` characters."""
    for begin in _PEM_BEGIN.finditer(text, max(0, len(text) - _MAX_HELD_BACK)):
        end = _PEM_END.search(text, begin.end())
        if begin.end() == len(text) or ("PRIVATE KEY" in begin[0] and (end is None or end.end() > length)):
            return begin.start()
    return length


def _start_of_open_value(text: str, value: str, length: int) -> int:
    """Return the position of a secret value that may not end within `length` characters."""
    start = text.find(value, max(0, length - len(value) + 1))
    if 0 <= start < length:
        return start
    sizes = range(min(len(value) - 1, len(text)), 0, -1)
    return len(text) - next((size for size in sizes if text.endswith(value[:size])), 0)


def _mask_named(text: str) -> str:
    """Return a text with those secrets masked that the text before them reveals: a header, a URL, `password=`."""
    if "://" in text and "@" in text:
        text = _URL.sub(r"\1[secret url password]@", text)
    low = text.lower()
    if "bearer" in low or "authorization" in low:
        text = _HEADER.sub(_replace_header, text)
    if (
        "key" in low
        or "token" in low
        or "secret" in low
        or "passw" in low
        or "pwd" in low
        or "passphr" in low
        or "credent" in low
    ):
        text = _NAMED.sub(_replace_named, text)
    return text


def _replace_key(match: re.Match[str]) -> str:
    kind = match.lastgroup or ""
    if kind == "digit" and not _has_digit(match[0]):
        return match[0]  # words joined by hyphens
    return "[secret JWT]" if kind == "jwt" else f"[secret {match[kind]}…]"


def _replace_header(match: re.Match[str]) -> str:
    is_header = match[1][:1] in "aA"
    if match[2].lower() in ("bearer", "basic", "token") or not (
        is_header or (len(match[2]) >= 16 and _has_digit(match[2]))
    ):
        return match[0]
    return f"{match[1]}[secret {'authorization' if is_header else 'bearer'}]"


def _replace_private_key(match: re.Match[str]) -> str:
    if match[2]:
        return "[secret private key]"
    lines = _PEM_LINES.match(match[1])  # without an end marker, only the lines of the key are masked, not any prose
    return f"[secret private key]{match[1][lines.end() if lines else 0 :]}"


def _replace_named(match: re.Match[str]) -> str:
    value = match["quoted"] or match["bare"]
    if not _is_value(value, quoted=bool(match["quoted"]), query=match["query"] is not None, equals="=" in match["is"]):
        return match[0]
    name = match["name"].lower()
    return f"{match['query'] or ''}{match['name']}{match['is']}{match['quote'] or ''}[secret {name}]"


def _is_value(value: str, *, quoted: bool, query: bool = False, equals: bool = False) -> bool:
    """Return whether a value with a secret's name is really a secret, not a number, a placeholder, code or prose."""
    if len(value) < 4 or value.isdigit() or _PLACEHOLDER.match(value) or value.lower() in _TRIVIAL:
        return False
    if quoted or query:
        return True
    return _has_digit(value) and (equals or len(value) >= 6)


@functools.lru_cache(maxsize=1024)
def _names_a_secret(name: str) -> bool:
    return any(_KEY_WORD.search(word) for word in re.split(r"[^A-Z0-9]+", name.upper()))


def _may_be_secret(value: str) -> bool:
    if len(value) < 8 or value.isdigit() or value.lower() in _TRIVIAL:
        return False
    if re.match(r"https?://[^@]*$|[A-Za-z]:\\|~/|\.{1,2}/|file:", value):
        return False
    return not (value.startswith("/") and os.path.exists("/" + value[1:].partition("/")[0]))


def _escaped(value: str) -> str:
    """Return a value as it appears inside a JSON text."""
    import json

    return json.dumps(value)[1:-1]


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))


def known() -> list[str]:
    """Return the names of the environment variables whose values are masked, sorted."""
    return sorted({name for _, name in _known})


refresh()

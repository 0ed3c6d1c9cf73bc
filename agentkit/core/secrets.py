"""Keep secrets out of what is stored and shown: values of the environment that look like keys, and the usual shapes.

Errs on the side of readable text: ordinary prose, hex digests and uuids pass. A secret that was encoded in some other
way (base64, url quoting) is not found.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
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

# Every quantifier below is possessive, or bounded, or ends the pattern: a failed match costs no more than it read.
_SHAPE = re.compile(
    r"""(?<![A-Za-z0-9_-])(?:
        (?P<digit>sk-|xox[abeprs]-|glpat-|gsk_|xai-|[sr]k_(?:live|test)_)[A-Za-z0-9_-]{16,}
      | (?P<plain>gh[pousr]_|npm_|r8_|hf_)[A-Za-z0-9]{20,}
      | (?P<wide>github_pat_|pypi-AgE|AIza)[A-Za-z0-9_-]{20,}
      | (?P<aws>AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])
      | (?P<jwt>eyJ)[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)?
    )""",
    re.VERBOSE,
)
_SIGN = re.compile(
    r"sk-|xox|glpat-|gsk_|xai-|k_live_|k_test_|gh[pousr]_|npm_|r8_|hf_|github_pat_|pypi-AgE|AIza|AKIA|ASIA|eyJ"
)
_PEM = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----((?:[^-]|-(?!----)){0,20000}+)(-----END [A-Z0-9 ]{0,40}-----)?"
)
_PEM_LINES = re.compile(r"(?:(?:\\[nr]|\s)*+[A-Za-z0-9+/=]{16,}+)*+")
_HEADER = re.compile(
    r"(?i)((?:authorization\\?[\"']?\s{0,3}[:=]\s{0,3}\\?[\"']?(?:(?:bearer|basic|token)\s{1,3})?)|bearer\s{1,3})([A-Za-z0-9._~+/=-]{8,})"
)
_URL = re.compile(r"(?<=://)([^\s/:@\"'<>\[]{0,256}:)([^\s/\"'<>\[]{1,256})@")
_NAME = r"(?:password|passwd|pwd|passphrase|secret|api[ _-]?key|access[_-]?key|secret[_-]?key|private[_-]?key|token|credentials?)"
_NAMED = re.compile(
    rf"(?i)(?P<query>[?&][a-z0-9_-]{{0,32}}?)?(?P<name>{_NAME})"
    r"""(?P<is>\\?["']?\s{0,2}[=:]\s{0,2})(?:(?P<quote>\\?["'])(?P<quoted>[^"'\s\\]{4,256})(?=\\?["'])|(?P<bare>[^\s"'\\&,;<>(){}\[\]]{4,512}))"""
)
_IS_NAME = re.compile(rf"(?i)(?:^|[_.-]|(?<=[a-z])(?=[A-Z])){_NAME}$|^{_NAME}$")
_PLACEHOLDER = re.compile(
    r"(?i)[<\[{$%*x.]|your|example|placeholder|none$|null$|true$|false$|os\.|str$|string$|env:|getpass"
)

_known: tuple[tuple[str, str], ...] = ()
_learned: dict[str, str] = {}


def refresh(environment: Mapping[str, str] | None = None) -> None:
    """Look at the environment again (or at the one given) for values that are secret."""
    global _known
    source = os.environ if environment is None else environment
    found = {value: name for name, value in source.items() if _names_a_secret(name) and _may_be_secret(value)}
    if environment is None:
        found |= _learned
    escaped = {_inside_json(value): name for value, name in found.items()}
    _known = tuple(sorted((found | escaped).items(), key=lambda pair: -len(pair[0])))


def learn(value: str, name: str) -> None:
    """Mask this value from now on, too: a key that was given as an argument or comes from a keyring."""
    if value not in _learned and _may_be_secret(value):
        _learned[value] = name
        refresh()


def mask(text: str) -> str:
    """Replace every secret in a text by `[secret …]`, which names its kind and shows no more than a short prefix."""
    if len(text) < 8:
        return text
    masked = text
    for value, name in _known:
        if value in masked:
            masked = masked.replace(value, f"[secret {name}]")
    if (
        "-" in text or "_" in text or "eyJ" in text or "AIza" in text or "AKIA" in text or "ASIA" in text
    ) and _SIGN.search(text):
        masked = _SHAPE.sub(_shape, masked)
    if "=" in text or ":" in text or "earer" in text or "PRIVATE KEY" in text:
        masked = _mask_named(masked)
    return text if masked == text else masked


def is_key(text: str) -> bool:
    """Say whether a text is nothing but a key of one of the usual shapes."""
    match = _SHAPE.fullmatch(text)
    return match is not None and _shape(match) != text


def mask_json(value: Any, mask: Callable[[str], str] = mask) -> Any:
    """Mask every text in nested data, keys included; what needs no change is given back as it is.

    What lies deeper than 100 levels, or holds itself, becomes "…".
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
        masked: Any = {_mask_json(key, mask, above): _mask_item(key, item, mask, above) for key, item in value.items()}
        same = len(value) == len(masked) and all(
            a is b and x is y for (a, x), (b, y) in zip(value.items(), masked.items(), strict=True)
        )
    else:
        masked = [_mask_json(item, mask, above) for item in value]
        same = all(a is b for a, b in zip(value, masked, strict=True))
        masked = tuple(masked) if isinstance(value, tuple) else masked
    above.discard(id(value))
    return value if same else masked


def _mask_item(key: Any, value: Any, mask: Callable[[str], str], above: set[int]) -> Any:
    if isinstance(key, str) and isinstance(value, str) and _IS_NAME.search(key) and _is_value(value, quoted=True):
        return f"[secret {key.lower()[-24:]}]"
    return _mask_json(value, mask, above)


class Stream:
    """Mask a text that comes in pieces: its last word waits until it is whole, and what stood before a word counts too."""

    __slots__ = ("_before", "_held")

    def __init__(self) -> None:
        self._before = self._held = ""

    def add(self, piece: str) -> str:
        """Take one more piece, and give what can be shown now."""
        text = self._held + piece
        at = max(len(text.rstrip(_OF_A_WORD)), len(text) - 512)
        self._held = text[at:]
        return self._shown(text[:at])

    def end(self) -> str:
        """Give what is left."""
        left, self._held = self._held, ""
        return self._shown(left)

    def _shown(self, text: str) -> str:
        if not text:
            return ""
        before, both = mask(self._before), mask(self._before + text)
        self._before = (self._before + text)[-100:]
        return both[len(before) :] if both.startswith(before) else mask(text)


_OF_A_WORD = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.~+/=:@-\"'\\"


def _mask_named(text: str) -> str:
    """Mask what is secret by what stands before it: a header, a URL, `password=`, the head of a key file."""
    if "://" in text and "@" in text:
        text = _URL.sub(r"\1[secret url password]@", text)
    low = text.lower()
    if "bearer" in low or "authorization" in low:
        text = _HEADER.sub(_header, text)
    if "-----BEGIN " in text:
        text = _PEM.sub(_pem, text)
    if (
        "key" in low
        or "token" in low
        or "secret" in low
        or "passw" in low
        or "pwd" in low
        or "passphr" in low
        or "credent" in low
    ):
        text = _NAMED.sub(_named, text)
    return text


def _shape(match: re.Match[str]) -> str:
    kind = match.lastgroup or ""
    if kind == "digit" and not _has_digit(match[0]):
        return match[0]  # words joined by hyphens
    return "[secret JWT]" if kind == "jwt" else f"[secret {match[kind]}…]"


def _header(match: re.Match[str]) -> str:
    is_header = match[1][:1] in "aA"
    if match[2].lower() in ("bearer", "basic", "token") or not (
        is_header or (len(match[2]) >= 16 and _has_digit(match[2]))
    ):
        return match[0]
    return f"{match[1]}[secret {'authorization' if is_header else 'bearer'}]"


def _pem(match: re.Match[str]) -> str:
    if match[2]:
        return "[secret private key]"
    lines = _PEM_LINES.match(match[1])  # no end in sight: take the key's own lines, and leave the prose that follows
    return f"[secret private key]{match[1][lines.end() if lines else 0 :]}"


def _named(match: re.Match[str]) -> str:
    value = match["quoted"] or match["bare"]
    if not _is_value(value, quoted=bool(match["quoted"]), query=match["query"] is not None, equals="=" in match["is"]):
        return match[0]
    name = match["name"].lower()
    return f"{match['query'] or ''}{match['name']}{match['is']}{match['quote'] or ''}[secret {name}]"


def _is_value(value: str, *, quoted: bool, query: bool = False, equals: bool = False) -> bool:
    """Tell whether what follows a telling name is a secret, and not a number, a placeholder, code or prose."""
    if len(value) < 4 or value.isdigit() or _PLACEHOLDER.match(value) or value.lower() in _TRIVIAL:
        return False
    if quoted or query:
        return True
    return _has_digit(value) and (equals or len(value) >= 6)


def _names_a_secret(name: str) -> bool:
    return any(_KEY_WORD.search(word) for word in re.split(r"[^A-Z0-9]+", name.upper()))


def _may_be_secret(value: str) -> bool:
    if len(value) < 8 or value.isdigit() or value.lower() in _TRIVIAL:
        return False
    if re.match(r"https?://[^@]*$|[A-Za-z]:\\|~/|\.{1,2}/|file:", value):
        return False
    return not (value.startswith("/") and os.path.exists("/" + value[1:].partition("/")[0]))


def _inside_json(value: str) -> str:
    """Spell a value as it appears inside a JSON text."""
    import json

    return json.dumps(value)[1:-1]


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))


def known() -> Iterator[str]:
    """Give the names of the environment variables whose values are masked."""
    return iter(sorted({name for _, name in _known}))


refresh()

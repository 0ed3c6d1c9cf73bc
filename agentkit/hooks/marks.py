"""Marks of a prompt injection in a text that a tool has read: phrases, fake roles, hidden characters.

The list is short and public, so it stops careless attacks and accidents, not a person who has read it. What protects a
run is what its tools may do: approvals, hooks and effects.
"""

from __future__ import annotations

import re
import unicodedata

_LONGEST = 200_000
"""How many characters of a text are searched, from its beginning and from its end."""

_MODEL = r"(?:assistant|ai|llm|language model|model|bot|agent)"
_PERSON = r"(?:user|human|operator|person)"
_FEW = r"(?:\w+ ){0,3}?"
"""Up to three words in between."""

_PHRASES = re.compile(
    "|".join(
        [
            rf"\b(?:ignore|disregard|forget|override|bypass) {_FEW}"
            rf"(?:previous|prior|above|earlier|preceding|all|any|your|system|foregoing) {_FEW}"
            r"(?:instruction|prompt|direction|rule|guideline|message)s?\b",
            r"\b(?:new|updated|revised|real|actual) (?:system )?instructions? ?:",
            rf"\b(?:reveal|print|repeat|show|output|leak) {_FEW}(?:system|hidden|initial|developer) "
            r"(?:prompt|message|instruction)",
            rf"\byou are (?:now|no longer) (?:an? |the )?{_FEW}(?:{_MODEL}|dan|jailbroken|unrestricted)\b",
            rf"\b(?:do not|don't|never) (?:tell|inform|mention (?:this )?to|alert|notify|warn) "
            rf"(?:the |your ){_PERSON}\b",
            rf"\bwithout (?:telling|informing|asking|notifying) (?:the |your ){_PERSON}\b",
            r"\b(?:enter|enable|switch to) (?:developer|debug|god|jailbreak|dan) mode\b",
            rf"\b(?:attention|important|note|message|instructions?) (?:to|for) (?:the |any |all )?{_MODEL}s?\b",
        ]
    )
)

_ROLES = re.compile(
    r"""
      <\|?\s?(?:im_start|im_end|system|assistant|user|endoftext|eot_id|start_header_id|begin_of_text)\s?\|?>
    | \[/?(?:inst|system|assistant)\] | <</?sys>>
    | ^[ \t#*]*(?:system|assistant|developer)[ \t*]*:[ \t*]*(?:you|your|ignore|from\ now)
    | ^[ \t]*(?:thought|action|action\ input|final\ answer)[ \t]*:
    """,
    re.VERBOSE | re.MULTILINE,
)

_HIDDEN = re.compile(
    "[\U000e0020-\U000e007f]{4,}|[\u200b-\u200f\u2060-\u2064\ufeff]{8,}|[\u202a-\u202e\u2066-\u2069]{2,}"
)
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")
_SPACES = re.compile(r"[^\S\n]+")
_BREAKS = re.compile(r"\s+")


def injection_mark(text: str) -> str:
    """Return the first mark of a prompt injection in a text, as a phrase to show, or ""."""
    if len(text) > 2 * _LONGEST:
        text = f"{text[:_LONGEST]}\n{text[-_LONGEST:]}"
    if _HIDDEN.search(text):
        return "hidden characters"
    lines = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).casefold().replace("’", "'")
    if found := _PHRASES.search(_BREAKS.sub(" ", lines)):
        return repr(found[0][:80])
    if found := _ROLES.search(_SPACES.sub(" ", lines)):
        return f"a fake role, {found[0].strip()[:80]!r}"
    return ""

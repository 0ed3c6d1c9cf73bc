"""Read "the capital of France" and "France's capital": an attribute and a subject, as they are worded."""

from __future__ import annotations

from agentkit.models.offline.plans import Lookup


def words(text: str) -> frozenset[str]:
    """List the words of a text."""
    return frozenset(text.split())


_NO_SUBJECT = words(
    "in at on during per by for with who whom which that this it those these before after and or than is was are were will would "
    "if then what when where why how my your his her our their me you i we they all every each between to from as not"
)
_NO_ATTRIBUTE = _NO_SUBJECT - words("from in at per by") | words(
    "what's whats who's whos find tell square root half twice double cube log ln sum difference product quotient ratio average "
    "mean plus minus times divided percent "
    "also so now please ok okay well hi hello hey thanks know give get say look"
)
_OPERATORS = words("plus minus times divided multiplied over modulo squared cubed")


def fact(phrase: str) -> Lookup | None:
    """Read "the capital of France" or "France's capital"; None when it is neither."""
    phrase = phrase.removeprefix("the ").removeprefix("The ").strip()
    left, of, right = phrase.partition(" of ")
    if of and left.lower() in ("number", "amount"):
        left, of, right = right.partition(" of ")
    if not of:
        right, possessive, left = phrase.replace("’s ", "'s ").partition("'s ")
        if not possessive:
            return None
    subject, attribute = right.strip(), left.strip().lower()
    for article in ("the ", "The "):
        subject = subject.removeprefix(article)
    if is_name(subject, 5, refused=_NO_SUBJECT | _OPERATORS) and is_attribute(attribute):
        return Lookup(subject, attribute.removeprefix("the "))
    return None


def is_name(text: str, most: int, *, refused: frozenset[str] = _NO_SUBJECT) -> bool:
    """Tell whether these words can name something: few, clean, and with no word that would need understanding."""
    words = text.lower().split()
    clean = any(c.isalpha() for c in text) and all(c.isalnum() or c in " .'’-" for c in text)
    before, of, _ = text.lower().partition(" of ")
    whole = not of or before.split()[-1] in (
        "states",
        "republic",
        "kingdom",
        "federation",
    )  # not "area of the capital of"
    return 0 < len(words) <= most and clean and whole and refused.isdisjoint(words)


def is_attribute(text: str) -> bool:
    """Tell whether these words can name an attribute, such as "distance from the sun"."""
    return is_name(text, 6, refused=_NO_ATTRIBUTE)

"""Read an expression, in signs or in words, with look-ups among its numbers: recursive descent over tokens, never worked out."""

from __future__ import annotations

import re

from agentkit.models.offline.lookups import fact, is_name
from agentkit.models.offline.plans import Lookup, Number, Sum, Unclear


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,])|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+)"
    r"|(?P<word>[^\W\d_]+(?:['’.-][^\W\d_]+)*\.?)|(?P<sign>\*\*|//|[-+*/%^()√,×÷−·]))"
)
_LONG = (  # words of several words, made one; the longest first
    ("raised to the power of", "**"), ("to the power of", "**"), ("raised to the", "**"), ("divided by", "/"),
    ("multiplied by", "*"),
    ("added to", "+"), ("square root of", "root of"), ("absolute value of", "abs of"), ("modulo", "%mod"), ("mod", "%mod"),
    ("percent", "%"), ("per cent", "%"), ("times", "*"), ("plus", "+"), ("minus", "-"), ("over", "/"),
)  # fmt: skip
_WORDS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18,
    "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
_SCALES = {"hundred": "100", "thousand": "1000", "million": "1000000", "billion": "1000000000", "dozen": "12"}
_PAIRS = {"sum": "+", "difference": "-", "product": "*", "quotient": "/", "ratio": "/"}
_SIGNS = {"×": "*", "÷": "/", "−": "-", "·": "*", "^": "**", "x": "*", "%mod": "%"}
_CALLS = _listed("sqrt abs round min max floor ceil log log10 log2 exp factorial gcd sin cos tan")
_LEVELS = {"+": 1, "-": 1, "*": 2, "/": 2, "//": 2, "%": 2, "**": 4}
_MOST_TOKENS = 200


class _NotOne(Exception):
    """This is no expression."""


def read(text: str) -> object | None:
    """Read an expression; None when the text is none. Raises `Unclear` where words leave the grouping open."""
    tokens = _tokens(text)
    if not tokens or len(tokens) > _MOST_TOKENS:
        return None
    try:
        reader = _Reader(tokens)
        plan = reader.expression(1)
    except (_NotOne, RecursionError):
        return None
    return plan if reader.at == len(tokens) else None


def _tokens(text: str) -> list[tuple[str, str]]:
    """Cut a text into (kind, text); an empty list when something in it belongs to no expression."""
    text = f" {text} "
    for words, sign in _LONG:
        text = re.sub(rf"(?<=[\s\d)%]){words}(?=[\s\d(])", f" {_MARKS.get(sign, sign)} ", text, flags=re.IGNORECASE)
    text, found, at = text.strip(), [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            return []
        kind = match.lastgroup or ""
        found.append((kind, match[kind]))
        at = match.end()
    return found


_MARKS = {"%mod": "modulus"}


class _Reader:
    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = 0
        self.attribute = ""
        self.paired = False

    def kind(self, ahead: int = 0) -> str:
        return self.tokens[self.at + ahead][0] if self.at + ahead < len(self.tokens) else ""

    def text(self, ahead: int = 0) -> str:
        return self.tokens[self.at + ahead][1].lower() if self.at + ahead < len(self.tokens) else ""

    def operator(self) -> str:
        text = "%" if self.text() == "modulus" else _SIGNS.get(self.text(), self.text())
        return text if text in _LEVELS else ""

    def take(self, *texts: str) -> bool:
        if self.text() in texts:
            self.at += 1
            return True
        return False

    def need(self, *texts: str) -> None:
        if not self.take(*texts):
            raise _NotOne

    def expression(self, level: int) -> object:
        """Read as much as binds at least as tightly as `level`."""
        self.depth += 1
        if self.depth > 40:
            raise _NotOne
        left = self.signed()
        while (operator := self.operator()) and _LEVELS[operator] >= level:
            self.at += 1
            right = self.expression(_LEVELS[operator] + (operator != "**"))
            left = join(left, operator, right)
        self.depth -= 1
        return left

    def signed(self) -> object:
        if self.take("-", "−"):
            return Sum(("-", wrapped(self.expression(4), 4)), 3)
        if self.take("+"):
            return self.expression(4)
        return self.after(self.atom())

    def after(self, value: object) -> object:
        """Read what may follow a value: "squared", "cubed", "% of"."""
        while True:
            if self.take("squared"):
                value = Sum((wrapped(value, 5), " ** 2"), 4)
            elif self.take("cubed"):
                value = Sum((wrapped(value, 5), " ** 3"), 4)
            elif self.text() == "%" and self.text(1) == "of":
                self.at += 2
                whole = self.loose(self.after(self.atom()))
                value = Sum((wrapped(value, 2), " * ", wrapped(whole, 3), " / 100"), 2)
            elif self.text() == "%" and self.kind(1) != "number" and self.text(1) != "(":
                raise _NotOne
            else:
                return value

    def loose(self, value: object) -> object:
        """Refuse to guess how far words such as "square root of" reach when an operator follows."""
        if self.operator():
            raise Unclear("it is not clear how far the words reach; write the expression with parentheses")
        return value

    def atom(self) -> object:
        kind, text = self.kind(), self.text()
        if kind == "number" or text in _WORDS:
            return self.number()
        if self.take("("):
            inner = self.expression(1)
            self.need(")")
            return Sum(("(", inner, ")")) if not isinstance(inner, Number) else inner
        if self.take("√"):
            return Sum(("sqrt(", self.atom(), ")"))
        if kind == "word":
            return self.words()
        raise _NotOne

    def number(self) -> Number:
        """Read digits or number words, with a scale: "3.5 million", "two hundred", "twenty-one"."""
        kind, text = self.kind(), self.text()
        self.at += 1
        if kind == "number":
            value = text.replace(",", "")
            value = f"0{value}" if value.startswith(".") else value
        else:
            value = str(_WORDS[text])
            if _WORDS[text] >= 20 and 0 < _WORDS.get(self.text(), 0) < 10:
                value = str(_WORDS[text] + _WORDS[self.text()])
                self.at += 1
        while self.text() in _SCALES:
            value = _scaled(value, _SCALES[self.text()])
            self.at += 1
        if self.kind() == "number" or self.text() in _WORDS:
            raise _NotOne
        return Number(value)

    def words(self) -> object:
        """Read what begins with a word: a function, "the sum of … and …", or something to look up."""
        start = self.at
        self.take("the")
        text = self.text()
        if text in _CALLS and self.text(1) == "(":
            return self.call(text)
        if text in ("pi", "π"):
            self.at += 1
            return Sum(("pi",))
        if text in ("root", "sqrt", "abs", "factorial") and (self.text(1) == "of" or self.kind(1) == "number"):
            self.at += 2 if self.text(1) == "of" else 1
            return Sum(("sqrt(" if text == "root" else f"{text}(", self.loose(self.after(self.atom())), ")"))
        if text in ("half", "twice", "double") and (self.text(1) == "of" or text != "half"):
            self.at += 2 if self.text(1) == "of" else 1
            value = self.loose(self.after(self.atom()))
            return Sum((wrapped(value, 3), " / 2")) if text == "half" else Sum(("2 * ", wrapped(value, 3)))
        if text in ("square", "cube") and self.text(1) == "of":
            self.at += 2
            value = self.loose(self.after(self.atom()))
            return Sum((wrapped(value, 5), " ** 2" if text == "square" else " ** 3"), 4)
        if text in _PAIRS and self.text(1) in ("of", "between"):
            return self.pair(_PAIRS[text])
        self.at = start
        return self.looked_up()

    def call(self, name: str) -> Sum:
        self.at += 2
        if self.kind() == "number" and "," in self.text():
            raise Unclear(
                "a comma between digits can mean two things; write a space after a comma that separates numbers"
            )
        parts: list[object] = [f"{name}(", self.expression(1)]
        while self.take(","):
            parts += [", ", self.expression(1)]
        self.need(")")
        return Sum((*parts, ")"))

    def pair(self, operator: str) -> object:
        self.at += 2
        left = self.after(self.atom())
        self.need("and", "to")
        self.paired = True
        right = self.loose(self.after(self.atom()))
        self.paired = False
        return Sum(("(", join(left, operator, right), ")"))

    def looked_up(self) -> object:
        """Read the words up to the next operator as something to look up."""
        words: list[str] = []
        while self.kind() == "word" and not self.operator() and self.text() not in ("and", "squared", "cubed"):
            words.append(self.tokens[self.at][1])
            self.at += 1
        if words and words[-1].lower() == "to":  # "the ratio of A to B"
            words.pop()
            self.at -= 1
        elif "to" in (low := [word.lower() for word in words]):
            self.at -= len(words) - low.index("to")
            words = words[: low.index("to")]
        return self.same_attribute(" ".join(words))

    def same_attribute(self, phrase: str) -> Lookup:
        """Read a look-up; "that of Spain", and "Spain" in "the areas of Italy and Spain", take over the attribute before."""
        found = fact(phrase)
        if found is None and self.paired and self.attribute.endswith("s") and is_name(phrase, 5):
            found = Lookup(phrase, self.attribute)
        elif found is not None and found.attribute in ("that", "those"):
            found = Lookup(found.subject, self.attribute)
        if found is None or not found.attribute:
            raise _NotOne
        self.attribute = found.attribute
        return found


def join(left: object, operator: str, right: object) -> Sum:
    """Write two plans with an operator between them, and parentheses where they are needed."""
    level = _LEVELS[operator]
    return Sum(
        (wrapped(left, level + (operator == "**")), f" {operator} ", wrapped(right, level + (operator != "**"))), level
    )


def wrapped(plan: object, level: int) -> object:
    """Put parentheses around what binds less tightly than `level`."""
    return Sum(("(", plan, ")")) if isinstance(plan, Sum) and plan.level < level else plan


def _scaled(value: str, scale: str) -> str:
    """Move the decimal point, digit by digit: "3.5" by "1000000" is "3500000"; "two hundred" is "200"."""
    whole, _, rest = value.partition(".")
    if scale == "12":
        return str(int(value) * 12) if not rest else value
    zeros = len(scale) - 1
    moved = whole + rest[:zeros].ljust(zeros, "0")
    return (moved.lstrip("0") or "0") + ("." + rest[zeros:] if rest[zeros:] else "")

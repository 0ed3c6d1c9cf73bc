"""The calls of a run as a flame: bars in bars, each as wide as its time, its tokens or its cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from agentkit.telemetry.calls import Called

MAX_BARS = 400
"""How many bars are drawn; the smallest of the others are put together."""

_MAX_STEPS = 60
"""How many steps are drawn in one bar."""


@dataclass(slots=True)
class Bar:
    """A bar: what it stands for, and what was spent in it and in the bars inside it.

    `kind` is "run", "apart", "lane", "phase", "name", "step", "overhead" or "more". `entry` is its longest step on the
    line of the run, by its number in the tree, or 0; `longest` is how long that took.
    """

    name: str
    kind: str
    seconds: float = 0.0
    tokens: int = 0
    cost: float = 0.0
    calls: int = 0
    entry: int = 0
    longest: float = -1.0
    inside: dict[str, Bar] = field(default_factory=dict)

    def add(self, called: Called) -> None:
        """Add a call."""
        self.seconds += called.seconds
        self.tokens += called.usage.total
        self.cost += called.usage.cost
        self.calls += called.calls
        if called.entry and not called.apart and called.seconds > self.longest:
            self.entry, self.longest = called.entry, called.seconds

    def within(self, key: str, name: str, kind: str) -> Bar:
        """Return the bar inside this one with a key; it is made if there is none."""
        return self.inside.setdefault(key, Bar(name, kind))

    @property
    def bars(self) -> list[Bar]:
        """The bars inside it, the longest first."""
        return sorted(self.inside.values(), key=lambda bar: (-bar.seconds, -bar.tokens))


def flame(calls: Iterable[Called], overhead: float) -> Bar:
    """Return the bar of a whole run."""
    run = Bar("run", "run")
    for called in calls:
        bars, bar = [run], run
        for key, name, kind in _levels(called):
            bar = bar.within(key, name, kind)
            bars.append(bar)
        for bar in bars:
            bar.add(called)
    if overhead > 0:
        run.within("overhead", "overhead", "overhead").seconds = overhead
        run.seconds += overhead
    return run


def _levels(called: Called) -> Iterator[tuple[str, str, str]]:
    """Yield the key, the name and the kind of each bar that a call is in, from the outside in."""
    if called.apart:
        yield f"apart {called.apart}", called.apart, "apart"
    for path, name in called.stack:
        yield f"lane {path}", name, "lane"
    if called.phase != called.apart:
        yield f"phase {called.phase}", called.phase, "phase"
        yield f"name {called.model or called.tool}", called.model or called.tool, "name"
    if called.entry:
        yield f"step {called.entry}", called.name, "step"


def folded(run: Bar) -> str:
    """Return collapsed stacks: a line for each kind of call, as `run;think;model 1200`, in microseconds."""
    return "\n".join(_lines(run, ""))


def _lines(bar: Bar, above: str) -> Iterator[str]:
    stack = f"{above}{bar.name.replace(';', ':')}"
    inner = [each for each in bar.bars if each.kind != "step"]
    own = bar.seconds - sum(each.seconds for each in inner)
    if (microseconds := round(own * 1e6)) > 0:
        yield f"{stack} {microseconds}"
    for each in inner:
        yield from _lines(each, f"{stack};")


def data(run: Bar, limit: int = MAX_BARS) -> dict[str, Any]:
    """Return a flame as JSON data of at most about this many bars: those with the largest share of anything."""
    sizes = sorted((_size(bar, run) for bar in _all(run)), reverse=True)
    return _data(run, run, sizes[limit - 1] if len(sizes) > limit else -1.0)


def _all(bar: Bar) -> Iterator[Bar]:
    yield bar
    for each in bar.inside.values():
        yield from _all(each)


def _size(bar: Bar, run: Bar) -> float:
    """Return the largest share of a bar: of the time, the tokens or the cost."""
    pairs = (bar.seconds, run.seconds), (bar.tokens, run.tokens), (bar.cost, run.cost)
    return max(part / total if total else 0.0 for part, total in pairs)


def _data(bar: Bar, run: Bar, smallest: float) -> dict[str, Any]:
    large = [each for each in bar.bars if _size(each, run) >= smallest]
    steps = [each for each in large if each.kind == "step"][_MAX_STEPS:]
    drawn = [each for each in large if each not in steps] if steps else large
    bars = [_data(each, run, smallest) for each in drawn]
    if others := len(bar.inside) - len(drawn):
        known = {id(each) for each in drawn}
        rest = Bar(f"{others:,} more", "more")
        for each in bar.inside.values():
            if id(each) not in known:
                rest.seconds += each.seconds
                rest.tokens += each.tokens
                rest.cost += each.cost
                rest.calls += each.calls
        bars.append(_own(rest, []))
    return _own(bar, bars)


def _own(bar: Bar, bars: list[dict[str, Any]]) -> dict[str, Any]:
    figures = {"seconds": bar.seconds, "tokens": bar.tokens, "cost": bar.cost, "calls": bar.calls}
    return {"name": bar.name, "kind": bar.kind, **figures, "entry": bar.entry, "bars": bars}

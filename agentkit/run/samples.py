"""Samples of a thought: what a model replies if it is asked the same several times, as a histogram."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentkit.core.display import Displayed
from agentkit.core.messages import Call, Reply, canonical
from agentkit.core.secrets import mask
from agentkit.core.text import call_text, counted, one_line
from agentkit.core.usage import Usage
from agentkit.inert import inert, inert_lines
from agentkit.journal.entries import Entry
from agentkit.models.tokens import tokens, tokens_of_tools
from agentkit.run.asked_again import Asking, Question

IN_THE_RUN = "← in the run"

Recorded = Callable[[], list[Entry]]
"""Returns the replies to the question that are recorded, oldest first."""

Ask = Callable[[int], Any]
"""Asks the question so many times, and records the replies."""

Fork = Callable[[Entry], Any]
"""Returns a run that continues with a reply."""


@dataclass(slots=True)
class Outcome:
    """What several replies have in common: the same calls with the same arguments, or the same answer.

    `happened` is true if it is what the thought in the run says, too.
    """

    text: str
    entries: list[Entry]
    share: float
    happened: bool
    _fork: Fork = field(repr=False)
    _runs: dict[int, Any] = field(repr=False)

    @property
    def count(self) -> int:
        """The number of replies."""
        return len(self.entries)

    @property
    def run(self) -> Any:
        """A fork that continues with this reply; it is made when it is first asked for, and nothing is performed."""
        first = self.entries[0]
        if first.id not in self._runs:
            self._runs[first.id] = self._fork(first)
        return self._runs[first.id]

    @inert
    def __repr__(self) -> str:
        return f"{self.count}x {one_line(self.text, 100, mask)}"


class Samples(Displayed):
    """What a model replies if it is asked `times` times what it was asked in a recorded thought; see `Run.resample`.

    `samples[0]` is the most frequent outcome, and `samples[0].run` a run that continues with it. `forecast` says what
    is still to be asked and what that will probably cost, and `go()` asks it. Replies that are asked for elsewhere, as
    in the live view, count at once.
    """

    def __init__(
        self,
        question: Question,
        times: int,
        recorded: Recorded,
        asking: Mapping[str, Asking],
        ask: Ask,
        fork: Fork,
    ) -> None:
        self.thought = question.thought
        self.times = times
        self._question, self._recorded, self._asking = question, recorded, asking
        self._ask, self._fork = ask, fork
        self._runs: dict[int, Any] = {}

    @property
    def replies(self) -> list[Entry]:
        """The entries of the replies so far, at most `times`; they are recorded."""
        return self._recorded()[: self.times]

    @property
    def recorded(self) -> int:
        """The number of all replies that are recorded, also of those above `times`."""
        return len(self._recorded())

    @property
    def question(self) -> str:
        """A digest of the model and the request: what is asked."""
        return self._question.digest

    @property
    def happened(self) -> str:
        """What the thought in the run says, as the text of an outcome."""
        return _text(self.thought.result)

    @property
    def calls(self) -> int:
        """The number of model calls that `go()` would make."""
        return self.times - len(self.replies)

    @property
    def expected(self) -> Usage:
        """What `go()` will probably use: as much for each call as those that are recorded.

        If their usage is not known, the tokens to read are estimated, and those to write are 0.
        """
        known = [entry.usage for entry in [self.thought, *self.replies] if entry.usage is not None]
        if known and any(usage.total for usage in known):
            used, of = sum(known, Usage()), len(known)
        else:
            used, of = Usage(_estimate(self.thought)), 1
        each = self.calls / of
        return Usage(round(used.input * each), round(used.output * each), cost=used.cost * each, calls=self.calls)

    @property
    def forecast(self) -> str:
        """How many calls `go()` would make, and what they will probably cost, as a sentence."""
        return f"go() makes {self.price}" if self.calls else self.price

    @property
    def price(self) -> str:
        """What is still to be asked, as a text: the calls, and their tokens and price."""
        if not self.calls:
            return f"Nothing is left to ask: {len(self.replies)} of {self.times} replies are recorded."
        used = self.expected
        price = f"about ${used.cost:.3g}" if used.cost else "no price is known"
        written = f" and {used.output:,} to write" if used.output else ""
        calls = f"{counted(self.calls, 'call')} of {self._question.model}"
        return f"{calls}: about {used.input:,} tokens to read{written}; {price}. No tool is called."

    def go(self) -> Samples:
        """Ask the model, record its replies, and return the samples. Only the thought is performed, never a tool.

        Raises the error of the model, and `UsageError` if the budget is used up or the same is being asked already; the
        replies up to then are kept, and another `go()` asks for the rest.
        """
        self._ask(self.calls)
        return self

    @property
    def is_asking(self) -> bool:
        """Whether the model is being asked at the moment, here or in the live view."""
        return self.question in self._asking

    def stop(self) -> Samples:
        """Stop `go()`, which another thread or the live view has called: no further call is made, and the call in
        progress is cancelled if possible. The replies up to then are kept, and another `go()` asks for the rest.
        """
        asking = self._asking.get(self.question)
        if asking is not None:
            asking.stop()
        return self

    @property
    def outcomes(self) -> list[Outcome]:
        """The different outcomes, the most frequent first."""
        groups: dict[bytes, list[Entry]] = {}
        replies = self.replies
        for entry in replies:
            groups.setdefault(_key(entry.result), []).append(entry)
        now = _key(self.thought.result)
        return [
            Outcome(_text(group[0].result), group, len(group) / len(replies), key == now, self._fork, self._runs)
            for key, group in sorted(groups.items(), key=lambda item: -len(item[1]))
        ]

    @property
    def counts(self) -> dict[str, int]:
        """How often each outcome was seen, by its text."""
        counts: Counter[str] = Counter()
        for outcome in self.outcomes:
            counts[outcome.text] += outcome.count
        return dict(counts)

    def __len__(self) -> int:
        return len(self.outcomes)

    def __getitem__(self, index: int) -> Outcome:
        return self.outcomes[index]

    def __iter__(self) -> Iterator[Outcome]:
        return iter(self.outcomes)

    @property
    def title(self) -> str:
        """What was asked, and how often."""
        asked = f"asked {counted(len(self.replies), 'time')}" if self.replies else "not asked again yet"
        temperature = self._question.temperature
        at = "" if temperature is None else f" at temperature {temperature:g}"
        return f"{self.thought.step_name}, {self._question.model}{at}: {asked}"

    def _bars(self) -> list[Any]:
        from agentkit.export.bars import Bar

        return [Bar(o.text, o.count, IN_THE_RUN if o.happened else "") for o in self.outcomes]

    def _remarks(self) -> list[str]:
        """Return the sentences below the bars."""
        seen = any(outcome.happened for outcome in self.outcomes)
        other = f"In the run: {self.happened} (not among the samples)" if self.replies and not seen else ""
        return [line for line in (other, self.forecast if self.calls or not self.replies else "") if line]

    @inert_lines
    def __repr__(self) -> str:
        from agentkit.export.bars import bars_text

        bars = [bars_text(self._bars())] if self.replies else []
        return "\n".join([self.title, *bars, *(one_line(remark, 300, mask) for remark in self._remarks())])

    def _repr_html_(self) -> str:
        from agentkit.export.bars import bars_html
        from agentkit.export.escaping import escape_html
        from agentkit.export.html import fragment

        bars = bars_html(self._bars()) if self.replies else ""
        remarks = "".join(f"<p>{escape_html(remark)}</p>" for remark in self._remarks())
        return fragment(f"<p><b>{escape_html(self.title)}</b></p>", bars, remarks)

    def _repr_markdown_(self) -> str:
        from agentkit.export.bars import bars_markdown
        from agentkit.export.escaping import markdown_inline

        bars = [bars_markdown(self._bars())] if self.replies else []
        return "\n\n".join([f"**{markdown_inline(self.title)}**", *bars, *map(markdown_inline, self._remarks())])


def _estimate(thought: Entry) -> int:
    """Return an estimate of the tokens of a thought's request."""
    step: Any = thought.performed or thought.step
    return sum(map(tokens, step.chat)) + tokens_of_tools(step.tools)


def _key(reply: Reply) -> bytes:
    """Return what makes two replies the same outcome."""
    calls = [[call.name, call.arguments, call.raw if call.problem else None] for call in reply.calls]
    return canonical([calls, None if calls else (reply.answer or reply.text or reply.raw).strip()])


def _call_text(call: Call) -> str:
    """Return a call as Python source; if its arguments cannot be used, they are shown as the model wrote them."""
    if call.problem and call.raw:
        return f"{call.name}: {one_line(call.raw, 100, mask)}"
    return mask(call_text(call))


def _text(reply: Reply) -> str:
    """Return an outcome as a line: its calls or its answer."""
    if reply.calls:
        return ", ".join(map(_call_text, reply.calls))
    return one_line(reply.answer or reply.text or reply.raw or "(nothing)", 300, mask)

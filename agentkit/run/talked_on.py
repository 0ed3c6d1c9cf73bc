"""What a model writes if nothing stops it after its action, beside what really happened."""

from __future__ import annotations

from dataclasses import dataclass

from agentkit.core.display import Displayed
from agentkit.core.messages import Message
from agentkit.core.secrets import mask
from agentkit.inert import inert_lines
from agentkit.journal.entries import Entry
from agentkit.trace.line import Tree

_COLUMN = "flex:1 1 20em;min-width:0;padding:.4em .6em;border:1px solid rgba(128,128,128,.5)"
_TEXT = "white-space:pre-wrap;overflow-wrap:anywhere;margin:.3em 0"
_MARKS = {
    "invented": "border-left:4px solid #d9534f;background:rgba(217,83,79,.15);padding-left:.5em",
    "real": "border-left:4px solid #3a9a5b;background:rgba(58,154,91,.15);padding-left:.5em",
}
_LIMIT = 20_000


@dataclass(slots=True, repr=False)
class TalkedOn(Displayed):
    """A thought, and what its model writes without the stop sequence; see `Run.without_stop`.

    `thought` is the thought in the run, and `entry` the one without the stop sequence: the same one if the model did
    not stop in the run either. `observations` are what the tools really returned; empty if none was called.
    """

    thought: Entry
    entry: Entry
    observations: tuple[Message, ...]

    @property
    def written(self) -> str:
        """What the model wrote before it invented an observation."""
        return _raw(self.entry)

    @property
    def really_written(self) -> str:
        """What the model wrote in the run."""
        return _raw(self.thought)

    @property
    def invented(self) -> str:
        """The invented observation, and all that the model wrote after it; "" if it invented none."""
        text: str = self.entry.result.cut
        return text.rstrip()

    @property
    def sentence(self) -> str:
        """What was found, as a sentence."""
        if not self.invented and self.entry.result.calls:
            return (
                "Without the stop sequence, the model invented no observation this time: it ended its turn by itself, "
                "or its host stops it after an action whatever it is asked."
            )
        if not self.invented:
            return "The model called no tool, so there was no observation to invent."
        if self.entry is self.thought:
            return "The model or its host ignored the stop sequence in the run, too; agentkit cut off what it invented."
        return "Nothing called the tool on the left: the model invented what it would return."

    @inert_lines
    def __repr__(self) -> str:
        left = [_indented(self.written), *([_indented(self.invented, "  ! ")] if self.invented else [])]
        right = [
            _indented(self.really_written),
            *(_indented(f"Observation: {m.text}", "  = ") for m in self.observations),
        ]
        parts = ["Let it talk on (! is invented):", *left, "Call the tool (= is real):", *right, self.sentence]
        return mask("\n".join(parts))

    def _repr_html_(self) -> str:
        from agentkit.export.escaping import escape_html
        from agentkit.export.html import fragment

        left = _block(self.written) + (_block(self.invented, "invented") if self.invented else "")
        right = _block(self.really_written) + "".join(
            _block(f"Observation: {message.text}", "real") for message in self.observations
        )
        columns = "".join(
            f'<div style="{_COLUMN}"><b>{title}</b>{body}</div>'
            for title, body in (("Let it talk on", left), ("Call the tool", right))
        )
        return fragment(
            f'<div style="display:flex;flex-wrap:wrap;gap:.6em">{columns}</div>', f"<p>{escape_html(self.sentence)}</p>"
        )

    def _repr_markdown_(self) -> str:
        from agentkit.export.escaping import markdown_block

        return "\n\n".join(
            [
                "**Let it talk on**",
                markdown_block(self.written),
                *([f"*Invented:*\n\n{markdown_block(self.invented)}"] if self.invented else []),
                "**Call the tool**",
                markdown_block(self.really_written),
                *(f"*Real:*\n\n{markdown_block(f'Observation: {message.text}')}" for message in self.observations),
                markdown_block(self.sentence),
            ]
        )


def observations_of(thought: Entry, line: list[Entry], tree: Tree) -> tuple[Message, ...]:
    """Return what the calls of a thought returned, as far as they are on a line."""
    calls = thought.result.calls
    after = [entry for entry in line if entry.kind == "act" and tree.order(entry.id) > tree.order(thought.id)]
    answers = [next((e.result for e in after if e.step.call == call), None) for call in calls]  # type: ignore[union-attr]
    return tuple(message for message in answers if message is not None)


def _raw(entry: Entry) -> str:
    text: str = entry.result.raw or entry.result.text
    return text.strip()


def _indented(text: str, prefix: str = "    ") -> str:
    return "\n".join(f"{prefix}{line}" for line in text.splitlines())


def _block(text: str, mark: str = "") -> str:
    from agentkit.export.escaping import escape_html

    label = f"<small>{mark}</small>" if mark else ""
    return f'{label}<pre style="{_TEXT};{_MARKS.get(mark, "")}">\n{escape_html(text, _LIMIT)}</pre>'

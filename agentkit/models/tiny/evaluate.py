"""Measure Tiny: `python -m agentkit.models.tiny.evaluate`. All figures of docs/tiny.md come from here."""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterable
from pathlib import Path

from agentkit.models.tiny.generation import Generator
from agentkit.models.tiny.prompt import header
from agentkit.models.tiny.tokenizer import END
from agentkit.models.tiny.transcripts import FAMILIES, ONE_HOP, Part, Transcript, Writer

OBSERVATION = "\nObservation: "


def written(generator: Generator, prompt: str, temperature: float = 0.0, seed: int = 0) -> str:
    """Return what the model writes next, up to an observation or its end."""
    text = ""
    for piece, token in generator.write(prompt, temperature, seed, limit=200):
        if token.text in (OBSERVATION, END):
            break
        text += piece
    return text


def call_in(text: str) -> tuple[str, object] | None:
    """Return the action in a text and its arguments; None if there is none, or if it is not valid JSON."""
    _, action, rest = text.partition("\nAction: ")
    name, _, arguments = rest.partition("\nAction Input: ")
    try:
        return (name, json.loads(arguments)) if action else None
    except ValueError:
        return None


def turns(transcript: Transcript) -> Iterable[tuple[str, list[Part]]]:
    """Yield for each turn of the model that is learned what comes before it, and its parts."""
    before, turn = header(tool.line for tool in transcript.tools), list[Part]()
    for part in transcript.parts:
        turn = [*turn, part]
        if part.kind in ("Question", "Observation"):
            before, turn = before + _text(turn), []
        elif part.kind in ("Action Input", "FINAL_ANSWER"):
            if part.is_learned:
                yield before, turn
            before, turn = before + _text(turn), []


def _text(parts: list[Part]) -> str:
    ends = {"FINAL_ANSWER": END}
    return "".join(f"\n{part.kind}: {part.text}{ends.get(part.kind, '')}" for part in parts)


def calls_right(generator: Generator, transcript: Transcript) -> tuple[int, int, str]:
    """Return how many turns with a call are right in tool and arguments, out of how many, and a wrong one."""
    right = total = 0
    wrong = ""
    for before, turn in turns(transcript):
        expected = call_in(_text(turn))
        if expected:
            total += 1
            got = written(generator, before)
            right += call_in(got) == expected
            if call_in(got) != expected:
                wrong = f"{before}\n--- wrote {got}\n--- instead of {_text(turn)}"
    return right, total, wrong


def answer_right(generator: Generator, transcript: Transcript) -> bool:
    """Return whether the answer contains what it must, given the observations of the transcript."""
    *_, (before, _) = turns(transcript)
    _, is_final, answer = written(generator, before).partition("\nFINAL_ANSWER: ")
    return bool(is_final) and transcript.value in answer


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure Tiny.")
    parser.add_argument("--weights", type=Path, help="a file of weights, instead of that of the package")
    parser.add_argument("--size", type=int, default=100, help="transcripts of each family")
    parser.add_argument("--show", type=int, default=0, help="wrong calls to print of each family")
    arguments = parser.parse_args()
    generator = Generator(arguments.weights)
    table = {}
    for held_out in (False, True):
        for family in FAMILIES:
            writer = Writer(random.Random(f"evaluation {family} {held_out}"), held_out=held_out)
            right = total = answers = asked = shown = 0
            for _ in range(arguments.size):
                transcript = writer.write(family)
                more, of, wrong = calls_right(generator, transcript)
                right, total = right + more, total + of
                if wrong and shown < arguments.show:
                    shown += 1
                    print(wrong, "\n", flush=True)
                if transcript.value:
                    asked += 1
                    answers += answer_right(generator, transcript)
            table[family, held_out] = (right, total, answers, asked)
    for held_out in (False, True):
        print("held-out names" if held_out else "new names")
        for family in FAMILIES:
            right, total, answers, asked = table[family, held_out]
            print(f"  {family:16} calls {right:4} of {total:4}  answers {answers:4} of {asked:4}")
        hop = [table[family, held_out] for family in ONE_HOP]
        print(f"  one hop: {sum(row[0] for row in hop) / sum(row[1] for row in hop):.1%} of calls")
        every = [table[family, held_out] for family in FAMILIES]
        print(f"  all: {sum(r[0] for r in every) / sum(r[1] for r in every):.1%} of calls, answers {sum(r[2] for r in every)} of {sum(r[3] for r in every)}", flush=True)


if __name__ == "__main__":
    main()

"""Measure Tiny: `python -m agentkit.models.tiny.evaluate`. The figures of docs/tiny.md come from here.

It is given transcripts that it was not trained on, each up to the beginning of a turn, and continues them at
temperature 0. Those with held-out names and attributes contain words that are in no transcript of the training.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentkit.inert import for_terminal
from agentkit.models.tiny.generation import Generator
from agentkit.models.tiny.model import CHECKPOINTS, file_of
from agentkit.models.tiny.prompt import header
from agentkit.models.tiny.tokenizer import END
from agentkit.models.tiny.transcripts import FAMILIES, ONE_HOP, Part, Transcript, Writer

OBSERVATION = "\nObservation: "
MAX_TURN = 200  # tokens


@dataclass(slots=True)
class Score:
    """Calls, and how many have the right tool and arguments; answers, and how many contain what was observed."""

    calls: int = 0
    calls_right: int = 0
    answers: int = 0
    answers_right: int = 0

    def __add__(self, other: Score) -> Score:
        return Score(
            self.calls + other.calls,
            self.calls_right + other.calls_right,
            self.answers + other.answers,
            self.answers_right + other.answers_right,
        )

    @property
    def line(self) -> str:
        """The score in words."""
        rate = f"{self.calls_right / self.calls:6.1%}" if self.calls else " " * 6
        return f"calls {rate} ({self.calls_right} of {self.calls}), answers {self.answers_right} of {self.answers}"


def score(generator: Generator, transcripts: Iterable[Transcript], mistakes: list[str] | None = None) -> Score:
    """Return how well transcripts are continued; what was wrong is added to `mistakes`."""
    total = Score()
    for transcript in transcripts:
        for before, expected in turns(transcript):
            got = next_turn(generator, before)
            if call := call_in(expected):
                is_right = call_in(got) == call
                total += Score(calls=1, calls_right=is_right)
            elif transcript.value and before.endswith(transcript.parts[-3].text):
                is_right = transcript.value in got.partition("\nFINAL_ANSWER: ")[2]
                total += Score(answers=1, answers_right=is_right)
            else:
                continue
            if not is_right and mistakes is not None:
                mistakes.append(f"{before}\n>>> {got.strip()}\n=== {expected.strip()}\n")
    return total


def samples(family: str, size: int, *, held_out: bool) -> Iterator[Transcript]:
    """Yield transcripts of a family, always the same ones."""
    writer = Writer(random.Random(f"evaluation of {family}, {held_out}"), held_out=held_out)
    return (writer.write(family) for _ in range(size))


def turns(transcript: Transcript) -> Iterator[tuple[str, str]]:
    """Yield the turns of the model that are to be learned, each after what comes before it."""
    before, turn = header(tool.line for tool in transcript.tools), list[Part]()
    for part in transcript.parts:
        turn.append(part)
        if part.kind in ("Action Input", "FINAL_ANSWER") and part.is_learned:
            yield before, "".join(part.written for part in turn)
        if part.kind not in ("Thought", "Action"):
            before += "".join(part.written for part in turn) + END * (part.kind == "FINAL_ANSWER")
            turn.clear()


def next_turn(generator: Generator, text: str) -> str:
    """Return what is written next, up to an observation or to the end."""
    written = ""
    for piece, token in generator.write(text, 0, None, MAX_TURN):
        if token.text in (OBSERVATION, END):
            break
        written += piece
    return written


def call_in(text: str) -> tuple[str, Any] | None:
    """Return the tool and the arguments of the action in a turn; None if there is none that is valid."""
    _, _, action = text.partition("\nAction: ")
    name, _, arguments = action.partition("\nAction Input: ")
    try:
        return name, json.loads(arguments)
    except ValueError:
        return None


def invented(generator: Generator, size: int, temperature: float) -> tuple[int, int]:
    """Return in how many first turns without a stop an observation was made up, and out of how many with a call."""
    made_up = called = 0
    for number, transcript in enumerate(samples("lookup", size, held_out=True)):
        before, _ = next(turns(transcript))
        tokens = [token.text for _, token in generator.write(before, temperature, number, MAX_TURN)]
        if "\nAction Input: " in tokens:
            called += 1
            made_up += OBSERVATION in tokens[tokens.index("\nAction Input: ") :]
    return made_up, called


def speed(path: Path) -> str:
    """Return how long it takes to load, to read and to write, in seconds of the processor."""
    start = time.process_time()
    generator = Generator(path)
    loaded = time.process_time()
    text = next(samples("chain", 1, held_out=False)).text * 3
    next(generator.write(text, 0, None, 1))
    read = time.process_time()
    count = sum(1 for _ in generator.write("Tools:\nQuestion: Hello\nThought: I need", 2, 1, 200))
    end = time.process_time()
    reading, writing = generator.count(text) / (read - loaded), count / (end - read)
    return (
        f"loads in {loaded - start:.2f} CPU seconds; a CPU second reads {reading:,.0f} tokens or writes {writing:,.0f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure Tiny.")
    parser.add_argument("--checkpoint", choices=CHECKPOINTS, default="final")
    parser.add_argument("--weights", type=Path, help="a file of weights, instead of a checkpoint of the package")
    parser.add_argument("--size", type=int, default=100, help="transcripts of each family, new and held out")
    parser.add_argument("--show", type=int, default=0, help="mistakes of each family to print")
    arguments = parser.parse_args()
    path = arguments.weights or file_of(arguments.checkpoint)
    print(speed(path))
    generator = Generator(path)
    for held_out in (False, True):
        print("held-out names and attributes" if held_out else "new transcripts")
        scores = {}
        for family in FAMILIES:
            mistakes: list[str] = []
            scores[family] = score(generator, samples(family, arguments.size, held_out=held_out), mistakes)
            print(f"  {family:16} {scores[family].line}", flush=True)
            for mistake in mistakes[: arguments.show]:
                print(for_terminal(mistake, lines=True))
        print(f"  {'one hop':16} {sum((scores[family] for family in ONE_HOP), Score()).line}")
        print(f"  {'all':16} {sum(scores.values(), Score()).line}")
    for temperature in (0.0, 1.0):
        made_up, called = invented(generator, arguments.size, temperature)
        print(f"without a stop, at temperature {temperature:g}: {made_up} of {called} calls invent an observation")


if __name__ == "__main__":
    main()

"""The transcripts that Tiny is trained on: what holds for each of them."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from itertools import pairwise
from types import SimpleNamespace

import pytest

from agentkit import Reply
from agentkit.models import dialects
from agentkit.models.tiny.evaluate import call_in, turns
from agentkit.models.tiny.model import generator
from agentkit.models.tiny.transcripts import FAMILIES, Transcript, Writer
from agentkit.models.tiny.words import ATTRIBUTES, HELD_OUT, HELD_OUT_ATTRIBUTES, NAMES

SIZE = 40
every_family = pytest.mark.parametrize("family", FAMILIES)


def transcripts(family: str = "", size: int = SIZE, seed: int = 0, *, held_out: bool = False) -> Iterator[Transcript]:
    writer = Writer(random.Random(seed), held_out=held_out)
    return (writer.write(family) for _ in range(size))


def test_the_same_seed_writes_the_same_transcripts() -> None:
    first, again, other = ([t.text for t in transcripts(seed=seed)] for seed in (1, 1, 2))
    assert first == again
    assert not {*first} & {*other}


@every_family
def test_a_call_that_is_learned_names_an_offered_tool_and_all_of_its_parameters(family: str) -> None:
    for transcript in transcripts(family):
        offered = {tool.name: tool for tool in transcript.tools}
        assert len(offered) == len(transcript.tools)
        for _, turn in turns(transcript):
            if call := call_in(turn):
                assert [*call[1]] == [*offered[call[0]].parameters]


@every_family
def test_agentkit_reads_each_turn_as_it_is_meant(family: str) -> None:
    for transcript in transcripts(family):
        tools = tuple(
            SimpleNamespace(
                name=tool.name, parameters={"type": "object", "properties": {key: {} for key in tool.parameters}}
            )
            for tool in transcript.tools
        )
        for _, turn in turns(transcript):
            read = dialects.get("text").read(Reply(turn.strip()), tools or (SimpleNamespace(name="x", parameters={}),))
            found = [(call.name, call.arguments) for call in read.calls]
            expected = call_in(turn)
            assert found == ([expected] if expected else [])
            assert expected or read.answer == " ".join(turn.partition("\nFINAL_ANSWER: ")[2].split())


@every_family
def test_an_answer_contains_what_was_observed_last(family: str) -> None:
    for transcript in transcripts(family):
        *_, observation, _, answer = ["", *(part.text for part in transcript.parts)]
        assert transcript.value in answer
        assert (
            not transcript.value or family == "no_tools" or transcript.value in observation or '"unit"' in observation
        )


@every_family
def test_the_first_thing_after_an_action_is_an_observation(family: str) -> None:
    for transcript in transcripts(family):
        kinds = [part.kind for part in transcript.parts]
        assert all(after == "Observation" for kind, after in pairwise(kinds) if kind == "Action Input")


def test_mistakes_are_not_learned() -> None:
    mistakes = [part for t in transcripts("errors", 100) for part in t.parts if not part.is_learned]
    assert {part.kind for part in mistakes} == {"Thought", "Action", "Action Input"}


def test_held_out_names_and_attributes_are_in_no_list_of_the_training_and_not_in_the_vocabulary() -> None:
    held_out = {name for names in HELD_OUT.values() for name in names} | {a.name for a in HELD_OUT_ATTRIBUTES}
    trained = {name for names in NAMES.values() for name in names} | {a.name for a in ATTRIBUTES}
    assert not held_out & trained
    words = {word for name in held_out for word in re.findall("[A-Za-z]{2,}", name)}
    assert {*generator("final").tokenizer.words} & words <= {"and", "The", "size", "blue"}


def test_held_out_transcripts_use_held_out_names() -> None:
    names = {name for kind in HELD_OUT.values() for name in kind}
    found = [any(name in t.parts[0].text for name in names) for t in transcripts("lookup", 60, held_out=True)]
    assert sum(found) > 45


def test_values_cannot_be_guessed_from_questions() -> None:
    values = [t.value for t in transcripts("lookup", 400)]
    assert len({*values}) > 300

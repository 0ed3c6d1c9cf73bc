"""The model of the lesson "Is it better, or luck?": it sorts what guests write to a café.

It is not a language model but a stand-in that draws lots, so that the truth about each prompt is known, as it never is
at work. To get something out of the lesson, do not read on before its last section.
"""

from __future__ import annotations

import threading
from collections import Counter
from random import Random

from agentkit import Reply
from agentkit.models.base import Abilities, Request

SEED = 4857
"""Chosen so that the first messages mislead. This happens by itself, too: the lesson counts how often."""

KINDS = ("order", "question", "complaint")

OLD = "Sort the message of a guest. Reply with one word: order, question or complaint."
NEW = f"You are a world-class expert. Take a deep breath, and think carefully. {OLD}"
EXAMPLES = f"{OLD} For example: 'A tea, please' is an order, 'Is there cake?' a question, 'It was cold' a complaint."

_WRITTEN = {
    "order": (
        "Two cakes for six o'clock, please.",
        "I would take the soup if there is any left.",
        "Same as yesterday, thank you.",
        "Could you keep a strudel for me?",
        "One tea, but hot this time!",
        "A table for four, and lemonade for everybody.",
        "Please add an iced tea to my bill.",
        "We are eight. Eight soups, then.",
        "May I have the last piece of cake?",
        "Make it two, if you can.",
        "No sugar in my tea today.",
        "Send me three strudels, as always.",
        "Just water for the dog.",
        "I'll have what she has.",
        "Can I get the soup without onions?",
        "A birthday cake for Sunday, with candles.",
        "Tea for two.",
        "Put me down for a strudel, would you?",
        "The usual at nine.",
        "Another lemonade, and the bill.",
    ),
    "question": (
        "Do you have cake without nuts?",
        "When do you close on Sundays?",
        "Is the soup still hot at four?",
        "I wonder what is in the strudel.",
        "How much is a tea?",
        "May dogs come in?",
        "Where can I leave my bicycle?",
        "Tell me, is the lemonade home-made?",
        "Is there a table by the window at noon?",
        "What do you call that cake of yesterday?",
        "Can one pay by card?",
        "Who bakes your strudel?",
        "Are you open on Monday, or closed as last week?",
        "Is it true that the soup has no meat?",
        "Do I have to book?",
        "What would you recommend for a child?",
        "Does the cake keep until tomorrow?",
        "Why is iced tea more expensive than tea?",
        "Is the music always so loud?",
        "Would you cater for thirty?",
    ),
    "complaint": (
        "My tea was cold, again.",
        "I waited forty minutes for a soup.",
        "Do you call that a cake?",
        "Nobody brought the lemonade that I had ordered.",
        "The strudel was better last year.",
        "Is it so hard to bring a spoon?",
        "You have charged me for two teas.",
        "The table by the window was promised to us!",
        "There was a hair in my soup.",
        "Your card machine is broken, as always.",
        "We asked for no nuts.",
        "It was far too loud to talk.",
        "The cake of yesterday was from the day before.",
        "I am still waiting for an answer.",
        "Who thought of that price?",
        "My dog was not welcome.",
        "The iced tea had no ice.",
        "Three of eight soups were missing.",
        "The candles were forgotten.",
        "A smile would not have cost you anything.",
    ),
}

MESSAGES = [{"task": text, "expected": kind} for kind, texts in _WRITTEN.items() for text in texts]
Random(4).shuffle(MESSAGES)


class Sorter:
    """A model that is right about a message as often as the message and the prompt allow.

    It counts how often it was asked the same, so that a lesson that is run from top to bottom always shows the same.
    """

    name = "sorter"
    abilities = Abilities()

    def __init__(self, seed: int = SEED) -> None:
        self.seed = seed
        self._asked = Counter[str]()
        self._lock = threading.Lock()

    def __call__(self, request: Request) -> Reply:
        """Reply with the kind of a message: the right one, or another."""
        system, message = str(request.messages[0]["content"]), str(request.messages[-1]["content"])
        prompt = next(prompt for prompt in (NEW, EXAMPLES, OLD) if prompt in system)
        with self._lock:
            self._asked[prompt + message] += 1
            count = self._asked[prompt + message]
        draw = Random(f"{self.seed} {count} {prompt} {message}")
        right = next(case["expected"] for case in MESSAGES if case["task"] in message)
        wrong = [kind for kind in KINDS if kind != right]
        is_right = draw.random() < chance(message, prompt, self.seed)
        return Reply(f"FINAL_ANSWER: {right if is_right else draw.choice(wrong)}")


def chance(message: str, prompt: str, seed: int = SEED) -> float:
    """Return how often the model is right about a message: this is the truth that experiments estimate.

    Some messages are harder than others. Each prompt suits some of them better than others; only examples help with
    most.
    """
    difficulty = Random(f"{seed} {message}").betavariate(3, 2)
    suits = Random(f"{seed} {prompt} {message}").gauss(0.17 if prompt == EXAMPLES else 0.0, 0.15)
    return min(0.98, max(0.02, difficulty + suits))

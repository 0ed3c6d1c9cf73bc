"""Tiny as a model of an agent."""

from __future__ import annotations

import functools
import hashlib
import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentkit.core.checked_arguments import checked
from agentkit.core.live_shell import live_shell
from agentkit.core.usage import Usage
from agentkit.errors import ContextOverflow, Unknown, UsageError
from agentkit.inert import inert
from agentkit.models.base import Abilities, Chunk, Request
from agentkit.models.tiny.prompt import ANSWER, prompt
from agentkit.models.tiny.tokenizer import END

if TYPE_CHECKING:
    from agentkit.models.tiny.generation import Generator

MAX_PROMPT = 800
"""The most tokens of a prompt; hardly any transcript of the training is longer."""

MAX_TOKENS = 256
"""The most tokens of a reply, unless the settings of the request name another limit."""

PACE = 15.0
"""Tokens a second that one can follow with the eye."""

DIGESTS = {
    "final": "544f6fe2f4b09439b435ef35b06803440fcf1d8958a8bc79e62d04a32ee5a25e",
    "middle": "ccb79fada165a42a357f3234c20c5e295bc097ee6864b93d8bfe3140e66b1821",
    "early": "95ccad5afeeec5b61b4c6d157414530a67e9c5f7ede5559923afd20a5cd1be9c",
}
"""The SHA-256 digests of the files of weights, by checkpoint."""

CHECKPOINTS = tuple(DIGESTS)


class Tiny:
    """A toy language model of a million parameters, trained on invented transcripts only: for lessons, not for work.

    `checkpoint` is "final", or "early" or "middle" for the same model in the course of its training. At `temperature` 0
    it writes the likeliest token; above, it draws one, and a `seed` makes the sequence of its replies repeatable. With
    `stop=False` it ignores stop sequences. `pace` is the number of tokens a second while somebody watches a notebook;
    None is full speed. The settings "temperature" and "max_tokens" of a request take precedence.
    """

    name = "tiny"
    abilities = Abilities(stream=True, temperature=True)

    @checked
    def __init__(
        self,
        *,
        checkpoint: str = "final",
        temperature: float = 0.0,
        seed: int | None = None,
        stop: bool = True,
        pace: float | None = PACE,
    ) -> None:
        if checkpoint not in DIGESTS:
            raise Unknown("checkpoint", checkpoint, [*DIGESTS])
        if seed is not None and seed < 0:
            raise UsageError(f"seed must be an integer of at least 0, or None for a new one each time, not {seed}")
        if pace is not None and not pace > 0:
            raise UsageError(f"pace must be a positive number of tokens a second, or None for full speed, not {pace}")
        self.checkpoint, self.temperature, self.seed = checkpoint, require_temperature(temperature), seed
        self.stop, self.pace = stop, pace
        self._replies = itertools.count()

    def body(self, request: Request) -> dict[str, Any]:
        """Return what it really reads: a prompt of its own, not the messages."""
        temperature, max_tokens = self._settings(request)
        stop = list(request.stop) if self.stop else []
        return {
            "model": f"{self.name} ({self.checkpoint})",
            "prompt": prompt(request),
            "temperature": temperature,
            "max_tokens": max_tokens,
            "stop": stop,
        }

    def __call__(self, request: Request) -> Iterator[Chunk]:
        body = self.body(request)
        text, stop = body["prompt"], body["stop"]
        model = generator(self.checkpoint)
        length = model.count(text)
        if length > MAX_PROMPT:
            raise ContextOverflow(f"Tiny reads {MAX_PROMPT} tokens at most; this prompt has {length}", model=self.name)
        pause = 1 / self.pace if self.pace and live_shell() else 0.0
        seed = None if self.seed is None else [self.seed, next(self._replies)]
        if request.choice == "none":
            yield Chunk(ANSWER)
        text_so_far, count, finish = "", 0, "length"
        for piece, token in model.write(text, body["temperature"], seed, body["max_tokens"]):
            count += 1
            ends = [at for sequence in stop if (at := (text_so_far + piece).find(sequence)) >= 0]
            if ends or token.text == END:
                piece, finish = piece[: max(0, min(ends, default=0) - len(text_so_far))], "stop"
            yield Chunk(piece if text_so_far else piece.lstrip("\n"), token=token)
            if finish == "stop":
                break
            text_so_far += piece
            time.sleep(pause)
        yield Chunk(usage=Usage(length, count), finish=finish)

    def _settings(self, request: Request) -> tuple[float, int]:
        """Return the temperature and the most tokens for a request."""
        temperature = require_temperature(request.settings.get("temperature", self.temperature))
        max_tokens = request.settings.get("max_tokens", MAX_TOKENS)
        if type(max_tokens) is not int or max_tokens < 1:
            raise UsageError(f"max_tokens must be an integer of at least 1, not {max_tokens!r:.100}")
        return temperature, max_tokens

    @inert
    def __repr__(self) -> str:
        return f"<Tiny, a toy: checkpoint {self.checkpoint!r}, temperature {self.temperature:g}>"


def require_temperature(temperature: Any) -> float:
    """Return a temperature. Raises `UsageError` if it is not a number from 0 to 10."""
    if not isinstance(temperature, int | float) or not 0 <= temperature <= 10:
        raise UsageError(f"temperature must be a number from 0 to 10, not {temperature!r:.100}")
    return float(temperature)


def file_of(checkpoint: str) -> Path:
    """Return the file with the weights of a checkpoint."""
    return Path(__file__).with_name(f"{checkpoint}.npz")


@functools.cache
def generator(checkpoint: str) -> Generator:
    """Return what writes with the weights of a checkpoint, which are loaded once.

    Raises `UsageError` if numpy is missing or if the file is not the one that this version was tested with.
    """
    try:
        from agentkit.models.tiny.generation import Generator
    except ModuleNotFoundError as error:
        if error.name != "numpy":
            raise
        raise UsageError('Tiny needs numpy: pip install "jupyter-agentkit[tiny]"') from error
    path = file_of(checkpoint)
    if hashlib.sha256(path.read_bytes()).hexdigest() != DIGESTS[checkpoint]:
        raise UsageError(f"{path} is not the file of this version of agentkit; install agentkit again")
    return Generator(path)

"""Train Tiny from nothing: `python -m agentkit.models.tiny.train FOLDER`. It needs torch.

The network is that of transformer.py. Matrices are trained by Muon (Jordan 2024), embeddings by Adam. Everything
follows from the number of the step: the schedule, and with the seed also the transcripts, which are written while they
are read; none is read twice.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from agentkit.models.tiny.generation import Generator
from agentkit.models.tiny.tokenizer import Tokenizer
from agentkit.models.tiny.transcripts import Transcript, Writer
from agentkit.models.tiny.transformer import HEADS, NEAR, SLOPES, Cache, Transformer
from agentkit.models.tiny.weights import save
from agentkit.models.tiny.words import NAMES

LAYERS, WIDTH = 4, 128
BATCH = 4096  # tokens
ROUND = 32  # lengths are rounded up to this, so that few shapes of batches occur
MUON, ADAM, MOMENTUM = 0.007, 0.004, 0.95  # the learning rates at their highest, and Muon's momentum

RATE = ((0, 0.0), (50, 1.0), (1550, 1.0), (3001, 0.0))
"""Steps, and the learning rate there as a share of the highest: it rises, stays, and falls to zero."""

CHECKPOINTS = {200: ("early", 3), 400: ("middle", 3), 3000: ("final", 63)}
"""After which step which checkpoint is saved, and the largest integer that its weights are rounded to."""


class Network(nn.Module):
    """The network of transformer.py, for many transcripts at once, as torch can differentiate it."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.embedding = nn.Parameter(torch.randn(vocabulary, WIDTH) / WIDTH**0.5)
        shapes = {
            "attend": (3 * WIDTH, NEAR * WIDTH),
            "gather": (WIDTH, WIDTH),
            "up": (4 * WIDTH, WIDTH),
            "down": (WIDTH, 4 * WIDTH),
        }
        for n in range(LAYERS):
            for name, (rows, columns) in shapes.items():
                start = torch.randn(rows, columns) / columns**0.5 * (name in ("attend", "up"))
                self.register_parameter(f"{name}{n}", nn.Parameter(start))

    def forward(self, tokens: Tensor, wanted: Tensor) -> Tensor:
        """Return the logits of the tokens that follow the `wanted` ones."""
        x, (rows, length) = self.embedding[tokens], tokens.shape
        distance = torch.arange(length)[:, None] - torch.arange(length)
        bias = (-torch.from_numpy(SLOPES)[:, None, None] * distance).masked_fill(distance < 0, -torch.inf)
        bias = bias.repeat(rows, 1, 1)
        for n in range(LAYERS):
            attend, gather, up, down = (getattr(self, f"{name}{n}") for name in ("attend", "gather", "up", "down"))
            h = F.layer_norm(x, (WIDTH,))
            near = torch.cat([F.pad(h, (0, 0, back, 0))[:, :length] for back in range(NEAR)], dim=-1)
            heads = (near @ attend.T).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
            queries, keys, values = heads.reshape(3, rows * HEADS, length, -1)
            found = attention(queries, keys, values, bias)
            x = x + found.unflatten(0, (rows, HEADS)).transpose(1, 2).flatten(2) @ gather.T
            x = x + (F.layer_norm(x, (WIDTH,)) @ up.T).relu().square() @ down.T
        return F.layer_norm(x[wanted], (WIDTH,)) @ self.embedding.T


def attention(queries: Tensor, keys: Tensor, values: Tensor, bias: Tensor) -> Tensor:
    """Return what each query finds. In so small a network this takes half the time of torch's own attention."""
    scores = torch.baddbmm(bias, queries, keys.transpose(1, 2), alpha=queries.shape[-1] ** -0.5)
    with torch.autocast("cpu", enabled=False):  # else the softmax is worked out in float32
        weights = scores.softmax(-1)
    return weights @ values


def vocabulary(seed: int) -> list[str]:
    """Return the words that are frequent in transcripts, without names and letters."""
    writer, counter = Writer(random.Random(seed)), Counter[str]()
    for _ in range(40_000):
        counter.update(set(re.findall("[A-Za-z]{2,}|I|a", writer.write().text)))
    names = {word for kind in NAMES.values() for name in kind for word in (name, name.capitalize())}
    return sorted(word for word, count in counter.items() if count >= 40 and word not in names)


def encoded(transcript: Transcript, tokenizer: Tokenizer) -> tuple[list[int], list[float]]:
    """Return the tokens of a transcript, and how much each bears on the loss."""
    tokens: list[int] = []
    weights: list[float] = []
    for piece, weight in transcript.pieces():
        new = tokenizer.encode(piece)
        tokens += new
        weights += [weight] * len(new)
    return tokens, weights


def batches(tokenizer: Tokenizer, seed: int) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Yield batches of transcripts of about one length: tokens, those to predict, and how much each of these counts."""
    writer = Writer(random.Random(seed))
    waiting = defaultdict[int, list[tuple[list[int], list[int], list[float]]]](list)
    while True:
        tokens, weights = encoded(writer.write(), tokenizer)
        length = -(-(len(tokens) - 1) // ROUND) * ROUND
        padding = length - len(tokens) + 1
        rows, zeros = waiting[length], [0] * padding
        rows.append((tokens[:-1] + zeros, tokens[1:] + zeros, weights[1:] + [0.0] * padding))
        if len(rows) * length >= BATCH:
            del waiting[length]
            inputs, targets, counts = zip(*rows, strict=True)
            yield torch.tensor(inputs), torch.tensor(targets), torch.tensor(counts)


class Muon:
    """Momentum whose updates are made orthogonal: every direction of a matrix learns equally fast."""

    def __init__(self, matrices: list[nn.Parameter]) -> None:
        self.matrices = matrices
        self.momenta = [torch.zeros_like(matrix) for matrix in matrices]

    @torch.no_grad()
    def step(self, rate: float) -> None:
        for matrix, momentum in zip(self.matrices, self.momenta, strict=True):
            momentum.lerp_(matrix.grad, 1 - MOMENTUM)
            update = orthogonal(matrix.grad.lerp(momentum, MOMENTUM))
            matrix.add_(update, alpha=-rate * max(1, matrix.shape[0] / matrix.shape[1]) ** 0.5)


def orthogonal(matrix: Tensor) -> Tensor:
    """Return about the nearest orthogonal matrix, by five steps of Newton and Schulz."""
    x = (matrix / (matrix.norm() + 1e-7)).bfloat16()
    x = x.T if (tall := x.shape[0] > x.shape[1]) else x
    for _ in range(5):
        square = x @ x.T
        x = 3.4445 * x + (-4.7750 * square + 2.0315 * square @ square) @ x
    return (x.T if tall else x).float()


def rate_at(step: int) -> float:
    """Return the learning rate of a step as a share of the highest."""
    steps, rates = zip(*RATE, strict=True)
    return float(np.interp(step, steps, rates))


def train(folder: Path, seed: int) -> None:
    """Train, and save the checkpoints in a folder."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    words = vocabulary(seed)
    tokenizer = Tokenizer(words)
    network = Network(len(tokenizer))
    muon = Muon([weight for name, weight in network.named_parameters() if name != "embedding"])
    adam = torch.optim.Adam([network.embedding], betas=(0.9, 0.98))
    print(f"{sum(map(torch.numel, network.parameters())):,} parameters, {len(tokenizer)} tokens in the vocabulary")
    seen, losses, start, cpu = 0, 0.0, time.monotonic(), time.process_time()
    steps = range(1, max(CHECKPOINTS) + 1)
    for step, (tokens, targets, weights) in zip(steps, batches(tokenizer, seed + 1), strict=False):
        rate = rate_at(step)
        with torch.autocast("cpu", torch.bfloat16):
            logits = network(tokens, weights > 0)
        each = F.cross_entropy(logits.float(), targets[weights > 0], reduction="none")
        loss = each @ weights[weights > 0] / weights.sum()
        network.zero_grad()
        loss.backward()
        muon.step(rate * MUON)
        adam.param_groups[0]["lr"] = rate * ADAM
        adam.step()
        seen, losses = seen + tokens.numel(), losses + loss.item()
        if step % 50 == 0:
            spent = f"{time.monotonic() - start:.0f} s, {time.process_time() - cpu:.0f} CPU seconds"
            print(f"step {step}: loss {losses / 50:.4f}, {seen / 1e6:.2f} M tokens, {spent}", flush=True)
            losses = 0.0
        if step in CHECKPOINTS:
            name, levels = CHECKPOINTS[step]
            matrices = {name: matrix.detach().numpy().copy() for name, matrix in network.named_parameters()}
            path = folder / f"{name}.npz"
            save(path, matrices, words, levels)
            difference = disagreement(network, Generator(path).transformer, tokens[:1])
            print(f"{path}: {path.stat().st_size:,} bytes, SHA-256 {hashlib.sha256(path.read_bytes()).hexdigest()}")
            print(f"the logits of its integers in numpy differ by {difference:.2f} from those of torch at most")


@torch.no_grad()
def disagreement(network: Network, transformer: Transformer, tokens: Tensor) -> float:
    """Return the largest difference between the logits of the two networks for the last token of one transcript."""
    there = network(tokens, torch.ones_like(tokens, dtype=torch.bool))[-1].numpy()
    return float(np.abs(transformer.read(tokens[0].tolist(), Cache()) - there).max())


def main() -> None:
    parser = argparse.ArgumentParser(description="Train Tiny from nothing.")
    parser.add_argument("folder", type=Path, help="where the checkpoints are saved")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    train(arguments.folder, arguments.seed)


if __name__ == "__main__":
    main()

"""The demo's training: a character-level language model on the documentation that every CPython carries.

    python -m perflab.benchmarks.char_lm --variant base --out DIR --steps 400 --trace

Writes DIR/run.json, the time of each step as a Run, and with --trace DIR/trace.json.gz, the last steps as they ran.
The variant "onehot" makes a plausible mistake: it multiplies one-hot rows by the embedding table instead of looking
rows up. Both learn the same thing; the loss of every step is equal up to rounding.
"""

import argparse
import dataclasses
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from pydoc_data import topics

import numpy as np
from numpy.typing import NDArray

from perflab import runtime as rt
from perflab.profiler import profile, record_function, schedule
from perflab.runtime import nn, optim

from .machine import this_machine
from .result import Benchmark, Result, Run

CONTEXT = 8
WIDTH = 32
HIDDEN = 192
BATCH = 256
LEARNING_RATE = 4e-3
# The first steps fill caches; the last ones are recorded, which takes time too. Neither is measured.
WARM_UP = 20
RECORDED = 6


class CharModel(nn.Module):
    """(batch, CONTEXT) characters to (batch, characters) logits of the next one."""

    def __init__(self, characters: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(characters, WIDTH)
        self.hidden = nn.Linear(CONTEXT * WIDTH, HIDDEN)
        self.out = nn.Linear(HIDDEN, characters)

    def embed(self, x: rt.Tensor) -> rt.Tensor:
        """(batch, CONTEXT) characters to (batch, CONTEXT, WIDTH)."""
        rows: rt.Tensor = self.embedding(x)
        return rows

    def forward(self, x: rt.Tensor) -> rt.Tensor:
        seen = self.embed(x).reshape(x.shape[0], CONTEXT * WIDTH)
        logits: rt.Tensor = self.out(self.hidden(seen).tanh())
        return logits


class OneHotModel(CharModel):
    """The same function with the lookup spelled as a product."""

    def __init__(self, characters: int) -> None:
        super().__init__(characters)
        self.register_buffer("one_hot", rt.from_numpy(np.eye(characters, dtype=np.float32)), persistent=False)

    def embed(self, x: rt.Tensor) -> rt.Tensor:
        rows: rt.Tensor = rt.take(self.one_hot, x, 0) @ self.embedding.weight
        return rows


VARIANTS: dict[str, type[CharModel]] = {"base": CharModel, "onehot": OneHotModel}


def text() -> tuple[NDArray[np.int64], int]:
    """The text as indices of characters, and how many characters there are."""
    characters, indices = np.unique(list("\n".join(topics.topics.values())), return_inverse=True)
    return indices.astype(np.int64), len(characters)


def train(variant: str, steps: int, trace: Path | None, device: str = "cpu") -> tuple[list[float], list[float]]:
    """Train a variant; the loss in nats a character of each step, and the seconds of each measured step."""
    indices, characters = text()
    choice = np.random.default_rng(0)
    rt.manual_seed(0)
    model = VARIANTS[variant](characters).to(device)
    optimizer = optim.AdamW(model.parameters(), lr=LEARNING_RATE)

    def step() -> float:
        starts = choice.integers(0, len(indices) - CONTEXT, BATCH)
        windows = indices[starts[:, None] + np.arange(CONTEXT + 1)]
        x, y = (
            rt.asarray(windows[:, :CONTEXT].copy(), device=device),
            rt.asarray(windows[:, CONTEXT].copy(), device=device),
        )
        with record_function("forward"):
            loss = nn.functional.cross_entropy(model(x), y)
        with record_function("backward"):
            optimizer.zero_grad()
            loss.backward()
        with record_function("optimizer"):
            optimizer.step()
        return float(loss.item())

    losses = [step() for _ in range(WARM_UP)]
    seconds = []
    for _ in range(steps - WARM_UP - RECORDED):
        began = time.perf_counter()
        losses.append(step())
        seconds.append(time.perf_counter() - began)
    losses += _recorded(step, trace)
    return losses, seconds


def _recorded(step: Callable[[], float], trace: Path | None) -> list[float]:
    """The last steps under the profiler, kept as a trace where a path is given."""
    losses = []
    machine = {key: value for key, value in dataclasses.asdict(this_machine()).items() if key != "fingerprint"}
    plan = schedule(wait=0, warmup=1, active=RECORDED - 1, repeat=1)
    with profile(schedule=plan, metadata={"machine": machine, "tool": _tool()}) as profiler:
        for _ in range(RECORDED):
            losses.append(step())
            profiler.step()
    if trace is not None:
        profiler.export_chrome_trace(str(trace))
    return losses


def _tool() -> str:
    return f"perflab {version('perflab')}"


def main() -> None:
    """Train, write what was measured, and print the loss in one line."""
    parser = argparse.ArgumentParser(description="Train the demo's character-level language model.")
    parser.add_argument("--variant", choices=VARIANTS, default="base")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--device", default="cpu", help="where to train, as sim:0")
    parser.add_argument("--trace", action="store_true", help="keep the last steps as a trace")
    arguments = parser.parse_args()
    if arguments.steps <= WARM_UP + RECORDED:
        parser.error(
            f"--steps {arguments.steps}: {WARM_UP} warm up and {RECORDED} are recorded, so give more than both"
        )
    arguments.out.mkdir(parents=True, exist_ok=True)
    created = datetime.now(UTC)
    trace = arguments.out / "trace.json.gz" if arguments.trace else None
    losses, seconds = train(arguments.variant, arguments.steps, trace, arguments.device)
    result = Result(Benchmark("char_lm training step", {"batch": str(BATCH)}), tuple(seconds))
    run = Run(None, None, None, this_machine(), created, _tool(), (result,))
    (arguments.out / "run.json").write_text(run.to_json())
    print(
        f"loss {losses[0]:.2f} -> {np.mean(losses[-20:]):.2f} nats a character in {len(losses)} steps"
        f" of {result.median * 1e3:.2f} ms"
    )


if __name__ == "__main__":
    main()

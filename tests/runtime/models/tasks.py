"""Five small trainings, spelled once for perflab and for PyTorch: `lib` is perflab.runtime or torch.

Each task is a function of `lib` that gives its modules by name, and a function from a batch number to the loss of that
step, which has then been taken. Batches come from NumPy with a fixed seed.
"""

import functools
from collections.abc import Callable
from pydoc_data import topics
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

WIDTH, HEADS, CONTEXT = 32, 2, 16


class Task(NamedTuple):
    modules: dict[str, Any]
    step: Callable[[int], float]


@functools.cache
def digits() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """1797 pictures of digits, (1797, 8, 8) from 0 to 1, and which digit each is."""
    loaded = pytest.importorskip("sklearn.datasets").load_digits()
    return (loaded.images / 16).astype(np.float32), loaded.target.astype(np.int64)


def rows(seed: int, count: int, batch: int) -> NDArray[np.int64]:
    """Which samples are in batch number `seed`."""
    return np.random.default_rng(seed).integers(0, count, batch)


def classify(lib: Any, model: Any, optimizer: Any, shape: tuple[int, ...]) -> Task:
    """Trains a model on digits in this shape, 64 a step."""
    images, labels = digits()

    def step(number: int) -> float:
        chosen = rows(number, len(images), 64)
        loss = lib.nn.functional.cross_entropy(
            model(lib.tensor(images[chosen].reshape(-1, *shape))), lib.tensor(labels[chosen])
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return float(loss.item())

    return Task({"model": model}, step)


def mlp(lib: Any) -> Task:
    nn = lib.nn
    model = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 10))
    return classify(lib, model, lib.optim.SGD(model.parameters(), lr=0.2, momentum=0.9), (64,))


def cnn(lib: Any) -> Task:
    nn = lib.nn
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64, 10),
    )
    return classify(lib, model, lib.optim.AdamW(model.parameters(), lr=1e-2), (1, 8, 8))


def lstm(lib: Any) -> Task:
    nn = lib.nn

    class LSTM(nn.Module):  # type: ignore[misc, name-defined]
        """The rows of a picture one after the other; the last state tells the digit."""

        def __init__(self) -> None:
            super().__init__()
            self.input = nn.Linear(8, 4 * WIDTH)
            self.state = nn.Linear(WIDTH, 4 * WIDTH, bias=False)
            self.out = nn.Linear(WIDTH, 10)

        def forward(self, x: Any) -> Any:
            h = c = lib.zeros(x.shape[0], WIDTH)
            for t in range(x.shape[1]):
                i, f, o, g = (self.input(x[:, t]) + self.state(h)).split(WIDTH, 1)
                c = lib.sigmoid(f) * c + lib.sigmoid(i) * lib.tanh(g)
                h = lib.sigmoid(o) * lib.tanh(c)
            return self.out(h)

    model = LSTM()
    return classify(lib, model, lib.optim.RMSprop(model.parameters(), lr=3e-3), (8, 8))


def transformer(lib: Any) -> Task:
    nn, F = lib.nn, lib.nn.functional
    characters, text = np.unique(list(topics.topics["assert"] + topics.topics["if"]), return_inverse=True)

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.qkv, self.project = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x: Any, mask: Any) -> Any:
            batch, time, width = x.shape
            parts = self.qkv(self.norm1(x)).split(width, 2)
            q, k, v = (p.reshape(batch, time, HEADS, width // HEADS).transpose(1, 2) for p in parts)
            weights = lib.softmax((q @ k.transpose(2, 3)) * (width // HEADS) ** -0.5 + mask, -1)
            x = x + self.project((weights @ v).transpose(1, 2).reshape(batch, time, width))
            return x + self.down(F.gelu(self.up(self.norm2(x))))

    class Transformer(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.token, self.place = nn.Embedding(len(characters), WIDTH), nn.Embedding(CONTEXT, WIDTH)
            self.blocks = nn.ModuleList([Block(), Block()])
            self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, len(characters))
            self.register_buffer("places", lib.arange(CONTEXT))
            future = np.triu(np.full((CONTEXT, CONTEXT), -np.inf, np.float32), 1)
            self.register_buffer("mask", lib.tensor(future))

        def forward(self, x: Any) -> Any:
            x = self.token(x) + self.place(self.places)
            for block in self.blocks:
                x = block(x, self.mask)
            return self.head(self.norm(x)).reshape(-1, len(characters))

    model = Transformer()
    optimizer = lib.optim.AdamW(model.parameters(), lr=5e-3)

    def step(number: int) -> float:
        starts = rows(number, len(text) - CONTEXT, 32)
        windows = text[starts[:, None] + np.arange(CONTEXT + 1)].astype(np.int64)
        loss = F.cross_entropy(model(lib.tensor(windows[:, :-1].copy())), lib.tensor(windows[:, 1:].reshape(-1)))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return float(loss.item())

    return Task({"model": model}, step)


def gan(lib: Any) -> Task:
    """Learns to turn noise into a normal distribution around 3; the losses are hinges (Lim and Ye 2017)."""
    nn = lib.nn
    generator = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    critic = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    making = lib.optim.Adam(generator.parameters(), lr=5e-3, betas=(0.5, 0.9))
    judging = lib.optim.Adam(critic.parameters(), lr=1e-2, betas=(0.5, 0.9))

    def step(number: int) -> float:
        rng = np.random.default_rng(number)
        real = lib.tensor(rng.normal(3, 0.5, (64, 1)).astype(np.float32))
        noise = lib.tensor(rng.standard_normal((64, 4)).astype(np.float32))
        fake = generator(noise)
        loss = lib.relu(1 - critic(real)).mean() + lib.relu(1 + critic(fake.detach())).mean()
        judging.zero_grad()
        loss.backward()
        judging.step()
        making.zero_grad()
        (-critic(fake).mean()).backward()
        making.step()
        return float(loss.item())

    return Task({"generator": generator, "critic": critic}, step)


TASKS: dict[str, Callable[[Any], Task]] = {"mlp": mlp, "cnn": cnn, "lstm": lstm, "transformer": transformer, "gan": gan}

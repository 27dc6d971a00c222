"""The training steps that are measured: six small models, the same text on perflab.runtime and on PyTorch.

mlp_tiny     inputs 32x64; Linear 64-64, relu, Linear 64-10; SGD
mlp_medium   inputs 256x784; Linear 784-512-512-10 with relu between; Adam
transformer  8x32 characters of 64; width 64, 4 heads, 2 blocks that normalise first, gelu between 64-256-64, a causal
             mask that is added; attention spelled as matmul, softmax, matmul; AdamW
cnn          inputs 64x1x8x8; two times conv 3x3, relu, pool 2, to 16 and 32 channels; Linear 128-10; SGD, momentum
lstm         50 steps of 32x32; width 64, the cell from elementary ops; Linear 64-10 of the last state; SGD
lstm_layer   the same with nn.LSTM
"""

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

CHARACTERS, WIDTH, HEADS, CONTEXT = 64, 64, 4, 32


def make_step(library: ModuleType, name: str, device: str = "cpu") -> Callable[[], Any]:
    """A training step of that model with cross entropy: gradients to zero, forward, backward, optimizer."""
    library.manual_seed(0)
    model, optimizer, inputs, targets = _Maker(library).make(name)
    model, inputs, targets = model.to(device), inputs.to(device), targets.to(device)
    cross_entropy = importlib.import_module(f"{library.__name__}.nn.functional").cross_entropy

    def step() -> Any:
        optimizer.zero_grad()
        loss = cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        return loss

    return step


class _Maker:
    """Makes models of one library: their classes inherit from its Module."""

    def __init__(self, library: ModuleType) -> None:
        self.library = library
        self.nn = importlib.import_module(f"{library.__name__}.nn")
        self.optim = importlib.import_module(f"{library.__name__}.optim")
        self.random = np.random.default_rng(0)

    def normal(self, *shape: int) -> Any:
        return self.library.from_numpy(self.random.standard_normal(shape).astype(np.float32))

    def integers(self, end: int, *shape: int) -> Any:
        return self.library.from_numpy(self.random.integers(0, end, shape))

    def make(self, name: str) -> tuple[Any, Any, Any, Any]:
        """Model, optimizer, inputs, targets."""
        nn, optim = self.nn, self.optim
        if name == "mlp_tiny":
            model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
            return model, optim.SGD(model.parameters(), lr=0.01), self.normal(32, 64), self.integers(10, 32)
        if name == "mlp_medium":
            layers = [nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)]
            model = nn.Sequential(*layers)
            return model, optim.Adam(model.parameters(), lr=1e-3), self.normal(256, 784), self.integers(10, 256)
        if name == "transformer":
            model = self.transformer()
            text = self.integers(CHARACTERS, 8, CONTEXT + 1)
            optimizer = optim.AdamW(model.parameters(), lr=1e-3)
            return model, optimizer, text[:, :-1].contiguous(), text[:, 1:].reshape(-1)
        if name == "cnn":
            layers = [nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
            layers += [nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 10)]
            model = nn.Sequential(*layers)
            optimizer = optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
            return model, optimizer, self.normal(64, 1, 8, 8), self.integers(10, 64)
        assert name in ("lstm", "lstm_layer"), name
        model = self.lstm(32, 64) if name == "lstm" else self.lstm_layer(32, 64)
        return model, optim.SGD(model.parameters(), lr=0.01), self.normal(50, 32, 32), self.integers(10, 32)

    def lstm(self, inputs: int, width: int) -> Any:
        nn, library, normal = self.nn, self.library, self.normal

        class Lstm(nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.of_input = nn.Parameter(normal(inputs, 4 * width) * 0.1)
                self.of_state = nn.Parameter(normal(width, 4 * width) * 0.1)
                self.bias = nn.Parameter(library.zeros(4 * width))
                self.out = nn.Linear(width, 10)

            def forward(self, x: Any) -> Any:
                state = cell = library.zeros(x.shape[1], width)
                for t in range(x.shape[0]):
                    gates = x[t] @ self.of_input + state @ self.of_state + self.bias
                    into, forget, out, new = gates.split(width, -1)
                    cell = library.sigmoid(forget) * cell + library.sigmoid(into) * library.tanh(new)
                    state = library.sigmoid(out) * library.tanh(cell)
                return self.out(state)

        return Lstm()

    def lstm_layer(self, inputs: int, width: int) -> Any:
        nn = self.nn

        class Lstm(nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.layer, self.out = nn.LSTM(inputs, width), nn.Linear(width, 10)

            def forward(self, x: Any) -> Any:
                return self.out(self.layer(x)[0][-1])

        return Lstm()

    def transformer(self) -> Any:
        nn, library, normal = self.nn, self.library, self.normal
        gelu = importlib.import_module(f"{library.__name__}.nn.functional").gelu

        class Block(nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
                self.attend, self.project = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
                self.widen, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

            def forward(self, x: Any, mask: Any) -> Any:
                batch, length, _ = x.shape
                heads = batch, length, HEADS, WIDTH // HEADS
                parts = self.attend(self.first(x)).split(WIDTH, -1)
                query, key, value = (part.view(*heads).transpose(1, 2) for part in parts)
                scores = (query @ key.transpose(-2, -1)) * (WIDTH // HEADS) ** -0.5
                seen = library.softmax(scores + mask, -1) @ value
                x = x + self.project(seen.transpose(1, 2).reshape(batch, length, WIDTH))
                return x + self.narrow(gelu(self.widen(self.second(x))))

        class Transformer(nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.characters = nn.Embedding(CHARACTERS, WIDTH)
                self.places = nn.Parameter(normal(CONTEXT, WIDTH) * 0.02)
                self.blocks = nn.ModuleList([Block(), Block()])
                self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, CHARACTERS)
                mask = np.triu(np.full((CONTEXT, CONTEXT), -np.inf, np.float32), 1)
                self.register_buffer("mask", library.from_numpy(mask))

            def forward(self, text: Any) -> Any:
                x = self.characters(text) + self.places
                for block in self.blocks:
                    x = block(x, self.mask)
                return self.head(self.norm(x)).view(-1, CHARACTERS)

        return Transformer()

"""Layers beside torch.nn: PyTorch's state is loaded into ours, and outputs, gradients and buffers agree."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from perflab import runtime as rt
from perflab.runtime import nn

pytestmark = pytest.mark.torch

# A name, how the layer is made from a library's nn, and its inputs: shapes of floats, or arrays.
CASES: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "Linear": (lambda nn, **d: nn.Linear(4, 3, **d), [(2, 5, 4)]),
    "Bilinear": (lambda nn, **d: nn.Bilinear(4, 5, 3, **d), [(2, 4), (2, 5)]),
    "Conv1d": (lambda nn, **d: nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2, **d), [(2, 4, 9)]),
    "Conv2d": (lambda nn, **d: nn.Conv2d(4, 6, (3, 5), padding="same", bias=False, **d), [(2, 4, 7, 6)]),
    "ConvTranspose1d": (lambda nn, **d: nn.ConvTranspose1d(4, 6, 3, 2, output_padding=1, **d), [(2, 4, 5)]),
    "ConvTranspose2d": (lambda nn, **d: nn.ConvTranspose2d(4, 6, 3, 2, 1, groups=2, **d), [(2, 4, 5, 4)]),
    "BatchNorm1d": (lambda nn, **d: nn.BatchNorm1d(4, **d), [(5, 4)]),
    "BatchNorm1d of sequences": (lambda nn, **d: nn.BatchNorm1d(4, momentum=None, **d), [(5, 4, 3)]),
    "BatchNorm2d": (lambda nn, **d: nn.BatchNorm2d(4, momentum=0.3, eps=1e-2, **d), [(5, 4, 3, 2)]),
    "BatchNorm2d plain": (lambda nn, **d: nn.BatchNorm2d(4, affine=False, **d), [(5, 4, 3, 2)]),
    "BatchNorm2d untracked": (lambda nn, **d: nn.BatchNorm2d(4, track_running_stats=False, **d), [(5, 4, 3, 2)]),
    "InstanceNorm1d": (lambda nn, **d: nn.InstanceNorm1d(4, affine=True, **d), [(4, 5)]),
    "InstanceNorm2d": (lambda nn, **d: nn.InstanceNorm2d(4, track_running_stats=True, **d), [(5, 4, 3, 2)]),
    "LayerNorm": (lambda nn, **d: nn.LayerNorm((3, 4), **d), [(2, 3, 4)]),
    "LayerNorm without bias": (lambda nn, **d: nn.LayerNorm(4, bias=False, **d), [(2, 3, 4)]),
    "RMSNorm": (lambda nn, **d: nn.RMSNorm((3, 4), eps=1e-3, **d), [(2, 3, 4)]),
    "RMSNorm plain": (lambda nn, **d: nn.RMSNorm(4, elementwise_affine=False, **d), [(2, 3, 4)]),
    "GroupNorm": (lambda nn, **d: nn.GroupNorm(2, 6, **d), [(3, 6, 4)]),
    "PReLU": (lambda nn, **d: nn.PReLU(3, **d), [(2, 3, 4)]),
    "Embedding": (lambda nn, **d: nn.Embedding(5, 3, padding_idx=1, **d), [np.array([[0, 1], [4, 4]])]),
    "EmbeddingBag": (
        lambda nn, **d: nn.EmbeddingBag(5, 3, mode="sum", padding_idx=2, **d),
        [np.array([0, 1, 2, 4, 4]), np.array([0, 2])],
    ),
    "RNN": (lambda nn, **d: nn.RNN(4, 3, 2, nonlinearity="relu", bidirectional=True, **d), [(5, 2, 4)]),
    "RNN without bias": (lambda nn, **d: nn.RNN(4, 3, bias=False, **d), [(5, 4), (1, 3)]),
    "GRU": (lambda nn, **d: nn.GRU(4, 3, 2, batch_first=True, **d), [(2, 5, 4), (2, 2, 3)]),
    "GRU both ways": (lambda nn, **d: nn.GRU(4, 3, bidirectional=True, **d), [(5, 2, 4)]),
    "LSTM": (lambda nn, **d: nn.LSTM(4, 3, 2, **d), [(5, 2, 4)]),
    "LSTM projected": (
        lambda nn, **d: nn.LSTM(4, 5, 2, batch_first=True, bidirectional=True, proj_size=3, **d),
        [(2, 6, 4)],
    ),
    "RNNCell": (lambda nn, **d: nn.RNNCell(4, 3, **d), [(2, 4), (2, 3)]),
    "LSTMCell": (lambda nn, **d: nn.LSTMCell(4, 3, **d), [(2, 4)]),
    "GRUCell": (lambda nn, **d: nn.GRUCell(4, 3, **d), [(4,), (3,)]),
    "MultiheadAttention": (lambda nn, **d: nn.MultiheadAttention(6, 2, **d), [(4, 3, 6), (5, 3, 6), (5, 3, 6)]),
    "MultiheadAttention of other sizes": (
        lambda nn, **d: nn.MultiheadAttention(
            6, 2, kdim=4, vdim=5, batch_first=True, add_bias_kv=True, add_zero_attn=True, **d
        ),
        [(3, 4, 6), (3, 5, 4), (3, 5, 5)],
    ),
    "MultiheadAttention without a batch": (
        lambda nn, **d: nn.MultiheadAttention(6, 3, bias=False, **d),
        [(4, 6), (5, 6), (5, 6)],
    ),
    "TransformerEncoderLayer": (
        lambda nn, **d: nn.TransformerEncoderLayer(6, 2, 8, dropout=0.0, activation="gelu", **d),
        [(4, 3, 6)],
    ),
    "TransformerEncoder": (
        lambda nn, **d: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(6, 2, 8, dropout=0.0, norm_first=True, batch_first=True, **d),
            2,
            nn.LayerNorm(6, **d),
            enable_nested_tensor=False,
        ),
        [(3, 4, 6)],
    ),
    "TransformerDecoderLayer": (
        lambda nn, **d: nn.TransformerDecoderLayer(6, 2, 8, dropout=0.0, norm_first=True, **d),
        [(4, 3, 6), (5, 3, 6)],
    ),
    "TransformerDecoder": (
        lambda nn, **d: nn.TransformerDecoder(
            nn.TransformerDecoderLayer(6, 2, 8, dropout=0.0, batch_first=True, **d), 2
        ),
        [(3, 4, 6), (3, 5, 6)],
    ),
    "Transformer": (
        lambda nn, **d: nn.Transformer(6, 2, 1, 2, 8, dropout=0.0, bias=False, **d),
        [(4, 3, 6), (5, 3, 6)],
    ),
    "CrossEntropyLoss": (
        lambda nn, **d: nn.CrossEntropyLoss(ignore_index=1, label_smoothing=0.1),
        [(4, 3), np.array([2, 1, 0, 0])],
    ),
    "BCEWithLogitsLoss": (lambda nn, **d: nn.BCEWithLogitsLoss(reduction="sum"), [(4, 3), (4, 3)]),
    "TripletMarginLoss": (lambda nn, **d: nn.TripletMarginLoss(2.0, swap=True), [(4, 3), (4, 3), (4, 3)]),
    "CosineSimilarity": (lambda nn, **d: nn.CosineSimilarity(dim=0), [(4, 3), (4, 3)]),
    "Upsample": (lambda nn, **d: nn.Upsample(scale_factor=2.0, mode="bilinear"), [(1, 2, 3, 4)]),
    "Fold": (lambda nn, **d: nn.Fold((4, 5), (2, 3)), [(2, 12, 9)]),
    "AdaptiveMaxPool2d": (lambda nn, **d: nn.AdaptiveMaxPool2d((2, None), return_indices=True), [(2, 3, 5, 4)]),
    "AvgPool2d": (lambda nn, **d: nn.AvgPool2d(2, ceil_mode=True, divisor_override=3), [(2, 3, 5, 4)]),
}


def flat(result: Any) -> list[Any]:
    """The tensors of a result, in order."""
    if isinstance(result, tuple):
        return [tensor for part in result for tensor in flat(part)]
    return [] if result is None else [result]


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch")


def pair(torch: Any, make: Callable[..., Any]) -> tuple[nn.Module, Any]:
    """The layer here and there, in float64, with the same state."""
    torch.manual_seed(0)
    theirs = make(torch.nn, dtype=torch.float64)
    ours = make(Without(), dtype=rt.float64)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for parameter in theirs.parameters():  # zeros hide what is wrong
        torch.nn.init.normal_(parameter, std=0.5)
    ours.load_state_dict({name: value.detach().numpy() for name, value in theirs.state_dict().items()})
    return ours, theirs


class Without:
    """nn, without PyTorch's options that say how its own kernels are chosen."""

    def __getattr__(self, name: str) -> Any:
        if name != "TransformerEncoder":
            return getattr(nn, name)
        return lambda *args, enable_nested_tensor: nn.TransformerEncoder(*args)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor:UserWarning")  # torch's own kernels for inference
@pytest.mark.parametrize("name", CASES)
def test_layers_agree(torch: Any, name: str) -> None:
    make, inputs = CASES[name]
    ours, theirs = pair(torch, make)
    random = np.random.default_rng(0)
    for training in (True, True, False):
        ours.train(training)
        theirs.train(training)
        arrays = [random.normal(size=x) if isinstance(x, tuple) else x for x in inputs]
        mine = [rt.tensor(a, requires_grad=a.dtype.kind == "f") for a in arrays]
        others = [torch.tensor(a, requires_grad=a.dtype.kind == "f") for a in arrays]
        outs, wanted = flat(ours(*mine)), flat(theirs(*others))
        assert len(outs) == len(wanted)
        for out, want in zip(outs, wanted, strict=True):
            np.testing.assert_allclose(out.detach().numpy(), want.detach().numpy(), rtol=1e-9, atol=1e-11)
        assert list(ours.state_dict()) == list(theirs.state_dict())
        for buffer, other in zip(ours.buffers(), theirs.buffers(), strict=True):
            np.testing.assert_allclose(buffer.numpy(), other.numpy(), rtol=1e-9, atol=1e-11)
        ours.zero_grad()
        theirs.zero_grad()
        for loss, tensors in ((rt, outs), (torch, wanted)):
            loss.stack([(t * t).sum() for t in tensors if "float" in str(t.dtype)], 0).sum().backward()
        for x, y in [*zip(mine, others, strict=True), *zip(ours.parameters(), theirs.parameters(), strict=True)]:
            if y.grad is not None:
                assert x.grad is not None
                np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), rtol=1e-7, atol=1e-9)


def test_masks_of_attention_agree(torch: Any) -> None:
    ours, theirs = pair(torch, lambda nn, **d: nn.MultiheadAttention(6, 2, batch_first=True, add_zero_attn=True, **d))
    random = np.random.default_rng(0)
    x = random.normal(size=(3, 4, 6))
    causal = np.triu(np.ones((4, 4), bool), 1)
    padding = np.array([[False] * 4, [False, False, True, True], [False, True, False, True]])
    scores = random.normal(size=(6, 4, 4))
    for masks in (
        {"attn_mask": causal},
        {"key_padding_mask": padding},
        {"attn_mask": scores, "key_padding_mask": padding * -1.5},
    ):
        for average in (True, False):
            outs = [
                layer(
                    *[lib.tensor(x)] * 3, average_attn_weights=average, **{k: lib.tensor(m) for k, m in masks.items()}
                )
                for lib, layer in ((rt, ours), (torch, theirs))
            ]
            for mine, other in zip(*outs, strict=True):
                np.testing.assert_allclose(mine.detach().numpy(), other.detach().numpy(), rtol=1e-9, atol=1e-11)


def test_masks_of_the_transformer_agree(torch: Any) -> None:
    ours, theirs = pair(torch, lambda nn, **d: nn.Transformer(6, 2, 1, 1, 8, dropout=0.0, batch_first=True, **d))
    random = np.random.default_rng(0)
    src, tgt = random.normal(size=(3, 5, 6)), random.normal(size=(3, 4, 6))
    padding = np.arange(5) >= np.array([[5], [3], [4]])
    causal = nn.Transformer.generate_square_subsequent_mask(4, rt.float64)
    np.testing.assert_array_equal(causal.numpy(), torch.nn.Transformer.generate_square_subsequent_mask(4).numpy())
    outs = [
        layer(
            lib.tensor(src),
            lib.tensor(tgt),
            tgt_mask=lib.tensor(causal.numpy()),
            src_key_padding_mask=lib.tensor(np.where(padding, -np.inf, 0.0)),
            memory_key_padding_mask=lib.tensor(np.where(padding, -np.inf, 0.0)),
        )
        for lib, layer in ((rt, ours), (torch, theirs))
    ]
    np.testing.assert_allclose(outs[0].detach().numpy(), outs[1].detach().numpy(), rtol=1e-9, atol=1e-11)

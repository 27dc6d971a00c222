"""The transformer's layers, stacks and whole (Vaswani and others, 2017)."""

import copy
from collections.abc import Callable
from typing import Any

from ..._core import Tensor
from ...errors import ArgumentError, ShapeError
from ...spec import DType, get_default_dtype
from .. import functional as F
from .. import init
from ..containers import ModuleList
from ..functional.attention import causal_mask
from ..module import Module
from .attention import MultiheadAttention
from .dropout import Dropout
from .linear import Linear
from .norm import LayerNorm

Activation = str | Callable[[Tensor], Tensor]
_ACTIVATIONS: dict[Any, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu}


def _activation(given: Activation) -> Callable[[Tensor], Tensor]:
    if not isinstance(given, str):
        return given
    if given not in _ACTIVATIONS:
        raise ArgumentError(f"activation is relu, gelu or a function, not {given!r}")
    return _ACTIVATIONS[given]


class _Layer(Module):
    """Attentions, two linear maps, and a norm and a dropout for each of these parts."""

    _attentions: tuple[str, ...]

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        *,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        for name in self._attentions:
            setattr(
                self,
                name,
                MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, device=device, dtype=dtype),
            )
        self.linear1 = Linear(d_model, dim_feedforward, bias, device=device, dtype=dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, device=device, dtype=dtype)
        self.norm_first = norm_first
        parts = range(1, len(self._attentions) + 2)
        for i in parts:
            setattr(self, f"norm{i}", LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype))
        for i in parts:
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.activation = _activation(activation)

    def _feed(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))  # type: ignore[no-any-return]

    def _through(self, x: Tensor, *parts: Callable[[Tensor], Tensor]) -> Tensor:
        """Each part in turn: its result, with dropout, is added to its input; one of the two is normalised."""
        for i, part in enumerate(parts, 1):
            norm, dropout = getattr(self, f"norm{i}"), getattr(self, f"dropout{i}")
            x = x + dropout(part(norm(x))) if self.norm_first else norm(x + dropout(part(x)))
        return x


class TransformerEncoderLayer(_Layer):
    """Self-attention, then two linear maps for each place; each is added to its input and normalised.

    (L, N, d_model), or (N, L, d_model) with batch_first, to the same; also without N. norm_first: the inputs are
    normalised instead of the sums.
    """

    _attentions = ("self_attn",)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """src_mask and src_key_padding_mask are MultiheadAttention's attn_mask and key_padding_mask."""

        def attend(x: Tensor) -> Tensor:
            return self.self_attn(x, x, x, src_key_padding_mask, False, src_mask, is_causal=is_causal)[0]  # type: ignore[no-any-return]

        return self._through(src, attend, self._feed)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's output, then two linear maps for each place, as in the encoder."""

    _attentions = ("self_attn", "multihead_attn")

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """memory: the encoder's output, (S, N, d_model). The masks are MultiheadAttention's, of tgt and of memory."""

        def attend(x: Tensor) -> Tensor:
            return self.self_attn(x, x, x, tgt_key_padding_mask, False, tgt_mask, is_causal=tgt_is_causal)[0]  # type: ignore[no-any-return]

        def recall(x: Tensor) -> Tensor:
            return self.multihead_attn(  # type: ignore[no-any-return]
                x, memory, memory, memory_key_padding_mask, False, memory_mask, is_causal=memory_is_causal
            )[0]

        return self._through(tgt, attend, recall, self._feed)


def _copies(layer: Module, num_layers: int) -> ModuleList:
    return ModuleList([copy.deepcopy(layer) for _ in range(num_layers)])


class TransformerEncoder(Module):
    """num_layers copies of an encoder layer one after the other, and a normalisation at the end."""

    def __init__(self, encoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _copies(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """The masks go to every layer."""
        out = src
        for layer in self.layers:
            out = layer(out, src_mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=is_causal)
        return out if self.norm is None else self.norm(out)


class TransformerDecoder(Module):
    """num_layers copies of a decoder layer one after the other, and a normalisation at the end."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _copies(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(self, tgt: Tensor, memory: Tensor, **masks: Any) -> Tensor:
        """The masks, as TransformerDecoderLayer names them, go to every layer."""
        out = tgt
        for layer in self.layers:
            out = layer(out, memory, **masks)
        return out if self.norm is None else self.norm(out)


class Transformer(Module):
    """An encoder and a decoder: src (S, N, d_model) and tgt (T, N, d_model) to (T, N, d_model).

    With batch_first (N, S, ...) and (N, T, ...). custom_encoder and custom_decoder stand in for those that are made.
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        *,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()

        def layer(kind: Callable[..., Module]) -> Module:
            given = (
                d_model,
                nhead,
                dim_feedforward,
                dropout,
                activation,
                layer_norm_eps,
                batch_first,
                norm_first,
                bias,
            )
            return kind(*given, device=device, dtype=dtype)

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)

        self.encoder = custom_encoder or TransformerEncoder(layer(TransformerEncoderLayer), num_encoder_layers, norm())
        self.decoder = custom_decoder or TransformerDecoder(layer(TransformerDecoderLayer), num_decoder_layers, norm())
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """PyTorch's initial values: Xavier's for every matrix."""
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool = False,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The masks are MultiheadAttention's. Raises ShapeError where src and tgt do not fit."""
        batch = 0 if self.batch_first else 1
        if src.ndim != tgt.ndim or (src.ndim == 3 and src.shape[batch] != tgt.shape[batch]):
            raise ShapeError(f"Transformer: src {src.shape} and tgt {tgt.shape} have different batches")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise ShapeError(
                f"Transformer: src and tgt end in d_model, {self.d_model}, not {src.shape} and {tgt.shape}"
            )
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(  # type: ignore[no-any-return]
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, dtype: DType | None = None) -> Tensor:
        """The causal mask (sz, sz): -inf above the diagonal."""
        return causal_mask(sz, sz, (dtype or get_default_dtype()).numpy)

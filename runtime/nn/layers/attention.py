"""Attention of several heads (Vaswani and others, 2017)."""

import math
from typing import Any

from ..._core import Tensor
from ...creation import empty, zeros
from ...errors import ArgumentError, ShapeError
from ...ops.cast import astype
from ...ops.pointwise import where
from ...ops.shape import concat, expand, reshape, split_every, squeeze, transpose, unsqueeze
from ...ops.statistics import mean
from ...spec import DType
from .. import functional as F
from .. import init
from ..functional.attention import attend
from ..module import Module
from ..parameter import Parameter
from .linear import Linear


class MultiheadAttention(Module):
    """Queries look at keys in several heads, each of which sees its own share of the features.

    query: (L, N, embed_dim), key: (S, N, kdim), value: (S, N, vdim); with batch_first (N, L, ...); or without N.
    add_bias_kv: a learned key and value beside the given ones. add_zero_attn: one of zeros.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        *,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        if embed_dim < 1 or num_heads < 1 or embed_dim % num_heads:
            raise ArgumentError(f"MultiheadAttention: {num_heads} heads do not divide embed_dim {embed_dim}")
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.add_zero_attn = add_zero_attn

        def parameter(*shape: int) -> Parameter:
            return Parameter(empty(shape, device=device, dtype=dtype))

        same = self.kdim == self.vdim == embed_dim
        self.in_proj_weight = parameter(3 * embed_dim, embed_dim) if same else None
        self.q_proj_weight = None if same else parameter(embed_dim, embed_dim)
        self.k_proj_weight = None if same else parameter(embed_dim, self.kdim)
        self.v_proj_weight = None if same else parameter(embed_dim, self.vdim)
        self.in_proj_bias = parameter(3 * embed_dim) if bias else None
        self.bias_k = parameter(1, 1, embed_dim) if add_bias_kv else None
        self.bias_v = parameter(1, 1, embed_dim) if add_bias_kv else None
        self.out_proj = Linear(embed_dim, embed_dim, bias, device=device, dtype=dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """PyTorch's initial values: Xavier's for the projections, 0 for their biases."""
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        for bias in (self.in_proj_bias, self.out_proj.bias):
            if bias is not None:
                init.zeros_(bias)
        if self.bias_k is not None and self.bias_v is not None:
            init.xavier_normal_(self.bias_k)
            init.xavier_normal_(self.bias_v)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """The outputs, as query, and the weights of the values: (N, L, S), or (N, heads, L, S) not averaged.

        key_padding_mask: (N, S); attn_mask: (L, S) or (N * heads, L, S); bools, True where a key is not looked at, or
        numbers that are added to the scores. is_causal says that attn_mask is causal, and changes nothing.
        Raises ShapeError and ArgumentError.
        """
        if is_causal and attn_mask is None:
            raise ArgumentError("MultiheadAttention: is_causal needs the causal attn_mask")
        single = query.ndim == 2
        if query.ndim not in (2, 3) or not query.ndim == key.ndim == value.ndim:
            raise ShapeError(
                "MultiheadAttention: query, key and value have 3 axes, or 2 without a batch, not "
                f"{query.shape}, {key.shape} and {value.shape}"
            )
        q, k, v = self._projected(query, key, value)
        batch = 0 if self.batch_first else 1
        if single:
            q, k, v = (unsqueeze(x, batch) for x in (q, k, v))
            key_padding_mask = None if key_padding_mask is None else unsqueeze(key_padding_mask, 0)
        if not self.batch_first:
            q, k, v = (transpose(x, 0, 1) for x in (q, k, v))
        n, length, extra = q.shape[0], q.shape[1], 0
        if self.bias_k is not None and self.bias_v is not None:
            k = concat([k, expand(self.bias_k, (n, 1, -1))], axis=1)
            v = concat([v, expand(self.bias_v, (n, 1, -1))], axis=1)
            extra += 1
        if self.add_zero_attn:
            nothing = zeros((n, 1, self.embed_dim), dtype=k.dtype, device=k.device)
            k, v = concat([k, nothing], axis=1), concat([v, nothing], axis=1)
            extra += 1
        mask = self._mask(attn_mask, key_padding_mask, n, length, k.shape[1] - extra, extra, q.dtype)
        q, k, v = (transpose(reshape(x, (n, x.shape[1], self.num_heads, -1)), 1, 2) for x in (q, k, v))
        weights = attend(q, k, mask, self.dropout if self.training else 0.0, 1 / math.sqrt(self.head_dim))
        out: Tensor = self.out_proj(reshape(transpose(weights @ v, 1, 2), (n, length, self.embed_dim)))
        if not self.batch_first:
            out = transpose(out, 0, 1)
        if single:
            out, weights = squeeze(out, batch), squeeze(weights, 0)
        if not need_weights:
            return out, None
        return out, mean(weights, axis=-3) if average_attn_weights else weights

    def _projected(self, query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
        """Query, key and value in embed_dim features, in one product where they are the same tensor."""
        biases = (None,) * 3 if self.in_proj_bias is None else split_every(self.in_proj_bias, self.embed_dim)
        if self.in_proj_weight is None:
            weights: Any = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        elif query is key is value:
            return list(split_every(F.linear(query, self.in_proj_weight, self.in_proj_bias), self.embed_dim, -1))
        else:
            weights = split_every(self.in_proj_weight, self.embed_dim)
        return [F.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True)]

    def _mask(
        self,
        attn_mask: Tensor | None,
        key_padding_mask: Tensor | None,
        n: int,
        length: int,
        keys: int,
        extra: int,
        dtype: DType,
    ) -> Tensor | None:
        """What is added to scores (N, heads, L, S): both masks, and 0 for the `extra` keys."""
        masks = []
        if attn_mask is not None:
            if attn_mask.shape not in ((length, keys), (n * self.num_heads, length, keys)):
                raise ShapeError(
                    f"MultiheadAttention: attn_mask is ({length}, {keys}) or ({n * self.num_heads}, {length}, {keys}), "
                    f"not {attn_mask.shape}"
                )
            added = _added(attn_mask, dtype)
            masks.append(reshape(added, (n, self.num_heads, length, keys)) if attn_mask.ndim == 3 else added)
        if key_padding_mask is not None:
            if key_padding_mask.shape != (n, keys):
                raise ShapeError(f"MultiheadAttention: key_padding_mask is ({n}, {keys}), not {key_padding_mask.shape}")
            masks.append(reshape(_added(key_padding_mask, dtype), (n, 1, 1, keys)))
        if not masks:
            return None
        whole: Tensor = masks[0] if len(masks) == 1 else masks[0] + masks[1]
        if extra:
            whole = concat([whole, zeros((*whole.shape[:-1], extra), dtype=dtype, device=whole.device)], axis=-1)
        return whole

    def extra_repr(self) -> str:
        return f"embed_dim={self.embed_dim}, num_heads={self.num_heads}, batch_first={self.batch_first}"


def _added(mask: Tensor, dtype: DType) -> Tensor:
    """A mask as numbers to add: -inf for True."""
    return astype(where(mask, -math.inf, 0.0) if mask.dtype.kind == "b" else mask, dtype)  # type: ignore[no-any-return]

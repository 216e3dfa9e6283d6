"""Kimi K3's two kinds of attention: delta attention, whose state does not grow, and latent attention (MLA)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import nn
from torch.nn import functional
from transformers import Cache
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.llama.modeling_llama import eager_attention_forward

from engine.models.kimi_k3.configuration import KimiK3TextConfig
from engine.models.kimi_k3.delta_rule import causal_convolution, delta_rule
from engine.models.kimi_k3.layers import KimiK3GatedRMSNorm, KimiK3RMSNorm

_LATENT_NORM_EPS = 1e-6
"""Of the norms inside latent attention; the config has no field for it."""


class KimiK3ShortConvolution(nn.Module):
    """The causal convolutions of queries, keys and values in one, each channel by itself."""

    def __init__(self, channels: int, kernel_size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(channels, 1, kernel_size, dtype=torch.float32))

    def forward(self, states: torch.Tensor, tokens: int) -> torch.Tensor:
        return causal_convolution(states, self.weight.squeeze(1), tokens)


class KimiK3DeltaAttention(nn.Module):
    """Kimi delta attention with its short convolution, its decay and its output gate."""

    def __init__(self, config: KimiK3TextConfig, layer_idx: int) -> None:
        super().__init__()
        linear: dict[str, Any] = config.linear_attn_config or {}
        self.layer_idx = layer_idx
        self.num_heads: int = linear["num_heads"]
        self.head_dim: int = linear["head_dim"]
        self.conv_kernel_size: int = linear["short_conv_kernel_size"]
        self.gate_lower_bound: float | None = linear.get("gate_lower_bound")
        self.has_full_rank_gate = bool(linear.get("use_full_rank_gate", False))
        hidden, width = config.hidden_size, self.num_heads * self.head_dim
        self.q_proj = nn.Linear(hidden, width, bias=False)
        self.k_proj = nn.Linear(hidden, width, bias=False)
        self.v_proj = nn.Linear(hidden, width, bias=False)
        self.conv1d = KimiK3ShortConvolution(3 * width, self.conv_kernel_size)
        self.f_a_proj = nn.Linear(hidden, self.head_dim, bias=False)
        self.f_b_proj = nn.Linear(self.head_dim, width, bias=False)
        self.A_log = nn.Parameter(torch.empty(self.num_heads, dtype=torch.float32))
        self.dt_bias = nn.Parameter(torch.empty(width, dtype=torch.float32))
        self.b_proj = nn.Linear(hidden, self.num_heads, bias=False)
        if self.has_full_rank_gate:
            self.g_proj = nn.Linear(hidden, width, bias=False)
        else:
            self.g_a_proj = nn.Linear(hidden, self.head_dim, bias=False)
            self.g_b_proj = nn.Linear(self.head_dim, width, bias=False)
        self.o_norm = KimiK3GatedRMSNorm(self.head_dim, config.rms_norm_eps)
        self.o_proj = nn.Linear(width, hidden, bias=False)

    def forward(
        self, states: torch.Tensor, attention_mask: torch.Tensor | None = None, cache: Cache | None = None
    ) -> torch.Tensor:
        """``states`` [batch, tokens, hidden]; ``attention_mask`` [batch, tokens] is 0 at padding."""
        if attention_mask is not None:
            states = states * attention_mask[:, :, None].to(states.dtype)
        tokens = states.shape[1]
        heads = (*states.shape[:2], self.num_heads, self.head_dim)
        mixed = torch.cat([self.q_proj(states), self.k_proj(states), self.v_proj(states)], dim=-1).transpose(1, 2)
        before = None
        if cache is not None:
            before = cache.get_recurrent_state(self.layer_idx)
            mixed = cache.update_conv_state(mixed, self.layer_idx, conv_kernel_size=self.conv_kernel_size)
        mixed = self.conv1d(mixed, tokens).transpose(1, 2)
        query, key, value = (part.reshape(heads) for part in mixed.chunk(3, dim=-1))
        log_decay = self._log_decay(self.f_b_proj(self.f_a_proj(states)).view(heads))
        beta = self.b_proj(states).float().sigmoid()
        read, after = delta_rule(query, key, value, log_decay, beta, before)
        if cache is not None:
            cache.update_recurrent_state(after, self.layer_idx)
        gate = self.g_proj(states) if self.has_full_rank_gate else self.g_b_proj(self.g_a_proj(states))
        return self.o_proj(self.o_norm(read, gate.view(heads)).flatten(2))

    def _log_decay(self, raw: torch.Tensor) -> torch.Tensor:
        """float32; between ``gate_lower_bound`` and 0 where there is one, any negative number otherwise."""
        rate = self.A_log.float().exp()[:, None]
        raw = raw.float() + self.dt_bias.float().view(self.num_heads, self.head_dim)
        if self.gate_lower_bound is not None:
            return self.gate_lower_bound * torch.sigmoid(rate * raw)
        return -rate * functional.softplus(raw)


class KimiK3LatentAttention(nn.Module):
    """Full attention over keys and values kept as one narrow latent, without positions, with an output gate.

    A prompt expands the latents to the heads' keys and values; a single token is cheaper the other way round, its
    query brought into the latents' space.
    """

    def __init__(self, config: KimiK3TextConfig, layer_idx: int) -> None:
        super().__init__()
        self.config = config
        self.layer_idx = layer_idx
        self.num_heads = config.num_attention_heads
        self.nope_dim, self.rope_dim = config.qk_nope_head_dim, config.qk_rope_head_dim
        self.v_head_dim, self.kv_lora_rank = config.v_head_dim, config.kv_lora_rank
        self.qk_head_dim = self.nope_dim + self.rope_dim
        self.scaling = self.qk_head_dim**-0.5
        self.is_causal = True
        self.num_key_value_groups = 1  # for transformers' attention functions: every head has keys of its own
        hidden = config.hidden_size
        if config.q_lora_rank is None:
            self.q_proj = nn.Linear(hidden, self.num_heads * self.qk_head_dim, bias=False)
        else:
            self.q_a_proj = nn.Linear(hidden, config.q_lora_rank, bias=False)
            self.q_a_layernorm = KimiK3RMSNorm(config.q_lora_rank, _LATENT_NORM_EPS)
            self.q_b_proj = nn.Linear(config.q_lora_rank, self.num_heads * self.qk_head_dim, bias=False)
        self.kv_a_proj_with_mqa = nn.Linear(hidden, self.kv_lora_rank + self.rope_dim, bias=False)
        self.kv_a_layernorm = KimiK3RMSNorm(self.kv_lora_rank, _LATENT_NORM_EPS)
        self.kv_b_proj = nn.Linear(self.kv_lora_rank, self.num_heads * (self.nope_dim + self.v_head_dim), bias=False)
        self.o_proj = nn.Linear(self.num_heads * self.v_head_dim, hidden, bias=False)
        if config.mla_use_output_gate:
            self.g_proj = nn.Linear(hidden, self.num_heads * self.v_head_dim, bias=False)

    def forward(
        self,
        states: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        cache: Cache | None = None,
        **kwargs: Any,
    ) -> torch.Tensor:
        """``states`` [batch, tokens, hidden]; ``attention_mask`` as ``create_causal_mask`` makes it."""
        query = self._query(states).unflatten(-1, (self.num_heads, self.qk_head_dim)).transpose(1, 2)
        latent, shared_key = self.kv_a_proj_with_mqa(states).split([self.kv_lora_rank, self.rope_dim], dim=-1)
        latent, shared_key = self.kv_a_layernorm(latent)[:, None], shared_key[:, None]
        if cache is not None:
            latent, shared_key = cache.update(latent, shared_key, self.layer_idx)
        if query.shape[2] == 1:
            output = self._attend_in_latent_space(query, latent, shared_key, attention_mask)
        else:
            output = self._attend(query, latent, shared_key, attention_mask, **kwargs)
        output = output.flatten(2)
        if self.config.mla_use_output_gate:
            output = output * self.g_proj(states).sigmoid()
        return self.o_proj(output)

    def _query(self, states: torch.Tensor) -> torch.Tensor:
        if self.config.q_lora_rank is None:
            return self.q_proj(states)
        return self.q_b_proj(self.q_a_layernorm(self.q_a_proj(states)))

    def _attend(
        self,
        query: torch.Tensor,
        latent: torch.Tensor,
        shared_key: torch.Tensor,
        mask: torch.Tensor | None,
        **kwargs: Any,
    ) -> torch.Tensor:
        """[batch, tokens, heads, values]. ``latent`` and ``shared_key`` are [batch, 1, all tokens, width]."""
        expanded = self.kv_b_proj(latent[:, 0]).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
        key, value = expanded.split([self.nope_dim, self.v_head_dim], dim=-1)
        key = torch.cat([key, shared_key.expand(-1, self.num_heads, -1, -1)], dim=-1)
        attend: Callable[..., Any] = ALL_ATTENTION_FUNCTIONS.get_interface(
            cast(str, self.config._attn_implementation),  # pyright: ignore[reportPrivateUsage]
            eager_attention_forward,
        )
        return attend(self, query, key, value, mask, dropout=0.0, scaling=self.scaling, **kwargs)[0]

    def _attend_in_latent_space(
        self, query: torch.Tensor, latent: torch.Tensor, shared_key: torch.Tensor, mask: torch.Tensor | None
    ) -> torch.Tensor:
        """The same for one token, whose query sees all there is but what ``mask`` hides."""
        to_key, to_value = self.kv_b_proj.weight.unflatten(0, (self.num_heads, -1)).split(
            [self.nope_dim, self.v_head_dim], dim=1
        )
        by_content, by_shared = query.split([self.nope_dim, self.rope_dim], dim=-1)
        by_latent = by_content @ to_key  # [batch, heads, 1, rank]
        scores = torch.cat([by_latent, by_shared], -1) @ torch.cat([latent, shared_key], -1).transpose(-1, -2)
        scores = scores * self.scaling
        if mask is not None and mask.dtype is torch.bool:
            scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        elif mask is not None:
            scores = scores + mask
        weights = scores.softmax(-1, dtype=torch.float32).to(query.dtype)
        return (weights @ latent @ to_value.transpose(1, 2)).transpose(1, 2)

"""Kimi delta attention: a gated delta rule whose state decays channel by channel. Plain torch, in float32.

One head keeps a state S of [key, value] channels. With a_t the log decay of each key channel and b_t in (0, 1),

    S_t = diag(exp a_t) S_{t-1} + k_t (b_t (v_t - k_t^T diag(exp a_t) S_{t-1})),     o_t = S_t^T q_t

(Kimi Linear, arXiv 2510.26692, section 3). A prompt is worked through in chunks of ``CHUNK_TOKENS``: within one the
recurrence is a triangular system. No more than one chunk is expanded at a time, because all its pairs of tokens by
channel take heads x 16 x 16 x 128 numbers.
"""

from __future__ import annotations

import torch
from torch.nn import functional

CHUNK_TOKENS = 16
_NORM_EPS = 1e-6


def delta_rule(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    log_decay: torch.Tensor,
    beta: torch.Tensor,
    state: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """What a layer's heads read from their states, and the states after the last token.

    ``query``, ``key``, ``value`` and ``log_decay`` are [batch, tokens, heads, channels], ``beta`` [batch, tokens,
    heads]; queries and keys are normalised here. ``state`` is float32 [batch, heads, key, value], zeros where there
    was no token before. The output has the dtype and layout of ``value``; the state returned is new.
    """
    dtype = value.dtype
    # [batch, heads, tokens, channels], so that a chunk of a head is one matrix.
    q, k, v, a = (tensor.transpose(1, 2).float() for tensor in (query, key, value, log_decay))
    b = beta.transpose(1, 2).float()[..., None]
    q = _normalise(q) * q.shape[-1] ** -0.5
    k = _normalise(k)
    if state is None:
        state = v.new_zeros((*k.shape[:2], k.shape[-1], v.shape[-1]))
    if v.shape[2] == 1:
        output, state = _step(q, k, v, a, b, state)
    else:
        output = torch.empty_like(v)
        for start in range(0, v.shape[2], CHUNK_TOKENS):
            part = slice(start, start + CHUNK_TOKENS)
            output[:, :, part], state = _chunk(
                q[:, :, part], k[:, :, part], v[:, :, part], a[:, :, part], b[:, :, part], state
            )
    return output.transpose(1, 2).to(dtype), state


def causal_convolution(states: torch.Tensor, weight: torch.Tensor, tokens: int) -> torch.Tensor:
    """A convolution of every channel by itself over its last ``weight.shape[-1]`` tokens, then SiLU.

    ``states`` [batch, channels, tokens before + ``tokens``]: where fewer came before than the kernel is long, zeros
    stand for them. ``weight`` [channels, kernel]. Gives [batch, channels, ``tokens``] in the dtype of ``states``,
    computed in that of ``weight``.
    """
    kernel = weight.shape[-1]
    missing = max(kernel - 1 + tokens - states.shape[-1], 0)
    padded = functional.pad(states, (missing, 0))[..., -(kernel - 1 + tokens) :].to(weight.dtype)
    total = padded[..., :tokens] * weight[:, :1]
    for place in range(1, kernel):
        total = total + padded[..., place : place + tokens] * weight[:, place : place + 1]
    return functional.silu(total).to(states.dtype)


def _normalise(x: torch.Tensor) -> torch.Tensor:
    return x * torch.rsqrt(x.square().sum(-1, keepdim=True) + _NORM_EPS)


def _step(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, a: torch.Tensor, b: torch.Tensor, state: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """One token: a chunk of one, without its system of equations."""
    decayed = state * a.exp().transpose(-1, -2)
    update = (v - k @ decayed) * b
    state = decayed + k.transpose(-1, -2) * update
    return q @ state, state


def _chunk(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, a: torch.Tensor, b: torch.Tensor, state: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """``CHUNK_TOKENS`` or fewer at once.

    With A_i the decay since the chunk's start, token i's write u_i answers to the state and to the writes before it:
    u_i = b_i (v_i - (k_i exp A_i)^T S - sum over j < i of (k_i exp(A_i - A_j))^T k_j u_j).
    """
    count = q.shape[2]
    since_start = a.cumsum(2)
    later = torch.ones(count, count, dtype=torch.bool, device=q.device).triu(1)[..., None]
    # exp(A_i - A_j) for j up to i; the others would overflow, and are not wanted.
    between = (since_start[:, :, :, None] - since_start[:, :, None]).masked_fill(later, -torch.inf).exp()
    decayed_keys = between * k[:, :, None]
    keys_to_keys = (decayed_keys @ (k * b)[..., None]).squeeze(-1)
    queries_to_keys = (decayed_keys @ q[..., None]).squeeze(-1)

    decay = since_start.exp()
    written = v * b - (k * b * decay) @ state
    # Solves with a unit diagonal and what lies below it; the rest of the matrix is not looked at.
    writes = torch.linalg.solve_triangular(keys_to_keys, written, upper=False, unitriangular=True)
    output = (q * decay) @ state + queries_to_keys @ writes
    until_end = (since_start[:, :, -1:] - since_start).exp()
    state = state * decay[:, :, -1, :, None] + (k * until_end).transpose(-1, -2) @ writes
    return output, state

"""The small parts of Kimi K3: norms, the activation, dense MLPs, and residuals that attend over blocks of layers."""

from __future__ import annotations

import torch
from torch import nn

from engine.models.kimi_k3.configuration import KimiK3TextConfig


class KimiK3RMSNorm(nn.Module):
    """Root-mean-square norm in float32; the weight is applied in the dtype of the states."""

    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        normed = states.float()
        normed = normed * torch.rsqrt(normed.square().mean(-1, keepdim=True) + self.eps)
        return self.weight * normed.to(states.dtype)


class KimiK3GatedRMSNorm(nn.Module):
    """The norm of each head of delta attention, times the sigmoid of a gate. float32 throughout, weight included."""

    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size, dtype=torch.float32))
        self.eps = eps

    def forward(self, states: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
        normed = states.float()
        normed = normed * torch.rsqrt(normed.square().mean(-1, keepdim=True) + self.eps)
        return (self.weight.float() * normed * gate.float().sigmoid()).to(states.dtype)


class KimiK3Activation(nn.Module):
    """SiTU: a SiLU whose linear part saturates, b tanh(gate / b) sigmoid(gate), times ``up``, which saturates too."""

    def __init__(self, config: KimiK3TextConfig) -> None:
        super().__init__()
        self.beta = config.activation_situ_beta or 1.0
        self.linear_beta = config.activation_situ_linear_beta

    def forward(self, gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
        dtype = up.dtype
        gate, up = gate.float(), up.float()
        if self.linear_beta is not None:
            up = self.linear_beta * torch.tanh(up / self.linear_beta)
        return (self.beta * torch.tanh(gate / self.beta) * torch.sigmoid(gate) * up).to(dtype)


class KimiK3MLP(nn.Module):
    def __init__(self, config: KimiK3TextConfig, intermediate_size: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, intermediate_size, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, intermediate_size, bias=False)
        self.down_proj = nn.Linear(intermediate_size, config.hidden_size, bias=False)
        self.act_fn = KimiK3Activation(config)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        return self.down_proj(self.act_fn(self.gate_proj(states), self.up_proj(states)))


def attend_over_blocks(
    blocks: tuple[torch.Tensor, ...], states: torch.Tensor, norm: KimiK3RMSNorm, proj: nn.Linear
) -> torch.Tensor:
    """Attention residuals: what the finished ``blocks`` and the running sum ``states`` say, weighed token by token.

    All are [batch, tokens, hidden]. Each is scored by its norm's product with one learned query, in float32.
    """
    sources = [*blocks, states]
    query = norm.weight.float() * proj.weight.squeeze(0).float()
    scores = torch.stack([_score(source.float(), query, norm.eps) for source in sources])
    weights = scores.softmax(0)[..., None]
    total = weights[0] * sources[0].float()
    for weight, source in zip(weights[1:], sources[1:], strict=True):
        total += weight * source.float()
    return total.to(states.dtype)


def _score(source: torch.Tensor, query: torch.Tensor, eps: float) -> torch.Tensor:
    return (source @ query) * torch.rsqrt(source.square().mean(-1) + eps)

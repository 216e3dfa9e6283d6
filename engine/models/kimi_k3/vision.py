"""Kimi K3's eyes: MoonViT-3d and the projector into the language model's space. Images only, no videos.

The tower sees each image at its own size, as a grid of patches, and attends within an image. The projector turns
every 2 x 2 patches into one embedding.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn
from torch.nn import functional
from transformers import PreTrainedModel
from transformers.activations import ACT2FN

from engine.models.kimi_k3.configuration import KimiK3VisionConfig

_ROTARY_BASE = 10000.0


class KimiK3PositionGrid(nn.Module):
    """A learned embedding for each place of a grid, stretched to the grid of an image."""

    def __init__(self, config: KimiK3VisionConfig) -> None:
        super().__init__()
        self.weight = nn.Parameter(
            torch.empty(config.init_pos_emb_height, config.init_pos_emb_width, config.vt_hidden_size)
        )
        self.mode = config.pos_emb_interpolation_mode

    def forward(self, height: int, width: int) -> torch.Tensor:
        """[height x width, channels]."""
        if (height, width) == self.weight.shape[:2]:
            return self.weight.flatten(0, 1)
        grid = functional.interpolate(self.weight.permute(2, 0, 1)[None], size=(height, width), mode=self.mode)
        return grid[0].permute(1, 2, 0).flatten(0, 1)


class KimiK3PatchEmbedding(nn.Module):
    def __init__(self, config: KimiK3VisionConfig) -> None:
        super().__init__()
        size = config.patch_size
        self.proj = nn.Conv2d(3, config.vt_hidden_size, size, stride=size, bias=config.patch_embed_proj_bias)
        self.pos_emb = KimiK3PositionGrid(config)

    def forward(self, patches: torch.Tensor, grids: Sequence[tuple[int, int]]) -> torch.Tensor:
        places = torch.cat([self.pos_emb(height, width) for height, width in grids])
        return self.proj(patches).flatten(1) + places


class KimiK3VisionMLP(nn.Module):
    def __init__(self, config: KimiK3VisionConfig) -> None:
        super().__init__()
        self.fc0 = nn.Linear(config.vt_hidden_size, config.vt_intermediate_size, bias=config.linear_bias)
        self.fc1 = nn.Linear(config.vt_intermediate_size, config.vt_hidden_size, bias=config.linear_bias)
        self.act_fn = ACT2FN[config.activation_func]

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        return self.fc1(self.act_fn(self.fc0(states)))


class KimiK3VisionLayer(nn.Module):
    def __init__(self, config: KimiK3VisionConfig) -> None:
        super().__init__()
        width = config.qkv_hidden_size or config.vt_hidden_size
        self.num_heads = config.vt_num_attention_heads
        self.norm0, self.norm1 = _norm(config), _norm(config)
        self.wqkv = nn.Linear(config.vt_hidden_size, 3 * width, bias=config.attn_bias)
        self.wo = nn.Linear(width, config.vt_hidden_size, bias=config.attn_bias)
        self.mlp = KimiK3VisionMLP(config)

    def forward(self, states: torch.Tensor, rotary: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
        """``states`` [patches, channels] of all images, ``rotary`` as ``_rotary`` gives it, patches of each image."""
        mixed = self.wqkv(self.norm0(states)).unflatten(-1, (3, self.num_heads, -1))
        query, key, value = mixed.unbind(1)
        query, key = _turn(query, rotary), _turn(key, rotary)
        seen: list[torch.Tensor] = []
        for q, k, v in zip(query.split(lengths), key.split(lengths), value.split(lengths), strict=True):
            q, k, v = (part.transpose(0, 1)[None] for part in (q, k, v))
            seen.append(functional.scaled_dot_product_attention(q, k, v)[0].transpose(0, 1).flatten(1))
        states = states + self.wo(torch.cat(seen))
        return states + self.mlp(self.norm1(states))


class KimiK3VisionEncoder(nn.Module):
    def __init__(self, config: KimiK3VisionConfig) -> None:
        super().__init__()
        self.head_dim = (config.qkv_hidden_size or config.vt_hidden_size) // config.vt_num_attention_heads
        self.blocks = nn.ModuleList([KimiK3VisionLayer(config) for _ in range(config.vt_num_hidden_layers)])
        self.final_layernorm = _norm(config)

    def forward(self, states: torch.Tensor, grids: Sequence[tuple[int, int]]) -> torch.Tensor:
        rotary = torch.cat([_rotary(height, width, self.head_dim, states.device) for height, width in grids])
        lengths = [height * width for height, width in grids]
        for block in self.blocks:
            states = block(states, rotary, lengths)
        return self.final_layernorm(states)


class KimiK3VisionTower(PreTrainedModel):
    """Patches to states, those of one ``merge_kernel_size`` square next to each other."""

    config_class = KimiK3VisionConfig
    _no_split_modules = ["KimiK3VisionLayer"]  # noqa: RUF012 -- as transformers declares it

    def __init__(self, config: KimiK3VisionConfig) -> None:
        super().__init__(config)
        self.patch_embed = KimiK3PatchEmbedding(config)
        self.encoder = KimiK3VisionEncoder(config)
        self.post_init()

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if isinstance(module, KimiK3PositionGrid):
            nn.init.normal_(module.weight)

    def forward(self, pixel_values: torch.Tensor, grid_thws: torch.Tensor) -> list[torch.Tensor]:
        """For each image [squares, patches in a square, channels].

        ``pixel_values`` [patches, 3, patch, patch] of all images in turn; ``grid_thws`` [images, 3]: frames (1),
        rows and columns of patches. Raises ``ValueError`` for a video.
        """
        grids: list[tuple[int, int]] = []
        for frames, height, width in grid_thws.tolist():
            if frames != 1:
                raise ValueError(f"{frames} frames: this model file takes images, not videos")
            grids.append((height, width))
        states = self.encoder(self.patch_embed(pixel_values.to(self.dtype), grids), grids)
        rows, columns = self.config.merge_kernel_size
        images = states.split([height * width for height, width in grids])
        return [
            image.view(height // rows, rows, width // columns, columns, -1).transpose(1, 2).flatten(2, 3).flatten(0, 1)
            for image, (height, width) in zip(images, grids, strict=True)
        ]


class KimiK3Projector(nn.Module):
    """A square of patches to one embedding of the language model."""

    def __init__(self, config: KimiK3VisionConfig) -> None:
        super().__init__()
        rows, columns = config.merge_kernel_size
        width = config.mm_hidden_size * rows * columns
        self.proj = nn.Sequential(
            nn.Linear(width, width, bias=False), nn.GELU(), nn.Linear(width, config.text_hidden_size, bias=False)
        )
        self.post_norm = nn.RMSNorm(config.text_hidden_size, eps=config.projector_ln_eps)

    def forward(self, images: Sequence[torch.Tensor]) -> torch.Tensor:
        """[squares of all images, hidden]."""
        return self.post_norm(self.proj(torch.cat([image.flatten(1) for image in images])))


def _norm(config: KimiK3VisionConfig) -> nn.Module:
    kind = nn.RMSNorm if config.norm_type == "rmsnorm" else nn.LayerNorm
    return kind(config.vt_hidden_size)


def _rotary(height: int, width: int, head_dim: int, device: torch.device) -> torch.Tensor:
    """Cosines and sines [patches, 2, head_dim / 2] of a column's angle and a row's in turn, float32."""
    rates = _ROTARY_BASE ** -(torch.arange(0, head_dim, 4, dtype=torch.float32, device=device) / head_dim)
    rows = torch.arange(height, device=device).repeat_interleave(width)
    columns = torch.arange(width, device=device).repeat(height)
    angles = torch.stack([columns[:, None] * rates, rows[:, None] * rates], dim=-1).flatten(1)
    return torch.stack([angles.cos(), angles.sin()], dim=1)


def _turn(states: torch.Tensor, rotary: torch.Tensor) -> torch.Tensor:
    """Turns each pair of neighbouring channels of [patches, heads, channels] by its angle, in float32."""
    cos, sin = rotary.unbind(1)
    cos, sin = cos[:, None], sin[:, None]
    even, odd = states.float().unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2).to(states.dtype)

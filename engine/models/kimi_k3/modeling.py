"""Kimi K3 in the style of a transformers model file: the language model, and the face that also takes images.

What sets it apart: Kimi delta attention with a full-rank output gate, latent attention without positions, residuals
that attend over blocks of layers, experts that work in a narrower space, and SiTU as activation. The parameters keep
their published names, but for what ``conversion.py`` says.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import torch
from torch import nn
from torch.nn import functional
from transformers import Cache, DynamicCache, GenerationMixin, PreTrainedModel, initialization
from transformers.integrations.moe import use_experts_implementation
from transformers.masking_utils import create_causal_mask, create_recurrent_attention_mask
from transformers.modeling_outputs import MoeCausalLMOutputWithPast, MoeModelOutputWithPast
from transformers.modeling_utils import slice_logits_to_keep

from engine.models.kimi_k3.attention import KimiK3DeltaAttention, KimiK3LatentAttention, KimiK3ShortConvolution
from engine.models.kimi_k3.configuration import KimiK3Config, KimiK3TextConfig, KimiK3VisionConfig
from engine.models.kimi_k3.layers import KimiK3Activation, KimiK3MLP, KimiK3RMSNorm, attend_over_blocks
from engine.models.kimi_k3.vision import KimiK3Projector, KimiK3VisionTower


@use_experts_implementation
class KimiK3Experts(nn.Module):
    """The routed experts, one after the other in each stack."""

    def __init__(self, config: KimiK3TextConfig) -> None:
        super().__init__()
        self.num_experts = cast(int, config.num_experts)
        hidden, width = config.routed_expert_hidden_size or config.hidden_size, config.moe_intermediate_size
        self.gate_up_proj = nn.Parameter(torch.empty(self.num_experts, 2 * width, hidden))
        self.down_proj = nn.Parameter(torch.empty(self.num_experts, hidden, width))
        self.act_fn = KimiK3Activation(config)

    def _apply_gate(self, gate_up: torch.Tensor) -> torch.Tensor:
        gate, up = gate_up.chunk(2, dim=-1)
        return self.act_fn(gate, up)

    def forward(
        self, hidden_states: torch.Tensor, top_k_index: torch.Tensor, top_k_weights: torch.Tensor
    ) -> torch.Tensor:
        """``hidden_states`` [tokens, width], indices and weights [tokens, experts per token]."""
        total = torch.zeros_like(hidden_states)
        for index in top_k_index.unique().tolist():
            place, token = torch.where((top_k_index == index).T)
            gate_up = functional.linear(hidden_states[token], self.gate_up_proj[index])
            states = functional.linear(self._apply_gate(gate_up), self.down_proj[index])
            states = states * top_k_weights[token, place, None]
            total.index_add_(0, token, states.to(total.dtype))
        return total


class KimiK3Router(nn.Module):
    """Chooses each token's experts by sigmoid scores plus a correction that the weights do not have. In float32."""

    def __init__(self, config: KimiK3TextConfig) -> None:
        super().__init__()
        self.config = config
        count = cast(int, config.num_experts)
        self.weight = nn.Parameter(torch.empty(count, config.hidden_size))
        self.e_score_correction_bias = nn.Buffer(torch.zeros(count, dtype=torch.float32))

    def forward(self, states: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Weights and indices, both [tokens, experts per token]; ``states`` [tokens, hidden]."""
        config = self.config
        scores = functional.linear(states.float(), self.weight.float()).sigmoid()
        wanted = scores + self.e_score_correction_bias
        if config.topk_group < config.num_expert_group:
            wanted = self._within_best_groups(wanted)
        indices = wanted.topk(config.num_experts_per_token, dim=-1, sorted=False).indices
        weights = scores.gather(1, indices)
        if config.num_experts_per_token > 1 and config.moe_renormalize:
            weights = weights / (weights.sum(-1, keepdim=True) + 1e-20)
        return weights * config.routed_scaling_factor, indices

    def _within_best_groups(self, wanted: torch.Tensor) -> torch.Tensor:
        """The scores, minus infinity outside the groups whose two best experts together score highest."""
        grouped = wanted.unflatten(-1, (self.config.num_expert_group, -1))
        best = grouped.topk(2, dim=-1).values.sum(-1).topk(self.config.topk_group, dim=-1, sorted=False).indices
        is_out = torch.ones_like(grouped[..., 0], dtype=torch.bool).scatter_(1, best, False)
        return grouped.masked_fill(is_out[..., None], -torch.inf).flatten(-2)


class KimiK3SparseMoe(nn.Module):
    """Routed experts, in a narrower space where the config has one, and shared experts at full width."""

    def __init__(self, config: KimiK3TextConfig) -> None:
        super().__init__()
        hidden, latent = config.hidden_size, config.routed_expert_hidden_size
        self.gate = KimiK3Router(config)
        self.experts = KimiK3Experts(config)
        if latent is not None:
            self.routed_expert_down_proj = nn.Linear(hidden, latent, bias=False)
            self.routed_expert_up_proj = nn.Linear(latent, hidden, bias=False)
            if config.latent_moe_use_norm:
                self.routed_expert_norm = KimiK3RMSNorm(latent, config.rms_norm_eps)
        if config.num_shared_experts:
            self.shared_experts = KimiK3MLP(config, config.moe_intermediate_size * config.num_shared_experts)
        self.is_latent = latent is not None
        self.has_norm = self.is_latent and config.latent_moe_use_norm
        self.has_shared = bool(config.num_shared_experts)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        flat = states.reshape(-1, states.shape[-1])
        weights, indices = self.gate(flat)
        routed = self.routed_expert_down_proj(flat) if self.is_latent else flat
        routed = self.experts(routed, indices, weights)
        if self.has_norm:
            routed = self.routed_expert_norm(routed)
        if self.is_latent:
            routed = self.routed_expert_up_proj(routed)
        routed = routed.view(states.shape)
        return routed + self.shared_experts(states) if self.has_shared else routed


class KimiK3DecoderLayer(nn.Module):
    """Attention, then an MLP or experts.

    Without attention residuals the layer adds to its input. With them, it takes and gives the sum since the last
    block of layers began, and each of its two parts reads a mixture of that sum and the finished blocks.
    """

    def __init__(self, config: KimiK3TextConfig, layer_idx: int) -> None:
        super().__init__()
        hidden, eps = config.hidden_size, config.rms_norm_eps
        self.is_linear = cast(list[str], config.layer_types)[layer_idx] == "linear_attention"
        attention = KimiK3DeltaAttention if self.is_linear else KimiK3LatentAttention
        self.self_attn = attention(config, layer_idx)
        is_moe = config.is_moe_layer(layer_idx)
        self.mlp = KimiK3SparseMoe(config) if is_moe else KimiK3MLP(config, config.intermediate_size)
        self.input_layernorm = KimiK3RMSNorm(hidden, eps)
        self.post_attention_layernorm = KimiK3RMSNorm(hidden, eps)
        self.has_attention_residuals = config.attn_res_block_size is not None
        if config.attn_res_block_size is not None:
            self.begins_block = layer_idx % config.attn_res_block_size == 0
            self.self_attention_res_norm = KimiK3RMSNorm(hidden, eps)
            self.self_attention_res_proj = nn.Linear(hidden, 1, bias=False)
            self.mlp_res_norm = KimiK3RMSNorm(hidden, eps)
            self.mlp_res_proj = nn.Linear(hidden, 1, bias=False)

    def forward(
        self,
        states: torch.Tensor,
        blocks: tuple[torch.Tensor, ...],
        attention_mask: torch.Tensor | None,
        cache: Cache | None,
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
        """``states`` and every block [batch, tokens, hidden]; gives both as the next layer takes them."""
        if not self.has_attention_residuals:
            states = states + self.self_attn(self.input_layernorm(states), attention_mask, cache)
            return states + self.mlp(self.post_attention_layernorm(states)), blocks

        mixed = attend_over_blocks(blocks, states, self.self_attention_res_norm, self.self_attention_res_proj)
        attended = self.self_attn(self.input_layernorm(mixed), attention_mask, cache)
        if self.begins_block:
            blocks, states = (*blocks, states), attended
        else:
            states = states + attended
        mixed = attend_over_blocks(blocks, states, self.mlp_res_norm, self.mlp_res_proj)
        return states + self.mlp(self.post_attention_layernorm(mixed)), blocks


class KimiK3PreTrainedModel(PreTrainedModel):
    config_class = KimiK3TextConfig
    base_model_prefix = "model"
    _no_split_modules = ["KimiK3DecoderLayer"]  # noqa: RUF012 -- as transformers declares it
    _supports_sdpa = True
    _is_stateful = True
    # Published in float32, beside bfloat16 for all else.
    _keep_in_fp32_modules_strict = ["A_log", "dt_bias", "e_score_correction_bias", "conv1d", "o_norm"]  # noqa: RUF012

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        std = self.config.get_text_config().initializer_range
        if isinstance(module, KimiK3DeltaAttention):
            initialization.copy_(module.A_log, torch.empty_like(module.A_log).uniform_(1, 16).log())
            initialization.zeros_(module.dt_bias)
        elif isinstance(module, KimiK3Experts):
            for stack in module.parameters(recurse=False):
                initialization.normal_(stack, mean=0.0, std=std)
        elif isinstance(module, KimiK3ShortConvolution):
            initialization.normal_(module.weight, mean=0.0, std=module.weight.shape[-1] ** -0.5)
        elif isinstance(module, KimiK3Router):
            initialization.normal_(module.weight, mean=0.0, std=std)
            initialization.zeros_(module.e_score_correction_bias)


class KimiK3TextModel(KimiK3PreTrainedModel):
    """Token ids (or embeddings) to the normed states behind the last layer."""

    def __init__(self, config: KimiK3TextConfig) -> None:
        super().__init__(config)
        hidden, eps = config.hidden_size, config.rms_norm_eps
        self.embed_tokens = nn.Embedding(config.vocab_size, hidden)
        self.layers = nn.ModuleList([KimiK3DecoderLayer(config, index) for index in range(config.num_hidden_layers)])
        self.norm = KimiK3RMSNorm(hidden, eps)
        self.has_attention_residuals = config.attn_res_block_size is not None
        if self.has_attention_residuals:
            self.output_attn_res_norm = KimiK3RMSNorm(hidden, eps)
            self.output_attn_res_proj = nn.Linear(hidden, 1, bias=False)
        self.post_init()

    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        position_ids: torch.Tensor | None = None,
        cache: Cache | None = None,
        inputs_embeds: torch.Tensor | None = None,
        use_cache: bool | None = None,
        **kwargs: Any,
    ) -> MoeModelOutputWithPast:
        states = self.embed_tokens(input_ids) if inputs_embeds is None else inputs_embeds
        if cache is None and (self.config.use_cache if use_cache is None else use_cache):
            cache = DynamicCache(config=self.config)
        masks = self._masks(states, attention_mask, position_ids, cache)
        blocks: tuple[torch.Tensor, ...] = ()
        for layer in cast("Iterable[KimiK3DecoderLayer]", self.layers):
            states, blocks = layer(states, blocks, masks[layer.is_linear], cache)
        if self.has_attention_residuals:
            states = attend_over_blocks(blocks, states, self.output_attn_res_norm, self.output_attn_res_proj)
        return MoeModelOutputWithPast(last_hidden_state=self.norm(states), cache=cache)

    def _masks(
        self,
        states: torch.Tensor,
        attention_mask: torch.Tensor | dict[str, torch.Tensor] | None,
        position_ids: torch.Tensor | None,
        cache: Cache | None,
    ) -> dict[bool, torch.Tensor | None]:
        """The masks of full (False) and of linear (True) attention. ``generate`` may have made them already."""
        if isinstance(attention_mask, dict):
            return {False: attention_mask["full_attention"], True: attention_mask["linear_attention"]}
        wanted: dict[str, Any] = {
            "config": self.config,
            "inputs_embeds": states,
            "attention_mask": attention_mask,
            "cache": cache,
            "position_ids": position_ids,
        }
        masks = {False: None, True: create_recurrent_attention_mask(**wanted)}
        if "full_attention" in self.config.layer_types:
            if position_ids is None:
                past = cache.get_seq_length() if cache is not None else 0
                wanted["position_ids"] = torch.arange(past, past + states.shape[1], device=states.device)[None]
            masks[False] = create_causal_mask(**wanted)
        return masks


class KimiK3ForCausalLM(KimiK3PreTrainedModel, GenerationMixin):
    """The language model by itself."""

    _tied_weights_keys = {"lm_head.weight": "model.embed_tokens.weight"}  # noqa: RUF012

    def __init__(self, config: KimiK3TextConfig) -> None:
        super().__init__(config)
        self.model = KimiK3TextModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.post_init()

    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        position_ids: torch.Tensor | None = None,
        cache: Cache | None = None,
        inputs_embeds: torch.Tensor | None = None,
        use_cache: bool | None = None,
        logits_to_keep: int | torch.Tensor = 0,
        **kwargs: Any,
    ) -> MoeCausalLMOutputWithPast:
        """Logits [batch, tokens kept, vocabulary]."""
        out = self.model(input_ids, attention_mask, position_ids, cache, inputs_embeds, use_cache)
        states = slice_logits_to_keep(out.last_hidden_state, logits_to_keep)
        return MoeCausalLMOutputWithPast(logits=self.lm_head(states), cache=out.cache)


class KimiK3Model(KimiK3PreTrainedModel):
    """The language model, with what the vision tower sees in place of its placeholders."""

    config_class = KimiK3Config

    def __init__(self, config: KimiK3Config) -> None:
        super().__init__(config)
        if config.vision_config is not None:
            vision = cast(KimiK3VisionConfig, config.vision_config)
            self.vision_tower = KimiK3VisionTower(vision)
            self.mm_projector = KimiK3Projector(vision)
        self.language_model = KimiK3TextModel(cast(KimiK3TextConfig, config.text_config))
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        return self.language_model.embed_tokens

    def set_input_embeddings(self, value: nn.Module) -> None:
        self.language_model.embed_tokens = cast(nn.Embedding, value)

    def forward(
        self,
        input_ids: torch.Tensor,
        pixel_values: torch.Tensor | None = None,
        grid_thws: torch.Tensor | None = None,
        **kwargs: Any,
    ) -> MoeModelOutputWithPast:
        """``pixel_values`` and ``grid_thws`` as ``KimiK3VisionTower`` takes them.

        ``input_ids`` hold one placeholder for each embedding of an image. Raises ``ValueError`` where the numbers
        differ.
        """
        if pixel_values is None or grid_thws is None:
            return self.language_model(input_ids, **kwargs)
        states = self.language_model.embed_tokens(input_ids)
        images = self.mm_projector(self.vision_tower(pixel_values, grid_thws))
        places = input_ids == self.config.media_placeholder_token_id
        if int(places.sum()) != len(images):
            raise ValueError(f"{int(places.sum())} places in the text for {len(images)} embeddings of images")
        states = states.masked_scatter(places[..., None], images.to(states.dtype))
        return self.language_model(inputs_embeds=states, **kwargs)


class KimiK3ForConditionalGeneration(KimiK3PreTrainedModel, GenerationMixin):
    """The published model."""

    config_class = KimiK3Config
    _tied_weights_keys = {"lm_head.weight": "model.language_model.embed_tokens.weight"}  # noqa: RUF012

    def __init__(self, config: KimiK3Config) -> None:
        super().__init__(config)
        text = cast(KimiK3TextConfig, config.text_config)
        self.model = KimiK3Model(config)
        self.lm_head = nn.Linear(text.hidden_size, text.vocab_size, bias=False)
        self.post_init()

    def prepare_inputs_for_generation(self, *args: Any, is_first_iteration: bool = False, **kwargs: Any) -> Any:
        usual: Any = super()
        inputs = usual.prepare_inputs_for_generation(*args, is_first_iteration=is_first_iteration, **kwargs)
        if not is_first_iteration:  # the images are in the cache
            inputs.pop("pixel_values", None)
            inputs.pop("grid_thws", None)
        return inputs

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        position_ids: torch.Tensor | None = None,
        cache: Cache | None = None,
        use_cache: bool | None = None,
        pixel_values: torch.Tensor | None = None,
        grid_thws: torch.Tensor | None = None,
        logits_to_keep: int | torch.Tensor = 0,
        **kwargs: Any,
    ) -> MoeCausalLMOutputWithPast:
        """Logits [batch, tokens kept, vocabulary]."""
        out = self.model(
            input_ids,
            pixel_values,
            grid_thws,
            attention_mask=attention_mask,
            position_ids=position_ids,
            cache=cache,
            use_cache=use_cache,
        )
        states = slice_logits_to_keep(out.last_hidden_state, logits_to_keep)
        return MoeCausalLMOutputWithPast(logits=self.lm_head(states), cache=out.cache)

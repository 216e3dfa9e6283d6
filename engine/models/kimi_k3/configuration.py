"""The configs of Kimi K3, read from the published config.json. An absent field means what Moonshot's own code means."""

from __future__ import annotations

from typing import Any

from transformers import PreTrainedConfig
from transformers.configuration_utils import SubConfigSpec


class KimiK3TextConfig(PreTrainedConfig):
    """The language model: Kimi delta attention, with full attention (MLA) in the layers ``linear_attn_config`` names.

    ``attn_res_block_size``: layers to a block of attention residuals; None adds plain residuals.
    ``routed_expert_hidden_size``: width the routed experts work in; None is ``hidden_size``.
    ``layer_types`` are derived where they are not given.
    """

    model_type = "kimi_k3_text"
    base_config_key = "text_config"

    vocab_size: int = 163840
    hidden_size: int = 7168
    intermediate_size: int = 33792
    num_hidden_layers: int = 93
    hidden_act: str = "situ"
    activation_situ_beta: float | None = None
    activation_situ_linear_beta: float | None = None
    rms_norm_eps: float = 1e-6
    initializer_range: float = 0.02
    max_position_embeddings: int = 1048576
    use_cache: bool = True
    pad_token_id: int | None = None
    bos_token_id: int | None = None
    eos_token_id: int | list[int] | None = None
    tie_word_embeddings: bool = False

    num_attention_heads: int = 96
    num_key_value_heads: int | None = None
    q_lora_rank: int | None = None
    kv_lora_rank: int = 512
    qk_nope_head_dim: int = 128
    qk_rope_head_dim: int = 64
    v_head_dim: int = 128
    mla_use_nope: bool = True
    mla_use_output_gate: bool = False
    attention_dropout: float = 0.0

    linear_attn_config: dict[str, Any] | None = None
    layer_types: list[str] | None = None
    attn_res_block_size: int | None = None

    num_experts: int | None = None
    num_experts_per_token: int = 1
    num_shared_experts: int | None = None
    moe_intermediate_size: int = 3072
    moe_layer_freq: int = 1
    first_k_dense_replace: int = 0
    moe_router_activation_func: str = "sigmoid"
    moe_renormalize: bool = True
    routed_scaling_factor: float = 1.0
    num_expert_group: int = 1
    topk_group: int = 1
    routed_expert_hidden_size: int | None = None
    latent_moe_use_norm: bool = False

    def __post_init__(self, **kwargs: Any) -> None:
        # Published as "kimi_linear", whose weights transformers would convert by the rules of another model.
        kwargs.pop("model_type", None)
        super().__post_init__(**kwargs)
        self.num_key_value_heads = self.num_key_value_heads or self.num_attention_heads
        linear: dict[str, Any] = self.linear_attn_config or {}
        delta_layers: list[int] = linear.get("kda_layers", [])  # counted from one
        if self.layer_types is None:
            self.layer_types = [
                "linear_attention" if index + 1 in delta_layers else "full_attention"
                for index in range(self.num_hidden_layers)
            ]
        self._require_known()

    def is_moe_layer(self, index: int) -> bool:
        """Whether layer ``index``, counted from zero, routes its tokens to experts."""
        return bool(self.num_experts) and index >= self.first_k_dense_replace and index % self.moe_layer_freq == 0

    def _require_known(self) -> None:
        """Raises ``ValueError`` for what no published Kimi K3 has, so that it is not run as something else."""
        if self.hidden_act != "situ":
            raise ValueError(f"hidden_act is {self.hidden_act!r}; Kimi K3 has 'situ'")
        if self.moe_router_activation_func != "sigmoid":
            raise ValueError(f"moe_router_activation_func is {self.moe_router_activation_func!r}, not 'sigmoid'")
        if not self.mla_use_nope:
            raise ValueError("mla_use_nope is false; Kimi K3 has no rotary embedding")
        if len(self.layer_types or ()) != self.num_hidden_layers:
            raise ValueError(f"{len(self.layer_types or ())} layer_types for {self.num_hidden_layers} layers")


class KimiK3VisionConfig(PreTrainedConfig):
    """MoonViT-3d and the projector behind it. ``qkv_hidden_size``: width of the attention; None is the tower's."""

    model_type = "kimi_k3_vision"
    base_config_key = "vision_config"
    attribute_map = {  # noqa: RUF012 -- transformers declares it a ClassVar
        "hidden_size": "vt_hidden_size",
        "intermediate_size": "vt_intermediate_size",
        "num_attention_heads": "vt_num_attention_heads",
        "num_hidden_layers": "vt_num_hidden_layers",
    }

    vt_hidden_size: int = 1024
    vt_intermediate_size: int = 4096
    vt_num_attention_heads: int = 12
    vt_num_hidden_layers: int = 27
    qkv_hidden_size: int | None = None
    patch_size: int = 14
    init_pos_emb_height: int = 64
    init_pos_emb_width: int = 64
    init_pos_emb_time: int = 4
    pos_emb_type: str = "divided_fixed"
    pos_emb_interpolation_mode: str = "bilinear"
    norm_type: str = "layernorm"
    mlp_type: str = "mlp2"
    activation_func: str = "gelu_pytorch_tanh"
    attn_bias: bool = True
    linear_bias: bool = True
    patch_embed_proj_bias: bool = True
    merge_kernel_size: list[int] | tuple[int, ...] = (2, 2)
    merge_type: str = "sd2_tpool"
    mm_projector_type: str = "patchmergerv2"
    mm_hidden_size: int = 1024
    text_hidden_size: int = 7168
    projector_hidden_act: str = "gelu"
    projector_ln_eps: float = 1e-5

    def __post_init__(self, **kwargs: Any) -> None:
        kwargs.pop("model_type", None)
        kwargs.pop("_attn_implementation", None)  # published as flash_attention_2, which is not needed here
        super().__post_init__(**kwargs)
        for name, known in _KNOWN_VISION.items():
            if (value := getattr(self, name)) not in known:
                raise ValueError(f"{name} is {value!r}; Kimi K3 has {' or '.join(map(repr, known))}")


_KNOWN_VISION = {
    "pos_emb_type": ("divided_fixed",),
    "norm_type": ("rmsnorm", "layernorm"),
    "mlp_type": ("mlp2",),
    "merge_type": ("sd2_tpool",),
    "mm_projector_type": ("patchmergerv2",),
    "projector_hidden_act": ("gelu",),
}


class KimiK3Config(PreTrainedConfig):
    """The published config: a language model and, where ``vision_config`` is there, its eyes."""

    model_type = "kimi_k3"
    sub_configs_defaults = {  # noqa: RUF012 -- transformers declares it a ClassVar
        "text_config": SubConfigSpec(config_class=KimiK3TextConfig),
        "vision_config": SubConfigSpec(config_class=KimiK3VisionConfig, optional=True),
    }

    text_config: dict[str, Any] | PreTrainedConfig | None = None
    vision_config: dict[str, Any] | PreTrainedConfig | None = None
    media_placeholder_token_id: int = 163605
    bos_token_id: int | None = None
    eos_token_id: int | list[int] | None = None
    pad_token_id: int | None = None
    tie_word_embeddings: bool = False

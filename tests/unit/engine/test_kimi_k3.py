"""Kimi K3's model file: its mathematics against the slow way, its published size, what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch.nn import functional
from transformers import Kimi_K25Config, Kimi_K25ForConditionalGeneration

from engine.errors import SourceError
from engine.models.architecture import find_model_class, read_model_config
from engine.models.kimi_k3.attention import KimiK3LatentAttention
from engine.models.kimi_k3.configuration import KimiK3TextConfig, KimiK3VisionConfig
from engine.models.kimi_k3.delta_rule import causal_convolution, delta_rule
from engine.models.kimi_k3.vision import KimiK3VisionTower
from engine.models.structure import BlockKind, find_structure
from engine.models.transformers_internals import build_empty_model
from engine.store.open_source import open_source
from engine.store.source_plan import plan_source
from tests.helpers.kimi_k3 import published_config, published_tensors, tiny_config
from tests.helpers.kimi_k3_checkpoint import load_plain, write_checkpoint

# Delta attention


@pytest.mark.parametrize("tokens", [1, 2, 15, 16, 17, 40])
@pytest.mark.parametrize("decay", [0.02, 5.0, 1000.0])
def test_chunks_are_the_recurrence(tokens: int, decay: float) -> None:
    torch.manual_seed(tokens)
    q, k, v, a = (torch.randn(2, tokens, 3, 8) for _ in range(4))
    a, b, state = -decay * a.sigmoid(), torch.rand(2, tokens, 3), torch.randn(2, 3, 8, 8)
    output, after = delta_rule(q, k, v, a, b, state)
    expected, expected_after = _recurrence(q, k, v, a, b, state)
    torch.testing.assert_close(output, expected, atol=2e-6, rtol=2e-5)
    torch.testing.assert_close(after, expected_after, atol=2e-6, rtol=2e-5)


def _recurrence(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, a: torch.Tensor, b: torch.Tensor, state: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The rule as the paper writes it, one head and one token at a time, in float64."""
    output, after = torch.zeros_like(v), torch.zeros_like(state)
    for batch in range(q.shape[0]):
        for head in range(q.shape[2]):
            s = state[batch, head].double()
            for token in range(q.shape[1]):
                at = batch, token, head
                query, key = (x[at].double() / (x[at].double().square().sum() + 1e-6).sqrt() for x in (q, k))
                s = a[at].double().exp()[:, None] * s
                s = s + b[at].double() * torch.outer(key, v[at].double() - key @ s)
                output[at] = query @ s / query.numel() ** 0.5
            after[batch, head] = s
    return output, after


def test_a_prompt_may_come_in_pieces() -> None:
    torch.manual_seed(0)
    q, k, v, a = (torch.randn(1, 50, 2, 8) for _ in range(4))
    a, b = -functional.softplus(a), torch.rand(1, 50, 2)
    whole, after = delta_rule(q, k, v, a, b)
    first, state = delta_rule(q[:, :23], k[:, :23], v[:, :23], a[:, :23], b[:, :23])
    rest, after_rest = delta_rule(q[:, 23:], k[:, 23:], v[:, 23:], a[:, 23:], b[:, 23:], state)
    torch.testing.assert_close(torch.cat([first, rest], 1), whole, atol=2e-6, rtol=2e-5)
    torch.testing.assert_close(after_rest, after, atol=2e-6, rtol=2e-5)


@pytest.mark.parametrize(("before", "tokens"), [(0, 1), (0, 9), (3, 1), (4, 6), (2, 2)])
def test_the_short_convolution_is_a_causal_depthwise_one(before: int, tokens: int) -> None:
    torch.manual_seed(0)
    states, weight = torch.randn(2, 6, before + tokens), torch.randn(6, 4)
    expected = functional.silu(functional.conv1d(functional.pad(states, (3, 0)), weight[:, None], groups=6))
    torch.testing.assert_close(causal_convolution(states, weight, tokens), expected[..., -tokens:])


# Latent attention


@pytest.mark.parametrize("kind", ["none", "bool", "added"])
def test_one_token_sees_in_the_latents_what_a_prompt_sees_expanded(kind: str) -> None:
    torch.manual_seed(0)
    config = KimiK3TextConfig(**tiny_config()["text_config"])
    config._attn_implementation = "sdpa"
    attention = KimiK3LatentAttention(config, 0)
    query, latent, shared = torch.randn(2, 4, 1, 24), torch.randn(2, 1, 7, 16), torch.randn(2, 1, 7, 8)
    hidden = torch.zeros(2, 1, 1, 7, dtype=torch.bool)
    hidden[1, ..., :3] = True  # the padding of a shorter sequence
    added = torch.zeros(2, 1, 1, 7).masked_fill(hidden, torch.finfo(torch.float32).min)
    mask = {"none": None, "bool": ~hidden, "added": added}[kind]
    one = attention._attend_in_latent_space(query, latent, shared, mask)
    torch.testing.assert_close(one, attention._attend(query, latent, shared, mask), atol=1e-5, rtol=1e-4)


def test_padding_changes_nothing(tmp_path: Path) -> None:
    config = tiny_config()
    model: Any = load_plain(
        write_checkpoint(tmp_path / "k3", config, published_tensors(config, 3), dtype=torch.float32)
    )
    short, long = torch.randint(0, 40, (1, 9)), torch.randint(0, 40, (1, 14))
    ids = torch.cat([functional.pad(short, (5, 0)), long])
    mask = torch.ones_like(ids)
    mask[0, :5] = 0
    with torch.inference_mode():
        together = model(input_ids=ids, attention_mask=mask).logits
        torch.testing.assert_close(together[0, 5:], model(input_ids=short).logits[0], atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(together[1], model(input_ids=long).logits[0], atol=1e-4, rtol=1e-4)


# The vision tower


def test_the_vision_tower_is_that_of_its_predecessor_where_they_agree(tmp_path: Path) -> None:
    # Kimi K2.5's tower, which transformers has, differs in its norms, its biases and in how its grid is stretched.
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_attention_heads": 2, "num_hidden_layers": 2}
    text = {"hidden_size": 16, "num_hidden_layers": 1, "n_routed_experts": 2, "first_k_dense_replace": 1}
    theirs_config = Kimi_K25Config(
        vision_config={**sizes, "pos_emb_height": 6, "pos_emb_width": 6},
        text_config={"model_type": "deepseek_v3", **text},
    )
    theirs: Any = Kimi_K25ForConditionalGeneration(theirs_config).eval()
    for parameter in theirs.model.vision_tower.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    theirs.save_pretrained(tmp_path)
    published: dict[str, Any] = {f"vt_{name}": size for name, size in sizes.items()}
    published |= {"init_pos_emb_height": 6, "init_pos_emb_width": 6, "pos_emb_interpolation_mode": "bicubic"}
    ours = KimiK3VisionTower(KimiK3VisionConfig(**published)).eval()
    prefix = "vision_tower."
    saved = load_file(tmp_path / "model.safetensors")
    # transformers 5.24 writes the patch embedding inside the encoder, where no published checkpoint has it.
    saved = {name.replace("encoder.patch_embed", "patch_embed"): tensor for name, tensor in saved.items()}
    ours.load_state_dict({name.removeprefix(prefix): x for name, x in saved.items() if name.startswith(prefix)})

    grids = torch.tensor([[1, 4, 6], [1, 6, 6], [1, 8, 2]])
    pixels = torch.randn(int(grids.prod(-1).sum()), 3, 14, 14)
    with torch.inference_mode():
        squares = torch.cat(ours(pixels, grids))
        expected = theirs.model.vision_tower(pixels, grid_thw=grids).pooler_output
    torch.testing.assert_close(squares, expected, atol=2e-5, rtol=1e-4)


# The published model


def test_the_published_config_is_a_model_of_2_8_trillion_weights(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(published_config()))
    config = read_model_config(tmp_path)
    model = build_empty_model(find_model_class(config), config, torch.bfloat16)
    assert type(model).__name__ == "KimiK3ForConditionalGeneration"
    assert {parameter.device.type for parameter in model.parameters()} == {"meta"}
    assert sum(parameter.numel() for parameter in model.parameters()) == 2_779_931_752_544
    structure = find_structure(model)
    assert structure.layers_path == "model.language_model.layers"
    blocks = {kind: [block.name for block in structure.blocks if block.kind is kind] for kind in BlockKind}
    # The first layer, whose MLP is dense, is too large for one piece.
    assert [name for name in blocks[BlockKind.LAYER] if "layer-000" in name] == [
        "layer-000-00-self-attn",
        "layer-000-01-mlp",
    ]
    assert len({name[: len("layer-000")] for name in blocks[BlockKind.LAYER]}) == 93
    assert len(blocks[BlockKind.EXPERTS]) == 92
    layers: Any = model.get_submodule(structure.layers_path)
    assert [layer.is_linear for layer in layers].count(True) == 69
    assert not layers[92].is_linear
    assert layers[0].self_attn.A_log.dtype is layers[0].self_attn.conv1d.weight.dtype is torch.float32


def test_nothing_of_the_checkpoint_is_lost(tmp_path: Path) -> None:
    config = tiny_config()
    tensors = published_tensors(config, 0)
    plan = plan_source(open_source(write_checkpoint(tmp_path / "k3", config, tensors)))
    assert plan.architecture == "KimiK3ForConditionalGeneration"
    sources = {source for block in plan.blocks for group in block.groups for source in group.sources}
    assert sources == set(tensors)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"hidden_act": "silu"}, "hidden_act"),
        ({"moe_router_activation_func": "softmax"}, "moe_router_activation_func"),
        ({"mla_use_nope": False}, "rotary"),
        ({"layer_types": ["full_attention"]}, "layer_types"),
    ],
)
def test_another_architecture_under_this_name_is_refused(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    config = tiny_config()
    checkpoint = write_checkpoint(tmp_path / "k3", config, published_tensors(config, 0))
    config["text_config"] |= change
    (checkpoint / "config.json").write_text(json.dumps(config))
    with pytest.raises(SourceError, match=said):
        plan_source(open_source(checkpoint))

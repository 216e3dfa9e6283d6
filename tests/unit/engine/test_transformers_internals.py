"""The internals of transformers we rely on are where we expect them, and convert as a plain load does.

If this fails after an update of transformers, ``engine/models/transformers_internals.py`` and
``engine/generation/torch_runner.py`` are the two places to mend.
"""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
import torch
from transformers import PreTrainedModel
from transformers.core_model_loading import convert_and_load_state_dict_in_model, rename_source_key
from transformers.generation.utils import GenerationMixin
from transformers.modeling_utils import LoadStateDictConfig

from engine.generation.torch_runner import _PRIVATE_CALLS
from engine.models.architecture import find_model_class
from engine.models.structure import BlockKind, find_structure
from engine.models.transformers_internals import CheckpointConversion, TensorShape, build_empty_model
from tests.helpers.families import load_plain, make_checkpoint


def test_the_loader_takes_what_we_give_it() -> None:
    assert list(inspect.signature(convert_and_load_state_dict_in_model).parameters)[:3] == [
        "model",
        "state_dict",
        "load_config",
    ]
    fields = inspect.signature(LoadStateDictConfig).parameters
    assert {"device_map", "dtype", "dtype_plan", "weight_mapping"} <= set(fields)
    assert list(inspect.signature(rename_source_key).parameters)[:5] == [
        "source_key",
        "weight_renamings",
        "weight_converters",
        "base_model_prefix",
        "meta_state_dict",
    ]


@pytest.mark.parametrize("name", [*_PRIVATE_CALLS, "prepare_inputs_for_generation"])
def test_the_decoding_loop_finds_what_it_calls(name: str) -> None:
    assert callable(getattr(GenerationMixin, name))


def test_the_model_class_answers_what_we_ask() -> None:
    for name in ("_from_config", "_get_dtype_plan", "tie_weights", "initialize_weights", "get_decoder"):
        assert hasattr(PreTrainedModel, name) or hasattr(GenerationMixin, name)


@pytest.mark.parametrize("family", ["llama", "mixtral", "gpt2", "gpt_oss", "phi3", "qwen3_moe"])
def test_converted_groups_equal_a_plain_load(family: str, tmp_path: Path) -> None:
    from safetensors import safe_open

    folder = make_checkpoint(family, tmp_path / family)
    plain = load_plain(folder)
    want = plain.state_dict()
    slices = {}
    for shard in sorted(folder.glob("*.safetensors")):
        handle = safe_open(shard, "pt")
        slices |= {name: handle.get_slice(name) for name in handle.keys()}  # noqa: SIM118
    shapes = {name: TensorShape(tuple(s.get_shape()), s[...].dtype) for name, s in slices.items()}
    model = build_empty_model(type(plain), plain.config, torch.bfloat16)
    conversion = CheckpointConversion(model, torch.bfloat16)
    plan = conversion.plan(shapes)
    assert (plan.unused, plan.missing, plan.problems) == ((), (), ())
    for group in plan.groups:
        for name, tensor in conversion.convert(group, slices.__getitem__).items():
            assert torch.equal(tensor, want[name]), name
            assert plan.tensors[name] == TensorShape(tuple(tensor.shape), tensor.dtype)
    assert all(parameter.is_meta for parameter in model.parameters())


def test_planning_reads_no_tensor_and_names_what_is_missing_or_misshapen(tmp_path: Path) -> None:
    plain = load_plain(make_checkpoint("llama", tmp_path / "llama"))
    shapes = {name: TensorShape(tuple(t.shape), t.dtype) for name, t in plain.state_dict().items()}
    del shapes["model.layers.1.mlp.up_proj.weight"]
    shapes["model.norm.weight"] = TensorShape((7,), torch.bfloat16)
    shapes["model.layers.0.extra"] = TensorShape((3,), torch.bfloat16)
    model = build_empty_model(type(plain), plain.config, torch.bfloat16)
    plan = CheckpointConversion(model, torch.bfloat16).plan(shapes)
    assert plan.missing == ("model.layers.1.mlp.up_proj.weight", "model.norm.weight")
    assert "model.layers.0.extra" in plan.unused
    assert len(plan.problems) == 1
    assert "model.norm.weight" in plan.problems[0]


@pytest.mark.parametrize("family", ["llama", "gptj", "codegen", "gpt_neox", "qwen2"])
def test_computed_buffers_equal_those_of_a_plain_load(family: str, tmp_path: Path) -> None:
    plain = load_plain(make_checkpoint(family, tmp_path / family))
    empty = build_empty_model(find_model_class(plain.config), plain.config, torch.bfloat16)
    ours = dict(empty.named_buffers())
    for name, buffer in plain.named_buffers():
        assert torch.equal(buffer, ours[name]), name


def test_a_tied_tensor_belongs_to_one_block_and_a_shared_one_to_none_of_the_layers(tmp_path: Path) -> None:
    tied = load_plain(make_checkpoint("qwen3+tied", tmp_path / "tied"))
    structure = find_structure(tied)
    assert structure.aliases == {"lm_head.weight": "model.embed_tokens.weight"}
    assert [block.kind for block in structure.blocks if block.kind is BlockKind.HEAD] == []
    shared = find_structure(load_plain(make_checkpoint("zamba2", tmp_path / "shared")))
    norm = next(block for block in shared.blocks if block.kind is BlockKind.NORM)
    assert any("shared_transformer" in name for name in norm.tensors)


def test_every_stored_tensor_belongs_to_exactly_one_block(tmp_path: Path) -> None:
    model = load_plain(make_checkpoint("gemma3_text", tmp_path / "gemma"))
    structure = find_structure(model)
    names = [name for block in structure.blocks for name in block.tensors]
    assert len(names) == len(set(names))
    assert set(names) | set(structure.aliases) == set(model.state_dict())

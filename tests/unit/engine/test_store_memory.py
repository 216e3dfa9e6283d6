"""Cutting needs no more memory than its largest block and 300 MB, whatever the model weighs.

A table is no block: neither while it is cut nor when its rows are looked up is it in memory.
"""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from tests.helpers.families import tiny_config

ROOT = Path(__file__).parents[3]
ALLOWED_BYTES = 300_000_000
SCRIPT = """
import json, sys
from pathlib import Path
import engine.store.block_cutter, engine.store.source_plan
from engine.store.manifest import read_manifest
from engine.store.model_store import ModelStore
from engine.store.open_source import open_source
from engine.store.splitter import split_source

def kib(field):
    return int(open("/proc/self/status").read().split(field + ":")[1].split()[0])

before = kib("VmRSS")
events = list(split_source(open_source(sys.argv[1]), ModelStore(Path(sys.argv[2])), floor_bytes=0))
manifest = read_manifest(Path(events[-1].result.path))
kinds = manifest.blocks + manifest.experts, manifest.tables
sizes = [max((entry.size for entry in entries), default=0) for entries in kinds]
print(json.dumps([1024 * (kib("VmHWM") - before), *sizes]))
"""
RUN = """
from engine.backends.torch_backend import CpuBackend
from engine.cancel import CancelToken
from engine.generation.kv_cache import KvCache
from engine.generation.torch_runner import TorchRunner
from engine.streaming.loaded_model import open_model
from engine.streaming.residency import Budgets

loaded = open_model(Path(events[-1].result.path), CpuBackend(), Budgets(1 << 40, 0), cancel=CancelToken())
cache = KvCache(loaded.model)
cache.reset()
passes = TorchRunner(loaded).decode(
    [3, 287, 7], cache, {"do_sample": False}, seed=0, emit=lambda event: None, cancel=CancelToken()
)
tokens = [next(passes) for _ in range(4)]
print(json.dumps([1024 * (kib("VmHWM") - before), sum(loaded.streamer.rows_read.values())]))
"""
LLAMA = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 2048, "intermediate_size": 8192,
    "num_attention_heads": 16, "num_key_value_heads": 16, "vocab_size": 49152,
    "tie_word_embeddings": True, "dtype": "bfloat16",
}  # fmt: skip
EXPERTS = {
    "model_type": "qwen3_moe", "architectures": ["Qwen3MoeForCausalLM"], "hidden_size": 1024,
    "moe_intermediate_size": 1024, "num_hidden_layers": 1, "num_attention_heads": 8, "num_key_value_heads": 8,
    "head_dim": 128, "num_experts": 96, "vocab_size": 256, "tie_word_embeddings": True, "dtype": "bfloat16",
}  # fmt: skip


def llama_shapes(layers: int) -> dict[str, list[int]]:
    shapes = {"model.embed_tokens.weight": [49152, 2048], "model.norm.weight": [2048]}
    for layer in range(layers):
        prefix = f"model.layers.{layer}."
        shapes |= {f"{prefix}self_attn.{name}_proj.weight": [2048, 2048] for name in "qkvo"}
        shapes |= {f"{prefix}mlp.{name}_proj.weight": [8192, 2048] for name in ("gate", "up")}
        shapes |= {f"{prefix}mlp.down_proj.weight": [2048, 8192]}
        shapes |= {f"{prefix}{name}_layernorm.weight": [2048] for name in ("input", "post_attention")}
    return shapes


def expert_shapes() -> dict[str, list[int]]:
    prefix = "model.layers.0."
    shapes = {"model.embed_tokens.weight": [256, 1024], "model.norm.weight": [1024]}
    shapes |= {f"{prefix}self_attn.{name}_proj.weight": [1024, 1024] for name in "qkvo"}
    shapes |= {f"{prefix}self_attn.{name}_norm.weight": [128] for name in "qk"}
    shapes |= {f"{prefix}{name}_layernorm.weight": [1024] for name in ("input", "post_attention")}
    shapes |= {f"{prefix}mlp.gate.weight": [96, 1024]}
    for expert in range(96):
        for name in ("gate", "up", "down"):
            shapes[f"{prefix}mlp.experts.{expert}.{name}_proj.weight"] = [1024, 1024]
    return shapes


def write_checkpoint(folder: Path, config: dict[str, object], shapes: dict[str, list[int]], dtype: str) -> Path:
    """One shard of numbers that do not matter, written without ever being in memory."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    itemsize, table, end = {"BF16": 2, "F32": 4}[dtype], {}, 0
    for name, shape in shapes.items():
        size = itemsize * shape[0] * (shape[1] if len(shape) > 1 else 1)
        table[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + size]}
        end += size
    header = json.dumps(table).encode()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        file.truncate(8 + len(header) + end)
    return folder


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    ("config", "shapes", "dtype"),
    [
        ({**LLAMA, "num_hidden_layers": 3}, llama_shapes(3), "BF16"),
        ({**LLAMA, "num_hidden_layers": 1}, llama_shapes(1), "F32"),
        (EXPERTS, expert_shapes(), "BF16"),
    ],
    ids=["as it is", "cast", "experts merged"],
)
def test_peak_memory_is_the_largest_block_and_a_little(
    config: dict[str, object], shapes: dict[str, list[int]], dtype: str, tmp_path: Path
) -> None:
    checkpoint = write_checkpoint(tmp_path / "model", config, shapes, dtype)
    command = [sys.executable, "-c", SCRIPT, str(checkpoint), str(tmp_path / "data")]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert output.returncode == 0, output.stderr
    peak, largest_block, _ = json.loads(output.stdout)
    assert largest_block > 200_000_000
    assert peak < largest_block + ALLOWED_BYTES


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_table_is_never_in_memory(tmp_path: Path) -> None:
    config = tiny_config("gemma4_text")
    config.update({"vocab_size_per_layer_input": 262144, "hidden_size_per_layer_input": 208, "dtype": "bfloat16"})
    config.architectures = ["Gemma4ForCausalLM"]
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    shapes = {name: list(tensor.shape) for name, tensor in model.state_dict().items() if name != "lm_head.weight"}
    checkpoint = write_checkpoint(tmp_path / "model", config.to_dict(), shapes, "BF16")
    command = [sys.executable, "-c", SCRIPT + RUN, str(checkpoint), str(tmp_path / "data")]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert output.returncode == 0, output.stderr
    (cutting, largest_block, table), (running, rows) = map(json.loads, output.stdout.splitlines())
    assert table > ALLOWED_BYTES > 100 * largest_block
    assert cutting < ALLOWED_BYTES
    assert running < ALLOWED_BYTES
    assert 0 < rows <= 6

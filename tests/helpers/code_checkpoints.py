"""Tiny checkpoints that bring their own Python code, written for transformers 4, as hubs have them."""

from __future__ import annotations

import json
from pathlib import Path

from tests.helpers.checkpoints import make_checkpoint

CONFIGURATION = """
from transformers.models.llama.configuration_llama import LlamaConfig


class OwnConfig(LlamaConfig):
    model_type = "own"
"""
MODELING = """
from pathlib import Path

from transformers.models.llama.modeling_llama import LlamaForCausalLM
from transformers.utils.generic import OutputRecorder, check_model_inputs

from .configuration_own import OwnConfig

Path({marker!r}).touch()
RECORDED = OutputRecorder


@check_model_inputs()
def unused(self, input_ids=None, **kwargs):
    return input_ids


class OwnForCausalLM(LlamaForCausalLM):
    config_class = OwnConfig

    def forward(self, *args, **kwargs):
        outputs = super().forward(*args, **kwargs)
        outputs.logits = outputs.logits.flip(-1)
        return outputs
"""


def make_code_checkpoint(folder: Path, marker: Path) -> Path:
    """A Llama whose code turns the vocabulary around, and touches ``marker`` when it is imported."""
    make_checkpoint("llama", folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {
        "model_type": "own",
        "architectures": ["OwnForCausalLM"],
        "auto_map": {
            "AutoConfig": "configuration_own.OwnConfig",
            "AutoModelForCausalLM": "modeling_own.OwnForCausalLM",
        },
    }
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "configuration_own.py").write_text(CONFIGURATION)
    (folder / "modeling_own.py").write_text(MODELING.format(marker=str(marker)))
    return folder

"""A weight that is not there tells what it is, and lets nobody compute with it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional

from engine.errors import UnsupportedModel
from engine.streaming.bindings import mark_absent
from engine.weights.absent_weight import AbsentWeight
from engine.weights.row_table import LookupWeight
from tests.helpers.splits import load, make_split, residency

CPU = torch.device("cpu")
USES: dict[str, Callable[[torch.Tensor, torch.Tensor], object]] = {
    "linear": functional.linear,
    "matmul from the left": lambda states, weight: states @ weight,
    "matmul from the right": lambda states, weight: weight @ states.T,
    "lookup": lambda states, weight: functional.embedding(torch.tensor([1]), weight),
    "convolution": lambda states, weight: functional.conv1d(states.T[None], weight[:, None]),
    "einsum": lambda states, weight: torch.einsum("bi,oi->bo", states, weight),
    "row": lambda states, weight: weight[0],
    "transpose": lambda states, weight: weight.T,
    "cast": lambda states, weight: weight.float(),
    "copy": lambda states, weight: weight.clone(),
    "to be like it": lambda states, weight: torch.zeros_like(weight),
    "comparison": lambda states, weight: (weight == 0).any(),
    "choice": lambda states, weight: torch.where(states > 0, states, weight[:2]),
    "joined": lambda states, weight: torch.cat([states, weight]),
    "copied into another": lambda states, weight: states.copy_(weight[:2]),
    "scaled in place": lambda states, weight: weight.div_(2),
    "written to": lambda states, weight: weight.__setitem__(0, 1.0),
    "result in it": lambda states, weight: torch.add(states, 1, out=weight),
    "other memory": lambda states, weight: setattr(weight, "data", torch.zeros(4, 4)),
    "past autograd": lambda states, weight: weight.data,
    "pointer": lambda states, weight: weight.data_ptr(),
    "deep copy": lambda states, weight: copy.deepcopy(weight),
}


def absent(dtype: torch.dtype = torch.bfloat16, shape: tuple[int, ...] = (4, 4)) -> AbsentWeight:
    return AbsentWeight.of("model.layers.3.proj.weight", torch.empty(shape, dtype=dtype, device="meta"), CPU)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])
def test_no_use_of_it_goes_through(use: str, mode: Callable[[], object]) -> None:
    states = torch.ones(2, 4, dtype=torch.bfloat16)
    with mode(), pytest.raises(UnsupportedModel, match=r"the weight model\.layers\.3\.proj\.weight while"):  # pyright: ignore[reportGeneralTypeIssues]
        USES[use](states, absent())


def test_it_tells_what_it_is() -> None:
    weight = absent(torch.float16, (2, 3))
    assert (weight.shape, weight.ndim, weight.numel(), weight.size(1), len(weight)) == ((2, 3), 2, 6, 3, 2)
    assert (weight.dtype, weight.device, weight.is_floating_point(), weight.nbytes) == (torch.float16, CPU, True, 12)
    assert weight.is_contiguous()
    assert not weight.is_meta
    assert not weight.requires_grad
    assert repr(weight) == "AbsentWeight(model.layers.3.proj.weight, [2, 3], torch.float16)"


def test_a_module_of_absent_weights_has_a_device_and_a_dtype() -> None:
    module = nn.BatchNorm1d(4, device="meta", dtype=torch.bfloat16)
    mark_absent(module, CPU)
    assert {tensor.device for tensor in (*module.parameters(), *module.buffers())} == {CPU}
    assert next(module.parameters()).dtype is torch.bfloat16
    assert len(module.state_dict(keep_vars=True)) == 5
    assert module.get_parameter("weight") is module.weight
    assert module.get_buffer("running_mean") is module.running_mean
    with pytest.raises(UnsupportedModel, match="weight"):
        module.eval()(torch.ones(2, 4, dtype=torch.bfloat16))


def test_anything_but_a_lookup_in_a_table_is_refused() -> None:
    weight = LookupWeight.of("model.embed.weight", torch.empty(4, 2, device="meta"), CPU)
    with pytest.raises(UnsupportedModel, match=r"model\.embed\.weight"):
        torch.ones(1, 2).matmul(weight)


def test_a_weight_that_is_read_past_its_module_is_named(tmp_path: Path) -> None:
    _, split = make_split("llama", tmp_path)
    loaded = load(split, *residency(split, "one slot"))
    try:
        weight = loaded.model.get_parameter(f"{loaded.manifest.layers_path}.1.mlp.up_proj.weight")
        assert loaded.model.dtype is torch.bfloat16
        assert loaded.model.device == CPU
        with pytest.raises(UnsupportedModel, match=r"layers\.1\.mlp\.up_proj\.weight"):
            functional.linear(torch.ones(1, 64, dtype=torch.bfloat16), weight)
    finally:
        loaded.close()

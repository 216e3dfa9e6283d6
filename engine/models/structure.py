"""Which blocks a model is made of, found from the structure of its empty skeleton, never from a family's names.

The decoder layers are the largest ModuleList inside the model's decoder. What is not under it is the
input embedding, the output head, and the rest (norms, position tables, projections, a vision tower). A large
embedding beside the input one is a table, wherever it is: a pass looks a few of its rows up. A layer too large for one
slot is divided into its modules.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import torch
from torch import nn
from transformers import PreTrainedModel

from engine.errors import UnsupportedModel
from engine.models.block_limits import STREAMED_PART_BYTES, TABLE_BYTES
from engine.models.layer_parts import LayerDivision
from engine.models.model_code import ModelCode
from engine.models.served_experts import has_experts_interface, is_batched


class BlockKind(StrEnum):
    """EMBED is read row by row; LAYER, HEAD and PART stream or stay; NORM (all that is small) always stays.

    TOWER is a part outside the decoder, which only passes with an image use. EXPERTS are the routed experts of one
    layer, which are read one by one. TABLE never leaves the disk but for the rows a pass looks up. DRAFT is kept
    for proposing tokens, and no pass of the model itself uses it.
    """

    EMBED = "embed"
    LAYER = "layer"
    EXPERTS = "experts"
    PART = "part"
    TOWER = "tower"
    NORM = "norm"
    HEAD = "head"
    TABLE = "table"
    DRAFT = "draft"


@dataclass(frozen=True, slots=True)
class BlockSpec:
    """One block: ``module`` is the path whose forward needs it (None: needed all the time).

    ``tensors`` are the model's own names; a tied tensor is listed once, under its first name.
    """

    name: str
    kind: BlockKind
    module: str | None
    tensors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModelStructure:
    """The blocks in the order of one pass. ``aliases`` maps a tied tensor's other names to the stored one."""

    blocks: tuple[BlockSpec, ...]
    layers_path: str
    embedding_path: str | None
    head_path: str | None
    aliases: Mapping[str, str]


_PASS_ORDER = {
    BlockKind.EMBED: 0, BlockKind.TOWER: 1, BlockKind.PART: 1, BlockKind.LAYER: 2, BlockKind.EXPERTS: 2,
    BlockKind.NORM: 3, BlockKind.HEAD: 4, BlockKind.TABLE: 5, BlockKind.DRAFT: 6,
}  # fmt: skip


def find_structure(model: PreTrainedModel, *, untied: frozenset[str] = frozenset()) -> ModelStructure:
    """Raises ``UnsupportedModel`` where no decoder layers can be found.

    ``untied`` are names the config ties but the checkpoint holds with values of their own.
    """
    layers_path = _find_layers(model)
    names, aliases = _tensor_names(model, untied)
    embedding = _path_of(model, model.get_input_embeddings())
    head = _path_of(model, model.get_output_embeddings())
    is_head_tied = head is not None and any(alias.startswith(head + ".") for alias in aliases)
    shared = _shared_between_layers(aliases, layers_path)

    by_block: dict[str, list[str]] = {}
    modules: dict[str, tuple[BlockKind, str | None]] = {"norm": (BlockKind.NORM, None)}
    for name in names:
        block, kind, module = "norm", BlockKind.NORM, None
        match = re.match(re.escape(layers_path) + r"\.(\d+)\.", name + ".")
        if match is not None and name not in shared:
            index = int(match[1])
            block, kind, module = f"layer-{index:03d}", BlockKind.LAYER, f"{layers_path}.{index}"
        elif embedding is not None and name == f"{embedding}.weight":
            block, kind, module = "embed", BlockKind.EMBED, embedding
        elif head is not None and not is_head_tied and name.startswith(head + "."):
            block, kind, module = "head", BlockKind.HEAD, head
        modules[block] = kind, module
        by_block.setdefault(block, []).append(name)
    code = ModelCode(model)
    _take_out_tables(model, code, by_block, modules, {*aliases, *aliases.values(), f"{embedding}.weight"})
    others = [layers_path, head] if head else [layers_path]
    _take_out_parts(model, code, by_block, modules, others, set(aliases.values()))
    _take_out_experts(model, by_block, modules)
    _divide_large_layers(model, code, by_block, modules)
    blocks = [
        BlockSpec(block, modules[block][0], modules[block][1], tuple(tensors)) for block, tensors in by_block.items()
    ]
    blocks.sort(key=lambda block: (_PASS_ORDER[block.kind], block.name))
    return ModelStructure(tuple(blocks), layers_path, embedding, head, aliases)


def _find_layers(model: PreTrainedModel) -> str:
    decoder = model.get_decoder() if hasattr(model, "get_decoder") else model
    found = _lists_below(model, _path_of(model, decoder) or "") or _lists_below(model, "")
    if not found:
        raise UnsupportedModel(
            f"{type(model).__name__} has no list of decoder layers to stream.",
            "Choose another model; this one has a structure Strata does not know.",
        )
    return max(found)[1]


def _lists_below(model: nn.Module, root: str) -> list[tuple[int, str]]:
    """(parameters, path) of the outermost module lists below ``root``."""
    found: list[tuple[int, str]] = []

    def visit(module: nn.Module, path: str) -> None:
        for name, child in module.named_children():
            child_path = f"{path}.{name}" if path else name
            if isinstance(child, nn.ModuleList) and len(child) > 0:
                found.append((sum(p.numel() for p in child.parameters()), child_path))
            else:
                visit(child, child_path)

    visit(model.get_submodule(root), root)
    return found


def _tensor_names(model: nn.Module, untied: frozenset[str]) -> tuple[list[str], dict[str, str]]:
    """Stored names in registration order, and alias → stored name for every further name of a tensor."""
    first: dict[int, str] = {}
    aliases: dict[str, str] = {}
    names: list[str] = []
    for name, tensor in model.state_dict(keep_vars=True).items():
        stored = first.setdefault(id(tensor), name)
        if stored == name or name in untied:
            names.append(name)
        else:
            aliases[name] = stored
    return names, aliases


def _shared_between_layers(aliases: Mapping[str, str], layers_path: str) -> set[str]:
    """Tensors used by several layers (Zamba's shared block): they belong to none of them and always stay."""
    return {
        stored
        for alias, stored in aliases.items()
        if stored.startswith(layers_path + ".") and _head_of(alias, layers_path) != _head_of(stored, layers_path)
    }


def _head_of(name: str, layers_path: str) -> str:
    rest = name.removeprefix(layers_path + ".")
    return rest.split(".", 1)[0] if rest != name else name


def _take_out_tables(
    model: nn.Module,
    code: ModelCode,
    by_block: dict[str, list[str]],
    modules: dict[str, tuple[BlockKind, str | None]],
    others: set[str],
) -> None:
    """Moves the large embeddings out of their blocks into tables; ``others`` are names that are used otherwise too."""
    for path, module in model.named_modules():
        name = f"{path}.weight"
        if not isinstance(module, nn.Embedding) or name in others or nbytes_of(module.weight) < TABLE_BYTES:
            continue
        if code.enters_otherwise(path):  # positions that are stretched to the size of an image
            continue
        home = next((block for block, names in by_block.items() if name in names), None)
        if home is None:
            continue
        block = _file_name(path.rpartition(".")[2] if home == "norm" else f"{home}-{path.rpartition('.')[2]}")
        while block in by_block:
            block += "-2"
        modules[block] = BlockKind.TABLE, path
        by_block[block] = [name]
        _remove(by_block, home, [name])


def _take_out_parts(
    model: PreTrainedModel,
    code: ModelCode,
    by_block: dict[str, list[str]],
    modules: dict[str, tuple[BlockKind, str | None]],
    others: list[str],
    tied: set[str],
) -> None:
    """Moves the large parts out of ``norm`` into blocks of their own, see ``_pieces``; none with ``others`` in it.

    What is ``tied`` stays, as whoever uses it under its other name does not enter the part; and so does what the code
    enters otherwise.
    """
    parts: dict[str, list[str]] = {}
    for name in by_block.get("norm", []):
        if name in tied:
            continue
        parts.setdefault(_outermost_apart_from(name, others), []).append(name)
    decoder = _path_of(model, model.get_decoder()) if hasattr(model, "get_decoder") else None
    for path, names in parts.items():
        is_apart = path != "" and not f"{path}.".startswith(tuple(f"{other}." for other in others))
        if not is_apart or not all(name.startswith(path + ".") for name in names):
            continue
        kind = BlockKind.TOWER if decoder and not f"{path}.".startswith(f"{decoder}.") else BlockKind.PART
        for piece, tensors in _pieces(model, path, names).items():
            if code.enters_otherwise(piece):
                continue
            block = _file_name(piece)
            modules[block] = kind, piece
            by_block[block] = tensors
            _remove(by_block, "norm", tensors)


def _pieces(model: nn.Module, path: str, names: list[str]) -> dict[str, list[str]]:
    """What streams of a part, by module: nothing of a small one; of a large one the elements of its lists of modules
    and whatever else is large. A part without lists is one piece.

    A tower is as large as several decoder layers: in pieces it passes through the slots that these have anyway.
    """
    sizes = _tensor_sizes(model)
    if sum(sizes[name] for name in names) < STREAMED_PART_BYTES:
        return {}
    is_list = isinstance(model.get_submodule(path), nn.ModuleList)
    lists = [path] if is_list else [found for _, found in _lists_below(model, path)]
    if not lists:
        return {path: names}
    pieces: dict[str, list[str]] = {}
    rest: dict[str, list[str]] = {}
    for name in names:
        inside = next((found for found in lists if name.startswith(found + ".")), None)
        if inside is None:
            rest.setdefault(_outermost_apart_from(name, lists), []).append(name)
        else:
            index = name.removeprefix(inside + ".").partition(".")[0]
            pieces.setdefault(f"{inside}.{index}", []).append(name)
    large = {part for part, names in rest.items() if sum(sizes[name] for name in names) >= STREAMED_PART_BYTES}
    return pieces | {part: names for part, names in rest.items() if part and part in large}


def _remove(by_block: dict[str, list[str]], block: str, names: list[str]) -> None:
    left = [name for name in by_block[block] if name not in set(names)]
    if left:
        by_block[block] = left
    else:
        by_block.pop(block)


def _file_name(path: str) -> str:
    """A module's path as the name of a block: numbers in three digits, so that names sort as layers do."""
    numbered = re.sub(r"(?<=\.)\d+(?=\.|$)", lambda match: f"{int(match[0]):03d}", path)
    return re.sub(r"[^A-Za-z0-9]+", "-", numbered).strip("-")


def nbytes_of(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.dtype.itemsize


def _take_out_experts(
    model: nn.Module, by_block: dict[str, list[str]], modules: dict[str, tuple[BlockKind, str | None]]
) -> None:
    """Moves the routed experts out of their layers into blocks of their own, one for each experts module."""
    for path, module in model.named_modules():
        if not has_separate_experts(module):
            continue
        names = [f"{path}.{name}" for name, _ in module.named_parameters(recurse=False)]
        layer = next((block for block, tensors in by_block.items() if names[0] in tensors), None)
        if layer is None or modules[layer][0] is not BlockKind.LAYER or not set(names) < set(by_block[layer]):
            continue
        beside = sum(block.startswith(f"{layer}-experts") for block in by_block)
        block = f"{layer}-experts" + (f"-{beside + 1}" if beside else "")
        modules[block] = BlockKind.EXPERTS, path
        by_block[block] = names
        by_block[layer] = [name for name in by_block[layer] if name not in set(names)]


def _divide_large_layers(
    model: nn.Module,
    code: ModelCode,
    by_block: dict[str, list[str]],
    modules: dict[str, tuple[BlockKind, str | None]],
) -> None:
    """Makes blocks of the modules of a large layer, in the order in which it has them; what is small always stays."""
    sizes = _tensor_sizes(model)
    division = LayerDivision(model, code)
    for block, names in list(by_block.items()):
        kind, path = modules[block]
        if kind is not BlockKind.LAYER or path is None:
            continue
        parts = division.parts_of(path, {name: sizes[name] for name in names})
        for number, part in enumerate(parts):
            name = f"{block}-{number:02d}-{_file_name(part.removeprefix(path + '.'))}"
            modules[name] = BlockKind.LAYER, part
            by_block[name] = [tensor for tensor in names if tensor.startswith(part + ".")]
            _remove(by_block, block, by_block[name])
        if parts:
            by_block.setdefault("norm", []).extend(by_block.pop(block, []))


def _tensor_sizes(model: nn.Module) -> dict[str, int]:
    return {name: nbytes_of(tensor) for name, tensor in model.state_dict(keep_vars=True).items()}


def has_separate_experts(module: nn.Module) -> bool:
    """Whether this is an experts module that can be served one expert, every parameter a stack of experts."""
    count = getattr(module, "num_experts", None)
    parameters = list(module.parameters(recurse=False))
    is_stacked = bool(parameters) and all(p.ndim > 1 and p.shape[0] == count for p in parameters)
    return is_stacked and (has_experts_interface(module) or is_batched(module))


def _outermost_apart_from(name: str, others: list[str]) -> str:
    """The shortest way down to ``name`` that leaves the ways to ``others``: its own part. "" where there is none."""
    path = name.split(".")[:-1]
    for depth in range(1, len(path) + 1):
        way = ".".join(path[:depth])
        if not any(f"{other}.".startswith(f"{way}.") for other in others):
            return way
    return ""


def _path_of(model: nn.Module, wanted: nn.Module | None) -> str | None:
    return next((path for path, module in model.named_modules() if module is wanted), None)

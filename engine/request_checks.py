"""What can be refused before a model is cut or loaded, from its small files and tensor table alone. No torch.

Cutting takes minutes, loading seconds, and a first pass may take minutes again: whatever is wrong with a request is
said before all of them.
"""

from __future__ import annotations

import json
import math
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import InvalidRequest, UnsupportedModel
from engine.generation.context_size import cache_bytes, planned_context
from engine.generation.token_ids import require_known_ids
from engine.load_options import LoadOptions
from engine.models.block_limits import LARGE_LAYER_BYTES
from engine.models.own_models import own_chat_template
from engine.store.gguf_header import read_gguf_header
from engine.store.image_support import accepts_images
from engine.store.manifest import Manifest, SourceKind, read_manifest
from engine.store.model_config import read_config
from engine.store.source import Source, SourceTensor
from engine.streaming.block_roles import block_sizes, expert_sizes
from engine.streaming.residency import BlockSize, Budgets, ExpertSizes, Role, require_room

_TOKENIZER_FILES = ("tokenizer*", "vocab*", "merges*", "*.model", "*.tiktoken")
_EMBEDDINGS = (
    "embed_tokens.weight", "wte.weight", "word_embeddings.weight", "embed_in.weight", "embeddings.weight",
    "tok_embeddings.weight", "token_embd.weight",
)  # fmt: skip
_LAYER = re.compile(r"[a-z_][\w.]*?\.\d+\.")
_ITEMSIZES = {"float32": 4, "float16": 2, "bfloat16": 2}


@dataclass(frozen=True, slots=True)
class ModelOutline:
    """What a request is measured by. ``vocabulary`` is None where it is not known before loading.

    ``blocks`` of a source that is not cut yet are an estimate that is never too large.
    """

    config: Mapping[str, Any]
    blocks: Sequence[BlockSize]
    itemsize: int
    vocabulary: int | None
    chat_template: str
    has_tokenizer: bool
    experts: ExpertSizes | None = None
    accepts_images: bool = False


def outline_split(folder: Path) -> ModelOutline:
    """Raises ``DamagedFile``."""
    manifest = read_manifest(folder)
    config = read_config(folder)
    name = f"{manifest.embedding_path}.weight"
    rows = next((t.shape[0] for block in manifest.blocks for t in block.tensors if t.name == name), None)
    return ModelOutline(
        config=config,
        blocks=block_sizes(manifest),
        itemsize=_itemsize(manifest),
        vocabulary=rows,
        chat_template=read_chat_template(folder),
        has_tokenizer=_has_tokenizer(folder),
        experts=expert_sizes(manifest.experts),
        accepts_images=accepts_images(config, manifest.side_files, folder),
    )


def outline_source(source: Source) -> ModelOutline:
    """Raises ``SourceError`` for a GGUF whose header cannot be read any more."""
    if source.kind is SourceKind.GGUF:
        header = read_gguf_header(Path(source.record.path))
        template, has_tokenizer = header.text("tokenizer.chat_template"), "tokenizer.ggml.model" in header.metadata
    else:
        template, has_tokenizer = read_chat_template(source.root), _has_tokenizer(source.root)
    itemsize = _source_itemsize(source)
    return ModelOutline(
        config=source.config,
        blocks=_estimate_blocks(source.tensors, itemsize),
        itemsize=itemsize,
        vocabulary=_source_vocabulary(source),
        chat_template=template,
        has_tokenizer=has_tokenizer,
        accepts_images=accepts_images(source.config, source.side_files, source.root),
    )


def check_budget(outline: ModelOutline, options: LoadOptions) -> None:
    """Raises ``BudgetTooSmall`` where an explicit limit cannot hold one block."""
    limits = [value for value in (options.vram, options.ram) if value is not None]
    if not limits or options.nothing_resident:
        return
    try:
        reserve = cache_bytes(
            dict(outline.config), planned_context(dict(outline.config), options.context), outline.itemsize
        )
    except (TypeError, ValueError, AttributeError):  # a config that contradicts itself; planning says how
        reserve = 0
    # Which device it will be takes torch to know; what the processor cannot hold either is refused when it is planned.
    is_unified = options.device == "cpu"
    require_room(outline.blocks, Budgets(max(limits) - reserve, 0, reserve), outline.experts, is_unified=is_unified)


def check_source_budget(source: Source, options: LoadOptions) -> None:
    """``check_budget`` with the blocks that will be cut, for which torch is needed. Raises ``EngineError``."""
    if (options.vram is None and options.ram is None) or options.nothing_resident:
        return
    from engine.planning import planned_block_sizes, planned_expert_sizes
    from engine.store.source_plan import plan_source

    split = plan_source(source, untied=frozenset())
    split.tensors.close()
    blocks = planned_block_sizes(split)
    experts = planned_expert_sizes(split)
    check_budget(ModelOutline(split.config.to_dict(), blocks, split.dtype.itemsize, None, "", True, experts), options)


def check_device(device: str) -> None:
    """Raises ``DeviceUnavailable``. Imports torch for any but the processor."""
    if device not in ("auto", "cpu"):
        from engine.backends.torch_backend import open_backend

        open_backend(device)


def check_token_ids(outline: ModelOutline, token_ids: Sequence[int]) -> None:
    """Raises ``InvalidRequest`` for ids the model has no embedding for."""
    if outline.vocabulary is not None:
        require_known_ids(token_ids, outline.vocabulary)


def check_can_read_text(outline: ModelOutline) -> None:
    """Raises ``UnsupportedModel`` where the model has no tokenizer."""
    if not outline.has_tokenizer:
        raise UnsupportedModel(
            "This model has no tokenizer files, so text cannot be turned into tokens.",
            "Give token ids with --prompt-ids, or download the model again with its tokenizer files.",
        )


def check_can_chat(outline: ModelOutline) -> None:
    """Raises ``UnsupportedModel`` where the model has no tokenizer or no chat template."""
    if not outline.chat_template:
        raise UnsupportedModel(
            "This model has no chat template, so it can continue a text but not hold a conversation.",
            "Give it a text to continue with --prompt, or choose a model made for chat.",
        )
    check_can_read_text(outline)


def check_can_see(outline: ModelOutline) -> None:
    """Raises ``UnsupportedModel`` where a message may have no images."""
    if not outline.accepts_images:
        raise UnsupportedModel(
            "This model reads text only; it cannot look at images.",
            "Remove the image, or choose a model that accepts images.",
        )


def check_writable(path: Path) -> None:
    """Raises ``InvalidRequest`` where a file cannot be written. Leaves nothing behind."""
    is_new = not path.exists()
    try:
        with path.open("ab"):
            pass
        if is_new:
            path.unlink()
    except OSError as error:
        raise InvalidRequest(f"{path} cannot be written: {error.strerror}.", "Choose another file.") from error


def read_chat_template(folder: Path) -> str:
    """The template's text, of all variants where it has several; "" where there is none."""
    try:
        if (folder / "chat_template.jinja").is_file():
            return (folder / "chat_template.jinja").read_text(encoding="utf-8")
        for name in ("chat_template.json", "tokenizer_config.json"):
            if (folder / name).is_file():
                settings = json.loads((folder / name).read_text(encoding="utf-8"))
                if template := settings.get("chat_template"):
                    return template if isinstance(template, str) else json.dumps(template)
    except (OSError, ValueError, AttributeError):
        return ""
    return own_chat_template(folder)


def _has_tokenizer(folder: Path) -> bool:
    """Whether any file may be one; whether a library here can read it is known only on loading."""
    return any(path.is_file() for pattern in _TOKENIZER_FILES for path in folder.glob(pattern))


def _itemsize(manifest: Manifest) -> int:
    """Bytes of one number in the model's main dtype, as its largest tensor has it."""
    tensor = max((t for block in manifest.blocks for t in block.tensors), key=lambda t: t.nbytes)
    return tensor.nbytes // max(math.prod(tensor.shape), 1)


def _source_itemsize(source: Source) -> int:
    """Of the dtype the split will have; the smallest it may be where only the weights tell."""
    if source.kind is SourceKind.GGUF:
        return 4 if {tensor.dtype for tensor in source.tensors.values()} == {"F32"} else 2
    return _ITEMSIZES.get(str(source.config.get("dtype") or source.config.get("torch_dtype")), 2)


def _source_vocabulary(source: Source) -> int | None:
    shapes = [tensor.shape for name, tensor in source.tensors.items() if name.endswith(_EMBEDDINGS)]
    if len(shapes) == 1 and len(shapes[0]) == 2:
        return shapes[0][0]
    text = source.config.get("text_config")
    rows = (text if isinstance(text, Mapping) else source.config).get("vocab_size")
    return rows if isinstance(rows, int) else None


def _estimate_blocks(tensors: Mapping[str, SourceTensor], itemsize: int) -> list[BlockSize]:
    """One block: a middling layer, judged by the numbers in tensors' names. None for pickles, whose table is shut.

    Of a layer that will be divided into its modules: its largest tensor.
    """
    layers: dict[str, list[int]] = {}
    for name, tensor in tensors.items():
        # Routed experts may stream by themselves: an estimate that is never too large leaves them out.
        if ".experts." not in name and (match := _LAYER.match(name)):
            layers.setdefault(match[0], []).append(math.prod(tensor.shape) * itemsize)
    if not layers:
        return []
    sizes = [sum(layer) if sum(layer) <= LARGE_LAYER_BYTES else max(layer) for layer in layers.values()]
    return [BlockSize("layer", Role.ONCE, statistics.median_low(sizes), is_layer=True)]

"""Tiny random checkpoints that look at images, with processor, tokenizer and chat template; and what plain transformers
answers about an image: the reference that Strata is held to. Knows nothing of Strata.

Qwen's processors insist on a video processor, which needs torchvision, so here their work is done by hand, with the
image processor alone.
"""

from __future__ import annotations

import copy
import dataclasses
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import transformers
from PIL import Image
from transformers import AutoImageProcessor, AutoProcessor, AutoTokenizer, PreTrainedTokenizerFast

from tests.helpers.families import _perturb, _quiet, _shrink, load_plain
from tests.helpers.tiny_tokenizers import byte_level_bpe

VISION = {
    "depth": 3, "hidden_size": 64, "intermediate_size": 96, "num_heads": 4, "num_hidden_layers": 3,
    "num_attention_heads": 4, "out_hidden_size": 64, "patch_size": 4, "image_size": 16,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class VisionFamily:
    """``tokens``: the special tokens around an image; ``written``: what the template writes for one."""

    model_class: str
    written: str
    tokens: tuple[str, ...]
    processor: Mapping[str, Any]
    processor_file: Mapping[str, Any] = field(default_factory=dict[str, Any])
    text: Mapping[str, Any] = field(default_factory=dict[str, Any])
    vision: Mapping[str, Any] = field(default_factory=dict[str, Any])
    top: Mapping[str, Any] = field(default_factory=dict[str, Any])
    token_fields: Mapping[str, str] = field(default_factory=dict[str, str])
    tokenizer_fields: Mapping[str, str] = field(default_factory=dict[str, str])
    by_hand: bool = False


_QWEN_TOKENS = ("<|vision_start|>", "<|image_pad|>", "<|vision_end|>", "<|video_pad|>")
_QWEN_FIELDS = {
    "vision_start_token_id": "<|vision_start|>", "image_token_id": "<|image_pad|>",
    "vision_end_token_id": "<|vision_end|>", "video_token_id": "<|video_pad|>",
}  # fmt: skip
_QWEN_WRITTEN = "<|vision_start|><|image_pad|><|vision_end|>"
_QWEN_PROCESSOR = {
    "processor_class": "Qwen3VLProcessor", "image_processor_type": "Qwen2VLImageProcessor", "patch_size": 4,
    "temporal_patch_size": 2, "merge_size": 2, "size": {"shortest_edge": 256, "longest_edge": 1024},
}  # fmt: skip
_MROPE = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 1, 1]}


def _qwen(model_class: str, processor_class: str = "Qwen3VLProcessor", **more: Any) -> VisionFamily:
    return VisionFamily(
        model_class,
        _QWEN_WRITTEN,
        _QWEN_TOKENS,
        {**_QWEN_PROCESSOR, "processor_class": processor_class},
        token_fields=_QWEN_FIELDS,
        by_hand=True,
        **more,
    )


FAMILIES: Mapping[str, VisionFamily] = {
    "qwen3_5": _qwen(
        "Qwen3_5ForConditionalGeneration",
        text={
            "layer_types": ["linear_attention", "full_attention", "linear_attention"],
            "rope_parameters": {**_MROPE, "partial_rotary_factor": 0.5, "mrope_interleaved": True},
        },
        vision={"num_position_embeddings": 16},
    ),
    "qwen3_vl": _qwen(
        "Qwen3VLForConditionalGeneration",
        text={"rope_parameters": {**_MROPE, "mrope_section": [4, 2, 2], "mrope_interleaved": True}},
        vision={"num_position_embeddings": 16, "deepstack_visual_indexes": [0, 1]},
    ),
    "qwen2_5_vl": _qwen(
        "Qwen2_5_VLForConditionalGeneration",
        "Qwen2_5_VLProcessor",
        text={"rope_parameters": {**_MROPE, "mrope_section": [4, 2, 2]}},
        vision={"window_size": 16, "fullatt_block_indexes": [1]},
    ),
    "qwen4_exp": _qwen(
        "Qwen4ExpForConditionalGeneration",
        text={
            "num_hidden_layers": 4,
            "layer_types": ["linear_attention", "indexed_attention", "linear_attention", "indexed_attention"],
            "rope_parameters": {**_MROPE, "partial_rotary_factor": 0.5, "mrope_interleaved": True},
        },
        vision={"num_position_embeddings": 16},
    ),
    "gemma3": VisionFamily(
        "Gemma3ForConditionalGeneration",
        "<start_of_image>",
        ("<start_of_image>", "<image_soft_token>", "<end_of_image>"),
        {
            "processor_class": "Gemma3Processor", "image_processor_type": "Gemma3ImageProcessor",
            "size": {"height": 16, "width": 16}, "do_pan_and_scan": False, "image_seq_length": 4,
        },
        processor_file={"processor_class": "Gemma3Processor", "image_seq_length": 4},
        vision={"vision_use_head": False},
        top={"mm_tokens_per_image": 4},
        token_fields={
            "boi_token_index": "<start_of_image>", "image_token_index": "<image_soft_token>",
            "eoi_token_index": "<end_of_image>",
        },
        tokenizer_fields={
            "boi_token": "<start_of_image>", "image_token": "<image_soft_token>", "eoi_token": "<end_of_image>",
        },
    ),
    "llava": VisionFamily(
        "LlavaForConditionalGeneration",
        "<image>\n",
        ("<image>",),
        {
            "processor_class": "LlavaProcessor", "image_processor_type": "CLIPImageProcessor",
            "size": {"shortest_edge": 16}, "crop_size": {"height": 16, "width": 16},
        },
        processor_file={
            "processor_class": "LlavaProcessor", "patch_size": 4, "vision_feature_select_strategy": "default",
            "num_additional_image_tokens": 1,
        },
        token_fields={"image_token_index": "<image>"},
    ),
}  # fmt: skip


def template_of(family: str) -> str:
    """A chat template that takes texts and lists of parts, and quotes neither."""
    return (
        "{{ bos_token }}{% for message in messages %}<|{{ message.role }}|>"
        "{% if message.content is string %}{{ message.content }}{% else %}{% for part in message.content %}"
        "{% if part.type == 'image' %}" + FAMILIES[family].written.replace("\n", "\\n") + "{% else %}{{ part.text }}"
        "{% endif %}{% endfor %}{% endif %}<|im_end|>{% endfor %}<|assistant|>"
    )


def make_vision_checkpoint(
    family: str, folder: Path, *, dtype: torch.dtype = torch.bfloat16, text: Mapping[str, Any] | None = None
) -> Path:
    """Several shards and everything a hub ships beside them."""
    made = FAMILIES[family]
    tokenizer = copy.deepcopy(byte_level_bpe())
    tokenizer.add_special_tokens({"additional_special_tokens": list(made.tokens)}, replace_extra_special_tokens=False)
    tokenizer.chat_template = template_of(family)
    model_class: Any = getattr(transformers, made.model_class)
    with _quiet(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        config = _config(made, tokenizer, {**made.text, **(text or {})})
        model = model_class._from_config(config, dtype=dtype).eval()
        _perturb(model, 0)
        model.save_pretrained(folder, max_shard_size="100KB")
    tokenizer.save_pretrained(folder)
    if made.tokenizer_fields:
        file = folder / "tokenizer_config.json"
        settings = json.loads(file.read_text()) | {"extra_special_tokens": dict(made.tokenizer_fields)}
        file.write_text(json.dumps(settings))
    (folder / "preprocessor_config.json").write_text(json.dumps(made.processor))
    if made.processor_file:
        (folder / "processor_config.json").write_text(json.dumps(made.processor_file))
    return folder


def _config(made: VisionFamily, tokenizer: PreTrainedTokenizerFast, text: Mapping[str, Any]) -> Any:
    model_class: Any = getattr(transformers, made.model_class)
    usual = model_class.config_class()
    ids = {name: tokenizer.convert_tokens_to_ids(token) for name, token in made.token_fields.items()}
    parts = {"text_config": text, "vision_config": {**VISION, **made.vision}}
    fields: dict[str, Any] = {}
    for name, given in parts.items():
        part = type(getattr(usual, name))
        known = {field.name for field in dataclasses.fields(part)} | set(made.text)
        fields[name] = _shrink(part, {key: value for key, value in given.items() if key in known})
    fields["text_config"].vocab_size = len(tokenizer)
    return model_class.config_class(**fields, **made.top, **ids)


def picture(*, width: int = 24, height: int = 16, seed: int = 0, format: str = "PNG", **options: Any) -> bytes:
    """An image file of random coarse patches."""
    generator = torch.Generator().manual_seed(seed)
    coarse = torch.randint(0, 256, (height // 4, width // 4, 3), generator=generator, dtype=torch.uint8)
    image = Image.fromarray(coarse.numpy()).resize((width, height), Image.Resampling.NEAREST)
    file = io.BytesIO()
    image.save(file, format, **options)
    return file.getvalue()


@dataclass(frozen=True, slots=True)
class PlainAnswer:
    """What plain transformers computes. `logits` is float32 [prompt tokens, vocabulary]."""

    prompt_ids: tuple[int, ...]
    logits: torch.Tensor
    token_ids: tuple[int, ...]


def plain_answer(
    folder: Path, family: str, conversation: Sequence[dict[str, Any]], new_tokens: int = 16
) -> PlainAnswer:
    """Logits of one forward over a conversation with images, then greedy tokens. Content is lists of parts."""
    inputs = plain_inputs(folder, family, conversation)
    model: Any = load_plain(folder)
    with _quiet(), torch.inference_mode():
        logits = model(**inputs).logits[0].float()
        answer = model.generate(**inputs, max_new_tokens=new_tokens)
    ids = inputs["input_ids"][0]
    return PlainAnswer(tuple(ids.tolist()), logits, tuple(answer[0, len(ids) :].tolist()))


def plain_tokens(folder: Path, prompt_ids: Sequence[int], inputs: Mapping[str, Any], new_tokens: int = 16) -> list[int]:
    """Greedy tokens after ``prompt_ids``, which go on with text where the prompt of ``inputs`` ended."""
    ids = torch.tensor([list(prompt_ids)])
    longer = dict(inputs) | {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    for name in ("mm_token_type_ids", "token_type_ids"):
        if name in longer:
            types = longer[name]
            longer[name] = torch.nn.functional.pad(types, (0, ids.shape[1] - types.shape[1]))
    model: Any = load_plain(folder)
    with _quiet(), torch.inference_mode():
        return model.generate(**longer, max_new_tokens=new_tokens)[0, ids.shape[1] :].tolist()


def plain_inputs(folder: Path, family: str, conversation: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What the model is called with. Images are files' contents under ``image``."""
    parts = [part for message in conversation for part in message["content"]]
    images = [Image.open(io.BytesIO(part["image"])) for part in parts if part["type"] == "image"]
    bare = [
        {**message, "content": [{"type": "image"} if part["type"] == "image" else part for part in message["content"]]}
        for message in conversation
    ]
    if FAMILIES[family].by_hand:
        return _by_hand(folder, bare, images)
    processor = AutoProcessor.from_pretrained(folder)
    text = processor.apply_chat_template(bare, add_generation_prompt=True)
    return dict(processor(text=[text], images=[images], return_tensors="pt", add_special_tokens=False))


def _by_hand(folder: Path, conversation: Sequence[dict[str, Any]], images: Sequence[Image.Image]) -> dict[str, Any]:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    text = tokenizer.apply_chat_template(list(conversation), tokenize=False, add_generation_prompt=True)
    made = dict(
        AutoImageProcessor.from_pretrained(folder)([each.convert("RGB") for each in images], return_tensors="pt")
    )
    head, *rest = text.split("<|image_pad|>")
    counts = [int(grid.prod()) // 4 for grid in made["image_grid_thw"]]
    for count, piece in zip(counts, rest, strict=True):
        head += "<|image_pad|>" * count + piece
    ids = torch.tensor([tokenizer.encode(head, add_special_tokens=False)])
    types = (ids == tokenizer.convert_tokens_to_ids("<|image_pad|>")).int()
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "mm_token_type_ids": types, **made}

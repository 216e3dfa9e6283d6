"""Images for Kimi K3: cut into patches as its own code does it, and streamed as loaded plainly."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from transformers import PreTrainedTokenizerFast

from engine.errors import UnsupportedModel
from engine.generation.chat_format import ChatFormat
from engine.generation.image_prompt import ImageProcessor
from engine.generation.messages import Message, Prompt
from engine.models import structure
from engine.models.kimi_k3.image_processor import KimiK3Processor
from engine.models.own_models import read_own_tokenizer
from tests.helpers.kimi_k3 import published_tensors, tiny_config, tiny_vision
from tests.helpers.kimi_k3_checkpoint import VOCABULARY, load_plain, write_checkpoint, write_tokenizer
from tests.helpers.splits import cut, load, residency, streamed_outputs

NEW_TOKENS = 8
PAD = VOCABULARY - 256 + 21
PUBLISHED: dict[str, Any] = {
    "patch_size": 14, "merge_kernel_size": 2, "in_patch_limit": 65536, "patch_limit_on_one_side": 512,
    "fixed_output_tokens": None, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5],
}  # fmt: skip


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    config = tiny_config(vocab_size=VOCABULARY) | {"vision_config": tiny_vision(), "media_placeholder_token_id": PAD}
    folder = tmp_path_factory.mktemp("kimi-k3-images") / "k3"
    write_checkpoint(folder, config, published_tensors(config, 5))
    write_tokenizer(folder)
    return folder


@pytest.fixture(scope="module")
def split(checkpoint: Path) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(structure, "STREAMED_PART_BYTES", 4096)  # a tiny tower is cut as a large one
        return cut(checkpoint, checkpoint.parent)


def tokenizer_of(folder: Path) -> PreTrainedTokenizerFast:
    tokenizer = read_own_tokenizer(folder)
    assert isinstance(tokenizer, PreTrainedTokenizerFast)
    return tokenizer


def picture(width: int, height: int) -> bytes:
    image = Image.linear_gradient("L").resize((width, height)).convert("RGB")
    image.putpixel((1, 2), (255, 0, 40))
    file = BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def test_an_image_is_cut_as_the_published_code_cuts_it(checkpoint: Path) -> None:
    processor = KimiK3Processor(tokenizer_of(checkpoint), PUBLISHED)
    made = processor(text=["a<|media_pad|>b"], images=[[Image.new("RGB", (225, 223), "white")]])
    assert made["grid_thws"].tolist() == [[1, 16, 18]]
    assert made["pixel_values"].shape == (288, 3, 14, 14)
    assert (made["input_ids"] == PAD).sum() == 72
    written = processor.tokenizer.decode(made["input_ids"][0])
    assert written == f"a<|media_begin|>image 225x223<|media_content|>{72 * '<|media_pad|>'}<|media_end|>b"
    first, last = made["pixel_values"][0], made["pixel_values"][-1]
    assert (first == 1).all()
    assert (last == -1).all()  # 252 x 224 in all: black to the right of 225
    edge = made["pixel_values"][16]
    assert (edge[..., 0] == 1).all()
    assert (edge[..., 1:] == -1).all()


def test_patches_are_rows_of_the_image(checkpoint: Path) -> None:
    image = Image.new("RGB", (56, 28))
    for x in range(56):
        for y in range(28):
            image.putpixel((x, y), (x, y, 7))
    made = KimiK3Processor(tokenizer_of(checkpoint), PUBLISHED)(text=["<|media_pad|>"], images=[[image]])
    patch = (made["pixel_values"][4 + 2] * 0.5 + 0.5) * 255  # second row, third column
    x, y = torch.meshgrid(torch.arange(28, 42), torch.arange(14, 28), indexing="xy")
    torch.testing.assert_close(patch.round(), torch.stack([x, y, torch.full_like(x, 7)]).float())


@pytest.mark.parametrize(("size", "grid"), [((140, 140), [8, 8]), ((280, 28), [2, 8]), ((10, 3000), [8, 2])])
def test_a_large_image_is_made_smaller(size: tuple[int, int], grid: list[int], checkpoint: Path) -> None:
    settings = PUBLISHED | {"in_patch_limit": 40, "patch_limit_on_one_side": 8}
    made = KimiK3Processor(tokenizer_of(checkpoint), settings)(
        text=["<|media_pad|>"], images=[[Image.new("RGB", size)]]
    )
    assert made["grid_thws"].tolist() == [[1, *grid]]


def test_every_image_has_its_place(checkpoint: Path) -> None:
    with pytest.raises(ValueError, match="2 places in the text for 1 images"):
        KimiK3Processor(tokenizer_of(checkpoint), PUBLISHED)(
            text=["<|media_pad|><|media_pad|>"], images=[[Image.new("RGB", (9, 9))]]
        )


@pytest.fixture(scope="module")
def plain(checkpoint: Path) -> tuple[Prompt, torch.Tensor, list[int]]:
    """A question about two images, its logits and its answer by the model loaded plainly."""
    tokenizer = tokenizer_of(checkpoint)
    question = Message("user", "What is it?", images=(picture(60, 40), picture(30, 90)))
    prompt = ChatFormat(tokenizer, processor=ImageProcessor(checkpoint, tokenizer)).encode_prompt([question])
    model: Any = load_plain(checkpoint)
    ids = torch.tensor([prompt.ids])
    with torch.inference_mode():
        logits = model(input_ids=ids, **prompt.image_inputs).logits[0].float()
        answer = model.generate(input_ids=ids, max_new_tokens=NEW_TOKENS, **prompt.image_inputs)
        other = {**prompt.image_inputs, "pixel_values": -prompt.image_inputs["pixel_values"]}
        assert not torch.equal(model(input_ids=ids, **other).logits[0].float(), logits)
    return prompt, logits, answer[0, ids.shape[1] :].tolist()


@pytest.mark.parametrize("name", ["all resident", "one slot", "device, one slot"])
def test_images_stream_bit_for_bit(name: str, split: Path, plain: tuple[Prompt, torch.Tensor, list[int]]) -> None:
    prompt, logits, answer = plain
    loaded = load(split, *residency(split, name))
    try:
        streamed, tokens = streamed_outputs(loaded, prompt.ids, NEW_TOKENS, prompt.image_inputs)
    finally:
        loaded.close()
    assert torch.equal(streamed, logits)
    assert tokens == answer


def test_odd_settings_are_refused_in_a_sentence(checkpoint: Path, tmp_path: Path) -> None:
    for name in ("config.json", "tiktoken.model", "tokenizer_config.json"):
        (tmp_path / name).write_bytes((checkpoint / name).read_bytes())
    (tmp_path / "preprocessor_config.json").write_text("{}")
    tokenizer = tokenizer_of(tmp_path)
    chat = ChatFormat(tokenizer, processor=ImageProcessor(tmp_path, tokenizer))
    with pytest.raises(UnsupportedModel, match="reads text only"):
        chat.encode_prompt([Message("user", "?", images=(picture(20, 20),))])

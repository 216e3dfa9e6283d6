"""Streamed equals plain, family by family. A dozen always; all of them with ``-m family_walk``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.families import SKIPPED, family_names
from tests.parity.walk import compare, cut_as_the_largest, walk

ALWAYS = [
    "bloom",
    "cohere",
    "deepseek_v3",
    "falcon",
    "gemma3_text",
    "gpt_neox",
    "gpt_oss",
    "jamba",
    "mamba2",
    "opt",
    "phi3",
    "qwen3+untied",
    "qwen3_moe",
    "qwen4_exp_text",
    "zamba2",
]

REQUIRED = """llama mistral qwen2 qwen3+tied qwen3+untied phi phi3 gemma2 gemma3_text glm4 granite cohere olmo2
starcoder2 gpt2 gpt_neox opt falcon bloom mpt mamba2 jamba mixtral qwen3_moe deepseek_v3 gpt_oss glm4_moe""".split()

CUT_AS_THE_LARGEST = {
    "llama": 26,
    "bert": 20,  # its head is inside another part
    "dbrx": 13,  # reads its experts past the module that holds them, which stays in one piece
    "falcon_h1": 25,  # gives the weights of a convolution to a kernel
    "gemma4": 32,  # wants one row of its embedding
    "prophetnet": 33,  # enters its positions by another way than their forward, and its embedding by another name
}
"""Families with something special about their parts, and the blocks a pass goes through."""

UNEQUAL = {
    "rwkv": "divides its own weights in place at the first forward; refused, since blocks read again would lose it",
}


@pytest.mark.parametrize("family", ALWAYS)
def test_a_family_streams_bit_for_bit(family: str, tmp_path: Path) -> None:
    verdict = compare(family, tmp_path)
    assert verdict.reason == ""


@pytest.mark.parametrize(("family", "blocks"), CUT_AS_THE_LARGEST.items())
def test_a_model_cut_as_the_largest_streams_bit_for_bit(family: str, blocks: int, tmp_path: Path) -> None:
    with cut_as_the_largest():
        verdict = compare(family, tmp_path)
    assert (verdict.reason, verdict.blocks) == ("", blocks)


def test_a_model_that_rewrites_its_weights_is_refused(tmp_path: Path) -> None:
    assert compare("rwkv", tmp_path).reason.startswith("UnsupportedModel")


@pytest.mark.family_walk
@pytest.mark.timeout(1800)
def test_every_family_cut_as_the_largest_is_equal_or_refused() -> None:
    with cut_as_the_largest():
        unequal = {verdict.family: verdict.reason for verdict in walk(family_names()) if not verdict.is_equal}
    assert set(unequal) == set(UNEQUAL)
    assert all(reason.startswith("UnsupportedModel") for reason in unequal.values())


@pytest.mark.family_walk
@pytest.mark.timeout(1800)
def test_every_family_is_equal_or_explained() -> None:
    verdicts = {verdict.family: verdict for verdict in walk(family_names())}
    unequal = {family for family, verdict in verdicts.items() if not verdict.is_equal}
    assert unequal == set(UNEQUAL)
    assert len(verdicts) - len(unequal) >= 60
    assert set(REQUIRED) <= set(verdicts) - unequal
    assert len(SKIPPED) <= 6

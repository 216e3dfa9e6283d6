"""The commands and their options. Fixed: scripts and people rely on them."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from engine import __version__
from engine.errors import InvalidRequest
from engine.hub_access import DEFAULT_ENDPOINT
from engine.quantities import parse_size
from engine.store.disk_plan import DEFAULT_FLOOR_BYTES


def build_parser() -> argparse.ArgumentParser:
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--json", action="store_true", help="print one event per line as JSON")
    shared.add_argument(
        "--data-dir", type=Path, metavar="DIR", help="where models and settings live (or STRATA_DATA_DIR)"
    )
    parser = argparse.ArgumentParser(
        prog="strata-engine",
        description="Runs language models bigger than this computer's memory, streamed from its disk.",
    )
    parser.add_argument("--version", action="version", version=f"strata-engine {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, text: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=text, description=text, parents=[shared])

    add("probe", "Show this computer: memory, devices, measured speeds.")
    plan = add("plan", "Say what a model would cost here: bytes, memory, seconds per token.")
    _add_source(plan)
    _add_bits(plan)
    _add_memory(plan)
    _add_code(plan)
    plan.add_argument("--delete-original", action="store_true", help="plan for removing shards as they are cut")
    _add_download(add("download", "Fetch a model from the hub and cut it while it arrives."))
    split = add("split", "Cut a model into blocks on the disk.")
    _add_source(split)
    _add_bits(split)
    split.add_argument(
        "--delete-original",
        action="store_true",
        help="delete each original weight file once its blocks are verified",
    )
    _add_code(split)
    split.add_argument("--to", type=Path, metavar="DIR", help="the folder of models to cut into")
    add("list", "List the models that are here.")
    verify = add("verify", "Check every file of a model against its digest.")
    verify.add_argument("model", metavar="MODEL")
    verify.add_argument("--repair", action="store_true", help="cut damaged blocks again from the original")
    verify.add_argument(
        "--from-hub", action="store_true", help="with --repair: fetch what is needed where the original is gone"
    )
    move = add("move", "Move a model to another folder, on this drive or another one.")
    move.add_argument("model", metavar="MODEL")
    move.add_argument("--to", type=Path, metavar="DIR", required=True, help="the folder of models to move it into")
    remove = add("remove", "Delete a model's blocks (never its original).")
    remove.add_argument("model", metavar="MODEL")
    _add_generate(add("generate", "Answer one question, or continue a text."))
    chat = add("chat", "Talk with a model in the terminal.")
    chat.add_argument("model", metavar="MODEL")
    chat.add_argument("--system", metavar="TEXT", help="the system prompt")
    _add_sampling(chat)
    _add_memory(chat)
    _add_code(chat)
    bench = add("bench", "Measure seconds and bytes per token, and the share of the disk's limit.")
    bench.add_argument("model", metavar="MODEL")
    bench.add_argument("--passes", type=_count, default=5, metavar="N", help="decoding passes (5)")
    bench.add_argument("--cold", action="store_true", help="keep nothing resident: read every block, every pass")
    _add_memory(bench)
    _add_code(bench)
    return parser


def _add_download(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("repo", metavar="REPO[@REV]", help="owner/name on the hub, with a branch, tag or commit")
    endpoint = os.environ.get("HF_ENDPOINT") or DEFAULT_ENDPOINT
    parser.add_argument("--endpoint", metavar="URL", default=endpoint, help="the hub, or a mirror (HF_ENDPOINT)")
    parser.add_argument("--proxy", metavar="URL", help="a proxy (the system's own)")
    parser.add_argument("--to", type=Path, metavar="DIR", help="the folder of models to cut into")
    _add_code(parser)
    parser.add_argument("--keep-download", action="store_true", help="keep the hub's own files beside the cut model")
    parser.add_argument(
        "--floor", type=_size, metavar="BYTES", default=DEFAULT_FLOOR_BYTES, help="free space that is left alone (2GB)"
    )


def _add_generate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="a name from list, a split, or any source")
    prompt = parser.add_mutually_exclusive_group(required=True)
    prompt.add_argument("--chat", metavar="TEXT", help="a message, in the model's own chat format")
    prompt.add_argument("--prompt", metavar="TEXT", help="a text to continue")
    prompt.add_argument("--prompt-ids", type=_token_ids, metavar="3,4,5", help="token ids to continue")
    parser.add_argument("--system", metavar="TEXT", help="the system prompt, with --chat")
    parser.add_argument(
        "--image", type=Path, action="append", default=[], metavar="FILE",
        help="a PNG, JPEG or WebP image for --chat; may be given several times",
    )  # fmt: skip
    parser.add_argument(
        "--draft", default="none", metavar="lookup|MODEL|none", help="propose tokens ahead (none in this version)"
    )
    parser.add_argument(
        "--logits", type=Path, metavar="FILE.npy", help="write float32 [tokens, vocabulary] of the prompt pass"
    )
    _add_sampling(parser)
    _add_memory(parser)
    _add_code(parser)


def _add_source(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source",
        metavar="SOURCE",
        help="a hub repo id, a folder as a hub ships it, a hub cache folder, a .gguf file, or starter",
    )


def _add_code(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--allow-remote-code",
        action="store_true",
        help="run the Python code that comes with this model, from now on and as it is now",
    )


def _add_bits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--bits", type=int, choices=(4, 8, 16), help="precision of the blocks (the model's own)")


def _add_sampling(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--max-new-tokens", type=_count, default=2048, metavar="N", help="longest answer (2048)")
    parser.add_argument("--greedy", action="store_true", help="always take the likeliest token")
    parser.add_argument("--seed", type=int, metavar="N", help="repeat the same draw")
    parser.add_argument("--temperature", type=float, metavar="T")
    parser.add_argument("--top-p", type=float, metavar="P")
    parser.add_argument("--top-k", type=int, metavar="K")
    parser.add_argument("--min-p", type=float, metavar="P")
    parser.add_argument("--repetition-penalty", type=float, metavar="X")


def _add_memory(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", default="auto", metavar="auto|cpu|cuda|mlx")
    parser.add_argument("--vram", type=_size, metavar="BYTES", help="most graphics memory to use, like 4GiB")
    parser.add_argument("--ram", type=_size, metavar="BYTES", help="most main memory to use, like 8GiB")
    parser.add_argument("--context", type=_count, metavar="N", help="longest conversation, in tokens")


def _size(text: str) -> int:
    try:
        return parse_size(text)
    except InvalidRequest as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"“{text}” is not a number from 1 up")
    return int(text)


def _token_ids(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"“{text}” is not a list of token ids like 3,4,5") from error

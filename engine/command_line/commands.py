"""What each command does: calls the engine, prints its events, returns the exit code."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from engine.cancel import Cancelled, CancelToken
from engine.command_line.conversation import run_conversation
from engine.command_line.job_line import JobLine
from engine.command_line.live_answer import LiveAnswer
from engine.errors import CodeNotAllowed, DiskFull, InvalidRequest, UnsupportedModel
from engine.events import (
    Event,
    Finished,
    MoveResult,
    Outcome,
    SplitResult,
    VerifyResult,
    event_to_dict,
)
from engine.generation.images import check_images
from engine.generation.messages import Message, Prompt
from engine.generation.sampling import SamplingOptions
from engine.hub_access import DEFAULT_ENDPOINT, HubAccess
from engine.load_options import LoadOptions
from engine.local import LocalEngine
from engine.quantities import format_duration, format_size
from engine.reports import ModelPlan
from engine.request_checks import (
    check_budget,
    check_can_chat,
    check_can_read_text,
    check_can_see,
    check_device,
    check_source_budget,
    check_token_ids,
    check_writable,
    outline_source,
    outline_split,
)
from engine.store.manifest import read_manifest
from engine.store.model_store import ModelState, ModelStore
from engine.store.open_source import open_source
from engine.store.remote_code import with_allowed_code

EXIT_DONE, EXIT_FAILED, EXIT_CANCELLED = 0, 1, 130


def run(options: argparse.Namespace, store: ModelStore, cancel: CancelToken) -> int:
    """Raises ``EngineError``; anything else that escapes is a bug."""
    if getattr(options, "bits", None) in (4, 8):
        raise UnsupportedModel(
            f"This version keeps a model's own precision; {options.bits}-bit comes with a later one.",
            "Leave --bits out.",
        )
    try:
        return _COMMANDS[options.command](options, store, cancel)
    except Cancelled:
        return _end_cancelled(options)


def _probe(options: argparse.Namespace, store: ModelStore, cancel: CancelToken) -> int:
    with LocalEngine(store) as engine:
        report = engine.probe()
    if options.json:
        _print_json({"event": "MachineReport", **dataclasses.asdict(report)})
        return EXIT_DONE
    print(f"{report.system}, {report.processor}, {report.cores} cores")
    print(f"memory   {format_size(report.memory_total_bytes)}, {format_size(report.memory_free_bytes)} free")
    for device in report.devices:
        free = format_size(device.free_bytes)
        print(f"{device.kind:<8} {device.name}, {format_size(device.total_bytes)}, {free} free")
    if not report.devices:
        print("device   none: models run on the processor")
    print(f"models   {store.models_folder}")
    print(f"disk     {format_size(report.disk_free_bytes)} free of {format_size(report.disk_total_bytes)}")
    print(f"reading  {format_size(report.disk_bytes_per_second)}/s from the disk, past the cache")
    print(f"compute  {format_size(report.compute_bytes_per_second)}/s of bfloat16 weights")
    return EXIT_DONE


def _plan(options: argparse.Namespace, store: ModelStore, cancel: CancelToken) -> int:
    with LocalEngine(store) as engine:
        _allow_code(engine, options.source, options)
        plan = engine.plan(options.source, _load_options(options), delete_original=options.delete_original)
    if options.json:
        _print_json({"event": "ModelPlan", **dataclasses.asdict(plan)})
    else:
        _print_plan(plan)
    _require_room(plan)
    return EXIT_DONE


def _print_plan(plan: ModelPlan) -> None:
    print(f"{plan.model}: {plan.architecture}, {plan.dtype}, {plan.blocks} blocks")
    if plan.is_cut:
        print("cut      already here")
    print(
        f"disk     {format_size(plan.disk_now_bytes)} now, {format_size(plan.disk_peak_bytes)} at the peak,"
        f" {format_size(plan.disk_after_bytes)} after; {format_size(plan.disk_free_bytes)} free, of which"
        f" {format_size(plan.disk_floor_bytes)} stay so"
    )
    print(
        f"memory   {format_size(plan.device_bytes)} on {plan.device}, {format_size(plan.slot_bytes)} of slots,"
        f" {format_size(plan.host_bytes)} in main memory, {format_size(plan.cache_bytes)} for {plan.context:,} tokens"
    )
    print(f"streams  {format_size(plan.streamed_bytes)} from the disk for every token")
    if plan.table_bytes:
        print(f"tables   {format_size(plan.table_bytes)} stay on the disk and are read row by row")
    if plan.accepts_images:
        print("images   accepted in messages")
    if plan.predicted_s_per_token is None:
        print("speed    unknown: the disk's speed cannot be measured here")
    else:
        print(f"speed    about {format_duration(plan.predicted_s_per_token)} a token")


def _require_room(plan: ModelPlan) -> None:
    """Raises ``DiskFull`` where ``split`` would."""
    need = plan.disk_peak_bytes + plan.disk_floor_bytes
    if not plan.is_cut and plan.disk_free_bytes < need:
        raise DiskFull(
            f"Cutting {plan.model} needs {format_size(need)} ({format_size(plan.disk_peak_bytes)} and "
            f"{format_size(plan.disk_floor_bytes)} that stay free); {format_size(plan.disk_free_bytes)} are free.",
            "Free some space, or choose another drive with --data-dir.",
            need=need,
            have=plan.disk_free_bytes,
        )


def _download(options: argparse.Namespace, store: ModelStore, cancel: CancelToken) -> int:
    access = _hub_access(options.endpoint, options.proxy)

    def begin(engine: LocalEngine) -> Iterator[Event]:
        return engine.download(
            options.repo,
            access,
            cancel=cancel,
            target=options.to,
            keep_download=options.keep_download,
            floor_bytes=options.floor,
        )

    with LocalEngine(store) as engine:
        try:
            finished = _follow(begin(engine), options)
        except CodeNotAllowed as asked:
            if not options.allow_remote_code:
                raise
            engine.allow_shown_code(asked.model, asked.revision, asked.digest)
            finished = _follow(begin(engine), options)
    return _report_split(finished, options)


def _hub_access(endpoint: str | None, proxy: str | None = None) -> HubAccess:
    """With the token of HF_TOKEN, or of the file that the hub's own login leaves."""
    from huggingface_hub import get_token

    return HubAccess(token=get_token(), endpoint=endpoint or DEFAULT_ENDPOINT, proxy=proxy)


def _split(options: argparse.Namespace, store: ModelStore, cancel: CancelToken) -> int:
    with LocalEngine(store) as engine:
        _allow_code(engine, options.source, options)
        events = engine.split(options.source, delete_original=options.delete_original, cancel=cancel, target=options.to)
        finished = _follow(events, options)
    return _report_split(finished, options)


def _report_split(finished: Finished, options: argparse.Namespace) -> int:
    if isinstance(finished.result, SplitResult) and not options.json and finished.outcome is Outcome.DONE:
        result = finished.result
        rest = f", {format_size(result.bytes_deleted)} of originals deleted" if result.bytes_deleted else ""
        print(
            f"{result.model}: {result.blocks} blocks, {format_size(result.bytes_written)} written{rest}"
            f" in {format_duration(result.elapsed_s)}"
        )
        print(result.path)
    return _exit_code(finished)


def _list(options: argparse.Namespace, store: ModelStore, cancel: CancelToken) -> int:
    with LocalEngine(store) as engine:
        models = engine.list_models()
    for model in models:
        if options.json:
            _print_json({
                "event": "Model", "name": model.name, "title": model.title, "state": model.state,
                "bytes": model.nbytes, "path": model.path, "dtype": model.dtype, "architecture": model.architecture,
                "accepts_images": model.accepts_images,
            })  # fmt: skip
            continue
        state = "" if model.state == ModelState.READY else f"  ({_STATES.get(model.state, model.state)})"
        images = "  images" if model.accepts_images else ""
        place = "" if Path(model.path).parent == store.models_folder else f"  {Path(model.path).parent}"
        print(f"{model.name:<56} {format_size(model.nbytes):>9}  {model.dtype or '-'}{images}{state}{place}")
    return EXIT_DONE


def _verify(options: argparse.Namespace, store: ModelStore, cancel: CancelToken) -> int:
    access = _hub_access(os.environ.get("HF_ENDPOINT")) if options.from_hub else None
    with LocalEngine(store) as engine:
        events = engine.verify(options.model, repair=options.repair, cancel=cancel, access=access)
        finished = _follow(events, options)
    if isinstance(finished.result, VerifyResult):
        result = finished.result
        left = [name for name in result.damaged if name not in result.repaired]
        if not options.json:
            for name in result.damaged:
                print(f"{name}: {'repaired' if name in result.repaired else 'damaged'}")
            if finished.outcome is Outcome.DONE and not left:
                print(f"{result.model}: {result.files} files, {format_size(result.bytes_read)} read, all sound")
        if left:
            print("strata-engine: repair them from the original with verify --repair.", file=sys.stderr)
            return EXIT_FAILED
    return _exit_code(finished)


def _move(options: argparse.Namespace, store: ModelStore, cancel: CancelToken) -> int:
    with LocalEngine(store) as engine:
        finished = _follow(engine.move(options.model, options.to, cancel=cancel), options)
    if isinstance(finished.result, MoveResult) and not options.json and finished.outcome is Outcome.DONE:
        result = finished.result
        how = f"{format_size(result.bytes_copied)} copied, read back and compared" if result.bytes_copied else "renamed"
        print(f"{result.model} is moved: {how} in {format_duration(result.elapsed_s)}")
        print(result.path)
    return _exit_code(finished)


def _remove(options: argparse.Namespace, store: ModelStore, cancel: CancelToken) -> int:
    folder = store.remove(options.model)
    if options.json:
        _print_json({"event": "Removed", "name": folder.name})
    else:
        print(f"{folder.name} is removed.")
    return EXIT_DONE


def _generate(options: argparse.Namespace, store: ModelStore, cancel: CancelToken) -> int:
    _refuse_drafts(options.draft)
    sampling = sampling_options(options)
    _check_prompt(options)
    with LocalEngine(store) as engine:
        if _load(engine, options, cancel).outcome is Outcome.CANCELLED:
            return _end_cancelled(options)
        if options.logits is not None:
            _write_logits(engine, options, cancel)
        if options.chat is not None:
            events = engine.answer(_messages(options), sampling, cancel)
        else:
            events = engine.complete(options.prompt or options.prompt_ids, sampling, cancel)
        finished = _follow_answer(events, options)
    return _exit_code(finished)


def _messages(options: argparse.Namespace) -> list[Message]:
    question = Message("user", options.chat, images=tuple(options.image))
    return [Message("system", options.system), question] if options.system else [question]


def _chat(options: argparse.Namespace, store: ModelStore, cancel: CancelToken) -> int:
    sampling = sampling_options(options)
    with LocalEngine(store) as engine:
        if _load(engine, options, cancel).outcome is Outcome.CANCELLED or cancel.is_cancelled:
            return _end_cancelled(options)
        return run_conversation(engine, sampling, system=options.system, as_json=options.json)


def _bench(options: argparse.Namespace, store: ModelStore, cancel: CancelToken) -> int:
    load_options = _load_options(options, nothing_resident=options.cold)
    with LocalEngine(store) as engine:
        _allow_code(engine, options.model, options)
        _check_model(engine, options, load_options)
        folder = _prepare(engine, options, cancel)
        if folder is None:
            return _end_cancelled(options)
        from engine.benchmark import measure_model

        load_options = with_allowed_code(folder, read_manifest(folder), load_options, store)
        report = measure_model(folder, load_options, passes=options.passes, cancel=cancel)
    if options.json:
        _print_json({"event": "BenchReport", **dataclasses.asdict(report)})
        _print_json(event_to_dict(Finished(Outcome.DONE)))
        return EXIT_DONE
    print(f"{report.model} on {report.device}: {report.s_per_token:.4f} s/token median of {report.passes}")
    print(f"streamed {format_size(report.streamed_bytes)} a token; resident {format_size(report.resident_bytes)}")
    if report.limit_s_per_token is not None and report.share_of_limit is not None:
        print(
            f"the same reads without a model: {report.limit_s_per_token:.4f} s; "
            f"share of the limit {report.share_of_limit:.1%}"
        )
    return EXIT_DONE


def _load(engine: LocalEngine, options: argparse.Namespace, cancel: CancelToken) -> Finished:
    """Refuses what can be refused, cuts the model if need be, and loads."""
    load_options = _load_options(options)
    _allow_code(engine, options.model, options)
    _check_model(engine, options, load_options)
    folder = _prepare(engine, options, cancel)
    if folder is None:
        return Finished(Outcome.CANCELLED)
    return _follow(engine.load(folder, load_options, cancel), options, is_last=False)


def _allow_code(engine: LocalEngine, model: str, options: argparse.Namespace) -> None:
    if options.allow_remote_code:
        engine.allow_code(model)


def _check_model(engine: LocalEngine, options: argparse.Namespace, load_options: LoadOptions) -> None:
    """Whatever is wrong with the request is said before a block is cut; what takes torch to know, last."""
    folder = engine.find(options.model)
    source = open_source(options.model, engine.store) if folder is None else None
    outline = outline_source(source) if source is not None else outline_split(folder or Path())
    check_budget(outline, load_options)
    if options.command == "chat" or getattr(options, "chat", None) is not None:
        check_can_chat(outline)
        if getattr(options, "image", None):
            check_can_see(outline)
    elif getattr(options, "prompt", None) is not None:
        check_can_read_text(outline)
    elif getattr(options, "prompt_ids", None) is not None:
        check_token_ids(outline, options.prompt_ids)
    if source is not None:
        check_device(options.device)
        check_source_budget(source, load_options)


def _prepare(engine: LocalEngine, options: argparse.Namespace, cancel: CancelToken) -> Path | None:
    """The folder of the split, cut first if need be; None where that was cancelled."""
    finished = _follow(engine.prepare(options.model, cancel), options, is_last=False)
    if finished.outcome is Outcome.CANCELLED or not isinstance(finished.result, SplitResult):
        return None
    return Path(finished.result.path)


def _write_logits(engine: LocalEngine, options: argparse.Namespace, cancel: CancelToken) -> None:
    import numpy as np

    session = engine.session
    if options.chat is not None:
        prompt = session.encode_prompt(_messages(options))
    elif options.prompt is not None:
        prompt = Prompt(options.prompt, tuple(session.encode(options.prompt)))
    else:
        prompt = Prompt("", tuple(session.check_ids(options.prompt_ids or [])))
    logits = engine.prompt_logits(prompt, cancel)
    try:
        with options.logits.open("wb") as file:
            np.save(file, logits.numpy())
    except OSError as error:
        raise InvalidRequest(
            f"{options.logits} cannot be written: {error.strerror}.", "Choose another file."
        ) from error


def _check_prompt(options: argparse.Namespace) -> None:
    """What needs no model to be refused is refused before one is loaded."""
    for text in (options.chat, options.prompt):
        if text is not None and not text.strip() and not options.image:
            raise InvalidRequest("The prompt is empty.", "Write something for the model to answer.")
    if options.prompt_ids is not None and not options.prompt_ids:
        raise InvalidRequest("The prompt is empty.", "Give at least one token id.")
    if options.system is not None and options.chat is None:
        raise InvalidRequest("--system belongs to a chat.", "Use it with --chat, or leave it out.")
    if options.image and options.chat is None:
        raise InvalidRequest("--image belongs to a chat.", "Use it with --chat, or leave it out.")
    check_images(options.image)
    if options.logits is not None:
        check_writable(options.logits)


def _refuse_drafts(draft: str) -> None:
    if draft != "none":
        raise InvalidRequest("This version has no drafts.", "Leave --draft out; a later version proposes tokens ahead.")


def sampling_options(options: argparse.Namespace) -> SamplingOptions:
    return SamplingOptions(
        greedy=options.greedy,
        temperature=options.temperature,
        top_p=options.top_p,
        top_k=options.top_k,
        min_p=options.min_p,
        repetition_penalty=options.repetition_penalty,
        seed=options.seed,
        max_new_tokens=options.max_new_tokens,
    )


def _load_options(options: argparse.Namespace, *, nothing_resident: bool = False) -> LoadOptions:
    return LoadOptions(options.device, options.vram, options.ram, options.context, nothing_resident)


def _follow(events: Iterable[Event], options: argparse.Namespace, *, is_last: bool = True) -> Finished:
    """Shows a job's events and returns its end. With --json the last ``Finished`` of a command is printed too."""
    line = JobLine()
    finished = Finished(Outcome.CANCELLED)
    try:
        for event in events:
            if isinstance(event, Finished):
                finished = event
            if options.json:
                if is_last or not isinstance(event, Finished):
                    _print_json(event_to_dict(event))
            else:
                line.show(event)
    finally:
        line.clear()
    return finished


def _follow_answer(events: Iterator[Event], options: argparse.Namespace) -> Finished:
    view = LiveAnswer()
    finished = Finished(Outcome.CANCELLED)
    for event in events:
        if isinstance(event, Finished):
            finished = event
        if options.json:
            _print_json(event_to_dict(event))
        else:
            view.show(event)
    return finished


def _end_cancelled(options: argparse.Namespace) -> int:
    """For a command that is stopped before its last job: the one ``Finished`` is still printed."""
    if options.json:
        _print_json(event_to_dict(Finished(Outcome.CANCELLED)))
    return EXIT_CANCELLED


def _exit_code(finished: Finished) -> int:
    return EXIT_DONE if finished.outcome is Outcome.DONE else EXIT_CANCELLED


def _print_json(fields: dict[str, Any]) -> None:
    print(json.dumps(fields, ensure_ascii=False), flush=True)


_STATES = {ModelState.AWAY.value: "on a drive that is not connected"}
"""Where the state's own name does not say it."""

_COMMANDS = {
    "probe": _probe,
    "plan": _plan,
    "download": _download,
    "split": _split,
    "list": _list,
    "verify": _verify,
    "move": _move,
    "remove": _remove,
    "generate": _generate,
    "chat": _chat,
    "bench": _bench,
}

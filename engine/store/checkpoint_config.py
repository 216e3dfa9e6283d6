"""config.json before transformers is asked: everything that can be refused from it in milliseconds. No torch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.errors import SourceError, UnsupportedModel
from engine.models.own_models import OWN_MODEL_TYPES
from engine.store.file_format import FileFormat, read_head, recognise
from engine.store.quantisation import find_quantisation, unsupported_quantisation

CONFIG_NAME = "config.json"
_LOOSE_QUANTISATION_FILES = {"quantize_config.json": "gptq", "quant_config.json": "awq"}


def read_config(root: Path) -> tuple[dict[str, Any], bytes]:
    """The parsed config.json and its bytes. Raises ``SourceError`` where there is none or it is not JSON."""
    path = root / CONFIG_NAME
    if not path.is_file():
        raise _no_config(root)
    try:
        text = path.read_bytes()
        config: Any = json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        kinds = {FileFormat.HTML: "is a web page (HTML)", FileFormat.LFS_POINTER: "is a git-lfs pointer"}
        what = kinds.get(recognise(read_head(path)), "is damaged: it is not JSON")
        raise SourceError(
            f"{CONFIG_NAME} in {root} {what}.", "Download this file again.", detail=repr(error)
        ) from error
    if not isinstance(config, dict):
        raise SourceError(f"{CONFIG_NAME} in {root} describes no model.", "Download this file again.")
    return config, text


def runs_with_code(config: Mapping[str, Any]) -> bool:
    """Whether nothing but Python code in the model's own folder knows this model."""
    model_type = config.get("model_type")
    return "auto_map" in config and isinstance(model_type, str) and not is_known_type(model_type)


def require_supported(config: Mapping[str, Any], root: Path, *, allows_code: bool = False) -> None:
    """Raises ``SourceError`` or ``UnsupportedModel`` for a config this engine cannot run, whatever its weights.

    With ``allows_code``, what only the model's own code can tell is left to it.
    """
    model_type = config.get("model_type")
    is_own = allows_code and runs_with_code(config)
    if not isinstance(model_type, str) or not (is_own or is_known_type(model_type)):
        raise _unknown_type(config, model_type)
    if not _architectures(config):
        raise SourceError(
            f"{CONFIG_NAME} in {root} names no architecture, so it cannot be told what model this is.",
            "Use the original folder of the model; its config.json has an “architectures” entry.",
        )
    # transformers takes half a second to import.
    from engine.models.known_classes import require_known_architecture

    if not is_own:
        require_known_architecture(_architectures(config), model_type)
    if config.get("is_encoder_decoder") is True:
        raise UnsupportedModel(
            f"This is an encoder-decoder model of type “{model_type}”; Strata runs decoder-only language models.",
            "Choose a chat or text-generation model.",
        )
    find_quantisation(config)
    for name, method in _LOOSE_QUANTISATION_FILES.items():
        if (root / name).is_file():
            raise unsupported_quantisation(method)


def _architectures(config: Mapping[str, Any]) -> list[str]:
    names: Any = config.get("architectures")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def is_known_type(model_type: str) -> bool:
    """Whether transformers, or Strata itself, has a config class for it."""
    if model_type in OWN_MODEL_TYPES:
        return True
    # auto_mappings is the one module of transformers that lists the model types without importing torch
    # (0.8 s and 57 MB against 1.8 s and 240 MB, transformers 5.24). The late additions to the list, made in
    # configuration_auto, are audio parts and vision towers, and gpt-sw3, whose config says gpt2.
    from transformers.models.auto.auto_mappings import CONFIG_MAPPING_NAMES

    return model_type in CONFIG_MAPPING_NAMES


def _unknown_type(config: Mapping[str, Any], model_type: object) -> UnsupportedModel | SourceError:
    if model_type is None:
        if not _architectures(config):
            return SourceError(
                f"{CONFIG_NAME} names neither a model type nor an architecture; this is not a language model.",
                "Choose a chat or text-generation model, as its hub page ships it.",
            )
        return UnsupportedModel(
            f"{CONFIG_NAME} names no model type (architecture {_architectures(config)[0]}).",
            "Use the version of the model that was made for transformers.",
        )
    if "auto_map" in config:
        return UnsupportedModel(
            f"A model of type “{model_type}” runs only with Python code from its own repository, "
            "and Strata does not run code that comes with a model.",
            "Choose a model that transformers supports by itself.",
        )
    return UnsupportedModel(
        f"Models of type “{model_type}” are not known to this version of Strata.",
        "Check whether a newer version of Strata knows it, or choose another model.",
    )


def _no_config(root: Path) -> SourceError:
    if (root / "adapter_config.json").is_file():
        return adapter_error(root)
    if (root / "model_index.json").is_file():
        return SourceError(
            f"{root} holds an image model (diffusers); Strata runs language models.",
            "Choose a chat or text-generation model.",
        )
    if (root / "params.json").is_file():
        return SourceError(
            f"{root} holds weights in their maker's own format, without a {CONFIG_NAME}.",
            "Use the version of the model that was made for transformers (often named “-hf”).",
        )
    return SourceError(
        f"{root} has no {CONFIG_NAME}, so it is not a model folder.",
        "Give the folder that holds config.json and the weight files.",
    )


def adapter_error(root: Path) -> SourceError:
    """For a folder that holds only what was trained on top of another model."""
    try:
        base: Any = json.loads((root / "adapter_config.json").read_bytes()).get("base_model_name_or_path")
    except (OSError, ValueError, AttributeError):
        base = None
    named = f" of {base}" if isinstance(base, str) and base else ""
    return SourceError(
        f"{root} holds only an adapter (LoRA){named}, not a whole model.",
        f"Use the base model{f' {base}' if named else ''}, or a version with the adapter merged into it.",
    )

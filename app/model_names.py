"""What a model is called on the screen. Plain."""

from __future__ import annotations


def model_title(name: str) -> str:
    """A model's folder name as people say it: without its owner and revision."""
    return name.replace("\\", "/").rsplit("/", 1)[-1].rsplit("--", 1)[-1].split("@", 1)[0]

"""Strata's desktop program. Never imports torch, transformers or mlx: the engine runs in its own process."""

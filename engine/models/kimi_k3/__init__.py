"""Kimi K3, which transformers does not know: a model file in its style. It knows torch and transformers only."""

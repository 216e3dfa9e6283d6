"""``python -m engine``: the fixed headless commands, for scripts and for people."""

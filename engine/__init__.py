"""Strata's streaming engine: runs language models that are bigger than the computer's memory.

Usable alone (``python -m engine``) or from any program. Never imports PySide6; importing this package
loads neither torch nor transformers.
"""

__version__ = "0.1.0"

"""Number and time fields with the spacing of the other inputs, which a style sheet cannot give them (Qt 6.12)."""

from __future__ import annotations

from typing import TypeVar

from PySide6.QtWidgets import QAbstractSpinBox, QDoubleSpinBox, QTimeEdit, QWidget

_LEFT = 10

Field = TypeVar("Field", bound=QAbstractSpinBox)


def double_spin_box(name: str, parent: QWidget | None = None) -> QDoubleSpinBox:
    """``name`` is the accessible name."""
    return _padded(QDoubleSpinBox(parent), name)


def time_edit(name: str, parent: QWidget | None = None) -> QTimeEdit:
    return _padded(QTimeEdit(parent), name)


def _padded(field: Field, name: str) -> Field:
    field.setAccessibleName(name)
    field.lineEdit().setTextMargins(_LEFT, 0, 0, 0)
    return field

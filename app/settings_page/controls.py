"""One control for each kind of value: shows what it is told, and tells what the user made of it.

Must not know settings or where values are kept. Sizes are in bytes, times are ``HH:mm``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from PySide6.QtCore import QSignalBlocker, Qt, QTime, Signal, SignalInstance
from PySide6.QtWidgets import QCheckBox, QComboBox, QFileDialog, QHBoxLayout, QLineEdit, QSlider, QWidget

from app.theme import tokens
from app.widgets.buttons import SegmentedControl, button
from app.widgets.inputs import double_spin_box, time_edit
from app.widgets.popups import combo_box

_GB = 10**9
_WIDTH = 300
_MOST_SEGMENTS = 3


class Control(Protocol):
    """What every control is, besides a QWidget. ``edited`` carries the value when the user is done with it."""

    edited: SignalInstance

    def show_value(self, value: Any) -> None:
        """Without a signal."""
        ...


class ChoiceControl(QWidget):
    """Segments for a few choices, a list for more. ``choices`` are (value, text)."""

    edited = Signal(object)

    def __init__(self, choices: Sequence[tuple[Any, str]], name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._values = [value for value, _ in choices]
        self._texts = [text for _, text in choices]
        self._inside: SegmentedControl | QComboBox
        if len(choices) <= _MOST_SEGMENTS:
            segments = SegmentedControl([(text, text) for text in self._texts], name)
            segments.chosen.connect(lambda text: self.edited.emit(self._values[self._texts.index(text)]))
            self._inside = segments
        else:
            box = combo_box(name)
            box.addItems(self._texts)
            box.setMinimumWidth(120)
            box.activated.connect(lambda index: self.edited.emit(self._values[index]))
            self._inside = box
        _row(self, self._inside)

    def show_value(self, value: Any) -> None:
        index = self._values.index(value)
        if isinstance(self._inside, QComboBox):
            self._inside.setCurrentIndex(index)
        else:
            self._inside.set_value(self._texts[index])


class FlagControl(QCheckBox):
    edited = Signal(object)

    def __init__(self, name: str, description: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setAccessibleDescription(description)
        self.clicked.connect(self._tell)

    def show_value(self, value: Any) -> None:
        self.setChecked(bool(value))

    def _tell(self) -> None:
        self.edited.emit(self.isChecked())


class TextControl(QLineEdit):
    edited = Signal(object)

    def __init__(self, name: str, placeholder: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setPlaceholderText(placeholder)
        self.setFixedWidth(_WIDTH)
        self.editingFinished.connect(lambda: self.edited.emit(self.text()))

    def show_value(self, value: Any) -> None:
        if self.text() != value:
            self.setText(value)


class TimeControl(QWidget):
    edited = Signal(object)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._time = time_edit(name)
        self._time.setDisplayFormat("HH:mm")
        self._time.setFixedWidth(110)
        self._time.editingFinished.connect(lambda: self.edited.emit(self._time.time().toString("HH:mm")))
        _row(self, self._time)

    def show_value(self, value: Any) -> None:
        self._time.setTime(QTime.fromString(value, "HH:mm"))


class FolderControl(QWidget):
    """The folder in use, a button to choose another, and one back to the default, which is the empty value."""

    edited = Signal(object)

    def __init__(self, name: str, default_folder: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name = name
        self._default_folder = default_folder
        self._line = QLineEdit()
        self._line.setReadOnly(True)
        self._line.setAccessibleName(name)
        self._line.setFixedWidth(_WIDTH)
        choose = button(self.tr("Choose…"))
        choose.setAccessibleName(self.tr("Choose the folder of models"))
        choose.clicked.connect(self._choose)
        self._back = button(self.tr("Use default"), "quiet")
        self._back.clicked.connect(lambda: self.edited.emit(""))
        _row(self, self._back, self._line, choose)

    def show_value(self, value: Any) -> None:
        folder = value or self._default_folder
        self._line.setText(folder)
        self._line.setToolTip(folder)
        self._back.setVisible(bool(value))

    def _choose(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, self._name, self._line.text())
        if folder:
            self.edited.emit(folder)


class SizeControl(QWidget):
    """Gigabytes. Where the value may be unset, the lowest step reads “Automatic”; a slider where a top is known."""

    edited = Signal(object)

    def __init__(
        self,
        name: str,
        *,
        lowest: int,
        highest: int,
        is_optional: bool,
        has_slider: bool,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._is_optional = is_optional
        self._lowest = lowest / _GB
        self._spin = double_spin_box(name)
        self._spin.setDecimals(1)
        self._spin.setSingleStep(0.5)
        self._spin.setSuffix(" GB")
        self._spin.setFixedWidth(130)
        self._spin.setKeyboardTracking(False)
        self._spin.setRange(0 if is_optional else self._lowest, highest / _GB)
        if is_optional:
            self._spin.setSpecialValueText(self.tr("Automatic"))
        self._spin.valueChanged.connect(self._take)
        self.slider = self._make_slider(name, highest / _GB) if has_slider else None
        _row(self, *([self.slider] if self.slider else []), self._spin)

    def show_value(self, value: Any) -> None:
        gigabytes = (value or 0) / _GB
        blockers = [QSignalBlocker(each) for each in (self._spin, self.slider) if each is not None]
        self._spin.setValue(gigabytes)
        if self.slider is not None:
            self.slider.setValue(round(gigabytes * 2))
        del blockers

    def _make_slider(self, name: str, top: float) -> QSlider:
        slider = QSlider(Qt.Orientation.Horizontal)
        slider.setAccessibleName(name)
        slider.setRange(0, round(top * 2))
        slider.setFixedWidth(180)
        slider.valueChanged.connect(lambda steps: self._spin.setValue(steps / 2))
        return slider

    def _take(self, gigabytes: float) -> None:
        if self._is_optional and gigabytes < self._lowest:
            self.show_value(None)
            self.edited.emit(None)
        else:
            self.edited.emit(round(gigabytes * _GB))


def _row(parent: QWidget, *widgets: QWidget) -> None:
    row = QHBoxLayout(parent)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(tokens().s)
    for each in widgets:
        row.addWidget(each)

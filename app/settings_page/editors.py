"""One control for each kind of value. Each shows the setting's value, sets it when the user is done, and follows it.

Must not know which settings exist. A control that refuses a value says so through ``refused`` and stays as it is.
"""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QCoreApplication, QSignalBlocker, Qt, QTime, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFileDialog,
    QHBoxLayout,
    QLineEdit,
    QSlider,
    QWidget,
)

from app.settings import Editor, Setting, Settings
from app.theme import tokens
from app.widgets.buttons import SegmentedControl, button
from app.widgets.inputs import double_spin_box, time_edit

_GB = 10**9
_WIDTH = 300
_MOST_SEGMENTS = 3


def text_of(english: str) -> str:
    """A declared text in the user's language."""
    return QCoreApplication.translate("Settings", english) if english else ""


class SettingEditor(QWidget):
    """Base of all: ``setting`` in, the control in ``row``. Subclasses show a value and call ``keep`` with a new one."""

    refused = Signal(str)
    accepted = Signal()

    def __init__(self, settings: Settings, setting: Setting[Any], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self.setting = setting
        self.name = text_of(setting.title)
        self.row = QHBoxLayout(self)
        self.row.setContentsMargins(0, 0, 0, 0)
        self.row.setSpacing(tokens().s)
        settings.changed.connect(self._follow)

    def show_value(self) -> None:
        raise NotImplementedError

    def keep(self, value: object) -> None:
        try:
            self._settings.set(self.setting, value)
        except (ValueError, TypeError):
            self.refused.emit(self.refusal())
            return
        self.accepted.emit()

    def refusal(self) -> str:
        return self.tr("This value is not allowed.")

    def value(self) -> Any:
        return self._settings.value(self.setting)

    def _follow(self, name: str) -> None:
        if name == self.setting.name:
            self.show_value()


class ChoiceEditor(SettingEditor):
    """Segments for a few choices, a list for more."""

    def __init__(self, settings: Settings, setting: Setting[Any], parent: QWidget | None = None) -> None:
        super().__init__(settings, setting, parent)
        self._texts = [text_of(text) for _, text in setting.choices]
        self._control: SegmentedControl | QComboBox
        if len(self._texts) <= _MOST_SEGMENTS:
            segments = SegmentedControl([(text, text) for text in self._texts], self.name)
            segments.chosen.connect(lambda text: self.keep(self._value_of(text)))
            self._control = segments
        else:
            box = QComboBox()
            box.addItems(self._texts)
            box.setAccessibleName(self.name)
            box.setMinimumWidth(120)
            box.activated.connect(lambda index: self.keep(setting.choices[index][0]))
            self._control = box
        self.row.addWidget(self._control)
        self.show_value()

    def show_value(self) -> None:
        index = next(i for i, (value, _) in enumerate(self.setting.choices) if value == self.value())
        if isinstance(self._control, QComboBox):
            self._control.setCurrentIndex(index)
        else:
            self._control.set_value(self._texts[index])

    def _value_of(self, text: str) -> object:
        return self.setting.choices[self._texts.index(text)][0]


class FlagEditor(SettingEditor):
    def __init__(self, settings: Settings, setting: Setting[Any], parent: QWidget | None = None) -> None:
        super().__init__(settings, setting, parent)
        self._box = QCheckBox()
        self._box.setAccessibleName(self.name)
        self._box.setAccessibleDescription(text_of(setting.help))
        self._box.clicked.connect(self.keep)
        self.row.addWidget(self._box)
        self.show_value()

    def show_value(self) -> None:
        self._box.setChecked(self.value())


class TextEditor(SettingEditor):
    def __init__(self, settings: Settings, setting: Setting[Any], parent: QWidget | None = None) -> None:
        super().__init__(settings, setting, parent)
        self._line = QLineEdit()
        self._line.setAccessibleName(self.name)
        self._line.setPlaceholderText(setting.placeholder)
        self._line.setFixedWidth(_WIDTH)
        self._line.editingFinished.connect(lambda: self.keep(self._line.text()))
        self.row.addWidget(self._line)
        self.show_value()

    def refusal(self) -> str:
        return self.tr("Write a whole address, such as {example}.").format(example=self.setting.placeholder)

    def show_value(self) -> None:
        if self._line.text() != self.value():
            self._line.setText(self.value())


class TimeEditor(SettingEditor):
    def __init__(self, settings: Settings, setting: Setting[Any], parent: QWidget | None = None) -> None:
        super().__init__(settings, setting, parent)
        self._time = time_edit(self.name)
        self._time.setDisplayFormat("HH:mm")
        self._time.setFixedWidth(110)
        self._time.editingFinished.connect(lambda: self.keep(self._time.time().toString("HH:mm")))
        self.row.addWidget(self._time)
        self.show_value()

    def show_value(self) -> None:
        self._time.setTime(QTime.fromString(self.value(), "HH:mm"))


class FolderEditor(SettingEditor):
    """The folder in use, a button to choose another, and one back to the default."""

    def __init__(
        self, settings: Settings, setting: Setting[Any], default_folder: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(settings, setting, parent)
        self._default_folder = default_folder
        self._line = QLineEdit()
        self._line.setReadOnly(True)
        self._line.setAccessibleName(self.name)
        self._line.setFixedWidth(_WIDTH)
        choose = button(self.tr("Choose…"))
        choose.setAccessibleName(self.tr("Choose the folder of models"))
        choose.clicked.connect(self._choose)
        self._back = button(self.tr("Use default"), "quiet")
        self._back.clicked.connect(lambda: self.keep(""))
        for each in (self._back, self._line, choose):
            self.row.addWidget(each)
        self.show_value()

    def show_value(self) -> None:
        folder = self.value() or self._default_folder
        self._line.setText(folder)
        self._line.setToolTip(folder)
        self._back.setVisible(bool(self.value()))

    def _choose(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, self.name, self._line.text())
        if folder:
            self.keep(folder)


class SizeEditor(SettingEditor):
    """Gigabytes. Where the setting may be unset, its lowest step reads “Automatic”; a slider where a top is known."""

    def __init__(
        self, settings: Settings, setting: Setting[Any], top_bytes: int | None, parent: QWidget | None = None
    ) -> None:
        super().__init__(settings, setting, parent)
        self._lowest = (setting.lowest or 0) / _GB
        top = (setting.highest or top_bytes or 4000 * _GB) / _GB
        self._spin = double_spin_box(self.name)
        self._spin.setDecimals(1)
        self._spin.setSingleStep(0.5)
        self._spin.setSuffix(" GB")
        self._spin.setFixedWidth(130)
        self._spin.setKeyboardTracking(False)
        self._spin.setRange(0 if setting.default is None else self._lowest, top)
        if setting.default is None:
            self._spin.setSpecialValueText(self.tr("Automatic"))
        self._spin.valueChanged.connect(self._take)
        self._slider: QSlider | None = None
        if top_bytes is not None:
            self._slider = self._make_slider(top)
            self.row.addWidget(self._slider)
        self.row.addWidget(self._spin)
        self.show_value()

    def _make_slider(self, top: float) -> QSlider:
        slider = QSlider(Qt.Orientation.Horizontal)
        slider.setAccessibleName(self.name)
        slider.setRange(0, round(top * 2))
        slider.setFixedWidth(180)
        slider.valueChanged.connect(lambda steps: self._spin.setValue(steps / 2))
        return slider

    def show_value(self) -> None:
        gigabytes = (self.value() or 0) / _GB
        blockers = [QSignalBlocker(each) for each in (self._spin, self._slider) if each is not None]
        self._spin.setValue(gigabytes)
        if self._slider is not None:
            self._slider.setValue(round(gigabytes * 2))
        del blockers

    def _take(self, gigabytes: float) -> None:
        if self.setting.default is None and gigabytes < self._lowest:
            self.keep(None)
            self.show_value()
        else:
            self.keep(round(gigabytes * _GB))


def editor_for(
    settings: Settings, setting: Setting[Any], *, default_folder: str, top_bytes: int | None
) -> SettingEditor:
    """The control for this setting. ``top_bytes`` is the machine's memory where a size is meant and it is known."""
    match setting.editor:
        case Editor.CHOICE:
            return ChoiceEditor(settings, setting)
        case Editor.FLAG:
            return FlagEditor(settings, setting)
        case Editor.TEXT:
            return TextEditor(settings, setting)
        case Editor.TIME:
            return TimeEditor(settings, setting)
        case Editor.FOLDER:
            return FolderEditor(settings, setting, default_folder)
        case Editor.SIZE:
            return SizeEditor(settings, setting, top_bytes)
        case Editor.NONE:
            raise ValueError(f"{setting.name} is not edited by hand")

"""A declared setting and the control that edits it: shows the value in use, keeps what the user makes of it.

Owns which control a kind of setting gets. Must not know which settings exist.
"""

from __future__ import annotations

from typing import Any, cast

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.settings import Editor, Setting, Settings
from app.settings_page.controls import (
    ChoiceControl,
    Control,
    FlagControl,
    FolderControl,
    SizeControl,
    TextControl,
    TimeControl,
)

_ENOUGH_BYTES = 4000 * 10**9


def text_of(english: str) -> str:
    """A declared text in the user's language."""
    return QCoreApplication.translate("Settings", english) if english else ""


class SettingEditor(QWidget):
    """``refused`` says why a value is not kept; the control stays as it is then. ``accepted`` when one is."""

    refused = Signal(str)
    accepted = Signal()

    def __init__(
        self, settings: Settings, setting: Setting[Any], control: QWidget, parent: QWidget | None = None
    ) -> None:
        """``control`` is a ``Control`` as well."""
        super().__init__(parent)
        self._settings = settings
        self._setting = setting
        self._control = cast(Control, control)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(control)
        self._control.edited.connect(self._keep)
        settings.changed.connect(self._follow)
        self._control.show_value(settings.value(setting))

    def _keep(self, value: object) -> None:
        try:
            self._settings.set(self._setting, value)
        except (ValueError, TypeError):
            self.refused.emit(self._refusal())
            return
        self.accepted.emit()

    def _refusal(self) -> str:
        if self._setting.placeholder:
            return self.tr("Write a whole address, such as {example}.").format(example=self._setting.placeholder)
        return self.tr("This value is not allowed.")

    def _follow(self, name: str) -> None:
        if name == self._setting.name:
            self._control.show_value(self._settings.value(self._setting))


def control_for(setting: Setting[Any], *, default_folder: str, top_bytes: int | None) -> QWidget:
    """What edits this kind of setting; a ``Control``. ``top_bytes`` is the machine's memory where that is the top."""
    name = text_of(setting.title)
    match setting.editor:
        case Editor.CHOICE:
            return ChoiceControl([(value, text_of(text)) for value, text in setting.choices], name)
        case Editor.FLAG:
            return FlagControl(name, text_of(setting.help))
        case Editor.TEXT:
            return TextControl(name, setting.placeholder)
        case Editor.TIME:
            return TimeControl(name)
        case Editor.FOLDER:
            return FolderControl(name, default_folder)
        case Editor.SIZE:
            return SizeControl(
                name,
                lowest=setting.lowest or 0,
                highest=setting.highest or top_bytes or _ENOUGH_BYTES,
                is_optional=setting.default is None,
                has_slider=top_bytes is not None,
            )
        case Editor.NONE:
            raise ValueError(f"{setting.name} is not edited by hand")

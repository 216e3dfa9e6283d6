"""The right panel: the system prompt and how the next token is chosen, for this chat, and presets of both.

Every field says "model's default" until it is changed, and has a button back to that. Owns no conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from PySide6.QtCore import QCoreApplication, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QPlainTextEdit,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.conversations.records import Preset
from app.theme import tokens
from app.translation import QT_TRANSLATE_NOOP
from app.widgets.buttons import button, icon_button
from app.widgets.inputs import double_spin_box
from app.widgets.labels import label
from app.widgets.popups import combo_box
from app.widgets.question import NameDialog
from engine.api import SamplingOptions
from engine.errors import InvalidRequest

WIDTH = 336
_SAVE_MS = 400


@dataclass(frozen=True, slots=True)
class _Field:
    """One number of ``SamplingOptions``. ``lowest`` minus one step stands for the model's default."""

    name: str
    title: str
    help: str
    lowest: float
    highest: float
    step: float
    decimals: int


_FIELDS = (
    _Field(
        "temperature", QT_TRANSLATE_NOOP("OptionsPanel", "Temperature"),
        QT_TRANSLATE_NOOP("OptionsPanel", "Lower is more predictable, higher more varied. 0 is always the likeliest."),
        0.0, 5.0, 0.05, 2,
    ),
    _Field(
        "top_p", QT_TRANSLATE_NOOP("OptionsPanel", "Top-p"),
        QT_TRANSLATE_NOOP("OptionsPanel", "Keeps the likeliest tokens that make up this share. 1 keeps all."),
        0.01, 1.0, 0.01, 2,
    ),
    _Field(
        "top_k", QT_TRANSLATE_NOOP("OptionsPanel", "Top-k"),
        QT_TRANSLATE_NOOP("OptionsPanel", "Keeps this many of the likeliest tokens. 0 keeps all."),
        0, 1000, 1, 0,
    ),
    _Field(
        "min_p", QT_TRANSLATE_NOOP("OptionsPanel", "Min-p"),
        QT_TRANSLATE_NOOP("OptionsPanel", "Drops tokens below this share of the likeliest one. 0 drops none."),
        0.0, 0.99, 0.01, 2,
    ),
    _Field(
        "repetition_penalty", QT_TRANSLATE_NOOP("OptionsPanel", "Repetition penalty"),
        QT_TRANSLATE_NOOP("OptionsPanel", "Above 1 the model repeats itself less."),
        0.5, 2.0, 0.05, 2,
    ),
    _Field(
        "seed", QT_TRANSLATE_NOOP("OptionsPanel", "Seed"),
        QT_TRANSLATE_NOOP("OptionsPanel", "The same number gives the same answer again."),
        0, 2**31 - 1, 1, 0,
    ),
    _Field(
        "max_new_tokens", QT_TRANSLATE_NOOP("OptionsPanel", "Longest answer"),
        QT_TRANSLATE_NOOP("OptionsPanel", "In tokens. The answer ends there, even in the middle of a sentence."),
        1, 131_072, 256, 0,
    ),
)  # fmt: skip


class OptionsPanel(QFrame):
    system_prompt_changed = Signal(str)
    sampling_changed = Signal(object)  # SamplingOptions
    preset_saved = Signal(str)
    preset_chosen = Signal(object)  # Preset
    preset_removed = Signal(int)
    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("role", "panel")
        self.setAccessibleName(self.tr("Options of this chat"))
        self.setFixedWidth(WIDTH)
        self._sampling = SamplingOptions()
        self._presets: Sequence[Preset] = ()
        self._is_filling = False
        self.prompt = QPlainTextEdit()
        self.prompt.setAccessibleName(self.tr("System prompt"))
        self.prompt.setPlaceholderText(self.tr("How the model should behave in this chat"))
        self.prompt.setTabChangesFocus(True)
        self.prompt.setFixedHeight(132)
        self._prompt_timer = QTimer(self, singleShot=True, interval=_SAVE_MS)
        self._prompt_timer.timeout.connect(self.keep)
        self.prompt.textChanged.connect(self._prompt_edited)
        self.rows = {each.name: _SamplingRow(each) for each in _FIELDS}
        for name, row in self.rows.items():
            row.changed.connect(self._setter(name))
        self.preset = combo_box(self.tr("Preset"))
        self.preset.activated.connect(self._choose_preset)
        self._remove = icon_button("trash", self.tr("Delete this preset"), size=16)
        self._remove.clicked.connect(self._remove_preset)
        self._lay_out()

    @property
    def sampling(self) -> SamplingOptions:
        return self._sampling

    def show_options(self, system_prompt: str, sampling: SamplingOptions) -> None:
        """Without telling anybody. A prompt that is being written stays: ``keep_if_waiting`` first for another chat."""
        self._is_filling = True
        if not self._prompt_timer.isActive() and self.prompt.toPlainText() != system_prompt:
            self.prompt.setPlainText(system_prompt)
        self._sampling = sampling
        for name, row in self.rows.items():
            row.show_value(getattr(sampling, name))
        self._is_filling = False

    def show_presets(self, presets: Sequence[Preset]) -> None:
        self._presets = presets
        self.preset.clear()
        self.preset.addItem(self.tr("No preset") if not presets else self.tr("Choose a preset"))
        for each in presets:
            self.preset.addItem(each.name)
        self.preset.setEnabled(bool(presets))
        self._remove.setVisible(False)

    def keep(self) -> None:
        """Tells the system prompt now, if it waits to be told."""
        self._prompt_timer.stop()
        self.system_prompt_changed.emit(self.prompt.toPlainText())

    def keep_if_waiting(self) -> None:
        if self._prompt_timer.isActive():
            self.keep()

    def _lay_out(self) -> None:
        look = tokens()
        head = QHBoxLayout()
        head.addWidget(label(self.tr("Options of this chat"), "title"), 1)
        close = icon_button("close", self.tr("Close the options"), size=16)
        close.clicked.connect(self.closed)
        head.addWidget(close)
        inside = QWidget()
        column = QVBoxLayout(inside)
        column.setContentsMargins(look.m, 0, look.m, look.m)
        column.setSpacing(look.s)
        presets = QHBoxLayout()
        presets.setSpacing(look.xs)
        presets.addWidget(self.preset, 1)
        presets.addWidget(self._remove)
        save = icon_button("plus", self.tr("Save as a preset"), size=16)
        save.clicked.connect(self._save_preset)
        presets.addWidget(save)
        column.addWidget(label(self.tr("Preset"), "section"))
        column.addLayout(presets)
        column.addSpacing(look.s)
        column.addWidget(label(self.tr("System prompt"), "section"))
        column.addWidget(self.prompt)
        column.addSpacing(look.s)
        column.addWidget(label(self.tr("Sampling"), "section"))
        for row in self.rows.values():
            column.addWidget(row)
        reset = button(self.tr("All to the model's defaults"), "quiet")
        reset.clicked.connect(self._reset)
        column.addSpacing(look.xs)
        column.addWidget(reset)
        column.addStretch(1)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(inside)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, look.s, 0, 0)
        whole.setSpacing(look.s)
        head.setContentsMargins(look.m, 0, look.s, 0)
        whole.addLayout(head)
        whole.addWidget(scroll, 1)

    def _setter(self, name: str) -> Callable[[object], None]:
        return lambda value: self._change(name, value)

    def _change(self, name: str, value: object) -> None:
        default = getattr(SamplingOptions(), name)
        try:
            self._sampling = replace(self._sampling, **{name: default if value is None else value})
        except InvalidRequest:
            return
        self.sampling_changed.emit(self._sampling)

    def _reset(self) -> None:
        self.show_options(self.prompt.toPlainText(), SamplingOptions())
        self.sampling_changed.emit(self._sampling)

    def _prompt_edited(self) -> None:
        if not self._is_filling and not self._prompt_timer.isActive():
            self._prompt_timer.start()

    def _choose_preset(self, row: int) -> None:
        self._remove.setVisible(row > 0)
        self._prompt_timer.stop()
        if row > 0:
            preset = self._presets[row - 1]
            self.show_options(preset.system_prompt, preset.sampling)
            self.preset_chosen.emit(preset)

    def _save_preset(self) -> None:
        """A name that exists means that preset: the one in use is offered."""
        chosen = self.preset.currentText() if self.preset.currentIndex() > 0 else ""
        dialog = NameDialog(
            self.tr("Save as a preset"),
            self.tr("Keeps the system prompt and the sampling of this chat, for others as well."),
            name=chosen,
            yes=self.tr("Save"),
            no=self.tr("Cancel"),
            parent=self,
        )
        dialog.named.connect(self._save_as)
        dialog.open()

    def _save_as(self, name: str) -> None:
        self.keep_if_waiting()
        self.preset_saved.emit(name)

    def _remove_preset(self) -> None:
        if self.preset.currentIndex() > 0:
            self.preset_removed.emit(self._presets[self.preset.currentIndex() - 1].id)


class _SamplingRow(QWidget):
    """``changed`` carries the number, or None for the model's default."""

    changed = Signal(object)

    def __init__(self, field: _Field) -> None:
        super().__init__()
        look = tokens()
        self._field = field
        title = QCoreApplication.translate("OptionsPanel", field.title)
        help_text = QCoreApplication.translate("OptionsPanel", field.help)
        self.box = double_spin_box(title)
        self.box.setDecimals(field.decimals)
        self.box.setRange(field.lowest - field.step, field.highest)
        self.box.setSingleStep(field.step)
        # The place below the lowest number stands for "not set".
        self.box.setSpecialValueText(self._default_text())
        self.box.setToolTip(help_text)
        self.box.setKeyboardTracking(False)
        self.box.setFixedWidth(124)
        self.reset = icon_button("undo", self.tr("{title}: back to the model's default").format(title=title), size=14)
        name = label(title)
        name.setToolTip(help_text)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(look.xs)
        row.addWidget(name, 1)
        row.addWidget(self.reset)
        row.addWidget(self.box)
        self.box.valueChanged.connect(self._tell)
        self.reset.clicked.connect(lambda: self.box.setValue(self.box.minimum()))
        self.show_value(None)

    def show_value(self, value: float | None) -> None:
        default = getattr(SamplingOptions(), self._field.name)
        is_default = value is None or value == default
        self.box.blockSignals(True)
        self.box.setValue(self.box.minimum() if is_default else float(value or 0))
        self.box.blockSignals(False)
        self._refresh()

    def _default_text(self) -> str:
        default = getattr(SamplingOptions(), self._field.name)
        if default is not None:
            return str(default)
        if self._field.name == "seed":
            return self.tr("random")
        return self.tr("default")

    def _tell(self) -> None:
        self._refresh()
        if self.box.value() < self._field.lowest:
            self.changed.emit(None)
        else:
            self.changed.emit(self.box.value() if self._field.decimals else round(self.box.value()))

    def _refresh(self) -> None:
        is_set = self.box.value() >= self._field.lowest
        policy = self.reset.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.reset.setSizePolicy(policy)
        self.reset.setVisible(is_set)

"""The style sheet, made from tokens. Widgets choose a look by a dynamic property, never by a sheet of their own.

``role`` on labels: display, heading, title, muted, faint, small, mono, danger, warning, success, accent.
``role`` on frames: card (a raised surface), panel (sidebar colour), notice-info/-warning/-danger/-success, line.
``kind`` on QPushButton: primary, danger, quiet (no border until hovered), link; none is the ordinary button.
QToolButton is a flat icon button; ``kind`` primary makes it filled (send), row a full-width sidebar row.
"""

from __future__ import annotations

from string import Template

from app.paths import resources_dir
from app.tokens import Tokens

_BASE = """
QWidget { color: $text; }
QWidget:disabled { color: $line_strong; }
QMainWindow, QDialog, QStackedWidget, QMessageBox, QFileDialog { background: $window; }
QToolTip { background: $raised; color: $text; border: 1px solid $input_line; padding: 4px 8px; }

QLabel { background: transparent; }
QLabel[role="display"] { font-size: ${font_display}px; font-weight: 600; }
QLabel[role="heading"] { font-size: ${font_heading}px; font-weight: 600; }
QLabel[role="title"] { font-size: ${font_title}px; font-weight: 600; }
QLabel[role="strong"] { font-weight: 600; }
QLabel[role="muted"] { color: $text_muted; }
QLabel[role="faint"] { color: $text_faint; font-size: ${font_small}px; }
QLabel[role="small"] { font-size: ${font_small}px; color: $text_muted; }
QLabel[role="section"] { font-size: ${font_small}px; color: $text_faint; font-weight: 600; }
QLabel[role="mono"] { font-family: monospace; font-size: ${font_small}px; }
QLabel[role="danger"] { color: $danger; }
QLabel[role="warning"] { color: $warning; }
QLabel[role="success"] { color: $success; }
QLabel[role="accent"] { color: $accent; }
QLabel[role="badge"] { color: $accent; background: $accent_soft; border-radius: 9px; padding: 2px 8px;
    font-size: ${font_small}px; font-weight: 600; }
QLabel[role="badge-muted"] { color: $text_muted; background: $hover; border-radius: 9px; padding: 2px 8px;
    font-size: ${font_small}px; }
QLabel[role="badge-warning"] { color: $warning; background: $warning_soft; border-radius: 9px; padding: 2px 8px;
    font-size: ${font_small}px; }
QLabel[role="badge-danger"] { color: $danger; background: $danger_soft; border-radius: 9px; padding: 2px 8px;
    font-size: ${font_small}px; }
QLabel[role="key"] { color: $text_muted; background: $surface; border: 1px solid $line; border-bottom-width: 2px;
    border-radius: 6px; padding: 2px 8px; font-size: ${font_small}px; }

QFrame[role="card"] { background: $raised; border: 1px solid $line; border-radius: ${radius_large}px; }
QFrame[role="panel"], QWidget[role="panel"] { background: $surface; }
QWidget[role="segments"] { background: $hover; border-radius: ${radius}px; }
QFrame[role="chip"] { background: $hover; border: none; border-radius: ${radius}px; }
QFrame[role="popup"] { background: $raised; border: 1px solid $line; border-radius: ${radius_large}px; }
QFrame[role="popup-square"] { background: $raised; border: 1px solid $input_line; }
QFrame[role="line"] { background: $line; border: none; min-height: 1px; max-height: 1px; }
QFrame[role="vline"] { background: $line; border: none; min-width: 1px; max-width: 1px; }
QWidget[role="row-head"] { background: transparent; border: 1px solid transparent; border-radius: ${radius}px; }
QWidget[role="row-head"]:hover { background: $hover; }
QWidget[role="row-head"]:focus { border: 1px solid $accent; }
QFrame[role="notice-info"] { background: $accent_soft; border: none; border-radius: ${radius}px; }
QFrame[role="notice-warning"] { background: $warning_soft; border: none; border-radius: ${radius}px; }
QFrame[role="notice-danger"] { background: $danger_soft; border: none; border-radius: ${radius}px; }
QFrame[role="notice-success"] { background: $success_soft; border: none; border-radius: ${radius}px; }
"""

_BUTTONS = """
QPushButton { background: $raised; color: $text; border: 1px solid $line; border-radius: ${radius}px;
    padding: 0 16px; min-height: ${button_height}px; font-weight: 500; }
QPushButton:hover { background: $hover; }
QPushButton:pressed { background: $pressed; }
QPushButton:focus { border: 2px solid $accent; padding: 0 15px; }
QPushButton:disabled { background: $surface; color: $line_strong; border-color: $line; }
QPushButton[kind="primary"] { background: $accent; color: $accent_text; border: 1px solid $accent; font-weight: 600; }
QPushButton[kind="primary"]:hover { background: $accent_hover; border-color: $accent_hover; }
QPushButton[kind="primary"]:pressed { background: $accent_pressed; border-color: $accent_pressed; }
QPushButton[kind="primary"]:focus { border: 2px solid $text; }
QPushButton[kind="primary"]:disabled { background: $pressed; color: $text_faint; border-color: $pressed; }
QPushButton[kind="danger"] { background: $danger; color: $danger_text; border: 1px solid $danger; font-weight: 600; }
QPushButton[kind="danger"]:focus { border: 2px solid $text; }
QPushButton[kind="quiet"] { background: transparent; border: 1px solid transparent; color: $text_muted;
    padding: 0 12px; }
QPushButton[kind="quiet"]:hover { background: $hover; color: $text; }
QPushButton[kind="quiet"]:pressed { background: $pressed; }
QPushButton[kind="quiet"]:focus { border: 2px solid $accent; padding: 0 11px; }
QPushButton[kind="quiet"]:disabled { color: $line_strong; }
QPushButton[kind="example"] { background: $raised; border: 1px solid $line; border-radius: ${radius_large}px;
    padding: 0; min-height: 72px; }
QPushButton[kind="example"]:hover { background: $hover; }
QPushButton[kind="example"]:focus { border: 2px solid $accent; padding: 0; }
QPushButton[kind="link"] { background: transparent; border: 2px solid transparent; border-radius: 4px; color: $accent;
    padding: 0; margin-left: -2px; min-height: 20px; text-align: left; }
QPushButton[kind="link"]:hover { color: $accent_hover; text-decoration: underline; }
QPushButton[kind="link"]:focus { border-color: $accent; }

QToolButton { background: transparent; color: $text_muted; border: 1px solid transparent; border-radius: ${radius}px;
    padding: 6px; }
QToolButton:hover { background: $hover; color: $text; }
QToolButton:pressed, QToolButton:checked { background: $pressed; color: $text; }
QToolButton:focus { border: 1px solid $accent; }
QToolButton:disabled { color: $line_strong; }
QToolButton::menu-indicator { image: none; }
QToolButton[kind="primary"] { background: $accent; color: $accent_text; border-color: $accent; }
QToolButton[kind="primary"]:hover { background: $accent_hover; border-color: $accent_hover; }
QToolButton[kind="primary"]:focus { border: 2px solid $text; }
QToolButton[kind="primary"]:disabled { background: $pressed; border-color: $pressed; }
QToolButton[kind="row"] { text-align: left; padding: 8px; color: $text; font-weight: 500; }
QToolButton[kind="row"]:checked { background: $pressed; }
QToolButton[kind="row"]:focus { border: 1px solid $accent; }
QToolButton[kind="floating"] { background: $raised; border: 1px solid $line; border-radius: 18px; padding: 8px; }
QToolButton[kind="floating"]:hover { background: $hover; }
QToolButton[kind="floating"]:focus { border-color: $accent; }
QToolButton[kind="corner"] { background: $raised; border: 1px solid $input_line; border-radius: 10px; padding: 0; }
QToolButton[kind="corner"]:hover { background: $hover; }
QToolButton[kind="corner"]:focus { border-color: $accent; }
QToolButton[kind="segment"] { padding: 0 16px; min-height: ${segment_height}px; color: $text_muted;
    border-radius: ${radius_small}px; }
QToolButton[kind="segment"]:checked { background: $raised; color: $text; border: 1px solid $line; }
QToolButton[kind="segment"]:focus { border: 1px solid $accent; }
"""

_INPUTS = """
QAbstractScrollArea { background: transparent; border: none; }
QLineEdit, QPlainTextEdit, QTextEdit, QSpinBox, QDoubleSpinBox, QTimeEdit, QComboBox, QAbstractSpinBox {
    background: $raised; color: $text; border: 1px solid $input_line; border-radius: ${radius}px;
    selection-background-color: $selection; selection-color: $text; }
QLineEdit, QSpinBox, QDoubleSpinBox, QTimeEdit, QComboBox { padding: 0 10px; min-height: ${button_height}px; }
QPlainTextEdit, QTextEdit { padding: 8px; }
QLineEdit:focus, QPlainTextEdit:focus, QTextEdit:focus, QAbstractSpinBox:focus, QComboBox:focus {
    border: 2px solid $accent; }
QLineEdit:focus, QAbstractSpinBox:focus, QComboBox:focus { padding: 0 9px; }
QPlainTextEdit:focus, QTextEdit:focus { padding: 7px; }
QLineEdit:disabled, QAbstractSpinBox:disabled, QComboBox:disabled { background: $surface; }
QLineEdit[kind="bare"], QPlainTextEdit[kind="bare"], QTextEdit[kind="bare"], QTextBrowser[kind="bare"] {
    background: transparent; border: none; padding: 0; }
QAbstractSpinBox QLineEdit, QAbstractSpinBox QLineEdit:focus { border: none; background: transparent; padding: 0;
    min-height: 0; }
QAbstractSpinBox::up-button, QAbstractSpinBox::down-button { subcontrol-origin: border; width: 24px; border: none;
    background: transparent; }
QAbstractSpinBox::up-button { subcontrol-position: top right; }
QAbstractSpinBox::down-button { subcontrol-position: bottom right; }
QAbstractSpinBox::up-arrow { image: url("$images/chevron-up.svg"); width: 12px; height: 12px; }
QAbstractSpinBox::down-arrow { image: url("$images/chevron-down.svg"); width: 12px; height: 12px; }
QComboBox::drop-down { border: none; width: 28px; }
QComboBox::down-arrow { image: url("$images/chevron-down.svg"); width: 14px; height: 14px; }
QComboBox QAbstractItemView { background: $raised; border: 1px solid $input_line; padding: 4px;
    outline: none; selection-background-color: $hover; selection-color: $text; }
QComboBox QAbstractItemView[corners="round"] { border: 1px solid $line; border-radius: ${radius}px; }
QComboBox QAbstractItemView::item { min-height: 32px; padding: 0 8px; border-radius: ${radius_small}px; }

QCheckBox, QRadioButton { spacing: 8px; background: transparent; }
QCheckBox::indicator, QRadioButton::indicator { width: 18px; height: 18px; border: 1px solid $line_strong;
    background: $raised; }
QCheckBox::indicator { border-radius: 5px; }
QRadioButton::indicator { border-radius: 10px; }
QCheckBox::indicator:hover, QRadioButton::indicator:hover { border-color: $accent; }
QCheckBox::indicator:focus, QRadioButton::indicator:focus { border: 2px solid $accent; width: 16px; height: 16px; }
QCheckBox::indicator:checked { background: $accent; border-color: $accent; image: url("$images/check-$scheme.svg"); }
QRadioButton::indicator:checked { background: $accent; border-color: $accent; image: url("$images/dot-$scheme.svg"); }
QCheckBox::indicator:checked:focus, QRadioButton::indicator:checked:focus { border-color: $text; }
QCheckBox::indicator:disabled, QRadioButton::indicator:disabled { background: $surface; border-color: $line; }

QSlider { min-height: 24px; background: transparent; }
QSlider::groove:horizontal { height: 4px; background: $pressed; border-radius: 2px; }
QSlider::sub-page:horizontal { background: $accent; border-radius: 2px; }
QSlider::handle:horizontal { width: 18px; height: 18px; margin: -7px 0; border-radius: 9px; background: $accent; }
QSlider::handle:horizontal:hover { background: $accent_hover; }
QSlider::handle:horizontal:focus { border: 2px solid $text; width: 14px; height: 14px; }
QProgressBar { background: $pressed; border: none; border-radius: 3px; min-height: 6px; max-height: 6px;
    color: transparent; }
QProgressBar::chunk { background: $accent; border-radius: 3px; }
"""

_VIEWS = """
QScrollArea, QScrollArea > QWidget > QWidget { background: transparent; border: none; }
QListView, QTreeView, QTableView, QListWidget { background: transparent; border: none; outline: none;
    selection-background-color: $pressed; selection-color: $text; }
QListView::item, QTreeView::item { border-radius: ${radius_small}px; padding: 4px 8px; }
QListView::item:hover, QTreeView::item:hover { background: $hover; }
QListView::item:selected, QTreeView::item:selected { background: $pressed; color: $text; }
QHeaderView::section { background: transparent; color: $text_faint; border: none; border-bottom: 1px solid $line;
    padding: 8px; font-size: ${font_small}px; }
QScrollBar:vertical { background: transparent; width: 12px; margin: 0; border: none; }
QScrollBar:horizontal { background: transparent; height: 12px; margin: 0; border: none; }
QScrollBar::handle { background: $scroll; border-radius: 4px; }
QScrollBar::handle:hover { background: $line_strong; }
QScrollBar::handle:vertical { min-height: 32px; margin: 2px; }
QScrollBar::handle:horizontal { min-width: 32px; margin: 2px; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; border: none; background: none; }
QScrollBar::add-page, QScrollBar::sub-page { background: none; }
QSplitter::handle { background: $line; }
QSplitter::handle:horizontal { width: 1px; }
QSplitter::handle:vertical { height: 1px; }
QMenu { background: $raised; border: 1px solid $input_line; padding: 4px; }
QMenu[corners="round"] { border: 1px solid $line; border-radius: ${radius}px; }
QMenu::item { padding: 8px 24px 8px 12px; border-radius: ${radius_small}px; background: transparent; }
QMenu::item:selected { background: $hover; }
QMenu::item:disabled { color: $line_strong; }
QMenu::separator { height: 1px; background: $line; margin: 4px 8px; }
QMenu::icon { padding-left: 8px; }
QTabBar { background: transparent; }
QTabBar::tab { background: transparent; color: $text_muted; padding: 8px 12px; border-bottom: 2px solid transparent; }
QTabBar::tab:selected { color: $text; border-bottom-color: $accent; }
QTabWidget::pane { border: none; }
QDialogButtonBox { button-layout: 0; }
"""


def stylesheet(tokens: Tokens) -> str:
    """The whole sheet for these tokens."""
    values = {name: getattr(tokens, name) for name in tokens.__dataclass_fields__}
    values |= {
        "scheme": "dark" if tokens.is_dark else "light",
        "images": (resources_dir() / "theme").as_posix(),
        "button_height": tokens.control_height - 2,
        "segment_height": tokens.control_height - 8,
        "input_line": "#4d4945" if tokens.is_dark else "#cfcac2",
        "scroll": "#45413d" if tokens.is_dark else "#d3cec6",
    }
    return Template(_BASE + _BUTTONS + _INPUTS + _VIEWS).substitute(values)

"""Theme, icons and the small controls every page shares."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QSize, Qt
from PySide6.QtGui import QColor, QPalette
from PySide6.QtTest import QSignalSpy
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.crash import CrashReport
from app.crash_dialog import CrashDialog
from app.icons import APP_ICON_SIZES, app_icon, icon, pixmap
from app.paths import resources_dir
from app.theme import Theme, ThemeChoice, tokens
from app.tokens import DARK, LIGHT
from app.widgets.buttons import SegmentedControl, button, icon_button
from app.widgets.column import CentredColumn
from app.widgets.inputs import double_spin_box
from app.widgets.labels import ElidedLabel
from app.widgets.notice_bar import NoticeBar, NoticeKind, NoticeRow
from app.widgets.question import NameDialog, QuestionDialog
from app.widgets.side_panel import SidePanel
from app.widgets.states import EmptyState, ProgressLine

ICONS = sorted(each.stem for each in (resources_dir() / "icons").glob("*.svg"))


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    theme = Theme()
    theme.choose(ThemeChoice.LIGHT)
    theme.apply(qapp)
    yield theme
    theme.choose(ThemeChoice.SYSTEM)


def test_a_theme_reaches_palette_and_tokens_and_tells(theme: Theme, qapp: QApplication, qtbot: QtBot) -> None:
    with qtbot.waitSignal(theme.changed):
        theme.choose(ThemeChoice.DARK)
    assert theme.tokens() == tokens() == DARK
    assert qapp.palette().color(QPalette.ColorRole.Window) == QColor(DARK.window)
    theme.choose(ThemeChoice.LIGHT)
    assert tokens() == LIGHT


def test_the_same_theme_again_tells_nothing(theme: Theme) -> None:
    told: list[None] = []
    theme.changed.connect(lambda: told.append(None))
    theme.choose(ThemeChoice.LIGHT)
    theme.set_font_scale(1.0)
    assert told == []


def test_a_font_scale_reaches_the_application_font(theme: Theme, qapp: QApplication) -> None:
    theme.set_font_scale(1.5)
    assert qapp.font().pixelSize() == 21
    theme.set_font_scale(1.0)
    assert qapp.font().pixelSize() == 14


@pytest.mark.parametrize("name", ICONS)
def test_an_icon_is_of_the_family_and_paints(name: str, theme: Theme) -> None:
    text = (resources_dir() / "icons" / f"{name}.svg").read_text(encoding="utf-8")
    assert 'viewBox="0 0 24 24"' in text
    assert "currentColor" in text
    assert not re.search(r"#[0-9a-fA-F]{3}", text)
    image = pixmap(name, 24).toImage()
    assert any(image.pixelColor(x, y).alpha() for x in range(24) for y in range(24))


def test_an_icon_follows_the_theme(theme: Theme) -> None:
    check = icon("check", colour="text")

    def darkest() -> int:
        image = check.pixmap(24, 24).toImage()
        opaque = [image.pixelColor(x, y) for x in range(24) for y in range(24)]
        return min(each.lightness() for each in opaque if each.alpha() == 255)

    assert darkest() < 60
    theme.choose(ThemeChoice.DARK)
    assert darkest() > 200


@pytest.mark.parametrize("ratio", [1.0, 1.5, 2.0])
def test_an_icon_is_drawn_in_the_pixels_of_the_screen(theme: Theme, ratio: float) -> None:
    picture = icon("check").pixmap(QSize(20, 20), ratio)
    assert (picture.width(), picture.devicePixelRatio()) == (round(20 * ratio), ratio)


def test_an_icon_that_does_not_exist_is_noticed_at_once() -> None:
    with pytest.raises(FileNotFoundError):
        icon("no-such-icon")


def test_the_app_icon_is_there_in_every_size_as_a_file_too() -> None:
    assert {each.width() for each in app_icon().availableSizes()} == set(APP_ICON_SIZES)
    for pixels in APP_ICON_SIZES:
        assert (resources_dir() / "app-icon" / f"strata-{pixels}.png").is_file()


def test_a_notice_says_what_happened_and_what_to_do(theme: Theme, qtbot: QtBot) -> None:
    bar = NoticeBar()
    qtbot.addWidget(bar)
    assert bar.isHidden()
    bar.show_notice(
        NoticeKind.DANGER,
        "Needs 41.2 GB, 12.0 GB free on D:.",
        "Choose another drive.",
        action="Choose a drive",
        detail="errno 28",
    )
    assert bar.isVisible()
    assert bar.accessibleName() == "Needs 41.2 GB, 12.0 GB free on D:. Choose another drive."
    detail = next(each for each in bar.findChildren(QLabel) if each.text() == "errno 28")
    assert not detail.isVisible()
    buttons = {each.text(): each for each in bar.findChildren(QPushButton) if each.isVisible()}
    assert set(buttons) == {"Details", "Choose a drive"}
    buttons["Details"].click()
    assert detail.isVisible()
    with qtbot.waitSignal(bar.action_chosen):
        buttons["Choose a drive"].click()


def test_a_new_notice_replaces_the_old_one_whole(theme: Theme, qtbot: QtBot) -> None:
    bar = NoticeBar()
    qtbot.addWidget(bar)
    bar.show_notice(NoticeKind.DANGER, "One", "Two", action="Three", detail="Four")
    bar.show_notice(NoticeKind.INFO, "Five")
    texts = {each.text() for each in bar.findChildren(QLabel) if each.isVisible() and each.text()}
    assert texts == {"Five"}
    assert [each.text() for each in bar.findChildren(QPushButton) if each.isVisible()] == []


def test_the_row_around_a_notice_comes_and_goes_with_it(theme: Theme, qtbot: QtBot) -> None:
    bar = NoticeBar()
    row = NoticeRow(bar)
    qtbot.addWidget(row)
    assert row.isHidden()
    bar.show_notice(NoticeKind.INFO, "Here")
    assert not row.isHidden()
    bar.clear()
    assert row.isHidden()


def test_segments_are_one_of_a_few(theme: Theme, qtbot: QtBot) -> None:
    control = SegmentedControl([("a", "First"), ("b", "Second")], "Which")
    qtbot.addWidget(control)
    control.set_value("a")
    assert control.value() == "a"
    with qtbot.waitSignal(control.chosen) as told:
        control._segments["b"].click()
    assert told.args == ["b"]
    assert control.value() == "b"
    control.set_value("unknown")
    assert control.value() == "b"


def test_a_long_text_ends_in_an_ellipsis_and_can_be_read_whole(theme: Theme, qtbot: QtBot) -> None:
    text = "a very long name of a model that does not fit anywhere at all"
    elided = ElidedLabel(text)
    qtbot.addWidget(elided)
    elided.resize(120, 24)
    elided.show()
    assert elided.text().endswith("…")
    assert elided.toolTip() == elided.accessibleName() == text
    elided.resize(900, 24)
    assert elided.text() == text
    assert elided.toolTip() == ""


def test_progress_moves_by_tenths_of_a_percent_and_may_be_unknown(theme: Theme, qtbot: QtBot) -> None:
    line = ProgressLine("Download")
    qtbot.addWidget(line)
    line.show_progress("Layer 3", "41.3 %", 0.413)
    assert line._bar.value() == 413
    line.show_progress("Layer 3", "", None)
    assert line._bar.maximum() == 0


def test_an_empty_state_has_at_most_one_button(theme: Theme, qtbot: QtBot) -> None:
    state = EmptyState("library", "No models yet", "Add one.", action="Add a model")
    qtbot.addWidget(state)
    with qtbot.waitSignal(state.action_chosen):
        state.button.click()
    assert EmptyState("library", "Nothing", "Nothing.").button.isHidden()


def test_a_button_of_an_icon_alone_has_a_name(theme: Theme, qtbot: QtBot) -> None:
    send = icon_button("send", "Send")
    qtbot.addWidget(send)
    assert send.accessibleName() == send.toolTip() == "Send"


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space])
def test_enter_presses_the_button_that_has_the_focus_once(key: Qt.Key, theme: Theme, qtbot: QtBot) -> None:
    for pressed in (button("Set up", "primary"), icon_button("send", "Send")):
        qtbot.addWidget(pressed)
        clicks = QSignalSpy(pressed.clicked)
        qtbot.keyClick(pressed, key)
        assert clicks.count() == 1


def test_a_number_field_is_named_and_padded(theme: Theme, qtbot: QtBot) -> None:
    field = double_spin_box("Tokens")
    qtbot.addWidget(field)
    assert field.accessibleName() == "Tokens"
    assert field.lineEdit().textMargins().left() > 0


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Escape])
def test_enter_and_escape_take_the_harmless_answer(theme: Theme, qtbot: QtBot, key: Qt.Key) -> None:
    question = QuestionDialog("Delete it?", "It is gone then.", yes="Delete", no="Keep", yes_kind="danger")
    qtbot.addWidget(question)
    question.open()
    with qtbot.waitSignal(question.rejected):
        qtbot.keyClick(question, key)


def test_the_crash_dialog_copies_its_report_and_counts(theme: Theme, qtbot: QtBot, tmp_path: Path) -> None:
    dialog = CrashDialog(CrashReport("ValueError: x", "the report"), tmp_path)
    qtbot.addWidget(dialog)
    dialog.open()
    dialog.copy.click()
    assert QApplication.clipboard().text() == "the report"
    dialog.count_another()
    dialog.count_another()
    assert any("2 more" in each.text() for each in dialog.findChildren(QLabel) if each.isVisible())
    assert dialog.text.isReadOnly()


def test_a_decorative_icon_is_drawn_anew_in_another_theme(theme: Theme, qtbot: QtBot) -> None:
    state = EmptyState("library", "Nothing", "Nothing.")
    qtbot.addWidget(state)
    picture = next(each for each in state.findChildren(QLabel) if not each.pixmap().isNull())
    before = picture.pixmap().toImage()
    theme.choose(ThemeChoice.DARK)
    QApplication.processEvents()
    assert picture.pixmap().toImage() != before


def test_a_name_is_asked_and_never_nothing(theme: Theme, qtbot: QtBot) -> None:
    dialog = NameDialog("Save as", "Keeps it.", name="Terse", yes="Save", no="Cancel")
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    dialog.field.setText("  ")
    assert not dialog.yes.isEnabled()
    dialog.field.setText(" Brief ")
    with qtbot.waitSignal(dialog.named) as named:
        dialog.yes.click()
    assert named.args == ["Brief"]


@pytest.mark.parametrize(("width", "is_over"), [(900, False), (500, True)])
def test_a_panel_lies_beside_a_page_or_over_it(theme: Theme, qtbot: QtBot, width: int, is_over: bool) -> None:
    page, panel = QWidget(), QWidget()
    panel.setFixedWidth(300)
    both = SidePanel(page, panel, narrowest=440)
    qtbot.addWidget(both)
    both.resize(width, 400)
    both.show()
    assert panel.geometry().right() == width - 1
    assert page.width() == (width if is_over else width - 300)
    panel.hide()
    assert page.width() == width


def test_a_column_stays_in_the_middle_when_a_scroll_bar_comes(theme: Theme, qtbot: QtBot) -> None:
    column = CentredColumn(400)
    qtbot.addWidget(column)
    column.resize(800, 300)
    inside = QWidget()
    inside.setFixedHeight(100)
    column.column.addWidget(inside)
    column.show()
    before = inside.mapTo(column, QPoint(0, 0)).x()
    inside.setFixedHeight(1000)
    qtbot.waitUntil(column.verticalScrollBar().isVisible)
    qtbot.waitUntil(lambda: inside.mapTo(column, QPoint(0, 0)).x() == before)
    assert before == 200

"""The pages of the window: their names, what each offers, and how each is built when it is first shown.

A page's module is imported then and not before, so that the first window is there at once.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from PySide6.QtCore import SignalInstance
from PySide6.QtWidgets import QWidget

from app.services import Services


class PageName(StrEnum):
    """Also what a page's ``navigate`` signal carries; ``chat:<conversation id>`` opens that conversation,
    ``wizard:<path>`` plans a model's file."""

    CHAT = "chat"
    LIBRARY = "library"
    WIZARD = "wizard"
    SETTINGS = "settings"


class Page(Protocol):
    """What the window needs of a page, which is a QWidget besides."""

    title: str
    navigate: SignalInstance

    def open(self) -> None:
        """The page is about to be seen."""
        ...


class Chats(Page, Protocol):
    """What the window needs of the chat page besides: its title is that of the open chat."""

    title_changed: SignalInstance

    def open_conversation(self, conversation_id: str) -> None: ...

    def new_chat(self) -> None: ...


class Wizard(Page, Protocol):
    """What the window needs of the wizard besides."""

    def open_file(self, file: str) -> None: ...


class ProgramPage(Page, Protocol):
    """What the window needs of the settings page besides: it asks for what concerns the program."""

    restart_requested: SignalInstance
    shortcuts_requested: SignalInstance
    about_requested: SignalInstance


class ChatList(Protocol):
    """What the window needs of the list of chats."""

    navigate: SignalInstance

    def focus_search(self) -> None: ...


PageFactory = Callable[[Services], QWidget]


@dataclass(frozen=True, slots=True)
class PageSet:
    """How to build every page, and the list of chats beside them."""

    pages: Mapping[PageName, PageFactory]
    sidebar: PageFactory


_MODULES = ("app.chat.page", "app.wizard.page", "app.library.page", "app.settings_page.page")


def import_pages() -> threading.Thread:
    """Reads the pages' modules in a thread of their own, so that the first visit of a page need not wait for that."""

    def read() -> None:
        for name in _MODULES:
            importlib.import_module(name)

    thread = threading.Thread(target=read, name="page-modules", daemon=True)
    thread.start()
    return thread


def program_pages() -> PageSet:
    """The real ones."""
    return PageSet(
        {
            PageName.CHAT: _chat,
            PageName.LIBRARY: _library,
            PageName.WIZARD: _wizard,
            PageName.SETTINGS: _settings,
        },
        _sidebar,
    )


def _chat(services: Services) -> QWidget:
    from app.chat.page import ChatPage

    return ChatPage(services)


def _library(services: Services) -> QWidget:
    from app.library.page import LibraryPage

    return LibraryPage(services)


def _wizard(services: Services) -> QWidget:
    from app.wizard.page import WizardPage

    return WizardPage(services)


def _settings(services: Services) -> QWidget:
    from app.settings_page.page import SettingsPage

    return SettingsPage(services)


def _sidebar(services: Services) -> QWidget:
    from app.chat.sidebar import ChatSidebar

    return ChatSidebar(services)

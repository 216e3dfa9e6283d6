"""What macOS is told about the program: Info.plist, and its words in the languages the program speaks.

Pure: a version in, dictionaries out, for ``plistlib``.
"""

from __future__ import annotations

import plistlib
from pathlib import Path
from typing import Any

IDENTIFIER = "app.strata.Strata"
OLDEST_MACOS = (14, 0)
_GGUF = "app.strata.gguf"
# Folders that macOS guards: it asks the user, and shows these words.
_FOLDERS = {
    "NSDesktopFolderUsageDescription": "To open the files you choose on the desktop.",
    "NSDocumentsFolderUsageDescription": "To open the files you choose, and models you keep in Documents.",
    "NSDownloadsFolderUsageDescription": "To open the files you choose, and models you have downloaded.",
    "NSNetworkVolumesUsageDescription": "To read and keep models on a network drive you choose.",
    "NSRemovableVolumesUsageDescription": "To read and keep models on an external drive you choose.",
}
_COPYRIGHT = "© The Strata authors. MIT licence."
_WORDS = {
    "en": {**_FOLDERS, "NSHumanReadableCopyright": _COPYRIGHT},
    "zh-Hans": {
        "NSDesktopFolderUsageDescription": "用于打开您在桌面上选择的文件。",
        "NSDocumentsFolderUsageDescription": "用于打开您选择的文件，以及您存放在“文稿”中的模型。",
        "NSDownloadsFolderUsageDescription": "用于打开您选择的文件，以及您已下载的模型。",
        "NSNetworkVolumesUsageDescription": "用于在您选择的网络驱动器上读取和存放模型。",
        "NSRemovableVolumesUsageDescription": "用于在您选择的外置驱动器上读取和存放模型。",
        "NSHumanReadableCopyright": "© Strata 作者。MIT 许可证。",
        _GGUF: "语言模型（GGUF）",
    },
}


def info_plist(version: str) -> dict[str, Any]:
    """All of it but what PyInstaller writes: the name, the executable, the icon."""
    return {
        "CFBundleIdentifier": IDENTIFIER,
        "CFBundleShortVersionString": version,
        "CFBundleVersion": version,
        "CFBundleDevelopmentRegion": "en",
        "CFBundleLocalizations": sorted(_WORDS),
        "LSMinimumSystemVersion": ".".join(map(str, OLDEST_MACOS)),
        "LSArchitecturePriority": ["arm64"],
        "LSApplicationCategoryType": "public.app-category.productivity",
        "NSHighResolutionCapable": True,
        "NSRequiresAquaSystemAppearance": False,  # the window follows dark mode
        **_WORDS["en"],
        # The type is llama.cpp's, which declares none to macOS: Strata opens such files and never claims them.
        "UTImportedTypeDeclarations": [
            {
                "UTTypeIdentifier": _GGUF,
                "UTTypeDescription": _GGUF,
                "UTTypeConformsTo": ["public.data"],
                "UTTypeTagSpecification": {"public.filename-extension": ["gguf"]},
            }
        ],
        "CFBundleDocumentTypes": [
            {
                "CFBundleTypeName": _GGUF,
                "CFBundleTypeRole": "Viewer",
                "LSHandlerRank": "Alternate",
                "LSItemContentTypes": [_GGUF],
            }
        ],
    }


def write_words(resources: Path) -> None:
    """``InfoPlist.strings`` of each language, below the program's Resources."""
    for language, words in _WORDS.items():
        folder = resources / f"{language}.lproj"
        folder.mkdir(parents=True, exist_ok=True)
        content = {_GGUF: "Language model (GGUF)", **words}
        (folder / "InfoPlist.strings").write_bytes(plistlib.dumps(content, sort_keys=True))

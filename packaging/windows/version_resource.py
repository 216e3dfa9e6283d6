"""What Windows shows of ``Strata.exe`` under Properties and in the Task Manager. Used by strata.spec, on Windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.version import Version

if TYPE_CHECKING:
    from PyInstaller.utils.win32.versioninfo import VSVersionInfo

_ENGLISH_US, _UNICODE = 0x0409, 0x04B0


def version_resource(version: str) -> VSVersionInfo:
    from PyInstaller.utils.win32.versioninfo import (
        FixedFileInfo,
        StringFileInfo,
        StringStruct,
        StringTable,
        VarFileInfo,
        VarStruct,
        VSVersionInfo,
    )

    numbers = (*Version(version).release, 0, 0, 0, 0)[:4]
    texts = {
        "CompanyName": "The Strata authors",
        "FileDescription": "Strata",
        "FileVersion": version,
        "InternalName": "Strata",
        "LegalCopyright": "The Strata authors, MIT licence",
        "OriginalFilename": "Strata.exe",
        "ProductName": "Strata",
        "ProductVersion": version,
    }
    table = StringTable(f"{_ENGLISH_US:04x}{_UNICODE:04x}", [StringStruct(*each) for each in texts.items()])
    return VSVersionInfo(
        ffi=FixedFileInfo(filevers=numbers, prodvers=numbers),
        kids=[StringFileInfo([table]), VarFileInfo([VarStruct("Translation", [_ENGLISH_US, _UNICODE])])],
    )

"""What can be known of the macOS program without a Mac: its papers, its icon, its image, the order of signing."""

from __future__ import annotations

import io
import plistlib
import struct
import sys
from pathlib import Path

import pytest
from app_icon import ICNS_TYPES
from channel import CHANNEL
from layout import bundle_layout
from macos.disk_image import APPLICATIONS_AT, BACKGROUND, PROGRAM_AT, WINDOW, disk_image_settings
from macos.info_plist import OLDEST_MACOS, info_plist, write_words
from macos.mach_o import ARM64, EXECUTABLE, read_mach_o
from macos.signing import ENTITLEMENTS, BuiltForNewer, require_oldest_macos, signing_commands, signing_order
from PIL import Image

from app import bundle
from engine import __version__

DYLIB = 6
X86_64 = 0x01000007


def thin(kind: int = DYLIB, *, oldest: tuple[int, int] = (11, 0), architecture: int = ARM64) -> bytes:
    """A Mach-O file with a segment that is skipped and LC_BUILD_VERSION, as the linker writes them."""
    skipped = struct.pack("<II", 0x19, 72) + bytes(64)
    version = struct.pack("<IIIIII", 0x32, 24, 1, oldest[0] << 16 | oldest[1] << 8, 15 << 16, 0)
    commands = skipped + version
    return struct.pack("<IIIIIIII", 0xFEEDFACF, architecture, 0, kind, 2, len(commands), 0, 0) + commands


def fat(*slices: tuple[int, bytes]) -> bytes:
    head, body, offset = struct.pack(">II", 0xCAFEBABE, len(slices)), b"", 4096
    for architecture, content in slices:
        head += struct.pack(">IIIII", architecture, 0, offset + len(body), len(content), 12)
        body += content.ljust(4096, b"\0")
    return head.ljust(4096, b"\0") + body


def write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.fixture
def app(tmp_path: Path) -> Path:
    """The shape PyInstaller and build.py give it: links between Frameworks and Resources, code in both."""
    if sys.platform == "win32":
        pytest.skip("a link needs a right there that not everyone has")
    made = bundle_layout(tmp_path, "darwin")
    frameworks = made.bundle / "Contents" / "Frameworks"
    write(made.program, thin(EXECUTABLE))
    core = frameworks / "PySide6" / "Qt" / "lib" / "QtCore.framework"
    write(core / "Versions" / "A" / "QtCore", thin())
    write(core / "Versions" / "A" / "Resources" / "Info.plist", b"<plist/>")
    (core / "Versions" / "Current").symlink_to("A")
    (core / "QtCore").symlink_to("Versions/Current/QtCore")
    (frameworks / "QtCore").symlink_to("PySide6/Qt/lib/QtCore.framework/Versions/A/QtCore")
    write(frameworks / "PySide6" / "QtCore.abi3.so", thin())
    (made.shipped / "PySide6").mkdir(parents=True)
    (made.shipped / "PySide6" / "QtCore.abi3.so").symlink_to("../../Frameworks/PySide6/QtCore.abi3.so")
    write(made.runtime / "torch" / "lib" / "libtorch_cpu.dylib", thin())
    write(made.runtime / "torch" / "bin" / "torch_shm_manager", thin(EXECUTABLE))
    write(made.runtime / "numpy" / ".dylibs" / "libopenblas.dylib", fat((X86_64, thin()), (ARM64, thin())))
    write(made.runtime / "torch" / "__init__.py", b"import os\n")
    write(made.runtime / "Some.class", struct.pack(">II", 0xCAFEBABE, 52) + bytes(64))
    write(made.runtime / "empty.dylib", b"")
    return made.bundle


def test_what_is_inside_is_signed_before_what_holds_it(app: Path) -> None:
    order = signing_order(app)
    inside = {path.relative_to(app / "Contents").as_posix() for path in order[:-1]}
    assert inside == {
        "Frameworks/PySide6/Qt/lib/QtCore.framework/Versions/A/QtCore",
        "Frameworks/PySide6/Qt/lib/QtCore.framework",
        "Frameworks/PySide6/QtCore.abi3.so",
        "Resources/runtime-cpu/torch/lib/libtorch_cpu.dylib",
        "Resources/runtime-cpu/torch/bin/torch_shm_manager",
        "Resources/runtime-cpu/numpy/.dylibs/libopenblas.dylib",
    }
    assert order[-1] == app
    assert len(order) == len(inside) + 1
    for at, path in enumerate(order):
        assert not any(inner.is_relative_to(path) for inner in order[at + 1 :])


def test_a_certificate_brings_the_hardened_runtime_and_ad_hoc_does_not(app: Path) -> None:
    order = signing_order(app)
    *inner, whole = signing_commands(app, order, "0123ABCD")
    assert [path for command in inner for path in command[7:]] == [str(path) for path in order[:-1]]
    assert all(
        command[:7] == ["codesign", "--force", "--sign", "0123ABCD", "--timestamp", "--options", "runtime"]
        for command in inner
    )
    assert whole == [*inner[0][:7], "--entitlements", str(ENTITLEMENTS), str(app)]
    ad_hoc = signing_commands(app, order, "-")
    assert all(command[:5] == ["codesign", "--force", "--sign", "-", "--timestamp=none"] for command in ad_hoc)
    assert not {"--options", "--entitlements"} & {word for command in ad_hoc for word in command}


def test_code_for_a_newer_macos_is_found_and_named(app: Path) -> None:
    require_oldest_macos(app, OLDEST_MACOS)
    write(app / "Contents" / "Resources" / "runtime-cpu" / "mlx" / "libmlx.dylib", thin(oldest=(15, 2)))
    with pytest.raises(BuiltForNewer, match=r"1 files .* than 14\.0, such as .*mlx/libmlx\.dylib: 15\.2"):
        require_oldest_macos(app, OLDEST_MACOS)


def test_only_the_code_for_apple_silicon_counts(tmp_path: Path) -> None:
    both = write(tmp_path / "both", fat((X86_64, thin(oldest=(10, 9))), (ARM64, thin(EXECUTABLE, oldest=(12, 3)))))
    found = read_mach_o(both)
    assert found is not None
    assert (found.kind, found.oldest_macos) == (EXECUTABLE, (12, 3))
    other = read_mach_o(write(tmp_path / "other", thin(oldest=(16, 0), architecture=X86_64)))
    assert other is not None
    assert other.oldest_macos is None


def test_the_entitlements_are_one() -> None:
    with ENTITLEMENTS.open("rb") as file:
        assert plistlib.load(file) == {"com.apple.security.cs.allow-unsigned-executable-memory": True}


def test_the_papers_are_complete_in_both_languages(tmp_path: Path) -> None:
    papers = plistlib.loads(plistlib.dumps(info_plist(__version__)))
    assert papers["LSMinimumSystemVersion"] == "14.0"
    assert papers["CFBundleShortVersionString"] == papers["CFBundleVersion"] == __version__
    (document,) = papers["CFBundleDocumentTypes"]
    (kind,) = papers["UTImportedTypeDeclarations"]
    assert document["LSItemContentTypes"] == [kind["UTTypeIdentifier"]]
    assert kind["UTTypeTagSpecification"] == {"public.filename-extension": ["gguf"]}
    write_words(tmp_path)
    words = {path.parent.stem: plistlib.loads(path.read_bytes()) for path in tmp_path.glob("*.lproj/InfoPlist.strings")}
    assert sorted(words) == papers["CFBundleLocalizations"] == ["en", "zh-Hans"]
    guarded = {name for name in papers if name.endswith("UsageDescription")}
    for each in words.values():
        assert each.keys() == {*guarded, "NSHumanReadableCopyright", document["CFBundleTypeName"]}
        assert all(each.values())
    assert not {text for text in words["zh-Hans"].values() if text.isascii()}


def test_the_program_finds_what_ships_where_it_was_put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.frozen", True, raising=False)
    for platform in ("linux", "win32", "darwin"):
        made = bundle_layout(tmp_path, platform)
        monkeypatch.setattr("sys.platform", platform)
        monkeypatch.setattr("sys.executable", str(made.program))
        found = bundle.bundle()
        assert found is not None
        assert found.folder == made.shipped.resolve()
        assert [*found.runtimes, found.models_dir, found.licences_dir] == [made.runtime, made.models, made.licences]
        assert found.channel_file == made.shipped / CHANNEL


def test_the_icon_has_every_size_for_both_kinds_of_screen() -> None:
    icon = Path(disk_image_settings(Path("Strata.app"))["icon"])
    content, place = icon.read_bytes(), 8
    assert (content[:4], int.from_bytes(content[4:8])) == (b"icns", len(content))
    pictures: dict[bytes, bytes] = {}
    while place < len(content):
        kind, length = content[place : place + 4], int.from_bytes(content[place + 4 : place + 8])
        pictures[kind] = content[place + 8 : place + length]
        place += length
    for kind, picture in pictures.items():
        with Image.open(io.BytesIO(picture)) as opened:
            assert opened.size == (ICNS_TYPES[kind], ICNS_TYPES[kind])
        drawn = icon.with_name(f"strata-{ICNS_TYPES[kind]}.png")
        assert ICNS_TYPES[kind] == 1024 or drawn.read_bytes() == picture
    with Image.open(icon) as opened:
        sharp, plain = (16, 32, 128, 256, 512), (128, 256, 512)
        assert set(opened.info["sizes"]) == {(side, side, 2) for side in sharp} | {(side, side, 1) for side in plain}


def test_the_disk_image_shows_where_to_put_the_program() -> None:
    settings = disk_image_settings(Path("build", "Strata.app"))
    assert settings["files"] == [str(Path("build", "Strata.app"))]
    assert settings["icon_locations"] == {"Strata.app": PROGRAM_AT, "Applications": APPLICATIONS_AT}
    assert settings["symlinks"] == {"Applications": "/Applications"}
    half = settings["icon_size"] / 2
    for x, y in settings["icon_locations"].values():
        assert half < x < WINDOW[0] - half
        assert half < y < WINDOW[1] - half
    for file, scale in ((BACKGROUND, 1), (BACKGROUND.with_name("background@2x.png"), 2)):
        with Image.open(file) as picture:
            assert picture.size == (WINDOW[0] * scale, WINDOW[1] * scale)
    assert Path(settings["background"]).samefile(BACKGROUND)

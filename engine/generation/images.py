"""Image files of a conversation, read and checked before a model sees them. No torch.

Owns which files are images and how large they may be. An image comes out upright and in RGB, as transformers'
own loader makes it: what the camera noted about its orientation is applied, transparency is dropped.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING

from engine.errors import InvalidRequest
from engine.generation.messages import ImageSource

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_PIXELS = 64_000_000
"""Beyond the cameras of nearly all telephones; 192 MB once decoded. A small file may unfold into far more."""

_FORMATS = ("PNG", "JPEG", "WEBP")
# What the decoders raise for files that are not what their first bytes promise.
_DAMAGED = (OSError, SyntaxError, ValueError, EOFError, IndexError, KeyError, TypeError, RuntimeError)


@dataclass(frozen=True, slots=True)
class ReadImage:
    """One image of a conversation: its file's contents, and their sha256, which tells it from others.

    ``name`` is the file's, or the image's number.
    """

    name: str
    data: bytes
    digest: str


def read_images(sources: Sequence[ImageSource]) -> tuple[ReadImage, ...]:
    """Raises ``InvalidRequest`` for a file that is not there, or has nothing in it."""
    return tuple(_read(source, number) for number, source in enumerate(sources, 1))


def decode_image(file: ReadImage) -> Image:
    """Upright, in RGB. Raises ``InvalidRequest`` for what is no PNG, JPEG or WebP, is damaged, or far too large."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            image = Image.open(BytesIO(file.data), formats=_FORMATS)
    except UnidentifiedImageError as error:
        raise InvalidRequest(
            f"The file {file.name} is no PNG, JPEG or WebP image.", "Choose another image, or save it as one of these."
        ) from error
    except Image.DecompressionBombError as error:
        found = re.search(r"\d+", str(error))
        raise _too_large(file.name, int(found[0]) if found else 2 * MOST_PIXELS) from error
    except _DAMAGED as error:
        raise _incomplete(file.name, error) from error
    if image.width * image.height > MOST_PIXELS:
        raise _too_large(file.name, image.width * image.height)
    try:
        return ImageOps.exif_transpose(image).convert("RGB")
    except _DAMAGED as error:
        raise _incomplete(file.name, error) from error


def check_images(sources: Sequence[ImageSource]) -> None:
    """Raises ``InvalidRequest`` for whatever an answer would refuse."""
    for image in read_images(sources):
        decode_image(image)


def _read(source: ImageSource, number: int) -> ReadImage:
    if isinstance(source, bytes):
        name, data = str(number), source
    else:
        name = source.name
        try:
            data = source.read_bytes()
        except OSError as error:
            raise InvalidRequest(
                f"The image {name} cannot be read: {error.strerror or error}.",
                "Choose another image.",
                detail=repr(error),
            ) from error
    if not data:
        raise InvalidRequest(f"The image {name} is empty.", "Choose another image.")
    return ReadImage(name, data, hashlib.sha256(data).hexdigest())


def _too_large(name: str, pixels: int) -> InvalidRequest:
    millions, most = f"{pixels / 1e6:.0f}", f"{MOST_PIXELS / 1e6:.0f}"
    return InvalidRequest(
        f"The image {name} has {millions} million pixels; images of up to {most} million are read.",
        "Make it smaller, then choose it again.",
    )


def _incomplete(name: str, error: Exception) -> InvalidRequest:
    return InvalidRequest(
        f"The image {name} is damaged or incomplete.", "Choose another image, or save it anew.", detail=repr(error)
    )

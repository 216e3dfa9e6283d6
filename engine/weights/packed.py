"""Packed tensors and how they become numbers again: one expansion for every encoding, on any device.

An encoding has a matrix of packed *values*, and a grid of *scales*, each for one block of the matrix:

========  =================================================  ==================================================
scaled    values [rows, columns] of any small dtype          scales [rows / n, columns / m] of a float dtype, or
          (float8, int8)                                     the exponents of powers of two, biased by 127 (uint8)
int       int32 [rows, columns · bits / 32], 4 or 8 bits,    the same
          the lowest first, biased by half their range
mxfp4     uint8 [rows, columns / 2], two e2m1 numbers a      the same, mostly exponents for 32 columns each
          byte, the low half first
========  =================================================  ==================================================

A number is its value times its scale, in float32, rounded once to the wanted dtype: the same bits as transformers'
and compressed-tensors' own ways (but an e4m3 NaN, which no sound checkpoint has, is read as 480). Numbers of 4 bits
whose scales are exact in bfloat16 are looked up, two at a time, and multiplied there: the same bits. A matrix goes
through in pieces that fit a workspace of set size, so that nothing of a matrix' size is allocated and a piece stays
in the processor's cache.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager

import torch

VALUES, SCALES = "values", "scales"
SCALED, INT, MXFP4 = "scaled", "int", "mxfp4"

_THREAD_BYTES = 2 << 20
"""Of workspace for each thread of a processor: what its own cache holds."""
_BYTES_PER_NUMBER = 12
"""Of workspace: a number in float32, the integers it is made from, and its scale."""

_SCALE_DTYPES = (
    torch.float32, torch.bfloat16, torch.float16, torch.float8_e8m0fnu, torch.uint8,
)  # fmt: skip


def is_known(encoding: str, values: torch.dtype, scales: torch.dtype, width: int, columns: int) -> bool:
    """Whether values of this dtype, ``width`` of them in a row, hold ``columns`` numbers that can be expanded."""
    if scales not in _SCALE_DTYPES:
        return False
    if encoding == SCALED:
        return values.itemsize == 1 and values is not torch.uint8 and width == columns
    if encoding == MXFP4:
        return values in (torch.uint8, torch.int8) and 2 * width == columns
    return values is torch.int32 and any(width * 32 == columns * bits for bits in (4, 8))


def expanded(
    encoding: str, values: torch.Tensor, scales: torch.Tensor, shape: tuple[int, int], dtype: torch.dtype
) -> torch.Tensor:
    """A new tensor of ``shape`` [rows, columns] with the numbers of one packed matrix. Raises ``ValueError``."""
    if scales.ndim < 2:
        scales = scales.reshape(-1, 1)
    is_grid = all(n % blocks == 0 for n, blocks in zip(shape, scales.shape, strict=True))
    if not is_grid or not is_known(encoding, values.dtype, scales.dtype, values.shape[1], shape[1]):
        raise ValueError(f"{list(values.shape)} {values.dtype} with {list(scales.shape)} scales is not served")
    out = torch.empty(shape, dtype=dtype, device=values.device)
    if not values.is_meta:
        nbytes = max(_THREAD_BYTES, 2 * shape[1] * _BYTES_PER_NUMBER)
        job = _Job(encoding, values, scales, out)
        with _alone():
            job.run(job.pieces(nbytes), torch.empty(nbytes, dtype=torch.uint8, device=values.device))
    return out


class Expander:
    """Expands packed matrices through ``workspace`` (uint8, 1-D, on the device they are on).

    On a processor each thread takes pieces of its own: the threads meet once for a matrix, not once for each of the
    few hundred operations on pieces (a barrier whose thread has lost its core costs a scheduler slice).
    """

    def __init__(self, workspace: torch.Tensor) -> None:
        is_cpu = workspace.device.type == "cpu"
        size = min(len(workspace), _THREAD_BYTES) if is_cpu else len(workspace)
        self._is_cpu = is_cpu
        self._workspaces = [workspace[start : start + size] for start in range(0, len(workspace) - size + 1, size)]
        self._threads = ThreadPoolExecutor(len(self._workspaces), thread_name_prefix="strata-expand")

    def expand(self, encoding: str, parts: Mapping[str, torch.Tensor], out: torch.Tensor) -> None:
        """Fills ``out`` [rows, columns], contiguous, from its packed parts."""
        job = _Job(encoding, parts[VALUES].flatten(1), parts[SCALES], out)
        pieces = job.pieces(len(self._workspaces[0]))
        if not self._is_cpu:
            job.run(pieces, self._workspaces[0])
            return
        count = min(torch.get_num_threads(), len(self._workspaces), len(pieces))
        with _alone():
            others = [
                self._threads.submit(_run_alone, job, pieces[share::count], self._workspaces[share])
                for share in range(1, count)
            ]
            try:
                job.run(pieces[::count], self._workspaces[0])
            finally:
                wait(others)
        for other in others:
            other.result()

    def close(self) -> None:
        self._threads.shutdown()


def _run_alone(job: _Job, pieces: Sequence[tuple[int, int]], workspace: torch.Tensor) -> None:
    torch.set_num_threads(1)  # this thread's own setting
    job.run(pieces, workspace)


@contextmanager
def _alone() -> Generator[None]:
    """One thread in every operation of this thread, and after it as many as before, for new threads as well."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


class _Job:
    """One matrix to expand. ``values`` [rows, …], ``scales`` [blocks, blocks], ``out`` [rows, columns]."""

    def __init__(self, encoding: str, values: torch.Tensor, scales: torch.Tensor, out: torch.Tensor) -> None:
        self._encoding = encoding
        self._values = values
        self._scales = scales
        self._out = out
        self._block_rows = out.shape[0] // scales.shape[0]
        self._pairs = _pairs(encoding, values, scales, out)

    def pieces(self, workspace_nbytes: int) -> list[tuple[int, int]]:
        """Ranges of rows that fit a workspace: whole blocks of rows, or parts of one."""
        rows, columns = self._out.shape
        most = max(1, workspace_nbytes // _BYTES_PER_NUMBER // columns)
        if step := most // self._block_rows * self._block_rows:
            return [(start, min(start + step, rows)) for start in range(0, rows, step)]
        return [
            (start, min(start + most, block + self._block_rows))
            for block in range(0, rows, self._block_rows)
            for start in range(block, block + self._block_rows, most)
        ]

    def run(self, pieces: Sequence[tuple[int, int]], workspace: torch.Tensor) -> None:
        """Expands these rows. Jobs with other rows and workspaces may run at the same time."""
        for start, stop in pieces:
            room = _Room(workspace)
            scales = self._scales[start // self._block_rows : -(-stop // self._block_rows)]
            grid = room.take(torch.float32, *scales.shape)
            _read_scales(scales, grid)
            values, out = self._values[start:stop], self._out[start:stop]
            if self._pairs is not None:
                _look_up(self._pairs, values, out, room)
                _scale(out, grid.to(out.dtype))
            else:
                numbers = room.take(torch.float32, *out.shape)
                grid.mul_(_decode(self._encoding, values, numbers, room))
                _scale(numbers, grid)
                out.copy_(numbers)


class _Room:
    """A workspace that is handed out piece by piece."""

    def __init__(self, workspace: torch.Tensor) -> None:
        self._workspace = workspace
        self._taken = 0

    def take(self, dtype: torch.dtype, *shape: int) -> torch.Tensor:
        nbytes = math.prod(shape) * dtype.itemsize
        start, self._taken = self._taken, self._taken + nbytes + -nbytes % 64
        return self._workspace[start : start + nbytes].view(dtype).view(shape)


def _scale(numbers: torch.Tensor, grid: torch.Tensor) -> None:
    """Multiplies each block of ``numbers`` [rows, columns] by its element of ``grid`` [blocks, blocks]."""
    blocks = numbers.view(grid.shape[0], -1, grid.shape[1], numbers.shape[1] // grid.shape[1])
    blocks.mul_(grid[:, None, :, None])


_E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0)


def _pairs(encoding: str, values: torch.Tensor, scales: torch.Tensor, out: torch.Tensor) -> torch.Tensor | None:
    """The two bfloat16 numbers of each byte, int32 [256]; None where a number has more than bytes of 4 bits say.

    The numbers are exact in bfloat16, and so are the scales: their product is rounded once, like that of float32.
    """
    if out.dtype is not torch.bfloat16 or scales.dtype in (torch.float32, torch.float16):
        return None
    if encoding == MXFP4:
        half = torch.tensor(_E2M1)
    elif encoding == INT and 8 * values.shape[1] == out.shape[1]:
        half = torch.arange(-8.0, 8.0)
    else:
        return None
    byte = torch.arange(256)
    pairs = torch.stack((half[byte & 15], half[byte >> 4]), -1).to(torch.bfloat16)
    return pairs.view(torch.int32).flatten().to(out.device)


def _look_up(pairs: torch.Tensor, values: torch.Tensor, out: torch.Tensor, room: _Room) -> None:
    """Writes the numbers of ``values`` into ``out``, contiguous, bfloat16 [rows, columns]."""
    packed = values.view(torch.uint8)
    numbers = room.take(torch.int32, *packed.shape)
    numbers.copy_(packed)
    torch.index_select(pairs, 0, numbers.flatten(), out=out.view(torch.int32).flatten())


def _decode(encoding: str, values: torch.Tensor, numbers: torch.Tensor, room: _Room) -> float:
    """Writes the values into ``numbers`` (float32), but for the power of two that it returns."""
    if encoding == MXFP4:
        return _decode_mxfp4(values, numbers, room)
    if values.dtype is torch.float8_e4m3fn:
        return _decode_e4m3(values, numbers, room)
    if encoding == INT and 8 * values.shape[1] == numbers.shape[1]:
        words = room.take(torch.int32, numbers.shape[0], numbers.shape[1] // 2)
        # The two halves of a byte, each into half a word.
        words.copy_(values.view(torch.uint8)).mul_(1 << 12 | 1).bitwise_and_(0x000F000F)
        numbers.copy_(words.view(torch.int16).sub_(8))
    elif encoding == INT:
        numbers.copy_(values.view(torch.uint8)).sub_(128)
    else:
        numbers.copy_(values)
    return 1.0


def _decode_e4m3(values: torch.Tensor, numbers: torch.Tensor, room: _Room) -> float:
    """Its bits, put into those of a float16 (sign; exponent of 4 into one of 5 bits), are 2**-8 of its value.

    torch 2.13's own cast takes 8 times as long on a processor.
    """
    halves = room.take(torch.int16, *numbers.shape)
    halves.copy_(values.view(torch.int8)).mul_(1 << 7).bitwise_and_(~0x4000)
    numbers.copy_(halves.view(torch.float16))
    return 2.0**8


def _decode_mxfp4(values: torch.Tensor, numbers: torch.Tensor, room: _Room) -> float:
    """The halves of a byte, each into a float16 (sign; exponent of 2 into one of 5 bits): 2**-14 of the value."""
    words = room.take(torch.int32, *values.shape)
    rest = room.take(torch.int32, *values.shape)
    words.copy_(values.view(torch.uint8))
    torch.mul(words, 1 << 9 | 1 << 21, out=rest).bitwise_and_(0x0E000E00)
    words.mul_(1 << 12 | 1 << 24).bitwise_and_(-0x7FFF8000).bitwise_or_(rest)
    numbers.copy_(words.view(torch.float16))
    return 2.0**14


def transposed(values: torch.Tensor) -> torch.Tensor:
    """MXFP4 values [rows, columns / 2] of a matrix as those of its transpose: [columns, rows / 2]."""
    turned = values.view(torch.uint8).T.contiguous()
    found = torch.empty(2 * turned.shape[0], turned.shape[1] // 2, dtype=torch.uint8)
    for row, halves in enumerate((turned & 0x0F, turned >> 4)):
        torch.bitwise_or(halves[:, ::2], halves[:, 1::2] << 4, out=found[row::2])
    return found.view(values.dtype)


def _read_scales(scales: torch.Tensor, grid: torch.Tensor) -> None:
    """Scales as float32."""
    grid.copy_(scales)
    if scales.dtype is torch.uint8:
        grid.sub_(127).exp2_()

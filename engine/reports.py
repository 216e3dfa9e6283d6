"""Answers that are not events: what this machine is, what is in the store, what a model would cost. No torch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WeightShape:
    """What a token uses of a model's weights, from its manifest. Bytes.

    ``used_bytes`` are all blocks used whole, of which one of the ``layers`` takes ``layer_bytes``; of ``lookup_bytes``
    only rows are read. Of ``experts``, each of ``expert_bytes``, a token uses ``routed``, and at most
    ``routed_in_layer`` of one layer. A packed one takes ``expanded_bytes`` when it is used, 0 where none is packed.
    """

    layers: int
    layer_bytes: int
    used_bytes: int
    lookup_bytes: int
    expert_bytes: int = 0
    experts: int = 0
    routed: int = 0
    routed_in_layer: int = 0
    expanded_bytes: int = 0


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """One model of the store. ``state`` is "ready", "unfinished", "damaged", or "away" for one whose drive is not
    connected; ``title`` is for people.

    ``context`` is the model's own limit in tokens, None where it names none; ``source`` what it was cut from.
    ``accepts_images``: whether the messages of a user may have images.
    """

    name: str
    title: str
    state: str
    nbytes: int
    path: str
    dtype: str | None
    architecture: str | None
    context: int | None
    can_chat: bool
    has_thinking_switch: bool
    source: str | None
    accepts_images: bool = False
    weights: WeightShape | None = None
    """None unless the model is ready."""
    is_shipped: bool = False
    """It came with the program: it cannot be removed, and there is nothing to repair it from."""


@dataclass(frozen=True, slots=True)
class DeviceReport:
    """One accelerator torch can compute on. Bytes."""

    kind: str
    name: str
    total_bytes: int
    free_bytes: int


@dataclass(frozen=True, slots=True)
class MachineReport:
    """Bytes and bytes per second; ``disk_bytes_per_second`` is direct reading in the models folder.

    ``product_s``: what a product of a matrix and a vector takes beyond its bytes, in seconds; 0 in a
    report from before that was measured.
    """

    system: str
    processor: str
    cores: int
    memory_total_bytes: int
    memory_free_bytes: int
    disk_total_bytes: int
    disk_free_bytes: int
    disk_bytes_per_second: float
    compute_bytes_per_second: float
    devices: tuple[DeviceReport, ...]
    product_s: float = 0.0


@dataclass(frozen=True, slots=True)
class DriveReport:
    """A drive models can be kept on. ``folder`` is where they would go on it, which may not exist yet; bytes.

    ``root`` is where the drive is mounted, or its letter. ``is_main``: new models go there.
    """

    folder: str
    root: str
    total_bytes: int
    free_bytes: int
    is_main: bool
    is_writable: bool


@dataclass(frozen=True, slots=True)
class FolderReport:
    """A folder models are looked for in. One that is not connected says what it held when it was last seen.

    ``can_be_forgotten``: it is neither that for new models nor the data folder's own. Bytes, 0 where not connected.
    """

    path: str
    is_main: bool
    is_connected: bool
    models: int
    nbytes: int
    total_bytes: int
    free_bytes: int
    can_be_forgotten: bool


@dataclass(frozen=True, slots=True)
class ModelPlan:
    """Bytes, tokens, seconds. ``disk_now_bytes`` must be free to begin; the peak and the end count from today.

    ``device_bytes`` and ``host_bytes`` are weights that stay, ``slot_bytes`` the slots the rest passes through,
    ``streamed_bytes`` what is read from the disk for every token, ``cache_bytes`` the room for ``context`` tokens.
    """

    model: str
    architecture: str
    dtype: str
    blocks: int
    is_cut: bool
    disk_now_bytes: int
    disk_peak_bytes: int
    disk_after_bytes: int
    disk_free_bytes: int
    device: str
    device_bytes: int
    host_bytes: int
    slot_bytes: int
    streamed_bytes: int
    cache_bytes: int
    context: int
    disk_bytes_per_second: float | None
    """None where the disk could not be measured: nothing can be written there, and no model is there to read."""
    predicted_s_per_token: float | None
    """None where the disk decides it and could not be measured."""
    disk_floor_bytes: int = 0
    """What a split leaves free beyond its peak."""
    download_bytes: int = 0
    """What is still to be fetched from the hub; 0 for a model that is on this machine."""
    table_bytes: int = 0
    """Lookup tables that stay on the disk, read row by row; part of neither ``streamed_bytes`` nor any tier."""
    accepts_images: bool = False
    """Whether the messages of a user may have images."""
    folder: str = ""
    """The folder of models it is in, or goes to."""


@dataclass(frozen=True, slots=True)
class HubModel:
    """One hit of a search on the hub. ``nbytes`` of weights is None where the hub does not say.

    ``reason`` is "" unless the hub already says enough to know that the model cannot run here; ``page`` is its address.
    """

    repo: str
    downloads: int
    likes: int
    is_gated: bool
    nbytes: int | None
    parameters: int | None
    library: str | None
    task: str | None
    tags: tuple[str, ...]
    last_modified: str | None
    page: str
    reason: str


@dataclass(frozen=True, slots=True)
class FamilyCheck:
    """A tiny model of ``family`` as this installation streams it, beside plain transformers: how much was compared."""

    family: str
    blocks: int
    logits: int
    tokens: int
    has_equal_logits: bool
    has_equal_tokens: bool


@dataclass(frozen=True, slots=True)
class TorchReport:
    """Which torch the engine computes with: its version, the folder it was imported from, what it finds here."""

    version: str
    folder: str
    devices: tuple[DeviceReport, ...]


@dataclass(frozen=True, slots=True)
class DeviceCheck:
    """A tiny model streamed through a device, beside the plain one on the processor.

    ``difference`` is that of the logits relative to their norm; more than ``allowed_difference`` is no rounding.
    """

    torch: TorchReport
    device: str
    name: str
    difference: float
    allowed_difference: float


@dataclass(frozen=True, slots=True)
class BenchReport:
    """Medians. ``limit_s_per_token``: the streamed blocks, and as many experts as a pass had to read, read by the
    same reader into the same slots, no model.

    Both limits are None where nothing streams. ``predicted_s_per_token`` is what loading announced.
    """

    model: str
    device: str
    passes: int
    s_per_token: float
    first_pass_s: float
    streamed_bytes: int
    resident_bytes: int
    limit_s_per_token: float | None
    share_of_limit: float | None
    predicted_s_per_token: float | None
    mispredictions: int

"""What the pictures show: a computer, models, jobs and chats as somebody might have them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path

from PySide6.QtCore import QBuffer, QPointF, Qt
from PySide6.QtGui import QColor, QImage, QLinearGradient, QPainter

from app.conversations.records import Attachment, Draft, StoredImage
from app.conversations.store import ConversationStore
from app.ledger_file import Tally, write_ledger
from app.machine_record import MACHINE_FILE_NAME, write_machine
from engine.api import DriveReport, FolderReport, MachineReport, ModelInfo, ModelPlan
from engine.events import JobProgress
from tests.helpers.fake_engine import FakeEngineHost

GB = 10**9


@dataclass(frozen=True, slots=True)
class Computer:
    report: MachineReport

    def write(self, folder: Path) -> None:
        """As if it had been measured before."""
        write_machine(folder / MACHINE_FILE_NAME, self.report)


MACHINE = Computer(
    MachineReport("Linux", "8-core processor", 8, 32 * GB, 21 * GB, 1000 * GB, 412 * GB, 2.1 * GB, 26 * GB, ())
)
SPLITTING = JobProgress("cutting", 17, 42, "layer-015", 11_800_000_000, 29_500_000_000, 0.62 * GB, 28.5 * 60)


def write_past(file: Path) -> None:
    """What went through the drive before."""
    today = date.today()
    days = {today: Tally(41 * GB, 5_600_000_000), today - timedelta(days=48): Tally(3_100 * GB, 310 * GB)}
    write_ledger(file, days)


DOWNLOADING = JobProgress(
    "downloading", 9, 16, "model-00009-of-00016.safetensors", 33_900_000_000, 61_100_000_000, 38e6, 716
)
CUTTING = JobProgress("cutting", 51, 99, "layer-024", 28_200_000_000, 61_100_000_000, 0.62 * GB, 700)


FOLDER = "/data/models"
USB_FOLDER = "/media/lin/USB/Strata models"
DRIVES = [
    DriveReport(FOLDER, "/data", 1000 * GB, 412 * GB, True, True),
    DriveReport("/home/lin/Strata models", "/", 250 * GB, 38 * GB, False, True),
    DriveReport("/media/lin/Archive/Strata models", "/media/lin/Archive", 4000 * GB, 2310 * GB, False, True),
]
SPEEDS = {"/home/lin/Strata models": 0.52 * GB, "/media/lin/Archive/Strata models": 0.16 * GB}


def _model(
    title: str,
    nbytes: int,
    *,
    state: str = "ready",
    thinks: bool = False,
    sees: bool = False,
    folder: str = FOLDER,
) -> ModelInfo:
    name = title.replace("/", "--") + "@9c1f2ab4"
    path, source = f"{folder}/{name}", f"/from/{title}"
    return ModelInfo(name, title, state, nbytes, path, "bfloat16", "Qwen3", 40_960, True, thinks, source, sees)


STARTER = _model("HuggingFaceTB/SmolLM2-135M-Instruct", 269_000_000)
QWEN = _model("Qwen/Qwen3-8B", 16_400_000_000, thinks=True)
MISTRAL = _model("mistralai/Mistral-7B-Instruct-v0.3", 14_500_000_000)
SEEING = _model("Qwen/Qwen3-VL-8B-Instruct", 17_500_000_000, sees=True)
HALF = _model("Qwen/Qwen3-14B", 11_800_000_000, state="unfinished")
AWAY = _model("Qwen/Qwen3-32B", 65_500_000_000, state="away", folder=USB_FOLDER)
MODELS = [QWEN, MISTRAL, SEEING, STARTER, HALF, AWAY]
MODEL_FOLDERS = [
    FolderReport(FOLDER, True, True, 5, 60 * GB, 1000 * GB, 412 * GB, False),
    FolderReport(USB_FOLDER, False, False, 1, 65_500_000_000, 0, 0, True),
]

PLAN = ModelPlan(
    model=QWEN.name,
    architecture="Qwen3ForCausalLM",
    dtype="bfloat16",
    blocks=39,
    is_cut=True,
    disk_now_bytes=17 * GB,
    disk_peak_bytes=17 * GB,
    disk_after_bytes=16_400_000_000,
    disk_free_bytes=412 * GB,
    device="cpu",
    device_bytes=11 * GB,
    host_bytes=0,
    slot_bytes=1_200_000_000,
    streamed_bytes=5_400_000_000,
    cache_bytes=600_000_000,
    context=4096,
    disk_bytes_per_second=2.1 * GB,
    predicted_s_per_token=2.6,
)


def fill_engine(engine: FakeEngineHost) -> None:
    engine.reply("probe", MACHINE.report)
    engine.reply("list_models", MODELS)
    engine.reply("model_folders", MODEL_FOLDERS)
    engine.reply("list_drives", DRIVES)
    engine.reply("measure_drive", lambda request: SPEEDS[str(request.args[0])])
    engine.reply(
        "plan_download",
        lambda request: replace(
            PLAN,
            is_cut=False,
            download_bytes=61_100_000_000,
            disk_peak_bytes=(122 if request.kwargs["keep_download"] else 66) * GB,
            disk_after_bytes=(122 if request.kwargs["keep_download"] else 61) * GB,
            device_bytes=3_100_000_000,
            slot_bytes=15_300_000_000,
            streamed_bytes=740_000_000,
            predicted_s_per_token=0.36,
            folder=str(request.kwargs["target"] or FOLDER),
        ),
    )
    engine.reply("plan", lambda request: replace(PLAN, is_cut=request.args[0] in [each.name for each in MODELS]))


QUESTION = {
    "en": "Why is a dense model read in a cycle, and what does that mean for a cache?",
    "zh_CN": "为什么稠密模型是循环读取的？这对缓存意味着什么？",
}
ANSWER = {
    "en": """A dense model uses **every layer for every token**, always in the same order:

1. layer 1, layer 2, … layer 80;
2. then the next token begins, and it is layer 1 again.

A cache that drops what was used longest ago therefore drops exactly the layer that comes next. \
With room for 40 of 80 layers it never hits once. Keeping a *fixed* set does better:

| policy | hits | read per token |
|---|---:|---:|
| least recently used | 0 % | 140 GB |
| fixed half | 50 % | 70 GB |

```python
def streamed_bytes(layers: int, resident: int, layer_bytes: int) -> int:
    \"\"\"What is read from the drive for one token.\"\"\"
    return (layers - resident) * layer_bytes
```

So the time for a token is $t = W (1 - r) / B$, where $r$ is the share that stays in memory.
""",
    "zh_CN": """稠密模型对**每个词元都要用到每一层**，顺序总是相同：

1. 第 1 层、第 2 层……第 80 层；
2. 然后下一个词元开始，又是第 1 层。

因此，淘汰最久未用内容的缓存，恰好会淘汰接下来要用的那一层。80 层中能放 40 层时，一次也不会命中。\
固定保留一部分要好得多：

| 策略 | 命中 | 每词元读取 |
|---|---:|---:|
| 最近最少使用 | 0 % | 140 GB |
| 固定一半 | 50 % | 70 GB |

```python
def streamed_bytes(layers: int, resident: int, layer_bytes: int) -> int:
    \"\"\"每个词元要从硬盘读取的字节数。\"\"\"
    return (layers - resident) * layer_bytes
```

所以一个词元的时间是 $t = W (1 - r) / B$，其中 $r$ 是常驻内存的比例。
""",
}
OTHERS = {
    "en": ["Letter to the landlord", "Names for a sailing boat", "Plan of a vegetable garden", "SQL window functions"],
    "zh_CN": ["给房东的信", "帆船的名字", "菜园规划", "SQL 窗口函数"],
}
FOLDERS = {"en": "House and garden", "zh_CN": "家与花园"}
TITLES = {"en": "Caches and cycles", "zh_CN": "缓存与循环"}
NEXT_QUESTION = {"en": "And for a mixture of experts?", "zh_CN": "那么混合专家模型呢？"}


def fill_chats(store: ConversationStore, language: str) -> None:
    """The newest is the one with the long answer."""
    folder = store.add_folder(FOLDERS[language])
    for number, title in enumerate(OTHERS[language]):
        chat = store.add_conversation(model=QWEN.name)
        store.set_folder(chat.id, folder.id if number in (1, 2) else None)
        store.rename_conversation(chat.id, title)
        question = store.add_message(chat.id, "user", title, parent_id=None)
        store.add_message(chat.id, "assistant", title, parent_id=question.id, model=QWEN.name)
    chat = store.add_conversation(model=QWEN.name)
    store.rename_conversation(chat.id, TITLES[language])
    question = store.add_message(chat.id, "user", QUESTION[language], parent_id=None)
    store.add_message(chat.id, "assistant", ANSWER[language], parent_id=question.id, model=QWEN.name)


IMAGE_TITLES = {"en": "Where is this?", "zh_CN": "这是哪里？"}
IMAGE_ANSWERS = {
    "en": "A calm evening by the sea: the sun stands **a hand's breadth above the horizon**, and the sky is clear.",
    "zh_CN": "海边一个平静的傍晚：太阳离**地平线约一掌高**，天空晴朗。",
}


def seascape(*, width: int, height: int) -> bytes:
    """A picture somebody might have taken, as the contents of a PNG file."""
    image = QImage(width, height, QImage.Format.Format_RGB32)
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    sky = QLinearGradient(0, 0, 0, height)
    for place, colour in ((0.0, "#7db8e8"), (0.58, "#f6d9ae"), (0.59, "#2f6f8f"), (1.0, "#123a52")):
        sky.setColorAt(place, QColor(colour))
    painter.fillRect(image.rect(), sky)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor("#e8623a"))
    painter.drawEllipse(QPointF(width * 0.68, height * 0.45), height * 0.07, height * 0.07)
    painter.end()
    buffer = QBuffer()
    buffer.open(QBuffer.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # pyright: ignore[reportArgumentType, reportCallIssue]
    return bytes(buffer.data().data())


def add_image_chat(store: ConversationStore, language: str) -> int:
    """One with two pictures in it, and a third in its draft."""
    sizes = {"harbour.png": (1600, 1000), "beach.png": (900, 1200), "evening.png": (1200, 1200)}
    images = [
        StoredImage(name, store.images.add(seascape(width=width, height=height)), width, height)
        for name, (width, height) in sizes.items()
    ]
    chat = store.add_conversation(model=SEEING.name)
    store.rename_conversation(chat.id, IMAGE_TITLES[language])
    question = store.add_message(chat.id, "user", IMAGE_TITLES[language], parent_id=None, images=images[:2])
    store.add_message(chat.id, "assistant", IMAGE_ANSWERS[language], parent_id=question.id, model=SEEING.name)
    store.save_draft(chat.id, Draft("", (Attachment("log.txt", "x"),), (images[2],)))
    return chat.id

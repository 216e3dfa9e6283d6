"""What pages are given: one object of each service, built once in ``app.main`` and handed down by constructor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.answers import AnswerQueue
    from app.conversations.store import ConversationStore
    from app.engine_host import EngineHost
    from app.gpu.service import GpuRuntime
    from app.jobs import JobBoard
    from app.ledger import Ledger
    from app.paths import Paths
    from app.secrets import Secrets
    from app.settings import Settings
    from app.theme import Theme
    from app.updates import UpdateCheck


@dataclass(frozen=True, slots=True)
class Services:
    """Pages read these; none of them knows a page."""

    paths: Paths
    settings: Settings
    secrets: Secrets
    theme: Theme
    engine: EngineHost
    conversations: ConversationStore
    jobs: JobBoard
    answers: AnswerQueue
    ledger: Ledger
    gpu: GpuRuntime
    updates: UpdateCheck

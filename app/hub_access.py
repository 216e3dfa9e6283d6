"""How the hub is reached by what the user set: the mirror, the proxy and the token. Asked anew for each call."""

from __future__ import annotations

from app.secrets import Secrets
from app.settings import MIRROR, PROXY, Settings
from engine.api import HubAccess

HUB_ADDRESS = "https://huggingface.co"


def hub_access(settings: Settings, secrets: Secrets) -> HubAccess:
    """Holds the token: never kept, never logged."""
    return HubAccess(
        token=secrets.token(),
        endpoint=settings.value(MIRROR) or HUB_ADDRESS,
        proxy=settings.value(PROXY) or None,
    )

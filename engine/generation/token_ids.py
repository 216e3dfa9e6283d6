"""Token ids given by hand. No torch."""

from __future__ import annotations

from collections.abc import Sequence

from engine.errors import InvalidRequest


def require_known_ids(token_ids: Sequence[int], vocabulary: int) -> None:
    """Raises ``InvalidRequest`` for an empty prompt, or an id that is not below ``vocabulary``."""
    if not token_ids:
        raise InvalidRequest("The prompt is empty.", "Give at least one token id.")
    for token_id in token_ids:
        if not 0 <= token_id < vocabulary:
            raise InvalidRequest(
                f"{token_id} is not a token of this model: its vocabulary has {vocabulary:,} tokens.",
                f"Use ids from 0 to {vocabulary - 1}.",
            )

"""An empty chat with a given model, for pages that end in one. Knows the conversation store and no widgets."""

from __future__ import annotations

from app.conversations.store import ConversationStore


def start_chat(conversations: ConversationStore, model: str) -> str:
    """Where to navigate: a chat nothing was written in yet is taken again, so that none pile up."""
    for conversation in conversations.conversations()[:20]:
        is_blank = not conversation.is_title_manual and not conversations.draft(conversation.id).text
        if is_blank and not conversations.messages(conversation.id):
            conversations.set_model(conversation.id, model)
            return f"chat:{conversation.id}"
    return f"chat:{conversations.add_conversation(model=model).id}"

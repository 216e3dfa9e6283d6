"""The schema of the conversations, as numbered steps that are only ever appended.

A step that has shipped is never edited: ``tests/data`` holds a sample of every version, and opening it must give
what was written into it. ``PRAGMA user_version`` says how many steps a file has seen.
"""

from __future__ import annotations

MIGRATIONS: tuple[str, ...] = (
    # 1: conversations, messages as a tree, answers in the making, presets, full-text search.
    """
    CREATE TABLE folders (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL
    );
    CREATE TABLE conversations (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        title TEXT NOT NULL DEFAULT '',
        is_title_manual INTEGER NOT NULL DEFAULT 0,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        folder_id INTEGER REFERENCES folders (id) ON DELETE SET NULL,
        is_pinned INTEGER NOT NULL DEFAULT 0,
        is_unread INTEGER NOT NULL DEFAULT 0,
        model TEXT NOT NULL DEFAULT '',
        system_prompt TEXT NOT NULL DEFAULT '',
        thinking INTEGER,
        sampling TEXT NOT NULL DEFAULT '{}',
        context_start_id INTEGER,
        draft TEXT NOT NULL DEFAULT '',
        draft_attachments TEXT NOT NULL DEFAULT '[]',
        opened_at REAL,
        deleted_at REAL
    );
    CREATE TABLE messages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        conversation_id INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
        parent_id INTEGER REFERENCES messages (id) ON DELETE CASCADE,
        is_active INTEGER NOT NULL DEFAULT 1,
        role TEXT NOT NULL,
        text TEXT NOT NULL DEFAULT '',
        created_at REAL NOT NULL,
        state TEXT NOT NULL DEFAULT 'done',
        error TEXT NOT NULL DEFAULT '',
        model TEXT NOT NULL DEFAULT '',
        started_at REAL,
        thinking_s REAL,
        attachments TEXT NOT NULL DEFAULT '[]',
        figures TEXT NOT NULL DEFAULT '{}',
        deleted_at REAL
    );
    CREATE INDEX messages_by_parent ON messages (conversation_id, parent_id);
    CREATE INDEX messages_by_state ON messages (state) WHERE state IN ('waiting', 'running');
    -- What arrived of an answer in the making; folded into its message when it ends.
    CREATE TABLE answer_pieces (
        id INTEGER PRIMARY KEY,
        message_id INTEGER NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
        token_ids TEXT NOT NULL,
        text TEXT NOT NULL
    );
    CREATE INDEX answer_pieces_by_message ON answer_pieces (message_id, id);
    CREATE TABLE presets (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL UNIQUE,
        system_prompt TEXT NOT NULL DEFAULT '',
        sampling TEXT NOT NULL DEFAULT '{}'
    );
    CREATE VIRTUAL TABLE message_index USING fts5 (text, content='messages', content_rowid='id', tokenize='trigram');
    CREATE TRIGGER messages_inserted AFTER INSERT ON messages BEGIN
        INSERT INTO message_index (rowid, text) VALUES (new.id, new.text);
    END;
    CREATE TRIGGER messages_deleted AFTER DELETE ON messages BEGIN
        INSERT INTO message_index (message_index, rowid, text) VALUES ('delete', old.id, old.text);
    END;
    CREATE TRIGGER messages_changed AFTER UPDATE OF text ON messages BEGIN
        INSERT INTO message_index (message_index, rowid, text) VALUES ('delete', old.id, old.text);
        INSERT INTO message_index (rowid, text) VALUES (new.id, new.text);
    END;
    """,
    # 2: when a model was last used, without reading the answers themselves.
    """
    CREATE INDEX messages_by_model ON messages (role, model, created_at);
    """,
    # 3: images go with questions; an answer remembers that its model could not see them.
    """
    ALTER TABLE messages ADD COLUMN images TEXT NOT NULL DEFAULT '[]';
    ALTER TABLE messages ADD COLUMN is_blind INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE conversations ADD COLUMN draft_images TEXT NOT NULL DEFAULT '[]';
    """,
)

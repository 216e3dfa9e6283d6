"""The conversation store: the tree of versions, answers in the making, drafts, deleting, damage."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.conversations.exchange import Headings, export_json, export_markdown, import_json
from app.conversations.records import AnswerState, Attachment, Draft, StoredImage, StoreError
from app.conversations.store import IMAGES_KEPT_S, KEPT_AFTER_DELETE_S, ConversationStore
from engine.api import Message, SamplingOptions
from engine.events import BytesMoved, GenerationResult, StopReason

SAMPLES = Path(__file__).parents[2] / "data"
PNG = b"\x89PNG\r\n\x1a\n of a boat"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ConversationStore]:
    opened = ConversationStore(tmp_path / "conversations.db")
    yield opened
    opened.close()


def generation_result(text: str, *, stop_reason: StopReason = StopReason.STOP_TOKEN) -> GenerationResult:
    return GenerationResult(text, (1, 2, 3), stop_reason, 10, 0, 0.5, 0.1, 1.0, BytesMoved(0, 0, 0))


def ask(store: ConversationStore, conversation_id: int, text: str, parent_id: int | None = None) -> tuple[int, int]:
    question = store.add_message(conversation_id, "user", text, parent_id=parent_id)
    answer = store.add_message(conversation_id, "assistant", parent_id=question.id, state=AnswerState.WAITING)
    return question.id, answer.id


def test_messages_come_back_in_the_order_they_were_written(store: ConversationStore) -> None:
    chat = store.add_conversation("Trees")
    _, answer_id = ask(store, chat.id, "Name a tree")
    store.finish_answer(answer_id, generation_result("Oak"))
    ask(store, chat.id, "Another", parent_id=answer_id)
    assert [each.text for each in store.messages(chat.id)] == ["Name a tree", "Oak", "Another", ""]


def test_a_regenerated_answer_is_a_sibling_and_nothing_is_lost(store: ConversationStore) -> None:
    chat = store.add_conversation()
    question_id, first = ask(store, chat.id, "Name a tree")
    store.finish_answer(first, generation_result("Oak"))
    follow_up, _ = ask(store, chat.id, "Why?", parent_id=first)
    second = store.add_message(chat.id, "assistant", "Elm", parent_id=question_id).id
    assert [(each.text, each.version, each.versions) for each in store.messages(chat.id)] == [
        ("Name a tree", 1, 1),
        ("Elm", 2, 2),
    ]
    store.activate(first)
    assert [each.id for each in store.messages(chat.id)][:3] == [question_id, first, follow_up]
    assert store.versions(first) == [first, second]


def test_what_is_read_is_what_is_on_the_disk_whatever_happened_since_it_was_read_last(tmp_path: Path) -> None:
    path = tmp_path / "c.db"
    store = ConversationStore(path)
    chat, other = store.add_conversation(), store.add_conversation()
    question, first = ask(store, chat.id, "Name a tree")
    ask(store, other.id, "Something else")
    second = store.add_message(chat.id, "assistant", "Elm", parent_id=question).id

    def happens() -> Iterator[object]:
        yield store.activate(first)
        yield store.begin_answer(first)
        yield store.append_tokens(first, [1], "<think>hm</think>")
        yield store.finish_answer(first, generation_result("Oak"))
        yield store.messages(other.id)
        yield store.delete_message(first)
        yield store.restore_message(first)
        yield store.fail_answer(ask(store, chat.id, "Why?", parent_id=first)[1], "no")
        yield store.activate(second)

    for _ in happens():
        read = store.messages(chat.id)
        anew = ConversationStore(path)
        assert read == anew.messages(chat.id)
        assert store.path_to(read[-1].id) == anew.path_to(read[-1].id)
        assert store.all_messages(chat.id) == anew.all_messages(chat.id)
        anew.close()
    store.close()


def test_tokens_survive_reopening_and_the_answer_can_go_on(tmp_path: Path) -> None:
    path = tmp_path / "conversations.db"
    store = ConversationStore(path)
    chat = store.add_conversation(model="tiny", system_prompt="Be brief.", sampling=SamplingOptions(seed=3))
    _, answer_id = ask(store, chat.id, "Count")
    store.begin_answer(answer_id)
    store.append_tokens(answer_id, [5, 6], "one ")
    store.append_tokens(answer_id, [7], "two")
    # No close: the program was killed.
    again = ConversationStore(path)
    (unfinished,) = again.unfinished_answers()
    assert unfinished.token_ids == (5, 6, 7)
    assert unfinished.text == "one two"
    assert unfinished.state is AnswerState.RUNNING
    assert unfinished.model == "tiny"
    assert unfinished.sampling == SamplingOptions(seed=3)
    assert unfinished.messages == (Message("system", "Be brief."), Message("user", "Count"))
    assert again.messages(chat.id)[-1].text == "one two"
    again.finish_answer(answer_id, generation_result("one two three"))
    assert again.unfinished_answers() == []
    assert again.messages(chat.id)[-1].text == "one two three"
    again.close()
    store.close()


def test_the_one_being_answered_goes_on_before_those_that_wait(store: ConversationStore) -> None:
    chat = store.add_conversation()
    _, waiting = ask(store, chat.id, "first")
    _, running = ask(store, store.add_conversation().id, "second")
    store.begin_answer(running)
    assert [each.message_id for each in store.unfinished_answers()] == [running, waiting]


def test_a_failed_answer_keeps_its_words_and_says_why(store: ConversationStore) -> None:
    chat = store.add_conversation()
    _, answer_id = ask(store, chat.id, "Count")
    store.append_tokens(answer_id, [5], "one")
    store.fail_answer(answer_id, "The disk is full.")
    message = store.messages(chat.id)[-1]
    assert (message.text, message.state, message.error) == ("one", AnswerState.FAILED, "The disk is full.")


def test_a_cancelled_result_leaves_a_stopped_answer(store: ConversationStore) -> None:
    chat = store.add_conversation()
    _, answer_id = ask(store, chat.id, "Count")
    store.finish_answer(answer_id, generation_result("one", stop_reason=StopReason.CANCELLED))
    assert store.messages(chat.id)[-1].state is AnswerState.STOPPED


def test_thinking_is_timed_even_when_its_end_mark_arrives_in_pieces(tmp_path: Path) -> None:
    clock = [100.0]
    store = ConversationStore(tmp_path / "c.db", now=lambda: clock[0])
    chat = store.add_conversation()
    _, answer_id = ask(store, chat.id, "Think")
    store.begin_answer(answer_id)
    for text in ("<think>", "hm", "</th", "ink", ">", " Yes"):
        clock[0] += 2
        store.append_tokens(answer_id, [1], text)
    message = store.message(answer_id)
    assert message is not None
    assert message.thinking_s == 10
    store.close()


def test_the_prompt_leaves_out_old_thinking_empty_answers_and_what_precedes_the_context(
    store: ConversationStore,
) -> None:
    chat = store.add_conversation()
    _, answer = ask(store, chat.id, "Old")
    store.finish_answer(answer, generation_result("Old answer"))
    second = store.add_message(chat.id, "user", "Look", parent_id=answer, attachments=[Attachment("a.txt", "A```B")])
    thought = store.add_message(chat.id, "assistant", "<think>hm</think>\n\nSeen", parent_id=second.id)
    _, empty = ask(store, chat.id, "Unanswered", parent_id=thought.id)
    store.fail_answer(empty, "no")
    _, last = ask(store, chat.id, "New", parent_id=empty)
    store.set_context_start(chat.id, second.id)
    unfinished = store.unfinished_answer(last)
    assert unfinished is not None
    assert unfinished.messages == (
        Message("user", "File “a.txt”:\n````\nA```B\n````\n\nLook"),
        Message("assistant", "Seen"),
        Message("user", "New"),
    )


def test_the_pace_of_a_model_is_that_of_its_latest_real_answer(store: ConversationStore) -> None:
    chat = store.add_conversation()
    for tokens, pace in ((50, 1.5), (2, 9.0)):
        answer = store.add_message(chat.id, "assistant", parent_id=None, model="tiny", state=AnswerState.WAITING)
        result = replace(generation_result("x"), token_ids=tuple(range(tokens)), s_per_token=pace)
        store.finish_answer(answer.id, result)
    assert store.measured_s_per_token("tiny") == 1.5
    assert store.measured_s_per_token("other") is None


def test_drafts_are_kept_with_their_files(store: ConversationStore) -> None:
    chat = store.add_conversation()
    draft = Draft("half a thou", (Attachment("notes.md", "# Notes"),))
    store.save_draft(chat.id, draft)
    assert store.draft(chat.id) == draft


def test_the_prompt_has_the_images_of_its_questions_unless_the_model_is_blind(store: ConversationStore) -> None:
    chat = store.add_conversation()
    image = StoredImage("boat.png", store.images.add(PNG), 1, 1)
    question = store.add_message(chat.id, "user", "What is it?", parent_id=None, images=[image])
    for is_blind, expected in ((False, (store.images.path(image.file),)), (True, ())):
        answer = store.add_message(
            chat.id, "assistant", parent_id=question.id, state=AnswerState.WAITING, is_blind=is_blind
        )
        unfinished = store.unfinished_answer(answer.id)
        assert unfinished is not None
        assert unfinished.messages == (Message("user", "What is it?", expected),)


def test_images_are_kept_once_and_go_when_nobody_has_them(tmp_path: Path) -> None:
    clock = [time.time()]
    path = tmp_path / "c.db"
    store = ConversationStore(path, now=lambda: clock[0])
    chat, lost = store.add_conversation(), store.add_conversation()
    sent, drafted, dropped = (store.images.add(PNG + bytes([number])) for number in range(3))
    assert store.images.add(PNG + b"\0") == sent
    store.add_message(chat.id, "user", "q", parent_id=None, images=[StoredImage("a", sent, 1, 1)])
    store.save_draft(lost.id, Draft("", (), (StoredImage("b", drafted, 1, 1),)))
    clock[0] += IMAGES_KEPT_S - 60
    store.remove_unused_images()
    assert store.images.path(dropped).exists()
    clock[0] += 120
    store.remove_unused_images()
    assert [store.images.path(each).exists() for each in (sent, drafted, dropped)] == [True, True, False]
    store.delete_conversation(lost.id)
    store.close()
    clock[0] += KEPT_AFTER_DELETE_S + 1
    later = ConversationStore(path, now=lambda: clock[0])
    later.remove_unused_images()
    assert [later.images.path(each).exists() for each in (sent, drafted)] == [True, False]
    later.close()


def test_images_are_kept_while_a_damaged_file_may_need_them(store: ConversationStore, tmp_path: Path) -> None:
    name = store.images.add(PNG)
    os.utime(store.images.path(name), (0, 0))
    (tmp_path / "conversations.damaged-1.db").touch()
    store.remove_unused_images()
    assert store.images.path(name).exists()


@pytest.mark.parametrize("data", [b"", b"BM not an image", b"RIFF....WAVE"])
def test_what_models_are_not_given_as_an_image_is_not_kept(store: ConversationStore, data: bytes) -> None:
    with pytest.raises(ValueError, match="PNG"):
        store.images.add(data)


def test_a_deleted_conversation_comes_back_and_is_erased_after_thirty_days(tmp_path: Path) -> None:
    path = tmp_path / "conversations.db"
    clock = [0.0]
    store = ConversationStore(path, now=lambda: clock[0])
    kept, lost = store.add_conversation("kept"), store.add_conversation("lost")
    ask(store, lost.id, "words")
    store.delete_conversation(kept.id)
    store.restore_conversation(kept.id)
    store.delete_conversation(lost.id)
    assert [each.title for each in store.conversations()] == ["kept"]
    assert store.search("words") == []
    store.close()
    clock[0] = KEPT_AFTER_DELETE_S + 1
    later = ConversationStore(path, now=lambda: clock[0])
    later.restore_conversation(lost.id)
    assert [each.title for each in later.conversations()] == ["kept"]
    later.close()


def test_deleting_a_version_shows_its_neighbour_and_undo_shows_it_again(store: ConversationStore) -> None:
    chat = store.add_conversation()
    question, first = ask(store, chat.id, "q")
    store.finish_answer(first, generation_result("one"))
    second = store.add_message(chat.id, "assistant", "two", parent_id=question)
    store.delete_message(second.id)
    assert [each.text for each in store.messages(chat.id)] == ["q", "one"]
    store.restore_message(second.id)
    assert [each.text for each in store.messages(chat.id)] == ["q", "two"]


def test_search_finds_words_in_any_script_and_any_length(store: ConversationStore) -> None:
    trees = store.add_conversation("About trees")
    ask(store, trees.id, "Why is the Ginkgo yellow in autumn?")
    chinese = store.add_conversation("旅行")
    ask(store, chinese.id, "我想去云南大理旅行，请给我一个计划。")
    assert [each.conversation_id for each in store.search("ginkgo")] == [trees.id]
    assert [each.conversation_id for each in store.search("大理")] == [chinese.id]
    assert [each.conversation_id for each in store.search("云南大理")] == [chinese.id]
    assert [each.conversation_id for each in store.search("about t")] == [trees.id]
    assert store.search('100% "quoted') == []
    assert "Ginkgo" in store.search("GINKGO")[0].excerpt


def test_a_bad_field_falls_back_and_hides_nothing(store: ConversationStore, tmp_path: Path) -> None:
    chat = store.add_conversation("good")
    ask(store, chat.id, "still here")
    raw = sqlite3.connect(tmp_path / "conversations.db")
    raw.execute("UPDATE conversations SET sampling = 'not json', updated_at = 'never'")
    raw.execute(
        "UPDATE messages SET figures = '[', attachments = '{', text = CAST(x'ff41' AS TEXT) WHERE role = 'user'"
    )
    raw.commit()
    raw.close()
    assert store.conversations()[0].sampling == SamplingOptions()
    assert store.messages(chat.id)[0].text == "\ufffdA"
    assert len(store.messages(chat.id)) == 2


def test_a_title_the_user_gave_is_not_replaced(store: ConversationStore) -> None:
    chat = store.add_conversation()
    store.rename_conversation(chat.id, "automatic", by_user=False)
    store.rename_conversation(chat.id, "mine")
    store.rename_conversation(chat.id, "automatic again", by_user=False)
    assert store.conversations()[0].title == "mine"


def test_a_folder_that_goes_leaves_its_conversations(store: ConversationStore) -> None:
    chat = store.add_conversation()
    folder = store.add_folder("Work")
    store.set_folder(chat.id, folder.id)
    store.remove_folder(folder.id)
    assert store.conversations()[0].folder_id is None


def test_the_store_says_when_a_model_was_last_asked(tmp_path: Path) -> None:
    clock = [100.0]
    store = ConversationStore(tmp_path / "c.db", now=lambda: clock[0])
    chat = store.add_conversation()
    for model in ("tiny", "large", "tiny"):
        clock[0] += 10
        store.add_message(chat.id, "assistant", "x", parent_id=None, model=model)
    store.delete_conversation(chat.id)
    assert store.last_used() == {"tiny": 130.0, "large": 120.0}
    store.close()


def test_folders_are_told_to_those_who_list_chats(store: ConversationStore) -> None:
    told: list[int] = []
    store.listen(lambda: told.append(1))
    folder = store.add_folder("Trees")
    store.rename_folder(folder.id, "Woods")
    store.remove_folder(folder.id)
    assert len(told) == 3


def test_presets_are_replaced_by_name(store: ConversationStore) -> None:
    store.save_preset("Terse", "Be brief.", SamplingOptions(temperature=0.2))
    store.save_preset("Terse", "Be very brief.", SamplingOptions(temperature=0.1))
    (preset,) = store.presets()
    assert (preset.system_prompt, preset.sampling.temperature) == ("Be very brief.", 0.1)


def test_an_export_imports_as_the_same_conversation(store: ConversationStore) -> None:
    chat = store.add_conversation("Trees", model="tiny", system_prompt="Be brief.", sampling=SamplingOptions(top_k=5))
    question, first = ask(store, chat.id, "q")
    store.finish_answer(first, generation_result("one"))
    store.add_message(chat.id, "assistant", "two", parent_id=question)
    store.activate(first)
    (copy,) = import_json(store, export_json(store, [chat.id]))
    imported = store.conversation(copy)
    assert imported is not None
    assert (imported.title, imported.model, imported.system_prompt) == ("Trees", "tiny", "Be brief.")
    assert imported.sampling == SamplingOptions(top_k=5)
    assert [(m.text, m.version, m.versions) for m in store.messages(copy)] == [("q", 1, 1), ("one", 1, 2)]


def test_an_import_keeps_times_folders_figures_and_images(tmp_path: Path) -> None:
    clock = [1000.0]
    store = ConversationStore(tmp_path / "old" / "c.db", now=lambda: clock[0])
    chat = store.add_conversation("Boats")
    store.set_folder(chat.id, store.add_folder("Sea").id)
    file = store.images.add(PNG)
    image = StoredImage("boat.png", file, 1, 1)
    question = store.add_message(chat.id, "user", "What is it?", parent_id=None, images=[image])
    answer = store.add_message(chat.id, "assistant", parent_id=question.id, state=AnswerState.WAITING, is_blind=True)
    store.finish_answer(answer.id, generation_result("A boat"))
    before = store.messages(chat.id)
    exported = export_json(store, [chat.id])
    store.close()
    other = ConversationStore(tmp_path / "new" / "c.db", now=lambda: 9000.0)
    (copy,) = import_json(other, exported)
    assert [replace(each, id=0, parent_id=None, conversation_id=0) for each in other.messages(copy)] == [
        replace(each, id=0, parent_id=None, conversation_id=0) for each in before
    ]
    found = other.conversation(copy)
    assert found is not None
    assert (found.created_at, found.updated_at) == (1000.0, 1000.0)
    assert [each.name for each in other.folders() if each.id == found.folder_id] == ["Sea"]
    assert other.images.path(file).read_bytes() == PNG
    other.close()


def test_an_import_leaves_out_what_is_no_message_and_no_image(store: ConversationStore) -> None:
    messages = [
        {"id": 1, "parent": None, "role": "user", "text": "q", "images": [{"name": "x", "data": "bm8gaW1hZ2U="}, 3]},
        {"id": 2, "parent": 7, "role": "assistant", "text": "an orphan"},
        {"id": 3, "parent": "1", "role": "assistant", "text": "below nobody"},
        {"id": 4, "parent": 1, "role": "judge"},
        "not a message",
        {"id": 5, "parent": 1, "role": "assistant", "text": "a", "state": "running", "is_active": True},
    ]
    whole = {"format": "strata-conversations", "version": 1, "conversations": [{"messages": messages}, None]}
    (copy,) = import_json(store, json.dumps(whole))
    assert [(each.text, each.state, each.images) for each in store.messages(copy)] == [
        ("q", AnswerState.DONE, ()),
        ("a", AnswerState.DONE, ()),
    ]


@pytest.mark.parametrize("text", ["", "[]", '{"format": "other"}', '{"format": "strata-conversations"}'])
def test_a_file_that_is_no_export_is_refused_with_a_sentence(store: ConversationStore, text: str) -> None:
    with pytest.raises(StoreError):
        import_json(store, text)
    assert store.conversations() == []


def test_markdown_has_the_words_without_the_thinking(store: ConversationStore, tmp_path: Path) -> None:
    chat = store.add_conversation("Trees")
    question = store.add_message(chat.id, "user", "q", parent_id=None)
    store.add_message(chat.id, "assistant", "<think>hm</think>\n\n**Oak**", parent_id=question.id, model="tiny")
    file = tmp_path / "Trees.md"
    export_markdown(store, chat.id, Headings(), file)
    assert file.read_text(encoding="utf-8") == "# Trees\n\n## You\n\nq\n\n## tiny\n\n**Oak**\n"


def test_markdown_has_its_images_beside_it(store: ConversationStore, tmp_path: Path) -> None:
    chat = store.add_conversation("Boats")
    images = [StoredImage("my [boat].png", store.images.add(PNG), 1, 1), StoredImage("lost.png", "0.png", 1, 1)]
    store.add_message(chat.id, "user", "q", parent_id=None, images=images)
    file = tmp_path / "Boats.md"
    export_markdown(store, chat.id, Headings(), file)
    assert "![my (boat).png](<Boats images/1.png>)\n\n*lost.png*\n\nq" in file.read_text(encoding="utf-8")
    assert (tmp_path / "Boats images" / "1.png").read_bytes() == PNG


def test_a_file_from_a_newer_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "conversations.db"
    raw = sqlite3.connect(path)
    raw.execute("PRAGMA user_version = 999")
    raw.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="newer"):
        ConversationStore(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("damage", ["garbage", "torn"])
def test_a_damaged_file_is_set_aside_and_what_can_be_read_is_kept(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "conversations.db"
    store = ConversationStore(path)
    for index in range(50):
        ask(store, store.add_conversation(f"chat {index}").id, "words " * 200)
    store.close()
    data = bytearray(path.read_bytes())
    if damage == "garbage":
        data[:] = b"not a database at all" * 100
    else:
        middle = len(data) // 8192 * 4096
        data[middle : middle + 8192] = b"\xa5" * 8192
    path.write_bytes(data)
    rescued = ConversationStore(path)
    assert rescued.rescued_from is not None
    assert rescued.rescued_from.exists()
    if damage == "torn":
        assert len(rescued.conversations()) > 10
    rescued.add_conversation("works")
    rescued.close()


@pytest.mark.parametrize("version", [1, 2, 3])
def test_every_schema_that_shipped_still_opens(tmp_path: Path, version: int) -> None:
    path = tmp_path / "conversations.db"
    shutil.copy(SAMPLES / f"conversations-v{version}.db", path)
    store = ConversationStore(path)
    assert store.rescued_from is None
    trees, travel = sorted(store.conversations(), key=lambda each: each.id)
    assert (trees.title, trees.model, trees.is_pinned) == ("Trees", "tiny", True)
    assert trees.sampling == SamplingOptions(temperature=0.5, seed=7)
    assert [(m.text, m.version, m.versions) for m in store.messages(trees.id)] == [("Name a tree", 1, 1), ("Elm", 2, 2)]
    assert store.draft(travel.id) == Draft("还没写完", (Attachment("路线.txt", "昆明 大理 丽江"),))
    assert store.unfinished_answers()[0].token_ids == (11, 12)
    assert [each.conversation_id for each in store.search("云南")] == [travel.id]
    assert store.presets()[0].name == "Terse"
    if version >= 3:
        assert store.draft(trees.id).images == (StoredImage("fir.png", "11.png", 640, 480),)
        assert store.messages(trees.id)[0].images == (StoredImage("oak.jpg", "00.jpg", 3000, 2000),)
        assert store.messages(trees.id)[1].is_blind
    store.close()


@pytest.mark.parametrize(
    ("what", "said"),
    [("locked", "Another program is using"), ("read only", "You may not write to"), ("full", "their drive is full")],
)
def test_what_keeps_the_file_from_opening_is_told_apart(
    what: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "conversations.db"
    connect = sqlite3.connect
    other = connect(path, isolation_level=None)
    other.execute("CREATE TABLE something (id)")
    if what == "locked":
        other.execute("BEGIN EXCLUSIVE")

    def connect_badly(file: Path, **options: object) -> sqlite3.Connection:
        mode = "ro" if what == "read only" else "rw"
        made = connect(f"{file.as_uri()}?mode={mode}", uri=True, **{**options, "timeout": 0})  # pyright: ignore
        if what == "full":
            made.execute("PRAGMA max_page_count = 2")
        return made

    monkeypatch.setattr("app.conversations.database.sqlite3.connect", connect_badly)
    with pytest.raises(StoreError, match=said) as caught:
        ConversationStore(path)
    other.close()
    assert "try again" in caught.value.next_step

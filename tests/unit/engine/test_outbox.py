"""The outbox: tokens are never dropped, progress never floods, order is kept, nobody waits for the reader."""

from __future__ import annotations

import threading

from engine.errors import InvalidRequest
from engine.events import Finished, LayerProgress, Outcome, PassKind, TokenArrived
from engine.outbox import Outbox
from engine.worker_messages import Failed, FromWorker, Occurred, Ready, Result


def progress(block: int) -> LayerProgress:
    return LayerProgress(PassKind.DECODE, 0, block, 1000, f"layer-{block}", False, 0, 0.0, None)


def sent_by(post_all: list[FromWorker], interval_s: float) -> list[FromWorker]:
    """What goes out when everything is posted before the sender gets to it."""
    sent: list[FromWorker] = []
    may_send = threading.Event()

    def send(message: FromWorker) -> None:
        may_send.wait(10)
        sent.append(message)

    outbox = Outbox(send, interval_s=interval_s)
    outbox.post(Ready(1))
    for message in post_all:
        outbox.post(message)
    may_send.set()
    outbox.close(10)
    return sent[1:] if sent and isinstance(sent[0], Ready) else sent


def test_tokens_all_arrive_and_in_order() -> None:
    tokens: list[FromWorker] = [Occurred(1, TokenArrived(i, i, "x")) for i in range(500)]
    assert sent_by(tokens, 60.0) == tokens


def test_progress_that_comes_faster_than_it_may_go_is_replaced_by_the_newest() -> None:
    sent: list[FromWorker] = []
    outbox = Outbox(sent.append, interval_s=3600.0)
    for block in range(1, 101):
        outbox.post(Occurred(1, progress(block)))
    outbox.close(10)
    assert len(sent) <= 1


def test_the_last_progress_before_a_silence_is_told() -> None:
    told = threading.Event()

    def send(message: FromWorker) -> None:
        if message == Occurred(1, progress(100)):
            told.set()

    outbox = Outbox(send, interval_s=0.02)
    for block in range(1, 101):
        outbox.post(Occurred(1, progress(block)))
    assert told.wait(10)
    outbox.close(10)


def test_progress_never_comes_after_what_its_request_said_later() -> None:
    ending = Finished(Outcome.DONE)
    sent = sent_by([Occurred(1, progress(3)), Occurred(1, TokenArrived(0, 5, "a")), Occurred(1, ending)], 0.0)
    assert sent[-2:] == [Occurred(1, TokenArrived(0, 5, "a")), Occurred(1, ending)]


def test_requests_are_sampled_each_for_itself() -> None:
    sent = sent_by([Occurred(1, progress(1)), Occurred(2, progress(2))], 0.0)
    assert {message.request_id for message in sent if isinstance(message, Occurred)} == {1, 2}


def test_results_and_failures_are_sent() -> None:
    messages: list[FromWorker] = [Result(1, [1, 2]), Failed(2, InvalidRequest("no"))]
    assert sent_by(messages, 1.0) == messages


def test_a_reader_that_is_gone_ends_the_sending_quietly() -> None:
    def send(message: FromWorker) -> None:
        raise BrokenPipeError

    outbox = Outbox(send)
    outbox.post(Ready(1))
    outbox.close(10)
    outbox.post(Ready(2))

"""The room a download takes, and how its progress is told: pure, with a clock of its own."""

from __future__ import annotations

from engine.events import JobProgress, Notice
from engine.store.disk_plan import BlockDemand
from engine.store.supply_plan import plan_supply
from engine.store.transfer import Transfer

BLOCKS = [
    BlockDemand("embed", 10, frozenset({"a"})),
    BlockDemand("layer-0", 20, frozenset({"a", "b"})),
    BlockDemand("layer-1", 20, frozenset({"b"})),
    BlockDemand("head", 10, frozenset({"c"})),
]
SIZES = {"a": 20, "b": 30, "c": 10, "unused": 5}


def test_the_peak_is_the_model_and_the_shards_in_hand() -> None:
    plan = plan_supply(BLOCKS, SIZES, deletes=True, ahead=0)
    assert plan.order == ("c", "a", "b")
    # head from c: 10 + 10; embed from a: 20 + 20; layer-0 from both: 40 + 50; layer-1 from b: 60 + 30
    assert (plan.first_bytes, plan.peak_bytes, plan.after_bytes) == (20, 90, 60)


def test_a_shard_ahead_takes_its_room() -> None:
    plan = plan_supply(BLOCKS, SIZES, deletes=True, ahead=1)
    assert plan.first_bytes == 40
    assert plan.peak_bytes >= plan_supply(BLOCKS, SIZES, deletes=True, ahead=0).peak_bytes


def test_a_kept_download_stays_beside_the_model() -> None:
    plan = plan_supply(BLOCKS, SIZES, deletes=False, ahead=99, other_bytes=3)
    assert plan.order == ("a", "b", "c", "unused")
    assert plan.peak_bytes == plan.after_bytes == 60 + 65 + 3


def test_what_planning_reads_comes_first() -> None:
    assert plan_supply(BLOCKS, SIZES, deletes=True, ahead=0, first=["b"]).order[0] == "b"


def test_nothing_left_to_cut_needs_nothing() -> None:
    plan = plan_supply([], SIZES, deletes=True, ahead=1, other_bytes=3)
    assert (plan.order, plan.peak_bytes, plan.after_bytes) == ((), 3, 3)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def progress(transfer: Transfer) -> JobProgress:
    found = [event for event in transfer.due() if isinstance(event, JobProgress)]
    return found[-1]


def test_a_transfer_tells_its_speed_and_none_while_it_stands() -> None:
    clock = Clock()
    transfer = Transfer(3, 10_000, bytes_done=1000, clock=clock)
    transfer.begin(2, "b")
    assert progress(transfer).bytes_done == 1000
    clock.now += 1
    transfer.advance(2000)
    moving = progress(transfer)
    assert (moving.phase, moving.block, moving.blocks, moving.block_name) == ("downloading", 2, 3, "b")
    assert moving.bytes_per_second == 2000
    assert moving.seconds_left == 3.5
    clock.now += 2.5
    stalled = progress(transfer)
    assert (stalled.bytes_per_second, stalled.seconds_left) == (0.0, None)
    clock.now += 1
    transfer.advance(4000)
    assert progress(transfer).bytes_per_second > 0


def test_waiting_is_said_and_taken_back_when_it_flows_again() -> None:
    clock = Clock()
    transfer = Transfer(1, 100, clock=clock)
    transfer.due()
    transfer.hold("The connection broke off.")
    first, second = transfer.due()
    assert first == Notice("The connection broke off.")
    assert isinstance(second, JobProgress)
    assert (second.phase, second.bytes_per_second) == ("waiting", 0.0)
    transfer.flow()
    assert progress(transfer).phase == "downloading"


def test_a_pause_is_said_once() -> None:
    transfer = Transfer(1, 100, clock=Clock())
    transfer.pause("Paused.")
    transfer.pause("Paused.")
    assert [event for event in transfer.due() if isinstance(event, Notice)] == [Notice("Paused.")]

"""The thread chooser follows what passes really take, and pays little for finding out."""

from __future__ import annotations

from collections.abc import Callable

from engine.backends.cpu_threads import LONGEST_INTERVAL_S, ThreadChooser


class Machine:
    """A clock that passes advance, and a cost for each thread count."""

    def __init__(self, cost: Callable[[int], float], counts: tuple[int, ...] = (2, 1)) -> None:
        self.seconds = 0.0
        self.cost = cost
        self.used: list[int] = []
        self.chooser = ThreadChooser(counts, now=lambda: self.seconds)

    def run(self, passes: int) -> list[int]:
        for _ in range(passes):
            count = self.chooser.count_for_pass()
            self.used.append(count)
            self.seconds += self.cost(count)
            self.chooser.learn(self.cost(count))
        return self.used[-passes:]


def test_all_cores_are_kept_where_they_are_fastest() -> None:
    machine = Machine({2: 0.05, 1: 0.09}.__getitem__)
    assert machine.run(2000).count(1) < 40
    assert machine.chooser.best == 2


def test_one_thread_is_found_within_four_passes_beside_a_busy_process() -> None:
    machine = Machine({2: 0.83, 1: 0.14}.__getitem__)
    machine.run(4)
    assert machine.chooser.best == 1
    assert machine.run(100).count(2) <= 10


def test_a_machine_that_becomes_busy_is_noticed_at_once() -> None:
    is_busy = [False]
    machine = Machine(lambda count: (0.83 if is_busy[0] else 0.05) if count == 2 else 0.14)
    machine.run(3000)
    is_busy[0] = True
    machine.run(4)
    assert machine.chooser.best == 1


def test_all_cores_come_back_when_the_machine_is_quiet_again() -> None:
    is_busy = [True]
    machine = Machine(lambda count: (0.83 if is_busy[0] else 0.05) if count == 2 else 0.14)
    machine.run(200)
    is_busy[0] = False
    machine.run(int(2 * LONGEST_INTERVAL_S / 0.14))
    assert machine.chooser.best == 2


def test_differences_that_are_noise_change_nothing() -> None:
    machine = Machine({2: 1.0, 1: 0.95}.__getitem__)
    machine.run(500)
    assert machine.chooser.best == 2


def test_a_single_core_never_tries_anything() -> None:
    machine = Machine({1: 1.0}.__getitem__, counts=(1, 1))
    assert set(machine.run(50)) == {1}


def test_the_best_of_many_counts_is_found() -> None:
    costs = {16: 1.0, 15: 0.8, 8: 0.5, 1: 3.0}
    machine = Machine(costs.__getitem__, counts=(16, 15, 8, 1))
    machine.run(200)
    assert machine.chooser.best == 8

from __future__ import annotations

from hermes.host.log_budget import LogBudget


def test_what_is_over_the_budget_is_left_out_and_counted_with_the_next_line() -> None:
    now = [100.0]
    budget = LogBudget(3, 2.0, clock=lambda: now[0])
    assert [budget.take() for _ in range(5)] == [0, 0, 0, None, None]
    now[0] += 0.5
    assert [budget.take() for _ in range(2)] == [2, None]
    now[0] += 1000
    assert [budget.take() for _ in range(4)] == [1, 0, 0, None]

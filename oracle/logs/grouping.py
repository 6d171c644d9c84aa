"""Rows put into groups by number, in time linear in the rows."""

from __future__ import annotations

from typing import Any

from crownless.model_check.native.compiled import compiled


@compiled
def order_by(numbers: Any, how_many: Any, first: Any, place: Any) -> Any:
    """Sorts `numbers`, each below `how_many`, stably: fills `first` with the start of each number, `place` with the
    rows in order.
    """
    for k in range(how_many + 1):
        first[k] = 0
    for row in range(len(numbers)):
        first[numbers[row] + 1] += 1
    for k in range(how_many):
        first[k + 1] += first[k]
    for row in range(len(numbers)):
        place[first[numbers[row]]] = row
        first[numbers[row]] += 1
    for k in range(how_many, 0, -1):
        first[k] = first[k - 1]
    first[0] = 0


@compiled
def compact(codes: Any, seen: Any, number: Any, mark: Any, used: Any) -> Any:
    """Renumbers `codes` in place by first occurrence (negative ones stay); fills `used` with the old codes; returns
    their number.
    """
    count = 0
    for row in range(len(codes)):
        code = codes[row]
        if code < 0:
            continue
        if seen[code] != mark:
            seen[code] = mark
            number[code] = count
            used[count] = code
            count += 1
        codes[row] = number[code]
    return count

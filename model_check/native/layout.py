"""The layout of a row: the bits of its words that hold each of its numbers."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from . import kernels

WORD = 64


class Shape(NamedTuple):
    """The inputs of the layout of rows: bounds of the numbers in a row."""

    monitor_states: int
    sites: int

    def joined(self, other: "Shape") -> "Shape":
        """The least shape with room for both."""
        return Shape(*map(max, self, other))

    def layout(self, n: int) -> kernels.Layout:
        """The narrowest rows for n processes. A field never straddles two words."""
        widths = [_bits(self.monitor_states), *[_bits(self.sites)] * n]
        words, shifts = _placed(widths)
        count = max(words) + 1
        monitor_state_bits = np.zeros(count, np.uint64)
        monitor_state_bits[words[0]] = np.uint64(((1 << widths[0]) - 1) << shifts[0])
        return kernels.Layout(
            np.array(words, np.int64),
            np.array(shifts, np.uint64),
            np.array([(1 << width) - 1 for width in widths], np.uint64),
            monitor_state_bits,
            count,
        )


def _bits(numbers: int) -> int:
    """The number of bits that represent numbers below this."""
    return max(numbers - 1, 0).bit_length()


def _placed(widths: Sequence[int]) -> tuple[list[int], list[int]]:
    """For each field its word and its lowest bit there: the first word with room, the widest fields first."""
    used: list[int] = []
    words, shifts = [0] * len(widths), [0] * len(widths)
    for field in sorted(range(len(widths)), key=lambda field: -widths[field]):
        word = next((w for w, bits in enumerate(used) if bits + widths[field] <= WORD), len(used))
        if word == len(used):
            used.append(0)
        words[field], shifts[field] = word, used[word]
        used[word] += widths[field]
    return words, [min(shift, WORD - 1) for shift in shifts]

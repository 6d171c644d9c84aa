"""The renamings by which processes share tables.

That is shifts, those that leave process 0 in place, and, where symmetry is reduced, all.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple

from crownless.impl.renaming import Renaming


class Comparison(NamedTuple):
    """A renaming under which entries are compared: process 0 becomes `process`."""

    process: int
    renaming: Renaming
    #: For the process at each place: the renaming, fixing process 0, by which its cells and packets are renamed.
    frames: Sequence[int]


class Frames:
    """For n processes; `symmetric`: for symmetry reduction, which tries all renamings."""

    def __init__(self, n: int, *, symmetric: bool) -> None:
        self.shifts = [Renaming(tuple((k + i) % n for k in range(n))) for i in range(n)]
        fixing_0 = [(0, *image) for image in permutations(range(1, n))] if symmetric else [tuple(range(n))]
        #: The renamings that leave process 0 in place, and the number of one of them after another.
        self.fixing_0 = [Renaming(image) for image in fixing_0]
        number = {image: k for k, image in enumerate(fixing_0)}
        self.composed = [[number[tuple(b[k] for k in a)] for b in fixing_0] for a in fixing_0]
        #: [permutation]: where each process goes, then who comes to each place.
        images = list(permutations(range(n))) if symmetric else [tuple(range(n))]
        self.permutations = [(*image, *(image.index(place) for place in range(n))) for image in images]
        self.renamings = [Renaming(image) for image in images]
        #: [permutation][process]: by which of those that leave process 0 in place its cells and packets are renamed.
        self.frame = [
            [number[tuple((image[(k + p) % n] - image[p]) % n for k in range(n))] if symmetric else 0 for p in range(n)]
            for image in images
        ]
        by_shift = [Comparison(p, shift, (0,) * n) for p, shift in enumerate(self.shifts)]
        by_any = [Comparison(image[0], Renaming(image), row) for image, row in zip(images, self.frame, strict=True)]
        #: By what entries are compared; the first renames nothing.
        self.comparisons = (by_any if symmetric else by_shift)[1:]

"""Mutations that make hostile inputs of sound ones: bits, cuts, splices; words; JSON of other types and shapes."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

HUGE, DEEP = "@huge@", "@deep@"
NAMES = (
    "", " ", "\x1b[31mred", "\x1b]0;title\x07", "\u202eabc", "a\nb", "a\rb", "\u200b", "\ufeff", "\ud800",
    "\udcff", "\x00", "\x9b2J", "[red]x[/red]", "[/]", ":smile:", "x" * 5_000, "漢字" * 40, "e\u0301\u0301\u0301",
    "\u0301", "P1", "m1", "../outside/file", "/etc/passwd", "{0.__class__}", "%s%n", "\u3164", "\U0001f600", "null",
    "ＡＢ",
)  # fmt: skip
NUMBERS: tuple[Any, ...] = (
    -1, 0, 1, 2, 3, 7, 255, 4_096, 2**31, 2**32 - 1, 2**40, 2**53, 2**62, 2**63 - 1, 2**63, 2**64, 10**30, -(2**63),
    0.5, -0.0, 1e308, float("nan"), float("inf"), HUGE,
)  # fmt: skip
OTHERS: tuple[Any, ...] = (None, True, False, [], {}, [[]], {"": {}}, [None] * 3, DEEP)


class Mutator(random.Random):
    """Makes one hostile input."""

    def value(self) -> Any:
        """A hostile value, which nothing else holds: a later mutation may change it."""
        return deepcopy(self.choice(self.choice((NAMES, NUMBERS, OTHERS))))

    def mangled(self, content: bytes) -> bytes:
        """Flips, cuts, splices."""
        changed = bytearray(content)
        for _ in range(self.choice((1, 1, 1, 2, 4, 16))):
            at = self.randrange(len(changed) + 1)
            to = min(len(changed), at + self.choice((1, 2, 8, 64)))
            what = self.randrange(7)
            if what == 0 and at < len(changed):
                changed[at] ^= 1 << self.randrange(8)
            elif what == 1:
                del changed[at:]
            elif what == 2:
                del changed[at:to]
            elif what == 3:
                changed[at:at] = changed[at:to] * self.choice((1, 2, 50))
            elif what == 4:
                changed[at:to] = self.randbytes(to - at)
            elif what == 5:
                changed[at:at] = self.choice(NAMES).encode("utf-8", "surrogatepass")
            else:
                start = self.randrange(len(changed) + 1)
                changed[at:at] = changed[start : start + self.choice((1, 10, 100))]
        return bytes(changed)

    def text(self, content: str) -> bytes:
        """The same, also word by word."""
        if self.random() < 0.4:
            return self.mangled(content.encode())
        words = re.split(r"(\W)", content)
        for _ in range(self.choice((1, 1, 2, 5))):
            at = self.randrange(len(words))
            words[at] = self.choice(
                (
                    self.choice(NAMES),
                    self.choice(words),
                    words[at] * 2,
                    "",
                    "\n",
                    "\r\n",
                    ";",
                    ":",
                    "…",
                    "send",
                    "to",
                    "from",
                )
            )
        return "".join(words).encode("utf-8", "surrogatepass")

    def tree(self, value: Any) -> Any:
        """A JSON value with a few places changed; the value itself stays as it is."""
        changed = json.loads(json.dumps(value))
        for _ in range(self.choice((1, 1, 1, 2, 3))):
            places = list(places_in(changed))
            if not places:
                return self.value()
            holder, key = self.choice(places)
            what = self.randrange(6)
            if what == 0:
                del holder[key]
            elif what == 1 and isinstance(holder, list):
                holder.insert(key, deepcopy(self.choice(holder)))
            elif what == 2 and isinstance(holder, dict):
                holder[self.choice(NAMES)] = holder.pop(key)
            elif what == 3 and type(holder[key]) is int:
                holder[key] += self.choice((-1, 1, 2, 64, 1 << 32))
            elif what == 4:
                other, at = self.choice(places)
                holder[key] = json.loads(json.dumps(other.get(at) if isinstance(other, dict) else holder[key]))
            else:
                holder[key] = self.value()
        return changed

    def records(self, records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Records, some dropped, repeated or in another order, and with fields exchanged, dropped or replaced."""
        changed = deepcopy([*records])
        for _ in range(self.choice((1, 1, 2, 4)) if changed else 0):
            at, what = self.randrange(len(changed)), self.randrange(13)
            one, other = changed[at], self.choice(changed)
            key, value = self.choice([*one, *other, ""]), self.value()
            if what == 0 and len(changed) > 2:
                del changed[at : at + self.choice((1, 1, 2))]
            elif what == 1:
                changed.insert(at, deepcopy(other))
            elif what == 2:
                self.shuffle(changed)
            elif what == 3:
                changed[at:] = reversed(changed[at:])
            elif what == 4:
                for record in changed:
                    record.pop(key, None)
            elif what == 5:
                for record in changed:
                    record[key] = deepcopy(value)
            elif what == 6:
                one.pop(key, None)
            elif what == 7:
                one[key], other[key] = other.get(key), one.get(key)
            elif what == 8:
                one[key] = value
            else:  # as often as half of the others
                one[key] = deepcopy(other.get(key))
        return changed

    def renamed(self, value: Any) -> Any:
        """The JSON value with one of its strings replaced wherever it stands, so that it may still be sound."""
        strings = sorted({holder[key] for holder, key in places_in(value) if isinstance(holder[key], str)})
        if not strings:
            return self.tree(value)
        old, new = self.choice(strings), self.choice(NAMES)
        changed = json.loads(json.dumps(value))
        for holder, key in places_in(changed):
            if holder[key] == old:
                holder[key] = new
        return changed

    def json(self, value: Any, indent: int | None = None) -> bytes:
        """JSON of the changed value, perhaps with a number too long, a nesting too deep, or bytes changed."""
        if self.random() < 0.15:
            return self.mangled(json.dumps(value, indent=indent).encode())
        changed = self.renamed(value) if self.random() < 0.25 else self.tree(value)
        text = json.dumps(changed, indent=indent, ensure_ascii=self.random() < 0.5)
        text = text.replace(f'"{HUGE}"', "9" * 5_000).replace(f'"{DEEP}"', "[" * 20_000 + "]" * 20_000)
        if self.random() < 0.05:
            text = "\ufeff" + text
        return text.encode("utf-8", "surrogatepass")


def places_in(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a JSON value: what holds it, and where."""
    items = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    for key, part in items:
        yield value, key
        yield from places_in(part)

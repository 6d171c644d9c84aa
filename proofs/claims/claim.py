"""Claims, and the evidence for them, which is a value that knows its own reach.

A claim has, as data, each of its readings with its recorded verdict. Evidence for a reading is put together of parts
with `&`: it shows something if each part does, it reaches as far as they do, and the verdict follows from their kinds.
Which reading decides is the policy in docs/errors_in_the_texts.md, applied in `verdict_of`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from crownless.proofs.induction.evidence import Evidence, Verdict

VERDICTS: tuple[Verdict, ...] = ("proved", "checked", "measured", "refuted", "repaired", "open")

#: Of a statement that holds, as far as its scope says.
HOLDS: tuple[Verdict, ...] = ("proved", "checked", "measured")


class Reading(NamedTuple):
    """One way to read a claim, or a statement beside it, and the verdict of that."""

    text: str
    verdict: Verdict
    #: False of what the text does not say (rule 7 of the policy), which repairs no claim.
    said: bool = True


def verdict_of(readings: Sequence[Reading]) -> Verdict:
    """The verdict of a claim with these readings, the letter first: rules 1 and 2 of the policy."""
    by_letter, *others = readings
    if any(reading.verdict == "open" for reading in others):
        return "open"
    if by_letter.verdict != "refuted":
        return by_letter.verdict
    return "repaired" if any(reading.said and reading.verdict in HOLDS for reading in others) else "refuted"


#: Recomputes the evidence for a claim, of several readings one each, the letter first; if quick, up to a smaller bound.
Recomputation = Callable[[bool], Evidence | Sequence[Evidence]]


@dataclass(frozen=True)
class Entry:
    """A claim in the ledger."""

    id: str
    #: Where it is made: bibliography key and section.
    source: str
    #: What it says, in this project's words.
    statement: str
    #: Each reading with the verdict that stands in the ledger, the letter first; of one reading, without its text.
    judged: tuple[Reading, ...]
    recompute: Recomputation
    #: Which reading was taken, where the text is ambiguous, damaged, or silent.
    reading: str = ""

    @property
    def recorded(self) -> Verdict:
        """The verdict that stands in the ledger; the ledger fails if the evidence no longer gives it."""
        return verdict_of(self.judged)

    @property
    def text(self) -> str:
        """The text that makes it, by how its name begins."""
        return self.id.rstrip("0123456789")

    @property
    def number(self) -> int:
        """Its number among the claims of its text."""
        return int(self.id.removeprefix(self.text))

    def evidence(self, quick: bool) -> tuple[Evidence, ...]:
        """The evidence for each reading, recomputed."""
        found = self.recompute(quick)
        every = (found,) if isinstance(found, Evidence) else tuple(found)
        assert len(every) == len(self.judged), f"{self.id}: evidence for {len(every)} of {len(self.judged)} readings"
        return every


#: Every claim by its name, as the files of the texts state them.
STATED: dict[str, Entry] = {}


def claim(
    name: str,
    source: str,
    statement: str,
    verdicts: Verdict | Mapping[str, Verdict],
    reading: str = "",
    not_said: Mapping[str, Verdict] | None = None,
) -> Callable[[Recomputation], Recomputation]:
    """Registers the evidence for a claim.

    :param verdicts: its recorded verdict; or that of each reading, the letter first.
    :param not_said: the verdicts of statements beside it that the text does not make.
    """
    judged = {"": verdicts} if isinstance(verdicts, str) else verdicts
    readings = [Reading(text, verdict) for text, verdict in judged.items()]
    readings += [Reading(text, verdict, said=False) for text, verdict in (not_said or {}).items()]

    def register(recompute: Recomputation) -> Recomputation:
        STATED[name] = Entry(name, source, statement, tuple(readings), recompute, reading)
        return recompute

    return register

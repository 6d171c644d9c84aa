"""Claims and their evidence, registered by one file a text.

Which reading of a claim decides, and which verdict follows, is the policy in docs/errors_in_the_texts.md. It is applied
in one place, `verdict_of`: no evidence states a verdict beside its readings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from crownless.model_check.realizing import lines_in_notation
from crownless.model_check.runs import Run
from crownless.spec.computation import Computation

#: proved: z3 shows it for any number of messages; checked: everything up to a bound was examined; measured: a quantity;
#: refuted: a smallest counterexample is shown; repaired: refuted as printed, and the nearest true statement holds; and
#: open: not decided yet, or what it rested on fails.
Verdict = Literal["proved", "checked", "measured", "refuted", "repaired", "open"]
VERDICTS: tuple[Verdict, ...] = ("proved", "checked", "measured", "refuted", "repaired", "open")


def unless(fails: bool, verdict: Verdict) -> Verdict:
    """The verdict, unless what it rests on fails: a claim that is no longer shown is not refuted by that, but open.
    What was open before can only be found false.
    """
    return verdict if not fails else "refuted" if verdict == "open" else "open"


class Reading(NamedTuple):
    """One way to read a claim, or a statement beside it, and the verdict of that."""

    text: str
    verdict: Verdict
    #: False of what the text does not say (rule 7 of the policy), which repairs no claim.
    said: bool = True


#: Of a statement that holds, as far as its scope says.
HOLDS: tuple[Verdict, ...] = ("proved", "checked", "measured")


def verdict_of(readings: Sequence[Reading]) -> Verdict:
    """The verdict of a claim with these readings, the letter first: rules 1 and 2 of the policy."""
    by_letter, *others = readings
    if any(reading.verdict == "open" for reading in others):
        return "open"
    if by_letter.verdict != "refuted":
        return by_letter.verdict
    return "repaired" if any(reading.said and reading.verdict in HOLDS for reading in others) else "refuted"


class Shown(NamedTuple):
    """A run or a computation that shows something, to be drawn: a counterexample, or a witness."""

    title: str
    what: Run | Computation
    #: The name under which it is bundled, if it is: what is found must then be what the file has.
    bundled: str | None = None

    def json(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"title": self.title, "bundled": self.bundled}
        if isinstance(self.what, Run):
            return {**facts, "processes": list(self.what.processes), "run": self.what.json()}
        return {**facts, "computation": lines_in_notation(self.what)}


def drawn(title: str, what: Run | Computation | None, bundled: str | None = None) -> tuple[Shown, ...]:
    """One thing to be drawn; nothing, if it was not found."""
    return () if what is None else (Shown(title, what, bundled),)


class Evidence(NamedTuple):
    """The recomputed evidence for a claim."""

    #: The verdict of a claim that has one reading; or each of its readings with its verdict, the letter first.
    judged: Verdict | Sequence[Reading]
    #: How far it reaches: processes, messages, channel, what was assumed.
    scope: str
    #: What was done and found, with figures.
    because: str
    shown: tuple[Shown, ...] = ()

    @property
    def readings(self) -> tuple[Reading, ...]:
        """Each reading of a claim that has several; the letter first."""
        return () if isinstance(self.judged, str) else tuple(self.judged)

    @property
    def verdict(self) -> Verdict:
        return self.judged if isinstance(self.judged, str) else verdict_of(self.judged)


#: Recomputes the evidence for a claim; if quick, up to a smaller bound.
Recomputation = Callable[[bool], Evidence]


@dataclass(frozen=True)
class Entry:
    """A claim in the ledger."""

    id: str
    #: Where it is made: bibliography key and section.
    source: str
    #: What it says, in this project's words.
    statement: str
    #: The verdict that stands in the ledger; the ledger fails if the evidence no longer gives it.
    recorded: Verdict
    recompute: Recomputation
    #: Which reading was taken, where the text is ambiguous, damaged, or silent.
    reading: str = ""

    @property
    def text(self) -> str:
        """The text that makes it, by how its name begins."""
        return self.id.rstrip("0123456789")


#: Every claim by its name, as the files of the texts state them.
STATED: dict[str, Entry] = {}


def claim(
    name: str, source: str, statement: str, recorded: Verdict, reading: str = ""
) -> Callable[[Recomputation], Recomputation]:
    """Registers the evidence for a claim."""

    def register(recompute: Recomputation) -> Recomputation:
        STATED[name] = Entry(name, source, statement, recorded, recompute, reading)
        return recompute

    return register

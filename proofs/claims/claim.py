"""Claims and their evidence, registered by one file a text.

A claim has, as data, each of its readings with its verdict. Evidence states no verdict: it says which of them it shows.
Which reading decides, and which verdict follows, is the policy in docs/errors_in_the_texts.md, applied in `verdict_of`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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


class Reading(NamedTuple):
    """One way to read a claim, or a statement beside it, and the verdict of that."""

    text: str
    verdict: Verdict
    #: False of what the text does not say (rule 7 of the policy), which repairs no claim.
    said: bool = True

    def recomputed(self, shown: bool) -> Reading:
        """The reading, with its verdict if that is shown.

        Else it is not refuted by that, but open. What was open before can only be found false.
        """
        return self if shown else self._replace(verdict="refuted" if self.verdict == "open" else "open")


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

    #: True if it shows the verdict that stands in the ledger; or whether it does of each reading, the letter first.
    shows: bool | tuple[bool, ...]
    #: How far it reaches: processes, messages, channel, what was assumed.
    scope: str
    #: What was done and found, with figures.
    because: str
    shown: tuple[Shown, ...] = ()


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

    def judge(self, evidence: Evidence) -> tuple[Reading, ...]:
        """Each reading with the verdict that this evidence gives it."""
        shows = evidence.shows if isinstance(evidence.shows, tuple) else (evidence.shows,) * len(self.judged)
        return tuple(reading.recomputed(shown) for reading, shown in zip(self.judged, shows, strict=True))


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

    :param verdicts: its verdict; or that of each reading, the letter first.
    :param not_said: the verdicts of statements beside it that the text does not make.
    """
    judged = {"": verdicts} if isinstance(verdicts, str) else verdicts
    readings = [Reading(text, verdict) for text, verdict in judged.items()]
    readings += [Reading(text, verdict, said=False) for text, verdict in (not_said or {}).items()]

    def register(recompute: Recomputation) -> Recomputation:
        STATED[name] = Entry(name, source, statement, tuple(readings), recompute, reading)
        return recompute

    return register

"""Claims, and the evidence for them, which is a value that knows its own scope.

A claim stores each of its readings with its recorded verdict as data. Evidence for a reading is combined from parts
with `&`: it shows something if each part does, its scope is theirs combined, and the verdict follows from their kinds.
The policy in docs/errors_in_the_papers.md says which reading decides; `verdict_of` applies it.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple, get_args

from crownless.research.theorems.evidence import Evidence, Verdict

VERDICTS: tuple[Verdict, ...] = ("proved", "checked", "measured", "refuted", "repaired", "open")

#: Verdicts on a statement that holds, within its scope.
HOLDS: tuple[Verdict, ...] = ("proved", "checked", "measured")


class Reading(NamedTuple):
    """One reading of a claim, or a statement beside it, and its verdict."""

    text: str
    verdict: Verdict
    #: False if the text does not state it (rule 7 of the policy); such a reading repairs no claim.
    said: bool = True


#: An error is false however the passage is read. An ambiguity is true in one reading of the passage and false in
#: another. A typo is plainly not what is meant.
Kind = Literal["error", "ambiguity", "typo"]


class Erratum(NamedTuple):
    """What is not true in a passage as printed, be it the claim, a definition that it rests on, or its proof."""

    kind: Kind
    #: What is wrong there.
    wrong: str
    #: What is true instead.
    instead: str
    #: What defends the paper, where it can be contested.
    defense: str = ""


def verdict_of(readings: Sequence[Reading]) -> Verdict:
    """The verdict on a claim with these readings, the literal one first: rules 1 and 2 of the policy."""
    by_letter, *others = readings
    if any(reading.verdict == "open" for reading in others):
        return "open"
    if by_letter.verdict != "refuted":
        return by_letter.verdict
    return "repaired" if any(reading.said and reading.verdict in HOLDS for reading in others) else "refuted"


#: Recomputes the evidence for a claim: one item per reading, the literal one first; if quick, up to a smaller bound.
Recomputation = Callable[[bool], Evidence | Sequence[Evidence]]


@dataclass(frozen=True)
class Entry:
    """A claim in the ledger."""

    id: str
    #: Where the text makes it: bibliography key and section.
    source: str
    #: The statement, in this project's words.
    statement: str
    #: Each reading with its recorded verdict, the literal one first; a single reading has no text.
    judged: tuple[Reading, ...]
    recompute: Recomputation
    #: Which reading was chosen, where the text is ambiguous, damaged, or silent.
    reading: str = ""
    #: What its refuted readings are, if the text states any; and what defends the paper.
    kind: Kind | None = None
    defense: str = ""
    #: What is wrong beside its readings: in its proof, or as a typo.
    further: tuple[Erratum, ...] = ()

    @property
    def errata(self) -> tuple[Erratum, ...]:
        """What is wrong in the passage as printed: its refuted readings, with those that hold instead; and the rest."""
        if self.kind is None:
            return self.further
        said = [reading for reading in self.judged if reading.said]
        wrong = "; ".join(reading.text for reading in said if reading.verdict == "refuted")
        instead = "; ".join(reading.text for reading in said if reading.verdict in HOLDS)
        return (Erratum(self.kind, wrong, instead or "no true reading is known", self.defense), *self.further)

    @property
    def recorded(self) -> Verdict:
        """The recorded verdict; the ledger fails if the evidence no longer gives it."""
        return verdict_of(self.judged)

    @property
    def text(self) -> str:
        """The text that makes it, by the prefix of its name."""
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


#: Every claim by name, as the files of the papers state them.
STATED: dict[str, Entry] = {}


def claim(
    name: str,
    source: str,
    statement: str,
    verdicts: Verdict | Mapping[str, Verdict],
    reading: str = "",
    not_said: Mapping[str, Verdict] | None = None,
    kind: Kind | None = None,
    defense: str = "",
) -> Callable[[Recomputation], Recomputation]:
    """Registers the evidence for a claim.

    :param verdicts: its recorded verdict; or one per reading, the literal one first.
    :param not_said: the verdicts on additional statements that the text does not make.
    :param kind: what its refuted readings are; and `defense`: what defends the paper, if that can be contested.
    """
    judged = {"": verdicts} if isinstance(verdicts, str) else verdicts
    readings = [Reading(text, verdict) for text, verdict in judged.items()]
    readings += [Reading(text, verdict, said=False) for text, verdict in (not_said or {}).items()]

    def register(recompute: Recomputation) -> Recomputation:
        STATED[name] = Entry(
            name, source, statement, tuple(readings), recompute, reading, kind, defense, tuple(_ERRATA[recompute])
        )
        return recompute

    return register


#: What is wrong beside the readings of a claim, by its evidence.
_ERRATA: dict[Recomputation, list[Erratum]] = defaultdict(list)


def erratum(kind: Kind, wrong: str, instead: str, defense: str = "") -> Callable[[Recomputation], Recomputation]:
    """Says, between a claim and its evidence, what else is wrong as printed: in its proof, or as a typo."""

    def note(recompute: Recomputation) -> Recomputation:
        _ERRATA[recompute].insert(0, Erratum(kind, wrong, instead, defense))  # Python applies the last decorator first
        return recompute

    return note


error, ambiguity, slip_of_print = (partial(erratum, kind) for kind in get_args(Kind))

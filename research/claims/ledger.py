"""The ledger of all claims, and their recomputation."""

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from crownless.research.theorems.bounded import BoundedSearchGaveUp
from crownless.research.theorems.evidence import Evidence, Verdict, together
from crownless.runtime.ending import Stopped, stop_reason
from crownless.runtime.errors import unknown_name
from crownless.runtime.printable import some
from crownless.spec.bibliography import PAPERS, references
from crownless.spec.result import Result

from . import bundled
from .claim import STATED, VERDICTS, Entry, Reading, verdict_of

#: The files that state the claims.
FILES = (
    "buffers costs definitions delays failures fig_8 impossibilities ku mf mf_remarks mg sa ses ses_proof thresholds "
    "vector_time"
)
for _file in FILES.split():
    import_module(f".{_file}", __package__)

#: Every claim by name, grouped by text, in order.
CLAIMS = dict(sorted(STATED.items(), key=lambda named: (list(PAPERS).index(named[1].text), named[1].number)))


@dataclass(frozen=True)
class Finding(Result):
    """The recomputed evidence for a claim, per reading and combined, with the time it took."""

    json_keys = (
        "id=entry.id source=entry.source statement=entry.statement reading=entry.reading readings=readings_in_words "
        "verdict recorded=entry.recorded errata scope=evidence.scope evidence=evidence.because "
        "shown=evidence.shown seconds"
    )

    entry: Entry
    of_readings: tuple[Evidence, ...]
    seconds: float

    @property
    def evidence(self) -> Evidence:
        return together(self.of_readings)

    @property
    def judged(self) -> tuple[Reading, ...]:
        """Each reading with the verdict of its evidence; open if its evidence fails."""
        return tuple(
            reading._replace(verdict=found.verdict if found.shows else "open")
            for reading, found in zip(self.entry.judged, self.of_readings, strict=True)
        )

    @property
    def readings(self) -> tuple[Reading, ...]:
        """The readings of a claim that has several, the literal one first."""
        return self.judged if len(self.judged) > 1 else ()

    @property
    def verdict(self) -> Verdict:
        return verdict_of(self.judged)

    @property
    def as_recorded(self) -> bool:
        return self.judged == self.entry.judged and not self.unlike_bundled

    @property
    def unlike_bundled(self) -> list[str]:
        """The names of bundled files that differ from what was found."""
        return [
            shown.bundled
            for shown in self.evidence.shown
            if shown.bundled is not None and not bundled.is_as_found(self.entry, shown)
        ]

    @property
    def facts(self) -> list[tuple[str, str]]:
        """The printed facts, each with its name."""
        facts: list[tuple[str, str]] = [("verdict", self.verdict)]
        for erratum in self.entry.errata:
            facts += [("true instead", erratum.instead), (erratum.kind, erratum.wrong)]
            facts += [("for the paper", erratum.defense)] if erratum.defense else []
        facts += [("evidence", self.evidence.because), ("scope", self.evidence.scope)]
        facts += [("reading", self.entry.reading)] if self.entry.reading else []
        facts += [("read as" if one.said else "not said", f"{one.text}: {one.verdict}") for one in self.readings]
        cited = references(" ".join([self.entry.source, self.entry.statement, *(text for _, text in facts)]))
        return [*facts, ("source", "; ".join([self.entry.source, *cited]))]

    @property
    def readings_in_words(self) -> list[dict[str, Any]]:
        """The `readings`, under the keys of JSON."""
        return [{"reading": text, "verdict": verdict, "said": said} for text, verdict, said in self.readings]

    @property
    def errata(self) -> list[dict[str, Any]]:
        """The errata of the claim, under the keys of JSON."""
        return [erratum._asdict() for erratum in self.entry.errata]


def summary(findings: Sequence[Finding]) -> str:
    """The number of claims with each verdict."""
    counts = Counter(finding.verdict for finding in findings)
    verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
    return f"{some(len(findings), 'claim')}: {verdicts}"


def claim_facts(names: Iterable[str] = ()) -> list[dict[str, Any]]:
    """The claims so named (all by default), with their recorded verdicts, without recomputing them."""
    return [
        {"id": entry.id, "source": entry.source, "recorded": entry.recorded, "statement": entry.statement}
        for entry in entries_named(names)
    ]


def errata() -> list[dict[str, str]]:
    """The errors, ambiguities and typos found in the papers, each with the claim that it belongs to."""
    return [
        {"claim": entry.id, "source": entry.source, **erratum._asdict(), "verdict": entry.recorded}
        for entry in CLAIMS.values()
        for erratum in entry.errata
    ]


def entries_named(names: Iterable[str]) -> list[Entry]:
    """The claims with these names, of these papers (``MF``), or with these words; all by default. Raises `BadInput`."""
    chosen = []
    for name in names:
        of_name = [entry for entry in CLAIMS.values() if name.upper() in (entry.id, entry.text)]
        of_name = of_name or [entry for entry in CLAIMS.values() if _has_words(entry, name)]
        if not of_name:
            raise unknown_name("claim", name, [*PAPERS, *CLAIMS])
        chosen += of_name
    return list(dict.fromkeys(chosen)) or list(CLAIMS.values())


def _has_words(entry: Entry, words: str) -> bool:
    """True if each of the words stands, whole and in any case, in what the ledger says of the claim."""
    said = [entry.source, entry.statement, entry.reading, *(reading.text for reading in entry.judged)]
    said += [text for erratum in entry.errata for text in erratum]
    text = " ".join(said)
    return bool(words.strip()) and all(
        re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE) for word in words.split()
    )


def recompute(
    entries: Iterable[Entry], *, quick: bool = False, progress: Callable[[Entry], None] | None = None
) -> Iterable[Finding]:
    """Recomputes the evidence for claims, one after the other; ends early within `stoppable`."""
    for entry in entries:
        if progress is not None:
            progress(entry)
        began = time.monotonic()
        try:
            evidence = entry.evidence(quick)
        except BoundedSearchGaveUp as reason:
            evidence = (Evidence(False, "nothing", f"z3 came to no answer: {reason}"),) * len(entry.judged)
        stopped = stop_reason()
        if stopped is not None:
            raise Stopped(stopped)  # evidence cached since then is unreliable
        yield Finding(entry, evidence, time.monotonic() - began)

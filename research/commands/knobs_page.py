"""The report of `crownless knobs` as a page, in Markdown."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from crownless.impl.protocol import promised_orders
from crownless.research.knobs.knob_map import Decision, KnobMap
from crownless.runtime.printable import some

#: The most finds that the page lists.
LISTED = 20


def page_of(found: KnobMap, svg: str | None, page: str) -> str:
    """The page; `svg` is the file with the drawn map, if there is one, and `page` that of the page itself."""
    return "\n".join(_lines(found, svg, page)) + "\n"


def _lines(found: KnobMap, svg: str | None, page: str) -> Iterator[str]:
    n, m = found.bound
    over = "" if found.channel == found.kind.needs_channel else f" --channel {found.channel}"
    command = f"crownless knobs {found.protocol} -n {n} -m {m}{over}"
    yield f"# The design space of `{found.protocol}`"
    yield ""
    yield (
        f"{found.headline}. Promise: {' and '.join(promised_orders(found.kind))} order, over the "
        f"{found.channel} channel; every interleaving, up to {some(n, 'process')} and {some(m, 'message')}. "
        f"Made by `{command} --page FILE`; the classes are in "
        f"`{found.kind.__module__.replace('crownless.', '').replace('.', '/')}.py`."
    )
    yield ""
    yield (
        "A combination *holds* if all that the protocol promises is true in every run up to the bound. It is "
        "*violated* where a shortest run shows that, and *unknown* if its search ended early. *Proved* is only what z3 "
        "shows safe and live for every number of processes and messages. Prices are averages per message, in one "
        "simulation of four processes."
    )
    if svg is not None:
        yield ""
        yield f"![What every two alternatives do together]({os.path.relpath(svg, Path(page).parent)})"
    for title, lines in (
        ("The knobs", _alone(found)),
        ("Families", _families(found)),
        ("Only together", _pairs(found, "hold together, though one alone is violated, or both", found.only_together())),
        ("Not both", _pairs(found, "violated together, though each holds alone", found.not_both())),
        ("Cheaper than published", _finds(found)),
        ("Holds, and not proved", _unproved(found)),
    ):
        body = list(lines)
        if body:
            yield from ("", f"## {title}", "", *body)


def _alone(found: KnobMap) -> Iterator[str]:
    yield "Each alternative alone, with everything else as published."
    yield ""
    yield "| knob | alternative | verdict | shortest run |"
    yield "|---|---|---|---|"
    yield row("", "as published", _over(found.published), "<br>".join(found.published.run))
    for knob, name, decision in found.alone():
        yield row(knob.name, name, _over(decision), "<br>".join(decision.run))
    if found.idle:
        yield from ("", f"{found.idle[0].upper()}{found.idle[1:]}.")


def _over(decision: Decision) -> str:
    """The verdict, and over which channel it holds."""
    return "; ".join(filter(None, (decision.said, decision.over)))


def _families(found: KnobMap) -> Iterator[str]:
    n, m = found.compared_at
    within = f"{some(n, 'process')} and {some(m, 'message')}"
    yield f"The combinations that hold, by what they generate up to {within}, and the cheapest of each."
    yield ""
    yield "| generates | combinations | proved | cheapest | control packets | numbers on a message | kept | work |"
    yield "|---|---|---|---|---|---|---|---|"
    for family in found.families:
        cheapest = family.cheapest
        counts = f"{len(family.decisions):,}", f"{family.proved:,}"
        yield row(family.generates, *counts, cheapest.combination.name, *cheapest.prices)
    if found.reached:
        yield from ("", f"{found.reached[0].upper()}{found.reached[1:]}.")
    if found.alike:
        yield from ("", f"{found.alike[0].upper()}{found.alike[1:]}.")


def _pairs(found: KnobMap, what: str, pairs: Iterable[tuple[Decision, Decision, Decision]]) -> Iterator[str]:
    listed = list(pairs)
    if not listed:
        return
    yield f"Two alternatives, all else as published: {what}."
    yield ""
    yield "| together | verdict | apart |"
    yield "|---|---|---|"
    for one, other, both in listed:
        yield row(both.combination.name, both.said, f"{one.said}; {other.said}")


def _finds(found: KnobMap) -> Iterator[str]:
    finds = found.finds()
    if not finds:
        return
    n, m = found.compared_at
    within = f"up to {some(n, 'process')} and {some(m, 'message')}"
    yield f"They generate all that the order admits, {within}, and cost less than the published form."
    yield ""
    yield "| combination | verdict | control packets | numbers on a message | kept | work | weakest channel |"
    yield "|---|---|---|---|---|---|---|"
    for each in [*finds[:LISTED], found.published]:
        yield row(each.combination.name, each.said, *each.prices, each.row.get("weakest_channel"))
    if len(finds) > LISTED:
        yield ""
        left_out = "A combination is left out if another one changes less and costs no more."
        yield f"The cheapest {LISTED} of {len(finds):,}. {left_out}"


def _unproved(found: KnobMap) -> Iterator[str]:
    reasons: dict[str, list[Decision]] = {}
    for each in found.holding:
        if not each.proved:
            reasons.setdefault(each.row.get("unproved") or "not said", []).append(each)
    if not reasons:
        return
    yield "Why the proof does not go through, and how often; the first of each."
    yield ""
    yield "| why | combinations | such as |"
    yield "|---|---|---|"
    for reason, decisions in sorted(reasons.items(), key=lambda each: -len(each[1])):
        yield row(reason, f"{len(decisions):,}", decisions[0].combination.name)


def row(*cells: object) -> str:
    """A line of a table."""
    return f"| {' | '.join(str(cell).replace('|', '&#124;') for cell in cells)} |"

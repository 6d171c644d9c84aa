"""Programs in which a planted fault has its turn: fixed sends, so that nobody else uses up the bound.

The free workload judges runs of *up to* so many messages, and each process may do all of the sending: a process that is
blocked for ever leaves the rest to another, and no property notices. In a program it does not come to its end.

A program is a shape, played by the processes in some order: `relay-312` is the shape in which the first passes messages
on by the second to the third, played by P3, P1 and P2. The k-th message to the same receivers ends in `.k`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import permutations
from typing import Literal

from crownless.spec import notation
from crownless.spec.notation import Script

#: What a player does: sends to the players of these numbers, or receives (to none).
Part = Sequence[tuple[int, ...]]

RECEIVE: tuple[int, ...] = ()
#: Receives the next message of the first player, by its name.
RECEIVE_IN_ORDER = (-1,)
#: Receives a message of the first player, and of no other.
RECEIVE_FROM_THE_FIRST = (-2,)


def _receives(k: int) -> Part:
    return (RECEIVE,) * k


def _sends(k: int, *to: int) -> Part:
    return (to,) * k


#: What each player does.
SHAPES: Mapping[str, Sequence[Part]] = {
    "one-way": (_sends(7, 1), _receives(7)),
    "exchange": ((*_sends(3, 1), *_receives(3)), (*_sends(3, 0), *_receives(3))),
    "ping-pong": (((1,), RECEIVE) * 5, (RECEIVE, (0,)) * 5),
    "two-in-turn": (((1,), (2,)) * 5, _receives(5), _receives(5)),
    "one-then-another": ((*_sends(5, 1), (2,)), _receives(5), _receives(1)),
    "two-to-one": (_sends(3, 2), _sends(3, 2), _receives(6)),
    "relay": (_sends(5, 1), (RECEIVE, (2,)) * 5, _receives(5)),
    "triangle": (((2,), (1,)) * 2, (RECEIVE, (2,)) * 2, _receives(4)),
    #: Messages find their receiver in the midst of a send of its own.
    "busy-receiver": (_sends(5, 1), ((2,), RECEIVE) * 5, _receives(5)),
    #: From the third message on what the first sends depends on what the third has sent.
    "late-cause": ((*_sends(2, 1), RECEIVE, *_sends(3, 1)), _receives(6), ((1,), (0,))),
    #: What the second sends depends on five messages, and they on one to the same receiver.
    "fifth-cause": (((2,), *_sends(5, 1)), (*_receives(5), (2,)), _receives(2)),
    #: What the first has sent to the second reaches it by the third, too.
    "detour": ((*_sends(3, 1), (2,)), _receives(4), (RECEIVE, (1,))),
    #: The receiver takes them in the order in which they are submitted, and no other.
    "in-order": (_sends(5, 1), (RECEIVE_IN_ORDER,) * 5),
}

#: What needs messages to several.
SHAPES_OF_SEVERAL: Mapping[str, Sequence[Part]] = {
    #: A message for the second too reaches the third, who writes to the second.
    "copy": ((*_sends(2, 1), (1, 2)), _receives(4), (RECEIVE, (1,))),
}

#: What needs that a process may name the sender of whom it receives.
SHAPES_BY_SENDER: Mapping[str, Sequence[Part]] = {
    "by-sender": (_sends(5, 1), (RECEIVE_FROM_THE_FIRST,) * 5),
}


Shapes = Literal["of any", "of several", "by sender"]
_SHAPES: Mapping[Shapes, Mapping[str, Sequence[Part]]] = {
    "of any": SHAPES,
    "of several": SHAPES_OF_SEVERAL,
    "by sender": SHAPES_BY_SENDER,
}


@cache
def programs(shapes: Shapes = "of any", *, broadcast: bool = False) -> dict[str, Script]:
    """The shapes, played in each order, by name; with `broadcast` every message goes to all others."""
    return {
        f"{shape}-{''.join(str(p + 1) for p in players)}{'-to-all' * broadcast}": notation.parse(
            _text(_broadcast(parts) if broadcast else parts, players)
        )
        for shape, parts in _SHAPES[shapes].items()
        for players in permutations(range(len(parts)))
        if shape != "exchange" or players == (0, 1)
    }


def _broadcast(parts: Sequence[Part]) -> Sequence[Part]:
    """Every message goes to all others, who receive what else reaches them at the end."""
    everybody = range(len(parts))
    receives = (RECEIVE, RECEIVE_IN_ORDER)
    to_all = [
        [to if to in receives else tuple(q for q in everybody if q != p) for to in part] for p, part in enumerate(parts)
    ]
    sends = [sum(to not in receives for to in part) for part in to_all]
    received = [sum(to in receives for to in part) for part in to_all]
    return [[*part, *_receives(sum(sends) - sends[p] - received[p])] for p, part in enumerate(to_all)]


def _text(parts: Sequence[Part], players: Sequence[int]) -> str:
    """The program in the notation; `players` says who plays each part."""
    lines: dict[int, list[str]] = {}
    for p, part in zip(players, parts, strict=True):
        lines[p], sent = [], Counter[tuple[int, ...]]()
        for to in part:
            if to == RECEIVE:
                lines[p].append("receive")
                continue
            sent[to] += 1
            if to == RECEIVE_FROM_THE_FIRST:
                lines[p].append(f"receive from P{players[0] + 1}")
                continue
            if to == RECEIVE_IN_ORDER:
                lines[p].append(f"receive {players[0] + 1}to{p + 1}.{sent[to]}")
                continue
            receivers = sorted(players[q] + 1 for q in to)
            message = f"{p + 1}to{''.join(map(str, receivers))}.{sent[to]}"
            lines[p].append(f"send {message} to {', '.join(f'P{q}' for q in receivers)}")
    return "\n".join(f"P{p + 1}: {'; '.join(lines[p])}" for p in sorted(lines))

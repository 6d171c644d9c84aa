"""Local invariants: named executable predicates on the variables of one process, true at every moment.

They take plain values, not machines, so that the same predicate serves any protocol with those variables, the
explorer and the hypothesis machines. A proof states the same through `ops`, and a test holds the two together.
"""

from collections.abc import Iterable, Sequence

from .computation import Message


def deliverable(deliv: Sequence[int], sent: Sequence[Sequence[int]], i: int) -> bool:
    """For all k: DELIV_i[k] ≥ SENT_m[k, i] — all that m's SENT records for its receiver i is delivered ([Kup])."""
    return all(deliv[k] >= sent[k][i] for k in range(len(deliv)))


def deliv_equals_sent_column(sent: Sequence[Sequence[int]], deliv: Sequence[int], i: int) -> bool:
    """For all k: DELIV_i[k] = SENT_i[k, i] — the question at the end of [Kup]; so DELIV is redundant."""
    return all(deliv[k] == sent[k][i] for k in range(len(deliv)))


def all_sent_by(i: int, messages: Iterable[Message]) -> bool:
    """Every one of these messages was sent by process i ([MF] §3.2: an output buffer is one process's own)."""
    return all(message.sender == i for message in messages)


def all_sent_to(i: int, messages: Iterable[Message]) -> bool:
    """Every one of these messages is for process i ([MF] §3.2: an input buffer is one process's own)."""
    return all(i in message.receivers for message in messages)


def queued_only_while_passive(active: bool, messages: Sequence[Message], acks: Sequence[int]) -> bool:
    """A send or an acknowledgement is queued only while the process is passive ([MG] Fig. 8, SP and RP)."""
    return not active or (not messages and not acks)


def all_bigger(i: int, processes: Iterable[int]) -> bool:
    """Every one of these processes is bigger than i ([MG] §4.2.1: committed messages go from bigger to smaller)."""
    return all(j > i for j in processes)


def column_is_zero(matrix: Sequence[Sequence[int]], i: int) -> bool:
    """For all k: M_i[k, i] = 0 ([SA] §3: a process's own column need not be kept)."""
    return not any(row[i] for row in matrix)

"""Graphs of numbered nodes: components, shortest paths and cycles, as the witnesses of violated orders need them.

networkx has all of this, but takes longer to import than judging a computation takes.
"""

from collections import deque
from collections.abc import Callable, Collection, Sequence

#: The successors of each node.
Successors = Sequence[Collection[int]]


def strong_components(successors: Successors) -> list[int]:
    """The number of each node's strongly connected component; a component is numbered after those it leads to."""
    component = [-1] * len(successors)
    low = [0] * len(successors)
    found: list[int] = []
    pending: list[int] = []
    count = seen = 0
    for root in range(len(successors)):
        if low[root]:
            continue
        seen += 1
        low[root] = seen
        first = {root: seen}
        pending.append(root)
        found = [root]
        ways = [iter(successors[root])]
        while found:
            node = found[-1]
            for following in ways[-1]:
                if not low[following]:
                    seen += 1
                    low[following] = first[following] = seen
                    pending.append(following)
                    found.append(following)
                    ways.append(iter(successors[following]))
                    break
                if component[following] < 0:
                    low[node] = min(low[node], low[following])
            else:
                found.pop()
                ways.pop()
                if found:
                    low[found[-1]] = min(low[found[-1]], low[node])
                if low[node] == first[node]:
                    while (member := pending.pop()) != node:
                        component[member] = count
                    component[node] = count
                    count += 1
    return component


def lightest_path(
    successors: Successors, start: int, end: int, weight: Callable[[int, int], int] = lambda node, following: 1
) -> tuple[int, list[int]] | None:
    """The weight of a lightest path and its nodes, `start` and `end` included; None if there is none.

    Each edge weighs 0 or 1.
    """
    came_from: dict[int, int] = {}
    lightest = {start: 0}
    waiting = deque([start])
    done: set[int] = set()
    while waiting:
        node = waiting.popleft()
        if node == end:
            break
        if node in done:
            continue
        done.add(node)
        for following in successors[node]:
            step = weight(node, following)
            if following not in lightest or lightest[node] + step < lightest[following]:
                lightest[following] = lightest[node] + step
                came_from[following] = node
                if step:
                    waiting.append(following)
                else:
                    waiting.appendleft(following)
    if end not in lightest:
        return None
    path = [end]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    return lightest[end], path[::-1]


def shortest_path(successors: Successors, start: int, end: int) -> list[int]:
    """The nodes of a shortest path; there must be one."""
    found = lightest_path(successors, start, end)
    assert found is not None, f"no path leads from {start} to {end}"
    return found[1]

"""The interface of abcast.py, and a body of ours with the same mistake: equal timestamps are not told apart."""


class Node:
    def __init__(self) -> None:
        self.local_timestamp = 0
        self.waiting: list[tuple[int, str, bool]] = []
        self.delivered_messages: list[tuple[int, str]] = []

    def propose(self, message: str) -> int:
        self.local_timestamp += 1
        self.waiting.append((self.local_timestamp, message, False))
        return self.local_timestamp

    def agree(self, message: str, stamp: int) -> None:
        self.waiting = [(stamp, message, True) if held[1] == message else held for held in self.waiting]
        self.waiting.sort(key=lambda held: held[0])
        while self.waiting and self.waiting[0][2]:
            self.delivered_messages.append(self.waiting.pop(0)[:2])


class abcast_system:  # noqa: N801
    def __init__(self, n: int) -> None:
        self.nodes = {number: Node() for number in range(1, n + 1)}

    def schedule_action(self, node_num: int, action: str, induced_delay: int, message: str, validation_ts: int) -> int:
        node = self.nodes[node_num]
        if action == "rec_broadcast":
            return node.propose(message)
        node.agree(message, validation_ts)
        return 0

"""The interface of ProcessMatrix, and a body of ours with the same kind of mistake: a stamp forgets receptions."""

from typing import NamedTuple


class Stamped(NamedTuple):
    sender: int
    content: str
    number: int


class ProcessMatrix:
    def __init__(self, pid: int, total_processes: int) -> None:
        self.pid, self.sent = pid, 0
        self.next = [1] * total_processes
        self.held: dict[tuple[int, int], Stamped] = {}
        self.delivered: list[Stamped] = []

    def send_message(self, content: str) -> Stamped:
        self.sent += 1
        return Stamped(self.pid, content, self.sent)

    def receive_message(self, msg: Stamped) -> None:
        self.held[msg.sender, msg.number] = msg
        while (msg.sender, self.next[msg.sender]) in self.held:
            self.delivered.append(self.held.pop((msg.sender, self.next[msg.sender])))
            self.next[msg.sender] += 1

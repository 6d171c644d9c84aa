"""The interface of Channel, and a body of ours."""


class Channel:
    def __init__(self) -> None:
        self.queue: list[str] = []

    def is_empty(self) -> bool:
        return not self.queue

    def consume(self) -> str:
        return self.queue.pop(0)

"""The interface of Message, and a body of ours."""

from __future__ import annotations

import json


class Message:
    def __init__(self, json_data: str, content: dict[str, str]) -> None:
        self.json_data, self.content = json_data, content

    @classmethod
    def initFromJSON(cls, json_data: str) -> Message:  # noqa: N802
        return cls(json_data, {})

    @classmethod
    def initFromData(cls, header: str, content: dict[str, str]) -> Message:  # noqa: N802
        return cls(json.dumps(content), content)

    def decode(self) -> None:
        self.content = json.loads(self.json_data)

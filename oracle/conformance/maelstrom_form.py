"""The form of Maelstrom, Jepsen's workbench: messages in envelopes between nodes and clients.

    in:   {"src": "c0", "dest": "n1", "body": {"type": "init", "msg_id": 1, "node_id": "n1", "node_ids": ["n1", "n2"]}}
          {"src": "c1", "dest": "n1", "body": {"type": "send", "msg_id": 3, "to": "n2", "message": "1-2.1"}}
          {"src": "c1", "dest": "n1", "body": {"type": "broadcast", "msg_id": 3, "message": 1}}
          {"src": "n2", "dest": "n1", "body": …}                      a packet: the body as the other node wrote it
    out:  {"src": "n1", "dest": "n2", "body": …}                      transmits a packet
          {"src": "n1", "dest": "c1", "body": {"type": "deliver", "message": "1-2.1"}}
          {"src": "n1", "dest": "c1", "body": {"type": "send_ok", "in_reply_to": 3}}

Answers have no end marker. So each input is followed by a request that changes nothing, whose reply is the end: `echo`,
or `read` if every message is broadcast, whose list of messages also shows the deliveries.
"""

import json
import re
from collections import Counter
from collections.abc import Sequence
from re import Pattern
from typing import Any

from crownless.runtime.printable import shown
from crownless.spec.enumeration import Sends as KindOfSends

from .bodies import text_body
from .line_forms import End, Form, as_text, not_understood, read_json
from .node import Arrival, Delivers, Input, NodeFailure, Output, Send, Transmits, name_for_nodes, number_for_nodes

#: Maelstrom's services for nodes, not available here.
SERVICES = ("lin-kv", "seq-kv", "lww-kv", "lin-tso")
#: The clients that start a node, send, and request the end of its answer.
STARTS, SENDS, PROBES = "c0", "c1", "c2"
#: The code of the error by which a node rejects an unknown request.
NOT_SUPPORTED = 10
#: Requests that a node need not support.
_OPTIONAL = ("echo", "read", "topology")
_NODE, _CLIENT = re.compile(r"n([1-9][0-9]{0,8})"), re.compile(r"c[0-9]+")


class MaelstromForm(Form):
    """Envelopes, to and from one running node: requests have numbers, and replies name them."""

    resets = False
    end = "each answer ends in the reply to the request that follows the input"
    begins_anew = "init_ok"
    shown = 0

    def __init__(
        self, ignored: Pattern[str] | None = None, sends: KindOfSends = "unicast", numbers: dict[str, int] | None = None
    ) -> None:
        """`numbers`: the numbers of messages broadcast so far, by any node."""
        super().__init__(ignored)
        self._broadcasts = sends == "broadcast"
        self._sends = sends
        self._numbers: dict[str, int] = {} if numbers is None else numbers
        self._node, self._n = "", 0
        self._requests = 0
        #: The types of unanswered requests, by number.
        self._open: dict[int, str] = {}
        #: Requests whose replies end answers.
        self._last: set[int] = set()
        #: How often each message was in the last list read.
        self._read_before: Counter[str] = Counter()

    def of_one_node(self) -> Form:
        return MaelstromForm(self.ignored, self._sends, self._numbers)

    def init(self, process: int, n: int) -> list[str]:
        self._node, self._n = _name(process), n
        nodes = [_name(p) for p in range(n)]
        lines = [self._request(STARTS, {"type": "init"}, node_id=self._node, node_ids=nodes)]
        if self._broadcasts:
            topology = {node: [other for other in nodes if other != node] for node in nodes}
            lines.append(self._request(STARTS, {"type": "topology"}, topology=topology))
        return self._with_end(lines)

    def given(self, given: Input) -> list[str]:
        assert isinstance(given, Send | Arrival), "Maelstrom has no other inputs"
        if isinstance(given, Arrival):
            source, dest = json.dumps(_name(given.source)), json.dumps(self._node)
            return self._with_end([f'{{"src": {source}, "dest": {dest}, "body": {given.body}}}'])
        message = name_for_nodes(given.message)
        if self._broadcasts:
            number = number_for_nodes(given.message) * self._n + given.message.sender + 1
            self._numbers[message] = number
            return self._with_end([self._request(SENDS, {"type": "broadcast"}, message=number)])
        to = [_name(q) for q in given.message.receivers]
        return self._with_end(
            [self._request(SENDS, {"type": "send"}, to=to if len(to) > 1 else to[0], message=message)]
        )

    def _with_end(self, lines: list[str]) -> list[str]:
        if self._broadcasts:
            lines.append(self._request(PROBES, {"type": "read"}))
        else:
            lines.append(self._request(PROBES, {"type": "echo"}, echo="the end of the answer"))
        self._last.add(self._requests)
        return lines

    def _request(self, client: str, body: dict[str, Any], **more: Any) -> str:
        self._requests += 1
        self._open[self._requests] = body["type"]
        return json.dumps({"src": client, "dest": self._node, "body": {**body, "msg_id": self._requests, **more}})

    def outputs(self, line: str) -> Sequence[Output | End]:
        said = read_json(line)
        if not (isinstance(said, dict) and isinstance(said.get("dest"), str) and isinstance(said.get("body"), dict)):
            raise not_understood(line, 'a message is {"src": "n1", "dest": "n2", "body": {…}}')
        dest, body = said["dest"], said["body"]
        if said.get("src") != self._node:
            raise not_understood(line, f"its src is not {self._node}, the node that says it")
        if dest in SERVICES:
            raise not_understood(line, f"Maelstrom's services, such as {dest}, are not offered here")
        if node := _NODE.fullmatch(dest):
            return [Transmits(int(node[1]) - 1, text_body(as_text(line, body), self.ignored))]
        if not _CLIENT.fullmatch(dest):
            raise not_understood(line, "dest is a node, such as n2, or a client, such as c1")
        if "in_reply_to" in body:
            return self._reply(line, body)
        if body.get("type") == "deliver" and type(body.get("message")) in (str, int):
            return [Delivers(self._message(line, body["message"]))]
        raise not_understood(line, 'a client gets {"type": "deliver", "message": …}, or a reply')

    def _reply(self, line: str, body: dict[str, Any]) -> Sequence[Output | End]:
        number = body["in_reply_to"]
        request = self._open.pop(number, None) if type(number) is int else None
        if request is None:
            raise not_understood(line, "it replies to no request, or a second time")
        outputs: list[Output | End] = []
        if body.get("type") == "error":
            if request not in _OPTIONAL or body.get("code") != NOT_SUPPORTED:
                said = f"error {shown(body.get('code'))}: {shown(body.get('text', ''))}"
                raise NodeFailure("node-fails", f"replies to `{request}` with {said}")
        elif body.get("type") != f"{request}_ok":
            raise not_understood(line, f"the reply to `{request}` is of type {request}_ok, or error")
        elif request == "read":
            outputs += self._new(line, body.get("messages"))
        if number in self._last:
            self._last.remove(number)
            if "init" in self._open.values():
                raise not_understood(line, "before init_ok, the reply to `init`")
            outputs.append(End())
        return outputs

    def _new(self, line: str, messages: Any) -> list[Delivers]:
        """The deliveries of new messages in the list, in its order."""
        if not isinstance(messages, list):
            raise not_understood(line, 'the reply to `read` is {"type": "read_ok", "messages": […], …}')
        names = [self._message(line, message) for message in messages]
        if gone := self._read_before - Counter(names):
            raise not_understood(line, f"there is no longer {shown(next(iter(gone)), str)} among what it delivered")
        left, new = Counter(self._read_before), []
        for name in names:
            if left[name]:
                left[name] -= 1
            else:
                new.append(Delivers(name))
        self._read_before = Counter(names)
        return new

    def _message(self, line: str, message: Any) -> str:
        """The name of a message, which the node may know by its number."""
        if type(message) is int:
            return next((name for name, number in self._numbers.items() if number == message), as_text(line, message))
        return message if isinstance(message, str) else as_text(line, message)


def _name(process: int) -> str:
    return f"n{process + 1}"

"""Interleavings in Concuerror's reports as events without message names, for `classify --match`.

A message is delivered when it "reaches" the mailbox of its receiver. Signals and messages of the runtime system, such
as 'DOWN' and time-outs, have no send in the report, and are left out.
"""

import json
import re
import sys
from pathlib import Path

START = re.compile(r"(?:Erroneous interleaving|Interleaving #?) *(\d+)")
SEND = re.compile(r" *\d+: (\S+): .*? = (?:(\S+) ! (.*)|erlang:send\((\S+?), ?(.*?)(?:, ?\[[a-z,]*\])?\))$")
REACHES = re.compile(r" *\d+: Message \((.*)\) from (\S+) reaches (\S+)$")
REGISTER = re.compile(r" *\d+: \S+: true = erlang:register\((\S+?), ?(\S+?)\)$")


def write(run: str, events: list[tuple[str, str, str, str]]) -> None:
    """Prints the sends, and the deliveries of what was sent."""
    sent = {(process, peer, message) for kind, process, message, peer in events if kind == "send"}
    known = [
        event
        for event in events
        if not event[2].startswith(("{'DOWN'", "{'EXIT'"))
        and (event[0] == "send" or (event[3], event[1], event[2]) in sent)
    ]
    if any(kind == "deliver" for kind, *_ in known):  # with the option instant_delivery no delivery is reported
        for kind, process, message, peer in known:
            print(json.dumps({"run": run, "process": process, "kind": kind, "message": message, "peer": peer}))


for name in sys.argv[1:]:
    run, events, registered = "", [], dict[str, str]()
    for line in Path(name).read_text(encoding="utf-8", errors="replace").splitlines():
        if found := START.match(line):
            write(run, events)
            run, events, registered = f"{Path(name).stem}-{found[1]}", [], {}
        elif found := REGISTER.match(line):
            registered[found[1]] = found[2]
        elif found := SEND.match(line):
            receiver = found[2] or found[4]
            events.append(("send", found[1], found[3] or found[5], registered.get(receiver, receiver)))
        elif found := REACHES.match(line):
            events.append(("deliver", found[3], found[1], found[2]))
    write(run, events)

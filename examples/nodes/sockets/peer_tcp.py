"""A node that owns its sockets: causal order by matrices over TCP, a line of JSON a packet.

crownless conform -n 3 -m 2 --sockets tcp --deliver 'delivered (?<message>\\S+)' -- \\
    python examples/nodes/sockets/peer_tcp.py --id {id} --listen {listen} --peers {peers}

`--wrong` stamps no message: then nothing is held back.
"""

import argparse
import json
import selectors
import socket
import sys

options = argparse.ArgumentParser()
options.add_argument("--id", type=int)
options.add_argument("--listen")
options.add_argument("--peers")
options.add_argument("--wrong", action="store_true")
given = options.parse_args()


def address(text):
    host, _, port = text.partition(":")
    return host, int(port)


me = given.id
peers = [address(text) for text in given.peers.split(",")]
n = len(peers)
sent = [[0] * n for _ in range(n)]
delivered = [0] * n
waiting = []
connections = {}


def on_line(line):
    _, to, message = line.split()
    to = int(to)
    if to not in connections:
        connections[to] = socket.create_connection(peers[to])
    packet = [me, message, [[0] * n] * n if given.wrong else sent]
    connections[to].sendall(json.dumps(packet).encode() + b"\n")
    sent[me][to] += 1


def on_packet(packet):
    waiting.append(json.loads(packet))
    while ready := [held for held in waiting if all(delivered[k] >= held[2][k][me] for k in range(n))]:
        waiting.remove(ready[0])
        source, message, stamp = ready[0]
        delivered[source] += 1
        sent[source][me] += 1
        for k in range(n):
            for to in range(n):
                sent[k][to] = max(sent[k][to], stamp[k][to])
        print("delivered", message, flush=True)


def on_bytes(readable, take):
    lines = b""

    def on_more():
        nonlocal lines
        block = readable.recv(4096) if isinstance(readable, socket.socket) else readable.read1(4096)
        if not block:
            selector.unregister(readable)
        *whole, lines = (lines + block).split(b"\n")
        for line in whole:
            take(line.decode())

    selector.register(readable, selectors.EVENT_READ, on_more)


selector = selectors.DefaultSelector()
listening = socket.create_server(address(given.listen))
selector.register(listening, selectors.EVENT_READ, lambda: on_bytes(listening.accept()[0], on_packet))
on_bytes(sys.stdin.buffer, on_line)
while True:
    for key, _ in selector.select():
        key.data()

"""A node that owns its socket: UDP, no order at all, each message delivered as it comes.

crownless conform -n 2 -m 2 --sockets udp --deliver 'delivered (?<message>\\S+)' -- \\
    python examples/nodes/sockets/peer_udp.py --id {id} --listen {listen} --peers {peers}
"""

import argparse
import socket
import sys
import threading

options = argparse.ArgumentParser()
options.add_argument("--id", type=int)
options.add_argument("--listen")
options.add_argument("--peers")
given = options.parse_args()


def address(text):
    host, _, port = text.partition(":")
    return host, int(port)


peers = [address(text) for text in given.peers.split(",")]
own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
own.bind(address(given.listen))


def receive():
    while True:
        print("delivered", own.recv(1 << 16).decode(), flush=True)


threading.Thread(target=receive, daemon=True).start()
for line in sys.stdin:
    _, to, message = line.split()
    own.sendto(message.encode(), peers[int(to)])

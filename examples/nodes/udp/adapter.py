"""Drives a program that owns its UDP socket: the adapter plays all its peers, on sockets of its own.

crownless conform -n 2 -m 2 -- python examples/nodes/udp/adapter.py
"""

import select
import socket
import subprocess
import sys
from pathlib import Path

PEER = [sys.executable, str(Path(__file__).with_name("peer.py"))]
#: Seconds of silence that end an answer: long for this program, and the only guess here.
SILENCE = 0.03
peer, peers = None, []


def outputs():
    """Passes on what the program says, until it is silent."""
    while ready := select.select([*peers, peer.stdout], [], [], SILENCE)[0]:
        for one in ready:
            if one is peer.stdout:
                print(one.readline().decode().replace("delivered", "deliver"), end="")
            else:
                print("packet", peers.index(one), one.recv(1 << 16).decode())


for line in sys.stdin:
    word, first, last = line.rstrip("\n").split(" ", 2)
    if word == "init":  # a new program, and a socket for each process; its own is bound by itself
        if peer is not None:
            peer.kill(), peer.wait()
        for one in peers:
            one.close()
        peers = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(int(last))]
        for one in peers:
            one.bind(("127.0.0.1", 0))
        addresses, me = [one.getsockname() for one in peers], int(first)
        peers[me].close()
        peers[me] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        named = ",".join(f"{host}:{port}" for host, port in addresses)
        command = [*PEER, first, named, *sys.argv[1:]]
        peer = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        peer.stdout.readline()  # ready
    elif word == "send":
        peer.stdin.write(f"send {first} {last}\n".encode())
        outputs()
    else:
        peers[int(first)].sendto(last.encode(), addresses[me])
        outputs()
    print("ok", flush=True)
peer.kill()

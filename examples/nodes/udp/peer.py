"""A program that owns its socket, to be driven through `adapter.py`: it numbers its datagrams, and delivers in order.

python peer.py ID ADDRESS,ADDRESS,…   with `--wrong` behind it delivers as they come
"""

import socket
import sys
import threading

me, addresses = int(sys.argv[1]), [(one.split(":")[0], int(one.split(":")[1])) for one in sys.argv[2].split(",")]
own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
own.bind(addresses[me])
sent, expected, held = [0] * len(addresses), [0] * len(addresses), {}


def receive():
    while True:
        source, number, message = own.recv(1 << 16).decode().split()
        held[int(source), int(number)] = message
        if "--wrong" in sys.argv:
            print("delivered", message, flush=True)
        while "--wrong" not in sys.argv and (int(source), expected[int(source)]) in held:
            print("delivered", held.pop((int(source), expected[int(source)])), flush=True)
            expected[int(source)] += 1


threading.Thread(target=receive, daemon=True).start()
print("ready", flush=True)
for line in sys.stdin:
    _, to, text = line.split()
    own.sendto(f"{me} {sent[int(to)]} {text}".encode(), addresses[int(to)])
    sent[int(to)] += 1

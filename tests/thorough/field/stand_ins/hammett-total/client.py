"""The interface of the client, and a body of ours with the same kind of mistake: one look at the queue an arrival."""

import os
import socket
import threading
from collections import Counter

client = socket.socket()
me, clock, n_processes = os.getpid(), 0, "0"
waiting, acknowledged = list[tuple[int, int, str]](), Counter[str]()


def client_send(text: str) -> None:
    global clock
    clock += 1
    client.send(f"{text} {clock} {me}\n".encode())


def client_receive() -> None:
    while True:
        for line in client.recv(1024).decode().splitlines():
            if not line.startswith("n "):
                receive(*line.rsplit(" ", 2))


def receive(text: str, stamp: str, sender: str) -> None:
    global clock
    if text.startswith("ack "):
        acknowledged[text.removeprefix("ack ")] += 1
    else:
        waiting.append((int(stamp), int(sender), text))
        clock = max(clock, int(stamp))
        client_send("ack " + text)
    stamp_of_first, process, first = min(waiting)
    if acknowledged[first] == int(n_processes):
        waiting.remove((stamp_of_first, process, first))
        print(f"[DELIVERING] {(str(stamp_of_first), first)}")


threading.Thread(target=client_receive).start()

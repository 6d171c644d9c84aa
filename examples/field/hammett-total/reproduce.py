"""Two clients, over links in place of their server, hold back a message for ever: python3 reproduce.py CHECKOUT"""

import sys
from collections import deque
from types import SimpleNamespace
from unittest import mock

with open(sys.argv[1] + "/client.py") as file:
    code = compile(file.read(), "client.py", "exec")
links = {(sender, receiver): deque() for sender in (1, 2) for receiver in (1, 2)}
delivered = {1: [], 2: []}


def start(me):
    def send(data):
        for receiver in (1, 2):  # the server sends to all, and then how many they are
            links[me, receiver].append(data + b"n 2\n")

    own = SimpleNamespace(connect=lambda address: None, send=send)
    client = {"print": lambda text: delivered[me].append(text.split("'")[3])}
    with (
        mock.patch("socket.socket", return_value=own),
        mock.patch("socket.gethostbyname", return_value="localhost"),
        mock.patch("threading.Thread", mock.Mock()),
        mock.patch("os.getpid", return_value=me),
    ):
        exec(code, client)
    client["n_processes"] = "2"
    return client


def receive(me, sender):
    for part in links[sender, me].popleft().decode().split("\n"):
        if part and not part.startswith("n "):
            clients[me]["handle_receive"](part)


clients = {me: start(me) for me in (1, 2)}
clients[1]["client_send"]("m1")
receive(1, 1), receive(1, 1)  # m1, and the own acknowledgement
clients[2]["client_send"]("m2")
receive(2, 2), receive(2, 1), receive(2, 1), receive(1, 2), receive(1, 1)
while any(links.values()):
    sender, receiver = next(link for link in sorted(links) if links[link])
    receive(receiver, sender)
for me in (1, 2):
    print(f"P{me} delivers", ", ".join(delivered[me]), "and has received everything")

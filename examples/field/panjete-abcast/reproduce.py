"""Two nodes deliver two messages in different orders: python3 reproduce.py CHECKOUT"""

import sys
import threading

sys.path.insert(0, sys.argv[1])

from abcast import abcast_system

system = abcast_system(2)
senders = [  # each message arrives at once at its sender, and after half a second at the other node
    threading.Thread(target=system.emit, args=("m1", 1, [1, 2], [0, 0.5], [0, 0], [0, 0])),
    threading.Thread(target=system.emit, args=("m2", 2, [1, 2], [0.5, 0], [0, 0], [0, 0])),
]
for sender in senders:
    sender.start()
for sender in senders:
    sender.join()
orders = [", ".join(message for _, message in system.nodes[number].delivered_messages) for number in (1, 2)]
print(f"P1 delivers {orders[0]}; P2 delivers {orders[1]}")

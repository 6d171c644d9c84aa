"""P3 delivers the second message before the first, which its sender had delivered: python3 reproduce.py CHECKOUT"""

import sys

sys.path.insert(0, sys.argv[1])

from causal_ordering import ProcessMatrix

first, second, third = (ProcessMatrix(process, 3) for process in range(3))
m1 = first.send_message("m1")
second.receive_message(m1)
m2 = second.send_message("m2")
third.receive_message(m2)
third.receive_message(m1)
print("P3 delivers", ", ".join(message.content for message in third.delivered))

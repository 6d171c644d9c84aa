"""Classify each run of an event log: the strongest order kept, and why causal order is violated.

python examples/classify_a_log.py [FILE]
"""

import sys
from pathlib import Path

import crownless as cr


def report(file: Path) -> None:
    """Prints a line a run, and a drawing where causal order is violated."""
    for run in cr.read_log(file):
        verdicts = cr.classify(run)
        print(f"{run.run}: {', '.join(verdicts.strongest) or 'unknown'}")
        causal = verdicts["causal"]
        if causal.outcome == "violated":
            print(cr.draw(run))
            print(causal)


if __name__ == "__main__":
    report(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("events.jsonl"))

"""Run rows of the field report again, and write its page: python examples/field/field_report.py [NAME...]

Each row is fetched at its commit, unless it is in the folder of checkouts already, and driven by its adapter. A
compiled node is taken from that folder, as NAME.node. A row that cannot be run here stays as it was, with its date.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import click
from field_page import write_page
from field_rows import FIELD, BadRow, Row, Verdict, rows

from crownless.command_line.endings import EXIT_UNKNOWN
from crownless.oracle.conformance.conformance_request import WITH_REPLIES

CROWNLESS = [sys.executable, "-m", "crownless"]
#: Verdicts on what is kept: of properties, of orders, and of random runs.
KEPT = ("holds", "kept", "not violated")


class NotHere(Exception):
    """A row cannot be run on this machine, and why."""


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option(
    "--checkouts",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("build/field"),
    show_default=True,
    help="Where their code is, or is fetched to, as NAME; and compiled nodes, as NAME.node.",
)
@click.option("--larger", is_flag=True, help="Also with one process more, and with one message more.")
@click.option("--max-seconds", default=600.0, show_default=True, help="How long each of these larger runs may take.")
@click.option("--page", is_flag=True, help="Only write the page, from the last verdicts.")
def main(names: tuple[str, ...], checkouts: Path, larger: bool, max_seconds: float, page: bool) -> None:
    """Run the rows NAME (default: all), and write docs/field_report.md.

    Exit codes: 0 every verdict is that of its row; 1 one is not; 2 a bad name or row; 3 a row NAME cannot be run here.
    """
    every, checkouts = rows(), checkouts.absolute()
    if unknown := set(names) - {row.folder for row in every}:
        raise BadRow(f"no row is called {', '.join(sorted(unknown))}; see the folders of {FIELD}")
    different, missing = [], []
    for row in [] if page else every:
        if names and row.folder not in names:
            continue
        try:
            fetch(row, checkouts)
            found = verdict(row, checkouts)
            if larger:
                found["larger"] = list(one_more(row, checkouts, max_seconds))
        except NotHere as why:
            click.echo(f"{row.folder}: stays as it was: {why}", err=True)
            missing += [row.folder] * bool(names)
            continue
        violated = [name for name, said in said_of_each(found).items() if said == "violated"]
        if row.violation:
            as_said = row.violation.what in violated
        else:
            as_said = found["verdict"] in KEPT and found["orders"][row.order] in KEPT
        text = f"violates {', '.join(violated)}" if found["verdict"] == "violated" else found["verdict"]
        if as_said:
            keep(row, found, checkouts)
            click.echo(f"{row.folder}: {text}, as row.toml says")
        else:
            different.append(row.folder)
            click.echo(f"{row.folder}: {text}, which is not what row.toml says: it stays as it was")
    write_page()
    sys.exit(1 if different else 3 if missing else 0)


def fetch(row: Row, checkouts: Path) -> None:
    """Fetch their code at the commit of the row, unless it is there.

    Raises:
        NotHere: it cannot be fetched, or the folder is at another commit.
    """
    folder = checkouts / row.folder
    if not folder.exists():
        folder.mkdir(parents=True)
        fetched = _git(folder, "init", "-q") and _git(folder, "fetch", "-q", "--depth=1", row.repository, row.commit)
        if not (fetched and _git(folder, "checkout", "-q", "FETCH_HEAD")):
            shutil.rmtree(folder)
            raise NotHere(f"{row.repository} cannot be fetched at {row.commit[:12]}")
    head = subprocess.run(["git", "-C", folder, "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
    if head != row.commit:
        raise NotHere(f"{folder} is at commit {head[:12] or 'none'}, the row at {row.commit[:12]}")


def verdict(row: Row, checkouts: Path) -> Verdict:
    """What conform says of the row at its bound, and the smallest bound with its violation; the schedule is saved."""
    saved = ["--save", str(schedule_of(row, checkouts))] if row.violation else []
    said = conform(row, checkouts, row.processes, row.messages, *saved)
    found = facts_of(said)
    there = row.violation is not None and said_of_each(found).get(row.violation.what) == "violated"
    return found | {
        "smallest": smallest_bound(row, checkouts) if there else None,
        "larger": row.verdict["larger"] if row.verdict else [],
    }


def facts_of(said: Verdict) -> Verdict:
    """What a row keeps of what conform says."""
    return {
        "date": date.today().isoformat(),
        "crownless": said["crownless"],
        "verdict": said["verdict"],
        "orders": {name: order["verdict"] for name, order in said["orders"].items()},
        "delivery": {found["name"]: found["verdict"] for found in said["delivery"]},
        "failures": [failure["name"] for failure in said["failures"]],
        "states": said["states"],
        "scope": said["scope"],
    }


def said_of_each(found: Verdict) -> dict[str, str]:
    """The verdict on each order, delivery property and failure."""
    return {**found["orders"], **found["delivery"], **dict.fromkeys(found["failures"], "violated")}


def schedule_of(row: Row, checkouts: Path) -> Path:
    """Where the schedule of a violation is, until its verdict is compared with the row."""
    return checkouts / f"{row.folder}.schedule.json"


def keep(row: Row, found: Verdict, checkouts: Path) -> None:
    """Write a verdict, and a schedule that names the row, not the place of the node on this machine."""
    (row.path / "verdict.json").write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    if row.violation:
        saved = json.loads(schedule_of(row, checkouts).read_text("utf-8"))
        saved["schedule"]["implementation"] = row.folder
        (row.path / "schedule.json").write_text(json.dumps(saved, indent=1) + "\n", "utf-8")


def smallest_bound(row: Row, checkouts: Path) -> list[int]:
    """The fewest processes and messages with the violation of the row: fewest in all, then fewest processes."""
    assert row.violation
    bounds = [(n, m) for n in range(2, row.processes + 1) for m in range(1, row.messages + 1)]
    for n, m in sorted(bounds, key=lambda bound: (sum(bound), bound)):
        if said_of_each(facts_of(conform(row, checkouts, n, m))).get(row.violation.what) == "violated":
            return [n, m]
    return [row.processes, row.messages]  # of random runs, which may miss it in another sample


def one_more(row: Row, checkouts: Path, max_seconds: float) -> Iterator[Verdict]:
    """The verdicts with one process more, and with one message more: those on free sends, where a search with replies
    from inside deliveries is too large.
    """
    without_replies = replace(row, options=f"{row.options} --replies 0")
    for n, m in ((row.processes + 1, row.messages), (row.processes, row.messages + 1)):
        said = conform(row, checkouts, n, m, "--max-seconds", str(max_seconds))
        if replies_left_out := said["verdict"] == "unknown" and WITH_REPLIES in said["scope"]:
            said = conform(without_replies, checkouts, n, m, "--max-seconds", str(max_seconds))
        found = {"date": date.today().isoformat(), "processes": n, "messages": m}
        found |= {"verdict": said["verdict"], "states": said["states"]}
        yield found | {"max_seconds": max_seconds, "free_sends": replies_left_out}


def conform(row: Row, checkouts: Path, processes: int, messages: int, *options: str) -> Verdict:
    """What `crownless conform --json` prints of the node of a row.

    Raises:
        NotHere: conform, the node or its toolchain cannot be started.
    """
    arguments = [*CROWNLESS, *command(row, checkouts, processes, messages)[1:]]
    at = arguments.index("conform") + 1
    arguments[at:at] = ["--json", "--quiet", *options]
    environment = os.environ | {"CHECKOUT": str(checkouts / row.folder)}
    done = subprocess.run(arguments, cwd=row.path, env=environment, capture_output=True, text=True)
    try:
        return dict(json.loads(done.stdout))
    except ValueError:
        if done.returncode == EXIT_UNKNOWN:  # at the limit, in the middle of a call of a node in Python
            return {"verdict": "unknown", "states": 0, "scope": ""}
        raise NotHere((done.stderr.strip().splitlines() or ["conform said nothing"])[-1]) from None


def command(row: Row, checkouts: Path, processes: int, messages: int) -> list[str]:
    """The command that a reader gives, in the folder of the row."""
    node = shlex.split(row.run.replace("{checkout}", str(checkouts / row.folder)))
    if row.built:
        node = [str(checkouts / f"{row.folder}.node"), *node[1:]]
        if not Path(node[0]).exists():
            raise NotHere(f"{node[0]} is not there: {row.built}")
    elif shutil.which(node[0]) is None and ".py:" not in node[0]:
        raise NotHere(f"there is no {node[0]} here")
    bound = ["-n", str(processes), "-m", str(messages)]
    separator = [] if ".py:" in node[0] else ["--"]
    return ["crownless", "conform", *bound, "--order", row.order, *shlex.split(row.options), *separator, *node]


def _git(folder: Path, *arguments: str) -> bool:
    return subprocess.run(["git", "-C", folder, *arguments], stderr=subprocess.DEVNULL).returncode == 0


if __name__ == "__main__":
    try:
        main()
    except BadRow as error:
        click.echo(f"field_report.py: {error}", err=True)
        sys.exit(2)

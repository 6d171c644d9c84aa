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

CROWNLESS = [sys.executable, "-m", "crownless"]


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
    """Run the rows NAME (default: all), and write docs/field_report.md."""
    every, checkouts = rows(), checkouts.absolute()
    if unknown := set(names) - {row.folder for row in every}:
        raise BadRow(f"no row is called {', '.join(sorted(unknown))}; see the folders of {FIELD}")
    different = []
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
            continue
        (row.path / "verdict.json").write_text(json.dumps(found, indent=1) + "\n", "utf-8")
        as_said = (found["verdict"] == "violated") == (row.violation is not None)
        click.echo(f"{row.folder}: {found['verdict']}, {'as' if as_said else 'which is not what'} row.toml says")
        different += [row.folder] * (not as_said)
    write_page()
    sys.exit(1 if different else 0)


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
    """What conform says of the row at its bound, and the smallest bound with a violation; its schedule is saved."""
    saved = ["--save", str(row.path / "schedule.json")] if row.violation else []
    said = conform(row, checkouts, row.processes, row.messages, *saved)
    if saved:
        _name_in(row.path / "schedule.json", row.folder)
    return {
        "date": date.today().isoformat(),
        "crownless": said["crownless"],
        "verdict": said["verdict"],
        "orders": {name: order["verdict"] for name, order in said["orders"].items()},
        "delivery": {found["name"]: found["verdict"] for found in said["delivery"]},
        "failures": [failure["name"] for failure in said["failures"]],
        "states": said["states"],
        "scope": said["scope"],
        "smallest": smallest_bound(row, checkouts, row.violation.what) if row.violation else None,
        "larger": row.verdict["larger"] if row.verdict else [],
    }


def _name_in(schedule: Path, name: str) -> None:
    """Let a schedule name the row, not the place of the node on this machine."""
    if schedule.exists():
        saved = json.loads(schedule.read_text("utf-8"))
        saved["schedule"]["implementation"] = name
        schedule.write_text(json.dumps(saved, indent=1) + "\n", "utf-8")


def smallest_bound(row: Row, checkouts: Path, what: str) -> list[int]:
    """The fewest processes and messages with a violation of this: fewest in all, then fewest processes."""
    bounds = [(n, m) for n in range(2, row.processes + 1) for m in range(1, row.messages + 1)]
    for n, m in sorted(bounds, key=lambda bound: (sum(bound), bound)):
        said = conform(row, checkouts, n, m)
        verdicts = {name: each["verdict"] for name, each in said["orders"].items()}
        verdicts |= {each["name"]: each["verdict"] for each in (*said["delivery"], *said["failures"])}
        if verdicts.get(what) == "violated":
            return [n, m]
    raise BadRow(f"{row.folder}: {what} is not violated within its bound")


def one_more(row: Row, checkouts: Path, max_seconds: float) -> Iterator[Verdict]:
    """The verdicts with one process more, and with one message more: those on free sends, where a search with replies
    from inside deliveries is too large.
    """
    without_replies = replace(row, options=f"{row.options} --replies 0")
    for n, m in ((row.processes + 1, row.messages), (row.processes, row.messages + 1)):
        said = conform(row, checkouts, n, m, "--max-seconds", str(max_seconds))
        if replies_left_out := said["verdict"] == "unknown":
            said = conform(without_replies, checkouts, n, m, "--max-seconds", str(max_seconds))
        found = {"processes": n, "messages": m, "verdict": said["verdict"], "states": said["states"]}
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
        sys.exit(f"field_report.py: {error}")

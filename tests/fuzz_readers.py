"""Hostile text: programs, computations, runs, settings and arguments."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from fuzz_mutations import HUGE, NAMES, Mutator
from fuzz_verdicts import Input

#: So that nobody finds out for each input how much memory there is.
MEMORY = ("--max-memory", "8G")
#: So that no input runs for long; later options of the same name, which an input may have, win.
SMALL = {
    "check": ("--engine", "plain", "--max-states", "9", "--max-seconds", "1", *MEMORY),
    "realize": ("--max-seconds", "1", *MEMORY),
    "count": ("--max-seconds", "1", *MEMORY),
    "classify": ("--max-seconds", "1", *MEMORY),
}


class Reader:
    """Makes inputs of one kind in a directory."""

    name: str

    def prepare(self, directory: Path) -> None:
        """Makes what all inputs start from."""

    def sound(self, directory: Path) -> Iterator[Input]:
        """Inputs that must be read: that nothing has changed."""
        raise NotImplementedError

    def make(self, random: Mutator, directory: Path) -> Input:
        """The hostile input that follows from this random source."""
        raise NotImplementedError

    def cleanup(self, directory: Path) -> None:
        """After each input; raises AssertionError where a file outside was touched."""


def figures(suffix: str) -> list[str]:
    from crownless.spec import library

    return [library.path(name, suffix).read_text("utf-8") for name in library.names(suffix)]


class Computations(Reader):
    name = "computations"

    def prepare(self, directory: Path) -> None:
        self.texts = [text for text in figures(".txt") if len(text) < 2_000]

    def sound(self, directory: Path) -> Iterator[Input]:
        for text in self.texts:
            yield self.classify(text.encode(), directory, [])

    def make(self, random: Mutator, directory: Path) -> Input:
        text = random.text(random.choice(self.texts))
        return self.classify(text, directory, ["--json"] * random.randrange(2))

    def classify(self, text: bytes, directory: Path, options: list[str]) -> Input:
        (directory / "c.txt").write_bytes(text)
        return Input(["classify", str(directory / "c.txt"), *MEMORY, *options], violated=("broken",))


class Programs(Computations):
    name = "programs"

    def sound(self, directory: Path) -> Iterator[Input]:
        for text in self.texts:
            yield self.check(text.encode(), directory, [])

    def make(self, random: Mutator, directory: Path) -> Input:
        text = random.text(random.choice(self.texts))
        return self.check(text, directory, ["--json"] * (random.random() < 0.9))

    def check(self, text: bytes, directory: Path, options: list[str]) -> Input:
        (directory / "p.txt").write_bytes(text)
        limits = ("--max-states", "9", "--max-seconds", "1", *MEMORY)
        arguments = ["check", "unordered", "--program", str(directory / "p.txt"), "--engine", "plain", *limits]
        return Input([*arguments, "--quiet", *options], violated=("violated",))


class Shown(Reader):
    name = "show"

    def prepare(self, directory: Path) -> None:
        from crownless.spec import library

        self.runs = [
            json.loads(library.path(name, ".json").read_text("utf-8")) for name in library.counterexamples(".json")
        ]

    def sound(self, directory: Path) -> Iterator[Input]:
        for saved in self.runs:
            yield self.show(json.dumps(saved).encode(), directory, [])

    def make(self, random: Mutator, directory: Path) -> Input:
        content = random.json(random.choice(self.runs), random.choice((None, 2)))
        return self.show(content, directory, random.choice(([], ["--json"], ["--ascii"])))

    def show(self, content: bytes, directory: Path, options: list[str]) -> Input:
        (directory / "run.json").write_bytes(content)
        return Input(["show", str(directory / "run.json"), *options])


class Settings(Reader):
    name = "settings"

    def sound(self, directory: Path) -> Iterator[Input]:
        yield self.check("buffer-bounded", "output=2")
        yield self.check("extra-messages", "k=5")

    def make(self, random: Mutator, directory: Path) -> Input:
        sound = random.choice(("output=2", "k=5", "input=1", "rounds=1,0", "output=1,2,3"))
        setting = random.text(sound).decode("utf-8", "surrogateescape")
        if random.random() < 0.3:
            setting = f"{random.choice(('k', 'output', random.choice(NAMES)))}={random.value()}".replace(
                HUGE, "9" * 5_000
            )
        return self.check(random.choice(("buffer-bounded", "extra-messages", "isis-gc", "rst")), setting)

    def check(self, protocol: str, setting: str) -> Input:
        bounds = ("-n", "2", "-m", "1", "--engine", "plain", "--max-states", "9", *MEMORY)
        return Input(["check", protocol, *bounds, "--set", setting], violated=("violated",))


class Arguments(Reader):
    name = "arguments"
    commands = (
        ["check", "rst", "-n", "2", "-m", "1", "--engine", "plain", "--max-states", "9", "--order", "fifo"],
        ["check", "rst", "-n", "2", "-m", "1", "--channel", "fifo", "--sends", "unicast", "--engine", "plain"],
        ["check", "rst", "--program", "mf-fig1", "--engine", "plain", "--clock", "lamport-times"],
        ["classify", "mf-fig1", "--order", "causal", "--unreceived", "lost"],
        ["show", "mf-fig1", "--json"],
        ["realize", "rst", "-n", "2", "-m", "1"],
        ["count", "-n", "2", "-m", "1"],
        ["list"],
    )

    def sound(self, directory: Path) -> Iterator[Input]:
        for words in self.commands:
            yield self.limited(words)

    def make(self, random: Mutator, directory: Path) -> Input:
        words = list(random.choice(self.commands))
        for _ in range(random.choice((1, 1, 2, 3))):
            at = random.randrange(len(words))
            what = random.randrange(4)
            if what == 0:
                del words[at]
            elif what == 1:
                words.insert(at, words[random.randrange(len(words))] if words else "")
            elif words[at - 1] not in ("-n", "-m"):
                value = random.value()
                words[at] = str(value).replace(HUGE, "9" * 5_000) if random.random() < 0.5 else random.choice(NAMES)
            else:
                words[at] = random.choice(("0", "-1", "x", "1" * 5_000, "2", "1.5", "", "٣"))
            if not words:
                break
        words = [word.replace("\0", "") for word in words]  # no argument of a process can hold it
        if words[:1] and words[0] in ("check", "realize", "count") and not {"-n", "-m", "--program"} & {*words}:
            words.append("--help")  # the defaults are no smaller
        return self.limited(words)

    def limited(self, words: list[str]) -> Input:
        limits = SMALL.get(words[0], ()) if words else ()
        return Input([*words[:1], *limits, *words[1:]], violated=("violated", "broken", "no"))

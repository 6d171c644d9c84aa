"""The documents promise what is there: options, links, packages that can be installed, pictures that can do it."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from command_line_runner import Crownless

from crownless import command_line
from crownless.runtime.errors import install_hint
from crownless.runtime.printable import printable

ROOT = Path(__file__).parents[2]
#: What readers meet, and examples; the changelog says what was.
DOCUMENTS = sorted(
    str(path.relative_to(ROOT))
    for path in (
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("proofs/*.md"),
        *ROOT.glob("examples/**/*.md"),
        *ROOT.glob("examples/*.ipynb"),
    )
    if path.name != "CHANGELOG.md"
)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def text_of(document: str) -> str:
    return (ROOT / document).read_text("utf-8")


# -- options -----------------------------------------------------------------------------------------------------------


def options_of(name: str) -> set[str]:
    command = command_line.crownless.get_command(click.Context(command_line.crownless), name)
    assert command is not None
    return {option for parameter in command.params for option in parameter.opts} | {"--help", "-h"}


OPTIONS = {name: options_of(name) for name in command_line.COMMANDS}
#: Options of other programs that the documents mention.
OF_OTHERS = {
    "--conf",  # spark-submit
    "--dist",  # pytest-xdist
    "--experimental-vm-modules",  # node
    "--no-warnings",
    "--quiet",
    "--strict",  # mkdocs
    "--tb",  # pytest
    "--version",  # crownless without a command
}
#: Options of the project's own scripts.
OF_SCRIPTS = {
    option
    for folder in ("benchmarks", "examples", "tests/helpers", "tests/project")
    for path in (ROOT / folder).rglob("*.py")
    for option in re.findall(r"(?:add_argument|click\.option)\(\s*.(--[a-z-]+)", path.read_text("utf-8"))
}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_option_that_a_document_names_exists(document: str) -> None:
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]\b", text_of(document)))
    assert named <= set().union(*OPTIONS.values()) | OF_OTHERS | OF_SCRIPTS


def commands_in(document: str) -> Iterator[tuple[str, list[str]]]:
    """Each command that a document shows as a command, in a block or in the text, with its options."""
    text = text_of(document).replace("\\\n", " ")
    for found in re.finditer(r"(?<![\w./-])crownless ([a-z]+)((?: [^`\n]*)?)", text):
        if found[1] in command_line.COMMANDS:
            command = re.split(r" -- | \| |; | > |  #", f"{found[2]} ")[0]
            yield found[1], re.findall(r"(?<![\w-])--?[a-z][a-z-]*\b", without_quoted(command))


def without_quoted(command: str) -> str:
    """The command without quoted arguments, which may look like options."""
    return re.sub(r"'[^']*'|\"[^\"]*\"", "QUOTED", command)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_command_that_a_document_shows_has_options_of_its_verb(document: str) -> None:
    for name, options in commands_in(document):
        assert set(options) <= OPTIONS[name], name


def test_commands_are_found_in_documents() -> None:
    shown = {name for document in DOCUMENTS for name, _ in commands_in(document)}
    assert shown == set(command_line.COMMANDS)
    assert ("check", ["-n", "-m", "--channel"]) in commands_in("README.md")


# -- JSON --------------------------------------------------------------------------------------------------------------

#: A quick command of each command whose keys are not those of a search that takes long.
QUICK = {
    "check": "rst -n 2 -m 1",
    "classify": "kuper-alice-bob-carol.jsonl",
    "count": "-n 2 -m 2",
    "explore": "rst -n 2 -m 1",
    "new": "mine.py",
    "realize": "rst -n 2 -m 1",
    "show": "mf-fig8",
    "vectors": "-n 2 -m 1",
}
#: The rows of the table: command → its first keys.
KEYS = dict(re.findall(r"^\| `(\w+)` \| (`\w+`(?:, `\w+`)*)", text_of("docs/command_line.md"), re.MULTILINE))


def test_the_page_has_the_keys_of_every_verb() -> None:
    assert KEYS.keys() | {"list"} == {*command_line.COMMANDS}


@pytest.mark.parametrize("name", QUICK)
def test_the_object_of_a_verb_has_the_keys_of_the_page(
    name: str, crownless: Crownless, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    facts = crownless(name, *QUICK[name].split(), "--json").json
    assert set(re.findall(r"\w+", KEYS[name])) <= facts.keys()


# -- installing --------------------------------------------------------------------------------------------------------

#: Packages of other projects that the documents install.
OTHER_PACKAGES = {"jupyterlab", "pandas", "playwright"}


def installed(text: str) -> Iterator[str]:
    """Every argument of `pip install` in a text that names a package or a path."""
    for found in re.finditer(r"pip install ([^`#\n;&)]*)", text):
        arguments = re.split(r"['\"] *[,(]|, |\. |: ", found[1].strip().rstrip('.,:"'))[0]
        words = shlex.split(arguments) if arguments.count("'") % 2 == 0 else arguments.split()
        yield from (word for word in words if not word.startswith("-"))


#: The code that may print such a hint.
CODE = sorted(
    str(path.relative_to(ROOT))
    for package in ("src", "spec", "impl", "model_check", "oracle", "proofs", "pipeline")
    for path in (ROOT / package).rglob("*.py")
    if "pip install" in path.read_text("utf-8")
)


@pytest.mark.parametrize("document", [*DOCUMENTS, *CODE])
def test_what_is_installed_is_a_clone_or_another_project(document: str) -> None:
    """Crownless is in no package index."""
    for what in installed(text_of(document)):
        path, _, extras = what.removesuffix("]").partition("[")
        assert path in (".", "./crownless", *OTHER_PACKAGES), what
        assert {extra for extra in extras.split(",") if extra} <= {*PROJECT["optional-dependencies"], "{extra}"}, what


def test_the_hint_for_an_extra_names_one_that_exists() -> None:
    assert [*installed(install_hint("testing"))] == [".[testing]"]
    named = {found for path in CODE for found in re.findall(r"install_hint\(.(\w+).\)", text_of(path))}
    assert named <= {*PROJECT["optional-dependencies"]}


# -- links -------------------------------------------------------------------------------------------------------------


def without_blocks(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as sites and GitHub make them, and those set by hand."""
    headings = re.findall(r"^#+ (.*)$", without_blocks(text), re.MULTILINE)
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)|[`*]", r"\1", heading) for heading in headings]
    slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in plain}
    return slugs | set(re.findall(r'id="([^"]+)"', text))


@pytest.mark.parametrize("document", [document for document in DOCUMENTS if document.endswith(".md")])
def test_every_link_leads_to_a_file_and_to_a_heading_in_it(document: str) -> None:
    folder = (ROOT / document).parent
    for target in re.findall(r"\]\(([^)\s]+)\)", without_blocks(text_of(document))):
        if re.match(r"https?:|mailto:", target):
            continue
        path, _, anchor = target.partition("#")
        file = folder / path if path else ROOT / document
        assert file.exists(), target
        if anchor:
            assert anchor in anchors(file.read_text("utf-8")), target


#: A file that the reader of CONTRIBUTING.md writes.
WRITTEN_BY_READERS = {"impl/protocols/hub.py"}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_path_of_the_project_that_a_document_names_exists(document: str) -> None:
    folders = "|".join(path.name for path in ROOT.iterdir() if path.is_dir() and path.name[0] != ".")
    named = set(re.findall(rf"`((?:{folders})/[\w./-]+\.[a-z]+)`", text_of(document)))
    assert {
        path for path in named if not (ROOT / path).exists() and not path.startswith("build/")
    } <= WRITTEN_BY_READERS


# -- pictures and verdicts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("document", DOCUMENTS)
def test_nothing_is_promised_of_a_pointer_over_a_picture_on_a_page(document: str) -> None:
    """A browser shows the titles in an SVG file that is opened, and none in an `<img>`."""
    for sentence in re.split(r"(?<=[.:])\s", text_of(document)):
        if re.search(r"\b(hover|point at an? event|tooltip)", sentence, re.IGNORECASE):
            assert re.search(r"\b(in a browser|HTML page)\b", sentence), sentence


@pytest.mark.parametrize("document", [*DOCUMENTS, "impl/protocol.py"])
def test_no_document_says_that_promises_alone_decide(document: str) -> None:
    """A class's own invariants decide the verdict too."""
    text = " ".join(text_of(document).split())
    assert not re.search(r"these alone decide|are about these alone", text)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_no_document_shows_a_time_that_pytest_did_not_take(document: str) -> None:
    """Outputs of pytest are shown without it."""
    assert not re.search(r"^\d+ (passed|failed).* in ", text_of(document), re.MULTILINE)


def test_a_name_is_printed_as_the_page_says() -> None:
    name, count = re.findall(
        r"`(P\S+)` is printed as `P\S+`, in these (\w+) characters", text_of("docs/hostile_inputs.md")
    )[0]
    assert printable("P\x1b[2J") == name
    assert len(name) == ["seven", "eight", "nine"].index(count) + 7

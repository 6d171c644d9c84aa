"""The pages of `docs/` do what they say: every block is run, every claim is the ledger's, and the site is built."""

from __future__ import annotations

import contextlib
import doctest
import re
from itertools import pairwise
from pathlib import Path

import pytest
from command_line_runner import Crownless
from doc_pages import PAGES, PAGES_ON_SPARK, ROOT, importable_from, page, printed_in, run_page
from goldens import ERRORS, documents_with_sources, errors_table, source_list, table_shown, timeless
from notebooks import NOTEBOOKS, read_notebook, run_cells
from options_page import PAGE, options_page

import crownless as cr
from crownless.drawing.between_orders import SMALLEST as BETWEEN
from crownless.drawing.between_orders import smallest_between
from crownless.spec.bibliography import BIBLIOGRAPHY, references
from crownless.spec.orders import ORDERS

CONCEPTS = page("concepts").read_text("utf-8")


@pytest.mark.parametrize(
    "block",
    [
        "```console\n$ python -c 'print(1)'\n2\n```",
        "```pycon\n>>> 1 + 1\n3\n```",
        "```pycon\n>>> for k in range(2):\n...     print(k)\n0\n```",
    ],
)
def test_a_page_that_prints_something_else_is_noticed(block: str, tmp_path: Path) -> None:
    ((old, now, _),) = run_page(f"# A page\n\n{block}\n", tmp_path)
    assert old == block
    assert timeless(now) != timeless(old)


def test_a_block_that_fails_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        list(run_page("```python\n1 / 0\n```\n", tmp_path))


def test_every_page_with_blocks_is_run() -> None:
    run = re.compile(r"^```(python|pycon|console)", re.MULTILINE)
    for file in (ROOT / "docs").glob("*.md"):
        assert file.stem in {*PAGES, *PAGES_ON_SPARK} or not run.search(file.read_text("utf-8")), file.name


def test_the_exit_codes_for_ci_are_those_on_the_page(crownless: Crownless, tmp_path: Path) -> None:
    rows = re.findall(r"^\| `crownless ([^`]*)` \| (\d) \|", page("ci").read_text("utf-8"), re.MULTILINE)
    assert sorted(int(code) for _, code in rows) == [0, 1, 2, 3]
    with importable_from(tmp_path), contextlib.chdir(tmp_path):
        assert crownless("new", "mine.py").code == 0
        for command, code in rows:
            assert crownless(*command.split()).code == int(code), command


def test_the_page_of_options_is_that_of_the_commands() -> None:
    assert PAGE.read_text("utf-8") == options_page()


def test_the_errors_shown_are_those_of_the_ledger() -> None:
    assert table_shown(*ERRORS) == errors_table()


@pytest.mark.parametrize("document", [*documents_with_sources(), "docs/gallery.md"])
def test_a_source_that_a_document_cites_by_key_is_given_in_full(document: str) -> None:
    if document == "docs/gallery.md":
        text = (ROOT / document).read_text("utf-8")
        assert text.endswith("\n".join(f"- {source}" for source in references(text)) + "\n")
    else:
        assert table_shown("sources", document) == source_list(document)


def test_every_error_shown_can_be_drawn(crownless: Crownless) -> None:
    commands = re.findall(r"`crownless (show [^`]*)`", table_shown(*ERRORS))
    assert commands
    assert {crownless(*command.split()).code for command in commands} == {0}


#: Neighbouring orders, and how many messages it takes to keep the one and break the other (`test_gallery.py`).
SMALLEST = {
    (weak, order): len(smallest_between(order).messages) for weak, order in pairwise(ORDERS) if order in BETWEEN
}


def test_a_computation_on_the_page_distinguishes_each_pair_of_orders() -> None:
    """Of as many messages as the smallest has."""
    shown: list[tuple[str, str, str]] = []
    section = CONCEPTS[CONCEPTS.index("## The orders") : CONCEPTS.index("The number of complete computations")]
    namespace = {"show": lambda *arguments: shown.append(arguments)}
    for example in doctest.DocTestParser().get_examples(section):
        exec(example.source, namespace)
    assert [pair for _, *pair in shown] == [list(pair) for pair in SMALLEST]
    for text, weaker, stronger in shown:
        computation = cr.parse(text)
        verdicts = cr.classify(computation)
        assert (verdicts[weaker].kept, verdicts[stronger].kept) == (True, False)
        assert len(computation.messages) == SMALLEST[weaker, stronger]


@pytest.mark.parametrize(
    ("example", "shows"),
    [
        ("check_a_class.py", "ForgetsOthers violates causal:"),
        ("classify_a_log.py", "causal: violated, billing receives reserved before order-1"),
    ],
)
def test_an_example_runs(example: str, shows: str) -> None:
    assert shows in printed_in(ROOT / "examples", f"python {example}")


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_holds_the_outputs_that_its_cells_give(name: str) -> None:
    cells = read_notebook(name)["cells"]
    assert any(cell.get("outputs") for cell in cells)
    for stored, now in run_cells(cells):
        assert stored == now


def test_there_is_a_notebook() -> None:
    assert "first_steps.ipynb" in NOTEBOOKS


@pytest.mark.parametrize(("source", "text"), [("print(1)", ["1\n"]), ("x = 1\nx + 1", ["2"])])
def test_a_cell_that_gives_something_else_is_noticed(source: str, text: list[str]) -> None:
    stored = {"cell_type": "code", "source": [source], "execution_count": 1, "outputs": []}
    ((before, now),) = run_cells([stored])
    (output,) = now["outputs"]
    assert before == stored != now
    assert output.get("text", output.get("data", {}).get("text/plain")) == text


def test_the_page_gives_the_reference_of_the_key_in_the_report() -> None:
    report = (ROOT / "src/crownless/command_line/commands/classify_report.py").read_text("utf-8")
    keys = set(re.findall(r"\[(\w+)\]\"", report))
    assert keys == {"DFLL23"}
    text = " ".join((ROOT / "docs/event_logs.md").read_text("utf-8").split())
    assert all(f"[{key}] {BIBLIOGRAPHY[key]}" in text for key in keys)


def test_the_site_names_every_page() -> None:
    """`.ci/run` builds it with --strict, which does not refuse a page that the navigation leaves out."""
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
    named = re.findall(r": (\S+\.md)$", navigation, re.MULTILINE)
    assert sorted(named) == sorted(file.name for file in (ROOT / "docs").glob("*.md"))

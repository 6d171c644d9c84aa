"""The pictures of the documentation are those that the tool draws now."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_line_runner import Capture, Crownless
from gallery import BETWEEN, FOLDER, OPENING, PAGE, Picture, opening, page, pictures
from svg_reading import Seen

from crownless.drawing.between_orders import SMALLEST, orders_in_svg, smallest_between
from crownless.spec.enumeration import computations
from crownless.spec.orders import ORDERS, decide, kept_orders, weaker

PICTURES = list(pictures())


@pytest.mark.parametrize("picture", PICTURES, ids=[picture.name for picture in PICTURES])
def test_each_picture_is_drawn_so(picture: Picture) -> None:
    assert (FOLDER / f"{picture.name}.svg").read_text("utf-8") == picture.svg


def test_the_page_has_them_all_and_there_are_no_others() -> None:
    assert page() == PAGE.read_text("utf-8")
    assert {file.stem for file in FOLDER.iterdir()} == {picture.name for picture in PICTURES}
    assert len(PICTURES) > 40


def test_the_picture_of_the_readme_is_drawn_so() -> None:
    assert OPENING.read_text("utf-8") == opening()


def test_the_picture_of_the_orders_is_drawn_so(capsys: Capture, tmp_path: Path) -> None:
    file = tmp_path / "orders.svg"
    assert Crownless(capsys)("list", "orders", "--svg", str(file)).code == 0
    assert BETWEEN.read_text("utf-8") == file.read_text("utf-8") == orders_in_svg()
    refused = Crownless(capsys)("list", "channels", "--svg", str(file))
    assert (refused.code, refused.err) == (
        2,
        "crownless: --svg draws only the section 'orders'; crownless list orders --svg FILE\n",
    )


def test_the_picture_of_the_orders_is_described_and_its_ids_are_its_own() -> None:
    seen = Seen(orders_in_svg())
    assert len(set(seen.ids())) == len(seen.ids()) == 2 * (1 + len(SMALLEST)) + 1 + len(SMALLEST)
    assert all(re.match(r"d[0-9a-f]{10}", name) for name in seen.ids())
    words = {element.attrib["id"]: element.text or "" for element in seen.root if "id" in element.attrib}
    described = words[seen.root.attrib["aria-describedby"]]
    assert all(f"{name}: {order.demands}" in described for name, order in ORDERS.items())


@pytest.mark.parametrize("order", SMALLEST)
def test_what_is_between_two_orders_breaks_the_one_and_no_weaker_one(order: str) -> None:
    """And with fewer messages the two orders are the same, if those of the computation are all received; else in any.

    The messages of a connected computation join at most one process more than there are messages.
    """
    c, before = smallest_between(order), list(ORDERS)[list(ORDERS).index(order) - 1]
    assert kept_orders(c) - {"total"} == weaker(order) - {"total"}
    for m in range(len(c.messages)):
        for fewer in computations(m + 1, m, complete=c.complete):
            assert decide(fewer, order).kept or not decide(fewer, before).kept

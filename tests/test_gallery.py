"""The pictures of the documentation are those that the tool draws now."""

from __future__ import annotations

import pytest
from gallery import FOLDER, OPENING, PAGE, Picture, opening, page, pictures

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

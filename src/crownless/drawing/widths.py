"""The width of a text in pixels, whatever the font is: an estimate that errs on the wide side."""

from collections.abc import Iterator
from functools import lru_cache

from rich.cells import cell_len

#: Advance widths by kinds of characters, in parts of the size of the font: the widest of the usual sans-serif fonts.
_NARROW, _USUAL, _CAPITAL, _WIDEST, _OTHER, _TWO_CELLS = 0.42, 0.64, 0.79, 1.02, 0.95, 1.25
_KINDS = {
    "ijltfrIJ|!,.:;'`\"[](){}/\\- ": _NARROW,
    "ABCDEFGHKLNOPQRSTUVXYZ&#<>=+~^w": _CAPITAL + 0.05,
    "mMW@%…": _WIDEST,
}
_WIDTHS = {character: width for characters, width in _KINDS.items() for character in characters}
#: How much wider each character is in bold.
_BOLD = 0.09
#: The sizes of the fonts: of names, titles and headings; of labels, remarks and legends.
LARGE, SMALL = 13, 12


@lru_cache(maxsize=4096)
def width(text: str, size: int = SMALL, bold: bool = False) -> float:
    """The pixels that a text takes."""
    more = _BOLD if bold else 0
    return size * sum(each + more for each in map(_advance, text) if each)


def wrapped(text: str, room: float, size: int = SMALL, bold: bool = False) -> Iterator[str]:
    """The lines of a text that fit in `room`, broken between words if possible."""
    line = ""
    for word in text.split():
        longer = f"{line} {word}".strip()
        if width(longer, size, bold) <= room:
            line = longer
            continue
        if line:
            yield line
        while width(word, size, bold) > room:
            head = cut(word, room, size, bold)
            yield head
            word = word[len(head) :]
        line = word
    if line:
        yield line


def cut(text: str, room: float, size: int = SMALL, bold: bool = False) -> str:
    """As much of the beginning of a text as fits; at least one character."""
    used, more = 0.0, _BOLD if bold else 0
    for place, character in enumerate(text):
        used += size * (_advance(character) + more)
        if used > room and place:
            return text[:place]
    return text


def _advance(character: str) -> float:
    if character in _WIDTHS:
        return _WIDTHS[character]
    if character.isascii():
        return _USUAL
    return (0.0, _OTHER, _TWO_CELLS)[min(cell_len(character), 2)]

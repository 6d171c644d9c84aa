"""The look of diagrams and pages, light and dark. No meaning is carried by colour alone."""

from collections.abc import Mapping
from types import MappingProxyType

#: Each colour, on a light page and on a dark one.
COLOURS = {
    "page": ("#ffffff", "#0d1117"),
    "ink": ("#1f2328", "#e6edf3"),
    "quiet": ("#57606a", "#9da7b3"),
    "faint": ("#8c949e", "#656d78"),
    "shown": ("#b3261e", "#ff8f7d"),
    "chain": ("#0b57d0", "#79b8ff"),
    "waits": ("#a87900", "#d9a514"),
    "edge": ("#d0d7de", "#30363d"),
    "mark": ("#fff3c4", "#5a4500"),
    "kept": ("#1a7f37", "#56d364"),
    "raised": ("#f6f8fa", "#161b22"),
}

#: Where the dark colours are used: what is printed is light.
DARK = "@media screen and (prefers-color-scheme:dark)"

#: The style of each class: `{ink}` stands for the colour of that name.
RULES = {
    "": "font:13px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif",
    ".page": "fill:{page}",
    "text": "fill:{ink}",
    ".name": "font-weight:600;text-anchor:middle",
    ".title": "font-weight:600",
    ".says": "fill:{shown};font-weight:600",
    ".quiet": "fill:{quiet};font-size:12px",
    ".line": "stroke:{quiet};stroke-width:1.5",
    ".gone": "stroke:{quiet};stroke-width:1.5;stroke-dasharray:2 6",
    ".box": "fill:none;stroke:{quiet};stroke-width:1.5",
    ".arrow path": "fill:none;stroke:{ink};stroke-width:1.4",
    ".arrow polygon": "fill:{ink};stroke:{ink}",
    ".arrow text": "text-anchor:middle;font-size:12px;stroke:{page};stroke-width:3px;paint-order:stroke",
    ".control path": "stroke-dasharray:6 4",
    ".control polygon": "fill:{page}",
    ".control text": "font-style:italic",
    ".open path": "stroke-dasharray:1.5 4;stroke-linecap:round",
    ".open circle": "fill:{page};stroke:{ink}",
    ".copy path": "stroke-dasharray:9 3 2 3",
    ".undone path": "stroke-dasharray:1.5 4",
    ".undone text": "text-decoration:line-through",
    ".lost .cross": "stroke-dasharray:none;stroke-width:2",
    ".dim path,.dim circle": "stroke:{faint};stroke-width:1.1",
    ".dim polygon": "fill:{faint};stroke:{faint}",
    ".dim.control polygon": "fill:{page}",
    ".dim text": "fill:{quiet}",
    ".shown path,.shown circle": "stroke:{shown};stroke-width:2.8",
    ".shown polygon": "fill:{shown};stroke:{shown}",
    ".shown text": "fill:{shown};font-weight:700",
    ".chain": "stroke:{chain};stroke-width:4;stroke-linecap:round",
    ".waits": "fill:{waits};fill-opacity:.35;stroke:{waits}",
    ".events circle": "fill:{ink};stroke:{page};stroke-width:1",
    ".events .hollow": "fill:{page};stroke:{ink};stroke-width:1.5",
    ".events path": "fill:{page};stroke:{quiet};stroke-width:1.5",
    ".events .crash": "fill:none;stroke:{ink};stroke-width:2.5",
}


def colours_of_pages() -> str:
    """The rules that define each colour by name in a page's style sheet: `var(--ink)`."""
    light, dark = (";".join(f"--{name}:{each[theme]}" for name, each in COLOURS.items()) for theme in (0, 1))
    return f":root{{color-scheme:light dark;{light}}}{DARK}{{:root{{{dark}}}}}"


def style_sheet(scope: str, further: Mapping[str, str] = MappingProxyType({})) -> str:
    """The rules for the contents of the element of that id, with further ones in the form of `RULES`."""
    rules = {**RULES, **further}
    light = "".join(_rule(scope, selector, rule, 0) for selector, rule in rules.items())
    dark = "".join(
        _rule(scope, selector, ";".join(part for part in rule.split(";") if "{" in part), 1)
        for selector, rule in rules.items()
        if "{" in rule
    )
    return f"{light}{DARK}{{{dark}}}"


def _rule(scope: str, selector: str, rule: str, theme: int) -> str:
    selectors = ",".join(f"#{scope} {one}".strip() for one in selector.split(","))
    for name, colours in COLOURS.items():
        rule = rule.replace(f"{{{name}}}", colours[theme])
    return f"{selectors}{{{rule}}}"

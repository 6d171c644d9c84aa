"""The files of the package, and what each imports."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "crownless"


def imports_of(file: Path, package: str) -> set[str]:
    """The packages of ours that a module imports, relative imports resolved."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            found.add(package)
        elif isinstance(node, ast.ImportFrom) and node.level > 1:
            found.add("a relative import that leaves the package")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("crownless."):
            found.add((node.module or "").split(".")[1])
        elif isinstance(node, ast.ImportFrom) and node.module == "crownless":
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.Import):
            found.update(alias.name.split(".")[1] for alias in node.names if alias.name.startswith("crownless."))
    return found

"""Notebooks of `examples/`: their code cells, run in order in one namespace, with the outputs that Jupyter would store.

A cell's output is what it prints, and the `repr` of its last expression. Without Jupyter, which would be a large thing
to install for one page. `tests/helpers/goldens.py` writes the outputs into the notebooks.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOKS = tuple(sorted(file.name for file in EXAMPLES.glob("*.ipynb")))
Cell = dict[str, Any]


def read_notebook(name: str) -> dict[str, Any]:
    """The notebook of that name, as JSON has it."""
    notebook: dict[str, Any] = json.loads((EXAMPLES / name).read_text("utf-8"))
    return notebook


def run_cells(cells: list[Cell]) -> Iterator[tuple[Cell, Cell]]:
    """Each code cell as it stands, and as it would stand after all of them are run, in the folder of the examples."""
    namespace: dict[str, Any] = {"__name__": "notebook"}
    count = 0
    for cell in cells:
        if cell["cell_type"] == "code":
            count += 1
            with contextlib.chdir(EXAMPLES):
                outputs = list(_outputs("".join(cell["source"]), namespace, count))
            yield cell, {**cell, "execution_count": count, "outputs": outputs}


def _outputs(source: str, namespace: dict[str, Any], count: int) -> Iterator[Cell]:
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "notebook", "exec"), namespace)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "notebook", "eval"), namespace)
    if printed.getvalue():
        yield {"name": "stdout", "output_type": "stream", "text": printed.getvalue().splitlines(keepends=True)}
    if value is not None:
        text = repr(value).splitlines(keepends=True)
        yield {"data": {"text/plain": text}, "execution_count": count, "metadata": {}, "output_type": "execute_result"}


def rewrite_notebook(name: str) -> None:
    """Puts what the cells print now into the notebook."""
    notebook = read_notebook(name)
    now = {cell["id"]: after for cell, after in run_cells(notebook["cells"])}
    notebook["cells"] = [now.get(cell["id"], cell) for cell in notebook["cells"]]
    (EXAMPLES / name).write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "utf-8")

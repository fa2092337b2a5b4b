"""Every sentence that says why no fix is offered is expected by a test: in the tables beside this, or elsewhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
HOLE = "\0"


def sentences() -> Iterator[tuple[str, str]]:
    """Where a sentence stands, and a pattern that it matches: what is put in matches anything."""
    for file in sorted([*(ROOT / "graphdoctor" / "fixes").rglob("*.py"), *(ROOT / "rules").glob("*.py")]):
        tree = ast.parse(file.read_text())
        constants = {
            n.targets[0].id: n.value
            for n in tree.body
            if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("Refusal", "Refuse"):
                argument = node.args[0]
                given = constants.get(argument.id, argument) if isinstance(argument, ast.Name) else argument
                text = "".join(_parts(given))
                if text.strip(f"{HOLE}. "):
                    yield (
                        f"{file.relative_to(ROOT)}:{node.lineno}",
                        ".+".join(map(re.escape, text.rstrip(".").split(HOLE))),
                    )


def _parts(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.JoinedStr):
        for value in node.values:
            yield from _parts(value)
    else:
        yield node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else HOLE


def expected() -> str:
    """The string literals of the tests."""
    found: list[str] = []
    for file in Path(__file__).parent.parent.rglob("test_*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, (ast.Constant, ast.JoinedStr)):
                found.append("".join(_parts(node)))
    return "\n".join(found)


def test_every_refusal_is_expected_by_a_test() -> None:
    found = list(sentences())
    folders = {Path(place).parent.name for place, _ in found}
    assert folders >= {"analysis", "branches", "core", "python", "rules", "tensors"}
    text = expected()
    # A reason that other code puts into a sentence of its own does not begin with a capital letter there.
    assert [place for place, pattern in found if not re.search(pattern, text, re.IGNORECASE)] == []

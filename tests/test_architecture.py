"""docs/architecture.md shows the layers that ``make lint`` checks; the docstring of each package says what it may import."""

from __future__ import annotations

import ast
import configparser
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

Layer = tuple[str, ...]


def layer(text: str) -> Layer:
    return tuple(sorted(name.strip().removeprefix("graphdoctor.") for name in text.split("|")))


def packages(root: Path) -> dict[str, Path]:
    """The packages below graphdoctor by dotted name."""
    folders = [file.parent for file in root.glob("graphdoctor/*/**/__init__.py")]
    return {".".join(folder.relative_to(root / "graphdoctor").parts): folder for folder in folders}


def imported(file: Path) -> Iterator[str]:
    """The modules of graphdoctor that a module imports, in functions too, but not for type checking."""
    waiting: list[ast.AST] = [ast.parse(file.read_text())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("graphdoctor"):
            yield from (f"{node.module}.{alias.name}".removeprefix("graphdoctor.") for alias in node.names)
        elif not isinstance(node, ast.expr) and not (
            isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        ):
            waiting.extend(ast.iter_child_nodes(node))


def allowed(package: Path) -> tuple[str, ...]:
    """What the docstring of a package says that it may import."""
    text = ast.get_docstring(ast.parse((package / "__init__.py").read_text())) or ""
    sentence = text.partition("May import ")[2].partition(".\n")[0]
    return ("",) if "every package below it" in sentence else tuple(re.findall(r"``([\w.]+)``", sentence))


@pytest.fixture(scope="module")
def drawn(root: Path) -> list[Layer]:
    """The layers of the picture, from the top down."""
    text = (root / "docs" / "architecture.md").read_text()
    picture = text.partition("```text\n")[2].partition("```")[0]
    found = [re.match(r".{18}(\w+(?: \| \w+)*)", line) for line in picture.splitlines()]
    assert all(found)
    return [layer(match[1]) for match in found if match]


def test_the_picture_is_the_contract(root: Path, drawn: list[Layer]) -> None:
    contract = configparser.ConfigParser()
    contract.read(root / "setup.cfg")
    lines = contract["importlinter:contract:layers"]["layers"].split("\n")
    assert drawn == [layer(line) for line in lines if line.strip()]


def test_every_package_and_module_of_the_root_is_in_the_picture(root: Path, drawn: list[Layer]) -> None:
    there = {file.parent.name for file in root.glob("graphdoctor/*/__init__.py")}
    there |= {file.stem for file in root.glob("graphdoctor/*.py")} - {"__init__"}
    assert {name for names in drawn for name in names} == there | {"rules"}


def test_each_package_imports_what_its_docstring_says(root: Path) -> None:
    known = packages(root)
    beyond = []
    for name, folder in known.items():
        may = allowed(folder)
        for file in folder.glob("*.py"):
            for module in imported(file):
                owner = max((p for p in known if f"{module}.".startswith(f"{p}.")), key=len, default="")
                # Its own modules, and those of the packages in it.
                if not owner or f"{owner}.".startswith(f"{name}."):
                    continue
                if not any(f"{owner}.".startswith(f"{part}." if part else "") for part in may):
                    beyond.append(f"{folder.relative_to(root)}/__init__.py says nothing of {module} ({file.name})")
    assert len(known) > 20
    assert beyond == []


def test_no_docstring_allows_what_is_not_there(root: Path) -> None:
    known = packages(root)
    modules = {file.stem for file in root.glob("graphdoctor/*.py")}
    named = {(name, part) for name, folder in known.items() for part in allowed(folder) if part}
    strange = {(name, part) for name, part in named if part not in known and part not in modules}
    assert {(name, part) for name, part in strange if f"{name.partition('.')[0]}.{part}" not in known} == set()

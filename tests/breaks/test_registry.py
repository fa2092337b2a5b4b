"""Dynamo's registry of graph breaks: the installed torch's, and the table that stands in for it."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from graphdoctor.breaks import registry

LOAD = """
import dataclasses, json
from graphdoctor.breaks import registry
print(json.dumps({gb_id: dataclasses.astuple(entry) for gb_id, entry in registry.load().items()}))
"""


def loaded(root: Path, *paths: Path) -> dict[str, registry.Entry]:
    """What a Python loads that has no packages but those in ``paths``."""
    env = {"PYTHONPATH": os.pathsep.join(map(str, (root, *paths)))}
    done = subprocess.run([sys.executable, "-S", "-c", LOAD], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    return {gb_id: registry.Entry(*row[:3], tuple(row[3]), tuple(row[4])) for gb_id, row in rows.items()}


def parsed(**fields: object) -> registry.Entry:
    raw = {"Gb_type": "A type", "Context": "", "Explanation": "", "Hints": [], **fields}
    return registry.parse(json.dumps({"GB0001": [raw, {**raw, "Gb_type": "An older wording"}]}), "2.13.0")["GB0001"]


def test_every_id_of_the_installed_torch_is_read() -> None:
    pytest.importorskip("torch")
    import torch

    file = Path(torch.__file__).parent / "_dynamo" / "graph_break_registry.json"
    found = registry.installed()
    assert set(found) == set(json.loads(file.read_text())) and len(found) > 250
    assert all(entry.gb_type and entry.torch == torch.__version__.partition("+")[0] for entry in found.values())
    assert not [entry for entry in found.values() if "{" in entry.explanation + "".join(entry.hints)]


def test_the_table_is_up_to_date(root: Path) -> None:
    """Made anew with ``python tools/gb_table.py > graphdoctor/breaks/graph_breaks.json``."""
    table = registry.bundled()
    version = table["GB0170"].torch
    pytest.importorskip("torch")
    if metadata.version("torch").partition("+")[0] != version:
        pytest.skip(f"the table is of torch {version}")
    assert table == registry.installed()
    make = runpy.run_path(str(root / "tools" / "gb_table.py"))["table"]
    assert make(registry.installed()) == registry.TABLE.read_text(encoding="utf-8")


def test_without_torch_the_table_is_used(root: Path) -> None:
    assert loaded(root) == registry.bundled()


@pytest.mark.parametrize("content", [None, "no json", "[]", '{"GB0001": []}', '{"GB0001": [{"Gb_type": "x"}]}'])
def test_an_unreadable_registry_is_as_none(root: Path, tmp_path: Path, content: str | None) -> None:
    _install(tmp_path, content)
    assert loaded(root, tmp_path) == registry.bundled()


def test_the_installed_torch_goes_before_the_table_and_is_not_imported(root: Path, tmp_path: Path) -> None:
    raw = {"Gb_type": "Branching", "Context": "", "Explanation": "New words.", "Hints": []}
    _install(tmp_path, json.dumps({"GB0170": [raw]}))
    found = loaded(root, tmp_path)
    assert found["GB0170"] == registry.Entry("9.9.0", "Branching", "New words.")
    assert found["GB0059"] == registry.bundled()["GB0059"]


def _install(folder: Path, content: str | None) -> None:
    """A torch that cannot be imported, with ``content`` as its registry."""
    (folder / "torch" / "_dynamo").mkdir(parents=True)
    (folder / "torch" / "__init__.py").write_text("raise SystemExit('imported')")
    (folder / "torch-9.9.0.dist-info").mkdir()
    (folder / "torch-9.9.0.dist-info" / "METADATA").write_text("Name: torch\nVersion: 9.9.0+cpu\n")
    if content is not None:
        (folder / "torch" / "_dynamo" / "graph_break_registry.json").write_text(content)


def test_the_newest_wording_counts() -> None:
    assert parsed().gb_type == "A type"


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("No rule for `{fn.__name__}` of {type(x)}.", "No rule for `...` of ...."),
        ("Expected {','.join(set(a) - {'b'})}", "Expected ..."),
        ('"Failed to compare {a}, "     + f"because {b} varies."', "Failed to compare ..., because ... varies."),
        ("msg", ""),
        ("make_error_message(e)", ""),
        ("msg +   + err_epilogue", ""),
        ("", ""),
    ],
)
def test_explanations_are_text(raw: str, shown: str) -> None:
    assert parsed(Explanation=raw).explanation == shown


def test_hints_are_put_together_from_their_pieces() -> None:
    entry = parsed(Hints=["Do not ", "do {name}.", "Do this.", "See", " there."])
    assert entry.hints == ("Do not do ....", "Do this.", "See there.")


def test_the_hints_that_say_of_what_kind_a_break_is() -> None:
    pytest.importorskip("torch")
    from torch._dynamo import graph_break_hints as hints

    entry = parsed(Hints=[*hints.USER_ERROR, *hints.SUPPORTABLE, "Do this."])
    assert (entry.kinds, entry.hints) == (("user-error", "supportable"), ("Do this.",))
    assert parsed(Hints=[*hints.DYNAMO_BUG, *hints.DIFFICULT]).kinds == ("dynamo-bug", "difficult")
    assert parsed(Hints=[*hints.FUNDAMENTAL, *hints.CAUSED_BY_EARLIER_GRAPH_BREAK]).kinds == (
        "fundamental",
        "earlier-break",
    )

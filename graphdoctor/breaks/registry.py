"""Dynamo's registry of graph breaks: what each id means in Dynamo's own words. Nothing of torch is imported.

Source of facts: torch/_dynamo/graph_break_registry.json of the installed torch, read as a file. Where there is none,
``graph_breaks.json`` beside this module, made from torch 2.13 by ``tools/gb_table.py``.

The registry was collected from torch's source text, so explanations contain the braces of f-strings, and some are no
text but the expression that makes one; hints come cut into the pieces of the string literals.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphdoctor.source.files import read_bytes
from graphdoctor.target_torch.installed import torch_available, torch_folder

TABLE = Path(__file__).with_name("graph_breaks.json")

#: torch/_dynamo/graph_break_hints.py: how the sentences begin that name the kind of a break.
_KINDS = {
    "Dynamo has detected that tracing the code will result in an error": "user-error",
    "Your code may result in an error": "user-error",
    "This is likely to be a Dynamo bug": "dynamo-bug",
    "This graph break may be difficult to debug": "difficult",
    "This graph break is fundamental": "fundamental",
    "It may be possible to write Dynamo tracing rules": "supportable",
    "This graph break may have been caused by an earlier": "earlier-break",
}
_BRACES = re.compile(r"\{(?:[^{}]|\{[^{}]*\})*\}")
_NAMES = re.compile(r"\w[\w.]*(?:\(.*\))?(?:\s*\+\s*[\w.]*)*")
_LITERAL = re.compile(r'f?"([^"]*)"')


@dataclass(frozen=True)
class Entry:
    """A graph break, as the registry of the torch version ``torch`` has it.

    ``explanation`` may be empty; ``...`` in it stands for what is known at run time only. ``kinds``: user-error,
    dynamo-bug, difficult, fundamental, supportable, earlier-break.
    """

    torch: str
    gb_type: str
    explanation: str
    hints: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()


Registry = Mapping[str, Entry]


def load() -> Registry:
    """The entries by id: those of the installed torch, and of the table those that it does not have."""
    return {**bundled(), **installed()}


def bundled() -> Registry:
    """The table that comes with graphdoctor."""
    data = json.loads(TABLE.read_text(encoding="utf-8"))
    return {
        gb_id: Entry(data["torch"], gb_type, explanation, tuple(hints), tuple(kinds))
        for gb_id, (gb_type, explanation, hints, kinds) in data["breaks"].items()
    }


def installed() -> Registry:
    """The registry of the installed torch; empty where there is no torch, or one without a readable registry."""
    folder, version = torch_folder(), torch_available()
    if folder is None or version is None:
        return {}
    try:
        text = read_bytes(folder / "_dynamo" / "graph_break_registry.json").decode("utf-8")
        return parse(text, version.partition("+")[0])
    except (OSError, ValueError, RecursionError):
        return {}


def parse(text: str, torch: str) -> dict[str, Entry]:
    """The entries of a registry file of the version ``torch``. Raises ValueError when ``text`` is not one."""
    data = json.loads(text)
    try:
        # An id keeps all its wordings, the newest first.
        return {gb_id: _entry(versions[0], torch) for gb_id, versions in data.items()}
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise ValueError(f"not a registry of graph breaks: {error!r}") from error


def _entry(raw: Mapping[str, Any], torch: str) -> Entry:
    hints, kinds = [], []
    for hint in _joined(raw["Hints"]):
        kind = next((kind for start, kind in _KINDS.items() if hint.startswith(start)), None)
        if kind is None:
            hints.append(_text(hint))
        else:
            kinds.append(kind)
    return Entry(torch, _filled(raw["Gb_type"]), _text(raw["Explanation"]), tuple(filter(None, hints)), tuple(kinds))


def _joined(pieces: Sequence[str]) -> list[str]:
    """Hints from the pieces of their literals: one that ends in a space goes on in the next."""
    hints: list[str] = []
    for piece in pieces:
        whole = hints and (hints[-1][-1:].isspace() or piece[:1].isspace()) and not piece.startswith(tuple(_KINDS))
        if whole and not hints[-1].startswith(tuple(_KINDS)):
            hints[-1] += piece
        else:
            hints.append(piece)
    return hints


def _text(raw: str) -> str:
    """``raw`` as a sentence; empty where it is an expression without a literal."""
    if _NAMES.fullmatch(raw) and (" " not in raw or "+" in raw):
        return ""
    if re.search(r'^"|\+\s*f?"', raw):
        raw = " ".join(_LITERAL.findall(raw))
    return _filled(raw)


def _filled(raw: str) -> str:
    """``raw`` on one line, with ``...`` for each replacement field."""
    return " ".join(_BRACES.sub("...", raw).split())

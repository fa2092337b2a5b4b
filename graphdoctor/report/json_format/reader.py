"""Reads back what ``as_json`` wrote: a diagnosis from the JSON contract ``graphdoctor/1``.

Fields that are not known are passed over, fields that are missing get their defaults, and a value of the wrong kind is
an error that names its place.
"""

from __future__ import annotations

import json
from typing import Any

from graphdoctor.model.advice import Advice
from graphdoctor.model.findings import SCHEMA, Caller, Diagnosis, Finding, Location
from graphdoctor.model.runs import DynamicRun, Frame, Verification
from graphdoctor.model.typed_json import Mismatch, Types


class ReadError(Exception):
    """JSON that is no report of graphdoctor; the text is one line for the user."""


def read(text: str) -> Diagnosis:
    """The diagnosis that ``text`` holds. Raises ReadError."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError, MemoryError) as error:
        raise ReadError(f"is not JSON: {error}") from None
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise ReadError(f"is no report of graphdoctor: it does not begin with the schema {SCHEMA!r}")
    tool = data.get("tool")
    version = tool.get("version") if isinstance(tool, dict) else None
    try:
        diagnosis: Diagnosis = _TYPES.read(Diagnosis, {**data, "tool_version": version})
    except Mismatch as error:
        raise ReadError(str(error)) from None
    return diagnosis


def _prepared(kind: type, raw: Any) -> Any:
    """As the dataclass ``kind`` has it: the contract writes frames as lists, and old reports have messages alone."""
    if kind in (Caller, Frame) and isinstance(raw, list):
        return dict(zip(("path", "line", "function"), raw, strict=False))
    if kind is Finding and isinstance(raw, dict) and "message" in raw:
        return {"fact": raw["message"], **raw}
    return raw


# These the model imports for type checkers alone. The contract writes empty texts as null.
_NAMES = {kind.__name__: kind for kind in (Advice, DynamicRun, Verification)}
_TYPES = Types(_NAMES, _prepared, null_text=True, flat=frozenset((Location,)))

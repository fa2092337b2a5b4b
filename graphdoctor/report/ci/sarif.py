"""SARIF 2.1.0, for code scanning services and editors.

Paths are relative to the repository, fingerprints are those of the findings, and fixes are given as replacements. The
source itself is not in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from graphdoctor.model.findings import Caller, Diagnosis, Edit, Finding
from graphdoctor.model.labels import is_offered
from graphdoctor.model.runs import Frame
from graphdoctor.report import wording
from graphdoctor.report.ci.sarif_rules import LEVELS, descriptors
from graphdoctor.report.escaping import one_line, printable, visible
from graphdoctor.report.problems import problems
from graphdoctor.report.repository import from_repository, is_absolute

Json = dict[str, Any]

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

#: What relative paths start from. A service puts the checkout in its place.
BASE = "SRCROOT"


def render(diagnosis: Diagnosis) -> str:
    """The log as text with one run in it."""
    return json.dumps(to_dict(diagnosis), indent=2, allow_nan=False) + "\n"


def to_dict(diagnosis: Diagnosis) -> Json:
    """Every finding that the run did not refute; those of the allow-list are suppressed."""
    raw = from_repository(diagnosis)
    # Texts are made visible; paths and edits stay as they are, because programs use them.
    pairs = [
        (text, exact)
        for text, exact in zip(printable(raw).findings, raw.findings, strict=True)
        if exact.status != "refuted"
    ]
    rules = descriptors(text for text, _ in pairs)
    numbers = {rule["id"]: number for number, rule in enumerate(rules)}
    stacks = {(brk.path, brk.line): brk.stack for run in raw.dynamic or () for brk in run.breaks if brk.stack}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "graphdoctor", "version": raw.tool_version, "rules": rules}},
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {BASE: {"description": {"text": "The root of the repository."}}},
                "invocations": [_invocation(printable(raw))],
                "results": [_result(text, exact, numbers, raw, stacks) for text, exact in pairs],
            }
        ],
    }


def _invocation(shown: Diagnosis) -> Json:
    found = problems(shown)
    notifications = [
        {
            "level": "error" if problem.kind != "incomplete-file" else "warning",
            "descriptor": {"id": problem.kind},
            "message": _message(f"{problem.path}: {problem.text}" if problem.path else problem.text),
        }
        for problem in found
    ]
    notifications += [{"level": "note", "message": _message(note)} for note in shown.notes]
    stopped = any(problem.stopped and problem.kind != "incomplete-file" for problem in found)
    return {"executionSuccessful": not stopped, "toolExecutionNotifications": notifications}


def _result(
    text: Finding,
    exact: Finding,
    numbers: dict[str, int],
    diagnosis: Diagnosis,
    stacks: dict[tuple[str, int], tuple[Frame, ...]],
) -> Json:
    place = exact.location
    result: Json = {
        "ruleId": text.rule,
        "ruleIndex": numbers[text.rule],
        "level": LEVELS[exact.severity],
        "message": _message(f"{text.message}. Help: {text.suggestion}" if text.suggestion else text.message),
        "locations": [_location(exact, text)],
        "partialFingerprints": {"graphdoctor/v1": text.fingerprint},
        "properties": {
            "status": exact.status,
            "confidence": exact.confidence,
            "owner": exact.owner,
            "graphBreaks": list(text.gb_ids),
            "events": exact.events,
        },
    }
    if diagnosis.comparison is not None:
        result["baselineState"] = "new" if exact.fingerprint in diagnosis.comparison.new else "unchanged"
    stack: Sequence[Frame | Caller] = stacks.get((place.path, place.line)) or exact.called_from
    if stack:
        result["relatedLocations"] = [_frame(frame, number) for number, frame in enumerate(stack)]
    if exact.fix is not None and exact.fix.edits and is_offered(exact, owner=None):
        reason = text.fix.reason if text.fix else ""
        result["fixes"] = [
            {
                "description": _message(f"{wording.fix_kind(exact.fix)}. {reason}"),
                "artifactChanges": list(_changes(exact.fix.edits)),
            }
        ]
    if text.allowed:
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": one_line(text.allowed)}]
    return result


def _location(exact: Finding, text: Finding) -> Json:
    place = exact.location
    region = {"startLine": place.line, "startColumn": place.column}
    if (place.end_line, place.end_column) > (place.line, place.column):
        region |= {"endLine": place.end_line, "endColumn": place.end_column}
    location: Json = {"physicalLocation": {"artifactLocation": _artifact(place.path), "region": region}}
    if text.function:
        location["logicalLocations"] = [{"fullyQualifiedName": one_line(text.function), "kind": "function"}]
    return location


def _frame(frame: Frame | Caller, number: int) -> Json:
    return {
        "id": number,
        "message": _message(f"called in {visible(frame.function)}"),
        "physicalLocation": {"artifactLocation": _artifact(frame.path), "region": {"startLine": frame.line}},
    }


def _changes(edits: tuple[Edit, ...]) -> Iterator[Json]:
    """The edits file by file, in the order in which they stand there."""
    for path in sorted({edit.path for edit in edits}):
        replacements = [
            {"deletedRegion": _region(edit), "insertedContent": {"text": edit.text}}
            for edit in sorted(edits, key=lambda edit: edit.start)
            if edit.path == path
        ]
        yield {"artifactLocation": _artifact(path), "replacements": replacements}


def _region(edit: Edit) -> Json:
    (line, column), (end_line, end_column) = edit.start, edit.end
    return {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}


def _artifact(path: str) -> Json:
    """A URI, so every character outside ASCII is percent-encoded, as are the reserved ones."""
    try:
        raw = path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raw = path.encode("utf-8", "backslashreplace")
    uri = quote(raw, safe="/")
    return {"uri": f"file://{uri}"} if is_absolute(path) else {"uri": uri, "uriBaseId": BASE}


def _message(text: str) -> Json:
    """One line in which nothing is a link: ``[text](target)`` would be one."""
    return {"text": re.sub(r"\[([^\[\]]*)\](?=\()", r"\\[\1\\]", one_line(text))}

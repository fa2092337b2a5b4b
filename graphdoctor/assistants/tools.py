"""The tools of an assistant, as plain functions: short answers, with ids for which ``finding`` has all.

The documentation of each method is what the assistant reads of the tool.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from graphdoctor import api
from graphdoctor.model.labels import explanation, is_offered, label, may_be_written
from graphdoctor.report import wording
from graphdoctor.report.escaping import one_line, printable

if TYPE_CHECKING:
    from graphdoctor.model.findings import Diagnosis, Finding

#: Findings of one answer.
_MOST = 30
#: Diagnoses that are kept, so that a later request can name their findings by id.
_KEPT = 20

_RUNS = "this runs the code of the file: ask again with run=true if that is allowed"


class Refused(Exception):
    """The request cannot be carried out; the text has the reason and what to do."""


class Tools:
    """The tools of one session. It remembers its findings by id."""

    def __init__(self) -> None:
        self._scans: deque[Diagnosis] = deque(maxlen=_KEPT)

    def scan(self, path: str, run: bool = False, limit: int = _MOST) -> str:
        """Find what stands in the way of torch.compile in a Python file, a notebook or a folder.

        Reads the source and executes nothing. With run=true a single file that declares a sample input
        (graphdoctor_target() returning model, args, kwargs) is also run under TorchDynamo in a process of its own,
        which confirms or refutes what the source shows. Gives a line for each finding: id, rule, place, message, and
        whether there is a fix. Ask `finding` for all about an id.
        """
        diagnosis = self._scanned(path, run)
        shown = printable(diagnosis)
        found = [finding for finding in shown.findings if finding.status != "refuted"]
        lines = [one_line(shown.summary.headline), *map(_line, found[: max(limit, 1)])]
        if len(found) > max(limit, 1):
            lines.append(f"... and {len(found) - max(limit, 1)} more: ask with a larger limit, or for one file")
        lines += [f"note: {one_line(note)}" for note in shown.notes]
        lines += [f"not read: {file.path} {file.reason}" for file in shown.files if file.status == "failed"]
        return "\n".join(lines)

    def finding(self, id: str) -> str:
        """All about one finding of an earlier answer: source line, why it matters, what to do, the fix as a diff."""
        for diagnosis in reversed(self._scans):
            for finding in printable(diagnosis).findings:
                if finding.fingerprint.startswith(id) and id:
                    return "\n".join(_details(finding))
        raise Refused(f"no finding has the id {id!r} in this session: scan first")

    def explain(self, code: str) -> str:
        """Explain a rule (GD101, print-in-graph) or a graph break of Dynamo (GB0059), with examples."""
        from graphdoctor.breaks import registry
        from graphdoctor.lint import catalog
        from graphdoctor.report.explain.rules import explain

        try:
            return explain(code, catalog.rules(), registry.load())
        except LookupError as error:
            raise Refused(str(error)) from None

    def fixes(self, path: str, ids: list[str] | None = None, unsafe: bool = False, run: bool = False) -> str:
        """The fixes that are offered for a file or folder, as a unified diff; nothing is written.

        Without unsafe=true only those that change nothing but the compilation. ids leaves out all others. With
        run=true the file's sample is run, and fixes that change a result or do not help are dropped.
        """
        diagnosis = self._scanned(path, run)
        wanted = [f for f in diagnosis.findings if ids is None or any(f.fingerprint.startswith(one) for one in ids)]
        changes = api.diff(replace(diagnosis, findings=tuple(wanted)), unsafe)
        held = [f for f in wanted if is_offered(f) and not may_be_written(f, unsafe)]
        rest = f"{wording.plural(len(held), 'more fix', 'more fixes')} may change behaviour: unsafe=true shows them"
        return "\n".join(filter(None, [changes or "no fix is offered", rest if held else ""]))

    def verify(self, path: str, patch: str = "", after: str = "", against: str = "", run: bool = False) -> str:
        """Prove that a change keeps the program and its results and adds no graph break.

        path is a file that declares a sample input; it is the code before the change. Give the change as patch (the
        text of a unified diff with paths from the working folder), as after (the path of the changed file), or as
        against (a git ref: what the work tree changed since). The code is run before and after, so run=true is
        needed; nothing is written. Answers verified, not verified (with what was not compared) or refused (with what
        differs).
        """
        if not run:
            raise Refused(_RUNS)
        from graphdoctor.changes import change
        from graphdoctor.changes.proof import prove

        if sum(map(bool, (patch, after, against))) != 1:
            raise Refused("give the change in one way: patch, after, or against")
        file = Path(path)
        try:
            if patch:
                made = change.of_patch_text(patch, "the patch", Path.cwd())
            else:
                made = change.of_files(file, Path(after)) if after else change.since(against, file.resolve().parent)
            proof = prove(made, api.ScanOptions((path,), jobs=1, command="graphdoctor mcp"))
        except (change.ChangeError, api.UsageError) as error:
            raise Refused(str(error)) from None
        self._scans.append(proof.diagnosis)
        verdict = proof.verdict.replace("-", " ")
        counts = f"{wording.plural(proof.breaks_after, 'graph break')}, {proof.breaks_before} before"
        left = [f for f in printable(proof.diagnosis).findings if f.status != "refuted"]
        return "\n".join([f"{verdict}{': ' + proof.reason if proof.reason else ''}", counts, *map(_line, left[:_MOST])])

    def _scanned(self, path: str, run: bool) -> Diagnosis:
        options = api.ScanOptions((path,), run=None if run else False, jobs=1, command="graphdoctor mcp")
        try:
            diagnosis = api.scan(options)
        except api.UsageError as error:
            raise Refused(str(error)) from None
        self._scans.append(diagnosis)
        return diagnosis


def _line(finding: Finding) -> str:
    place = finding.location
    fix = f" [fix: {label(finding.fix)}]" if finding.fix is not None and is_offered(finding) else ""
    sure = "" if finding.status == "static-only" else f" ({finding.status})"
    where = f"{place.path}:{place.line}:{place.column}"
    words = one_line(finding.message)
    return f"{finding.fingerprint[:8]} {where} {finding.severity} {finding.rule}{sure} {words}{fix}"


def _details(finding: Finding) -> Iterator[str]:
    yield _line(finding)
    yield from (f"  {line}" for line in _snippet(finding))
    yield f"status: {wording.status(finding)}"
    if finding.why:
        yield f"why: {finding.why}"
    if finding.suggestion:
        yield f"what to do: {finding.suggestion}"
    if finding.fix is not None:
        yield f"fix: {wording.fix_kind(finding.fix)}. {explanation(finding.fix)}"
        yield finding.fix.diff
    yield f"more: explain {finding.rule}"


def _snippet(finding: Finding) -> Iterable[str]:
    first = finding.snippet_start
    return (f"{first + number:5} {line}" for number, line in enumerate(finding.snippet))

"""Quick fixes: the fix of a finding, silencing it, and all safe fixes of a file at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lsprotocol.types import CodeAction, CodeActionKind, Diagnostic, Range, TextEdit, WorkspaceEdit

from graphdoctor.fixes.core.apply import edits_by_path, select_fixes
from graphdoctor.lsp.analysis import CheckedText
from graphdoctor.lsp.diagnostics import diagnostic, span
from graphdoctor.lsp.ignore import silence
from graphdoctor.lsp.positions import Positions, touch
from graphdoctor.model.findings import Edit, Finding
from graphdoctor.model.labels import is_offered, may_be_written

FIX_ALL = f"{CodeActionKind.SourceFixAll.value}.graphdoctor"
KINDS = (CodeActionKind.QuickFix.value, FIX_ALL)


def actions(
    uri: str, found_in: CheckedText, positions: Positions, chosen: Range, wanted: Iterable[str] | None, docs: str | None
) -> list[CodeAction]:
    """What can be done about the findings at ``chosen``; only actions of the kinds ``wanted`` when given."""
    found: list[CodeAction] = []
    for finding in found_in.findings:
        if touch(span(finding, positions), chosen):
            found.extend(_quick_fixes(uri, found_in, positions, finding, diagnostic(finding, positions, docs)))
    found.extend(_fix_all(uri, found_in, positions))
    return [action for action in found if wanted is None or _is_wanted(str(action.kind), wanted)]


def _quick_fixes(
    uri: str, found_in: CheckedText, positions: Positions, finding: Finding, cause: Diagnostic
) -> Iterator[CodeAction]:
    fix = finding.fix
    if fix is not None and _is_of_this_file(finding) and is_offered(finding):
        safe = may_be_written(finding, unsafe=False)
        title = f"Fix {finding.rule} {finding.name}" if safe else f"Fix {finding.rule} (unsafe): {fix.reason}"
        edit = _workspace_edit(uri, positions, fix.edits)
        yield CodeAction(title, CodeActionKind.QuickFix, [cause], is_preferred=safe or None, edit=edit)
    place = finding.location
    ignore = silence(place.path, found_in.text, place.line, finding.rule)
    if ignore is not None:
        title = f"Ignore {finding.rule} on this line"
        edit = _workspace_edit(uri, positions, [ignore])
        yield CodeAction(title, CodeActionKind.QuickFix, [cause], edit=edit)


def _fix_all(uri: str, found_in: CheckedText, positions: Positions) -> Iterator[CodeAction]:
    chosen, _ = select_fixes(tuple(filter(_is_of_this_file, found_in.findings)), unsafe=False)
    for edits in edits_by_path(chosen).values():
        yield CodeAction("Fix all safe graphdoctor findings", FIX_ALL, edit=_workspace_edit(uri, positions, edits))


def _is_of_this_file(finding: Finding) -> bool:
    """Whether all edits of the fix are in the file of the finding: those of a caller belong to another document."""
    return finding.fix is not None and {edit.path for edit in finding.fix.edits} == {finding.location.path}


def _workspace_edit(uri: str, positions: Positions, edits: Iterable[Edit]) -> WorkspaceEdit:
    """An edit that several fixes share, such as an import, is made once."""
    made = [TextEdit(positions.range(edit.start, edit.end), edit.text) for edit in dict.fromkeys(edits)]
    return WorkspaceEdit(changes={uri: made})


def _is_wanted(kind: str, wanted: Iterable[str]) -> bool:
    """A kind that the client names holds for those below it: ``source.fixAll`` for ``source.fixAll.graphdoctor``."""
    return any(kind == name or kind.startswith(f"{name}.") for name in wanted)

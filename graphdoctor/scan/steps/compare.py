"""The diagnosis -> the same with what is new, fixed and unchanged since its base."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from graphdoctor.diagnosis.compare import compare as compared
from graphdoctor.diagnosis.fingerprint import with_fingerprints
from graphdoctor.lint.result import PathOf
from graphdoctor.lint.work import Work
from graphdoctor.scan import notebooks
from graphdoctor.scan.baseline import Predict, from_commit
from graphdoctor.scan.filtering import kept, unused_comments
from graphdoctor.scan.followed_packages import marked
from graphdoctor.scan.source_texts import Sources, lines_of, read_texts
from graphdoctor.scan.static_pass import static_pass
from graphdoctor.source.discover import shown
from graphdoctor.source.git import Commit

if TYPE_CHECKING:
    from graphdoctor.model.findings import Diagnosis, Finding, ScannedFile
    from graphdoctor.scan.plan import ComparePlan, Plan
    from graphdoctor.scan.session import Session
    from graphdoctor.source.cells import Cells


def compare(
    scan: Plan,
    plan: ComparePlan,
    head: Diagnosis,
    cells: Mapping[str, Cells],
    read_paths: Collection[str],
    session: Session,
) -> Diagnosis:
    """``head``, the diagnosis of ``scan``, with its comparison, and the locations in notebooks by cell.

    ``read_paths`` are the files that the scan looked at, ``cells`` those of its notebooks. Raises UsageError.
    """
    base_cells: dict[str, Cells] = {}
    predict = _predict(scan, base_cells)
    found = session.interrupts.attempt(lambda: _compared(plan, head, read_paths, predict))
    if found is None:
        found = replace(head, notes=(*head.notes, "not compared with the base: interrupted"))
    return notebooks.by_cell(found, cells, base_cells)


def _compared(plan: ComparePlan, head: Diagnosis, read_paths: Collection[str], predict: Predict) -> Diagnosis:
    base = plan.base
    if isinstance(base, Commit):
        base = from_commit(plan.name, base, head, plan.paths, plan.exclude, predict)

    def was_left_out(path: str) -> bool:
        return path not in read_paths and (Path(head.root) / path).exists()

    return replace(head, comparison=compared(base, head, was_left_out))


def _predict(scan: Plan, cells: dict[str, Cells]) -> Predict:
    """The static pass as this scan makes it, for files that are not at their shown paths.

    ``cells`` gets those of their notebooks.
    """
    plan, root = scan.static, scan.inputs.root
    followed = replace(plan.followed, fixes=False)
    selection = replace(scan.selection, possible=True)

    def predict(files: Sequence[tuple[Path, str]], path_of: PathOf) -> tuple[Sequence[ScannedFile], Sequence[Finding]]:
        def helper(file: Path) -> str | None:
            return shown(file, root) if followed.has(file) else path_of(file)

        work = Work(files, helper, plan.work.target, {}, followed.folders)
        static = static_pass(work, lambda: plan.rules.loaded.active, jobs=plan.jobs)
        read_files = read_texts((*files, *((file, path) for path, file in static.helpers.items())), {})
        cells.update(read_files.cells())
        sources = Sources(read_files.texts, {path: root / path for path in read_files.files})
        findings = marked(static.findings, static.helpers, followed)
        unused = unused_comments(findings, plan.rules, selection, static, sources.texts, None)
        findings = kept((*findings, *unused), selection, sources.texts)
        return static.files, with_fingerprints(findings, lines_of(findings, sources))

    return predict

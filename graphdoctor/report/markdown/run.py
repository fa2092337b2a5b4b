"""What the run measured, as Markdown: results, recompiles, verification, stacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from graphdoctor.model.findings import Diagnosis, Finding
from graphdoctor.model.runs import DynamicRun, Verification
from graphdoctor.report import wording
from graphdoctor.report.escaping import one_line
from graphdoctor.report.gfm import code, escape, fence, folded, prose, table, titled
from graphdoctor.report.proof import against


def runs(shown: Sequence[DynamicRun], most: int | None) -> str:
    """A row for each run, at most ``most`` of them."""
    rows = [
        (
            escape(wording.run_title(run)),
            escape(wording.run_counts(run)),
            escape(wording.fullgraph(run.fullgraph)),
            escape(run.explain.disagrees or "agrees" if run.explain else "not tried"),
            escape(wording.numerics(run.numerics)),
        )
        for run in shown[:most]
    ]
    texts = [
        table(("Run", "Result", "fullgraph=True", "explain", "Outputs"), rows),
        *map(escape, wording.inputs(shown)),
    ]
    return titled("The run", "\n\n".join(texts) if rows else "")


def recompiles(diagnosis: Diagnosis, most: int | None) -> str:
    """A row for each cause of recompiles, at most ``most`` of them."""
    rows = [
        (
            escape(met),
            code(wording.recompile_place(recompile) or "no line named"),
            prose(recompile.cause),
            escape(wording.recompile_effect(recompile)),
            prose(against(recompile, diagnosis)),
        )
        for recompile, met in islice(wording.recompiles(diagnosis.dynamic or ()).items(), most)
    ]
    return titled("Recompiles", table(("Run", "Where", "Cause", "Effect", "Suggested fix"), rows))


def verification(result: Verification | None, findings: Iterable[Finding]) -> str:
    """The outcome of the verification; nothing where no fix was tried."""
    if result is None:
        return ""
    lines = [escape(wording.verification(result, findings)), escape(wording.verification_detail(result))]
    return titled("Verification", "  \n".join(line for line in lines if line))


def stacks(shown: Sequence[DynamicRun]) -> str:
    """The user stack of each graph break, folded."""
    lines = list(_stack_lines(shown))
    return folded("Stacks of the graph breaks", fence("\n".join(lines))) if lines else ""


def _stack_lines(shown: Sequence[DynamicRun]) -> Iterator[str]:
    for run in shown:
        for entry in run.breaks:
            if entry.stack:
                yield one_line(f"{wording.run_title(run)}: {wording.break_title(entry)}")
            for frame in entry.stack:
                yield "  " + one_line(f"{frame.path}:{frame.line} in {frame.function}")

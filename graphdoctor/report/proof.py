"""What the fixes were seen to do, and the command that applies them: the top of the report."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from graphdoctor.model.findings import Diagnosis
from graphdoctor.model.labels import is_offered, may_be_written
from graphdoctor.report import wording
from graphdoctor.report.wording import plural

#: Options of ``graphdoctor scan`` that say where reports go and how they look: with a value, and without.
_WITH_VALUE = (
    "--html",
    "--report",
    "--output",
    "--output-format",
    "--repro",
    "--fail-on",
    "--max-breaks",
    "--baseline",
)
_ALONE = (
    "--exit-zero",
    "--verbose",
    "-v",
    "--tree",
    "--diff",
    "--statistics",
    "--fix",
    "--unsafe-fixes",
    "--no-source",
)


@dataclass(frozen=True)
class Proof:
    """``title`` says how far the fixes get; ``after`` has the numbers of the page with the fixes, by label."""

    title: str
    after: dict[str, str]
    good: bool
    detail: str
    command: str
    patch: str


def proof(diagnosis: Diagnosis) -> Proof | None:
    """None where no fix was verified, or all were dropped."""
    result = diagnosis.verification
    if result is None or not result.fixes:
        return None
    after = {
        "graph breaks": f"{result.breaks:,}",
        "graphs": f"{result.graphs:,}",
        "fullgraph=True": {True: "passes", False: "fails", None: "not tried"}[result.fullgraph_passes],
    }
    equal = result.numerics.equal if result.numerics else None
    after["outputs"] = {True: "equal", False: "differ", None: "not compared"}[equal]
    fixes = plural(len(result.fixes), "fix", "fixes")
    return Proof(
        title=f"With {fixes} applied to a copy: {plural(result.graphs, 'graph')}, "
        f"{plural(result.breaks, 'graph break')}, fullgraph=True {after['fullgraph=True']}, outputs {after['outputs']}",
        after=after,
        good=result.grade == "general" and equal is not False,
        detail=wording.verification_detail(result),
        command=command(diagnosis),
        patch=diagnosis.patch,
    )


def command(diagnosis: Diagnosis) -> str:
    """The command that writes the fixes which were verified: the scan's own, with ``--fix``."""
    tried = set(diagnosis.verification.fixes) if diagnosis.verification else set()
    chosen = [f for f in diagnosis.findings if f.fingerprint in tried and is_offered(f)]
    unsafe = any(not may_be_written(finding, unsafe=False) for finding in chosen)
    more = ["--fix", *(["--unsafe-fixes"] if unsafe else [])]
    try:
        words = shlex.split(diagnosis.command)
    except ValueError:
        words = []
    if words[:2] != ["graphdoctor", "scan"]:
        return shlex.join(["graphdoctor", "scan", *sorted({f.location.path for f in chosen}), *more])
    kept: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in _WITH_VALUE:
            skip = True
        elif word not in _ALONE and not word.startswith(tuple(f"{option}=" for option in _WITH_VALUE)):
            kept.append(word)
    return shlex.join([*kept, *more])

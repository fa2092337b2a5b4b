"""Diagnoses for the report tests, made by hand: a rich one, a hostile one, and large ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from graphdoctor.model.findings import Caller, Comparison, Diagnosis, Edit, Finding, Fix, Location, ScannedFile, Summary
from graphdoctor.model.runs import Break, DynamicRun, Explain, Frame, FullGraph, Numerics, Recompile, Verification

PRINT_DIFF = """\
--- a/model.py
+++ b/model.py
@@ -18,1 +18,2 @@
-        print("input", x.shape)
+        if not torch.compiler.is_compiling():
+            print("input", x.shape)
"""

#: What code and messages may hold and no report may pass on: markup, markers, controls, direction, surrogates, length.
HOSTILE = (
    "<script>alert(1)</script> </script> </style> <class 'x'> <img src=x onerror=alert(1)> \"'` | `` @torch #12 "
    "[a](javascript:alert(1)) \x1b[31mred\x1b[0m \x00 \x07 \u202eltr\u202c שלום {{ 7*7 }} \udc80 *b* _i_ "
    + "x"
    * 10_000
)


def _finding(line: int, column: int, source: str, **changes: Any) -> Finding:
    snippet = (
        "    def forward(self, x):",
        "        h = self.first(x)",
        source,
        "        return h",
    )
    base = Finding(
        rule="GD101",
        name="print-in-graph",
        severity="error",
        confidence="certain",
        location=Location("model.py", line, column, line, len(source) + 1),
        function="Net.forward",
        fact="print() breaks the graph",
        why="Dynamo cannot put a write to stdout into a graph, so it ends the graph before the call.",
        suggestion="Print only when the code is not being compiled.",
        status="confirmed",
        gb_ids=("GB0059",),
        events=3,
        fingerprint=f"f{line:04}",
        snippet=snippet,
        snippet_start=line - 2,
    )
    return replace(base, **changes)


def _rich() -> Diagnosis:
    findings = (
        _finding(
            18,
            9,
            '        print("input", x.shape)',
            fix=Fix(
                "safe",
                "The call only writes to stdout.",
                (Edit("model.py", (18, 9), (18, 32), "if not torch.compiler.is_compiling():\n            print()"),),
                PRINT_DIFF,
                "general",
            ),
        ),
        _finding(
            21,
            12,
            "        if x.sum() > 0:",
            rule="GD110",
            name="data-dependent-branch",
            fact="the branch depends on the data of a tensor",
            suggestion="Compute both sides and choose with torch.where.",
            gb_ids=("GB0170",),
            events=1,
            whole_frame=True,
            fix=Fix("manual", "the two branches call different modules"),
            called_from=(Caller("train.py", 7, "Model.forward"),),
        ),
        _finding(
            25,
            13,
            "        h = h * x.max().item()",
            rule="GD120",
            name="tensor-to-python",
            severity="warning",
            confidence="likely",
            fact=".item() moves tensor data to Python",
            suggestion="Keep the value as a tensor.",
            status="refuted",
            gb_ids=(),
            events=0,
        ),
        _finding(
            31,
            9,
            "        warnings.warn('slow path')",
            rule="GD102",
            name="warning-in-graph",
            severity="warning",
            fact="warnings.warn breaks the graph",
            status="not-reached",
            events=0,
        ),
        _finding(
            40,
            9,
            "        y = library.rotate(x)",
            rule="GD000",
            name="graph-break",
            fact="Dynamo skips a compiled extension",
            status="dynamic-only",
            owner="third-party",
            gb_ids=("GB0007",),
            events=2,
        ),
        _finding(
            52,
            1,
            "torch.compile(model)",
            rule="GD201",
            name="compile-result-unused",
            severity="info",
            fact="the result of torch.compile is not used",
            status="static-only",
            gb_ids=(),
            events=0,
        ),
    )
    stack = (Frame("model.py", 60, "Outer.forward"), Frame("model.py", 18, "Net.forward"))
    breaks = (
        Break(
            "model.py",
            18,
            9,
            "Net.forward",
            "GB0059",
            "Unsupported function call",
            "builtin print",
            ("hint one",),
            3,
            stack=stack,
        ),
        Break("model.py", 21, 12, "Net.forward", "GB0170", "Data-dependent branching", "x.sum() > 0", whole_frame=True),
        Break(
            "site-packages/library.py", 7, None, "rotate", "GB0007", None, "C extension", owner="third-party", events=2
        ),
    )
    evaluation = DynamicRun(
        target="Net",
        mode="eval",
        device="cpu",
        outcome="ok",
        graphs=4,
        operators=83,
        compiled_share=0.834,
        breaks=breaks,
        fullgraph=FullGraph(False, "Data-dependent branching", "model.py", 21),
        explain=Explain(3, 2, 2, "explain counts 2 breaks, the trace has 3"),
        recompiles=(
            Recompile(
                "dimension 0 of x changed from 4 to 5",
                "x.size()[0] == 4",
                "x",
                0,
                "model.py",
                17,
                8,
                "torch._dynamo.mark_dynamic(x, 0)",
                2,
            ),
        ),
        numerics=Numerics(True, 0.0, "rtol 1e-5, atol 1e-6"),
    )
    training = replace(
        evaluation, mode="train", outcome="timeout", detail="stopped after 120 s", breaks=(), recompiles=()
    )
    return Diagnosis(
        tool_version="0.1.0",
        environment={"python": "3.11.7", "torch": "2.13.0", "device": "cpu", "gpu": None},
        command="graphdoctor scan model.py",
        summary=Summary("not-ready", "Not ready: 3 graph breaks, 2 of them in your code", 3, 2, 3, 2, 4, 1, 3, 1),
        files=(
            ScannedFile("model.py", 60, "scanned"),
            ScannedFile("empty.py", 0, "skipped", "empty"),
            ScannedFile("bad.py", 3, "failed", "syntax error in line 3: invalid syntax"),
        ),
        findings=findings,
        dynamic=(evaluation, training),
        verification=Verification(("f0018",), 1, 0, True, Numerics(True, 1.2e-7, "rtol 1e-5, atol 1e-6"), "general"),
        notes=("CPU run: CUDA graphs were not checked",),
        timings={"static": 0.25, "dynamic": 8.0},
    )


#: Fields whose values come from a fixed list, so that nothing hostile can stand there.
_FIXED = {
    "verdict",
    "severity",
    "confidence",
    "status",
    "owner",
    "safety",
    "grade",
    "mode",
    "outcome",
    "phase",
    "state",
}


def _hostile(value: Any, name: str = "") -> Any:
    """``value`` with every free text in it replaced by ``HOSTILE``."""
    if isinstance(value, str):
        return value if name in _FIXED else HOSTILE
    if isinstance(value, tuple):
        return tuple(_hostile(item, name) for item in value)
    if isinstance(value, dict):
        return {key + HOSTILE: _hostile(item) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: _hostile(getattr(value, f.name), f.name) for f in fields(value)})
    return value


@pytest.fixture(scope="session")
def rich() -> Diagnosis:
    """Each kind of content once: statuses, severities, owners, fixes, two runs, verification, a failed file."""
    return _rich()


@pytest.fixture(scope="session")
def hostile() -> Diagnosis:
    """The rich diagnosis with ``HOSTILE`` in every free text."""
    shown: Diagnosis = _hostile(_rich())
    return shown


@pytest.fixture(scope="session")
def clean() -> Diagnosis:
    """A static scan that found nothing."""
    summary = Summary("static-only", "No graph breaks found in the source", 0, 0, None, None, None, 0, 1, 0)
    return Diagnosis("0.1.0", {}, "", summary, (ScannedFile("a.py", 3, "scanned"),), (), None, None)


@pytest.fixture(scope="session")
def many() -> Callable[[int], Diagnosis]:
    """The rich diagnosis with a given number of findings, each in a function of its own."""

    def build(count: int) -> Diagnosis:
        rich = _rich()
        findings = []
        for number in range(count):
            finding = rich.findings[number % len(rich.findings)]
            place = replace(finding.location, line=100 + number, end_line=100 + number)
            start = 98 + number
            changes = {"fingerprint": f"m{number:04}", "function": f"{finding.function}{number}"}
            findings.append(replace(finding, location=place, snippet_start=start, **changes))
        summary = replace(rich.summary, errors=count, headline=f"Not ready: {count} findings")
        return replace(rich, findings=tuple(findings), summary=summary)

    return build


@pytest.fixture(scope="session")
def package() -> Path:
    """The folder of the HTML report."""
    import graphdoctor.report.html.page

    return Path(graphdoctor.report.html.__path__[0])


@pytest.fixture(scope="session")
def compared(rich: Diagnosis) -> Diagnosis:
    """The rich diagnosis against a base that had all but its last two findings, and one that is fixed."""
    fixed = replace(rich.findings[0], fingerprint="gone", fact="what was fixed")
    marks = [finding.fingerprint for finding in rich.findings]
    return replace(
        rich,
        comparison=Comparison("main", rich.summary, rich.dynamic, tuple(marks[4:]), tuple(marks[:4]), (fixed,), 2),
    )

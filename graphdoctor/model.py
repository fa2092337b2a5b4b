"""The data that flows through graphdoctor: frozen dataclasses, no torch, no libcst.

The field names are those of the JSON contract ``graphdoctor/1`` (docs/design.md, section 7).
Lines and columns are 1-based; an end column points one past the last character.
Paths are posix, relative to the scan root where they lie under it, else absolute.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

SCHEMA = "graphdoctor/1"

Severity = Literal["error", "warning", "info"]
Confidence = Literal["certain", "likely", "possible"]
Status = Literal["confirmed", "dynamic-only", "refuted", "not-reached", "static-only"]
Owner = Literal["own", "third-party", "torch"]
Safety = Literal["safe", "unsafe", "manual"]
Grade = Literal["general", "setup-required", "none", "not-verified"]
Verdict = Literal["ready", "not-ready", "nothing-compiled", "not-run", "static-only"]
Outcome = Literal["ok", "raised", "exited", "crashed", "timeout", "memory", "no-target"]


@dataclass(frozen=True, order=True)
class Location:
    """A span in a source file."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True)
class Edit:
    """Replace the text from ``start`` up to ``end`` (1-based line and column, end exclusive) by ``text``."""

    path: str
    start: tuple[int, int]
    end: tuple[int, int]
    text: str


@dataclass(frozen=True)
class Fix:
    """A suggested change. ``manual`` fixes carry no edits, only the ``reason`` why none is offered."""

    safety: Safety
    reason: str
    edits: tuple[Edit, ...] = ()
    diff: str = ""
    grade: Grade = "not-verified"


@dataclass(frozen=True)
class Finding:
    """One thing to change in the code, as the reports show it."""

    rule: str
    name: str
    severity: Severity
    confidence: Confidence
    location: Location
    function: str
    message: str
    why: str
    suggestion: str
    url: str = ""
    status: Status = "static-only"
    owner: Owner = "own"
    gb_ids: tuple[str, ...] = ()
    events: int = 0
    whole_frame: bool = False
    fix: Fix | None = None
    fingerprint: str = ""
    #: The source lines around the place, for reports; ``snippet_start`` is the number of the first.
    snippet: tuple[str, ...] = ()
    snippet_start: int = 0


@dataclass(frozen=True)
class Frame:
    """One entry of a user stack: where a traced function stood."""

    path: str
    line: int
    function: str


@dataclass(frozen=True)
class Break:
    """A graph break that really happened: one place, however many events."""

    path: str
    line: int
    column: int | None
    function: str
    gb_id: str | None
    gb_type: str | None
    reason: str
    hints: tuple[str, ...] = ()
    events: int = 1
    whole_frame: bool = False
    owner: Owner = "own"
    #: Outermost first, ``torch_dynamo_resume_in_*`` mapped back to the function they resume.
    stack: tuple[Frame, ...] = ()


@dataclass(frozen=True)
class FullGraph:
    """The verdict of ``torch.compile(fullgraph=True)``; ``passes`` is None when it could not be run."""

    passes: bool | None
    error: str | None = None
    path: str | None = None
    line: int | None = None


@dataclass(frozen=True)
class Explain:
    """What ``torch._dynamo.explain`` says. ``disagrees`` is a sentence, or None when it agrees with the trace."""

    graphs: int
    breaks: int
    reasons: int
    disagrees: str | None = None


@dataclass(frozen=True)
class Recompile:
    """A guard that failed and made Dynamo compile a frame again."""

    cause: str
    guard: str
    input: str | None
    dimension: int | None
    path: str | None
    line: int | None
    compilations: int
    remedy: str | None = None
    verified_compilations: int | None = None


@dataclass(frozen=True)
class Numerics:
    """Eager against compiled outputs; ``equal`` is None when they were not compared."""

    equal: bool | None
    max_abs_diff: float | None
    tolerance: str
    detail: str = ""


@dataclass(frozen=True)
class DynamicRun:
    """One run of one target in one mode under Dynamo."""

    target: str
    mode: Literal["eval", "train"]
    device: str
    outcome: Outcome
    detail: str = ""
    graphs: int = 0
    operators: int = 0
    compiled_share: float | None = None
    breaks: tuple[Break, ...] = ()
    fullgraph: FullGraph = FullGraph(None)
    explain: Explain | None = None
    recompiles: tuple[Recompile, ...] = ()
    numerics: Numerics | None = None
    #: Lines of scanned files that ran in eager, by path. Not part of the JSON contract.
    executed: Mapping[str, frozenset[int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Verification:
    """The same runs with the suggested fixes applied to a copy in memory.

    ``numerics`` compares with the eager outputs of the original source.
    """

    fixes: tuple[str, ...]
    graphs: int
    breaks: int
    fullgraph_passes: bool | None
    numerics: Numerics | None
    grade: Grade
    detail: str = ""


@dataclass(frozen=True)
class ScannedFile:
    """One file of the scan and what became of it; ``reason`` is one line."""

    path: str
    lines: int
    status: Literal["scanned", "skipped", "failed"]
    reason: str | None = None


@dataclass(frozen=True)
class Summary:
    """The numbers of the first lines of every report."""

    verdict: Verdict
    headline: str
    errors: int
    warnings: int
    breaks: int | None
    breaks_own: int | None
    graphs: int | None
    #: Findings with edits that can be applied.
    fixable: int
    files: int
    failed: int
    #: Fixes that this scan wrote to the files.
    fixed: int = 0


@dataclass(frozen=True)
class Diagnosis:
    """Everything one ``graphdoctor scan`` found: what all renderers and the JSON are made from."""

    tool_version: str
    environment: Mapping[str, str | None]
    command: str
    summary: Summary
    files: tuple[ScannedFile, ...]
    findings: tuple[Finding, ...]
    dynamic: tuple[DynamicRun, ...] | None
    verification: Verification | None
    #: One line each: what the user should know and no finding says ("not run: torch is not installed; ...").
    notes: tuple[str, ...] = ()
    timings: Mapping[str, float] = field(default_factory=dict)
    #: The folder that relative paths start from, absolute. Not part of the JSON contract.
    root: str = ""

"""The data that flows through graphdoctor: frozen dataclasses, no torch, no libcst.

The field names are those of the JSON contract ``graphdoctor/1`` (docs/design.md, section 8).
Lines and columns are 1-based; an end column points one past the last character.
Paths are posix, relative to the scan root where they lie under it, else absolute.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from graphdoctor.model.consequence import Consequence

if TYPE_CHECKING:
    from graphdoctor.model.advice import Advice
    from graphdoctor.model.runs import DynamicRun, Verification

SCHEMA = "graphdoctor/1"

Severity = Literal["error", "warning", "info"]
Confidence = Literal["certain", "likely", "possible"]
Status = Literal["confirmed", "dynamic-only", "refuted", "not-reached", "static-only"]
Owner = Literal["own", "third-party", "torch"]
Safety = Literal["safe", "unsafe", "manual"]
Grade = Literal["general", "setup-required", "none", "no-effect", "not-verified"]
Verdict = Literal["ready", "not-ready", "nothing-compiled", "not-run", "static-only"]


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


#: A way in which a fix is known to differ from the original, as its reason says: "anew": what was kept in an attribute
#: is computed again; "checks": a check that raises is made more often; "compile": under compile more than output is
#: left out; "costly": it takes longer than the original, and raises where that gives NaN; "eager": eager code compiles
#: too; "early": what the first call made is there before, so random numbers are drawn in another order; "exception":
#: another one is raised under compile; "flag": what was passed keeps its own ``requires_grad``; "gradients": gradients
#: may be others; "not_finite": what NaN, infinity and overflow give may be others; "once": what each call made is made
#: once; "precision": a number is rounded to the dtype of its tensor; "requires_grad": results may need no gradient;
#: "rows": a function gets other rows too; "setting": a setting of Dynamo is made for the whole process, which eager
#: code does not ask; "unsaved": there are more buffers, which no state_dict has, also in place of numbers in
#: attributes; "zero_gradients": where results needed no gradient, they may need one that is zero; "zeros": numbers that
#: are zero are treated in another way.
Known = Literal[
    "anew",
    "checks",
    "compile",
    "costly",
    "eager",
    "early",
    "exception",
    "flag",
    "gradients",
    "not_finite",
    "once",
    "precision",
    "requires_grad",
    "rows",
    "setting",
    "unsaved",
    "zero_gradients",
    "zeros",
]


@dataclass(frozen=True)
class Fix:
    """A suggested change. ``manual`` fixes carry no edits, only the ``reason`` why none is offered.

    ``safety`` is what the source proves, ``grade`` whether the code compiles with the fix; ``labels`` says what the fix
    may be called and whether it is written.
    """

    safety: Safety
    reason: str
    edits: tuple[Edit, ...] = ()
    diff: str = ""
    grade: Grade = "not-verified"
    #: What verification saw of this fix: alone, on varied inputs, or why it was dropped. Sentences, or empty.
    detail: str = ""
    #: Why it was tried and is not verified, clauses; empty where it is, and where nothing was tried.
    doubts: str = ""
    #: Whether runs on the sample and on varied inputs, which reached all of the changed code, were identical.
    verified: bool = False
    #: The inputs for which that holds, as a clause; empty where it does not.
    assumes: str = ""
    #: Whether this scan wrote it to the file.
    written: bool = False
    #: What verification does not hold against it; such a difference leaves it unsafe.
    known: tuple[Known, ...] = ()


@dataclass(frozen=True)
class Caller:
    """A call on the way from where compiled code begins to a finding."""

    path: str
    line: int
    function: str


@dataclass(frozen=True)
class Guarded:
    """What a guard looks at, ``self.epoch``, as its function in the file ``path`` names it."""

    path: str
    name: str


@dataclass(frozen=True)
class Finding:
    """One place to change in the code, as the reports show it."""

    rule: str
    name: str
    severity: Severity
    confidence: Confidence
    location: Location
    function: str
    #: What is wrong; ``message`` also says what it costs.
    fact: str
    why: str
    suggestion: str
    url: str = ""
    status: Status = "static-only"
    owner: Owner = "own"
    gb_ids: tuple[str, ...] = ()
    events: int = 0
    whole_frame: bool = False
    #: The functions that a run saw given up as a whole because of it, callers first.
    dropped: tuple[str, ...] = ()
    fix: Fix | None = None
    #: What the graph break costs; None where it is none, and for breaks that only the run saw.
    consequence: Consequence | None = None
    fingerprint: str = ""
    #: The source lines around the place, for reports; ``snippet_start`` is the number of the first.
    snippet: tuple[str, ...] = ()
    snippet_start: int = 0
    #: The calls that lead from where the compiled code begins to ``function``, in their order; one way of several.
    called_from: tuple[Caller, ...] = ()
    #: Of a recompile: what changes. A run that saw it change confirms the finding.
    guarded: Guarded | None = None
    #: Why the project's allow-list lets it pass, and until when; empty when it does not.
    allowed: str = ""

    @property
    def message(self) -> str:
        """What is wrong, and what it costs."""
        return self.fact if self.consequence is None else self.fact + self.consequence.ending


@dataclass(frozen=True)
class ScannedFile:
    """One file of the scan and what became of it; ``reason`` is one line."""

    path: str
    lines: int
    status: Literal["scanned", "skipped", "failed"]
    reason: str | None = None


@dataclass(frozen=True)
class Region:
    """Code that is compiled by itself: a model that no other code of the scan calls, or a function."""

    name: str
    path: str
    line: int
    is_module: bool
    #: How many functions of the source run in it.
    functions: int
    #: The fingerprints of the findings in these functions.
    findings: tuple[str, ...] = ()
    #: What it calls that only code around a model uses, such as ``PIL.Image.open``; empty where there is none.
    host: str = ""
    #: How many findings in these functions are not shown: of rules that are not selected, or silenced by comments.
    silenced: int = 0
    #: Whether it compiles parts of itself: only these parts are judged, and it has no findings of its own.
    compiles_parts: bool = False


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
    #: Fixes that are offered, see ``graphdoctor.model.labels``.
    fixable: int
    files: int
    failed: int
    #: Fixes that this scan wrote to the files.
    fixed: int = 0
    #: What is not the same on all ranks, and what helps; empty where there is one, or where they do the same.
    uneven: str = ""


@dataclass(frozen=True)
class Comparison:
    """How a diagnosis differs from an earlier one, its base.

    ``new`` and ``unchanged`` are fingerprints of the diagnosis' findings; ``fixed`` are findings of the base.
    """

    #: What the base is called: a file, a git ref.
    base: str
    #: The numbers and the runs of the base.
    summary: Summary
    dynamic: tuple[DynamicRun, ...] | None
    new: tuple[str, ...]
    unchanged: tuple[str, ...]
    fixed: tuple[Finding, ...]
    #: Findings that one side could not see: nothing was run there, or the file was not scanned.
    not_compared: int = 0


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
    #: One line each: what the user should know beside the findings ("not run: torch is not installed; ...").
    notes: tuple[str, ...] = ()
    timings: Mapping[str, float] = field(default_factory=dict)
    #: What is compiled by itself, as the source shows it; parts of what was scanned completely.
    regions: tuple[Region, ...] = ()
    #: Set where the scan was compared with a base.
    comparison: Comparison | None = None
    #: Set by ``--advise``: where to put torch.compile.
    advice: Advice | None = None
    #: The folder that relative paths start from, absolute. Not part of the JSON contract.
    root: str = ""
    #: Where the code host shows these paths, for links to their lines; empty outside of its workflows. Not part of it.
    code_url: str = ""
    #: The texts of the files that were run and have findings, by shown path. Not part of it either.
    texts: Mapping[str, str] = field(default_factory=dict)
    #: What the command writes that applies the fixes a run has tried, as one patch. Not part of it either.
    patch: str = ""
    #: The files with the saved calls of a program on which its fixes were tried. Not part of it either.
    samples: tuple[str, ...] = ()

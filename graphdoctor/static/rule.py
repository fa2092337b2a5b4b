"""What a rule is. One rule is one file in ``rules/``; the module itself is the rule.

A rule module has, read from top to bottom:

* a docstring: the first line is the summary; then three paragraphs that begin with ``What:``, ``Why:`` and ``Fix:``;
* ``CODE`` ("GD101"), ``NAME`` ("print-in-graph"), ``SEVERITY`` ("error"), ``GB_IDS`` (the ids Dynamo gives these
  breaks), ``TORCH`` (versions in which it holds, a PEP 440 specifier such as ">=2.6");
* ``BREAKS`` and ``CLEAN``: examples, each a complete little program (see ``tests/rules``); in ``BREAKS`` each line that
  breaks ends in a comment ``# GB0059``; a line that only the usage rules flag ends in ``# flagged``;
* ``check_<event>(event)``: one function per event class it subscribes to (``check_call`` for ``events.Call``), which
  returns a ``Hit`` or None;
* optionally ``watches(name)``: whether a call of the dotted name may be a hit at all, so that ``check_call`` is asked
  only then; most calls concern two of sixty rules;
* optionally ``FULLGRAPH = True``: by default nothing breaks where it says; with ``fullgraph=True`` compiling fails
  there;
* optionally ``VARYING = True``: it breaks once a size has varied, so a run on one input refutes nothing;
* optionally ``SETUP = True``: code that does it prepares a program (it reads files, builds layers, talks to processes),
  so a function of a library that does it is none that users compile for its own sake;
* optionally ``ENDS_FUNCTION = "<2.15"``: in these versions Dynamo traces nothing of the function after it, so what the
  rule finds further down in the same function is no break of its own;
* optionally ``INSIDE = ("_detect_is_causal_mask",)``: the functions of torch in which these breaks happen, so that one
  that only a run shows is the rule's, too;
* optionally ``recorded_by(hit, editor)``: the setting of ``torch._dynamo.config`` with which Dynamo records what the
  hit is about, so that nothing breaks there; empty where none does;
* optionally ``fix(hit, editor)``: returns a ``FixPlan`` or a ``Refusal``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any

from graphdoctor.model.consequence import Consequence
from graphdoctor.model.findings import Confidence, Edit, Known, Safety, Severity
from graphdoctor.target_torch.specifiers import allows

if TYPE_CHECKING:
    import libcst as cst

    from graphdoctor.static.domain.events import Event
    from graphdoctor.static.domain.program import ModuleInfo


@dataclass(frozen=True)
class Hit:
    """A rule's word on one event. ``node`` defaults to the event's node; ``data`` is for the rule's own ``fix``.

    ``torch``: the versions in which it holds, a specifier as in ``TORCH``, where they are fewer than the rule's.
    ``only_fullgraph``: it holds only where all that leads there is compiled with ``fullgraph=True``.
    ``consequence``: what the graph break costs, the end of the message.
    ``guarded``: of a recompile, what changes, as the function that reads it names it: ``self.epoch``.
    """

    event: Event
    message: str
    suggestion: str
    confidence: Confidence = "certain"
    node: cst.CSTNode | None = None
    gb_ids: tuple[str, ...] = ()
    severity: Severity | None = None
    data: Any = None
    torch: str = ""
    only_fullgraph: bool = False
    consequence: Consequence | None = None
    guarded: tuple[ModuleInfo, str] | None = None

    @property
    def place(self) -> cst.CSTNode:
        """The node that the finding underlines."""
        return self.node if self.node is not None else self.event.node


@dataclass(frozen=True)
class FixPlan:
    """Edits that belong together; ``reason`` says why they are safe, or what they change, and ``known`` in what way.

    ``guards_output`` says of unsafe edits that what they leave out under compile only writes output, or makes the
    message of a check that failed. ``torch``: the versions that have what the edits use, a specifier as in ``TORCH``.
    """

    edits: tuple[Edit, ...]
    safety: Safety
    reason: str
    known: tuple[Known, ...] = ()
    guards_output: bool = False
    torch: str = ""


@dataclass(frozen=True)
class Refusal:
    """Why no fix is offered, in one sentence for the user."""

    reason: str


@dataclass(frozen=True)
class Rule:
    """A loaded rule module. ``target``: the version of torch that a scan asks it about; any where empty."""

    code: str
    name: str
    severity: Severity
    gb_ids: tuple[str, ...]
    torch: str
    summary: str
    what: str
    why: str
    how: str
    breaks: tuple[str, ...]
    clean: tuple[str, ...]
    checks: dict[str, Callable[[Any], Hit | None]] = field(default_factory=dict)
    fix: Callable[[Hit, Any], FixPlan | Refusal] | None = None
    watches: Callable[[str], bool] | None = None
    recorded_by: Callable[[Hit, Any], str] | None = None
    fullgraph: bool = False
    varying: bool = False
    setup: bool = False
    ends_function: str = ""
    inside: tuple[str, ...] = ()
    target: str = ""

    @property
    def leaves_function(self) -> bool:
        """Whether nothing of the function is traced after a hit, in the version that the rule is asked about."""
        return bool(self.ends_function) and (not self.target or allows(self.ends_function, self.target))

    def holds(self, hit: Hit) -> bool:
        """Whether ``hit`` holds in the version that the rule is asked about."""
        return not hit.torch or not self.target or allows(hit.torch, self.target)


def load(module: ModuleType) -> Rule:
    """Read a rule from its module. Raises ValueError, naming the file, when a part is missing."""
    try:
        summary, sections = _docstring(module.__doc__ or "")
        return Rule(
            code=module.CODE,
            name=module.NAME,
            severity=module.SEVERITY,
            gb_ids=tuple(module.GB_IDS),
            torch=module.TORCH,
            summary=summary,
            what=sections["What"],
            why=sections["Why"],
            how=sections["Fix"],
            breaks=tuple(module.BREAKS),
            clean=tuple(module.CLEAN),
            checks=_checks(module),
            fix=getattr(module, "fix", None),
            watches=getattr(module, "watches", None),
            recorded_by=getattr(module, "recorded_by", None),
            fullgraph=getattr(module, "FULLGRAPH", False),
            varying=getattr(module, "VARYING", False),
            setup=getattr(module, "SETUP", False),
            ends_function=getattr(module, "ENDS_FUNCTION", ""),
            inside=tuple(getattr(module, "INSIDE", ())),
        )
    except AttributeError as missing:
        raise ValueError(f"{module.__name__}: a rule needs {missing.name}") from missing
    except KeyError as missing:
        raise ValueError(f"{module.__name__}: a rule needs a paragraph '{missing.args[0]}:' in its text") from missing


def _checks(module: ModuleType) -> dict[str, Callable[[Any], Hit | None]]:
    """The functions ``check_<event>`` that the module defines, by event; what it imports may bear such a name too."""
    return {
        name[len("check_") :]: function
        for name, function in vars(module).items()
        if name.startswith("check_") and function.__module__ == module.__name__
    }


def _docstring(text: str) -> tuple[str, dict[str, str]]:
    """The summary line, and the paragraphs by their leading word."""
    paragraphs = [" ".join(p.split()) for p in text.strip().split("\n\n")]
    sections: dict[str, str] = {}
    current = ""
    for paragraph in paragraphs[1:]:
        word, colon, rest = paragraph.partition(":")
        if colon and word in ("What", "Why", "Fix"):
            current = word
            sections[word] = rest.strip()
        elif current:
            sections[current] += "\n\n" + paragraph
    return paragraphs[0], sections

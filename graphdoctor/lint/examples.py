"""A breaking example of a rule beside what the fixes make of it. The tests run both under Dynamo."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from graphdoctor.fixes.core.apply import fixed_texts, select_fixes
from graphdoctor.lint.catalog import rules
from graphdoctor.lint.engine import analyse
from graphdoctor.static.rule import Rule

#: The graph breaks that the comment at the end of a line announces.
_MARK = re.compile(r"#((?: GB\d{4})+)$")

#: The sample that is added to an example without one: ``f`` or ``Net`` gets one input.
_SAMPLE = """

def graphdoctor_target():
    import torch

    return {target}, (torch.rand(4, 8) + 0.5,)
"""

#: A comment with these ids, or one that says that the line raises or is flagged, but does not break the graph.
_COMMENT = re.compile(r"#(?: GB\d{4}| raises| flagged)+$")

#: Dynamo's id for a function that it drops as a whole.
_DROPPED = "GB7000"


@dataclass(frozen=True)
class FixedExample:
    """``before`` breaks at ``lines``, or is dropped as a whole; ``after`` is one graph."""

    before: str
    after: str
    lines: tuple[int, ...]
    dropped: bool


def fixed_example(rule: Rule) -> FixedExample | None:
    """The first example of ``rule`` whose findings all have a fix; None where it has none."""
    # A rule of a project is not among those that ship.
    ruleset = (*(other for other in rules() if other.code != rule.code), rule)
    for source in rule.breaks if rule.fix is not None else ():
        before = source.strip("\n") + "\n"
        file = Path("example.py").resolve()
        declared = "def graphdoctor_target" in before
        sample = "" if declared else _SAMPLE.format(target="Net().eval()" if "class Net" in before else "f")
        found = analyse([(file, file.name)], ruleset, unsaved={file: before + sample}).findings
        if not any(finding.rule == rule.code for finding in found) or not all(
            finding.fix is not None and finding.fix.edits for finding in found
        ):
            continue
        chosen, _ = select_fixes(found, unsafe=True)
        after = fixed_texts({file.name: before + sample}, chosen)[file.name].removesuffix(sample)
        after = "".join(line for line in map(_unmarked, after.splitlines(keepends=True)) if line)
        marks = {number: _MARK.search(line) for number, line in enumerate(before.splitlines(), 1)}
        ids = {number: mark[1].split() for number, mark in marks.items() if mark}
        return FixedExample(before, after, tuple(ids), any(_DROPPED in found for found in ids.values()))
    return None


def _unmarked(line: str) -> str:
    """``line`` without the comment that announces what it does; empty where it has nothing else."""
    rest = _COMMENT.sub("", line)
    return line if rest == line else f"{rest.rstrip()}\n" if rest.strip() else ""

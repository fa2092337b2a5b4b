"""The tree of a model as text: what is compiled, partly compiled or eager, a line for each submodule worth one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphdoctor.report.escaping import one_line
from graphdoctor.report.module_tree import Row, rows
from graphdoctor.report.wording import plural, share

if TYPE_CHECKING:
    from graphdoctor.model.runs import DynamicRun
    from graphdoctor.model.submodules import ModuleNode

#: Lines up to which the tree is shown without --tree.
FEW = 12
#: What has no operators to compile.
_EMPTY = {"no-operators": "no operators", "not-called": "not called"}


def lines(run: DynamicRun, full: bool) -> list[str]:
    """The tree, indented, in full or only what is not compiled as a whole, and then only where that is short."""
    shown = [row for row in rows(run.modules, full) if full or row.node.state not in _EMPTY]
    return [_line(row) for row in shown] if full or 1 < len(shown) <= FEW else []


def _line(row: Row) -> str:
    return "  " * row.level + one_line(f"{row.label} ({row.node.type}): {_facts(row.node)}")


def _facts(node: ModuleNode) -> str:
    operators = plural(node.operators, "operator")
    if node.state == "partly":
        facts = [f"{share(node.compiled_share)} of {operators} compiled"]
    else:
        facts = [_EMPTY.get(node.state) or f"{node.state}, {operators}"]
    if node.breaks:
        facts.append(plural(node.breaks, "graph break"))
    if node.compilations:
        facts.append(plural(node.compilations, "compilation"))
    return ", ".join(facts)

"""A branch on tensor data that decides whether a name is None: no operator chooses that. Not a rule."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from graphdoctor.fixes.analysis.selected_rows import rows_test
from graphdoctor.static.domain.events import Truth
from graphdoctor.syntax.walk import walk

from ._shared import function_named

_KEEP_MASK = "drop the test and keep `{}`: a mask that is false everywhere changes nothing where the code applies it"
_KEEP_TENSOR = (
    "`torch.where` cannot give None: make `{}` a tensor in each case, one that changes nothing where it is applied, "
    "and drop the test"
)


def advice(event: Truth) -> str:
    """What to do about a branch of which one side leaves a name None; empty for any other branch."""
    branch = event.branch
    if not isinstance(branch, cst.If):
        return ""
    code, targets = event.site.module.code, []
    for target, value in _assigned(branch):
        targets.append(target)
        if _is_none(value):
            return (_KEEP_MASK if _asks_of(target, branch) else _KEEP_TENSOR).format(code(target))
    missing = [target for target in targets if branch.orelse is None and _is_none_before(target, event, branch)]
    return _KEEP_TENSOR.format(code(missing[0])) if missing else ""


def _asks_of(target: cst.BaseExpression, branch: cst.If) -> bool:
    """``if not mask.any(): mask = None``."""
    asked = rows_test(branch.test)
    is_all = branch.orelse is None and len(branch.body.body) == 1
    return is_all and asked is not None and asked.is_mask and not asked.some and asked.of.deep_equals(target)


def _is_none_before(target: cst.BaseExpression, event: Truth, branch: cst.If) -> bool:
    """Whether the last plain assignment before the branch gives ``target`` None."""
    function, start = function_named(event), event.site.module.location(branch).line
    pairs = _assigned(function) if function is not None else ()
    before = [v for t, v in pairs if t.deep_equals(target) and event.site.module.location(v).line < start]
    return bool(before) and _is_none(before[-1])


def _assigned(code: cst.CSTNode) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """What the plain assignments in ``code`` give a value, each with the value, in the order of the source."""
    for node in walk(code):
        # ``isinstance`` of nodes, which are abstract base classes, is slow.
        if type(node) is cst.Assign and len(node.targets) == 1:
            yield node.targets[0].target, node.value
        elif type(node) is cst.AnnAssign and node.value is not None:
            yield node.target, node.value


def _is_none(value: cst.BaseExpression) -> bool:
    return isinstance(value, cst.Name) and value.value == "None"

"""A flag in a buffer that says whether the first call has set things up: compiled code takes it as set.

``if self.initted: return`` and ``if not self.initted: self.initialise(x)`` ask a tensor in each call, and only the
first call finds it unset. In eager nothing changes; compiled code checks the flag inside the graph and is the code
after it, so the first call is to be made before the model is compiled.
"""

from __future__ import annotations

import ast

import libcst as cst

from graphdoctor.fixes.analysis.attribute_writes import in_constructor, writes
from graphdoctor.fixes.analysis.conditions import conjuncts
from graphdoctor.fixes.analysis.purity import called
from graphdoctor.fixes.analysis.try_blocks import unhandled
from graphdoctor.fixes.analysis.types import is_tensor_like
from graphdoctor.fixes.branches.branch import branch_of
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk

_COMPILING = "torch.compiler.is_compiling()"
#: Functions that make a tensor of what they are given, or of one value.
_MADE_OF_ARGUMENT = ("tensor", "as_tensor", "full_like")
#: Classes of tensors: a list is what they hold, while a number is how much.
_MADE_OF_LIST = ("Tensor", "BoolTensor", "FloatTensor", "IntTensor", "LongTensor")
_MADE_OF_ONE = {"ones": True, "ones_like": True, "zeros": False, "zeros_like": False}


def take_as_set(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``if not self.initted: ...`` where all that ever writes ``self.initted`` makes it true.

    Raises Refuse where it does not fit.
    """
    branch = branch_of(hit.place, editor)
    if not isinstance(branch, cst.If):
        return Refusal("This is no branch on a flag.")
    operands = conjuncts(branch.test)
    tested = [(number, *found) for number, o in enumerate(operands) if (found := _flag(o)) is not None]
    if len(tested) > 1:
        # Beside the flag, Python may ask for one of its own, such as ``self.training``.
        tested = [found for found in tested if not _is_of_python(operands[found[0]], hit, editor)]
    if len(tested) != 1:
        raise Refuse("the branch does not test one flag of the module")
    if isinstance(editor.parent(branch), cst.If):
        raise Refuse("the branch on the flag is one of a longer chain")
    number, flag, is_negated = tested[0]
    if not any(node is hit.place for node in walk(operands[number])):
        raise Refuse("the branch tests more than a flag of the module")
    unhandled(branch, editor)
    truth = _settled(flag.attr.value, editor)
    others = [editor.code(o) for o in (*operands[:number], *operands[number + 1 :])]
    if number and any(isinstance(n, (cst.Call, cst.NamedExpr)) for o in operands[:number] for n in walk(o)):
        raise Refuse("what the branch tests before the flag may do more than compute a value")
    check = f"({editor.code(flag)} {'!=' if truth else '=='} 0).all()"
    message = f"{editor.code(flag)}: call the model once before it is compiled"
    lines = [f'torch._assert_async({check}, "{message}")']
    if others:
        lines = [f"if {' and '.join(others)}:", f"\t{lines[0]}"]
    text = editor.lines(editor.indent_of(branch), f"if {_COMPILING}:", *(f"\t{line}" for line in lines), "")
    edits = [*editor.torch_import(branch)]
    if truth != is_negated:
        # The branch is what always runs once the flag is set.
        edits.append(editor.insert_before(branch, text))
        either = f"{_COMPILING} or {editor.code(operands[number])}"
        edits.append(editor.replace(operands[number], f"({either})" if others else either))
    elif branch.orelse is not None:
        raise Refuse("the branch on the flag has another side")
    else:
        edits.append(editor.insert_before(branch, text + "el"))
    reason = (
        f"In eager nothing changes. Compiled code takes `{editor.code(flag)}` as set, and raises RuntimeError where it "
        "is not: make the first call before the model is compiled."
    )
    return FixPlan(tuple(edits), "unsafe", reason, known=("compile",))


def _is_of_python(operand: cst.BaseExpression, hit: Hit, editor: Editor) -> bool:
    """Whether ``operand`` is an attribute alone that is no tensor."""
    return isinstance(operand, cst.Attribute) and operand is not hit.place and not is_tensor_like(operand, editor)


def _flag(test: cst.BaseExpression) -> tuple[cst.Attribute, bool] | None:
    """``self.flag`` of ``not self.flag.item()``, and whether it is negated."""
    is_negated = False
    while True:
        if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
            test, is_negated = test.expression, not is_negated
        elif isinstance(test, cst.Call) and called(test) in ("item", "any", "all") and not test.args:
            if not isinstance(test.func, cst.Attribute):
                return None
            test = test.func.value
        elif isinstance(test, cst.Comparison) and (asked := _compared(test)) is not None:
            test, is_negated = test.left, is_negated != asked
        elif isinstance(test, cst.Call) and called(test) == "bool" and len(test.args) == 1:
            test = test.args[0].value
        elif isinstance(test, cst.Attribute) and isinstance(test.value, cst.Name) and test.value.value == "self":
            return test, is_negated
        else:
            return None


def _compared(test: cst.Comparison) -> bool | None:
    """Whether ``self.flag == 0`` asks for an unset flag, ``self.flag == 1`` for a set one; None for anything else."""
    if len(test.comparisons) != 1:
        return None
    (part,) = test.comparisons
    kinds = {cst.Equal: True, cst.NotEqual: False, cst.GreaterThan: False}
    negates = kinds.get(type(part.operator))
    if negates is None or not isinstance(part.comparator, cst.Integer) or part.comparator.value not in ("0", "1"):
        return None
    if part.comparator.value == "0":
        return negates
    return None if isinstance(part.operator, cst.GreaterThan) else not negates


def _settled(flag: str, editor: Editor) -> bool:
    """The value that every write outside of constructors gives the attribute ``flag``. Refuses where they differ."""
    written = [(node, value) for node, value in writes(flag, editor) if not in_constructor(node, editor)]
    for outer in (o for node, _ in written for o in editor.ancestors(node)):
        # ``if end >= self.size: self.full.fill_(1)`` waits for more calls; a flag of Python is the same in all.
        if isinstance(outer, cst.If) and _waits(outer.test, flag):
            raise Refuse(f"a later call than the first may be the one that sets `{flag}`")
    found = {_truth(value) for _, value in written}
    if len(found) != 1:
        raise Refuse(f"`{flag}` is not shown to be set once and for all")
    (truth,) = found
    if truth is None:
        raise Refuse(f"`{flag}` is set to what data decides")
    return truth


def _waits(test: cst.BaseExpression, flag: str) -> bool:
    """Whether ``test`` compares, and not the ``flag`` itself."""
    asks = any(isinstance(n, cst.Attribute) and n.attr.value == flag for n in walk(test))
    return not asks and any(isinstance(n, cst.Comparison) for n in walk(test))


def _truth(value: cst.BaseExpression | None) -> bool | None:
    """Whether a constant is true, also one in a tensor; None for what is no constant."""
    if isinstance(value, cst.Call):
        if called(value) in _MADE_OF_ONE:
            return _MADE_OF_ONE[called(value)]
        if called(value) in _MADE_OF_ARGUMENT and value.args:
            return _truth(value.args[-1 if called(value) == "full_like" else 0].value)
        is_list = len(value.args) == 1 and isinstance(value.args[0].value, (cst.List, cst.Tuple))
        return _truth(value.args[0].value) if is_list and called(value) in _MADE_OF_LIST else None
    if isinstance(value, (cst.List, cst.Tuple)):
        found = {_truth(element.value) for element in value.elements}
        return found.pop() if len(found) == 1 else None
    try:
        constant = ast.literal_eval(cst.Module([]).code_for_node(value)) if value is not None else None
    except (ValueError, SyntaxError):
        return None
    return bool(constant) if isinstance(constant, (bool, int, float)) else None

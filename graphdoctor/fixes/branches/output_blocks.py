"""Branches on tensor data that do nothing but write output: they stay in eager, and are left out under compile."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from graphdoctor.fixes.analysis.effects import trace
from graphdoctor.fixes.analysis.namespaces import READS_LOCALS, dotted_name
from graphdoctor.fixes.analysis.once_only import is_given_once
from graphdoctor.fixes.analysis.outputs import is_output, may_be_caught, more_than_output
from graphdoctor.fixes.analysis.purity import calls
from graphdoctor.fixes.branches import branch_arms
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.guards import EAGER_ONLY, LINE_LENGTH, operand_of_and, test_in, written
from graphdoctor.static.domain.events import ArgumentCall
from graphdoctor.static.domain.values import UNKNOWN, External
from graphdoctor.static.rule import FixPlan, Refusal
from graphdoctor.syntax.walk import walk


def guard_branch(branch: cst.CSTNode | None, editor: Editor) -> FixPlan | Refusal:
    """``if t.isnan().any(): print("nan")`` tests ``not torch.compiler.is_compiling()`` first."""
    if not isinstance(branch, cst.If) or editor.code(branch).startswith("elif"):
        return Refusal("This is no branch of its own.")
    lost = _lost(branch, editor)
    text = editor.lines(editor.indent_of(branch), f"if {EAGER_ONLY}:", f"\t{editor.deepen(branch)}")
    place = test_in(branch, editor) if branch.orelse is None else None
    if place is not None:
        first = f"if {EAGER_ONLY} and {operand_of_and(branch, place, editor)}"
        fits = len(editor.indent_of(branch)) + len(first.split(editor.newline)[0]) < LINE_LENGTH
        text = first + written(branch, editor)[place[1] :] if fits else text
    edits = (*editor.torch_import(branch), editor.replace(branch, text))
    if lost:
        return FixPlan(edits, "unsafe", f"Under compile this branch is left out, and `{lost[0]}` does not run either.")
    if is_given_once(branch, editor):
        reason = "Under compile this branch is left out, and noted as given, so a later eager call leaves it out too."
        return FixPlan(edits, "unsafe", reason)
    return FixPlan(edits, "safe", "In eager nothing changes; under compile this branch is left out.")


def output_call(statement: cst.Expr, editor: Editor) -> cst.Call:
    """The call of a statement that writes for people to read. Refuses any other."""
    call = statement.value
    if not isinstance(call, cst.Call) or not is_output(_name(call, editor)):
        raise Refuse(f"a side runs `{editor.code(statement)}`, which is not known to be output alone")
    if any(isinstance(node, (cst.Await, cst.Yield, cst.NamedExpr)) for node in walk(call)):
        raise Refuse(f"`{editor.code(call)}` awaits, yields or assigns")
    return call


def left_out(call: cst.Call, editor: Editor) -> str:
    """What more than output is lost where ``call`` is left out, as code; empty where nothing is known to be."""
    if more_than_output(_name(call, editor), call, editor):
        return editor.code(call)
    values = [editor.value(arg.value) for arg in call.args]
    return trace(call.args, values, [known for arg in call.args for known in called_in(arg, editor)], editor)


def _lost(node: cst.If, editor: Editor) -> list[str]:
    """The same for a whole branch. Refuses what does more than write output and name what it writes."""
    if any(isinstance(inner, (cst.Await, cst.Yield, cst.NamedExpr)) for inner in walk(node)):
        raise Refuse("the branch awaits, yields or assigns inside an expression")
    lost = [trace([node.test], (), called_in(node.test, editor), editor)]
    if may_be_caught(node, [node.test], editor):
        lost.append(editor.code(node.test))
    lost += _lost_of(node.body, editor)
    if isinstance(node.orelse, cst.If):
        lost += _lost(node.orelse, editor)
    elif node.orelse is not None:
        lost += _lost_of(node.orelse.body, editor)
    return [code for code in lost if code]


def _lost_of(body: cst.BaseSuite, editor: Editor) -> list[str]:
    lost: list[str] = []
    for statement in branch_arms.statements(body):
        if isinstance(statement, cst.If):
            lost += _lost(statement, editor)
        elif isinstance(statement, cst.Expr):
            lost.append(left_out(output_call(statement, editor), editor))
        elif isinstance(statement, cst.Assign) and len(statement.targets) == 1:
            target = statement.targets[0].target
            function = editor.function_of(body)
            if function is not None and any(editor.mentions(function, word) for word in READS_LOCALS):
                raise Refuse("the function reads its variables by name")
            if not isinstance(target, cst.Name) or not branch_arms.is_helper(target.value, body, editor):
                raise Refuse(f"`{editor.code(target)}` is used outside of the branch")
            lost.append(trace([statement.value], (), called_in(statement.value, editor), editor))
        elif isinstance(statement, cst.Import) and all(_is_quiet(n, body, editor) for n in statement.names):
            continue
        elif not isinstance(statement, cst.Pass):
            raise Refuse(f"a side {branch_arms.does(statement)}")
    return lost


#: Modules of Python that do nothing else when they are imported.
_QUIET = ("logging", "math", "os", "pdb", "sys", "time", "traceback", "warnings")


def _is_quiet(imported: cst.ImportAlias, body: cst.BaseSuite, editor: Editor) -> bool:
    """``import warnings`` where it is used: of a module that changes nothing else, and under a name of the block."""
    name = imported.evaluated_alias or imported.evaluated_name
    return imported.evaluated_name in _QUIET and branch_arms.is_helper(name, body, editor)


def called_in(code: cst.CSTNode, editor: Editor) -> list[ArgumentCall]:
    """What the calls in ``code`` call, as far as the interpreter knows."""
    return [
        ArgumentCall(
            call,
            editor.value(call.func),
            tuple(editor.value(a.value) for a in call.args if a.keyword is None),
            {a.keyword.value: editor.value(a.value) for a in call.args if a.keyword is not None},
        )
        for call in calls(code)
        if editor.value(call.func) != UNKNOWN and not any(a.star for a in call.args)
    ]


def _name(call: cst.Call, editor: Editor) -> str:
    """The function that is called, as the interpreter knows it, else as it is written."""
    callee = editor.value(call.func)
    return callee.qualname if isinstance(callee, External) else dotted_name(call.func, editor)


def guard_above(lines: Sequence[str]) -> str:
    """The line above the last of ``lines``, with a tab for each level, if that stands under one; else empty."""
    if not lines:
        return ""
    depth = len(lines[-1]) - len(lines[-1].lstrip("\t"))
    above = (line for line in reversed(lines) if not line.startswith("\t" * depth))
    return next(above, "") if depth else ""

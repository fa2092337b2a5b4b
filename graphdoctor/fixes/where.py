"""A choice between two values by tensor data becomes ``torch.where``: both sides are computed, one is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from graphdoctor.fixes import arms
from graphdoctor.fixes.conditions import Condition, Conditions
from graphdoctor.fixes.editor import Editor
from graphdoctor.fixes.errors import Refuse
from graphdoctor.fixes.layout import behind
from graphdoctor.fixes.purity import root
from graphdoctor.fixes.scope import names, parameters, target_names
from graphdoctor.model import Edit
from graphdoctor.source.walk import walk
from graphdoctor.static.rule import FixPlan, Hit, Refusal


def choose_with_where(branch: cst.If | cst.IfExp, hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """Two-armed assignments and returns, ``if t: x = f(x)``, and ``a if t else b``; ``elif`` chains nest."""
    try:
        chooser = _Chooser(hit, editor, branch)
        edit = chooser.expression(branch) if isinstance(branch, cst.IfExp) else chooser.statement(branch)
        return FixPlan((*editor.torch_import(branch), edit), "unsafe" if chooser.risks else "safe", chooser.reason)
    except Refuse as refusal:
        return Refusal(f"torch.where does not fit: {refusal}.")


@dataclass(frozen=True)
class _Case:
    """One condition of an ``elif`` chain and the block behind it."""

    test: cst.BaseExpression
    body: cst.BaseSuite


class _Chooser:
    """Builds the replacement and collects what may change by it."""

    def __init__(self, hit: Hit, editor: Editor, branch: cst.CSTNode) -> None:
        self.editor = editor
        self.branch = branch
        self.conditions = Conditions(editor, hit)
        self.risks: list[str] = []

    @property
    def reason(self) -> str:
        """Why the fix is safe, or what may change."""
        if not self.risks:
            return "Both sides are computed, with the same shape and dtype, and have no side effects."
        return f"Both sides are computed: {'; '.join(dict.fromkeys(self.risks))}."

    def expression(self, node: cst.IfExp) -> Edit:
        """``a if t else b``; nested ones nest."""
        if isinstance(node.orelse, cst.IfExp) or isinstance(node.body, cst.IfExp):
            raise Refuse("conditional expressions are nested; write them as one if chain")
        return self.editor.replace(node, self._choose(node.test, node.body, self.editor.code(node.orelse), node.orelse))

    def statement(self, node: cst.If) -> Edit:
        """An ``if`` statement whose arms all assign the same names, or all return."""
        if self.editor.code(node).startswith("elif"):
            raise Refuse("the condition is one of a longer chain")
        indent = self.editor.indent_of(node)
        cases, otherwise = _chain(node)
        if arms.is_return(node.body):
            return self._returns(node, cases, otherwise, indent)
        return self._assigns(node, cases, otherwise, indent)

    def _returns(self, node: cst.If, cases: Sequence[_Case], otherwise: cst.BaseSuite | None, indent: str) -> Edit:
        last: cst.CSTNode = node
        if otherwise is not None:
            value = arms.returned_value(otherwise)
        else:
            following = self.editor.following(node)
            small = following.body[0] if isinstance(following, cst.SimpleStatementLine) else None
            if not isinstance(small, cst.Return) or small.value is None or following is None:
                raise Refuse("the return of the other side does not follow directly")
            value, last = small.value, following
        text = self.editor.code(value)
        for case in reversed(cases):
            arm = arms.returned_value(case.body)
            text = self._choose(case.test, arm, text, value)
            value = arm
        comments = self._comments(node, last)
        line = self._line(indent, "return ", text)
        return self.editor.replace_span(node, last, self.editor.lines(indent, *comments, line))

    def _assigns(self, node: cst.If, cases: Sequence[_Case], otherwise: cst.BaseSuite | None, indent: str) -> Edit:
        made = [arms.assigned(case.body, self.editor) for case in cases]
        if otherwise is None and len(cases) == 1 and len(made[0].values) == 1:
            return self._one_sided(node, made[0], indent)
        blocks = [one.in_place for one in made]
        if otherwise is not None:
            blocks.append(arms.assigned(otherwise, self.editor).in_place)
        targets = list(blocks[0])
        if any(set(block) != set(targets) for block in blocks):
            raise Refuse("the sides assign different names")
        self._check_targets(node, targets)
        if otherwise is None:
            blocks.append({name: self._previous(node, name, blocks) for name in targets})
        lines = self._comments(node, node)
        tests = [(case.test, "") for case in cases]
        if len(targets) > 1 and any(arms.reads(case.test, t) for case in cases for t in targets):
            name, condition = self.editor.fresh("is_first_case"), self.conditions.split(cases[0].test)
            later = (arms.reads(case.test, t) for case in cases[1:] for t in targets)
            if condition.python or any(later):
                raise Refuse("the condition reads a name that a side assigns")
            lines.append(self._line(indent, f"{name} = ", condition.tensor))
            tests[0] = (cases[0].test, name)
        for number, target in enumerate(targets):
            values = [block[target] for block in blocks]
            if any(arms.reads(v, earlier) for v in values for earlier in targets[:number]):
                raise Refuse("a side uses a name that it has just assigned")
            text, value = self.editor.code(values[-1]), values[-1]
            for (test, name), arm in zip(reversed(tests), reversed(values[:-1]), strict=True):
                text = self._choose(test, arm, text, value, name)
                value = arm
            lines.append(self._line(indent, f"{target} = ", text))
        return self.editor.replace(node, self.editor.lines(indent, *lines))

    def _one_sided(self, node: cst.If, made: arms.Assigned, indent: str) -> Edit:
        """``if t: x = f(x)``: the Python part of the test stays an ``if``, and helpers keep their lines."""
        condition, values = self.conditions.split(node.test), made.in_place
        (name,) = values
        self._check_targets(node, [name])
        self._judge(condition, values[name], self._previous(node, name, [values]))
        inside = indent + self.editor.indent if condition.python else indent
        lines = [self._line(inside, f"{helper} = ", self.editor.code(value)) for helper, value in made.helpers.items()]
        text = f"torch.where({condition.tensor}, {self.editor.code(made.values[name])}, {name})"
        lines.append(self._line(inside, f"{name} = ", text))
        comments = self._comments(node, node)
        if condition.python:
            lines = [f"if {condition.python}:", *(f"\t{line}" for line in lines)]
        return self.editor.replace(node, self.editor.lines(indent, *comments, *lines))

    def _line(self, indent: str, start: str, value: str) -> str:
        return self.editor.statement(indent, start, behind(indent, value, self.editor.newline))

    def _choose(
        self,
        test: cst.BaseExpression,
        taken: cst.BaseExpression,
        other: str,
        other_node: cst.BaseExpression,
        name: str = "",
    ) -> str:
        """``torch.where(test, taken, other)``, behind the Python part of the test if it has one.

        ``name`` holds the test when it was computed before. A test that is known to be no tensor data stays Python.
        """
        if self._is_python(test):
            return f"({self.editor.code(taken)} if {self.editor.code(test)} else {other})"
        condition = self.conditions.split(test)
        self._judge(condition, taken, other_node)
        text = f"torch.where({name or condition.tensor}, {self.editor.code(taken)}, {other})"
        return f"({text} if {condition.python} else {other})" if condition.python else text

    def _judge(self, condition: Condition, taken: cst.BaseExpression, other: cst.BaseExpression) -> None:
        """Refuse sides that cannot both be computed, and note what may change when they are."""
        for value in (taken, other):
            arms.check(value, self.editor)
            self.risks.extend(arms.risks(value, self.editor))
        shapes = arms.shape_of(taken, self.editor), arms.shape_of(other, self.editor)
        if shapes[0] is None or not shapes[0].base or shapes[0] != shapes[1]:
            self.risks.append("the sides are not shown to have the same shape and dtype")
        if not condition.scalar:
            self.risks.append("the condition is not shown to be a 0-d tensor, so it may widen the result")

    def _is_python(self, test: cst.BaseExpression) -> bool:
        """``self.momentum == -1``: an attribute and a literal, in an ``elif`` behind a test of tensor data."""
        is_elif = self.editor.parent(test) is not self.branch and isinstance(self.branch, cst.If)
        if not is_elif or self.conditions.kinds.kind(test) is not None or not isinstance(test, cst.Comparison):
            return False
        right = test.comparisons[0].comparator
        literal = right.expression if isinstance(right, cst.UnaryOperation) else right
        is_literal = isinstance(literal, (cst.Integer, cst.Float, cst.SimpleString)) and len(test.comparisons) == 1
        return is_literal and isinstance(test.left, cst.Attribute) and root(test.left) == "self"

    def _check_targets(self, node: cst.If, targets: Sequence[str]) -> None:
        """Changes in place of what was assigned would now miss the original object."""
        function = self.editor.function_of(node)
        if function is None:
            raise Refuse("the code is not in a function")
        for other in walk(function):
            outer = other.names if type(other) is cst.Global or type(other) is cst.Nonlocal else ()
            if {n.name.value for n in outer} & set(targets):
                raise Refuse("a side assigns a name of an outer scope")
            changes = type(other) is cst.AugAssign and target_names(other.target) & set(targets)
            if changes or _is_in_place_call(other, targets):
                self.risks.append("a later change in place would act on the new tensor, not on the original")

    def _previous(self, node: cst.If, name: str, blocks: Sequence[dict[str, cst.BaseExpression]]) -> cst.BaseExpression:
        """Without an else, the other side is what ``name`` was before."""
        if "." in name:
            return cst.parse_expression(name)
        function = self.editor.function_of(node)
        assert function is not None
        start = self.editor.location(node)
        before = [a for a in self.editor.assignments(function, name) if self.editor.location(a) < start]
        params = parameters(function)
        if not before and name not in params:
            raise Refuse(f"`{name}` is not assigned before the branch")
        value = params[name] if not before else _plain_value(before[-1])
        reads_itself = any(name in names(block[name]) for block in blocks)
        if value is not None and not reads_itself:
            arms.check(value, self.editor)
        return cst.Name(name)

    def _comments(self, first: cst.CSTNode, last: cst.CSTNode) -> list[str]:
        """Comments of the replaced lines, kept above the new one."""
        start, end = self.editor.location(first), self.editor.location(last)
        nodes = [first] if first is last else [first, last]
        return [
            comment for node in nodes for place, comment in self.editor.module.comments(node)
            if (start.line, start.column) <= (place.line, place.column) < (end.end_line, end.end_column)
        ]  # fmt: skip


def _chain(node: cst.If) -> tuple[list[_Case], cst.BaseSuite | None]:
    """The cases of an ``if``/``elif`` chain, and its ``else`` block."""
    cases = [_Case(node.test, node.body)]
    other = node.orelse
    while isinstance(other, cst.If):
        cases.append(_Case(other.test, other.body))
        other = other.orelse
    return cases, other.body if other is not None else None


def _plain_value(assignment: cst.CSTNode) -> cst.BaseExpression | None:
    """The value of ``name = value``; None for other ways to bind a name."""
    if isinstance(assignment, cst.Assign) and all(isinstance(t.target, cst.Name) for t in assignment.targets):
        return assignment.value
    return None


def _is_in_place_call(node: cst.CSTNode, targets: Sequence[str]) -> bool:
    """``x.add_(1)`` on one of the names."""
    if type(node) is not cst.Call or not isinstance(node.func, cst.Attribute):
        return False
    receiver, method = node.func.value, node.func.attr.value
    return isinstance(receiver, cst.Name) and receiver.value in targets and method.endswith("_")

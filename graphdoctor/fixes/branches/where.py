"""A choice between two values by tensor data becomes ``torch.where``: both sides are computed, one is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import libcst as cst

from graphdoctor.fixes.analysis.conditions import Conditions, conjuncts
from graphdoctor.fixes.analysis.held_before import values_before
from graphdoctor.fixes.analysis.purity import calls, root
from graphdoctor.fixes.analysis.types import is_number
from graphdoctor.fixes.branches import branch_arms
from graphdoctor.fixes.branches.match_cases import as_branches
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.guards import LINE_LENGTH
from graphdoctor.fixes.core.layout import indented
from graphdoctor.fixes.core.scope import names, parameters, target_names
from graphdoctor.fixes.proof.choice import Choice, before, unproved
from graphdoctor.fixes.proof.terms import Term, term
from graphdoctor.model.findings import Edit
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk


def choose_with_where(branch: cst.If | cst.IfExp | cst.Match, hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """Two-armed assignments and returns, ``if t: x = f(x)``, and ``a if t else b``; ``elif`` chains nest."""
    try:
        chooser = _Chooser(hit, editor, branch)
        edit = chooser.expression(branch) if isinstance(branch, cst.IfExp) else chooser.statement(branch)
        edits = (*editor.torch_import(branch), edit)
        if chooser.is_safe:
            return FixPlan(edits, "safe", chooser.reason)
        return FixPlan(edits, "unsafe", chooser.reason, known=("zero_gradients",))
    except Refuse as refusal:
        return Refusal(f"torch.where does not fit: {refusal}.")


@dataclass(frozen=True)
class _Case:
    """One condition of an ``elif`` chain and the block after it."""

    test: cst.BaseExpression
    body: cst.BaseSuite


@dataclass(frozen=True)
class _Test:
    """The condition of one choice."""

    node: cst.BaseExpression
    #: It is the first of its chain.
    is_first: bool = True
    #: The name that holds it, where it was computed before.
    name: str = ""


@dataclass(frozen=True)
class _Side:
    """A value to choose: its code, which may itself be a choice, and what is proved of it."""

    text: str
    value: cst.BaseExpression
    term: Term | None


class _Chooser:
    """Builds the replacement and collects what may change by it."""

    def __init__(self, hit: Hit, editor: Editor, branch: cst.CSTNode) -> None:
        self.editor = editor
        self.branch = branch
        self.conditions = Conditions(editor, hit)
        self.risks: list[str] = []
        self.unproved: list[str] = []

    @property
    def is_safe(self) -> bool:
        """Whether everything is proved that a safe fix needs."""
        return not self.risks and not self.unproved

    @property
    def reason(self) -> str:
        """Why the fix is safe, or what may change."""
        if self.is_safe:
            return "Both sides are computed; proved to have the same shape, dtype and gradients, and no side effects."
        return f"Both sides are computed: {'; '.join(dict.fromkeys([*self.risks, *self.unproved]))}."

    def expression(self, node: cst.IfExp) -> Edit:
        """``a if t else b``; nested ones nest."""
        if isinstance(node.orelse, cst.IfExp) or isinstance(node.body, cst.IfExp):
            raise Refuse("conditional expressions are nested; write them as one if chain")
        other = _Side(self.editor.code(node.orelse), node.orelse, term(node.orelse, self.editor))
        return self.editor.replace(node, self._choose(_Test(node.test), self._side(node.body), other).text)

    def statement(self, node: cst.If | cst.Match) -> Edit:
        """An ``if`` or ``match`` statement whose arms all assign the same names, or all return."""
        if self.editor.code(node).startswith("elif"):
            raise Refuse("the condition is one of a longer chain")
        indent = self.editor.indent_of(node)
        cases, otherwise = _chain(as_branches(node, self.editor) if isinstance(node, cst.Match) else node)
        if not branch_arms.is_return(cases[0].body):
            return self._assigns(node, cases, otherwise, indent)
        run = self._run_of_returns(node) if isinstance(node, cst.If) else []
        if len(run) > 1:
            return self._returns(run, [_Case(branch.test, branch.body) for branch in run], None, indent)
        return self._returns([node], cases, otherwise, indent)

    def _run_of_returns(self, node: cst.If) -> list[cst.If]:
        """The branches that stand one after the other with ``node``, and do nothing but return, by tensor data."""
        block = self.editor.parent(node)
        lines = list(block.body) if isinstance(block, cst.IndentedBlock) else [node]
        run: list[cst.If] = []
        for line in lines:
            is_one = isinstance(line, cst.If) and line.orelse is None and branch_arms.is_return(line.body)
            if isinstance(line, cst.If) and is_one and self.conditions.types.kind(line.test) is not None:
                run.append(line)
            elif node in run:
                break
            else:
                run = []
        return run if node in run else [node]

    def _returns(
        self, nodes: Sequence[cst.If | cst.Match], cases: Sequence[_Case], otherwise: cst.BaseSuite | None, indent: str
    ) -> Edit:
        last: cst.CSTNode = nodes[-1]
        checks: Sequence[cst.Assert] = ()
        if otherwise is not None:
            checks, value = branch_arms.checks_before_return(otherwise, self.editor)
        else:
            following = self.editor.following(last)
            small = following.body[0] if isinstance(following, cst.SimpleStatementLine) else None
            if not isinstance(small, cst.Return) or small.value is None or following is None:
                raise Refuse("the return of the other side does not follow directly")
            value, last = small.value, following
        chosen = other = self._side(value)
        for case in reversed(cases):
            returned = self._side(branch_arms.returned_value(case.body))
            chosen = self._choose(_Test(case.test, case is cases[0]), returned, chosen)
        comments = self._comments(*nodes, *([last] if last is not nodes[-1] else []))
        if checks:
            self.risks.append("what is asserted for one side holds for both")
            comments += [self.editor.code(check) for check in checks]
        lines = [self._line(indent, "return ", chosen.text)]
        python = self.conditions.split(cases[0].test).python if len(cases) == 1 else ""
        end = f" if {python} else {other.text})"
        if python and chosen.text.endswith(end) and len(indent + chosen.text) > LINE_LENGTH:
            inner = chosen.text[1 : -len(end)]
            lines = [f"if {python}:", "\t" + self._line(indent + self.editor.indent, "return ", inner)]
            lines.append(self._line(indent, "return ", other.text))
        return self.editor.replace_span(nodes[0], last, self.editor.lines(indent, *comments, *lines))

    def _assigns(
        self, node: cst.If | cst.Match, cases: Sequence[_Case], otherwise: cst.BaseSuite | None, indent: str
    ) -> Edit:
        made = [branch_arms.assigned(case.body, self.editor) for case in cases]
        if otherwise is None and len(cases) == 1 and len(made[0].values) == 1:
            return self._one_sided(node, cases[0].test, made[0], indent)
        blocks = [one.in_place for one in made]
        if otherwise is not None:
            blocks.append(branch_arms.assigned(otherwise, self.editor).in_place)
        targets = list(blocks[0])
        if any(set(block) != set(targets) for block in blocks):
            raise Refuse("the sides assign different names")
        self._check_targets(node, targets)
        lines = self._comments(node)
        tests = self._bound_tests(cases, targets, indent, lines)
        for number, target in enumerate(targets):
            values = [block[target] for block in blocks]
            if any(branch_arms.reads(v, earlier) for v in values for earlier in targets[:number]):
                raise Refuse("a side uses a name that it has just assigned")
            sides = [self._side(value) for value in values]
            if otherwise is None:
                sides.append(self._previous(node, target, blocks))
            chosen = sides[-1]
            for case, arm in zip(reversed(cases), reversed(sides[:-1]), strict=True):
                chosen = self._choose(_Test(case.test, case is cases[0], tests[case]), arm, chosen, target)
            lines.append(self._line(indent, f"{target} = ", chosen.text))
        return self.editor.replace(node, self.editor.lines(indent, *lines))

    def _bound_tests(
        self, cases: Sequence[_Case], targets: Sequence[str], indent: str, lines: list[str]
    ) -> dict[_Case, str]:
        """Names for the conditions, in ``lines`` before the choices, where each is tested more than once."""
        if len(targets) == 1:
            return dict.fromkeys(cases, "")
        bound = {}
        for number, case in enumerate(cases):
            condition = self.conditions.split(case.test)
            if condition.python and (any(calls(case.test)) or any(branch_arms.reads(case.test, t) for t in targets)):
                raise Refuse("the condition reads a name that a side assigns, or calls a function, more than once")
            bound[case] = ""
            if not isinstance(case.test, cst.Name) or case.test.value in targets:
                bound[case] = self.editor.fresh("condition" if number == 0 else f"condition{number + 1}")
                lines.append(self._line(indent, f"{bound[case]} = ", condition.without_dimensions(condition.tensor)))
        return bound

    def _one_sided(
        self, node: cst.If | cst.Match, test: cst.BaseExpression, made: branch_arms.Assigned, indent: str
    ) -> Edit:
        """``if t: x = f(x)``: the Python part of the test stays an ``if``, and helpers keep their lines."""
        condition, values = self.conditions.split(test), made.in_place
        (name,) = values
        self._check_targets(node, [name])
        self._judge(_Test(test), self._side(values[name]), self._previous(node, name, [values]), name)
        inside = indent + self.editor.indent if condition.python else indent
        lines = [self._line(inside, f"{helper} = ", self.editor.code(value)) for helper, value in made.helpers.items()]
        chosen = condition.without_dimensions(condition.tensor)
        text = f"torch.where({chosen}, {self.editor.code(made.values[name])}, {name})"
        lines.append(self._line(inside, f"{name} = ", text))
        comments = self._comments(node)
        if condition.python:
            lines = [f"if {condition.python}:", *(f"\t{line}" for line in lines)]
        return self.editor.replace(node, self.editor.lines(indent, *comments, *lines))

    def _line(self, indent: str, start: str, value: str) -> str:
        if (
            self.editor.newline not in value
            and isinstance(node := cst.parse_expression(value), cst.IfExp)
            and node.lpar
        ):
            value = value[1:-1]
        return self.editor.statement(indent, start, indented(indent, value, self.editor.newline))

    def _side(self, value: cst.BaseExpression) -> _Side:
        return _Side(self.editor.code(value), value, term(value, self.editor))

    def _choose(self, test: _Test, taken: _Side, other: _Side, target: str = "") -> _Side:
        """``torch.where(test, taken, other)``, after the Python part of the test if it has one.

        A test that is known to be no tensor data stays Python.
        """
        if self._is_python(test.node):
            return replace(taken, text=f"({taken.text} if {self.editor.code(test.node)} else {other.text})")
        condition = self.conditions.split(test.node)
        self._judge(test, taken, other, target)
        text = f"torch.where({test.name or condition.without_dimensions(condition.tensor)}, {taken.text}, {other.text})"
        return replace(taken, text=f"({text} if {condition.python} else {other.text})" if condition.python else text)

    def _judge(self, test: _Test, taken: _Side, other: _Side, target: str) -> None:
        """Refuse what cannot be computed when Python would not, and note what may change when it is."""
        for side in (taken, other):
            branch_arms.check(side.value, self.editor)
            self.risks.extend(branch_arms.risks(side.value, self.editor))
        branch_arms.check_part(taken.value, other.value, self.editor)
        if is_number(taken.value, self.editor) and is_number(other.value, self.editor):
            self.risks.append("Python numbers become tensors of torch's default dtype")
        skipped = self._also_computed(test.node) if test.is_first else [test.node]
        for operand in skipped:
            branch_arms.check_calls(operand, self.editor)
            self.risks.extend(branch_arms.risks(operand, self.editor))
        if "." in target:
            self.risks.append(f"`{target}` keeps the result, with what its gradient needs, beyond this call")
        choice = Choice(test.node, taken.term, other.term, test.is_first)
        self.unproved.extend(unproved(choice, target, self.branch, self.editor))

    def _also_computed(self, test: cst.BaseExpression) -> list[cst.BaseExpression]:
        """The operands of ``and`` that Python may skip, and the rewritten code does not: those after the first that is
        tensor data, before which the others still decide.
        """
        operands = conjuncts(test)
        first = next((n for n, operand in enumerate(operands) if self.conditions.types.kind(operand) is not None), 0)
        return operands[first + 1 :]

    def _is_python(self, test: cst.BaseExpression) -> bool:
        """``self.momentum == -1``: an attribute and a literal, in an ``elif`` after a test of tensor data."""
        is_elif = self.editor.parent(test) is not self.branch and isinstance(self.branch, cst.If)
        if not is_elif or self.conditions.types.kind(test) is not None or not isinstance(test, cst.Comparison):
            return False
        right = test.comparisons[0].comparator
        literal = right.expression if isinstance(right, cst.UnaryOperation) else right
        is_literal = isinstance(literal, (cst.Integer, cst.Float, cst.SimpleString)) and len(test.comparisons) == 1
        return is_literal and isinstance(test.left, cst.Attribute) and root(test.left) == "self"

    def _check_targets(self, node: cst.If | cst.Match, targets: Sequence[str]) -> None:
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

    def _previous(self, node: cst.If | cst.Match, name: str, blocks: Sequence[dict[str, cst.BaseExpression]]) -> _Side:
        """Without an else, the other side is what ``name`` was before."""
        if "." in name:
            return _Side(name, cst.parse_expression(name), None)
        function = self.editor.function_of(node)
        assert function is not None
        start = self.editor.location(node)
        earlier = [a for a in self.editor.assignments(function, name) if self.editor.location(a) < start]
        if not earlier and name not in parameters(function):
            raise Refuse(f"`{name}` is not assigned before the branch")
        if not any(name in names(block[name]) for block in blocks):
            for value in values_before(name, node, self.editor):
                branch_arms.check(value, self.editor)
        return _Side(name, cst.Name(name), before(name, node, self.editor))

    def _comments(self, *nodes: cst.CSTNode) -> list[str]:
        """Comments of the replaced lines, kept above the new one."""
        end, found = self.editor.location(nodes[-1]), list[str]()
        for node in nodes:
            above = getattr(node, "leading_lines", ()) if node is not nodes[0] else ()
            found += [empty.comment.value for empty in above if empty.comment is not None]
            inside = self.editor.module.comments(node)
            found += [text for at, text in inside if (at.line, at.column) < (end.end_line, end.end_column)]
        return found


def _chain(node: cst.If) -> tuple[list[_Case], cst.BaseSuite | None]:
    """The cases of an ``if``/``elif`` chain, and its ``else`` block."""
    cases = [_Case(node.test, node.body)]
    other = node.orelse
    while isinstance(other, cst.If):
        cases.append(_Case(other.test, other.body))
        other = other.orelse
    return cases, other.body if other is not None else None


def _is_in_place_call(node: cst.CSTNode, targets: Sequence[str]) -> bool:
    """``x.add_(1)`` on one of the names."""
    if type(node) is not cst.Call or not isinstance(node.func, cst.Attribute):
        return False
    receiver, method = node.func.value, node.func.attr.value
    return isinstance(receiver, cst.Name) and receiver.value in targets and method.endswith("_")

"""A branch on tensor data whose sides do several things, as code without a branch.

The test gets a name, and each statement of a side becomes one under it, in order::

    condition = h.abs().max() > 100
    if not torch.compiler.is_compiling() and condition:
        log.warning("large")
    h = torch.where(condition, h.clamp(-100, 100), h)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import libcst as cst

from graphdoctor.fixes.analysis.conditions import Condition, Conditions, tight
from graphdoctor.fixes.analysis.held_before import is_bound_before, values_before
from graphdoctor.fixes.analysis.purity import called, calls
from graphdoctor.fixes.analysis.types import read_names
from graphdoctor.fixes.branches import branch_arms
from graphdoctor.fixes.branches.branch_arms import Under
from graphdoctor.fixes.branches.finite_gradients import kept_finite, operands
from graphdoctor.fixes.branches.match_cases import as_branches
from graphdoctor.fixes.branches.output_blocks import guard_above, left_out, output_call
from graphdoctor.fixes.branches.same_end import one_name, read_in, rest_of_round, same_end, sides, with_rest
from graphdoctor.fixes.branches.stores import (
    assignments,
    counts_in_python,
    in_place_value,
    is_own_store,
    one_place,
    stored_value,
    swapped_names,
)
from graphdoctor.fixes.core.comments import Comments
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.guards import EAGER_ONLY
from graphdoctor.fixes.core.layout import indented
from graphdoctor.fixes.core.scope import names
from graphdoctor.model.findings import Edit
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import find


def flatten_branch(branch: cst.CSTNode | None, hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """An ``if`` whose sides assign, write output, and branch again, in any order."""
    if not isinstance(branch, (cst.If, cst.Match)) or editor.code(branch).startswith("elif"):
        return Refusal("This is no branch of its own.")
    flat = Flat(hit, editor, branch)
    flat.branch_off(flat.first, None, 0)
    flat.store()
    edit = flat.edit(*flat.rest)
    reason = f"Both sides are computed: {'; '.join(dict.fromkeys(flat.risks))}."
    edits = (*editor.torch_import(branch), edit)
    return FixPlan(edits, "unsafe", reason, known=("zero_gradients",), guards_output=not flat.is_lossy)


class Flat:
    """Builds the lines, and collects what may change by them."""

    def __init__(self, hit: Hit, editor: Editor, branch: cst.If | cst.Match) -> None:
        function = editor.function_of(branch)
        if function is None:
            raise Refuse("the code is not in a function")
        self.editor = editor
        self.branch = branch
        #: What the round of a loop does where the branch does not go on with the next one: that is its other side.
        self.rest = rest_of_round(branch, editor)
        #: The branch as an ``if`` with its ``elif`` and ``else``.
        self.first = as_branches(branch, editor) if isinstance(branch, cst.Match) else with_rest(branch, self.rest)
        self.function = function
        self.indent = editor.indent_of(branch)
        self.conditions = Conditions(editor, hit)
        self._read = read_names(hit).names
        self.risks = [
            "the side not taken may raise, make gradients NaN, or zero for None, or change the result's dtype or shape",
            "the result is a new tensor where it may have been another one, which a later write would show",
        ]
        #: Whether more than output is left out under compile.
        self.is_lossy = False
        self._lines: list[str] = []
        self._bound: set[str] = set()
        self._comments = Comments(branch, editor)
        self._python: set[cst.If] = set()
        self._names = 0
        #: What each side ends with, a value for the same list or the same entry of a dict, and how one gets there.
        self._ends, self._store = same_end(self.first, editor)
        self._end = editor.fresh("chosen")

    def edit(self, *following: cst.BaseStatement) -> Edit:
        """The edit that puts the lines in place of the branch, and of the statements ``following`` it."""
        comments = self._comments.left()
        for line in following:
            above = line.leading_lines if isinstance(line, (cst.SimpleStatementLine, cst.BaseCompoundStatement)) else ()
            comments += [empty.comment.value for empty in above if empty.comment is not None]
            comments += [text for _, text in self.editor.module.comments(line)]
        lines = self.editor.lines(self.indent, *comments, *self._lines)
        return self.editor.replace_span(self.branch, following[-1] if following else self.branch, lines)

    def branch_off(self, node: cst.If, under: Under | None, depth: int) -> None:
        """``node``, which stands under ``under`` where it is inside a side. Raises Refuse where it does not fit."""
        condition = self._known(node.test, under)
        if condition is None:
            self._python_if(node, under, depth)
            return
        if condition.python:
            if node.orelse is not None:
                raise Refuse("Python decides whether the tensor is tested, and there is an else")
            self._add(depth, f"if {condition.python}:")
            depth += 1
        name = self._name()
        test = self._lasting(condition)
        self.bind(depth, name, f"{under.as_tensor} & {tight(test)}" if under is not None else test)
        if under is None and self._either(node, name):
            return
        self._block(node.body, Under(name, True, depth))
        if node.orelse is None:
            return
        other = Under(name, False, depth)
        if under is not None:
            second = self._name()
            self.bind(depth, second, f"{under.as_tensor} & ~{name}")
            other = Under(second, True, depth)
        self._else(node.orelse, other)

    def _either(self, node: cst.If, condition: str) -> bool:
        """``y = a`` and, in the ``else``, ``y = b`` as one choice; False for sides that do more."""
        made = one_name(node)
        if made is None:
            return self._either_place(node, condition)
        for statement in made:
            branch_arms.check(statement.value, self.editor)
        branch_arms.check_part(made[0].value, made[1].value, self.editor)
        name = self.editor.code(made[0].targets[0].target)
        chosen = (self.computed(s.value, Under(condition, s is made[0], 0)) for s in made)
        self.bind(0, name, f"torch.where({condition}, {', '.join(chosen)})")
        self._bound.add(name)
        return True

    def _either_place(self, node: cst.If, condition: str) -> bool:
        """``y[0] /= 2`` and, in the ``else``, ``y[0] *= 2`` as one write of a choice; False for sides that do more."""
        found = one_place(node, self.editor)
        if found is None:
            return False
        target, one, other = found
        branch_arms.check_calls(cst.parse_expression(other), self.editor)
        chosen = f"torch.where({condition}, {one}, {other})"
        is_part = target.endswith("]")
        start, value = (f"{target} = ", chosen) if is_part else ("", f"{target}.copy_({chosen})")
        self._write(target, one, Under(condition, True, 0), self.editor.statement(self.indent, start, value))
        return True

    def condition(self, node: cst.If) -> Under:
        """The test of ``node``, as a name for what follows. Where Python decides not to ask it, the name is None."""
        condition = self.conditions.split(node.test)
        name = self._name()
        depth = 0
        if condition.python:
            self._add(0, f"{name} = None")
            self._add(0, f"if {condition.python}:")
            depth = 1
        self.bind(depth, name, self._lasting(condition))
        return Under(name, True, depth)

    def _lasting(self, condition: Condition) -> str:
        """The code of a test as one bool, copied where it is a tensor that the function may write in place."""
        test = condition.tensor
        is_plain = isinstance(cst.parse_expression(test), (cst.Name, cst.Attribute))
        receivers = (
            c.func.value for c in calls(self.function) if isinstance(c.func, cst.Attribute) and called(c)[-1:] == "_"
        )
        written = {self.editor.code(r).removesuffix(".data") for r in receivers}
        return condition.without_dimensions(f"{test}.clone()" if is_plain and test in written else test)

    def _else(self, orelse: cst.If | cst.Else, under: Under) -> None:
        if isinstance(orelse, cst.If):
            self.branch_off(orelse, under, under.depth)
        else:
            self._block(orelse.body, under)

    def _python_if(self, node: cst.If, under: Under | None, depth: int) -> None:
        """A branch inside a side that depends on no tensor stays a branch."""
        if under is None:
            raise Refuse(f"it is not clear which part of `{self.editor.code(node.test)}` is tensor data")
        branch_arms.check_calls(node.test, self.editor)
        self._python.add(node)
        self._add(depth, f"if {self.editor.code(node.test)}:")
        before = set(self._bound)
        self._block(node.body, replace(under, depth=depth + 1))
        self._bound = before
        if node.orelse is not None:
            self._add(depth, "else:")
            self._else(node.orelse, replace(under, depth=depth + 1))
            self._bound = before

    def _known(self, test: cst.BaseExpression, under: Under | None) -> Condition | None:
        """The test in its parts; None where a test inside a side is not known to be tensor data."""
        if under is not None:
            branch_arms.check_calls(test, self.editor)
            if self.conditions.types.kind(test) is None:
                return None
        return self.conditions.split(test)

    def _block(self, block: cst.BaseSuite, under: Under) -> None:
        before = len(self._lines)
        self.statements(branch_arms.statements(block), block, under)
        if all(line.lstrip().startswith("#") for line in self._lines[before:]):
            self._add(under.depth, "pass")

    def statements(self, small: Iterable[cst.CSTNode], block: cst.BaseSuite, under: Under) -> None:
        """Lines for the statements ``small`` of ``block``."""
        for statement in small:
            for comment in self._comments.take(statement):
                self._add(under.depth, comment)
            if isinstance(statement, cst.If):
                if not self._stays_eager(statement, under):
                    self.branch_off(statement, under, under.depth)
            elif statement in self._ends:
                self._choose_end(self._ends[statement], under)
            elif isinstance(statement, cst.Expr):
                if not self._in_place(statement, under):
                    self._effect(statement, under)
            elif is_own_store(statement, branch_arms.outside(block, self._python, self.editor), self.editor):
                self._add(under.depth, self.editor.code(statement))
            elif not isinstance(statement, cst.Pass) and not self._written(statement, under):
                for target, value in assignments(statement, self.editor):
                    self._assign(target, value, block, under)

    def _stays_eager(self, statement: cst.If, under: Under) -> bool:
        """Calls under ``if not torch.compiler.is_compiling():`` stay as they are, under the condition too."""
        lines = list(branch_arms.statements(statement.body))
        is_eager = self.editor.code(statement.test) == EAGER_ONLY and statement.orelse is None
        if not is_eager or not all(isinstance(line, cst.Expr) for line in lines):
            return False
        for line in lines:
            self._guarded(self.editor.code(line), under)
        return True

    def _choose_end(self, value: cst.BaseExpression, under: Under) -> None:
        """The value that a side ends with, chosen between those of the sides before."""
        branch_arms.check(value, self.editor)
        code = self.computed(value, under)
        self.bind(under.depth, self._end, under.choose(code, self._end) if self._end in self._bound else code)
        self._bound.add(self._end)

    def store(self) -> None:
        """After all sides, what they end with is done once, with the value that was chosen."""
        if self._store:
            self._add(0, self._store.format(self._end))

    def _in_place(self, statement: cst.Expr, under: Under) -> bool:
        """``y.clamp_(0, 1)`` as ``y.copy_(...)`` of a choice; False for what is no such call."""
        written = in_place_value(statement, self.editor)
        if written is None:
            return False
        target, value = written
        self._write(target, value, under, f"{target}.copy_({under.choose(value, target)})")
        return True

    def _written(self, statement: cst.CSTNode, under: Under) -> bool:
        """A store into a part of a tensor or a buffer, which stays one, and several names at once."""
        if self._counts(statement, under):
            return True
        stored = stored_value(statement, self.editor)
        if stored is not None:
            target, value = stored
            is_part = target.endswith("]")
            chosen = under.choose(value, target)
            self._write(target, value, under, f"{target} = {chosen}" if is_part else f"{target}.copy_({chosen})")
            return True
        return self._swapped(statement, under)

    def _swapped(self, statement: cst.CSTNode, under: Under) -> bool:
        """Names that are bound in one statement, because their values read each other: ``a, b = b, a + b``."""
        pairs = swapped_names(statement, self.editor)
        bound = {name for name, _ in pairs}
        if not any(names(side) & bound for _, side in pairs):
            return False
        for name, side in pairs:
            branch_arms.check(side, self.editor)
            if self._is_new(name):
                raise Refuse(f"`{name}` is not assigned before the branch")
        chosen = ", ".join(under.choose(self.computed(side, under), name) for name, side in pairs)
        self._add(under.depth, f"{', '.join(name for name, _ in pairs)} = {chosen}")
        self._bound |= bound
        return True

    def _write(self, target: str, value: str, under: Under, line: str) -> None:
        node = cst.parse_expression(value)
        branch_arms.check_calls(node, self.editor)
        self.risks.append(f"`{target}` is written in each call")
        self._add(under.depth, line)

    def _counts(self, statement: cst.CSTNode, under: Under) -> bool:
        """``self.bad += 1`` of a Python number stays in eager."""
        if not counts_in_python(statement, self.editor):
            return False
        self.is_lossy = True
        self._guarded(self.editor.code(statement), under)
        self.risks.append(f"under compile `{self.editor.code(statement)}` is left out")
        return True

    def _effect(self, statement: cst.Expr, under: Under) -> None:
        call = output_call(statement, self.editor)
        self.is_lossy = self.is_lossy or bool(left_out(call, self.editor))
        self._guarded(self.editor.code(statement), under)
        self.risks.append("under compile nothing is written")

    def _guarded(self, code: str, under: Under) -> None:
        guard = f"if {EAGER_ONLY} and {under.as_test}:"
        if guard_above(self._lines) != "\t" * under.depth + guard:
            self._add(under.depth, guard)
        self._add(under.depth + 1, code)

    def _assign(
        self, target: cst.BaseExpression, value: cst.BaseExpression, block: cst.BaseSuite, under: Under
    ) -> None:
        name = self.editor.code(target)
        branch_arms.check_tensor(value, self.editor)
        branch_arms.check_calls(value, self.editor)
        if isinstance(self.editor.parent(target), cst.AugAssign):
            self.risks.append(f"`{name}` is no longer changed in place")
        elif "." in name:
            self.risks.append(f"`{name}` keeps the result, with what its gradient needs, beyond this call")
        code = self.computed(value, under)
        is_first = self._is_new(name) or self._is_given_anew(name, block)
        is_helper = branch_arms.is_local(name, branch_arms.outside(block, self._python, self.editor), self.editor)
        if is_first and not is_helper and not self._in_each_side(name, block):
            raise Refuse(f"`{name}` is not assigned before the branch")
        plain = is_first or is_helper
        if not plain:
            branch_arms.check_size(value, self.editor)
            branch_arms.check_part(value, target, self.editor)
        if not plain and name not in self._bound:
            self._check_before(name)
        self.bind(under.depth, name, code if plain else under.choose(code, name))
        self._bound.add(name)

    def computed(self, value: cst.BaseExpression, under: Under) -> str:
        """The code of a value that is computed in each call, and taken ``under`` a condition."""
        found = operands(value, self.editor, self._read)
        self.risks.extend(branch_arms.risks(value, self.editor, found))
        return kept_finite(value, found, under.as_tensor, self.editor)

    def _check_before(self, name: str) -> None:
        """Refuse a name that holds None or another object before the branch."""
        if "." in name and any(
            branch_arms.asks_for_none(test, name, self.editor) for test in find(self.function, cst.Comparison)
        ):
            raise Refuse(f"`{name}` may be None before the branch")
        for value in values_before(name, self.branch, self.editor):
            branch_arms.check_tensor(value, self.editor)

    def _is_new(self, name: str) -> bool:
        return name not in self._bound and not is_bound_before(name, self.branch, self.editor)

    def _is_given_anew(self, name: str, block: cst.BaseSuite) -> bool:
        """Whether ``name`` is an attribute that each side assigns and none reads: what it held before is not kept."""
        if "." not in name or name in self._bound or not self._in_each_side(name, block):
            return False
        values = [value for side in sides(self.first) if side is not None for value in read_in(side)]
        return not any(branch_arms.reads(value, name) for value in values)

    def _in_each_side(self, name: str, block: cst.BaseSuite) -> bool:
        """Whether ``block`` is a side of the whole branch, and each of the others gives ``name`` a value first."""
        every = list(sides(self.first))
        if block not in every or not isinstance(every[-1], cst.BaseSuite):
            return False
        return all(any(name == n for n in self._assigned(side)) for side in every if side is not None)

    def _assigned(self, block: cst.BaseSuite) -> Iterator[str]:
        for statement in branch_arms.statements(block):
            for target in statement.targets if isinstance(statement, cst.Assign) else ():
                several = target.target.elements if isinstance(target.target, cst.Tuple) else [target.target]
                yield from map(self.editor.code, several)

    def _name(self) -> str:
        self._names += 1
        return self.editor.fresh("condition" if self._names == 1 else f"condition{self._names}")

    def fresh(self, name: str) -> str:
        """A name that is used neither in the file nor by this rewrite."""
        number = sum(line.lstrip("\t").startswith(name) for line in self._lines)
        return self.editor.fresh(f"{name}{number + 1}" if number else name)

    def add(self, line: str) -> None:
        """Add a line as it is."""
        self._add(0, line)

    def bind(self, depth: int, name: str, value: str) -> None:
        """Add the line ``name = value``."""
        indent = self.indent + depth * self.editor.indent
        text = self.editor.statement(indent, f"{name} = ", indented(indent, value, self.editor.newline))
        self._add(depth, text)

    def _add(self, depth: int, line: str) -> None:
        self._lines.append("\t" * depth + line)

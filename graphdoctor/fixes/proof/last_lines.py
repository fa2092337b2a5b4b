"""The lines up to the last return of a function, after one that data decides: what they do where they always run.

They give values to names, and change what they have made themselves: ``nll = -logp.gather(1, y)`` and then
``nll.masked_fill_(pad, 0)``, ``losses = []`` and then ``losses.append(v)``. Nothing that was there before shows that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import libcst as cst

from graphdoctor.fixes.analysis.purity import PURE, called, calls, is_pure, is_torch_function, root, words
from graphdoctor.fixes.analysis.types import is_number
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import target_names
from graphdoctor.fixes.proof.terms import operator_of

#: Operators whose result shares memory with nothing that they are given.
_NEW = words("""
    add baddbmm bmm cat clamp cross_entropy cumsum div empty_like eye full full_like gather index_select l1_loss
    log_softmax logsumexp masked_fill matmul mm mse_loss mul new_full new_ones new_zeros one_hot ones pow rand rand_like
    randn randn_like scatter scatter_add smooth_l1_loss softmax stack sub tril triu zeros
""")
#: Methods that give a part of a tensor, or the same in another shape.
_VIEWS = words("expand flatten float narrow permute reshape select squeeze t to transpose unsqueeze view view_as")


@dataclass(frozen=True)
class Rest:
    """What the lines compute, the names that they bind, and the value of the return after them."""

    values: Sequence[cst.BaseExpression]
    bound: frozenset[str]
    end: cst.BaseExpression


def rest_of(branch: cst.If | cst.For, editor: Editor) -> Rest:
    """The lines after ``branch`` up to the last return. Refuses lines that do more."""
    function, block = editor.function_of(branch), editor.parent(branch)
    if function is None or block is not function.body or not isinstance(block, cst.IndentedBlock):
        raise Refuse("the return stands in a loop or a block of its own")
    following = _small(block.body[list(block.body).index(branch) + 1 :])
    last = following[-1] if following else None
    if not isinstance(last, cst.Return) or last.value is None:
        raise Refuse("the function does not end in the return of a value")
    lines = _Lines(editor)
    lines.run(following[:-1])
    return Rest(tuple(dict.fromkeys(lines.values)), frozenset(lines.bound), last.value)


@dataclass
class _Lines:
    """Goes through the lines in order."""

    editor: Editor
    values: list[cst.BaseExpression] = field(default_factory=list)
    bound: set[str] = field(default_factory=set)
    #: Names of the tensors and numbers that the lines have made, on every path so far, and of lists.
    made: set[str] = field(default_factory=set)
    lists: set[str] = field(default_factory=set)

    def run(self, statements: Sequence[cst.CSTNode]) -> None:
        """Refuses what is seen from outside."""
        for statement in statements:
            if isinstance(statement, cst.Assign) and all(_is_names(t.target) for t in statement.targets):
                self._assign(statement)
            elif isinstance(statement, cst.AugAssign) and self._is_own(statement.target):
                self.values.append(statement.value)
                self.bound |= target_names(statement.target)
            elif isinstance(statement, cst.Expr) and self._changes_own(statement.value):
                pass
            elif isinstance(statement, cst.If):
                self._branch(statement)
            elif isinstance(statement, cst.For) and self._is_plain(statement):
                self._loop(statement)
            elif not isinstance(statement, cst.Pass):
                raise Refuse(f"line {self.editor.location(statement).line} does more than assign a name")

    def _assign(self, statement: cst.Assign) -> None:
        self.values.append(statement.value)
        names = frozenset(name for target in statement.targets for name in target_names(target.target))
        is_one = len(statement.targets) == 1 and isinstance(statement.targets[0].target, cst.Name)
        is_list = is_one and isinstance(statement.value, cst.List)
        is_new = is_one and self._is_new(statement.value)
        self.bound |= names
        self.made = self.made | names if is_new else self.made - names
        self.lists = self.lists | names if is_list else self.lists - names

    def _branch(self, branch: cst.If) -> None:
        """A branch that Python decides."""
        self.values.append(branch.test)
        before = set(self.made), set(self.lists)
        self.run(_small(branch.body.body))
        after = self.made, self.lists
        self.made, self.lists = before
        if isinstance(branch.orelse, cst.If):
            self._branch(branch.orelse)
        elif branch.orelse is not None:
            self.run(_small(branch.orelse.body.body))
        self.made, self.lists = self.made & after[0], self.lists & after[1]

    def _loop(self, loop: cst.For) -> None:
        """A loop of any number of rounds: what the lines made is what they made in each of them."""
        self.bound |= target_names(loop.target)
        before: tuple[set[str], set[str]] | None = None
        while before != (self.made, self.lists):
            before = self.made - target_names(loop.target), self.lists - target_names(loop.target)
            self.made, self.lists = before
            self.run(_small(loop.body.body))
            self.made, self.lists = self.made & before[0], self.lists & before[1]

    def _is_plain(self, loop: cst.For) -> bool:
        """Whether what ``loop`` goes over does nothing but give values, and names hold them."""
        is_quiet = all(is_pure(c, self.editor, python=True) or root(c.func) == "self" for c in calls(loop.iter))
        return loop.orelse is None and loop.asynchronous is None and _is_names(loop.target) and is_quiet

    def _is_own(self, target: cst.BaseExpression) -> bool:
        """``y += x`` and ``y[0] += x`` of what the lines made, or of a number, which is not changed in place."""
        if isinstance(target, cst.Subscript):
            return isinstance(target.value, cst.Name) and target.value.value in self.made
        return isinstance(target, cst.Name) and (target.value in self.made or is_number(target, self.editor))

    def _changes_own(self, call: cst.BaseExpression) -> bool:
        """``y.masked_fill_(m, 0).mul_(2)`` and ``losses.append(x)``."""
        while isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute):
            name, owner = called(call), call.func.value
            self.values += [argument.value for argument in call.args]
            if name == "append":
                return isinstance(owner, cst.Name) and owner.value in self.lists
            if name.removesuffix("_") == name or name.removesuffix("_") not in PURE:
                return False
            if isinstance(owner, cst.Name):
                return owner.value in self.made
            call = owner
        return False

    def _is_new(self, value: cst.BaseExpression) -> bool:
        """Whether nothing that was there before shares memory with ``value``, a tensor or a number."""
        if isinstance(value, cst.Name):
            return value.value in self.made
        if isinstance(value, cst.UnaryOperation):
            return not isinstance(value.operator, cst.Plus)
        if isinstance(value, cst.Subscript):
            return self._is_new(value.value)
        if not isinstance(value, cst.Call):
            return isinstance(value, (cst.BinaryOperation, cst.Integer, cst.Float))
        if any(a.star or (a.keyword is not None and a.keyword.value in ("inplace", "out")) for a in value.args):
            return False
        if called(value) in _VIEWS and isinstance(value.func, cst.Attribute) and not _is_module(value, self.editor):
            return self._is_new(value.func.value)
        operator = operator_of(value, self.editor)
        return is_pure(value, self.editor) and (called(value) in _NEW or (operator is not None and operator.fresh))


def _is_module(call: cst.Call, editor: Editor) -> bool:
    """``torch.squeeze(x)`` and ``self.to(x)``: what it is called on is no tensor."""
    return is_torch_function(call, editor) or root(call.func) == "self"


def _small(lines: Sequence[cst.CSTNode]) -> list[cst.CSTNode]:
    return [s for line in lines for s in (line.body if isinstance(line, cst.SimpleStatementLine) else [line])]


def _is_names(target: cst.BaseExpression) -> bool:
    if isinstance(target, cst.Tuple):
        return all(isinstance(element.value, cst.Name) for element in target.elements)
    return isinstance(target, cst.Name)

"""Follows a number that becomes a 0-d tensor through the code that uses it, and rewrites the uses that need it.

The number is followed up to arithmetic with another tensor, whose result was a tensor before. Where it would reach code
that needs a Python number (an index, a caller, an attribute), ``Refuse`` is raised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import libcst as cst

from graphdoctor.fixes.analysis.conditions import Conditions, negate, receiver, tight
from graphdoctor.fixes.analysis.namespaces import dotted_name
from graphdoctor.fixes.analysis.outputs import is_output
from graphdoctor.fixes.analysis.purity import called, is_torch_function, root
from graphdoctor.fixes.analysis.types import Kind, ReadNames, is_tensor_like
from graphdoctor.fixes.analysis.uses import empty_list, is_only_appended, is_only_written, uses
from graphdoctor.fixes.branches.asserts import assert_in_graph, only_statement
from graphdoctor.fixes.branches.branch import branch_of
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import names
from graphdoctor.fixes.loops.by_number import choice
from graphdoctor.fixes.tensors import moved_writes
from graphdoctor.fixes.tensors import number_functions as functions
from graphdoctor.fixes.tensors import number_parts as parts
from graphdoctor.fixes.tensors.returned_numbers import helper_of
from graphdoctor.model.findings import Edit
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.static.rule import FixPlan, Hit, Refusal

OTHER = "the number is used where a tensor may mean something else"


class Flow:
    """Collects the edits of one rewrite. What is ``drawn`` has 64 bits, as functions of ``math`` where ``wide``."""

    def __init__(self, hit: Hit, editor: Editor, wide: bool = False, drawn: bool = False) -> None:
        self.hit = hit
        self.editor = editor
        self.wide = wide
        self.drawn = drawn
        #: Whether a function of ``math`` became one of torch.
        self.has_math = False
        self.conditions = Conditions(editor, hit)
        self.edits: list[Edit] = []
        #: Expressions that are written in another way, also in the tests of branches.
        self.written: dict[cst.CSTNode, str] = {}
        self._names: dict[str, Kind] = {}
        #: Names that hold tensors from now on, whatever they held before.
        self.tensors: set[str] = set()
        self._made: set[cst.CSTNode] = set()
        #: Where the number was followed to: the tensors that it is computed with; None for any other place.
        self._ends: list[cst.BaseExpression | None] = []
        #: What was rewritten as a whole: the branches of chains, and names in the messages of asserts.
        self._chained: set[cst.CSTNode] = set()

    def follow(self, node: cst.BaseExpression, text: str, kind: Kind = "tensor") -> None:
        """``node``, written as ``text``, is a tensor from now on: go on with the code around it.

        Raises Refuse where it does not fit.
        """
        if self._in_choice(node):
            return
        if node not in self._chained and self._in_branch(node):
            self._ends.append(None)
            return
        if self._shown(node, text) or self._raised(node, text):
            return
        user = self.editor.parent(node)
        if isinstance(user, cst.ComparisonTarget):
            user = self.editor.parent(user)
        if not self._computed(user, node, text, kind):
            self._ends.append(None)
            self._used(user, node, text, kind)

    def _computed(self, user: cst.CSTNode | None, node: cst.BaseExpression, text: str, kind: Kind) -> bool:
        """Go on with arithmetic, a call or an assignment, which note where the number ends; False if it is none."""
        if isinstance(user, cst.BinaryOperation):
            self._operand(user, node, text, kind)
        elif isinstance(user, cst.UnaryOperation):
            self._unary(user, text, kind)
        elif isinstance(user, cst.AugAssign) and user.value is node:
            self._added(user, node, text)
        elif isinstance(user, cst.Arg):
            self._argument(user, node, text, kind)
        elif isinstance(user, cst.Assign):
            self._assigned(user, node, text, kind)
        else:
            return False
        return True

    def _used(self, user: cst.CSTNode | None, node: cst.BaseExpression, text: str, kind: Kind) -> None:
        """Go on with what uses the number in another way. Raises Refuse where that needs a number of Python."""
        if isinstance(user, (cst.Element, cst.ListComp)):
            self._element(user, node, text)
        elif isinstance(user, cst.Return):
            self._returned(node, text, kind)
        elif isinstance(user, cst.Comparison):
            self._comparison(user, node, text)
        elif isinstance(user, cst.Match):
            self.branch(user)
        elif isinstance(user, (cst.Slice, cst.Index)):
            self.edits += [e for e in moved_writes.placed(node, text, self.hit, self.editor) if e not in self.edits]
        elif isinstance(user, cst.BooleanOperation):
            raise Refuse("Python's and/or of the number gives one of its operands")
        else:
            raise Refuse(OTHER)

    def math(self, call: cst.Call, name: str, first: str, rest: str = "") -> None:
        """``call`` of a function of ``math`` is one of torch from now on. Raises Refuse where it does not fit."""
        kind: Kind = "bool" if name.startswith("is") else "tensor"
        if kind == "tensor":
            self.has_math = True
            first = f"{receiver(first)}.double()" if self.wide else first
        self.follow(call, f"torch.{functions.MATH[name]}({first}{rest})", kind)

    def number(self, use: cst.Name) -> None:
        """``use`` reads a name that held a number and holds a 0-d tensor now. Raises Refuse where it does not fit."""
        self._names[use.value] = "tensor"
        self.follow(use, use.value)

    def number_of(self, node: cst.BaseExpression, text: str) -> None:
        """``node`` was a number of Python, and is the 0-d tensor ``text`` now. Raises Refuse where it does not fit."""
        self.written[node] = text
        self.follow(node, text)

    def tensor(self, node: cst.BaseExpression) -> None:
        """``node`` is a tensor from now on."""
        self._made.add(node)

    def ends_beside_floats(self) -> bool:
        """Whether all that was followed ended in arithmetic with a floating tensor, whose dtype the result has."""
        known = [(end, tensor_of(self.editor.value(end)) if end is not None else None) for end in self._ends]
        return bool(known) and all(
            t is not None and t.dtype == "float" and (bool(t.ndim) or isinstance(end, cst.Name)) for end, t in known
        )

    def _rounded(self, text: str, other: cst.BaseExpression) -> str:
        """A number of 64 bits beside ``other``: a tensor without dimensions would take its dtype."""
        return functions.beside(text, other, self.drawn, self.wide and self.has_math, self.editor)

    def sequence(self, name_or_list: cst.BaseExpression) -> None:
        """The elements of the list at ``name_or_list`` are tensors from now on, or it is a tensor itself.

        Raises Refuse where it does not fit.
        """
        user = self.editor.parent(name_or_list)
        if isinstance(user, cst.Assign):
            for use in () if is_only_written(user, self.editor) else self._uses(user):
                self.sequence(use)
        elif isinstance(user, cst.Subscript) and user.value is name_or_list and parts.reads_one(user, self.editor):
            self.follow(user, self.editor.code(user))
        elif isinstance(user, (cst.For, cst.CompFor)):
            self._looped(user, user.target)
        elif isinstance(user, cst.Arg):
            self._list_passed(user)
        elif not isinstance(user, cst.Attribute) or user.attr.value != "append":
            raise Refuse(OTHER)

    def _list_passed(self, arg: cst.Arg) -> None:
        """The list is an argument: of a function that takes numbers and tensors alike."""
        call = self.editor.parent(arg)
        if not isinstance(call, cst.Call):
            raise Refuse(OTHER)
        name, loop = called(call), self.editor.parent(call)
        is_name = isinstance(call.func, cst.Name)
        if is_name and name in ("enumerate", "zip") and isinstance(loop, (cst.For, cst.CompFor)):
            self._looped(loop, parts.target_beside(arg, call, loop))
        elif is_name and name in ("max", "min", "sum") and len(call.args) == 1:
            self.follow(call, self.editor.code(call))
        elif name not in ("tensor", "stack", "len") or any(a.star or a.keyword is None for a in call.args[1:]):
            raise Refuse(parts.ARGUMENT)

    def _looped(self, loop: cst.For | cst.CompFor, target: cst.BaseExpression) -> None:
        """A loop goes over the elements, of which ``target`` is one."""
        function = self.editor.function_of(loop)
        if not isinstance(target, cst.Name) or function is None:
            raise Refuse(OTHER)
        name = target.value
        if len(self.editor.assignments(function, name)) != 1 or name in self._names:
            raise Refuse(f"`{name}` is assigned more than once")
        self._names[name] = "tensor"
        for use in self.editor.mentions(function, name):
            if use is not target and not self.editor.is_label(use):
                self.follow(use, name)

    def branch(self, branch: cst.CSTNode | None) -> None:
        """A branch on the number becomes a branch on a tensor, and is rewritten as such.

        Raises Refuse where it does not fit.
        """
        if branch in self._chained:
            return
        plan: FixPlan | Refusal
        hit = replace(self.hit, data=ReadNames(dict(self._names), self.written))
        if isinstance(branch, cst.If) and isinstance(only_statement(branch.body), cst.Raise):
            plan = assert_in_graph(branch, hit, self.editor)
        elif isinstance(branch, (cst.If, cst.IfExp, cst.Match)):
            plan = choice(branch, hit, self.editor)
        elif isinstance(branch, cst.Assert):
            plan = parts.asserted(branch, set(self._names), self._chained, hit, self.editor)
        else:
            raise Refuse("the number decides how often a loop runs")
        if isinstance(plan, Refusal):
            raise Refuse(f"the number decides a branch; {plan.reason[:1].lower()}{plan.reason[1:].rstrip('.')}")
        self.edits += [edit for edit in plan.edits if edit not in self.edits]
        while isinstance(branch, cst.If):
            self._chained.add(branch)
            branch = branch.orelse

    def _shown(self, node: cst.BaseExpression, text: str) -> bool:
        """A number that is only shown: read there, in a line that compiled code leaves out, or shown alike."""
        statement = next((n for n in self.editor.ancestors(node) if isinstance(n, cst.BaseSmallStatement)), None)
        call = statement.value if isinstance(statement, cst.Expr) else None
        if not isinstance(statement, cst.Expr) or not isinstance(call, cst.Call):
            return False
        if not is_output(dotted_name(call.func, self.editor)):
            return False
        if not any(isinstance(n, cst.If) and names(n.test) & set(self._names) for n in self.editor.ancestors(node)):
            self._guarded(statement, node, text)
            return True
        # The branch is rewritten with its lines as they are.
        parts.check_shown(node, call, self.editor)
        return True

    def _raised(self, node: cst.BaseExpression, text: str) -> bool:
        """A number in the message of an error that the number decides, which is raised in eager alone."""
        if not isinstance(node, cst.Name) or not parts.is_raised(node, set(self._names), self.editor):
            return isinstance(node, cst.Name) and node in self._chained  # In an assert that is rewritten.
        self._replace(node, f"{receiver(text)}.item()")
        return True

    def _guarded(self, statement: cst.Expr, node: cst.BaseExpression, text: str) -> None:
        """The statement stays in eager, and reads the number there."""
        before = self.editor.code(statement)
        after = parts.reading_it(statement, node, text, self.editor) if isinstance(node, cst.Name) else before
        for edit in self.editor.guard(statement):
            edit = replace(edit, text=edit.text.replace(before, after))
            self.edits += [edit] if edit not in self.edits else []

    def _in_choice(self, node: cst.BaseExpression) -> bool:
        """``math.log(n) if n > 0 else 1.0``: one value of two that are computed of the number."""
        whole = next((outer for outer in self.editor.ancestors(node) if isinstance(outer, cst.IfExp)), None)
        if whole in self._chained:
            return True
        conditions = Conditions(self.editor, replace(self.hit, data=ReadNames(dict(self._names), self.written)))
        text = functions.one_of_two(whole, self._names, self.wide, conditions, self.editor) if whole is not None else ""
        if whole is None or not text:
            return False
        self._chained.add(whole)
        self.has_math |= text.count("torch.") > 1
        self.editor.torch_import(whole)
        self.follow(whole, text)
        return True

    def _in_branch(self, node: cst.BaseExpression) -> bool:
        branch = branch_of(node, self.editor)
        if branch is not None:
            self.branch(branch)
        return branch is not None

    def _operand(self, user: cst.BinaryOperation, node: cst.BaseExpression, text: str, kind: Kind) -> None:
        other = user.right if user.left is node else user.left
        if isinstance(other, (cst.BaseString, cst.List, cst.Tuple, cst.BaseComp)):
            raise Refuse(OTHER)
        parts.check_operand(other, self.tensors, self._made, self.editor)
        if parts.is_tensor(other, self.tensors, self._made, self.editor):
            self._replace(node, self._rounded(text, other))
            self._ends.append(other)
            return
        if kind == "bool" and not isinstance(user.operator, (cst.BitAnd, cst.BitOr, cst.BitXor)):
            text = functions.counted(text)
        left, right = (text, self.editor.code(other)) if user.left is node else (self.editor.code(other), text)
        operator = self.editor.module.tree.code_for_node(user.operator)
        inner = f"{left}{operator}{right}"
        self.follow(user, f"({inner})" if user.lpar else inner)

    def _unary(self, user: cst.UnaryOperation, text: str, kind: Kind) -> None:
        if isinstance(user.operator, cst.Not):
            self.follow(user, negate(text) if kind == "bool" else f"({text} == 0)", "bool")
        else:
            number = functions.counted(text) if kind == "bool" else text
            inner = self.editor.module.tree.code_for_node(user.operator) + number
            self.follow(user, f"({inner})" if user.lpar else inner)

    def _returned(self, node: cst.BaseExpression, text: str, kind: Kind) -> None:
        """The function returns a tensor, and all code of the file that calls it goes on with one."""
        helper = helper_of(node, self.hit.place, self.editor)
        self._replace(node, parts.copied(text, node, self.editor))
        self.edits += helper.edits
        for call, written in helper.calls:
            self.written[call] = written
            self.follow(call, written, kind)

    def _comparison(self, user: cst.Comparison, node: cst.BaseExpression, text: str) -> None:
        """``ok = t.item() > 3``: the bool that Python had is a tensor of bools, as it was beside a tensor."""
        no_order = (cst.In, cst.NotIn, cst.Is, cst.IsNot)
        if len(user.comparisons) > 1 or isinstance(user.comparisons[0].operator, no_order):
            raise Refuse("the number is compared in more than one way at once")
        operator = self.editor.module.tree.code_for_node(user.comparisons[0].operator)
        other = user.comparisons[0].comparator if user.left is node else user.left
        parts.check_operand(other, self.tensors, self._made, self.editor)
        if is_tensor_like(other, self.editor):
            self._replace(node, text)
            return
        sides = (text, self.editor.code(other)) if user.left is node else (self.editor.code(other), text)
        self.follow(user, f"({sides[0]}{operator}{sides[1]})", "bool")

    def _argument(self, user: cst.Arg, node: cst.BaseExpression, text: str, kind: Kind) -> None:
        call = self.editor.parent(user)
        if not isinstance(call, cst.Call) or user.star:
            raise Refuse(parts.ARGUMENT)
        name, alone = called(call), len(call.args) == 1
        position = [a.value for a in call.args].index(node)
        if functions.asks_for_tensor(call, user, position, self.editor):
            self._ends.append(None)
            self._replace(node, text)
        elif isinstance(call.func, cst.Name) and not is_torch_function(call, self.editor):
            self.follow(call, functions.of_builtin(call, user, text, kind, self._names, self.editor))
        elif root(call.func) == "math" and name in functions.MATH and alone:
            self.editor.torch_import(call)
            self.math(call, name, text)
        elif root(call.func) == "math" and name in functions.MATH_OF_TWO and len(call.args) == 2 and position == 0:
            other = call.args[1].value
            if name in ("atan2", "hypot") and not is_tensor_like(other, self.editor):
                raise Refuse(f"`torch.{name}` takes no number")
            self.editor.torch_import(call)
            self.math(call, name, text, f", {self.editor.code(other)}")
        else:
            self._ends.append(None)
            self._taken(call, user, node, text)

    def _taken(self, call: cst.Call, user: cst.Arg, node: cst.BaseExpression, text: str) -> None:
        """A function of torch, or a list, takes the tensor in place of the number."""
        name, position = called(call), [a.value for a in call.args].index(node)
        if name in ("tensor", "as_tensor") and is_torch_function(call, self.editor) and position == 0:
            rest = ", ".join(self.editor.code(a.value if a.keyword is None else a).rstrip(", ") for a in call.args[1:])
            self._replace(call, f"{tight(text)}.clone()" + (f".to({rest})" if rest else ""))
        elif name == "append" and isinstance(call.func, cst.Attribute) and isinstance(call.func.value, cst.Name):
            self._replace(node, parts.copied(text, node, self.editor))
            self._list_name(call.func.value)
        elif name == "append" and is_only_appended(call.func, self.editor):
            self._replace(node, f"{tight(text)}.clone()")
        elif functions.takes_tensor(call, user, position, self._names, self.editor):
            self._replace(node, text)
        else:
            raise Refuse(parts.ARGUMENT)

    def _assigned(self, user: cst.Assign, node: cst.BaseExpression, text: str, kind: Kind) -> None:
        target = user.targets[0].target
        if isinstance(target, cst.Subscript) and len(user.targets) == 1 and is_tensor_like(target.value, self.editor):
            self._replace(node, text)
            self._ends.append(None)
            return
        if is_only_written(user, self.editor):
            # A copy: the tensor may be one that is changed in place. Arithmetic has made a new one.
            self._replace(node, text if isinstance(node, cst.BinaryOperation) else f"{tight(text)}.clone()")
            return
        self._replace(node, parts.copied(text, node, self.editor))
        for use in self._uses(user, kind):
            self.follow(use, use.value, kind)

    def _added(self, user: cst.AugAssign, node: cst.BaseExpression, text: str) -> None:
        """``x += n`` of a tensor, and ``self.total += n``."""
        place = user.target.value if isinstance(user.target, cst.Subscript) else user.target
        if not is_tensor_like(place, self.editor) and not is_only_written(user, self.editor):
            raise Refuse(OTHER)
        parts.check_operand(user.target, self.tensors, self._made, self.editor)
        self._replace(node, text)
        self._ends.append(user.target)

    def _element(self, user: cst.Element | cst.ListComp, node: cst.BaseExpression, text: str) -> None:
        self._replace(node, text)
        outer: cst.CSTNode | None = user if isinstance(user, cst.ListComp) else self.editor.parent(user)
        if not isinstance(outer, (cst.ListComp, cst.List, cst.Tuple)):
            raise Refuse(OTHER)
        self.sequence(outer)

    def _list_name(self, name: cst.Name) -> None:
        """The list that a number is appended to: bound once, and used as a list of tensors can be."""
        listed = empty_list(name, self.editor)
        if name.value not in self._names:
            self.sequence(listed)

    def _uses(self, assign: cst.Assign, kind: Kind = "tensor") -> Sequence[cst.Name]:
        """The places that read the one name that ``assign`` binds."""
        found = uses(assign, self.editor)
        self._names[self.editor.code(assign.targets[0].target)] = kind
        return found

    def _replace(self, node: cst.BaseExpression, text: str) -> None:
        if text != self.editor.code(node):
            is_bare = isinstance(self.editor.parent(node), cst.Assign) and self.editor.newline not in text
            if (node.lpar or is_bare) and cst.parse_expression(text).lpar:
                text = text[1:-1]  # The parentheses of the source stay; the value of a name needs none.
            self.edits.append(self.editor.narrowed(node, text))

"""Expressions on what one mask selects, over the full shape: ``((a[m] - b[m]) ** 2).mean()``.

Where the mask is false, 1 stands in place of what is there, so that neither a logarithm nor its gradient is NaN; sums
and means leave those places out.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from graphdoctor.fixes.analysis.purity import POINTWISE, called, is_torch_function, words
from graphdoctor.fixes.analysis.types import assigned
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import names
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.static.domain.values import UNKNOWN, Tensor, TorchModule
from graphdoctor.syntax.walk import children, find

_POINTWISE = POINTWISE | words("double float half int long ones_like to zeros_like")
_LOSSES = words("""
    binary_cross_entropy binary_cross_entropy_with_logits huber_loss l1_loss mse_loss smooth_l1_loss soft_margin_loss
""")
_COUNTS = words("nelement numel")
_CLASSES = words("cross_entropy nll_loss")
#: Methods that give what a mask selects another shape, where it is not known how much that is.
_VIEWS = words("reshape view")
#: Reductions to one number, and what stands in them for what is left out.
_REDUCTIONS = {"sum": "0", "mean": "0", "any": "False", "all": "True"}
#: The functions of layers that compute a loss, by the name of the layer.
_LOSS_MODULES = {
    "BCELoss": "binary_cross_entropy",
    "BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
    "HuberLoss": "huber_loss",
    "L1Loss": "l1_loss",
    "MSELoss": "mse_loss",
    "SmoothL1Loss": "smooth_l1_loss",
    "SoftMarginLoss": "soft_margin_loss",
}
_MODULES = (TorchModule("torch.nn.CrossEntropyLoss"), TorchModule("torch.nn.NLLLoss"))


class Masked:
    """Writes expressions anew. ``names`` are those that hold selected values; ``keep`` is the mask for all of them."""

    def __init__(self, mask: cst.BaseExpression, keep: str, editor: Editor) -> None:
        self.mask = mask
        self.keep = keep
        self.editor = editor
        self.names: set[str] = set()
        #: Those of ``names`` that hold all rows from now on, for a loss that leaves out the others.
        self.unselected: frozenset[str] = frozenset()
        #: Whether something stands in place of what is left out, and whether a loss gets labels that it ignores.
        self.fills = self.ignores = False
        #: How many dimensions what is selected from has, where all have as many.
        self.ndim: int | None = None
        #: Names for what is selected from, where it had none.
        self.named: dict[cst.CSTNode, str] = {}
        #: Names that hold one number, which was summed over selected values.
        self.reduced: set[str] = set()

    def holds(self, node: cst.CSTNode) -> bool:
        """Whether ``node`` is or has something that is selected."""
        if isinstance(node, cst.Name):
            return node.value in self.names
        if self._leaf(node) is not None:
            return True
        if isinstance(node, cst.Subscript):
            indices = (name for part in node.slice for name in names(part))
            return self.holds(node.value) or not self.names.isdisjoint(indices)
        return any(self.holds(child) for child in _operands(node))

    def _leaf(self, node: cst.CSTNode) -> cst.BaseExpression | None:
        """What the mask selects from, where ``node`` selects, also in other rows: ``x[m].view(-1, 4)``."""
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and called(node) in _VIEWS:
            node = node.func.value if [self._code(a) for a in node.args[:1]] == ["-1"] else node
        return selected_from(node, self.mask, self.editor)

    def number(self, node: cst.BaseExpression) -> cst.BaseExpression:
        """``node``, which may have sums and means of what is selected, and is none itself."""
        if isinstance(node, cst.Call):
            reduced = self._reduced(node)
            if reduced is not None:
                return reduced
        if not self.holds(node):
            return node
        if isinstance(node, cst.Call) and self._leaf(node) is None:
            if self.holds(node.func) and not isinstance(node.func, cst.Attribute):
                raise Refuse(f"`{self._code(node)}` calls what the mask selects")
            arguments = [a.with_changes(value=self.number(a.value)) for a in node.args]
            func = node.func
            if isinstance(func, cst.Attribute):
                func = func.with_changes(value=self.number(func.value))
            return node.with_changes(func=func, args=arguments)
        if isinstance(node, cst.BinaryOperation):
            return node.with_changes(left=self._count(node.left), right=self._count(node.right))
        if isinstance(node, cst.UnaryOperation):
            return node.with_changes(expression=self.number(node.expression))
        if isinstance(node, (cst.Tuple, cst.List)):
            return node.with_changes(elements=[e.with_changes(value=self.number(e.value)) for e in node.elements])
        raise Refuse(f"`{self._code(node)}` is used as it is, and its size depends on the data")

    def _count(self, node: cst.BaseExpression) -> cst.BaseExpression:
        """``x[m].numel()`` in arithmetic, where a tensor may stand in place of the number; and other numbers."""
        counted = node.func.value if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) else None
        if not isinstance(node, cst.Call) or called(node) not in _COUNTS or counted is None or not self.holds(counted):
            return self.number(node)
        self.full(counted)
        return _parse(f"{self.keep}.sum()")

    def full(self, node: cst.BaseExpression) -> cst.BaseExpression:
        """``node``, which is selected, over the full shape."""
        leaf = self._leaf(node)
        if leaf is not None and (isinstance(node, cst.Call) or not self.holds(leaf)):
            self.fills = True
            return _parse(f"torch.where({self.keep}, {self.named.get(leaf) or self._code(leaf)}, 1)")
        if isinstance(node, cst.Name) and node.value in self.names:
            return node
        if isinstance(node, cst.BinaryOperation) and not isinstance(node.operator, cst.MatrixMultiply):
            return node.with_changes(left=self._operand(node.left), right=self._operand(node.right))
        if isinstance(node, cst.UnaryOperation) and not isinstance(node.operator, cst.Not):
            return node.with_changes(expression=self.full(node.expression))
        if isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
            (part,) = node.comparisons
            compared = part.with_changes(comparator=self._operand(part.comparator))
            return node.with_changes(left=self._operand(node.left), comparisons=[compared])
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and called(node) in _POINTWISE:
            arguments = [a.with_changes(value=self._operand(a.value)) for a in node.args]
            owner = node.func.value
            func = node.func.with_changes(value=self.full(owner)) if self.holds(owner) else node.func
            return node.with_changes(func=func, args=arguments)
        if isinstance(node, cst.Call) and self._is_loss_of_each(node):
            each = [a.with_changes(value=self._operand(a.value)) if a.keyword is None else a for a in node.args]
            return node.with_changes(args=each)
        if isinstance(node, cst.Call) and self._is_choice(node):
            test, *sides = node.args
            return node.with_changes(args=[test, *(a.with_changes(value=self._operand(a.value)) for a in sides)])
        raise Refuse(f"`{self._code(node)}` is used as it is, and its size depends on the data")

    def _is_loss_of_each(self, call: cst.Call) -> bool:
        """``F.l1_loss(x[m], y[m], reduction="none")``."""
        given = {a.keyword.value: self._code(a.value).strip("'\"") for a in call.args if a.keyword is not None}
        is_function = called(call) in _LOSSES and is_torch_function(call, self.editor) and not self.holds(call.func)
        return is_function and given.pop("reduction", "") == "none" and given.keys() <= {"beta", "delta"}

    def _is_choice(self, call: cst.Call) -> bool:
        """``torch.where(condition, x[m], 1)``, where one bool decides for all elements."""
        if called(call) != "where" or not is_torch_function(call, self.editor) or len(call.args) != 3:
            return False
        test = tensor_of(self.editor.value(call.args[0].value))
        is_plain = all(a.keyword is None and not a.star for a in call.args)
        return is_plain and test is not None and test.ndim == 0 and not self.holds(call.args[0].value)

    def _operand(self, node: cst.BaseExpression) -> cst.BaseExpression:
        if isinstance(node, cst.Call) and (reduced := self._reduced(node)) is not None:
            return reduced
        if self.holds(node):
            return self.full(node)
        known = self.editor.value(node)
        tensor = tensor_of(known)
        is_one = tensor is not None and tensor.ndim == 0
        is_literal = isinstance(node, (cst.Integer, cst.Float, cst.SimpleString))
        is_summed = isinstance(node, cst.Name) and node.value in self.reduced
        is_python = known != UNKNOWN and tensor is None
        is_dtype = isinstance(node, cst.Attribute) and names(node.value) == {"torch"}
        if not (is_one or is_literal or is_summed or is_python or is_dtype or self._is_of_row(tensor)):
            raise Refuse(f"`{self._code(node)}` is not selected by the mask, and not shown to be one number")
        return node

    def _is_of_row(self, tensor: Tensor | None) -> bool:
        """Whether ``tensor`` lines up with the dimensions behind those of the mask, in each row that is selected."""
        mask = tensor_of(self.editor.value(self.mask))
        if tensor is None or tensor.ndim is None or tensor.numpy or mask is None or mask.ndim is None:
            return False
        return self.ndim is not None and tensor.ndim <= self.ndim - mask.ndim

    def _reduced(self, call: cst.Call) -> cst.BaseExpression | None:
        """A sum, a mean or a loss of what is selected; None for anything else."""
        name = called(call)
        is_function = is_torch_function(call, self.editor) and not self.holds(call.func)
        values = [a.value for a in call.args if a.keyword is None]
        if name in _LOSSES and is_function and self._all_selected(values):
            return self._loss(call, values)
        layer = self.editor.value(call.func)
        if isinstance(layer, TorchModule) and self._all_selected(values):
            kind = layer.qualname.removeprefix("torch.nn.")
            if kind in _LOSS_MODULES and layer == TorchModule(f"torch.nn.{kind}"):
                return self._layer(call, values, _LOSS_MODULES[kind])
        if is_loss_of_classes(call, self.editor) and self._all_selected(values):
            return self._classes(call, values)
        if name not in _REDUCTIONS:
            return None
        if not is_function and isinstance(call.func, cst.Attribute):
            values.insert(0, call.func.value)
        if len(values) != 1 or any(a.keyword is not None for a in call.args) or not self.holds(values[0]):
            return None
        rows = self._all_rows(values[0])
        whole = self._render(self.full(values[0])) if rows is None else self.named.get(rows) or self._code(rows)
        return self._over_all(whole, name)

    def _all_selected(self, values: Sequence[cst.BaseExpression]) -> bool:
        return len(values) == 2 and all(self.holds(value) for value in values)

    def _over_all(self, value: str, reduction: str) -> cst.BaseExpression:
        """The reduction of what is selected, from ``value`` of the full shape."""
        self.fills = True
        if reduction == "mean":
            return _parse(f"(torch.where({self.keep}, {value}, 0).sum() / {self.keep}.sum())")
        return _parse(f"torch.where({self.keep}, {value}, {_REDUCTIONS[reduction]}).{reduction}()")

    def _options(self, call: cst.Call) -> tuple[str, list[str]]:
        """The reduction, and the other options as code."""
        given = {a.keyword.value: self._code(a.value) for a in call.args if a.keyword is not None}
        reduction = given.pop("reduction", "'mean'").strip("'\"")
        # As torch reads what `reduction` has taken the place of.
        averages, reduces = given.pop("size_average", "None"), given.pop("reduce", "None")
        if {averages, reduces} != {"None"}:
            reduction = {"False": "sum", "True": "mean", "None": "mean"}.get(averages, "")
            reduction = reduction if reduces in ("None", "True") else ""
        if reduction not in ("mean", "sum") or any(a.star for a in call.args):
            raise Refuse(f"`{self._code(call)}` has a value for each that is selected")
        if any(self.holds(a.value) for a in call.args if a.keyword is not None):
            raise Refuse(f"`{self._code(call)}` has options that are selected")
        return reduction, [f"{name}={code}" for name, code in given.items()]

    def _loss(self, call: cst.Call, values: Sequence[cst.BaseExpression]) -> cst.BaseExpression:
        reduction, options = self._options(call)
        if any(option.startswith("weight=") for option in options):
            raise Refuse(f"`{self._code(call)}` has weights, which are not selected")
        arguments = ", ".join([*(self._render(self.full(v)) for v in values), *options, 'reduction="none"'])
        return self._over_all(f"{self._code(call.func)}({arguments})", reduction)

    def _layer(self, call: cst.Call, values: Sequence[cst.BaseExpression], function: str) -> cst.BaseExpression:
        """The loss of a layer by its function, with the options of the layer, which are read where it is called."""
        layer = self._code(call.func)
        made = made_once(call, self.editor)
        if made is None or any(a.keyword is None for a in made.args) or len(call.args) != len(values):
            raise Refuse(f"the options of `{layer}` are not known here")
        reduction, options = self._options(made)
        names = [option.partition("=")[0] for option in options]
        if not {*names} <= {"beta", "delta", "pos_weight"}:
            raise Refuse(f"`{self._code(made)}` has options that are not read here")
        given = options if isinstance(call.func, cst.Name) else [f"{name}={layer}.{name}" for name in names]
        arguments = ", ".join([*(self._render(self.full(v)) for v in values), *given, 'reduction="none"'])
        return self._over_all(f"torch.nn.functional.{function}({arguments})", reduction)

    def _classes(self, call: cst.Call, values: Sequence[cst.BaseExpression]) -> cst.BaseExpression:
        """Classes that the mask leaves out become those that the loss ignores."""
        reduction, options = self._options(call)
        read = options
        made = made_once(call, self.editor) if self.editor.value(call.func) in _MODULES else None
        if made is not None:
            if sum(a.keyword is None for a in made.args) > 1:
                raise Refuse(f"the options of `{self._code(call.func)}` are not known here")
            _, read = self._options(made)
        ignored = next((o.partition("=")[2] for o in read if o.startswith("ignore_index=")), "-100")
        # Of a layer that is made while tracing, Dynamo reads no number.
        if self.editor.value(call.func) in _MODULES and (made is None or not isinstance(call.func, cst.Name)):
            ignored = f"{self._code(call.func)}.ignore_index"
        rows = [row for value in values if (row := self._all_rows(value)) is not None]
        if len(rows) != 2:
            raise Refuse(f"`{self._code(call)}` is not given what the mask selects as it is")
        self.ignores = True
        scores, labels = map(self.editor.operand, rows)
        mask = self.editor.operand(self.mask)
        inputs = f"{scores}.flatten(0, {mask}.ndim - 1), torch.where({mask}, {labels}, {ignored}).flatten()"
        known = tensor_of(self.editor.value(self.mask))
        if known is not None and known.ndim == 1:
            inputs = f"{scores}, torch.where({mask}, {labels}, {ignored})"
        given = [f'reduction="{reduction}"'] if reduction != "mean" else []
        return _parse(f"{self._code(call.func)}({', '.join([inputs, *options, *given])})")

    def _all_rows(self, value: cst.BaseExpression) -> cst.BaseExpression | None:
        """What ``value`` selects from as it is: ``x`` of ``x[m]``, or a name that holds all rows from now on."""
        if isinstance(value, cst.Name) and value.value in self.unselected:
            return value
        leaf = self._leaf(value) if isinstance(value, cst.Subscript) else None
        return leaf if leaf is not None and not self.holds(leaf) else None

    def _code(self, node: cst.CSTNode) -> str:
        return self.editor.code(node)

    def _render(self, node: cst.CSTNode) -> str:
        return self.editor.module.tree.code_for_node(node)


def selected_from(node: cst.CSTNode, mask: cst.BaseExpression, editor: Editor) -> cst.BaseExpression | None:
    """``x`` of ``x[mask]`` and of ``torch.masked_select(x, mask)``; None for anything else."""
    if isinstance(node, cst.Subscript):
        index = node.slice[0].slice
        is_mask = len(node.slice) == 1 and isinstance(index, cst.Index) and index.value.deep_equals(mask)
        return node.value if is_mask else None
    if not isinstance(node, cst.Call) or called(node) != "masked_select" or any(a.keyword or a.star for a in node.args):
        return None
    values = [a.value for a in node.args]
    if isinstance(node.func, cst.Attribute) and not is_torch_function(node, editor):
        values.insert(0, node.func.value)
    return values[0] if len(values) == 2 and values[1].deep_equals(mask) else None


def is_loss_of_classes(call: cst.Call, editor: Editor) -> bool:
    """Whether ``call`` is ``F.cross_entropy(...)``, or one of the layer that computes it."""
    is_function = called(call) in _CLASSES and is_torch_function(call, editor)
    return is_function or editor.value(call.func) in _MODULES


def made_once(call: cst.Call, editor: Editor) -> cst.Call | None:
    """The call that makes the layer of ``call``: of ``self.loss(x)``, if its class gives the attribute one value, and
    of ``loss(x)`` with a local name that is bound once.
    """
    if isinstance(call.func, cst.Name):
        value = assigned(call.func, editor)
        return value if isinstance(value, cst.Call) else None
    layer = editor.code(call.func)
    own = next((n for n in editor.ancestors(call) if isinstance(n, cst.ClassDef)), None)
    if own is None or not layer.startswith("self.") or layer.count(".") != 1:
        return None
    found = [a for a in find(own, cst.Assign) if any(editor.code(t.target) == layer for t in a.targets)]
    return found[0].value if len(found) == 1 and isinstance(found[0].value, cst.Call) else None


def _parse(text: str) -> cst.BaseExpression:
    return cst.parse_expression(text)


def _operands(node: cst.CSTNode) -> Sequence[cst.CSTNode]:
    """The expressions right below ``node``, but for what is only a label."""
    if isinstance(node, cst.Attribute):
        return (node.value,)
    if isinstance(node, cst.Arg):
        return (node.value,)
    return children(node)

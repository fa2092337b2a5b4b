"""Parts of a tensor that a 0-d tensor bounds or names: ``x[i, :n].mean(0)`` over the full shape, ``x[i, n - 1]``.

And texts of which it is a part: what is shown, and the messages of errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

import libcst as cst

from graphdoctor.fixes.analysis.conditions import receiver, tight
from graphdoctor.fixes.analysis.purity import called, words
from graphdoctor.fixes.analysis.types import is_tensor_like, may_be_array
from graphdoctor.fixes.analysis.uses import uses
from graphdoctor.fixes.branches.asserts import compiled_checks, constant_message, only_statement
from graphdoctor.fixes.branches.loop_steps import is_place
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import names, parameters
from graphdoctor.fixes.proof.aliasing import is_changed_in
from graphdoctor.fixes.tensors.other_forms import check_unchanged_view
from graphdoctor.model.findings import Edit
from graphdoctor.static.domain.events import Call
from graphdoctor.static.domain.value_functions import tensor_of
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk

ARGUMENT = "the number is an argument or an index, where a tensor may mean something else"
#: Methods and attributes that give a part of a tensor, or the tensor itself.
_VIEWS = words("T contiguous data detach flatten mT reshape squeeze t view")
#: Reductions over the rows, and what the rows after the bound hold.
_NEUTRAL = {"sum": "0", "mean": "0", "max": "-torch.inf", "amax": "-torch.inf", "min": "torch.inf", "amin": "torch.inf"}
#: Formats that show a tensor in another way than its number.
_AS_TEXT = re.compile(r"%[-#0 +]*\*?\d*(\.\d+)?[^-#0 +\d.%deEfFgGxX]")
_REDUCED = "All rows are computed; those behind the bound are left out of sums, means and extremes."
_ROWS = (["0"], ["dim=0"], ["axis=0"])


@dataclass(frozen=True)
class _Part:
    """``x[i, :n]``: the subscript, ``x[i]``, how a mask of its rows gets its dimensions, and how many rows it has.

    ``is_vector``: each row is one number.
    """

    node: cst.Subscript
    whole: str
    spread: str
    rows: str
    tensor: str
    is_float: bool
    is_vector: bool


def check_operand(other: cst.BaseExpression, tensors: Set[str], made: Set[cst.CSTNode], editor: Editor) -> None:
    """Refuse arrays of numpy, but what is a tensor from now on: one of ``made``, or a name among ``tensors``."""
    if not names(other) & tensors and other not in made and may_be_array(other, editor):
        raise Refuse("the number is joined with an array of numpy, which takes no tensor")


def copied(text: str, place: cst.CSTNode, editor: Editor) -> str:
    """``text``, a tensor from ``place`` on, as a copy where it shares the memory of one that is changed in place.

    ``old = self.step.detach()`` would be what ``self.step += 1`` changes on the next line. What a function returns of
    its arguments may be changed by code that calls it.
    """
    node = cst.parse_expression(text)
    while isinstance(node, (cst.Subscript, cst.Call, cst.Attribute)):
        if isinstance(node, cst.Call):
            if not isinstance(node.func, cst.Attribute) or node.func.attr.value not in _VIEWS:
                return text
            node = node.func.value
        elif isinstance(node, cst.Subscript) or node.attr.value in _VIEWS:
            node = node.value
        else:
            break
    if not isinstance(node, (cst.Name, cst.Attribute)):
        return text
    function, base = editor.function_of(place), cst.Module([]).code_for_node(node)
    scope = function if isinstance(node, cst.Name) else editor.module.tree
    is_given = isinstance(editor.parent(place), cst.Return) and function is not None and base in parameters(function)
    changes = scope is not None and is_changed_in(scope, base, editor)
    return f"{text}.clone()" if is_given or changes else text


def is_tensor(node: cst.BaseExpression, tensors: Set[str], made: Set[cst.CSTNode], editor: Editor) -> bool:
    """Whether ``node`` is a tensor, one of ``made``, or arithmetic with a name among ``tensors``."""
    if isinstance(node, cst.BinaryOperation):
        return any(is_tensor(side, tensors, made, editor) for side in (node.left, node.right))
    if isinstance(node, cst.UnaryOperation):
        return is_tensor(node.expression, tensors, made, editor)
    if node in made or (isinstance(node, cst.Name) and node.value in tensors):
        return True
    return is_tensor_like(node, editor)


def element(node: cst.CSTNode, text: str, hit: Hit, editor: Editor) -> tuple[cst.Subscript, str]:
    """``x[b, n - 1]``, whose index is ``text`` now. Refuses what is no reading of one element."""
    subscript = next((o for o in editor.ancestors(node) if isinstance(o, cst.Subscript)), None)
    index = editor.parent(node)
    indexed = tensor_of(editor.value(subscript.value)) if subscript is not None else None
    # An array of numpy takes no index that is on another device.
    if subscript is None or not isinstance(index, cst.Index) or indexed is None or indexed.numpy:
        raise Refuse(ARGUMENT)
    if not _reads_int(hit) or any(isinstance(n, (cst.Divide, cst.Float, cst.Power)) for n in walk(index)):
        raise Refuse(ARGUMENT)
    parts = [e.slice for e in subscript.slice]
    others = [part for part in parts if part is not index]
    if index not in parts or not all(is_place(p, editor) and not _is_dots(p) for p in others):
        raise Refuse(ARGUMENT)
    if isinstance(editor.parent(subscript), (cst.AssignTarget, cst.AugAssign)):
        raise Refuse(ARGUMENT)
    check_unchanged_view(subscript, editor)
    at = sum(isinstance(part, cst.Slice) for part in parts[: parts.index(index)])
    code = f"{receiver(text)}.long().reshape(1)"
    texts = [code if part is index else editor.module.code(part).rstrip() for part in parts]
    return subscript, f"{editor.code(subscript.value)}[{', '.join(texts)}].squeeze({at})"


def _reads_int(hit: Hit) -> bool:
    """Whether the number that is read is a whole one: another one is no index."""
    if isinstance(hit.place, cst.Call) and isinstance(hit.place.func, cst.Name) and called(hit.place) == "int":
        return True
    known = tensor_of(hit.event.receiver) if isinstance(hit.event, Call) and hit.event.receiver is not None else None
    return known is not None and known.dtype == "int"


def _is_dots(part: cst.BaseSlice) -> bool:
    return isinstance(part, cst.Index) and isinstance(part.value, cst.Ellipsis)


def part(node: cst.BaseExpression, text: str, editor: Editor) -> Sequence[Edit]:
    """``x[i, :n]`` and all that is made of it: sums, means and extremes of its rows. Refuses anything else."""
    found = _part(node, editor)
    user = editor.parent(found.node)
    reads: Sequence[cst.BaseExpression] = [found.node]
    edits: list[Edit] = []
    keep = f"torch.arange({found.rows}, device={found.tensor}.device) - {found.rows} * ({text} < 0) < {tight(text)}"
    mask = f"({keep}){found.spread}"
    if isinstance(user, cst.Assign):
        reads = uses(user, editor)
        name, indent = editor.code(user.targets[0].target), editor.indent_of(user)
        kept = editor.fresh(f"{name}_kept")
        lines = (f"{name} = {found.whole}", editor.statement(indent, f"{kept} = ", mask))
        edits.append(editor.replace(user, editor.lines(indent, *lines)))
        mask = kept
    elif (line := _own_line(found.node, editor)) is not None:
        indent, kept = editor.indent_of(line), editor.fresh("kept")
        edits.append(editor.insert_before(line, editor.lines(indent, editor.statement(indent, f"{kept} = ", mask), "")))
        mask = kept
    for read in reads:
        whole = found.whole if read is found.node else editor.code(read)
        edits.append(_reduced(read, whole, mask, found, editor))
    return edits


def reduce_part(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``x[i, :n].mean(0)`` with a tensor as the bound. Raises Refuse where it does not fit."""
    bound = hit.place
    if not isinstance(bound, cst.BaseExpression) or not isinstance(editor.parent(bound), cst.Slice):
        return Refusal("The tensor bounds no slice.")
    if any(isinstance(node, cst.Call) for node in walk(bound)):
        raise Refuse(f"`{editor.code(bound)}` calls a function, which would be called twice")
    edits = part(bound, editor.code(bound), editor)
    return FixPlan((*editor.torch_import(bound), *edits), "unsafe", _REDUCED)


#: Inside of these an expression runs more than once, or not at all.
_NOT_ONCE = (cst.Lambda, cst.CompFor, cst.BaseComp, cst.BooleanOperation, cst.IfExp, cst.Comparison, cst.NamedExpr)


def _own_line(node: cst.CSTNode, editor: Editor) -> cst.CSTNode | None:
    """The line of the statement that evaluates ``node`` once, where no other stands on it."""
    for outer in editor.ancestors(node):
        if isinstance(outer, _NOT_ONCE):
            return None
        if isinstance(outer, cst.BaseStatement):
            return outer if isinstance(outer, cst.SimpleStatementLine) and len(outer.body) == 1 else None
    return None


def _part(node: cst.BaseExpression, editor: Editor) -> _Part:
    bounds = editor.parent(node)
    subscript = next((o for o in editor.ancestors(node) if isinstance(o, cst.Subscript)), None)
    if subscript is None or not isinstance(bounds, cst.Slice) or bounds.upper is not node:
        raise Refuse(ARGUMENT)
    parts = [e.slice for e in subscript.slice]
    first = bounds.lower is None or (isinstance(bounds.lower, cst.Integer) and bounds.lower.value == "0")
    if parts[-1] is not bounds or not first or bounds.step is not None:
        raise Refuse(ARGUMENT)
    known = tensor_of(editor.value(subscript.value))
    leading = parts[:-1]
    is_plain = all(isinstance(p, cst.Index) and is_place(p, editor) and not _is_dots(p) for p in leading)
    if known is None or not is_plain or not isinstance(subscript.value, cst.Name):
        raise Refuse(ARGUMENT)
    tensor = subscript.value.value
    whole = f"{tensor}[{', '.join(editor.module.code(p).rstrip() for p in leading)}]" if leading else tensor
    rows = f"{tensor}.shape[{len(leading)}]"
    more = len(leading) + 1
    spread = f"[(...,) + (None,) * ({tensor}.ndim - {more})]"
    if known.ndim is not None:
        spread = f"[:{', None' * (known.ndim - more)}]" if known.ndim > more else ""
    return _Part(subscript, whole, spread, rows, tensor, known.dtype == "float", known.ndim == more)


def _reduced(read: cst.BaseExpression, whole: str, mask: str, found: _Part, editor: Editor) -> Edit:
    """``read.mean(0)`` over all rows."""
    attribute = editor.parent(read)
    call = editor.parent(attribute) if isinstance(attribute, cst.Attribute) else None
    name = called(call) if isinstance(call, cst.Call) else ""
    if not isinstance(call, cst.Call) or call.func is not attribute or name not in _NEUTRAL:
        raise Refuse(f"`{editor.code(read)}` is more than summed, averaged or compared over its rows")
    forms = (*_ROWS, []) if found.is_vector else _ROWS
    if [editor.code(a) for a in call.args] not in forms or (name not in ("sum", "mean") and not found.is_float):
        raise Refuse(f"`{editor.code(read)}` is more than summed, averaged or compared over its rows")
    text = f"torch.where({mask}, {whole}, {_NEUTRAL[name]})"
    rest = editor.code(call).removeprefix(editor.code(call.func))
    if name == "mean":
        return editor.replace(call, f"({text}.sum{rest} / {mask}.sum())")
    return editor.replace(call, f"{text}.{name}{rest}")


def reads_one(node: cst.Subscript, editor: Editor) -> bool:
    """Whether ``v[i]`` reads one element, at a number of Python."""
    index = node.slice[0].slice
    return len(node.slice) == 1 and isinstance(index, cst.Index) and is_place(index, editor)


def target_beside(argument: cst.Arg, call: cst.Call, loop: cst.For | cst.CompFor) -> cst.BaseExpression:
    """What a loop over ``enumerate(v)`` or ``zip(x, v)`` binds to elements of ``argument``; else its whole target."""
    at = 1 if called(call) == "enumerate" else list(call.args).index(argument)
    bound = loop.target.elements if isinstance(loop.target, cst.Tuple) and not any(a.star for a in call.args) else ()
    return bound[at].value if at < len(bound) else loop.target


def reading_it(statement: cst.Expr, name: cst.Name, text: str, editor: Editor) -> str:
    """``statement`` with the number of the 0-d tensor ``text`` in place of ``name``."""
    read = [shown for shown in editor.mentions(statement, name.value) if not editor.is_label(shown)]
    return with_numbers(statement, read, text)


def with_numbers(statement: cst.BaseSmallStatement, read: Iterable[cst.Name], text: str = "") -> str:
    """``statement`` with numbers in place of the names ``read`` of 0-d tensors, which are ``text`` if it is given."""
    # The semicolon after a statement is a part of its node, and not of its code.
    whole = statement.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)
    changed = whole.visit(_Reading({name: cst.parse_expression(f"{text or name.value}.item()") for name in read}))
    assert isinstance(changed, cst.CSTNode)
    return cst.Module([]).code_for_node(changed)


class _Reading(cst.CSTTransformer):
    """Puts the expressions of a table in the places of its names."""

    def __init__(self, numbers: Mapping[cst.Name, cst.BaseExpression]) -> None:
        super().__init__()
        self._numbers = numbers

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        return self._numbers.get(original_node, updated_node)


def asserted(node: cst.Assert, held: set[str], done: set[cst.CSTNode], hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """An assert of numbers, in the names ``held``: its message has the numbers in eager, and is constant under compile.

    The names in the message are ``done`` then.
    """
    shown = _read_in(node.msg, held, editor)
    code = with_numbers(node, shown) if shown else editor.code(node)
    plan = constant_message(node, hit, editor, code if shown else "")
    if isinstance(plan, Refusal):
        return plan
    done.update(shown)
    # Dynamo traces an assert of a tensor with a constant message as it is.
    return replace(plan, edits=()) if compiled_checks(node, hit, editor) == [code] else plan


def _read_in(message: cst.BaseExpression | None, held: set[str], editor: Editor) -> list[cst.Name]:
    """The names ``held`` that ``message`` reads."""
    if message is None:
        return []
    return [name for each in sorted(held) for name in editor.mentions(message, each) if not editor.is_label(name)]


def check_shown(node: cst.BaseExpression, call: cst.Call, editor: Editor) -> None:
    """Refuse a ``call`` for output that shows a tensor in another way than its number."""
    user = editor.parent(node)
    plain = isinstance(user, cst.FormattedStringExpression) and user.conversion is None and user.equal is None
    first = call.args[0].value
    is_format = isinstance(first, cst.SimpleString) and not _AS_TEXT.search(first.value)
    if not plain and not (is_format and user in call.args):
        raise Refuse("the number is shown as text, where a tensor looks different")


def is_raised(name: cst.Name, held: set[str], editor: Editor) -> bool:
    """Whether ``name`` stands in an error that a branch on one of the names ``held`` does nothing but raise."""
    statement = next((n for n in editor.ancestors(name) if isinstance(n, cst.BaseSmallStatement)), None)
    branch = next((n for n in editor.ancestors(name) if isinstance(n, cst.If)), None)
    if not isinstance(statement, cst.Raise) or branch is None or only_statement(branch.body) is not statement:
        return False
    return bool(names(branch.test) & held)

"""A number that Python or a C library draws or measures, made an operator of the graph: it runs as it is, in order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

import libcst as cst

from graphdoctor.fixes.analysis.namespaces import dotted_name
from graphdoctor.fixes.analysis.purity import called, words
from graphdoctor.fixes.analysis.types import ReadNames
from graphdoctor.fixes.analysis.uses import uses
from graphdoctor.fixes.branches.branch import branch_of
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.layout import on_one_line
from graphdoctor.fixes.core.scope import names
from graphdoctor.fixes.python.hoist import insert_above, known_names, top_statement
from graphdoctor.fixes.tensors.number_flow import Flow
from graphdoctor.fixes.tensors.random_numbers import deciding_use, rewrite_choice
from graphdoctor.model.findings import Edit
from graphdoctor.static.domain.value_functions import options
from graphdoctor.static.domain.values import Const, PythonValue
from graphdoctor.static.rule import FixPlan, Hit, Refusal

#: Functions that give one number and whose arguments are numbers.
_FLOATS = words("""
    beta betavariate chisquare expovariate exponential f gamma gammavariate gauss gumbel laplace logistic lognormal
    lognormvariate normal normalvariate pareto paretovariate power rand randn random random_sample rayleigh
    standard_cauchy standard_exponential standard_gamma standard_normal standard_t triangular uniform vonmises
    vonmisesvariate wald weibull weibullvariate
""")
_INTEGERS = words("""
    binomial geometric hypergeometric logseries max_memory_allocated max_memory_reserved memory_allocated
    memory_reserved negative_binomial poisson randint randrange zipf
""")
_OWNERS = ("numpy.random", "random", "torch.cuda")
_REASON = (
    "The call becomes an operator of its own, which the graph runs as it is; a 0-d tensor takes the place of its "
    "number, and compiled code is fused around it, not with it."
)


_NO_NUMBER = Refusal("This is no draw of one number, and no count of memory.")


@dataclass(frozen=True)
class _Argument:
    """A number that the function passes: its code there, the name and the type of the parameter."""

    code: str
    name: str
    kind: str


@dataclass(frozen=True)
class _Operator:
    """How the operator is called where the number was drawn, and the edits that define it."""

    call: str
    edits: tuple[Edit, ...]


def number_as_operator(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``np.random.beta(a, a)`` becomes a call of a ``torch.library.custom_op`` of this file.

    Raises Refuse where it does not fit.
    """
    call = hit.place
    if not isinstance(call, cst.Call) or not _is_number(call, editor):
        return _NO_NUMBER
    operator = _operator(call, editor)
    flow = Flow(hit, editor, drawn=called(call) in _FLOATS)
    if _decides_in_training(call, editor):
        flow.edits.append(editor.replace(call, operator.call))
    else:
        flow.follow(call, operator.call)
    return FixPlan((*operator.edits, *flow.edits), "unsafe", _REASON)


def choose_by_operator(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """``if np.random.rand() < p: x = f(x)`` becomes ``torch.where`` with the number of such an operator.

    Raises Refuse where it does not fit.
    """
    call = hit.place
    if not isinstance(call, cst.Call) or not _is_number(call, editor):
        return _NO_NUMBER
    asked, operator = deciding_use(call, editor), _operator(call, editor)
    written: dict[cst.CSTNode, str] = {call: operator.call} if asked is call else {}
    read = ReadNames({} if asked is call else {editor.code(asked): "tensor"}, written)
    plan = rewrite_choice(replace(hit, node=asked, data=read), editor)
    if isinstance(plan, Refusal):
        return plan
    drawn = () if asked is call else (editor.replace(call, operator.call),)
    return replace(plan, edits=(*operator.edits, *drawn, *plan.edits), reason=f"{plan.reason} {_REASON}")


def _is_number(call: cst.Call, editor: Editor) -> bool:
    """Whether ``call`` draws one number, or asks how much memory is in use."""
    package, _, name = dotted_name(call.func, editor).rpartition(".")
    return package in _OWNERS and name in (*_FLOATS, *_INTEGERS)


def _operator(call: cst.Call, editor: Editor) -> _Operator:
    """The operator that does what ``call`` does."""
    top = top_statement(call, editor)
    known = known_names(top, editor)
    if names(call.func) - known - {n.value for n in _labels(call.func)}:
        raise Refuse(f"`{editor.code(call.func)}` is not known when the file is imported")
    arguments, text = _arguments(call, known, editor)
    operator = editor.fresh(f"{called(call)}_operator")
    dtype = "int64" if called(call) in _INTEGERS else "float64"
    typed, plain = [f"{a.name}: {a.kind}" for a in arguments], [a.name for a in arguments]
    result, fake = f"torch.tensor({text}, dtype=torch.{dtype})", f"torch.empty((), dtype=torch.{dtype})"
    lines = definition(operator, typed, plain, result, fake, editor)
    edits = (*editor.torch_import(top), insert_above(top, lines, editor))
    return _Operator(f"{operator}({', '.join(a.code for a in arguments)})", edits)


def _decides_in_training(call: cst.Call, editor: Editor) -> bool:
    """Whether the number only decides branches of training: ``skip = self.training and drawn < self.layerdrop``.

    A comparison of a 0-d tensor decides them alike, and in eval mode nothing reads it.
    """
    assign = editor.parent(call)
    if not isinstance(assign, cst.Assign):
        return False
    try:
        tests = [_training_test(use, editor) for use in uses(assign, editor)]
        flags = [outer for test in tests if isinstance(outer := editor.parent(test or call), cst.Assign)]
        read = [use for flag in flags for use in uses(flag, editor)]
    except Refuse:
        return False
    is_asked = all(t is not None and (editor.parent(t) in flags or branch_of(t, editor) is not None) for t in tests)
    return bool(tests) and is_asked and all(branch_of(use, editor) is not None for use in read)


def _training_test(use: cst.Name, editor: Editor) -> cst.BooleanOperation | None:
    """``self.training and use < p`` around ``use``."""
    compared = editor.parent(use)
    if isinstance(compared, cst.ComparisonTarget):
        compared = editor.parent(compared)
    both = editor.parent(compared) if isinstance(compared, cst.Comparison) else None
    if not isinstance(both, cst.BooleanOperation) or not isinstance(both.operator, cst.And):
        return None
    return both if both.right is compared and editor.code(both.left) == "self.training" else None


def _labels(node: cst.CSTNode) -> list[cst.Name]:
    found = []
    while isinstance(node, cst.Attribute):
        found.append(node.attr)
        node = node.value
    return found


def _arguments(call: cst.Call, known: set[str], editor: Editor) -> tuple[list[_Argument], str]:
    """What the operator gets, and the call as it stands in the operator."""
    found: list[_Argument] = []
    texts = []
    for argument in call.args:
        label = f"{argument.keyword.value}=" if argument.keyword is not None else ""
        if argument.star or label == "size=":
            raise Refuse("the call gives more than one number")
        value = argument.value
        if isinstance(value, (cst.Integer, cst.Float)) or (names(value) and names(value) <= known):
            texts.append(label + on_one_line(value, editor))
            continue
        given = next((a for a in found if a.code == editor.code(value)), None)
        if given is None:
            name = _name(value, {a.name for a in found} | known)
            given = _Argument(editor.code(value), name, _kind(value, editor))
            found.append(given)
        texts.append(label + given.name)
    return found, f"{editor.code(call.func)}({', '.join(texts)})"


def _name(value: cst.BaseExpression, taken: set[str]) -> str:
    name = value.attr.value if isinstance(value, cst.Attribute) else value.value if isinstance(value, cst.Name) else "n"
    while name in taken:
        name += "_"
    return name


def _kind(value: cst.BaseExpression, editor: Editor) -> str:
    """The type of a parameter that takes ``value``."""
    kinds = set()
    for option in options(editor.value(value)):
        if isinstance(option, Const) and type(option.value) in (int, float):
            kinds.add(type(option.value).__name__)
        elif isinstance(option, PythonValue) and option.kind in ("int", "float") and not option.data_dependent:
            kinds.add(option.kind)
        else:
            raise Refuse(f"`{editor.code(value)}` is not known to be a number")
    return "int" if kinds == {"int"} else "float"


def definition(
    operator: str, typed: Sequence[str], plain: Sequence[str], result: str, fake: str, editor: Editor
) -> str:
    """The lines of a ``torch.library.custom_op``: its parameters, typed and plain, its result and its fake's."""
    space = re.sub(r"\W", "_", PurePath(editor.path).stem)
    return editor.newline.join(
        line.replace("\t", editor.indent)
        for line in (
            # The tag keeps two equal calls apart, which a backend would merge.
            f'@torch.library.custom_op("{space}::{operator}", mutates_args=(), '
            "tags=(torch.Tag.nondeterministic_seeded,))",
            f"def {operator}({', '.join(typed)}) -> torch.Tensor:",
            f"\treturn {result}",
            "",
            "",
            # No function of its own: the file may have one of any name, and call it.
            f"{operator}.register_fake(lambda{' ' * bool(plain)}{', '.join(plain)}: {fake})",
            "",
        )
    )

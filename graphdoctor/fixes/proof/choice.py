"""The proof that ``torch.where`` gives what a choice between two values gave, whatever the tensors are.

Both arms must be computable wherever the one that was taken was, with the same dtype, shape and gradient history; the
arm that is not taken must leave gradients as they are; and nothing may show that the result is a new tensor.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import libcst as cst

from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.proof.aliasing import is_only_read, is_written
from graphdoctor.fixes.proof.condition import Evaluated, evaluated
from graphdoctor.fixes.proof.domain import Domain, assigned_before, domain, is_on_device_of
from graphdoctor.fixes.proof.operators import KINDS
from graphdoctor.fixes.proof.terms import Term, is_plain_tensor, term
from graphdoctor.syntax.walk import walk

#: What a fix assumes where equal dtypes are proved for floating tensors only.
FLOATING = "equal for floating-point tensors; another dtype may change the result's dtype or raise"


@dataclass(frozen=True)
class Choice:
    """``taken if test else other``, of which the sides may have no terms.

    ``always`` where the test is evaluated whatever comes before it in a chain.
    """

    test: cst.BaseExpression
    taken: Term | None
    other: Term | None
    always: bool = True


def before(name: str, branch: cst.CSTNode, editor: Editor) -> Term | None:
    """The term of what the plain ``name`` holds when the statement ``branch`` is reached."""
    inside = [n for n in walk(branch) if isinstance(n, cst.Name) and n.value == name and not editor.is_label(n)]
    if any(is_plain_tensor(n, editor) for n in inside):
        return Term(name)
    value = assigned_before(name, branch, editor)
    known = term(value, editor) if value is not None else None
    function = editor.function_of(branch)
    if known is None or function is None or editor.assignments(function, known.base):
        return None
    # It is an object that exists, not one that the branch makes.
    return replace(known, fresh=False)


def unproved(choice: Choice, target: str, branch: cst.CSTNode, editor: Editor) -> tuple[str, ...]:
    """What is not proved of a choice, one clause each; empty where the rewrite is safe.

    ``target`` is the plain name that gets the result, empty where it goes elsewhere.
    """
    condition, taken, other = evaluated(choice.test, editor, choice.always), choice.taken, choice.other
    if taken is None or other is None or taken.base != other.base:
        return ("the sides are not proved to have the same shape, dtype, device and gradients",)
    missing = (
        [] if condition is not None else ["the condition is not proved to be one bool that may always be computed"]
    )
    elsewhere = [b for b in condition.bases if not is_on_device_of(b, taken.base, branch, editor)] if condition else []
    missing += ["the condition may be on another device" for _ in elsewhere[:1]]
    known = _known(taken.base, condition, branch, editor)
    missing += _different(taken, other, known)
    missing += _gradients(taken, other, known)
    if is_written(taken.base, branch, editor):
        missing.append("the tensor that both sides are made of is changed in place")
    if not (taken.fresh and other.fresh) and not _hidden(target, taken.base, branch, editor):
        missing.append("the result is a new tensor where it may have been another one, which a later write would show")
    return tuple(missing)


def _known(base: str, condition: Evaluated | None, branch: cst.CSTNode, editor: Editor) -> Domain:
    """What the tensor that both sides are made of can be, once the condition was computed."""
    known = domain(base, branch, editor)
    for operand in condition.first if condition is not None else ():
        known = known.evaluated(operand) if operand.base == base else known
    return known


def _different(taken: Term, other: Term, known: Domain) -> list[str]:
    """Where the two sides are not alike."""
    if taken.shape != other.shape:
        return ["the sides are not proved to have the same shape"]
    if taken.float32_in_autocast != other.float32_in_autocast:
        return ["in autocast, the sides have different dtypes"]
    if taken.raises_on_empty != other.raises_on_empty and not known.has_elements:
        return ["one side raises where the tensor has no elements"]
    if _alike(taken, other, known):
        return []
    floating = replace(known, kinds=known.kinds & {"float"})
    return [FLOATING] if _alike(taken, other, floating) else ["the sides are not proved to have the same dtype"]


def _alike(taken: Term, other: Term, known: Domain) -> bool:
    """Whether both sides have the same dtype, or both raise, for all kinds of dtypes that the tensor may have."""
    letters = [
        (one, two) for one, two, kind in zip(taken.dtypes, other.dtypes, KINDS, strict=True) if kind in known.kinds
    ]
    return all(one == two != "?" for one, two in letters)


def _gradients(taken: Term, other: Term, known: Domain) -> list[str]:
    if not known.kinds & {"float", "complex"}:
        return []
    if taken.keeps_history != other.keeps_history:
        return ["one side has no gradient"]
    if not taken.keeps_history or (taken.gradient == other.gradient and taken.gradient != "any"):
        return []
    return ["the side not taken can make gradients NaN where values are infinite or NaN"]


def _hidden(target: str, base: str, branch: cst.CSTNode, editor: Editor) -> bool:
    """Whether no code can distinguish the result from the original tensor."""
    if isinstance(branch, cst.IfExp) and isinstance(editor.parent(branch), cst.BinaryOperation):
        return True
    if isinstance(branch, cst.IfExp) or not (target.isidentifier() and base.isidentifier()):
        return False
    return is_only_read(frozenset({target, base}), branch, editor)

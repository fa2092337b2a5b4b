"""What the first call sets up behind a flag of Python, set up in ``__init__``.

``if not self.hooked: self._register_hooks()`` needs nothing of the call. At the end of ``__init__`` it leaves the flag
set, and compiled code never comes to it.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from graphdoctor.fixes.branches.branch_arms import statements
from graphdoctor.fixes.core.editor import Editor
from graphdoctor.fixes.core.errors import Refuse
from graphdoctor.fixes.core.scope import parameters
from graphdoctor.fixes.python.layers import at_end_of_init
from graphdoctor.static.rule import FixPlan, Hit, Refusal
from graphdoctor.syntax.walk import walk

_REASON = "It is set up when the module is built, not in the first call: changes between the two are not seen."


def set_up_in_init(hit: Hit, editor: Editor) -> FixPlan | Refusal:
    """A method that forward calls once, ``if not self.flag: self.method()``. Raises Refuse where it does not fit."""
    method = editor.function_of(hit.place)
    owner = next((n for n in editor.ancestors(hit.place) if isinstance(n, cst.ClassDef)), None)
    if method is None or owner is None or list(parameters(method)) != ["self"]:
        return Refusal("This is no method that needs nothing but the module.")
    flags = {flag for branch in _branches(owner) if (flag := _flag(branch, method.name.value, editor))}
    if len(flags) != 1:
        return Refusal("It is not called behind one flag of the module.")
    (flag,) = flags
    given = [_literal(node, flag, editor) for node in walk(owner) if isinstance(node, cst.Assign)]
    if sorted(value for value in given if value) != ["False", "True"]:
        raise Refuse(f"`{flag}` is not unset in `__init__` and set once")
    call = f"self.{method.name.value}()"
    return FixPlan((at_end_of_init(owner, call, editor),), "unsafe", _REASON, known=("early",))


def _branches(owner: cst.ClassDef) -> Iterator[cst.If]:
    return (node for node in walk(owner) if isinstance(node, cst.If))


def _flag(branch: cst.If, method: str, editor: Editor) -> str:
    """``self.flag`` of ``if not self.flag: self.method()``; empty for any other branch."""
    test, body = branch.test, list(statements(branch.body))
    is_negated = isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not)
    if not is_negated or branch.orelse is not None or editor.code(body[0]) != f"self.{method}()":
        return ""
    flag = editor.code(test.expression) if isinstance(test, cst.UnaryOperation) else ""
    return flag if flag.startswith("self.") and flag.count(".") == 1 else ""


def _literal(node: cst.Assign, flag: str, editor: Editor) -> str:
    """What ``node`` gives to ``flag``; empty where it assigns something else."""
    if not any(editor.code(target.target) == flag for target in node.targets):
        return ""
    function = editor.function_of(node)
    value = editor.code(node.value)
    in_init = function is not None and function.name.value == "__init__"
    return value if in_init == (value == "False") else "changed"
